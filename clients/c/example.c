/* example.c: cc example.c segq.c -lcurl
 *   example QUEUE ROUTER...   waits, says where it stands, prints the pass
 * SEGQ_TOKEN goes on in a saved place; SEGQ_SUBJECT says who it is; SEGQ_LEAVE_AT=N leaves
 * the line at place N. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "segq.h"

static void say_place(const struct segq_ticket *t)
{
    if (t->position > 0)
        fprintf(stderr, "%lld of %lld, ", t->position, t->total);
    else
        fprintf(stderr, "place not known at the moment, ");
    if (t->eta_s >= 0)
        fprintf(stderr, "about %lld s", t->eta_s);
    else
        fprintf(stderr, "time not known yet");
    fprintf(stderr, ", token %s\n", t->token);
}

static void say(void *ctx, const struct segq *s, enum segq_state state)
{
    const struct segq_ticket *t = segq_ticket(s);

    (void)ctx;
    if (t->trouble && t->token[0] == '\0')
        fprintf(stderr, "busy or away; no place yet, trying again\n");
    else if (t->trouble)
        fprintf(stderr, "busy or away; the place is kept\n");
    else if (state == SEGQ_WAITING)
        say_place(t);
}

int main(int argc, char **argv)
{
    const char *leave_at = getenv("SEGQ_LEAVE_AT");
    struct segq_options o = { 0 };
    enum segq_state state;
    struct segq *s;

    if (argc < 3)
        return 2;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    o.queue = argv[1];
    o.routers = (const char *const *)&argv[2];
    o.n_routers = (size_t)argc - 2;
    o.token = getenv("SEGQ_TOKEN");
    o.subject = getenv("SEGQ_SUBJECT");
    o.on_news = say;
    s = segq_new(&o);
    if (s == NULL)
        return 2;
    while ((state = segq_poll(s, 1000)) < SEGQ_ADMITTED)
        if (leave_at != NULL && state == SEGQ_WAITING && segq_ticket(s)->position > 0 &&
            segq_ticket(s)->position <= atoll(leave_at))
            segq_leave(s);
    if (state == SEGQ_ADMITTED)
        puts(segq_ticket(s)->pass);
    else
        fprintf(stderr, "%s %s\n", state == SEGQ_LEFT ? "left" : "not admitted:",
                segq_ticket(s)->why);
    segq_free(s);
    curl_global_cleanup();
    return state == SEGQ_ADMITTED || state == SEGQ_LEFT ? 0 : 1;
}

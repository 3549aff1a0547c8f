/* schedules.c: see the header. */
#include "queuemng/ctl/schedules.h"

#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/task_view.h"

#define SCHEDULES "/v1/admin/task-queues/*/tasks/schedules"

static const struct word {
    const char *word, *method, *path, *body; /* body: what it changes; NULL: KEY=VALUE follow */
    view_fn view;
    bool says; /* KEY=VALUE follow */
} words[] = {
    { "show", "GET", SCHEDULES "/*", NULL, view_task_schedule, false },
    { "add", "PUT", SCHEDULES "/*", NULL, view_schedule_changed, true },
    { "set", "PATCH", SCHEDULES "/*", NULL, view_schedule_changed, true },
    { "pause", "PATCH", SCHEDULES "/*", "{\"paused\":true}", view_schedule_changed, false },
    { "resume", "PATCH", SCHEDULES "/*", "{\"paused\":false}", view_schedule_changed, false },
    { "delete", "DELETE", SCHEDULES "/*", NULL, view_schedule_deleted, false },
    { "run", "POST", SCHEDULES "/*/run", NULL, view_task_order, false },
};

static void put_text(struct buf *b, const char *p, size_t n)
{
    json_t *v = json_stringn(p, n);
    char *text = v != NULL ? json_dumps(v, JSON_ENCODE_ANY) : NULL;

    buf_str(b, text != NULL ? text : "null");
    free(text);
    json_decref(v);
}

/* Appends an object. JSON goes as it stands, which ctl_pairs() would not do: 1.10 of a payload stays 1.10.
 * What is none is a text: cron=@daily, every=15m; null takes a key away. False: the error has been printed. */
static bool put_pairs(struct buf *b, char **argv)
{
    for (char **p = argv; *p != NULL; p++) {
        const char *eq = strchr(*p, '=');
        json_t *v;

        if (eq == NULL || eq == *p) {
            (void)ctl_fail(CTL_USAGE, "'%.60s' is not KEY=VALUE", *p);
            return false;
        }
        buf_str(b, p == argv ? "{" : ",");
        put_text(b, *p, (size_t)(eq - *p));
        buf_str(b, ":");
        v = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
        if (v == NULL && strchr("[{\"", eq[1]) != NULL && eq[1] != '\0') {
            (void)ctl_fail(CTL_USAGE, "'%.200s': the value looks like JSON and is not", *p);
            return false;
        }
        if (v != NULL)
            buf_str(b, eq + 1);
        else
            put_text(b, eq + 1, strlen(eq + 1));
        json_decref(v);
    }
    buf_append(b, "}", 2);
    return !b->failed;
}

static int about_one(struct ctl *c, const struct word *w, char **argv)
{
    struct ctl_call call = { .method = w->method, .path = w->path, .queue = argv[0], .name = argv[1],
                             .is_new = strcmp(w->method, "PUT") == 0 };
    struct buf said;
    int rc = CTL_USAGE;

    if (w->says != (argv[2] != NULL))
        return ctl_fail(CTL_USAGE, w->says ? "task schedules %s QUEUE SCHEDULE KEY=VALUE..."
                                           : "task schedules %s QUEUE SCHEDULE", w->word);
    buf_init(&said);
    if (!w->says || put_pairs(&said, argv + 2)) {
        call.text = w->says ? (const char *)said.data : w->body;
        rc = ctl_do(c, call, w->view);
    }
    buf_fini(&said);
    return rc;
}

int cmd_task_schedules(struct ctl *c, char **argv)
{
    if (argv[1] == NULL)
        return ctl_do(c, (struct ctl_call){ .method = "GET", .path = SCHEDULES, .name = argv[0] },
                      view_task_schedules);
    for (size_t i = 0; argv[2] != NULL && i < ARRAY_LEN(words); i++)
        if (strcmp(words[i].word, argv[0]) == 0)
            return about_one(c, &words[i], argv + 1);
    return ctl_fail(CTL_USAGE, "task schedules QUEUE, or task schedules show|add|set|pause|resume|delete|run QUEUE "
                    "SCHEDULE");
}

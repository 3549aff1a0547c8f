/* events.c: two rings, read as one. Pure. */
#include "queuemng/logbook/events.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool begins(const char *text, const char *what)
{
    return strncmp(text, what, strlen(what)) == 0;
}

/* True: a metric goes from tier to tier: on a busy night every few seconds. */
static bool is_tier_change(const char *text)
{
    const char *by = strstr(text, " by="), *was = strstr(text, " was_by=");
    size_t n;

    if (!begins(text, "event=rate_limit_changed ") || by == NULL || was == NULL)
        return false;
    n = strcspn(by + 4, " ");
    return strncmp(by + 4, was + 8, n + 1) == 0;
}

/* Normal work: many of them, and none needs an operator. */
static bool is_routine(const char *text)
{
    return is_tier_change(text) || begins(text, "event=move_state ") ||
           begins(text, "event=segment_opened ") ||
           begins(text, "event=segment_unused ") || begins(text, "event=segment_sealed ") ||
           begins(text, "event=segment_removed ") || begins(text, "event=segment_dropped ");
}

/* Another event says the same, and more. */
static bool is_double(const char *text)
{
    return begins(text, "event=peer_up ") || begins(text, "event=node_up ") ||
           begins(text, "event=link_");
}

void events_add(struct events *v, int64_t wall_ms, int level, const char *line)
{
    const char *text = strstr(line, "event=");
    struct event *e;

    if (text == NULL || (text != line && text[-1] != ' ') || is_double(text))
        return;
    e = is_routine(text) ? &v->routine[v->n_routine++ % EVENTS_KEPT]
                         : &v->notable[v->n_notable++ % EVENTS_KEPT];
    *e = (struct event){ .seq = ++v->last, .wall_ms = wall_ms, .level = level };
    snprintf(e->text, sizeof(e->text), "%s", text);
}

/* The ring's n-th youngest, 0 = the youngest; NULL: there is none, or not after `since`. */
static const struct event *nth(const struct event *ring, uint64_t n_ever, size_t n,
                               uint64_t since)
{
    const struct event *e;

    if (n >= n_ever || n >= EVENTS_KEPT)
        return NULL;
    e = &ring[(n_ever - 1 - n) % EVENTS_KEPT];
    assert(e->seq != 0);
    return e->seq > since ? e : NULL;
}

size_t events_since(const struct events *v, uint64_t since, const struct event **out,
                    size_t max)
{
    size_t n = 0, a = 0, b = 0;

    while (n < max) {
        const struct event *x = nth(v->notable, v->n_notable, a, since),
                           *y = nth(v->routine, v->n_routine, b, since);

        if (x == NULL && y == NULL)
            break;
        if (y == NULL || (x != NULL && x->seq > y->seq)) {
            out[n++] = x;
            a++;
        } else {
            out[n++] = y;
            b++;
        }
    }
    for (size_t i = 0; i < n / 2; i++) {
        const struct event *t = out[i];

        out[i] = out[n - 1 - i];
        out[n - 1 - i] = t;
    }
    return n;
}

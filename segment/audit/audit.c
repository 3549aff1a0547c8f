/* audit.c: events as lines of a trail; questions about its files. */
#include "segment/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>

struct audit {
    struct trail *trail; /* owned */
    char node[NAME_MAX_LEN + 1];
    enum audit_subject subject;
    struct audit_desk desk; /* both threads', see there */
};

void audit_put(void *audit, const struct audit_event *e)
{
    struct audit *a = audit;
    char *to = trail_room(a->trail, e->wall_ms);

    if (to != NULL)
        trail_put(a->trail, audit_line(e, a->node, a->subject, to));
}

static size_t gap(void *audit, const struct trail_gap *g, char *out)
{
    const struct audit *a = audit;
    struct audit_event e = { .kind = AUDIT_GAP, .wall_ms = g->wall_ms, .n = g->n, .has_n = true,
                             .since_ms = g->since_ms };

    return audit_line(&e, a->node, a->subject, out);
}

static bool work(void *audit, int dir)
{
    return audit_desk_work(&((struct audit *)audit)->desk, dir);
}

void audit_tick(struct audit *a, int64_t wall_ms)
{
    if (a != NULL)
        trail_tick(a->trail, wall_ms);
}

/* Lines that were handed over by now are written before the search. */
bool audit_look(struct audit *a, const struct audit_ask *q, int64_t wall_ms)
{
    audit_tick(a, wall_ms);
    if (!audit_desk_ask(&a->desk, q))
        return false;
    trail_wake(a->trail);
    return true;
}

bool audit_found(struct audit *a, struct audit_found *f)
{
    return a != NULL && audit_desk_take(&a->desk, f);
}

void audit_count(const struct audit *a, struct trail_counts *n)
{
    trail_count(a != NULL ? a->trail : NULL, n);
}

static void mark(struct audit *a, enum audit_kind kind, int64_t wall_ms)
{
    audit_put(a, &(struct audit_event) { .kind = kind, .wall_ms = wall_ms });
}

int audit_new(struct audit **out, const struct audit_opts *o, struct err *e)
{
    struct audit *a = calloc(1, sizeof(*a));
    struct trail_opts t = { .name = "audit", .dir = o->dir, .node = o->node,
                            .keep_days = o->keep_days, .buffer_bytes = o->buffer_bytes,
                            .line_max = AUDIT_LINE_MAX, .gap = gap, .work = work, .ctx = a };
    int rc;

    if (a == NULL)
        return err_set(e, SQ_ENOMEM, "audit");
    a->subject = o->subject;
    snprintf(a->node, sizeof(a->node), "%s", o->node);
    rc = trail_new(&a->trail, &t, e);
    if (rc < 0) {
        free(a);
        return rc;
    }
    mark(a, AUDIT_STARTED, o->wall_ms);
    *out = a;
    return 0;
}

void audit_free(struct audit *a, int64_t wall_ms)
{
    if (a == NULL)
        return;
    mark(a, AUDIT_STOPPED, wall_ms);
    trail_free(a->trail);
    audit_desk_fini(&a->desk);
    free(a);
}

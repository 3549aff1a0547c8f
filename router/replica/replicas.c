/* replicas.c: see replicas.h. */
#include "router/replica/replicas.h"

#include <stdlib.h>
#include <string.h>

const char *const replica_by_names[REPLICA_NBY] = { "replica", "name", "ticket", "stale", "pace",
                                                    "marks" };

void replicas_init(struct replicas *r, msec_t fresh_ms)
{
    memset(r, 0, sizeof(*r));
    line_pool_init(&r->pool, REPLICA_BYTES);
    map_init(&r->streams, 0);
    r->fresh_ms = fresh_ms;
}

void replicas_fini(struct replicas *r)
{
    uint64_t node, val;

    for (size_t i = 0; (i = map_next(&r->streams, i, &node, &val)) != 0; i = 0)
        replicas_forget(r, (node_no)node);
    map_fini(&r->streams);
    line_pool_fini(&r->pool);
}

struct stream *replicas_stream(struct replicas *r, node_no node)
{
    struct stream *st = map_get_ptr(&r->streams, node);

    if (st != NULL || (st = malloc(sizeof(*st))) == NULL)
        return st;
    stream_init(st, &r->pool);
    if (map_set_ptr(&r->streams, node, st) == 0)
        return st;
    stream_fini(st);
    free(st);
    return NULL;
}

void replicas_forget(struct replicas *r, node_no node)
{
    struct stream *st = map_get_ptr(&r->streams, node);

    if (st == NULL)
        return;
    map_del(&r->streams, node);
    stream_fini(st);
    free(st);
}

uint64_t replicas_marks(const struct replicas *r)
{
    uint64_t node, val, n = 0;

    for (size_t i = 0; (i = map_next(&r->streams, i, &node, &val)) != 0;)
        n += seen_waiting(&((const struct stream *)(uintptr_t)val)->seen);
    return n;
}

/* The shortest interval that was told lately to anybody who may poll now; 0: not known. */
static uint32_t shortest_ms(const struct known_name *n, msec_t now_ms)
{
    uint32_t ms = n->pace != NULL ? told_pace_low_ms(n->pace, now_ms) : 0;

    ms -= ms / 10; /* jitter */
    return ms < n->told_max_ms ? ms : n->told_max_ms;
}

/* Of these names bits are not known, or not all. */
#define ASKS (REPLICA_ASK | REPLICA_MORE | REPLICA_FENCED)

static enum replica_by find(const struct replicas *r, const struct stream *st,
                            const struct known_name *n, uint32_t number, msec_t now_ms,
                            uint32_t *rank)
{
    msec_t age_ms = stream_age_ms(st, now_ms);
    uint32_t low_ms;

    if ((n->flags & ASKS) != 0 || (low_ms = shortest_ms(n, now_ms)) == 0)
        return BY_ASKING_NAME;
    if (age_ms > r->fresh_ms)
        return BY_ASKING_STALE;
    if (age_ms > low_ms)
        return BY_ASKING_PACE;
    return line_rank(&n->line, number, rank) ? BY_REPLICA : BY_ASKING_TICKET;
}

static void tell(const struct known_name *n, uint32_t number, uint32_t rank, msec_t now_ms,
                 struct place_ans *a)
{
    uint64_t position = n->before + rank + 1;
    uint32_t ms = pace_jittered_ms(&n->pace->pace, position, number ^ (uint32_t)now_ms);

    memset(a, 0, sizeof(*a));
    a->state = PLACE_WAITING;
    a->poll_after_ms = ms < n->told_max_ms ? ms : n->told_max_ms;
    if ((n->flags & (REPLICA_EARLY | REPLICA_NO_PLACE)) == 0)
        a->position = position;
    else
        a->reason = (n->flags & REPLICA_EARLY) != 0 ? NO_PLACE_EARLY : NO_PLACE_NOW;
}

static enum replica_by place(struct replicas *r, node_no node, seg_id host, const struct token *t,
                             msec_t now_ms, struct place_ans *a)
{
    enum replica_by by = BY_ASKING_NAME;
    const struct known_name *n;
    struct stream *st;
    uint32_t rank;

    st = map_get_ptr(&r->streams, node);
    if (st != NULL && (n = stream_name(st, t->seg)) != NULL && n->host == host)
        by = find(r, st, n, t->number, now_ms, &rank);
    if (by == BY_REPLICA) {
        unsigned client = t->client < CLIENT_NCLASSES ? t->client : CLIENT_GAME;

        tell(n, t->number, rank, now_ms, a);
        if (!seen_add(&st->seen, t->seg, (enum client_class)client, t->number, a->poll_after_ms))
            by = BY_ASKING_MARKS;
    }
    return by;
}

bool replicas_place(struct replicas *r, node_no node, seg_id host, const struct token *t,
                    msec_t now_ms, struct place_ans *a)
{
    enum replica_by by;

    if (r->fresh_ms == 0)
        return false;
    by = place(r, node, host, t, now_ms, a);
    r->polls[by]++;
    return by == BY_REPLICA;
}

const struct line *replicas_line(const struct replicas *r, node_no node, seg_id host, seg_id name)
{
    const struct stream *st = map_get_ptr(&r->streams, node);
    const struct known_name *n = st != NULL ? stream_name(st, name) : NULL;

    return n != NULL && n->host == host && (n->flags & ASKS) == 0 ? &n->line : NULL;
}

bool replicas_place_now(struct replicas *r, node_no node, seg_id host, const struct token *t,
                        msec_t now_ms, struct place_ans *a)
{
    if (r->fresh_ms == 0 || place(r, node, host, t, now_ms, a) != BY_REPLICA)
        return false;
    r->polls[BY_REPLICA]++;
    return true;
}

void replicas_over(struct replicas *r, node_no node, const struct token *t)
{
    const struct stream *st = map_get_ptr(&r->streams, node);
    struct known_name *n = st != NULL ? stream_name(st, t->seg) : NULL;

    if (n != NULL)
        line_over(&n->line, t->number);
}

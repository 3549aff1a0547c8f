/* replicarig.h: a router's replica at its simplest, for tests of what nodes push: each number a
 * byte. It is compared with the node itself. */
#ifndef SEGQ_TESTS_REPLICARIG_H
#define SEGQ_TESTS_REPLICARIG_H

#include "common/wire/replica_bytes.h"
#include "segment/core/location.h"
#include "segment/core/state.h"
#include "segment/tickets/waiting.h"
#include "tests/lib/segrig.h"

enum { RNAMES = 64, RNUMBERS = 1 << 16, RIG_ROUTER2 = 5 };

struct rname {
    bool known, more; /* more: of its row */
    struct replica_row row;
    uint8_t alive[RNUMBERS];
};

struct rmodel { /* of one node, at one router */
    struct rname name[RNAMES];
    struct pace_entry pace[LANES_MAX];
    uint32_t n_rows, n_frames, n_new, n_whole, n_ends, n_stamps, n_bytes, most_bytes;
    bool whole; /* under way */
    struct msg_replica stamp; /* the last frame with one */
};

struct replicarig {
    struct rig *r;
    struct rmodel *m[2][2]; /* of node, at router */
};

static inline void rname_lines(struct rname *x, const struct replica_row *v)
{
    uint32_t blocks = (v->end + BITS512_N - 1) / BITS512_N, next = 0;
    struct bytes_in in = { v->lines, v->lines + v->n_lines };
    struct lines_run run;

    while (in.p < in.end) {
        cr_assert(lines_get(&in, &next, blocks, &run));
        for (uint32_t i = run.first * BITS512_N; i < next * BITS512_N; i++) {
            uint32_t at = i - (run.first + run.full) * BITS512_N;
            bool full = i < (run.first + run.full) * BITS512_N;

            if (i < v->end)
                x->alive[i] = full || (run.bits[at / 8] >> (at % 8) & 1);
            else
                cr_assert(full || !(run.bits[at / 8] >> (at % 8) & 1), "behind the end");
        }
    }
}

static inline void rname_row(struct rmodel *m, const struct replica_row *v)
{
    struct rname *x = &m->name[v->name];
    struct bytes_in in = { v->dead, v->dead + v->n_dead };
    uint32_t next = v->head, number;

    cr_assert(v->name < RNAMES && v->end < RNUMBERS);
    m->n_rows++;
    m->n_new += (v->flags & REPLICA_NEW) != 0;
    if (!x->known && (v->flags & REPLICA_NEW) == 0)
        return;
    if (v->flags & REPLICA_NEW)
        memset(x, 0, sizeof(*x));
    else if ((v->flags & REPLICA_ASK) == 0)
        memset(x->alive + x->row.end, 1, v->end - x->row.end);
    x->known = true;
    x->row = *v;
    x->more = (v->flags & REPLICA_MORE) != 0;
    if (v->flags & REPLICA_ASK)
        return;
    rname_lines(x, v);
    while (in.p < in.end) {
        cr_assert(dead_get(&in, &next, v->end, &number));
        x->alive[number] = 0;
    }
    memset(x->alive, 0, v->head);
}

static inline void rmodel_take(struct rmodel *m, const struct msg_replica *v)
{
    m->n_frames++;
    if (v->flags & REPLICA_WHOLE) {
        for (int i = 0; i < RNAMES; i++)
            m->name[i].known = false;
        m->whole = true;
        m->n_whole++;
    }
    for (uint32_t i = 0; i < v->n_pace; i++)
        m->pace[v->pace[i].lane] = v->pace[i];
    for (uint32_t i = 0; i < v->n_gone; i++)
        m->name[v->gone[i]].known = false;
    for (uint32_t i = 0; i < v->n; i++)
        rname_row(m, &v->v[i]);
    m->n_ends += (v->flags & REPLICA_END) != 0;
    if (v->flags & REPLICA_END)
        m->whole = false;
    if (v->stamp_ms != 0) {
        m->n_stamps++;
        m->stamp = *v;
        m->stamp.v = NULL;
    }
}

static inline void replicarig_hear(void *ctx, const struct rig_wire *w, const struct msg *msg)
{
    struct replicarig *x = ctx;
    struct rmodel *m = x->m[w->from][w->peer == RIG_ROUTER2];

    if (msg->type != MSG_REPLICA)
        return;
    m->n_bytes += w->body.len;
    m->most_bytes = w->body.len > m->most_bytes ? (uint32_t)w->body.len : m->most_bytes;
    rmodel_take(m, &msg->replica);
}

static inline void replicarig_new(struct replicarig *x, struct rig *r)
{
    x->r = r;
    for (int i = 0; i < 4; i++)
        x->m[i / 2][i % 2] = calloc(1, sizeof(struct rmodel));
    r->hear = replicarig_hear;
    r->hear_ctx = x;
}

static inline void replicarig_fini(struct replicarig *x)
{
    for (int i = 0; i < 4; i++)
        free(x->m[i / 2][i % 2]);
}

static inline void rig_seen(struct rig *r, int node, peer_no router, struct msg_seen m)
{
    struct msg msg = { .type = MSG_SEEN, .seen = m };

    rig_step(r, node, (struct segtab_in) { .kind = SEGTAB_MSG, .peer = router, .msg = &msg });
    rig_pump(r, UINT32_MAX);
}

/* Time passes, and the router is there. */
static inline void rig_heard(struct rig *r, int node, peer_no router, uint32_t ms)
{
    for (uint32_t step; ms > 0; ms -= step) {
        step = ms < SEEN_EVERY_MS ? ms : SEEN_EVERY_MS;
        rig_run(r, step);
        rig_seen(r, node, router, (struct msg_seen) { .clock_ms = 1 });
    }
}

/* Each ticket of this name as the replica has it, against the node; returns how many wait. */
static inline uint32_t same_as_node(const struct rmodel *m, const struct segtab *t, seg_id name)
{
    const struct rname *x = &m->name[name];
    uint32_t rank = 0;

    cr_assert(x->known && !x->more, "name %lu", name);
    for (uint32_t i = 0; i < x->row.end; i++) {
        struct location s;
        uint64_t place;

        cr_assert_eq(segtab_find(t, name, i, &s), FOUND_HERE);
        cr_assert_eq(x->alive[i],
                     s.slot != SEGQ_NONE && segq_is_alive(&s.seg->b.q, s.slot), "%lu-%u", name, i);
        if (!x->alive[i])
            continue;
        place = segtab_position(s.seg, s.slot);
        if (x->row.flags & (REPLICA_EARLY | REPLICA_NO_PLACE))
            cr_assert(place == 0 && x->row.before + rank + 1 == far_position(s.seg, s.slot));
        else
            cr_assert_eq(x->row.before + rank + 1, place, "%lu-%u: %lu, not %lu", name, i,
                         x->row.before + rank + 1, place);
        cr_assert_eq(x->row.told_max_ms, s.seg->told_max_ms);
        rank++;
    }
    return rank;
}

#endif

/* segtape.h: a node's journal in memory, with snapshots, and tables made of it again. */
#ifndef SEGQ_TESTS_SEGTAPE_H
#define SEGQ_TESTS_SEGTAPE_H

#include "common/base/buf.h"
#include "segment/core/jrec.h"
#include "segment/core/state.h"
#include "tests/lib/segrig.h"

struct tape {
    struct buf base;   /* the last whole snapshot */
    struct buf log;    /* what was logged since it was begun */
    struct buf snap;   /* one being written */
    size_t snap_from;  /* where in the log it was begun */
    bool snapping;
};

static inline void put(struct buf *b, const struct jrec *r)
{
    buf_byte(b, r->kind);
    jrec_encode(r, b);
    cr_assert_not(b->failed);
}

static inline void on_log(void *ctx, const struct jrec *r)
{
    put(&((struct tape *)ctx)->log, r);
}

static inline void on_snap(void *ctx, const struct jrec *r)
{
    put(&((struct tape *)ctx)->snap, r);
}

static inline void tape_fini(struct tape *tp)
{
    buf_fini(&tp->base);
    buf_fini(&tp->log);
    buf_fini(&tp->snap);
}

/* One slice; it is whole after the last. */
static inline void tape_snap(struct tape *tp, struct segtab *t, uint64_t n_blocks)
{
    bool begin = !tp->snapping;

    if (begin) {
        buf_reset(&tp->snap);
        tp->snap_from = tp->log.len;
    }
    tp->snapping = segtab_snapshot(t, begin, n_blocks, on_snap, tp);
    if (tp->snapping)
        return;
    buf_consume(&tp->log, tp->snap_from);
    buf_reset(&tp->base);
    buf_append(&tp->base, tp->snap.data, tp->snap.len);
}

static inline void replay_buf(struct segtab *t, const struct buf *b)
{
    for (size_t at = 0; at < b->len;) {
        struct jrec r;
        int64_t n = jrec_decode(b->data[at], b->data + at + 1, b->len - at - 1, &r);

        cr_assert_geq(n, 0, "cannot decode %s", jrec_name(b->data[at]));
        cr_assert_eq(segtab_replay(t, &r), 0, "%s of %llu at %zu of %zu",
                     jrec_name(r.kind), (unsigned long long)r.seg, at, b->len);
        at += 1 + (size_t)n;
    }
}

static inline struct segtab *replay_within(struct tape *tp, uint64_t max_tickets)
{
    struct segtab_opts o = rig_opts(max_tickets);
    struct segtab *t;

    o.log = on_log;
    o.log_ctx = tp;
    t = segtab_new(&o);
    replay_buf(t, &tp->base);
    replay_buf(t, &tp->log);
    return t;
}

static inline struct segtab *replay(struct tape *tp)
{
    return replay_within(tp, 1u << 20);
}

#endif

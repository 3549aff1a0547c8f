/* moveshared.h: a store that all nodes of moverig.h can open (tasktab_opts.shared), in place of their
 * disks: who opens a partition there fences the one before; a turn of whom was fenced is not written,
 * and the partition is lost there, as task/service/shared.c does it. */
#ifndef SEGQ_TESTS_MOVESHARED_H
#define SEGQ_TESTS_MOVESHARED_H

#include "task/redis/writes.h"
#include "tests/lib/moveworld.h"

static inline void mv_links_down(struct mv *w, int i);

static inline struct buf *ms_body(const struct mv_node *d, uint64_t ref)
{
    uint64_t n = ref >> (64 - WRITES_NUMBERS);

    if (n == 0 || n > d->w->redis->n_bodies) {
        MV_BAD(d->w, "a body that never was");
        n = 0;
    }
    return &d->w->redis->body[n];
}

static inline bool ms_has_body(void *ctx, uint64_t ref)
{
    return ms_body(ctx, ref)->len > 0;
}

/* ---- tab_shared ----------------------------------------------------------------------- */

static inline int ms_open(void *ctx, part_no no, uint64_t epoch)
{
    struct mv_node *d = ctx;

    if (no >= MS_PARTS)
        abort(); /* MS_PARTS is too low */
    if (d->mine[no] != 0 && epoch > d->mine[no])
        d->leaves[no] = true; /* read anew when it has left */
    if (d->mine[no] != 0 || d->w->redis->fence[no] > epoch)
        return SQ_EBUSY;
    d->w->redis->fence[no] = epoch;
    d->reads[no] = epoch;
    return 0;
}

static inline void ms_close(void *ctx, part_no no, bool for_ever)
{
    struct mv_node *d = ctx;

    if (for_ever && d->w->redis->log[no].len > 0)
        MV_BAD(d->w, "the keys of partition %u are deleted", no);
    d->reads[no] = 0;
    d->leaves[no] |= d->mine[no] != 0;
}

static inline void ms_ask(void *ctx, part_no no)
{
    ((struct mv_node *)ctx)->asks[no] = true;
}

static inline void *ms_record(void *ctx, part_no no, uint8_t kind, size_t n)
{
    struct mv_node *d = ctx;

    buf_append(&d->pend, &no, sizeof(no));
    return mv_put_record(&d->pend, kind, n);
}

static inline int ms_put(void *ctx, part_no no, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    struct mv_redis *r = ((struct mv_node *)ctx)->w->redis;

    (void)no;
    if (r->n_bodies + 1 >= MV_BODIES)
        return SQ_EFULL;
    *ref = (uint64_t)++r->n_bodies << (64 - WRITES_NUMBERS) | n;
    buf_append(&r->body[r->n_bodies], p, n);
    return 0;
}

static inline void ms_drop(void *ctx, part_no no, uint64_t ref)
{
    struct mv_node *d = ctx;

    buf_append(&d->gone, &no, sizeof(no));
    buf_append(&d->gone, &ref, sizeof(ref));
}

static inline int ms_want(void *ctx, part_no no, uint64_t ref, uint8_t *to)
{
    const struct buf *b = ms_body(ctx, ref);

    (void)no;
    if (b->len == 0)
        MV_BAD(((struct mv_node *)ctx)->w, "a body that is gone is asked for");
    else
        memcpy(to, b->data, b->len);
    return 0;
}

static const struct tab_shared ms_calls = { ms_open, ms_close, ms_ask, ms_record,
                                            ms_put,  ms_drop,  writes_ref_bytes, ms_want };

/* ---- a turn --------------------------------------------------------------------------- */

/* Before it: what was ordered is read, what is to be closed goes. */
static inline void ms_before(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];

    for (part_no no = 1; no < MS_PARTS; no++) {
        struct mv_redis *r = w->redis;

        if (d->leaves[no]) {
            d->leaves[no] = false;
            d->mine[no] = 0;
            tasktab_lost(d->t, no, &d->out);
        }
        if (d->reads[no] == 0)
            continue;
        if (d->reads[no] == r->fence[no] &&
            tasktab_loaded(d->t, mv_now(w), no, r->log[no].data, r->log[no].len, ms_has_body, d) == 0)
            d->mine[no] = d->reads[no];
        d->reads[no] = 0;
    }
}

/* Nobody hears what the turn says, but calls whose partition is not among those that are lost. */
static inline void ms_take_back(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    uint32_t kept = 0;

    for (uint32_t k = 0; k < d->out.n; k++)
        if (d->out.v[k].to == PEER_SELF && !w->sender->forget(w, i, &d->out.v[k]))
            d->out.v[kept++] = d->out.v[k];
    d->out.n = kept;
    mv_links_down(w, i);
    pr_cut(w->r, i);
}

static inline void ms_records(struct mv *w, struct mv_node *d)
{
    for (size_t at = 0; at < d->pend.len;) {
        const uint8_t *p = d->pend.data + at;
        part_no no;
        uint32_t n;

        memcpy(&no, p, sizeof(no));
        p += sizeof(no);
        memcpy(&n, p + 1, sizeof(n));
        if (d->mine[no] != 0)
            trec_frame(&w->redis->log[no], p[0], p + 5, n);
        at += sizeof(no) + 5 + n;
    }
    buf_reset(&d->pend);
}

static inline void ms_drops(struct mv_node *d)
{
    for (size_t at = 0; at < d->gone.len; at += sizeof(part_no) + sizeof(uint64_t)) {
        part_no no;
        uint64_t ref;

        memcpy(&no, d->gone.data + at, sizeof(no));
        memcpy(&ref, d->gone.data + at + sizeof(no), sizeof(ref));
        if (d->mine[no] != 0)
            buf_fini(ms_body(d, ref));
    }
    buf_reset(&d->gone);
}

/* Writes the turn, and loses what another node has opened. */
static inline void ms_write(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    bool lost[MS_PARTS] = { false }, told = true;

    for (part_no no = 1; no < MS_PARTS; no++) {
        lost[no] = d->mine[no] != 0 && d->mine[no] != w->redis->fence[no];
        told &= !(lost[no] && d->asks[no]);
        d->mine[no] = lost[no] ? 0 : d->mine[no];
        d->asks[no] = false;
    }
    ms_records(w, d);
    ms_drops(d);
    if (!told)
        ms_take_back(w, i);
    for (part_no no = 1; no < MS_PARTS; no++)
        if (lost[no])
            tasktab_lost(d->t, no, &d->out);
}

static inline void ms_dies(struct mv_node *d)
{
    memset(d->mine, 0, sizeof(d->mine));
    memset(d->reads, 0, sizeof(d->reads));
    memset(d->leaves, 0, sizeof(d->leaves));
    memset(d->asks, 0, sizeof(d->asks));
    buf_reset(&d->gone);
}

#endif

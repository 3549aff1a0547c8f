/* tabrig.h: around a table of tasks: a journal in memory, and bodies by their numbers. */
#ifndef SEGQ_TESTS_TABRIG_H
#define SEGQ_TESTS_TABRIG_H

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "task/node/keep.h"
#include "task/node/parts.h"
#include "tests/lib/engine_state.h"

#define TABRIG_BODIES 4000

struct tabrig_store { /* records, each: kind, length, bytes */
    struct buf b;
};

struct tabrig {
    struct tasktab *t;
    struct tabrig_store log, snap;
    struct tab_boot boot; /* tasktab_opts.boot */
    struct calls *calls; /* ref; NULL: none are made */
    struct tab_large large; /* tasktab_opts.large */
    const struct tab_shared *shared; /* tasktab_opts.shared; ctx: the rig */
    void (*ended)(void *ctx, const struct task_end *end); /* tasktab_opts.ended; ctx: the rig */
    uint64_t n_bodies, dropped, old_to; /* old_to: bodies up to this one are old */
    struct buf body[TABRIG_BODIES];     /* by reference */
};

static inline void *tabrig_record(void *ctx, uint8_t kind, size_t n)
{
    struct buf *b = &((struct tabrig_store *)ctx)->b;
    uint32_t len = (uint32_t)n;

    buf_byte(b, kind);
    buf_append(b, &len, sizeof(len));
    if (buf_reserve(b, n) == NULL)
        return NULL;
    b->len += n;
    return b->data + b->len - n;
}

static inline int tabrig_put(struct bodies *ctx, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    struct tabrig *r = (void *)ctx;

    if (r->n_bodies + 1 >= TABRIG_BODIES)
        return SQ_EFULL;
    *ref = ++r->n_bodies;
    buf_append(&r->body[*ref], p, n);
    return 0;
}

static inline int tabrig_get(struct bodies *ctx, uint64_t ref, struct buf *to)
{
    const struct buf *b = &((struct tabrig *)(void *)ctx)->body[ref];

    if (b->len == 0)
        return SQ_EPROTO;
    buf_append(to, b->data, b->len);
    return 0;
}

static inline uint32_t tabrig_bytes(uint64_t ref)
{
    return ref != 0; /* of any */
}

static inline void tabrig_drop(struct bodies *ctx, uint64_t ref)
{
    struct tabrig *r = (void *)ctx;

    assert(r->body[ref].len > 0);
    buf_fini(&r->body[ref]);
    r->dropped++;
}

static inline bool tabrig_is_old(const struct bodies *ctx, uint64_t ref)
{
    return ref <= ((const struct tabrig *)(const void *)ctx)->old_to;
}

static inline int tabrig_copy(struct bodies *ctx, uint64_t ref, uint64_t *to)
{
    struct buf b = { 0 };
    int rc = tabrig_get(ctx, ref, &b);

    if (rc == 0)
        rc = tabrig_put(ctx, b.data, (uint32_t)b.len, to);
    buf_fini(&b);
    return rc;
}

static inline bool tabrig_live(void *ctx, uint64_t ref)
{
    return ((struct tabrig *)ctx)->body[ref].len > 0;
}

static inline void tabrig_new(struct tabrig *r)
{
    struct tasktab_opts o = { .addr = "127.0.0.1:1", .admin = "", .max_tasks = 1000,
                              .max_keys = 1000, .seed = { 7 }, .boot = r->boot,
                              .bodies = { tabrig_put, tabrig_get, tabrig_drop, tabrig_bytes, tabrig_is_old,
                                          tabrig_copy, (void *)r },
                              .record = tabrig_record, .record_ctx = &r->log,
                              .ended = r->ended, .ended_ctx = r,
                              .shared = r->shared, .shared_ctx = r,
                              .calls = r->calls, .large = r->large };

    r->t = tasktab_new(&o);
    assert(r->t != NULL);
}

static inline void tabrig_fini(struct tabrig *r)
{
    tasktab_free(r->t);
    buf_fini(&r->log.b);
    buf_fini(&r->snap.b);
    for (unsigned i = 0; i < TABRIG_BODIES; i++)
        buf_fini(&r->body[i]);
}

/* Of all partitions. */
static inline uint64_t tabrig_digest(const struct tabrig *r)
{
    uint64_t h = 0;

    each_part (r->t, p)
        h ^= engine_digest(&p->e) * (2 * p->no + 1) ^ p->epoch << 8 ^ p->paused;
    return h;
}

static inline int tabrig_replay(struct tabrig *r, bool snap)
{
    const struct buf *b = snap ? &r->snap.b : &r->log.b;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->len;) {
        uint32_t n;

        memcpy(&n, b->data + i + 1, sizeof(n));
        rc = tasktab_replay(r->t, snap, b->data[i], b->data + i + 5, n);
        i += 5 + n;
    }
    return rc;
}

/* The same table from what was written. Its digest before lives grow by the time for which the
 * node stood. */
static inline uint64_t tabrig_again(struct tabrig *r, struct task_now now)
{
    uint64_t read;
    int rc;

    tasktab_free(r->t);
    tabrig_new(r);
    rc = tabrig_replay(r, true);
    if (rc == 0)
        rc = tabrig_replay(r, false);
    assert(rc == 0);
    read = tabrig_digest(r);
    rc = tasktab_replayed(r->t, now, false, tabrig_live, r);
    assert(rc == 0);
    return read;
}

#endif

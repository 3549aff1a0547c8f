/* bodyrig.h: bodies on a simulated disk, and what they must give back.
 *
 * Body i is bytes made from i. `ref` of each that its owner has; what a turn put counts when the
 * turn was flushed, and is forgotten when it was not. `sync`: as under `fsync`; `kept` is what the
 * journal has, which never fails here, and has no room at every fifth flush. */
#ifndef SEGQ_TESTS_BODYRIG_H
#define SEGQ_TESTS_BODYRIG_H

#include "tests/lib/criterion.h"
#include <errno.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/task/rules.h"
#include "task/bodies/bodies.h"
#include "task/node/table.h"
#include "tests/lib/sim/disk.h"

#define BRIG_MAX 4096

struct brig {
    struct simdisk *disk;
    struct bodies *b;
    bool sync, is_flushed[BRIG_MAX];
    uint32_t file_bytes, n, longest;
    uint64_t ref[BRIG_MAX]; /* 0: nobody has it */
    struct { /* dropped when the turn is written; else they are their owners' again */
        uint32_t i;
        uint64_t ref;
    } dying[BRIG_MAX];
    uint32_t n_dying;
    msec_t now;
    uint64_t seed;
    struct buf kept;  /* of struct brig_kept, and its bytes, in turn */
    size_t kept_till; /* of it: in groups that are written */
    uint32_t keeps;
};

struct brig_kept {
    uint32_t file, at, n;
};

static inline bool brig_keep(void *ctx, uint32_t file, uint32_t at, const uint8_t *p, uint32_t n)
{
    struct brig *r = ctx;
    struct brig_kept k = { file, at, n };

    if (r->keeps++ % 5 == 4)
        return false;
    buf_append(&r->kept, &k, sizeof(k));
    buf_append(&r->kept, p, n);
    cr_assert(!r->kept.failed);
    return true;
}

/* The journal is read. What bodies_redo answered. */
static inline int brig_redo(struct brig *r)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < r->kept.len;) {
        struct brig_kept k;

        memcpy(&k, r->kept.data + at, sizeof(k));
        rc = bodies_redo(r->b, k.file, k.at, r->kept.data + at + sizeof(k), k.n);
        at += sizeof(k) + k.n;
    }
    return rc;
}

/* A snapshot of the journal: it forgets, if it may. */
static inline void brig_snapshot(struct brig *r)
{
    cr_assert_eq(r->kept.len, r->kept_till, "between turns");
    if (bodies_sync(r->b))
        r->kept.len = r->kept_till = 0;
}

static inline void brig_quiet(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static inline uint32_t brig_fill(const struct brig *r, uint8_t *p, uint32_t i)
{
    uint32_t n = 1 + i * 2654435761u % r->longest;

    for (uint32_t k = 0; k < n; k++)
        p[k] = (uint8_t)(i * 31 + k * 7 + (k >> 8));
    return n;
}

static inline int brig_try_open(struct brig *r)
{
    struct bodies_opts o = { .dir = "sim", .disk = simdisk_disk(r->disk), .node = "task-1",
                             .keep = r->sync ? brig_keep : NULL, .keep_ctx = r,
                             .file_bytes = r->file_bytes };
    struct err e = { 0 };

    return bodies_open(&r->b, &o, &e);
}

static inline struct brig *brig_new(uint64_t seed, bool sync)
{
    struct brig *r = calloc(1, sizeof(*r));

    cr_assert_not_null(r);
    log_set_sink(brig_quiet, NULL);
    r->disk = simdisk_new(seed);
    r->seed = seed;
    r->sync = sync;
    r->file_bytes = 64 * 1024;
    r->longest = 3000;
    r->now = 1000;
    buf_init(&r->kept);
    return r;
}

static inline struct brig *brig_open_new(uint64_t seed, bool sync)
{
    struct brig *r = brig_new(seed, sync);

    cr_assert_eq(brig_try_open(r), 0);
    bodies_opened(r->b);
    return r;
}

static inline void brig_free(struct brig *r)
{
    bodies_close(r->b);
    simdisk_free(r->disk);
    buf_fini(&r->kept);
    free(r);
}

/* What bodies_put answered; 0: it is body r->n - 1. */
static inline int brig_put(struct brig *r)
{
    static uint8_t bytes[TASK_BODY_MAX];
    int rc = SQ_EFULL;

    if (r->n < BRIG_MAX)
        rc = bodies_put(r->b, bytes, brig_fill(r, bytes, r->n), &r->ref[r->n]);
    if (rc == 0)
        r->is_flushed[r->n++] = false;
    return rc;
}

static inline int brig_flush(struct brig *r)
{
    int rc = bodies_flush(r->b);

    if (rc < 0)
        return rc;
    r->kept_till = r->kept.len;
    for (uint32_t i = 0; i < r->n; i++)
        r->is_flushed[i] = true;
    for (uint32_t i = 0; i < r->n_dying; i++)
        bodies_drop(r->b, r->dying[i].ref);
    r->n_dying = 0;
    return 0;
}

/* Its owner has another one, or (to 0) none any more, when the turn is written. */
static inline void brig_give(struct brig *r, uint32_t i, uint64_t to)
{
    cr_assert_lt(r->n_dying, BRIG_MAX);
    r->dying[r->n_dying].i = i;
    r->dying[r->n_dying++].ref = r->ref[i];
    r->ref[i] = to;
}

static inline void brig_check(struct brig *r)
{
    static uint8_t want[TASK_BODY_MAX];
    struct buf got;

    buf_init(&got);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t n = brig_fill(r, want, i);

        if (r->ref[i] == 0)
            continue;
        buf_reset(&got);
        cr_assert_eq(bodies_get(r->b, r->ref[i], &got), 0, "seed %lu: body %u",
                     (unsigned long)r->seed, i);
        cr_assert_eq(got.len, n);
        cr_assert_eq(memcmp(got.data, want, n), 0);
    }
    buf_fini(&got);
}

/* Says who lives. How many are gone: those are the owner's no more; < 0: what was kept could not
 * be written again. */
static inline int brig_say(struct brig *r)
{
    int gone = brig_redo(r);

    if (gone < 0)
        return gone;
    for (uint32_t i = 0; i < r->n; i++)
        if (bodies_live(r->b, r->ref[i]) < 0) {
            r->ref[i] = 0;
            gone++;
        }
    bodies_opened(r->b);
    return gone;
}

static inline void brig_forget_turn(struct brig *r)
{
    r->kept.len = r->kept_till;
    while (r->n_dying > 0) {
        r->n_dying--;
        r->ref[r->dying[r->n_dying].i] = r->dying[r->n_dying].ref;
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (!r->is_flushed[i])
            r->ref[i] = 0;
}

static inline int brig_again(struct brig *r)
{
    brig_forget_turn(r);
    bodies_again(r->b);
    return brig_say(r);
}

static inline int brig_restart(struct brig *r, bool power_cut)
{
    bodies_close(r->b);
    r->b = NULL;
    if (power_cut)
        simdisk_crash(r->disk);
    else
        simdisk_kill(r->disk);
    brig_forget_turn(r);
    cr_assert_eq(brig_try_open(r), 0);
    return brig_say(r);
}

/* One walk over all that is owned, as the caller of bodies_step does it. */
static inline void brig_step(struct brig *r, msec_t ms)
{
    r->now += ms;
    if (!bodies_step(r->b, r->now))
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        uint64_t to;

        if (r->ref[i] == 0 || !bodies_is_old(r->b, r->ref[i]) ||
            bodies_copy(r->b, r->ref[i], &to) < 0)
            continue;
        brig_give(r, i, to);
    }
}

/* ---- for a table: struct tab_bodies ---- */

static inline struct tab_bodies brig_of_table(struct bodies *b)
{
    return (struct tab_bodies){ .put = bodies_put, .get = bodies_get, .drop = bodies_drop,
                                .is_old = bodies_is_old, .copy = bodies_copy, .ctx = b };
}

#endif

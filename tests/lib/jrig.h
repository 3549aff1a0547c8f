/* jrig.h: a journal on a simulated disk, and what it must remember.
 *
 * Record i holds its number and bytes made from it, so a replay can be checked exactly: it
 * must give the records 0 .. n-1 in order, end where some turn ended, and n must be
 * between what was promised and what was put. A snapshot says how many records it stands
 * for. */
#ifndef SEGQ_TESTS_JRIG_H
#define SEGQ_TESTS_JRIG_H

#include "tests/lib/criterion.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/base/versions.h"
#include "common/journal/turn.h"
#include "tests/lib/sim/disk.h"

#define JRIG_MAX 4096 /* records in one test */

struct jrig {
    struct simdisk *disk;
    struct journal *j;
    enum journal_mode mode;
    uint64_t snap_after, reserve;
    uint64_t boot; /* of the machine; 0 = nobody asks */
    bool allow_damage, wild; /* wild: damage was allowed, records may be missing */
    uint64_t put, told, safe; /* appended; flushed with 0; must survive a power cut */
    uint64_t seen, chunks;    /* of the replay */
    uint64_t snap_at;         /* the running snapshot stands for records below it */
    bool turn_end[JRIG_MAX + 1];
    msec_t now;
    struct err e;
    uint64_t seed;
};

static inline void jrig_quiet(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)line;
}

static inline size_t jrig_fill(uint8_t *p, uint64_t i)
{
    size_t n = 8 + i * 7 % 53;

    memcpy(p, &i, 8);
    for (size_t k = 8; k < n; k++)
        p[k] = (uint8_t)(i * 31 + k);
    return n;
}

static inline int jrig_on_record(void *ctx, uint8_t type, const uint8_t *p, size_t n,
                                 struct err *e)
{
    struct jrig *r = ctx;
    uint8_t want[64];
    uint64_t i = r->seen;

    if (r->wild && n >= 8) {
        memcpy(&i, p, 8);
        cr_assert(i >= r->seen && i < r->put, "a record out of order");
    }
    cr_assert_eq(n, jrig_fill(want, i));
    cr_assert_eq(memcmp(p, want, n), 0, "record %lu", (unsigned long)i);
    cr_assert_eq(type, i % 7);
    r->seen = i + 1;
    (void)e;
    return 0;
}

static inline int jrig_on_chunk(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
    struct jrig *r = ctx;
    uint64_t word[2];

    cr_assert_geq(n, sizeof(word));
    memcpy(word, p, sizeof(word));
    cr_assert_eq(word[1], r->chunks);
    cr_assert(r->chunks == 0 || word[0] == r->seen);
    r->seen = word[0];
    r->chunks++;
    (void)e;
    return 0;
}

static inline int jrig_try_open(struct jrig *r)
{
    struct journal_opts o = { .dir = "sim", .disk = simdisk_disk(r->disk), .node = "seg-1",
                              .format = JOURNAL_FORMAT,
                              .mode = r->mode, .reserve_bytes = r->reserve,
                              .snap_after_bytes = r->snap_after,
                              .allow_damage = r->allow_damage,
                              .boot = r->boot };
    struct journal_replay to = { jrig_on_chunk, jrig_on_record, r };

    r->seen = r->chunks = 0;
    r->j = NULL;
    return journal_open(&r->j, &o, &to, &r->e);
}

/* What a replay gave must be what was promised (at least), and whole turns. */
static inline void jrig_check(struct jrig *r, uint64_t at_least)
{
    cr_assert_geq(r->seen, at_least, "seed %lu: %lu of %lu promised records are there",
                  (unsigned long)r->seed, (unsigned long)r->seen, (unsigned long)at_least);
    cr_assert_leq(r->seen, r->put);
    cr_assert(r->turn_end[r->seen], "seed %lu: a turn was replayed in part: %lu",
              (unsigned long)r->seed, (unsigned long)r->seen);
}

static inline void jrig_open(struct jrig *r, uint64_t at_least)
{
    int rc = jrig_try_open(r);

    cr_assert_eq(rc, 0, "seed %lu: %s", (unsigned long)r->seed, r->e.text);
    jrig_check(r, at_least);
    memset(r->turn_end + r->seen + 1, 0, JRIG_MAX - r->seen);
    r->put = r->told = r->safe = r->seen;
}

static inline struct jrig *jrig_new(uint64_t seed, enum journal_mode mode)
{
    struct jrig *r = calloc(1, sizeof(*r));

    cr_assert_not_null(r);
    log_set_sink(jrig_quiet, NULL);
    r->disk = simdisk_new(seed);
    r->mode = mode;
    r->turn_end[0] = true;
    r->reserve = 4096;
    return r;
}

static inline void jrig_free(struct jrig *r)
{
    journal_close(r->j);
    simdisk_free(r->disk);
    free(r);
}

static inline void jrig_put(struct jrig *r, unsigned n)
{
    for (; n > 0 && r->put < JRIG_MAX; n--, r->put++) {
        uint8_t bytes[64];
        size_t len = jrig_fill(bytes, r->put);

        journal_append(r->j, (uint8_t)(r->put % 7), bytes, len);
    }
}

static inline int jrig_flush(struct jrig *r)
{
    int rc = journal_flush(r->j, &r->e);

    r->turn_end[r->put] = true;
    if (rc == 0) {
        r->told = r->put;
        if (r->mode == JOURNAL_FSYNC)
            r->safe = r->put;
    }
    return rc;
}

static inline int jrig_turn(struct jrig *r, unsigned n)
{
    jrig_put(r, n);
    return jrig_flush(r);
}

static inline int jrig_tick(struct jrig *r, msec_t ms)
{
    struct journal_counts c;
    int rc;

    r->now += ms;
    rc = journal_tick(r->j, r->now, &r->e);
    journal_counts(r->j, &c);
    if (rc == 0 && c.unsynced == 0 && journal_ok(r->j))
        r->safe = r->told;
    return rc;
}

static inline int jrig_snap_begin(struct jrig *r)
{
    int rc;

    r->turn_end[r->put] = true;
    rc = journal_snap_begin(r->j, &r->e);
    if (rc == 0) {
        r->snap_at = r->put;
        if (journal_ok(r->j))
            r->told = r->safe = r->put;
    }
    return rc;
}

static inline int jrig_snap_put(struct jrig *r, uint64_t chunk)
{
    uint8_t bytes[500] = { 0 };

    memcpy(bytes, (uint64_t[]){ r->snap_at, chunk }, 16);
    return journal_snap_put(r->j, bytes, 16 + chunk * 37 % 480, &r->e);
}

static inline int jrig_snap_commit(struct jrig *r)
{
    int rc = journal_snap_commit(r->j, &r->e);

    if (rc == 0)
        r->safe = r->safe > r->snap_at ? r->safe : r->snap_at;
    return rc;
}

/* A whole snapshot with records between its pieces. */
static inline int jrig_snapshot(struct jrig *r, unsigned chunks)
{
    int rc = jrig_snap_begin(r);

    for (uint64_t i = 0; rc == 0 && i < chunks; i++) {
        rc = jrig_snap_put(r, i);
        if (i % 2 == 1)
            (void)jrig_turn(r, 1);
    }
    if (rc == 0)
        return jrig_snap_commit(r);
    journal_snap_abort(r->j);
    return rc;
}

static inline void jrig_forget(struct jrig *r) /* the process died: its memory is gone */
{
    /* What the journal still does on its way out must not count. */
    simdisk_die_at(r->disk, 1);
    journal_close(r->j);
    r->j = NULL;
}

static inline void jrig_kill(struct jrig *r)
{
    uint64_t told = r->told;

    jrig_forget(r);
    simdisk_kill(r->disk);
    jrig_open(r, told);
}

static inline void jrig_crash(struct jrig *r)
{
    uint64_t safe = r->safe;

    jrig_forget(r);
    simdisk_crash(r->disk);
    jrig_open(r, safe);
}

static inline void jrig_restart(struct jrig *r) /* in order */
{
    uint64_t told = r->told;

    journal_close(r->j);
    r->j = NULL;
    simdisk_kill(r->disk);
    jrig_open(r, told);
}

#endif

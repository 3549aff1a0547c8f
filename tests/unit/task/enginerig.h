/* enginerig.h: a partition, a journal in memory, and restarts, for tests of task/engine. */
#ifndef SEGQ_TEST_ENGINERIG_H
#define SEGQ_TEST_ENGINERIG_H

#include "task/engine/change.h"
#include "task/engine/engine.h"
#include "task/engine/submit.h"
#include "task/engine/worker.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "tests/lib/engine_state.h"

static const struct attempt given_back = { .end = ATTEMPT_GIVEN_BACK };

#define RIG_START ((msec_t)1780000000000)

struct enginerig {
    struct engine e;
    struct engine_opts opts;
    struct buf journal; /* all that was written */
    struct task_now now;
};

static inline struct trec_text rig_text(const char *s)
{
    return (struct trec_text){ s, s != NULL ? (uint32_t)strlen(s) : 0 };
}

/* The turn's records are written. */
static inline void rig_flush(struct enginerig *r)
{
    cr_assert_not(r->e.log.failed);
    buf_append(&r->journal, r->e.log.data, r->e.log.len);
    engine_log_reset(&r->e);
    if (r->e.tree.turns_now > 1000)
        return; /* looking at all of them with each task takes too long */
    cr_assert_null(tree_check(&r->e.tree), "%s", tree_check(&r->e.tree));
}

static inline void rig_init(struct enginerig *r, const struct task_rules *rules)
{
    struct task_rules def;

    memset(r, 0, sizeof(*r));
    r->now = (struct task_now){ RIG_START, RIG_START };
    r->opts = (struct engine_opts){ .max_tasks = 100000, .max_keys = 100000, .seed = { 9 },
                                    .now_ms = RIG_START };
    engine_init(&r->e, &r->opts);
    buf_init(&r->journal);
    rules_default(&def);
    engine_advance(&r->e, r->now, 1000);
    cr_assert_eq(engine_define(&r->e, "*", rules != NULL ? rules : &def), 0);
    rig_flush(r);
}

static inline void rig_fini(struct enginerig *r)
{
    engine_fini(&r->e);
    buf_fini(&r->journal);
}

static inline int rig_read(struct engine *e, const uint8_t *p, size_t len)
{
    size_t at = 0;
    int rc = 0;

    while (rc == 0 && at + TREC_FRAME <= len) {
        size_t n = p[at] | (size_t)p[at + 1] << 8 | (size_t)p[at + 2] << 16;

        rc = engine_replay(e, p[at + 3], p + at + TREC_FRAME, n);
        at += TREC_FRAME + n;
    }
    return rc;
}

/* What the journal says is what is there; so does a snapshot. */
static inline void rig_compare(struct enginerig *r)
{
    struct engine other;
    struct buf snap;

    engine_init(&other, &r->opts);
    cr_assert_eq(rig_read(&other, r->journal.data, r->journal.len), 0);
    cr_assert_eq(engine_digest(&other), engine_digest(&r->e), "replayed");
    cr_assert_eq(levels_digest(&other, r->e.at), levels_digest(&r->e, r->e.at), "J27: replayed");
    cr_assert_null(tree_check(&other.tree), "%s", tree_check(&other.tree));
    engine_fini(&other);
    buf_init(&snap);
    engine_snapshot(&r->e, &snap);
    engine_init(&other, &r->opts);
    cr_assert_eq(rig_read(&other, snap.data, snap.len), 0);
    cr_assert_eq(engine_digest(&other), engine_digest(&r->e), "from a snapshot");
    cr_assert_eq(levels_digest(&other, r->e.at), levels_digest(&r->e, r->e.at), "J27: from a snapshot");
    cr_assert_null(tree_check(&other.tree), "%s", tree_check(&other.tree));
    engine_fini(&other);
    buf_fini(&snap);
}

static inline void rig_advance(struct enginerig *r, msec_t ms)
{
    r->now.ms += ms;
    r->now.wall_ms += ms;
    cr_assert_not(engine_advance(&r->e, r->now, 1000000));
    rig_flush(r);
}

/* kill -9, and a start `ms` later. */
static inline void rig_restart(struct enginerig *r, msec_t ms)
{
    engine_fini(&r->e);
    r->now.ms += ms;
    r->now.wall_ms += ms;
    r->opts.now_ms = r->now.ms;
    engine_init(&r->e, &r->opts);
    cr_assert_eq(rig_read(&r->e, r->journal.data, r->journal.len), 0);
    cr_assert_eq(engine_opened(&r->e, r->now.ms, r->now.ms), 0);
    rig_advance(r, 0);
}

static inline task_no rig_submit(struct enginerig *r, struct submit s)
{
    task_no no;
    int rc;

    s.queue = s.queue.n != 0 ? s.queue : rig_text("q");
    rc = engine_submit(&r->e, &s, &no);
    cr_assert_eq(rc, 0, "%d", rc);
    rig_flush(r);
    return no;
}

static inline task_no rig_take(struct enginerig *r, uint64_t *lease)
{
    struct trec_text q = rig_text("q");
    struct taken t;
    int n = engine_take(&r->e, &q, 1, 0, &t);

    rig_flush(r);
    if (n == 0)
        return 0;
    if (lease != NULL)
        *lease = t.lease;
    return t.no;
}

static inline enum task_state rig_state(struct enginerig *r, task_no no)
{
    struct task_view v;

    return engine_look(&r->e, no, &v) < 0 ? TASK_FREE : v.state;
}

#endif

/* test_task_replay.c: whatever records a journal has, reading it refuses or goes on: it
 * never ends the process, and what was taken is in order. */
#include "tests/unit/task/enginerig.h"

#include "common/base/rng.h"
#include "task/engine/change.h"

/* A life with everything in it. */
static void live(struct enginerig *r, struct rng *g)
{
    static const char *const keys[] = { "", "a", "b", "c" };
    struct trec_text q = rig_text("q");
    struct taken t[4];

    for (unsigned i = 0; i < 60; i++) {
        struct submit s = { .queue = q, .key1 = rig_text(keys[rng_below(g, 4)]),
                            .name = rig_text(keys[rng_below(g, 4)]), .digest = 1,
                            .priority = (uint8_t)rng_below(g, 3),
                            .delay_ms = (msec_t)rng_below(g, 2) * 500,
                            .order = (int64_t)rng_below(g, 9),
                            .own = { .ttl_ms = rng_below(g, 2) * 9000,
                                     .labels = keys[rng_below(g, 4)] } };
        task_no no;
        int n;

        if (engine_submit(&r->e, &s, &no) == 0 && rng_chance(g, 0.2))
            (void)!(rng_chance(g, 0.5) ? engine_cancel(&r->e, no) : engine_run(&r->e, no));
        if (rng_chance(g, 0.2))
            (void)!engine_redrive_all(&r->e, &q, 1 + rng_below(g, 3000));
        n = engine_take(&r->e, &q, 2, 5000, t);
        for (int k = 0; k < n; k++)
            (void)!(rng_chance(g, 0.5) ? engine_ack(&r->e, t[k].no, t[k].lease, 3)
                                       : engine_nack(&r->e, t[k].no, t[k].lease, -1, &given_back));
        rig_advance(r, (msec_t)rng_below(g, 1000));
    }
}

static void change_one(struct trec *r, struct rng *g)
{
    uint64_t *const m[] = { &r->no, &r->until, &r->entered, &r->priority, &r->wall, &r->lo,
                            &r->lease, &r->state, &r->most, &r->attempts, &r->entry, &r->kind_of };
    uint64_t *one = m[rng_below(g, ARRAY_LEN(m))];

    *one = rng_chance(g, 0.5) ? *one + rng_below(g, 3) - 1 : rng_u64(g) >> rng_below(g, 64);
}

/* Reads all records; some are left out, come twice, or say something else. */
static void read_damaged(struct engine *e, const struct buf *j, struct rng *g)
{
    struct buf b;

    buf_init(&b);
    for (size_t at = 0, n; at < j->len; at += TREC_FRAME + n) {
        const uint8_t *p = j->data + at;
        struct trec r;
        unsigned times = rng_chance(g, 0.03) ? (unsigned)rng_below(g, 3) : 1;

        n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;
        cr_assert_eq(trec_decode(p[3], p + TREC_FRAME, n, &r), 0);
        if (rng_chance(g, 0.05))
            change_one(&r, g);
        buf_reset(&b);
        trec_encode(&r, &b);
        for (unsigned i = 0; i < times; i++)
            (void)!engine_replay(e, r.kind, b.data, b.len); /* goes on, refused or not */
    }
    buf_fini(&b);
}

Test(replay, damaged_records_are_refused_and_end_nothing)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct task_rules rules;
        struct enginerig r;
        struct engine e;
        struct buf snap;
        struct rng g;

        rng_seed(&g, seed);
        rules_default(&rules);
        rules.order = seed % ORDER_NKINDS;
        rules.max_attempts = 2;
        rules.key_at_once = seed % 3;
        rules.result_ms = 3000;
        rig_init(&r, &rules);
        live(&r, &g);
        buf_init(&snap);
        engine_snapshot(&r.e, &snap);
        engine_init(&e, &r.opts);
        read_damaged(&e, seed % 2 == 0 ? &snap : &r.journal, &g);
        if (engine_opened(&e, r.now.ms, r.now.ms) == 0) {
            cr_assert_null(tree_check(&e.tree), "seed %lu: %s", seed, tree_check(&e.tree));
            engine_advance(&e, (struct task_now){ r.now.ms + 100000, r.now.ms }, 100000);
        }
        engine_fini(&e);
        rig_fini(&r);
        buf_fini(&snap);
    }
}

Test(replay, a_snapshot_that_is_cut_is_refused)
{
    struct enginerig r;
    struct engine e;
    struct buf snap;

    rig_init(&r, NULL);
    rig_submit(&r, (struct submit){ .body = 1 });
    buf_init(&snap);
    engine_snapshot(&r.e, &snap);
    engine_init(&e, &r.opts);
    cr_assert_eq(rig_read(&e, snap.data, snap.len - TREC_FRAME - 1), 0); /* SNAP_END: a byte */
    cr_expect_eq(engine_opened(&e, r.now.ms, r.now.ms), SQ_EPROTO);
    engine_fini(&e);
    rig_fini(&r);
    buf_fini(&snap);
}

/* A key has ended, but the clock has not run since the start; then it has, and the key is used again. */
Test(replay, a_key_that_ended_before_the_snapshot_may_be_used_behind_it)
{
    struct submit s = { .queue = { "q", 1 }, .key = { "k", 1 } };
    struct task_rules rules;
    struct enginerig r;

    rules_default(&rules);
    rules.result_ms = rules.dedup_ms = 1000;
    rig_init(&r, &rules);
    cr_assert_eq(engine_cancel(&r.e, rig_submit(&r, s)), 0);
    rig_flush(&r);
    engine_fini(&r.e);
    r.now.ms += 100000;
    engine_init(&r.e, &r.opts);
    cr_assert_eq(rig_read(&r.e, r.journal.data, r.journal.len), 0);
    cr_assert_eq(engine_opened(&r.e, r.now.ms, r.now.ms), 0);
    rig_flush(&r);
    buf_reset(&r.journal);
    engine_snapshot(&r.e, &r.journal);
    rig_advance(&r, 0);
    rig_submit(&r, s);
    rig_compare(&r);
    rig_fini(&r);
}

Test(replay, a_submission_that_failed_leaves_the_moment_of_the_log_as_it_was)
{
    struct submit s = { .queue = { "q", 1 }, .key1 = { "a", 1 }, .name = { "n", 1 } };
    struct enginerig r;
    task_no no;

    rig_init(&r, NULL);
    rig_advance(&r, 5000);
    rig_submit(&r, s);
    r.e.tree.max_limiters = r.e.tree.limiters_now;
    s.key1.p = "b";
    s.name.p = "m";
    cr_assert_eq(engine_submit(&r.e, &s, &no), SQ_ENOMEM);
    rig_flush(&r);
    buf_reset(&r.journal);
    engine_snapshot(&r.e, &r.journal);
    r.now.ms -= 3000; /* the wall went back over a restart: the axis does not */
    r.now.wall_ms -= 3000;
    rig_restart(&r, 0);
    cr_expect_eq(r.e.at, RIG_START + 5000);
    rig_fini(&r);
}

Test(replay, what_runs_has_begun_once)
{
    struct trec snap = { .kind = TREC_SNAP }, t = { .kind = TREC_TASK, .no = 1u << TASK_SLOT_BITS,
                                                    .name = { "q", 1 }, .state = TASK_RUNNING,
                                                    .lease = 1, .until = RIG_START };
    struct enginerig r;

    rig_init(&r, NULL);
    cr_assert_eq(engine_apply(&r.e, &snap), 0);
    cr_expect_eq(engine_apply(&r.e, &t), SQ_EPROTO);
    t.attempts = 1;
    cr_expect_eq(engine_apply(&r.e, &t), 0);
    rig_fini(&r);
}

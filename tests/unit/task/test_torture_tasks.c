/* test_torture_tasks.c: a partition without memory: the k-th allocation fails, for every k.
 * A command that finds none has changed nothing; then it is said again, and all comes to the
 * same end. A log without memory is cured as the process does it: made anew from the journal. */
#include "tests/lib/failing.h"
#include "task/engine/look.h"
#include "tests/unit/task/enginerig.h"

#include <stdio.h>

/* One submit; SQ_ENOMEM at most once. */
static task_no submit(struct enginerig *r, const struct submit *s)
{
    uint64_t before = engine_digest(&r->e);
    size_t log = r->e.log.len;
    task_no no;
    int rc = engine_submit(&r->e, s, &no);

    if (rc == SQ_ENOMEM || rc == SQ_EFULL) {
        cr_assert_eq(engine_digest(&r->e), before, "a refused command has changed something");
        cr_assert_eq(r->e.log.len, log, "a refused command is in the log");
        cr_assert_null(tree_check(&r->e.tree), "%s", tree_check(&r->e.tree));
        rc = engine_submit(&r->e, s, &no);
    }
    cr_assert_eq(rc, 0, "%d", rc);
    return no;
}

/* Limits of keys, as submit() does it. */
static void define(struct enginerig *r, uint64_t at_once)
{
    struct key_limit v[] = { { .queue = "", .key = "key1*", .at_once = at_once },
                             { .queue = "", .key = "*/*", .weight = 3 } };
    uint64_t before = engine_digest(&r->e);
    struct buf keys;
    int rc;

    failing_pause(true);
    buf_init(&keys);
    key_limits_encode(v, ARRAY_LEN(v), &keys);
    failing_pause(false);
    rc = engine_define_keys(&r->e, "*", &keys);
    if (rc == SQ_ENOMEM) {
        cr_assert_eq(engine_digest(&r->e), before, "a refused definition has changed something");
        rc = engine_define_keys(&r->e, "*", &keys);
    }
    cr_assert_eq(rc, 0, "%d", rc);
    buf_fini(&keys);
}

/* The turn is written; if the log had no memory, it has not happened. False: that. */
static bool flush(struct enginerig *r)
{
    bool written = !r->e.log.failed;

    failing_pause(true);
    if (written) {
        rig_flush(r);
    } else {
        failing_disarm();
        rig_restart(r, 0);
    }
    failing_pause(false);
    return written;
}

static void story(struct enginerig *r)
{
    struct trec_text q = rig_text("q");
    char key[16];

    for (unsigned i = 0; i < 12; i++) {
        struct submit s = { .queue = i % 4 == 3 ? rig_text("other") : q, .digest = i,
                            .name = rig_text("name"), .delay_ms = i % 3 == 0 ? 100 : 0 };
        struct taken t;

        snprintf(key, sizeof(key), "key%u", i);
        s.key1 = rig_text(key);
        s.key2 = rig_text(i % 2 == 0 ? "" : "below");
        s.name = rig_text(key);
        s.key = rig_text(key);
        s.own.labels = i % 2 == 0 ? key : NULL;
        s.unique = rig_text(i % 3 == 0 ? "" : "unique"); /* each replaces the one before */
        s.unique_while = UNIQUE_WAITING;
        s.on_conflict = UNIQUE_REPLACE;
        do
            submit(r, &s);
        while (!flush(r));
        do
            define(r, 1 + i % 2);
        while (!flush(r));
        do {
            r->now.ms += 250; /* a timer without memory is put off by 100 ms */
            engine_advance(&r->e, r->now, 1000);
        } while (!flush(r));
        if (i % 2 == 0 && engine_take(&r->e, &q, 1, 0, &t) == 1 && flush(r)) {
            cr_assert_eq(engine_ack(&r->e, t.no, t.lease, 7), 0);
            flush(r);
        }
    }
}

Test(torture_tasks, any_allocation_may_fail)
{
    bool failed = true;

    for (uint64_t k = 1; failed; k++) {
        struct enginerig r;

        failing_pause(true);
        rig_init(&r, NULL);
        failing_pause(false);
        failing_arm(k, 1);
        story(&r);
        failed = failing_disarm();
        rig_advance(&r, 1000);
        cr_assert_eq(r.e.store.n[TASK_SCHEDULED], 0);
        cr_assert_eq(r.e.store.n_slots - r.e.store.n[TASK_FREE], 12, "k %lu", k);
        rig_compare(&r);
        rig_fini(&r);
        cr_assert_lt(k, 2000);
        if (!failed)
            cr_assert_gt(k, 30, "it has allocated");
    }
}

/* It gets in line again when there is memory: in front of who came meanwhile, also by the journal. */
Test(torture_tasks, what_nobody_saw_keeps_its_place_while_there_is_no_memory)
{
    unsigned put_off = 0;
    bool failed = true;

    for (uint64_t k = 1; failed; k++) {
        struct submit s = { .digest = k };
        struct enginerig r;
        task_no first, second;
        struct task_view v;
        uint64_t lease;

        failing_pause(true);
        rig_init(&r, NULL);
        first = rig_submit(&r, s);
        cr_assert_eq(rig_take(&r, &lease), first);
        failing_pause(false);
        failing_arm(k, 1);
        cr_assert_eq(engine_unseen(&r.e, first, lease), 0);
        failed = failing_disarm();
        if (!flush(&r)) {
            rig_fini(&r);
            continue;
        }
        put_off += rig_state(&r, first) == TASK_RETRYING;
        second = rig_submit(&r, s);
        rig_advance(&r, 200);
        rig_compare(&r);
        cr_assert_eq(engine_look(&r.e, first, &v), 0);
        cr_expect(v.state == TASK_WAITING && v.position == 1 && v.entered_ms == RIG_START, "k %lu", k);
        cr_assert_eq(engine_look(&r.e, second, &v), 0);
        cr_expect_eq(v.position, 2, "k %lu", k);
        rig_fini(&r);
    }
    cr_expect_gt(put_off, 0);
}

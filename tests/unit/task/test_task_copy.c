/* test_task_copy.c: a table with real bodies: what lives leaves files that are mostly dead. */
#include "tests/lib/bodyrig.h"

#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/engine/worker.h"
#include "task/node/parts.h"
#include "tests/lib/sim/disk.c" /* unit programs link no simulation */

#define TASKS 400

struct rig {
    struct brig *b;
    struct tasktab *t;
    struct part *p;
    struct outbox out;
    struct task_now now;
    task_no no[TASKS];
};

static void turn(struct rig *r)
{
    r->now.ms += 100;
    r->now.wall_ms += 100;
    if (bodies_step(r->b->b, r->now.ms))
        tasktab_copy_bodies(r->t, r->now);
    cr_assert(tasktab_turn(r->t, r->now, &r->out));
    cr_assert_eq(bodies_flush(r->b->b), 0);
    tasktab_written(r->t);
    outbox_reset(&r->out);
}

static void submit(struct rig *r, uint32_t i)
{
    struct submit s = { .queue = { "q", 1 } };
    uint8_t bytes[3000];

    cr_assert_eq(bodies_put(r->b->b, bytes, brig_fill(r->b, bytes, i), &s.body), 0);
    cr_assert_eq(engine_submit(&r->p->e, &s, &r->no[i]), 0);
}

static struct rig *rig_new(void)
{
    static const uint8_t seed[NAMES_SEED] = { 7 };
    struct rig *r = calloc(1, sizeof(*r));
    struct task_rules rules;
    struct tasktab_opts o = { .addr = "a:1", .admin = "a:2", .max_tasks = 10000,
                              .max_keys = 100 };

    cr_assert_not_null(r);
    r->b = brig_open_new(1, true);
    o.bodies = brig_of_table(r->b->b);
    r->t = tasktab_new(&o);
    r->now = (struct task_now){ 1000000, 1000000 };
    outbox_init(&r->out);
    r->p = tasktab_part_new(r->t, &(struct part_seed){ 5, 10000, seed });
    cr_assert_not_null(r->p);
    rules_default(&rules);
    cr_assert_eq(engine_define(&r->p->e, "*", &rules), 0);
    turn(r);
    return r;
}

static void rig_free(struct rig *r)
{
    tasktab_free(r->t);
    outbox_fini(&r->out);
    brig_free(r->b);
    free(r);
}

/* The next task fails for good; its reply has the bytes of body i. */
static void die(struct rig *r, uint32_t i)
{
    struct call_failed f = { .for_good = true, .how.end = ATTEMPT_STATUS };
    uint8_t bytes[3000];
    struct taken k;

    cr_assert_eq(bodies_put(r->b->b, bytes, brig_fill(r->b, bytes, i), &f.reply), 0);
    cr_assert_eq(engine_take(&r->p->e, &(struct trec_text){ "q", 1 }, 1, 0, &k), 1);
    cr_assert_eq(engine_call_failed(&r->p->e, k.no, k.lease, &f), 0);
}

static void check_bytes(struct rig *r, uint64_t ref, uint32_t i)
{
    uint8_t want[3000];
    uint32_t n = brig_fill(r->b, want, i);
    struct buf got;

    buf_init(&got);
    cr_assert_eq(bodies_get(r->b->b, ref, &got), 0);
    cr_assert_eq(got.len, n);
    cr_assert_eq(memcmp(got.data, want, n), 0, "body %u", i);
    buf_fini(&got);
}

static void check(struct rig *r, uint32_t i)
{
    struct task_view v;

    cr_assert_eq(engine_look(&r->p->e, r->no[i], &v), 0);
    check_bytes(r, v.body, i);
}

Test(task_copy, what_lives_moves_and_the_files_go)
{
    struct rig *r = rig_new();
    struct bodies_counts c;

    for (uint32_t i = 0; i < TASKS; i++)
        submit(r, i);
    turn(r);
    for (uint32_t i = 0; i < TASKS; i++)
        if (i % 10 != 0) {
            cr_assert_eq(engine_cancel(&r->p->e, r->no[i]), 0);
            cr_assert_eq(engine_discard(&r->p->e, r->no[i]), 0);
        }
    r->p->due = 0; /* its clock runs, so its records are a part of the next turn */
    for (unsigned k = 0; k < 12; k++)
        turn(r);
    bodies_counts(r->b->b, &c);
    cr_assert_gt(c.copies, 0);
    cr_assert_leq(c.disk_bytes, 4 * c.living_bytes + 2 * r->b->file_bytes);
    cr_assert_gt(c.living_bytes, 0);
    for (uint32_t i = 0; i < TASKS; i += 10)
        check(r, i);
    rig_free(r);
}

Test(task_copy, a_reply_moves_beside_the_body_of_its_task)
{
    struct rig *r = rig_new();
    uint64_t was[TASKS];
    unsigned moved = 0;

    for (uint32_t i = 0; i < TASKS; i++)
        submit(r, i);
    for (uint32_t i = 0; i < TASKS; i++) {
        die(r, TASKS + i);
        was[i] = replies_of(&r->p->e.replies, task_slot_of(r->no[i]));
    }
    turn(r);
    for (uint32_t i = 0; i < TASKS; i++)
        if (i % 10 != 0)
            cr_assert_eq(engine_discard(&r->p->e, r->no[i]), 0);
    r->p->due = 0;
    for (unsigned k = 0; k < 12; k++)
        turn(r);
    for (uint32_t i = 0; i < TASKS; i += 10) {
        uint64_t ref = replies_of(&r->p->e.replies, task_slot_of(r->no[i]));

        moved += ref != was[i];
        check(r, i);
        check_bytes(r, ref, TASKS + i);
    }
    cr_expect_gt(moved, 0);
    rig_free(r);
}

Test(task_copy, one_that_cannot_be_read_stays_and_the_others_move)
{
    struct rig *r = rig_new();
    struct bodies_counts c;
    size_t size;

    for (uint32_t i = 0; i < TASKS; i++) {
        submit(r, i);
        turn(r);
    }
    simdisk_bytes(r->b->disk, "body-00000001", &size)[16] ^= 1; /* of the first */
    for (uint32_t i = 1; i < TASKS; i++)
        if (i % 10 != 0) {
            cr_assert_eq(engine_cancel(&r->p->e, r->no[i]), 0);
            cr_assert_eq(engine_discard(&r->p->e, r->no[i]), 0);
        }
    r->p->due = 0;
    for (unsigned k = 0; k < 12; k++)
        turn(r);
    bodies_counts(r->b->b, &c);
    cr_assert_eq(c.damaged, 1);
    cr_assert_gt(c.copies, 0);
    for (uint32_t i = 10; i < TASKS; i += 10)
        check(r, i);
    rig_free(r);
}

/* test_task_clock.c: a node restarts, or a partition goes to another one, while wall clocks are
 * wrong: delays, leases and lives go on as if nobody had set a clock. */
#include "tests/lib/criterion.h"
#include <sodium.h>

#include "common/base/log.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/engine/worker.h"
#include "tests/lib/tabrig.h"

enum { MNG = 1 };
#define EPOCH  5
#define START  ((msec_t)1780000000000)
#define HOUR   ((msec_t)3600000)
#define DAY    (24 * HOUR)

static struct tabrig rig;
static struct outbox out;
static struct task_now now; /* as the node sees it */
static msec_t boot_ms;      /* since the start of the machine: nobody sets it */

static struct part *part(void)
{
    return rig.t->part[0];
}

static void turn(void)
{
    outbox_reset(&out);
    cr_assert(tasktab_turn(rig.t, now, &out));
    tasktab_written(rig.t);
}

static void pass(msec_t ms)
{
    now.ms += ms;
    now.wall_ms += ms;
    boot_ms += ms;
    turn();
}

static void setup(void)
{
    struct msg open = { .type = MSG_PART_OPEN,
                        .part_open = { EPOCH, 3, 8, "q*", 0, NULL, 100, false } };

    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    memset(&rig, 0, sizeof(rig));
    now = (struct task_now){ START, START };
    boot_ms = DAY;
    rig.boot = (struct tab_boot){ 77, boot_ms - now.ms };
    outbox_init(&out);
    tabrig_new(&rig);
    tasktab_up(rig.t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_msg(rig.t, now, MNG, 1, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 9 } },
                &out);
    tasktab_msg(rig.t, now, MNG, 2, &open, &out);
    turn();
    cr_assert_eq(rig.t->n_parts, 1);
}

static void teardown(void)
{
    tabrig_fini(&rig);
    outbox_fini(&out);
}

TestSuite(task_clock, .init = setup, .fini = teardown);

/* Killed, and back `away` later, while somebody sets the wall by `set`; boot: the start of the machine. */
static void restart(msec_t away, msec_t set, uint64_t boot)
{
    now.wall_ms += away + set;
    now.ms = now.wall_ms; /* the node's axis begins at the wall */
    boot_ms = boot == rig.boot.id ? boot_ms + away : 5000;
    rig.boot = (struct tab_boot){ boot, boot_ms - now.ms };
    tabrig_again(&rig, now);
    turn();
}

static task_no submit(msec_t delay_ms)
{
    struct submit s = { .queue = { "q", 1 }, .delay_ms = delay_ms };
    task_no no;

    cr_assert_not_null(tasktab_owned(rig.t, 3, 8));
    cr_assert_eq(engine_submit(&part()->e, &s, &no), 0);
    turn();
    return no;
}

static void take(msec_t lease_ms)
{
    struct trec_text q = { "q", 1 };
    struct taken k;

    cr_assert_not_null(tasktab_owned(rig.t, 3, 8));
    cr_assert_eq(engine_take(&part()->e, &q, 1, lease_ms, &k), 1);
    turn();
}

static enum task_state state(task_no no)
{
    struct task_view v;

    return engine_look(&part()->e, no, &v) < 0 ? TASK_FREE : v.state;
}

static void begins_after_its_minute(msec_t set)
{
    task_no ran = submit(0), late;

    take(30000);
    late = submit(60000);
    pass(2000);
    restart(1000, set, 77);
    cr_expect_eq(state(late), TASK_SCHEDULED, "%ld", (long)set);
    cr_expect_eq(state(ran), TASK_RUNNING, "%ld", (long)set);
    pass(26900);
    cr_expect_eq(state(ran), TASK_RUNNING);
    pass(200);
    cr_expect_eq(state(ran), TASK_RETRYING);
    pass(29800);
    cr_expect_eq(state(late), TASK_SCHEDULED);
    pass(200);
    cr_expect_eq(state(late), TASK_WAITING);
}

Test(task_clock, a_clock_that_is_ahead_after_a_restart_starts_nothing_early)
{
    begins_after_its_minute(HOUR);
}

Test(task_clock, one_that_went_back_holds_nothing_up)
{
    begins_after_its_minute(-HOUR);
}

Test(task_clock, it_goes_on_over_many_restarts_and_snapshots)
{
    task_no late = submit(60000);

    for (int i = 0; i < 10; i++) {
        buf_reset(&rig.snap.b);
        cr_assert(!tasktab_snapshot(rig.t, true, tabrig_record, &rig.snap));
        pass(2000);
        restart(1000, i % 2 == 0 ? 5 * HOUR : -HOUR, 77);
    }
    pass(29900);
    cr_expect_eq(state(late), TASK_SCHEDULED);
    pass(200);
    cr_expect_eq(state(late), TASK_WAITING);
}

Test(task_clock, over_a_reboot_the_wall_counts_and_what_it_said_before)
{
    task_no late = submit(60000);

    now.wall_ms += HOUR; /* set while it ran: the axis did not follow */
    pass(1000);
    cr_expect_eq(state(late), TASK_SCHEDULED);
    restart(20000, 0, 78);
    cr_expect_eq(state(late), TASK_SCHEDULED);
    pass(38900);
    cr_expect_eq(state(late), TASK_SCHEDULED);
    pass(200);
    cr_expect_eq(state(late), TASK_WAITING);
}

Test(task_clock, over_a_reboot_it_is_believed_for_a_day)
{
    task_no day = submit(DAY - 1), two = submit(2 * DAY);

    restart(0, 1000 * DAY, 78);
    cr_expect_eq(state(day), TASK_WAITING);
    cr_expect_eq(state(two), TASK_SCHEDULED);
    pass(DAY);
    cr_expect_eq(state(two), TASK_WAITING);
}

/* Nothing is written for days: that it was alive meanwhile is. */
Test(task_clock, a_partition_that_is_idle_is_not_taken_for_one_that_was_away)
{
    task_no late = submit(10 * DAY);

    for (int i = 0; i < 24 * 9; i++)
        pass(HOUR);
    restart(12 * HOUR, 0, 78);
    pass(12 * HOUR - 1000);
    cr_expect_eq(state(late), TASK_SCHEDULED);
    pass(1000);
    cr_expect_eq(state(late), TASK_WAITING);
}

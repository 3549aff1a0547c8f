/* test_supervise.c: every state x every event of the table, and its clock. */
#include "common/supervisor/supervise.h"

#include "tests/lib/criterion.h"
#include <stdio.h>

/* The table again, written independently: state, event -> state/act. */
static const char *const expected[SUP_NSTATES][SUP_NEVENTS] = {
    /* start, stop, ready, exit, due, reload, restart, adopt */
    { "starting/spawn", "down/none", "down/none", "down/none", "down/none", "down/none",
      "down/none", "up/none" },
    { "starting/none", "ending/term", "up/none", "backoff/none", "bouncing/term",
      "starting/none", "bouncing/term", "starting/none" },
    { "up/none", "ending/term", "up/none", "backoff/none", "up/none", "up/hup",
      "bouncing/term", "up/none" },
    { "bouncing/none", "ending/none", "ending/none", "down/none", "killed/kill",
      "ending/none", "ending/none", "ending/none" },
    { "killed-restart/none", "killed/none", "killed/none", "down/none", "killed/kill",
      "killed/none", "killed/none", "killed/none" },
    { "bouncing/none", "ending/none", "bouncing/none", "backoff/none",
      "killed-restart/kill", "bouncing/none", "bouncing/none", "bouncing/none" },
    { "killed-restart/none", "killed/none", "killed-restart/none", "backoff/none",
      "killed-restart/kill", "killed-restart/none", "killed-restart/none",
      "killed-restart/none" },
    { "backoff/none", "down/none", "backoff/none", "backoff/none", "starting/spawn",
      "backoff/none", "backoff/none", "backoff/none" },
};

static const struct sup_opts opts = { .ready_ms = 5000, .grace_ms = 3000 };

static enum sup_act step(struct sup_child *c, enum sup_event ev, msec_t now)
{
    static struct rng rng;
    static bool seeded;

    if (!seeded)
        rng_seed(&rng, 1);
    seeded = true;
    return sup_step(c, &opts, ev, now, &rng);
}

static const char *act_name(enum sup_act a)
{
    static const char *const names[] = { "none", "spawn", "term", "kill", "hup" };

    return names[a];
}

Test(supervise, every_cell_of_the_table)
{
    for (int s = 0; s < SUP_NSTATES; s++)
        for (int e = 0; e < SUP_NEVENTS; e++) {
            struct sup_child c;
            char got[64];
            enum sup_act act;

            sup_init(&c);
            c.state = (enum sup_state)s;
            act = step(&c, (enum sup_event)e, 1000);
            snprintf(got, sizeof(got), "%s/%s", sup_state_name(c.state),
                     act_name(act));
            cr_expect_str_eq(got, expected[s][e], "%s x %s: %s, not %s",
                             sup_state_name((enum sup_state)s),
                             sup_event_name((enum sup_event)e), got, expected[s][e]);
        }
}

Test(supervise, states_with_a_process_but_up_always_have_a_deadline)
{
    for (int s = 0; s < SUP_NSTATES; s++)
        for (int e = 0; e < SUP_NEVENTS; e++) {
            struct sup_child c;

            sup_init(&c);
            c.state = (enum sup_state)s;
            c.due_ms = s == SUP_DOWN ? MSEC_NEVER : 1000;
            (void)step(&c, (enum sup_event)e, 1000);
            if (c.state == SUP_DOWN)
                cr_expect_eq(c.due_ms, MSEC_NEVER);
            else if (c.state != SUP_UP)
                cr_expect_lt(c.due_ms, 100000, "%s x %s never ends", sup_state_name(s),
                             sup_event_name(e));
        }
}

Test(supervise, start_ready_stop_exit)
{
    struct sup_child c;

    sup_init(&c);
    cr_expect_eq(step(&c, SUP_EV_START, 100), SUP_ACT_SPAWN);
    cr_expect_eq(c.due_ms, 5100);
    cr_expect_eq(step(&c, SUP_EV_READY, 200), SUP_ACT_NONE);
    cr_expect_eq(c.state, SUP_UP);
    cr_expect_eq(c.since_ms, 200);
    cr_expect_eq(c.due_ms, 60200);
    cr_expect_eq(step(&c, SUP_EV_STOP, 300), SUP_ACT_TERM);
    cr_expect_eq(c.due_ms, 3300);
    cr_expect_eq(step(&c, SUP_EV_DUE, 3300), SUP_ACT_KILL);
    cr_expect_eq(c.due_ms, 6300, "KILL is repeated");
    cr_expect_eq(step(&c, SUP_EV_DUE, 6300), SUP_ACT_KILL);
    cr_expect_eq(step(&c, SUP_EV_EXIT, 6400), SUP_ACT_NONE);
    cr_expect_eq(c.state, SUP_DOWN);
    cr_expect_eq(c.restarts, 0);
}

Test(supervise, crash_loop_backs_off_to_ten_seconds)
{
    struct sup_child c;
    msec_t now = 0, top = 200;

    sup_init(&c);
    cr_expect_eq(step(&c, SUP_EV_START, now), SUP_ACT_SPAWN);
    for (int i = 0; i < 40; i++) {
        msec_t wait;

        (void)step(&c, SUP_EV_EXIT, now);
        wait = c.due_ms - now;
        cr_expect(wait >= 200 && wait <= top, "try %d waits %d", i, (int)wait);
        cr_expect(wait >= top - top / 4 - 1 || top == 200, "try %d waits %d", i,
                  (int)wait);
        now = c.due_ms;
        cr_expect_eq(step(&c, SUP_EV_DUE, now), SUP_ACT_SPAWN);
        top = ms_min(top * 2, 10000);
    }
    cr_expect_eq(c.restarts, 40);
}

Test(supervise, an_operator_may_bound_the_backoff)
{
    static const struct sup_opts quick = { .backoff_max_ms = 300 };
    struct sup_child c = { .state = SUP_UP, .tries = 20 };
    struct rng rng;

    rng_seed(&rng, 1);
    cr_expect_eq(sup_step(&c, &quick, SUP_EV_EXIT, 1000, &rng), SUP_ACT_NONE);
    cr_expect(c.due_ms >= 1200 && c.due_ms <= 1300, "not %d", (int)c.due_ms);
}

Test(supervise, a_stable_minute_resets_the_backoff)
{
    struct sup_child c;

    sup_init(&c);
    (void)step(&c, SUP_EV_START, 0);
    for (int i = 0; i < 10; i++) {
        (void)step(&c, SUP_EV_EXIT, 0);
        (void)step(&c, SUP_EV_DUE, 0);
    }
    (void)step(&c, SUP_EV_READY, 1000);
    (void)step(&c, SUP_EV_EXIT, 2000); /* up for a second only: still suspicious */
    cr_expect_gt(c.due_ms - 2000, 5000);
    (void)step(&c, SUP_EV_DUE, 12000);
    (void)step(&c, SUP_EV_READY, 12000);
    cr_expect_eq(c.due_ms, 72000);
    (void)step(&c, SUP_EV_DUE, 72000);
    cr_expect_eq(c.due_ms, MSEC_NEVER);
    (void)step(&c, SUP_EV_EXIT, 80000);
    cr_expect_eq(c.due_ms, 80200);
}

Test(supervise, a_cancelled_stop_restarts)
{
    struct sup_child c;

    sup_init(&c);
    (void)step(&c, SUP_EV_ADOPT, 0);
    cr_expect_eq(step(&c, SUP_EV_STOP, 10), SUP_ACT_TERM);
    cr_expect_eq(step(&c, SUP_EV_START, 20), SUP_ACT_NONE);
    cr_expect_eq(c.due_ms, 3010, "the grace period is not prolonged");
    (void)step(&c, SUP_EV_EXIT, 30);
    cr_expect_eq(c.state, SUP_BACKOFF);
    cr_expect_eq(step(&c, SUP_EV_DUE, c.due_ms), SUP_ACT_SPAWN);
    cr_expect_eq(c.restarts, 1, "the adopted one counts as the first start");
}

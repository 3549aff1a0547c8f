/* test_task_places.c: a whole task node: who waits for the end of a call is told its place, when that changes
 * (tellrig.h). */
#define _GNU_SOURCE 1 /* memmem */
#include "task/node/wait.h"

#include "tests/lib/tellrig.h"

static struct {
    unsigned messages, rows;
    struct place_row last[100]; /* by request id */
    unsigned n[100];
} seen;

static void hears(const struct msg *m, uint64_t rid)
{
    if (m->type != MSG_TASK_PLACES)
        return;
    cr_expect_eq(rid, 0);
    seen.messages++;
    for (uint32_t i = 0; i < m->task_places.n; i++) {
        const struct place_row *r = &m->task_places.v[i];

        seen.rows++;
        seen.n[r->rid % 100]++;
        seen.last[r->rid % 100] = *r;
    }
}

static void setup(void)
{
    task_node_setup();
    memset(&seen, 0, sizeof(seen));
    rtr.hears = hears;
}

static void teardown(void)
{
    rtr.hears = NULL;
    task_node_teardown();
}

TestSuite(task_places, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t wait_at(task_no no, bool places)
{
    say(&rtr, &(struct msg){ .type = MSG_TASK_GET,
                             .task_get = { .part = 3, .epoch = 8, .no = no, .queue = "", .name = "", .wait_ms = 60000,
                                           .result = true, .places = places } }, ++last_rid);
    return last_rid;
}

#define UNTIL(cond) for (unsigned turn_ = 0; !(cond); turn_++) { cr_assert_lt(turn_, 20000, "%s", #cond); ev_turn(ev, false); usleep(300); }

Test(task_places, are_told_when_they_change_and_all_of_a_link_together)
{
    uint64_t rid[3], running, silent;
    task_no first = 0, no;
    unsigned messages;
    msec_t at;

    open_calls(NULL); /* eight at once */
    for (unsigned i = 0; i < 8; i++)
        no = put_call(), first = i == 0 ? no : first;
    UNTIL(target.requests == 8);
    running = wait_at(first, true);
    for (unsigned i = 0; i < 3; i++)
        rid[i] = wait_at(put_call(), true);
    silent = wait_at(put_call(), false);
    at = ev_now(ev);
    UNTIL(seen.rows >= 4);
    cr_expect_geq(ev_now(ev) - at, PLACES_EACH_MS - 50, "who is answered before hears nothing");
    cr_expect_leq(seen.messages, 2, "of a link together");
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(seen.last[rid[i] % 100].state, TASK_WAITING);
        cr_expect_eq(seen.last[rid[i] % 100].position, i + 1);
        cr_expect_eq(seen.last[rid[i] % 100].ahead_of_priority, i + 1, "and one");
    }
    cr_expect_eq(seen.last[running % 100].state, TASK_RUNNING);
    cr_expect_eq(seen.n[silent % 100], 0);
    messages = seen.n[running % 100];
    target_hang_up(&target.conn[0]); /* it is tried again: another one goes */
    UNTIL(seen.last[rid[1] % 100].position == 1 && seen.last[rid[2] % 100].position == 2);
    cr_expect_leq(seen.n[rid[2] % 100], 4, "what has not changed is not told again");
    cr_expect_leq(seen.n[running % 100], messages + 2);
    target_fini(&target);
}

Test(task_places, who_leaves_or_is_answered_is_not_told_any_more)
{
    task_no no[9];
    uint64_t rid;

    open_calls(NULL);
    for (unsigned i = 0; i < 9; i++)
        no[i] = put_call();
    UNTIL(target.requests == 8);
    rid = wait_at(no[8], true);
    UNTIL(seen.n[rid % 100] > 0);
    cr_expect_eq(node->tab->places.n, 1);
    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    UNTIL(node->tab->places.n == 0);
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    UNTIL(rtr.ch != NULL);
    (void)wait_at(no[8], true);
    (void)ask(&(struct msg){ .type = MSG_TASK_CHANGE,
                             .task_change = { .part = 3, .epoch = 8, .verb = CHANGE_CANCEL, .no = no[8], .queue = "",
                                              .name = "", .patch = { .labels = "" } } }, MSG_TASK_CHANGE_ANS);
    UNTIL(node->tab->places.n == 0);
    target_fini(&target);
}

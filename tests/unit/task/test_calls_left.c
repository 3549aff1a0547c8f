/* test_calls_left.c: calls at their target whose partition has left the node (task/node/calls.c):
 * they hold their slots of the endpoint until they are over. */
#include "tests/lib/criterion.h"
#include <sodium.h>

#include "common/base/log.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/engine/worker.h"
#include "task/node/calls.h"
#include "tests/lib/tabrig.h"

enum { MNG = 1, RTR = 2 };
#define EPOCH 5

static struct tabrig rig;
static struct calls calls;
static struct outbox out;
static struct task_now now;

static void say(peer_no from, const struct msg *m)
{
    tasktab_msg(rig.t, now, from, 1, m, &out);
}

static void turn(void)
{
    cr_assert(tasktab_turn(rig.t, now, &out));
    tasktab_written(rig.t);
    outbox_reset(&out);
}

static void open_as(part_no no, const char *match, const char *endpoint)
{
    say(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                            .part_open = { .epoch = EPOCH, .part = no, .part_epoch = 8,
                                           .match = match, .max_tasks = 100,
                                           .endpoint = endpoint, .notify = "" } });
    turn();
}

static void open_part(part_no no, const char *match)
{
    open_as(no, match, "gen");
}

static void put(part_no no, const char *queue)
{
    struct task_put one = { .part = no, .epoch = 8, .queue = queue, .key1 = "", .key2 = "",
                            .name = "", .body = { 1, (const uint8_t *)"x" } };

    say(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    turn();
    turn();
}

static struct msg_endpoint endpoint(void)
{
    return (struct msg_endpoint){ .epoch = EPOCH, .name = "gen", .serial = 1, .url = "http://gen",
                                  .rate = ENDPOINT_ANY, .burst = 1, .max_concurrent = 1,
                                  .deadline_ms = 30000, .connect_timeout_ms = 3000,
                                  .breaker_ratio = 50, .breaker_min = 20, .breaker_open_ms = 5000,
                                  .auth_field = "", .auth_file = "", .reading_path = "", .secret_file = "", .ca_file = "", .cert_file = "", .key_file = "",
                                  .proxy = "", .budget = "" };
}

/* The node's links, an endpoint with one slot, and partitions 3 and 4. */
static void join(void)
{
    struct msg_endpoint m = endpoint();

    tasktab_up(rig.t, MNG, RPC_MANAGER, "m", &out);
    tasktab_up(rig.t, RTR, RPC_ROUTER, "r", &out);
    say(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    endpoints_find(&calls.endpoints, "gen")->usable = true;
    open_part(3, "a");
    open_part(4, "b");
}

static void setup(void)
{
    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    now = (struct task_now){ 1700000000000, 1700000000000 };
    outbox_init(&out);
    calls_init(&calls);
    rig.calls = &calls;
    rig.boot = (struct tab_boot){ 1, 0 };
    tabrig_new(&rig);
    join();
    put(3, "a");
    cr_assert_eq(calls.going.n, 1);
    put(4, "b");
    cr_assert_eq(calls.going.n, 1, "no slot is free");
}

static void teardown(void)
{
    tabrig_fini(&rig);
    calls_fini(&calls);
    outbox_fini(&out);
}

TestSuite(calls_left, .init = setup, .fini = teardown);

static void leave(part_no no)
{
    say(MNG, &(struct msg){ .type = MSG_PART_DROP, .part_drop = { EPOCH, no, 0 } });
    turn();
    turn();
}

/* As the manager is told. */
static struct endpoint_row told(void)
{
    const struct msg_endpoint_status *m = NULL;
    struct endpoint_row row;

    tasktab_report_endpoints(rig.t, &out);
    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].m.type == MSG_ENDPOINT_STATUS)
            m = &out.v[i].m.endpoint_status;
    cr_assert_not_null(m);
    row = m->v[0];
    outbox_reset(&out);
    return row;
}

static uint64_t told_held(void)
{
    return told().held;
}

Test(calls_left, a_call_whose_partition_has_left_holds_its_slot)
{
    leave(3);
    cr_expect_eq(told_held(), 0, "its connection is ours still");
    cr_expect_null(tasktab_part(rig.t, 3));
    cr_expect_eq(calls.going.n, 1, "it is still at the target");
    cr_expect_eq(endpoints_find(&calls.endpoints, "gen")->running, 1);
}

Test(calls_left, so_does_one_that_the_node_knows_by_its_journal_alone)
{
    struct endpoint *ep = endpoints_find(&calls.endpoints, "gen");

    list_each_of (&calls.going, struct going_call, in, g)
        calls_end(&calls, g, now.ms); /* as after a restart: who called is gone */
    leave(3);
    cr_expect_eq(calls.going.n, 0);
    cr_expect_eq(ep->running, 1);
    cr_expect_eq(told_held(), 1);
    now.ms += ep->def.deadline_ms + LEASE_MORE_MS;
    now.wall_ms += ep->def.deadline_ms + LEASE_MORE_MS;
    turn();
    cr_expect_eq(calls.going.n, 1, "it is over for certain");
    cr_expect_eq(told_held(), 0);
}

/* Its url gives way to two targets. */
static void tell_targets(void)
{
    struct msg_endpoint m = endpoint();

    m.serial = 2;
    m.targets = true;
    m.url = "";
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    m.of = "gen";
    m.targets = false;
    m.weight = 1;
    for (m.target = 1; m.target <= 2; m.target++) {
        m.name = m.target == 1 ? "gen#1" : "gen#2";
        m.url = m.target == 1 ? "http://gen" : "http://gen2";
        m.serial++;
        say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    }
    endpoints_find(&calls.endpoints, "gen#1")->usable = endpoints_find(&calls.endpoints, "gen#2")->usable = true;
    turn();
}

/* One url gives way to targets amid its call, and then the partition leaves. */
Test(calls_left, a_call_of_before_there_were_targets_holds_its_slot_at_each)
{
    tell_targets();
    cr_expect_eq(endpoints_find(&calls.endpoints, "gen#1")->running, 1);
    leave(3);
    cr_expect_eq(calls.going.n, 1);
    cr_expect_eq(endpoints_find(&calls.endpoints, "gen#1")->running, 1);
}

/* ---- routes: what may go to another endpoint ---------------------------------------------- */

static uint8_t code_of_one_with_another_way(void)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "a", .key1 = "", .key2 = "", .name = "",
                            .body = { 1, (const uint8_t *)"x" }, .may_wait_ms = INT64_MAX };
    const struct msg *m;
    uint8_t code;

    outbox_reset(&out);
    say(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    cr_assert_geq(out.n, 1);
    m = &out.v[out.n - 1].m;
    cr_assert_eq(m->type, MSG_TASK_PUT_ANS);
    code = m->task_put_ans.v[0].code;
    turn();
    return code;
}

static void open_until(const char *target, msec_t until)
{
    struct breaker *b = &endpoints_find(&calls.endpoints, target)->breaker;

    b->state = BREAKER_OPEN;
    b->until = until;
}

Test(calls_left, a_call_goes_elsewhere_while_all_targets_are_down)
{
    tell_targets();
    open_until("gen#1", now.ms + 60000);
    cr_expect_eq(code_of_one_with_another_way(), CODE_DONE, "one is well");
    open_until("gen#2", now.ms + 60000);
    cr_expect_eq(code_of_one_with_another_way(), CODE_FULL + FULL_WAIT);
    open_until("gen#2", now.ms);
    cr_expect_eq(code_of_one_with_another_way(), CODE_DONE, "it may find out that one is back");
    endpoints_find(&calls.endpoints, "gen#2")->def.paused = true;
    cr_expect_eq(code_of_one_with_another_way(), CODE_FULL + FULL_WAIT, "nobody goes to one that drains");
}

/* ---- on_quota: reject ---------------------------------------------------------------------- */

/* Submits a call of so many units: the ms after which it may come again; 0: it is taken in. */
static uint32_t told_to_wait(uint64_t cost, msec_t delay)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "a", .key1 = "", .key2 = "", .name = "",
                            .body = { 1, (const uint8_t *)"x" }, .own.cost = cost + 1, .delay_ms = delay };
    const struct msg *m;
    uint32_t ms;

    outbox_reset(&out);
    say(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    m = &out.v[out.n - 1].m;
    cr_assert_eq(m->type, MSG_TASK_PUT_ANS);
    ms = m->task_put_ans.v[0].too_long_ms;
    cr_expect_eq(m->task_put_ans.v[0].code, ms > 0 ? CODE_FULL + FULL_QUOTA : CODE_DONE);
    turn();
    return ms;
}

Test(calls_left, what_rates_have_no_room_for_is_refused_where_the_endpoint_says_so)
{
    uint64_t ten[] = { 10, PER_SECOND, 100 };
    uint32_t ms;
    struct msg_endpoint m = endpoint();

    m.serial = 2;
    m.max_concurrent = ENDPOINT_ANY;
    m.unit_rates = ten;
    m.n_unit_rates = 3;
    m.unit_part = UNIT_PARTS;
    m.on_quota = ON_QUOTA_REJECT;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    turn();
    now.ms += 5000, now.wall_ms += 5000;
    turn();
    ms = told_to_wait(60, 0);
    cr_expect_eq(ms, 1100, "49 are there, and ten come in a second: %u", ms);
    cr_expect_eq(told_to_wait(60, 1000), 0, "one that is for later waits");
    cr_expect_eq(told_to_wait(30, 0), 0);
    ms = told_to_wait(30, 0);
    cr_expect_eq(ms, 1100, "19 are left: %u", ms);
    cr_expect_eq(endpoint_lacked(endpoints_find(&calls.endpoints, "gen"), now.ms), 2, "so this node asks for more");
    m.serial = 3;
    m.on_quota = ON_QUOTA_WAIT;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    turn();
    cr_expect_eq(told_to_wait(30, 0), 0, "it waits");
}

/* ---- a kill: who called is gone, and nobody will hear an answer --------------------------- */

static void go_on(msec_t ms)
{
    now.ms += ms;
    now.wall_ms += ms;
    turn();
}

/* Back after five seconds; boot: the start of the machine. */
static void restart(uint64_t boot)
{
    calls_fini(&calls);
    calls_init(&calls);
    outbox_reset(&out);
    now.ms += 5000;
    now.wall_ms += 5000;
    rig.boot.id = boot;
    tabrig_again(&rig, now);
    join();
    cr_expect_eq(told_held(), 1);
}

Test(calls_left, an_unknown_call_holds_its_slot_up_to_its_deadline)
{
    restart(1);
    go_on(24900);
    cr_expect_eq(calls.going.n, 0, "its target may be at it for 30 s");
    go_on(101);
    cr_expect_eq(calls.going.n, 1);
    cr_expect_eq(told_held(), 0);
}

/* Its target may have said `pending` in the moment of the kill, and says within 10 s how it goes on. */
Test(calls_left, an_unknown_call_holds_its_slot_for_10_s_behind_the_restart)
{
    go_on(23000);
    restart(1);
    go_on(9900);
    cr_expect_eq(calls.going.n, 0, "38 s after its start");
    go_on(101);
    cr_expect_eq(calls.going.n, 1);
}

Test(calls_left, nor_longer_than_it_would_have_without_a_restart)
{
    go_on(29000);
    restart(1);
    go_on(5900);
    cr_expect_eq(calls.going.n, 0);
    go_on(101);
    cr_expect_eq(calls.going.n, 1);
}

Test(calls_left, its_slot_comes_back_no_sooner_if_the_node_is_killed_twice)
{
    restart(1);
    restart(1);
    go_on(19900);
    cr_expect_eq(calls.going.n, 0);
    go_on(101);
    cr_expect_eq(calls.going.n, 1);
}

Test(calls_left, a_pending_one_has_all_of_its_time)
{
    list_each_of (&calls.going, struct going_call, in, g) {
        cr_assert_not_null(tasktab_owned(rig.t, 3, 8));
        cr_assert_eq(engine_extend(&tasktab_part(rig.t, 3)->e, g->no, g->lease, 35000), 0);
    }
    turn();
    restart(1);
    go_on(29900);
    cr_expect_eq(calls.going.n, 0);
    go_on(101);
    cr_expect_eq(calls.going.n, 1);
}

Test(calls_left, over_a_reboot_the_clock_may_be_off_and_the_slot_is_held_longer)
{
    restart(2);
    go_on(34900);
    cr_expect_eq(calls.going.n, 0);
    go_on(101);
    cr_expect_eq(calls.going.n, 1);
}

/* A worker's lease of 40 s; behind the restart its queue has this endpoint. */
static void worker_over_a_restart(const char *endpoint)
{
    struct trec_text q = { "w", 1 };
    struct taken k;

    open_as(5, "w", "");
    put(5, "w");
    cr_assert_not_null(tasktab_owned(rig.t, 5, 8));
    cr_assert_eq(engine_take(&tasktab_part(rig.t, 5)->e, &q, 1, 40000, &k), 1);
    turn();
    restart(1);
    open_as(5, "w", endpoint);
    go_on(34900);
    cr_expect(engine_runs(&tasktab_part(rig.t, 5)->e, k.no, k.lease));
    go_on(101);
    cr_expect_not(engine_runs(&tasktab_part(rig.t, 5)->e, k.no, k.lease));
}

Test(calls_left, a_worker_has_its_lease_over_a_restart)
{
    worker_over_a_restart("");
}

Test(calls_left, so_it_has_if_its_queue_has_got_an_endpoint_meanwhile)
{
    worker_over_a_restart("gen");
}

/* ---- a planned move ---------------------------------------------------------------------- */

enum { PEER = 10 }; /* another node, to which partition 3 is copied */

/* As the target: all that has come is written. */
static void target_acks(void)
{
    const struct part_out *o = tasktab_part(rig.t, 3)->out;

    say(PEER, &(struct msg){ .type = MSG_PCOPY_ACK, .pcopy_ack = { 3, 9, o->seq, PCOPY_GOES } });
    now.ms += 100;
    now.wall_ms += 100;
    turn();
}

static void copy_begins(void)
{
    tasktab_up(rig.t, PEER, RPC_TASK, "b", &out);
    say(MNG, &(struct msg){ .type = MSG_PART_OUT,
                            .part_out = { EPOCH, 3, 8, 9, "b", "10.0.0.2:1" } });
    turn();
    for (int i = 0; i < 5; i++)
        target_acks();
}

static void call_is_answered(void)
{
    struct call_answer a = { .status = 200, .type = "text/plain", .n = 2, .length = 2,
                             .body = (const uint8_t *)"ok" };

    list_each_of (&calls.going, struct going_call, in, g) {
        g->step = CALL_SENT;
        tasktab_call_answered(rig.t, now, g, &a);
        cr_assert(tasktab_call_ends(rig.t, now, g));
        calls_end(&calls, g, now.ms);
    }
    turn();
}

Test(calls_left, a_move_lets_its_calls_end_and_takes_their_answers_along)
{
    const struct part *p = tasktab_part(rig.t, 3);

    put(3, "a");
    copy_begins();
    cr_expect_eq(p->life, PART_OWNED, "a call is under way");
    for (int i = 0; i < 150; i++) /* longer than a target may be silent */
        target_acks();
    cr_expect_eq(p->life, PART_OWNED);
    cr_expect_not(p->out->stuck);
    call_is_answered();
    target_acks();
    cr_expect_eq(p->life, PART_FENCED);
    cr_expect_eq(p->e.store.n[TASK_SUCCEEDED], 1);
    cr_expect_eq(p->e.store.n[TASK_WAITING], 1, "its next task is for the new owner");
    cr_expect_eq(p->e.store.n[TASK_RUNNING], 0);
    cr_expect_eq(endpoints_find(&calls.endpoints, "gen")->running, 1, "that of partition 4, which has its slot");
}

Test(calls_left, a_move_waits_for_half_a_minute_at_most)
{
    const struct part *p = tasktab_part(rig.t, 3);

    copy_begins();
    for (int i = 0; i < 290; i++)
        target_acks();
    cr_expect_eq(p->life, PART_OWNED);
    for (int i = 0; i < 20; i++)
        target_acks();
    cr_expect_eq(p->life, PART_FENCED);
    cr_expect_eq(p->e.store.n[TASK_RUNNING], 1);
}

/* ---- a call that goes on, whose target says later what it took ----------------------------- */

static void goes_on(const struct going_call *g)
{
    struct call_answer a = { .status = 202, .command = "pending=60" };

    list_each_of (&calls.going, struct going_call, in, other)
        if (other == g) {
            other->step = CALL_SENT;
            tasktab_call_answered(rig.t, now, other, &a);
            cr_assert(tasktab_call_ends(rig.t, now, other));
            calls_end(&calls, other, now.ms);
            break;
        }
    turn();
}

static uint8_t says_later(const struct attempt_right *r, const char *body)
{
    uint8_t code;

    outbox_reset(&out);
    say(RTR, &(struct msg){ .type = MSG_TASK_COMPLETE,
                            .task_complete = { .part = r->part, .epoch = 8, .no = r->no, .lease = r->lease,
                                               .attempt = r->attempt, .verb = COMPLETE_SUCCEEDED, .status = 200,
                                               .content_type = "application/json",
                                               .result = { (uint32_t)strlen(body), (const uint8_t *)body },
                                               .right = { RIGHT_MAC_BYTES, r->mac } } });
    code = out.v[out.n - 1].m.task_complete_ans.code;
    turn();
    return code;
}

Test(calls_left, what_a_call_says_later_that_it_took_counts_for_its_endpoint_once)
{
    uint64_t ten[] = { 10, PER_SECOND, 100 };
    struct msg_endpoint m = endpoint();
    struct endpoint *ep = endpoints_find(&calls.endpoints, "gen");
    const struct going_call *g;
    struct attempt_right r;

    call_is_answered();
    m.serial = 2;
    m.max_concurrent = ENDPOINT_ANY;
    m.unit_rates = ten;
    m.n_unit_rates = 3;
    m.unit_part = UNIT_PARTS;
    m.used = "/u";
    m.used_most = 1000;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    now.ms += 20000, now.wall_ms += 20000;
    turn();
    call_is_answered();
    now.ms += 20000, now.wall_ms += 20000;
    told_to_wait(60, 0);
    cr_assert_eq(calls.going.n, 1);
    cr_expect_eq(endpoint_affords(ep, now.ms), 40);
    g = list_entry(list_first(&calls.going), struct going_call, in);
    r = (struct attempt_right){ .part = g->part, .no = g->no, .lease = g->lease, .attempt = (uint8_t)g->attempt };
    right_sign(&r, tasktab_part(rig.t, 3)->seed);
    goes_on(g);
    cr_expect_eq(endpoint_affords(ep, now.ms), 40, "the estimate stands until it is known");
    cr_expect_eq(says_later(&r, "{\"u\":10}"), CODE_DONE);
    cr_expect_eq(endpoint_affords(ep, now.ms), 90);
    cr_expect_eq(says_later(&r, "{\"u\":10}"), CODE_SAME);
    cr_expect_eq(endpoint_affords(ep, now.ms), 90);
}

/* What `segqctl task why` and callers are told. */
Test(calls_left, a_task_says_that_it_waits_for_a_calendar_window_and_until_when)
{
    static const uint64_t minute[] = { 100, PER_MINUTE, 0 };
    uint64_t window[WINDOW_NUMBERS] = { 7, (uint64_t)now.wall_ms - 1000, (uint64_t)now.wall_ms + 5000, 0, 0 };
    struct msg_endpoint m = endpoint();
    struct part *p = tasktab_part(rig.t, 4);
    struct task_view v;

    p->unix_ahead -= 1; /* as a clock that is read again */
    m.serial = 2;
    m.max_concurrent = 5;
    m.unit_part = UNIT_PARTS;
    m.n_unit_rates = 3;
    m.unit_rates = (uint64_t *)minute;
    m.n_unit_window = WINDOW_NUMBERS;
    m.unit_window = window;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    turn();
    cr_assert_eq(engine_look(&p->e, task_number(&p->e.store, 0), &v), 0);
    tasktab_reckon(p, &v);
    cr_expect_eq(v.limited, CLOSED_WINDOW);
    cr_expect_str_eq(v.limited_by, "gen");
    cr_expect_eq(v.limited_until, now.ms + 5001);
    cr_expect_eq(tasktab_unix(p, v.limited_until) % 1000, 0);
    cr_expect_eq(v.eta, TASK_ETA_RATE);
    cr_expect_eq(v.eta_ms, 5000);
    cr_expect_eq(calls.going.n, 1);
    m.serial = 4; /* that of its budget, which is named then */
    m.budget = "gpus";
    m.n_shared = 1;
    m.shared_part = UNIT_PARTS;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    turn();
    cr_assert_eq(engine_look(&p->e, task_number(&p->e.store, 0), &v), 0);
    tasktab_reckon(p, &v);
    cr_expect_eq(v.limited, CLOSED_WINDOW);
    cr_expect_str_eq(v.limited_by, "gpus");
    m.budget = "";
    m.n_shared = 0;

    now.ms += 4000; /* slots come one by one */
    now.wall_ms += 4000;
    m.serial = 5;
    window[3] = 1;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    turn();
    turn();
    cr_expect_eq(calls.going.n, 2, "what was given is there at once");
}

/* Else it would stay down for ever: units of a window are given to who needs some. */
Test(calls_left, a_breaker_that_lets_a_call_find_out_needs_its_units)
{
    static const uint64_t minute[] = { 100, PER_MINUTE, 0 };
    uint64_t window[WINDOW_NUMBERS] = { 7, (uint64_t)now.wall_ms - 1000, (uint64_t)now.wall_ms + 5000, 0, 0 };
    struct endpoint *ep = endpoints_find(&calls.endpoints, "gen");
    struct msg_endpoint m = endpoint();

    m.serial = 2;
    m.max_concurrent = 5;
    m.unit_part = UNIT_PARTS;
    m.n_unit_rates = 3;
    m.unit_rates = (uint64_t *)minute;
    m.n_unit_window = WINDOW_NUMBERS;
    m.unit_window = window;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    turn();
    cr_expect_eq(told().needs, 1);
    ep->breaker = (struct breaker){ .state = BREAKER_OPEN, .until = now.ms + 10 };
    cr_expect_eq(told().needs, 0, "nothing may go");
    ep->breaker.until = now.ms;
    cr_expect_eq(told().needs, 1);
    ep->breaker = (struct breaker){ .state = BREAKER_PROBES, .allowed = 1 };
    cr_expect_eq(told().needs, 1);
    ep->breaker.probes = 1;
    cr_expect_eq(told().needs, 0, "it is on its way");
}

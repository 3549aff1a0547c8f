/* test_task_figures.c: figures of single queues, for /metrics (task/node/table.h). */
#include "tests/unit/task/tablerig.h"

#include "task/calls/estimates.h"
#include "task/node/table.h"

TestSuite(task_figures, .init = setup, .fini = teardown);

static struct key_view v[3 + BUSIEST_MAX];

static void put_some(part_no part, const char *queue, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(put_at(part, 8, queue, "x").code, CODE_DONE);
}

/* The busiest of the node, over its partitions, most of them first; what they have now, not when they were chosen. */
Test(task_figures, the_busiest_queues_have_figures_of_their_own)
{
    t->o.busiest = 2;
    open_part(3, 8);
    open_part(4, 8);
    put_some(3, "q1", 1);
    put_some(3, "q3", 3);
    put_some(4, "q2", 2);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 2);
    cr_expect_str_eq(v[0].key1, "q3");
    cr_expect_eq(v[0].waiting, 3);
    cr_expect_str_eq(v[1].key1, "q2");
    cr_assert_eq(take(RTR, "q3", 2, 0)->n, 2);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 2);
    cr_expect_str_eq(v[0].key1, "q2");
    cr_expect_eq(v[1].waiting, 1);
    cr_expect_eq(v[1].running, 2);
    put_some(3, "q1", 5);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 2);
    cr_expect_str_eq(v[0].key1, "q1");
    cr_expect_eq(v[0].waiting, 6);
}

/* A named one always, once, also where it has no task here; nor does it cost one of the busiest its place. */
Test(task_figures, queues_that_an_operator_named_have_them_always)
{
    static const char names[][TASK_NAME_MAX + 1] = { "q9", "q1" };

    t->o.busiest = 1;
    open_part(3, 8);
    put_some(3, "q1", 3);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, names, 2, v), 2);
    cr_expect_str_eq(v[0].key1, "q9");
    cr_expect_eq(v[0].waiting, 0);
    cr_expect_str_eq(v[1].key1, "q1");
    cr_expect_eq(v[1].waiting, 3);
    put_some(3, "q2", 4);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, names, 2, v), 3);
    cr_expect_str_eq(v[2].key1, "q2");
    t->o.busiest = 0;
    cr_expect_eq(tasktab_queue_views(t, names, 1, v), 1);
}

/* The tasks that a queue had when a more specific pool took it are in its old partition. */
Test(task_figures, a_queue_of_two_partitions_is_told_once)
{
    static const char names[][TASK_NAME_MAX + 1] = { "q1" };

    t->o.busiest = 2;
    open_part(3, 8);
    open_part(4, 8);
    put_some(3, "q1", 2);
    put_some(4, "q1", 2);
    pass(1000);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 1);
    cr_expect_eq(v[0].waiting, 4);
    cr_assert_eq(tasktab_queue_views(t, names, 1, v), 1);
    cr_expect_str_eq(v[0].key1, "q1");
    cr_expect_eq(v[0].waiting, 4);
    take(RTR, "q1", 1, 0);
    cr_assert_eq(tasktab_queue_views(t, NULL, 0, v), 1);
    cr_expect_eq(v[0].running, 1);
    cr_expect_eq(v[0].waiting, 3);
}

/* ---- estimates ---- */

static struct task_put of_key(const char *key, msec_t delay_ms, const char *name)
{
    return (struct task_put){ .part = 3, .epoch = 8, .queue = "q", .key1 = key, .key2 = "", .name = name,
                              .digest = 1, .delay_ms = delay_ms, .body = { 1, (const uint8_t *)"x" } };
}

static struct task_put_row put_of(const char *key, msec_t delay_ms, const char *name)
{
    struct task_put one = of_key(key, delay_ms, name);

    return put_row(&one);
}

static struct task_put_row put_for_day(msec_t at_ms)
{
    struct task_put one = of_key("", 0, "");

    one.at_ms = at_ms;
    return put_row(&one);
}

/* Twenty wait, of this key, and one starts each second: fifteen are left. */
static void line_up(const char *key, uint64_t max_wait_ms)
{
    struct task_rules rules;

    open_part(3, 8);
    rules_default(&rules);
    rules.max_wait_ms = max_wait_ms;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    for (unsigned i = 0; i < 20; i++)
        cr_assert_eq(put_of(key, 0, i == 0 ? "first" : "").code, CODE_DONE, "no pace is known yet");
    for (unsigned i = 0; i < 5; i++) {
        pass(1000);
        cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    }
}

Test(task_figures, a_wait_longer_than_max_wait_is_refused_at_once)
{
    struct task_put_row r;
    struct tasktab_counts n;

    line_up("", 10000);
    r = put_of("", 0, "");
    cr_assert_eq(r.code, CODE_FULL + FULL_WAIT);
    cr_expect_geq(r.too_long_ms, 1000);
    cr_expect_leq(r.too_long_ms, 7000);
    cr_expect_eq(r.no, 0);
    cr_expect_eq(put_of("", 0, "first").code, CODE_SAME, "what is there is answered");
    r = put_of("", 3600000, "");
    cr_expect_eq(r.code, CODE_DONE, "with a delay it is in no line");
    cr_expect_eq(r.too_long_ms, 0);
    cr_expect_eq(put_for_day(t->now.wall_ms + 1).code, CODE_DONE, "nor before its day");
    cr_expect_eq(put_for_day(t->now.wall_ms - 1).code, CODE_FULL + FULL_WAIT, "a day that has come is none");
    tasktab_count(t, &n);
    cr_expect_eq(n.too_long, 2);
    cr_assert_eq(take(RTR, "q", 10, 0)->n, 10);
    cr_expect_eq(put_of("", 0, "").code, CODE_DONE, "the line is short enough");
}

static struct task_put_row put_costing(uint64_t cost)
{
    struct task_put one = of_key("", 0, "");

    one.own.cost = cost + 1;
    return put_row(&one);
}

/* A rate in units counts: those before it as if they cost what it does. */
Test(task_figures, max_wait_counts_units)
{
    struct task_rules rules;
    struct task_put_row r;

    open_part(3, 8);
    rules_default(&rules);
    rules.max_wait_ms = 10000;
    rules.queue_units_1 = 600; /* ten a second */
    rules.queue_per_1 = PER_MINUTE;
    rules.queue_room_1 = 100;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    cr_assert_eq(put_costing(100).code, CODE_DONE);
    pass(1000);
    cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    cr_expect_eq(put_costing(50).code, CODE_DONE, "5 s");
    r = put_costing(60);
    cr_expect_eq(r.code, CODE_FULL + FULL_WAIT, "12 s");
    cr_expect(r.too_long_ms >= 1900 && r.too_long_ms <= 2100, "%u", r.too_long_ms);
    cr_expect_eq(put_costing(20).code, CODE_DONE, "4 s, as reckoned");
    cr_expect_eq(put_costing(1000000000).code, CODE_FULL + FULL_WAIT, "it would hold up the line for years");
}

Test(task_figures, units_without_room_are_refused_with_what_waits_and_when_there_may_be_room)
{
    struct task_rules rules;
    struct task_put_row r;
    struct tasktab_counts n;
    uint64_t said = 0;

    open_part(3, 8);
    rules_default(&rules);
    rules.max_waiting_units = 1000;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    for (unsigned i = 0; i < 10; i++)
        cr_assert_eq(put_costing(100).code, CODE_DONE);
    r = put_costing(50);
    cr_expect_eq(r.code, CODE_FULL + FULL_UNITS);
    cr_expect_eq(r.too_long_ms, 0, "nobody knows the pace");
    cr_expect(r.units == 1000 && r.max_units == 1000);
    for (unsigned i = 0; i < 5; i++) {
        pass(1000);
        cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    }
    r = put_costing(600);
    cr_expect_eq(r.code, CODE_FULL + FULL_UNITS);
    cr_expect_eq(r.units, 500);
    cr_expect(r.too_long_ms >= 1000 && r.too_long_ms < 3000, "%u: a second for each hundred", r.too_long_ms);
    r = put_costing(500);
    cr_expect_eq(r.code, CODE_DONE);
    cr_expect_eq(r.max_units, 0);
    tasktab_count(t, &n);
    cr_expect_eq(n.waiting_units, 1000);
    pass(2000);
    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].m.type == MSG_PART_STATUS)
            said = out.v[i].m.part_status.v[0].waiting_units;
    cr_expect_eq(said, 1000);
}

static uint8_t put_that_may_go_elsewhere(uint64_t may_wait_ms)
{
    struct task_put one = of_key("", 0, "");

    one.may_wait_ms = may_wait_ms;
    return put_row(&one).code;
}

Test(task_figures, what_could_go_elsewhere_is_refused_while_it_would_wait_here)
{
    line_up("", 0);
    cr_expect_eq(put_that_may_go_elsewhere(5000), CODE_FULL + FULL_WAIT, "fifteen wait");
    cr_expect_eq(put_that_may_go_elsewhere(INT64_MAX), CODE_DONE);
    cr_expect_eq(put_that_may_go_elsewhere(UINT64_MAX), CODE_DONE);
    tasktab_part(t, 3)->paused = true;
    cr_expect_eq(put_that_may_go_elsewhere(INT64_MAX), CODE_FULL + FULL_WAIT, "nothing goes here");
    cr_expect_eq(put_that_may_go_elsewhere(0), CODE_DONE, "it has nowhere else to go");
}

/* The wait of a tenant that has nothing in line is some rounds of the keys, and not all that another one has. */
Test(task_figures, a_key_that_floods_the_line_costs_others_no_refusal)
{
    line_up("flood", 10000);
    cr_expect_eq(put_of("flood", 0, "").code, CODE_FULL + FULL_WAIT);
    cr_expect_eq(put_of("light", 0, "").code, CODE_DONE);
    cr_expect_eq(put_of("flood", 0, "").code, CODE_FULL + FULL_WAIT);
}

Test(task_figures, estimates_are_compared_with_what_came_true)
{
    struct tasktab_counts n;

    line_up("", 0);
    tasktab_count(t, &n);
    cr_expect_eq(n.engine.eta_error.n, 0, "nothing was told while no pace was known");
    cr_assert_eq(put_of("", 0, "").code, CODE_DONE);
    cr_assert_eq(put_of("", 0, "").code, CODE_DONE, "one a second is enough");
    for (unsigned i = 0; i < 17; i++) {
        pass(1000);
        cr_assert_eq(take(RTR, "q", 1, 0)->n, 1);
    }
    tasktab_count(t, &n);
    cr_assert_eq(n.engine.eta_error.n, 1);
    cr_expect_leq(n.engine.eta_error.sum_us, 4000000, "%lu", n.engine.eta_error.sum_us);
}

/* ---- how many wait ---- */

static struct msg_task_get_ans look(task_no no, const char *queue)
{
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, no, queue, "", 0, false } });
    return answer(next_rid)->task_get_ans;
}

Test(task_figures, how_many_wait_and_how_long_a_new_one_would)
{
    struct msg_task_get_ans m;
    struct task_rules rules;
    task_no last;

    line_up("", 0);
    last = put_of("", 0, "").no;
    m = look(0, "q");
    cr_assert_eq(m.code, CODE_DONE);
    cr_expect_eq(m.waiting, 16);
    cr_expect_not(m.waiting_capped);
    cr_expect_eq(m.eta, TASK_ETA_PACE);
    cr_expect_geq(m.eta_ms, look(last, "").eta_ms, "it would be behind the last one");
    cr_expect_eq(look(last, "").waiting, 16);
    m = look(0, "q7");
    cr_expect_eq(m.code, CODE_DONE, "a queue without a task");
    cr_expect_eq(m.waiting, 0);
    cr_expect_eq(m.eta_ms, -1);
    rules_default(&rules);
    rules.position_cap = 10;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    m = look(0, "q");
    cr_expect_eq(m.waiting, 10);
    cr_expect(m.waiting_capped);
    cr_expect(look(last, "").waiting_capped);
}

/* ---- an operator's own service for waits ---- */

#define URL "http://eta.test/"

static void open_with_service(const char *url)
{
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { .epoch = EPOCH, .part = 3, .part_epoch = 8, .match = "q*", .max_tasks = 100,
                                            .endpoint = "", .eta_url = url, .eta_every_ms = 10000, .eta_timeout_ms = 1000 } });
    turn();
}

/* The question that is due; "": none. */
static const char *question(struct eta_due *d)
{
    static struct buf b;
    const struct eta_rules *r;

    buf_reset(&b);
    r = tasktab_eta_due(t, now, d, &b);
    buf_byte(&b, 0);
    cr_expect(r == NULL || strcmp(r->url, URL) == 0);
    return (const char *)b.data;
}

#define SAYS "{\"places\": [{\"place\": 1, \"eta_s\": 100}, {\"place\": 11, \"eta_s\": 200}]}"

Test(task_figures, the_word_of_an_operators_service_is_told_in_place_of_ours)
{
    struct eta_due d;
    struct msg_task_get_ans m;
    task_no last;

    line_up("", 0);
    open_with_service(URL);
    last = put_of("", 0, "").no;
    cr_expect_str_eq(question(&d), "", "nobody has looked");
    m = look(last, "");
    cr_expect_eq(m.eta, TASK_ETA_PACE, "ours, until it has answered");
    cr_expect_eq(m.position, 16);
    cr_expect_str_neq(question(&d), "");
    cr_expect(d.part == 3 && strcmp(d.queue, "q") == 0);
    cr_expect_str_eq(question(&d), "", "once in ten seconds");
    cr_expect_not_null(tasktab_eta_told(t, now, &d, "{}", 2));
    cr_expect_eq(look(last, "").eta, TASK_ETA_PACE, "it said nothing that can be");
    cr_expect_null(tasktab_eta_told(t, now, &d, SAYS, strlen(SAYS)));
    m = look(last, "");
    cr_expect_eq(m.eta, TASK_ETA_SERVICE);
    cr_expect_eq(m.eta_ms, 250000, "%ld", m.eta_ms);
    cr_expect_eq(look(0, "q").eta_ms, 260000, "one that came now");
    send(MNG, &(struct msg){ .type = MSG_TASK_DO, .task_do = { .part = 3, .epoch = 8, .verb = DO_LOOK, .no = last,
                                                             .queue = "", .key1 = "", .key2 = "", .label = "" } });
    cr_assert_eq(answer(next_rid)->task_do_ans.code, CODE_DONE);
    cr_expect_eq(answer(next_rid)->task_do_ans.v[0].eta, TASK_ETA_PACE, "operators are told what holds it up");
    pass(29999);
    cr_expect_eq(look(last, "").eta, TASK_ETA_SERVICE);
    pass(1);
    cr_expect_neq(look(last, "").eta, TASK_ETA_SERVICE, "it has not answered for three times as long");
    cr_expect_str_neq(question(&d), "");
    cr_expect_null(tasktab_eta_told(t, now, &d, SAYS, strlen(SAYS)));
    cr_expect_eq(look(last, "").eta, TASK_ETA_SERVICE);
    tasktab_part(t, 3)->paused = true;
    cr_expect_eq(look(last, "").eta, TASK_ETA_PAUSED, "which we know for sure");
    tasktab_part(t, 3)->paused = false;
    open_with_service("");
    cr_expect_neq(look(last, "").eta, TASK_ETA_SERVICE);
    cr_expect_null(tasktab_eta_rules(t, 3));
    cr_expect_null(tasktab_eta_told(t, now, &d, SAYS, strlen(SAYS)), "an answer that comes then");
}

/* Two partitions: each is asked, though the first has always something due. */
Test(task_figures, partitions_take_turns_in_asking)
{
    struct eta_due d;

    line_up("", 0);
    open_with_service(URL);
    (void)look(0, "q1");
    (void)look(0, "q2");
    (void)look(0, "q3");
    send(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { .epoch = EPOCH, .part = 4, .part_epoch = 8, .match = "r*", .max_tasks = 100,
                                            .endpoint = "", .eta_url = URL, .eta_every_ms = 10000, .eta_timeout_ms = 1000 } });
    turn();
    send(RTR, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 4, 8, 0, "r", "", 0, false } });
    (void)question(&d);
    cr_expect_eq(d.part, 3);
    (void)question(&d);
    cr_expect_eq(d.part, 4);
    (void)question(&d);
    cr_expect_eq(d.part, 3);
}

/* max_wait goes by our own estimate: a service that is wrong closes no line, and opens none. */
Test(task_figures, max_wait_does_not_hear_the_service)
{
    struct eta_due d;
    struct tasktab_counts n;
    struct task_rules rules;

    line_up("", 0);
    open_with_service(URL);
    (void)look(0, "q");
    (void)question(&d);
    cr_assert_null(tasktab_eta_told(t, now, &d, SAYS, strlen(SAYS)));
    rules_default(&rules);
    rules.max_wait_ms = 60000;
    cr_assert_eq(engine_define(&tasktab_part(t, 3)->e, "q*", &rules), 0);
    cr_expect_eq(look(0, "q").eta_ms, 250000);
    cr_expect_eq(put_of("", 0, "").code, CODE_DONE, "by ours it is below a minute");
    for (unsigned i = 0; i < 17; i++) {
        pass(1000);
        (void)take(RTR, "q", 1, 0);
    }
    tasktab_count(t, &n);
    cr_expect_eq(n.engine.eta_error.n, 1, "%lu", n.engine.eta_error.n);
    cr_assert_eq(n.engine.eta_error_told.n, 1, "%lu", n.engine.eta_error_told.n);
    cr_expect_geq(n.engine.eta_error_told.sum_us, 200000000, "it was wrong by minutes");
    cr_expect_leq(n.engine.eta_error.sum_us, 20000000, "%lu", n.engine.eta_error.sum_us);
}

/* test_mng_budgets.c: queues that share max_active of a budget: what each may let in now, in one step
 * of the manager; what is told of it; what it costs. */
#include "tests/lib/mngmade.h"

#include <time.h>

#include "queuemng/core/definitions.h"
#include "queuemng/core/task_view.h"
#include "queuemng/core/queues.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/defined.h"
#include "queuemng/release/eta.h"
#include "queuemng/release/pop.h"

#define MOST 100

MADE_SUITE(mng_budgets, "\"mode\": \"slots\", \"max_active\": 100",);

static void budget(void)
{
    const char *json = "{\"name\": \"gpu\", \"max_active\": 100}";
    struct budget_def d = { 0 };
    struct cfg_node *doc = NULL;
    struct err e = { 0 };

    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), budget_def_keys, doc, NULL, &e), 0, "%s", e.text);
    cr_assert_eq(mng_define(w.m, DEF_BUDGET, w.m->now_ms, &d, &w.out, &e), 0, "%s", e.text);
    cfg_clear(&d, budget_def_keys);
    cfg_node_free(doc);
    made_step(&w, w.m->now_ms);
    budgets_tick(w.m, true);
}

/* Its part is all of the budget: what others hold is the limit. */
static void member(unsigned i)
{
    char json[120];
    struct cfg_node *doc = NULL;
    struct queue_def d = { 0 };
    struct err e = { 0 };

    snprintf(json, sizeof(json), "{\"name\": \"q%u\", \"mode\": \"slots\", \"max_active\": 100, "
             "\"budget\": \"gpu\"}", i);
    cr_assert_eq(cfg_parse_json(&doc, json, strlen(json), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&d, sizeof(d), queue_def_keys, doc, "test", &e), 0, "%s", e.text);
    cr_assert_eq(mng_define(w.m, DEF_QUEUE, w.m->now_ms, &d, &w.out, &e), 0, "%s", e.text);
    cfg_clear(&d, queue_def_keys);
    cfg_node_free(doc);
}

/* In a new step each may have all. The last one. */
static struct mqueue *step(void)
{
    struct mqueue *last = NULL;

    made_step(&w, w.m->now_ms);
    each_queue(w.m, q)
        if (q != w.q) {
            q->claim.aim.slots = MOST;
            last = q;
        }
    return last;
}

static struct mqueue *members(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        member(i);
    return step();
}

static void lets_in(struct mqueue *q, uint64_t n)
{
    q->lane[0].pop.busy = q->lane[0].pop.busy || n != 0;
    q->lane[0].pop.n += (uint32_t)n;
}

static uint64_t inside(void)
{
    uint64_t n = 0;

    each_queue(w.m, q)
        n += q->lane[0].pop.n;
    return n;
}

Test(mng_budgets, in_one_step_all_of_it_is_given_and_never_more)
{
    struct mqueue *first;

    budget();
    members(7);
    first = queue_find(w.m, "q0");
    each_queue(w.m, q)
        if (q != w.q)
            lets_in(q, u64_min(budget_lets_in(w.m, q), 30));
    cr_expect_eq(inside(), MOST);
    first->lane[0].pop.n -= 2;
    made_step(&w, w.m->now_ms); /* of people who left in a step the next one knows */
    cr_expect_eq(budget_lets_in(w.m, queue_find(w.m, "q6")), 2);
    lets_in(queue_find(w.m, "q6"), 2);
    each_queue(w.m, q)
        cr_expect_eq(q == w.q ? 0 : budget_lets_in(w.m, q), 0);
}

Test(mng_budgets, people_let_in_by_hand_are_counted_in_the_same_step)
{
    struct mqueue *q, *by_hand;

    budget();
    members(3);
    q = queue_find(w.m, "q0");
    by_hand = queue_find(w.m, "q1");
    by_hand->claim.aim.slots = 0;
    cr_expect_eq(budget_lets_in(w.m, q), MOST);
    cr_expect_eq(budget_lets_in(w.m, by_hand), 0);
    lets_in(by_hand, 40);
    cr_expect_eq(budget_lets_in(w.m, q), MOST - 40);
}

/* Others hold all of the budget, and half of it is the queue's: with nobody inside its people are told
 * what half of it comes to, if each stays as long as a session may last. */
static struct mqueue *waits_for_its_half(void)
{
    struct mqueue *other, *q;

    budget();
    other = members(2);
    q = queue_find(w.m, "q0");
    lets_in(other, MOST);
    q->claim.aim.slots = MOST / 2;
    q->lane[0].waiting = 500;
    return q;
}

static void told_by_stay(struct mqueue *q)
{
    const char *reason;
    double stay_s = (double)queue_session_ms(&q->def) / 1000, s;

    lane_eta(w.m, &q->lane[0]);
    s = lane_eta_last(&q->lane[0], &reason);
    cr_expect_float_eq(s, 500 * stay_s / (MOST / 2), 1, "%g", s);
    cr_expect_str_eq(reason != NULL ? reason : "as told", "stay");
}

Test(mng_budgets, a_wait_for_slots_that_others_hold_goes_by_the_part_of_them)
{
    struct mqueue *q = waits_for_its_half();

    told_by_stay(q);
    lets_in(q, 1); /* and a part that is used is no less */
    told_by_stay(q);
}

/* Its own rate says nothing while the budget has no slot for it. */
Test(mng_budgets, a_wait_by_rate_and_slots_of_a_budget_goes_by_what_binds)
{
    struct mqueue *q = waits_for_its_half();

    q->def.mode = MODE_BOTH;
    q->def.release_per_s = 100;
    pops_tick(w.m, q);
    made_step(&w, w.m->now_ms + 1000);
    pops_tick(w.m, q);
    cr_expect_str_eq(q->rel.limited_by, "budget:gpu");
    told_by_stay(q);
}

static void deleted_for_good(const char *name)
{
    struct mng_deleted_view v;
    struct err e = { 0 };

    mng_out_reset(&w.out);
    cr_assert_eq(mng_queue_delete(w.m, w.m->now_ms, name, true, &v, &w.out, &e), 0, "%s", e.text);
}

Test(mng_budgets, people_of_a_deleted_queue_count_until_their_passes_are_over)
{
    struct mqueue *q, *last;
    msec_t life;

    budget();
    last = members(2);
    q = queue_find(w.m, "q0");
    lets_in(last, MOST);
    life = queue_unreported_ms(&last->def);
    cr_expect_eq(budget_lets_in(w.m, q), 0);
    cr_expect_eq(budget_lets_in(w.m, last), 0, "it asked last");
    deleted_for_good("q1");
    cr_expect_eq(budget_lets_in(w.m, q), 0);
    made_step(&w, w.m->now_ms + life - 1);
    cr_expect_eq(budget_lets_in(w.m, q), 0);
    made_step(&w, w.m->now_ms + 1);
    cr_expect_eq(budget_lets_in(w.m, q), MOST);
}

Test(mng_budgets, a_deleted_queue_that_may_be_restored_keeps_its_budget_and_is_named_as_deleted)
{
    struct mng_deleted_view v;
    struct err e = { 0 };

    budget();
    members(1);
    mng_out_reset(&w.out);
    cr_assert_eq(mng_queue_delete(w.m, w.m->now_ms, "q0", false, &v, &w.out, &e), 0, "%s", e.text);
    cr_expect_eq(mng_undefine(w.m, DEF_BUDGET, w.m->now_ms, "gpu", false, &w.out, &e), SQ_ECONFLICT);
    cr_expect_not_null(strstr(e.text, "deleted"), "%s", e.text);
    deleted_for_good("q0");
    cr_expect_eq(mng_undefine(w.m, DEF_BUDGET, w.m->now_ms, "gpu", false, &w.out, &e), 0, "%s", e.text);
}

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Each of 4000 queues asks in a step: the work of a few counts of them all, or of 4000. */
Test(mng_budgets, a_step_in_which_all_queues_ask_counts_them_once, .timeout = 60)
{
    const unsigned counts = 20;
    double begun, count, asks;
    const struct mbudget *gpu;

    budget();
    members(4000);
    gpu = defined_find(w.m, DEF_BUDGET, "gpu");
    begun = cpu_ms();
    for (unsigned i = 0; i < counts; i++)
        cr_assert_eq(budget_held(w.m, gpu).slots, 0);
    count = (cpu_ms() - begun) / counts;
    begun = cpu_ms();
    each_queue(w.m, q)
        if (q != w.q)
            cr_assert_neq(budget_lets_in(w.m, q), 0);
    asks = cpu_ms() - begun;
    printf("4000 queues: a count %.2f ms; each asks: %.2f ms\n", count, asks);
    cr_expect_lt(asks, 400 * count, "%.2f ms, and %.2f ms", count, asks);
}

static void add(void *ctx, const void *view)
{
    struct bears *n = ctx;

    n->slots += ((const struct mng_member_view *)view)->used.slots;
}

static void look(void *ctx, const void *view)
{
    *(struct mng_budget_view *)ctx = *(const struct mng_budget_view *)view;
}

Test(mng_budgets, what_is_used_is_the_sum_of_its_members_and_held_says_what_is_uncertain)
{
    struct mng_budget_view v;
    struct bears sum = { 0 };
    struct mqueue *last;
    struct mseg *s;

    budget();
    last = members(2);
    lets_in(last, 3);
    w.l = &last->lane[0];
    s = made_open(&w, a, 5, 0);
    s->phase = SEG_STORED; /* a manager that begins has not heard its node */
    mng_each_budget(w.m, look, &v);
    mng_each_member(w.m, "gpu", add, &sum);
    cr_expect_eq(v.used.slots, 3);
    cr_expect_eq(sum.slots, v.used.slots);
    cr_expect_eq(v.held.slots, MOST);
    seg_set_phase(s, SEG_REPORTED);
    made_step(&w, w.m->now_ms);
    mng_each_budget(w.m, look, &v);
    cr_expect_eq(v.held.slots, v.used.slots);
}

/* test_task_offers.c: a task that stands in several queues: the first take has it, and then it stands in none;
 * it comes back to where it stood; ends, priorities, counts, lists and feeds are of all of its queues. */
#include "tests/unit/task/enginerig.h"

#include "task/engine/look.h"
#include "task/engine/worker.h"

static struct submit to(const char *queue, const char *others)
{
    return (struct submit){ .queue = rig_text(queue), .offer = rig_text(others) };
}

static task_no take(struct enginerig *r, const char *queue, uint64_t *lease)
{
    struct trec_text q = rig_text(queue);
    struct taken t = { 0 };
    int n = engine_take(&r->e, &q, 1, 1000, &t);

    rig_flush(r);
    cr_assert(n >= 0);
    if (lease != NULL)
        *lease = t.lease;
    return n > 0 ? t.no : 0;
}

static uint64_t waiting(struct enginerig *r, const char *queue)
{
    struct trec_text q = rig_text(queue);
    struct queue_view v;

    return engine_look_queue(&r->e, &q, &v) < 0 ? 0 : v.waiting;
}

static const char *queue_of(struct enginerig *r, task_no no)
{
    struct task_view v;

    cr_assert_eq(engine_look(&r->e, no, &v), 0);
    return v.queue;
}

static void nack(struct enginerig *r, task_no no, uint64_t lease)
{
    cr_assert_eq(engine_nack(&r->e, no, lease, 0, &given_back), 0);
    rig_flush(r);
    rig_advance(r, 10);
}

Test(offers, the_first_take_has_it_and_it_stands_in_none_of_the_others)
{
    struct enginerig r;
    uint64_t lease;
    task_no no, other;

    rig_init(&r, NULL);
    no = rig_submit(&r, to("a", "b,c"));
    other = rig_submit(&r, to("b", NULL));
    cr_expect(waiting(&r, "a") == 1 && waiting(&r, "b") == 2 && waiting(&r, "c") == 1);
    cr_expect_eq(r.e.store.n[TASK_WAITING], 2, "a task is one");
    rig_compare(&r);
    cr_expect_eq(take(&r, "b", &lease), no);
    cr_expect(waiting(&r, "a") == 0 && waiting(&r, "b") == 1 && waiting(&r, "c") == 0);
    cr_expect_eq(take(&r, "a", NULL), 0);
    cr_expect_eq(take(&r, "c", NULL), 0);
    cr_expect_str_eq(queue_of(&r, no), "b", "whose worker has it");
    rig_compare(&r);
    rig_restart(&r, 5);
    cr_expect_eq(take(&r, "a", NULL), 0);
    cr_expect_eq(engine_ack(&r.e, no, lease, 0), 0);
    rig_flush(&r);
    cr_expect_str_eq(queue_of(&r, no), "b");
    cr_expect(r.e.offers.n == 0 && r.e.offers.places == 0 && r.e.queues_now == 1);
    rig_compare(&r);
    cr_expect_eq(take(&r, "b", NULL), other);
    rig_fini(&r);
}

Test(offers, a_nack_a_lapse_and_one_that_nobody_saw_put_it_back_to_where_it_stood)
{
    struct enginerig r;
    uint64_t lease;
    task_no first, no;

    rig_init(&r, NULL);
    first = rig_submit(&r, to("a", NULL));
    no = rig_submit(&r, to("a", "b"));
    rig_submit(&r, to("b", NULL));
    rig_submit(&r, to("a", NULL));
    for (int i = 0; i < 3; i++) {
        struct task_view v;

        cr_expect_eq(take(&r, "b", &lease), no, "%d", i);
        cr_expect_eq(waiting(&r, "a"), 2);
        rig_compare(&r);
        if (i == 0) {
            nack(&r, no, lease);
        } else if (i == 1) {
            rig_restart(&r, 1);
            rig_advance(&r, 1001);
        } else {
            cr_assert_eq(engine_unseen(&r.e, no, lease), 0);
            rig_flush(&r);
        }
        rig_advance(&r, 10000); /* the back-off */
        rig_compare(&r);
        cr_expect_eq(engine_look(&r.e, no, &v), 0);
        cr_expect(v.state == TASK_WAITING && v.position == 2 && v.waiting == 3, "behind the first of a, as before");
        cr_expect_str_eq(v.queue, "a");
        cr_expect_eq(waiting(&r, "b"), 2);
    }
    cr_expect_eq(take(&r, "a", NULL), first);
    cr_expect_eq(take(&r, "a", NULL), no);
    rig_compare(&r);
    rig_fini(&r);
}

Test(offers, ends_of_all_kinds_end_all_places)
{
    struct enginerig r;
    struct submit s = to("a", "b,c");
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    no = rig_submit(&r, s);
    cr_expect_eq(engine_cancel(&r.e, no), 0);
    rig_flush(&r);
    cr_expect(waiting(&r, "a") + waiting(&r, "b") + waiting(&r, "c") == 0 && r.e.offers.n == 0);
    s.own.ttl_ms = 101;
    rig_submit(&r, s);
    rig_advance(&r, 200);
    cr_expect(waiting(&r, "a") + waiting(&r, "b") + waiting(&r, "c") == 0 && r.e.offers.places == 0);
    rig_compare(&r);
    s.own = (struct task_own){ .max_attempts = 2 };
    no = rig_submit(&r, s);
    cr_expect_eq(take(&r, "c", &lease), no);
    nack(&r, no, lease);
    cr_expect_eq(rig_state(&r, no), TASK_DEAD);
    cr_expect_str_eq(queue_of(&r, no), "a", "its first queue has its dead");
    cr_expect_eq(waiting(&r, "b"), 0);
    rig_compare(&r);
    cr_expect_eq(engine_redrive(&r.e, no), 0);
    rig_flush(&r);
    cr_expect(waiting(&r, "a") == 1 && waiting(&r, "b") == 1 && waiting(&r, "c") == 1);
    rig_compare(&r);
    cr_expect_eq(take(&r, "b", &lease), no);
    cr_expect_eq(engine_cut(&r.e, no), 0);
    rig_flush(&r);
    cr_expect(rig_state(&r, no) == TASK_CANCELLED && r.e.offers.n == 0);
    rig_compare(&r);
    rig_advance(&r, 2000);
    rig_compare(&r);
    rig_fini(&r);
}

Test(offers, one_that_is_delayed_gets_in_line_everywhere_at_once)
{
    struct enginerig r;
    struct submit s = to("a", "b");
    task_no no;

    rig_init(&r, NULL);
    s.delay_ms = 100;
    no = rig_submit(&r, s);
    cr_expect(waiting(&r, "a") == 0 && waiting(&r, "b") == 0);
    rig_compare(&r);
    rig_restart(&r, 1);
    cr_expect_eq(take(&r, "b", NULL), 0);
    rig_advance(&r, 100);
    cr_expect(waiting(&r, "a") == 1 && waiting(&r, "b") == 1);
    rig_compare(&r);
    cr_expect_eq(take(&r, "b", NULL), no);
    rig_fini(&r);
}

Test(offers, priority_and_order_are_those_of_all_places)
{
    struct task_patch p = { .has = PATCH_PRIORITY, .priority = 3 };
    struct task_rules rules;
    struct enginerig r;
    task_no no, later;

    rules_default(&rules);
    for (unsigned i = 0; i + 1 < TASK_PRIORITIES; i++)
        (&rules.head_start_1)[i] = 1000 * (i + 1);
    rig_init(&r, &rules);
    rig_submit(&r, to("b", NULL));
    no = rig_submit(&r, to("a", "b"));
    cr_expect_eq(engine_patch(&r.e, no, &p), 0);
    rig_flush(&r);
    rig_compare(&r);
    cr_expect_eq(take(&r, "b", NULL), no);
    rig_compare(&r);
    rig_fini(&r);
    rules.order = ORDER_NUMBER;
    rig_init(&r, &rules);
    later = rig_submit(&r, to("b", NULL));
    no = rig_submit(&r, to("a", "b"));
    p = (struct task_patch){ .has = PATCH_ORDER, .order = -5 };
    cr_expect_eq(engine_patch(&r.e, no, &p), 0);
    rig_flush(&r);
    rig_compare(&r);
    cr_expect_eq(take(&r, "b", NULL), no);
    cr_expect_eq(take(&r, "b", NULL), later);
    rig_fini(&r);
}

Test(offers, limits_are_those_of_the_queue_that_it_is_taken_from)
{
    struct task_rules rules;
    struct enginerig r;
    uint64_t lease;
    task_no no, other;

    rules_default(&rules);
    rules.queue_at_once = 1;
    rules.max_waiting = 3;
    rig_init(&r, &rules);
    no = rig_submit(&r, to("a", "b"));
    other = rig_submit(&r, to("b", NULL));
    cr_expect_eq(take(&r, "b", &lease), no);
    cr_expect_eq(take(&r, "b", NULL), 0, "one at once");
    rig_submit(&r, to("a", NULL));
    cr_expect_neq(take(&r, "a", NULL), 0, "a has none");
    nack(&r, no, lease);
    rig_advance(&r, 10000);
    cr_expect_eq(take(&r, "b", NULL), no);
    cr_expect_eq(engine_cancel(&r.e, other), 0);
    rig_flush(&r);
    rig_compare(&r);
    rig_fini(&r);
}

Test(offers, what_does_not_fit_into_one_of_them_is_in_none)
{
    struct submit s = to("a", "b");
    struct task_rules rules;
    struct enginerig r;
    size_t len;
    task_no no;

    rules_default(&rules);
    rules.max_waiting = 2;
    rules.max_waiting_units = 10;
    rig_init(&r, &rules);
    s.own.cost = 1 + 6;
    rig_submit(&r, s);
    cr_expect(tqueue_find(&r.e, "b", 1)->units == 6 && r.e.units == 6);
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EFULL);
    cr_expect_eq(r.e.full, FULL_UNITS);
    s = to("b", NULL);
    rig_submit(&r, s);
    s = to("c", "b");
    len = r.e.log.len;
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EFULL);
    cr_expect(r.e.full == FULL_WAITING && tqueue_find(&r.e, "c", 1) == NULL && r.e.log.len == len);
    s = to("c", "d,c");
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL, "twice");
    s = to("c", "d,d");
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL, "twice");
    s = to("c", "d,e,f,g,h,i,j,k");
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EINVAL, "nine");
    s = to("c", "d,e,f,g,h,i,j");
    no = rig_submit(&r, s);
    rig_compare(&r);
    cr_expect_eq(take(&r, "j", NULL), no);
    rig_compare(&r);
    rig_fini(&r);
}

Test(offers, one_that_is_replaced_leaves_its_room_in_all_of_its_queues)
{
    struct submit s = to("a", "b");
    struct task_rules rules;
    struct enginerig r;
    task_no no;

    rules_default(&rules);
    rules.max_waiting = 1;
    rules.max_waiting_units = 10;
    rig_init(&r, &rules);
    s.own.cost = 1 + 6;
    s.unique = rig_text("ride-7");
    s.on_conflict = UNIQUE_REPLACE;
    rig_submit(&r, s);
    no = rig_submit(&r, s);
    cr_expect_eq(waiting(&r, "b"), 1);
    rig_compare(&r);
    s.delay_ms = 1000; /* one that is not in line yet has a place in each, too */
    rig_submit(&r, s);
    no = rig_submit(&r, s);
    s.delay_ms = 0;
    no = rig_submit(&r, s);
    cr_expect(waiting(&r, "b") == 1 && r.e.units == 6);
    rig_compare(&r);
    s.offer = rig_text("c");
    rig_submit(&r, to("c", NULL));
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EFULL, "it leaves none there");
    rig_flush(&r);
    cr_expect_eq(waiting(&r, "b"), 1);
    rig_fini(&r);
}

Test(offers, places_count_in_max_tasks_and_what_is_over_gives_way)
{
    struct submit s = to("a", "b,c");
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    engine_limit(&r.e, 4);
    for (int i = 0; i < 2; i++) {
        no = rig_submit(&r, to("x", NULL));
        cr_assert_eq(take(&r, "x", &lease), no);
        cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
        rig_flush(&r);
    }
    rig_submit(&r, s);
    cr_expect_eq(r.e.counts.gave_way, 1);
    rig_compare(&r);
    cr_expect_eq(engine_submit(&r.e, &s, &no), SQ_EFULL);
    cr_expect_eq(r.e.full, FULL_PART);
    rig_flush(&r);
    cr_expect_eq(r.e.offers.places, 2);
    rig_compare(&r);
    rig_fini(&r);
}

Test(offers, what_gives_way_may_be_the_last_of_its_own_queue)
{
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    engine_limit(&r.e, 5);
    rig_submit(&r, to("b", NULL));
    rig_submit(&r, to("c", NULL));
    no = rig_submit(&r, to("a", NULL));
    cr_assert_eq(take(&r, "a", &lease), no);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    rig_flush(&r);
    no = rig_submit(&r, to("a", "b,c"));
    cr_expect_eq(r.e.counts.gave_way, 1);
    rig_compare(&r);
    cr_expect_eq(take(&r, "a", NULL), no);
    rig_compare(&r);
    rig_fini(&r);
}

Test(offers, a_snapshot_that_is_cut_amid_places_is_refused)
{
    const struct trec place = { .kind = TREC_PLACE, .no = 1ull << TASK_SLOT_BITS, .name = rig_text("b") };
    const struct trec own = { .kind = TREC_PLACE };
    struct enginerig r;

    rig_init(&r, NULL);
    cr_expect_eq(engine_apply(&r.e, &place), 0);
    rig_fini(&r);
    rig_init(&r, NULL);
    cr_expect_eq(engine_apply(&r.e, &own), 0);
    cr_expect_eq(engine_apply(&r.e, &own), SQ_EPROTO, "it is in one of them itself");
    rig_fini(&r);
}

Test(offers, a_name_a_list_and_the_first_tasks_know_one_task)
{
    struct task_filter f = { .queue = rig_text("b"), .states = UINT32_MAX };
    struct trec_text b = rig_text("b");
    struct submit s = to("a", "b");
    struct first_tasks first;
    struct enginerig r;
    task_no no, same, v[4];
    task_slot at = 0;

    rig_init(&r, NULL);
    s.name = rig_text("order-7");
    no = rig_submit(&r, s);
    cr_expect_eq(engine_submit(&r.e, &s, &same), 1);
    cr_expect_eq(same, no);
    cr_expect(engine_list(&r.e, &f, &at, v, 4) == 1 && v[0] == no);
    f.any_queue = true;
    at = 0;
    cr_expect(engine_list(&r.e, &f, &at, v, 4) == 1 && v[0] == no);
    cr_expect_eq(engine_first(&r.e, &b, 4, v, &first), 0);
    cr_expect(first.n == 1 && first.now == 1 && v[0] == no);
    cr_expect_eq(take(&r, "b", NULL), no, "the trial has put it back");
    f.any_queue = false;
    f.queue = rig_text("a");
    at = 0;
    cr_expect_eq(engine_list(&r.e, &f, &at, v, 4), 0, "b's worker has it");
    rig_fini(&r);
}

Test(offers, who_listens_to_another_queue_hears_of_start_and_end)
{
    struct trec_text c = rig_text("c");
    struct feed_asker who = { 0 };
    struct feed_event v[4];
    const struct feed *f;
    uint64_t after;
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    cr_assert_not_null(engine_feed(&r.e, &c, &who));
    after = feed_read(engine_feed(&r.e, &c, &who), 0, v, 4).next;
    no = rig_submit(&r, to("a", "b,c"));
    cr_expect_eq(take(&r, "b", &lease), no);
    cr_expect_eq(engine_ack(&r.e, no, lease, 0), 0);
    rig_flush(&r);
    f = engine_feed(&r.e, &c, &who);
    cr_expect_eq(feed_read(f, after, v, 4).n, 2);
    cr_expect(v[0].no == no && v[0].state == TASK_RUNNING && v[1].no == no && v[1].state == TASK_SUCCEEDED, "%d %d", v[0].state, v[1].state);
    rig_fini(&r);
}

Test(offers, many_are_shared_by_three_queues)
{
    struct enginerig r;
    uint64_t lease;
    unsigned n = 0;
    task_no no;

    rig_init(&r, NULL);
    rig_submit(&r, to("b", NULL));
    no = rig_submit(&r, to("a", "b,c"));
    rig_submit(&r, to("b", NULL));
    cr_expect_eq(take(&r, "c", &lease), no);
    nack(&r, no, lease);
    rig_advance(&r, 10000);
    for (int i = 0; i < 3; i++) {
        no = take(&r, "b", &lease);
        cr_expect_eq(engine_ack(&r.e, no, lease, 0), 0);
        rig_flush(&r);
    }
    for (int i = 0; i < 60; i++)
        rig_submit(&r, to("a", "b,c"));
    rig_compare(&r);
    while (take(&r, n % 3 == 0 ? "a" : n % 3 == 1 ? "b" : "c", NULL) != 0)
        n++;
    cr_expect_eq(n, 60);
    rig_compare(&r);
    rig_fini(&r);
}

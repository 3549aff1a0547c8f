/* test_mng_marks.c: what the manager stores of releases: before anybody hears of them, over
 * a restart, and no longer than a pass lives; and what a lost segment is told of it. */
#include "tests/lib/mngrig.h"

#define QUEUE(rate, ttl)                                                                 \
    "{\"name\": \"q\", \"state\": \"open\", \"release_per_s\": " rate ", "               \
    "\"segment_capacity\": 40, \"claim\": \"15s\", \"grace\": \"60s\", "                 \
    "\"idle\": {\"game\": \"12s\", \"mobile\": \"12s\", \"browser\": \"12s\"}, "         \
    "\"poll_max\": \"4s\", \"pass_ttl\": \"" ttl "\", \"session_max\": \"0\"}"

static struct mr *crowd(uint32_t n, const char *queue)
{
    struct mr *r = mr_new("marks");

    r->crowd = true;
    mr_put_queue(r, queue);
    mr_run(r, 500);
    mr_join(r, n);
    return r;
}

static unsigned records(const struct mr *r, const char *prefix)
{
    unsigned n = 0;

    for (unsigned i = 0; i < r->n_keys; i++)
        n += r->val[i] != NULL && strncmp(r->key[i], prefix, strlen(prefix)) == 0;
    return n;
}

Test(mng_marks, rows_are_stored_in_records_of_limited_size)
{
    struct mr *r = crowd(200, QUEUE("20", "10m"));
    unsigned before = records(r, "mark/");

    mr_play(r, 4000);
    cr_assert_gt(mr_admitted(r), 40);
    cr_assert_gt(records(r, "mark/"), before);
    cr_assert_leq(records(r, "mark/"), 40 / 32 + 2);
    mr_free(r);
}

/* mr_poll_all() says so if anybody's pass changes, or anybody waits again. */
Test(mng_marks, all_nodes_lost_after_a_restart_of_the_manager)
{
    struct mr *r = crowd(200, QUEUE("20", "10m"));
    uint32_t inside;

    mr_play(r, 4000);
    inside = mr_admitted(r);
    mr_restart_manager(r);
    mr_run(r, 300);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_play(r, 30000);
    cr_assert_gt(mr_admitted(r), inside);
    mr_play(r, 20000);
    cr_assert_eq(mr_admitted(r), 200, "%u are inside", mr_admitted(r));
    for (uint32_t i = 1; i < r->n_tickets; i++)
        cr_assert_geq(r->ticket[i].released_at_ms, r->ticket[i - 1].released_at_ms, "%u", i);
    mr_free(r);
}

/* Records go with the last pass in them; how far the segment was released stays. */
Test(mng_marks, not_kept_longer_than_passes_live)
{
    struct mr *r = crowd(60, QUEUE("8", "20s"));
    struct place_ans a;

    mr_play(r, 2000);
    cr_assert_gt(records(r, "mark/"), 0);
    cr_assert(mr_admitted(r) > 5 && mr_admitted(r) < 40, "some of the first segment");
    mr_order(r, MNG_PAUSE);
    for (int i = 0; i < 20; i++) {
        mr_run(r, 5000);
        for (uint32_t k = mr_admitted(r); k < r->n_tickets; k++)
            (void)mr_poll(r, &r->ticket[k], &a); /* the others still wait */
    }
    cr_assert_eq(records(r, "mark/"), 0);
    mr_restart_manager(r);
    mr_run(r, 300);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    mr_run(r, 3000);
    cr_assert(mr_poll(r, &r->ticket[5], &a));
    cr_assert_eq(a.state, PLACE_GONE);
    cr_assert_eq(a.reason, GONE_FINISHED, "who was inside does not wait again");
    cr_assert(mr_poll(r, &r->ticket[59], &a));
    cr_assert_eq(a.state, PLACE_WAITING);
    cr_assert_eq(a.position, 0);
    mr_free(r);
}

Test(mng_marks, a_deleted_queue_leaves_no_marks)
{
    struct mr *r = crowd(60, QUEUE("20", "10m"));
    struct err e = { 0 };
    struct mng_deleted_view gone;

    mr_play(r, 2000);
    cr_assert_gt(records(r, "mark/"), 0);
    cr_assert_eq(mng_queue_delete(r->m, r->now, "q", true, &gone, &r->out, &e), 0, "%s", e.text);
    mr_flush_mng(r);
    cr_assert_eq(records(r, "mark/"), 0);
    mr_free(r);
}

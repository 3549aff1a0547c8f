/* test_notices.c: an end is told until the other queue has it, whatever is lost on the way; what is
 * written makes the same list; bounds. */
#include "task/node/ends.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/task/state.h"
#include "tests/lib/quiet.h"

enum { R1 = 7, R2 = 8 };

static struct notices s;
static struct buf log_;

static void setup(void)
{
    log_set_level(LOG_ERROR);
    notices_init(&s, false);
    buf_init(&log_);
    notices_tell(&s, "hook", false, &log_);
}

static void teardown(void)
{
    notices_fini(&s);
    buf_fini(&log_);
}

TestSuite(notices, .init = setup, .fini = teardown);

static bool add(task_no no)
{
    struct notice_text t = { .no = no, .state = TASK_DEAD, .ended_ms = 1000 + (int64_t)no,
                             .p = "{}", .n = 2 };

    return notices_add(&s, &t, &log_);
}

/* The list that these records make. */
static void read_into(struct notices *to, const struct buf *log)
{
    struct trec_frame f;
    struct trec r;

    notices_init(to, false);
    for (size_t at = 0; at < log->len;) {
        cr_assert(trec_next(log->data, log->len, &at, &f));
        cr_assert_eq(trec_decode(f.kind, f.p, f.n, &r), 0);
        cr_assert(notices_has_record(r.kind));
        cr_assert_eq(notices_apply(to, &r), 0);
    }
}

static void same(struct notices *a, struct notices *b)
{
    cr_expect_eq(notices_n(a), notices_n(b));
    cr_expect_str_eq(a->queue, b->queue);
    cr_expect_eq(a->starts, b->starts);
    cr_expect_eq(a->bytes, b->bytes);
    for (uint64_t id = 1; id < a->next_id; id++) {
        const struct notice *x = map_get_ptr(&a->by_id, id), *y = map_get_ptr(&b->by_id, id);

        cr_assert_eq(x == NULL, y == NULL);
        if (x != NULL)
            cr_expect(x->no == y->no && x->state == y->state && x->ended_ms == y->ended_ms &&
                      x->start == y->start && x->n == y->n && memcmp(x->text, y->text, x->n) == 0);
    }
}

Test(notices, each_is_said_once_and_goes_when_it_was_taken)
{
    const struct notice *x, *y;

    cr_expect(add(5) && add(6));
    x = notices_send(&s, R1, 0);
    y = notices_send(&s, R2, 0);
    cr_assert(x != NULL && x->no == 5 && y != NULL && y->no == 6);
    cr_expect_null(notices_send(&s, R1, 0));
    cr_expect_null(notices_sent(&s, x->id, 6), "of another task");
    cr_expect_eq(notices_sent(&s, x->id, 5), x);
    notices_over(&s, x, false, &log_);
    cr_expect_null(notices_sent(&s, 1, 5), "said twice");
    cr_expect_eq(notices_n(&s), 1);
    notices_over(&s, y, true, &log_);
    cr_expect(s.taken == 1 && s.dropped == 1 && notices_n(&s) == 0 && s.bytes == 0);
    cr_expect_eq(notices_idle_ms(&s, 0), MSEC_NEVER);
}

Test(notices, what_nobody_answers_or_takes_is_said_again)
{
    const struct notice *x;

    cr_expect(add(5) && add(6));
    x = notices_send(&s, R1, 100);
    notices_refused(&s, x, 200);
    cr_expect_null(notices_send(&s, R1, 1199), "a queue that is full is asked again later");
    cr_expect_eq(notices_idle_ms(&s, 1000), 200);
    x = notices_send(&s, R1, 1200);
    cr_assert(x != NULL && x->no == 5, "the oldest comes first");
    x = notices_send(&s, R2, 1300);
    cr_assert(x != NULL && x->no == 6);
    cr_expect_eq(notices_idle_ms(&s, 1300), 9900);
    cr_expect_null(notices_send(&s, R1, 11199));
    x = notices_send(&s, R2, 11200);
    cr_assert(x != NULL && x->no == 5 && x->peer == R2);
    notices_lost(&s, R2);
    cr_expect_null(notices_sent(&s, x->id, 5), "the link is gone: no answer comes");
    cr_expect(notices_send(&s, R1, 11201) != NULL && notices_send(&s, R1, 11201) != NULL);
    cr_expect_eq(s.sent.n, 2);
}

Test(notices, those_of_a_router_that_is_gone_are_said_again_in_their_order)
{
    for (task_no no = 5; no < 9; no++)
        cr_expect(add(no));
    for (int i = 0; i < 3; i++)
        cr_assert_not_null(notices_send(&s, R1, i));
    notices_lost(&s, R1);
    for (task_no no = 5; no < 8; no++)
        cr_expect_eq(notices_send(&s, R2, 100 + (msec_t)no)->no, no);
    for (task_no no = 5; no < 9; no++) /* and those that nobody answered */
        cr_expect_eq(notices_send(&s, R1, 20000 + (msec_t)no)->no, no);
}

static void answered(const struct notice *x, uint8_t code)
{
    struct msg_task_notice_ans m = { .part = 1, .id = x->id, .no = x->no, .code = code };

    notices_answered(&s, &m, 100, &log_);
}

/* It comes again after an answer that was lost, and the tokens' key was changed meanwhile. */
Test(notices, one_whose_key_means_another_task_holds_up_nobody)
{
    quiet_log();
    cr_expect(add(5) && add(6));
    answered(notices_send(&s, R1, 0), CODE_MISMATCH);
    cr_expect_eq(notices_n(&s), 1, "it is dropped");
    cr_expect_eq(s.dropped, 1, "and counted");
    cr_assert_not_null(notices_send(&s, R1, 101));
}

Test(notices, without_a_router_they_wait)
{
    cr_expect(add(5));
    notices_hold(&s, 50);
    cr_expect_eq(notices_idle_ms(&s, 60), 990);
    cr_expect_null(notices_send(&s, R1, 1049));
    cr_expect_not_null(notices_send(&s, R1, 1050));
}

Test(notices, so_many_are_on_their_way_at_once)
{
    for (task_no no = 1; no <= NOTICES_AT_ONCE + 1; no++)
        cr_expect(add(no));
    for (int i = 0; i < NOTICES_AT_ONCE; i++)
        cr_expect_not_null(notices_send(&s, R1, 0));
    cr_expect_null(notices_send(&s, R1, 0));
    cr_expect_eq(notices_idle_ms(&s, 0), 10000);
    notices_over(&s, notices_sent(&s, 1, 1), false, &log_);
    cr_expect_not_null(notices_send(&s, R1, 0));
}

Test(notices, beyond_the_bound_they_are_dropped_and_counted)
{
    for (task_no no = 1; no <= NOTICES_MAX; no++)
        cr_assert(add(no));
    cr_expect_not(add(1));
    cr_expect(s.dropped == 1 && notices_n(&s) == NOTICES_MAX);
    notices_over(&s, notices_send(&s, R1, 0), false, &log_);
    cr_expect(add(1));
}

Test(notices, what_is_written_makes_the_same_list)
{
    struct notices r;
    struct buf snap;

    for (task_no no = 1; no <= 20; no++)
        cr_expect(add(no));
    for (int i = 0; i < 9; i++)
        cr_expect_not_null(notices_send(&s, R1, 0));
    for (uint64_t id = 2; id < 9; id += 2)
        notices_over(&s, notices_sent(&s, id, id), id == 4, &log_);
    read_into(&r, &log_);
    same(&s, &r);
    cr_expect_eq(r.next_id, s.next_id);
    cr_expect_eq(r.sent.n, 0, "nobody knows who has them: they are said again");
    notices_fini(&r);
    buf_init(&snap);
    notices_snapshot(&s, &snap);
    read_into(&r, &snap);
    same(&s, &r);
    cr_expect_eq(notices_send(&r, R1, 0)->no, 1, "the oldest first");
    notices_fini(&r);
    buf_fini(&snap);
}

Test(notices, the_queue_is_written_when_it_changes)
{
    struct notices r;
    size_t was = log_.len;

    notices_tell(&s, "hook", false, &log_);
    cr_expect_eq(log_.len, was);
    notices_tell(&s, "", false, &log_);
    cr_expect_gt(log_.len, was);
    read_into(&r, &log_);
    cr_expect_str_eq(r.queue, "");
    notices_fini(&r);
}

Test(notices, records_that_contradict_are_refused)
{
    struct trec r = { .kind = TREC_NOTICE, .lo = 1, .no = 5, .state = TASK_DEAD, .name = { "{}", 2 } };
    struct trec gone = { .kind = TREC_NOTICE_GONE, .lo = 9 };
    char text[NOTICE_TEXT_MAX + 1] = "";

    cr_expect_eq(notices_apply(&s, &gone), SQ_EPROTO);
    cr_expect_eq(notices_apply(&s, &r), 0);
    cr_expect_eq(notices_apply(&s, &r), SQ_EPROTO, "there twice");
    r.lo = 2;
    r.state = TASK_WAITING;
    cr_expect_eq(notices_apply(&s, &r), SQ_EPROTO);
    r.state = TASK_NSTATES;
    cr_expect_eq(notices_apply(&s, &r), SQ_EPROTO);
    r.state = TASK_DEAD;
    r.name = (struct trec_text){ text, sizeof(text) };
    cr_expect_eq(notices_apply(&s, &r), SQ_EPROTO);
    r.name.n = 0;
    cr_expect_eq(notices_apply(&s, &r), SQ_EPROTO);
    r = (struct trec){ .kind = TREC_NOTIFY, .name = { text, TASK_NAME_MAX + 1 } };
    cr_expect_eq(notices_apply(&s, &r), SQ_EPROTO);
}

Test(notices, a_start_is_kept_with_its_lease)
{
    struct notice_text t = { .no = 5, .state = TASK_RUNNING, .ended_ms = 1, .start = 9, .p = "{}", .n = 2 };
    struct notices r;

    notices_tell(&s, "hook", true, &log_);
    cr_expect(notices_add(&s, &t, &log_) && add(5));
    read_into(&r, &log_);
    same(&s, &r);
    cr_expect(r.starts && notices_send(&r, R1, 0)->start == 9);
    notices_fini(&r);
    t.start = 0;
    cr_expect_not(notices_add(&s, &t, &log_), "a start without a lease");
}

Test(notices, starts_leave_room_for_ends)
{
    struct notice_text t = { .no = 1, .state = TASK_RUNNING, .ended_ms = 1, .p = "{}", .n = 2 };
    struct buf snap;
    struct notices r;

    notices_tell(&s, "hook", true, &log_);
    for (t.start = 1; t.start <= NOTICES_MAX / 2; t.start++)
        cr_assert(notices_add(&s, &t, &log_));
    cr_expect_not(notices_add(&s, &t, &log_));
    cr_expect(s.dropped == 1 && add(1));
    buf_init(&snap);
    notices_snapshot(&s, &snap);
    read_into(&r, &snap);
    same(&s, &r);
    cr_expect(r.starts && notices_send(&r, R1, 0)->start == 1, "the oldest first");
    notices_fini(&r);
    buf_fini(&snap);
}

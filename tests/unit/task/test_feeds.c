/* test_feeds.c: starts and ends of a queue's tasks: what is told behind a number, where a gap is, when a feed goes;
 * and by a whole table. */
#include "task/node/state.h"
#include "task/store/queue_extras.h"

#include "tests/unit/task/tablerig.h"

TestSuite(feeds, .init = setup, .fini = teardown);

#define WALL INT64_C(1700000000000)

static struct feed_event got[FEED_KEPT];
static struct feed_asker nobody;

static void note(struct feeds *s, uint64_t hash, unsigned n)
{
    static task_no no;

    while (n-- > 0)
        feeds_note(s, hash, &(const struct feed_event){ ++no, 5, TASK_RUNNING, 1 });
}

Test(feeds, who_asks_again_hears_all_behind_its_number)
{
    struct feeds s;
    struct feed *f;
    struct feed_part p;
    uint64_t begin;

    feeds_init(&s);
    note(&s, 7, 3); /* nobody asks */
    f = feeds_ask(&s, 7, &nobody, 10, WALL);
    p = feed_read(f, 0, got, 256);
    begin = p.next;
    cr_expect(p.n == 0 && !p.gap);
    cr_expect_eq(begin, ((uint64_t)WALL << 16) - 1);
    note(&s, 7, 5);
    note(&s, 8, 5);
    p = feed_read(f, begin, got, 3);
    cr_expect(p.n == 3 && !p.gap && p.next == begin + 3);
    cr_expect(got[0].no == 4 && got[2].no == 6);
    p = feed_read(f, p.next, got, 256);
    cr_expect(p.n == 2 && !p.gap && p.next == begin + 5 && got[1].no == 8);
    p = feed_read(f, p.next, got, 256);
    cr_expect(p.n == 0 && !p.gap && p.next == begin + 5);
    cr_expect_eq(feeds_ask(&s, 7, &nobody, 20, WALL + 9), f, "the same for all who ask");
    feeds_fini(&s);
}

Test(feeds, what_is_not_known_any_more_is_a_gap)
{
    struct feeds s;
    struct feed *f;
    struct feed_part p;
    uint64_t begin;

    feeds_init(&s);
    f = feeds_ask(&s, 7, &nobody, 10, WALL);
    begin = feed_read(f, 0, got, 1).next;
    note(&s, 7, FEED_KEPT);
    p = feed_read(f, begin, got, FEED_KEPT);
    cr_expect(p.n == FEED_KEPT && !p.gap);
    note(&s, 7, 1);
    p = feed_read(f, begin, got, 10);
    cr_expect(p.gap && p.n == 10 && p.next == begin + 11);
    p = feed_read(f, begin + 1, got, FEED_KEPT);
    cr_expect(!p.gap && p.n == FEED_KEPT);
    cr_expect(feed_read(f, begin - 100, got, 1).gap, "of a feed before it");
    cr_expect(feed_read(f, begin + 100000, got, 1).gap, "of one that counted further");
    feeds_fini(&s);
}

Test(feeds, one_that_nobody_asks_for_goes_and_there_are_so_many)
{
    struct feeds s;

    feeds_init(&s);
    for (uint64_t i = 0; i < FEEDS_MAX; i++)
        cr_assert_not_null(feeds_ask(&s, i, &nobody, 10, WALL));
    cr_expect_null(feeds_ask(&s, FEEDS_MAX, &nobody, 10 + FEED_IDLE_MS, WALL));
    cr_expect_not_null(feeds_ask(&s, 0, &nobody, 10 + FEED_IDLE_MS, WALL));
    cr_expect_not_null(feeds_ask(&s, FEEDS_MAX, &nobody, 11 + FEED_IDLE_MS, WALL));
    cr_expect_eq(s.by_hash.n, FEEDS_MAX);
    for (uint64_t i = 0; i <= FEEDS_MAX; i++)
        feeds_note(&s, i, &(const struct feed_event){ 1, 12 + FEED_IDLE_MS, TASK_RUNNING, 1 });
    cr_expect_eq(s.by_hash.n, 2);
    feeds_fini(&s);
}

static unsigned begin(struct feeds *s, uint64_t whose, unsigned from, msec_t at)
{
    struct feed_asker a = { .whose = whose };
    unsigned n = 0;

    while (feeds_ask(s, from + n, &a, at, WALL) != NULL)
        n++;
    cr_expect_eq(a.has_most, whose != 0);
    return n;
}

Test(feeds, a_token_begins_no_more_than_are_free)
{
    struct feed_asker b = { .whose = 2 };
    struct feeds s;

    feeds_init(&s);
    cr_expect_eq(begin(&s, 1, 0, 10), FEEDS_MAX / 2, "alone: half");
    cr_expect_eq(begin(&s, 2, 100, 10), FEEDS_MAX / 4, "two: what is left, halved");
    cr_expect_null(feeds_ask(&s, 90, &(struct feed_asker){ .whose = 1 }, 10, WALL));
    cr_expect_not_null(feeds_ask(&s, 31, &(struct feed_asker){ .whose = 1 }, 10, WALL), "one that is there");
    cr_expect_not_null(feeds_ask(&s, 0, &b, 10, WALL), "of another: it counts for that one");
    for (uint64_t who = 3; s.by_hash.n < FEEDS_MAX; who++) /* room for a first one of others */
        cr_assert_not_null(feeds_ask(&s, 1000 + who, &(struct feed_asker){ .whose = who }, 10, WALL));
    cr_expect_null(feeds_ask(&s, 999, &(struct feed_asker){ .whose = 77 }, 10, WALL));
    feeds_fini(&s);
}

Test(feeds, one_that_its_token_has_left_counts_for_who_asks)
{
    struct feed_asker b = { .whose = 2 };
    struct feeds s;

    feeds_init(&s);
    cr_expect_eq(begin(&s, 1, 0, 10), FEEDS_MAX / 2);
    for (msec_t at = 10; at <= 20 + FEED_IDLE_MS; at += FEED_IDLE_MS / 2)
        for (unsigned i = 0; i < FEEDS_MAX / 4; i++)
            cr_assert_not_null(feeds_ask(&s, i, &b, at, WALL));
    for (unsigned i = 0; i < FEEDS_MAX / 4; i++)
        cr_assert_not_null(feeds_ask(&s, i, &b, 20 + FEED_IDLE_MS, WALL));
    cr_expect_eq(begin(&s, 2, 200, 20 + FEED_IDLE_MS), FEEDS_MAX / 8 + FEEDS_MAX / 8,
                 "16 are its own now, those of the first are idle: 16 + 16 of 64");
    cr_expect_eq(begin(&s, 1, 300, 20 + FEED_IDLE_MS), FEEDS_MAX / 4);
    feeds_fini(&s);
}

static const struct msg_task_feed_ans *ask(uint64_t after)
{
    send(RTR2, &(struct msg){ .type = MSG_TASK_FEED,
                              .task_feed = { .part = 3, .epoch = 8, .queue = "q", .after = after, .most = 10 } });
    return &answer(next_rid)->task_feed_ans;
}

Test(feeds, a_table_tells_starts_and_ends_of_the_queue)
{
    const struct msg_task_feed_ans *m;
    struct taken_row k;
    uint64_t at;

    open_part(3, 8);
    m = ask(0);
    cr_assert(m->code == CODE_DONE && m->n == 0 && !m->gap);
    at = m->next;
    put_at(3, 8, "q", "x");
    put_at(3, 8, "q/other", "x");
    (void)take(RTR, "q/other", 1, 0);
    k = take(RTR, "q", 1, 0)->v[0];
    m = ask(at);
    cr_assert_eq(m->n, 1);
    cr_expect(m->v[0].no == k.no && m->v[0].state == TASK_RUNNING && m->v[0].attempts == 1);
    cr_expect_eq(m->v[0].at_ms, now.wall_ms);
    at = m->next;
    cr_assert_eq(settle(SETTLE_NACK, &k), CODE_DONE);
    pass(60000);
    ask(at);
    k = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(settle(SETTLE_ACK, &k), CODE_DONE);
    m = ask(at);
    cr_assert_eq(m->n, 2);
    cr_expect(m->v[0].state == TASK_RUNNING && m->v[0].attempts == 2);
    cr_expect(m->v[1].state == TASK_SUCCEEDED && m->v[1].no == k.no);
    at = m->next;
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR2, RPC_ROUTER, "r2", &out);
    ok(EPOCH, 77);
    pass(1000);
    m = ask(at);
    cr_expect(m->code == CODE_DONE && m->gap && m->n == 0 && m->next > at, "another process knows none of it");
    send(RTR2, &(struct msg){ .type = MSG_TASK_FEED,
                              .task_feed = { .part = 3, .epoch = 7, .queue = "q", .most = 10 } });
    cr_expect_eq(answer(next_rid)->task_feed_ans.code, CODE_STALE);
}

Test(feeds, the_table_says_that_it_is_the_token_that_has_most)
{
    char name[8];
    const struct msg_task_feed_ans *m = NULL;

    open_part(3, 8);
    for (unsigned i = 0; i <= FEEDS_MAX / 2; i++) {
        snprintf(name, sizeof(name), "q/%u", i);
        send(RTR2, &(struct msg){ .type = MSG_TASK_FEED,
                                  .task_feed = { .part = 3, .epoch = 8, .queue = name, .most = 10, .whose = 5 } });
        m = &answer(next_rid)->task_feed_ans;
        cr_assert_eq(m->code, i < FEEDS_MAX / 2 ? CODE_DONE : CODE_FULL, "%u", i);
    }
    cr_expect(m->of_token);
    cr_expect_eq(ask(0)->code, CODE_DONE, "a router of the release before says nobody");
}

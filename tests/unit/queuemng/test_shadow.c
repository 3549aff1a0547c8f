/* The line that a shadow queue would have (release/shadow.h): the row of buckets beside a plain list of
 * everybody, and a queue that lets everybody in while it is played. */
#include "tests/lib/mngrig.h"

#include "queuemng/release/shadow.h"

/* ---- the row of buckets, beside a list ---- */

#define MOST 60000

struct list_line {
    msec_t came[MOST];
    unsigned from, end;
};

static struct shadow s;
static struct list_line list;

static void come(unsigned n, msec_t now)
{
    shadow_join(&s, 0, n, now);
    while (n-- > 0)
        list.came[list.end++] = now;
}

/* Returns the longest wait of those that went. */
static msec_t go(unsigned n, msec_t now)
{
    msec_t most = 0;

    shadow_release(&s, 0, n, now);
    while (n-- > 0)
        most = ms_max(most, now - list.came[list.from++]);
    return most;
}

Test(shadow, nobody_waits_in_a_new_one)
{
    static struct shadow none;

    cr_expect_eq(shadow_waiting(&none), 0);
    cr_expect_eq(shadow_wait_ms(&none, 1000), 0);
}

/* A rush that fills the buckets many times over, let out at a steady rate. */
Test(shadow, waits_are_those_of_a_list_and_never_too_short)
{
    enum { RUSH_MS = 200000, WAIT_MS = 400000 }; /* WAIT_MS: the longest, about */
    msec_t longest = 0, now;

    for (now = 100; now < 600000; now += 100) {
        if (now < RUSH_MS)
            come(10 + (unsigned)(now / 100 % 37), now);
        if (list.end > list.from)
            longest = ms_max(longest, go(10 < list.end - list.from ? 10 : list.end - list.from, now));
        msec_t wait = list.from < list.end ? now - list.came[list.from] : 0;

        cr_assert_eq(shadow_waiting(&s), list.end - list.from);
        cr_assert_geq(shadow_wait_ms(&s, now), wait);
        cr_assert(shadow_wait_ms(&s, now) <= wait + 2 * WAIT_MS / SHADOW_BUCKETS + 200,
                  "at %lld: %lld, not %lld", (long long)now, (long long)shadow_wait_ms(&s, now), (long long)wait);
    }
    cr_expect_eq(s.came, list.end);
    cr_expect_eq(s.went, list.from);
    cr_expect_geq(s.longest_ms, longest);
    cr_expect_leq(s.longest_ms, longest + 2 * WAIT_MS / SHADOW_BUCKETS + 200);
    cr_expect(s.would_wait > list.from * 0.9);
}

Test(shadow, who_goes_at_once_would_not_wait)
{
    for (msec_t now = 100; now < 100000; now += 100) {
        come(3, now);
        go(3, now + 50);
    }
    cr_expect_eq(s.would_wait, 0);
    cr_expect_eq(shadow_waiting(&s), 0);
    cr_expect_eq(s.longest_ms, 50);
}

/* ---- a queue ---- */

#define QUEUE(more) "{\"name\": \"q\", \"segment_capacity\": 400, \"poll_max\": \"4s\"" more "}"

struct seen {
    bool has;
    struct mng_shadow_view v;
};

static void look(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct seen *x = ctx;

    x->has = q->has_shadow;
    x->v = q->shadow;
}

static struct seen shadow_of(const struct mr *r)
{
    struct seen x = { 0 };

    mng_each_queue(r->m, look, &x);
    return x;
}

static unsigned admitted(const struct mr *r)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_tickets; i++)
        n += r->ticket[i].admitted;
    return n;
}

static void play(struct mr *r, unsigned halves)
{
    while (halves-- > 0) {
        mr_poll_all(r);
        mr_run(r, 500);
    }
    mr_poll_all(r);
}

Test(shadow, everybody_goes_in_and_the_line_says_who_would_wait)
{
    struct mr *r = mr_new("shadow");
    struct seen x;

    r->crowd = true;
    mr_put_queue(r, QUEUE(", \"release_per_s\": 10, \"shadow\": true"));
    mr_run(r, 2500);
    mr_join(r, 200);
    play(r, 4);
    cr_expect_eq(admitted(r), 200, "%u", admitted(r));
    x = shadow_of(r);
    cr_assert(x.has);
    cr_expect_eq(x.v.joined, 200);
    cr_expect(x.v.waiting >= 170 && x.v.waiting <= 190, "%u wait in it", (unsigned)x.v.waiting);
    cr_expect_eq(x.v.allowed_per_s, 10);
    cr_expect_str_eq(x.v.limited_by, "fixed");
    play(r, 40);
    x = shadow_of(r);
    cr_expect_eq(x.v.waiting, 0, "it goes on while nobody really waits");
    cr_expect(x.v.longest_ms >= 19000 && x.v.longest_ms <= 22000, "%lld", (long long)x.v.longest_ms);
    cr_expect(x.v.would_wait >= 180 && x.v.would_wait < 200);
    mr_free(r);
}

/* Whoever is inside of those that wait in it is not counted against its slots. */
Test(shadow, by_slots)
{
    struct mr *r = mr_new("shadow slots");
    struct seen x;

    r->crowd = true;
    mr_put_queue(r, QUEUE(", \"mode\": \"slots\", \"max_active\": 30, \"shadow\": true"));
    mr_run(r, 2500);
    mr_join(r, 100);
    play(r, 6);
    cr_expect_eq(admitted(r), 100, "%u", admitted(r));
    x = shadow_of(r);
    cr_expect_eq(x.v.joined, 100);
    cr_expect(x.v.waiting >= 68 && x.v.waiting <= 72, "%u wait in it", (unsigned)x.v.waiting);
    for (uint32_t i = 0; i < 10; i++)
        mr_leave(r, i);
    play(r, 6);
    x = shadow_of(r);
    cr_expect(x.v.waiting >= 58 && x.v.waiting <= 62, "%u wait in it", (unsigned)x.v.waiting);
    mr_free(r);
}

/* A pause holds the line, and nobody. */
Test(shadow, paused_and_off_again)
{
    struct mr *r = mr_new("shadow paused");
    struct seen x;

    r->crowd = true;
    mr_put_queue(r, QUEUE(", \"release_per_s\": 50, \"shadow\": true, \"state\": \"paused\""));
    mr_run(r, 2500);
    mr_join(r, 60);
    play(r, 4);
    cr_expect_eq(admitted(r), 60);
    x = shadow_of(r);
    cr_expect_eq(x.v.waiting, 60);
    mr_put_queue(r, QUEUE(", \"release_per_s\": 1, \"direct_entry\": false"));
    mr_run(r, 1500);
    cr_expect_not(shadow_of(r).has);
    mr_join(r, 60);
    play(r, 4);
    cr_expect(admitted(r) < 70, "a line again: %u", admitted(r));
    mr_free(r);
}

/* Another manager knows of nobody at first: what its segments tell of before is no crowd. */
Test(shadow, another_manager_begins_with_an_empty_line)
{
    struct mr *r = mr_new("shadow leader");
    struct seen x;

    r->crowd = true;
    mr_put_queue(r, QUEUE(", \"release_per_s\": 10, \"shadow\": true"));
    mr_run(r, 2500);
    mr_join(r, 200);
    play(r, 50);
    cr_expect_eq(shadow_of(r).v.joined, 200);
    mr_restart_manager_in(r, 3000);
    play(r, 14);
    x = shadow_of(r);
    cr_assert(x.has);
    cr_expect_eq(x.v.joined, 0, "%u came by a new link", (unsigned)x.v.joined);
    mr_join(r, 20);
    play(r, 4);
    cr_expect_eq(shadow_of(r).v.joined, 20, "%u", (unsigned)shadow_of(r).v.joined);
    mr_free(r);
}

/* A segment that is lost and rebuilt brings nobody, and takes nobody away. */
Test(shadow, a_rebuilt_segment_is_no_crowd)
{
    struct mr *r = mr_new("shadow rebuild");
    unsigned was;

    r->crowd = true;
    mr_put_queue(r, QUEUE(", \"release_per_s\": 10, \"shadow\": true"));
    mr_run(r, 2500);
    mr_join(r, 200);
    play(r, 50);
    for (int i = 0; i < MR_NODES; i++)
        mr_lose(r, i);
    play(r, 30);
    was = (unsigned)shadow_of(r).v.joined;
    cr_expect_eq(was, 200, "%u", was);
    mr_join(r, 20);
    play(r, 4);
    cr_expect_eq(shadow_of(r).v.joined, was + 20, "%u", (unsigned)shadow_of(r).v.joined);
    mr_free(r);
}

/* Nobody is let out of a lane that has gone: its line goes, too. */
Test(shadow, a_lane_that_goes_takes_its_line)
{
    struct mr *r = mr_new("shadow lane");

    r->crowd = true;
    mr_put_queue(r, QUEUE(", \"release_per_s\": 1, \"shadow\": true, \"lanes\": [{\"name\": \"default\"}, {\"name\": \"vip\"}]"));
    mr_run(r, 2500);
    r->lane = 1;
    mr_join(r, 60);
    play(r, 4);
    cr_expect_eq(admitted(r), 60);
    for (uint32_t i = 0; i < r->n_tickets; i++)
        mr_leave(r, i);
    mr_run(r, 1500);
    cr_expect_gt(shadow_of(r).v.waiting, 40);
    mr_put_queue(r, QUEUE(", \"release_per_s\": 1, \"shadow\": true, \"lanes\": [{\"name\": \"default\"}]"));
    mr_run(r, 1500);
    cr_expect_eq(shadow_of(r).v.waiting, 0, "%u", (unsigned)shadow_of(r).v.waiting);
    mr_free(r);
}

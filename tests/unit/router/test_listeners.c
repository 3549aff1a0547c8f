/* test_listeners.c: whose ticket is looked at when, and what of a look is told. */
#include "router/flow/listeners.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/net/ev.h"
#include "common/wire/replica_bytes.h"
#include "router/flow/routes.h"
#include "router/replica/replicas.h"

#define NODE 1
#define NAME 11
#define T0   1000000

static struct listeners all;
static struct routes *map;
static struct replicas known;
static struct stream *st;
static struct listen_ticket one[200];

static void begin(void)
{
    static struct map_node node = { NODE, "a", "10.0.0.1:7200" };
    static struct map_seg seg = { NAME, NODE, SEG_OPEN, 0 };
    static struct map_lane lane = { .name = "default", .n_segs = 1, .segs = &seg };
    static struct map_queue q = { .id = 7, .name = "login", .n_lanes = 1, .lanes = &lane };
    static struct msg_map m = { .epoch = 5, .version = 1, .next_seg = 100, .n_nodes = 1,
                                .nodes = &node, .n_queues = 1, .queues = &q };

    map = routes_new();
    cr_assert_eq(routes_apply(map, &m), 0);
    replicas_init(&known, 250, REPLICA_KEEP_MS, 7);
    st = replicas_stream(&known, NODE);
    stream_up(st, T0);
    listeners_init(&all);
}

static void end(void)
{
    struct listen_ticket *x;

    while ((x = listeners_first(&all)) != NULL)
        listeners_remove(&all, x);
    listeners_fini(&all);
    replicas_fini(&known);
    routes_free(map);
}

TestSuite(listeners, .init = begin, .fini = end);

/* The name's numbers below `head` are over, and `dead`, too, if it is one. */
static bool push(uint32_t end_no, uint32_t head, uint32_t dead)
{
    static uint8_t lines[16], gone[16];
    static msec_t stamp = 5000;
    uint32_t next = 0, from = head;
    bool first = stream_name(st, NAME) == NULL;
    struct replica_row row = { .name = NAME, .host = NAME, .queue = 7, .end = end_no,
                               .flags = first ? REPLICA_NEW : 0, .head = head,
                               .told_max_ms = 60000, .lines = lines, .dead = gone };
    struct msg_replica m = { .stamp_ms = ++stamp, .n = 1, .v = &row,
                             .flags = first ? REPLICA_WHOLE | REPLICA_END : 0 };

    if (first)
        row.n_lines = (uint32_t)(lines_put(lines, &next, 0, 1, 0) - lines);
    if (dead != 0)
        row.n_dead = (uint32_t)(dead_put(gone, &from, dead) - gone);
    cr_assert_eq(stream_apply(st, &m, T0), 0);
    return listeners_pushed(&all, map, &known);
}

static struct flow waits(uint64_t position, uint32_t poll_ms)
{
    return (struct flow) { .todo = FLOW_DONE, .position = position, .poll_after_ms = poll_ms };
}

static bool heard(struct listen_ticket *x, uint64_t position, msec_t now)
{
    struct flow f = waits(position, 1000);

    return listeners_heard(&all, x, &f, 0, true, now);
}

/* It listens, and was told its place. */
static struct listen_ticket *add(uint32_t number, msec_t now)
{
    struct token t = { .seg = NAME, .number = number };

    cr_assert(listeners_add(&all, &one[number], &t, now));
    cr_assert(heard(&one[number], 100, now), "the first is told");
    return &one[number];
}

static struct listen_ticket *due(msec_t now, enum listen_todo want)
{
    enum listen_todo todo;
    struct listen_ticket *x = listeners_due(&all, now, &todo);

    cr_expect(x == NULL || todo == want);
    return x;
}

Test(listeners, a_ticket_is_looked_at_as_told)
{
    struct listen_ticket *x = add(3, T0);

    x->near = false; /* as if the pace had been slow from the first */
    cr_expect_null(due(T0, LISTEN_LOOK));
    cr_expect_null(due(T0 + 999, LISTEN_LOOK), "never early");
    cr_expect_eq(due(T0 + 1000, LISTEN_LOOK), x);
    cr_expect_null(due(T0 + 9000, LISTEN_LOOK), "a look is under way");
    listeners_put_off(&all, x, T0 + 9000);
    cr_expect_null(due(T0 + 9999, LISTEN_LOOK));
    cr_expect_eq(due(T0 + 11100, LISTEN_LOOK), x);
}

/* A look a second later. */
static bool looked(uint64_t position, uint32_t words)
{
    static msec_t now = T0;
    struct flow f = waits(position, 1000);

    now += 1000;
    cr_assert_eq(due(now, LISTEN_LOOK), &one[3]);
    return listeners_heard(&all, &one[3], &f, words, true, now);
}

Test(listeners, only_news_are_told)
{
    add(3, T0);
    cr_expect_not(looked(100, 0));
    cr_expect(looked(99, 0), "a 64th");
    cr_expect_not(looked(99, 0));
    cr_expect(looked(99, 1), "words");
    cr_expect(looked(0, 1), "it has no place now");
    cr_expect_not(looked(0, 1));
    cr_expect(looked(6400, 1));
    cr_expect_not(looked(6301, 1));
    cr_expect(looked(6300, 1));
    for (msec_t ms = 1000; ms < LISTEN_QUIET_MS; ms += 1000)
        cr_expect_not(looked(6300, 1));
    cr_expect(looked(6300, 1), "once in a while");
}

Test(listeners, who_is_slow_is_told_the_newest_later)
{
    struct listen_ticket *x = add(3, T0);
    struct flow f = waits(50, 1000);

    cr_expect_eq(due(T0 + 1000, LISTEN_LOOK), x);
    cr_expect_not(listeners_heard(&all, x, &f, 0, false, T0 + 1000));
    cr_expect_eq(due(T0 + 2000, LISTEN_LOOK), x);
    cr_expect(heard(x, 50, T0 + 2000));
}

Test(listeners, silence_is_broken)
{
    struct listen_ticket *x = add(3, T0);
    struct flow f = waits(100, 60000);

    x->near = false; /* as if the pace had been slow from the first */
    due(T0 + 1000, LISTEN_LOOK);
    cr_expect_not(listeners_heard(&all, x, &f, 0, true, T0 + 1000));
    cr_expect_null(due(T0 + LISTEN_BEAT_MS - 100, LISTEN_BEAT));
    cr_expect_eq(due(T0 + LISTEN_BEAT_MS, LISTEN_BEAT), x);
    cr_expect_null(due(T0 + LISTEN_BEAT_MS, LISTEN_BEAT));
    cr_expect_eq(due(T0 + 2 * LISTEN_BEAT_MS, LISTEN_BEAT), x);
}

/* Near the turn, where polls are as often, silence is short; and it does not become longer again. */
Test(listeners, near_the_turn_silence_is_broken_sooner)
{
    struct listen_ticket *x = add(3, T0);
    struct flow f = waits(100, 5000);

    due(T0 + 1000, LISTEN_LOOK);
    cr_expect_not(listeners_heard(&all, x, &f, 0, true, T0 + 1000));
    cr_expect_eq(listen_beat_ms(x), LISTEN_NEAR_MS);
    cr_expect_null(due(T0 + LISTEN_NEAR_MS - 100, LISTEN_BEAT));
    cr_expect_eq(due(T0 + LISTEN_NEAR_MS, LISTEN_BEAT), x);
    f = waits(100, 60000);
    cr_expect_eq(due(T0 + 6000, LISTEN_LOOK), x);
    cr_expect_not(listeners_heard(&all, x, &f, 0, true, T0 + 6000));
    cr_expect_eq(listen_beat_ms(x), LISTEN_NEAR_MS);
}

Test(listeners, a_process_that_was_stopped_goes_on)
{
    struct listen_ticket *x = add(3, T0), *y;

    y = add(4, T0 + 3600000);
    cr_expect_eq(due(T0 + 3600000, LISTEN_LOOK), x);
    cr_assert(x->looking);
    cr_expect_null(due(T0 + 3600000, LISTEN_LOOK));
    cr_expect_null(due(T0 + 3600999, LISTEN_LOOK), "waits again until it is time");
    cr_expect_eq(due(T0 + 3601000, LISTEN_LOOK), y);
}

Test(listeners, a_bit_that_goes_out_is_looked_at_at_once)
{
    struct listen_ticket *x, *y;

    cr_expect_not(push(100, 0, 0), "nobody listens");
    x = add(3, T0);
    y = add(50, T0);
    cr_expect_not(push(100, 0, 0));
    cr_expect_not(push(100, 3, 0));
    cr_expect_null(due(T0, LISTEN_LOOK));
    cr_expect(push(100, 4, 0), "all before 4 were released");
    cr_expect_eq(due(T0, LISTEN_LOOK), x);
    cr_expect_null(due(T0, LISTEN_LOOK));
    cr_expect_not(heard(x, 100, T0));
    cr_expect_not(push(100, 5, 0), "once");
    cr_expect(push(100, 5, 50), "it left");
    cr_expect_eq(due(T0, LISTEN_LOOK), y);
    cr_expect_not(heard(y, 100, T0));
}

Test(listeners, a_look_from_before_is_followed_by_another)
{
    struct listen_ticket *x;

    push(100, 0, 0);
    x = add(3, T0);
    cr_expect_eq(due(T0 + 1000, LISTEN_LOOK), x);
    push(100, 4, 0);
    cr_expect_not(heard(x, 100, T0 + 1000), "the node said so before");
    cr_expect_eq(due(T0 + 1000, LISTEN_LOOK), x);
}

/* Its bit went out between its first look and the next push. */
Test(listeners, who_comes_late_is_compared_at_once)
{
    struct listen_ticket *x;

    push(100, 4, 0);
    x = add(3, T0);
    cr_expect(listeners_pushed(&all, map, &known));
    cr_expect_eq(due(T0, LISTEN_LOOK), x);
    cr_expect_not(heard(x, 100, T0));
}

Test(listeners, who_joined_a_moment_ago_is_not_over)
{
    push(100, 0, 0);
    add(150, T0);
    cr_expect_not(push(120, 0, 0));
    cr_expect_not(push(151, 0, 0));
    cr_expect(push(160, 151, 0));
}

Test(listeners, nothing_is_left_of_those_who_go)
{
    for (uint32_t i = 0; i < 100; i++)
        add(i, T0);
    for (uint32_t i = 0; i < 100; i += 3)
        listeners_remove(&all, &one[i]);
    for (uint32_t i = 1; i < 100; i += 3) {
        push(100, 0, 0);
        listeners_remove(&all, &one[i]);
    }
    cr_expect(push(100, 100, 0));
    for (uint32_t i = 2; i < 100; i += 3)
        cr_expect_not_null(due(T0, LISTEN_LOOK));
    cr_expect_null(due(T0, LISTEN_LOOK));
}

Test(listeners, those_sent_away_come_back_one_after_the_other)
{
    unsigned in_s[30] = { 0 };

    for (uint32_t i = 0; i < 100000; i++) {
        struct listen_ticket x = { .token = { .seg = NAME, .number = i } };
        uint32_t ms = listen_return_ms(&x, 100000);

        cr_assert(ms >= 500 && ms < 21000);
        in_s[ms / 1000]++;
    }
    for (unsigned s = 0; s < 30; s++)
        cr_expect_leq(in_s[s], 6000, "%u in second %u", in_s[s], s);
}

/* ---- nodes that are far say a release unasked ------------------------------------------------ */

/* The node is so far away, there and back. */
static void far_away(msec_t ms, msec_t at)
{
    struct msg_seen seen;
    struct msg_replica m = { .stamp_ms = 4000 };

    cr_assert(stream_seen(st, at, &seen));
    m.echo_ms = seen.clock_ms;
    cr_assert_eq(stream_apply(st, &m, at + ms), 0);
}

static void wanted(struct listen_ticket *x, uint32_t poll_ms)
{
    x->near |= poll_ms <= LISTEN_NEAR_MS;
    listeners_want(x, &known, NODE);
}

static uint32_t said(struct want_row *row)
{
    struct msg_seen m;

    if (!stream_seen(st, T0 + 200, &m))
        return 0;
    if (m.n_want > 0)
        *row = m.want[0];
    return m.n_want;
}

Test(listeners, a_far_node_is_told_once_of_who_is_near_the_turn)
{
    struct listen_ticket *x = add(3, T0);
    struct want_row row;

    far_away(160, T0);
    x->near = false;
    wanted(x, 60000);
    cr_expect_eq(said(&row), 0, "not near");
    wanted(x, 2000);
    cr_expect(said(&row) == 1 && row.seg == NAME && row.number == 3 && row.client == x->token.client);
    wanted(x, 2000);
    cr_expect_eq(said(&row), 0, "once");
    stream_down(st);
    stream_up(st, T0 + 300);
    far_away(160, T0 + 300);
    wanted(x, 2000);
    cr_expect_eq(said(&row), 1, "and once more, by a new link");
    listeners_want_no_more(x, &known);
    cr_expect(said(&row) == 1 && row.number == 3 && row.client == WANT_NO_MORE);
    listeners_want_no_more(x, &known);
    cr_expect_eq(said(&row), 0);
}

Test(listeners, a_near_node_is_asked)
{
    struct listen_ticket *x = add(3, T0);
    struct want_row row;

    far_away(2, T0);
    wanted(x, 1000);
    cr_expect_eq(said(&row), 0);
}

Test(listeners, all_who_listen_to_a_ticket_are_found)
{
    struct token t = { .seg = NAME, .number = 3 };
    struct listen_ticket again, *x = add(3, T0), *y = add(4, T0);
    uint32_t below = UINT32_MAX, n = 0;

    cr_assert(listeners_add(&all, &again, &t, T0));
    for (struct listen_ticket *v; (v = listeners_of(&all, NAME, 3, &below)) != NULL; n++) {
        cr_expect(v == x || v == &again);
        listeners_look(&all, v);
        listeners_remove(&all, v);
    }
    cr_expect_eq(n, 2);
    below = UINT32_MAX;
    cr_expect_eq(listeners_of(&all, NAME, 4, &below), y);
    below = UINT32_MAX;
    cr_expect_null(listeners_of(&all, NAME + 1, 3, &below));
}

#define CROWD 40000

static struct listen_ticket crowd[CROWD];

static void add_as(struct listen_ticket *x, uint32_t number)
{
    struct token t = { .seg = NAME, .number = number };

    cr_assert(listeners_add(&all, x, &t, T0));
    listeners_look(&all, x);
}

/* Those who listen to this number, by the crowd's own list. */
static void finds_all(uint32_t number, const bool *is_in, uint32_t n)
{
    uint32_t below = UINT32_MAX, found = 0, there = 0;

    for (struct listen_ticket *x; (x = listeners_of(&all, NAME, number, &below)) != NULL; found++)
        cr_assert(x->token.number == number && is_in[x - crowd]);
    for (uint32_t i = 0; i < n; i++)
        there += is_in[i] && crowd[i].token.number == number;
    cr_assert_eq(found, there, "%u: %u of %u", number, found, there);
}

/* Numbers of one router of two, several tabs of some, in any order. */
Test(listeners, who_comes_and_goes_is_found_as_often_as_it_listens)
{
    static bool is_in[300];
    uint32_t dice = 7;

    for (int step = 0; step < 20000; step++) {
        uint32_t i = (dice = dice * 1664525 + 1013904223) >> 8, who = i % 300;

        if (is_in[who])
            listeners_remove(&all, &crowd[who]);
        else
            add_as(&crowd[who], 2 * (i % 67));
        is_in[who] = !is_in[who];
        if (step % 50 == 0)
            finds_all(2 * (i / 300 % 67), is_in, 300);
    }
}

/* Looking through all of them takes some seconds for as many. */
Test(listeners, a_crowd_does_not_slow_down_who_is_let_in)
{
    int64_t since_us;

    for (uint32_t i = 0; i < CROWD; i++)
        add_as(&crowd[i], 3 * i);
    since_us = ev_read_mono_us();
    for (uint32_t i = 0; i < CROWD; i++) {
        uint32_t below = UINT32_MAX;

        cr_assert_eq(listeners_of(&all, NAME, 3 * i, &below), &crowd[i]);
        cr_assert_null(listeners_of(&all, NAME, 3 * i, &below));
    }
    cr_expect_lt(ev_read_mono_us() - since_us, 1000000);
    for (uint32_t i = 0; i < CROWD; i++)
        listeners_remove(&all, &crowd[i]);
    cr_expect_leq(ev_read_mono_us() - since_us, 2000000);
}

/* A token that is handed around: each who leaves would look through all others. */
Test(listeners, so_many_listen_to_one_ticket_and_no_more)
{
    static struct listen_ticket many[1024], more;
    struct token t = { .seg = NAME, .number = 5 }, other = { .seg = NAME, .number = 6 };

    for (uint32_t i = 0; i < ARRAY_LEN(many); i++)
        cr_assert(listeners_add(&all, &many[i], &t, T0));
    cr_expect_not(listeners_add(&all, &more, &t, T0));
    cr_expect(listeners_add(&all, &more, &other, T0));
    listeners_remove(&all, &more);
    listeners_remove(&all, &many[7]);
    cr_expect(listeners_add(&all, &more, &t, T0));
}

/* All of them are told by one word, and leave, or stay. */
Test(listeners, a_crowd_of_one_ticket_is_told_one_by_one)
{
    uint32_t below = UINT32_MAX, n = 0;

    for (uint32_t i = 0; i < 1000; i++)
        add_as(&crowd[i], i % 4 == 0 ? 5 : 6);
    for (struct listen_ticket *x; (x = listeners_of(&all, NAME, 6, &below)) != NULL; n++)
        if (x->token.number == 6 && n % 3 != 0)
            listeners_remove(&all, x);
    cr_expect_eq(n, 750);
}

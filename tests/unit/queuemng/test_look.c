/* test_look.c: what the dashboard is fed from: the ring of events, the history of figures, also by point. */
#include "tests/lib/criterion.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "queuemng/logbook/history.h"
#include "queuemng/logbook/op_log.h"

#define ALL (2 * EVENTS_KEPT)

/* ---- events ---- */

static struct events ev;
static const struct event *got[ALL];

Test(look, events_in_their_order)
{
    memset(&ev, 0, sizeof(ev));
    events_add(&ev, 1, LOG_INFO, "info rpc event=link_down peer=x");
    events_add(&ev, 1, LOG_INFO, "info rpc preevent=x");
    events_add(&ev, 1, LOG_INFO, "info manager event=peer_up peer=1");
    cr_expect_eq(events_since(&ev, 0, got, ALL), 0, "these are no events");
    events_add(&ev, 10, LOG_WARN, "warn mng event=node_down node=a");
    events_add(&ev, 20, LOG_INFO, "info move event=move_state move=1");
    events_add(&ev, 30, LOG_INFO, "info mng event=router_up router=r");
    cr_assert_eq(events_since(&ev, 0, got, ALL), 3);
    cr_expect_str_eq(got[0]->text, "event=node_down node=a");
    cr_expect_eq(got[0]->level, LOG_WARN);
    cr_expect_eq(got[0]->wall_ms, 10);
    cr_expect_str_eq(got[1]->text, "event=move_state move=1");
    cr_expect_str_eq(got[2]->text, "event=router_up router=r");
    cr_expect_eq(events_since(&ev, got[1]->seq, got, ALL), 1);
    cr_expect_str_eq(got[0]->text, "event=router_up router=r");
    cr_expect_eq(events_since(&ev, 0, got, 2), 2, "the youngest two");
    cr_expect_str_eq(got[0]->text, "event=move_state move=1");
    cr_expect_eq(events_since(&ev, 3, got, ALL), 0);
}

/* A night of merges does not crowd out the node that died at its beginning. */
Test(look, routine_crowds_out_nothing)
{
    char line[400];
    size_t n;

    memset(&ev, 0, sizeof(ev));
    events_add(&ev, 1, LOG_WARN, "warn mng event=node_down node=a");
    for (int i = 0; i < 3 * EVENTS_KEPT; i++) {
        snprintf(line, sizeof(line), "info move event=move_state move=%d", i);
        events_add(&ev, 2, LOG_INFO, line);
    }
    n = events_since(&ev, 0, got, ALL);
    cr_assert_eq(n, EVENTS_KEPT + 1);
    cr_expect_str_eq(got[0]->text, "event=node_down node=a");
    snprintf(line, sizeof(line), "event=move_state move=%d", 3 * EVENTS_KEPT - 1);
    cr_expect_str_eq(got[n - 1]->text, line);
    for (size_t i = 1; i < n; i++)
        cr_expect_lt(got[i - 1]->seq, got[i]->seq);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    memcpy(line, "event=", 6);
    events_add(&ev, 3, LOG_INFO, line);
    n = events_since(&ev, 0, got, ALL);
    cr_expect_eq(strlen(got[n - 1]->text), EVENT_TEXT_BYTES - 1, "a long one is cut");
}

/* Nor do tiers that change every few seconds; that another metric limits now is news. */
Test(look, tiers_crowd_out_nothing)
{
    memset(&ev, 0, sizeof(ev));
    events_add(&ev, 1, LOG_WARN, "warn mng event=node_down node=a");
    events_add(&ev, 1, LOG_INFO, "info pop event=rate_limit_changed queue=q by=cpu2 allowed_per_s=9 was_by=cpu was_per_s=3");
    for (int i = 0; i < 2 * EVENTS_KEPT; i++)
        events_add(&ev, 2, LOG_INFO,
                   "info pop event=rate_limit_changed queue=q by=cpu allowed_per_s=9 was_by=cpu was_per_s=3");
    cr_assert_eq(events_since(&ev, 0, got, ALL), EVENTS_KEPT + 2);
    cr_expect_str_eq(got[0]->text, "event=node_down node=a");
    cr_expect(strstr(got[1]->text, "by=cpu2 ") != NULL);
}

/* The log gives them, whatever it is told to write itself. */
static void on_line(void *ctx, enum log_level level, const char *line)
{
    events_add(ctx, 7, (int)level, line);
}

static void on_written(void *ctx, enum log_level level, const char *line)
{
    (void)level;
    (void)line;
    ++*(int *)ctx;
}

Test(look, the_log_is_tapped)
{
    int written = 0;

    memset(&ev, 0, sizeof(ev));
    log_set_sink(on_written, &written);
    log_set_level(LOG_ERROR);
    log_line(LOG_INFO, "m", "event=before");
    log_set_tap(on_line, &ev);
    log_line(LOG_INFO, "m", "event=one n=%d", 1);
    log_line(LOG_DEBUG, "m", "event=debugging");
    log_line(LOG_ERROR, "m", "event=two");
    log_set_tap(NULL, NULL);
    log_line(LOG_INFO, "m", "event=after");
    log_set_sink(NULL, NULL);
    cr_assert_eq(events_since(&ev, 0, got, ALL), 2);
    cr_expect_str_eq(got[0]->text, "event=one n=1");
    cr_expect_str_eq(got[1]->text, "event=two");
    cr_expect_eq(written, 1);
}

/* ---- figures ---- */

#define WALL 1700000000000

static void look_at(struct history *h, msec_t now, int64_t wall, uint32_t id, double waiting,
                    uint64_t joined)
{
    struct history_sums s = { { waiting, 0, 5 }, { joined }, { { 0 } } };

    history_begin(h, now, wall);
    if (id != 0)
        history_add(h, id, &s);
    history_end(h);
}

static void one_round(struct history *h, msec_t now, uint32_t id, double waiting, uint64_t joined)
{
    look_at(h, now, WALL + now, id, waiting, joined);
}

static size_t n_of(const struct history *h, uint32_t id, enum history_range r)
{
    const struct history_queue *q = history_of(h, id);

    return q != NULL ? history_n(h, q, r) : 0;
}

/* back: 0 = the last one */
static const struct history_point *point(const struct history *h, uint32_t id,
                                         enum history_range r, size_t back)
{
    return history_at(h, history_of(h, id), r, n_of(h, id, r) - 1 - back);
}

#define JOINED(p) ((p)->mean[HISTORY_LEVELS])

Test(look, ten_minutes_of_figures)
{
    struct history h;

    history_init(&h);
    one_round(&h, 2000, 7, 0, 0);
    cr_expect_null(history_of(&h, 7), "nothing happens: nothing is kept");
    one_round(&h, 4000, 7, 10, 10);
    cr_assert_eq(n_of(&h, 7, HISTORY_10M), 1);
    cr_expect(isnan(JOINED(point(&h, 7, HISTORY_10M, 0))), "what was before is no rush");
    one_round(&h, 6000, 7, 35, 35);
    cr_expect_float_eq(JOINED(point(&h, 7, HISTORY_10M, 0)), 12.5, 1e-6);
    cr_expect_float_eq(point(&h, 7, HISTORY_10M, 0)->mean[0], 35, 1e-6);
    cr_expect_float_eq(point(&h, 7, HISTORY_10M, 0)->mean[2], 5, 1e-6);
    one_round(&h, 8000, 7, 35, 3);
    cr_expect(isnan(JOINED(point(&h, 7, HISTORY_10M, 0))), "a new manager counts from 0");
    for (int i = 0; i < HISTORY_POINTS_10M; i++)
        one_round(&h, 10000 + i * 2000, 7, i, 3);
    cr_assert_eq(n_of(&h, 7, HISTORY_10M), HISTORY_POINTS_10M);
    for (size_t i = 0; i < HISTORY_POINTS_10M; i++)
        cr_expect_float_eq(history_at(&h, history_of(&h, 7), HISTORY_10M, i)->mean[0], i, 1e-6);
    one_round(&h, 900000, 0, 0, 0);
    cr_expect_null(history_of(&h, 7), "it is not there any more");
    history_fini(&h);
}

Test(look, rounds_that_are_late_leave_no_gap)
{
    struct history h;

    history_init(&h);
    for (int i = 0; i < HISTORY_POINTS_10M; i++)
        one_round(&h, 5090 + i * 2000 + (i * 37 - 90) % 100, 7, 1, 1);
    cr_assert_eq(n_of(&h, 7, HISTORY_10M), HISTORY_POINTS_10M);
    for (size_t back = 0; back < HISTORY_POINTS_10M; back++)
        cr_expect_not_null(point(&h, 7, HISTORY_10M, back), "%zu points back", back);
    history_fini(&h);
}

/* 0 .. 149 wait, five looks in a point; 2 a second join, in one look 50. */
Test(look, longer_ranges_have_mean_least_and_most)
{
    const struct history_point *p;
    uint64_t joined = 1;
    struct history h;

    history_init(&h);
    for (int i = 0; i < 150; i++)
        one_round(&h, 1 + i * 2000, 7, i + 1, joined += i == 102 ? 100 : 4);
    cr_assert_eq(n_of(&h, 7, HISTORY_1H), 30);
    p = history_at(&h, history_of(&h, 7), HISTORY_1H, 20); /* looks 100 .. 104 */
    cr_expect_eq(p->n, 5);
    cr_expect_float_eq(p->mean[0], 103, 1e-3);
    cr_expect_float_eq(p->least, 101, 1e-6);
    cr_expect_float_eq(p->most, 105, 1e-6);
    cr_expect_float_eq(JOINED(p), (4 * 2 + 50) / 5.0, 1e-4);
    cr_expect_float_eq(p->top[0], 50, 1e-6);
    p = history_at(&h, history_of(&h, 7), HISTORY_1H, 0);
    cr_expect_eq(p->n_rates, 4, "the first look knows no rate");
    cr_expect_float_eq(JOINED(p), 2, 1e-4);
    cr_assert_eq(n_of(&h, 7, HISTORY_24H), 1);
    p = point(&h, 7, HISTORY_24H, 0);
    cr_expect_eq(p->n, 150);
    cr_expect_float_eq(p->least, 1, 1e-6);
    cr_expect_float_eq(p->most, 150, 1e-6);
    cr_expect_float_eq(p->mean[0], 75.5, 1e-2);
    history_fini(&h);
}

/* Another manager led for a minute: no point says what was then, and none is 0. */
Test(look, what_nobody_saw_is_a_gap)
{
    struct history h;

    history_init(&h);
    one_round(&h, 2000, 7, 10, 10);
    one_round(&h, 4000, 7, 10, 20);
    one_round(&h, 64000, 7, 30, 5020);
    cr_assert_eq(n_of(&h, 7, HISTORY_10M), 32);
    for (size_t back = 1; back < 30; back++)
        cr_expect_null(point(&h, 7, HISTORY_10M, back), "%zu points back", back);
    cr_expect_not_null(point(&h, 7, HISTORY_10M, 30));
    cr_expect(isnan(JOINED(point(&h, 7, HISTORY_10M, 0))), "they did not all come just now");
    one_round(&h, 66000, 7, 30, 5040);
    cr_expect_float_eq(JOINED(point(&h, 7, HISTORY_10M, 0)), 10, 1e-6);
    one_round(&h, 66000 + 700000, 7, 30, 5040);
    cr_assert_eq(n_of(&h, 7, HISTORY_10M), HISTORY_POINTS_10M);
    for (size_t back = 1; back < HISTORY_POINTS_10M; back++)
        cr_expect_null(point(&h, 7, HISTORY_10M, back), "it is of the round before: %zu", back);
    history_fini(&h);
}

Test(look, a_clock_that_steps_is_a_gap_or_nothing)
{
    struct history h;

    history_init(&h);
    look_at(&h, 2000, WALL, 7, 1, 1);
    look_at(&h, 4000, WALL + 2000, 7, 1, 1);
    look_at(&h, 6000, WALL + 104000, 7, 1, 1); /* asleep for 100 s, or set forward */
    cr_assert_eq(n_of(&h, 7, HISTORY_10M), 53);
    cr_expect_null(point(&h, 7, HISTORY_10M, 1));
    cr_expect_not_null(point(&h, 7, HISTORY_10M, 51));
    look_at(&h, 8000, WALL - 3600000, 7, 1, 1); /* set back: as if it had not been */
    cr_expect_eq(n_of(&h, 7, HISTORY_10M), 54);
    cr_expect_not_null(point(&h, 7, HISTORY_10M, 1));
    look_at(&h, 10000, WALL + 400ll * 86400000, 7, 1, 1);
    cr_expect_eq(n_of(&h, 7, HISTORY_24H), HISTORY_POINTS_24H);
    cr_expect_null(point(&h, 7, HISTORY_24H, 1));
    history_fini(&h);
}

Test(look, all_queues_together)
{
    struct history_sums a = { .level = { 10, 1, 5 }, .count = { 100, 20 } }, b = { .level = { 3, 0, 5 }, .count = { 7, 7 } };
    struct history h;

    history_init(&h);
    for (int i = 1; i <= 4; i++) {
        history_begin(&h, i * 2000, WALL + i * 2000);
        a.count[0] += 10;
        history_add(&h, 1, &a);
        if (i != 2)
            history_add(&h, 2, &b);
        history_end(&h);
        if (i != 4)
            cr_expect(isnan(JOINED(point(&h, 0, HISTORY_10M, 0))), "a queue came, or went");
    }
    cr_expect_float_eq(point(&h, 0, HISTORY_10M, 0)->mean[0], 13, 1e-6);
    cr_expect_float_eq(point(&h, 0, HISTORY_10M, 2)->mean[0], 10, 1e-6);
    cr_expect_float_eq(JOINED(point(&h, 0, HISTORY_10M, 0)), 5, 1e-6);
    history_fini(&h);
}

/* More queues than there is room for: quiet ones go, busy ones never. */
Test(look, the_busy_ones_are_kept)
{
    struct history_sums busy = { .level = { 1 } }, quiet = { 0 }, once = { .count = { 9, 9 } };
    struct history h;

    history_init(&h);
    history_begin(&h, 2000, 2000);
    for (uint32_t id = 1; id <= HISTORY_QUEUES + 10; id++)
        history_add(&h, id, &busy);
    history_end(&h);
    cr_expect_eq(h.queue.n, HISTORY_QUEUES);
    cr_expect_null(history_of(&h, HISTORY_QUEUES + 1));
    for (int i = 2; i < 6; i++) {
        history_begin(&h, i * 2000, i * 2000);
        for (uint32_t id = 1; id <= HISTORY_QUEUES; id++)
            history_add(&h, id, id <= 2 ? &quiet : &busy);
        history_add(&h, 999, &once);
        if (i == 5)
            history_add(&h, 1000, &busy);
        history_end(&h);
        cr_expect_null(history_of(&h, 999), "it was busy once: it takes nobody's room");
    }
    cr_expect_not_null(history_of(&h, 1000));
    cr_expect_eq(h.queue.n, HISTORY_QUEUES);
    cr_expect(history_of(&h, 1) == NULL || history_of(&h, 2) == NULL);
    cr_expect_not_null(history_of(&h, 3));
    history_fini(&h);
}

static int64_t still(struct history *h, msec_t now, double waiting, uint64_t started)
{
    struct history_sums s = { .level = { waiting }, .count = { 500, started } };

    history_begin(h, now, WALL + now);
    history_add(h, 7, &s);
    history_end(h);
    return history_still_ms(h, history_of(h, 7));
}

Test(look, for_how_long_nothing_begins_while_some_wait)
{
    struct history h;

    history_init(&h);
    cr_expect_eq(still(&h, 2000, 0, 9), 0);
    cr_expect_eq(still(&h, 4000, 5, 9), 0, "from now on");
    cr_expect_eq(still(&h, 6000, 501, 9), 2000);
    cr_expect_eq(still(&h, 184000, 501, 9), 180000);
    cr_expect_eq(still(&h, 186000, 501, 2), 182000, "a node that begins anew counts anew, and started none");
    cr_expect_eq(still(&h, 188000, 500, 3), 0, "one began");
    cr_expect_eq(still(&h, 190000, 500, 3), 0, "and from the look after it on it counts");
    cr_expect_eq(still(&h, 192000, 500, 3), 2000);
    cr_expect_eq(still(&h, 194000, 0, 3), 0, "nothing waits");
    history_fini(&h);
}

Test(look, a_queue_costs_less_than_sixty_kilobytes)
{
    cr_expect_leq(HISTORY_BYTES, 58 * 1024);
}

/* ---- waits ---- */

static void wait_round(struct history *h, msec_t now, const struct waits *w)
{
    struct history_sums s = { { 1, 0, 0 }, { 0 }, *w };

    history_begin(h, now, 1000000 + now);
    history_add(h, 7, &s);
    history_end(h);
}

static const struct history_point *last_of(const struct history *h, enum history_range r)
{
    const struct history_queue *q = history_of(h, 7);

    return history_at(h, q, r, history_n(h, q, r) - 1);
}

/* Of the waits that ended in a point: not of those before, and of a long point all of them. */
Test(history, waits_are_told_by_point)
{
    struct waits w = { { 0 } };
    struct history h;

    history_init(&h);
    wait_round(&h, 2000, &w);
    cr_expect(isnan(last_of(&h, HISTORY_10M)->wait[0]), "nothing has begun");
    for (int i = 0; i < 98; i++)
        waits_add(&w, 10);
    for (int i = 0; i < 2; i++)
        waits_add(&w, 60000);
    wait_round(&h, 4000, &w);
    cr_expect(last_of(&h, HISTORY_10M)->wait[0] > 8 && last_of(&h, HISTORY_10M)->wait[0] <= 16);
    cr_expect(last_of(&h, HISTORY_10M)->wait[1] > 32768 && last_of(&h, HISTORY_10M)->wait[1] <= 65536);
    for (int i = 0; i < 900; i++)
        waits_add(&w, 3);
    wait_round(&h, 6000, &w);
    cr_expect(last_of(&h, HISTORY_10M)->wait[1] <= 4, "the long ones were before");
    cr_expect(last_of(&h, HISTORY_24H)->wait[1] > 8 && last_of(&h, HISTORY_24H)->wait[1] <= 16, "2 of 1000 are no hundredth");
    w = (struct waits){ { 0 } };
    waits_add(&w, 5);
    wait_round(&h, 8000, &w);
    cr_expect(isnan(last_of(&h, HISTORY_10M)->wait[0]) || last_of(&h, HISTORY_10M)->wait[0] <= 8);
    history_fini(&h);
}

Test(history, packed_waits_are_the_same_and_others_are_none)
{
    struct waits w = { { 0 } }, back, sum = { { 0 } };
    uint8_t bytes[WAITS_BYTES];
    size_t n;

    cr_expect_eq(waits_pack(&w, bytes), 0);
    w.n[0] = 127;
    w.n[3] = 128;
    w.n[WAITS_BUCKETS - 1] = UINT64_MAX;
    n = waits_pack(&w, bytes);
    cr_assert(waits_unpack(&back, bytes, n));
    cr_expect_eq(memcmp(&back, &w, sizeof(w)), 0);
    cr_expect_not(waits_unpack(&back, bytes, n - 1), "cut");
    cr_expect_eq(back.n[0], 0);
    memset(bytes, 1, sizeof(bytes));
    cr_expect_not(waits_unpack(&back, bytes, WAITS_BUCKETS + 1));
    waits_add(&sum, 1 << 30);
    cr_expect_eq(waits_quantile(&sum, 0.5), 1 << 26, "at least");
}

/* test_swarm_check.c: the simulator's judgement, against plainer definitions, and its
 * latency correction. A checker that cannot fail proves nothing: wrong runs are made. */
#include "tests/bench/swarm/check.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "tests/bench/swarm/answer.h"
#include "tests/bench/swarm/lat.h"
#include "tests/bench/swarm/wheel.h"

#define PEOPLE 300

static uint64_t order_by_hand(const struct check_rec *v, size_t n)
{
    uint64_t bad = 0;

    for (size_t b = 0; b < n; b++) {
        bool early = false;

        for (size_t a = 0; a < n; a++)
            early = early || (!v[a].exempt && v[a].done_us < v[b].sent_us &&
                              v[a].released_ms > v[b].released_ms);
        bad += early;
    }
    return bad;
}

Test(swarm_check, order_agrees_with_its_definition)
{
    struct check_rec v[PEOPLE], copy[PEOPLE];
    unsigned with = 0, without = 0;
    struct rng r;

    rng_seed(&r, 3);
    for (unsigned round = 0; round < 300; round++) {
        int64_t noise = round % 3 == 0 ? 1 : 40 * (int64_t)(round % 3) * 1000;
        struct check_order o;

        for (unsigned i = 0; i < PEOPLE; i++) {
            int64_t sent = i * 1000 + (int64_t)rng_below(&r, 3000);

            v[i] = (struct check_rec){ .sent_us = sent,
                                       .done_us = sent + (int64_t)rng_below(&r, 5000),
                                       .released_ms = (int64_t)rng_below(&r, (uint64_t)noise),
                                       .exempt = rng_chance(&r, 0.05),
                                       .who = i };
            v[i].released_ms = (v[i].sent_us + v[i].released_ms) / 1000 / 7;
        }
        memcpy(copy, v, sizeof(v));
        o = check_order(v, PEOPLE);
        cr_assert_eq(o.violations, order_by_hand(copy, PEOPLE));
        if (o.violations != 0)
            cr_assert(copy[o.late].done_us < copy[o.early].sent_us &&
                      copy[o.late].released_ms > copy[o.early].released_ms);
        with += o.violations != 0;
        without += o.violations == 0;
    }
    cr_expect_gt(with, 10);
    cr_expect_gt(without, 10);
}

Test(swarm_check, one_overtaking_is_seen)
{
    struct check_rec v[] = {
        { .released_ms = 1, .sent_us = 0, .done_us = 10, .who = 0 },
        { .released_ms = 3, .sent_us = 20, .done_us = 30, .who = 1 },
        { .released_ms = 2, .sent_us = 31, .done_us = 40, .who = 2 },
    };
    struct check_order o = check_order(v, 3);

    cr_expect_eq(o.violations, 1);
    cr_expect_eq(o.early, 2);
    cr_expect_eq(o.late, 1);
    cr_expect_eq(check_order(v, 0).violations, 0);
}

Test(swarm_check, joins_in_flight_together_have_no_order)
{
    struct check_rec v[] = {
        { .released_ms = 2, .sent_us = 0, .done_us = 10 },
        { .released_ms = 1, .sent_us = 10, .done_us = 20 }, /* sent when 0 was answered */
        { .released_ms = 2, .sent_us = 90, .done_us = 99 }, /* released with 0 */
    };

    cr_expect_eq(check_order(v, 3).violations, 0);
}

Test(swarm_check, repeats_and_peak)
{
    uint64_t v[] = { 5, 7, 5, 9, 5, 7 };
    struct check_rec r[] = { { .released_ms = 0 },   { .released_ms = 100 },
                             { .released_ms = 999 }, { .released_ms = 1000 },
                             { .released_ms = 5000 } };

    cr_expect_eq(check_repeats(v, ARRAY_LEN(v)), 3);
    cr_expect_eq(check_repeats(v, 0), 0);
    cr_expect_eq(check_peak(r, ARRAY_LEN(r), 1000), 3);
    cr_expect_eq(check_peak(r, 0, 1000), 0);
}

Test(swarm_check, the_even_part_of_the_releases)
{
    struct check_rec r[] = { { .released_ms = 100 }, { .released_ms = 100 },
                             { .released_ms = 200 }, { .released_ms = 200 },
                             { .released_ms = 200 }, { .released_ms = 310 },
                             { .released_ms = 400 } };
    struct check_steady s = check_steady(r, ARRAY_LEN(r));

    cr_expect(s.moments == 4 && s.released == 4 && s.span_ms == 210);
    s = check_steady(r, 6); /* a shorter run: 310 is the last moment now */
    cr_expect(s.moments == 3 && s.released == 3 && s.span_ms == 100);
    s = check_steady(r, 5);
    cr_expect(s.moments == 2 && s.released == 0 && s.span_ms == 0);
    s = check_steady(r, 0);
    cr_expect(s.moments == 0 && s.released == 0);
}

Test(swarm_check, latency_percentiles)
{
    static struct lat l;

    cr_expect_eq(lat_at(&l, 0.5), 0);
    for (uint64_t us = 1; us <= 100000; us++)
        lat_add(&l, us);
    for (double q = 0.01; q < 1; q += 0.01) {
        double have = (double)lat_at(&l, q) / (q * 100000);

        cr_assert(have > 0.99 && have < 1.02, "%f: %f", q, have);
    }
    cr_expect_eq(lat_at(&l, 1), 100000);
    cr_expect_eq((uint64_t)lat_mean(&l), 50000);
    lat_add(&l, UINT64_MAX / 2);
    cr_expect_eq(lat_at(&l, 1), UINT64_MAX / 2);
}

/* A server that stands still for a second while one request a millisecond was planned on
 * one connection: the raw figures see one slow request, the corrected ones a thousand. */
Test(swarm_check, a_stall_is_not_omitted)
{
    static struct lat_pair p;
    int64_t free_at = 0;

    for (int64_t i = 0; i < 10000; i++) {
        int64_t planned = i * 1000, sent = planned > free_at ? planned : free_at;
        int64_t done = sent + (i == 5000 ? 1000000 : 100);

        lat_pair_add(&p, planned, sent, done);
        free_at = done;
    }
    cr_expect_eq(lat_at(&p.raw, 0.99), 100);
    cr_expect_gt(lat_at(&p.corrected, 0.99), 800000);
    cr_expect_eq(lat_at(&p.corrected, 0.5), 100);
    cr_expect_geq(lat_at(&p.raw, 1), 1000000);
}

static unsigned fired[1000];
static struct wheel w;

static void on_due(void *ctx, uint32_t who, int64_t due_ms)
{
    cr_assert_eq(due_ms, ((int64_t *)ctx)[who]);
    cr_assert_eq(w.now_ms, due_ms);
    fired[who]++;
}

Test(swarm_check, wheel_fires_each_once_in_its_millisecond)
{
    static int64_t due[1000];
    struct rng r;

    rng_seed(&r, 9);
    cr_assert_eq(wheel_init(&w, 1000, 777), 0);
    for (uint32_t i = 0; i < 1000; i++) {
        due[i] = 778 + (int64_t)rng_below(&r, 300000); /* over several rounds */
        wheel_add(&w, i, due[i]);
    }
    for (int64_t t = 777; t < 301000; t += (int64_t)rng_below(&r, 500))
        wheel_advance(&w, t, on_due, due);
    wheel_advance(&w, 302000, on_due, due);
    for (uint32_t i = 0; i < 1000; i++)
        cr_assert_eq(fired[i], 1);
    cr_expect_eq(w.n, 0);
    wheel_fini(&w);
}

Test(swarm_check, answers_at_every_split)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3\r\n"
                               "Connection: close\r\ncontent-length: 2\r\n\r\n{}rest";
    struct answer a;

    for (size_t n = 0; n < sizeof(text) - 1 - 4; n++)
        cr_assert_eq(answer_parse(&a, text, n), 0, "%zu", n);
    cr_assert_eq(answer_parse(&a, text, sizeof(text) - 1), (int64_t)sizeof(text) - 5);
    cr_expect(a.status == 503 && a.retry_after_s == 3 && a.close && a.len == 2);
}

Test(swarm_check, broken_answers_are_refused)
{
    static const char *const bad[] = {
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n1",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "\r\n\r\n",
    };
    static const char empty[] = "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n";
    struct answer a;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(answer_parse(&a, bad[i], strlen(bad[i])), SQ_EPROTO, "%s", bad[i]);
    cr_expect_eq(answer_parse(&a, empty, strlen(empty)), (int64_t)strlen(empty));
}

Test(swarm_check, tickets)
{
    static const char waiting[] = "{\"token\": \"abc\", \"queue\":\"token\",\"lanes\":[{\"state\":1}],"
                                  "\"state\":\"waiting\",\"position\":1234,\"eta_s\":null,"
                                  "\"poll_after_ms\":5000}";
    static const char recovering[] =
        "{\"token\":\"abc\",\"state\":\"waiting\",\"position\":null,\"poll_after_ms\":1}";
    static const char admitted[] = "{\"token\":\"abc\",\"state\":\"admitted\",\"position\":0,"
                                   "\"pass\":\"x.eyJqdGkiOiIxNy00MiJ9.y\","
                                   "\"released_at\":1700000000.25}";
    struct ticket t;

    cr_assert_eq(ticket_parse(&t, waiting, strlen(waiting)), 0);
    cr_expect(t.state == TICKET_WAITING && t.has_position && t.position == 1234);
    cr_expect(t.poll_after_ms == 5000 && t.token_len == 3);
    cr_assert_eq(ticket_parse(&t, recovering, strlen(recovering)), 0);
    cr_expect_not(t.has_position);
    cr_assert_eq(ticket_parse(&t, admitted, strlen(admitted)), 0);
    cr_expect_eq(t.state, TICKET_ADMITTED);
    cr_expect_eq(t.released_ms, 1700000000250);
    cr_expect_eq(pass_id_hash(t.pass, t.pass_len), text_hash("17-42", 5));
    for (size_t n = 0; n < strlen(waiting); n++)
        cr_assert_lt(ticket_parse(&t, waiting, n), 0);
}

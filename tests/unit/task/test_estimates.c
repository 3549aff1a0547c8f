/* test_estimates.c: what an operator's own service says of waits: read, told for a place between two points; which
 * queues it is asked about, and for how long it counts. */
#include "task/calls/estimates.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct eta_line line;

static const char *told(const char *text)
{
    return eta_line_read(&line, text, strlen(text));
}

static void expect(uint64_t place, int64_t ms)
{
    int64_t got = eta_line_at(&line, place);

    cr_expect_eq(got, ms, "place %lu: %ld", place, got);
}

Test(estimates, one_point_is_a_straight_line)
{
    cr_assert_null(told("{\"places\": [{\"place\": 100, \"eta_s\": 50}]}"));
    expect(1, 500);
    expect(100, 50000);
    expect(1000, 500000);
}

Test(estimates, between_points_the_wait_grows_evenly)
{
    cr_assert_null(told("{\"places\": [{\"place\": 1, \"eta_s\": 10}, {\"place\": 11, \"eta_s\": 20}, "
                        "{\"place\": 111, \"eta_s\": 20}, {\"place\": 112, \"eta_s\": 20.5}], \"by\": \"us\"}"));
    expect(1, 10000);
    expect(6, 15000);
    expect(11, 20000);
    expect(60, 20000);
    expect(112, 20500);
    expect(113, 21000); /* as fast as before it */
    expect(UINT64_MAX, ETA_MOST_MS);
}

Test(estimates, what_cannot_be_is_refused_and_changes_nothing)
{
    static const char *const wrong[] = {
        "", "7", "[]", "{}", "{\"places\": {}}", "{\"places\": []}", "{\"places\": [7]}", "{\"places\": [{}]}", "{\"eta_s\": 7}",
        "{\"places\": [{\"place\": 0, \"eta_s\": 1}]}", "{\"places\": [{\"place\": -1, \"eta_s\": 1}]}",
        "{\"places\": [{\"place\": 1.5, \"eta_s\": 1}]}", "{\"places\": [{\"place\": 1e3, \"eta_s\": 1}]}",
        "{\"places\": [{\"place\": 1000000001, \"eta_s\": 1}]}", "{\"places\": [{\"place\": \"1\", \"eta_s\": 1}]}",
        "{\"places\": [{\"place\": 1}]}", "{\"places\": [{\"place\": 1, \"eta_s\": -0.1}]}",
        "{\"places\": [{\"place\": 1, \"eta_s\": 34560000.1}]}", "{\"places\": [{\"place\": 1, \"eta_s\": NaN}]}",
        "{\"places\": [{\"place\": 1, \"eta_s\": 1e999}]}", "{\"places\": [{\"place\": 1, \"eta_s\": null}]}",
        "{\"places\": [{\"place\": 2, \"eta_s\": 1}, {\"place\": 2, \"eta_s\": 2}]}",
        "{\"places\": [{\"place\": 2, \"eta_s\": 1}, {\"place\": 1, \"eta_s\": 2}]}",
        "{\"places\": [{\"place\": 1, \"eta_s\": 2}, {\"place\": 2, \"eta_s\": 1}]}",
        "{\"places\": [{\"place\": 1, \"eta_s\": 2}]} x", "<html>",
    };
    struct eta_line was;

    cr_assert_null(told("{\"places\": [{\"place\": 3, \"eta_s\": 9}]}"));
    was = line;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        cr_expect_not_null(told(wrong[i]), "%s", wrong[i]);
        cr_expect_eq(memcmp(&was, &line, sizeof(was)), 0, "%s", wrong[i]);
    }
}

Test(estimates, at_most_32_points)
{
    char text[4096] = "{\"places\": [";

    for (unsigned i = 1; i <= 33; i++) {
        char whole[4200];

        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s{\"place\": %u, \"eta_s\": %u}", i > 1 ? "," : "", i, i);
        snprintf(whole, sizeof(whole), "%s]}", text);
        cr_expect_eq(told(whole) == NULL, i <= ETA_POINTS_MAX, "%u", i);
    }
}

/* A service that echoes says what we say. */
Test(estimates, the_echo_of_a_question_is_our_own_estimate)
{
    struct buf b = { 0 };

    eta_question_write(&(struct eta_question){ "a/b", 41, 2, 42, 84050 }, &b);
    buf_byte(&b, 0);
    cr_expect_str_eq((const char *)b.data, "{\"queue\":\"a/b\",\"waiting\":41,\"running\":2,\"places\":"
                                           "[{\"place\":42,\"eta_s\":84.050}]}");
    cr_assert_null(told((const char *)b.data));
    expect(42, 84050);
    buf_reset(&b);
    eta_question_write(&(struct eta_question){ "a", 0, 0, 1, -1 }, &b);
    buf_byte(&b, 0);
    cr_expect_str_eq((const char *)b.data, "{\"queue\":\"a\",\"waiting\":0,\"running\":0,\"places\":[]}");
    buf_fini(&b);
}

/* ---- which queues ------------------------------------------------------------------ */

static struct estimates *e;
#define EVERY 5000

static struct eta_rules rules(const char *url)
{
    struct msg_part_open m = { .eta_url = url, .eta_every_ms = EVERY, .eta_timeout_ms = 100, .n_eta_allow = 1,
                               .eta_allow = (const char *[]){ "10.0.0.0/8" } };
    struct eta_rules r;

    eta_rules_read(&r, &m);
    return r;
}

static void begin(void)
{
    struct eta_rules r = rules("http://a");

    cr_assert_eq(estimates_rule(&e, &r), 0);
    cr_assert_not_null(e);
}

static void end(void)
{
    free(e);
    e = NULL;
}

TestSuite(estimates_of, .init = begin, .fini = end);

#define ANSWER "{\"places\": [{\"place\": 10, \"eta_s\": 20}]}"

Test(estimates_of, a_queue_is_asked_about_while_somebody_looks)
{
    msec_t now = 1000000;

    cr_expect_null(estimates_due(e, now), "nobody looks");
    estimates_look(e, "q", now);
    cr_expect_str_eq(estimates_due(e, now), "q");
    estimates_look(e, "q", now + EVERY - 1);
    cr_expect_null(estimates_due(e, now + EVERY - 1), "once in so long");
    cr_expect_str_eq(estimates_due(e, now + EVERY), "q");
    cr_expect_null(estimates_due(e, now + EVERY - 1 + ETA_LOOKED_MS), "nobody looks any more");
    estimates_look(e, "q", now + 10 * ETA_LOOKED_MS);
    cr_expect_str_eq(estimates_due(e, now + 10 * ETA_LOOKED_MS), "q", "at once");
}

Test(estimates_of, an_answer_counts_for_three_times_that)
{
    msec_t now = 1000000;

    cr_expect_eq(estimates_of(e, "q", 5, now), -1);
    estimates_look(e, "q", now);
    estimates_look(e, "r", now);
    cr_expect_eq(estimates_of(e, "q", 5, now), -1);
    cr_expect_null(estimates_told(e, "q", ANSWER, strlen(ANSWER), now));
    cr_expect_eq(estimates_of(e, "q", 5, now + 3 * EVERY - 1), 10000);
    cr_expect_eq(estimates_of(e, "r", 5, now), -1, "another queue");
    cr_expect_not_null(estimates_told(e, "q", "{}", 2, now + EVERY));
    cr_expect_eq(estimates_of(e, "q", 5, now + 3 * EVERY - 1), 10000, "what was wrong took nothing away");
    cr_expect_eq(estimates_of(e, "q", 5, now + 3 * EVERY), -1);
}

Test(estimates_of, the_longest_due_goes_first)
{
    estimates_look(e, "a", 1002);
    estimates_look(e, "b", 1001);
    estimates_look(e, "c", 1003);
    cr_expect_str_eq(estimates_due(e, 2000), "b");
    cr_expect_str_eq(estimates_due(e, 2000), "a");
    cr_expect_str_eq(estimates_due(e, 2000), "c");
    cr_expect_null(estimates_due(e, 2000));
}

Test(estimates_of, a_full_table_takes_a_queue_for_one_that_nobody_looks_at)
{
    char name[16];

    for (unsigned i = 0; i < ETA_QUEUES_MAX; i++) {
        snprintf(name, sizeof(name), "q%u", i);
        estimates_look(e, name, 1000);
        cr_assert_null(estimates_told(e, name, ANSWER, strlen(ANSWER), 1000));
    }
    estimates_look(e, "more", 2000);
    cr_expect_eq(e->crowded, 1);
    cr_expect_eq(estimates_of(e, "more", 1, 2000), -1);
    estimates_look(e, "q0", 50000);
    estimates_look(e, "more", 1000 + ETA_LOOKED_MS);
    cr_expect_eq(e->crowded, 1);
    cr_expect_eq(estimates_of(e, "more", 1, 2000), -1, "not what was said of another one");
    cr_assert_null(estimates_told(e, "more", ANSWER, strlen(ANSWER), 2000));
    cr_expect_eq(estimates_of(e, "more", 1, 2000), 2000);
    cr_expect_eq(estimates_of(e, "q0", 1, 2000), 2000, "somebody looks at it");
    cr_expect_eq(estimates_of(e, "q1", 1, 2000), -1);
    cr_expect_null(estimates_told(e, "q1", ANSWER, strlen(ANSWER), 2000), "an answer that comes too late for its queue");
    cr_expect_eq(estimates_of(e, "q1", 1, 2000), -1);
}

Test(estimates_of, other_rules_forget_what_was_said_and_the_same_do_not)
{
    struct eta_rules r = rules("http://a");

    estimates_look(e, "q", 1000);
    cr_assert_null(estimates_told(e, "q", ANSWER, strlen(ANSWER), 1000));
    cr_assert_eq(estimates_rule(&e, &r), 0);
    cr_expect_eq(estimates_of(e, "q", 1, 1000), 2000);
    cr_expect(r.every_ms == EVERY && r.timeout_ms == 100 && r.n_allow == 1);
    cr_expect_str_eq(r.allow[0], "10.0.0.0/8");
    r = rules("http://b");
    cr_assert_eq(estimates_rule(&e, &r), 0);
    cr_expect_eq(estimates_of(e, "q", 1, 1000), -1);
    r = rules("");
    cr_assert_eq(estimates_rule(&e, &r), 0);
    cr_expect_null(e);
    r = rules(NULL); /* of a manager that does not know it */
    cr_assert_eq(estimates_rule(&e, &r), 0);
    cr_expect_null(e);
}

/* test_pressure.c: what a page of metrics says of a target: closed and open again, fewer slots, and what
 * happens when it cannot be read. */
#include "task/calls/throttle.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#define STALE 30000

static struct endpoint_reading rows[] = {
    { "vllm:num_requests_waiting", "", 0, 10000, 5000, ENDPOINT_ANY, ENDPOINT_ANY },
    { "vllm:gpu_cache_usage_perc", "", 1, ENDPOINT_ANY, ENDPOINT_ANY, 800, 1000 },
};
static struct msg_endpoint def = { .n_readings = 2, .readings = rows, .reading_stale_ms = STALE };
static struct pressure p;
static msec_t now;

static void setup(void)
{
    p = (struct pressure){ 0 };
    now = 1000000;
}

TestSuite(pressure, .init = setup);

static bool page(double waiting, double cache)
{
    char text[400];
    int n = snprintf(text, sizeof(text),
                     "# HELP vllm:num_requests_waiting Requests\n# TYPE vllm:num_requests_waiting gauge\n"
                     "vllm:num_requests_waiting{model=\"a\"} %g\nvllm:num_requests_waiting{model=\"b\"} 1\n"
                     "vllm:gpu_cache_usage_perc{model=\"a\"} %g\nvllm:gpu_cache_usage_perc{model=\"b\"} 0.1\n",
                     waiting - 1, cache);

    return pressure_read(&p, &def, text, (size_t)n, now);
}

static bool closes(void)
{
    return pressure_closes(&p, &def, now);
}

static uint64_t slots(uint64_t most)
{
    return pressure_slots(&p, &def, most, now);
}

static enum reading_state state(const char *says)
{
    char text[READING_SAID_MAX + 1];
    enum reading_state s = pressure_state(&p, &def, now, text);

    cr_expect_str_eq(text, says);
    return s;
}

Test(pressure, nothing_is_known_at_first)
{
    cr_expect(!closes());
    cr_expect_eq(slots(8), 8);
    cr_expect_eq(state(""), READING_OPEN);
    cr_expect_eq(pressure_state(&p, &(struct msg_endpoint){ 0 }, now, (char[READING_SAID_MAX + 1]){ 0 }), READING_NONE);
}

Test(pressure, closed_above_and_open_below)
{
    static const struct {
        double waiting;
        bool closed;
    } steps[] = { { 10, false }, { 10.5, true }, { 10, true }, { 5.5, true }, { 5, false }, { 10, false },
                  { 11, true }, { 0, false } };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        cr_expect(page(steps[i].waiting, 0.5));
        cr_expect_eq(closes(), steps[i].closed, "step %zu", i);
    }
    page(40, 0.9);
    cr_expect_eq(state("vllm:num_requests_waiting 40"), READING_CLOSED, "that counts most");
}

Test(pressure, fewer_slots_in_proportion)
{
    static const struct {
        double cache;
        uint64_t of_8;
    } steps[] = { { 0.5, 8 }, { 0.8, 8 }, { 0.9, 4 }, { 0.95, 2 }, { 0.99, 1 }, { 1, 1 }, { 3, 1 }, { 0.2, 8 } };

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        page(1, steps[i].cache);
        cr_expect_eq(slots(8), steps[i].of_8, "step %zu: %lu", i, slots(8));
        cr_expect_eq(slots(0), 0, "none is none");
        cr_expect(!closes());
    }
    page(1, 0.9);
    cr_expect_eq(state("vllm:gpu_cache_usage_perc 0.9"), READING_NARROWED);
}

Test(pressure, page_that_cannot_be_read_changes_nothing_for_a_while)
{
    page(20, 0.9);
    now += 2000;
    pressure_failed(&p, "page: HTTP 500", now);
    now += STALE - 2001;
    cr_expect(closes());
    cr_expect_eq(slots(8), 4);
    cr_expect_eq(state("vllm:num_requests_waiting 20"), READING_CLOSED);
    now += 1;
    cr_expect(!closes());
    cr_expect_eq(slots(8), 8);
    now += 2000;
    pressure_failed(&p, "page: timeout", now);
    cr_expect_eq(state("page: timeout"), READING_BLIND);
    page(7, 0.9);
    cr_expect(closes(), "it was not down to five");
    cr_expect_eq(state("vllm:num_requests_waiting 7"), READING_CLOSED);
}

Test(pressure, one_value_that_is_missing_is_told_and_the_other_one_counts)
{
    static const char text[] = "vllm:num_requests_waiting 11\n";

    cr_expect(!pressure_read(&p, &def, text, strlen(text), now));
    cr_expect(closes());
    now += STALE;
    cr_expect(!pressure_read(&p, &def, "vllm:num_requests_waiting 0\n", 28, now));
    cr_expect(!closes());
    cr_expect_eq(state("page has no vllm:gpu_cache_usage_perc with these labels"), READING_BLIND);
    now += 1000;
    page(0, 0);
    cr_expect_eq(state("vllm:num_requests_waiting 0"), READING_OPEN);
}

Test(pressure, page_that_was_never_read)
{
    pressure_failed(&p, "page: connect: refused", now);
    cr_expect_eq(state(""), READING_OPEN, "for a moment");
    now += STALE;
    cr_expect(!closes());
    cr_expect_eq(state("page: connect: refused"), READING_BLIND);
}

Test(pressure, labels_choose_the_sample)
{
    static const char text[] = "w{model=\"a\",kind=\"x\"} 3\nw{model=\"b\"} 40\n";
    struct endpoint_reading one = { "w", "model=b", 0, 10000, 10000, ENDPOINT_ANY, ENDPOINT_ANY };
    struct msg_endpoint d = { .n_readings = 1, .readings = &one, .reading_stale_ms = STALE };

    cr_expect(pressure_read(&p, &d, text, strlen(text), now));
    cr_expect(pressure_closes(&p, &d, now));
    one.labels = "model=a";
    cr_expect(pressure_read(&p, &d, text, strlen(text), now));
    cr_expect(!pressure_closes(&p, &d, now));
}

Test(pressure, other_bounds_are_other_readings)
{
    struct endpoint_reading other[2] = { rows[0], rows[1] };
    struct msg_endpoint d = { .n_readings = 2, .readings = other };

    cr_expect(pressure_same(&def, &d));
    other[1].narrow_to++;
    cr_expect(!pressure_same(&def, &d));
    other[1] = rows[1];
    other[0].metric = "x";
    cr_expect(!pressure_same(&def, &d));
    d.n_readings = 1;
    cr_expect(!pressure_same(&def, &d));
}

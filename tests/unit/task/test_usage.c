/* test_usage.c: what a call took is read out of its answer, wherever that is cut into pieces. */
#include "task/calls/verdict.h"

#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#define EVENTS "text/event-stream; charset=utf-8"

static const char *pointer = "/usage/total_tokens";

/* -1: it does not say. */
static int64_t read_in(const char *type, const char *p, size_t n, size_t piece)
{
    static struct usage u;
    uint64_t units;

    memset(&u, 0xa5, sizeof(u));
    usage_begin(&u, pointer, type);
    for (size_t at = 0; at < n; at += piece)
        usage_more(&u, p + at, n - at < piece ? n - at : piece);
    return usage_end(&u, &units) ? (int64_t)units : -1;
}

static int64_t used(const char *type, const char *text)
{
    size_t n = strlen(text);
    int64_t whole = read_in(type, text, n, n > 0 ? n : 1);

    for (size_t piece = 1; piece < n && piece < 40; piece++)
        cr_expect_eq(read_in(type, text, n, piece), whole, "in pieces of %zu: %s", piece, text);
    return whole;
}

static int64_t json(const char *text)
{
    return used("application/json", text);
}

Test(usage, a_whole_answer_says_it)
{
    cr_expect_eq(json("{\"id\":\"x\",\"choices\":[{\"usage\":{\"total_tokens\":1}}],\"usage\":{\"prompt_tokens\":3,"
                      "\"total_tokens\":42},\"total_tokens\":2}"), 42);
    cr_expect_eq(json(" { \"usage\" : { \"a\" : { \"total_tokens\" : 5 } , \"total_tokens\" : 6 } } \n"), 6);
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":6},\"x\":\"}{\\\"usage\\\":{\\\"total_tokens\\\":7}\"}"), 6);
    cr_expect_eq(json("{\"usage\":{\"x\":[1,[2,{}],{}],\"total_tokens\":0}}"), 0, "a cached answer took none");
    cr_expect_eq(used("", "{\"usage\":{\"total_tokens\":6}}"), 6, "without a type");
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":1.25}}"), 2, "rounded up");
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":2e3}}"), 2000);
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":1},\"usage\":{\"total_tokens\":2}}"), 2, "the later one");
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":5},\"usage\":null}"), 5);
    pointer = "/n";
    cr_expect_eq(json("{\"m\":{\"n\":1},\"n\":7}"), 7);
    pointer = "/a/b/c";
    cr_expect_eq(json("{\"a\":{\"b\":{\"x\":{\"c\":1},\"c\":2},\"c\":3},\"b\":{\"c\":4}}"), 2);
    cr_expect_eq(json("{\"a\":{\"b\":{}},\"c\":3}"), -1);
    cr_expect_eq(json("{\"a\":{},\"b\":{\"c\":4}}"), -1);
}

Test(usage, what_is_no_number_is_not_there)
{
    static const char *const v[] = { "-1", "\"7\"", "null", "true", "NaN", "Infinity", "0x10", "[7]", "{\"total_tokens\":7}",
                                     "1e", "--1", "1 2", "+1", "" };
    char text[200];

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        (void)snprintf(text, sizeof(text), "{\"usage\":{\"total_tokens\":%s}}", v[i]);
        cr_expect_eq(json(text), i == 11 ? 1 : -1, "%s", v[i]);
    }
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":1e308}}"), TASK_COST_MAX);
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":1e999}}"), TASK_COST_MAX);
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":18446744073709551617}}"), TASK_COST_MAX);
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":1111111111111111111111111111111111111111111111111111111111111111"
                      "111111111111111111111111}}"), -1, "no number is so long");
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":5}"), -1, "cut off");
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":5}},\"x\":\""), -1);
    cr_expect_eq(json("[{\"usage\":{\"total_tokens\":5}}]"), -1);
    cr_expect_eq(json("{\"usage\":[{\"total_tokens\":5}]}"), -1);
    cr_expect_eq(json("{\"us\\u0061ge\":{\"total_tokens\":5}}"), -1, "nobody writes so");
    cr_expect_eq(json("\"usage\":{\"total_tokens\":5}"), -1);
    cr_expect_eq(json(""), -1);
    cr_expect_eq(json("}}}]]{\"usage\":{\"total_tokens\":5}}"), 5, "what is in front of it is not looked at");
}

Test(usage, the_last_event_of_a_stream_that_has_it_counts)
{
    cr_expect_eq(used(EVENTS, "data: {\"choices\":[{\"delta\":\"a\"}],\"usage\":null}\n\n"
                              "data: {\"choices\":[],\"usage\":{\"total_tokens\":12}}\n\ndata: [DONE]\n\n"), 12);
    cr_expect_eq(used(EVENTS, "event: x\r\nid: 7\r\ndata:{\"usage\":{\"total_tokens\":1}}\r\n\r\n"
                              "data: {\"usage\":{\"total_tokens\":2}}\r\n\r\n: ping\r\n\r\n"), 2);
    cr_expect_eq(used(EVENTS, "data: {\"usage\":{\ndata: \"total_tokens\":\ndata: 31}}\n\n"), 31, "in three lines");
    cr_expect_eq(used(EVENTS, "data: {\"usage\":{\rdata: \"total_tokens\":33}}\r\r"), 33);
    cr_expect_eq(used(EVENTS, "data: {\"usage\":{\"total_tokens\":5}}"), 5, "the stream ends amid its last line");
    cr_expect_eq(used(EVENTS, "data: {\"usage\":{\"total_tokens\":5}}\n\ndata: {\"usage\":{\"total_tokens\":6}\n\n"), 5);
    cr_expect_eq(used(EVENTS, "dat: {\"usage\":{\"total_tokens\":5}}\n\ndataa: {\"usage\":{\"total_tokens\":6}}\n\n"
                              "error: {\"usage\":{\"total_tokens\":7}}\n\ndata\n\n"), -1);
    cr_expect_eq(used(EVENTS, "data: {\"usage\":{\"total_to\n\ndata: kens\":6}}\n\n"), -1, "an event is a text of its own");
    cr_expect_eq(used("application/x-ndjson", "{\"usage\":{\"total_tokens\":5}}\n{\"usage\":{\"total_tokens\":6}}\r\n{}\n"), 6);
    cr_expect_eq(used("application/jsonl", "{\"usage\":{\n\"total_tokens\":6}}\n"), -1);
}

Test(usage, an_answer_may_be_as_long_and_as_deep_as_it_likes)
{
    enum { DEEP = 1 << 20, LONG = 10 << 20 };
    char *text = malloc(LONG + 2 * DEEP + 200), *w = text;

    w = stpcpy(w, "data: {\"x\":\"");
    memset(w, 'a', LONG);
    w = stpcpy(w + LONG, "\",\"y\":");
    memset(w, '[', DEEP);
    memset(w + DEEP, ']', DEEP);
    w = stpcpy(w + 2 * DEEP, ",\"usage\":{\"total_tokens\":77}}\n\n");
    cr_expect_eq(read_in(EVENTS, text, (size_t)(w - text), 4096), 77);
    cr_expect_eq(read_in(EVENTS, text, (size_t)(w - text), 1), 77);
    free(text);
    cr_expect_leq(sizeof(struct usage), 400, "%zu", sizeof(struct usage));
}

Test(usage, a_pointer_that_is_none_reads_nothing)
{
    pointer = "";
    cr_expect_eq(json("{\"usage\":{\"total_tokens\":5}}"), -1);
}

/* ---- at the door --------------------------------------------------------------------------- */

Test(cost, an_estimate_is_a_sum_within_its_bounds)
{
    struct cost_rule r = { .pointer = "", .per_byte = 250000, .constant = 10, .least = 1, .most = 1000 };

    cr_expect_eq(cost_estimate(&r, 0, 0, 0), 10);
    cr_expect_eq(cost_estimate(&r, 0, 1, 100), 111, "bytes are rounded up");
    cr_expect_eq(cost_estimate(&r, 0, 1u << 25, TASK_COST_MAX), 1000);
    r.least = 50;
    cr_expect_eq(cost_estimate(&r, 0, 0, 0), 50);
    cr_expect_eq(cost_estimate(&r, 7, 0, 0), 50, "also where a caller names one");
    cr_expect_eq(cost_estimate(&r, 5000, 4, 4), 5000, "which is the caller's word alone");
    r = (struct cost_rule){ .pointer = "", .per_byte = COST_PER_BYTE_MAX * (uint64_t)COST_PER_BYTE_PART,
                            .most = TASK_COST_MAX };
    cr_expect_eq(cost_estimate(&r, 0, UINT64_MAX, UINT32_MAX), TASK_COST_MAX);
    cr_expect_eq(cost_estimate(&r, 0, 0, 0), 1);
}

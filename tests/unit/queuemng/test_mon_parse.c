/* test_mon_parse.c: what monitors say, and what they say when they are unwell. */
#include "queuemng/monitor/proc.h"

#include "tests/lib/criterion.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int api(const char *text, struct sample_value *s, struct err *e)
{
    return mon_parse_api(s, text, strlen(text), e);
}

#define VEC(v) "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":" v "}}"

Test(mon_api, vector_and_scalar)
{
    struct sample_value s;
    struct err e;

    cr_assert_eq(api(VEC("[{\"metric\":{},\"value\":[1700000000.5,\"42.25\"]}]"), &s, &e), 0,
                 "%s", e.text);
    cr_expect(s.value == 42.25 && s.wall_ms == 1700000000500);
    cr_assert_eq(api("{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\","
                     "\"result\":[1700000000,\"1e3\"]}}", &s, &e), 0, "%s", e.text);
    cr_expect_eq(s.value, 1000);
}

Test(mon_api, everything_else_is_refused_with_a_reason)
{
    static const char *const bad[][2] = {
        { VEC("[]"), "empty vector" },
        { VEC("[{\"value\":[1,\"2\"]},{\"value\":[1,\"2\"]}]"), "2 series" },
        { VEC("[{\"value\":[1,\"NaN\"]}]"), "nan" },
        { VEC("[{\"value\":[1,\"+Inf\"]}]"), "inf" },
        { VEC("[{\"value\":[1,\"-Inf\"]}]"), "inf" },
        { VEC("[{\"value\":[1,\"1e999\"]}]"), "inf" },
        { VEC("[{\"value\":[1,\"\"]}]"), "not a number" },
        { VEC("[{\"value\":[1,\"0x10\"]}]"), "not a number" },
        { VEC("[{\"value\":[1,\"5 6\"]}]"), "not a number" },
        { VEC("[{\"value\":[1,5]}]"), "pair" },
        { VEC("[{\"value\":[-1,\"5\"]}]"), "time" },
        { VEC("[{\"values\":[[1,\"5\"]]}]"), "pair" },
        { VEC("{}"), "empty" },
        { "{\"status\":\"error\",\"error\":\"bad query\"}", "bad query" },
        { "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[]}}", "matrix" },
        { "{\"status\":\"success\"}", "vector" },
        { "{}", "no status" },
        { "[]", "no status" },
        { "<html>502", "not JSON" },
        { "", "not JSON" },
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sample_value s;
        struct err e = { 0 };

        cr_expect_eq(api(bad[i][0], &s, &e), SQ_EINVAL, "%s", bad[i][0]);
        cr_expect(strstr(e.text, bad[i][1]) != NULL, "%s: %s", bad[i][0], e.text);
    }
}

static const char page[] =
    "# HELP up x\n# TYPE up gauge\nup 1\nupper 7\n"
    "http_total{code=\"200\",path=\"/a\"} 10 1700000000000\n"
    "http_total{code=\"200\", path=\"/b\",} 5 1600000000000\n"
    "http_total{code=\"500\",path=\"a\\\"b\\\\c\\nd\"} 3\n"
    "weird{x=\"}\"} 4\r\n  spaced  {a=\"b\"}   8\t\nnan_one NaN\nlast 2.5e-1";

static double get(const char *name, const char *labels, bool max, int *rc)
{
    struct sample_want w = { .name = name, .max = max };
    struct sample_label v[8];
    struct sample_value s = { 0 };
    char *text = strdup(labels);
    struct err e;
    int n = sample_labels(text, v, ARRAY_LEN(v), &e);

    cr_assert_geq(n, 0);
    w.labels = v;
    w.n_labels = (size_t)n;
    *rc = sample_page_read(&s, &w, page, sizeof(page) - 1, &e);
    free(text);
    return s.value;
}

Test(mon_page, finds_samples)
{
    static const struct {
        const char *name, *labels;
        bool max;
        int rc;
        double want;
    } t[] = {
        { "up", "", false, 0, 1 },
        { "http_total", "", false, 0, 18 },
        { "http_total", "", true, 0, 10 },
        { "http_total", "code=200", false, 0, 15 },
        { "http_total", "path=/b,code=200", false, 0, 5 },
        { "http_total", "path=a\"b\\c\nd", false, 0, 3 },
        { "http_total", "code=404", false, SQ_EUNKNOWN, 0 },
        { "http_total", "nope=1", false, SQ_EUNKNOWN, 0 },
        { "up", "a=b", false, SQ_EUNKNOWN, 0 },
        { "http", "", false, SQ_EUNKNOWN, 0 },
        { "weird", "x=}", false, 0, 4 },
        { "spaced", "a=b", false, 0, 8 },
        { "nan_one", "", false, SQ_EINVAL, 0 },
        { "last", "", false, 0, 0.25 },
    };

    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        int rc;
        double v = get(t[i].name, t[i].labels, t[i].max, &rc);

        cr_expect_eq(rc, t[i].rc, "%s{%s}: %d", t[i].name, t[i].labels, rc);
        cr_expect(rc != 0 || v == t[i].want, "%s{%s}: %g", t[i].name, t[i].labels, v);
    }
}

Test(mon_page, every_cut_is_harmless)
{
    struct sample_want w = { .name = "http_total" };
    struct sample_value s;
    struct err e;

    for (size_t n = 0; n < sizeof(page); n++) {
        char *cut = malloc(n + 1); /* so that ASan sees a read beyond */

        memcpy(cut, page, n);
        (void)!sample_page_read(&s, &w, cut, n, &e);
        free(cut);
    }
}

Test(mon_rate, aware_of_resets)
{
    struct mon_rate r = { 0 };
    double v = -1;

    cr_expect_eq(mon_rate_step(&r, 100, 1000, &v), SQ_EBUSY);
    cr_expect_eq(mon_rate_step(&r, 100, 1000, &v), SQ_EBUSY);
    cr_assert_eq(mon_rate_step(&r, 150, 2000, &v), 0);
    cr_expect_eq(v, 50);
    cr_assert_eq(mon_rate_step(&r, 10, 4000, &v), 0);
    cr_expect_eq(v, 5);
    cr_expect_eq(mon_rate_step(&r, 20, 3000, &v), SQ_EBUSY);
}

Test(mon_proc, machine)
{
    const char *a = "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n";
    const char *b = "cpu  150 0 150 900 0 0 0 0 0 0\n";
    const char *mem = "MemTotal:  1000 kB\nMemFree: 5 kB\nMemAvailable:   250 kB\n";
    struct mon_cpu x, y;
    struct err e;
    double v;

    cr_assert_eq(mon_parse_stat(&x, a, strlen(a), &e), 0);
    cr_assert_eq(mon_parse_stat(&y, b, strlen(b), &e), 0);
    cr_expect_eq(mon_cpu_percent(&x, &y), 50);
    cr_expect_lt(mon_cpu_percent(&x, &x), 0);
    cr_assert_eq(mon_parse_meminfo(&v, mem, strlen(mem), &e), 0);
    cr_expect_eq(v, 75);
    cr_expect_lt(mon_parse_stat(&x, "intr 5", 6, &e), 0);
    cr_expect_lt(mon_parse_stat(&x, "", 0, &e), 0);
    cr_expect_lt(mon_parse_meminfo(&v, "MemTotal: 0", 11, &e), 0);
}

Test(mon_proc, process)
{
    const char *s = "42 (a) b) (x) S 1 42 42 0 -1 4194560 500 0 3 0 70 30 0 0 20 0 1 0 9876 "
                    "1000000 321 18446744073709551615 1 1";
    struct mon_proc p;
    struct err e;

    cr_assert_eq(mon_parse_proc(&p, s, strlen(s), &e), 0, "%s", e.text);
    cr_expect(p.ticks == 100 && p.start == 9876 && p.rss_pages == 321);
    cr_expect_str_eq(p.name, "a) b) (x");
    for (size_t n = 0; n < 80; n++)
        cr_expect_lt(mon_parse_proc(&p, s, n, &e), 0, "%zu", n);
}

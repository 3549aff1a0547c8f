/* test_metrics.c: the exposition text, byte by byte. */
#include "common/base/metrics.h"
#include "common/supervisor/metrics_process.h"

#include "tests/lib/criterion.h"
#include <math.h>
#include <string.h>

static void expect(struct buf *b, const char *want)
{
    buf_byte(b, 0);
    cr_expect_str_eq((char *)b->data, want);
    buf_reset(b);
}

Test(metrics, heads_samples_and_escapes)
{
    const char *labels[] = { "queue", "a\"b\\c\nd", "lane", "vip", NULL };
    struct buf b;

    buf_init(&b);
    metrics_head(&b, "segq_x_total", METRIC_COUNTER, "What\\it\nis.");
    metrics_u64(&b, "segq_x_total", NULL, UINT64_MAX);
    metrics_u64(&b, "segq_x_total", labels, 7);
    expect(&b, "# HELP segq_x_total What\\\\it\\nis.\n# TYPE segq_x_total counter\n"
               "segq_x_total 18446744073709551615\n"
               "segq_x_total{queue=\"a\\\"b\\\\c\\nd\",lane=\"vip\"} 7\n");
    metrics_f64(&b, "g", NULL, 0.1);
    metrics_f64(&b, "g", NULL, NAN);
    metrics_f64(&b, "g", NULL, -INFINITY);
    metrics_f64(&b, "g", NULL, 1.0 / 3);
    expect(&b, "g 0.1\ng NaN\ng -Inf\ng 0.33333333333333331\n");
    buf_fini(&b);
}

Test(metrics, rows_of_a_struct)
{
    const struct {
        uint64_t a;
        uint64_t b;
    } s = { 5, 6 };
    const struct metric_row rows[] = { { "a_total", METRIC_COUNTER, "A.", 0, METRIC_U64 },
                                       { "b", METRIC_GAUGE, "B.", 8, METRIC_U64 } };
    struct buf b;

    buf_init(&b);
    metrics_rows(&b, rows, 2, &s);
    expect(&b, "# HELP a_total A.\n# TYPE a_total counter\na_total 5\n"
               "# HELP b B.\n# TYPE b gauge\nb 6\n");
    buf_fini(&b);
}

struct cow {
    const char *name;
    uint64_t age_ms;
    uint32_t calves;
    double litres;
    bool ill;
};

static void each_cow(const void *of, void (*fn)(void *ctx, const void *view), void *ctx)
{
    for (const struct cow *c = of; c->name != NULL; c++)
        fn(ctx, c);
}

static bool cow_labels(const void *view, const char **label)
{
    const struct cow *c = view;

    label[0] = "cow";
    label[1] = c->name;
    return c->litres >= 0;
}

Test(metrics, a_row_prints_its_member_by_type)
{
    static const struct metric_row rows[] = {
        METRIC_ROW("calves", GAUGE, struct cow, calves, "C"),
        METRIC_ROW("litres", GAUGE, struct cow, litres, "L"),
        METRIC_ROW("ill", GAUGE, struct cow, ill, "I"),
        METRIC_SECONDS("age_seconds", COUNTER, struct cow, age_ms, "A"),
    };
    static const struct cow berta = { "berta", 1500, UINT32_MAX, 0.5, true };
    struct buf b;

    buf_init(&b);
    metrics_rows(&b, rows, ARRAY_LEN(rows), &berta);
    expect(&b, "# HELP calves C\n# TYPE calves gauge\ncalves 4294967295\n"
               "# HELP litres L\n# TYPE litres gauge\nlitres 0.5\n"
               "# HELP ill I\n# TYPE ill gauge\nill 1\n"
               "# HELP age_seconds A\n# TYPE age_seconds counter\nage_seconds 1.5\n");
    buf_fini(&b);
}

Test(metrics, rows_of_each_object)
{
    static const struct metric_row rows[] = {
        METRIC_ROW("calves", GAUGE, struct cow, calves, "C"),
        METRIC_ROW("ill", GAUGE, struct cow, ill, "I"),
    };
    static const struct cow herd[] = { { "berta", 0, 2, 1, false }, { "stray", 0, 9, -1, true },
                                       { "alma", 0, 1, 0, true }, { .name = NULL } };
    struct buf b;

    buf_init(&b);
    metrics_each(&b, rows, ARRAY_LEN(rows), each_cow, herd, cow_labels);
    expect(&b, "# HELP calves C\n# TYPE calves gauge\ncalves{cow=\"berta\"} 2\n"
               "calves{cow=\"alma\"} 1\n"
               "# HELP ill I\n# TYPE ill gauge\nill{cow=\"berta\"} 0\nill{cow=\"alma\"} 1\n");
    buf_fini(&b);
}

Test(metrics, histogram_is_cumulative)
{
    struct histo h = { .n = 0 };
    struct buf b;
    char *text;

    histo_add(&h, 0);
    histo_add(&h, 1);
    histo_add(&h, 1000);
    histo_add(&h, UINT64_MAX >> 20);
    buf_init(&b);
    metrics_histo(&b, "t_seconds", "T.", &h);
    buf_byte(&b, 0);
    text = (char *)b.data;
    cr_expect_not_null(strstr(text, "# TYPE t_seconds histogram\n"));
    cr_expect_not_null(strstr(text, "t_seconds_bucket{le=\"1e-06\"} 1\n"));
    cr_expect_not_null(strstr(text, "t_seconds_bucket{le=\"2e-06\"} 2\n"));
    cr_expect_not_null(strstr(text, "t_seconds_bucket{le=\"0.000512\"} 2\n"));
    cr_expect_not_null(strstr(text, "t_seconds_bucket{le=\"0.001024\"} 3\n"));
    cr_expect_not_null(strstr(text, "t_seconds_bucket{le=\"67.108864\"} 3\n"));
    cr_expect_not_null(strstr(text, "t_seconds_bucket{le=\"+Inf\"} 4\n"));
    cr_expect_not_null(strstr(text, "t_seconds_count 4\n"));
    buf_fini(&b);
}

Test(metrics, a_process_knows_itself)
{
    struct buf b;
    char *text;

    buf_init(&b);
    metrics_process(&b, "test", "eu", "eu-1a");
    buf_byte(&b, 0);
    text = (char *)b.data;
    cr_expect_not_null(strstr(text, "segq_build_info{program=\"test\",version=\""));
    cr_expect_not_null(strstr(text, "\nsegq_region_info{region=\"eu\",zone=\"eu-1a\"} 1\n"));
    cr_expect_not_null(strstr(text, "\nprocess_cpu_seconds_total "));
    cr_expect_not_null(strstr(text, "\nprocess_resident_memory_bytes "));
    cr_expect_not_null(strstr(text, "\nprocess_start_time_seconds "));
    cr_expect_not_null(strstr(text, "\nprocess_open_fds "));
    buf_fini(&b);
}

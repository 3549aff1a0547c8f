/* load_view.c: see the header. */
#include "queuemng/ctl_view/load_view.h"

#include "queuemng/ctl_view/text.h"

/* CPU as a share of one core: 130 % are one core and a third of another. */
static void common_cells(struct table *t, const json_t *load)
{
    double rss = ctl_f64(load, "rss_bytes") / (1 << 20);

    if (json_is_number(json_object_get(load, "cpu")))
        table_cell(t, "%.0f %%", 100 * ctl_f64(load, "cpu"));
    else
        table_cell(t, "-");
    if (rss <= 0)
        table_cell(t, "-");
    else if (rss < 10240)
        table_cell(t, "%.0f MiB", rss);
    else
        table_cell(t, "%.0f GiB", rss / 1024);
}

static void us_cell(struct table *t, const json_t *load, const char *key)
{
    double ms = ctl_f64(load, key) / 1000;

    if (ms <= 0)
        table_cell(t, "-");
    else
        table_cell(t, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
}

void node_load_cells(struct table *t, const json_t *process)
{
    const json_t *load = json_object_get(process, "load");

    common_cells(t, load);
    us_cell(t, load, "late_us");
}

void router_load_cells(struct table *t, const json_t *process)
{
    const json_t *load = json_object_get(process, "load");

    common_cells(t, load);
    if (json_is_number(json_object_get(load, "answers_per_s")))
        table_cell(t, "%.0f/s", ctl_f64(load, "answers_per_s"));
    else
        table_cell(t, "-");
    us_cell(t, load, "p99_us");
}

/* page.c: see the header. Pure. */
#include "rehearse/page.h"

#include <math.h>

#include "rehearse/graph.h"
#include "rehearse/limits.h"

#define CURVES 16 /* at most, of a kind of process */

static const char head[] =
    "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
    "<title>Rehearsal</title><style>:root{--bg:#fff;--text:#17191c;--soft:#54595f;--line:#d5d8dd;--bad:#9c1515;"
    "--good:#0b6b2f;--c0:#14539a;--c1:#1a8a4a;--c2:#a34b00;--c3:#7b3fa0;--c4:#0f7f8a;--c5:#8a6d00;--c6:#b0307a;"
    "--c7:#5b6570}@media(prefers-color-scheme:dark){:root{--bg:#121417;--text:#eceef1;--soft:#abb2bb;--line:#3c424a;"
    "--bad:#ffaaa3;--good:#8ee0a9;--c0:#8bbcf2;--c1:#5fd08a;--c2:#f0a35e;--c3:#c9a0e8;--c4:#6fd0da;--c5:#e0c860;"
    "--c6:#f090c0;--c7:#a9b0ba}}body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--bg);color:var(--text);"
    "font:1rem/1.45 system-ui,sans-serif}figure{margin:1.4rem 0}figcaption{font-size:.9rem}pre{overflow-x:auto;"
    "font-size:.8rem}table{border-collapse:collapse;font-size:.9rem}td,th{text-align:left;padding:.15rem .8rem "
    ".15rem 0;border-bottom:1px solid var(--line)}.ok{color:var(--good)}.not{color:var(--bad);font-weight:700}";

/* ---- values ---- */

#define SECOND(name, expression)                                                   \
    static double name(const struct figures *f, uint32_t i, uint32_t arg)          \
    {                                                                              \
        (void)arg;                                                                 \
        return (expression);                                                       \
    }
SECOND(waiting, f->s[i].waiting)
SECOND(inside, f->s[i].inside)
SECOND(joined, f->s[i].joined)
SECOND(released, f->s[i].released)
SECOND(allowed, (double)f->s[i].allowed)
SECOND(backend, (double)f->s[i].backend)
SECOND(polls_each, (double)f->s[i].polls / f->routers)

static double in_minutes(double s)
{
    return s >= 0 ? s / 60 : NAN;
}

#define BIN(name, member) SECOND(name, f->bin[i].in > 0 ? in_minutes(f->bin[i].member) : NAN)
BIN(wait_p50, p50)
BIN(wait_p95, p95)
BIN(wait_p99, p99)
BIN(told_p50, told_p50)

#define PAST(name, member) SECOND(name, f->past[i].in > 0 ? in_minutes(f->past[i].member) : NAN)
PAST(past_p50, p50)
PAST(past_p95, p95)

static double cpu(const struct figures *f, uint32_t i, uint32_t arg)
{
    return 100 * (double)f->cpu[(size_t)i * f->procs + arg - 1];
}

static double node_cpu(const struct figures *f, uint32_t i, uint32_t arg)
{
    return cpu(f, i, f->routers + arg);
}

/* ---- one night ---- */

static void put_table(struct buf *b, const struct played *v, size_t n)
{
    struct buf text;

    buf_init(&text);
    report_table(&text, v, n);
    buf_byte(&text, 0);
    buf_str(b, "<pre tabindex=0>");
    graph_text(b, text.failed ? "" : (const char *)text.data);
    buf_str(b, "</pre>\n");
    b->failed |= text.failed;
    buf_fini(&text);
}

static void put_verdicts(struct buf *b, const struct played *x)
{
    struct verdict v[FIGURES_VERDICTS];
    struct limit full[LIMITS];
    unsigned broke = limits_of(&x->f, &x->night, full);
    char at[24];

    (void)figures_judge(&x->f, &x->night, v);
    buf_str(b, "<table><tr><th>promise<th>kept?<th>figures\n");
    for (unsigned i = 0; i < FIGURES_VERDICTS; i++)
        buf_printf(b, "<tr><td>%s<td class=%s>%s<td>%s\n", v[i].promise, v[i].kept ? "ok" : "not",
                   v[i].kept ? "kept" : "NOT KEPT", v[i].said);
    buf_str(b, "</table>\n<table><tr><th>what is fullest<th>of it<th>after<th>next step\n");
    for (unsigned i = 0; i < LIMITS; i++) {
        report_span(at, full[i].at_s);
        buf_printf(b, "<tr><td>%s<td class=%s>%.0f %%<td>%s<td>%s\n", full[i].what, i < broke ? "not" : "ok",
                   100 * full[i].share, at, full[i].next);
    }
    buf_str(b, "</table>\n");
}

#define GRAPH(a_title, a_unit, a_points, ...) do {                                              \
        const struct series v_[] = { __VA_ARGS__ };                                             \
        const struct graph g_ = { a_title, a_unit, v_, ARRAY_LEN(v_), a_points };               \
        graph_put(b, f, &g_);                                                                   \
    } while (0)

static void put_cpu(struct buf *b, const struct figures *f)
{
    struct series v[2 * CURVES];
    struct graph g = { "CPU of each process", "% of its core", v, 0, f->n };
    uint32_t routers = f->routers < CURVES ? f->routers : CURVES, nodes = f->procs - f->routers;

    nodes = nodes < CURVES ? nodes : CURVES; /* the JSON has all */
    for (uint32_t i = 0; i < routers; i++)
        v[g.n++] = (struct series){ "router", cpu, i + 1 };
    for (uint32_t i = 0; i < nodes; i++)
        v[g.n++] = (struct series){ "segment node", node_cpu, i + 1 };
    graph_put(b, f, &g);
}

static void put_night(struct buf *b, const struct played *x)
{
    const struct figures *f = &x->f;

    buf_str(b, "<section><h2>");
    graph_text(b, x->name[0] != '\0' ? x->name : night_queue(&x->night)->name);
    buf_str(b, "</h2>\n");
    put_verdicts(b, x);
    GRAPH("The line", "people", f->n, { "in line", waiting, 0 }, { "inside", inside, 0 });
    GRAPH("Arrivals and releases", "per second", f->n, { "join", joined, 0 }, { "let in", released, 0 },
          { "limit", allowed, 0 });
    graph_put_limits(b, f);
    GRAPH("The backend", x->night.backend.metric, f->n, { "metric", backend, 0 });
    GRAPH("Wait, by the time at which people came", "minutes", FIGURES_BINS, { "half of them", wait_p50, 0 },
          { "95 %", wait_p95, 0 }, { "99 %", wait_p99, 0 });
    if (f->past_all.came > 0)
        GRAPH("Wait rehearsed, and what the same people had that night", "minutes", FIGURES_BINS,
              { "half of them, rehearsed", wait_p50, 0 }, { "half of them, that night", past_p50, 0 },
              { "95 %, rehearsed", wait_p95, 0 }, { "95 %, that night", past_p95, 0 });
    GRAPH("Wait that they were told as they joined, and what came true", "minutes, half of them", FIGURES_BINS,
          { "told", told_p50, 0 }, { "came true", wait_p50, 0 });
    GRAPH("Polls of a router", "per second", f->n, { "each router", polls_each, 0 });
    put_cpu(b, f);
    buf_str(b, "<details><summary>As a table</summary>");
    put_table(b, x, 1);
    buf_str(b, "</details></section>\n");
}

void page_html(struct buf *b, const struct played *v, size_t n)
{
    buf_str(b, head);
    graph_style(b);
    buf_str(b, "</style>\n<main><h1>Rehearsal</h1>\n");
    if (n > 1)
        put_table(b, v, n);
    for (size_t i = 0; i < n; i++)
        put_night(b, &v[i]);
    buf_str(b, "</main></html>\n");
}

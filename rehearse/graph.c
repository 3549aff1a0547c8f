/* graph.c: see the header. Pure. */
#include "rehearse/graph.h"

#include <math.h>

#define WIDTH  860
#define HEIGHT 190
#define LEFT   60 /* plot, from here to the next three */
#define RIGHT  850
#define TOP    8
#define BOTTOM 165
#define MOST   520 /* points of a line: more seconds than that are drawn as means */

static const char style[] =
    "figure>div{overflow-x:auto}svg{width:100%;min-width:50rem;height:auto;display:block}.axis{stroke:var(--line);stroke-width:1}"
    "svg text{fill:var(--soft);font-size:12px}.curve{fill:none;stroke-width:1.6}.mark{stroke:var(--bad);"
    "stroke-dasharray:3 3}.key{display:inline-block;margin:0 1.2em 0 0;white-space:nowrap}"
    ".key i{display:inline-block;width:1.4em;height:.3em;margin-right:.4em;vertical-align:middle}"
    ".c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}"
    ".c5{stroke:var(--c5)}.c6{stroke:var(--c6)}.c7{stroke:var(--c7)}";

void graph_style(struct buf *b)
{
    buf_str(b, style);
}

void graph_text(struct buf *b, const char *s)
{
    for (; *s != '\0'; s++)
        if (strchr("<>&\"'", *s) != NULL || ((unsigned char)*s < ' ' && *s != '\n'))
            buf_printf(b, "&#%u;", (unsigned char)*s < ' ' ? 32u : (unsigned)(unsigned char)*s);
        else
            buf_byte(b, (uint8_t)*s);
}

/* 1, 2 or 5 times a power of ten: about four lines. */
static double step_of(double top)
{
    double p = pow(10, floor(log10(top / 4)));

    return top / 4 <= p ? p : top / 4 <= 2 * p ? 2 * p : top / 4 <= 5 * p ? 5 * p : 10 * p;
}

static double x_of(double i, double n)
{
    return LEFT + (RIGHT - LEFT) * i / n;
}

/* Mean from i to end; NAN where there is nothing. */
static double mean(const struct figures *f, const struct series *s, uint32_t i, uint32_t end)
{
    double sum = 0;
    uint32_t n = 0;

    for (; i < end; i++) {
        double v = s->at(f, i, s->arg);

        sum += isfinite(v) ? v : 0;
        n += isfinite(v);
    }
    return n > 0 ? sum / n : NAN;
}

static double highest(const struct figures *f, const struct graph *g, uint32_t by)
{
    double top = 0;

    for (unsigned k = 0; k < g->n; k++)
        for (uint32_t i = 0; i < g->points; i += by)
            top = fmax(top, mean(f, &g->s[k], i, i + by < g->points ? i + by : g->points));
    return top > 0 ? top : 1;
}

static void put_axes(struct buf *b, const struct figures *f, double top)
{
    double minutes = f->n / 60.0, step = step_of(top);

    for (double v = 0; v <= top * 1.0001; v += step) {
        double y = BOTTOM - (BOTTOM - TOP) * v / top;

        buf_printf(b, "<path class=axis d=\"M%d %.1fH%d\"/><text x=%d y=%.1f text-anchor=end>%g</text>", LEFT, y, RIGHT,
                   LEFT - 6, y + 4, v);
    }
    step = step_of(minutes * 0.5);
    for (double m = 0; m <= minutes; m += step) /* labels at the right edge end there */
        buf_printf(b, "<text x=%.1f y=%d text-anchor=%s>%g m</text>", x_of(m, minutes), BOTTOM + 18,
                   x_of(m, minutes) > RIGHT - 20 ? "end" : "middle", m);
}

static void put_curve(struct buf *b, const struct figures *f, const struct graph *g, unsigned k, uint32_t by,
                      double top)
{
    bool pen = false;

    buf_printf(b, "<path class=\"curve c%u\" d=\"", k % GRAPH_COLOURS);
    for (uint32_t i = 0; i < g->points; i += by) {
        double v = mean(f, &g->s[k], i, i + by < g->points ? i + by : g->points);

        if (isfinite(v))
            buf_printf(b, "%c%.1f %.1f", pen ? 'L' : 'M', x_of(i + by / 2.0, g->points),
                       BOTTOM - (BOTTOM - TOP) * v / top);
        pen = isfinite(v);
    }
    buf_str(b, "\"/>");
}

static void put_marks(struct buf *b, const struct figures *f)
{
    for (uint32_t i = 0; i < f->n_marks; i++) {
        double x = x_of(f->mark[i].ms / 1000.0, f->n);

        buf_printf(b, "<path class=mark d=\"M%.1f %dV%d\"><title>", x, TOP, BOTTOM);
        graph_text(b, f->mark[i].text);
        buf_str(b, "</title></path>");
    }
}

void graph_put(struct buf *b, const struct figures *f, const struct graph *g)
{
    uint32_t by = (g->points + MOST - 1) / MOST;
    double top = highest(f, g, by);

    buf_printf(b, "<figure><figcaption><b>%s</b> (%s)<br>", g->title, g->unit);
    for (unsigned k = 0; k < g->n; k++) {
        buf_printf(b, "<span class=key><i style=\"background:var(--c%u)\"></i>", k % GRAPH_COLOURS);
        graph_text(b, g->s[k].label);
        if (g->s[k].arg > 0)
            buf_printf(b, " %u", g->s[k].arg);
        buf_str(b, "</span>");
    }
    buf_printf(b, "</figcaption><div tabindex=0><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"%s, at most %.4g %s\">", WIDTH, HEIGHT,
               g->title, top, g->unit);
    put_axes(b, f, top);
    for (unsigned k = 0; k < g->n; k++)
        put_curve(b, f, g, k, by, top);
    put_marks(b, f);
    buf_str(b, "</svg></div></figure>\n");
}

void graph_put_limits(struct buf *b, const struct figures *f)
{
    buf_str(b, "<figure><figcaption><b>What limited the releases</b><br>");
    for (unsigned i = 0; i < f->n_why; i++) {
        buf_printf(b, "<span class=key><i style=\"background:var(--c%u)\"></i>", i % GRAPH_COLOURS);
        graph_text(b, f->why[i]);
        buf_str(b, "</span>");
    }
    buf_printf(b, "</figcaption><div tabindex=0><svg viewBox=\"0 0 %d 24\" role=img aria-label=\"what limited the releases\">", WIDTH);
    for (uint32_t i = 0, end; i < f->n; i = end) {
        for (end = i + 1; end < f->n && f->s[end].why == f->s[i].why;)
            end++;
        buf_printf(b, "<rect x=%.1f y=2 width=%.1f height=20 style=\"fill:var(--c%u)\"><title>", x_of(i, f->n),
                   fmax(0.3, x_of(end, f->n) - x_of(i, f->n)), f->s[i].why % GRAPH_COLOURS);
        graph_text(b, f->why[f->s[i].why]);
        buf_printf(b, " from %u to %u s</title></rect>", i, end);
    }
    buf_str(b, "</svg></div></figure>\n");
}

/* graph.h: a graph over the time of a night, as SVG. Pure. */
#ifndef SEGQ_REHEARSE_GRAPH_H
#define SEGQ_REHEARSE_GRAPH_H

#include "rehearse/figures.h"

#define GRAPH_COLOURS 8

struct series {
    const char *label;
    /* Value at a second, or in a bin; NAN: none. */
    double (*at)(const struct figures *f, uint32_t i, uint32_t arg);
    uint32_t arg;
};

struct graph {
    const char *title, *unit;
    const struct series *s;
    unsigned n;
    uint32_t points; /* seconds, or bins */
};

void graph_put(struct buf *b, const struct figures *f, const struct graph *g);
/* Bars of what limited the releases, second by second. */
void graph_put_limits(struct buf *b, const struct figures *f);
void graph_text(struct buf *b, const char *s); /* for HTML */
/* Styles of both; colours follow the page's variables. */
void graph_style(struct buf *b);

#endif

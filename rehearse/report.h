/* report.h: figures as a table, and as JSON. Pure. */
#ifndef SEGQ_REHEARSE_REPORT_H
#define SEGQ_REHEARSE_REPORT_H

#include "rehearse/figures.h"

/* A night that was played, with its variant: "routers=4"; "". */
struct played {
    char name[64];
    struct night night; /* borrows */
    struct figures f;
};

void report_table(struct buf *b, const struct played *v, size_t n);
void report_json(struct buf *b, const struct played *v, size_t n);
/* 90 s as "1m 30s"; negative: "-". */
void report_span(char out[24], double s);

#endif

/* table.h: rows in columns, as segqctl prints them. Pure. With colours (colour.h) heads are bold, and
 * the words of columns about a state have the colour of what they mean. */
#ifndef SEGQ_CTL_TABLE_H
#define SEGQ_CTL_TABLE_H

#include "common/base/buf.h"

#define TABLE_COLS 13

struct table {
    size_t n_cols, n_cells; /* cells of the header included */
    bool right[TABLE_COLS]; /* right-aligned */
    struct buf text;        /* all cells, each ended by 0; owned */
    size_t width[TABLE_COLS];
};

/* Column heads, one blank between them; '>' before a head: its column is right-aligned.
 */
void table_init(struct table *t, const char *heads);
void table_fini(struct table *t);
void table_cell(struct table *t, const char *fmt, ...) SQ_PRINTF(2, 3);
void table_u64(struct table *t, uint64_t v);
size_t table_rows(const struct table *t); /* without the heads */
/* Appends all rows, heads first, each behind `indent` blanks. */
void table_print(const struct table *t, struct buf *b, size_t indent);
/* Printed, or `none` if it has no rows; and its end. */
void table_put(struct buf *b, struct table *t, const char *none);

#endif

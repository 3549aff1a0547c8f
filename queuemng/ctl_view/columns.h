/* columns.h: answers as rows in columns, and colours. Pure, but for one switch of the process: whether
 * there are colours at all.
 *
 * A view is a list of columns: the head, the member of a row (a JSON object), its format (text.h):
 *
 *   { "NODE", "name", .put = put_text }, { ">CPU", "load.cpu", .put = put_cpu },
 *   { "STATE", "up", EITHER("up", "down") }
 *
 * What a format cannot say of a row alone, the view adds to the row as a member. With colours heads
 * are bold, and the words of columns about a state have the colour of what they mean. */
#ifndef SEGQ_CTL_COLUMNS_H
#define SEGQ_CTL_COLUMNS_H

#include "queuemng/ctl_view/text.h"

#define TABLE_COLS 13

struct col {
    const char *head; /* '>' before it: the column is right-aligned */
    const char *path; /* NULL: the format knows it */
    put_fn put;       /* NULL: the member is a truth, with these words */
    const char *yes, *no;
    enum { ALWAYS, IF_NUMBER, IF_POSITIVE } only; /* else the cell is "-" */
};

#define EITHER(a_yes, a_no) .yes = a_yes, .no = a_no

struct table {
    const struct col *cols;
    size_t n_cols, n_rows;
    struct buf text; /* all cells, heads first, each ended by 0; owned */
    size_t width[TABLE_COLS];
};

void table_init(struct table *t, const struct col *cols, size_t n_cols);
void table_row(struct table *t, const json_t *row);
/* All rows, heads first, each behind `indent` blanks; or `none` (NULL: the heads), if there are none.
 * Ends the table. */
void table_put(struct buf *b, struct table *t, size_t indent, const char *none);
/* The same of a list. */
void table_list(struct buf *b, const json_t *list, const struct col *cols, size_t n_cols,
                const char *none);
#define TABLE_LIST(b, list, cols, none) table_list(b, list, cols, ARRAY_LEN(cols), none)

/* Load of a process; "-" if it has not said. CPU: a share of one core, so that 130 % are one core and a
 * third of another; LATE: the longest delay of a turn of a node's loop. */
void put_cpu(struct buf *b, const json_t *o, const char *path);
void put_memory(struct buf *b, const json_t *o, const char *path);
void put_us(struct buf *b, const json_t *o, const char *path);
#define LOAD_COLS                                           \
    { ">CPU", "load.cpu", .put = put_cpu, .only = IF_NUMBER }, \
    { ">MEMORY", "load.rss_bytes", .put = put_memory, .only = IF_POSITIVE }
#define NODE_LOAD_COLS LOAD_COLS, { ">LATE", "load.late_us", .put = put_us, .only = IF_POSITIVE }

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD };

void colours_on(bool on); /* at first they are off */
/* Appends the text, in its colour if there are any. */
void colour_put(struct buf *b, enum colour colour, const char *text);

#endif

/* columns.h: answers as rows in columns, in colours; or as YAML. Pure, but for one switch of the process:
 * whether there are colours at all.
 *
 * A view is a list of columns: the head, and a sentence about a row (a JSON object; text.h), or
 * a member and the function that writes it:
 *
 *   COL("NODE", "{name}"), COL("STATE", "{?up:up|down}"), COL(">CPU", "load.cpu", put_cpu)
 *
 * What neither can say of a row alone, the view adds to the row as a member. With colours heads
 * are bold, and the words of columns about a state have the colour of what they mean. */
#ifndef SEGQ_CTL_COLUMNS_H
#define SEGQ_CTL_COLUMNS_H

#include <jansson.h>

#include "common/base/buf.h"
#include "queuemng/ctl_view/text.h"

#define TABLE_COLS 16

typedef void (*put_fn)(struct buf *b, const json_t *row, const char *path);

struct col {
    const char *head; /* '>' before it: the column is right-aligned */
    const char *cell; /* a sentence; with `put`: a path */
    put_fn put;
    enum { ALWAYS, IF_NUMBER, IF_POSITIVE } only; /* with `put`: else the cell is "-" */
    bool if_any; /* the last column alone: left out if no row has anything in it */
};

#define COL(...) { .head = __VA_ARGS__ }
/* The last column of a list of processes. */
#define COL_REGION { .head = "REGION", .cell = "{?region:{region}{?zone:/{zone}}}", .if_any = true }

struct table {
    const struct col *cols;
    size_t n_cols, n_rows;
    struct buf text; /* all cells, heads first, each ended by 0; owned */
    size_t width[TABLE_COLS];
    bool said; /* something is in the last column */
};

void table_init(struct table *t, const struct col *cols, size_t n_cols);
void table_row(struct table *t, const json_t *row);
/* A row with one member more; takes v. */
void table_row_with(struct table *t, const json_t *row, const char *member, json_t *v);
/* All rows, heads first, each behind `indent` blanks; or `none` (NULL: the heads), if there are
 * none. Ends the table. */
void table_put(struct buf *b, struct table *t, size_t indent, const char *none);
void view_away(struct buf *b, const json_t *doc); /* partitions of tasks that did not answer */
/* The same of a list in an answer, and view_away(). */
void table_list(struct buf *b, const json_t *doc, const char *list, const struct col *cols,
                size_t n_cols,
                const char *none);
/* Defines a view that is nothing else: LIST_VIEW(view_x, "xs", "no xs\n", columns...). */
#define LIST_VIEW(view, list, none, ...)                         \
    void view(struct buf *b, const json_t *doc)                  \
    {                                                            \
        static const struct col cols[] = { __VA_ARGS__ };        \
                                                                 \
        table_list(b, doc, list, cols, ARRAY_LEN(cols), none);   \
    }
/* The same of a sentence about the answer. */
#define SAYS_VIEW(view, sentence)               \
    void view(struct buf *b, const json_t *doc) \
    {                                           \
        ctl_say(b, doc, sentence);              \
    }

/* Load of a process; "-" if it has not said. CPU: a share of one core, so that 130 % are one
 * core and a third of another; LATE: the longest delay of a turn of a node's loop. */
void put_cpu(struct buf *b, const json_t *o, const char *path);
void put_memory(struct buf *b, const json_t *o, const char *path);
void put_us(struct buf *b, const json_t *o, const char *path);
#define LOAD_COLS                                \
    COL(">CPU", "load.cpu", put_cpu, IF_NUMBER), \
    COL(">MEMORY", "load.rss_bytes", put_memory, IF_POSITIVE)
#define NODE_LOAD_COLS LOAD_COLS, COL(">LATE", "load.late_us", put_us, IF_POSITIVE)

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD };

void colours_on(bool on); /* at first they are off */
/* Appends the text, in its colour if there are any. */
void colour_put(struct buf *b, enum colour colour, const char *text);

/* Writes rates in units: "100000/minute,2000000/day"; "any". */
void view_unit_rates(struct buf *b, const json_t *row, const char *path);

/* Writes a document as YAML, by libyaml, its members in their order: what is no text as YAML 1.1 reads it
 * is quoted. False: no memory. */
SQ_CHECK bool yaml_put(struct buf *b, const json_t *doc);

#endif

/* columns.h: the engine of views: sentences about an object of an answer, lists as rows in columns.
 * Pure.
 *
 * A view is a list in an answer, and for each column its heading and a cell: where in the row it is,
 * in which format. To add one:
 *
 *   LIST_VIEW(view_nodes, "nodes", "no nodes\n", COL("NODE", "{name}"),
 *             COL("STATE", "{?up:up|down}"), COL(">CPU", "{+load.cpu:{load.cpu:share}|-}"))
 *
 * its prototype in the header, the command's row (ctl/commands.c), and a text that it prints in a
 * unit test. A view that is a line or two is a SAYS_VIEW. A format that is missing goes into
 * formats[] of columns.c, not into the view. A function adds a member to each row
 * (table_row_with()) only for what no sentence can say: sums over other lists, what rows before had.
 * With colours heads are bold, and the words of columns about a state have the colour of their
 * meaning.
 *
 * A sentence, or a cell, has members in braces, each in the format of the mark behind it:
 *
 *   {queue} has {waiting#} waiting     a text   # 1 204   = 1204   % 2.5   / 2 000/s
 *                                      ! a number, or a text   ^ seconds, ~ milliseconds as "3 s"
 *                                      @ seconds, * milliseconds as a date
 *   {load.cpu:share}                   or in the format of this name:
 *       share 130 %   size 12 MiB   us 1.5 ms   ms 1.5 s   .4g, .1f as printf
 *       lately 2.5/s   change +12/s   counter 2 000/s; below 0 it began anew: -
 *       up: milliseconds as seconds, the last one whole   ago B: seconds since then
 *       took B: the time since B   per B: B had so many   bar B C 20: [##--....] as ctl_bar()
 *       pad 9: so wide   texts a,b   count: how many   json, "json -": null is "-"
 *       plain yes no: a text, a number, or one of the two words
 *   {?up:up|down for {silent_ms~}}     up if that is true, above 0, not empty; else down
 *   {?waiting=1:person|people}         is it that number, or that text? {?n>9:..}, {?n<other:..}
 *   {?name==..current:*}               are the two equal?
 *   {+value:{value%}|-}                is it a number, if only 0?
 *   {!data:{data:json}}                is it there at all?
 *   {&rates, :{units=}/{per}|any}      each element, ", " between them; no element: any. Members of
 *                                      an object are elements with `key` and `value`, {&.:..} those
 *                                      of the object itself
 *
 * Behind `|` may be nothing, and what is said may have cases in it. `waiting+returning` is a sum, for
 * `#`, `=` and a case; `held.0` the first of a list; `..name` begins at what the element is in. */
#ifndef SEGQ_CTL_COLUMNS_H
#define SEGQ_CTL_COLUMNS_H

#include <jansson.h>

#include "common/base/buf.h"
#include "queuemng/ctl_view/text.h"

/* All of the sentence is read each time, and asserted to be one, with the cases that are not said;
 * test_ctl_text says them all. b NULL: it is only read. */
void ctl_say(struct buf *b, const json_t *o, const char *sentence);
void ctl_say_in(struct buf *b, const json_t *o, const json_t *out, const char *sentence); /* out: ".." */

/* Writes an answer. */
typedef void ctl_view(struct buf *b, const json_t *doc);

#define TABLE_COLS 16

struct col {
    const char *head; /* '>' before it: the column is right-aligned */
    const char *cell; /* a sentence */
    bool if_any;      /* the last column alone: left out if no row has anything in it */
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
/* out: what ".." is in the sentences: the answer, or the object that the row is a part of. */
void table_row(struct table *t, const json_t *row, const json_t *out);
/* A row with one member more; takes v. */
void table_row_with(struct table *t, const json_t *row, const char *member, json_t *v);
/* All rows, heads first, each behind `indent` blanks; or `none` (NULL: the heads), if there are
 * none. Ends the table. */
void table_put(struct buf *b, struct table *t, size_t indent, const char *none);

/* Partitions of tasks that did not answer: a line for each node. */
void ctl_say_away(struct buf *b, const json_t *doc);
/* All of a list in an answer (`none` if it is empty, and nobody was away), partitions that are away,
 * and a sentence about the answer. "a/b": the
 * rows are those of the lists b in the elements of a; "a+b": these elements, too. */
void table_list(struct buf *b, const json_t *doc, const char *list, const struct col *cols,
                size_t n_cols, const char *none, const char *then);
/* Defines a view that is nothing else: LIST_VIEW(view_x, "xs", "no xs\n", columns...). */
#define LIST_VIEW(name, list, none, ...) LIST_THEN_VIEW(name, list, none, "", __VA_ARGS__)
#define LIST_THEN_VIEW(name, list, none, then, ...)                  \
    void name(struct buf *b, const json_t *doc)                      \
    {                                                                \
        static const struct col cols[] = { __VA_ARGS__ };            \
                                                                     \
        table_list(b, doc, list, cols, ARRAY_LEN(cols), none, then); \
    }
/* The same of a sentence about the answer. */
#define SAYS_VIEW(name, sentence)               \
    void name(struct buf *b, const json_t *doc) \
    {                                           \
        ctl_say(b, doc, sentence);              \
    }

/* Load of a process; "-" if it has not said. CPU: a share of one core, so that 130 % are one
 * core and a third of another; LATE: the longest delay of a turn of a node's loop. */
#define LOAD_COLS                                  \
    COL(">CPU", "{+load.cpu:{load.cpu:share}|-}"), \
    COL(">MEMORY", "{?load.rss_bytes:{load.rss_bytes:size}|-}")
#define NODE_LOAD_COLS LOAD_COLS, COL(">LATE", "{?load.late_us:{load.late_us:us}|-}")

#endif

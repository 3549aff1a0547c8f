/* archive.h: the archive of a task node: a line for each task that became final, as a file per day
 * (common/trail). Shell. NULL is fine in all calls but archive_new and archive_end: there is none.
 *
 *   task ends --archive_end--> lines of the turn --archive_written--> trail
 *
 * Lines wait until the turn that ends their tasks is written, so none tells of an end that a restart
 * undoes. A process that is killed in between loses the lines of that turn. */
#ifndef SEGQ_TASK_ARCHIVE_H
#define SEGQ_TASK_ARCHIVE_H

#include "common/base/buf.h"
#include "common/task/rules.h"
#include "common/trail/trail.h"

struct archive;
struct task_end;

struct archive_opts {
    const char *dir, *node;
    uint32_t keep_days;    /* 0: for ever */
    uint64_t buffer_bytes; /* bytes of lines that are not written yet */
};

SQ_CHECK int archive_new(struct archive **out, const struct archive_opts *o, struct err *e);
/* Writes what there is, once; waits for the disk. */
void archive_free(struct archive *a);
/* tasktab_opts.ended. */
void archive_end(void *archive, const struct task_end *end);
/* The turn was written: its lines go. */
void archive_written(struct archive *a);
/* Undoes that: it was not. */
void archive_forget(struct archive *a);
/* The turn has lines. */
bool archive_waits(const struct archive *a);
/* They are the caller's, who puts them back when the turn is written. lines: empty. */
void archive_take(struct archive *a, struct buf *lines);
void archive_put(struct archive *a, struct buf *lines);
/* Drops lines of tasks of that partition: their ends were not written. */
void archive_drop_part(struct buf *lines, part_no part);
void archive_tick(struct archive *a, int64_t wall_ms);
void archive_count(const struct archive *a, struct trail_counts *n);

#endif

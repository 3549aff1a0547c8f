/* trail.h: lines of JSON about what happened, as a file per day, written beside the loop. Shell.
 *
 *   line into a chunk --full, or a tick--> thread --write--> today's file
 *   (the loop's thread)                    (may wait for the disk)
 *
 * The loop's thread never waits: chunks are handed over without a lock, and there is a fixed
 * number of them. While the disk is slow or full they fill; lines that find no room are
 * counted, and a line of the caller's (o.gap) says so as soon as there is room again. This thread
 * is the only one of a process: a write to a disk can block, whatever its descriptor says, and no
 * trail is worth a single late poll. It touches nothing but chunks and files.
 *
 * Lost when the process is killed: what the last tick has not handed over (100 ms) and what
 * the disk has not taken yet. Nothing is synced: a power cut takes what the kernel had not
 * written back. */
#ifndef SEGQ_TRAIL_H
#define SEGQ_TRAIL_H

#include "common/base/err.h"

#define TRAIL_CHUNK_BYTES (64u << 10)

struct trail;

struct trail_gap { /* n lines are missing */
    uint64_t n;
    int64_t since_ms, wall_ms;
};

struct trail_opts {
    const char *name;        /* "audit": of its files, its keys, in the log; a literal */
    const char *dir, *node;
    uint32_t keep_days;      /* 0: for ever */
    uint64_t buffer_bytes;   /* bytes of lines that are not written yet */
    size_t line_max;
    /* Writes the line that says so, into out[line_max]; its length. */
    size_t (*gap)(void *ctx, const struct trail_gap *g, char *out);
    /* NULL, or what else the thread does, a slice at a time; false: nothing (more). */
    bool (*work)(void *ctx, int dir);
    void *ctx;
};

struct trail_counts {
    uint64_t lines, dropped; /* ever */
    uint64_t bytes, failures, removed, cut_bytes; /* counts of files; ever */
    uint64_t waiting_bytes, failing; /* now */
};

/* Rows of metrics: "audit", "the audit trail". */
#define TRAIL_ROWS(ROW, name, says)                                                      \
    ROW(name "_lines_total", COUNTER, lines, "Lines of " says),                          \
    ROW(name "_dropped_lines_total", COUNTER, dropped, "Lines left out: no room for them"), \
    ROW(name "_bytes_total", COUNTER, bytes, "Bytes of " says " written to files"),      \
    ROW(name "_failures_total", COUNTER, failures, "Writes of " says " that failed"),    \
    ROW(name "_failing", GAUGE, failing, "1 while " says " cannot be written"),          \
    ROW(name "_waiting_bytes", GAUGE, waiting_bytes, "Lines that wait for the disk"),    \
    ROW(name "_removed_files_total", COUNTER, removed, "Files of " says " that grew too old"), \
    ROW(name "_cut_bytes_total", COUNTER, cut_bytes, "Half lines cut off the end of files")

SQ_CHECK int trail_new(struct trail **out, const struct trail_opts *o, struct err *e);
/* Writes what there is, once; waits for the disk. NULL is fine, here and below where it says so. */
void trail_free(struct trail *t);
/* Room for a line of that day, to be filled and put before the next call. NULL: there is none, and
 * the line is counted as left out. */
SQ_CHECK char *trail_room(struct trail *t, int64_t wall_ms);
void trail_put(struct trail *t, size_t n);
/* A line that could not be made. */
void trail_leave_out(struct trail *t, int64_t wall_ms);
/* Hands over what there is; says in the log when something is wrong, or well again. NULL is fine. */
void trail_tick(struct trail *t, int64_t wall_ms);
/* Tells that there is other work. */
void trail_wake(struct trail *t);
void trail_count(const struct trail *t, struct trail_counts *n); /* NULL is fine */

#endif

/* audit.h: the audit trail of a segment node: what happened to which ticket, as a file per
 * day (common/trail). Shell. */
#ifndef SEGQ_SEG_AUDIT_AUDIT_H
#define SEGQ_SEG_AUDIT_AUDIT_H

#include "common/base/buf.h"
#include "common/trail/trail.h"
#include "segment/audit/audit_line.h"

/* A ticket's lines in the files of the audit trail, newest first. The trail's
 * own thread looks for them, a slice at a time, so that writing goes on in between.
 *
 * It ends with the line that says how the ticket began (`joined`), at the oldest file, or
 * when it has read or found too much. */

#define AUDIT_FIND_BYTES (1ull << 30) /* read at most */
#define AUDIT_SLICE_BYTES (4u << 20)

struct audit_find {
    int dir;    /* ref */
    int64_t *day; /* owned: of the files, oldest first; those left are day[0 .. n - 1] */
    uint32_t n;
    int fd;       /* owned: of day[n - 1]; -1: not open */
    uint64_t end; /* lines before this offset are left in it */
    char needle[64];
    char *window; /* owned */
    size_t max;   /* bytes of lines that are wanted */
    struct buf lines; /* owned: newest first */
    uint64_t read;
    bool whole; /* nothing was left out */
};

/* false: no memory. */
SQ_CHECK bool audit_find_init(struct audit_find *f, int dir, struct ticket_id id, size_t max);
void audit_find_fini(struct audit_find *f);
/* Reads about a slice; false: there is no more to do. */
SQ_CHECK bool audit_find_step(struct audit_find *f);

/* ---- questions about tickets, answered in the trail's thread ---- */

struct audit_ask {
    uint64_t ask; /* these two are the asker's business */
    uint32_t peer;
    struct ticket_id id;
    size_t max; /* bytes of lines */
};

struct audit_found {
    struct audit_ask ask;
    struct buf lines; /* newest first; the receiver's */
    bool whole;
    uint64_t read;
};

struct audit;

struct audit_opts {
    const char *dir, *node; /* copied */
    enum audit_subject subject;
    uint32_t keep_days;    /* 0: for ever */
    uint64_t buffer_bytes; /* bytes of lines that are not written yet */
    int64_t wall_ms;       /* now */
};

SQ_CHECK int audit_new(struct audit **out, const struct audit_opts *o, struct err *e);
/* Writes what there is, once; waits for the disk. NULL is fine, here and below. */
void audit_free(struct audit *a, int64_t wall_ms);
/* struct segtab_opts.audit. */
void audit_put(void *audit, const struct audit_event *e);
/* Hands over what there is; says in the log when something is wrong, or well again. */
void audit_tick(struct audit *a, int64_t wall_ms);
/* Looks for a ticket's lines; what was found comes with audit_found() some time later.
 * false: too many questions already. */
SQ_CHECK bool audit_look(struct audit *a, const struct audit_ask *q, int64_t wall_ms);
SQ_CHECK bool audit_found(struct audit *a, struct audit_found *f); /* false: nothing yet */
void audit_count(const struct audit *a, struct trail_counts *n);

#endif

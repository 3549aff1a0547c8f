/* audit.h: the audit trail of a segment node: what happened to which ticket, as a file per
 * day. Shell.
 *
 *   segtab --event--> line into a chunk --full, or a tick--> thread --write--> today's file
 *                     (the loop's thread)                    (may wait for the disk)
 *
 * The loop's thread never waits: chunks are handed over without a lock, and there is a fixed
 * number of them. While the disk is slow or full they fill; lines that find no room are
 * counted, and a `gap` line says so as soon as there is room again. This thread is the only
 * one of the project: a write to a disk can block, whatever its descriptor says, and the
 * trail is not worth a single late poll. It touches nothing but chunks and files.
 *
 * Lost when the process is killed: what the last tick has not handed over (100 ms) and what
 * the disk has not taken yet. Nothing is synced: a power cut takes what the kernel had not
 * written back. */
#ifndef SEGQ_AUDIT_H
#define SEGQ_AUDIT_H

#include "common/base/err.h"
#include "segment/audit/audit_desk.h"
#include "segment/audit/audit_line.h"

#define AUDIT_CHUNK_BYTES (64u << 10)

struct audit;

struct audit_opts {
    const char *dir, *node; /* copied */
    enum audit_subject subject;
    uint32_t keep_days;    /* 0: for ever */
    uint64_t buffer_bytes; /* of lines that are not written yet */
    int64_t wall_ms;       /* now */
};

struct audit_counts {
    uint64_t lines, dropped; /* ever */
    uint64_t bytes, failures, removed, cut_bytes; /* of files; ever */
    uint64_t waiting_bytes, failing; /* now */
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
void audit_count(const struct audit *a, struct audit_counts *n);

#endif

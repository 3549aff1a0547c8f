/* audit.h: the audit trail of a segment node: what happened to which ticket, as a file per
 * day (common/trail). Shell. */
#ifndef SEGQ_SEG_AUDIT_AUDIT_H
#define SEGQ_SEG_AUDIT_AUDIT_H

#include "common/trail/trail.h"
#include "segment/audit/audit_find.h"
#include "segment/audit/audit_line.h"

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

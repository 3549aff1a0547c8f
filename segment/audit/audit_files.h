/* audit_files.h: the files of the audit trail: one per day (UTC), in a folder of the node.
 * Shell; used by the trail's own thread only, and knows no clock: days come with the lines.
 *
 *   <dir>/<node>/audit-2026-11-21.jsonl     0640, whole lines only
 *
 * After any failure the file is closed; when it is opened again, half a line at its end (of
 * a full disk, or of a process that was killed in the middle) is cut off. */
#ifndef SEGQ_AUDIT_FILES_H
#define SEGQ_AUDIT_FILES_H

#include "common/base/err.h"
#include "segment/audit/audit_line.h"

#define AUDIT_FILE_NAME_LEN 22 /* "audit-2026-11-21.jsonl" */

struct audit_files {
    int dir, fd; /* owned; -1: none */
    char day[AUDIT_DAY_LEN + 1]; /* of fd */
    uint64_t cut_bytes;
};

/* Makes the folders `dir` and `dir/node`. Closed by fini, also after a failure. */
SQ_CHECK int audit_files_init(struct audit_files *f, const char *dir, const char *node,
                              struct err *e);
void audit_files_fini(struct audit_files *f);
/* p: whole lines of audit_line(), at least one, all of one day. 0 or -errno; *done: bytes of
 * whole lines that are written. */
SQ_CHECK int audit_files_put(struct audit_files *f, const char *p, size_t n, size_t *done);
/* Removes the files of days before `first` (days since 1970); how many. */
SQ_CHECK uint64_t audit_files_clean(struct audit_files *f, int64_t first);
/* The day of a file with this name; -1: it is none of ours. */
SQ_CHECK int64_t audit_file_day(const char *name);
/* Into out[AUDIT_FILE_NAME_LEN + 1]. */
void audit_file_name(int64_t day, char *out);
/* The days of the files in the folder, in no order; *v is the caller's. false: not all of them,
 * the folder cannot be read or there is no memory. */
SQ_CHECK bool audit_files_days(int dir, int64_t **v, uint32_t *n);

#endif

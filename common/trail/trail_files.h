/* trail_files.h: the files of a trail: one per day (UTC), in a folder of the node. Shell; used by
 * the trail's own thread only, and knows no clock: days come with the lines.
 *
 *   <dir>/<node>/<name>-2026-11-21.jsonl     0640, whole lines only
 *
 * After any failure the file is closed; when it is opened again, half a line at its end (of
 * a full disk, or of a process that was killed in the middle) is cut off. */
#ifndef SEGQ_TRAIL_FILES_H
#define SEGQ_TRAIL_FILES_H

#include "common/base/err.h"
#include "common/trail/trail_line.h"

#define TRAIL_FILE_NAME_MAX 40 /* "archive-2026-11-21.jsonl" */

struct trail_files {
    const char *name; /* ref: how their names begin */
    int dir, fd;      /* owned; -1: none */
    int64_t day;      /* day of fd */
    uint64_t cut_bytes;
};

/* Makes the folders `dir` and `dir/node`. Closed by fini, also after a failure. */
SQ_CHECK int trail_files_init(struct trail_files *f, const char *name, const char *dir,
                              const char *node, struct err *e);
void trail_files_fini(struct trail_files *f);
/* p: whole lines of this day (since 1970), at least one. 0 or -errno; *done: bytes of whole lines
 * that are written. */
SQ_CHECK int trail_files_put(struct trail_files *f, int64_t day, const char *p, size_t n,
                             size_t *done);
/* Removes the files of days before `first`; how many. */
SQ_CHECK uint64_t trail_files_clean(struct trail_files *f, int64_t first);
/* The day of this file of the trail `name`; -1: it is none of its. */
SQ_CHECK int64_t trail_file_day(const char *name, const char *file);
/* Into out[TRAIL_FILE_NAME_MAX + 1]. */
void trail_file_name(const char *name, int64_t day, char *out);
/* The days of its files in the folder, in no order; *v is the caller's. false: not all of them,
 * the folder cannot be read or there is no memory. */
SQ_CHECK bool trail_files_days(int dir, const char *name, int64_t **v, uint32_t *n);

#endif

/* trail_files.h: lines of a trail (pure), and its files: one per day (UTC), in a folder of the node. Shell; used by
 * the trail's own thread only, and knows no clock: days come with the lines.
 *
 *   <dir>/<node>/<name>-2026-11-21.jsonl     0640, whole lines only
 *
 * After any failure the file is closed; when it is opened again, half a line at its end (of
 * a full disk, or of a process that was killed in the middle) is cut off. */
#ifndef SEGQ_TRAIL_FILES_H
#define SEGQ_TRAIL_FILES_H

#include <string.h>

#include "common/base/base.h"
#include "common/base/err.h"
#include "common/base/text.h"

/* A line of a trail: one JSON object, member by member.
 *
 * The caller has room for all of it: six bytes for each of a text, two quotes, and the keys; the last
 * number may touch DECIMAL_ROOM bytes. */

struct jline {
    char *p;  /* where the next byte goes */
    bool any; /* a member was written: the next needs a comma */
};

static inline void jline_raw(struct jline *o, const char *s, size_t n)
{
    memcpy(o->p, s, n);
    o->p += n;
}

/* Inline: the keys are literals, and become a few moves. */
static inline __attribute__((always_inline)) void jline_name(struct jline *o, const char *s)
{
    *o->p++ = o->any ? ',' : '{';
    *o->p++ = '"';
    jline_raw(o, s, strlen(s));
    jline_raw(o, "\":", 2);
    o->any = true;
}

static inline void jline_u64(struct jline *o, const char *key, uint64_t v)
{
    jline_name(o, key);
    o->p = text_u64(o->p, v);
}

/* At most six characters for each byte; what is not UTF-8 (or is 0, which not every reader
 * takes) is shown as U+FFFD. */
void jline_quoted(struct jline *o, const char *text, size_t n);

static inline __attribute__((always_inline)) void jline_text(struct jline *o, const char *key,
                                                            const char *s, size_t n)
{
    jline_name(o, key);
    jline_quoted(o, s, n);
}

void jline_moment(struct jline *o, const char *key, int64_t wall_ms);

static inline void jline_end(struct jline *o)
{
    jline_raw(o, "}\n", 2);
}

/* ---- days and moments (UTC) as text, as the lines and files of a trail have them ---- */

#define TRAIL_DAY_MS   86400000ll
#define TRAIL_DAY_LEN  10 /* "2026-11-21" */
#define TRAIL_TIME_LEN 24 /* "2026-11-21T09:30:00.000Z" */

/* The day into out[TRAIL_DAY_LEN + 1]. */
void trail_day(int64_t wall_ms, char *out);
/* Days since 1970; -1: not the text of a day. */
SQ_CHECK int64_t trail_day_parse(const char *text, size_t len);

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

/* trail_line.h: a line of a trail: one JSON object, member by member. Pure.
 *
 * The caller has room for all of it: six bytes for each of a text, two quotes, and the keys; the last
 * number may touch DECIMAL_ROOM bytes. */
#ifndef SEGQ_TRAIL_LINE_H
#define SEGQ_TRAIL_LINE_H

#include <string.h>

#include "common/base/base.h"
#include "common/base/text.h"

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
/* Writes the moment, TRAIL_TIME_LEN bytes; their end. */
char *trail_time(char *p, int64_t wall_ms);

#endif

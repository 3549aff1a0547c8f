/* subject_text.h: what is kept of a ticket beside its place, as one text: its subject, or a key, and
 * what its pass is bound to. Pure. */
#ifndef SEGQ_SUBJECT_TEXT_H
#define SEGQ_SUBJECT_TEXT_H

#include "common/ticket/bound.h"

/* A subject that begins with this byte, which no name has, is no name: it stands for the
 * Idempotency-Key of a join, is in no pass, and is forgotten once its ticket is polled a
 * while later. A node of an older release keeps it like a name, and passes say it. */
#define SUBJECT_KEY_MARK '\x01'
/* A subject that begins with this byte has a head before its name (which may be empty): this byte, a
 * length, and so many bytes of bound.h. Nodes up to 0.1 do not know it. */
#define SUBJECT_BOUND_MARK '\x02'
#define SUBJECT_HEAD_MAX   (2 + BOUND_MAX)
#define SUBJECT_TEXT_MAX   (SUBJECT_HEAD_MAX + SUBJECT_MAX_LEN)
_Static_assert(SUBJECT_TEXT_MAX <= UINT8_MAX, "lengths of subjects are bytes");

/* Bytes before the name. */
static inline size_t subject_head(const char *s, size_t n)
{
    size_t head = n >= 2 && s[0] == SUBJECT_BOUND_MARK ? 2u + (uint8_t)s[1] : 0;

    return head <= n ? head : 0;
}

static inline bool subject_has_name(const char *s, size_t n)
{
    return n > subject_head(s, n);
}

static inline bool subject_is_key(const char *s, size_t n)
{
    size_t head = subject_head(s, n);

    return n > head && s[head] == SUBJECT_KEY_MARK;
}

#endif

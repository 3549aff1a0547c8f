/* json_scan.h: strangers' JSON, read where it lies: values as the bytes that they are, strings
 * decoded in place, objects and lists member by member. Pure.
 * RFC 8259, strictly: UTF-8, no NUL, no trailing commas, nested at most JSON_SCAN_DEPTH deep. What
 * is wrong is said once, in `why`, and every call after it returns false. */
#ifndef SEGQ_JSON_SCAN_H
#define SEGQ_JSON_SCAN_H

#include "common/base/text.h"

#define JSON_SCAN_DEPTH 32 /* with what was entered */

struct json_scan {
    char *p, *end;   /* borrowed */
    unsigned depth;  /* objects and lists that were entered */
    const char *why; /* NULL: nothing is wrong so far */
    bool deep;       /* nested too deeply: that is what is wrong */
};

static inline void json_scan_init(struct json_scan *s, struct slice text)
{
    *s = (struct json_scan){ .p = text.p, .end = text.p + text.n };
}

/* The next byte that is no blank; '\0': the end. */
static inline char json_scan_peek(struct json_scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
    return (char)(s->p < s->end ? *s->p : '\0');
}

/* Only blanks are left. */
static inline bool json_scan_ends(struct json_scan *s)
{
    (void)json_scan_peek(s);
    return s->why == NULL && s->p == s->end;
}

/* A text of one value, which is not nested too deeply. */
bool json_scan_is_whole(struct slice text);
/* Any value; raw: its bytes, as they stand. */
bool json_scan_value(struct json_scan *s, struct slice *raw);
/* A string; text: what it means, UTF-8 without NUL. */
bool json_scan_text(struct json_scan *s, struct slice *text);
/* An object ('{') or a list ('[') begins. */
bool json_scan_enter(struct json_scan *s, char bracket);
/* The next member of an object, then its value must be read; false: it is over, or wrong.
 * *first: true before the first call. */
bool json_scan_member(struct json_scan *s, bool *first, struct slice *name);
/* Likewise of a list. */
bool json_scan_item(struct json_scan *s, bool *first);

#endif

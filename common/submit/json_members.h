/* json_members.h: an object of a stranger's JSON, read by a table: of each member its name, how it
 * is read, where it goes, its range, and a sentence for one that is unfit. Pure.
 * Strict: a member that is unknown, unfit for the request, or there twice is refused by its name,
 * with the range that it has, or the name that was perhaps meant; where JSON_OTHERS is the last
 * row, unknown ones are passed over (at most JSON_MEMBERS_MAX, each once). Times are "500ms",
 * "2s", "30m", "1h", "7d", or a number of seconds; a moment is a number of Unix seconds. Parts of a
 * millisecond are rounded up: nothing is early. */
#ifndef SEGQ_SUBMIT_JSON_MEMBERS_H
#define SEGQ_SUBMIT_JSON_MEMBERS_H

#include "common/json/json_scan.h"

#define JSON_MEMBERS_MAX 64 /* a bit for each */

struct body_error {
    char text[160]; /* "": none */
    bool too_large; /* a payload or a result */
};

enum json_range { RANGE_UNSAID, RANGE_NUMBER, RANGE_TIME, RANGE_BYTES }; /* how a sentence ends */

struct json_member;
/* Reads a whole value, fit or not. False: it is unfit, or s->why. */
typedef bool (*json_read)(const struct json_member *m, struct json_scan *s, void *to);

struct json_member {
    const char *name;
    size_t offset; /* in the struct that is filled */
    int64_t least, most;
    json_read read;
    enum json_range range;
    const char *const *words; /* json_word(): `most` of them */
    const char *must; /* " must be ..."; the range may follow. NULL: within another, which says it */
};

#define JSON_OTHERS { .name = NULL }

/* Reads an object at s; may: a bit for each of the n members. *has: what was there; what was not is
 * as it was. False: *e says why; the scan may go on behind the object if it is JSON (s->why NULL). */
SQ_CHECK bool json_members(const struct json_member *v, int n, uint64_t may, struct json_scan *s,
                           void *to, uint64_t *has, struct body_error *e);
/* The same of an object that is a value: what is wrong within it says its own member's sentence. */
SQ_CHECK bool json_members_within(const struct json_member *v, int n, struct json_scan *s, void *to,
                                  uint64_t *has);
/* The same of a whole text, which is one object. */
SQ_CHECK bool json_members_whole(const struct json_member *v, int n, uint64_t may,
                                 struct slice text, void *to, uint64_t *has, struct body_error *e);
/* Notes "BEFORE NAME AFTER"; the name may be a stranger's. Always false. */
bool json_say(struct body_error *e, const char *before, struct slice name, const char *after);

/* ---- values; *to: struct slice, int64_t, or bool ---- */
bool json_value(const struct json_member *m, struct json_scan *s, void *to); /* any; its bytes */
bool json_text(const struct json_member *m, struct json_scan *s, void *to);
bool json_visible(const struct json_member *m, struct json_scan *s, void *to); /* task_text_ok() */
bool json_words(const struct json_member *m, struct json_scan *s, void *to); /* no controls */
bool json_word(const struct json_member *m, struct json_scan *s, void *to);  /* number of the word */
bool json_whole(const struct json_member *m, struct json_scan *s, void *to);
bool json_moment(const struct json_member *m, struct json_scan *s, void *to);
bool json_span(const struct json_member *m, struct json_scan *s, void *to);
bool json_truth(const struct json_member *m, struct json_scan *s, void *to);

/* A list of m->least to m->most strings, each of which `take` takes; behind one that it refuses, or that
 * is no string, the others are passed over: false. */
bool json_list(const struct json_member *m, struct json_scan *s, void *to,
               bool (*take)(void *to, struct slice one));

/* A string; another value is passed over: false. */
bool json_string_or_skip(struct json_scan *s, struct slice *t);
/* Visible ASCII, which answers and logs may repeat. */
bool task_text_ok(struct slice t);

#endif

/* body.c: see body.h. */
#include "common/submit/body.h"

#include <string.h>

#include "common/base/text.h"
#include "common/json/json_point.h"
#include "common/task/call.h"
#include "common/task/rules.h"

/* ---- members of their own kind ---- */

/* Checks that it may stand in a path. */
static bool read_name(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return json_visible(m, s, to) && memchr(v->p, '/', v->n) == NULL;
}

static bool read_type(const struct json_member *m, struct json_scan *s, void *to)
{
    const struct slice *v = to;

    return json_words(m, s, to) && payload_type_ok(v->p, v->n);
}

bool task_key_ok(struct slice key)
{
    const char *slash = key.n > 0 ? memchr(key.p, '/', key.n) : NULL;
    size_t first = slash != NULL ? (size_t)(slash - key.p) : key.n;
    size_t rest = key.n - first - (slash != NULL);

    return task_text_ok(key) && first > 0 && first <= TASK_NAME_MAX &&
           (slash == NULL || (rest > 0 && rest <= TASK_NAME_MAX && memchr(slash + 1, '/', rest) == NULL));
}

static bool read_key(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return json_visible(m, s, to) && task_key_ok(*v);
}

/* Each is kept as the value + 1. */
static bool read_retry(const struct json_member *m, struct json_scan *s, void *to)
{
#define PART(member, how, most) { #member, offsetof(struct task_retry, member), 0, most, .read = json_##how }
    static const struct json_member parts[] = {
        PART(min, span, BACKOFF_MAX), PART(max, span, BACKOFF_MAX), PART(doublings, whole, 30),
        PART(jitter, whole, 100),
    };
#undef PART
    uint64_t has = 0;
    bool good = json_members_within(parts, ARRAY_LEN(parts), s, to, &has);

    (void)m;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        *(int64_t *)(void *)((char *)to + parts[i].offset) += has >> i & 1;
    return good;
}

/* The key at least. */
static bool read_unique(const struct json_member *m, struct json_scan *s, void *to)
{
    static const char *const lasts[UNIQUE_NWHILES] = { "waiting", "running", "final" };
    static const char *const conflicts[UNIQUE_NCONFLICTS] = { "return", "replace", "reject" };
    const struct json_member parts[] = {
        { "key", offsetof(struct task_unique, key), m->least, m->most, .read = json_visible },
        { "while", offsetof(struct task_unique, lasts), 0, UNIQUE_NWHILES, .read = json_word, .words = lasts },
        { "on_conflict", offsetof(struct task_unique, on_conflict), 0, UNIQUE_NCONFLICTS, .read = json_word,
          .words = conflicts },
    };
    struct task_unique *u = to;
    uint64_t has;

    *u = (struct task_unique){ .lasts = UNIQUE_RUNNING, .on_conflict = UNIQUE_RETURN };
    return json_members_within(parts, ARRAY_LEN(parts), s, to, &has) && u->key.n > 0;
}

/* A list of strings becomes "a,b", written where the list stood. */
static bool read_texts(const struct json_member *m, struct json_scan *s, void *to,
                       bool (*take)(void *to, struct slice one))
{
    *(struct slice *)to = (struct slice){ s->p, 0 };
    return json_list(m, s, to, take);
}

static void put_text(struct slice *all, struct slice one)
{
    if (all->n > 0)
        all->p[all->n++] = ',';
    memmove(all->p + all->n, one.p, one.n);
    all->n += one.n;
}

static bool take_label(void *to, struct slice one)
{
    if (!label_ok(one.p, one.n))
        return false;
    put_text(to, one);
    return true;
}

static bool take_queue(void *to, struct slice one)
{
    if (!queue_name_ok(one.p, one.n))
        return false;
    put_text(to, one);
    return true;
}

static bool read_labels(const struct json_member *m, struct json_scan *s, void *to)
{
    return read_texts(m, s, to, take_label);
}

static bool read_queues(const struct json_member *m, struct json_scan *s, void *to)
{
    return read_texts(m, s, to, take_queue);
}

bool task_body_keeps_or_drops(const struct task_body *b)
{
    return (b->has & WITH(RESULT)) == 0 || slice_is(b->result, "\"keep\"") ||
           slice_is(b->result, "\"drop\"");
}

struct task_own task_body_own(const struct task_body *b, const char *labels)
{
    return (struct task_own){
        .ttl_ms = (b->has & WITH(TTL)) != 0 ? (uint64_t)b->ttl + 1 : 0,
        .max_attempts = (b->has & WITH(MAX_ATTEMPTS)) != 0 ? (uint64_t)b->max_attempts + 1 : 0,
        .retry_min_ms = (uint64_t)b->retry.min,
        .retry_max_ms = (uint64_t)b->retry.max,
        .retry_doublings = (uint64_t)b->retry.doublings,
        .retry_jitter = (uint64_t)b->retry.jitter,
        .max_result = slice_is(b->result, "\"drop\"") ? 0 + 1 : 0,
        .cost = task_own_cost(b->cost),
        .labels = labels,
    };
}

/* ---- the table ---- */

static const char *const verbs[TASK_NVERBS] = { "ack", "nack", "extend" };
static const char *const outcomes[] = { "succeeded", "failed", "dead" };

/* How each kind is read, what it must be, how its range is said, its words. */
#define HOW_value   json_value, RANGE_BYTES, NULL, " is too large: it may be"
#define WAY_OF_LARGE "at most 524288 bytes; a larger one goes by /v1/call with Prefer: respond-async, up to " \
                     "max_body of its pool"
#define HOW_sent      json_text, RANGE_UNSAID, NULL, " must be a string, a body of " WAY_OF_LARGE
#define HOW_sent_json json_value, RANGE_UNSAID, NULL, " is too large: it may be a body of " WAY_OF_LARGE
#define HOW_text    json_text, RANGE_BYTES, NULL, " must be a string"
#define HOW_visible json_visible, RANGE_BYTES, NULL, " must be visible ASCII characters, a string"
#define HOW_words   json_words, RANGE_UNSAID, NULL, \
    " must be a string of at most 200 bytes without control characters"
#define HOW_type    read_type, RANGE_UNSAID, NULL, " must be a Content-Type such as \"image/png\""
#define HOW_whole   json_whole, RANGE_NUMBER, NULL, " must be a whole number"
#define HOW_span    json_span, RANGE_TIME, NULL, \
    " must be a time such as \"500ms\", \"2s\", \"1h\", or seconds"
#define HOW_moment  json_moment, RANGE_UNSAID, NULL, " must be a moment in Unix seconds"
#define HOW_name    read_name, RANGE_UNSAID, NULL, \
    " must be 1 to 64 visible ASCII characters without a slash"
#define HOW_key     read_key, RANGE_UNSAID, NULL, \
    " must be one or two levels (a/b), each of 1 to 64 visible ASCII characters"
#define HOW_retry   read_retry, RANGE_UNSAID, NULL, \
    " must be an object of min, max (times up to a day), doublings (0 to 30), jitter (0 to 100)"
#define HOW_labels  read_labels, RANGE_UNSAID, NULL, \
    " must be a list of up to 4 strings of 1 to 32 visible ASCII characters without a comma"
#define HOW_queues  read_queues, RANGE_UNSAID, NULL, " must be a list of 1 to 7 names of queues"
#define HOW_unique  read_unique, RANGE_UNSAID, NULL, \
    " must be an object of key (1 to 128 visible ASCII characters), while (waiting, running, final), on_conflict (return, replace, reject)"
#define HOW_verb    json_word, RANGE_UNSAID, verbs, " must be \"ack\", \"nack\" or \"extend\""
#define HOW_outcome json_word, RANGE_UNSAID, outcomes, \
    " must be \"succeeded\", \"failed\" or \"dead\""

static const struct json_member members[TASK_NMEMBERS] = {
#define X(NAME, member, how, least, most) \
    [MEMBER_##NAME] = { #member, offsetof(struct task_body, member), least, most, HOW_##how },
    TASK_MEMBERS(X)
#undef X
};

bool task_body_read(struct task_body *b, struct json_scan *s, uint64_t may, struct body_error *e)
{
    *b = (struct task_body){ 0 };
    return json_members(members, TASK_NMEMBERS, may, s, b, &b->has, e);
}

bool task_body_whole(struct task_body *b, struct slice text, uint64_t may, struct body_error *e)
{
    *b = (struct task_body){ 0 };
    *e = (struct body_error){ 0 };
    return text.n == 0 || json_members_whole(members, TASK_NMEMBERS, may, text, b, &b->has, e);
}

static bool is_deep(struct slice body)
{
    struct json_scan s;

    json_scan_init(&s, body);
    return !json_scan_value(&s, &body) && s.deep;
}

enum body_at body_at(struct slice body, uint64_t length, const char *pointer, struct slice *raw)
{
    struct slice p = slice_of(pointer);
    enum json_point rc = length > body.n ? json_point_begin(body, p, raw) : json_point(body, p, raw);

    switch (rc) {
    case JSON_POINT_FOUND:
        return AT_FOUND;
    case JSON_POINT_TWICE:
        return AT_TWICE;
    case JSON_POINT_NO_JSON:
        return length <= body.n && is_deep(body) ? AT_DEEP : AT_NOTHING;
    default:
        return AT_NOTHING;
    }
}

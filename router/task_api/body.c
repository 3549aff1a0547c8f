/* body.c: see body.h. */
#include "router/task_api/body.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

struct rule { /* a row of TASK_MEMBERS */
    const char *name;
    bool (*read)(const struct rule *m, struct json_scan *s, void *to); /* false, s->why NULL: unfit */
    size_t offset;
    int64_t least, most;
    const char *must; /* reason of an unfit one */
};

/* ---- texts ---- */

bool task_text_ok(struct slice t)
{
    for (size_t i = 0; i < t.n; i++)
        if (t.p[i] <= 0x20 || t.p[i] >= 0x7f)
            return false;
    return t.n > 0;
}

static bool fits(const struct rule *m, size_t n)
{
    return n >= (size_t)m->least && n <= (size_t)m->most;
}

static bool read_value(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return json_scan_value(s, v) && fits(m, v->n);
}

/* A member that has to be a string; another value is passed over. */
static bool text_of(struct json_scan *s, struct slice *t)
{
    struct slice other;

    if (json_scan_peek(s) == '"')
        return json_scan_text(s, t);
    (void)json_scan_value(s, &other);
    return false;
}

static bool read_text(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return text_of(s, v) && fits(m, v->n);
}

static bool read_visible(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return text_of(s, v) && fits(m, v->n) && task_text_ok(*v);
}

/* A sentence: anything but control characters. */
static bool read_words(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *v = to;
    bool good = text_of(s, v) && fits(m, v->n);

    for (size_t i = 0; good && i < v->n; i++)
        good = (uint8_t)v->p[i] >= 0x20 && v->p[i] != 0x7f;
    return good;
}

/* Checks that it may stand in a path. */
static bool read_name(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return read_visible(m, s, to) && memchr(v->p, '/', v->n) == NULL;
}

bool task_key_ok(struct slice key)
{
    const char *slash = key.n > 0 ? memchr(key.p, '/', key.n) : NULL;
    size_t first = slash != NULL ? (size_t)(slash - key.p) : key.n;
    size_t rest = key.n - first - (slash != NULL);

    return task_text_ok(key) && first > 0 && first <= TASK_NAME_MAX &&
           (slash == NULL || (rest > 0 && rest <= TASK_NAME_MAX && memchr(slash + 1, '/', rest) == NULL));
}

static bool read_key(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return read_visible(m, s, to) && task_key_ok(*v);
}

bool task_read_word(struct json_scan *s, const char *const *words, int64_t n, int64_t *to)
{
    struct slice t;

    if (!text_of(s, &t))
        return false;
    for (int64_t i = 0; i < n; i++) {
        if (t.n == strlen(words[i]) && memcmp(t.p, words[i], t.n) == 0) {
            *to = i;
            return true;
        }
    }
    return false;
}

static bool read_verb(const struct rule *m, struct json_scan *s, void *to)
{
    static const char *const words[TASK_NVERBS] = { "ack", "nack", "extend" };

    (void)m;
    return task_read_word(s, words, TASK_NVERBS, to);
}

static bool read_outcome(const struct rule *m, struct json_scan *s, void *to)
{
    static const char *const words[] = { "succeeded", "failed", "dead" };

    (void)m;
    return task_read_word(s, words, ARRAY_LEN(words), to);
}

/* ---- numbers ---- */

#define THOUSANDTHS 1000

/* "-12.3456" in units and thousandths of it (rounded up); no exponent. How many bytes; 0: it is
 * none, or too large. */
static size_t decimal(const char *p, size_t n, int64_t *units, int64_t *parts)
{
    bool minus = n > 0 && p[0] == '-';
    size_t i = minus, from = i;
    int64_t v = 0, scale = THOUSANDTHS, more = 0;

    for (; i < n && p[i] >= '0' && p[i] <= '9'; i++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            (minus ? __builtin_sub_overflow(v, p[i] - '0', &v)
                   : __builtin_add_overflow(v, p[i] - '0', &v)))
            return 0;
    if (i == from)
        return 0;
    *parts = 0;
    if (i < n && p[i] == '.') {
        for (i++; i < n && p[i] >= '0' && p[i] <= '9'; i++) {
            scale /= 10;
            *parts += scale * (p[i] - '0');
            more |= scale == 0 && p[i] != '0';
        }
        *parts += more;
        if (minus && *parts != 0)
            return 0;
    }
    *units = v;
    return i;
}

static bool in_range(const struct rule *m, int64_t v, void *to)
{
    if (v < m->least || v > m->most)
        return false;
    *(int64_t *)to = v;
    return true;
}

/* A whole JSON value that is a number. */
static bool read_decimal(struct json_scan *s, int64_t *units, int64_t *parts)
{
    struct slice raw;

    return json_scan_value(s, &raw) && decimal(raw.p, raw.n, units, parts) == raw.n && raw.n > 0;
}

static bool read_whole(const struct rule *m, struct json_scan *s, void *to)
{
    int64_t v, parts;

    return read_decimal(s, &v, &parts) && parts == 0 && in_range(m, v, to);
}

/* units of `unit` ms, and thousandths of one, as ms; rounded up. */
static bool to_ms(int64_t units, int64_t parts, int64_t unit, int64_t *ms)
{
    return !__builtin_mul_overflow(units, unit, ms) &&
           !__builtin_add_overflow(*ms, (parts * unit + THOUSANDTHS - 1) / THOUSANDTHS, ms);
}

static bool read_moment(const struct rule *m, struct json_scan *s, void *to)
{
    int64_t v, parts, ms;

    return read_decimal(s, &v, &parts) && to_ms(v, parts, 1000, &ms) && in_range(m, ms, to);
}

static bool read_span(const struct rule *m, struct json_scan *s, void *to)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
    int64_t v, parts, ms;
    struct slice t;
    size_t n;

    if (json_scan_peek(s) != '"')
        return read_moment(m, s, to);
    if (!json_scan_text(s, &t))
        return false;
    n = decimal(t.p, t.n, &v, &parts);
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(units); i++)
        if (t.n - n == strlen(units[i].name) && memcmp(t.p + n, units[i].name, t.n - n) == 0)
            return to_ms(v, parts, units[i].ms, &ms) && in_range(m, ms, to);
    return false;
}

/* ---- for other bodies ---- */

bool task_read_text(struct json_scan *s, size_t most, struct slice *to)
{
    const struct rule m = { .least = 1, .most = (int64_t)most };

    return read_visible(&m, s, to);
}

bool task_read_span(struct json_scan *s, int64_t least, int64_t most, int64_t *ms)
{
    const struct rule m = { .least = least, .most = most };

    return read_span(&m, s, ms);
}

bool task_read_moment(struct json_scan *s, int64_t most, int64_t *ms)
{
    const struct rule m = { .least = 1, .most = most };

    return read_moment(&m, s, ms);
}

bool task_read_whole(struct json_scan *s, int64_t least, int64_t most, int64_t *v)
{
    const struct rule m = { .least = least, .most = most };

    return read_whole(&m, s, v);
}

/* ---- what a task has of its own ---- */

/* An object of numbers, each at most once. */
static bool read_retry(const struct rule *m, struct json_scan *s, void *to)
{
    static const struct rule parts[] = {
        { "min", read_span, offsetof(struct task_retry, min), 0, BACKOFF_MAX, "" },
        { "max", read_span, offsetof(struct task_retry, max), 0, BACKOFF_MAX, "" },
        { "doublings", read_whole, offsetof(struct task_retry, doublings), 0, 30, "" },
        { "jitter", read_whole, offsetof(struct task_retry, jitter), 0, 100, "" },
    };
    bool first = true, good = json_scan_peek(s) == '{';
    struct slice name;

    (void)m;
    if (!good || !json_scan_enter(s, '{')) {
        (void)json_scan_value(s, &name);
        return false;
    }
    while (json_scan_member(s, &first, &name)) {
        int64_t *at = NULL;
        size_t i = 0;

        while (i < ARRAY_LEN(parts) &&
               (strlen(parts[i].name) != name.n || memcmp(parts[i].name, name.p, name.n) != 0))
            i++;
        if (i < ARRAY_LEN(parts))
            at = (int64_t *)(void *)((char *)to + parts[i].offset);
        if (!good || at == NULL || *at != 0) {
            (void)json_scan_value(s, &name);
            good = false;
            continue;
        }
        good = parts[i].read(&parts[i], s, at);
        ++*at;
    }
    return good;
}

static bool is_named(struct slice name, const char *word)
{
    return name.n == strlen(word) && memcmp(name.p, word, name.n) == 0;
}

/* {"key", "while", "on_conflict"}, each at most once, the key at least. */
static bool read_unique(const struct rule *m, struct json_scan *s, void *to)
{
    static const char *const lasts[UNIQUE_NWHILES] = { "waiting", "running", "final" };
    static const char *const conflicts[UNIQUE_NCONFLICTS] = { "return", "replace", "reject" };
    bool first = true, good = json_scan_peek(s) == '{', is_while, is_conflict;
    struct task_unique *u = to;
    struct slice name;

    if (!good || !json_scan_enter(s, '{')) {
        (void)json_scan_value(s, &name);
        return false;
    }
    *u = (struct task_unique){ .lasts = -1, .on_conflict = -1 };
    while (json_scan_member(s, &first, &name)) {
        is_while = is_named(name, "while") && u->lasts < 0;
        is_conflict = is_named(name, "on_conflict") && u->on_conflict < 0;
        if (good && is_while) {
            good = task_read_word(s, lasts, UNIQUE_NWHILES, &u->lasts);
        } else if (good && is_conflict) {
            good = task_read_word(s, conflicts, UNIQUE_NCONFLICTS, &u->on_conflict);
        } else if (good && is_named(name, "key") && u->key.n == 0) {
            good = read_visible(m, s, &u->key);
        } else {
            (void)json_scan_value(s, &name);
            good = false;
        }
    }
    u->lasts = u->lasts < 0 ? UNIQUE_RUNNING : u->lasts;
    u->on_conflict = u->on_conflict < 0 ? UNIQUE_RETURN : u->on_conflict;
    return good && u->key.n > 0;
}

/* A list of strings becomes "a,b", written where the list stood. */
static bool read_labels(const struct rule *m, struct json_scan *s, void *to)
{
    struct slice *all = to, one;
    bool first = true, good = json_scan_peek(s) == '[';
    int64_t n = 0;
    char *w = s->p;

    if (!good || !json_scan_enter(s, '[')) {
        (void)json_scan_value(s, &one);
        return false;
    }
    all->p = w;
    while (json_scan_item(s, &first)) {
        good = text_of(s, &one) && good && n < m->most && label_ok(one.p, one.n);
        if (!good)
            continue;
        if (n++ > 0)
            *w++ = ',';
        memmove(w, one.p, one.n);
        w += one.n;
    }
    all->n = (size_t)(w - all->p);
    return good;
}

static bool is_word(struct slice json, const char *word)
{
    return json.n == strlen(word) && memcmp(json.p, word, json.n) == 0;
}

bool task_body_keeps_or_drops(const struct task_body *b)
{
    return (b->has & WITH(RESULT)) == 0 || is_word(b->result, "\"keep\"") ||
           is_word(b->result, "\"drop\"");
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
        .max_result = is_word(b->result, "\"drop\"") ? 0 + 1 : 0,
        .labels = labels,
    };
}

/* ---- objects ---- */

#define MUST_value   " is too large: it may be"
#define MUST_text    " must be a string"
#define MUST_key     " must be one or two levels (a/b), each of 1 to 64 visible ASCII characters"
#define MUST_span    " must be a time such as \"500ms\", \"2s\", \"1h\", or seconds"
#define MUST_moment  " must be a moment in Unix seconds"
#define MUST_whole   " must be a whole number"
#define MUST_name    " must be 1 to 64 visible ASCII characters without a slash"
#define MUST_visible " must be visible ASCII characters, a string"
#define MUST_words   " must be a string of at most 200 bytes without control characters"
#define MUST_retry   " must be an object of min, max (times up to a day), doublings (0 to 30), jitter (0 to 100)"
#define MUST_labels  " must be a list of up to 4 strings of 1 to 32 visible ASCII characters without a comma"
#define MUST_unique  " must be an object of key (1 to 128 visible ASCII characters), while (waiting, running, final), on_conflict (return, replace, reject)"
#define MUST_outcome " must be \"succeeded\", \"failed\" or \"dead\""
#define MUST_verb    " must be \"ack\", \"nack\" or \"extend\""

static const struct rule rules[TASK_NMEMBERS] = {
#define X(NAME, member, how, least, most) \
    [MEMBER_##NAME] = { #member, read_##how, offsetof(struct task_body, member), least, most, \
                        MUST_##how },
    TASK_MEMBERS(X)
#undef X
};

static int find(struct slice name)
{
    for (int i = 0; i < TASK_NMEMBERS; i++)
        if (strlen(rules[i].name) == name.n && memcmp(rules[i].name, name.p, name.n) == 0)
            return i;
    return -1;
}

static enum unfit_range range_of(const struct rule *m)
{
    return m->read == read_whole                                                      ? UNFIT_NUMBER
           : m->read == read_span                                                      ? UNFIT_TIME
           : m->read == read_value || m->read == read_text || m->read == read_visible ? UNFIT_BYTES
                                                                                       : UNFIT_PLAIN;
}

static bool unknown(struct body_error *e, struct slice name, uint32_t may)
{
    const char *names[TASK_NMEMBERS];
    size_t n = 0;

    for (int i = 0; i < TASK_NMEMBERS; i++)
        if ((may >> i & 1) != 0)
            names[n++] = rules[i].name;
    return unfit_unknown(e, name, names, n);
}

static bool read_member(struct task_body *b, struct json_scan *s, uint32_t may, struct slice name,
                        struct body_error *e)
{
    struct slice value;
    int i = find(name);

    if (i < 0 || (may >> i & 1) == 0) {
        (void)json_scan_value(s, &value);
        return unknown(e, name, may);
    }
    if ((b->has >> i & 1) != 0) {
        (void)json_scan_value(s, &value);
        return task_body_say(e, "", name, " is there twice");
    }
    b->has |= 1u << i;
    if (rules[i].read(&rules[i], s, (char *)b + rules[i].offset))
        return true;
    e->too_large = rules[i].read == read_value;
    return unfit_member(e, name, rules[i].must, range_of(&rules[i]), rules[i].least, rules[i].most);
}

bool task_body_read(struct task_body *b, struct json_scan *s, uint32_t may, struct body_error *e)
{
    bool first = true, good = true;
    struct slice name;

    *b = (struct task_body){ 0 };
    *e = (struct body_error){ 0 };
    if (json_scan_enter(s, '{')) {
        while (json_scan_member(s, &first, &name)) { /* to its end: others may follow */
            if (good)
                good = read_member(b, s, may, name, e);
            else
                (void)json_scan_value(s, &name);
        }
    }
    if (s->why == NULL)
        return good;
    *e = (struct body_error){ 0 };
    return task_body_say(e, s->why, (struct slice){ 0 }, "");
}

bool task_body_whole(struct task_body *b, struct slice text, uint32_t may, struct body_error *e)
{
    struct json_scan s;

    *b = (struct task_body){ 0 };
    *e = (struct body_error){ 0 };
    if (text.n == 0)
        return true;
    json_scan_init(&s, text);
    if (!task_body_read(b, &s, may, e))
        return false;
    return json_scan_ends(&s) ||
           task_body_say(e, "the body must be one JSON object in UTF-8", (struct slice){ 0 }, "");
}

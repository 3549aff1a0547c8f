/* json_members.c: see json_members.h. */
#include "common/submit/json_members.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

#define NAME_SHOWN 40

/* ---- texts ---- */

bool task_text_ok(struct slice t)
{
    for (size_t i = 0; i < t.n; i++)
        if (t.p[i] <= 0x20 || t.p[i] >= 0x7f)
            return false;
    return t.n > 0;
}

/* slice_is() without a call, for names and words of a join; a text has no NUL. */
static bool is(struct slice t, const char *word)
{
    size_t i = 0;

    while (i < t.n && t.p[i] == word[i])
        i++;
    return i == t.n && word[i] == '\0';
}

static bool fits(const struct json_member *m, size_t n)
{
    return n >= (size_t)m->least && n <= (size_t)m->most;
}

bool json_string_or_skip(struct json_scan *s, struct slice *t)
{
    struct slice other;

    if (json_scan_peek(s) == '"')
        return json_scan_text(s, t);
    (void)json_scan_value(s, &other);
    return false;
}

bool json_value(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return json_scan_value(s, v) && fits(m, v->n);
}

bool json_text(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return json_string_or_skip(s, v) && fits(m, v->n);
}

bool json_visible(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice *v = to;

    return json_string_or_skip(s, v) && fits(m, v->n) && task_text_ok(*v);
}

/* A sentence: anything but control characters. */
bool json_words(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice *v = to;
    bool good = json_string_or_skip(s, v) && fits(m, v->n);

    for (size_t i = 0; good && i < v->n; i++)
        good = (uint8_t)v->p[i] >= 0x20 && v->p[i] != 0x7f;
    return good;
}

bool json_word(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice t;

    if (!json_string_or_skip(s, &t))
        return false;
    for (int64_t i = 0; i < m->most; i++) {
        if (is(t, m->words[i])) {
            *(int64_t *)to = i;
            return true;
        }
    }
    return false;
}

bool json_list(const struct json_member *m, struct json_scan *s, void *to,
               bool (*take)(void *to, struct slice one))
{
    bool first = true, good = json_scan_peek(s) == '[';
    struct slice one;
    int64_t n = 0;

    if (!good || !json_scan_enter(s, '[')) {
        (void)json_scan_value(s, &one);
        return false;
    }
    for (; json_scan_item(s, &first); n++)
        good = json_string_or_skip(s, &one) && good && n < m->most && take(to, one);
    return good && n >= m->least;
}

bool json_truth(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice raw = { 0 };
    bool is = json_scan_value(s, &raw) && slice_is(raw, "true");

    (void)m;
    *(bool *)to = is;
    return is || (s->why == NULL && slice_is(raw, "false"));
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

static bool in_range(const struct json_member *m, int64_t v, void *to)
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

bool json_whole(const struct json_member *m, struct json_scan *s, void *to)
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

bool json_moment(const struct json_member *m, struct json_scan *s, void *to)
{
    int64_t v, parts, ms;

    return read_decimal(s, &v, &parts) && to_ms(v, parts, 1000, &ms) && in_range(m, ms, to);
}

bool json_span(const struct json_member *m, struct json_scan *s, void *to)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };
    int64_t v, parts, ms;
    struct slice t;
    size_t n;

    if (json_scan_peek(s) != '"')
        return json_moment(m, s, to);
    if (!json_scan_text(s, &t))
        return false;
    n = decimal(t.p, t.n, &v, &parts);
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(units); i++)
        if (text_is(t.p + n, t.n - n, units[i].name))
            return to_ms(v, parts, units[i].ms, &ms) && in_range(m, ms, to);
    return false;
}

/* ---- sentences ---- */

bool json_say(struct body_error *e, const char *before, struct slice name, const char *after)
{
    char *w = e->text;

    w = text_str(w, before);
    for (size_t i = 0; i < name.n && i < NAME_SHOWN; i++)
        *w++ = (char)(name.p[i] > 0x20 && name.p[i] < 0x7f ? name.p[i] : '?');
    w = text_str(w, after);
    *w = '\0';
    assert((size_t)(w - e->text) < sizeof(e->text));
    return false;
}

/* In the largest unit that has no rest. */
static char *put_time(char *w, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 } };
    size_t i = 0;

    if (ms == 0)
        return text_str(w, "0");
    while (ms % units[i].ms != 0)
        i++;
    return text_str(text_u64(w, (uint64_t)(ms / units[i].ms)), units[i].name);
}

static char *put_range(char *w, enum json_range kind, int64_t least, int64_t most)
{
    if (kind == RANGE_NUMBER && least == INT64_MIN)
        return text_str(w, " of 64 bits");
    if (kind == RANGE_NUMBER) {
        w = text_u64(text_str(w, " from "), (uint64_t)least);
        return text_u64(text_str(w, " to "), (uint64_t)most);
    }
    if (kind == RANGE_TIME)
        return put_time(text_str(put_time(text_str(w, " from "), least), " to "), most);
    w = text_u64(text_str(w, " of "), (uint64_t)least);
    return text_str(text_u64(text_str(w, " to "), (uint64_t)most), " bytes");
}

/* "priority must be a whole number" and the range behind it: " from 0 to 7". */
static bool unfit(struct body_error *e, const struct json_member *m)
{
    const struct slice name = slice_of(m->name);
    char all[200]; /* a number may touch DECIMAL_ROOM bytes */

    e->too_large = m->read == json_value;
    if (m->range == RANGE_UNSAID)
        return json_say(e, "", name, m->must != NULL ? m->must : "");
    *put_range(text_str(all, m->must), m->range, m->least, m->most) = '\0';
    return json_say(e, "", name, all);
}

/* Names of other queues for a member of ours. */
static const char *meant(const char *typed)
{
    static const char *const words[][2] = {
        { "url", "path" },      { "uri", "path" },      { "target", "path" },  { "data", "payload" },
        { "args", "payload" },  { "message", "payload" }, { "run_at", "at" },  { "eta", "at" },
        { "retries", "max_attempts" }, { "attempts", "max_attempts" }, { "id", "name" },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i][0], typed) == 0)
            return words[i][1];
    return typed;
}

/* "unknown member dealy; did you mean delay?": of the names that the request may have. */
static bool unknown(struct body_error *e, struct slice name, const struct json_member *v, int n,
                    uint64_t may)
{
    char typed[NAME_SHOWN + 1], all[64], *w = all;
    struct near near;

    *w = '\0';
    *text_put(typed, name.p, name.n < NAME_SHOWN ? name.n : NAME_SHOWN) = '\0';
    near = near_to(meant(typed));
    for (int i = 0; i < n; i++)
        if ((may >> i & 1) != 0)
            near_try(&near, v[i].name);
    if (near.name != NULL && strlen(near.name) < NAME_SHOWN) {
        w = text_str(text_str(text_str(w, "; did you mean "), near.name), "?");
        *w = '\0';
    }
    return json_say(e, "unknown member ", name, all);
}

/* ---- objects ---- */

static int find(const struct json_member *v, int n, struct slice name)
{
    for (int i = 0; i < n; i++)
        if (is(name, v[i].name))
            return i;
    return -1;
}

struct others { /* members that were passed over */
    unsigned n;
    struct slice v[JSON_MEMBERS_MAX];
};

static bool pass_over(struct others *o, struct slice name, struct body_error *e)
{
    for (unsigned i = 0; i < o->n; i++)
        if (o->v[i].n == name.n && memcmp(o->v[i].p, name.p, name.n) == 0)
            return json_say(e, "", name, " is there twice");
    if (o->n == JSON_MEMBERS_MAX)
        return json_say(e, "too many unknown members; the first beyond them is ", name, "");
    o->v[o->n++] = name;
    return true;
}

/* others: NULL if an unknown one is refused. */
static bool read_member(const struct json_member *v, int n, uint64_t may, struct slice name,
                        struct json_scan *s, struct others *others, void *to, uint64_t *has,
                        struct body_error *e)
{
    struct slice value;
    int i = find(v, n, name);

    if (i < 0 || (may >> i & 1) == 0) {
        (void)json_scan_value(s, &value);
        return others != NULL ? pass_over(others, name, e) : unknown(e, name, v, n, may);
    }
    if ((*has >> i & 1) != 0) {
        (void)json_scan_value(s, &value);
        return json_say(e, "", name, " is there twice");
    }
    *has |= UINT64_C(1) << i;
    /* An object within may have said more. */
    return v[i].read(&v[i], s, (char *)to + v[i].offset) || (e->text[0] == '\0' && unfit(e, &v[i]));
}

bool json_members(const struct json_member *v, int n, uint64_t may, struct json_scan *s, void *to,
                  uint64_t *has, struct body_error *e)
{
    bool first = true, good = true, open = v[n - 1].name == NULL;
    struct others others;
    struct slice name;

    n -= open;
    others.n = 0;
    assert(n <= JSON_MEMBERS_MAX);
    *has = 0;
    e->too_large = false;
    e->text[0] = '\0';
    if (json_scan_enter(s, '{')) {
        while (json_scan_member(s, &first, &name)) { /* to its end: others may follow */
            if (good)
                good = read_member(v, n, may, name, s, open ? &others : NULL, to, has, e);
            else
                (void)json_scan_value(s, &name);
        }
    }
    if (s->why == NULL)
        return good;
    e->too_large = false;
    return json_say(e, s->why, (struct slice){ 0 }, "");
}

bool json_members_whole(const struct json_member *v, int n, uint64_t may, struct slice text,
                        void *to, uint64_t *has, struct body_error *e)
{
    struct json_scan s;

    json_scan_init(&s, text);
    return json_members(v, n, may, &s, to, has, e) &&
           (json_scan_ends(&s) ||
            json_say(e, "the body must be one JSON object in UTF-8", (struct slice){ 0 }, ""));
}

bool json_members_within(const struct json_member *v, int n, struct json_scan *s, void *to,
                         uint64_t *has)
{
    struct body_error e;

    if (json_scan_peek(s) == '{')
        return json_members(v, n, UINT32_MAX, s, to, has, &e);
    (void)json_scan_value(s, &(struct slice){ 0 });
    return false;
}

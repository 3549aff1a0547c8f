/* audit_line.c: lines are written by hand: a crowd makes a hundred thousand a second, and
 * the thread that makes them has people to serve. */
#include "segment/audit/audit_line.h"

#include <assert.h>
#include <string.h>

#include "common/base/hex.h"
#include "common/base/text.h"

#define DAY_MS 86400000ll

struct out {
    char *p;
    bool any; /* a member was written: the next needs a comma */
};

const char *audit_kind_name(enum audit_kind k)
{
    static const char *const name[] = {
#define X(name, word, why) word,
        AUDIT_EVENTS(X)
#undef X
    };

    return (unsigned)k < AUDIT_NKINDS ? name[k] : "?";
}

static const char *kind_why(enum audit_kind k)
{
    static const char *const why[] = {
#define X(name, word, why) why,
        AUDIT_EVENTS(X)
#undef X
    };

    return (unsigned)k < AUDIT_NKINDS ? why[k] : NULL;
}

/* ---- days ------------------------------------------------------------------------ */

/* Proleptic Gregorian calendar; years count from March, so that a leap day is their last. */
static void civil(int64_t days, int *y, int *m, int *d)
{
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;

    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = (int)(yoe + era * 400 + (*m <= 2));
}

static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    int64_t yy = m <= 2 ? y - 1 : y, era = (yy >= 0 ? yy : yy - 399) / 400;
    int64_t yoe = yy - era * 400, doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static char *put_day(char *p, int64_t days)
{
    int y, m, d;

    civil(days, &y, &m, &d);
    p = text_padded(p, 4, (unsigned)(y < 0 ? 0 : y > 9999 ? 9999 : y));
    *p++ = '-';
    p = text_padded(p, 2, (unsigned)m);
    *p++ = '-';
    return text_padded(p, 2, (unsigned)d);
}

/* A clock before 1970 is nobody's: what it says is told as its beginning. */
void audit_day(int64_t wall_ms, char *out)
{
    *put_day(out, (wall_ms > 0 ? wall_ms : 0) / DAY_MS) = '\0';
}

static bool number(const char *p, unsigned n, int64_t *v)
{
    *v = 0;
    for (unsigned i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        *v = *v * 10 + (p[i] - '0');
    }
    return true;
}

int64_t audit_day_parse(const char *text, size_t len)
{
    char again[AUDIT_DAY_LEN];
    int64_t y, m, d, days;

    if (len != AUDIT_DAY_LEN || text[4] != '-' || text[7] != '-' ||
        !number(text, 4, &y) || !number(text + 5, 2, &m) || !number(text + 8, 2, &d) ||
        y < 1970 || m < 1 || m > 12 || d < 1)
        return -1;
    days = days_of(y, m, d);
    put_day(again, days);
    return memcmp(again, text, AUDIT_DAY_LEN) == 0 ? days : -1; /* 30 February is none */
}

static char *put_time(char *p, int64_t wall_ms)
{
    int64_t at = wall_ms > 0 ? wall_ms : 0, ms = at % DAY_MS;

    p = put_day(p, at / DAY_MS);
    *p++ = 'T';
    p = text_padded(p, 2, (unsigned)(ms / 3600000));
    *p++ = ':';
    p = text_padded(p, 2, (unsigned)(ms / 60000 % 60));
    *p++ = ':';
    p = text_padded(p, 2, (unsigned)(ms / 1000 % 60));
    *p++ = '.';
    p = text_padded(p, 3, (unsigned)(ms % 1000));
    *p++ = 'Z';
    return p;
}

/* ---- members --------------------------------------------------------------------- */

static inline void raw(struct out *o, const char *s, size_t n)
{
    memcpy(o->p, s, n);
    o->p += n;
}

/* Inline: the keys are literals, and become a few moves. */
static inline __attribute__((always_inline)) void name(struct out *o, const char *s)
{
    *o->p++ = o->any ? ',' : '{';
    *o->p++ = '"';
    raw(o, s, strlen(s));
    raw(o, "\":", 2);
    o->any = true;
}

static void put_u64(struct out *o, const char *key, uint64_t v)
{
    name(o, key);
    o->p = text_u64(o->p, v);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Bytes that stand for themselves: mostly all of them. */
static size_t plain_run(const unsigned char *s, size_t n)
{
    size_t i = 0;

    while (i < n && is_plain(s[i]))
        i++;
    return i;
}

/* At most six characters for each byte; what is not UTF-8 (or is 0, which not every reader
 * takes) is shown as U+FFFD. */
static void put_quoted(struct out *o, const char *text, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *s = (const unsigned char *)text;

    *o->p++ = '"';
    for (size_t i = 0, len; i < n; i += len != 0 ? len : 1) {
        len = plain_run(s + i, n - i);
        if (len > 0) {
            raw(o, text + i, len);
            continue;
        }
        len = utf8_len(text + i, n - i);
        if (len == 0) {
            raw(o, "\\ufffd", 6);
        } else if (s[i] == '"' || s[i] == '\\') {
            *o->p++ = '\\';
            *o->p++ = (char)s[i];
        } else if (s[i] < 0x20 || s[i] == 0x7f) {
            raw(o, "\\u00", 4);
            *o->p++ = hex[s[i] >> 4];
            *o->p++ = hex[s[i] & 15];
        } else {
            raw(o, text + i, len);
        }
    }
    *o->p++ = '"';
}

static inline __attribute__((always_inline)) void put_str(struct out *o, const char *key,
                                                          const char *s)
{
    if (s == NULL)
        return;
    name(o, key);
    put_quoted(o, s, strnlen(s, NAME_MAX_LEN));
}

static void put_moment(struct out *o, const char *key, int64_t wall_ms)
{
    name(o, key);
    *o->p++ = '"';
    o->p = put_time(o->p, wall_ms);
    *o->p++ = '"';
}

static void put_ticket(struct out *o, struct ticket_id id)
{
    if (id.seg == 0)
        return;
    name(o, "ticket");
    *o->p++ = '"';
    o->p = text_u64(o->p, id.seg);
    *o->p++ = '-';
    o->p = text_u64(o->p, id.number);
    *o->p++ = '"';
}

static void put_hash(struct out *o, uint64_t h)
{
    name(o, "subject_hash");
    *o->p++ = '"';
    o->p = hex_put(o->p, h);
    *o->p++ = '"';
}

static void put_subject(struct out *o, const struct audit_event *e, enum audit_subject how)
{
    if (e->subject_len == 0 || how == AUDIT_SUBJECT_NONE)
        return;
    if (how == AUDIT_SUBJECT_HASH) {
        put_hash(o, e->subject_hash);
        return;
    }
    name(o, "subject");
    put_quoted(o, e->subject, e->subject_len);
}

static void put_release(struct out *o, const struct audit_event *e)
{
    if (e->tick != 0)
        put_u64(o, "tick", e->tick);
    if (e->again) {
        name(o, "again");
        raw(o, "true", 4);
    }
    if (e->released_ms > 0)
        put_moment(o, "released_at", e->released_ms);
    if (e->expires_s > 0)
        put_moment(o, "expires_at", e->expires_s * 1000);
}

static void put_counts(struct out *o, const struct audit_event *e)
{
    if (e->from != 0)
        put_u64(o, "from", e->from);
    if (e->has_n)
        put_u64(o, "n", e->n);
    if (e->n_released != 0)
        put_u64(o, "n_released", e->n_released);
    if (e->since_ms > 0)
        put_moment(o, "since", e->since_ms);
}

size_t audit_line(const struct audit_event *e, const char *node, enum audit_subject how,
                  char *out)
{
    struct out o = { .p = out };

    put_moment(&o, "time", e->wall_ms);
    put_str(&o, "event", audit_kind_name(e->kind));
    put_str(&o, "why", e->why != NULL ? e->why : kind_why(e->kind));
    put_ticket(&o, e->id);
    put_str(&o, "queue", e->queue);
    put_str(&o, "lane", e->lane);
    if (e->segment != 0)
        put_u64(&o, "segment", e->segment);
    put_str(&o, "node", node);
    put_str(&o, "state", e->state);
    put_str(&o, "client", e->client);
    put_subject(&o, e, how);
    put_release(&o, e);
    put_counts(&o, e);
    raw(&o, "}\n", 2);
    assert(o.p - out <= AUDIT_LINE_MAX);
    return (size_t)(o.p - out);
}

/* text.c: KEY=VALUE words, bars and numbers. Pure. */
#include "queuemng/ctl_view/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- KEY=VALUE ---- */

/* Reads a value; NULL if it opens a bracket or a quote and is not JSON. */
static json_t *value_of(const char *s, const struct cfg_key *k)
{
    bool text = k != NULL && (k->type == CFG_STR || k->type == CFG_NAME ||
                              k->type == CFG_ADDR || k->type == CFG_ENUM);
    json_t *v = text && *s != '"'
                    ? json_string(s)
                    : json_loads(s, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

    if (v != NULL && !json_is_null(v))
        return v;
    json_decref(v);
    if (*s == '[' || *s == '{' || *s == '"')
        return NULL;
    return json_string(s);
}

/* The object that holds the last part of a dotted key; *last is that part. */
static json_t *parent_of(json_t *doc, char *key, char **last)
{
    char *part = key, *dot;

    while ((dot = strchr(part, '.')) != NULL) {
        json_t *kid;

        *dot = '\0';
        if (*part == '\0')
            return NULL;
        kid = json_object_get(doc, part);
        if (kid == NULL) {
            kid = json_object();
            if (json_object_set_new(doc, part, kid) < 0)
                return NULL;
        }
        if (!json_is_object(kid))
            return NULL;
        doc = kid;
        part = dot + 1;
    }
    *last = part;
    return *part != '\0' ? doc : NULL;
}

static int pair_add(json_t *doc, const char *word, const struct cfg_key *keys, struct err *e)
{
    const char *eq = strchr(word, '=');
    const struct cfg_key *k;
    char key[256], *last;
    json_t *parent, *v;

    if (eq == NULL || eq == word || (size_t)(eq - word) >= sizeof(key))
        return err_set(e, SQ_EINVAL, "'%.80s' is not KEY=VALUE", word);
    memcpy(key, word, (size_t)(eq - word));
    key[eq - word] = '\0';
    k = cfg_find(keys, key);
    parent = parent_of(doc, key, &last);
    if (parent == NULL)
        return err_set(e, SQ_EINVAL,
                       "'%.200s': the key has an empty part, or a part of it has "
                       "a value already",
                       word);
    if (json_object_get(parent, last) != NULL)
        return err_set(e, SQ_EINVAL, "'%.200s': the key has a value already", word);
    v = value_of(eq + 1, k);
    if (v == NULL)
        return err_set(e, SQ_EINVAL,
                       "'%.200s': the value looks like JSON and is not, or is not "
                       "UTF-8",
                       word);
    if (json_object_set_new(parent, last, v) < 0)
        return err_set(e, SQ_EINVAL, "'%.200s': the key is not UTF-8", word);
    return 0;
}

json_t *ctl_pairs(char *const *words, size_t n, const struct cfg_key *keys, struct err *e)
{
    json_t *doc = json_object();

    for (size_t i = 0; i < n; i++) {
        if (pair_add(doc, words[i], keys, e) < 0) {
            json_decref(doc);
            return NULL;
        }
    }
    return doc;
}

/* ---- members ---- */

const json_t *ctl_member(const json_t *o, const char *path)
{
    const char *dot = strchr(path, '.');
    char first[40];

    if (dot == NULL)
        return json_object_get(o, path);
    snprintf(first, sizeof(first), "%.*s", (int)(dot - path), path);
    return ctl_member(json_object_get(o, first), dot + 1);
}

const char *ctl_str(const json_t *o, const char *path)
{
    const char *s = json_string_value(ctl_member(o, path));

    return s != NULL && *s != '\0' ? s : "-";
}

uint64_t ctl_u64(const json_t *o, const char *path)
{
    double v = ctl_f64(o, path);
    json_int_t i = json_integer_value(ctl_member(o, path));

    return i > 0 ? (uint64_t)i : v >= 1 && v < 1e18 ? (uint64_t)v : 0;
}

double ctl_f64(const json_t *o, const char *path)
{
    return json_number_value(ctl_member(o, path));
}

bool ctl_is(const json_t *o, const char *path)
{
    return json_is_true(ctl_member(o, path));
}

bool ctl_equals(const json_t *o, const char *path, const char *text)
{
    return strcmp(ctl_str(o, path), text) == 0;
}

uint64_t ctl_in_line(const json_t *queue)
{
    return ctl_u64(queue, "waiting") + ctl_u64(queue, "returning");
}

void put_text(struct buf *b, const json_t *o, const char *path)
{
    ctl_clean(b, ctl_str(o, path));
}

void put_count(struct buf *b, const json_t *o, const char *path)
{
    ctl_count(b, ctl_u64(o, path));
}

void put_number(struct buf *b, const json_t *o, const char *path)
{
    buf_u64(b, ctl_u64(o, path));
}

void put_id(struct buf *b, const json_t *o, const char *path)
{
    json_int_t id = json_integer_value(ctl_member(o, path));

    if (id != 0)
        buf_i64(b, id);
    else
        put_text(b, o, path);
}

void put_rate(struct buf *b, const json_t *o, const char *path)
{
    ctl_rate(b, ctl_f64(o, path));
}

void put_ms(struct buf *b, const json_t *o, const char *path)
{
    ctl_span(b, ctl_f64(o, path) / 1000);
}

void put_moment(struct buf *b, const json_t *o, const char *path)
{
    ctl_moment(b, ctl_f64(o, path));
}

static put_fn format_of(char mark)
{
    return mark == '#'   ? put_count
           : mark == '=' ? put_number
           : mark == '/' ? put_rate
           : mark == '~' ? put_ms
           : mark == '@' ? put_moment
                         : NULL;
}

void ctl_say(struct buf *b, const json_t *o, const char *sentence)
{
    for (const char *p = sentence; *p != '\0';) {
        size_t n = strcspn(p, "{"), len = strcspn(p + n, "}");
        char path[40];
        put_fn put;

        buf_append(b, p, n);
        if (p[n] == '\0')
            return;
        assert(p[n + len] == '}' && len > 1 && len < sizeof(path));
        put = format_of(p[n + len - 1]);
        snprintf(path, sizeof(path), "%.*s", (int)(len - 1 - (put != NULL)), p + n + 1);
        (put != NULL ? put : put_text)(b, o, path);
        p += n + len + 1;
    }
}

/* ---- text, bars, numbers ---- */

/* U+061C; U+200E, 200F; U+2028 to 202E; U+2066 to 2069: they turn the order of the text about them. */
static bool is_bidi(const unsigned char *s)
{
    if (s[0] == 0xd8)
        return s[1] == 0x9c;
    if (s[0] != 0xe2)
        return false;
    return s[1] == 0x80   ? s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae)
           : s[1] == 0x81 ? s[2] >= 0xa6 && s[2] <= 0xa9
                          : false;
}

/* C0, DEL, and C1 as UTF-8 writes it (C2 80..9F): terminals obey all of them. s ends with a zero. */
static size_t control_len(const unsigned char *s)
{
    if (s[0] < 0x20 || s[0] == 0x7f)
        return 1;
    if (is_bidi(s))
        return s[0] == 0xd8 ? 2 : 3;
    return s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? 2 : 0;
}

bool ctl_number(const char *s, double *out)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    *out = strtod(s, &end);
    return *end == '\0' && *out >= 0 && *out <= 1e12;
}

static json_t *one_tier(const char *word)
{
    const char *colon = strchr(word, ':');
    double below, rate;
    char left[40];

    if (colon == NULL || (size_t)(colon - word) >= sizeof(left))
        return NULL;
    memcpy(left, word, (size_t)(colon - word));
    left[colon - word] = '\0';
    if (!ctl_number(left, &below) || !ctl_number(colon + 1, &rate))
        return NULL;
    return json_pack("{s:f,s:f}", "below", below, "rate_per_s", rate);
}

json_t *ctl_tiers(char *const *words, size_t n, struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *t = one_tier(words[i]);

        if (t == NULL) {
            json_decref(list);
            (void)!err_set(e, SQ_EINVAL,
                           "'%.60s' is no tier; a tier is BELOW:RATE, for example 50:2000",
                           words[i]);
            return NULL;
        }
        json_array_append_new(list, t);
    }
    return list;
}

void ctl_clean(struct buf *b, const char *s)
{
    const unsigned char *p = (const unsigned char *)s;

    while (*p != '\0') {
        size_t n = control_len(p);

        buf_byte(b, n > 0 ? '?' : *p);
        p += n > 0 ? n : 1;
    }
}

void ctl_pad(struct buf *b, const char *s, size_t width)
{
    ctl_clean(b, s);
    for (size_t n = strlen(s); n < width; n++)
        buf_byte(b, ' ');
}

void ctl_command(struct buf *b, const char *verb, const char *name, const char *rest)
{
    buf_printf(b, "segqctl %s ", verb);
    ctl_clean(b, name);
    buf_str(b, rest);
}

static unsigned code_of(const unsigned char *p, size_t n)
{
    return n == 1 ? p[0] : n == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                         : (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

void ctl_clean_json(struct buf *b, const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;

    while (p < end) {
        size_t len = *p == '\n' || *p == '\r' || *p == '\t' ? 0 : control_len(p);

        if (len > 0)
            buf_printf(b, "\\u%04x", code_of(p, len));
        else
            buf_byte(b, *p);
        p += len > 0 ? len : 1;
    }
}

/* Cells for part/of, never 0 for something and never all for less than everything. */
static size_t cells(uint64_t part, uint64_t of, size_t width)
{
    size_t n;

    if (part == 0 || of == 0)
        return 0;
    if (part >= of)
        return width;
    n = (size_t)((double)part / (double)of * (double)width + 0.5);
    if (n == 0)
        n = 1;
    return n >= width ? width - 1 : n;
}

void ctl_bar(struct buf *b, uint64_t held, uint64_t used, uint64_t of, size_t width)
{
    size_t h = cells(held, of, width);
    size_t u = cells(used > held ? used : held, of, width);

    buf_byte(b, '[');
    for (size_t i = 0; i < width; i++)
        buf_byte(b, i < h ? '#' : i < u ? '-' : '.');
    buf_byte(b, ']');
}

void ctl_count(struct buf *b, uint64_t v)
{
    char s[24];
    int n = snprintf(s, sizeof(s), "%" PRIu64, v);

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            buf_byte(b, ' ');
        buf_byte(b, (uint8_t)s[i]);
    }
}

void ctl_rate(struct buf *b, double per_s)
{
    if (!isfinite(per_s) || per_s < 0)
        buf_str(b, "?");
    else if (per_s > 0 && per_s < 10)
        buf_printf(b, "%.2g", per_s);
    else if (per_s < 1e15)
        ctl_count(b, (uint64_t)(per_s + 0.5));
    else
        buf_printf(b, "%g", per_s);
    buf_str(b, "/s");
}

void ctl_moment(struct buf *b, double s)
{
    time_t at = (time_t)s;
    char text[40];
    struct tm tm;

    if (s <= 0 || gmtime_r(&at, &tm) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        buf_str(b, "-");
    else
        buf_str(b, text);
}

void ctl_span(struct buf *b, double s)
{
    if (!isfinite(s) || s < 0 || s > 1e9)
        buf_str(b, "?");
    else if (s < 120)
        buf_printf(b, "%.0f s", s);
    else if (s < 7200)
        buf_printf(b, "%.0f min", s / 60);
    else if (s < 172800)
        buf_printf(b, "%.1f h", s / 3600);
    else
        buf_printf(b, "%.0f days", s / 86400);
}

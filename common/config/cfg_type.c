/* cfg_type.c: one value from its text and back, per type. Pure. */

#include "common/config/cfg_type.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/text.h"
#include "common/config/cfg_node.h"
#include "common/config/cfg_own.h"

struct unit {
    const char *name;
    int64_t factor;
};
static const struct unit ms_units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 },
                                        { "s", 1000 },     { "ms", 1 },      { "", 1 } };
static const struct unit byte_units[] = { { "g", 1 << 30 }, { "m", 1 << 20 },
                                          { "k", 1 << 10 }, { "", 1 } };

static bool bounded(const struct cfg_key *k)
{
    return k->max > k->min;
}

static bool in_range(const struct cfg_key *k, double v)
{
    return !bounded(k) || (v >= k->min && v <= k->max);
}

size_t cfg_list_max(const struct cfg_key *k)
{
    assert((k->type == CFG_STRS || k->type == CFG_OBJS) && k->min >= 0);
    return bounded(k) ? (size_t)k->max : CFG_MAX_ITEMS;
}

static bool whole(const char *s, int64_t *v)
{
    char *end;

    if (!isdigit((unsigned char)s[s[0] == '-']))
        return false;
    errno = 0;
    *v = strtoll(s, &end, 10);
    return *end == 0 && errno == 0;
}

static bool with_unit(const char *s, const struct unit *u, size_t n_units, int64_t *v)
{
    char *end;

    if (!isdigit((unsigned char)s[0]))
        return false;
    errno = 0;
    *v = strtoll(s, &end, 10);
    if (errno != 0)
        return false;
    for (size_t i = 0; i < n_units; i++)
        if (strcmp(end, u[i].name) == 0)
            return !__builtin_mul_overflow(*v, u[i].factor, v);
    return false;
}

static bool decimal(const char *s, double *v)
{
    char *end;

    if (s[0] == 0 || strspn(s, "0123456789+-.eE") != strlen(s))
        return false; /* also: no inf, no nan, no hexadecimal */
    *v = strtod(s, &end);
    return *end == 0 && isfinite(*v);
}

static bool name_ok(const char *s)
{
    size_t n = strlen(s);

    return n >= 1 && n <= NAME_MAX_LEN && s[0] != '_' && s[0] != '-' &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

/* "fe80::1%eth0": where the zone begins, or n. */
static size_t zone_at(const char *s, size_t n)
{
    const char *zone = memchr(s, '%', n);

    return zone != NULL && zone + 1 < s + n ? (size_t)(zone - s) : n;
}

bool cfg_addr_ok(const char *s)
{
    const char *port;
    size_t host;
    int64_t v;

    if (s[0] == '[') {
        struct ip ip;

        host = strcspn(s + 1, "]");
        if (s[host + 1] != ']' || s[host + 2] != ':' ||
            !ip_parse(&ip, s + 1, zone_at(s + 1, host)))
            return false;
        port = s + host + 3;
    } else {
        host = strcspn(s, ":");
        if (s[host] != ':')
            return false;
        for (size_t i = host == 1 && s[0] == '*' ? 1 : 0; i < host; i++)
            if (!isalnum((unsigned char)s[i]) && strchr(".-_", s[i]) == NULL)
                return false;
        port = s + host + 1;
    }
    return port[0] != 0 && strlen(port) <= 5 && port[0] != '-' && whole(port, &v) && v <= 65535;
}

bool cfg_str_ok(const struct cfg_key *k, const char *s)
{
    size_t n = strlen(s), chars = 0;

    if (!utf8_ok(s, n))
        return false;
    if (s[0] == 0 && k->def != NULL && k->def[0] == 0)
        return true; /* "none" is allowed where it is the default */
    if (k->type == CFG_NAME)
        return name_ok(s);
    if (k->type == CFG_ADDR)
        return cfg_addr_ok(s);
    for (size_t i = 0; i < n; i++)
        chars += ((unsigned char)s[i] & 0xc0) != 0x80;
    return bounded(k) ? in_range(k, (double)chars) : chars <= CFG_MAX_CHARS;
}

static int set_string(char **field, const struct cfg_key *k, const char *text)
{
    char *copy;

    if (!cfg_str_ok(k, text))
        return SQ_EINVAL;
    copy = strdup(text);
    if (copy == NULL)
        return SQ_ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

static int set_word(int *field, const struct cfg_key *k, const char *text)
{
    assert(k->words != NULL && k->words[0] != NULL);
    for (int i = 0; k->words[i] != NULL; i++)
        if (strcmp(k->words[i], text) == 0) {
            *field = i;
            return 0;
        }
    return SQ_EINVAL;
}

static int set_bool(bool *field, const char *text)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return SQ_EINVAL;
    *field = text[0] == 't';
    return 0;
}

static int set_int(int64_t *field, const struct cfg_key *k, const char *text)
{
    int64_t v = 0;
    bool ok = k->type == CFG_MS      ? with_unit(text, ms_units, ARRAY_LEN(ms_units), &v)
              : k->type == CFG_BYTES ? with_unit(text, byte_units, ARRAY_LEN(byte_units), &v)
                                     : whole(text, &v);

    if (!ok || !in_range(k, (double)v))
        return SQ_EINVAL;
    *field = v;
    return 0;
}

static int set_num(double *field, const struct cfg_key *k, const char *text)
{
    double v;

    if (!decimal(text, &v) || !in_range(k, v))
        return SQ_EINVAL;
    *field = v + 0.0; /* no minus zero */
    return 0;
}

/* "a,b,c" */
static int set_strings(struct cfg_list *field, const struct cfg_key *k, const char *text)
{
    struct cfg_list l = { 0 };
    struct cfg_list old;
    int rc = 0;

    for (const char *p = text; rc == 0 && *p != 0;) {
        size_t n = strcspn(p, ",");

        rc = n == 0 || n > CFG_MAX_CHARS ? SQ_EINVAL : cfg_strs_add(&l, p, n);
        p += n;
        if (*p == ',')
            p++;
    }
    if (rc == 0 && (l.n > cfg_list_max(k) || (bounded(k) && (double)l.n < k->min)))
        rc = SQ_EINVAL;
    old = rc == 0 ? *field : l;
    if (rc == 0)
        *field = l;
    cfg_field_clear(&old, k);
    return rc;
}

int cfg_text_set(void *field, const struct cfg_key *k, const char *text, bool quoted)
{
    switch (k->type) {
    case CFG_BOOL:
        return quoted ? SQ_EINVAL : set_bool(field, text);
    case CFG_INT:
        return quoted ? SQ_EINVAL : set_int(field, k, text);
    case CFG_NUM:
        return quoted ? SQ_EINVAL : set_num(field, k, text);
    case CFG_MS:
    case CFG_BYTES:
        return set_int(field, k, text);
    case CFG_STR:
    case CFG_NAME:
    case CFG_ADDR:
        return set_string(field, k, text);
    case CFG_ENUM:
        return set_word(field, k, text);
    case CFG_STRS:
        return set_strings(field, k, text);
    default:
        return SQ_EINVAL;
    }
}

bool cfg_is_text_type(enum cfg_type t)
{
    return t != CFG_BOOL && t != CFG_INT && t != CFG_NUM;
}

static void put_unit(struct buf *b, const struct unit *u, int64_t v)
{
    assert(u->factor > 0); /* the last unit is 1 */
    while (u->factor != 1 && (v == 0 || v % u->factor != 0))
        u++;
    buf_i64(b, v / u->factor);
    buf_str(b, u->name);
}

/* The shortest text that reads back as the same number. */
static void put_num(struct buf *b, double v)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_str(b, text);
}

void cfg_text_get(struct buf *b, const struct cfg_key *k, const void *field)
{
    switch (k->type) {
    case CFG_BOOL:
        buf_str(b, *(const bool *)field ? "true" : "false");
        break;
    case CFG_INT:
        buf_i64(b, *(const int64_t *)field);
        break;
    case CFG_NUM:
        put_num(b, *(const double *)field);
        break;
    case CFG_MS:
        put_unit(b, ms_units, *(const int64_t *)field);
        break;
    case CFG_BYTES:
        put_unit(b, byte_units, *(const int64_t *)field);
        break;
    case CFG_ENUM:
        buf_str(b, k->words[*(const int *)field]);
        break;
    default:
        buf_str(b, *(char *const *)field != NULL ? *(char *const *)field : "");
    }
}

static void put_bound(struct buf *b, const struct cfg_key *k, double v)
{
    if (k->type == CFG_MS)
        put_unit(b, ms_units, (int64_t)v);
    else if (k->type == CFG_BYTES)
        put_unit(b, byte_units, (int64_t)v);
    else
        buf_printf(b, "%.15g", v);
}

static void put_range(struct buf *b, const struct cfg_key *k)
{
    if (!bounded(k))
        return;
    buf_str(b, " from ");
    put_bound(b, k, k->min);
    buf_str(b, " to ");
    put_bound(b, k, k->max);
}

void cfg_allowed(struct buf *b, const struct cfg_key *k)
{
    static const char *const text[] = {
        [CFG_BOOL] = "true or false", [CFG_INT] = "a whole number",
        [CFG_NUM] = "a number", [CFG_STR] = "a text",
        [CFG_NAME] = "a name (a-z 0-9 _ -, at most 64, begins with a letter or digit)",
        [CFG_ADDR] = "host:port or [v6]:port", [CFG_ENUM] = "one of",
        [CFG_MS] = "a time such as 250ms, 5s, 10m, 2h", [CFG_BYTES] = "a size such as 64k, 16m",
        [CFG_STRS] = "a list of texts", [CFG_OBJ] = "a map", [CFG_OBJS] = "a list of maps",
    };

    buf_str(b, text[k->type]);
    if (k->type == CFG_ENUM)
        for (int i = 0; k->words[i] != NULL; i++)
            buf_printf(b, "%s %s", i == 0 ? "" : ",", k->words[i]);
    else if (k->type != CFG_OBJ && k->type != CFG_BOOL && k->type != CFG_NAME &&
             k->type != CFG_ADDR)
        put_range(b, k);
    if (bounded(k) && k->type == CFG_STR)
        buf_str(b, " characters");
    if (bounded(k) && (k->type == CFG_STRS || k->type == CFG_OBJS))
        buf_str(b, " entries");
}

/* cfg_key.c: rows by name; one value from its text and back, per type. Pure. */
#include "common/config/cfg_key.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ip.h"
#include "common/base/text.h"
#include "common/config/cfg_node.h"
#include "common/config/cfg_own.h"

const struct cfg_key *cfg_find_name(const struct cfg_key *keys, const char *name, size_t n)
{
    cfg_each_key(k, keys)
        if (strlen(k->key) == n && memcmp(k->key, name, n) == 0)
            return k;
    return NULL;
}

const struct cfg_key *cfg_find(const struct cfg_key *keys, const char *dotted)
{
    size_t n = strcspn(dotted, ".");
    const struct cfg_key *k = cfg_find_name(keys, dotted, n);

    if (k == NULL || dotted[n] == 0)
        return k;
    return k->type == CFG_OBJ ? cfg_find(k->sub, dotted + n + 1) : NULL;
}

/* ---- numbers ---- */

struct unit {
    const char *name;
    int64_t factor; /* 1: the last unit */
};

static const struct unit *units_of(const struct cfg_key *k)
{
    static const struct unit ms[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 },
                                      { "s", 1000 },     { "ms", 1 },      { "", 1 }, { 0 } };
    static const struct unit bytes[] = { { "g", 1 << 30 }, { "m", 1 << 20 }, { "k", 1 << 10 },
                                         { "", 1 }, { 0 } };
    static const struct unit none[] = { { "", 1 }, { 0 } };

    return k->type == CFG_MS ? ms : k->type == CFG_BYTES ? bytes : none;
}

static bool bounded(const struct cfg_key *k)
{
    return k->max > k->min;
}

static bool in_range(const struct cfg_key *k, double v)
{
    return !bounded(k) || (v >= k->min && v <= k->max);
}

bool cfg_size_ok(const struct cfg_key *k, size_t n)
{
    assert(cfg_is_list(k) && k->min >= 0);
    return bounded(k) ? in_range(k, (double)n) : n <= CFG_MAX_ITEMS;
}

/* A sign is for those without a unit. */
static bool whole(const char *s, const struct unit *u, int64_t *v)
{
    char *end;

    if (!isdigit((unsigned char)s[s[0] == '-' && u->name[0] == 0]))
        return false;
    errno = 0;
    *v = strtoll(s, &end, 10);
    if (errno != 0)
        return false;
    while (u->name != NULL && strcmp(end, u->name) != 0)
        u++;
    return u->name != NULL && !__builtin_mul_overflow(*v, u->factor, v);
}

static bool decimal(const char *s, double *v)
{
    char *end;

    if (s[0] == 0 || strspn(s, "0123456789+-.eE") != strlen(s))
        return false; /* also: no inf, no nan, no hexadecimal */
    *v = strtod(s, &end);
    return *end == 0 && isfinite(*v);
}

static int set_int(int64_t *field, const struct cfg_key *k, const char *text)
{
    int64_t v = 0;

    if (!whole(text, units_of(k), &v) || !in_range(k, (double)v))
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

static void put_unit(struct buf *b, const struct cfg_key *k, int64_t v)
{
    const struct unit *u = units_of(k);

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

/* ---- texts ---- */

bool cfg_name_ok(const char *s)
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
    return port[0] != 0 && strspn(port, "0123456789") == strlen(port) && strlen(port) <= 5 &&
           atoi(port) <= 65535;
}

static bool string_ok(const struct cfg_key *k, const char *s)
{
    size_t n = strlen(s), chars = 0;

    if (!utf8_ok(s, n))
        return false;
    if (s[0] == 0 && k->def != NULL && k->def[0] == 0)
        return true; /* "none" is allowed where it is the default */
    if (k->type == CFG_NAME)
        return cfg_name_ok(s);
    if (k->type == CFG_ADDR)
        return cfg_addr_ok(s);
    for (size_t i = 0; i < n; i++)
        chars += ((unsigned char)s[i] & 0xc0) != 0x80;
    return bounded(k) ? in_range(k, (double)chars) : chars <= CFG_MAX_CHARS;
}

static int set_string(char **field, const struct cfg_key *k, const char *text)
{
    char *copy;

    if (!string_ok(k, text))
        return SQ_EINVAL;
    copy = strdup(text);
    if (copy == NULL)
        return SQ_ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

static int set_word(int *field, const char *const *words, const char *text)
{
    int i = 0;

    assert(words != NULL && words[0] != NULL);
    while (words[i] != NULL && strcmp(words[i], text) != 0)
        i++;
    if (words[i] == NULL)
        return SQ_EINVAL;
    *field = i;
    return 0;
}

/* "a,b,c" */
static int set_strings(struct cfg_list *field, const struct cfg_key *k, const char *text)
{
    struct cfg_list l = { 0 }, old = *field;
    int rc = 0;

    for (const char *p = text; rc == 0 && *p != 0;) {
        size_t n = strcspn(p, ",");

        rc = n == 0 || n > CFG_MAX_CHARS ? SQ_EINVAL : cfg_strs_add(&l, p, n);
        p += n + (p[n] == ',');
    }
    if (rc == 0 && !cfg_size_ok(k, l.n))
        rc = SQ_EINVAL;
    if (rc == 0)
        *field = l;
    cfg_field_clear(rc == 0 ? &old : &l, k);
    return rc;
}

/* ---- both ways ---- */

int cfg_text_set(void *field, const struct cfg_key *k, const char *text, bool quoted)
{
    if (quoted && (k->type == CFG_BOOL || k->type == CFG_INT || k->type == CFG_NUM))
        return SQ_EINVAL;
    switch (k->type) {
    case CFG_BOOL:
        if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            return SQ_EINVAL;
        *(bool *)field = text[0] == 't';
        return 0;
    case CFG_INT:
    case CFG_MS:
    case CFG_BYTES:
        return set_int(field, k, text);
    case CFG_NUM:
        return set_num(field, k, text);
    case CFG_STR:
    case CFG_NAME:
    case CFG_ADDR:
        return set_string(field, k, text);
    case CFG_ENUM:
        return set_word(field, k->words, text);
    case CFG_STRS:
        return set_strings(field, k, text);
    default:
        return SQ_EINVAL;
    }
}

void cfg_text_get(struct buf *b, const struct cfg_key *k, const void *field)
{
    switch (k->type) {
    case CFG_BOOL:
        buf_str(b, *(const bool *)field ? "true" : "false");
        break;
    case CFG_INT:
    case CFG_MS:
    case CFG_BYTES:
        put_unit(b, k, *(const int64_t *)field);
        break;
    case CFG_NUM:
        put_num(b, *(const double *)field);
        break;
    case CFG_ENUM:
        buf_str(b, k->words[*(const int *)field]);
        break;
    default:
        buf_str(b, *(char *const *)field != NULL ? *(char *const *)field : "");
    }
}

static void put_bound(struct buf *b, const struct cfg_key *k, const char *before, double v)
{
    buf_str(b, before);
    if (k->type == CFG_MS || k->type == CFG_BYTES)
        put_unit(b, k, (int64_t)v);
    else
        buf_printf(b, "%.15g", v);
}

void cfg_allowed(struct buf *b, const struct cfg_key *k)
{
    static const struct {
        const char *text, *counted; /* counted: the bounds are of these; NULL: there are none */
    } types[] = {
        [CFG_BOOL] = { "true or false", NULL },
        [CFG_INT] = { "a whole number", "" },
        [CFG_NUM] = { "a number", "" },
        [CFG_STR] = { "a text", " characters" },
        [CFG_NAME] = { "a name (a-z 0-9 _ -, at most 64, begins with a letter or digit)", NULL },
        [CFG_ADDR] = { "host:port or [v6]:port", NULL },
        [CFG_ENUM] = { "one of", NULL },
        [CFG_MS] = { "a time such as 250ms, 5s, 10m, 2h", "" },
        [CFG_BYTES] = { "a size such as 64k, 16m", "" },
        [CFG_STRS] = { "a list of texts such as [\"a\", \"b\"]", " entries" },
        [CFG_OBJ] = { "a map", NULL },
        [CFG_OBJS] = { "a list of maps", " entries" },
    };

    buf_str(b, types[k->type].text);
    for (int i = 0; k->type == CFG_ENUM && k->words[i] != NULL; i++)
        buf_printf(b, "%s %s", i == 0 ? "" : ",", k->words[i]);
    if (!bounded(k) || types[k->type].counted == NULL)
        return;
    put_bound(b, k, " from ", k->min);
    put_bound(b, k, " to ", k->max);
    buf_str(b, types[k->type].counted);
}

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
        if (!(host == 1 && s[0] == '*') && !text_is_of(s, host, ".-_"))
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

/* ---- what a table owns in a struct: one walk over its members, embedded structs among them, with
 * what is done to each ------------------------------------------------------------------- */

/* Goes on while it is 0. a, b: the same member of two structs. */
typedef int on_member(void *a, void *b, const struct cfg_key *k);

static int walk(void *a, void *b, const struct cfg_key *keys, on_member *f)
{
    int rc = 0;

    for (const struct cfg_key *k = keys; rc == 0 && k->key != NULL; k++)
        rc = k->type == CFG_OBJ ? walk(cfg_at(a, k), cfg_at(b, k), k->sub, f)
                                : f(cfg_at(a, k), cfg_at(b, k), k);
    return rc;
}

static size_t size_of(const struct cfg_key *k)
{
    switch (k->type) {
    case CFG_BOOL:
        return sizeof(bool);
    case CFG_ENUM:
        return sizeof(int);
    case CFG_INT:
    case CFG_MS:
    case CFG_BYTES:
        return sizeof(int64_t);
    case CFG_NUM:
        return sizeof(double);
    case CFG_STRS:
    case CFG_OBJS:
        return sizeof(struct cfg_list);
    default:
        return sizeof(char *);
    }
}

/* A list of texts is one of structs with a text and nothing else. */
static const struct cfg_key *item_keys(const struct cfg_key *list)
{
    static const struct cfg_key text[] = { { .key = "", .type = CFG_STR }, { 0 } };

    assert(cfg_is_list(list));
    return list->type == CFG_STRS ? text : list->sub;
}

static size_t item_size(const struct cfg_key *list)
{
    assert(list->type == CFG_STRS || list->size > 0);
    return list->type == CFG_STRS ? sizeof(char *) : list->size;
}

static void *item(const struct cfg_list *l, const struct cfg_key *k, size_t i)
{
    return (char *)l->v + i * item_size(k);
}

static int forget(void *a, void *b, const struct cfg_key *k)
{
    assert(a == b);
    memset(a, 0, size_of(k));
    return 0;
}

void cfg_forget(void *dst, const struct cfg_key *keys)
{
    (void)walk(dst, dst, keys, forget);
}

static int clear(void *a, void *b, const struct cfg_key *k)
{
    struct cfg_list *l = a;

    if (cfg_is_string(k))
        free(*(char **)a);
    if (cfg_is_list(k)) {
        for (size_t i = 0; i < l->n; i++)
            cfg_clear(item(l, k, i), item_keys(k));
        free(l->v);
    }
    return forget(a, b, k);
}

void cfg_clear(void *dst, const struct cfg_key *keys)
{
    (void)walk(dst, dst, keys, clear);
}

void cfg_field_clear(void *field, const struct cfg_key *k)
{
    (void)clear(field, field, k);
}

int cfg_strs_add(struct cfg_list *l, const char *s, size_t n)
{
    char **v = realloc(l->v, (l->n + 1) * sizeof(*v));

    if (v == NULL)
        return SQ_ENOMEM;
    l->v = v;
    v[l->n] = strndup(s, n);
    if (v[l->n] == NULL)
        return SQ_ENOMEM;
    l->n++;
    return 0;
}

static int copy_list(struct cfg_list *to, const struct cfg_list *from, const struct cfg_key *k)
{
    int rc = 0;

    assert(to->v == NULL && to->n == 0);
    to->v = from->n > 0 ? calloc(from->n, item_size(k)) : NULL;
    if (from->n > 0 && to->v == NULL)
        return SQ_ENOMEM;
    for (size_t i = 0; rc == 0 && i < from->n; i++) {
        to->n++;
        rc = cfg_copy_keys(item(to, k, i), item_keys(k), item(from, k, i));
    }
    return rc;
}

static int copy(void *to, void *from, const struct cfg_key *k)
{
    if (cfg_is_list(k))
        return copy_list(to, from, k);
    if (!cfg_is_string(k))
        memcpy(to, from, size_of(k));
    else if (*(char **)from != NULL && (*(char **)to = strdup(*(char **)from)) == NULL)
        return SQ_ENOMEM;
    return 0;
}

int cfg_copy_keys(void *dst, const struct cfg_key *keys, const void *src)
{
    return walk(dst, (void *)(uintptr_t)src, keys, copy);
}

static int differs(void *a, void *b, const struct cfg_key *k)
{
    const struct cfg_list *l = a, *m = b;
    const char *s, *t;

    if (cfg_is_string(k)) {
        s = *(char **)a != NULL ? *(char **)a : "";
        t = *(char **)b != NULL ? *(char **)b : "";
        return strcmp(s, t) != 0;
    }
    if (!cfg_is_list(k))
        return memcmp(a, b, size_of(k)) != 0;
    if (l->n != m->n)
        return 1;
    for (size_t i = 0; i < l->n; i++)
        if (!cfg_equal(item(l, k, i), item(m, k, i), item_keys(k)))
            return 1;
    return 0;
}

bool cfg_equal(const void *a, const void *b, const struct cfg_key *keys)
{
    return walk((void *)(uintptr_t)a, (void *)(uintptr_t)b, keys, differs) == 0;
}

static int swap(void *a, void *b, const struct cfg_key *k)
{
    char tmp[sizeof(struct cfg_list)];

    assert(size_of(k) <= sizeof(tmp));
    if (differs(a, b, k)) {
        memcpy(tmp, a, size_of(k));
        memcpy(a, b, size_of(k));
        memcpy(b, tmp, size_of(k));
    }
    return 0;
}

void cfg_swap_changed(void *dst, void *src, const struct cfg_key *keys)
{
    (void)walk(dst, src, keys, swap);
}

bool cfg_fixed_changed(const void *a, const void *b, const struct cfg_key *keys, char *name,
                       size_t cap)
{
    cfg_each_key(k, keys) {
        size_t n = strlen(k->key);

        assert(n + 1 < cap);
        memcpy(name, k->key, n + 1);
        if (k->type == CFG_OBJ) { /* members speak for themselves */
            name[n] = '.';
            if (cfg_fixed_changed(cfg_at(a, k), cfg_at(b, k), k->sub, name + n + 1, cap - n - 1))
                return true;
        } else if (!k->reload && differs(cfg_at(a, k), cfg_at(b, k), k)) {
            return true;
        }
    }
    return false;
}

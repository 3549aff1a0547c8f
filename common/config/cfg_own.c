/* cfg_own.c: what a table owns in a struct: free, copy, compare. Pure. */

#include "common/config/cfg_own.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t field_size(const struct cfg_key *k)
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

static void *item(const struct cfg_list *l, const struct cfg_key *k, size_t i)
{
    assert(k->type == CFG_OBJS && k->size > 0 && l->v != NULL);
    return (char *)l->v + i * k->size;
}

static void list_clear(struct cfg_list *l, const struct cfg_key *k)
{
    for (size_t i = 0; i < l->n; i++) {
        if (k->type == CFG_STRS)
            free(((char **)l->v)[i]);
        else
            cfg_clear(item(l, k, i), k->sub);
    }
    free(l->v);
}

void cfg_field_clear(void *field, const struct cfg_key *k)
{
    if (k->type == CFG_OBJ) {
        cfg_clear(field, k->sub);
        return;
    }
    if (k->type == CFG_STR || k->type == CFG_NAME || k->type == CFG_ADDR)
        free(*(char **)field);
    else if (k->type == CFG_STRS || k->type == CFG_OBJS)
        list_clear(field, k);
    memset(field, 0, field_size(k));
}

void cfg_clear(void *dst, const struct cfg_key *keys)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++)
        cfg_field_clear(cfg_at(dst, k), k);
}

void cfg_forget(void *dst, const struct cfg_key *keys)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        if (k->type == CFG_OBJ)
            cfg_forget(cfg_at(dst, k), k->sub);
        else
            memset(cfg_at(dst, k), 0, field_size(k));
    }
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

static int copy_keys(void *dst, const struct cfg_key *keys, const void *src);

static int copy_list(struct cfg_list *dst, const struct cfg_list *src,
                     const struct cfg_key *k)
{
    int rc = 0;

    assert(dst->v == NULL && dst->n == 0);
    if (src->n == 0)
        return 0;
    if (k->type == CFG_OBJS) {
        dst->v = calloc(src->n, k->size);
        if (dst->v == NULL)
            return SQ_ENOMEM;
    }
    for (size_t i = 0; rc == 0 && i < src->n; i++) {
        if (k->type == CFG_STRS) {
            const char *s = ((char **)src->v)[i];

            rc = cfg_strs_add(dst, s, strlen(s));
        } else {
            rc = copy_keys(item(dst, k, i), k->sub, item(src, k, i));
            dst->n++;
        }
    }
    return rc;
}

static int copy_string(char **dst, char *const *src)
{
    if (*src == NULL)
        return 0;
    *dst = strdup(*src);
    return *dst != NULL ? 0 : SQ_ENOMEM;
}

/* dst's fields own nothing yet. */
static int copy_keys(void *dst, const struct cfg_key *keys, const void *src)
{
    int rc = 0;

    for (const struct cfg_key *k = keys; rc == 0 && !cfg_is_end(k); k++) {
        void *to = cfg_at(dst, k);
        const void *from = cfg_at(src, k);

        if (k->type == CFG_OBJ)
            rc = copy_keys(to, k->sub, from);
        else if (k->type == CFG_STR || k->type == CFG_NAME || k->type == CFG_ADDR)
            rc = copy_string(to, from);
        else if (k->type == CFG_STRS || k->type == CFG_OBJS)
            rc = copy_list(to, from, k);
        else
            memcpy(to, from, field_size(k));
    }
    return rc;
}

int cfg_copy(void *dst, size_t size, const struct cfg_key *keys, const void *src)
{
    void *tmp = malloc(size);
    int rc;

    if (tmp == NULL)
        return SQ_ENOMEM;
    memcpy(tmp, src, size);
    cfg_forget(tmp, keys);
    rc = copy_keys(tmp, keys, src);
    if (rc == 0) {
        cfg_clear(dst, keys);
        memcpy(dst, tmp, size);
    } else {
        cfg_clear(tmp, keys);
    }
    free(tmp);
    return rc;
}

static bool list_equal(const struct cfg_list *a, const struct cfg_list *b,
                       const struct cfg_key *k)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (k->type == CFG_STRS) {
            if (strcmp(((char **)a->v)[i], ((char **)b->v)[i]) != 0)
                return false;
        } else if (!cfg_equal(item(a, k, i), item(b, k, i), k->sub)) {
            return false;
        }
    }
    return true;
}

static bool string_equal(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool field_equal(const void *a, const void *b, const struct cfg_key *k)
{
    if (k->type == CFG_OBJ)
        return cfg_equal(a, b, k->sub);
    if (k->type == CFG_STR || k->type == CFG_NAME || k->type == CFG_ADDR)
        return string_equal(*(char *const *)a, *(char *const *)b);
    if (k->type == CFG_STRS || k->type == CFG_OBJS)
        return list_equal(a, b, k);
    return memcmp(a, b, field_size(k)) == 0;
}

bool cfg_equal(const void *a, const void *b, const struct cfg_key *keys)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++)
        if (!field_equal(cfg_at(a, k), cfg_at(b, k), k))
            return false;
    return true;
}

void cfg_swap_changed(void *dst, void *src, const struct cfg_key *keys)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        void *a = cfg_at(dst, k), *b = cfg_at(src, k);
        char tmp[sizeof(struct cfg_list)];

        assert(k->type == CFG_OBJ || field_size(k) <= sizeof(tmp));
        if (k->type == CFG_OBJ) {
            cfg_swap_changed(a, b, k->sub);
        } else if (!field_equal(a, b, k)) {
            memcpy(tmp, a, field_size(k));
            memcpy(a, b, field_size(k));
            memcpy(b, tmp, field_size(k));
        }
    }
}

bool cfg_fixed_changed(const void *a, const void *b, const struct cfg_key *keys, char *name,
                       size_t cap)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        size_t n = strlen(k->key);

        if (k->type == CFG_OBJ && n + 1 < cap) { /* members speak for themselves */
            memcpy(name, k->key, n);
            name[n] = '.';
            if (cfg_fixed_changed(cfg_at(a, k), cfg_at(b, k), k->sub, name + n + 1,
                                  cap - n - 1))
                return true;
            continue;
        }
        if (k->reload || field_equal(cfg_at(a, k), cfg_at(b, k), k))
            continue;
        if (cap > 0) {
            n = n < cap ? n : cap - 1;
            memcpy(name, k->key, n);
            name[n] = 0;
        }
        return true;
    }
    return false;
}

/* cfg_own.c: what a table owns in a struct: one walk over its members, embedded structs among
 * them, with what is done to each. Pure. */
#include "common/config/cfg_own.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* defined.c: the table of objects with a definition, and what walks over it. */
#include "queuemng/state/defined.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "queuemng/state/records.h"
#include "queuemng/state/state.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(def_name(a), def_name(b));
}

static int by_match(const void *a, const void *b)
{
    return pool_def_compare(a, b);
}

static int by_queue(const void *a, const void *b)
{
    return key_pin_compare(a, b);
}

/* size of a kind's struct, offsets in it, and of its list in struct mng; order of that list, by
 * definitions (NULL: as they come) */
struct row {
    size_t size, def, version, in, list;
    int (*compare)(const void *a, const void *b);
};
#define ROW(type, list, compare)                                                                    \
    { sizeof(struct type), offsetof(struct type, def), offsetof(struct type, version),              \
      offsetof(struct type, in), offsetof(struct mng, list), compare }
static const struct row rows[DEF_NKINDS] = {
    [DEF_BUDGET] = ROW(mbudget, budgets, NULL),
    [DEF_ENDPOINT] = ROW(mendpoint, tasks.endpoints, by_name),
    [DEF_POOL] = ROW(mpool, tasks.pools, by_match),
    [DEF_ROUTE] = ROW(mroute, tasks.routes, by_name),
    [DEF_PIN] = ROW(mpin, tasks.pins, by_queue),
};

static const struct row *row(enum def_kind_no kind)
{
    assert((size_t)kind < ARRAY_LEN(rows) && rows[kind].size != 0);
    return &rows[kind];
}

static const struct list *all(const struct mng *m, enum def_kind_no kind)
{
    return (const void *)((const char *)m + row(kind)->list);
}

static struct list_node *link(enum def_kind_no kind, const void *x)
{
    return (void *)((uintptr_t)x + row(kind)->in);
}

static void *object(enum def_kind_no kind, const struct list_node *it)
{
    return (void *)((uintptr_t)it - row(kind)->in);
}

static uint64_t *version(enum def_kind_no kind, const void *x)
{
    return (void *)((uintptr_t)x + row(kind)->version);
}

const void *defined_def(enum def_kind_no kind, const void *x)
{
    return (const char *)x + row(kind)->def;
}

uint64_t defined_version(enum def_kind_no kind, const void *x)
{
    return *version(kind, x);
}

void *defined_next(const struct mng *m, enum def_kind_no kind, const void *x)
{
    const struct list *l = all(m, kind);
    const struct list_node *it = x == NULL ? l->head.next : link(kind, x)->next;

    return it != &l->head ? object(kind, it) : NULL;
}

void *defined_find(const struct mng *m, enum def_kind_no kind, const char *name)
{
    void *x = NULL;

    while ((x = defined_next(m, kind, x)) != NULL &&
           !def_is_named(&def_kinds[kind], defined_def(kind, x), name))
        ;
    return x;
}

/* ---- made, changed, freed ---------------------------------------------------------------------- */

void *defined_new(struct mng *m, enum def_kind_no kind, const void *def)
{
    struct list *l = (struct list *)(uintptr_t)all(m, kind);
    struct list_node *at = l->head.prev; /* the store has most of them in their order */
    const struct def_kind *k = &def_kinds[kind];
    const struct row *r = row(kind);
    void *x = calloc(1, r->size);

    if (x == NULL || cfg_copy((char *)x + r->def, k->size, k->keys, def) < 0) {
        free(x);
        return NULL;
    }
    *version(kind, x) = 1;
    while (r->compare != NULL && at != &l->head &&
           r->compare(defined_def(kind, object(kind, at)), def) > 0)
        at = at->prev;
    list_insert_after(l, at, link(kind, x));
    return x;
}

int defined_change(enum def_kind_no kind, void *x, const void *def, struct err *e)
{
    const struct def_kind *k = &def_kinds[kind];
    int rc = cfg_copy((char *)x + row(kind)->def, k->size, k->keys, def);

    if (rc < 0)
        return err_set(e, rc, "%s %s: %s", k->word, def_name(def), sq_strerror(rc));
    ++*version(kind, x);
    return 0;
}

bool defined_equals(enum def_kind_no kind, const void *x, const void *def)
{
    return cfg_equal(defined_def(kind, x), def, def_kinds[kind].keys);
}

void defined_free(struct mng *m, enum def_kind_no kind, void *x)
{
    list_remove((struct list *)(uintptr_t)all(m, kind), link(kind, x));
    cfg_clear((char *)x + row(kind)->def, def_kinds[kind].keys);
    free(x);
}

/* ---- stored -------------------------------------------------------------------------------------- */

static void record_key(enum def_kind_no kind, const void *x, char out[DEF_NAME_MAX + 16])
{
    char name[DEF_NAME_MAX + 1];

    def_full_name(&def_kinds[kind], defined_def(kind, x), name);
    snprintf(out, DEF_NAME_MAX + 16, "%s/%s", kind == DEF_PIN ? "pin" : def_kinds[kind].word, name);
}

json_t *defined_json(enum def_kind_no kind, const void *x)
{
    return json_pack("{s:I,s:o}", "version", (json_int_t)*version(kind, x), "def",
                     def_keys_json(defined_def(kind, x), def_kinds[kind].keys));
}

void defined_put(struct mng *m, enum def_kind_no kind, const void *x, json_t *j)
{
    char key[DEF_NAME_MAX + 16];

    record_key(kind, x, key);
    out_put_json(m, key, j);
}

void defined_del(struct mng *m, enum def_kind_no kind, const void *x)
{
    char key[DEF_NAME_MAX + 16];

    record_key(kind, x, key);
    out_del(m, key);
}

static bool is_there(const struct mng *m, enum def_kind_no kind, const void *def)
{
    char name[DEF_NAME_MAX + 1];

    def_full_name(&def_kinds[kind], def, name);
    return defined_find(m, kind, name) != NULL;
}

int defined_load(struct mng *m, enum def_kind_no kind, const char *key, json_t *j, void **x,
                 struct err *e)
{
    const struct def_kind *k = &def_kinds[kind];
    _Alignas(16) char def[DEF_SIZE_MAX] = { 0 };
    int rc = def_from_json(def, k->size, k->keys, json_object_get(j, "def"), key, e);

    *x = NULL;
    if (rc == 0 && is_there(m, kind, def))
        rc = err_set(e, SQ_EPROTO, "stored record %s: %s %s is there twice", key, k->word, def_name(def));
    else if (rc == 0 && (*x = defined_new(m, kind, def)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    cfg_clear(def, k->keys);
    if (rc == 0)
        *version(kind, *x) = (uint64_t)json_integer_value(json_object_get(j, "version"));
    return rc;
}

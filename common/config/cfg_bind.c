/* cfg_bind.c: a parsed document into a struct, by its table. Pure.
 * Works on a copy, so that an error anywhere leaves the struct as it was. */

#include "common/config/cfg_bind.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/config/cfg_own.h"
#include "common/config/cfg_type.h"
#include "common/config/cfg_unknown.h"

struct binder {
    const char *file; /* ref; may be NULL */
    bool patch;       /* absent keys keep their values */
    bool stored;      /* keys that are not known are of a newer version */
    struct err *e;
    char path[200]; /* "queues[0].limits[1]." */
    size_t len;
};

static int bind_map(struct binder *b, void *dst, const struct cfg_key *keys,
                    const struct cfg_node *map);

/* Appends to the path; returns the length to go back to. */
static size_t descend(struct binder *b, const char *key, long index)
{
    size_t old = b->len;
    int n;

    if (index < 0)
        n = snprintf(b->path + old, sizeof(b->path) - old, "%s.", key);
    else
        n = snprintf(b->path + old, sizeof(b->path) - old, "%s[%ld].", key, index);
    if (n > 0 && (size_t)n < sizeof(b->path) - old)
        b->len = old + (size_t)n;
    b->path[b->len] = 0;
    return old;
}

static void ascend(struct binder *b, size_t old)
{
    assert(old <= b->len && b->len < sizeof(b->path));
    b->len = old;
    b->path[old] = 0;
}

/* A value as it may stand in an error: short, printable, whole UTF-8 characters. */
static void shown(const char *text, char out[64])
{
    size_t n = strlen(text), k = n < 60 ? n : 57;

    while (k > 0 && k < n && ((unsigned char)text[k] & 0xc0) == 0x80)
        k--;
    for (size_t i = 0; i < k; i++)
        out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    memcpy(out + k, k < n ? "..." : "", k < n ? 4 : 1);
}

static void where(const struct binder *b, const struct cfg_node *at, char *out, size_t cap)
{
    if (at != NULL && at->line == CFG_LINE_SET)
        snprintf(out, cap, "--set: ");
    else if (b->file != NULL && at != NULL && at->line > 0)
        snprintf(out, cap, "%.100s:%d: ", b->file, at->line);
    else if (b->file != NULL)
        snprintf(out, cap, "%.100s: ", b->file);
    else
        out[0] = 0;
}

/* In JSON a text is a string: 5 or true is none. YAML does not tell them apart, and what was
 * stored is ours. */
static bool is_no_string(const struct binder *b, const struct cfg_key *k,
                         const struct cfg_node *n)
{
    bool text = k->type == CFG_STR || k->type == CFG_NAME || k->type == CFG_ADDR ||
                k->type == CFG_ENUM || k->type == CFG_STRS;

    return text && n->line == CFG_LINE_JSON && !n->quoted && !b->stored;
}

static int bad_value(struct binder *b, const struct cfg_key *k, const struct cfg_node *at)
{
    static const char *const kinds[] = { "", "a list", "a map" };
    char place[130], value[64];
    struct buf allowed;

    where(b, at, place, sizeof(place));
    buf_init(&allowed);
    cfg_allowed(&allowed, k);
    if (is_no_string(b, k, at))
        buf_str(&allowed, k->type == CFG_STRS ? " (JSON strings)" : " (a JSON string)");
    buf_byte(&allowed, 0);
    if (at->kind == CFG_NODE_SCALAR)
        shown(at->text, value);
    else
        snprintf(value, sizeof(value), "%s", kinds[at->kind]);
    err_set(b->e, SQ_EINVAL, "%s%s%s: %s%s%s is not allowed here; allowed: %.150s", place,
            b->path, k->key, at->quoted ? "\"" : "", value, at->quoted ? "\"" : "",
            allowed.failed ? "" : (char *)allowed.data);
    buf_fini(&allowed);
    return SQ_EINVAL;
}

static int unknown_keys(struct binder *b, const struct cfg_key *keys, const struct cfg_node *map,
                        const struct cfg_node *first)
{
    char place[130];
    struct buf text;

    where(b, first, place, sizeof(place));
    buf_init(&text);
    cfg_unknown_text(&text, keys, map);
    buf_byte(&text, 0);
    err_set(b->e, SQ_EINVAL, "%s%s%s", place, b->path,
            text.failed ? "unknown key" : (char *)text.data);
    buf_fini(&text);
    return SQ_EINVAL;
}

static int rc_of(struct binder *b, int rc, const struct cfg_key *k, const struct cfg_node *at)
{
    if (rc == SQ_EINVAL)
        return bad_value(b, k, at);
    return rc < 0 ? err_set(b->e, rc, "%s: %s", k->key, sq_strerror(rc)) : 0;
}

static bool is_nothing(const struct cfg_node *n) /* `key:` and no more */
{
    return n->kind == CFG_NODE_SCALAR && !n->quoted && n->text[0] == 0;
}

static int bind_strs(struct binder *b, struct cfg_list *l, const struct cfg_key *k,
                     const struct cfg_node *n)
{
    for (size_t i = 0; i < n->n_kids; i++) {
        const struct cfg_node *kid = n->kid[i];
        int rc;

        if (kid->kind != CFG_NODE_SCALAR || kid->text[0] == 0 ||
            strlen(kid->text) > CFG_MAX_CHARS || is_no_string(b, k, kid))
            return bad_value(b, k, kid);
        rc = rc_of(b, cfg_strs_add(l, kid->text, strlen(kid->text)), k, kid);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int bind_objs(struct binder *b, struct cfg_list *l, const struct cfg_key *k,
                     const struct cfg_node *n)
{
    bool patch = b->patch;
    int rc = 0;

    if (n->n_kids == 0)
        return 0;
    assert(k->sub != NULL && k->size > 0 && l->n == 0);
    l->v = calloc(n->n_kids, k->size);
    if (l->v == NULL)
        return rc_of(b, SQ_ENOMEM, k, n);
    b->patch = false; /* a list is replaced as a whole */
    for (size_t i = 0; rc == 0 && i < n->n_kids; i++) {
        size_t old = descend(b, k->key, (long)i);

        l->n++;
        rc = bind_map(b, (char *)l->v + i * k->size, k->sub, n->kid[i]);
        ascend(b, old);
    }
    b->patch = patch;
    return rc;
}

static int bind_list(struct binder *b, void *field, const struct cfg_key *k,
                     const struct cfg_node *n)
{
    struct cfg_list l = { 0 };
    int rc;

    if (n->n_kids > cfg_list_max(k) || (k->max > k->min && (double)n->n_kids < k->min))
        return bad_value(b, k, n);
    rc = k->type == CFG_STRS ? bind_strs(b, &l, k, n) : bind_objs(b, &l, k, n);
    if (rc < 0) {
        cfg_field_clear(&l, k);
        return rc;
    }
    cfg_field_clear(field, k);
    *(struct cfg_list *)field = l;
    return 0;
}

static int bind_one(struct binder *b, void *field, const struct cfg_key *k,
                    const struct cfg_node *n)
{
    size_t old;
    int rc;

    switch (k->type) {
    case CFG_OBJ:
        old = descend(b, k->key, -1);
        rc = bind_map(b, field, k->sub, n);
        ascend(b, old);
        return rc;
    case CFG_OBJS:
    case CFG_STRS:
        if (n->kind == CFG_NODE_LIST || is_nothing(n))
            return bind_list(b, field, k, n);
        return bad_value(b, k, n);
    default:
        if (n->kind != CFG_NODE_SCALAR || is_no_string(b, k, n))
            return bad_value(b, k, n);
        return rc_of(b, cfg_text_set(field, k, n->text, n->quoted), k, n);
    }
}

static int bind_default(struct binder *b, void *field, const struct cfg_key *k,
                        const struct cfg_node *map)
{
    char place[130];
    int rc;

    if (k->type == CFG_OBJ) {
        size_t old = descend(b, k->key, -1);

        rc = bind_map(b, field, k->sub, NULL);
        ascend(b, old);
        return rc;
    }
    if (k->def == NULL) {
        where(b, map, place, sizeof(place));
        return err_set(b->e, SQ_EINVAL, "%s%s%s is missing (%s)", place, b->path, k->key,
                       k->help);
    }
    if (k->type == CFG_OBJS)
        return 0;
    rc = cfg_text_set(field, k, k->def, false);
    if (rc < 0) /* a bug in a table; test_cfg looks at all of them */
        return err_set(b->e, rc, "%s: default \"%s\" is not allowed", k->key, k->def);
    return 0;
}

/* map == NULL: only defaults */
static int bind_map(struct binder *b, void *dst, const struct cfg_key *keys,
                    const struct cfg_node *map)
{
    const struct cfg_node *first;
    char place[130];
    int rc = 0;

    if (map != NULL && map->kind != CFG_NODE_MAP && !is_nothing(map)) {
        where(b, map, place, sizeof(place));
        return err_set(b->e, SQ_EINVAL, "%s%.*s: must be a map (key: value)", place,
                       b->len > 0 ? (int)b->len - 1 : 8, b->len > 0 ? b->path : "document");
    }
    if (map != NULL && !b->stored && (first = cfg_unknown(keys, map)) != NULL)
        rc = unknown_keys(b, keys, map, first);
    for (const struct cfg_key *k = keys; rc == 0 && !cfg_is_end(k); k++) {
        const struct cfg_node *n = cfg_node_get(map, k->key);

        if (n != NULL)
            rc = bind_one(b, cfg_at(dst, k), k, n);
        else if (!b->patch)
            rc = bind_default(b, cfg_at(dst, k), k, map);
    }
    return rc;
}

/* Binds into tmp, which owns its fields, and on success swaps it in. */
static int commit(struct binder *b, void *tmp, void *dst, size_t size,
                  const struct cfg_key *keys, const struct cfg_node *doc)
{
    int rc = bind_map(b, tmp, keys, doc);

    if (rc < 0) {
        cfg_clear(tmp, keys);
    } else {
        cfg_clear(dst, keys);
        memcpy(dst, tmp, size);
    }
    return rc;
}

static int bind_any(struct binder *b, void *dst, size_t size, const struct cfg_key *keys,
                    const struct cfg_node *doc)
{
    void *tmp = malloc(size);
    int rc = 0;

    if (tmp == NULL)
        return err_set(b->e, SQ_ENOMEM, "out of memory");
    memcpy(tmp, dst, size);
    cfg_forget(tmp, keys);
    if (b->patch)
        rc = cfg_copy(tmp, size, keys, dst);
    rc = rc < 0 ? err_set(b->e, rc, "out of memory") : commit(b, tmp, dst, size, keys, doc);
    free(tmp);
    return rc;
}

int cfg_bind(void *dst, size_t dst_size, const struct cfg_key *keys,
             const struct cfg_node *doc, const char *file, struct err *e)
{
    struct binder b = { .file = file, .e = e };

    return bind_any(&b, dst, dst_size, keys, doc);
}

int cfg_bind_stored(void *dst, size_t dst_size, const struct cfg_key *keys,
                    const struct cfg_node *doc, const char *file, struct err *e)
{
    struct binder b = { .file = file, .stored = true, .e = e };

    return bind_any(&b, dst, dst_size, keys, doc);
}

int cfg_patch(void *dst, size_t dst_size, const struct cfg_key *keys,
              const struct cfg_node *doc, const char *file, struct err *e)
{
    struct binder b = { .file = file, .patch = true, .e = e };

    return bind_any(&b, dst, dst_size, keys, doc);
}

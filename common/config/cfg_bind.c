/* cfg_bind.c: a parsed document into a struct, by its table. Pure.
 * Works on a copy, so that an error anywhere leaves the struct as it was. An error names the place
 * ("router.yaml:12: queues[0].rate"), the value, and what is allowed there; keys that the table
 * lacks are all named at once, with the keys that may have been meant. */
#include "common/config/cfg_bind.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/cfg_key.h"

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

/* A text as it may stand in an error: short, printable, whole UTF-8 characters. */
static void put_shown(struct buf *b, const char *text)
{
    size_t n = strlen(text), k = n <= 60 ? n : 57;

    while (k > 0 && k < n && ((unsigned char)text[k] & 0xc0) == 0x80)
        k--;
    for (size_t i = 0; i < k; i++)
        buf_byte(b, (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : (uint8_t)text[i]);
    buf_str(b, k < n ? "..." : "");
}

/* ---- errors: each begins with its place ---- */

/* "FILE:LINE: PATH" or "--set: PATH". */
static void put_place(struct buf *b, const struct binder *at, const struct cfg_node *n)
{
    if (n != NULL && n->line == CFG_LINE_SET)
        buf_str(b, "--set: ");
    else if (at->file != NULL && n != NULL && n->line > 0)
        buf_printf(b, "%.100s:%d: ", at->file, n->line);
    else if (at->file != NULL)
        buf_printf(b, "%.100s: ", at->file);
    buf_str(b, at->path);
}

/* Ends the sentence in text, and frees it. */
static int refuse(struct binder *b, struct buf *text)
{
    int rc = text->failed ? SQ_ENOMEM : SQ_EINVAL;

    err_set(b->e, rc, "%.*s", (int)text->len, text->failed ? "out of memory" : (char *)text->data);
    buf_fini(text);
    return rc;
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
    const char *quote = at->quoted ? "\"" : "";
    struct buf text;

    buf_init(&text);
    put_place(&text, b, at);
    buf_printf(&text, "%s: %s", k->key, quote);
    put_shown(&text, at->kind == CFG_NODE_SCALAR ? at->text : kinds[at->kind]);
    buf_printf(&text, "%s is not allowed here; allowed: ", quote);
    cfg_allowed(&text, k);
    if (is_no_string(b, k, at))
        buf_str(&text, k->type == CFG_STRS ? " (JSON strings)" : " (a JSON string)");
    return refuse(b, &text);
}

static bool is_known(const struct cfg_key *keys, const char *name)
{
    return cfg_find_name(keys, name, strlen(name)) != NULL;
}

/* Words for what keys call by another one, and a part of those keys. */
static const char *part_of(const char *typed)
{
    static const char *const other[][2] = {
        { "rate", "per_s" },         { "speed", "per_s" },        { "slots", "max_active" },
        { "concurrency", "max_con" }, { "parallel", "max_con" },  { "inside", "max_active" },
    };

    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        if (strcmp(other[i][0], typed) == 0)
            return other[i][1];
    return typed;
}

/* Finds a key that has `part` in it (capacity: segment_capacity). */
static const char *with_part(const struct cfg_key *keys, const char *part)
{
    cfg_each_key(k, keys)
        if (strlen(part) > 2 && strstr(k->key, part) != NULL)
            return k->key;
    return NULL;
}

/* Finds the key that was meant: one of a map in here (game: idle.game), one that is called otherwise,
 * or is almost so written, or has it as a part. False: nothing is near. */
static bool put_meant(struct buf *b, const struct cfg_key *keys, const char *typed)
{
    struct near near = near_to(typed);
    const char *part = part_of(typed);

    cfg_each_key(k, keys) {
        near_try(&near, k->key);
        if (k->type == CFG_OBJ && is_known(k->sub, typed)) {
            buf_printf(b, "%s.%s", k->key, typed);
            return true;
        }
    }
    if (part != typed || near.name == NULL)
        near.name = with_part(keys, part);
    if (near.name != NULL)
        buf_str(b, near.name);
    return near.name != NULL;
}

/* "nodes, prt: unknown keys; did you mean node, port? allowed: node, port": all of them, what each
 * may mean, and all keys that there are. */
static int unknown_keys(struct binder *b, const struct cfg_key *keys, const struct cfg_node *map,
                        const struct cfg_node *first)
{
    const char *before = "; did you mean ";
    struct buf text, meant;
    size_t n = 0;

    buf_init(&text);
    buf_init(&meant);
    put_place(&text, b, first);
    for (size_t i = 0; i < map->n_kids && n < 8; i++) {
        const char *key = map->kid[i]->key;
        size_t was = meant.len;

        if (is_known(keys, key))
            continue;
        buf_str(&text, n++ > 0 ? ", " : "");
        put_shown(&text, key);
        buf_str(&meant, before);
        if (put_meant(&meant, keys, key))
            before = ", ";
        else
            meant.len = was;
    }
    buf_str(&text, n > 1 ? ": unknown keys" : ": unknown key");
    buf_append(&text, meant.data, meant.len);
    buf_str(&text, meant.len > 0 ? "? allowed: " : "; allowed: ");
    cfg_each_key(k, keys)
        buf_printf(&text, "%s%s", k > keys ? ", " : "", k->key);
    buf_fini(&meant);
    return refuse(b, &text);
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

    if (!cfg_size_ok(k, n->n_kids))
        return bad_value(b, k, n);
    rc = k->type == CFG_STRS ? bind_strs(b, &l, k, n) : bind_objs(b, &l, k, n);
    cfg_field_clear(rc < 0 ? &l : field, k);
    if (rc == 0)
        *(struct cfg_list *)field = l;
    return rc;
}

/* n == NULL: only defaults */
static int bind_member(struct binder *b, void *field, const struct cfg_key *k,
                       const struct cfg_node *n)
{
    size_t old = descend(b, k->key, -1);
    int rc = bind_map(b, field, k->sub, n);

    ascend(b, old);
    return rc;
}

static int bind_one(struct binder *b, void *field, const struct cfg_key *k,
                    const struct cfg_node *n)
{
    if (k->type == CFG_OBJ)
        return bind_member(b, field, k, n);
    if (cfg_is_list(k) && (n->kind == CFG_NODE_LIST || is_nothing(n)))
        return bind_list(b, field, k, n);
    if (cfg_is_list(k) || n->kind != CFG_NODE_SCALAR || is_no_string(b, k, n))
        return bad_value(b, k, n);
    return rc_of(b, cfg_text_set(field, k, n->text, n->quoted), k, n);
}

static int bind_default(struct binder *b, void *field, const struct cfg_key *k,
                        const struct cfg_node *map)
{
    struct buf text;
    int rc;

    if (k->type == CFG_OBJ)
        return bind_member(b, field, k, NULL);
    if (k->def == NULL) {
        buf_init(&text);
        put_place(&text, b, map);
        buf_printf(&text, "%s is missing (%s)", k->key, k->help);
        return refuse(b, &text);
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
    struct buf text;
    int rc = 0;

    if (map != NULL && map->kind != CFG_NODE_MAP && !is_nothing(map)) {
        buf_init(&text);
        put_place(&text, b, map);
        text.len -= b->len > 0; /* the dot */
        buf_printf(&text, "%s: must be a map (key: value)", b->len > 0 ? "" : "document");
        return refuse(b, &text);
    }
    for (size_t i = 0; map != NULL && rc == 0 && !b->stored && i < map->n_kids; i++)
        if (!is_known(keys, map->kid[i]->key))
            rc = unknown_keys(b, keys, map, map->kid[i]);
    for (const struct cfg_key *k = keys; rc == 0 && k->key != NULL; k++) {
        const struct cfg_node *n = cfg_node_get(map, k->key);

        if (n != NULL)
            rc = bind_one(b, cfg_at(dst, k), k, n);
        else if (!b->patch)
            rc = bind_default(b, cfg_at(dst, k), k, map);
    }
    return rc;
}

/* Fills a copy, which owns its fields, and on success swaps it in. from: absent keys keep their
 * values there; NULL: they get their defaults. */
static int replace(struct binder *b, void *dst, size_t size, const struct cfg_key *keys,
                   const void *from, const struct cfg_node *doc)
{
    void *tmp = malloc(size);
    int rc = tmp == NULL ? SQ_ENOMEM : 0;

    if (rc == 0) {
        memcpy(tmp, from != NULL ? from : dst, size);
        cfg_forget(tmp, keys);
        rc = from != NULL ? cfg_copy_keys(tmp, keys, from) : 0;
    }
    if (rc < 0)
        err_set(b->e, rc, "out of memory");
    else
        rc = bind_map(b, tmp, keys, doc);
    if (tmp != NULL)
        cfg_clear(rc < 0 ? tmp : dst, keys);
    if (rc == 0)
        memcpy(dst, tmp, size);
    free(tmp);
    return rc;
}

int cfg_bind(void *dst, size_t dst_size, const struct cfg_key *keys,
             const struct cfg_node *doc, const char *file, struct err *e)
{
    struct binder b = { .file = file, .e = e };

    return replace(&b, dst, dst_size, keys, NULL, doc);
}

int cfg_bind_stored(void *dst, size_t dst_size, const struct cfg_key *keys,
                    const struct cfg_node *doc, const char *file, struct err *e)
{
    struct binder b = { .file = file, .stored = true, .e = e };

    return replace(&b, dst, dst_size, keys, NULL, doc);
}

int cfg_read_json(void *dst, size_t dst_size, const struct cfg_key *keys, const char *json, size_t n,
                  const char *file, struct err *e)
{
    struct cfg_node *doc;
    int rc = cfg_parse_json(&doc, json, n, e);

    if (rc == 0)
        rc = cfg_bind_stored(dst, dst_size, keys, doc, file, e);
    cfg_node_free(doc);
    return rc;
}

int cfg_patch(void *dst, size_t dst_size, const struct cfg_key *keys,
              const struct cfg_node *doc, const char *file, struct err *e)
{
    struct binder b = { .file = file, .patch = true, .e = e };

    return replace(&b, dst, dst_size, keys, dst, doc);
}

int cfg_copy(void *dst, size_t size, const struct cfg_key *keys, const void *src)
{
    struct binder b = { .patch = true };

    return replace(&b, dst, size, keys, src, NULL);
}

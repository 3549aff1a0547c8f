/* cfg_load.c: the usual start: a file, then --set KEY=VALUE on top of it.
 *   node=r1               a key            idle.game=3s          a key of a map
 *   managers=a:1,b:2      a list of texts  queues.0.merge=false  an entry by number
 *   queues.login.merge=false               ... or by its name
 *   limits=[{metric: cpu}] anything else: as YAML
 *
 * What a table cannot say (names that differ, a key that needs another) is looked at in the
 * finished struct, which knows no lines; but the sentence begins with the keys that lead there:
 * "queue login: page: accent ...", "limits.2: ...". cfg_where() follows them as far as they go. */
#include "common/config/cfg_load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/cfg_bind.h"
#include "common/config/cfg_yaml.h"
#include "common/config/near.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

/* ---- the place in a document ---- */

static bool is_called(const struct cfg_node *entry, const char *word, size_t n)
{
    static const char *const names[] = { "name", "kid", "metric", "lang" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct cfg_node *k = cfg_node_get(entry, names[i]);

        if (k != NULL && k->text != NULL && strlen(k->text) == n &&
            memcmp(k->text, word, n) == 0)
            return true;
    }
    return false;
}

/* By its name, the last one (the first is the right one of two that are the same); or by
 * number. */
static struct cfg_node *entry(const struct cfg_node *list, const char *word, size_t n)
{
    char *end;
    unsigned long no = strtoul(word, &end, 10);

    for (size_t i = list->n_kids; i > 0; i--)
        if (is_called(list->kid[i - 1], word, n))
            return list->kid[i - 1];
    return end == word + n && no < list->n_kids ? list->kid[no] : NULL;
}

/* A member, made if it is not there; NULL: no memory. */
static struct cfg_node *made_member(struct cfg_node *map, const struct cfg_key *k)
{
    struct cfg_node *n = cfg_node_get(map, k->key);

    if (n != NULL)
        return n;
    n = cfg_node_new(k->type == CFG_OBJS ? CFG_NODE_LIST : CFG_NODE_MAP, CFG_LINE_SET);
    return cfg_node_add(map, n, k->key) == 0 ? n : NULL;
}

/* An entry of a list; the number behind the last adds one. */
static struct cfg_node *made_entry(struct cfg_node *list, const char *word, size_t n)
{
    struct cfg_node *kid;
    char *end;

    if (list->kind != CFG_NODE_LIST || n == 0)
        return NULL;
    kid = entry(list, word, n);
    if (kid != NULL || strtoul(word, &end, 10) != list->n_kids || end != word + n)
        return kid;
    kid = cfg_node_new(CFG_NODE_MAP, CFG_LINE_SET);
    return cfg_node_add(list, kid, NULL) == 0 ? kid : NULL;
}

/* ---- --set ---- */

static struct cfg_node *text_node(const char *s, size_t n)
{
    bool bad;

    return cfg_node_text(s, n, CFG_LINE_SET, &bad);
}

static struct cfg_node *list_node(const char *s)
{
    struct cfg_node *list = cfg_node_new(CFG_NODE_LIST, CFG_LINE_SET);

    while (list != NULL && *s != 0) {
        size_t n = strcspn(s, ",");

        if (cfg_node_add(list, text_node(s, n), NULL) < 0) {
            cfg_node_free(list);
            return NULL;
        }
        s += n + (s[n] == ',');
    }
    return list;
}

static int value_node(struct cfg_node **out, const struct cfg_key *k, const char *value,
                      struct err *e)
{
    if (k->sub != NULL)
        return cfg_parse_yaml(out, value, strlen(value), "--set", e);
    *out = k->type == CFG_STRS ? list_node(value) : text_node(value, strlen(value));
    return *out != NULL ? 0 : err_set(e, SQ_EINVAL, "--set %s: not UTF-8", k->key);
}

/* In place of the member that is there. */
static int put(struct cfg_node *map, const struct cfg_key *k, const char *value,
               struct err *e)
{
    struct cfg_node *n, *old = cfg_node_get(map, k->key);
    int rc = value_node(&n, k, value, e);

    if (rc < 0)
        return rc;
    if (cfg_node_add(map, n, k->key) < 0)
        return err_set(e, SQ_ENOMEM, "--set");
    for (size_t i = 0; old != NULL && i < map->n_kids; i++)
        if (map->kid[i] == old) {
            map->kid[i] = map->kid[--map->n_kids];
            cfg_node_free(old);
            break;
        }
    return 0;
}

static int unknown_key(struct err *e, const struct cfg_key *keys, const char *set, const char *p, size_t n)
{
    char typed[64];
    struct near near;

    snprintf(typed, sizeof(typed), "%.*s", n < sizeof(typed) ? (int)n : (int)sizeof(typed), p);
    near = near_to(typed);
    cfg_each_key(k, keys)
        near_try(&near, k->key);
    return err_set(e, SQ_EINVAL, "--set %.80s: unknown key \"%s\"%s%s%s", set, typed,
                   near.name != NULL ? "; did you mean " : "", near.name != NULL ? near.name : "",
                   near.name != NULL ? "?" : "");
}

int cfg_set(struct cfg_node *doc, const struct cfg_key *keys, const char *set, struct err *e)
{
    const char *eq = strchr(set, '=');
    const char *p = set;

    assert(doc != NULL && keys != NULL);
    if (eq == NULL)
        return err_set(e, SQ_EINVAL, "--set %.80s: write KEY=VALUE", set);
    for (;;) {
        size_t n = strcspn(p, ".=");
        const struct cfg_key *k = cfg_find_name(keys, p, n);

        if (k == NULL)
            return unknown_key(e, keys, set, p, n);
        if (doc->kind != CFG_NODE_MAP)
            return err_set(e, SQ_EINVAL, "--set %.80s: the value there is not a map", set);
        p += n;
        if (p == eq)
            return put(doc, k, eq + 1, e);
        if (k->sub == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: %s has no members", set, k->key);
        doc = made_member(doc, k);
        p++;
        if (doc != NULL && k->type == CFG_OBJS) {
            n = strcspn(p, ".=");
            doc = p[n] == '.' ? made_entry(doc, p, n) : NULL;
            p += n + 1;
        }
        if (doc == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: no such entry in %s", set, k->key);
        keys = k->sub;
    }
}

static int document(struct cfg_node **doc, const struct cfg_key *keys, const char *file,
                    const char *const *sets, size_t n_sets, struct err *e)
{
    int rc = 0;

    *doc = NULL;
    if (file != NULL)
        rc = cfg_parse_file(doc, file, e);
    else if ((*doc = cfg_node_new(CFG_NODE_MAP, 0)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc == 0 && (*doc)->kind != CFG_NODE_MAP)
        rc = err_set(e, SQ_EINVAL, "%s: must be a map (key: value)", file);
    for (size_t i = 0; rc == 0 && i < n_sets; i++)
        rc = cfg_set(*doc, keys, sets[i], e);
    return rc;
}

int cfg_load(void *dst, size_t size, const struct cfg_key *keys, const char *file,
             const char *const *sets, size_t n_sets, struct err *e)
{
    struct cfg_node *doc;
    int rc = document(&doc, keys, file, sets, n_sets, e);

    if (rc == 0)
        rc = cfg_bind(dst, size, keys, doc, file, e);
    cfg_node_free(doc);
    return rc;
}

/* ---- the line of a sentence ---- */

/* A member, also by the singular of its name: "queue" of queues. */
static const struct cfg_node *member(const struct cfg_node *map, const char *word, size_t n)
{
    char key[80];
    const struct cfg_node *k;

    snprintf(key, sizeof(key), "%.*ss", (int)n, word);
    k = cfg_node_get(map, key);
    key[strlen(key) - 1] = 0;
    return k == NULL ? cfg_node_get(map, key) : k;
}

static int line_of(const struct cfg_node *at, const char *text)
{
    int line = 0;

    for (const char *p = text + strcspn(text, LETTERS); *p != 0; p += strcspn(p, LETTERS)) {
        size_t n = strspn(p, LETTERS);

        if (n < 64 && at->kind == CFG_NODE_MAP)
            at = member(at, p, n);
        else if (n < 64 && at->kind == CFG_NODE_LIST)
            at = entry(at, p, n);
        else
            break;
        if (at == NULL)
            break;
        line = at->line;
        p += n;
    }
    return line;
}

void cfg_where(struct err *e, const struct cfg_key *keys, const char *file,
               const char *const *sets, size_t n_sets)
{
    struct cfg_node *doc;
    struct err other = { 0 };
    int rc = document(&doc, keys, file, sets, n_sets, &other), line = rc == 0 ? line_of(doc, e->text) : 0;

    cfg_node_free(doc);
    if (line > 0)
        err_wrap(e, "%s:%d", file, line);
    else if (line == CFG_LINE_SET)
        err_wrap(e, "--set");
    else if (file != NULL)
        err_wrap(e, "%s", file);
}

/* cfg_load.c: the usual start: a file, then --set KEY=VALUE on top of it.
 *   node=r1               a key            idle.game=3s          a key of a map
 *   managers=a:1,b:2      a list of texts  queues.0.merge=false  an entry by number
 *   queues.login.merge=false               ... or by its name
 *   limits=[{metric: cpu}] anything else: as YAML */

#include "common/config/cfg_load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/cfg_bind.h"
#include "common/config/cfg_yaml.h"

const char *const cfg_log_levels[] = { "error", "warn", "info", "debug", NULL };

static const struct cfg_key *find_key(const struct cfg_key *keys, const char *name, size_t n)
{
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++)
        if (strlen(k->key) == n && memcmp(k->key, name, n) == 0)
            return k;
    return NULL;
}

const struct cfg_key *cfg_find(const struct cfg_key *keys, const char *dotted)
{
    size_t n = strcspn(dotted, ".");
    const struct cfg_key *k = find_key(keys, dotted, n);

    if (k == NULL || dotted[n] == 0)
        return k;
    return k->type == CFG_OBJ ? cfg_find(k->sub, dotted + n + 1) : NULL;
}

/* The member, made if it is not there; NULL: no memory, or not a map. */
static struct cfg_node *member(struct cfg_node *map, const struct cfg_key *k)
{
    struct cfg_node *n = cfg_node_get(map, k->key);

    if (n != NULL || map->kind != CFG_NODE_MAP)
        return n;
    n = cfg_node_new(k->type == CFG_OBJS ? CFG_NODE_LIST : CFG_NODE_MAP, CFG_LINE_SET);
    if (n == NULL)
        return NULL;
    n->key = strdup(k->key);
    if (n->key == NULL) {
        cfg_node_free(n);
        return NULL;
    }
    return cfg_node_add(map, n) == 0 ? n : NULL;
}

/* The entry of a list: by number (one past the end adds one) or by its name. */
static struct cfg_node *entry(struct cfg_node *list, const char *at, size_t n)
{
    struct cfg_node *kid;
    char *end;
    unsigned long i = strtoul(at, &end, 10);

    if (list->kind != CFG_NODE_LIST || n == 0)
        return NULL;
    for (size_t k = 0; k < list->n_kids; k++) {
        kid = cfg_node_get(list->kid[k], "name");
        if (kid != NULL && kid->text != NULL && strlen(kid->text) == n &&
            memcmp(kid->text, at, n) == 0)
            return list->kid[k];
    }
    if (end != at + n || i > list->n_kids)
        return NULL;
    if (i < list->n_kids)
        return list->kid[i];
    kid = cfg_node_new(CFG_NODE_MAP, CFG_LINE_SET);
    return kid != NULL && cfg_node_add(list, kid) == 0 ? kid : NULL;
}

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
        struct cfg_node *kid = text_node(s, n);

        if (kid == NULL || cfg_node_add(list, kid) < 0) {
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

static int put(struct cfg_node *map, const struct cfg_key *k, const char *value,
               struct err *e)
{
    struct cfg_node *n;
    int rc = value_node(&n, k, value, e);

    if (rc < 0)
        return rc;
    n->key = strdup(k->key);
    for (size_t i = 0; n->key != NULL && i < map->n_kids; i++)
        if (strcmp(map->kid[i]->key, k->key) == 0) {
            cfg_node_free(map->kid[i]);
            map->kid[i] = n;
            return 0;
        }
    if (n->key == NULL) {
        cfg_node_free(n);
        return err_set(e, SQ_ENOMEM, "--set");
    }
    return cfg_node_add(map, n) < 0 ? err_set(e, SQ_ENOMEM, "--set") : 0;
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
        const struct cfg_key *k = find_key(keys, p, n);

        if (k == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: unknown key \"%.*s\"", set,
                           n < 64 ? (int)n : 64, p);
        if (doc->kind != CFG_NODE_MAP)
            return err_set(e, SQ_EINVAL, "--set %.80s: the value there is not a map",
                                         set);
        p += n;
        if (p == eq)
            return put(doc, k, eq + 1, e);
        if (k->sub == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: %s has no members", set, k->key);
        doc = member(doc, k);
        p++;
        if (doc != NULL && k->type == CFG_OBJS) {
            n = strcspn(p, ".=");
            doc = p[n] == '.' ? entry(doc, p, n) : NULL;
            p += n + 1;
        }
        if (doc == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: no such entry in %s", set, k->key);
        keys = k->sub;
    }
}

int cfg_load(void *dst, size_t size, const struct cfg_key *keys, const char *file,
             const char *const *sets, size_t n_sets, struct err *e)
{
    struct cfg_node *doc = NULL;
    int rc = 0;

    if (file != NULL)
        rc = cfg_parse_file(&doc, file, e);
    else if ((doc = cfg_node_new(CFG_NODE_MAP, 0)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc == 0 && doc->kind != CFG_NODE_MAP)
        rc = err_set(e, SQ_EINVAL, "%s: must be a map (key: value)", file);
    for (size_t i = 0; rc == 0 && i < n_sets; i++)
        rc = cfg_set(doc, keys, sets[i], e);
    if (rc == 0)
        rc = cfg_bind(dst, size, keys, doc, file, e);
    cfg_node_free(doc);
    return rc;
}

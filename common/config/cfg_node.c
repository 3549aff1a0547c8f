/* cfg_node.c: the tree of a parsed document, and JSON text to it. Pure. */

#include "common/config/cfg_node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/json.h"
#include "common/base/text.h"

struct cfg_node *cfg_node_new(enum cfg_kind kind, int line)
{
    struct cfg_node *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return NULL;
    n->kind = kind;
    n->line = line;
    return n;
}

struct cfg_node *cfg_node_text(const char *text, size_t n, int line, bool *bad)
{
    struct cfg_node *node;

    *bad = !utf8_ok(text, n);
    if (*bad)
        return NULL;
    node = cfg_node_new(CFG_NODE_SCALAR, line);
    if (node == NULL)
        return NULL;
    node->text = strndup(text, n);
    if (node->text == NULL) {
        free(node);
        return NULL;
    }
    return node;
}

int cfg_node_add(struct cfg_node *parent, struct cfg_node *kid, const char *key)
{
    size_t max = parent->kind == CFG_NODE_MAP ? CFG_MAX_MEMBERS : CFG_MAX_ITEMS;
    int rc = kid == NULL ? SQ_ENOMEM : parent->n_kids >= max ? SQ_ETOOBIG : 0;

    assert(parent->kind != CFG_NODE_SCALAR && kid != parent);
    assert((parent->kind == CFG_NODE_MAP) == (key != NULL));
    if (rc == 0 && key != NULL && (kid->key = strdup(key)) == NULL)
        rc = SQ_ENOMEM;
    if (rc == 0 && !GROW(parent->kid, parent->n_kids, parent->cap_kids, 1))
        rc = SQ_ENOMEM;
    if (rc == 0)
        parent->kid[parent->n_kids++] = kid;
    else
        cfg_node_free(kid);
    return rc;
}

void cfg_node_free(struct cfg_node *n)
{
    if (n == NULL)
        return;
    for (size_t i = 0; i < n->n_kids; i++)
        cfg_node_free(n->kid[i]);
    free(n->kid);
    free(n->text);
    free(n->key);
    free(n);
}

struct cfg_node *cfg_node_get(const struct cfg_node *map, const char *key)
{
    if (map == NULL || map->kind != CFG_NODE_MAP)
        return NULL;
    for (size_t i = 0; i < map->n_kids; i++)
        if (strcmp(map->kid[i]->key, key) == 0)
            return map->kid[i];
    return NULL;
}

/* ---- JSON ---- */

static struct cfg_node *json_scalar(const char *text, size_t n, bool quoted, struct err *e)
{
    bool bad;
    struct cfg_node *node = cfg_node_text(text, n, CFG_LINE_JSON, &bad);

    if (node == NULL)
        err_set(e, bad ? SQ_EINVAL : SQ_ENOMEM, bad ? "a string contains a NUL" : "out of memory");
    else
        node->quoted = quoted;
    return node;
}

static struct cfg_node *json_node(json_t *j, unsigned depth, struct err *e);

/* key: NULL in a list */
static bool json_add(struct cfg_node *parent, const char *key, json_t *v, unsigned depth,
                     struct err *e)
{
    struct cfg_node *kid;
    int rc;

    if (key != NULL && json_is_null(v)) {
        err_set(e, SQ_EINVAL, "%.64s: null is not allowed", key);
        return false;
    }
    kid = json_node(v, depth, e);
    if (kid == NULL)
        return false;
    rc = cfg_node_add(parent, kid, key);
    if (rc < 0)
        err_set(e, rc, rc == SQ_ETOOBIG ? "too many members" : "out of memory");
    return rc == 0;
}

/* Members or items; NULL: *e says why. */
static struct cfg_node *json_container(json_t *j, unsigned depth, struct err *e)
{
    bool ok = depth < CFG_MAX_DEPTH;
    struct cfg_node *node = NULL;
    const char *key;
    json_t *v;
    size_t i;

    if (!ok)
        err_set(e, SQ_EINVAL, "nested too deep");
    else if ((node = cfg_node_new(json_is_object(j) ? CFG_NODE_MAP : CFG_NODE_LIST,
                                  CFG_LINE_JSON)) == NULL)
        err_set(e, SQ_ENOMEM, "out of memory");
    if (node == NULL)
        return NULL;
    json_object_foreach (j, key, v)
        if (ok)
            ok = json_add(node, key, v, depth + 1, e);
    json_array_foreach (j, i, v)
        if (ok)
            ok = json_add(node, NULL, v, depth + 1, e);
    if (ok)
        return node;
    cfg_node_free(node);
    return NULL;
}

static struct cfg_node *json_node(json_t *j, unsigned depth, struct err *e)
{
    char number[40];

    switch (json_typeof(j)) {
    case JSON_STRING:
        return json_scalar(json_string_value(j), json_string_length(j), true, e);
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(j));
        return json_scalar(number, strlen(number), false, e);
    case JSON_REAL:
        snprintf(number, sizeof(number), "%.17g", json_real_value(j));
        return json_scalar(number, strlen(number), false, e);
    case JSON_TRUE:
        return json_scalar("true", 4, false, e);
    case JSON_FALSE:
        return json_scalar("false", 5, false, e);
    case JSON_NULL:
        err_set(e, SQ_EINVAL, "null is not allowed");
        return NULL;
    default:
        return json_container(j, depth, e);
    }
}

int cfg_parse_json(struct cfg_node **out, const char *text, size_t n, struct err *e)
{
    struct err why = { 0 };
    json_error_t je;
    json_t *j;

    *out = NULL;
    if (n > CFG_MAX_BYTES)
        return err_set(e, SQ_ETOOBIG, "more than 1 MiB");
    j = json_in(text, n, &je);
    if (j == NULL)
        return err_set(e, SQ_EINVAL, "line %d: %.150s", je.line, je.text);
    *out = json_node(j, 0, &why);
    json_decref(j);
    return *out != NULL ? 0 : err_set(e, why.code, "%s", why.text);
}

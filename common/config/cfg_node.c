/* cfg_node.c: the tree of a parsed document. Pure. */

#include "common/config/cfg_node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
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

int cfg_node_add(struct cfg_node *parent, struct cfg_node *kid)
{
    size_t max = parent->kind == CFG_NODE_MAP ? CFG_MAX_MEMBERS : CFG_MAX_ITEMS;
    bool full = parent->n_kids >= max;

    assert(parent->kind != CFG_NODE_SCALAR && kid != NULL && kid != parent);
    assert(parent->kind != CFG_NODE_MAP || kid->key != NULL);
    if (full || !GROW(parent->kid, parent->n_kids, parent->cap_kids, 1)) {
        cfg_node_free(kid);
        return full ? SQ_ETOOBIG : SQ_ENOMEM;
    }
    parent->kid[parent->n_kids++] = kid;
    return 0;
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

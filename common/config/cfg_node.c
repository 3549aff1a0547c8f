/* cfg_node.c: the tree of a parsed document. Pure. */

#include "common/config/cfg_node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

/* Length of the UTF-8 sequence at s (at most n bytes), 0 if it is not one. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf5 ? 4 : 0;
    uint32_t cp;

    if (len == 0 || len > n)
        return 0;
    if (len == 1)
        return s[0] != 0;
    cp = s[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        cp = cp << 6 | (s[i] & 0x3f);
    }
    if (cp < least[len] || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        return 0;
    return len;
}

bool cfg_utf8_ok(const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_len((const unsigned char *)s + i, n - i);
        if (len == 0)
            return false;
    }
    return true;
}

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

    *bad = !cfg_utf8_ok(text, n);
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

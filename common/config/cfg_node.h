/* cfg_node.h: a parsed document, as a tree of texts, lists and maps; JSON to such a tree. Pure. */
#ifndef SEGQ_CFG_NODE_H
#define SEGQ_CFG_NODE_H

#include "common/base/err.h"

#define CFG_MAX_DEPTH   16
#define CFG_MAX_BYTES   (1u << 20)
#define CFG_MAX_MEMBERS 1024 /* in a map: finding duplicates is quadratic */
#define CFG_MAX_ITEMS   20000
#define CFG_MAX_CHARS   4096 /* in a string without an upper bound */
#define CFG_LINE_JSON   0    /* "line" of what came as JSON */
#define CFG_LINE_SET    (-1) /* "line" of what came by --set */

enum cfg_kind { CFG_NODE_SCALAR, CFG_NODE_LIST, CFG_NODE_MAP };

struct cfg_node { /* a parsed document */
    enum cfg_kind kind;
    int line;              /* 1-based; 0 if it came from JSON */
    bool quoted;           /* scalar: was written as a string */
    char *text;            /* scalar, owned */
    char *key;             /* if a member of a map, owned */
    struct cfg_node **kid; /* list, map; owned */
    size_t n_kids, cap_kids;
};

void cfg_node_free(struct cfg_node *n);
struct cfg_node *cfg_node_get(const struct cfg_node *map, const char *key); /* or NULL */

/* Through jansson. Refused: duplicate members, null, depth over 16, more than 1 MiB. */
SQ_CHECK int cfg_parse_json(struct cfg_node **out, const char *text, size_t n,
                            struct err *e);

/* ---- for those that build one: cfg_load.c ---- */
struct cfg_node *cfg_node_new(enum cfg_kind kind, int line); /* NULL: no memory */
/* Scalar; refuses what is not UTF-8 or has a NUL inside by returning NULL with *bad. */
struct cfg_node *cfg_node_text(const char *text, size_t n, int line, bool *bad);
/* Takes kid (frees it on failure; NULL is SQ_ENOMEM). key: in a map, copied; NULL in a list.
 * SQ_ENOMEM, SQ_ETOOBIG. */
SQ_CHECK int cfg_node_add(struct cfg_node *parent, struct cfg_node *kid, const char *key);

#endif

/* cfg_int.h: what the cfg_*.c files share; nobody else includes it. Pure.
 *   cfg_yaml.c, cfg_json.c  text -> nodes        cfg_node.c  nodes, --set
 *   cfg_type.c              one value <-> text   cfg_own.c   copy, compare, free
 *   cfg_bind.c              nodes -> struct      cfg_dump.c, cfg_help.c  struct -> text
 *   cfg_load.c              the usual start */
#ifndef SEGQ_CFG_INT_H
#define SEGQ_CFG_INT_H

#include "common/config/cfg.h"

#define CFG_MAX_DEPTH   16
#define CFG_MAX_BYTES   (1u << 20)
#define CFG_MAX_MEMBERS 1024 /* of one map: finding duplicates is quadratic */
#define CFG_MAX_ITEMS   20000
#define CFG_MAX_CHARS   4096 /* of a string without an upper bound */
#define CFG_LINE_JSON   0    /* "line" of what came as JSON */
#define CFG_LINE_SET    (-1) /* "line" of what came by --set */

struct cfg_node *cfg_node_new(enum cfg_kind kind, int line); /* NULL: no memory */
/* Scalar; refuses what is not UTF-8 or has a NUL inside by returning NULL with *bad. */
struct cfg_node *cfg_node_text(const char *text, size_t n, int line, bool *bad);
/* Takes kid (frees it on failure). SQ_ENOMEM, SQ_ETOOBIG. */
SQ_CHECK int cfg_node_add(struct cfg_node *parent, struct cfg_node *kid);
bool cfg_utf8_ok(const char *s, size_t n);

/* Is the i-th key of a table its last? */
static inline bool cfg_is_end(const struct cfg_key *k)
{
    return k->key == NULL;
}

/* Scalars (and CFG_STRS from a comma separated text). The field is replaced.
 * 0, SQ_EINVAL, SQ_ENOMEM. */
SQ_CHECK int cfg_text_set(void *field, const struct cfg_key *k, const char *text, bool quoted);
bool cfg_str_ok(const struct cfg_key *k, const char *text);
/* "a whole number from 1 to 9": for errors and help. */
void cfg_allowed(struct buf *b, const struct cfg_key *k);
/* The value as one writes it, without quotes. Scalars only. */
void cfg_text_get(struct buf *b, const struct cfg_key *k, const void *field);
bool cfg_is_text_type(enum cfg_type t); /* is dumped in quotes */
void cfg_quote(struct buf *b, const char *s); /* valid in YAML and JSON alike */
size_t cfg_list_max(const struct cfg_key *k);

void cfg_field_clear(void *field, const struct cfg_key *k);
void cfg_forget(void *dst, const struct cfg_key *keys); /* zeroes the fields, frees nothing */
SQ_CHECK int cfg_strs_add(struct cfg_list *l, const char *s, size_t n);

static inline void *cfg_at(const void *base, const struct cfg_key *k)
{
    return (char *)(uintptr_t)base + k->offset;
}

#endif

/* cfg.h: configuration, from YAML text or from JSON, through one kind of table. Pure, but
 * for cfg_parse_file(), cfg_load() and cfg_where(), which read a file.
 *
 * A table says key, type, default, bounds, whether HUP may change it, and one line of
 * help. From it come: reading with errors that name file, line, key and what is allowed;
 * `-t` (the effective configuration as YAML); `-h` (the keys); the check of conf/ samples
 * and docs (`make check`). Unknown key, wrong type, out of range, duplicate key, YAML
 * alias or anchor, too deep, too big: refused, nothing is changed.
 * Memory: strings and lists set by a table belong to the struct; cfg_clear() frees them. */
#ifndef SEGQ_CFG_H
#define SEGQ_CFG_H

#include "common/base/buf.h"
#include "common/base/err.h"

enum cfg_kind { CFG_NODE_SCALAR, CFG_NODE_LIST, CFG_NODE_MAP };

struct cfg_node { /* a parsed document */
    enum cfg_kind kind;
    int line;              /* 1-based; 0 if it came from JSON */
    bool quoted;           /* scalar: was written as a string */
    char *text;            /* scalar, owned */
    char *key;             /* if a member of a map, owned */
    struct cfg_node **kid; /* list, map; owned */
    size_t n_kids;
};

SQ_CHECK int cfg_parse_yaml(struct cfg_node **out, const char *text, size_t n,
                            const char *file, struct err *e);
SQ_CHECK int cfg_parse_json(struct cfg_node **out, const char *text, size_t n,
                            struct err *e);
SQ_CHECK int cfg_parse_file(struct cfg_node **out, const char *file, struct err *e); /* YAML */
void cfg_node_free(struct cfg_node *n);
struct cfg_node *cfg_node_get(const struct cfg_node *map, const char *key); /* or NULL */

enum cfg_type {
    CFG_BOOL,   /* bool */
    CFG_INT,    /* int64_t, min..max */
    CFG_NUM,    /* double, min..max */
    CFG_STR,    /* char *, owned; min..max characters */
    CFG_NAME,   /* char *: [a-z0-9][a-z0-9_-]{0,63} */
    CFG_ADDR,   /* char *: "host:port", "[v6]:port", "*:port" or ":port" (any), 0..65535 */
    CFG_ENUM,   /* int; `words` */
    CFG_MS,     /* int64_t milliseconds; written 250ms, 5s, 10m, 2h, 1d, or a bare number of ms */
    CFG_BYTES,  /* int64_t; written 64k, 16m, 2g, or a bare number */
    CFG_STRS,   /* struct cfg_list of char * */
    CFG_OBJ,    /* embedded struct, `sub` */
    CFG_OBJS,   /* struct cfg_list of structs, `sub`, `size` */
};

struct cfg_list {
    void *v; /* owned array */
    size_t n;
};

struct cfg_key {
    const char *key;
    enum cfg_type type;
    size_t offset;         /* in the struct */
    const char *def;       /* default as written; NULL: required; "" for lists = empty */
    double min, max;       /* numbers, lengths, list sizes; both 0: no bounds */
    bool reload;           /* HUP (or PATCH) may change it */
    const char *help;      /* one line */
    const char *const *words;   /* CFG_ENUM; NULL-ended; value = index */
    const struct cfg_key *sub;  /* CFG_OBJ, CFG_OBJS; ended by key == NULL */
    size_t size;                /* CFG_OBJS: of one element */
};

/* dst must be zeroed or have been set before (then it is replaced). Defaults fill what is
 * absent. `file` goes into errors. On error dst is as it was. */
SQ_CHECK int cfg_bind(void *dst, size_t dst_size, const struct cfg_key *keys,
                      const struct cfg_node *doc, const char *file, struct err *e);
/* Like cfg_bind, but keys that the table does not have are passed over: for what a newer
 * version may have written down. */
SQ_CHECK int cfg_bind_stored(void *dst, size_t dst_size, const struct cfg_key *keys,
                             const struct cfg_node *doc, const char *file, struct err *e);
/* Like cfg_bind, but what is absent keeps its value in dst (PATCH). */
SQ_CHECK int cfg_patch(void *dst, size_t dst_size, const struct cfg_key *keys,
                       const struct cfg_node *doc, const char *file, struct err *e);
/* dst: as for cfg_bind. */
SQ_CHECK int cfg_copy(void *dst, size_t size, const struct cfg_key *keys, const void *src);
/* Takes over from src what differs, and leaves there what it was; what is equal stays in
 * place, so that pointers to it stay good. Cannot fail. */
void cfg_swap_changed(void *dst, void *src, const struct cfg_key *keys);
void cfg_clear(void *dst, const struct cfg_key *keys); /* frees and zeroes what keys own */
bool cfg_equal(const void *a, const void *b, const struct cfg_key *keys);
/* Changes to keys that are not reloadable: names the first one; false if there is none. */
bool cfg_fixed_changed(const void *a, const void *b, const struct cfg_key *keys,
                       char *name, size_t cap);

void cfg_dump_yaml(struct buf *b, const void *src, const struct cfg_key *keys);
void cfg_dump_json(struct buf *b, const void *src, const struct cfg_key *keys);
void cfg_help(struct buf *b, const struct cfg_key *keys);   /* for -h */
void cfg_sample(struct buf *b, const struct cfg_key *keys); /* every key, commented */

bool cfg_addr_ok(const char *s); /* what CFG_ADDR takes */
/* The key that a dotted name stands for ("idle.game"), through maps, not lists; or NULL. */
const struct cfg_key *cfg_find(const struct cfg_key *keys, const char *dotted);
/* One KEY=VALUE into a parsed document (a map): a.b=v; lists of texts as v,w; entries of
 * lists of maps by number or name (queues.login.merge=false); maps as YAML. */
SQ_CHECK int cfg_set(struct cfg_node *doc, const struct cfg_key *keys, const char *set,
                     struct err *e);
/* Usual start: read `file` (NULL = defaults only), apply `--set KEY=VALUE`s (dotted keys),
 * bind. */
SQ_CHECK int cfg_load(void *dst, size_t size, const struct cfg_key *keys, const char *file,
                      const char *const *sets, size_t n_sets, struct err *e);
/* What was loaded so is wrong in a way that a table cannot say: puts file and line in front of
 * the sentence, if the keys that it begins with are found there. */
void cfg_where(struct err *e, const struct cfg_key *keys, const char *file,
               const char *const *sets, size_t n_sets);

#endif

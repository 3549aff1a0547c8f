/* cfg_key.h: one row of a configuration table: key, type, default, bounds, help. Pure. */
#ifndef SEGQ_CFG_KEY_H
#define SEGQ_CFG_KEY_H

#include "common/base/base.h"

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
    const char *help;      /* a line */
    const char *const *words;   /* CFG_ENUM; NULL-ended; value = index */
    const struct cfg_key *sub;  /* CFG_OBJ, CFG_OBJS; ended by key == NULL */
    size_t size;                /* CFG_OBJS: of one element */
};

/* Is the i-th key of a table its last? */
static inline bool cfg_is_end(const struct cfg_key *k)
{
    return k->key == NULL;
}

static inline void *cfg_at(const void *base, const struct cfg_key *k)
{
    return (char *)(uintptr_t)base + k->offset;
}

#endif

/* cfg_key.h: one row of a configuration table (key, type, default, bounds, help), and one value of
 * it: text to member, member to text; structs that a table fills: copied, compared, freed. Pure. */
#ifndef SEGQ_CFG_KEY_H
#define SEGQ_CFG_KEY_H

#include "common/base/buf.h"
#include "common/base/err.h"

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

/* Rows of a table, up to its end. */
#define cfg_each_key(k, keys) for (const struct cfg_key *k = (keys); k->key != NULL; k++)

static inline void *cfg_at(const void *base, const struct cfg_key *k)
{
    return (char *)(uintptr_t)base + k->offset;
}

static inline bool cfg_is_string(const struct cfg_key *k) /* a char * */
{
    return k->type == CFG_STR || k->type == CFG_NAME || k->type == CFG_ADDR;
}

static inline bool cfg_is_list(const struct cfg_key *k) /* a struct cfg_list */
{
    return k->type == CFG_STRS || k->type == CFG_OBJS;
}

/* The key that a dotted name stands for ("idle.game"), through maps, not lists; or NULL. */
const struct cfg_key *cfg_find(const struct cfg_key *keys, const char *dotted);
/* The row of the n bytes at name; or NULL. */
const struct cfg_key *cfg_find_name(const struct cfg_key *keys, const char *name, size_t n);

bool cfg_addr_ok(const char *s); /* True: CFG_ADDR takes it */
bool cfg_name_ok(const char *s); /* CFG_NAME likewise */
bool cfg_size_ok(const struct cfg_key *k, size_t n); /* a list may have n entries */
/* Scalars (and CFG_STRS from a comma separated text). The field is replaced.
 * 0, SQ_EINVAL, SQ_ENOMEM. */
SQ_CHECK int cfg_text_set(void *field, const struct cfg_key *k, const char *text, bool quoted);
/* "a whole number from 1 to 9": for errors and help. */
void cfg_allowed(struct buf *b, const struct cfg_key *k);
/* The value as one writes it, without quotes. Scalars only. */
void cfg_text_get(struct buf *b, const struct cfg_key *k, const void *field);

/* ---- structs that a table fills --------------------------------------------------- */

/* Takes over from src what differs, and leaves there what it was; what is equal stays in
 * place, so that pointers to it stay good. Cannot fail. */
void cfg_swap_changed(void *dst, void *src, const struct cfg_key *keys);
void cfg_clear(void *dst, const struct cfg_key *keys); /* frees and zeroes what keys own */
bool cfg_equal(const void *a, const void *b, const struct cfg_key *keys);
/* Changes to keys that are not reloadable: names the first one; false if there is none. */
bool cfg_fixed_changed(const void *a, const void *b, const struct cfg_key *keys,
                       char *name, size_t cap);

/* For cfg_bind.c. */
void cfg_field_clear(void *field, const struct cfg_key *k);
void cfg_forget(void *dst, const struct cfg_key *keys); /* zeroes the fields, frees nothing */
/* dst's fields own nothing yet; also after SQ_ENOMEM: cfg_clear(). */
SQ_CHECK int cfg_copy_keys(void *dst, const struct cfg_key *keys, const void *src);
SQ_CHECK int cfg_strs_add(struct cfg_list *l, const char *s, size_t n);

#endif

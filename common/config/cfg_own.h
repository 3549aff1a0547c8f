/* cfg_own.h: structs that a table fills: copied, compared, freed. Pure. */
#ifndef SEGQ_CFG_OWN_H
#define SEGQ_CFG_OWN_H

#include "common/base/err.h"
#include "common/config/cfg_key.h"

/* Takes over from src what differs, and leaves there what it was; what is equal stays in
 * place, so that pointers to it stay good. Cannot fail. */
void cfg_swap_changed(void *dst, void *src, const struct cfg_key *keys);
void cfg_clear(void *dst, const struct cfg_key *keys); /* frees and zeroes what keys own */
bool cfg_equal(const void *a, const void *b, const struct cfg_key *keys);
/* Changes to keys that are not reloadable: names the first one; false if there is none. */
bool cfg_fixed_changed(const void *a, const void *b, const struct cfg_key *keys,
                       char *name, size_t cap);

/* ---- for cfg_bind.c and cfg_key.c ---- */
void cfg_field_clear(void *field, const struct cfg_key *k);
void cfg_forget(void *dst, const struct cfg_key *keys); /* zeroes the fields, frees nothing */
/* dst's fields own nothing yet; also after SQ_ENOMEM: cfg_clear(). */
SQ_CHECK int cfg_copy_keys(void *dst, const struct cfg_key *keys, const void *src);
SQ_CHECK int cfg_strs_add(struct cfg_list *l, const char *s, size_t n);

#endif

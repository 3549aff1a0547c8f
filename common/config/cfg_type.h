/* cfg_type.h: one value of a table: text to member, member to text. Pure. */
#ifndef SEGQ_CFG_TYPE_H
#define SEGQ_CFG_TYPE_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/config/cfg_key.h"

bool cfg_addr_ok(const char *s); /* True: CFG_ADDR takes it */

/* Scalars (and CFG_STRS from a comma separated text). The field is replaced.
 * 0, SQ_EINVAL, SQ_ENOMEM. */
SQ_CHECK int cfg_text_set(void *field, const struct cfg_key *k, const char *text, bool quoted);
bool cfg_str_ok(const struct cfg_key *k, const char *text);
/* "a whole number from 1 to 9": for errors and help. */
void cfg_allowed(struct buf *b, const struct cfg_key *k);
/* The value as one writes it, without quotes. Scalars only. */
void cfg_text_get(struct buf *b, const struct cfg_key *k, const void *field);
bool cfg_is_text_type(enum cfg_type t); /* is dumped in quotes */
size_t cfg_list_max(const struct cfg_key *k);

#endif

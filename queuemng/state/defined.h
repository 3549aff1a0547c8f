/* defined.h: objects that an operator's definition makes (policy/def_kind.h): budgets, endpoints, pools,
 * pinned keys. Pure.
 *
 * Each is a struct of its own with a copy of its definition (`def`), the version of that, and a link in
 * its kind's list (`in`); a row of a table says where. So they are found, made, changed, freed, written
 * and read by kind, in one way; what is special comes on top, in the kind's own file. Queues of people
 * have ids, lanes and tens of thousands: they are in state/queue.h.
 *
 * Stored as KIND/NAME {version, def}; a kind may add members. */
#ifndef SEGQ_QUEUEMNG_STATE_DEFINED_H
#define SEGQ_QUEUEMNG_STATE_DEFINED_H

#include "queuemng/policy/def_kind.h"

struct json_t;
struct mng;

/* By the full name. NULL: there is none. */
void *defined_find(const struct mng *m, enum def_kind_no kind, const char *name);
/* The one behind x in their list; NULL as x: the first; NULL: no more. */
void *defined_next(const struct mng *m, enum def_kind_no kind, const void *x);
const void *defined_def(enum def_kind_no kind, const void *x);
uint64_t defined_version(enum def_kind_no kind, const void *x);

/* Makes one of version 1, in its place of the list; the definition is copied, the rest is zero.
 * NULL: no memory. */
void *defined_new(struct mng *m, enum def_kind_no kind, const void *def);
/* Takes another definition, with the next version. 0, SQ_ENOMEM. */
SQ_CHECK int defined_change(enum def_kind_no kind, void *x, const void *def, struct err *e);
bool defined_equals(enum def_kind_no kind, const void *x, const void *def);
void defined_free(struct mng *m, enum def_kind_no kind, void *x);

/* Writes its record: {version, def}, to which members may be added. NULL: no memory. */
struct json_t *defined_json(enum def_kind_no kind, const void *x);
/* Stores it (takes j, or writes it) or its end with this step. */
void defined_put(struct mng *m, enum def_kind_no kind, const void *x, struct json_t *j);
void defined_del(struct mng *m, enum def_kind_no kind, const void *x);
/* Makes one, *x, of its record. 0, SQ_EPROTO, SQ_EINVAL, SQ_ENOMEM. */
SQ_CHECK int defined_load(struct mng *m, enum def_kind_no kind, const char *key, struct json_t *j,
                          void **x, struct err *e);

#endif

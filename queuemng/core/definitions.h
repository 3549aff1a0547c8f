/* definitions.h: definitions of all kinds (policy/def_kind.h), as operators give them: defined, changed,
 * removed, read. What is special of a kind is in its own file: queues.c here, release/budgets.c,
 * tasks/endpoints.c, tasks/pools.c; a table says which functions those are.
 *
 * A name is a definition's full name (def_full_name()). Calls return 0, or SQ_EUNKNOWN, SQ_ECONFLICT,
 * SQ_EINVAL or SQ_ENOMEM with a sentence for the operator. */
#ifndef SEGQ_QUEUEMNG_CORE_DEFINITIONS_H
#define SEGQ_QUEUEMNG_CORE_DEFINITIONS_H

#include "common/base/err.h"
#include "queuemng/core/view.h"
#include "queuemng/policy/def_kind.h"

struct mng_out;

/* A new definition, or a changed one. An endpoint without a pool gets one of its name, */
SQ_CHECK int mng_define(struct mng *m, enum def_kind_no kind, msec_t now_ms, const void *def,
                        struct mng_out *out, struct err *e);
/* or none. */
SQ_CHECK int mng_define_endpoint_alone(struct mng *m, msec_t now_ms, const void *def,
                                       struct mng_out *out, struct err *e);
/* Removes it (a queue: queues.h). final: what depends on it goes, too. */
SQ_CHECK int mng_undefine(struct mng *m, enum def_kind_no kind, msec_t now_ms, const char *name,
                          bool final, struct mng_out *out, struct err *e);

/* Good until the next step. version may be NULL. NULL: there is none. */
const void *mng_defined(const struct mng *m, enum def_kind_no kind, const char *name,
                        uint64_t *version);
/* SQ_EUNKNOWN, with the sentence for a name that mng_defined() does not know. */
int mng_not_defined(enum def_kind_no kind, const char *name, struct err *e);

struct mng_def_view {
    const void *def;
    const struct cfg_key *keys; /* table of it */
    uint64_t version;
};
void mng_each_defined(const struct mng *m, enum def_kind_no kind, mng_each_fn fn, void *ctx);

#endif

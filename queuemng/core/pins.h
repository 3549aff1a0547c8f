/* pins.h: orders of operators about pinned keys, and views of them. */
#ifndef SEGQ_QUEUEMNG_CORE_PINS_H
#define SEGQ_QUEUEMNG_CORE_PINS_H

#include "common/base/err.h"
#include "queuemng/core/view.h"

struct key_pin;
struct mng_out;

/* SQ_EINVAL; SQ_EUNKNOWN: no pool has its queue; SQ_ECONFLICT: there are too many. */
SQ_CHECK int mng_pin_put(struct mng *m, msec_t now_ms, const struct key_pin *d, struct mng_out *out,
                         struct err *e);
/* Good until the next step. NULL: there is none. version may be NULL. */
const struct key_pin *mng_pin_get(const struct mng *m, const char *queue, const char *key,
                                  uint64_t *version);
SQ_CHECK int mng_pin_delete(struct mng *m, msec_t now_ms, const char *queue, const char *key,
                            struct mng_out *out, struct err *e);

struct mng_pin_view {
    const struct key_pin *def;
    uint64_t version;
};
void mng_each_pin(const struct mng *m, mng_each_fn fn, void *ctx);

#endif

/* mng_store.h: what queuemng must not forget, in one local file: keys and values, an
 * append-only log with checksums, compacted by itself. One manager per directory (lock).
 *
 * DIR/manager.store:  8 bytes "segqkv1\n", then records:
 *   u32 length of the payload | u32 check of the length | u64 SipHash of the payload
 *   payload: u8 1 = put, 2 = delete | u16 key length | key | value     (little endian)
 *
 * A torn tail (power cut while writing) is cut and logged: it was never acknowledged.
 * Damage before the end is refused, naming the offset. A failed write or sync is final
 * for that file: everything is written anew to another file, or mng_store_sync() fails
 * and nothing that depends on it may be sent. */
#ifndef SEGQ_MNG_STORE_H
#define SEGQ_MNG_STORE_H

#include "common/base/err.h"
#include "queuemng/store/pairs.h"

struct mng_store;

/* dir is made if it is missing. SQ_ECONFLICT: another manager has it. */
SQ_CHECK int mng_store_open(struct mng_store **out, const char *dir, struct err *e);
void mng_store_close(struct mng_store *s); /* NULL is fine; what was not synced is lost */

/* Every pair, in no order; stops at the first result < 0 and returns it. */
SQ_CHECK int mng_store_each(const struct mng_store *s, pair_fn fn, void *ctx);

/* Noted in memory; durable after mng_store_sync(). SQ_ENOMEM: nothing is changed. */
SQ_CHECK int mng_store_put(struct mng_store *s, const char *key, const char *val);
SQ_CHECK int mng_store_del(struct mng_store *s, const char *key);
/* One write, one fdatasync; cheap if nothing was put. May be tried again after a failure. */
SQ_CHECK int mng_store_sync(struct mng_store *s, struct err *e);

struct mng_store_counts {
    uint64_t keys, live_bytes, file_bytes, syncs, compactions, failures;
};
void mng_store_count(const struct mng_store *s, struct mng_store_counts *c);

#endif

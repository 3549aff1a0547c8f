/* store_import.h: takes over the file in which releases up to 0.1 kept the manager's store.
 *
 * DIR/manager.store: 8 bytes "segqkv1\n", then records (little endian):
 *   u32 length of the payload | u32 check of the length | u64 SipHash of the payload
 *   payload: u8 1 = put, 2 = delete | u16 key length | key | value
 * Locked by flock of DIR/manager.lock. A torn tail is passed over: it was never acknowledged.
 *
 * When its pairs are kept elsewhere, a line of text takes its place. An older segq that is
 * started after that refuses it ("not a store of this version") instead of beginning
 * anew with nothing. */
#ifndef SEGQ_STORE_IMPORT_H
#define SEGQ_STORE_IMPORT_H

#include "common/base/err.h"
#include "queuemng/store/kv.h"

/* Keeps all pairs of kv for good, and may change kv. */
typedef int (*store_take_fn)(void *ctx, struct kv *kv, struct err *e);

/* Calls `take` if there is such a file; killed at any step, the next start does it again.
 * 0; SQ_EPROTO: damaged, with file and offset; SQ_ECONFLICT: an older manager uses it;
 * SQ_ESYS, SQ_ENOMEM, or what `take` answered. */
SQ_CHECK int store_import(const char *dir, store_take_fn take, void *ctx, struct err *e);

#endif

/* redis_store.h: lease and stored pairs in one Redis, shared by all managers. Shell.
 *
 * Keys, with the prefix in braces, so that a cluster keeps them on one node:
 *   {P}:lease  "OWNER name rpc-address admin-address", with a time to live
 *   {P}:head   hash: epoch (the highest ever given), rev (grows with every batch of
 *              writes), last (the name of the last batch)
 *   {P}:kv     hash: the pairs
 *
 * Four scripts, each atomic: take (counts the epoch up), renew, free, write. A write
 * names the epoch, the rev that it follows, and itself: a batch of an older epoch is
 * refused; one that comes twice (its answer was lost, it was sent again) counts once; one
 * that comes late, after a newer one, changes nothing. One batch is under way at a time;
 * what is put meanwhile goes with the next.
 *
 * Every manager has a copy of the pairs (`mirror`), also the standbys. If Redis comes
 * back with less than it has acknowledged (rev has gone back: it was restarted from an
 * old snapshot, or empty), who leads next puts its copy back. */
#ifndef SEGQ_REDIS_STORE_H
#define SEGQ_REDIS_STORE_H

#include "common/redis/redis_link.h"
#include "queuemng/store/redis_lease.h"
#include "queuemng/store/store.h"

struct redis_store_calls { /* from the loop */
    void (*on_link)(void *ctx, bool up, int64_t uptime_ms);
    void (*on_lease)(void *ctx, const struct redis_lease *r);
    void (*on_loaded)(void *ctx, int rc);
    void (*on_done)(void *ctx);                     /* store_done() has grown */
    void (*on_refused)(void *ctx, const char *why); /* our epoch writes no more */
};

struct redis_store_opts {
    struct redis_opts link;
    const char *prefix;
    const char *owner; /* id of this process, and of no other */
    const char *info;  /* news of the holder for a standby */
    uint32_t ttl_ms;
    uint32_t wait_replicas; /* replicas that must have a write before it counts */
};

struct redis_store;
SQ_CHECK int redis_store_new(struct redis_store **out, struct ev *ev,
                             const struct redis_store_opts *o,
                             const struct redis_store_calls *calls, void *ctx,
                             struct err *e);
/* Opens a store; closed by store_close(). */
struct store *redis_store_base(struct redis_store *s);

/* The pairs. A term begins: what is put from now on is written under this epoch. */
void redis_store_begin(struct redis_store *s, uint64_t epoch);
/* Ends it: what was not acknowledged is dropped. */
void redis_store_end(struct redis_store *s);
/* The pairs in Redis become the mirror; on_loaded follows, with SQ_ESTALE if there are none any
 * more: the mirror is kept. SQ_EUNAVAIL, SQ_ENOMEM. */
SQ_CHECK int redis_store_load(struct redis_store *s);
/* The mirror, whole, in place of what is there: the first write of a term. */
SQ_CHECK int redis_store_restore(struct redis_store *s);
/* Is the mirror what Redis has at this rev? REDIS_WENT_BACK: Redis has less than it
 * acknowledged. */
enum redis_mirror { REDIS_SAME, REDIS_NEWER, REDIS_WENT_BACK };
enum redis_mirror redis_store_compare(const struct redis_store *s, uint64_t rev);
msec_t redis_store_stuck_ms(const struct redis_store *s); /* age of the oldest open write */

/* Says it of what Redis tells of its replicas (INFO replication): it has two or more, and takes writes
 * that none of them gets. */
bool redis_takes_writes_alone(const char *info);
/* True while such a Redis is used, and another of its servers may become the master. Asked when the
 * link comes up, and once a minute by who leads. */
bool redis_store_alone(const struct redis_store *s);

const struct redis_link *redis_store_link(const struct redis_store *s);
const struct histo *redis_store_latency(const struct redis_store *s);

#endif

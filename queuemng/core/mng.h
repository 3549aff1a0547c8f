/* mng.h: the manager's whole brain: its chains, moves, releases, nodes and routers. Pure.
 * The shell (queuemng/service) and the simulation feed it the same events.
 *
 * The data that it must not forget (epoch, next ids, queue definitions, chains, aliases) leaves as
 * MNG_PUT / MNG_DEL acts; the messages that depend on them come after them in the same
 * list: the shell makes the puts durable before it sends anything that follows. A new
 * mng is fed the stored pairs by mng_load() before its first step. Everything else is
 * rebuilt from what the segment nodes report.
 *
 * If box.failed is set after a step, there was no memory to note down what the core has
 * decided. Then nothing of that step may be stored or sent, and the core is of no use any
 * more: the shell makes another one from what is stored, as after a restart.
 *
 * This header gives all entrances; each is declared with its subject. */
#ifndef SEGQ_QUEUEMNG_CORE_MNG_H
#define SEGQ_QUEUEMNG_CORE_MNG_H

#include "queuemng/core/definitions.h"
#include "queuemng/core/load.h"
#include "queuemng/core/monitors.h"
#include "queuemng/core/orders.h"
#include "queuemng/core/peers.h"
#include "queuemng/core/queues.h"
#include "queuemng/core/task_view.h"
#include "queuemng/core/tick.h"
#include "queuemng/core/view.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/queue_def.h"
#include "queuemng/state/out.h"

/* Options are copied; NULL: no memory. */
struct mng *mng_new(const struct mng_opts *o);
void mng_free(struct mng *m);
/* Before mng_start(): the epoch was given with the lease, in place of the next one. */
void mng_set_epoch(struct mng *m, uint64_t epoch);
/* Once, when all stored pairs are loaded: a term begins, with an epoch and map versions above
 * all earlier ones. */
void mng_start(struct mng *m, msec_t now_ms, int64_t wall_ms, struct mng_out *out);
/* 0, or: nodes obey this epoch, or (if it is ours) another manager under it. A leader that
 * finds itself here has to take a higher one. */
uint64_t mng_fenced_by(const struct mng *m);
/* Nodes are there, and all of them obey managers that have another store. */
bool mng_is_foreign(const struct mng *m);

/* The end of a step, the last call of each entrance: chains are planned first, then releases that wait
 * for nothing, then what is to be stored, then what routers and nodes are told. Within a step all stores
 * precede all sends. */
void mng_end(struct mng *m);

#endif

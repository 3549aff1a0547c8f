/* faults.h: faults at random, and mending all of it. The kinds stand in fault_*.c, those of the
 * managers' store in store.c. */
#ifndef SEGQ_SIM_FAULTS_H
#define SEGQ_SIM_FAULTS_H

#include "tests/lib/sim/state.h"

/* In the order in which their first moments are drawn. */
#define SIM_FAULTS(X)                                                                    \
    X(link_break)                                                                        \
    X(link_cut)                                                                          \
    X(slow_link)                                                                         \
    X(pause)                                                                             \
    X(router_restart)                                                                    \
    X(mng_restart)                                                                       \
    X(seg_lose)                                                                          \
    X(drain)                                                                             \
    X(queue_pause)                                                                       \
    X(queue_close)                                                                       \
    X(queue_put)                                                                         \
    X(release_by_hand)                                                                   \
    X(add_node)                                                                          \
    X(seg_kill)                                                                          \
    X(store_away)                                                                        \
    X(store_slow)                                                                        \
    X(store_forget)                                                                      \
    X(store_failover)                                                                    \
    X(clock_jump)                                                                        \
    X(link_oneway)                                                                       \
    X(slow_proc)                                                                         \
    X(storm)                                                                             \
    X(disk_full)                                                                         \
    X(disk_slow)                                                                         \
    X(queue_passthrough)                                                                 \
    X(queue_reject)                                                                      \
    X(queue_patch)                                                                       \
    X(drain_all)                                                                         \
    X(routers_gone)                                                                      \
    X(forget)
#define X(name) void fault_##name(struct sim *s);
SIM_FAULTS(X)
#undef X
enum mend { MEND_UNDRAIN, MEND_OPEN, MEND_ALL, MEND_SAY_AGAIN, MEND_ONEWAY, MEND_DISK };
void faults_mend_later(struct sim *s, enum mend what, uint32_t whom, double ms);
void faults_start(struct sim *s);
void faults_event(struct sim *s, const struct event *e);

#endif

/* quiet.h: is one person silent, or the whole queue? Pure.
 *
 *   polls:    | | |  | |       silence        | || | | | |
 *   people:   judged          nobody is judged             judged again after `away`
 *
 * A person who is called and has not polled for `away` is skipped (segment/tickets/away.c).
 * But when a load balancer restarts, an uplink is cut, or all routers are away, the whole line
 * falls silent, and everybody would lose the turn to the first to be back. So nobody
 * is skipped while no poll comes at all, nor after that until everybody has had the time to come
 * back, which is as long as a person may be silent: `away`. */
#ifndef SEGQ_QUEUEMNG_POLICY_QUIET_H
#define SEGQ_QUEUEMNG_POLICY_QUIET_H

#include "common/base/base.h"

struct quiet { /* zero = nobody yet */
    msec_t last_ms, since_ms;
};

/* Some person of the queue has polled. A gap of more than quiet_ms between polls is a silence. */
void quiet_poll(struct quiet *h, msec_t now_ms, msec_t quiet_ms);
/* The lateness from which a person is skipped: away_ms; 0: nobody is. */
uint32_t quiet_away_ms(const struct quiet *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms);

#endif

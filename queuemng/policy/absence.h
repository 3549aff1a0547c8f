/* absence.h: people who are not there: the share of released people who do not come, with the
 * over-release that makes up for them; and whether one person is silent, or the whole queue. Pure.
 *
 * A released ticket is claimed (its pass is collected) or missed (its claim window ran out).
 * The share of the claimed follows the last NO_SHOW_MEMORY decided tickets, so that it moves
 * with evidence and not with time: a quiet night does not forget. A miss is known one claim
 * window later than a claim: in the first window of a rush the share is taken for too high,
 * which lets in too few and never too many.
 *
 * In mode `rate` more tickets are released than the rate says, at most no_show_boost times as
 * many, so that about the rate comes. In mode `slots` a slot is given back when the window is
 * over, and none of this is needed. */
#ifndef SEGQ_QUEUEMNG_POLICY_ABSENCE_H
#define SEGQ_QUEUEMNG_POLICY_ABSENCE_H

#include "common/base/base.h"

#define NO_SHOW_MEMORY 200 /* decided tickets that the share is made of */
#define NO_SHOW_FEW    50  /* with less evidence it is not acted on */

struct no_show { /* counts of a queue; zero = new */
    uint64_t claimed, missed; /* ever, in this manager's time */
    uint64_t seen_claimed, seen_missed; /* part of them that the share knows */
    double rate;              /* share of the decided that came: 0..1 */
};

/* Tickets decided since the last call go into the share; once a second. */
void no_show_second(struct no_show *c);
/* The share of the released who come, 0..1; 1 while there is too little evidence. */
double no_show_share_come(const struct no_show *c);
/* The factor of over-release; 1 .. most. */
double no_show_boost(const struct no_show *c, double most);

/* Is one person silent, or the whole queue?
 *
 *   polls:    | | |  | |       silence        | || | | | |
 *   people:   judged          nobody is judged             judged again after `away`
 *
 * A person who is called and has not polled for `away` is skipped (segment/tickets/release.c).
 * But when a load balancer restarts, an uplink is cut, or all routers are away, the whole line
 * falls silent, and everybody would lose the turn to the first to be back. So nobody
 * is skipped while no poll comes at all, nor after that until everybody has had the time to come
 * back, which is as long as a person may be silent: `away`. */

struct quiet { /* zero = nobody yet */
    msec_t last_ms, since_ms;
};

/* Some person of the queue has polled. A gap of more than quiet_ms between polls is a silence. */
void quiet_poll(struct quiet *h, msec_t now_ms, msec_t quiet_ms);
/* The lateness from which a person is skipped: away_ms; 0: nobody is. */
uint32_t quiet_away_ms(const struct quiet *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms);

#endif

/* confirm.h: orders that take something from people, or a node away: the operator confirms them.
 * All return enum ctl_exit. */
#ifndef SEGQ_CTL_CONFIRM_H
#define SEGQ_CTL_CONFIRM_H

#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/answer_view.h"

/* CTL_OK: go on; never with --dry-run, which prints the consequences. sentence: about them, and
 * o (ctl_say()); name: to be typed. */
int ctl_sure(const struct ctl *c, const json_t *o, const char *sentence, const char *name);
/* The same for an order about a queue, with the number of its people. Risk NONE: n of them are
 * let in at once, which is one if that is more than goes in by itself in a minute. */
int ctl_queue_is_sure(const struct ctl *c, enum risk risk, uint64_t n, const char *queue);

int cmd_drain(struct ctl *c, char **argv);  /* see commands.h */
int cmd_forget(struct ctl *c, char **argv);

#endif

/* groups.h: people who stand in all queues at once (router/flow/places.h), some of them at several devices, some with
 * a list that has a queue which is not there: what they joined in vain is given back. Judged:
 *
 *   at every drop    no place is given back that a person was told
 *   at every answer  no place is told that was given back
 *   at the end       places that wait though nobody was told of them, nor has given them up: groups_left() */
#ifndef SEGQ_SIM_GROUPS_H
#define SEGQ_SIM_GROUPS_H

#include "tests/lib/sim/router_state.h"

/* n devices come within over_ms; `share` of them have a queue too many on their list. */
void sim_join_groups(struct sim *s, unsigned n, double share, msec_t over_ms);
bool groups_over(struct sim *s); /* all have left, or had their turn */
uint32_t groups_left(struct sim *s);
struct group_counts {
    uint32_t joined, failed, turns, given_back, late, killed;
};
struct group_counts groups_count(const struct sim *s);

/* ---- for the simulation ---- */

uint64_t group_name(uint32_t who, unsigned queue, char text[SIM_SUBJECT_LEN]);
bool is_group_name(const char *text, size_t n);
void groups_event(struct sim *s, const struct event *e);
void groups_given_back(struct sim *s, struct ticket *t); /* dropped as such */
void groups_free(struct sim *s);
/* Flow i of router p, of a party or late, has ended. */
void group_flow_ended(struct sim *s, struct proc *p, uint32_t i);
/* May its ask be waited for behind its deadline? */
bool group_waits_on(const struct sflow *f);
/* At that deadline, with the ask on its way: slot i waits for the answer. *ends: the slot that ends
 * now; UINT32_MAX: none. False: i is to end. */
bool group_outlive(struct sim *s, struct proc *p, uint32_t i, uint32_t *ends);
void groups_router_dies(struct sim *s, struct proc *p);

#endif

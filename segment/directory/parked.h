/* parked.h: joins whose subject another member of the directory is asked about: they wait here for
 * its word, and are answered then (tickets/join.c), so that a router far away need not ask twice. Pure.
 *
 *   park --its word is here--------------------------------> due, to be done
 *     |---busy, link or members changed, DIR_PARK_MS later--> due, to be told busy
 *     '---the router's link ends--> forgotten
 *
 * Nothing is done for a parked join: it has no place, and is in no journal.
 *
 * Memory: DIR_PARKED_MAX records, taken at the first need; further joins are told busy. */
#ifndef SEGQ_SEG_DIRECTORY_PARKED_H
#define SEGQ_SEG_DIRECTORY_PARKED_H

#include "segment/core/state.h"

/* Row `row` of a batch waits for this word, permit_asked() of its subject; false: there is no room. */
bool parked_add(struct segtab *t, struct permit *c, const struct append_from *from, uint8_t row,
                const struct append_req *r);
/* All that wait for this word are due. */
void parked_word(struct dirs *d, struct permit *c, bool is_here);
/* The next one that is due; NULL: none. parked_done() or parked_again() follows. */
struct parked *parked_due(const struct dirs *d);
/* How many of the next ones are of one batch: one frame answers them. */
uint32_t parked_run(const struct dirs *d);
/* Waits for the next word: another join has used the one before. */
void parked_again(struct dirs *d, struct permit *c, struct parked *p);
void parked_done(struct dirs *d, struct parked *p);
/* Joins of a router whose link has ended. */
void parked_gone(struct dirs *d, peer_no peer);
void parked_tick(struct segtab *t);

#endif

/* turn.h: people who are told that their turn comes (CONTACT, TURN). Pure.
 *
 *   CONTACT --> a record beside the ticket --release, stored--> TURN{NOW} to a router, until it has
 *                                                               been told, or the ticket ends
 *
 * Nothing is written down when a word is said: what is due follows from the ticket's state, so a node that
 * begins anew says it again, under the same name, and the task node knows that. What was told is written
 * down. A ticket that will be told need not be polled while it waits, and has longer to come. */
#ifndef SEGQ_SEG_TICKETS_TURN_H
#define SEGQ_SEG_TICKETS_TURN_H

#include "segment/core/state.h"

#define QUEUE_CONTACTS_MAX  100000      /* at one node; of those of browsers (500 bytes) as many fit into */
#define QUEUE_CONTACT_BYTES (48u << 20) /* bytes together: 60 MB of memory, a group of the journal, a link's output */

/* Only tickets that wait get one; any may lose it. */
void segtab_contact(struct segtab *t, struct seg_now now, const struct contact_req *req, uint32_t n,
                    struct contact_ans *ans);
/* Once a tick: keeps their places, says what is due. */
void segtab_turns_tick(struct segtab *t, struct outbox *out);
void segtab_turn_ans(struct segtab *t, const struct msg_turn_ans *m);
/* How many there are; *due: of these, such as are let in and not told yet. */
uint64_t segtab_contacts(const struct segtab *t, uint64_t *due);

#endif

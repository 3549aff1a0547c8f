/* wants.h: tickets to which somebody listens at a router that is far: it is told when they are let in,
 * without being asked (replica/listeners.h). Of one link. Pure.
 *
 *   SEEN, want --> wanted --released--> due --its release is stored--> LET_IN, forgotten
 *                    ^------ it waits again ---'
 *
 * Memory: the table is its owner's, at most WANTS_MAX records; what is more is told when it is
 * asked for. */
#ifndef SEGQ_SEG_CORE_WANTS_H
#define SEGQ_SEG_CORE_WANTS_H

#include "segment/line/ticket_idx.h"

#define WANTS_MAX 16384

struct want {
    struct ticket_id id; /* the one in the token */
    uint8_t client;      /* enum client_class */
    uint16_t n;          /* listeners; with the last one it ends */
};

struct wants {
    struct want *v; /* owned; those that are due come first */
    uint32_t n, n_due, cap;
    struct ticket_idx idx;
};

void wants_fini(struct wants *w);
/* Without memory, or room, nothing is wanted. */
void wants_add(struct wants *w, struct ticket_id id, uint8_t client);
void wants_del(struct wants *w, struct ticket_id id);
/* Ends one listener's want. */
void wants_less(struct wants *w, struct ticket_id id);
/* The ticket, if it is wanted, is due. */
void wants_due(struct wants *w, struct ticket_id id);
/* w->v[i], which is due, waits for the next release. The last one that is due takes its place. */
void wants_not_due(struct wants *w, uint32_t i);

#endif

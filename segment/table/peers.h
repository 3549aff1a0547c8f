/* peers.h: the processes that this node has links to, and where messages to them go. */
#ifndef SEGQ_SEG_TABLE_PEERS_H
#define SEGQ_SEG_TABLE_PEERS_H

#include "segment/table/state.h"

struct peer *segtab_peer(struct segtab *t, peer_no no); /* or NULL */
const struct peer *segtab_peer_named(const struct segtab *t, const char *name,
                                     uint8_t role);
/* A link is up. NULL: no memory. The pointer is good until the next one. */
struct peer *peer_add(struct segtab *t, peer_no no, uint8_t role, const char *name);
/* Where a message of this node goes: to `peer`, or round to ourselves. */
struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out);
/* Answers that something cannot be done; about: enum msg_type. */
void segtab_error(struct outbox *out, peer_no to, int code, uint32_t about,
                  const char *text);

#endif

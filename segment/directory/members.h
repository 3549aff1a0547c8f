/* members.h: the members of the directory, the links to them, and what goes out with a step. */
#ifndef SEGQ_SEG_DIRECTORY_MEMBERS_H
#define SEGQ_SEG_DIRECTORY_MEMBERS_H

#include "segment/core/state.h"

/* Nothing is known yet. */
void dirs_init(struct dirs *d);
void dirs_fini(struct dirs *d);
/* Sets the members, from the manager; others than before: everything is said anew. */
void segtab_dir_members(struct segtab *t, const struct msg_members *m);
/* A link to a node is up. */
void segtab_dir_up(struct segtab *t, const char *name);
/* A link to a node is gone. */
void segtab_dir_down(struct segtab *t, peer_no peer, const char *name);
void segtab_dir_tick(struct segtab *t);
/* Sends what a step has said. */
void segtab_dir_flush(struct segtab *t, struct outbox *out);
/* Room for cap; how many. Behind those in v already. */
size_t segtab_dir_wanted(const struct segtab *t, struct node_want *v, size_t n, size_t cap);

#endif

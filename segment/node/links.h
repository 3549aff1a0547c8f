/* links.h: links to routers, managers and other nodes come and go. */
#ifndef SEGQ_SEG_NODE_LINKS_H
#define SEGQ_SEG_NODE_LINKS_H

#include "segment/core/opts.h"

struct outbox;
struct segtab;
struct segtab_in;

/* Links to other segment nodes that are wanted now; returns how many (at most cap). */
size_t segtab_wanted(const struct segtab *t, struct node_want *v, size_t cap);
void peer_up(struct segtab *t, const struct segtab_in *in, struct outbox *out);
void peer_down(struct segtab *t, peer_no no, struct outbox *out);

#endif

/* node.h: a node's table of segments: its beginning and its end. */
#ifndef SEGQ_SEG_NODE_NODE_H
#define SEGQ_SEG_NODE_NODE_H

#include "segment/core/opts.h"

struct segtab;
struct segtab_opts;

struct segtab *segtab_new(const struct segtab_opts *o); /* NULL: no memory */
void segtab_free(struct segtab *t);

#endif

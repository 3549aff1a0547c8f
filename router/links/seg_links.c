/* seg_links.c: see seg_links.h. */
#include "router/links/seg_links.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/versions.h"

#define FREE_BATCHES_MAX 64

static struct batch *batch_new(struct seg_links *s)
{
    struct batch *b = list_entry(list_first(&s->free_batches), struct batch, in_list);

    if (b != NULL)
        list_remove(&s->free_batches, &b->in_list);
    else
        b = malloc(sizeof(*b));
    if (b == NULL)
        return NULL;
    b->n = 0;
    b->since_us = ev_now_us(s->r->ev);
    return b;
}

void batch_free(struct seg_links *s, struct batch *b)
{
    if (s->free_batches.n >= FREE_BATCHES_MAX)
        free(b);
    else
        list_push_front(&s->free_batches, &b->in_list);
}

/* The batch that has room, or a new one behind the full ones. NULL: no memory, or nobody
 * knows when the node can be asked. */
static struct batch *open_batch(struct seg_links *s, struct seg_link *l, struct kind *k)
{
    struct batch *b = list_entry(list_last(&k->open), struct batch, in_list);

    if (b != NULL && b->n < MSG_BATCH_MAX)
        return b;
    if (b != NULL && l->n.ch == NULL)
        return NULL;
    b = batch_new(s);
    if (b != NULL)
        list_push_back(&k->open, &b->in_list);
    return b;
}

/* Which version of the protocol has words for it. */
static uint32_t needs(const struct rflow *rf)
{
    bool use = rf->flow.asks == FLOW_SESSION && rf->flow.command == SESS_USE;

    return use || (rf->flow.asks == FLOW_JOIN && rf->head_len > 0) ? PROTOCOL_BOUND : PROTOCOL_OLDEST;
}

int seg_link_ask(struct seg_links *s, struct rflow *rf)
{
    struct seg_link *l = node_links_reach(&s->nodes, rf->flow.node);
    struct batch *b;

    assert(rf->slot == NULL); /* a flow waits for a single answer at a time */
    if (l == NULL || (l->n.ch == NULL && needs(rf) > PROTOCOL_OLDEST))
        return SQ_EUNAVAIL;
    if (l->n.ch != NULL && l->n.speaks < needs(rf))
        return SQ_EUNKNOWN;
    b = open_batch(s, l, &l->kind[rf->flow.asks]);
    if (b == NULL)
        return SQ_EUNAVAIL;
    rf->slot = &b->v[b->n++];
    *rf->slot = rf;
    return 0;
}

void seg_links_count(const struct seg_links *s, size_t *up, size_t *of)
{
    node_links_count(&s->nodes, up, of);
}

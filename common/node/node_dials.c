/* node_dials.c: see node_dials.h. */
#include "common/node/node_dials.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/node/node_frames.h"
#include "common/node/node_peers.h"

#define LOG_MODULE "node"

struct dial {
    struct list_node in; /* node_dials.v */
    struct node_dials *d; /* ref */
    struct rpc_link *link; /* owned */
    struct rpc_chan *ch;   /* ref; from its up to its down, also while it is closing */
    struct node_want want;
};

#define each_dial(d, x) list_each_of(&(d)->v, struct dial, in, x)

static void dial_failed(const struct dial *x)
{
    if (x->d->failed != NULL)
        x->d->failed(x->d->ctx, x->want.name);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct dial *x = ctx;

    if (strcmp(peer->node, x->want.name) == 0) {
        x->ch = ch;
        node_peer_up(x->d->n, ch, peer);
        return;
    }
    rpc_chan_close(ch, "another node lives at this address now");
    dial_failed(x);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    node_frame(((struct dial *)ctx)->d->n, ch, f);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct dial *x = ctx;

    (void)why; /* rpc.c has logged it */
    x->ch = NULL;
    node_peer_down(x->d->n, ch);
}

static void on_fail(void *ctx, const char *why)
{
    (void)why;
    dial_failed(ctx);
}

static void dial_new(struct node_dials *d, const struct node_want *w)
{
    static const struct rpc_calls calls = { .on_up = on_up, .on_frame = on_frame,
                                            .on_down = on_down, .on_fail = on_fail };
    struct dial *x = calloc(1, sizeof(*x));

    if (x != NULL) {
        x->d = d;
        x->want = *w;
        x->link = rpc_dial(d->n->rpc, w->addr, d->n->kind->role, &calls, x);
    }
    if (x == NULL || x->link == NULL) {
        free(x);
        d->look = true; /* without memory: the next turn tries again */
        return;
    }
    list_push_back(&d->v, &x->in);
    log_info("event=node_dialled node=%s addr=%s", w->name, w->addr);
}

static void dial_free(struct node_dials *d, struct dial *x)
{
    list_remove(&d->v, &x->in);
    if (x->ch != NULL)
        node_peer_down(d->n, x->ch); /* rpc_link_free() will not tell */
    rpc_link_free(x->link);
    free(x);
}

static bool is_wanted(const struct node_want *v, size_t n, const struct node_want *w)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, w->name) == 0 && strcmp(v[i].addr, w->addr) == 0)
            return true;
    return false;
}

static bool is_dialled(const struct node_dials *d, const struct node_want *w)
{
    each_dial (d, x) {
        if (is_wanted(w, 1, &x->want))
            return true;
    }
    return false;
}

void node_dials_init(struct node_dials *d, struct node *n,
                     void (*failed)(void *ctx, const char *name), void *ctx)
{
    *d = (struct node_dials){ .n = n, .failed = failed, .ctx = ctx };
    list_init(&d->v);
    buf_init(&d->last);
}

void node_dials_look(struct node_dials *d, const struct node_want *v, size_t n)
{
    if (!d->look && n * sizeof(*v) == d->last.len &&
        (n == 0 || memcmp(v, d->last.data, d->last.len) == 0))
        return;
    buf_reset(&d->last);
    if (n > 0)
        buf_append(&d->last, v, n * sizeof(*v));
    d->look = d->last.failed;
    each_dial (d, x) {
        if (!is_wanted(v, n, &x->want))
            dial_free(d, x);
    }
    for (size_t i = 0; i < n; i++)
        if (!is_dialled(d, &v[i]))
            dial_new(d, &v[i]);
}

void node_dials_free(struct node_dials *d)
{
    if (d->n == NULL)
        return;
    each_dial (d, x) {
        rpc_link_free(x->link);
        free(x);
    }
    list_init(&d->v);
    buf_fini(&d->last);
}

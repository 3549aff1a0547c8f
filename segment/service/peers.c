/* peers.c: see peers.h. */
#include "segment/service/peers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/node/node_frames.h"
#include "common/node/node_peers.h"
#include "segment/service/step.h"

#define LOG_MODULE "segment"

msec_t seg_peers_silent_ms(const struct seg_service *s, msec_t now_ms)
{
    msec_t least = now_ms;

    each_node_peer (&s->node, p) {
        if (p->role == RPC_ROUTER)
            least = ms_min(least, now_ms - rpc_chan_heard_ms(p->ch));
    }
    return least > 0 ? least : 0;
}

/* ---- dialling -------------------------------------------------------------------- */

static void dial_failed(struct seg_dial *d)
{
    seg_step(d->s, (struct segtab_in){ .kind = SEGTAB_DIAL_FAIL, .name = d->want.name });
}

static void on_dial_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct seg_dial *d = ctx;

    if (strcmp(peer->node, d->want.name) == 0) {
        d->ch = ch;
        node_peer_up(&d->s->node, ch, peer);
        return;
    }
    rpc_chan_close(ch, "another node lives at this address now");
    dial_failed(d);
}

static void on_dial_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    node_frame(&((struct seg_dial *)ctx)->s->node, ch, f);
}

static void on_dial_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct seg_dial *d = ctx;

    (void)why; /* rpc.c has logged it */
    d->ch = NULL;
    node_peer_down(&d->s->node, ch);
}

static void on_dial_fail(void *ctx, const char *why)
{
    (void)why;
    dial_failed(ctx);
}

static void no_memory(struct seg_service *s)
{
    s->n_wanted = SIZE_MAX; /* the next turn with a step tries again */
}

static void dial_new(struct seg_service *s, const struct segtab_want *w)
{
    static const struct rpc_calls dial_calls = { .on_up = on_dial_up,
                                                 .on_frame = on_dial_frame,
                                                 .on_down = on_dial_down,
                                                 .on_fail = on_dial_fail };
    struct seg_dial *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return no_memory(s);
    d->s = s;
    d->want = *w;
    d->link = rpc_dial(s->node.rpc, w->addr, RPC_SEGMENT, &dial_calls, d);
    if (d->link == NULL) {
        free(d);
        return no_memory(s);
    }
    list_push_back(&s->dials, &d->node);
    log_info("event=node_dialled node=%s addr=%s", w->name, w->addr);
}

static void dial_free(struct seg_service *s, struct seg_dial *d)
{
    list_remove(&s->dials, &d->node);
    if (d->ch != NULL)
        node_peer_down(&s->node, d->ch); /* rpc_link_free() will not tell */
    rpc_link_free(d->link);
    free(d);
}

static bool is_wanted(const struct segtab_want *v, size_t n, const struct segtab_want *w)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i].name, w->name) == 0 && strcmp(v[i].addr, w->addr) == 0)
            return true;
    return false;
}

static bool is_dialled(const struct seg_service *s, const struct segtab_want *w)
{
    each_dial (s, d) {
        if (is_wanted(w, 1, &d->want))
            return true;
    }
    return false;
}

void seg_peers_look(struct seg_service *s)
{
    struct segtab_want *v = s->wanted + SEG_WANTED_MAX;
    size_t n = segtab_wanted(s->tab, v, SEG_WANTED_MAX);

    assert(n <= SEG_WANTED_MAX);
    if (n == s->n_wanted && memcmp(v, s->wanted, n * sizeof(*v)) == 0)
        return;
    s->n_wanted = n;
    memcpy(s->wanted, v, n * sizeof(*v));
    each_dial (s, d) {
        if (!is_wanted(v, n, &d->want))
            dial_free(s, d);
    }
    for (size_t i = 0; i < n; i++)
        if (!is_dialled(s, &v[i]))
            dial_new(s, &v[i]);
}

void seg_peers_free(struct seg_service *s)
{
    each_dial (s, d) {
        rpc_link_free(d->link);
        free(d);
    }
    list_init(&s->dials);
}

/* peers.c: channels that come and go, and dialling. Channels of all kinds have the same life:
 * up -> SEGTAB_UP, frames, down -> SEGTAB_DOWN. */
#include "segment/service/peers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/service/frames.h"
#include "segment/service/step.h"

#define LOG_MODULE "segment"

/* ---- peers ----------------------------------------------------------------------- */

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct seg_service *s = ctx;
    struct seg_peer *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        rpc_chan_close(ch, "no memory for a peer");
        return;
    }
    p->no = ++s->last_peer;
    p->ch = ch;
    p->role = peer->role;
    list_push_back(&s->peers, &p->node);
    rpc_chan_set_data(ch, p);
    log_debug("event=peer_up peer=%u role=%s node=%s addr=%s", p->no, rpc_role_name(p->role),
              peer->node, peer->addr);
    seg_step(s, (struct segtab_in){ .kind = SEGTAB_UP, .peer = p->no,
                                    .role = (uint8_t)p->role, .name = peer->node });
}

static void peer_gone(struct seg_service *s, struct seg_peer *p)
{
    struct segtab_in in = { .kind = SEGTAB_DOWN, .peer = p->no, .role = (uint8_t)p->role };

    assert(rpc_chan_data(p->ch) == p);
    rpc_chan_set_data(p->ch, NULL);
    list_remove(&s->peers, &p->node);
    free(p);
    seg_step(s, in);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct seg_peer *p = rpc_chan_data(ch);

    (void)why; /* rpc.c has logged it */
    if (p != NULL)
        peer_gone(ctx, p);
}

static const struct rpc_calls calls = { .on_up = on_up, .on_frame = seg_on_frame,
                                     .on_down = on_down };

msec_t seg_peers_silent_ms(const struct seg_service *s, msec_t now_ms)
{
    msec_t least = now_ms;

    each_peer (s, p) {
        if (p->role == RPC_ROUTER)
            least = ms_min(least, now_ms - rpc_chan_heard_ms(p->ch));
    }
    return least > 0 ? least : 0;
}

void seg_peers_take_back(struct seg_service *s)
{
    each_peer (s, p) {
        rpc_chan_set_data(p->ch, NULL);
        rpc_chan_drop(p->ch, "what was answered cannot be kept");
        list_remove(&s->peers, &p->node);
        free(p);
    }
    outbox_reset(&s->out);
    s->n_wanted = SIZE_MAX;
    s->look_at_wanted = true;
}

/* ---- dialling -------------------------------------------------------------------- */

int seg_peers_listen(struct seg_service *s, const char *addr, struct err *e)
{
    return rpc_listen(s->rpc, addr, 1u << RPC_ROUTER | 1u << RPC_SEGMENT, &calls, s, e);
}

int seg_peers_dial(struct seg_service *s, const struct cfg_list *managers, struct err *e)
{
    char *const *addr = managers->v;

    if (managers->n > SEG_MANAGERS)
        return err_set(e, SQ_ETOOBIG, "managers: more than %d", SEG_MANAGERS);
    for (size_t i = 0; i < managers->n; i++) {
        struct rpc_link *l = rpc_dial(s->rpc, addr[i], RPC_MANAGER, &calls, s);

        if (l == NULL)
            return err_set(e, SQ_ENOMEM, "manager %s", addr[i]);
        s->manager[s->n_managers++] = l;
    }
    return 0;
}

/* Is that one among the managers that we know? While one of them is silent: perhaps. */
static bool is_known(const struct seg_service *s, const char *name)
{
    for (size_t i = 0; i < s->n_managers; i++) {
        const struct rpc_chan *ch = rpc_link_chan(s->manager[i]);

        if (ch == NULL || strcmp(rpc_chan_peer(ch)->node, name) == 0)
            return true;
    }
    return false;
}

/* A standby manager has said which one leads. We are registered with all that we know, so
 * there is something to do only if that one is not among them. */
void seg_peers_follow(struct seg_service *s)
{
    struct rpc_link *l;

    if (s->told_leader.addr[0] == 0)
        return;
    assert(s->n_managers <= SEG_MANAGERS);
    if (!is_known(s, s->told_leader.name) && s->n_managers < SEG_MANAGERS) {
        l = rpc_dial(s->rpc, s->told_leader.addr, RPC_MANAGER, &calls, s);
        if (l != NULL)
            s->manager[s->n_managers++] = l;
    }
    s->told_leader.addr[0] = 0;
}

static void dial_failed(struct seg_dial *d)
{
    seg_step(d->s, (struct segtab_in){ .kind = SEGTAB_DIAL_FAIL, .name = d->want.name });
}

static void on_dial_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct seg_dial *d = ctx;

    if (strcmp(peer->node, d->want.name) == 0) {
        d->ch = ch;
        on_up(d->s, ch, peer);
        return;
    }
    rpc_chan_close(ch, "another node lives at this address now");
    dial_failed(d);
}

static void on_dial_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    seg_on_frame(((struct seg_dial *)ctx)->s, ch, f);
}

static void on_dial_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct seg_dial *d = ctx;

    d->ch = NULL;
    on_down(d->s, ch, why);
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
    d->link = rpc_dial(s->rpc, w->addr, RPC_SEGMENT, &dial_calls, d);
    if (d->link == NULL) {
        free(d);
        return no_memory(s);
    }
    list_push_back(&s->dials, &d->node);
    log_info("event=node_dialled node=%s addr=%s", w->name, w->addr);
}

static void dial_free(struct seg_service *s, struct seg_dial *d)
{
    struct seg_peer *p = d->ch != NULL ? rpc_chan_data(d->ch) : NULL;

    list_remove(&s->dials, &d->node);
    if (p != NULL)
        peer_gone(s, p); /* rpc_link_free() will not tell */
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
    for (size_t i = 0; i < s->n_managers; i++)
        rpc_link_free(s->manager[i]);
    each_peer (s, p)
        free(p);
    list_init(&s->peers);
    list_init(&s->dials);
    s->n_managers = 0;
}

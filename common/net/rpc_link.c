/* rpc_link.c: dials until it is freed. A failed try, or a link that broke soon after it
 * came up, doubles the wait (50 ms .. 2 s); a random part of it keeps a crowd of
 * processes from dialling in step after a power cut. */
#include "common/net/rpc_link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/net/rpc_in.h"

#define LOG_MODULE     "rpc"
#define BACKOFF_MIN_MS 50u
#define BACKOFF_MAX_MS 2000u
#define STEADY_MS      500 /* up for so long: the next try comes soon again */
#define NEWS_EVERY     30  /* failures in a row between two lines of log */

bool link_is_news(const struct rpc_link *l)
{
    return l->failures % NEWS_EVERY == 0;
}

static void retry_later(struct rpc_link *l)
{
    uint32_t half = l->backoff_ms / 2;

    assert(l->backoff_ms >= BACKOFF_MIN_MS && l->backoff_ms <= BACKOFF_MAX_MS);
    ev_timer_at(l->timer,
                ev_now(l->rpc->ev) + half + (msec_t)rng_below(&l->rpc->rng, half + 1));
    l->backoff_ms =
        l->backoff_ms * 2 < BACKOFF_MAX_MS ? l->backoff_ms * 2 : BACKOFF_MAX_MS;
}

void link_down(struct rpc_link *l, bool was_up, const char *why)
{
    void (*on_fail)(void *ctx, const char *why) = l->calls.on_fail;

    assert(l->name == NULL); /* a single try at a time */
    l->chan = NULL;
    if (was_up) {
        l->failures = 0;
        if (ev_now(l->rpc->ev) - l->up_since >= STEADY_MS)
            l->backoff_ms = BACKOFF_MIN_MS;
    } else {
        l->failures++;
    }
    retry_later(l);
    if (!was_up && on_fail != NULL)
        on_fail(l->ctx, why); /* may free the link */
}

static void failed(struct rpc_link *l, const char *why)
{
    if (link_is_news(l))
        log_warn("event=dial_failed addr=%s why=%s", log_q(l->addr, strlen(l->addr)),
                 log_q(why, strlen(why)));
    link_down(l, false, why);
}

static void dial(struct rpc_link *l, const struct net_addr *a)
{
    struct err e = { 0 };
    int fd = net_connect(a, &e);

    if (fd < 0) {
        failed(l, e.text);
        return;
    }
    l->chan = chan_new(l->rpc, fd, CHAN_CONNECTING, &l->calls, l->ctx);
    if (l->chan == NULL) {
        failed(l, "out of memory");
        return;
    }
    l->chan->link = l;
    l->chan->roles = 1u << l->role;
    l->chan->peer.role = l->role;
    net_text(a, l->chan->peer.addr);
}

static void on_name(void *arg, const struct host_answer *a)
{
    struct rpc_link *l = arg;

    l->name = NULL;
    if (a->n > 0)
        dial(l, &a->addr[l->names_told++ % a->n]);
    else
        failed(l, a->why);
}

static void on_timer(void *arg)
{
    struct rpc_link *l = arg;
    struct net_addr a;
    struct err e = { 0 };
    int rc;

    if (l->chan != NULL || l->name != NULL)
        return;
    rc = net_parse(&a, l->addr, &e);
    if (rc == SQ_EUNKNOWN) {
        l->name = hosts_ask(&l->rpc->hosts, l->addr, on_name, l);
        if (l->name == NULL)
            failed(l, "cannot ask for the name");
    } else if (rc < 0) {
        failed(l, e.text);
    } else {
        dial(l, &a);
    }
}

struct rpc_link *rpc_dial(struct rpc *r, const char *addr, enum rpc_role role,
                          const struct rpc_calls *calls, void *ctx)
{
    struct rpc_link *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    *l = (struct rpc_link){
        .rpc = r, .calls = *calls, .ctx = ctx, .role = role, .backoff_ms = BACKOFF_MIN_MS
    };
    snprintf(l->addr, sizeof(l->addr), "%s", addr);
    l->timer = ev_timer_new(r->ev, on_timer, l);
    if (l->timer == NULL) {
        free(l);
        return NULL;
    }
    list_push_back(&r->links, &l->node);
    ev_timer_at(l->timer, ev_now(r->ev));
    return l;
}

struct rpc_chan *rpc_link_chan(const struct rpc_link *l)
{
    return l->chan != NULL && l->chan->state == CHAN_UP ? l->chan : NULL;
}

void rpc_link_free(struct rpc_link *l)
{
    if (l == NULL)
        return;
    if (l->name != NULL)
        hosts_drop(l->name);
    if (l->chan != NULL) {
        l->chan->link = NULL;
        l->chan->calls = (struct rpc_calls){ 0 };
        rpc_chan_close(l->chan, "link is not wanted any more");
    }
    ev_timer_free(l->timer);
    list_remove(&l->rpc->links, &l->node);
    free(l);
}

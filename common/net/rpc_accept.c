/* rpc_accept.c: listens. Whoever connects is a stranger (strangers.h) until its handshake, or
 * its hello without one, has proved it. Without descriptors, and after many accepts, it pauses
 * until the next beat: a flood of connections costs a bounded part of a processor. */
#include "common/net/rpc_accept.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc_chan.h"
#include "common/net/rpc_link.h"

#define LOG_MODULE       "rpc"
#define BACKLOG          512
#define ACCEPTS_PER_TURN 64
#define ACCEPTS_PER_BEAT 512

static void listen_again(struct rpc *r)
{
    r->accept_paused = false;
    list_each(&r->listeners, it) {
        struct rpc_listener *ls = container_of(it, struct rpc_listener, node);

        if (ev_io_set(ls->io, EV_IO_READ) < 0)
            r->accept_paused = true;
    }
}

void accept_beat(struct rpc *r)
{
    if (r->n_displaced > 0)
        log_warn("event=link_refused n=%u why=\"" STRANGER_GAVE_WAY "\"", r->n_displaced);
    r->n_accepted = r->n_displaced = 0;
    strangers_beat(&r->strangers);
    list_each_of(&r->strangers.all, struct stranger, node, s)
        if (s->waits)
            chan_begin(container_of(s, struct rpc_chan, stranger));
    if (r->accept_paused)
        listen_again(r);
}

/* Addresses of a network of IPv6 are one crowd: whoever has one has 2^64. */
static uint8_t crowd_of(const struct rpc *r, const struct net_addr *from)
{
    uint8_t hash[crypto_shorthash_BYTES];
    struct ip ip = { 0 };

    if (net_ip(from, &ip) && !ip_is_v4(&ip))
        memset(ip.b + 8, 0, 8);
    crypto_shorthash(hash, ip.b, sizeof(ip.b), r->crowd_key);
    return hash[0];
}

static void make_room(struct rpc *r)
{
    struct stranger *s = strangers_surplus(&r->strangers);

    if (s == NULL)
        return;
    r->n_displaced++;
    chan_fail(container_of(s, struct rpc_chan, stranger), STRANGER_GAVE_WAY);
}

static void accepted(struct rpc_listener *ls, int fd, const struct net_addr *from)
{
    struct rpc *r = ls->rpc;
    char text[NET_TEXT_MAX];
    struct rpc_chan *ch;

    net_text(from, text);
    make_room(r);
    ch = chan_new(r, fd, CHAN_HELLO, &ls->calls, ls->ctx);
    if (ch == NULL) {
        log_warn("event=link_refused addr=%s why=\"out of memory\"", text);
        return;
    }
    ch->roles = ls->roles;
    memcpy(ch->peer.addr, text, sizeof(text));
    strangers_enter(&r->strangers, &ch->stranger, crowd_of(r, from));
    r->n_accepted++;
}

static void pause_accepting(struct rpc_listener *ls)
{
    (void)!ev_io_set(ls->io, 0);
    ls->rpc->accept_paused = true;
}

static void on_accept(void *arg, unsigned what)
{
    struct rpc_listener *ls = arg;

    (void)what;
    for (unsigned n = 0; n < ACCEPTS_PER_TURN; n++) {
        struct net_addr from;
        int fd;

        if (ls->rpc->n_accepted >= ACCEPTS_PER_BEAT) {
            pause_accepting(ls);
            return;
        }
        fd = net_accept(ls->fd, &from);

        if (fd == SQ_EBUSY)
            return;
        if (fd < 0) {
            if (!ls->starved)
                log_warn("event=accept_paused addr=%s errno=%d", ls->addr, errno);
            ls->starved = true;
            pause_accepting(ls);
            return;
        }
        ls->starved = false;
        accepted(ls, fd, &from);
    }
}

static void listener_free(struct rpc_listener *ls)
{
    if (list_linked(&ls->node))
        list_remove(&ls->rpc->listeners, &ls->node);
    ev_io_free(ls->io);
    if (ls->fd >= 0)
        close(ls->fd);
    free(ls);
}

int rpc_listen(struct rpc *r, const char *addr, unsigned roles,
               const struct rpc_calls *calls, void *ctx, struct err *e)
{
    struct rpc_listener *ls = calloc(1, sizeof(*ls));
    int fd;

    if (ls == NULL)
        return err_set(e, SQ_ENOMEM, "listen %s: out of memory", addr);
    *ls = (struct rpc_listener){
        .rpc = r, .fd = -1, .roles = roles, .calls = *calls, .ctx = ctx
    };
    fd = net_listen(addr, false, BACKLOG, e);
    if (fd < 0) {
        listener_free(ls);
        return fd;
    }
    ls->fd = fd;
    net_local_text(fd, ls->addr);
    ls->io = ev_io_new(r->ev, fd, on_accept, ls);
    if (ls->io == NULL || ev_io_set(ls->io, EV_IO_READ) < 0) {
        listener_free(ls);
        return err_set(e, SQ_ENOMEM, "listen %s: event loop", addr);
    }
    list_push_back(&r->listeners, &ls->node);
    return 0;
}

const char *rpc_listen_addr(const struct rpc *r)
{
    struct list_node *last = list_last(&r->listeners);

    return last == NULL ? "" : container_of(last, struct rpc_listener, node)->addr;
}

void rpc_unlisten(struct rpc *r)
{
    list_each(&r->listeners, it)
        listener_free(container_of(it, struct rpc_listener, node));
}

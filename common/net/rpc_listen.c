/* rpc_listen.c: accepts channels. Without descriptors it pauses until the next heartbeat. */
#include "common/net/rpc_listen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc_in.h"

#define LOG_MODULE       "rpc"
#define BACKLOG          512
#define ACCEPTS_PER_TURN 64

void listen_resume(struct rpc *r)
{
    r->accept_paused = false;
    list_each(&r->listeners, it) {
        struct rpc_listener *ls = container_of(it, struct rpc_listener, node);

        if (ev_io_set(ls->io, EV_IO_READ) < 0)
            r->accept_paused = true;
    }
}

static void accepted(struct rpc_listener *ls, int fd, const struct net_addr *from)
{
    struct rpc *r = ls->rpc;
    char text[NET_TEXT_MAX];
    struct rpc_chan *ch;

    net_text(from, text);
    if (r->n_hello >= HELLO_AT_ONCE) {
        log_warn("event=link_refused addr=%s why=\"%u hellos are open\"", text, r->n_hello);
        r->counts.refused++;
        close(fd);
        return;
    }
    ch = chan_new(r, fd, CHAN_HELLO, &ls->calls, ls->ctx);
    if (ch == NULL) {
        log_warn("event=link_refused addr=%s why=\"out of memory\"", text);
        return;
    }
    ch->roles = ls->roles;
    memcpy(ch->peer.addr, text, sizeof(text));
}

static void on_accept(void *arg, unsigned what)
{
    struct rpc_listener *ls = arg;

    (void)what;
    for (unsigned n = 0; n < ACCEPTS_PER_TURN; n++) {
        struct net_addr from;
        int fd = net_accept(ls->fd, &from);

        if (fd == SQ_EBUSY)
            return;
        if (fd < 0) {
            if (!ls->starved)
                log_warn("event=accept_paused addr=%s errno=%d", ls->addr, errno);
            ls->starved = true;
            (void)!ev_io_set(ls->io, 0);
            ls->rpc->accept_paused = true;
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

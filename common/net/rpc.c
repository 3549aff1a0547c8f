/* rpc.c: all channels of a process: listening, heartbeats, and the order at a turn's end.
 *
 * Start of the hooks (rank -100): frames that were too many for the last turn.
 * End of the hooks (rank +100): first the closed channels (on_down may still send to
 * others), then one write per channel that has something to say.
 * Whatever has to wait for the next turn makes it not wait (rpc_again). */
#include "common/net/rpc.h"
#include "common/net/rpc_int.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"

#define LOG_MODULE       "rpc"
#define BACKLOG          512
#define MAX_OUTPUT_BYTES (64u << 20)
#define ACCEPTS_PER_TURN 64

/* ---- the turn's end ---- */

static void nothing(void *arg)
{
    (void)arg;
}

void rpc_again(struct rpc *r)
{
    ev_post(r->ev, nothing, NULL); /* a turn with a post does not wait */
}

static void resume_backlog(void *arg)
{
    struct rpc *r = arg;

    for (size_t n = r->backlog.n; n > 0; n--) {
        struct rpc_chan *ch =
            container_of(list_first(&r->backlog), struct rpc_chan, backlog);

        list_remove(&r->backlog, &ch->backlog);
        if (ch->state != CHAN_CLOSING)
            chan_frames(ch);
    }
}

static void turn_end(void *arg)
{
    struct rpc *r = arg;

    for (size_t n = r->closing.n; n > 0; n--)
        chan_reap(container_of(list_first(&r->closing), struct rpc_chan, node));
    while (r->dirty.n > 0) {
        struct rpc_chan *ch = container_of(list_first(&r->dirty), struct rpc_chan, dirty);

        list_remove(&r->dirty, &ch->dirty);
        chan_write(ch);
    }
}

/* ---- heartbeats ---- */

static void beat_chan(struct rpc_chan *ch, msec_t now)
{
    if (ch->state != CHAN_UP) {
        if (now >= ch->deadline)
            chan_fail(ch, ch->state == CHAN_CONNECTING ? "connect timed out"
                                                       : "hello timed out");
        return;
    }
    if (now - ch->last_in > ch->silence_ms) {
        chan_fail(ch, "silent for %lld ms", (long long)(now - ch->last_in));
        return;
    }
    if (now >= ch->next_ping) {
        ch->next_ping = now + ch->rpc->heartbeat_ms;
        chan_send(ch, MSG_PING, NULL, 0);
    }
}

/* We were stopped (or did something long): the silence was ours. Everybody gets one more
 * interval to be heard. */
static void forgive(struct rpc *r, msec_t now)
{
    list_each(&r->chans, it) {
        struct rpc_chan *ch = container_of(it, struct rpc_chan, node);
        msec_t last =
            now - (msec_t)ch->silence_ms * (SILENT_INTERVALS - 1) / SILENT_INTERVALS;

        ch->last_in = ms_max(ch->last_in, last);
        ch->deadline = ms_max(ch->deadline, now + r->heartbeat_ms);
    }
}

static void resume_accepting(struct rpc *r)
{
    r->accept_paused = false;
    list_each(&r->listeners, it) {
        struct rpc_listener *ls = container_of(it, struct rpc_listener, node);

        if (ev_io_set(ls->io, EV_IO_READ) < 0)
            r->accept_paused = true;
    }
}

static void on_beat(void *arg)
{
    struct rpc *r = arg;
    msec_t now = ev_now(r->ev);

    if (now - r->last_beat > r->heartbeat_ms)
        forgive(r, now);
    r->last_beat = now;
    list_each(&r->chans, it)
        beat_chan(container_of(it, struct rpc_chan, node), now);
    if (r->accept_paused)
        resume_accepting(r);
    ev_timer_at(r->beat, now + ms_max(r->heartbeat_ms / 4, 5));
}

/* ---- listening ---- */

static void accepted(struct rpc_listener *ls, int fd, const struct net_addr *from)
{
    struct rpc *r = ls->rpc;
    char text[NET_TEXT_MAX];
    struct rpc_chan *ch;

    net_text(from, text);
    if (r->n_hello >= HELLO_AT_ONCE) {
        log_warn("refused addr=%s why=\"%u hellos are open\"", text, r->n_hello);
        r->counts.refused++;
        close(fd);
        return;
    }
    ch = chan_new(r, fd, CHAN_HELLO, &ls->calls, ls->ctx);
    if (ch == NULL) {
        log_warn("refused addr=%s why=\"out of memory\"", text);
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
                log_warn("accept paused addr=%s errno=%d", ls->addr, errno);
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

/* ---- life ---- */

static void fill(struct rpc *r, struct ev *ev, const struct rpc_opts *o)
{
    r->ev = ev;
    r->role = o->role;
    snprintf(r->node, sizeof(r->node), "%s", o->node);
    r->incarnation = o->incarnation;
    memcpy(r->link_key, o->link_key, sizeof(r->link_key));
    r->has_other_key = o->other_link_key != NULL;
    if (r->has_other_key)
        memcpy(r->other_link_key, o->other_link_key, sizeof(r->other_link_key));
    r->heartbeat_ms = o->heartbeat_ms != 0 ? o->heartbeat_ms : 1000;
    r->max_output_bytes =
        o->max_output_bytes != 0 ? o->max_output_bytes : MAX_OUTPUT_BYTES;
    rng_seed(&r->rng, o->seed);
    list_init(&r->chans);
    list_init(&r->closing);
    list_init(&r->dirty);
    list_init(&r->backlog);
    list_init(&r->links);
    list_init(&r->listeners);
}

int rpc_new(struct rpc **out, struct ev *ev, const struct rpc_opts *o, struct err *e)
{
    size_t len = strlen(o->node);
    struct rpc *r;

    if (len == 0 || len > NAME_MAX_LEN)
        return err_set(e, SQ_EINVAL, "node name of %zu characters", len);
    r = sodium_init() < 0 ? NULL : calloc(1, sizeof(*r));
    if (r == NULL)
        return err_set(e, SQ_ENOMEM, "rpc: out of memory");
    fill(r, ev, o);
    r->beat = ev_timer_new(ev, on_beat, r);
    if (r->beat == NULL || ev_hook(ev, RPC_HOOK_FIRST, resume_backlog, r) < 0 ||
        ev_hook(ev, RPC_HOOK_LAST, turn_end, r) < 0) {
        rpc_free(r);
        return err_set(e, SQ_ENOMEM, "rpc: out of memory");
    }
    r->last_beat = ev_now(ev);
    ev_timer_at(r->beat, r->last_beat + ms_max(r->heartbeat_ms / 4, 5));
    *out = r;
    return 0;
}

void rpc_free(struct rpc *r)
{
    if (r == NULL)
        return;
    ev_unhook(r->ev, resume_backlog, r);
    ev_unhook(r->ev, turn_end, r);
    rpc_unlisten(r);
    list_each(&r->links, it)
        rpc_link_free(container_of(it, struct rpc_link, node));
    list_each(&r->chans, it)
        rpc_chan_close(container_of(it, struct rpc_chan, node), "we are leaving");
    list_each(&r->closing, it) {
        struct rpc_chan *ch = container_of(it, struct rpc_chan, node);

        ch->calls.on_down = NULL;
        chan_reap(ch);
    }
    name_fini(r);
    ev_timer_free(r->beat);
    sodium_memzero(r->link_key, sizeof(r->link_key));
    sodium_memzero(r->other_link_key, sizeof(r->other_link_key));
    free(r);
}

const struct rpc_counts *rpc_counts(const struct rpc *r)
{
    return &r->counts;
}

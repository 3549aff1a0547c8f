/* rpc_chan.c: one connection: its output, and its beginning and end as a channel.
 *
 * Out: frames are built in the output buffer; the turn's end writes it once. What the
 *      kernel does not take waits for writability; above the bound the peer is too slow.
 * End: chan_fail() at any depth only marks; the turn's end (rpc.c) says why, tells the user
 *      and frees, when no caller holds the channel any more. */
#include "common/net/rpc_chan.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc_int.h"
#include "common/wire/codec.h"

#define LOG_MODULE "rpc"

/* ---- life ---- */

static void nothing(void *arg)
{
    (void)arg;
}

void rpc_again(struct rpc *r)
{
    ev_post(r->ev, nothing, NULL); /* a turn with a post does not wait */
}

static bool in_hello(const struct rpc_chan *ch)
{
    return ch->state != CHAN_UP && ch->state != CHAN_CLOSING;
}

void chan_free(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    strangers_leave(&r->strangers, &ch->stranger);
    if (list_linked(&ch->dirty))
        list_remove(&r->dirty, &ch->dirty);
    if (list_linked(&ch->backlog))
        list_remove(&r->backlog, &ch->backlog);
    list_remove(ch->state == CHAN_CLOSING ? &r->closing : &r->chans, &ch->node);
    ev_io_free(ch->io);
    tls_free(ch->tls);
    close(ch->fd);
    buf_fini(&ch->in);
    buf_fini(&ch->out);
    free(ch);
}

void chan_fail(struct rpc_chan *ch, const char *fmt, ...)
{
    struct rpc *r = ch->rpc;
    va_list ap;

    if (ch->state == CHAN_CLOSING)
        return; /* the first reason counts */
    va_start(ap, fmt);
    vsnprintf(ch->why, sizeof(ch->why), fmt, ap);
    va_end(ap);
    if (!in_hello(ch)) {
        r->counts.closed++;
    } else if (ch->accepted) {
        r->counts.refused++;
    }
    strangers_leave(&r->strangers, &ch->stranger);
    if (ch->link != NULL && (ch->state == CHAN_TLS || ch->state == CHAN_CHALLENGE))
        ch->link->turn++;
    (void)!ev_io_set(ch->io, 0); /* cannot fail: it only takes away */
    ch->state = CHAN_CLOSING;
    list_remove(&r->chans, &ch->node);
    list_push_back(&r->closing, &ch->node);
    rpc_again(r);
}

void chan_up(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    assert(in_hello(ch));
    strangers_leave(&r->strangers, &ch->stranger);
    r->counts.accepted += ch->accepted;
    r->counts.dialled += !ch->accepted;
    r->counts.plain += ch->tls == NULL;
    ch->state = CHAN_UP;
    ch->told_up = true;
    ch->next_ping = ev_now(r->ev) + r->heartbeat_ms;
    if (ch->link != NULL) {
        ch->link->up_since = ev_now(r->ev);
        if (ch->tls == NULL)
            ch->link->turn = 0; /* the peer may know TLS when it is back */
    }
    log_info("event=link_up peer=%s role=%s addr=%s dir=%s incarnation=%llu version=%u speaks=%u "
             "tls=%s",
             ch->peer.node, rpc_role_name(ch->peer.role), ch->peer.addr,
             ch->accepted ? "in" : "out", (unsigned long long)ch->peer.incarnation,
             ch->peer.version, ch->peer.speaks, ch->tls != NULL ? "1.3" : "off");
    if (ch->calls.on_up != NULL)
        ch->calls.on_up(ch->ctx, ch, &ch->peer);
}

/* ---- out ---- */

void chan_dirty(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    if (list_linked(&ch->dirty) || ch->blocked || ch->state == CHAN_CLOSING)
        return;
    if (r->dirty.n == 0 && !r->turn_ends)
        rpc_again(r);
    list_push_back(&r->dirty, &ch->dirty);
}

static void forget_written(struct rpc_chan *ch)
{
    if (ch->out_done == ch->out.len) {
        ch->out_done = 0;
        buf_reset(&ch->out);
        if (ch->out.cap > KEEP_BYTES)
            buf_fini(&ch->out);
    } else if (ch->out_done > ch->out.len / 2) {
        /* moving the smaller part only when it pays: a slow peer costs no quadratic time
         */
        buf_consume(&ch->out, ch->out_done);
        ch->out_done = 0;
    }
}

ssize_t chan_put(struct rpc_chan *ch)
{
    const uint8_t *p = ch->out.data + ch->out_done;
    size_t n = ch->out.len - ch->out_done;

    return ch->tls != NULL ? tls_send(ch->tls, p, n) : send(ch->fd, p, n, MSG_NOSIGNAL);
}

void chan_write(struct rpc_chan *ch)
{
    ssize_t n;

    if (ch->blocked || ch->state == CHAN_CLOSING)
        return;
    /* nothing is left if a read has sent what was sealed: the interest in writing is */
    n = rpc_chan_pending(ch) > 0 ? chan_put(ch) : 0;
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        chan_fail(ch, "write failed: %s", strerror(errno));
        return;
    }
    if (n > 0) {
        ch->rpc->counts.writes++;
        ch->out_done += (size_t)n;
        ch->bytes_out += (uint64_t)n;
        ch->rpc->counts.bytes_out += (uint64_t)n;
    }
    ch->blocked = rpc_chan_pending(ch) > 0;
    if (rpc_chan_pending(ch) < ch->turn_below) {
        ch->turn_below = 0;
        rpc_again(ch->rpc);
    }
    forget_written(ch);
    if (ev_io_set(ch->io, EV_IO_READ | (ch->blocked ? EV_IO_WRITE : 0)) < 0)
        chan_fail(ch, "event loop refused the descriptor");
}

struct buf *rpc_begin(struct rpc_chan *ch)
{
    uint8_t *p;

    assert(ch->frame_at == NO_FRAME); /* a single frame at a time */
    ch->frame_at = ch->out.len;
    p = buf_reserve(&ch->out, FRAME_HEADER_BYTES);
    if (p != NULL)
        ch->out.len += FRAME_HEADER_BYTES;
    return &ch->out;
}

static int take_back(struct rpc_chan *ch, int rc)
{
    ch->out.len = ch->frame_at;
    ch->out.failed = false;
    ch->frame_at = NO_FRAME;
    return rc;
}

int rpc_end(struct rpc_chan *ch, uint16_t type, uint64_t rid)
{
    size_t at = ch->frame_at, body;

    assert(at != NO_FRAME); /* rpc_begin() came before */
    if (ch->out.failed)
        return take_back(ch, SQ_ENOMEM);
    body = ch->out.len - at - FRAME_HEADER_BYTES;
    if (body > FRAME_MAX_BODY)
        return take_back(ch, SQ_ETOOBIG);
    if (ch->state == CHAN_CLOSING)
        return take_back(ch, 0); /* lost as if the link had broken a moment later */
    frame_header(ch->out.data + at, type, 0, rid, (uint32_t)body);
    ch->frame_at = NO_FRAME;
    ch->frames_out++;
    ch->rpc->counts.frames_out++;
    if (ch->out.len - ch->out_done > ch->rpc->max_output_bytes)
        chan_fail(ch, "peer too slow: %zu bytes are waiting", ch->out.len - ch->out_done);
    else
        chan_dirty(ch);
    return 0;
}

int rpc_send(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    int rc = msg_encode(m, rpc_begin(ch));

    ch->rpc->counts.unfit += rc == SQ_EINVAL || rc == SQ_ETOOBIG;
    return rc < 0 ? take_back(ch, rc) : rpc_end(ch, (uint16_t)m->type, rid);
}

void chan_send(struct rpc_chan *ch, enum msg_type type, const void *body, size_t n)
{
    buf_append(rpc_begin(ch), body, n);
    if (rpc_end(ch, (uint16_t)type, 0) < 0)
        chan_fail(ch, "no memory for %zu bytes of output", n);
}

/* ---- the user's view ---- */

void rpc_chan_close(struct rpc_chan *ch, const char *why)
{
    ch->flush = ch->state == CHAN_UP;
    chan_fail(ch, "%s", why);
}

void rpc_chan_drop(struct rpc_chan *ch, const char *why)
{
    ch->flush = false;
    chan_fail(ch, "%s", why);
}

const struct rpc_peer *rpc_chan_peer(const struct rpc_chan *ch)
{
    return &ch->peer;
}

void rpc_chan_set_data(struct rpc_chan *ch, void *data)
{
    ch->data = data;
}

void *rpc_chan_data(const struct rpc_chan *ch)
{
    return ch->data;
}

msec_t rpc_chan_heard_ms(const struct rpc_chan *ch)
{
    return ch->last_in;
}

void rpc_chan_turn_below(struct rpc_chan *ch, size_t bytes)
{
    ch->turn_below = bytes;
}

size_t rpc_chan_pending(const struct rpc_chan *ch)
{
    return ch->out.len - ch->out_done + (ch->tls != NULL ? tls_unsent(ch->tls) : 0);
}

/* ---- strangers -------------------------------------------------------------------- */

#define FOR_ALL (HANDSHAKES_PER_BEAT * 3 / 4) /* handshakes that a crowd may begin in a beat */
#define FEW     4                             /* for each of the others */

void strangers_init(struct strangers *s)
{
    *s = (struct strangers){ 0 };
    list_init(&s->all);
}

void strangers_enter(struct strangers *s, struct stranger *x, uint8_t crowd)
{
    x->crowd = crowd;
    s->crowd[crowd]++;
    list_push_back(&s->all, &x->node);
}

void strangers_leave(struct strangers *s, struct stranger *x)
{
    if (!list_linked(&x->node))
        return;
    assert(s->crowd[x->crowd] > 0);
    s->crowd[x->crowd]--;
    list_remove(&s->all, &x->node);
}

struct stranger *strangers_surplus(const struct strangers *s)
{
    struct stranger *found = NULL;

    if (s->all.n < STRANGERS_MOST)
        return NULL;
    list_each_of(&s->all, struct stranger, node, x)
        if (found == NULL || s->crowd[x->crowd] > s->crowd[found->crowd])
            found = x;
    return found;
}

bool strangers_may_begin(struct strangers *s, const struct stranger *x)
{
    uint16_t *mine = &s->begun[x->crowd];

    if (s->n_begun >= HANDSHAKES_PER_BEAT || (s->n_begun >= FOR_ALL && *mine >= FEW))
        return false;
    (*mine)++;
    s->n_begun++;
    return true;
}

void strangers_beat(struct strangers *s)
{
    memset(s->begun, 0, sizeof(s->begun));
    s->n_begun = 0;
}

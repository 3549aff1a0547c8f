/* rpc_chan.c: one connection: bytes to frames, frames to bytes, and its end.
 *
 * In:  read into one growing buffer, frames are handled where they lie. At most
 *      FRAMES_PER_TURN a turn; the rest waits in rpc.backlog, and the socket with it.
 * Out: frames are built in the output buffer; the turn's end writes it once. What the
 *      kernel does not take waits for writability; above the bound the peer is too slow.
 * End: chan_fail() at any depth only marks; chan_reap() at the turn's end says why, tells
 *      the user and frees, when no caller holds the channel any more. */
#include "common/net/rpc_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"

#define LOG_MODULE "rpc"
#define NO_FRAME   SIZE_MAX
#define READ_FIRST (16u << 10)
#define READ_MOST  (256u << 10)
#define KEEP_BYTES (1u << 20) /* an empty buffer above this is given back */

/* ---- life ---- */

static void on_io(void *arg, unsigned what);
static void mark_dirty(struct rpc_chan *ch);

struct rpc_chan *chan_new(struct rpc *r, int fd, enum chan_state state,
                          const struct rpc_calls *calls, void *ctx)
{
    struct rpc_chan *ch = calloc(1, sizeof(*ch));

    if (ch == NULL) {
        close(fd);
        return NULL;
    }
    *ch = (struct rpc_chan){ .rpc = r,
                             .fd = fd,
                             .state = state,
                             .calls = *calls,
                             .ctx = ctx,
                             .frame_at = NO_FRAME,
                             .chunk = READ_FIRST };
    ch->last_in = ev_now(r->ev);
    ch->deadline = ch->last_in + HELLO_TIMEOUT_MS;
    ch->accepted = state == CHAN_HELLO;
    r->n_hello += ch->accepted;
    list_push_back(&r->chans, &ch->node);
    ch->io = ev_io_new(r->ev, fd, on_io, ch);
    if (ch->io == NULL ||
        ev_io_set(ch->io, state == CHAN_CONNECTING ? EV_IO_WRITE : EV_IO_READ) < 0) {
        chan_free(ch);
        return NULL;
    }
    return ch;
}

static bool in_hello(const struct rpc_chan *ch)
{
    return ch->state != CHAN_UP && ch->state != CHAN_CLOSING;
}

void chan_free(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    if (ch->accepted && in_hello(ch))
        r->n_hello--;
    if (list_linked(&ch->dirty))
        list_remove(&r->dirty, &ch->dirty);
    if (list_linked(&ch->backlog))
        list_remove(&r->backlog, &ch->backlog);
    list_remove(ch->state == CHAN_CLOSING ? &r->closing : &r->chans, &ch->node);
    ev_io_free(ch->io);
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
        r->n_hello--;
        r->counts.refused++;
    }
    (void)!ev_io_set(ch->io, 0); /* cannot fail: it only takes away */
    ch->state = CHAN_CLOSING;
    list_remove(&r->chans, &ch->node);
    list_push_back(&r->closing, &ch->node);
    rpc_again(r);
}

/* A try to dial that failed like the one before it is not news. */
static void say_closed(const struct rpc_chan *ch)
{
    enum log_level level = ch->told_up ? LOG_INFO : LOG_WARN;

    if (!ch->told_up && ch->link != NULL && !link_is_news(ch->link))
        level = LOG_DEBUG;
    if (log_level_now() < level)
        return;
    log_line(
        level, LOG_MODULE,
        "closed peer=%s role=%s addr=%s dir=%s why=%s frames_in=%llu frames_out=%llu "
        "bytes_in=%llu bytes_out=%llu",
        ch->peer.node[0] != '\0' ? ch->peer.node : "?", rpc_role_name(ch->peer.role),
        ch->peer.addr, ch->accepted ? "in" : "out", log_q(ch->why, strlen(ch->why)),
        (unsigned long long)ch->frames_in, (unsigned long long)ch->frames_out,
        (unsigned long long)ch->bytes_in, (unsigned long long)ch->bytes_out);
}

void chan_reap(struct rpc_chan *ch)
{
    bool was_up = ch->told_up;

    if (ch->flush && !ch->blocked && ch->out.len > ch->out_done)
        (void)!send(ch->fd, ch->out.data + ch->out_done, ch->out.len - ch->out_done,
                    MSG_NOSIGNAL);
    say_closed(ch);
    if (ch->told_up && ch->calls.on_down != NULL)
        ch->calls.on_down(ch->ctx, ch, ch->why);
    if (ch->link != NULL) /* on_down may have freed it */
        link_down(ch->link, was_up, ch->why);
    chan_free(ch);
}

void chan_up(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    r->n_hello -= ch->accepted;
    r->counts.accepted += ch->accepted;
    r->counts.dialled += !ch->accepted;
    ch->state = CHAN_UP;
    ch->told_up = true;
    ch->next_ping = ev_now(r->ev) + r->heartbeat_ms;
    if (ch->link != NULL)
        ch->link->up_since = ev_now(r->ev);
    log_info("up peer=%s role=%s addr=%s dir=%s incarnation=%llu version=%u speaks=%u",
             ch->peer.node, rpc_role_name(ch->peer.role), ch->peer.addr,
             ch->accepted ? "in" : "out", (unsigned long long)ch->peer.incarnation,
             ch->peer.version, ch->peer.speaks);
    if (ch->calls.on_up != NULL)
        ch->calls.on_up(ch->ctx, ch, &ch->peer);
}

/* ---- in ---- */

static void handle(struct rpc_chan *ch, const struct frame *f)
{
    ch->frames_in++;
    ch->rpc->counts.frames_in++;
    if (ch->state != CHAN_UP)
        hello_frame(ch, f);
    else if (f->type == MSG_PING || f->type == MSG_PONG)
        return; /* that bytes came is all they say */
    else if (f->type <= MSG_WELCOME)
        chan_fail(ch, "frame of type %u after the hello", f->type);
    else if (ch->calls.on_frame != NULL)
        ch->calls.on_frame(ch->ctx, ch, f);
}

static void bad_frame(struct rpc_chan *ch, int64_t rc)
{
    const uint8_t *p = ch->in.data + ch->in_done;

    if (rc == SQ_ETOOBIG)
        chan_fail(ch, "frame of %zu bytes is above the limit",
                  frame_need(p, 4) - FRAME_HEADER_BYTES);
    else
        chan_fail(ch, "not our frames (version byte %u)", p[4]);
}

static void forget_handled(struct rpc_chan *ch)
{
    buf_consume(&ch->in, ch->in_done);
    ch->in_done = 0;
    if (ch->in.len == 0 && ch->in.cap > KEEP_BYTES)
        buf_fini(&ch->in);
}

void chan_frames(struct rpc_chan *ch)
{
    for (unsigned n = 0; n < FRAMES_PER_TURN; n++) {
        size_t most = ch->state == CHAN_UP ? FRAME_MAX_BODY : FRAME_MAX_BODY_HELLO;
        struct frame f;
        int64_t used =
            frame_parse(ch->in.data + ch->in_done, ch->in.len - ch->in_done, most, &f);

        if (used < 0) {
            bad_frame(ch, used);
            return;
        }
        if (used == 0) {
            forget_handled(ch);
            return;
        }
        ch->in_done += (size_t)used;
        handle(ch, &f);
        if (ch->state == CHAN_CLOSING)
            return;
    }
    if (ch->in.len == ch->in_done) {
        forget_handled(ch);
        return;
    }
    list_push_back(&ch->rpc->backlog, &ch->backlog);
    rpc_again(ch->rpc);
}

/* Room for the frame that is on its way (its length was checked), or for a chunk. */
static size_t room_wanted(const struct rpc_chan *ch)
{
    size_t need = 0;

    if (ch->in.len > 0)
        need = frame_need(ch->in.data, ch->in.len) - ch->in.len;
    return need > ch->chunk ? need : ch->chunk;
}

static void chan_read(struct rpc_chan *ch)
{
    size_t room = room_wanted(ch);
    uint8_t *p = buf_reserve(&ch->in, room);
    ssize_t n;

    if (p == NULL) {
        chan_fail(ch, "no memory for %zu bytes of input", room);
        return;
    }
    n = read(ch->fd, p, room);
    if (n <= 0) {
        if (n == 0)
            chan_fail(ch, "closed by the peer%s", ch->told_up ? "" : " in the hello");
        else if (errno != EAGAIN && errno != EINTR)
            chan_fail(ch, "read failed: %s", strerror(errno));
        return;
    }
    ch->in.len += (size_t)n;
    ch->bytes_in += (uint64_t)n;
    ch->rpc->counts.bytes_in += (uint64_t)n;
    ch->last_in = ev_now(ch->rpc->ev);
    if ((size_t)n == room && ch->chunk < READ_MOST && ch->state == CHAN_UP)
        ch->chunk *= 2;
    chan_frames(ch);
}

static void connected(struct rpc_chan *ch)
{
    int err = net_error(ch->fd);

    if (err != 0)
        chan_fail(ch, "connect: %s", strerror(err));
    else if (ev_io_set(ch->io, EV_IO_READ) < 0)
        chan_fail(ch, "event loop refused the descriptor");
    else
        hello_start(ch);
}

static void on_io(void *arg, unsigned what)
{
    struct rpc_chan *ch = arg;

    if (ch->state == CHAN_CONNECTING) {
        connected(ch);
        return;
    }
    if (what & EV_IO_WRITE) {
        ch->blocked = false;
        mark_dirty(ch); /* at the turn's end, like all output: see RPC_HOOK_LAST */
    }
    if ((what & EV_IO_READ) && ch->state != CHAN_CLOSING && !list_linked(&ch->backlog))
        chan_read(ch);
}

/* ---- out ---- */

static void mark_dirty(struct rpc_chan *ch)
{
    struct rpc *r = ch->rpc;

    if (list_linked(&ch->dirty) || ch->blocked || ch->state == CHAN_CLOSING)
        return;
    if (r->dirty.n == 0)
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

void chan_write(struct rpc_chan *ch)
{
    size_t todo = ch->out.len - ch->out_done;
    ssize_t n;

    if (todo == 0 || ch->blocked || ch->state == CHAN_CLOSING)
        return;
    n = send(ch->fd, ch->out.data + ch->out_done, todo, MSG_NOSIGNAL);
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
    ch->blocked = n < (ssize_t)todo;
    forget_written(ch);
    if (ev_io_set(ch->io, EV_IO_READ | (ch->blocked ? EV_IO_WRITE : 0)) < 0)
        chan_fail(ch, "event loop refused the descriptor");
}

struct buf *rpc_begin(struct rpc_chan *ch)
{
    uint8_t *p;

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

    if (ch->out.failed)
        return take_back(ch, SQ_ENOMEM);
    body = ch->out.len - at - FRAME_HEADER_BYTES;
    if (body > FRAME_MAX_BODY)
        return take_back(ch, SQ_ETOOBIG);
    if (ch->state == CHAN_CLOSING)
        return take_back(ch, 0); /* as lost as if the link had broken a moment later */
    frame_header(ch->out.data + at, type, 0, rid, (uint32_t)body);
    ch->frame_at = NO_FRAME;
    ch->frames_out++;
    ch->rpc->counts.frames_out++;
    if (ch->out.len - ch->out_done > ch->rpc->max_output_bytes)
        chan_fail(ch, "peer too slow: %zu bytes are waiting", ch->out.len - ch->out_done);
    else
        mark_dirty(ch);
    return 0;
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

size_t rpc_chan_pending(const struct rpc_chan *ch)
{
    return ch->out.len - ch->out_done;
}

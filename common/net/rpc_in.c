/* rpc_in.c: one connection's input: connected, bytes, frames.
 *
 * Read into one growing buffer; frames are handled where they lie. At most FRAMES_PER_TURN
 * a turn; the rest waits in rpc.backlog, and the socket with it. */
#include "common/net/rpc_in.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/rpc_chan.h"
#include "common/net/rpc_hello.h"

#define READ_FIRST (16u << 10)
#define READ_MOST  (256u << 10)

static void handle(struct rpc_chan *ch, const struct frame *f)
{
    ch->frames_in++;
    ch->rpc->counts.frames_in++;
    if (ch->state != CHAN_UP)
        hello_frame(ch, f);
    else if (f->type == MSG_PING || f->type == MSG_PONG)
        return; /* they only say that bytes came */
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
    assert(ch->in.len + (size_t)n <= ch->in.cap);
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
        chan_dirty(ch); /* at the turn's end, like all output: see RPC_HOOK_LAST */
    }
    if ((what & EV_IO_READ) && ch->state != CHAN_CLOSING && !list_linked(&ch->backlog))
        chan_read(ch);
}

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

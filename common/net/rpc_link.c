/* rpc_link.c: dials until it is freed; and what comes in. A failed try, or a link that broke soon
 * after it came up, doubles the wait (50 ms .. 2 s); a random part of it keeps a crowd of
 * processes from dialling in step after a power cut. */
#include "common/net/rpc_link.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/tls_wire.h"
#include "common/net/rpc_chan.h"
#include "common/net/rpc_hello.h"

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

/* ---- TLS: before the hello, if it is wanted ---- */

static struct tls_ctx *credentials(const struct rpc *r)
{
    return r->by_certificate != NULL ? r->by_certificate : r->by_key;
}

static void chan_read(struct rpc_chan *ch);

static void shake(struct rpc_chan *ch)
{
    struct err e = { 0 };
    int rc = tls_handshake(ch->tls, &e);
    bool more_out = tls_unsent(ch->tls) > 0;

    if (rc < 0) {
        chan_fail(ch, "%s", e.text);
    } else if (ev_io_set(ch->io, EV_IO_READ | (more_out ? EV_IO_WRITE : 0)) < 0) {
        chan_fail(ch, "event loop refused the descriptor");
    } else if (rc > 0) {
        ch->blocked = more_out;
        if (ch->accepted) {
            strangers_leave(&ch->rpc->strangers, &ch->stranger); /* identity is proved */
            ch->state = CHAN_HELLO;
            chan_read(ch); /* the hello may have come with the last of the handshake */
        } else {
            hello_start(ch);
        }
    }
}

static void tls_start(struct rpc_chan *ch, const char *host, unsigned turn)
{
    ch->tls = tls_new(credentials(ch->rpc), ch->fd, host, turn);
    if (ch->tls == NULL) {
        chan_fail(ch, "TLS: no memory, or a host that no certificate can name");
        return;
    }
    ch->state = CHAN_TLS;
    shake(ch);
}

/* Each key in turn while handshakes fail, and none at last if a plain peer will do. */
static bool is_plain_turn(const struct rpc_link *l)
{
    const struct rpc *r = l->rpc;
    unsigned tries;

    if (r->tls != TLS_ACCEPT)
        return r->tls == TLS_OFF;
    tries = tls_ctx_tries(credentials(r));
    return l->turn % (tries + 1) == tries;
}

void chan_begin(struct rpc_chan *ch)
{
    if (!strangers_may_begin(&ch->rpc->strangers, &ch->stranger))
        return;
    ch->stranger.waits = false;
    tls_start(ch, NULL, 0); /* which watches the descriptor again */
}

/* Begins as many handshakes as a processor should bear; the others come with the next beat. */
static void begin_or_wait(struct rpc_chan *ch)
{
    ch->stranger.waits = true;
    chan_begin(ch);
    if (ch->stranger.waits)
        (void)!ev_io_set(ch->io, 0); /* cannot fail: it only takes away */
}

/* The first byte of an accepted connection says what it is. False: it is no hello's. */
static bool look(struct rpc_chan *ch)
{
    enum tls_mode mode = ch->rpc->tls;
    uint8_t first;
    ssize_t n = recv(ch->fd, &first, 1, MSG_PEEK);

    if (n != 1) /* an end, an error: as for any read; nothing yet: no read may come between */
        return n == 0 || (errno != EAGAIN && errno != EINTR);
    ch->looked = true;
    if (tls_begins(first) && mode == TLS_OFF)
        chan_fail(ch, "it speaks TLS, and here it is off (key tls)");
    else if (tls_begins(first))
        begin_or_wait(ch);
    else if (mode == TLS_REQUIRE)
        chan_fail(ch, "it speaks without TLS, which is required (key tls)");
    return ch->state == CHAN_HELLO && ch->tls == NULL && !ch->stranger.waits;
}

/* ---- input: connected, bytes, frames ----
 *
 * Read into one growing buffer; frames are handled where they lie. At most FRAMES_PER_TURN
 * a turn; the rest waits in rpc.backlog, and the socket with it. */

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

static void chan_frames(struct rpc_chan *ch)
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

/* OpenSSL may hold bytes for which the socket is not readable any more. */
static bool has_unread(const struct rpc_chan *ch)
{
    return ch->tls != NULL && tls_more(ch->tls) && ch->state != CHAN_CLOSING &&
           !list_linked(&ch->backlog);
}

static void read_on_later(struct rpc_chan *ch)
{
    if (!has_unread(ch))
        return;
    list_push_back(&ch->rpc->backlog, &ch->backlog);
    rpc_again(ch->rpc);
}

static void chan_read(struct rpc_chan *ch)
{
    size_t room = room_wanted(ch);
    uint8_t *p;
    ssize_t n;

    if (ch->state == CHAN_HELLO && !ch->looked && !look(ch))
        return;
    p = buf_reserve(&ch->in, room);
    if (p == NULL) {
        chan_fail(ch, "no memory for %zu bytes of input", room);
        return;
    }
    n = ch->tls != NULL ? tls_recv(ch->tls, p, room) : read(ch->fd, p, room);
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
    read_on_later(ch);
}

void chan_resume(struct rpc_chan *ch)
{
    chan_frames(ch);
    if (has_unread(ch))
        chan_read(ch);
}

static void connected(struct rpc_chan *ch)
{
    int err = net_error(ch->fd);
    char host[256] = "";
    uint16_t port;

    if (err != 0)
        chan_fail(ch, "connect: %s", strerror(err));
    else if (ev_io_set(ch->io, EV_IO_READ) < 0)
        chan_fail(ch, "event loop refused the descriptor");
    else if (ch->link == NULL || is_plain_turn(ch->link))
        hello_start(ch);
    else if (net_split(ch->link->addr, host, sizeof(host), &port, NULL) < 0)
        chan_fail(ch, "bad address");
    else
        tls_start(ch, host, ch->link->turn);
}

static void on_io(void *arg, unsigned what)
{
    struct rpc_chan *ch = arg;

    if (ch->state == CHAN_CONNECTING) {
        connected(ch);
        return;
    }
    if (ch->state == CHAN_TLS) {
        shake(ch);
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
    ch->deadline = ch->last_in + (state == CHAN_CONNECTING ? DIAL_TIMEOUT_MS : HELLO_TIMEOUT_MS);
    ch->accepted = state == CHAN_HELLO;
    list_push_back(&r->chans, &ch->node);
    ch->io = ev_io_new(r->ev, fd, on_io, ch);
    if (ch->io == NULL ||
        ev_io_set(ch->io, state == CHAN_CONNECTING ? EV_IO_WRITE : EV_IO_READ) < 0) {
        chan_free(ch);
        return NULL;
    }
    return ch;
}

/* rpc.c: all channels of a process: heartbeats, the order at a turn's end, and the ends of
 * channels.
 *
 * Start of the hooks (rank -100): frames that were too many for the last turn.
 * End of the hooks (rank +100): first the closed channels (on_down may still send to
 * others), then one write per channel that has something to say.
 * Whatever has to wait for the next turn makes it not wait (rpc_again). */
#include "common/net/rpc.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc_chan.h"
#include "common/net/rpc_int.h"
#include "common/net/rpc_link.h"

#define LOG_MODULE       "rpc"
#define MAX_OUTPUT_BYTES (64u << 20)
#define BEAT_MAX_MS      250

/* Listening. Whoever connects is a stranger (rpc_chan.h) until its handshake, or
 * its hello without one, has proved it. Without descriptors, and after many accepts, it pauses
 * until the next beat: a flood of connections costs a bounded part of a processor. */
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

/* A new beat: descriptors that were paused are watched again, handshakes that waited begin. */
static void accept_beat(struct rpc *r)
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

/* ---- the turn's end ---- */

static void resume_backlog(void *arg)
{
    struct rpc *r = arg;

    r->turn_ends = true;
    for (size_t n = r->backlog.n; n > 0; n--) {
        struct rpc_chan *ch =
            container_of(list_first(&r->backlog), struct rpc_chan, backlog);

        list_remove(&r->backlog, &ch->backlog);
        if (ch->state != CHAN_CLOSING)
            chan_resume(ch);
    }
}

/* A try to dial that failed like the one before it is not news; strangers that gave way are told in
 * one line. */
static void say_closed(const struct rpc_chan *ch)
{
    enum log_level level = ch->told_up ? LOG_INFO : LOG_WARN;

    if (!ch->told_up && (ch->link != NULL ? !link_is_news(ch->link)
                                          : strcmp(ch->why, STRANGER_GAVE_WAY) == 0))
        level = LOG_DEBUG;
    if (log_level_now() < level)
        return;
    log_line(
        level, LOG_MODULE,
        "event=link_down peer=%s role=%s addr=%s dir=%s why=%s frames_in=%llu frames_out=%llu "
        "bytes_in=%llu bytes_out=%llu",
        ch->peer.node[0] != '\0' ? ch->peer.node : "?", rpc_role_name(ch->peer.role),
        ch->peer.addr, ch->accepted ? "in" : "out", log_q(ch->why, strlen(ch->why)),
        (unsigned long long)ch->frames_in, (unsigned long long)ch->frames_out,
        (unsigned long long)ch->bytes_in, (unsigned long long)ch->bytes_out);
}

/* Writes what goes at once; TLS seals it piece by piece. */
static void write_last(struct rpc_chan *ch)
{
    ssize_t n = 1;

    for (; n > 0 && ch->out.len > ch->out_done; ch->out_done += n > 0 ? (size_t)n : 0)
        n = chan_put(ch);
}

/* Says why, tells the user, frees. */
static void chan_reap(struct rpc_chan *ch)
{
    bool was_up = ch->told_up;

    assert(ch->state == CHAN_CLOSING && (ch->link == NULL || ch->link->chan == ch));
    if (ch->flush && !ch->blocked)
        write_last(ch);
    say_closed(ch);
    if (ch->told_up && ch->calls.on_down != NULL)
        ch->calls.on_down(ch->ctx, ch, ch->why);
    if (ch->link != NULL) /* on_down may have freed it */
        link_down(ch->link, was_up, ch->why);
    chan_free(ch);
}

static void turn_end(void *arg)
{
    struct rpc *r = arg;

    assert(r->strangers.all.n <= r->chans.n);
    for (size_t n = r->closing.n; n > 0; n--)
        chan_reap(container_of(list_first(&r->closing), struct rpc_chan, node));
    while (r->dirty.n > 0) {
        struct rpc_chan *ch = container_of(list_first(&r->dirty), struct rpc_chan, dirty);

        list_remove(&r->dirty, &ch->dirty);
        chan_write(ch);
    }
    r->turn_ends = false;
}

/* ---- heartbeats ---- */

static void beat_chan(struct rpc_chan *ch, msec_t now)
{
    if (ch->state != CHAN_UP) {
        if (now >= ch->deadline)
            chan_fail(ch, "%s timed out",
                      ch->state == CHAN_CONNECTING ? "connect"
                      : ch->state == CHAN_TLS      ? "TLS handshake"
                                                   : "hello");
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

void rpc_warn(const struct rpc *r, struct buf *b)
{
    time_t end = (time_t)r->counts.cert_ends_s, left = end - ev_wall_ms(r->ev) / 1000;
    char day[16];
    struct tm tm;

    if (r->counts.cert_ends_s == 0 || left >= CERT_SOON_S)
        return;
    (void)!strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&end, &tm));
    buf_printf(b, "the certificate of tls_cert %s on %s%s", left < 0 ? "has ended" : "ends", day,
               left < 0 ? ": peers refuse new links" : "");
}

/* Once a day. */
static void say_cert_end(struct rpc *r)
{
    struct buf b;

    if (r->counts.cert_ends_s == 0 ||
        (r->said_end_ms != 0 && ev_now(r->ev) - r->said_end_ms < 86400000))
        return;
    buf_init(&b);
    rpc_warn(r, &b);
    if (b.len > 0) {
        r->said_end_ms = ev_now(r->ev);
        log_warn("event=cert_ends why=\"%.*s\"", (int)b.len, (const char *)b.data);
    }
    buf_fini(&b);
}

/* A long heartbeat makes nobody wait for a place, or for the end of a hello. */
static void beat_later(struct rpc *r)
{
    msec_t quarter = (msec_t)r->heartbeat_ms / 4;

    ev_timer_about(r->beat, ms_min(ms_max(quarter, 5), BEAT_MAX_MS));
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
    accept_beat(r);
    say_cert_end(r);
    beat_later(r);
}

/* ---- life ---- */

static void fill(struct rpc *r, struct ev *ev, const struct rpc_opts *o)
{
    r->ev = ev;
    hosts_init(&r->hosts, ev);
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
    r->tls = o->tls == NULL ? TLS_OFF : (enum tls_mode)o->tls->mode;
    rng_seed(&r->rng, o->seed);
    strangers_init(&r->strangers);
    crypto_shorthash_keygen(r->crowd_key);
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
    int rc;

    if (len == 0 || len > NAME_MAX_LEN)
        return err_set(e, SQ_EINVAL, "node name of %zu characters", len);
    r = sodium_init() < 0 ? NULL : calloc(1, sizeof(*r));
    if (r == NULL)
        return err_set(e, SQ_ENOMEM, "rpc: out of memory");
    fill(r, ev, o);
    if (r->tls != TLS_OFF) {
        rc = tls_ctx_keys(&r->by_key, o->link_key, o->other_link_key, e);
        if (rc == 0)
            rc = rpc_reload(r, o->tls, e);
        if (rc < 0) {
            rpc_free(r);
            return rc;
        }
    }
    r->beat = ev_timer_new(ev, on_beat, r);
    if (r->beat == NULL || ev_hook(ev, RPC_HOOK_FIRST, resume_backlog, r) < 0 ||
        ev_hook(ev, RPC_HOOK_LAST, turn_end, r) < 0) {
        rpc_free(r);
        return err_set(e, SQ_ENOMEM, "rpc: out of memory");
    }
    r->last_beat = ev_now(ev);
    beat_later(r);
    *out = r;
    return 0;
}

int rpc_reload(struct rpc *r, const struct cfg_tls *c, struct err *e)
{
    struct tls_ctx *fresh;
    int rc = tls_ctx_files(&fresh, c, e);

    if (rc < 0)
        return rc;
    tls_ctx_free(r->by_certificate);
    r->by_certificate = fresh;
    r->counts.cert_ends_s = (uint64_t)tls_ctx_ends_s(fresh);
    r->said_end_ms = 0;
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
    hosts_fini(&r->hosts);
    tls_ctx_free(r->by_key);
    tls_ctx_free(r->by_certificate);
    ev_timer_free(r->beat);
    sodium_memzero(r->link_key, sizeof(r->link_key));
    sodium_memzero(r->other_link_key, sizeof(r->other_link_key));
    free(r);
}

const struct rpc_counts *rpc_counts(const struct rpc *r)
{
    return &r->counts;
}

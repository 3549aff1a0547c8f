/* httpd.c: the server as a whole: listening, accepting, deadlines, the turn's end, drain.
 *
 * Failures and their answers:
 *   no descriptors, no memory, too many connections or handshakes -> accepting stops (the listener
 *     is not watched: no busy loop) and goes on when one has closed, or after 100 ms
 *   a deadline passes -> 408 if something had come, else the connection is closed */
#include "common/http/httpd.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/http/httpd_busy.h"
#include "common/http/httpd_conn.h"
#include "common/http/httpd_in.h"
#include "common/http/httpd_out.h"
#include "common/net/net.h"

#define LOG_MODULE "httpd"
#define HOOK_RANK  10
#define SPARE_FDS  64 /* for links, logs, the admin port */

/* ---- accepting ---- */

static void accept_pause(struct httpd *h, bool on)
{
    if (h->paused == on || h->listener == NULL)
        return;
    h->paused = on;
    if (on)
        h->counts.accept_paused++;
    if (ev_io_set(h->listener, on ? 0 : EV_IO_READ) < 0)
        log_error("event=not_watched what=listener");
}

/* No descriptors, no memory, or too many handshakes: for a while. At the limit each connection that
 * ends begins it anew: not a line for each. */
static void accept_starved(struct httpd *h, const char *why)
{
    msec_t now = ev_now(h->ev);

    if (!h->accept_warned && now >= h->accept_quiet_ms) {
        log_warn("event=accept_paused why=\"%s\" conns=%" PRIu64, why, h->counts.conns_now);
        h->accept_quiet_ms = now + HTTPD_SAID_MS;
    }
    h->accept_warned = true;
    accept_pause(h, true);
    h->accept_retry = now + HTTPD_RETRY_ACCEPT_MS;
    httpd_arm(h, h->accept_retry);
}

/* 0, or why it could not be taken. */
static int take_conn(struct httpd *h, int fd, const struct net_addr *peer)
{
    uint64_t tag = 0;

    if (h->calls.on_conn != NULL && !h->calls.on_conn(h->ctx, peer, &tag)) {
        h->counts.refused++;
        close(fd);
        return 0;
    }
    if (conn_new(h, fd, tag) != NULL)
        return 0;
    if (h->calls.on_conn_end != NULL)
        h->calls.on_conn_end(h->ctx, tag);
    return SQ_ENOMEM;
}

static void on_acceptable(void *arg, unsigned what)
{
    struct httpd *h = arg;

    (void)what;
    for (int i = 0; i < HTTPD_TURN_ACCEPTS; i++) {
        struct net_addr peer;
        int fd, rc;

        if (h->counts.conns_now >= h->opts.max_conns) {
            h->accept_full = true;
            accept_pause(h, true);
            return;
        }
        if (SQ_UNLIKELY(h->opts.tls != NULL)) {
            if (!handshakes_due(h))
                return; /* the next turn goes on */
            if (!handshakes_fit(h)) {
                accept_starved(h, "too many handshakes");
                return;
            }
        }
        fd = net_accept(h->listen_fd, &peer);
        if (fd == SQ_EBUSY)
            return;
        rc = fd < 0 ? fd : take_conn(h, fd, &peer);
        if (rc < 0) {
            accept_starved(h, sq_strerror(rc));
            return;
        }
        h->accept_warned = false;
    }
}

static void accept_again(struct httpd *h)
{
    h->accept_full = false;
    h->accept_retry = MSEC_NEVER;
    accept_pause(h, false);
}

/* ---- deadlines ---- */

static void on_timer(void *arg)
{
    struct httpd *h = arg;
    msec_t now = ev_now(h->ev), next = MSEC_NEVER;

    h->timer_at = MSEC_NEVER;
    for (int i = 0; i < WAIT_NLISTS; i++) {
        list_each (&h->wait[i], it) {
            struct conn *c = container_of(it, struct conn, in_wait);

            assert(c->wait == i && c->h == h);
            if (c->deadline > now) {
                next = ms_min(next, c->deadline);
                break;
            }
            conn_overdue(c);
        }
    }
    if (h->accept_retry <= now)
        accept_again(h);
    next = ms_min(next, h->accept_retry);
    if (next != MSEC_NEVER)
        httpd_arm(h, next);
}

/* ---- the turn's end ---- */

static void go_on(void *arg)
{
    struct httpd *h = arg;
    size_t n = h->n_again;

    h->again_posted = false;
    h->n_again = 0;
    for (size_t i = 0; i < n; i++)
        conn_go_on(h->again[i]);
}

static void tell_drained(void *arg)
{
    struct httpd *h = arg;
    ev_fn fn = h->drained;

    h->drained = NULL;
    if (fn != NULL)
        fn(h->drained_arg);
}

static void conn_gone(struct conn *c)
{
    struct httpd *h = c->h;

    assert(h->counts.conns_now > 0);
    conn_free(c);
    h->counts.conns_now--;
    if (h->paused && !h->draining && (h->accept_full || h->accept_retry != MSEC_NEVER))
        accept_again(h);
    if (h->draining && h->counts.conns_now == 0)
        ev_post(h->ev, tell_drained, h);
}

static void on_turn_end(void *arg)
{
    struct httpd *h = arg;

    while (h->dirty != NULL) {
        struct conn *c = h->dirty;

        h->dirty = c->next_dirty;
        c->dirty = false;
        if (!conn_settle(c))
            conn_gone(c);
    }
    if (h->n_again > 0 && !h->again_posted) {
        h->again_posted = true;
        ev_post(h->ev, go_on, h);
    }
}

/* ---- making and ending ---- */

static uint32_t or_default(uint32_t v, uint32_t def)
{
    return v != 0 ? v : def;
}

/* No more connections than the descriptor limit (raised as far as allowed) can carry. */
static uint32_t conns_possible(uint32_t want)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
        return want;
    if (rl.rlim_cur < rl.rlim_max && rl.rlim_cur < (rlim_t)want + SPARE_FDS) {
        rl.rlim_cur = rl.rlim_max < (rlim_t)want + SPARE_FDS ? rl.rlim_max
                                                             : (rlim_t)want + SPARE_FDS;
        if (setrlimit(RLIMIT_NOFILE, &rl) < 0 && getrlimit(RLIMIT_NOFILE, &rl) < 0)
            return want;
    }
    if (rl.rlim_cur >= (rlim_t)want + SPARE_FDS)
        return want;
    log_info("event=max_conns_lowered limit=%llu wanted=%u",
             (unsigned long long)rl.rlim_cur, want);
    return rl.rlim_cur > 2 * SPARE_FDS ? (uint32_t)rl.rlim_cur - SPARE_FDS : SPARE_FDS;
}

static void set_opts(struct httpd *h, const struct httpd_opts *o)
{
    h->opts = *o;
    h->opts.addr = NULL;
    h->opts.head_ms = or_default(o->head_ms, 10000);
    h->opts.body_ms = or_default(o->body_ms, 10000);
    h->opts.idle_ms = or_default(o->idle_ms, 75000);
    h->opts.max_pipelined = or_default(o->max_pipelined, 64);
    h->opts.max_handshakes = or_default(o->max_handshakes, HTTPD_HANDSHAKES);
    h->opts.max_conns = conns_possible(or_default(o->max_conns, 65536));
    if (o->max_input_bytes == 0)
        h->opts.max_input_bytes = 256u << 20;
    if (o->max_output_bytes == 0)
        h->opts.max_output_bytes = 256 * 1024;
    if (o->max_body == 0)
        h->opts.max_body = HTTP_MAX_BODY;
    if (o->max_large < h->opts.max_body)
        h->opts.max_large = h->opts.max_body;
    if (o->server != NULL && strlen(o->server) < sizeof(h->server))
        strcpy(h->server, o->server);
    h->opts.server = NULL;
    h->wait_ms[WAIT_IDLE] = h->opts.idle_ms;
    h->wait_ms[WAIT_HEAD] = h->opts.head_ms;
    h->wait_ms[WAIT_BODY] = h->opts.body_ms;
    h->wait_ms[WAIT_WRITE] = h->opts.body_ms;
    h->wait_ms[WAIT_LINGER] = HTTPD_LINGER_MS;
}

static int start(struct httpd *h, const char *addr, struct err *e)
{
    h->listen_fd = net_listen(addr, !h->opts.port_alone, 4096, e);
    if (h->listen_fd < 0)
        return h->listen_fd;
    net_defer_accept(h->listen_fd);
    net_local_text(h->listen_fd, h->addr);
    h->scratch = malloc(HTTPD_SCRATCH + HTTP_SLACK);
    h->hand_out = malloc(HTTPD_HAND_ROOM);
    h->timer = ev_timer_new(h->ev, on_timer, h);
    h->listener = ev_io_new(h->ev, h->listen_fd, on_acceptable, h);
    if (h->scratch == NULL || h->hand_out == NULL || h->timer == NULL || h->listener == NULL ||
        ev_hook(h->ev, HOOK_RANK, on_turn_end, h) < 0)
        return err_set(e, SQ_ENOMEM, "http server: out of memory");
    if (ev_io_set(h->listener, EV_IO_READ) < 0)
        return err_set(e, SQ_ESYS, "http server: cannot watch the listening socket");
    return 0;
}

int httpd_new(struct httpd **out, struct ev *ev, const struct httpd_opts *o,
              const struct httpd_calls *calls, void *ctx, struct err *e)
{
    struct httpd *h = calloc(1, sizeof(*h));
    int rc;

    if (h == NULL)
        return err_set(e, SQ_ENOMEM, "http server: out of memory");
    h->ev = ev;
    h->calls = *calls;
    h->ctx = ctx;
    h->listen_fd = -1;
    h->timer_at = h->accept_retry = MSEC_NEVER;
    h->date_s = INT64_MIN;
    for (int i = 0; i < WAIT_NLISTS; i++)
        list_init(&h->wait[i]);
    list_init(&h->waiting_us);
    list_init(&h->handshakes);
    set_opts(h, o);
    rc = start(h, o->addr, e);
    if (rc < 0) {
        httpd_free(h);
        return rc;
    }
    *out = h;
    return 0;
}

static void close_listener(struct httpd *h)
{
    ev_io_free(h->listener);
    h->listener = NULL;
    if (h->listen_fd >= 0)
        close(h->listen_fd);
    h->listen_fd = -1;
}

static void free_pools(struct httpd *h)
{
    while (h->free_busy != NULL) {
        struct busy *b = h->free_busy;
        h->free_busy = b->next_free;
        free(b);
    }
    while (h->free_req != NULL) {
        struct httpd_req *r = h->free_req;
        h->free_req = r->next;
        free(r);
    }
    while (h->n_free_out > 0)
        free(h->free_out[--h->n_free_out]);
}

/* Every connection is in one of the lists. */
static void free_conns(struct httpd *h)
{
    h->drained = NULL;
    on_turn_end(h);
    for (int i = 0; i < WAIT_NLISTS; i++) {
        list_each (&h->wait[i], it)
            conn_gone(container_of(it, struct conn, in_wait));
    }
    list_each (&h->waiting_us, it)
        conn_gone(container_of(it, struct conn, in_wait));
    assert(h->counts.conns_now == 0 && h->dirty == NULL);
}

void httpd_free(struct httpd *h)
{
    if (h == NULL)
        return;
    close_listener(h);
    free_conns(h);
    ev_unhook(h->ev, on_turn_end, h);
    if (h->timer != NULL)
        ev_timer_free(h->timer);
    free_pools(h);
    free(h->again);
    free(h->hand);
    free(h->hand_out);
    free(h->scratch);
    free(h);
}

void httpd_drain(struct httpd *h, ev_fn done, void *arg)
{
    h->drained = done;
    h->drained_arg = arg;
    if (h->draining)
        return;
    h->draining = true;
    close_listener(h);
    list_each (&h->wait[WAIT_IDLE], it)
        conn_end(container_of(it, struct conn, in_wait), END_DONE);
    list_each (&h->wait[WAIT_HEAD], it) {
        if (container_of(it, struct conn, in_wait)->busy == NULL) /* nothing came yet */
            conn_end(container_of(it, struct conn, in_wait), END_DONE);
    }
    if (h->counts.conns_now == 0)
        ev_post(h->ev, tell_drained, h);
}

const char *httpd_addr(const struct httpd *h)
{
    return h->addr;
}

uint32_t httpd_max_conns(const struct httpd *h)
{
    return h->opts.max_conns;
}

const struct httpd_counts *httpd_counts(const struct httpd *h)
{
    return &h->counts;
}

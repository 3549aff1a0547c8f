/* conns.c: the connections of the pool.
 *
 *   CLOSED -> CONNECTING -> BUSY -> IDLE -> BUSY ...; any -> CLOSED
 *
 * cannot connect            -> on_fail, the next host next time
 * closed before any answer  -> on_fail; if the connection had been idle, that is how
 *                              keep-alive ends, and it is counted apart
 * silent for timeout_us     -> closed, on_fail
 * closed while idle         -> forgotten, opened again when needed */
#include "tests/bench/swarm/conns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "tests/bench/swarm/now.h"

#define READ_CHUNK   4096u
#define SWEEP_US     250000
#define HOSTS_MAX    32
#define ADDRESS_TEXT 80

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_BUSY, CONN_IDLE };

struct conn {
    struct conns *pool; /* ref */
    struct ev_io *io;
    int fd;
    enum conn_state state;
    uint32_t who;
    unsigned host;
    bool reused; /* it has given an answer before */
    int64_t since_us;
    struct buf in, out;
    size_t sent;
};

struct ring { /* of numbers, growing */
    uint32_t *v; /* owned */
    size_t head, n, cap;
};

struct conns {
    struct ev *ev; /* ref */
    struct conns_calls calls;
    void *ctx;
    struct conn *conn; /* owned array */
    uint32_t n_conns;
    struct ring queue; /* requests that wait */
    struct ring free;  /* connections that are closed or idle */
    struct net_addr addr[HOSTS_MAX];
    char host[HOSTS_MAX][ADDRESS_TEXT];
    unsigned n_hosts, next_host;
    bool keep;
    int64_t timeout_us;
    double reconnect_share;
    struct rng rng;
    struct ev_timer *sweep;
    struct conns_counts counts;
};

static bool ring_push(struct ring *r, uint32_t x)
{
    if (r->n == r->cap) {
        size_t cap = r->cap != 0 ? r->cap * 2 : 64;
        uint32_t *v = reallocarray(NULL, cap, sizeof(*v));

        if (v == NULL)
            return false;
        for (size_t i = 0; i < r->n; i++)
            v[i] = r->v[(r->head + i) & (r->cap - 1)];
        free(r->v);
        *r = (struct ring){ .v = v, .n = r->n, .cap = cap };
    }
    r->v[(r->head + r->n++) & (r->cap - 1)] = x;
    return true;
}

static uint32_t ring_pop(struct ring *r)
{
    uint32_t x = r->v[r->head];

    r->head = (r->head + 1) & (r->cap - 1);
    r->n--;
    return x;
}

static void hang_up(struct conn *k)
{
    ev_io_free(k->io);
    k->io = NULL;
    if (k->fd >= 0)
        close(k->fd);
    k->fd = -1;
    k->state = CONN_CLOSED;
    k->reused = false;
    buf_reset(&k->in);
}

/* The connection is free again; the ring has room for all of them. */
static void set_free(struct conn *k)
{
    if (!ring_push(&k->pool->free, (uint32_t)(k - k->pool->conn)))
        abort(); /* its memory was taken at the start */
}

static void fail(struct conn *k, const char *why)
{
    uint32_t who = k->who;

    hang_up(k);
    set_free(k);
    k->pool->calls.on_fail(k->pool->ctx, who, why);
}

static void broken(struct conn *k, const char *why)
{
    if (k->reused && k->in.len == 0)
        k->pool->counts.reused_closed++;
    else
        k->pool->counts.broken++;
    fail(k, why);
}

static void finish(struct conn *k, const struct answer *a)
{
    struct conns *c = k->pool;

    c->calls.on_answer(c->ctx, k->who, a);
    buf_reset(&k->in);
    k->state = CONN_IDLE;
    k->reused = true;
    if (a->close || !c->keep ||
        (c->reconnect_share > 0 && rng_chance(&c->rng, c->reconnect_share)))
        hang_up(k);
    set_free(k);
}

static void write_more(struct conn *k)
{
    while (k->sent < k->out.len) {
        ssize_t n = write(k->fd, k->out.data + k->sent, k->out.len - k->sent);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            broken(k, "write");
            return;
        }
        if (n < 0)
            break;
        k->sent += (size_t)n;
    }
    if (ev_io_set(k->io, EV_IO_READ | (k->sent < k->out.len ? EV_IO_WRITE : 0)) < 0)
        broken(k, "event");
}

static void send_request(struct conn *k)
{
    struct conns *c = k->pool;

    k->state = CONN_BUSY;
    buf_reset(&k->out);
    k->sent = 0;
    c->calls.build(c->ctx, k->who, c->host[k->host], &k->out);
    if (k->out.failed)
        broken(k, "memory");
    else
        write_more(k);
}

static void read_answer(struct conn *k)
{
    struct answer a;
    int64_t used;
    ssize_t n;

    if (buf_reserve(&k->in, READ_CHUNK) == NULL) {
        broken(k, "memory");
        return;
    }
    n = read(k->fd, k->in.data + k->in.len, k->in.cap - k->in.len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (k->state == CONN_IDLE) { /* closed by the server, or it speaks unasked */
        hang_up(k);
        return;
    }
    if (n <= 0) {
        broken(k, "closed");
        return;
    }
    k->in.len += (size_t)n;
    used = answer_parse(&a, (const char *)k->in.data, k->in.len);
    if (used < 0 || (used > 0 && (size_t)used != k->in.len))
        broken(k, "not the HTTP we know");
    else if (used > 0)
        finish(k, &a);
}

static void on_io(void *arg, unsigned what)
{
    struct conn *k = arg;

    if (k->state == CONN_CONNECTING) {
        int error = net_error(k->fd);

        if (error != 0) {
            k->pool->counts.refused++;
            fail(k, strerror(error));
            return;
        }
        send_request(k);
        return;
    }
    if ((what & EV_IO_READ) != 0)
        read_answer(k);
    else if (k->state == CONN_BUSY)
        write_more(k);
}

static void open_conn(struct conn *k)
{
    struct conns *c = k->pool;

    k->host = c->next_host++ % c->n_hosts;
    k->fd = net_connect(&c->addr[k->host], NULL);
    if (k->fd < 0) {
        k->fd = -1;
        c->counts.refused++;
        fail(k, "connect");
        return;
    }
    k->state = CONN_CONNECTING;
    k->io = ev_io_new(c->ev, k->fd, on_io, k);
    if (k->io == NULL || ev_io_set(k->io, EV_IO_WRITE) < 0) {
        broken(k, "event");
        return;
    }
    c->counts.opened++;
}

/* End of turn: waiting requests get free connections. Bounded by what was there at the
 * start, since what fails at once is queued again. */
static void pump(void *arg)
{
    struct conns *c = arg;
    size_t n = c->queue.n < c->free.n ? c->queue.n : c->free.n;

    while (n-- > 0) {
        struct conn *k = &c->conn[ring_pop(&c->free)];

        k->who = ring_pop(&c->queue);
        k->since_us = now_us();
        if (k->state == CONN_IDLE)
            send_request(k);
        else
            open_conn(k);
    }
}

static void on_sweep(void *arg)
{
    struct conns *c = arg;
    int64_t before = now_us() - c->timeout_us;

    for (uint32_t i = 0; i < c->n_conns; i++) {
        struct conn *k = &c->conn[i];

        if ((k->state == CONN_BUSY || k->state == CONN_CONNECTING) && k->since_us < before) {
            c->counts.timeouts++;
            fail(k, "timeout");
        }
    }
    ev_timer_in_us(c->sweep, SWEEP_US);
}

int conns_new(struct conns **out, struct ev *ev, const struct conns_opts *o,
              const struct conns_calls *calls, void *ctx, struct err *e)
{
    struct conns *c = calloc(1, sizeof(*c));

    if (c == NULL || o->n_hosts == 0 || o->n_hosts > HOSTS_MAX)
        goto fail;
    c->ev = ev;
    c->calls = *calls;
    c->ctx = ctx;
    c->n_hosts = o->n_hosts;
    c->keep = o->keep;
    c->timeout_us = o->timeout_us;
    c->reconnect_share = o->reconnect_share;
    rng_seed(&c->rng, o->seed);
    memcpy(c->addr, o->addr, o->n_hosts * sizeof(*o->addr));
    for (unsigned i = 0; i < o->n_hosts; i++)
        strncpy(c->host[i], o->host[i], ADDRESS_TEXT - 1);
    c->conn = calloc(o->conns, sizeof(*c->conn));
    c->sweep = ev_timer_new(ev, on_sweep, c);
    if (c->conn == NULL || c->sweep == NULL || ev_hook(ev, 10, pump, c) < 0)
        goto fail;
    for (; c->n_conns < o->conns; c->n_conns++) {
        c->conn[c->n_conns] = (struct conn){ .pool = c, .fd = -1 };
        if (!ring_push(&c->free, c->n_conns))
            goto fail;
    }
    ev_timer_in_us(c->sweep, SWEEP_US);
    *out = c;
    return 0;
fail:
    conns_free(c);
    return err_set(e, SQ_ENOMEM, "connections: too many, or no memory");
}

void conns_free(struct conns *c)
{
    if (c == NULL)
        return;
    if (c->ev != NULL)
        ev_unhook(c->ev, pump, c);
    ev_timer_free(c->sweep);
    for (uint32_t i = 0; i < c->n_conns; i++) {
        hang_up(&c->conn[i]);
        buf_fini(&c->conn[i].in);
        buf_fini(&c->conn[i].out);
    }
    free(c->conn);
    free(c->queue.v);
    free(c->free.v);
    free(c);
}

bool conns_submit(struct conns *c, uint32_t who)
{
    return ring_push(&c->queue, who);
}

size_t conns_waiting(const struct conns *c)
{
    return c->queue.n;
}

const struct conns_counts *conns_counts(const struct conns *c)
{
    return &c->counts;
}

/* httpd_conn.c: one connection: reading, parsing, what it waits for, how it ends.
 *
 *   HEAD --request--> US --answered--> IDLE --bytes--> HEAD | BODY --> US ...
 *   any  --output that the client does not take--> WRITE --> as before
 *   after the last answer: closed, or LINGER first if bytes were left unread (a close
 *   would reset the connection and the client might never see the answer)
 *
 * A read goes into one buffer that all connections share; most requests are whole there,
 * and nothing is copied. Only what is left over gets memory of its own. */
#include "common/httpd_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"

#define LOG_MODULE "httpd"

static const char *const end_names[END_NREASONS] = {
    [END_NOT] = "open",           [END_DONE] = "done",
    [END_IDLE] = "idle",          [END_HEAD] = "head deadline",
    [END_BODY] = "body deadline", [END_SLOW_READER] = "slow reader",
    [END_PEER] = "peer",          [END_ERROR] = "error",
};

void conn_dirty(struct conn *c)
{
    if (c->dirty)
        return;
    c->dirty = true;
    c->next_dirty = c->h->dirty;
    c->h->dirty = c;
}

/* ---- what hangs on a connection that is not idle ---- */

static struct busy *busy_take(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = h->free_busy;

    if (c->busy != NULL)
        return c->busy;
    if (b != NULL) {
        h->free_busy = b->next_free;
        h->n_free_busy--;
        memset(b, 0, sizeof(*b));
    } else {
        b = calloc(1, sizeof(*b));
    }
    c->busy = b;
    return b;
}

static void in_free(struct conn *c)
{
    struct busy *b = c->busy;

    c->h->in_bytes -= b->in_cap;
    free(b->in);
    b->in = NULL;
    b->in_len = b->in_cap = 0;
}

static void busy_give(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;

    if (b == NULL)
        return;
    in_free(c);
    out_give(h, b);
    c->busy = NULL;
    if (h->n_free_busy >= HTTPD_POOL_MAX) {
        free(b);
        return;
    }
    b->next_free = h->free_busy;
    h->free_busy = b;
    h->n_free_busy++;
}

/* Room for n more bytes of pending input. */
static bool in_room(struct conn *c, size_t n)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    size_t cap = b->in_cap != 0 ? b->in_cap : HTTPD_IN_START;
    char *p;

    if (b->in_cap - b->in_len >= n)
        return true;
    while (cap - b->in_len < n)
        cap *= 2;
    if (b->in_len + n > HTTPD_IN_MAX || h->in_bytes + cap - b->in_cap > HTTPD_ALL_IN_MAX)
        return false;
    p = realloc(b->in, cap);
    if (p == NULL)
        return false;
    h->in_bytes += cap - b->in_cap;
    b->in = p;
    b->in_cap = cap;
    return true;
}

/* ---- requests out of bytes ---- */

static bool take_one(struct conn *c, const struct http_req *q)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    struct httpd_req *r = req_new(c);

    if (r == NULL) {
        conn_end(c, END_ERROR);
        return false;
    }
    memset(&b->st, 0, sizeof(b->st));
    b->fresh = true;
    b->continued = false;
    c->used = true;
    r->head = q->method == HTTP_HEAD;
    r->keep_alive = q->keep_alive;
    r->http10 = q->minor == 0;
    if (!q->keep_alive)
        c->no_more = true;
    h->counts.requests++;
    h->calls.on_request(h->ctx, r, q);
    return true;
}

/* What the parser has not used stays for later, or is dropped if there is no later. */
static void keep_rest(struct conn *c, char *p, size_t n)
{
    struct busy *b = c->busy;

    if (c->no_more) {
        b->unread = b->unread || n > 0;
        n = 0;
    }
    if (n == 0) {
        in_free(c);
        return;
    }
    if (b->in_len > 0) {
        if (p != b->in)
            memmove(b->in, p, n);
    } else if (in_room(c, n)) {
        memcpy(b->in, p, n);
    } else {
        conn_end(c, END_ERROR);
        return;
    }
    b->in_len = n;
}

/* Unsent output means that the client does not read: its next requests wait. */
static bool may_take(const struct conn *c)
{
    return !c->no_more && c->end == END_NOT && (c->interest & EV_WRITE) == 0 &&
           c->busy->n_reqs < c->h->opts.max_pipelined;
}

/* p is the shared buffer or the connection's own; all of its n bytes. */
static void take(struct conn *c, char *p, size_t n)
{
    struct busy *b = busy_take(c);
    unsigned budget = HTTPD_TURN_REQUESTS;

    if (b == NULL) {
        conn_end(c, END_ERROR);
        return;
    }
    b->stalled = false;
    while (n > 0 && !c->no_more) {
        struct http_req q;
        int64_t used;

        if (budget-- == 0 || !may_take(c)) {
            b->stalled = true;
            break;
        }
        used = http_parse(&b->st, &q, p, n);
        if (used == 0)
            break;
        if (used < 0) {
            out_error(c, (int)-used);
            break;
        }
        p += used;
        n -= (size_t)used;
        if (!take_one(c, &q))
            break;
    }
    if (b->st.want_continue && !b->continued)
        out_continue(c);
    keep_rest(c, p, n);
}

void conn_go_on(struct conn *c)
{
    if (c->end != END_NOT || c->busy == NULL || c->busy->in_len == 0)
        return;
    conn_dirty(c);
    take(c, c->busy->in, c->busy->in_len);
}

/* ---- events ---- */

static void on_read_end(struct conn *c, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    conn_dirty(c);
    if (n < 0) {
        c->end = END_PEER;
        return;
    }
    c->eof = true; /* it may have closed one way only, and wait for its answers */
    if (c->busy != NULL) {
        c->busy->stalled = false;
        in_free(c);
    }
}

static void linger_read(struct conn *c)
{
    struct busy *b = c->busy;
    ssize_t n = recv(event_get_fd(&c->event), c->h->scratch, HTTPD_SCRATCH, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        b->lingered += (uint32_t)n;
    if (n <= 0 || b->lingered > HTTPD_LINGER_BYTES)
        conn_end(c, END_DONE);
}

static void conn_read(struct conn *c)
{
    struct httpd *h = c->h;
    struct busy *b = c->busy;
    bool own = b != NULL && b->in_len > 0;
    char *p = h->scratch;
    size_t room = HTTPD_SCRATCH;
    ssize_t n;

    if (own) {
        if (!in_room(c, HTTPD_IN_START)) {
            conn_end(c, END_ERROR);
            return;
        }
        p = b->in + b->in_len;
        room = b->in_cap - b->in_len;
    }
    n = recv(event_get_fd(&c->event), p, room, 0);
    h->counts.reads++;
    if (n <= 0) {
        on_read_end(c, n);
        return;
    }
    h->counts.bytes_in += (uint64_t)n;
    conn_dirty(c);
    if (own) {
        b->in_len += (size_t)n;
        take(c, b->in, b->in_len);
    } else {
        take(c, p, (size_t)n);
    }
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;

    (void)fd;
    if (c->end != END_NOT)
        return;
    if (what & EV_WRITE)
        conn_dirty(c);
    if ((what & EV_READ) == 0)
        return;
    if (c->lingering)
        linger_read(c);
    else
        conn_read(c);
}

static void too_late(struct conn *c, enum conn_end why, uint64_t *counter)
{
    if (c->busy == NULL || c->busy->in_len == 0) {
        conn_end(c, why);
        return;
    }
    ++*counter;
    out_error(c, 408);
    in_free(c);
}

void conn_overdue(struct conn *c)
{
    struct httpd_counts *n = &c->h->counts;

    if (c->end != END_NOT || c->dirty) /* something has happened in this very turn */
        return;
    switch ((enum conn_wait)c->wait) {
    case WAIT_IDLE:
        conn_end(c, END_IDLE);
        break;
    case WAIT_HEAD:
        too_late(c, END_HEAD, &n->closed_head_deadline);
        break;
    case WAIT_BODY:
        too_late(c, END_BODY, &n->closed_body_deadline);
        break;
    case WAIT_WRITE:
        conn_end(c, END_SLOW_READER);
        break;
    case WAIT_LINGER:
    case WAIT_US:
        conn_end(c, END_DONE);
        break;
    }
}

/* ---- the end of the turn ---- */

static struct list *wait_list(struct conn *c)
{
    return c->wait == WAIT_US ? &c->h->waiting_us : &c->h->wait[c->wait];
}

/* fresh: the deadline begins anew even if it waits for the same as before. */
static void wait_for(struct conn *c, enum conn_wait w, bool fresh)
{
    struct httpd *h = c->h;

    if (list_linked(&c->in_wait)) {
        if (c->wait == w && !fresh) {
            if (w != WAIT_US)
                httpd_arm(h, c->deadline);
            return;
        }
        list_remove(wait_list(c), &c->in_wait);
    }
    c->wait = (uint8_t)w;
    list_push_back(wait_list(c), &c->in_wait);
    if (w == WAIT_US)
        return;
    c->deadline = ev_now(h->ev) + h->wait_ms[w];
    httpd_arm(h, c->deadline);
}

static void want_again(struct conn *c)
{
    struct httpd *h = c->h;

    if (h->n_again == h->cap_again) {
        size_t cap = h->cap_again != 0 ? h->cap_again * 2 : 64;
        struct conn **v = realloc(h->again, cap * sizeof(struct conn *));

        if (v == NULL) {
            c->end = END_ERROR;
            return;
        }
        h->again = v;
        h->cap_again = cap;
    }
    h->again[h->n_again++] = c;
}

/* All answers are out and no request will follow. */
static void finish(struct conn *c)
{
    struct busy *b = c->busy;

    if (c->lingering) {
        wait_for(c, WAIT_LINGER, false);
        return;
    }
    if (b == NULL || !b->unread || c->eof) {
        c->end = c->no_more || c->h->draining ? END_DONE : END_PEER;
        return;
    }
    shutdown(event_get_fd(&c->event), SHUT_WR);
    c->lingering = true;
    wait_for(c, WAIT_LINGER, true);
}

static void next_wait(struct conn *c)
{
    struct busy *b = c->busy;
    bool fresh = b != NULL && b->fresh;

    if (b != NULL && b->stalled && !out_pending(c) &&
        b->n_reqs < c->h->opts.max_pipelined)
        want_again(c);
    if (out_pending(c)) {
        wait_for(c, WAIT_WRITE, b->progress);
    } else if (b != NULL && (b->n_reqs > 0 || b->stalled)) {
        wait_for(c, WAIT_US, false);
    } else if (c->no_more || c->eof) {
        finish(c);
    } else if (b != NULL && b->in_len > 0) {
        wait_for(c, b->st.head_len != 0 ? WAIT_BODY : WAIT_HEAD, fresh);
    } else if (c->h->draining) {
        c->end = END_DONE;
    } else {
        busy_give(c);
        wait_for(c, c->used ? WAIT_IDLE : WAIT_HEAD, fresh);
    }
    if (c->busy != NULL)
        c->busy->fresh = c->busy->progress = false;
}

static void watch(struct conn *c)
{
    bool blocked = out_pending(c);
    bool done = (c->no_more && !c->lingering) || c->eof;
    uint8_t want = blocked ? EV_WRITE : 0;

    if (!blocked && !done && (c->busy == NULL || !c->busy->stalled))
        want |= EV_READ;
    if (want == c->interest)
        return;
    event_del(&c->event);
    c->interest = 0;
    if (want == 0)
        return;
    if (event_assign(&c->event, ev_base(c->h->ev), event_get_fd(&c->event),
                     (short)(want | EV_PERSIST), event_get_callback(&c->event), c) < 0 ||
        event_add(&c->event, NULL) < 0)
        c->end = END_ERROR;
    c->interest = want;
}

void conn_settle(struct conn *c)
{
    if (c->end == END_NOT && c->busy != NULL)
        out_flush(c);
    if (c->end == END_NOT)
        next_wait(c);
    if (c->end == END_NOT)
        watch(c);
    if (c->end != END_NOT)
        conn_free(c);
}

/* ---- beginning and end ---- */

/* The first request is here already (TCP_DEFER_ACCEPT), so it is read at once; a
 * connection for one request is then never watched at all: four system calls in its life.
 */
struct conn *conn_new(struct httpd *h, int fd)
{
    struct conn *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        close(fd);
        return NULL;
    }
    c->h = h;
    if (event_assign(&c->event, ev_base(h->ev), fd, EV_READ | EV_PERSIST, on_event, c) <
        0) {
        close(fd);
        free(c);
        return NULL;
    }
    h->counts.accepted++;
    h->counts.conns_now++;
    wait_for(c, WAIT_HEAD, true);
    conn_dirty(c);
    conn_read(c);
    return c;
}

static void count_end(struct conn *c)
{
    struct httpd_counts *n = &c->h->counts;

    n->closed_idle += c->end == END_IDLE;
    n->closed_head_deadline += c->end == END_HEAD;
    n->closed_body_deadline += c->end == END_BODY;
    n->closed_slow_reader += c->end == END_SLOW_READER;
    n->closed_peer += c->end == END_PEER;
    n->closed_error += c->end == END_ERROR;
    log_debug("closed fd=%d why=%s", (int)event_get_fd(&c->event), end_names[c->end]);
}

static void drop_requests(struct conn *c)
{
    struct httpd *h = c->h;

    while (c->busy != NULL && c->busy->first != NULL) {
        struct httpd_req *r = c->busy->first;

        c->busy->first = r->next;
        if (!r->answered) {
            h->counts.aborted++;
            h->calls.on_gone(h->ctx, r, r->user);
        }
        req_give(h, r);
    }
}

void conn_free(struct conn *c)
{
    struct httpd *h = c->h;

    count_end(c);
    drop_requests(c);
    for (size_t i = 0; i < h->n_again; i++) {
        if (h->again[i] == c)
            h->again[i--] = h->again[--h->n_again];
    }
    event_del(&c->event);
    close(event_get_fd(&c->event));
    if (list_linked(&c->in_wait))
        list_remove(wait_list(c), &c->in_wait);
    busy_give(c);
    free(c);
    httpd_conn_gone(h);
}

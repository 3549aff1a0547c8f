/* plain.c: see the header. */
#include "task/out/plain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "task/out/out_call.h"

#define READ_MAX 65536 /* bytes a turn */
#define IN_BYTES (HTTP_MAX_ANSWER_HEAD + READ_MAX) /* bytes not read yet, and the next ones */

static void start(struct out_call *c);

static void due_by(struct out *o, msec_t when)
{
    if (when >= o->due)
        return;
    o->due = when;
    ev_timer_at(o->due_timer, when);
}

/* ---- ends ---------------------------------------------------------------------------------- */

static bool has_room(const struct out *o)
{
    return o->n_conns < o->most_conns || o->kept.n > 0;
}

static void crowd_leave(struct out_call *c)
{
    struct out_target *t = c->target;

    list_remove(&t->crowded, &c->more);
    if (t->crowded.n == 0)
        list_remove(&t->out->crowded, &t->turn);
}

/* Targets take turns: a slow one with many calls does not stand before the others. */
static void run_crowded(void *arg)
{
    struct out *o = arg;

    while (o->crowded.n > 0 && has_room(o)) {
        struct out_target *t = container_of(list_first(&o->crowded), struct out_target, turn);
        struct out_call *c = container_of(list_first(&t->crowded), struct out_call, more);

        list_remove(&o->crowded, &t->turn);
        list_push_back(&o->crowded, &t->turn);
        crowd_leave(c);
        start(c);
    }
}

/* A connection has been closed, or is free. */
static void room_made(struct out *o)
{
    if (o->crowded.n > 0)
        ev_post(o->ev, run_crowded, o);
}

static void crowd_enter(struct out_call *c, bool first)
{
    struct out_target *t = c->target;

    if (t->crowded.n == 0)
        list_push_back(&t->out->crowded, &t->turn);
    list_insert_after(&t->crowded, first ? &t->crowded.head : t->crowded.head.prev, &c->more);
}

void plain_drop(struct out_call *c)
{
    struct out *o = c->target->out;

    if (list_linked(&c->more))
        crowd_leave(c);
    if (c->conn != NULL)
        conn_close(c->conn);
    c->conn = NULL;
    room_made(o);
}

static void fails(struct out_call *c, enum call_fault fault, const char *why)
{
    plain_drop(c);
    out_call_leave(c);
    out_call_ends(c, fault, why);
}

/* All of the answer that is wanted has come. */
static void done(struct conn *cn, bool keep)
{
    struct out_call *c = cn->call;
    struct out *o = c->target->out;

    c->conn = NULL;
    if (keep)
        conn_keep(cn);
    else
        conn_close(cn);
    due_by(o, ev_now(o->ev) + CONN_KEPT_MS);
    room_made(o);
    out_call_leave(c);
    answer_ends(c);
}

/* ---- deadlines ----------------------------------------------------------------------------- */

static void time_out(struct out_call *c)
{
    if (c->conn == NULL)
        fails(c, CALL_LOCAL, "no connection became free before its deadline");
    else if (c->conn->state == CONN_OPENING)
        fails(c, CALL_CONNECT, "no connection before its deadline");
    else
        fails(c, CALL_TIMEOUT, "no whole answer before its deadline");
}

/* Ends what is due; returns when the next one is. */
static msec_t look_at(struct out_target *t, msec_t now)
{
    msec_t next = MSEC_NEVER;

    list_each_of (&t->calls, struct out_call, in, c) {
        if (c->due > now) {
            next = c->due;
            break;
        }
        time_out(c);
    }
    list_each_of (&t->opening, struct conn, in, cn) {
        if (cn->since + t->rules.connect_ms > now) {
            next = ms_min(next, cn->since + t->rules.connect_ms);
            break;
        }
        fails(cn->call, CALL_CONNECT, "no connection within connect_timeout");
    }
    list_each_of (&t->kept, struct conn, in, cn) {
        if (cn->since + CONN_KEPT_MS > now) {
            next = ms_min(next, cn->since + CONN_KEPT_MS);
            break;
        }
        conn_close(cn);
    }
    return next;
}

static void on_due(void *arg)
{
    struct out *o = arg;
    msec_t now = ev_now(o->ev);

    o->due = MSEC_NEVER;
    list_each_of (&o->targets, struct out_target, in, t) {
        if (t->plain) /* libcurl has its own clock */
            due_by(o, look_at(t, now));
    }
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* A step through n bytes at p: how many it took, or -status. Bytes of the body go behind those of *body. */
static int64_t read_step(struct conn *cn, char *p, size_t n, struct slice *body)
{
    struct http_answer *a = &cn->answer;
    struct slice data = { 0 };
    int64_t took;

    if (a->part == HTTP_ANSWER_HEAD) {
        took = http_answer_head(a, p, n);
        if (took > 0)
            answer_head(cn->call, a);
        return took;
    }
    took = http_answer_body(a, p, n, &data);
    if (body->n == 0)
        body->p = data.p;
    else if (data.n > 0)
        memmove(body->p + body->n, data.p, data.n);
    body->n += data.n;
    return took;
}

/* All bytes of it that have come, and are not read yet; chunks of the body as one piece. */
static void read_bytes(struct conn *cn, char *p, size_t n)
{
    struct out_call *c = cn->call;
    const struct http_answer *a = &cn->answer;
    struct slice body = { 0 };
    int64_t took;

    do {
        took = read_step(cn, p, n, &body);
        p += took > 0 ? took : 0;
        n -= took > 0 ? (size_t)took : 0;
    } while (took > 0 && a->part != HTTP_ANSWER_DONE);
    if (took >= 0 && a->part != HTTP_ANSWER_DONE && a->part != HTTP_ANSWER_HEAD)
        answer_goes_on(c);
    if ((body.n > 0 && !answer_body(c, body.p, body.n)) || a->part == HTTP_ANSWER_DONE) {
        done(cn, a->part == HTTP_ANSWER_DONE && a->keep_alive && !c->cut && n == 0 &&
                     cn->sent == c->head.len + out_call_body(c));
        return;
    }
    buf_append(&cn->rest, p, n);
    if (took < 0)
        fails(c, took == -431 ? CALL_TOO_LONG : CALL_RESET, a->wrong != NULL ? a->wrong : "its head is too long");
    else if (cn->rest.failed)
        fails(c, CALL_LOCAL, "no memory");
}

/* Events to be watched. A paused one hears neither of more bytes nor of an end. */
static unsigned wanted(const struct conn *cn)
{
    const struct out_call *c = cn->call;
    bool writes = cn->sent < c->head.len + out_call_body(c) && !cn->deaf;

    return (c->paused ? 0 : EV_IO_READ) | (writes ? EV_IO_WRITE : 0);
}

static void look_on(struct conn *cn)
{
    if (ev_io_set(&cn->io, wanted(cn)) < 0)
        fails(cn->call, CALL_LOCAL, "the loop has no memory");
}

/* Bytes that its reader takes now; 0: it is to take what it has first. */
static uint32_t room_of(struct conn *cn)
{
    uint32_t room = answer_room(cn->call, 1);

    if (room == 0) {
        cn->call->paused = true;
        look_on(cn);
    }
    return room;
}

/* Bytes that may be read now. */
static size_t may_read(struct conn *cn)
{
    size_t most = IN_BYTES - cn->rest.len < READ_MAX ? IN_BYTES - cn->rest.len : READ_MAX;

    if (cn->answer.part == HTTP_ANSWER_HEAD) /* bytes behind it are to fit into a window */
        most /= 2;
    return u64_min(most, room_of(cn));
}

static void read_some(struct conn *cn)
{
    struct out_call *c = cn->call;
    char *in = c->target->out->in;
    size_t rest = cn->rest.len, most = may_read(cn);
    ssize_t n = most > 0 ? recv(cn->io.fd, in + rest, most, 0) : -1;

    if (most == 0)
        return;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        if (rest > 0)
            memcpy(in, cn->rest.data, rest);
        buf_reset(&cn->rest);
        read_bytes(cn, in, rest + (size_t)n);
        if (c->conn == cn && (size_t)n == most) /* more is there: not watched while nobody takes it */
            (void)room_of(cn);
    } else if (n == 0 && cn->answer.part == HTTP_ANSWER_ALL) {
        done(cn, false);
    } else {
        fails(c, CALL_RESET, n < 0 ? strerror(errno) : "the connection ended before the answer did");
    }
}

/* Reads at once: mostly the target has said something meanwhile, for which no wake-up is needed. */
void plain_go_on(struct out_call *c)
{
    struct conn *cn = c->conn;

    if (cn == NULL)
        return;
    if (cn->state == CONN_BUSY)
        read_some(cn);
    if (c->conn == cn)
        look_on(cn);
}

/* ---- the request --------------------------------------------------------------------------- */

/* A piece of a file, behind the head. EIO: it is not what it was. */
static ssize_t write_piece(const struct conn *cn)
{
    struct out_call *c = cn->call;
    char *p = c->target->out->in; /* where answers are read, in turns of their own */
    uint64_t at = cn->sent - c->head.len;
    ssize_t n = out_call_read(c, at, p, READ_MAX);

    if (n < 0) {
        errno = EIO;
        return -1;
    }
    return send(cn->io.fd, p, (size_t)n, MSG_NOSIGNAL);
}

static ssize_t write_some(const struct conn *cn)
{
    const struct out_call *c = cn->call;
    size_t head = u64_min(cn->sent, c->head.len), body = cn->sent - head;
    struct iovec v[2] = { { c->head.data + head, c->head.len - head },
                          { c->body.data + body, c->body.len - body } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

    if (c->file.length > 0 && head == c->head.len)
        return write_piece(cn);
    return sendmsg(cn->io.fd, &m, MSG_NOSIGNAL);
}

/* Reads what it has answered, although it takes no more. */
static void cannot_write(struct conn *cn)
{
    struct out_call *c = cn->call;

    if (cn->sent == 0 && cn->used) { /* nothing has left: over another one */
        conn_close(cn);
        c->conn = NULL;
        crowd_enter(c, true);
        room_made(c->target->out);
        return;
    }
    cn->deaf = true;
    if (ev_io_set(&cn->io, EV_IO_READ) < 0)
        fails(c, CALL_RESET, "the connection ended before the request did");
}

static void write_request(struct conn *cn)
{
    struct out_call *c = cn->call;
    ssize_t n;

    if (cn->sent == 0 && !c->may(c->arg)) {
        fails(c, CALL_LOCAL, "it is not wanted any more");
        return;
    }
    n = write_some(cn);
    if (n < 0 && c->file_bad) {
        fails(c, CALL_LOCAL, "its body is not what was submitted: the disk has lost it");
        return;
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        cannot_write(cn);
        return;
    }
    cn->sent += n > 0 ? (size_t)n : 0;
    c->left |= n > 0;
    look_on(cn);
}

static void on_io(void *arg, unsigned what)
{
    struct conn *cn = arg;
    const struct out_call *c = cn->call;
    int error = cn->state == CONN_OPENING ? net_error(cn->io.fd) : 0;

    if (cn->state == CONN_KEPT) { /* an end, or words that nobody asked for */
        conn_close(cn);
        return;
    }
    if (error != 0) {
        fails(cn->call, CALL_CONNECT, strerror(error));
    } else if (cn->state == CONN_OPENING) {
        conn_opened(cn);
        write_request(cn);
    } else {
        if (what & EV_IO_READ)
            read_some(cn);
        if ((what & EV_IO_WRITE) && c->conn == cn && !cn->deaf)
            write_request(cn);
    }
}

/* ---- begins -------------------------------------------------------------------------------- */

static void begin(struct out_call *c, struct conn *cn)
{
    c->conn = cn;
    cn->call = c;
    cn->sent = 0;
    cn->answer = (struct http_answer){ .to_head = c->to_head };
    if (cn->state == CONN_BUSY)
        write_request(cn);
}

/* Over a kept connection, or a new one, or when there is room for one. */
static void start(struct out_call *c)
{
    struct out_target *t = c->target;
    struct out *o = t->out;
    struct conn *cn = conn_kept(t, &c->addr);
    struct err e = { 0 };
    int rc = 0;

    if (cn == NULL && o->n_conns >= o->most_conns && !conn_close_one(o)) {
        crowd_enter(c, false);
        return;
    }
    if (cn == NULL) {
        rc = conn_open(&cn, t, &c->addr, on_io, &e);
        due_by(o, ev_now(o->ev) + t->rules.connect_ms);
    }
    if (rc == 0)
        begin(c, cn);
    else if (rc == SQ_EINVAL)
        fails(c, CALL_REFUSED, "its address is not public, and not in `allow`");
    else
        fails(c, rc == SQ_EFULL ? CALL_LOCAL : CALL_CONNECT, e.text[0] != 0 ? e.text : "no memory");
}

void plain_go(struct out_call *c, const struct net_addr *a)
{
    struct out_target *t = c->target;

    c->addr = *a;
    out_call_enter(c, PLACE_CLIENT);
    due_by(t->out, c->due);
    start(c);
}

/* "name: " is a field without a value: "name:". */
static void put_field(struct buf *b, const char *line)
{
    size_t n = strlen(line);

    buf_append(b, line, n - (n >= 2 && memcmp(line + n - 2, ": ", 2) == 0));
    buf_append(b, "\r\n", 2);
}

bool plain_prepare(struct out_call *c, const struct out_request *q)
{
    const struct url *u = &c->target->url;
    struct buf *b = &c->head;

    c->to_head = strcmp(q->method, "HEAD") == 0;
    if (c->to_head)
        buf_reset(&c->body); /* not read by anybody */
    buf_str(b, q->method);
    buf_byte(b, ' ');
    buf_str(b, u->path);
    buf_str(b, q->path);
    buf_str(b, strchr(u->host, ':') != NULL ? " HTTP/1.1\r\nHost: [" : " HTTP/1.1\r\nHost: ");
    buf_str(b, u->host);
    buf_str(b, strchr(u->host, ':') != NULL ? "]" : "");
    if (u->port != 80) {
        buf_byte(b, ':');
        buf_u64(b, u->port);
    }
    buf_append(b, "\r\n", 2);
    for (size_t at = 0; at < q->fields_n; at += strlen(q->fields + at) + 1)
        put_field(b, q->fields + at);
    if (out_call_has_body(c, q->method)) {
        buf_str(b, "Content-Length: ");
        buf_u64(b, out_call_body(c));
        buf_append(b, "\r\n", 2);
    }
    buf_append(b, "\r\n", 2);
    return !b->failed;
}

/* ---- life ---------------------------------------------------------------------------------- */

bool plain_init(struct out *o)
{
    o->in = calloc(1, IN_BYTES + HTTP_SLACK);
    o->due_timer = ev_timer_new(o->ev, on_due, o);
    o->due = MSEC_NEVER;
    return o->in != NULL && o->due_timer != NULL;
}

void plain_fini(struct out *o)
{
    ev_timer_free(o->due_timer);
    free(o->in);
}

void plain_forget(struct out_target *t)
{
    list_each_of (&t->kept, struct conn, in, cn)
        conn_close(cn);
}

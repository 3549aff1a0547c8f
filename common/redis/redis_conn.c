/* redis_conn.c: see redis_conn.h. */
#include "common/redis/redis_conn.h"

#include <assert.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/net/net.h"
#include "common/net/tls.h"

/* ---- the address to dial next ---- */

static int turn_copy(struct redis_turn *t, char *const *v, size_t n)
{
    assert(t->n == 0);
    t->v = n != 0 ? calloc(n, sizeof(*t->v)) : NULL;
    if (n != 0 && t->v == NULL)
        return SQ_ENOMEM;
    for (; t->n < n; t->n++) {
        t->v[t->n] = strdup(v[t->n]);
        if (t->v[t->n] == NULL)
            return SQ_ENOMEM;
    }
    return 0;
}

static void turn_free(struct redis_turn *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i]);
    free(t->v);
    *t = (struct redis_turn){ 0 };
}

int redis_addrs_init(struct redis_addrs *a, char *const *server, size_t n_servers,
                     char *const *sentinel, size_t n_sentinels)
{
    assert(n_servers + n_sentinels != 0);
    if (turn_copy(&a->servers, server, n_servers) < 0)
        return SQ_ENOMEM;
    return turn_copy(&a->sentinels, sentinel, n_sentinels);
}

void redis_addrs_free(struct redis_addrs *a)
{
    turn_free(&a->servers);
    turn_free(&a->sentinels);
}

bool redis_addrs_dial(struct redis_addrs *a)
{
    bool named = a->next[0] != '\0', sentinel = !named && a->sentinels.n != 0;
    const struct redis_turn *t = sentinel ? &a->sentinels : &a->servers;

    assert(named || t->n != 0);
    snprintf(a->now, sizeof(a->now), "%s", named ? a->next : t->v[t->at % t->n]);
    a->next[0] = '\0';
    return sentinel;
}

bool redis_addrs_named(struct redis_addrs *a, const char *ip, size_t n_ip, const char *port,
                       size_t n_port)
{
    if (n_ip + n_port > 100)
        return false;
    snprintf(a->next, sizeof(a->next),
             memchr(ip, ':', n_ip) != NULL && ip[0] != '[' ? "[%.*s]:%.*s" : "%.*s:%.*s", (int)n_ip, ip,
             (int)n_port, port);
    return true;
}

void redis_addrs_moved(struct redis_addrs *a, const char *error)
{
    const char *slot = strchr(error, ' '), *host = slot != NULL ? strchr(slot + 1, ' ') : NULL;
    const char *port = host != NULL ? strrchr(host, ':') : NULL, *end = port;

    if (port != NULL && ++host == port) {
        host = a->now;
        end = host[0] != '/' ? strrchr(host, ':') : NULL;
    }
    if (end != NULL)
        (void)redis_addrs_named(a, host, (size_t)(end - host), port + 1, strlen(port + 1));
}

void redis_find_init(struct redis_find *f, struct ev *ev,
                     void (*on_found)(void *arg, const struct host_answer *a), void *arg)
{
    *f = (struct redis_find){ .on_found = on_found, .arg = arg };
    hosts_init(&f->hosts, ev);
}

void redis_find_fini(struct redis_find *f)
{
    redis_find_forget(f);
    hosts_fini(&f->hosts);
}

void redis_find_forget(struct redis_find *f)
{
    if (f->question != NULL)
        hosts_drop(f->question);
    f->question = NULL;
    f->found.n = f->at = 0;
}

static void on_name(void *arg, const struct host_answer *a)
{
    struct redis_find *f = arg;

    f->question = NULL;
    f->found = *a;
    f->on_found(f->arg, a);
}

int redis_find(struct redis_find *f, const char *addr, struct err *e)
{
    int rc;

    assert(f->question == NULL);
    redis_find_forget(f);
    rc = net_parse(&f->found.addr[0], addr, e);
    f->found.n = rc == 0;
    if (rc == 0)
        return 1;
    if (rc != SQ_EUNKNOWN)
        return rc;
    f->question = hosts_ask(&f->hosts, addr, on_name, f);
    return f->question != NULL ? 0 : err_set(e, SQ_EUNAVAIL, "the name cannot be asked for");
}

bool redis_find_has_more(const struct redis_find *f)
{
    return f->at < f->found.n;
}

const struct net_addr *redis_find_next(struct redis_find *f)
{
    return redis_find_has_more(f) ? &f->found.addr[f->at++] : NULL;
}

/* ---- one connection ---- */

#define READ_BYTES (16u << 10) /* bytes of one read; as large as a record of TLS */
#define READS      16          /* reads of a turn; then others have theirs */
#define KEEP_BYTES (1u << 20)  /* an empty buffer above this is given back */
#define BYTES_PER_ELEMENT 16   /* bytes of the largest reply for each element that it may have */

struct redis_conn {
    struct ev_io io;
    int fd;
    enum { CONNECTING, SHAKING, OPEN, ENDED } state;
    const struct redis_conn_calls *calls; /* ref, like the two below */
    void *ctx;
    struct tls *tls; /* owned; NULL: without */
    redisReader *reader; /* owned */
    redisReplyObjectFunctions *plain, bounded; /* ref: hiredis'; the same, with make_array() */
    size_t unread, most; /* bytes since the last whole reply; largest reply */
    size_t elements;     /* elements that arrays have announced since then */
    struct buf out;
    size_t out_done;
    bool inside, freed; /* a turn of it runs; it ends at the end of that */
};

/* ---- life ------------------------------------------------------------------------ */

static int connect_local(const char *path, struct err *e)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd;

    if (strlen(path) >= sizeof(a.sun_path))
        return err_set(e, SQ_EINVAL, "the path of the socket is too long");
    strcpy(a.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0)
        return fd;
    err_set(e, SQ_ESYS, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return SQ_ESYS;
}

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static bool is_too_large(const struct redis_conn *c)
{
    return c->unread > c->most || c->elements > c->most / BYTES_PER_ELEMENT;
}

/* A few bytes announce an array of any length: hiredis makes room for it at once, and looks through
 * all of that in the end. */
static void *make_array(const redisReadTask *task, element_count n)
{
    struct redis_conn *c = task->privdata;

    c->elements += (size_t)n;
    return is_too_large(c) ? NULL : c->plain->createArray(task, n);
}

static void bound_arrays(struct redis_conn *c)
{
    c->plain = c->reader->fn;
    c->bounded = *c->plain;
    c->bounded.createArray = make_array;
    c->reader->fn = &c->bounded;
    c->reader->privdata = c;
}

static void on_io(void *arg, unsigned what);

int redis_conn_new(struct redis_conn **out, struct ev *ev, const struct redis_conn_opts *o,
                   const struct redis_conn_calls *calls, void *ctx, struct err *e)
{
    struct redis_conn *c;
    char host[256];
    uint16_t port;
    int fd = o->addr != NULL ? net_connect(o->addr, e) : connect_local(o->name, e);

    *out = NULL;
    if (fd < 0)
        return fd;
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        close(fd);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    *c = (struct redis_conn){ .fd = fd, .calls = calls, .ctx = ctx, .most = REDIS_HELLO_MOST };
    buf_init(&c->out);
    ev_io_init(&c->io, ev, fd, on_io, c);
    c->reader = redisReaderCreate();
    if (o->tls != NULL && net_split(o->name, host, sizeof(host), &port, e) == 0)
        c->tls = tls_new(o->tls, fd, host, 0);
    if (c->reader == NULL || (o->tls != NULL && c->tls == NULL) ||
        ev_io_set(&c->io, EV_IO_WRITE) < 0) {
        redis_conn_free(c);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    bound_arrays(c);
    *out = c;
    return 0;
}

static void close_now(struct redis_conn *c)
{
    if (c->fd < 0)
        return;
    ev_io_end(&c->io);
    tls_free(c->tls);
    c->tls = NULL;
    close(c->fd);
    c->fd = -1;
    c->state = ENDED;
}

void redis_conn_free(struct redis_conn *c)
{
    if (c == NULL)
        return;
    close_now(c);
    c->freed = true;
    if (c->inside)
        return;
    if (c->reader != NULL)
        redisReaderFree(c->reader);
    buf_fini(&c->out);
    free(c);
}

static void end(struct redis_conn *c, enum redis_fault f, const char *why)
{
    if (c->state == ENDED)
        return;
    close_now(c);
    c->calls->on_end(c->ctx, f, why);
}

/* ---- out ------------------------------------------------------------------------- */

static size_t unsent(const struct redis_conn *c)
{
    return c->out.len - c->out_done + (c->tls != NULL ? tls_unsent(c->tls) : 0);
}

/* False: the socket takes nothing any more. */
static bool flush(struct redis_conn *c)
{
    while (unsent(c) > 0) {
        const uint8_t *p = c->out.data + c->out_done;
        size_t len = c->out.len - c->out_done;
        ssize_t n = c->tls != NULL ? tls_send(c->tls, p, len) : send(c->fd, p, len, MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        c->out_done += (size_t)n;
        if (c->out_done == c->out.len) {
            c->out_done = 0;
            buf_reset(&c->out);
            if (c->out.cap > KEEP_BYTES)
                buf_fini(&c->out);
            if (c->tls != NULL && tls_unsent(c->tls) > 0)
                return true; /* the kernel is full */
        }
    }
    return true;
}

/* Bytes that have been read ahead: the kernel will not tell of them. */
static bool has_more(const struct redis_conn *c)
{
    return c->tls != NULL && tls_more(c->tls);
}

/* With bytes read ahead it waits until it can write, which is soon. A refusal of the kernel ends as
 * an answer that did not come in time. */
static void watch(struct redis_conn *c)
{
    bool write = unsent(c) > 0 || has_more(c);

    (void)!ev_io_set(&c->io, EV_IO_READ | (write ? EV_IO_WRITE : 0));
}

int redis_conn_send(struct redis_conn *c, const struct redis_args *a)
{
    char *text;
    int n = redisFormatCommandArgv(&text, (int)a->n, (const char **)a->v, a->len);

    assert(c->state == OPEN);
    if (n < 0)
        return SQ_ENOMEM;
    buf_append(&c->out, text, (size_t)n);
    free(text);
    if (c->out.failed) {
        c->out.failed = false;
        return SQ_ENOMEM;
    }
    if (!c->inside) /* else at the end of its turn */
        watch(c);
    return 0;
}

void redis_conn_allow(struct redis_conn *c, size_t most)
{
    c->most = most;
}

bool redis_conn_is_shaking(const struct redis_conn *c)
{
    return c->state == SHAKING;
}

/* ---- in -------------------------------------------------------------------------- */

/* Gives the whole replies away that the reader has. */
static void give(struct redis_conn *c)
{
    void *reply = NULL;

    while (c->state == OPEN) {
        struct redis_ans a;

        if (redisReaderGetReply(c->reader, &reply) != REDIS_OK) {
            if (is_too_large(c))
                break;
            end(c, c->reader->err == REDIS_ERR_PROTOCOL ? REDIS_PROTOCOL : REDIS_GONE,
                c->reader->errstr);
            return;
        }
        if (reply == NULL)
            break;
        c->unread = c->reader->len - c->reader->pos;
        c->elements = 0;
        a = redis_ans_of(reply);
        c->calls->on_reply(c->ctx, &a);
        freeReplyObject(reply);
    }
    if (c->state == OPEN && is_too_large(c))
        end(c, REDIS_PROTOCOL, "a reply that is too large");
}

static void broken(struct redis_conn *c, int error)
{
    char text[200];

    if (error != EPROTO || c->tls == NULL) {
        end(c, REDIS_GONE, strerror(error));
        return;
    }
    snprintf(text, sizeof(text), "TLS: %s", tls_why(c->tls));
    end(c, REDIS_TLS, text);
}

static void read_some(struct redis_conn *c)
{
    char bytes[READ_BYTES];
    bool full = true;

    for (unsigned i = 0; i < READS && full && c->state == OPEN; i++) {
        ssize_t n = c->tls != NULL ? tls_recv(c->tls, bytes, sizeof(bytes))
                                   : recv(c->fd, bytes, sizeof(bytes), 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            broken(c, errno);
        } else if (n == 0) {
            end(c, REDIS_GONE, "Server closed the connection");
        } else {
            full = (size_t)n == sizeof(bytes);
            c->unread += (size_t)n;
            (void)redisReaderFeed(c->reader, bytes, (size_t)n); /* an error is told by give() */
            give(c);
        }
    }
}

/* ---- turns ----------------------------------------------------------------------- */

static void opened(struct redis_conn *c)
{
    c->state = OPEN;
    c->calls->on_open(c->ctx);
}

static void shake(struct redis_conn *c)
{
    struct err e = { 0 };
    int rc = tls_handshake(c->tls, &e);

    if (rc < 0)
        end(c, REDIS_TLS, e.text);
    else if (rc > 0)
        opened(c);
}

static void connected(struct redis_conn *c)
{
    int error = net_error(c->fd);

    if (error != 0) {
        end(c, REDIS_CONNECT, strerror(error));
    } else if (c->tls != NULL) {
        c->state = SHAKING;
        shake(c);
    } else {
        opened(c);
    }
}

/* Commands of callbacks leave in the same turn. A server that closes says why before. */
static void exchange(struct redis_conn *c, unsigned what)
{
    int error;

    if ((what & EV_IO_READ) != 0 || has_more(c))
        read_some(c);
    if (c->state != OPEN || flush(c))
        return;
    error = errno;
    read_some(c);
    if (c->state == OPEN)
        broken(c, error);
}

static void on_io(void *arg, unsigned what)
{
    struct redis_conn *c = arg;

    c->inside = true;
    if (c->state == CONNECTING)
        connected(c);
    else if (c->state == SHAKING)
        shake(c);
    if (c->state == OPEN)
        exchange(c, what);
    if (c->state != ENDED)
        watch(c);
    c->inside = false;
    if (c->freed)
        redis_conn_free(c);
}

/* crowd.c: see the header. */
#define _GNU_SOURCE
#include "queuemng/ctl_measure/crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/http/http_answer.h"

#define CONNS      64
#define ANSWER_MAX 8192
#define PATIENCE_S 10 /* for one answer */
/* Fields that a browser sends with a page's own request. */
#define BROWSER                                                                                      \
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "  \
    "Chrome/124.0.0.0 Safari/537.36\r\nAccept: application/json\r\nSec-Fetch-Site: same-origin\r\n"  \
    "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\nReferer: http://127.0.0.1/q/line\r\n"          \
    "Accept-Encoding: gzip, deflate\r\nAccept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"

struct asker {
    int fd; /* -1: asks no more */
    size_t got;
    double asked_s;
    char in[ANSWER_MAX + HTTP_SLACK];
};

struct turn {
    struct crowd *c;
    struct crowd_turn *t;
    struct asker *v;
    struct err *e;
    uint32_t asked;
    double end_s;
};

double crowd_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int dial(uint16_t port, struct err *e)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return fd;
    }
    err_set(e, SQ_EUNAVAIL, "port %u: %s", port, strerror(errno));
    if (fd >= 0)
        close(fd);
    return SQ_EUNAVAIL;
}

/* ---- requests ---- */

/* Each is asked for once before one is again, and not in the order of the line. */
static const char *next_token(struct turn *x)
{
    struct crowd *c = x->c;

    if (x->t->each)
        return c->token[x->t->first + x->asked];
    c->at += 7919;
    return c->token[c->at % c->n];
}

static bool is_over(const struct turn *x)
{
    return x->asked >= x->t->most || crowd_now_s() >= x->end_s;
}

static int ask(struct turn *x, struct asker *a)
{
    const char *end = x->t->anew ? "Connection: close\r\n\r\n" : "\r\n";
    char text[1024];
    int n;

    if (a->fd < 0) {
        a->fd = dial(x->c->port, x->e);
        if (a->fd < 0)
            return a->fd;
    }
    if (x->t->join != NULL)
        n = snprintf(text, sizeof(text), "POST /v1/queues/%s/tickets HTTP/1.1\r\nHost: measure\r\n" BROWSER "Content-Length: 0\r\n%s",
                     x->t->join, end);
    else
        n = snprintf(text, sizeof(text), "GET /v1/tickets/%s HTTP/1.1\r\nHost: measure\r\n" BROWSER "%s", next_token(x), end);
    x->asked++;
    a->got = 0;
    a->asked_s = crowd_now_s();
    if (send(a->fd, text, (size_t)n, MSG_NOSIGNAL) == n)
        return 0;
    return err_set(x->e, SQ_EUNAVAIL, "the router takes no request: %s", strerror(errno));
}

/* ---- answers ---- */

static int keep_token(struct crowd *c, const char *body, size_t n)
{
    static const char key[] = "\"token\":\"";
    const char *at = memmem(body, n, key, sizeof(key) - 1), *end;

    end = at != NULL ? memchr(at + sizeof(key) - 1, '"', n - (size_t)(at + sizeof(key) - 1 - body)) : NULL;
    if (end == NULL || end - at - (long)sizeof(key) + 1 >= CROWD_TOKEN)
        return SQ_EPROTO;
    at += sizeof(key) - 1;
    if (!GROW(c->token, c->n, c->cap, 4096))
        return SQ_ENOMEM;
    memcpy(c->token[c->n], at, (size_t)(end - at));
    c->token[c->n++][end - at] = '\0';
    return 0;
}

/* 1: it is whole; 0: more comes. */
static int read_answer(struct turn *x, struct asker *a)
{
    static const char in[] = "\"state\":\"admitted\"";
    struct http_answer h = { 0 };
    ssize_t n = recv(a->fd, a->in + a->got, ANSWER_MAX - a->got, 0);
    int64_t head;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return err_set(x->e, SQ_EUNAVAIL, "the router closed a connection: %s", n < 0 ? strerror(errno) : "no answer");
    a->got += (size_t)n;
    head = http_answer_head(&h, a->in, a->got);
    if (head < 0 || (head > 0 && (h.status / 100 != 2 || h.part != HTTP_ANSWER_SIZED)))
        return err_set(x->e, SQ_EUNAVAIL, "the router answered %u%s", h.status, head < 0 ? ", which is no HTTP" : "");
    if (head == 0 || a->got < (size_t)head + h.left)
        return a->got < ANSWER_MAX ? 0 : err_set(x->e, SQ_EUNAVAIL, "the router's answer is too long");
    x->t->answers++;
    x->t->admitted += memmem(a->in + head, h.left, in, sizeof(in) - 1) != NULL;
    if (x->t->join != NULL && keep_token(x->c, a->in + head, h.left) < 0)
        return err_set(x->e, SQ_EUNAVAIL, "the router answered no token");
    return 1;
}

static void hang_up(struct asker *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

static int answered(struct turn *x, struct asker *a)
{
    int rc = read_answer(x, a);
    bool over;

    if (rc <= 0)
        return rc;
    over = is_over(x); /* once: between two looks it may end, and the connection would be left open */
    if (x->t->anew || over)
        hang_up(a);
    return over ? 0 : ask(x, a);
}

static int look(struct turn *x, struct pollfd *p)
{
    int rc = 0;

    for (unsigned i = 0; i < CONNS; i++)
        p[i] = (struct pollfd){ .fd = x->v[i].fd, .events = POLLIN };
    if (poll(p, CONNS, 100) < 0 && errno != EINTR)
        return err_set(x->e, SQ_ESYS, "poll: %s", strerror(errno));
    for (unsigned i = 0; i < CONNS && rc == 0; i++)
        if (p[i].fd >= 0 && p[i].revents != 0)
            rc = answered(x, &x->v[i]);
        else if (p[i].fd >= 0 && crowd_now_s() > x->v[i].asked_s + PATIENCE_S)
            rc = err_set(x->e, SQ_EUNAVAIL, "the router does not answer within %d s", PATIENCE_S);
    return rc;
}

static bool all_done(const struct turn *x)
{
    for (unsigned i = 0; i < CONNS; i++)
        if (x->v[i].fd >= 0)
            return false;
    return true;
}

int crowd_turn(struct crowd *c, struct crowd_turn *t, const volatile int *stop, struct err *e)
{
    struct turn x = { .c = c, .t = t, .e = e, .end_s = crowd_now_s() + t->seconds };
    struct pollfd p[CONNS];
    int rc = 0;

    t->answers = t->admitted = 0;
    if (t->each)
        t->most = c->n - t->first;
    x.v = calloc(CONNS, sizeof(*x.v));
    if (x.v == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    for (unsigned i = 0; i < CONNS; i++)
        x.v[i].fd = -1;
    for (unsigned i = 0; i < CONNS && rc == 0 && !is_over(&x); i++)
        rc = ask(&x, &x.v[i]);
    while (rc == 0 && !all_done(&x))
        rc = *stop ? err_set(e, SQ_ECLOSED, "interrupted") : look(&x, p);
    for (unsigned i = 0; i < CONNS; i++)
        hang_up(&x.v[i]);
    free(x.v);
    return rc;
}

void crowd_fini(struct crowd *c)
{
    free(c->token);
}

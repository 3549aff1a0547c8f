/* fill.c: fills a queue as fast as one thread can: joins over a few connections, many in
 * flight on each, and keeps a sample of the tokens. For tests/bench/kit/segq.py.
 *
 *   fill HOST PORT QUEUE COUNT SAMPLE >tokens
 *
 * Exit 0: COUNT tickets were given out; 1: not, and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <netdb.h>

#define CONNS      16
#define IN_FLIGHT  32 /* below the router's limit of pipelined requests */
#define ANSWER_MAX 1024

struct conn {
    int fd;
    unsigned asked; /* answers still to come */
    size_t len;
    char in[IN_FLIGHT * ANSWER_MAX + 1];
};

static struct {
    unsigned long count, sample, done;
    size_t ask_len; /* of one request */
    char asks[IN_FLIGHT * 256];
} fill;

static void die(const char *what)
{
    fprintf(stderr, "fill: %s after %lu tickets\n", what, fill.done);
    exit(1);
}

static int dial(const char *host, const char *port)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *a;
    struct timeval limit = { .tv_sec = 20 };
    int fd;

    if (getaddrinfo(host, port, &hints, &a) != 0)
        die("no such address");
    fd = socket(a->ai_family, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) < 0)
        die("cannot connect");
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    freeaddrinfo(a);
    return fd;
}

static void compose(const char *queue)
{
    char one[256];
    int n = snprintf(one, sizeof(one),
                     "POST /v1/queues/%s/tickets HTTP/1.1\r\nHost: bench\r\n"
                     "Content-Length: 0\r\n\r\n",
                     queue);

    if (n <= 0 || (size_t)n >= sizeof(one))
        die("the queue's name is too long");
    fill.ask_len = (size_t)n;
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        memcpy(fill.asks + i * fill.ask_len, one, fill.ask_len);
}

static void ask(struct conn *c, unsigned n)
{
    size_t at = 0, len = n * fill.ask_len;

    while (at < len) {
        ssize_t k = send(c->fd, fill.asks + at, len - at, MSG_NOSIGNAL);

        if (k <= 0)
            die("cannot send");
        at += (size_t)k;
    }
    c->asked = n;
}

/* One in every count/sample tickets is kept. */
static void keep(const char *body)
{
    const char *t = strstr(body, "\"token\":\""), *end;
    unsigned long step = fill.count / fill.sample;

    if (t == NULL || (end = strchr(t + 9, '"')) == NULL)
        die("an answer without a token");
    if (fill.done++ % (step != 0 ? step : 1) == 0)
        printf("%.*s\n", (int)(end - t - 9), t + 9);
}

/* Length of the whole answer at p, or 0: not all of it is here. */
static size_t answer_len(const char *p)
{
    const char *body = strstr(p, "\r\n\r\n"), *len = strstr(p, "Content-Length: ");
    size_t n;

    if (body == NULL)
        return 0;
    if (strncmp(p, "HTTP/1.1 201 ", 13) != 0 || len == NULL || len > body)
        die("refused");
    n = (size_t)(body + 4 - p) + strtoul(len + 16, NULL, 10);
    return strlen(p) >= n ? n : 0;
}

static void collect(struct conn *c)
{
    while (c->asked > 0) {
        ssize_t n = recv(c->fd, c->in + c->len, sizeof(c->in) - 1 - c->len, 0);
        char *p = c->in;

        if (n <= 0)
            die("no answer");
        c->len += (size_t)n;
        c->in[c->len] = '\0';
        for (size_t k; c->asked > 0 && (k = answer_len(p)) > 0; p += k, c->asked--)
            keep(p);
        c->len -= (size_t)(p - c->in);
        memmove(c->in, p, c->len + 1);
    }
}

int main(int argc, char **argv)
{
    static struct conn c[CONNS];
    unsigned long left;

    if (argc != 6) {
        fprintf(stderr, "usage: fill HOST PORT QUEUE COUNT SAMPLE >tokens\n");
        return 2;
    }
    fill.count = left = strtoul(argv[4], NULL, 10);
    fill.sample = strtoul(argv[5], NULL, 10);
    if (fill.count == 0 || fill.sample == 0)
        die("nothing to do");
    compose(argv[3]);
    for (unsigned i = 0; i < CONNS; i++)
        c[i].fd = dial(argv[1], argv[2]);
    while (left > 0) {
        for (unsigned i = 0; i < CONNS && left > 0; i++) {
            unsigned n = left < IN_FLIGHT ? (unsigned)left : IN_FLIGHT;

            ask(&c[i], n);
            left -= n;
        }
        for (unsigned i = 0; i < CONNS; i++)
            collect(&c[i]);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

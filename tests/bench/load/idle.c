/* idle.c: connections that have been used once and then do nothing. One after the other:
 * a server is not to be measured while it accepts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/bench/load/asks.h"
#include "tests/bench/load/reply.h"
#include "tests/bench/load/run.h"

static int dial(const struct opts *o, int *fd, struct err *e)
{
    struct timeval limit = { .tv_sec = (time_t)o->timeout_s,
                             .tv_usec = (suseconds_t)(o->timeout_s * 1e6) % 1000000 };

    *fd = socket(o->addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return err_set(e, SQ_ECLOSED, "socket: %s", strerror(errno));
    setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* connect's */
    if (connect(*fd, &o->addr.sa, o->addr.len) < 0)
        return err_set(e, SQ_ECLOSED, "connect: %s", strerror(errno));
    return 0;
}

static int ask_once(int fd, struct asks *a, struct err *e)
{
    struct reply reply;
    char in[65536];
    size_t len;
    const char *text = asks_next(a, &len);

    reply_start(&reply);
    if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
        return err_set(e, SQ_ECLOSED, "send: %s", strerror(errno));
    while (!reply_is_done(&reply)) {
        ssize_t n = recv(fd, in, sizeof(in), 0);

        if (n <= 0)
            return err_set(e, SQ_ECLOSED, "no answer: %s",
                           n < 0 ? strerror(errno) : "closed");
        if (reply_feed(&reply, in, (size_t)n) != n)
            return err_set(e, SQ_EPROTO, "not an answer");
    }
    if (reply.status / 100 != 2 || reply.close)
        return err_set(e, SQ_EPROTO, "answered with %u%s", reply.status,
                       reply.close ? " and closes" : "");
    return 0;
}

/* Opens all of them; *n says how many there are, also if it fails. */
static int open_all(const struct opts *o, struct asks *a, int *fd, uint32_t *n,
                    struct err *e)
{
    for (*n = 0; *n < o->idle;) {
        int rc = dial(o, &fd[*n], e);

        *n += fd[*n] >= 0;
        if (rc == 0)
            rc = ask_once(fd[*n - 1], a, e);
        if (rc < 0)
            return err_wrap(e, "idle connection %u", *n);
    }
    return 0;
}

static void hold(const int *fd, uint32_t n)
{
    char drop[4096];
    uint32_t alive = 0;
    ssize_t k;

    printf("{\"idle\":%u}\n", n);
    fflush(stdout);
    do
        k = read(STDIN_FILENO, drop, sizeof(drop));
    while (k > 0 || (k < 0 && errno == EINTR));
    for (uint32_t i = 0; i < n; i++)
        alive += recv(fd[i], drop, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
    printf("{\"open\":%u}\n", alive);
    fflush(stdout);
}

int run_idle(const struct opts *o, struct err *e)
{
    int *fd = calloc(o->idle, sizeof(*fd));
    struct asks *a = calloc(1, sizeof(*a));
    uint32_t n = 0;
    int rc = SQ_ENOMEM;

    if (fd == NULL || a == NULL) {
        err_set(e, rc, "idle connections");
        goto out;
    }
    rc = asks_init(a, o, e);
    if (rc < 0)
        goto out;
    rc = open_all(o, a, fd, &n, e);
    if (rc == 0)
        hold(fd, n);
    while (n > 0)
        close(fd[--n]);
    asks_fini(a);
out:
    free(a);
    free(fd);
    return rc;
}

/* redisrig.h: for tests: a loop, a real redis-server on a socket of its own, and a fake
 * one that answers what it is told to. */
#ifndef SEGQ_REDISRIG_H
#define SEGQ_REDISRIG_H

#include "tests/lib/criterion.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/net/ev.h"
#include "common/net/net.h"

#define RIG_WAIT_MS 60000 /* of a slow machine */

struct rig_loop {
    struct ev *ev;
    struct ev_timer *pulse;
};

static inline void rig_pulse(void *arg)
{
    struct rig_loop *g = arg;

    ev_timer_at(g->pulse, ev_now(g->ev) + 5);
}

static inline void rig_loop_init(struct rig_loop *g)
{
    struct err e;

    signal(SIGPIPE, SIG_IGN); /* as every program of ours does */
    cr_assert_eq(ev_new(&g->ev, &e), 0);
    g->pulse = ev_timer_new(g->ev, rig_pulse, g);
    rig_pulse(g);
}

static inline void rig_loop_fini(struct rig_loop *g)
{
    ev_timer_free(g->pulse);
    ev_free(g->ev);
}

/* Turns until the condition holds. */
#define RIG_UNTIL(g, cond)                                                               \
    do {                                                                                 \
        msec_t until_ = ev_now((g)->ev) + RIG_WAIT_MS;                                   \
        while (!(cond) && ev_now((g)->ev) < until_)                                      \
            ev_turn((g)->ev, true);                                                      \
        cr_assert(cond, "waited for: %s", #cond);                                        \
    } while (0)

/* ---- a real one ------------------------------------------------------------------ */

struct rig_redis {
    pid_t pid;
    char dir[64], sock[96];
};

static inline void rig_redis_start(struct rig_redis *r, const char *password)
{
    if (r->dir[0] == 0) {
        strcpy(r->dir, "/tmp/segq-redis.XXXXXX");
        cr_assert_not_null(mkdtemp(r->dir));
        snprintf(r->sock, sizeof(r->sock), "%s/s", r->dir);
    }
    r->pid = fork();
    if (r->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (freopen("/dev/null", "w", stdout) != NULL)
            execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", r->sock,
                   "--dir", r->dir, "--save", "", "--appendonly", "no", "--requirepass",
                   password, (char *)NULL);
        _exit(127); /* not installed: deploy/deps.sh test */
    }
    cr_assert_gt(r->pid, 0);
}

static inline void rig_redis_kill(struct rig_redis *r)
{
    int status;

    if (r->pid <= 0)
        return;
    kill(r->pid, SIGKILL);
    waitpid(r->pid, &status, 0);
    cr_assert_not(WIFEXITED(status) && WEXITSTATUS(status) == 127,
                  "redis-server is not installed");
    r->pid = 0;
    unlink(r->sock);
}

static inline void rig_redis_fini(struct rig_redis *r)
{
    rig_redis_kill(r);
    rmdir(r->dir);
}

/* ---- a fake one ------------------------------------------------------------------ */

struct rig_rule { /* to this command, that answer; NULL: silence; "": the end */
    const char *command, *answer;
};
struct rig_fake {
    struct rig_loop *g;
    const struct rig_rule *rule; /* ended by command NULL; first match */
    int listen_fd, fd;
    struct ev_io *listener, *io;
    char addr[NET_TEXT_MAX];
    struct buf in;
    unsigned accepted, commands;
};

static inline void rig_fake_close(struct rig_fake *f)
{
    if (f->io == NULL)
        return;
    ev_io_free(f->io);
    close(f->fd);
    f->io = NULL;
}

static inline void rig_fake_answer(struct rig_fake *f, const char *name, size_t n)
{
    for (const struct rig_rule *r = f->rule; r->command != NULL; r++) {
        if (strlen(r->command) != n || strncasecmp(r->command, name, n) != 0)
            continue;
        f->commands++;
        if (r->answer != NULL && r->answer[0] == 0)
            rig_fake_close(f);
        else if (r->answer != NULL)
            cr_assert_eq(write(f->fd, r->answer, strlen(r->answer)),
                         (ssize_t)strlen(r->answer));
        return;
    }
    cr_assert_fail("the fake has no answer to %.*s", (int)n, name);
}

/* One whole command at the front: its bytes, its name; 0: not yet. */
static inline size_t rig_fake_parse(const struct buf *b, const char **name, size_t *len)
{
    const char *p = (const char *)b->data, *end = p + b->len, *nl;
    long words, n;

    *name = NULL;
    nl = b->len != 0 ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    if (nl == NULL)
        return 0;
    words = strtol(p + 1, NULL, 10);
    for (p = nl + 1; words > 0; words--) {
        nl = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (nl == NULL)
            return 0;
        n = strtol(p + 1, NULL, 10);
        if (end - nl - 1 < n + 2)
            return 0;
        if (*name == NULL) {
            *name = nl + 1;
            *len = (size_t)n;
        }
        p = nl + 1 + n + 2;
    }
    return (size_t)(p - (const char *)b->data);
}

static inline void rig_fake_read(void *arg, unsigned what)
{
    struct rig_fake *f = arg;
    uint8_t *p = buf_reserve(&f->in, 65536);
    ssize_t n = read(f->fd, p, 65536);
    const char *name;
    size_t used, len = 0;

    (void)what;
    if (n <= 0) {
        rig_fake_close(f);
        return;
    }
    f->in.len += (size_t)n;
    while (f->io != NULL && (used = rig_fake_parse(&f->in, &name, &len)) != 0) {
        rig_fake_answer(f, name, len);
        buf_consume(&f->in, used);
    }
}

static inline void rig_fake_accept(void *arg, unsigned what)
{
    struct rig_fake *f = arg;
    struct net_addr peer;
    int fd = net_accept(f->listen_fd, &peer);

    (void)what;
    if (fd < 0)
        return;
    rig_fake_close(f);
    buf_reset(&f->in);
    f->fd = fd;
    f->accepted++;
    f->io = ev_io_new(f->g->ev, fd, rig_fake_read, f);
    cr_assert_eq(ev_io_set(f->io, EV_IO_READ), 0);
}

static inline void rig_fake_init(struct rig_fake *f, struct rig_loop *g,
                                 const struct rig_rule *rule)
{
    struct err e;

    memset(f, 0, sizeof(*f));
    f->g = g;
    f->rule = rule;
    buf_init(&f->in);
    f->listen_fd = net_listen("127.0.0.1:0", false, 8, &e);
    cr_assert_geq(f->listen_fd, 0);
    net_local_text(f->listen_fd, f->addr);
    f->listener = ev_io_new(g->ev, f->listen_fd, rig_fake_accept, f);
    cr_assert_eq(ev_io_set(f->listener, EV_IO_READ), 0);
}

static inline void rig_fake_fini(struct rig_fake *f)
{
    rig_fake_close(f);
    ev_io_free(f->listener);
    close(f->listen_fd);
    buf_fini(&f->in);
}

#endif

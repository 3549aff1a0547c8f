/* measure.c: see the header. A cluster of its own, asked as fast as it answers: joins, polls, polls
 * over new connections, joins that are let in; CPU of its processes by answers. Several rounds, of
 * which the middle one of each figure counts: what else runs here makes single ones dear. */
#define _GNU_SOURCE
#include "queuemng/ctl_measure/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/http/http_answer.h"
#include "queuemng/ctl_measure/own.h"
#include "rehearse/night.h"

/* ---- the crowd ---- */

/* Requests to a router, one after the other on each of some connections, for so long or so
 * many: joins, which bring tokens, and polls of them.
 *
 * A closed loop: who is answered asks again, so the router is as busy as it can be beside us. Any
 * answer but 2xx ends it: what was measured then would be something else. */

#define CROWD_TOKEN 64 /* bytes, its end included */

struct crowd {
    uint16_t port;                /* the router's, on 127.0.0.1 */
    char (*token)[CROWD_TOKEN];   /* owned */
    uint32_t n, cap;
    uint64_t at;                  /* the last poll, as a number without end */
};

struct crowd_turn {
    const char *join;     /* the queue; NULL: polls */
    bool each;            /* polls: tokens from `first` on, each once; else all, over and over */
    uint32_t first;
    bool anew;            /* with a connection of its own for each request */
    uint32_t most;        /* requests */
    double seconds;
    uint32_t answers, admitted; /* out */
};

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

/* monotonic */
static double crowd_now_s(void)
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

/* SQ_EUNAVAIL: the router does not answer, or not as it should; SQ_ECLOSED: *stop was set. */
static int crowd_turn(struct crowd *c, struct crowd_turn *t, const volatile int *stop, struct err *e)
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

static void crowd_fini(struct crowd *c)
{
    free(c->token);
}

/* ---- the measurement ---- */

#define ROUNDS    5
#define SHARES    5      /* parts of a round's time: joins, polls, new connections, people who are let in, idle */
#define TOKENS    400000 /* at most */
#define START_S   20
#define CONNECTS  4000   /* in a round: the kernel keeps their ports for a minute */

struct costs {
    double v[NIGHT_COSTS][ROUNDS];
    double manager_ms[ROUNDS]; /* CPU of queuemng in a second, meanwhile; rehearsals leave it out */
};

struct cpu { /* seconds used by then */
    double proc[OWN_PROCS], at;
};

struct measure {
    struct own own;
    struct crowd crowd;
    struct costs costs;
    struct err e;
    double part_s;
    double idle[OWN_PROCS]; /* share of a core */
    unsigned round;
};

static volatile int stop;

static void interrupted(int signo)
{
    (void)signo;
    stop = 1;
}

static void take_signals(void)
{
    struct sigaction act = { .sa_handler = interrupted }, was;

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (sigaction(SIGHUP, &act, &was) == 0 && was.sa_handler == SIG_IGN) /* nohup */
        sigaction(SIGHUP, &was, NULL);
}

static struct cpu cpu_now(const struct measure *m)
{
    struct cpu c = { .at = crowd_now_s() };

    for (int i = 0; i < OWN_PROCS; i++)
        c.proc[i] = own_cpu_s(&m->own, (enum own_proc)i);
    return c;
}

static int pause_s(struct measure *m, double s)
{
    struct timespec t = { .tv_sec = (time_t)s, .tv_nsec = (long)(fmod(s, 1) * 1e9) };

    (void)nanosleep(&t, NULL);
    return stop ? err_set(&m->e, SQ_ECLOSED, "interrupted") : 0;
}

/* us of each answer, beside what the process uses with nobody there. */
static double each_us(const struct measure *m, const struct cpu *was, const struct cpu *is, enum own_proc which, uint32_t n)
{
    double s = is->proc[which] - was->proc[which] - m->idle[which] * (is->at - was->at);

    return n > 0 ? fmax(0, s * 1e6 / n) : 0;
}

/* ---- the parts of a round ---- */

static int idle(struct measure *m)
{
    struct cpu was = cpu_now(m), is;
    int rc = pause_s(m, m->part_s);

    is = cpu_now(m);
    for (int i = 0; i < OWN_PROCS; i++)
        m->idle[i] = (is.proc[i] - was.proc[i]) / (is.at - was.at);
    m->costs.v[COST_ROUTER_IDLE][m->round] = 1000 * m->idle[OWN_ROUTER];
    m->costs.v[COST_NODE_IDLE][m->round] = 1000 * m->idle[OWN_NODE];
    return rc;
}

static int turn(struct measure *m, struct crowd_turn *t, double *router_us, double *node_us)
{
    struct cpu was = cpu_now(m), is;
    int rc = crowd_turn(&m->crowd, t, &stop, &m->e);

    is = cpu_now(m);
    *router_us = each_us(m, &was, &is, OWN_ROUTER, t->answers);
    *node_us = each_us(m, &was, &is, OWN_NODE, t->answers);
    m->costs.manager_ms[m->round] = fmax(m->costs.manager_ms[m->round], 1000 * (is.proc[OWN_MANAGER] - was.proc[OWN_MANAGER]) /
                                                                            (is.at - was.at));
    return rc;
}

static int joins_and_polls(struct measure *m)
{
    struct crowd_turn join = { .join = "line", .most = TOKENS / ROUNDS, .seconds = m->part_s };
    struct crowd_turn poll = { .most = UINT32_MAX, .seconds = m->part_s };
    struct crowd_turn anew = { .most = CONNECTS, .anew = true, .seconds = m->part_s };
    double (*v)[ROUNDS] = m->costs.v, node = 0;
    unsigned r = m->round;
    int rc = turn(m, &join, &v[COST_JOIN][r], &v[COST_NODE_JOIN][r]);

    if (rc == 0) /* routers answer by themselves when they have heard of it */
        rc = pause_s(m, 0.3);
    if (rc == 0)
        rc = turn(m, &poll, &v[COST_POLL][r], &v[COST_NODE_POLL][r]);
    if (rc == 0)
        rc = turn(m, &anew, &v[COST_CONNECT][r], &node);
    v[COST_CONNECT][r] = fmax(0, v[COST_CONNECT][r] - v[COST_POLL][r]);
    return rc;
}

/* The work of a node for each who is let in, beside the join: the release, and the pass. */
static int passes(struct measure *m)
{
    struct crowd_turn join = { .join = "door", .most = TOKENS / ROUNDS / 4, .seconds = m->part_s / 2 };
    struct crowd_turn poll = { .first = m->crowd.n, .each = true, .seconds = 60 };
    double (*v)[ROUNDS] = m->costs.v, router, joined, polled;
    unsigned r = m->round;
    int rc = turn(m, &join, &router, &joined)
          ?: pause_s(m, 1)
          ?: turn(m, &poll, &router, &polled);

    m->crowd.n = poll.first;
    if (rc == 0 && poll.admitted < poll.answers / 10 * 9)
        rc = err_set(&m->e, SQ_EUNAVAIL, "of %u people only %u were let in within a second: this machine is too busy",
                     poll.answers, poll.admitted);
    v[COST_PASS][r] = fmax(0, joined - v[COST_NODE_JOIN][r]) + fmax(0, polled - v[COST_NODE_POLL][r]);
    return rc;
}

/* ---- the whole ---- */

/* Until a join is answered. */
static int wait_queue(struct measure *m, const char *queue, double end_s)
{
    struct crowd_turn join = { .join = queue, .seconds = 1, .most = 1 };
    int rc = crowd_turn(&m->crowd, &join, &stop, &m->e);

    while (rc < 0 && crowd_now_s() < end_s) {
        rc = own_runs(&m->own, &m->e);
        if (rc == 0)
            rc = pause_s(m, 0.1);
        if (rc < 0)
            break;
        rc = crowd_turn(&m->crowd, &join, &stop, &m->e);
    }
    return rc;
}

static int wait_up(struct measure *m)
{
    double end_s = crowd_now_s() + START_S;
    int rc = wait_queue(m, "line", end_s);

    if (rc == 0)
        rc = wait_queue(m, "door", end_s);
    m->crowd.n = 0;
    return rc;
}

static int rounds(struct measure *m)
{
    bool shown = isatty(STDERR_FILENO) == 1;
    int rc = 0;

    for (m->round = 0; rc == 0 && m->round < ROUNDS; m->round++) {
        if (shown)
            fprintf(stderr, "\rround %u of %d", m->round + 1, ROUNDS);
        rc = idle(m);
        if (rc == 0)
            rc = joins_and_polls(m);
        if (rc == 0)
            rc = passes(m);
    }
    if (shown)
        fputs("\r\033[K", stderr);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(double *v)
{
    qsort(v, ROUNDS, sizeof(*v), by_size);
    return v[ROUNDS / 2];
}

/* How far rounds lie apart tells how quiet the machine was. */
static void print(struct measure *m)
{
    char model[100] = "", line[200];
    FILE *f = fopen("/proc/cpuinfo", "re");
    time_t now = time(NULL);
    struct tm day;

    while (f != NULL && model[0] == '\0' && fgets(line, sizeof(line), f) != NULL)
        (void)sscanf(line, "model name : %99[^\n]", model);
    if (f != NULL)
        fclose(f);
    gmtime_r(&now, &day);
    printf("# Costs of requests where a core of %s is full (segqctl measure, %04d-%02d-%02d). Each figure is the\n"
           "# middle one of %d rounds, then the least and the most. Use: segqctl rehearse NIGHT.yaml --costs THIS_FILE\n"
           "costs:\n", model[0] != '\0' ? model : "this machine", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday, ROUNDS);
    for (unsigned i = 0; i < NIGHT_COSTS; i++) {
        double *v = m->costs.v[i], mid = middle(v);

        printf("  %s: %.4g  # %.4g to %.4g: %s\n", night_cost_keys[i].key, mid, v[0], v[ROUNDS - 1], night_cost_keys[i].help);
    }
    printf("# queuemng, which rehearsals leave out, used %.0f ms of a second at most\n", middle(m->costs.manager_ms));
}

int cmd_measure(struct ctl *c, char **argv)
{
    struct measure *m = calloc(1, sizeof(*m));
    int rc;

    (void)argv;
    if (m == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    take_signals();
    m->part_s = (double)(c->for_s > 0 ? c->for_s : 30) / ROUNDS / SHARES;
    rc = own_up(&m->own, &m->e);
    if (rc == 0) {
        m->crowd.port = m->own.port[2 * OWN_ROUTER];
        rc = wait_up(m);
        if (rc == 0)
            rc = rounds(m);
        if (rc < 0 && !stop) /* why, where one of them has ended */
            (void)!own_runs(&m->own, &m->e);
    }
    own_down(&m->own);
    if (rc == 0)
        print(m);
    crowd_fini(&m->crowd);
    rc = rc < 0 ? ctl_say_err(&m->e, CTL_REFUSED) : CTL_OK;
    free(m);
    return rc;
}

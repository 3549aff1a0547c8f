/* measure.c: see the header. A cluster of its own, asked as fast as it answers: joins, polls, polls
 * over new connections, joins that are let in; CPU of its processes by answers. Several rounds, of
 * which the middle one of each figure counts: what else runs here makes single ones dear. */
#include "queuemng/ctl_measure/measure.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "queuemng/ctl_measure/crowd.h"
#include "queuemng/ctl_measure/own.h"
#include "rehearse/night.h"

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
    int rc = turn(m, &join, &router, &joined);

    if (rc == 0)
        rc = pause_s(m, 1);
    if (rc == 0)
        rc = turn(m, &poll, &router, &polled);
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

/* workers.c: see the header. Worker k of n runs seeds k, k + n, k + 2n ... and writes one
 * record after each to a pipe that all share (records are shorter than PIPE_BUF: atomic).
 * A worker that dies is replaced by one that goes on behind the seed that killed it. */
#include "tests/lib/sim/workers.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEED_S_MAX   600 /* a seed takes milliseconds; under a sanitizer more */
#define PROGRESS_S   5.0
#define WORKERS_MAX  64

/* A seed that goes round for ever dies. Of processor time: run.py gives us what nobody
 * else wants, and that may take long. */
static void limit_cpu(void)
{
    const struct itimerval limit = { .it_value = { .tv_sec = SEED_S_MAX } };

    setitimer(ITIMER_PROF, &limit, NULL);
}

struct record { /* of one seed */
    struct swarm_sum sum;
    uint32_t worker;
};

struct worker {
    pid_t pid;
    uint64_t at;  /* the seed that it is at, or would be */
};

struct crew {
    const struct swarm *w;
    struct worker v[WORKERS_MAX];
    unsigned n, alive;
    int fd[2];
    double t0, said;
};

static double clock_s(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- one seed ------------------------------------------------------------------------ */

static void add_counts(struct swarm_sum *x, const struct sim *s)
{
    struct sim_counts c = sim_count(s);

    x->steps += c.steps;
    x->messages += c.messages;
    x->joined += c.joined;
    x->admitted += c.admitted;
    x->relaxed += c.relaxed;
    x->links_broken += c.links_broken;
    x->restarts += c.restarts;
    x->crashes += c.crashes;
    x->unavailable += c.unavailable;
    x->known += c.known;
    x->kept += c.kept;
    x->moves += sim_mng_count(s).moves_committed;
    x->virtual_ms += (uint64_t)sim_now(s);
    x->digest ^= sim_digest(s);
}

static void one(const struct swarm *w, uint64_t seed, struct swarm_sum *sum, unsigned *shown)
{
    double t0 = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    struct sim_plan p;
    const char *bad;
    struct sim *s;

    plan_draw(&p, seed);
    if (w->with != NULL)
        (void)plan_change(&p, w->with, &bad); /* main has tried it */
    s = plan_run(&p);
    if (sim_ok(s)) {
        sum->passed++;
    } else {
        sum->failed++;
        if ((*shown)++ < w->shown_max)
            sim_report(s, stderr, "sim_mixed");
        printf("sim_mixed: seed %llu FAILED: %s\n", (unsigned long long)seed, sim_why(s));
    }
    add_counts(sum, s);
    sim_free(s);
    sum->cpu_s += clock_s(CLOCK_PROCESS_CPUTIME_ID) - t0;
}

/* ---- workers ------------------------------------------------------------------------- */

static void work(const struct crew *c, unsigned k)
{
    unsigned shown = 0;

    for (uint64_t i = c->v[k].at; i < c->w->n; i += c->n) {
        struct record r = { .worker = k };

        limit_cpu();
        one(c->w, c->w->seed_of(c->w->ctx, i), &r.sum, &shown);
        fflush(stdout);
        if (write(c->fd[1], &r, sizeof(r)) != (ssize_t)sizeof(r))
            _exit(3);
    }
    _exit(0);
}

static void hire(struct crew *c, unsigned k)
{
    fflush(stdout);
    fflush(stderr);
    c->v[k].pid = fork();
    if (c->v[k].pid == 0)
        work(c, k);
    c->alive += c->v[k].pid > 0;
}

static void add(struct swarm_sum *to, const struct swarm_sum *x)
{
    to->passed += x->passed;
    to->failed += x->failed;
    to->steps += x->steps;
    to->messages += x->messages;
    to->joined += x->joined;
    to->admitted += x->admitted;
    to->relaxed += x->relaxed;
    to->links_broken += x->links_broken;
    to->restarts += x->restarts;
    to->crashes += x->crashes;
    to->unavailable += x->unavailable;
    to->known += x->known;
    to->kept += x->kept;
    to->moves += x->moves;
    to->virtual_ms += x->virtual_ms;
    to->digest ^= x->digest;
    to->cpu_s += x->cpu_s;
}

static void progress(struct crew *c, const struct swarm_sum *sum)
{
    double now = clock_s(CLOCK_MONOTONIC), took = now - c->t0;
    uint64_t done = sum->passed + sum->failed;

    if (c->w->quiet || now - c->said < PROGRESS_S || done == 0)
        return;
    c->said = now;
    printf("... %llu of %llu seeds, %llu failed, %.1f a second, %.0f s to go\n",
           (unsigned long long)done, (unsigned long long)c->w->n,
           (unsigned long long)sum->failed, (double)done / took,
           (double)(c->w->n - done) * took / (double)done);
    fflush(stdout);
}

static void collect(struct crew *c, struct swarm_sum *sum)
{
    struct pollfd p = { .fd = c->fd[0], .events = POLLIN };
    struct record r;

    while (poll(&p, 1, 0) > 0 && (p.revents & POLLIN) != 0 &&
           read(c->fd[0], &r, sizeof(r)) == (ssize_t)sizeof(r)) {
        add(sum, &r.sum);
        c->v[r.worker].at += c->n;
    }
}

/* All that it did is in the pipe by now: where it stands is the seed that ended it. */
static void on_end(struct crew *c, pid_t pid, int status, struct swarm_sum *sum)
{
    for (unsigned k = 0; k < c->n; k++) {
        if (c->v[k].pid != pid)
            continue;
        c->alive--;
        c->v[k].pid = 0;
        if (c->v[k].at >= c->w->n)
            return;
        printf("sim_mixed: seed %llu FAILED: ended by %s %d\n",
               (unsigned long long)c->w->seed_of(c->w->ctx, c->v[k].at),
               WIFSIGNALED(status) ? "signal" : "exit code",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        sum->failed++;
        c->v[k].at += c->n;
        if (c->v[k].at < c->w->n)
            hire(c, k);
        return;
    }
}

void swarm_run(const struct swarm *w, struct swarm_sum *sum)
{
    struct crew c = { .w = w, .n = w->jobs < WORKERS_MAX ? w->jobs : WORKERS_MAX };
    struct pollfd p;
    pid_t pid;
    int status;

    c.t0 = c.said = clock_s(CLOCK_MONOTONIC);
    if (c.n == 0 || pipe(c.fd) < 0)
        exit(2);
    for (unsigned k = 0; k < c.n; k++) {
        c.v[k].at = k;
        hire(&c, k);
    }
    while (c.alive > 0) {
        p = (struct pollfd){ .fd = c.fd[0], .events = POLLIN };
        (void)poll(&p, 1, 100);
        pid = waitpid(-1, &status, WNOHANG);
        collect(&c, sum);
        progress(&c, sum);
        if (pid > 0)
            on_end(&c, pid, status, sum);
    }
    close(c.fd[0]);
    close(c.fd[1]);
}

/* ---- one plan ------------------------------------------------------------------------ */

static void try_child(const struct sim_plan *p, int fd)
{
    struct sim *s;
    const char *why;

    limit_cpu();
    s = plan_run(p);
    why = sim_ok(s) ? "" : sim_why(s);
    _exit(write(fd, why, strlen(why)) < 0 || !sim_ok(s));
}

bool swarm_try(const struct sim_plan *p, char *why, size_t cap)
{
    int fd[2], status = 0;
    ssize_t n;
    pid_t pid;

    fflush(stdout);
    fflush(stderr);
    if (pipe(fd) < 0 || (pid = fork()) < 0)
        exit(2);
    if (pid == 0)
        try_child(p, fd[1]);
    close(fd[1]);
    n = read(fd[0], why, cap - 1); /* one write, at its end */
    why[n > 0 ? n : 0] = 0;
    close(fd[0]);
    (void)waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        snprintf(why, cap, "signal %d", WTERMSIG(status));
    return status == 0;
}

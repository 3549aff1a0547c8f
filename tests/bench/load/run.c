/* run.c: one loop: send what is due, wait, note what ended, ask again.
 *
 *   start ---- warm-up ---- from .......... counted .......... end -- drain (open loop)
 * A request counts by the time that it was planned for (open loop) or answered at (closed
 * loop): so both count what a steady state of that length has. What an open loop still
 * owes at the end is asked and waited for, DRAIN_US at most; then it is unanswered. */
#include "tests/bench/load/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/load/asks.h"
#include "tests/bench/load/conns.h"
#include "tests/bench/load/plan.h"
#include "tests/bench/swarm/now.h"

#define TICK_US  50000   /* time-outs; connections that rest after a refusal */
#define DRAIN_US 1000000

struct ring { /* connections' numbers; has room for all */
    uint32_t *v; /* owned */
    uint32_t cap, head, n;
};

struct run {
    const struct opts *o; /* ref */
    struct asks asks;
    struct conns *conns;
    struct plan plan;     /* open loop */
    struct ring free;     /* open loop: in turn */
    struct ring resting;  /* could not connect: tried again at the next tick */
    uint64_t in_flight;
    uint64_t answers;     /* all of them */
    uint64_t in_time;     /* 2xx that came while time was counted, whenever planned */
    uint64_t unanswered;
    int64_t from_us, end_us, tick_us, interval_us;
    unsigned intervals;
    struct tally total, interval;
};

/* ---- a ring of numbers ---- */

static bool ring_init(struct ring *r, uint32_t cap)
{
    *r = (struct ring){ .v = calloc(cap, sizeof(*r->v)), .cap = cap };
    return r->v != NULL;
}

static void ring_put(struct ring *r, uint32_t x)
{
    uint32_t at = r->head + r->n++;

    r->v[at < r->cap ? at : at - r->cap] = x;
}

static uint32_t ring_take(struct ring *r)
{
    uint32_t x = r->v[r->head++];

    if (r->head == r->cap)
        r->head = 0;
    r->n--;
    return x;
}

/* ---- requests ---- */

static bool is_open_loop(const struct run *r)
{
    return r->o->rate_per_s > 0;
}

static void note(struct run *r, enum ending how, unsigned status, int64_t from_us,
                 int64_t done_us)
{
    int64_t when = is_open_loop(r) ? from_us : done_us;
    uint64_t lat = done_us > from_us ? (uint64_t)(done_us - from_us) : 0;

    r->answers += how == ENDED_ANSWERED;
    r->in_time += how == ENDED_ANSWERED && status / 100 == 2 && done_us >= r->from_us &&
                  done_us < r->end_us;
    if (when < r->from_us || when >= r->end_us)
        return;
    tally_add(&r->total, how, status, lat);
    if (r->o->until_stdin_closes)
        tally_add(&r->interval, how, status, lat);
}

static void ask(struct run *r, uint32_t conn, int64_t from_us, int64_t now)
{
    size_t n;
    const char *text = asks_next(&r->asks, &n);

    if (conns_ask(r->conns, conn, text, n, from_us, now) < 0) {
        note(r, ENDED_CONNECT, 0, from_us, now);
        ring_put(&r->resting, conn); /* not at once: a refusal costs nothing to repeat */
        return;
    }
    r->in_flight++;
}

/* The connection may have its next request. */
static void go_on(struct run *r, uint32_t conn, int64_t now)
{
    if (is_open_loop(r))
        ring_put(&r->free, conn);
    else
        ask(r, conn, now, now);
}

static void on_ends(struct run *r, const struct conns_end *end, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct conns_end *e = &end[i];

        r->in_flight--;
        note(r, e->how, e->status, e->from_us, e->done_us);
        if (e->how == ENDED_CONNECT)
            ring_put(&r->resting, e->conn);
        else
            go_on(r, e->conn, now_us());
    }
}

static void ask_what_is_due(struct run *r, int64_t now)
{
    int64_t due;

    while (r->free.n > 0 && plan_take(&r->plan, now, &due))
        ask(r, ring_take(&r->free), due, now_us());
}

/* ---- time ---- */

static double unix_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_interval(struct run *r)
{
    printf("{\"interval\":%u,\"ok\":%" PRIu64 ",", r->intervals++, r->interval.ok);
    tally_write_errors(&r->interval, stdout);
    putchar(',');
    tally_write_lat(&r->interval, stdout);
    putchar(',');
    tally_write_hist(&r->interval, stdout);
    printf(",\"t\":%.3f}\n", unix_s());
    fflush(stdout);
    r->interval = (struct tally){ 0 };
}

static void on_tick(struct run *r, int64_t now)
{
    struct conns_end end[CONNS_BATCH];
    uint32_t rested = r->resting.n; /* those that rest from now on wait for the next tick */
    size_t n;

    r->tick_us = now + TICK_US;
    while ((n = conns_overdue(r->conns, now, end)) > 0)
        on_ends(r, end, n);
    while (rested-- > 0)
        go_on(r, ring_take(&r->resting), now);
    if (!r->o->until_stdin_closes || now < r->interval_us)
        return;
    print_interval(r);
    r->interval_us += (int64_t)(r->o->interval_s * 1e6);
}

static int64_t wait_us(const struct run *r, int64_t now)
{
    int64_t until = r->tick_us;

    if (is_open_loop(r) && r->free.n > 0 && plan_due_us(&r->plan) < until)
        until = plan_due_us(&r->plan);
    if (r->end_us > now && r->end_us < until) /* later we only drain */
        until = r->end_us;
    return until > now ? until - now : 0;
}

static void turn(struct run *r)
{
    struct conns_end end[CONNS_BATCH];
    int64_t now;

    ask_what_is_due(r, now_us());
    on_ends(r, end, conns_wait(r->conns, wait_us(r, now_us()), end));
    now = now_us();
    if (now >= r->tick_us)
        on_tick(r, now);
}

/* Still not answered: it has waited for that long at least. */
static void give_up(struct run *r, int64_t from_us, int64_t now)
{
    if (from_us < r->from_us || from_us >= r->end_us)
        return;
    r->unanswered++;
    lat_add(&r->total.lat, (uint64_t)(now - from_us));
}

/* The end of an open loop: its plan was made without asking whether the server could. */
static void drain(struct run *r)
{
    int64_t until = r->end_us + DRAIN_US, now, from, i = -1;

    plan_stop(&r->plan, r->end_us);
    while ((r->in_flight > 0 || plan_due_us(&r->plan) != INT64_MAX) && now_us() < until)
        turn(r);
    now = now_us();
    while ((i = conns_next_asked(r->conns, (uint32_t)(i + 1), &from)) >= 0)
        give_up(r, from, now);
    while (plan_take(&r->plan, now, &from))
        give_up(r, from, now);
}

/* ---- the whole ---- */

static double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void print_report(const struct run *r, double own_us)
{
    const struct tally *t = &r->total;
    double seconds = (double)(r->end_us - r->from_us) / 1e6;
    uint64_t errors = tally_errors(t);

    printf("{\"mode\":\"%s\",\"requests\":%" PRIu64 ",\"ok\":%" PRIu64 ",",
           is_open_loop(r) ? "open" : "closed", t->ok + errors + r->unanswered, t->ok);
    tally_write_errors(t, stdout);
    printf(",\"unanswered\":%" PRIu64 ",\"seconds\":%.3f,\"per_s\":%.1f,", r->unanswered,
           seconds, seconds > 0 ? (double)r->in_time / seconds : 0);
    tally_write_lat(t, stdout);
    printf(",\"answers\":%" PRIu64 ",\"own_cpu_us\":%.2f}\n", r->answers,
           r->answers != 0 ? own_us / (double)r->answers : 0);
    fflush(stdout);
}

static void loop(struct run *r)
{
    int64_t start = now_us();
    double own_us = cpu_us();

    r->from_us = start + (int64_t)(r->o->warmup_s * 1e6);
    r->end_us = INT64_MAX;
    if (!r->o->until_stdin_closes)
        r->end_us = r->from_us + (int64_t)(r->o->seconds * 1e6);
    r->tick_us = start + TICK_US;
    r->interval_us = r->from_us + (int64_t)(r->o->interval_s * 1e6);
    if (is_open_loop(r))
        plan_init(&r->plan, r->o->rate_per_s, start, r->end_us);
    for (uint32_t i = 0; i < r->o->conns; i++)
        go_on(r, i, now_us());
    while (now_us() < r->end_us && !conns_watched_closed(r->conns))
        turn(r);
    if (r->o->until_stdin_closes) {
        r->end_us = now_us();
        if (r->end_us < r->from_us)
            r->from_us = r->end_us; /* it ended in its warm-up: nothing was counted */
    }
    if (is_open_loop(r))
        drain(r);
    print_report(r, cpu_us() - own_us);
}

static int start(struct run *r, struct err *e)
{
    struct conns_opts co = { .addr = r->o->addr, .n = r->o->conns, .close = r->o->close,
                             .timeout_us = (int64_t)(r->o->timeout_s * 1e6) };
    int rc = asks_init(&r->asks, r->o, e);

    if (rc < 0)
        return rc;
    if (!ring_init(&r->free, r->o->conns) || !ring_init(&r->resting, r->o->conns))
        return err_set(e, SQ_ENOMEM, "connections");
    rc = conns_new(&r->conns, &co, e);
    if (rc == 0 && r->o->until_stdin_closes)
        rc = conns_watch(r->conns, STDIN_FILENO);
    if (rc == SQ_EINVAL)
        err_set(e, rc, "standard input is neither a pipe nor a terminal");
    return rc;
}

int run_load(const struct opts *o, struct err *e)
{
    struct run *r = calloc(1, sizeof(*r));
    int rc;

    if (r == NULL)
        return err_set(e, SQ_ENOMEM, "load");
    r->o = o;
    rc = start(r, e);
    if (rc == 0)
        loop(r);
    conns_free(r->conns);
    free(r->resting.v);
    free(r->free.v);
    asks_fini(&r->asks);
    free(r);
    return rc;
}

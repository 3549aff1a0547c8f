/* sim_budget.c: a million waiters in virtual time against the real manager core and three
 * real segment nodes. Everybody polls when told to. What must hold:
 *
 *   the polls of every ten seconds are at most 110 % of poll_budget_per_s while the crowd
 *     grows a hundredfold, stands still, and is released, and at least 90 % of it where
 *     the crowd is large and has settled;
 *   who is released learns of it within 2 s, once intervals have had time to follow;
 *   who is further back is told to wait longer; the first in line one poll_min; nobody
 *     more than poll_max, unless the budget cannot be held otherwise.
 *
 * Under a sanitizer the crowd, its budget and its rates are a tenth: the same intervals. */
#include "tests/lib/mngrig.h"

#include "common/base/rng.h"
#include "tests/bench/swarm/wheel.h"

#if defined(__SANITIZE_ADDRESS__)
#define SCALE 10u
#else
#define SCALE 1u
#endif
#define CROWD     (1000000u / SCALE)
#define BUDGET    (20000u / SCALE)
#define RATE      (1000u / SCALE) /* released per second */
#define GROWTH    BUDGET          /* joins per second: as many as may poll */
#define POLL_MIN  1000u
#define POLL_MAX  30000u
#define WINDOW_S  10u
#define RUN_MAX_S 1200u

struct waiter {
    uint32_t seg; /* the token's; ids are small here */
    uint32_t number;
};

struct crowd {
    struct mr *r;
    struct wheel wheel;
    struct waiter *v;
    uint32_t n;               /* joined, ever */
    uint32_t waiting, admitted;
    uint64_t other;           /* answers that nobody should get */
    uint32_t polls[RUN_MAX_S]; /* by second of virtual time */
    msec_t start_ms;
    uint32_t told_max_ms;     /* in this phase */
    int64_t late_max_ms;      /* from release to learning of it, in this phase */
    uint64_t late_sum_ms;
    uint32_t learnt;
    struct arena mem;
};

static uint32_t second_of(const struct crowd *c)
{
    return (uint32_t)((c->r->now - c->start_ms) / 1000);
}

/* ---- waiters ----------------------------------------------------------------------- */

static struct seg_now at(const struct crowd *c, msec_t ms)
{
    return (struct seg_now) { ms, c->r->wall + (ms - c->r->now) };
}

static struct segtab *owner_of(const struct crowd *c, seg_id seg)
{
    struct route_owner o;

    if (routes_owner(c->r->routes, seg, &o) < 0 || o.lost)
        return NULL;
    return c->r->t[mr_node_no(c->r, o.node)];
}

static void told(struct crowd *c, uint32_t who, msec_t now, uint32_t ms)
{
    c->told_max_ms = ms > c->told_max_ms ? ms : c->told_max_ms;
    wheel_add(&c->wheel, who, now + ms);
}

static void learns(struct crowd *c, msec_t now, const struct place_ans *a)
{
    int64_t late = at(c, now).wall_ms - a->released_at_ms;

    c->late_max_ms = late > c->late_max_ms ? late : c->late_max_ms;
    c->late_sum_ms += (uint64_t)late;
    c->learnt++;
    c->admitted++;
    c->waiting--;
}

static bool ask(struct crowd *c, uint32_t who, msec_t now, struct place_ans *a)
{
    struct place_req q = { c->v[who].seg, c->v[who].number, CLIENT_GAME };
    struct segtab *t = owner_of(c, q.seg);

    if (t == NULL)
        return false;
    segtab_place(t, at(c, now), &q, 1, a, &c->mem);
    arena_reset(&c->mem);
    return true;
}

static void on_due(void *ctx, uint32_t who, int64_t due_ms)
{
    struct crowd *c = ctx;
    struct place_ans a;

    c->polls[second_of(c)]++;
    if (!ask(c, who, due_ms, &a) || a.state == PLACE_BUSY || a.state == PLACE_MOVED ||
        a.state == PLACE_UNKNOWN)
        wheel_add(&c->wheel, who, due_ms + 100); /* as a router does: again in a moment */
    else if (a.state == PLACE_WAITING)
        told(c, who, due_ms, a.poll_after_ms);
    else if (a.state == PLACE_ADMITTED)
        learns(c, due_ms, &a);
    else
        c->other++;
}

/* False: not now. */
static bool join(struct crowd *c, msec_t now)
{
    struct append_req q = { .client = CLIENT_GAME };
    struct append_ans a;
    struct route_tail tail;

    if (routes_tail(c->r->routes, mr_queue(c->r), 0, &tail) < 0)
        return false;
    q.seg = tail.seg;
    segtab_append(c->r->t[mr_node_no(c->r, tail.node)], at(c, now), &q, 1, &a, &c->mem);
    if (a.state == APPEND_SEALED) {
        routes_sealed(c->r->routes, tail.seg);
        return false;
    }
    cr_assert_eq(a.state, APPEND_OK);
    c->v[c->n] = (struct waiter) { (uint32_t)a.seg, a.number };
    c->waiting++;
    told(c, c->n++, now, a.poll_after_ms);
    return true;
}

/* ---- time -------------------------------------------------------------------------- */

/* For that long; meanwhile `joins_per_s` arrive until CROWD are there. */
static void run(struct crowd *c, msec_t ms, uint32_t joins_per_s)
{
    uint64_t owed = 0; /* thousandths of a join */

    for (msec_t end = c->r->now + ms; c->r->now < end;) {
        for (msec_t t = c->r->now + 1; t <= c->r->now + 100; t++) {
            for (owed += joins_per_s; owed >= 1000 && c->n < CROWD; owed -= 1000)
                if (!join(c, t))
                    break;
            wheel_advance(&c->wheel, t, on_due, c);
        }
        mr_run(c->r, 100);
    }
}

static void start_phase(struct crowd *c)
{
    c->told_max_ms = 0;
    c->late_max_ms = 0;
    c->late_sum_ms = 0;
    c->learnt = 0;
}

/* ---- life -------------------------------------------------------------------------- */

static void put_queue(struct crowd *c, uint32_t rate)
{
    char json[300];

    snprintf(json, sizeof(json),
             "{\"name\":\"q\",\"poll_budget_per_s\":%u,\"poll_min\":\"%ums\","
             "\"poll_max\":\"%ums\",\"fallback_per_s\":0,\"release_per_s\":%u,"
             "\"segment_capacity\":%u}",
             BUDGET, POLL_MIN, POLL_MAX, rate, 100000 / SCALE);
    mr_put_queue(c->r, json);
}

static struct crowd *crowd_new(void)
{
    struct crowd *c = calloc(1, sizeof(*c));

    cr_assert_not_null(c);
    c->r = mr_new("a crowd");
    c->r->crowd = true;
    c->v = calloc(CROWD, sizeof(*c->v));
    cr_assert_not_null(c->v);
    put_queue(c, 0);
    mr_run(c->r, 1000);
    c->start_ms = c->r->now;
    arena_init(&c->mem);
    cr_assert_eq(wheel_init(&c->wheel, CROWD, c->r->now), 0);
    return c;
}

static void crowd_free(struct crowd *c)
{
    wheel_fini(&c->wheel);
    arena_fini(&c->mem);
    mr_free(c->r);
    free(c->v);
    free(c);
}

/* ---- what must hold ---------------------------------------------------------------- */

/* Every ten seconds that lie in [from, to), by share of the budget. */
static void check_windows(const struct crowd *c, const char *phase, uint32_t from,
                          uint32_t to, double least)
{
    double lo = 1e9, hi = 0;

    for (uint32_t s = from; s + WINDOW_S <= to; s++) {
        double share = 0;

        for (uint32_t i = 0; i < WINDOW_S; i++)
            share += (double)c->polls[s + i] / (BUDGET * WINDOW_S);
        lo = share < lo ? share : lo;
        hi = share > hi ? share : hi;
    }
    printf("%-9s %3u..%3u s: %.3f to %.3f of the budget in any 10 s; told up to %u ms\n",
           phase, from, to, lo, hi, c->told_max_ms);
    cr_expect_leq(hi, 1.1, "%s: %.3f of the budget", phase, hi);
    cr_expect_geq(lo, least, "%s: only %.3f of the budget", phase, lo);
}

/* Means of 500 over a twentieth of the line each: of +-50 % jitter 1.3 % are left. */
static void check_order(struct crowd *c)
{
    uint32_t part = c->n / 20;
    double before = 0, mean = 0;

    for (uint32_t first = 0; first + part <= c->n; first += part) {
        uint64_t sum = 0, n = 0;

        for (uint32_t who = first; who < first + part; who += part / 500) {
            struct place_ans a;

            if (!ask(c, who, c->r->now, &a) || a.state != PLACE_WAITING)
                continue;
            sum += a.poll_after_ms;
            n++;
        }
        if (n < 400)
            continue; /* released, most of them */
        mean = (double)sum / (double)n;
        cr_expect_geq(mean, 0.93 * before, "from the %u. on %.0f ms, before it %.0f ms",
                      first, mean, before);
        before = mean;
    }
    cr_expect_geq(mean, 10 * POLL_MIN, "the last in line are told %.0f ms", mean);
}

static void check_first(struct crowd *c)
{
    for (uint32_t who = 0; who < c->n; who++) {
        struct place_ans a;

        if (!ask(c, who, c->r->now, &a) || a.state != PLACE_WAITING)
            continue;
        cr_expect_leq(a.poll_after_ms, POLL_MIN * 11 / 10, "the first is told %u ms",
                      a.poll_after_ms);
        return;
    }
    cr_expect_fail("nobody waits");
}

Test(budget, a_million_waiters, .timeout = 300)
{
    struct crowd *c = crowd_new();
    uint32_t from;

    /* A small crowd: everybody may poll as often as is of use. */
    run(c, 1000, CROWD / 100);
    run(c, 20000, 0);
    check_windows(c, "small", 0, second_of(c), 0.2);
    cr_expect_leq(c->told_max_ms, POLL_MAX);

    /* It grows a hundredfold. */
    from = second_of(c) - WINDOW_S;
    run(c, 50000, GROWTH);
    cr_expect_geq(c->n, CROWD * 99 / 100);
    check_windows(c, "grows", from, second_of(c), 0.2);

    /* It stands still. */
    run(c, 70000, GROWTH);
    from = second_of(c);
    start_phase(c);
    run(c, 100000, 0);
    check_windows(c, "stands", from, second_of(c), 0.9);
    check_order(c);
    check_first(c);
    /* A flat tail has four fifths of the budget; the longest is half as much again. */
    cr_expect_leq(c->told_max_ms, CROWD / BUDGET * 1000 * 15 / 8);

    /* People are let in; intervals that were told before that have to pass. */
    from = second_of(c) - WINDOW_S;
    put_queue(c, RATE);
    run(c, 100000, 0);
    check_windows(c, "begins", from, second_of(c), 0.9);
    printf("          learnt of their release after %lld ms at most\n",
           (long long)c->late_max_ms);
    from = second_of(c);
    start_phase(c);
    run(c, 150000, 0);
    check_windows(c, "released", from, second_of(c), 0.9);
    printf("          %u learnt of their release after %.0f ms (mean), %lld at most\n",
           c->learnt, (double)c->late_sum_ms / c->learnt, (long long)c->late_max_ms);
    cr_expect_geq(c->learnt, 149 * RATE);
    cr_expect_leq(c->late_max_ms, 2000);
    check_order(c);
    check_first(c);
    cr_expect_eq(c->other, 0, "%llu lost their places", (unsigned long long)c->other);
    cr_expect_eq(c->waiting + c->admitted, c->n);
    crowd_free(c);
}

/* bench_core.c: nanoseconds per operation of the waiting line, random access, at three
 * sizes, and of a whole poll through segtab. Prints one row per size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/rng.h"
#include "segment/segq.h"
#include "segment/segtab.h"

#define OPS   2000000u
#define BATCH 64u

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t *random_numbers(uint32_t n, uint32_t below)
{
    uint32_t *v = malloc(n * sizeof(*v));
    struct rng r;

    rng_seed(&r, below);
    for (uint32_t i = 0; v != NULL && i < n; i++)
        v[i] = (uint32_t)rng_below(&r, below);
    return v;
}

static void fill(struct segq *q, struct block_pool *pool, uint32_t n)
{
    uint32_t number;

    block_pool_init(pool, UINT32_MAX);
    segq_init(q, pool);
    for (uint32_t i = 0; i < n; i++)
        if (segq_append(q, 100, &number) < 0)
            exit(1);
}

static double bench_append(uint32_t n)
{
    uint32_t rounds = OPS / n + 1;
    double sum = 0;

    for (uint32_t i = 0; i < rounds; i++) {
        struct block_pool pool;
        struct segq q;
        double t = now_ns();

        fill(&q, &pool, n);
        sum += now_ns() - t;
        segq_fini(&q);
        block_pool_fini(&pool);
    }
    return sum / ((double)rounds * n);
}

static double bench_rank(const struct segq *q, const uint32_t *v, uint64_t *sink)
{
    double t = now_ns();

    for (uint32_t i = 0; i < OPS; i++)
        if (segq_is_alive(q, v[i]))
            *sink += segq_rank(q, v[i]);
    return (now_ns() - t) / OPS;
}

static double bench_drop(struct segq *q, const uint32_t *v, uint32_t n, uint64_t *sink)
{
    double t = now_ns();

    for (uint32_t i = 0; i < n; i++)
        *sink += segq_drop(q, v[i], DEAD_LEFT);
    return (now_ns() - t) / n;
}

static double bench_settle(struct segq *q)
{
    double t = now_ns();

    q->stale = q->head + 1;
    segq_settle(q);
    return now_ns() - t;
}

static double bench_sweep(struct segq *q)
{
    uint32_t at = 0, out[BLOCK_SLOTS];
    double t = now_ns();

    while (at < q->n_blocks)
        segq_sweep(q, 50, &at, out);
    return now_ns() - t;
}

static double bench_pop(struct segq *q)
{
    uint32_t out[200], n, sum = 0;
    double t = now_ns();

    while ((n = segq_pop(q, ARRAY_LEN(out), out)) > 0)
        sum += n;
    return (now_ns() - t) / sum;
}

static int no_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    (void)p;
    (void)out;
    return -1;
}

static void order(struct segtab *t, struct msg m)
{
    struct segtab_in in = {
        .now = { 1000, 1000 }, .kind = SEGTAB_MSG, .peer = 1, .msg = &m
    };
    struct outbox out;

    outbox_init(&out);
    segtab_step(t, &in, &out);
    outbox_fini(&out);
}

static struct segtab *make_tab(uint32_t n)
{
    struct segtab_opts o = { .max_tickets = n + 512,
                             .max_segments = 10,
                             .addr = "",
                             .admin = "",
                             .make_pass = no_pass };
    struct segtab *t = segtab_new(&o);
    struct segtab_in up = {
        .now = { 1000, 1000 }, .kind = SEGTAB_UP, .peer = 1, .role = 3, .name = "m"
    };
    struct outbox out;

    outbox_init(&out);
    segtab_step(t, &up, &out);
    outbox_fini(&out);
    order(t, (struct msg) { .type = MSG_RULES,
                            .rules = { .epoch = 1,
                                       .queue = 1,
                                       .name = "q",
                                       .issuer = "i",
                                       .idle_ms = { 60000, 60000, 60000 },
                                       .n_lanes = 1,
                                       .lanes = { "default" } } });
    order(t, (struct msg) { .type = MSG_SEG_OPEN,
                            .seg_open = { 1, 1, 1, 0, OPEN_TAIL, n, 0 } });
    for (uint32_t i = 0; i < n; i++) {
        struct append_req q = { .seg = 1 };
        struct append_ans a;

        segtab_append(t, (struct seg_now) { 1000, 1000 }, &q, 1, &a);
    }
    return t;
}

static double bench_place(uint32_t n, const uint32_t *v, uint64_t *sink)
{
    struct segtab *t = make_tab(n);
    struct place_req req[BATCH] = { { 0, 0, 0 } };
    struct place_ans ans[BATCH];
    struct arena mem;
    double sum = 0;

    arena_init(&mem);
    for (uint32_t i = 0; i + BATCH <= OPS; i += BATCH) {
        double at;

        for (uint32_t k = 0; k < BATCH; k++)
            req[k] = (struct place_req) { 1, v[i + k], 0 };
        at = now_ns();
        segtab_place(t, (struct seg_now) { 1000 + i / 1000, 1000 }, req, BATCH, ans,
                     &mem);
        sum += now_ns() - at;
        *sink += ans[0].position;
    }
    arena_fini(&mem);
    segtab_free(t);
    return sum / OPS;
}

static void row(uint32_t n)
{
    uint32_t *v = random_numbers(OPS, n), drops = n < OPS ? n / 2 : OPS;
    double append, rank, drop, settle, sweep, pop, place, bytes;
    struct block_pool pool;
    struct segq q;
    uint64_t sink = 0;

    if (v == NULL)
        exit(1);
    append = bench_append(n);
    place = bench_place(n, v, &sink);
    fill(&q, &pool, n);
    bytes = (double)segq_bytes(&q) / n;
    rank = bench_rank(&q, v, &sink);
    sweep = bench_sweep(&q);
    drop = bench_drop(&q, v, drops, &sink);
    settle = bench_settle(&q);
    pop = bench_pop(&q);
    printf("%9" PRIu32 " %7.1f %7.1f %7.1f %7.1f %8.1f %10.1f %9.1f %7.2f  %s\n", n,
           append, rank, drop, pop, place, settle / 1000, sweep / 1000, bytes,
           sink == 1 ? "." : "");
    segq_fini(&q);
    block_pool_fini(&pool);
    free(v);
}

int main(void)
{
    printf("  waiting  append    rank    drop     pop    place  settle us  sweep us  "
           "bytes\n");
    row(10000);
    row(1000000);
    row(10000000);
    return 0;
}

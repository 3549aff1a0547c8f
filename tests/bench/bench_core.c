/* bench_core.c: nanoseconds per operation of the waiting line at three sizes.
 *
 *   bench_core [--json] [--quick] [--rounds N]
 *
 * Of the bare line (segq): append, rank, drop, pop in thousands, settle, sweep; of the
 * whole node (segtab, batches of 64): join, poll with the check of its token, leave,
 * release of 1000. Tickets are chosen at random. The sizes take turns, round by round; a
 * table shows medians, --json also the rounds. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/ticket/token.h"
#include "segment/line/segq.h"
#include "segment/node/segtab.h"

#define BATCH      64u
#define RELEASE    1000u
#define MAX_ROUNDS 99u
#define SEG        1
#define NOW        ((struct seg_now){ 1000, 1700000000000 })

#define FIGURES(X)                                                                       \
    X(APPEND, "append", "ns")                                                            \
    X(RANK, "rank", "ns")                                                                \
    X(DROP, "drop", "ns")                                                                \
    X(POP, "pop", "ns")                                                                  \
    X(SETTLE, "settle", "us")                                                            \
    X(SWEEP, "sweep", "us")                                                              \
    X(JOIN, "join", "ns")                                                                \
    X(POLL, "poll", "ns")                                                                \
    X(TOKEN, "token", "ns")                                                              \
    X(LEAVE, "leave", "ns")                                                              \
    X(RELEASED, "release", "ns")                                                         \
    X(LINE_BYTES, "line_bytes", "B")                                                     \
    X(NODE_BYTES, "core_bytes", "B")

#define X_ENUM(name, text, unit) name,
enum figure { FIGURES(X_ENUM) N_FIGURES };
#define X_NAME(name, text, unit) { text, unit },
static const struct {
    const char *name, *unit;
} figure_of[N_FIGURES] = { FIGURES(X_NAME) };

struct size {
    uint32_t n;
    double v[N_FIGURES][MAX_ROUNDS];
};

static struct {
    uint32_t rounds, ops; /* ops: of one kind in one go, at least */
    bool json;
    struct rng rng;
    struct token_key key;
    uint64_t sink; /* keeps answers from being optimised away */
} bench;

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_core: %s\n", what);
    exit(1);
}

static uint32_t random_below(uint32_t n)
{
    return (uint32_t)rng_below(&bench.rng, n);
}

static uint32_t *random_numbers(uint32_t count, uint32_t below)
{
    uint32_t *v = malloc(count * sizeof(*v));

    if (v == NULL)
        die("no memory");
    for (uint32_t i = 0; i < count; i++)
        v[i] = random_below(below);
    return v;
}

/* ---- the bare line --------------------------------------------------------------- */

static double line_fill(struct segq *q, struct block_pool *pool, uint32_t n)
{
    uint32_t number;
    double t = now_ns();

    block_pool_init(pool, UINT32_MAX);
    segq_init(q, pool);
    for (uint32_t i = 0; i < n; i++)
        if (segq_append(q, 100, &number) < 0)
            die("no memory");
    return (now_ns() - t) / n;
}

static double line_rank(const struct segq *q)
{
    uint32_t *v = random_numbers(bench.ops, q->end);
    double t = now_ns();

    for (uint32_t i = 0; i < bench.ops; i++)
        if (segq_is_alive(q, v[i]))
            bench.sink += segq_rank(q, v[i]);
    t = now_ns() - t;
    free(v);
    return t / bench.ops;
}

/* One in twenty leaves. */
static double line_drop(struct segq *q)
{
    uint32_t n = q->end / 20, *v = random_numbers(n, q->end);
    double t = now_ns();

    for (uint32_t i = 0; i < n; i++)
        bench.sink += segq_drop(q, v[i], DEAD_LEFT);
    t = now_ns() - t;
    free(v);
    return t / n;
}

static double line_settle(struct segq *q)
{
    double t = now_ns();

    q->stale = 1; /* as if somebody in the first block had left */
    segq_settle(q);
    return (now_ns() - t) / 1000;
}

static double line_sweep(struct segq *q)
{
    uint32_t at = 0, out[BLOCK_SLOTS];
    double t = now_ns();

    while (at < q->n_blocks)
        segq_sweep(q, 50, &at, out);
    return (now_ns() - t) / 1000;
}

static double line_pop(struct segq *q)
{
    uint32_t out[RELEASE], sum = 0, n = 1;
    double t = now_ns();

    for (unsigned i = 0; i < 100 && n > 0; i++) {
        n = segq_pop(q, RELEASE, out);
        sum += n;
    }
    return (now_ns() - t) / sum;
}

static void line_round(uint32_t n, double *f)
{
    struct block_pool pool;
    struct segq q;

    f[APPEND] = line_fill(&q, &pool, n);
    f[LINE_BYTES] = (double)segq_bytes(&q) / n;
    f[RANK] = line_rank(&q);
    f[SWEEP] = line_sweep(&q);
    f[DROP] = line_drop(&q);
    f[SETTLE] = line_settle(&q);
    f[POP] = line_pop(&q);
    segq_fini(&q);
    block_pool_fini(&pool);
}

/* ---- the node -------------------------------------------------------------------- */

static int no_pass(void *ctx, const struct seg_pass *p, char *out)
{
    (void)ctx;
    (void)p;
    (void)out;
    return -1;
}

static void step(struct segtab *t, struct segtab_in in)
{
    struct outbox out;

    in.now = NOW;
    in.peer = 1;
    outbox_init(&out);
    segtab_step(t, &in, &out);
    outbox_fini(&out);
}

static void order(struct segtab *t, struct msg m)
{
    step(t, (struct segtab_in){ .kind = SEGTAB_MSG, .msg = &m });
}

/* An open segment, whose waiters are told to poll by their position. */
static struct segtab *node_new(uint32_t n)
{
    struct pace_entry pace = { .queue = 1, .min_ms = 1000, .max_ms = 30000,
                               .us_per_place = 20 };
    struct segtab_opts o = { .max_tickets = n + BLOCK_SLOTS, .max_segments = 10,
                             .addr = "", .admin = "", .make_pass = no_pass };
    struct segtab *t = segtab_new(&o);

    if (t == NULL)
        die("no memory");
    step(t, (struct segtab_in){ .kind = SEGTAB_UP, .role = 3, .name = "manager" });
    order(t, (struct msg){ .type = MSG_RULES,
                           .rules = { .epoch = 1, .queue = 1, .name = "login",
                                      .issuer = "segq",
                                      .idle_ms = { 60000, 60000, 60000 },
                                      .claim_ms = 60000, .pass_ttl_s = 60, .n_lanes = 1,
                                      .lanes = { "default" } } });
    order(t, (struct msg){ .type = MSG_SEG_OPEN,
                           .seg_open = { .epoch = 1, .seg = SEG, .queue = 1, .lane = 0,
                                         .kind = OPEN_TAIL, .capacity = n + 1,
                                         .ahead = 0 } });
    order(t, (struct msg){ .type = MSG_SEG_AHEAD,
                           .seg_ahead = { .epoch = 1, .n_pace = 1, .pace = &pace } });
    return t;
}

/* ns per join, over the last of them. */
static double node_fill(struct segtab *t, uint32_t n)
{
    uint32_t timed = n < bench.ops ? n : bench.ops;
    struct append_req req[BATCH] = { { 0 } };
    struct append_ans ans[BATCH];
    double began = now_ns();
    struct arena mem;

    arena_init(&mem);
    for (uint32_t i = 0; i < BATCH; i++)
        req[i].seg = SEG;
    for (uint32_t i = 0, k; i < n; i += k) {
        if (i <= n - timed)
            began = now_ns();
        k = n - i < BATCH ? n - i : BATCH;
        segtab_append(t, NOW, req, k, ans, &mem);
        if (ans[k - 1].state != APPEND_OK)
            die("a join was refused");
    }
    arena_fini(&mem);
    return (now_ns() - began) / timed;
}

/* The text of a random ticket's token, as a router has just received it. */
static void tokens(char (*text)[TOKEN_TEXT_LEN], uint32_t n)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        struct token k = { .seg = SEG, .number = random_below(n) };

        token_write(&k, &bench.key, text[i]);
    }
}

static void check(char (*text)[TOKEN_TEXT_LEN], struct place_req *req)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        struct token k;

        if (token_read(&k, &bench.key, text[i], TOKEN_TEXT_LEN) < 0)
            die("a token was refused");
        req[i] = (struct place_req){ k.seg, k.number, k.client };
    }
}

static void node_poll(struct segtab *t, uint32_t n, double *f)
{
    char text[BATCH][TOKEN_TEXT_LEN];
    struct place_req req[BATCH];
    struct place_ans ans[BATCH];
    uint32_t polls = (bench.ops + BATCH - 1) / BATCH * BATCH;
    double token = 0, place = 0;
    struct arena mem;

    arena_init(&mem);
    for (uint32_t i = 0; i < polls; i += BATCH) {
        double at, read;

        tokens(text, n);
        at = now_ns();
        check(text, req);
        read = now_ns();
        segtab_place(t, NOW, req, BATCH, ans, &mem);
        place += now_ns() - read;
        token += read - at;
        if (ans[i / BATCH % BATCH].state != PLACE_WAITING)
            die("a ticket is not waiting");
    }
    arena_fini(&mem);
    f[TOKEN] = token / polls;
    f[POLL] = (token + place) / polls;
}

/* One in twenty leaves. */
static double node_leave(struct segtab *t, uint32_t n)
{
    uint32_t count = (n / 20 + BATCH - 1) / BATCH * BATCH, *v = random_numbers(count, n);
    struct drop_req req[BATCH];
    struct drop_ans ans[BATCH];
    double sum = 0;

    for (uint32_t i = 0; i < count; i += BATCH) {
        double at;

        for (uint32_t k = 0; k < BATCH; k++)
            req[k] = (struct drop_req){ .seg = SEG, .number = v[i + k] };
        at = now_ns();
        segtab_drop(t, NOW, req, BATCH, ans);
        sum += now_ns() - at;
        if (ans[0].state != DROP_OK)
            die("a leave was refused");
    }
    free(v);
    return sum / count;
}

static double node_release(struct segtab *t)
{
    struct msg m = { .type = MSG_SEG_POP,
                     .seg_pop = { .epoch = 1, .seg = SEG, .tick = 1, .n = RELEASE,
                                  .released_at_ms = 1700000000000 } };
    struct segtab_counts c;
    double at;

    at = now_ns();
    order(t, m);
    at = now_ns() - at;
    segtab_count(t, &c);
    if (c.popped != RELEASE)
        die("a release was refused");
    return at / RELEASE;
}

static void node_round(uint32_t n, double *f)
{
    struct segtab *t = node_new(n);
    struct segtab_counts c;

    f[JOIN] = node_fill(t, n);
    segtab_count(t, &c);
    f[NODE_BYTES] = (double)c.core_bytes / n;
    node_poll(t, n, f);
    f[LEAVE] = node_leave(t, n);
    f[RELEASED] = node_release(t);
    segtab_free(t);
}

/* A short line several times over, so that a round is about as long at every size. */
static void round_of(struct size *s, uint32_t round)
{
    uint32_t all = bench.ops, times = s->n < all / 2 ? all / s->n : 1;
    double f[N_FIGURES] = { 0 };

    times = times < 20 ? times : 20;
    bench.ops = all / times;
    for (uint32_t i = 0; i < times; i++) {
        line_round(s->n, f);
        node_round(s->n, f);
        for (int k = 0; k < N_FIGURES; k++)
            s->v[k][round] += f[k] / times;
    }
    bench.ops = all;
}

/* ---- what comes out -------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *v)
{
    double w[MAX_ROUNDS];
    uint32_t n = bench.rounds;

    memcpy(w, v, n * sizeof(*w));
    qsort(w, n, sizeof(*w), by_value);
    return (w[(n - 1) / 2] + w[n / 2]) / 2;
}

static void print_table(const struct size *s, unsigned n)
{
    printf("%12s", "");
    for (unsigned i = 0; i < n; i++)
        printf("%12" PRIu32, s[i].n);
    printf("\n");
    for (int f = 0; f < N_FIGURES; f++) {
        printf("%12s", figure_of[f].name);
        for (unsigned i = 0; i < n; i++)
            printf("%12.2f", median(s[i].v[f]));
        printf(" %s\n", figure_of[f].unit);
    }
}

static void print_figure(const struct size *s, int f)
{
    printf(", \"%s\": {\"unit\": \"%s\", \"median\": %.4f, \"rounds\": [",
           figure_of[f].name, figure_of[f].unit, median(s->v[f]));
    for (uint32_t r = 0; r < bench.rounds; r++)
        printf("%s%.4f", r > 0 ? ", " : "", s->v[f][r]);
    printf("]}");
}

static void print_json(const struct size *s, unsigned n)
{
    printf("{\"rounds\": %" PRIu32 ", \"sizes\": [", bench.rounds);
    for (unsigned i = 0; i < n; i++) {
        printf("%s{\"waiting\": %" PRIu32, i > 0 ? ", " : "", s[i].n);
        for (int f = 0; f < N_FIGURES; f++)
            print_figure(&s[i], f);
        printf("}");
    }
    printf("]}\n");
}

static void usage(void)
{
    fprintf(stderr, "usage: bench_core [--json] [--quick] [--rounds N]\n");
    exit(2);
}

static bool parse(int argc, char **argv)
{
    bool quick = false;

    bench.rounds = 5;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            bench.json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            quick = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            bench.rounds = (uint32_t)strtoul(argv[++i], NULL, 10);
        else
            usage();
    }
    if (bench.rounds < 1 || bench.rounds > MAX_ROUNDS)
        usage();
    bench.ops = quick ? 20000 : 500000;
    return quick;
}

int main(int argc, char **argv)
{
    static struct size s[] = { { .n = 10000 }, { .n = 1000000 }, { .n = 10000000 } };
    bool quick = parse(argc, argv);

    if (sodium_init() < 0)
        die("no libsodium");
    randombytes_buf(&bench.key, sizeof(bench.key));
    log_set_level(LOG_ERROR);
    rng_seed(&bench.rng, 7);
    for (unsigned i = 0; quick && i < ARRAY_LEN(s); i++)
        s[i].n = 4000u << 2 * i;
    for (uint32_t r = 0; r < bench.rounds; r++)
        for (unsigned i = 0; i < ARRAY_LEN(s); i++)
            round_of(&s[i], r);
    if (bench.json)
        print_json(s, ARRAY_LEN(s));
    else
        print_table(s, ARRAY_LEN(s));
    return bench.sink == 1; /* never: but it was needed */
}

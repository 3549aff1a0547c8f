/* bench_codec.c: ns per poll for writing and reading batches, by batch size. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/wire/codec.h"

#define ROUNDS 2000000u /* polls per figure */

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_encode(const struct msg *m, uint32_t n, struct buf *b)
{
    double start = now_ns();

    for (uint32_t i = 0; i < ROUNDS / n; i++) {
        buf_reset(b);
        if (msg_encode(m, b) < 0)
            return -1;
    }
    return (now_ns() - start) / ROUNDS;
}

static double time_decode(uint16_t type, const struct buf *b, uint32_t n, struct arena *a)
{
    double start = now_ns();
    struct msg m;

    for (uint32_t i = 0; i < ROUNDS / n; i++) {
        if (msg_decode(type, b->data, b->len, a, &m) < 0)
            return -1;
        arena_reset(a);
    }
    return (now_ns() - start) / ROUNDS;
}

static void run(struct msg *m, uint32_t n)
{
    struct arena a;
    struct buf b;
    double put, get;

    arena_init(&a);
    buf_init(&b);
    put = time_encode(m, n, &b);
    get = time_decode((uint16_t)m->type, &b, n, &a);
    printf("%-10s batch %3u: write %6.1f ns, read %6.1f ns, %5.1f bytes a row\n",
           msg_name(m->type), n, put, get, (double)b.len / n);
    buf_fini(&b);
    arena_fini(&a);
}

int main(void)
{
    static struct place_req q[MSG_BATCH_MAX];
    static struct place_ans a[MSG_BATCH_MAX];

    for (uint32_t i = 0; i < MSG_BATCH_MAX; i++) {
        q[i] = (struct place_req){ .seg = 17 + i % 3, .number = 100000 + i * 7919 };
        a[i] = (struct place_ans){ .state = PLACE_WAITING, .position = 50000 + i * 7919,
                                   .poll_after_ms = 5000 + i };
    }
    for (uint32_t n = 1; n <= MSG_BATCH_MAX; n *= 8) {
        struct msg ask = { .type = MSG_PLACE, .place = { n, q } };
        struct msg ans = { .type = MSG_PLACE_ANS, .place_ans = { n, a } };

        run(&ask, n);
        run(&ans, n);
    }
    return 0;
}

/* fuzz_bodies.c: files of bodies with any bytes, and references that nobody gave. Whatever stands
 * in the files, opening works, a reference is answered with bytes that were put there or refused,
 * and what is put is there again, byte for byte, also after the next start.
 *
 * Input (fuzz_bytes.h): a number; if odd, the bytes of a file `body-1`; then steps, each a number
 * and what it wants. The sums of the file are set right where a body fits. */
#include <stdlib.h>
#include <string.h>

#include "common/task/rules.h"
#include "task/bodies/bodies.h"
#include "task/bodies/body_files.h"
#include "tests/lib/fuzz_bytes.h"
#include "tests/lib/quiet.h"
#include "tests/lib/sim/disk.c" /* fuzz programs link no simulation */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OURS = 64, LONGEST = 2000, FILE_BYTES = 4096 };

struct world {
    struct fuzz_bytes in;
    struct simdisk *s;
    struct bodies *b;
    uint64_t ref[OURS], before[OURS]; /* before: of the turn */
    unsigned n;
    msec_t now;
};

static uint32_t fill(uint8_t *p, unsigned i)
{
    uint32_t n = 1 + i * 7919 % LONGEST;

    memset(p, (int)(i * 37 + 1), n);
    return n;
}

/* A body of its own wherever one fits; the rest stays as it is. */
static void set_right(uint8_t *p, uint32_t n)
{
    static uint8_t bytes[TASK_BODY_MAX];
    struct body_key key;

    body_key_make(&key, "fuzz", 1);
    for (uint32_t at = 0, len; at + BODY_HEAD <= n; at += body_len(len)) {
        len = ((uint32_t)p[at + 8] | (uint32_t)p[at + 9] << 8) % 300;
        if (at + body_len(len) > n)
            return;
        memcpy(bytes, p + at + BODY_HEAD, len);
        body_seal(p + at, &key, at, bytes, len);
    }
}

static void add_file(struct world *w)
{
    uint32_t n;
    const uint8_t *from = fuzz_take(&w->in, &n);
    uint8_t *p = malloc(n + 1);

    must(p != NULL, "out of memory");
    memcpy(p, from, n);
    set_right(p, n);
    simdisk_put(w->s, "body-00000001", p, n);
    free(p);
}

/* So each flush is a sync. */
static bool no_room(void *ctx, uint32_t file, uint32_t at, const uint8_t *p, uint32_t n)
{
    (void)ctx, (void)file, (void)at, (void)p, (void)n;
    return false;
}

static void open_it(struct world *w)
{
    struct bodies_opts o = { .dir = "fuzz", .disk = simdisk_disk(w->s), .node = "fuzz",
                             .keep = no_room, .file_bytes = FILE_BYTES };
    struct err e = { 0 };

    must(bodies_open(&w->b, &o, &e) == 0, "opens");
    for (unsigned i = 0; i < w->n; i++)
        must(bodies_live(w->b, w->ref[i]) == 0, "what was flushed is there");
    (void)!bodies_live(w->b, fuzz_num(&w->in));
    bodies_opened(w->b);
}

static void check(struct world *w)
{
    static uint8_t want[LONGEST + 1];
    struct buf got;

    buf_init(&got);
    for (unsigned i = 0; i < w->n; i++) {
        uint32_t n = fill(want, i);

        buf_reset(&got);
        if (w->ref[i] == 0)
            continue;
        must(bodies_get(w->b, w->ref[i], &got) == 0, "it is there");
        must(got.len == n && memcmp(got.data, want, n) == 0, "byte for byte");
    }
    buf_fini(&got);
}

static void flush(struct world *w)
{
    must(bodies_flush(w->b) == 0, "is written");
    for (unsigned i = 0; i < w->n; i++) {
        if (w->before[i] != w->ref[i])
            bodies_drop(w->b, w->before[i]);
        w->before[i] = w->ref[i];
    }
}

static void ask_anything(struct world *w)
{
    uint64_t ref = fuzz_num(&w->in) % 2 != 0 ? fuzz_num(&w->in)
                                            : (uint64_t)1 << 38 | fuzz_num(&w->in) >> 40;
    struct buf got;
    uint64_t to;

    buf_init(&got);
    (void)!bodies_get(w->b, ref, &got);
    must(got.len <= TASK_BODY_MAX, "a body");
    for (unsigned i = 0; i < w->n; i++)
        if (w->ref[i] == ref)
            goto ours;
    if (bodies_copy(w->b, ref, &to) == 0)
        bodies_drop(w->b, to);
ours:
    buf_fini(&got);
}

static void put(struct world *w)
{
    static uint8_t bytes[LONGEST + 1];

    if (w->n == OURS)
        return;
    must(bodies_put(w->b, bytes, fill(bytes, w->n), &w->ref[w->n]) == 0, "has room");
    w->before[w->n] = w->ref[w->n];
    w->n++;
}

static void step(struct world *w)
{
    w->now += 100;
    if (!bodies_step(w->b, w->now))
        return;
    for (unsigned i = 0; i < w->n; i++)
        if (w->ref[i] == w->before[i] && bodies_is_old(w->b, w->ref[i]))
            must(bodies_copy(w->b, w->ref[i], &w->ref[i]) == 0, "is copied");
}

static void do_one(struct world *w)
{
    unsigned i = w->n > 0 ? fuzz_num(&w->in) % w->n : 0;

    switch (fuzz_num(&w->in) % 6) {
    case 0:
    case 1:
        put(w);
        break;
    case 2:
        if (w->n > 0 && w->ref[i] == w->before[i])
            w->ref[i] = 0;
        break;
    case 3:
        ask_anything(w);
        break;
    case 4:
        step(w);
        break;
    default:
        flush(w);
        bodies_close(w->b);
        simdisk_crash(w->s);
        open_it(w);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof(*w));

    must(w != NULL, "out of memory");
    quiet_log();
    w->in = (struct fuzz_bytes){ data, data + size };
    w->s = simdisk_new(1);
    w->now = 1;
    if (fuzz_num(&w->in) % 2 != 0)
        add_file(w);
    open_it(w);
    for (unsigned k = 0; w->in.p < w->in.end && k < 500; k++) {
        do_one(w);
        flush(w);
        check(w);
    }
    bodies_close(w->b);
    simdisk_free(w->s);
    free(w);
    return 0;
}

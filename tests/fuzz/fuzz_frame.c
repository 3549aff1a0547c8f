/* fuzz_frame.c: a stream cut in pieces gives the same frames, and the same refusal, as
 * the stream in one piece. First byte: piece sizes; second: which limit; rest: the
 * stream. */
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen { /* a digest of what came out */
    uint64_t sum;
    unsigned frames;
    int64_t refusal; /* 0 = none */
    size_t used;
};

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void note(struct seen *s, const struct frame *f)
{
    uint64_t h = s->sum * 31 + f->type * 7 + f->rid + f->flags;

    for (size_t i = 0; i < f->len; i++)
        h = h * 31 + f->body[i];
    s->sum = h;
    s->frames++;
}

/* Builds it anew: the same bytes. */
static void rebuild(const uint8_t *p, const struct frame *f)
{
    uint8_t h[FRAME_HEADER_BYTES];

    frame_header(h, f->type, f->flags, f->rid, (uint32_t)f->len);
    must(memcmp(h, p, sizeof(h)) == 0);
}

/* Takes what is there; the unread rest is [s->used, n). A copy without a byte to spare,
 * so that the sanitizer sees a read behind the end. */
static void take(struct seen *s, const uint8_t *p, size_t n, size_t max)
{
    uint8_t *copy = malloc(n - s->used + 1);
    size_t at = 0, left = n - s->used;

    memcpy(copy, p + s->used, left);
    copy = realloc(copy, left > 0 ? left : 1);
    while (s->refusal == 0) {
        struct frame f;
        int64_t rc = frame_parse(copy + at, left - at, max, &f);

        if (rc == 0) {
            must(frame_need(copy + at, left - at) > left - at);
            break;
        }
        if (rc < 0) {
            s->refusal = rc;
            break;
        }
        must((size_t)rc == FRAME_HEADER_BYTES + f.len && (size_t)rc <= left - at);
        must(f.len <= max);
        rebuild(copy + at, &f);
        note(s, &f);
        at += (size_t)rc;
    }
    s->used += at;
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t limits[] = { 0, 16, FRAME_MAX_BODY_HELLO, FRAME_MAX_BODY };
    struct seen whole = { 0 }, pieces = { 0 };
    size_t step, max;

    if (size < 2 || size > 4096)
        return 0;
    step = data[0] + 1u;
    max = limits[data[1] % ARRAY_LEN(limits)];
    data += 2;
    size -= 2;
    take(&whole, data, size, max);
    for (size_t n = 0; n < size && pieces.refusal == 0;) {
        n = n + step < size ? n + step : size;
        take(&pieces, data, n, max);
    }
    must(whole.frames == pieces.frames && whole.sum == pieces.sum);
    /* A header that is both too long and of another version may be refused for either. */
    must((whole.refusal != 0) == (pieces.refusal != 0) && whole.used == pieces.used);
    return 0;
}

/* fuzz_bytes.h: numbers and bytes out of a fuzzer's input. A number is a byte below FUZZ_WIDE, or
 * that and eight bytes; behind the end all are 0. */
#ifndef SEGQ_TESTS_FUZZ_BYTES_H
#define SEGQ_TESTS_FUZZ_BYTES_H

#include <string.h>

#include "common/base/base.h"

#define FUZZ_WIDE 250

struct fuzz_bytes {
    const uint8_t *p, *end;
};

static inline uint64_t fuzz_num(struct fuzz_bytes *in)
{
    uint64_t v;

    if (in->p == in->end)
        return 0;
    if (*in->p < FUZZ_WIDE || (size_t)(in->end - in->p) <= sizeof(v))
        return *in->p++;
    memcpy(&v, in->p + 1, sizeof(v));
    in->p += 1 + sizeof(v);
    return v;
}

/* A number, and so many bytes, or what is left. */
static inline const uint8_t *fuzz_take(struct fuzz_bytes *in, uint32_t *n)
{
    uint64_t want = fuzz_num(in); /* before what is left is counted */
    const uint8_t *p = in->p;

    *n = (uint32_t)u64_min(want, (uint64_t)(in->end - p));
    in->p += *n;
    return p;
}

#endif

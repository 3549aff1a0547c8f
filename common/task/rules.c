/* rules.c: ranges, defaults, bytes. */
#include "common/task/rules.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

#define HOUR ((uint64_t)3600 * 1000)

void rules_default(struct task_rules *r)
{
    *r = (struct task_rules){
        .ttl_ms = 3 * HOUR, .result_ms = HOUR, .read_ms = HOUR / 12, .dead_ms = 7 * 24 * HOUR,
        .dedup_ms = 24 * HOUR, .lease_ms = 30000, .max_attempts = 8, .retry_min_ms = 1000,
        .retry_max_ms = 300000, .retry_doublings = 8, .retry_jitter = 20,
        .max_waiting = 10000000, .queue_burst = 1, .key_burst = 1, .below_burst = 1,
        .head_start_1 = 10000, .head_start_2 = 60000, .head_start_3 = 600000,
        .head_start_4 = HOUR, .head_start_5 = 3 * HOUR, .head_start_6 = 12 * HOUR,
        .head_start_7 = 24 * HOUR, .max_result = TASK_RESULT_MAX,
    };
}

const char *rules_check(const struct task_rules *r)
{
    const uint64_t *h = &r->head_start_1;
#define X(m, least, most)                                                                \
    if (r->m > (most) || r->m + 1 < (uint64_t)(least) + 1)                               \
        return #m;
    TASK_RULES(X)
#undef X
    if (r->retry_max_ms < r->retry_min_ms)
        return "retry_max_ms";
    for (unsigned p = 1; p < TASK_PRIORITIES - 1; p++)
        if (h[p] < h[p - 1])
            return "head_start";
    return NULL;
}

void rules_encode(const struct task_rules *r, struct buf *b)
{
#define X(m, least, most) buf_varint(b, r->m);
    TASK_RULES(X)
#undef X
}

int rules_decode(struct task_rules *r, const char *p, uint32_t n)
{
    uint64_t *m = (uint64_t *)r;
    uint32_t at = 0, i = 0;

    rules_default(r);
    while (at < n && i < sizeof(*r) / sizeof(*m)) {
        uint64_t v = 0;
        unsigned shift = 0;

        for (; at < n && (p[at] & 0x80) != 0 && shift < 63; shift += 7)
            v |= (uint64_t)(p[at++] & 0x7f) << shift;
        if (at == n || shift >= 63)
            return SQ_EPROTO;
        m[i++] = v | (uint64_t)(p[at++] & 0x7f) << shift;
    }
    return at == n && rules_check(r) == NULL ? 0 : SQ_EPROTO;
}

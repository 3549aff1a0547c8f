/* pool.c: what limiters read, made of the rules. */
#include "task/engine/pool.h"

#include <assert.h>

static struct key_rule key_rule(uint64_t per_1000_s, uint64_t burst, uint64_t at_once)
{
    return (struct key_rule){ rate_make((double)per_1000_s / 1000, (uint32_t)burst),
                              (uint32_t)at_once, 1 };
}

struct backoff pool_backoff(const struct task_rules *r)
{
    return (struct backoff){ (uint32_t)r->retry_min_ms, (uint32_t)r->retry_max_ms,
                             (uint8_t)r->retry_doublings, (uint8_t)r->retry_jitter };
}

void pool_set_rules(struct pool *p, const struct task_rules *r)
{
    assert(rules_check(r) == NULL);
    p->rules = *r;
    p->level[0] = key_rule(r->queue_rate, r->queue_burst, r->queue_at_once);
    p->level[1] = key_rule(r->key_rate, r->key_burst, r->key_at_once);
    p->level[2] = key_rule(r->below_rate, r->below_burst, r->below_at_once);
    for (unsigned i = 1; i < TASK_PRIORITIES; i++)
        p->head_start[i] = (msec_t)(&r->head_start_1)[i - 1];
    p->backoff = pool_backoff(r);
}

/* key_def.c: the tables of patterns and of pinned keys, and what a table cannot say. */
#include "queuemng/policy/key_def.h"

#include <string.h>

#include "common/task/queue_name.h"

/* at(f): where the member of a struct pool_limit is */
#define LIMIT_KEYS(at)                                                                   \
    { "rate_per_s", CFG_NUM, at(rate_per_s), "0", 0, 1e6, true,                          \
      "starts per second, to a thousandth; 0 = any", 0, 0, 0 },                          \
    { "burst", CFG_INT, at(burst), "1", 1, RATE_BURST_MAX, true,                         \
      "starts at once after a pause", 0, 0, 0 },                                         \
    { "max_concurrent", CFG_INT, at(max_concurrent), "0", 0, TASKS_MAX, true,            \
      "tasks that run at once; 0 = any", 0, 0, 0 }
#define WEIGHT_KEY(at)                                                                   \
    { "weight", CFG_INT, at, "1", 1, KEY_WEIGHT_MAX, true,                               \
      "its share beside other keys that wait", 0, 0, 0 }

#define LIMIT(f) offsetof(struct pool_limit, f)
const struct cfg_key limit_keys[] = { LIMIT_KEYS(LIMIT), { 0 } };

#define KEY(f)    offsetof(struct pool_key, f)
#define KEY_AT(f) KEY(limit.f)
const struct cfg_key pool_key_keys[] = {
    { "match", CFG_STR, KEY(match), NULL, 1, KEY_TEXT_MAX, true,
      "a key, or its beginning and a star (tenant*), one level or two (tenant7/*, */*)", 0, 0, 0 },
    LIMIT_KEYS(KEY_AT),
    WEIGHT_KEY(KEY(weight)),
    { 0 },
};

#define PIN(f)    offsetof(struct key_pin, f)
#define PIN_AT(f) PIN(limit.f)
const struct cfg_key key_pin_keys[] = {
    { "key", CFG_STR, PIN(key), NULL, 1, KEY_TEXT_MAX, true,
      "a key, or a key and one below it: tenant7/user42", 0, 0, 0 },
    { "queue", CFG_STR, PIN(queue), "", 0, TASK_NAME_MAX, true, "whose key it is", 0, 0, 0 },
    { "inherit", CFG_BOOL, PIN(inherit), "false", 0, 0, true,
      "its limits and its weight are those of the pool; it is only held, or not", 0, 0, 0 },
    LIMIT_KEYS(PIN_AT),
    WEIGHT_KEY(PIN(weight)),
    { "paused", CFG_BOOL, PIN(paused), "false", 0, 0, true, "no task of it starts", 0, 0, 0 },
    { 0 },
};

int key_pin_check(const struct key_pin *p, struct err *e)
{
    const struct pool_limit *l = &p->limit;

    if (!queue_name_ok(p->queue, strlen(p->queue)))
        return err_set(e, SQ_EINVAL, "queue: small letters, digits, . _ -, parts with / between them");
    if (!key_text_ok(p->key))
        return err_set(e, SQ_EINVAL, "key: one level or two (tenant7/user42) of visible ASCII "
                       "characters, each at most %d", TASK_NAME_MAX);
    if (p->inherit && (l->rate_per_s != 0 || l->burst != 1 || l->max_concurrent != 0 || p->weight != 1))
        return err_set(e, SQ_EINVAL, "inherit: the key has the limits of its pool; with rate_per_s, "
                       "burst, max_concurrent or weight of its own it must be false");
    return 0;
}

int key_pin_compare(const struct key_pin *a, const struct key_pin *b)
{
    int by_queue = strcmp(a->queue, b->queue);

    return by_queue != 0 ? by_queue : strcmp(a->key, b->key);
}

uint64_t per_1000_s(double rate_per_s)
{
    return (uint64_t)(rate_per_s * 1000 + 0.5);
}

struct key_limit pool_key_limit(const struct pool_key *k)
{
    return (struct key_limit){ .queue = "", .key = k->match,
                               .rate = per_1000_s(k->limit.rate_per_s),
                               .burst = (uint64_t)k->limit.burst,
                               .at_once = (uint64_t)k->limit.max_concurrent,
                               .weight = (uint64_t)k->weight };
}

/* pool_def.c: the table of a pool's definition, and what a table cannot say. */
#include "queuemng/policy/pool_def.h"

#include <assert.h>
#include <string.h>

#include "common/task/rules.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/policy/addresses.h"

#define DAY_MS         86400000.0
#define LIFE_MAX       (400 * DAY_MS)
/* Ten times the longest prompts that models take. Routers alone see to it: nodes of the release before cannot
 * read rules with max_cost, and get them only where an operator names another number. */
#define MAX_COST_USUAL 10000000
#define PATTERN_PARTS  16 /* partitions of a pool that is a pattern, if the operator names no number */

static const char *const orders[] = { "start", "strict", "number", NULL };

#define RETRY(f) offsetof(struct pool_retry, f)
static const struct cfg_key retry_keys[] = {
    { "min", CFG_MS, RETRY(min_ms), "1s", 0, BACKOFF_MAX, true, "wait after the first failure",
      0, 0, 0 },
    { "max", CFG_MS, RETRY(max_ms), "5m", 0, BACKOFF_MAX, true, "longest wait", 0, 0, 0 },
    { "doublings", CFG_INT, RETRY(doublings), "8", 0, 30, true,
      "how often the wait doubles before it grows no more", 0, 0, 0 },
    { "jitter", CFG_INT, RETRY(jitter), "20", 0, 100, true,
      "percent of the wait that is random", 0, 0, 0 },
    { 0 },
};

static const struct cfg_key priority_keys[] = {
    { "head_start", CFG_MS, offsetof(struct pool_priority, head_start_ms), NULL, 0, LIFE_MAX,
      true, "a task goes before those of priority 0 that came up to so much earlier", 0, 0, 0 },
    { 0 },
};

#define AT(f) offsetof(struct pool_def, f)
const struct cfg_key pool_def_keys[] = {
    { "match", CFG_STR, AT(match), NULL, 1, TASK_NAME_MAX, true,
      "name of the queue, or the beginning of names and a star: ride/*", 0, 0, 0 },
    { "paused", CFG_BOOL, AT(paused), "false", 0, 0, true,
      "workers get nothing; tasks are taken in", 0, 0, 0 },
    { "partitions", CFG_INT, AT(partitions), "0", 0, PARTS_MAX, true,
      "shares of the pool's queues that may be at different task nodes, fixed when the pool is "
      "made; 0 = 1 for a name, 16 for a pattern", 0, 0, 0 },
    { "endpoint", CFG_STR, AT(endpoint), "", 0, TASK_NAME_MAX, true,
      "endpoint that its tasks are calls to; \"\" = workers take them; whether there is one is fixed "
      "when the pool is made", 0, 0, 0 },
    { "notify", CFG_STR, AT(notify), "", 0, TASK_NAME_MAX, true,
      "queue of an endpoint in which the end of each task is told (POST of JSON: how it ended); \"\" = "
      "nobody is told", 0, 0, 0 },
    { "notify_on", CFG_STRS, AT(notify_on), "end", 1, 2, true,
      "what `notify` is told: end; or start, end: the start of each attempt, too", 0, 0, 0 },
    { "rollout", CFG_INT, AT(rollout), "100", 0, 100, true,
      "percent of the pattern's queues, chosen by their names, whose new tasks this pool takes; those of the "
      "others go by the next pool that matches; more of them as it rises, and the same ones each time", 0, 0, 0 },
    { "cancel_on_disconnect", CFG_BOOL, AT(cancel_on_disconnect), "true", 0, 0, true,
      "a request to /v1/call that waits in line is cancelled when its client closes the connection, "
      "unless it has an Idempotency-Key or says Prefer: respond-async", 0, 0, 0 },
    { "max_tasks", CFG_INT, AT(max_tasks), "4000000", 1, TASKS_MAX, true,
      "most tasks of a partition, in all states; those that are over give way, the oldest "
      "first, before one is refused", 0, 0, 0 },
    { "max_bytes", CFG_BYTES, AT(max_bytes), "0", 0, BYTES_WAIT_MAX, true,
      "most bytes of payloads of a partition, of tasks that are not over; 0 = any", 0, 0, 0 },
    { "max_body", CFG_BYTES, AT(max_body), "256k", 0, CALL_BODY_MAX, true,
      "largest payload; above 512k: of calls (/v1/call) alone, whose body is then kept in a file of its own", 0, 0, 0 },
    { "max_result", CFG_BYTES, AT(max_result), "64k", 0, TASK_RESULT_MAX, true,
      "bytes of a result that are kept, beside its length and SHA-256; 0 = none", 0, 0, 0 },
    { "position_cap", CFG_INT, AT(position_cap), "0", 0, TASKS_MAX, true,
      "highest place told to callers; tasks further back have it with position_capped; 0 = no cap",
      0, 0, 0 },
    { "order", CFG_ENUM, AT(order), "start", 0, 0, true,
      "start: first attempts of a key begin in the order of entry; strict: the next one begins "
      "when this one is final; number: the smallest `order` goes first; fixed when the pool is "
      "made", orders, 0, 0 },
    { "task_ttl", CFG_MS, AT(task_ttl_ms), "3h", 0, LIFE_MAX, true,
      "longest wait of a task, from its entry; 0 = for ever", 0, 0, 0 },
    { "result_ttl", CFG_MS, AT(result_ttl_ms), "1h", 0, LIFE_MAX, true,
      "time that a result is kept", 0, 0, 0 },
    { "result_ttl_read", CFG_MS, AT(result_ttl_read_ms), "5m", 0, LIFE_MAX, true,
      "time that it is kept after it was first read", 0, 0, 0 },
    { "dead_ttl", CFG_MS, AT(dead_ttl_ms), "7d", 0, LIFE_MAX, true,
      "time that a dead task is kept", 0, 0, 0 },
    { "dedup", CFG_MS, AT(dedup_ms), "1d", 0, LIFE_MAX, true,
      "time that an Idempotency-Key is remembered after its task's end", 0, 0, 0 },
    { "lease", CFG_MS, AT(lease_ms), "30s", 1, 12 * 3600e3, true,
      "lease of a worker that names none", 0, 0, 0 },
    { "max_attempts", CFG_INT, AT(max_attempts), "8", 1, ATTEMPTS_MAX, true,
      "attempts after which a task is dead", 0, 0, 0 },
    { "retry", CFG_OBJ, AT(retry), "", 0, 0, true, "wait between two attempts", 0, retry_keys, 0 },
    { "max_waiting", CFG_INT, AT(max_waiting), "10000000", 1, TASKS_MAX, true,
      "most tasks of one queue that are not over", 0, 0, 0 },
    { "max_waiting_units", CFG_INT, AT(max_waiting_units), "0", 0, (double)WAITING_UNITS_MAX, true,
      "most units (cost) of one queue's tasks that wait: in line, for their moment, or between two attempts; "
      "what does not fit is refused (503 queue_full); where none waits any task that may start at once has room; 0 = any number", 0, 0, 0 },
    { "max_wait", CFG_MS, AT(max_wait_ms), "0", 0, LIFE_MAX, true,
      "a submission whose wait is estimated to be longer is refused at once (429 wait_too_long, with "
      "Retry-After); one whose wait is not known, or that has a delay, is accepted; 0 = any may wait",
      0, 0, 0 },
    { "max_cost", CFG_INT, AT(max_cost), "10000000", 1, TASK_COST_MAX, true,
      "most units that a task may be said, or estimated, to take; beyond it submissions are refused (400)", 0, 0, 0 },
    { "eta_url", CFG_STR, AT(eta_url), "", 0, ENDPOINT_URL_MAX, true,
      "the operator's own service that estimates waits: it is asked by POST of JSON and answers points of "
      "place and wait; ours is told until it has answered, and when it does not; \"\" = ours alone", 0, 0, 0 },
    { "eta_every", CFG_MS, AT(eta_every_ms), "10s", 1000, 3600e3, true,
      "that service is asked about a queue, of which somebody was told a wait in the last minute, once in this "
      "time; what it said counts for three times that", 0, 0, 0 },
    { "eta_timeout", CFG_MS, AT(eta_timeout_ms), "1s", 10, 10000, true,
      "it answers within this time, or not at all; at most eta_every", 0, 0, 0 },
    { "eta_allow", CFG_STRS, AT(eta_allow), "", 0, ENDPOINT_ALLOW_MAX, true,
      "networks that are not of the public internet in which that service may be (10.0.0.0/8, 127.0.0.1)", 0, 0, 0 },
    { "warn_waiting", CFG_INT, AT(warn_waiting), "0", 0, 1e12, true,
      "tasks in line of the whole pool, more than which segqctl, dashboard and an alert "
      "(SegqTasksWaiting) tell of; 0 = any number may wait", 0, 0, 0 },
    { "queue", CFG_OBJ, AT(queue), "", 0, 0, true, "limit of each queue", 0, limit_keys, 0 },
    { "key", CFG_OBJ, AT(key), "", 0, 0, true, "limit of each key of a queue", 0, limit_keys, 0 },
    { "subkey", CFG_OBJ, AT(subkey), "", 0, 0, true, "limit of each key below a key", 0,
      limit_keys, 0 },
    { "keys", CFG_OBJS, AT(keys), "", 0, POOL_KEYS_MAX, true,
      "limits and shares of the keys that a pattern matches, in place of `key` or `subkey`; the "
      "first that matches counts", 0, pool_key_keys, sizeof(struct pool_key) },
    METRIC_LIMITS_KEYS(AT, "metrics with tiers: starts of the whole pool; the lowest resulting rate applies",
                       "starts of the whole pool while a limit's metric is missing, stale or absurd"),
    { "priorities", CFG_OBJS, AT(priorities), "", 0, TASK_PRIORITIES - 1, true,
      "head starts of priority 1 and up; those that are missing have the last one's; none = "
      "10s, 1m, 10m, 1h, 3h, 12h, 1d", 0, priority_keys, sizeof(struct pool_priority) },
    { 0 },
};

static bool is_pattern(const struct pool_def *d)
{
    return d->match[strlen(d->match) - 1] == '*';
}

static int check_keys(const struct pool_def *d, struct err *e)
{
    const struct pool_key *k = d->keys.v;

    if (unit_rates_check(&d->queue.rates, e) < 0 || unit_rates_check(&d->key.rates, e) < 0 ||
        unit_rates_check(&d->subkey.rates, e) < 0)
        return err_wrap(e, "pool %s", d->match);
    for (size_t i = 0; i < d->keys.n; i++) {
        if (unit_rates_check(&k[i].limit.rates, e) < 0)
            return err_wrap(e, "pool %s: keys.%zu", d->match, i);
        if (!key_match_ok(k[i].match))
            return err_set(e, SQ_EINVAL, "pool %s: keys.%zu: match: one level or two (a/b) of visible "
                           "ASCII characters, a star only at the end of a level", d->match, i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(k[i].match, k[j].match) == 0)
                return err_set(e, SQ_EINVAL, "pool %s: keys.%zu: keys.%zu has the same match, and "
                               "the first counts", d->match, i, j);
    }
    return 0;
}

static int check_eta(const struct pool_def *d, struct err *e)
{
    const char *wrong = d->eta_url[0] != 0 ? endpoint_url_wrong(d->eta_url, true) : NULL;

    if (wrong != NULL)
        return err_set(e, SQ_EINVAL, "pool %s: eta_url %s", d->match, wrong);
    if (d->eta_timeout_ms > d->eta_every_ms)
        return err_set(e, SQ_EINVAL, "pool %s: eta_timeout is above eta_every", d->match);
    return networks_check(&d->eta_allow, "eta_allow", e) < 0 ? err_wrap(e, "pool %s", d->match) : 0;
}

int pool_def_check(const struct pool_def *d, struct err *e)
{
    const struct pool_priority *p = d->priorities.v;
    struct task_rules r;
    const char *wrong;
    int rc;

    if (!queue_match_ok(d->match))
        return err_set(e, SQ_EINVAL, "pool %s: match: a queue's name (small letters, digits, . _ -, "
                       "parts with / between them), or its beginning and a star", d->match);
    if (d->rollout != 100 && !is_pattern(d))
        return err_set(e, SQ_EINVAL, "pool %s: rollout is for a pattern of queues, and this is one queue",
                       d->match);
    if (d->retry.max_ms < d->retry.min_ms)
        return err_set(e, SQ_EINVAL, "pool %s: retry.max is below retry.min", d->match);
    for (size_t i = 1; i < d->priorities.n; i++)
        if (p[i].head_start_ms < p[i - 1].head_start_ms)
            return err_set(e, SQ_EINVAL, "pool %s: priorities.%zu: head_start is below the one "
                           "before", d->match, i);
    if (d->max_wait_ms != 0 && d->order == ORDER_NUMBER)
        return err_set(e, SQ_EINVAL, "pool %s: max_wait is not for order: number, in which those who come "
                       "later may go first: bound max_waiting", d->match);
    if (d->max_body > TASK_BODY_MAX && d->endpoint[0] == 0)
        return err_set(e, SQ_EINVAL, "pool %s: max_body above 512k is for queues with an endpoint: workers get "
                       "payloads of 512k at most", d->match);
    rc = check_eta(d, e);
    if (rc == 0)
        rc = check_keys(d, e);
    if (rc == 0 && metric_limits_check(&d->limits, e) < 0)
        rc = err_wrap(e, "pool %s", d->match);
    if (rc < 0)
        return rc;
    pool_def_rules(d, &r);
    wrong = rules_check(&r);
    return wrong == NULL ? 0 : err_set(e, SQ_EINVAL, "pool %s: %s is out of its range", d->match,
                                       wrong);
}

static bool tells(const struct pool_def *d, const char *event)
{
    for (size_t i = 0; i < d->notify_on.n; i++)
        if (strcmp(((char *const *)d->notify_on.v)[i], event) == 0)
            return true;
    return false;
}

bool pool_tells_starts(const struct pool_def *d)
{
    return tells(d, "start");
}

bool pool_notify_on_ok(const struct pool_def *d)
{
    return tells(d, "end") && d->notify_on.n == 1u + tells(d, "start");
}

void pool_def_fit(struct pool_def *d)
{
    if (d->partitions == 0)
        d->partitions = is_pattern(d) ? PATTERN_PARTS : 1;
}

uint64_t pool_fallback(const struct pool_def *d)
{
    return per_1000_s(d->fallback_per_s / (double)(d->partitions > 0 ? d->partitions : 1));
}

void pool_def_rules(const struct pool_def *d, struct task_rules *r)
{
    const struct pool_priority *p = d->priorities.v;
    uint64_t *head_start = &r->head_start_1;

    rules_default(r);
    r->order = (uint64_t)d->order;
    r->ttl_ms = (uint64_t)d->task_ttl_ms;
    r->result_ms = (uint64_t)d->result_ttl_ms;
    r->read_ms = (uint64_t)d->result_ttl_read_ms;
    r->dead_ms = (uint64_t)d->dead_ttl_ms;
    r->dedup_ms = (uint64_t)d->dedup_ms;
    r->lease_ms = (uint64_t)d->lease_ms;
    r->max_attempts = (uint64_t)d->max_attempts;
    r->retry_min_ms = (uint64_t)d->retry.min_ms;
    r->retry_max_ms = (uint64_t)d->retry.max_ms;
    r->retry_doublings = (uint64_t)d->retry.doublings;
    r->retry_jitter = (uint64_t)d->retry.jitter;
    r->max_waiting = (uint64_t)d->max_waiting;
    r->max_result = (uint64_t)d->max_result;
    r->position_cap = (uint64_t)d->position_cap;
    r->max_bytes = (uint64_t)d->max_bytes;
    r->max_wait_ms = (uint64_t)d->max_wait_ms;
    r->max_waiting_units = (uint64_t)d->max_waiting_units;
    r->max_cost = d->max_cost != MAX_COST_USUAL ? (uint64_t)d->max_cost : 0;
#define LIMIT_TO(to, from)                                                               \
    r->to##_rate = per_1000_s(d->from.rate_per_s);                                       \
    r->to##_burst = (uint64_t)d->from.burst;                                             \
    r->to##_at_once = (uint64_t)d->from.max_concurrent;                                  \
    unit_rates_put(&d->from.rates, &r->to##_units_1)
    LIMIT_TO(queue, queue);
    LIMIT_TO(key, key);
    LIMIT_TO(below, subkey);
#undef LIMIT_TO
    if (d->limits.n != 0)
        r->until_told = pool_fallback(d) + 1;
    for (size_t i = 0; d->priorities.n != 0 && i < TASK_PRIORITIES - 1; i++)
        head_start[i] = (uint64_t)p[i < d->priorities.n ? i : d->priorities.n - 1].head_start_ms;
}

uint64_t pool_windows(const struct pool_def *d, struct rate_zones *z)
{
    return unit_rates_windows(&d->queue.rates, z) | unit_rates_windows(&d->key.rates, z) << LIMIT_WINDOWS |
           unit_rates_windows(&d->subkey.rates, z) << 2 * LIMIT_WINDOWS;
}

/* Limits of a key in its pool. */
static struct pool_key unpinned(const struct pool_def *d, char *key)
{
    const struct pool_key *k = d->keys.v;

    for (size_t i = 0; i < d->keys.n; i++)
        if (key_matches(k[i].match, key))
            return k[i];
    return (struct pool_key){ key, strchr(key, '/') == NULL ? d->key : d->subkey, 1 };
}

struct key_limit pool_pin_limit(const struct pool_def *d, const struct key_pin *p, struct rate_zones *z)
{
    struct pool_key k = p->inherit ? unpinned(d, p->key)
                                   : (struct pool_key){ p->key, p->limit, p->weight };
    struct key_limit l = pool_key_limit(&k, z);

    l.queue = p->queue;
    l.key = p->key;
    l.paused = p->paused;
    return l;
}

int pool_def_compare(const struct pool_def *a, const struct pool_def *b)
{
    size_t na = strlen(a->match), nb = strlen(b->match);

    if (is_pattern(a) != is_pattern(b))
        return is_pattern(a) ? 1 : -1;
    if (na != nb)
        return na > nb ? -1 : 1;
    return strcmp(a->match, b->match);
}

/* The tables of patterns and of pinned keys, and what a table cannot say. */

/* at(f): where the member of a struct pool_limit is */
#define LIMIT_KEYS(at)                                                                   \
    { "rate_per_s", CFG_NUM, at(rate_per_s), "0", 0, 1e6, true,                          \
      "starts per second, to a thousandth; 0 = any", 0, 0, 0 },                          \
    { "burst", CFG_INT, at(burst), "1", 1, RATE_BURST_MAX, true,                         \
      "starts at once after a pause", 0, 0, 0 },                                         \
    { "max_concurrent", CFG_INT, at(max_concurrent), "0", 0, TASKS_MAX, true,            \
      "tasks that run at once; 0 = any", 0, 0, 0 },                                      \
    UNIT_RATES_KEY(at(rates), "rates in units (`cost` of a task); all must let it start")
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
    if (p->inherit && (l->rate_per_s != 0 || l->burst != 1 || l->max_concurrent != 0 || l->rates.n != 0 ||
                       p->weight != 1))
        return err_set(e, SQ_EINVAL, "inherit: the key has the limits of its pool; with rate_per_s, "
                       "burst, max_concurrent, rates or weight of its own it must be false");
    return unit_rates_check(&l->rates, e);
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

struct key_limit pool_key_limit(const struct pool_key *k, struct rate_zones *z)
{
    struct key_limit l = { .queue = "", .key = k->match,
                               .rate = per_1000_s(k->limit.rate_per_s),
                               .burst = (uint64_t)k->limit.burst,
                               .at_once = (uint64_t)k->limit.max_concurrent,
                               .weight = (uint64_t)k->weight };

    unit_rates_put(&k->limit.rates, &l.units_1);
    l.windows = unit_rates_windows(&k->limit.rates, z);
    return l;
}

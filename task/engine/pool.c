/* pool.c: what limiters read, made of the rules. */
#include "task/engine/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* units: UNIT_RATES_MAX of them; those that are there come first. */
static struct key_rule key_rule(const struct key_limit *l, const uint64_t *units)
{
    struct key_rule r = { .rate = rate_make((double)l->rate / 1000, (uint32_t)l->burst),
                          .at_once = (uint32_t)l->at_once,
                          .weight = (uint16_t)u64_max(l->weight, 1),
                          .paused = l->paused != 0 };

    for (unsigned i = 0; i < UNIT_RATES_MAX; i++, units += 3) {
        r.units[i] = unit_rate_make(&(struct unit_rate_numbers){ units[0], units[1], units[2] });
        r.units[i].window = unit_window(l->windows, i, units[1]);
    }
    return r;
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
#define LEVEL(i, of)                                                                     \
    p->level[i] = key_rule(&(struct key_limit){ .rate = r->of##_rate, .burst = r->of##_burst, \
                                                .at_once = r->of##_at_once,                \
                                                .windows = r->windows >> LIMIT_WINDOWS * i & \
                                                           ((1u << LIMIT_WINDOWS) - 1) }, \
                           &r->of##_units_1)
    LEVEL(0, queue);
    LEVEL(1, key);
    LEVEL(2, below);
#undef LEVEL
    for (unsigned i = 1; i < TASK_PRIORITIES; i++)
        p->head_start[i] = (msec_t)(&r->head_start_1)[i - 1];
    p->backoff = pool_backoff(r);
}

/* ---- single keys ------------------------------------------------------------------- */

int key_rules_read(struct key_rules *k, const char *p, uint32_t n)
{
    int rc;

    *k = (struct key_rules){ 0 };
    buf_init(&k->bytes);
    buf_append(&k->bytes, p, n);
    rc = k->bytes.failed ? SQ_ENOMEM : key_limits_decode(k->bytes.data, n, &k->v, &k->n);
    while (rc == 0 && k->n_pinned < k->n && k->v[k->n_pinned].queue[0] != 0)
        k->n_pinned++;
    k->pin = calloc(k->n_pinned + 1, sizeof(*k->pin));
    k->pattern = calloc(k->n - k->n_pinned + 1, sizeof(*k->pattern));
    if (rc == 0 && (k->pin == NULL || k->pattern == NULL))
        rc = SQ_ENOMEM;
    if (rc < 0) {
        key_rules_free(k);
        return rc;
    }
    for (uint32_t i = 0; i < k->n; i++)
        *(i < k->n_pinned ? &k->pin[i] : &k->pattern[i - k->n_pinned]) = key_rule(&k->v[i], &k->v[i].units_1);
    return 0;
}

static bool is_same(const struct key_limit *a, const struct key_limit *b)
{
    bool same = strcmp(a->key, b->key) == 0;

#define X(m, most) same = same && a->m == b->m;
    KEY_LIMIT(X)
#undef X
    return same;
}

bool key_rules_take_patterns(struct key_rules *k, struct key_rules *was)
{
    struct key_rule *pattern = k->pattern;

    if (k->n - k->n_pinned != was->n - was->n_pinned)
        return false;
    for (uint32_t i = 0; i < k->n - k->n_pinned; i++)
        if (!is_same(&k->v[k->n_pinned + i], &was->v[was->n_pinned + i]))
            return false;
    if (was->pattern != NULL) {
        k->pattern = was->pattern;
        was->pattern = pattern;
    }
    return true;
}

void key_rules_free(struct key_rules *k)
{
    buf_fini(&k->bytes);
    free(k->v);
    free(k->pin);
    free(k->pattern);
    *k = (struct key_rules){ 0 };
}

static int compare(const void *a, const void *b)
{
    return key_limit_compare(a, b);
}

static char *put_text(char *w, const struct trec_text *t)
{
    memcpy(w, t->p, t->n);
    w[t->n] = 0;
    return w + t->n;
}

const struct key_rule *pool_key_rule(const struct pool *p, const struct trec_text *const *path,
                                     unsigned level)
{
    const struct key_rules *k = &p->keys;
    char queue[TASK_NAME_MAX + 1], key[KEY_TEXT_MAX + 1], *w = key;
    struct key_limit one = { .queue = queue, .key = key }, *found;

    for (unsigned i = 0; i <= level; i++)
        if (k->n == 0 || level == 0 || path[i]->n > TASK_NAME_MAX)
            return &p->level[level];
    put_text(queue, path[0]);
    for (unsigned i = 1; i <= level; i++) {
        if (i > 1)
            *w++ = '/';
        w = put_text(w, path[i]);
    }
    found = bsearch(&one, k->v, k->n_pinned, sizeof(one), compare);
    if (found != NULL)
        return &k->pin[found - k->v];
    for (uint32_t i = k->n_pinned; i < k->n; i++)
        if (key_matches(k->v[i].key, key))
            return &k->pattern[i - k->n_pinned];
    return &p->level[level];
}

void engine_pool_free(struct pool *p)
{
    key_rules_free(&p->keys);
    free(p->match);
    free(p);
}

msec_t backoff_ms(const struct backoff *b, unsigned failures, uint64_t salt)
{
    unsigned twice = failures > 0 ? failures - 1 : 0;
    uint64_t ms, more;

    assert(b->min_ms <= b->max_ms && b->max_ms <= BACKOFF_MAX);
    assert(b->doublings <= 30 && b->jitter <= 100);
    twice = twice < b->doublings ? twice : b->doublings;
    ms = u64_min((uint64_t)b->min_ms << twice, b->max_ms);
    more = ms * b->jitter / 100;
    salt = (salt ^ salt >> 32) * 0x9e3779b97f4a7c15u; /* neighbours' salts are neighbours, too */
    ms += (uint64_t)((unsigned __int128)salt * (more + 1) >> 64);
    return (msec_t)ms;
}

/* ---- allowance: a bucket with room for a tenth of a second ------------------------- */

static void set(struct allowance *b, uint64_t per_1000_s, msec_t now)
{
    b->none = per_1000_s == 0;
    b->rate = rate_make((double)per_1000_s / 1000, (uint32_t)(per_1000_s / 10000) + 1);
    if (!b->none)
        b->tat = rate_anew(&b->rate, b->tat, now);
}

void allowance_rules(struct allowance *b, const struct task_rules *r, msec_t now)
{
    b->is_on = r->until_told > 0;
    b->fallback = b->is_on ? r->until_told - 1 : 0;
    if (b->told_until == 0)
        set(b, b->fallback, now);
}

void allowance_tell(struct allowance *b, uint64_t per_1000_s, msec_t now)
{
    assert(per_1000_s <= RATE_PER_1000_S);
    set(b, per_1000_s, now);
    b->told_until = now + ALLOWANCE_TOLD_MS;
}

void allowance_advance(struct allowance *b, msec_t now)
{
    if (b->told_until == 0 || now < b->told_until)
        return;
    b->told_until = 0;
    set(b, b->fallback, now);
}

msec_t allowance_next(const struct allowance *b, msec_t now)
{
    msec_t lets = allowance_lets(b, now) || b->none ? MSEC_NEVER : rate_when(&b->rate, b->tat);

    return b->is_on && b->told_until != 0 ? ms_min(lets, b->told_until) : lets;
}

void allowance_empty(struct allowance *b, msec_t now)
{
    b->tat = rate_empty(&b->rate, now);
}

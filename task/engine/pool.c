/* pool.c: what limiters read, made of the rules. */
#include "task/engine/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct key_rule key_rule(const struct key_limit *l)
{
    return (struct key_rule){ .rate = rate_make((double)l->rate / 1000, (uint32_t)l->burst),
                              .at_once = (uint32_t)l->at_once,
                              .weight = (uint16_t)u64_max(l->weight, 1),
                              .paused = l->paused != 0 };
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
                                                .at_once = r->of##_at_once })
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
        *(i < k->n_pinned ? &k->pin[i] : &k->pattern[i - k->n_pinned]) = key_rule(&k->v[i]);
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

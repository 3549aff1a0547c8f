/* configured.c: budgets, queues, endpoints and pools of queuemng.yaml. What was applied is remembered
 * in the store, as "yaml_budget/NAME", "yaml/NAME", "yaml_endpoint/NAME" or "yaml_pool/MATCH" -> the
 * entry as JSON. An entry is applied again only when somebody has changed it: what was ordered since
 * by the admin API stays. */
#include "queuemng/service/configured.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/core/budgets.h"
#include "queuemng/policy/def_kind.h"
#include "queuemng/process/steps.h"

#define LOG_MODULE "yaml"

#define DEF_BYTES \
    (sizeof(struct queue_def) + sizeof(struct pool_def) + sizeof(struct endpoint_def))

/* A kind of thing that the configuration lists. */
struct kind {
    const char *prefix; /* prefix of the key in the store */
    const struct def_kind *def;
    bool (*exists)(const struct mng *m, const char *name);
    int (*put)(struct mng_service *s, const void *d, struct err *e);
};

static bool queue_exists(const struct mng *m, const char *name)
{
    return mng_queue_get(m, name, NULL) != NULL;
}

static int put_queue(struct mng_service *s, const void *d, struct err *e)
{
    return mng_queue_put(s->mng, ev_now(s->ev), d, mng_service_step(s), e);
}

static bool pool_exists(const struct mng *m, const char *name)
{
    return mng_pool_get(m, name, NULL) != NULL;
}

static int put_pool(struct mng_service *s, const void *d, struct err *e)
{
    return mng_pool_put(s->mng, ev_now(s->ev), d, mng_service_step(s), e);
}

static bool budget_exists(const struct mng *m, const char *name)
{
    return mng_budget_get(m, name, NULL) != NULL;
}

static int put_budget(struct mng_service *s, const void *d, struct err *e)
{
    return mng_budget_put(s->mng, ev_now(s->ev), d, mng_service_step(s), e);
}

static bool endpoint_exists(const struct mng *m, const char *name)
{
    return mng_endpoint_get(m, name, NULL) != NULL;
}

/* A pool that the configuration has for it is not there yet. */
static int put_endpoint(struct mng_service *s, const void *d, struct err *e)
{
    const struct pool_def *p = s->cfg->pools.v;
    const struct endpoint_def *x = d;
    bool own_pool = true;

    for (size_t i = 0; i < s->cfg->pools.n; i++)
        own_pool = own_pool && strcmp(p[i].endpoint, x->name) != 0;
    return mng_endpoint_put(s->mng, ev_now(s->ev), x, own_pool, mng_service_step(s), e);
}

static const struct kind queues = { "yaml/", &def_kinds[DEF_QUEUE], queue_exists, put_queue };
static const struct kind budgets = { "yaml_budget/", &def_kinds[DEF_BUDGET], budget_exists, put_budget };
static const struct kind endpoints = { "yaml_endpoint/", &def_kinds[DEF_ENDPOINT], endpoint_exists,
                                       put_endpoint };
static const struct kind pools = { "yaml_pool/", &def_kinds[DEF_POOL], pool_exists, put_pool };

static uint64_t hash_of(const char *key)
{
    static const uint8_t k[crypto_shorthash_KEYBYTES] = "queue-yaml-entry";
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)key, strlen(key), k);
    return h;
}

static int remember(struct mng_service *s, const char *key, const char *text)
{
    char *old = map_get_ptr(&s->yaml, hash_of(key)), *copy = strdup(text);

    if (copy == NULL || map_set_ptr(&s->yaml, hash_of(key), copy) < 0) {
        free(copy);
        return SQ_ENOMEM;
    }
    free(old);
    return 0;
}

int mng_yaml_load(struct mng_service *s, const char *key, const char *val)
{
    static const struct kind *const each[] = { &budgets, &queues, &endpoints, &pools };

    for (size_t i = 0; i < ARRAY_LEN(each); i++)
        if (strncmp(key, each[i]->prefix, strlen(each[i]->prefix)) == 0)
            return remember(s, key, val);
    return 0;
}

/* The same entry? A key that is new in this version is not in the old text, and one of a
 * newer version not here: neither is a change that somebody has made. */
static bool is_same(const struct kind *k, const char *old, const char *text)
{
    _Alignas(16) char a[DEF_BYTES] = { 0 }, b[DEF_BYTES] = { 0 };
    struct cfg_node *x = NULL, *y = NULL;
    struct err e;
    bool same;

    assert(k->def->size <= sizeof(a));
    same = cfg_parse_json(&x, old, strlen(old), &e) == 0 &&
           cfg_parse_json(&y, text, strlen(text), &e) == 0 &&
           cfg_bind_stored(a, k->def->size, k->def->keys, x, NULL, &e) == 0 &&
           cfg_bind_stored(b, k->def->size, k->def->keys, y, NULL, &e) == 0 && cfg_equal(a, b, k->def->keys);
    cfg_node_free(x);
    cfg_node_free(y);
    cfg_clear(a, k->def->keys);
    cfg_clear(b, k->def->keys);
    return same;
}

static void apply(struct mng_service *s, const struct kind *k, const void *d, const char *text)
{
    const char *name = def_name(d), *old;
    bool exists = k->exists(s->mng, name);
    char key[NAME_MAX_LEN + 16];
    struct err e;

    snprintf(key, sizeof(key), "%s%s", k->prefix, name);
    old = map_get_ptr(&s->yaml, hash_of(key));
    if (exists && old != NULL && (strcmp(old, text) == 0 || is_same(k, old, text)))
        return;
    if (k->put(s, d, &e) < 0) {
        log_error("event=not_applied %s=%s why=%s", k->def->word, name, log_q(e.text, strlen(e.text)));
        return;
    }
    if (store_put(s->store, key, text) < 0 || remember(s, key, text) < 0)
        log_error("event=no_memory what=yaml %s=%s", k->def->word, name);
    log_info("event=applied %s=%s new=%d", k->def->word, name, !exists);
}

static void apply_all(struct mng_service *s, const struct kind *k, const struct cfg_list *l)
{
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < l->n; i++) {
        const void *d = (const char *)l->v + i * k->def->size;

        buf_reset(&b);
        cfg_dump_json(&b, d, k->def->keys);
        buf_byte(&b, 0);
        if (b.failed)
            log_error("event=no_memory what=yaml %s=%s", k->def->word, def_name(d));
        else
            apply(s, k, d, (const char *)b.data);
    }
    buf_fini(&b);
}

void mng_yaml_apply(struct mng_service *s)
{
    assert(s->leads);
    apply_all(s, &budgets, &s->cfg->budgets); /* queues and endpoints name them */
    apply_all(s, &queues, &s->cfg->queues);
    apply_all(s, &endpoints, &s->cfg->endpoints); /* pools name them */
    apply_all(s, &pools, &s->cfg->pools);
}

void mng_yaml_forget(struct mng_service *s)
{
    mng_yaml_free(s);
    map_init(&s->yaml, 0);
}

void mng_yaml_free(struct mng_service *s)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&s->yaml, i, &key, &val)) != 0;)
        free((void *)(uintptr_t)val);
    map_fini(&s->yaml);
}

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
#include "queuemng/policy/def_kind.h"
#include "queuemng/process/steps.h"

#define LOG_MODULE "yaml"

/* Prefixes of the keys in the store, by kind. */
static const char *const prefixes[DEF_FILE_END] = { [DEF_BUDGET] = "yaml_budget/",
                                                    [DEF_ENDPOINT] = "yaml_endpoint/",
                                                    [DEF_POOL] = "yaml_pool/",
                                                    [DEF_QUEUE] = "yaml/" };

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
    for (enum def_kind_no k = 0; k < DEF_FILE_END; k++)
        if (strncmp(key, prefixes[k], strlen(prefixes[k])) == 0)
            return remember(s, key, val);
    return 0;
}

/* The same entry? A key that is new in this version is not in the old text, and one of a
 * newer version not here: neither is a change that somebody has made. */
static bool is_same(const struct def_kind *k, const char *old, const char *text)
{
    _Alignas(16) char a[DEF_SIZE_MAX] = { 0 }, b[DEF_SIZE_MAX] = { 0 };
    struct cfg_node *x = NULL, *y = NULL;
    struct err e;
    bool same;

    same = cfg_parse_json(&x, old, strlen(old), &e) == 0 &&
           cfg_parse_json(&y, text, strlen(text), &e) == 0 &&
           cfg_bind_stored(a, k->size, k->keys, x, NULL, &e) == 0 &&
           cfg_bind_stored(b, k->size, k->keys, y, NULL, &e) == 0 && cfg_equal(a, b, k->keys);
    cfg_node_free(x);
    cfg_node_free(y);
    cfg_clear(a, k->keys);
    cfg_clear(b, k->keys);
    return same;
}

/* Does the configuration have a pool for it, that is not there yet? */
static bool gets_pool(const struct mng_cfg *cfg, const char *endpoint)
{
    const struct pool_def *p = cfg->pools.v;

    for (size_t i = 0; i < cfg->pools.n; i++)
        if (strcmp(p[i].endpoint, endpoint) == 0)
            return true;
    return false;
}

static int define(struct mng_service *s, enum def_kind_no kind, const void *d, struct err *e)
{
    return kind == DEF_ENDPOINT && gets_pool(s->cfg, def_name(d))
               ? mng_define_endpoint_alone(s->mng, ev_now(s->ev), d, mng_service_step(s), e)
               : mng_define(s->mng, kind, ev_now(s->ev), d, mng_service_step(s), e);
}

static void apply(struct mng_service *s, enum def_kind_no kind, const void *d, const char *text)
{
    const char *word = def_kinds[kind].word, *name = def_name(d), *old;
    bool exists = mng_defined(s->mng, kind, name, NULL) != NULL;
    char key[NAME_MAX_LEN + 16];
    struct err e;

    snprintf(key, sizeof(key), "%s%s", prefixes[kind], name);
    old = map_get_ptr(&s->yaml, hash_of(key));
    if (exists && old != NULL &&
        (strcmp(old, text) == 0 || is_same(&def_kinds[kind], old, text)))
        return;
    if (define(s, kind, d, &e) < 0) {
        log_error("event=not_applied %s=%s why=%s", word, name, log_q(e.text, strlen(e.text)));
        return;
    }
    if (store_put(s->store, key, text) < 0 || remember(s, key, text) < 0)
        log_error("event=no_memory what=yaml %s=%s", word, name);
    log_info("event=applied %s=%s new=%d", word, name, !exists);
}

static void apply_all(struct mng_service *s, enum def_kind_no kind, const struct cfg_list *l)
{
    const struct def_kind *k = &def_kinds[kind];
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < l->n; i++) {
        const void *d = (const char *)l->v + i * k->size;

        buf_reset(&b);
        cfg_dump_json(&b, d, k->keys);
        buf_byte(&b, 0);
        if (b.failed)
            log_error("event=no_memory what=yaml %s=%s", k->word, def_name(d));
        else
            apply(s, kind, d, (const char *)b.data);
    }
    buf_fini(&b);
}

void mng_yaml_apply(struct mng_service *s)
{
    assert(s->leads);
    apply_all(s, DEF_BUDGET, &s->cfg->budgets); /* queues and endpoints name them */
    apply_all(s, DEF_QUEUE, &s->cfg->queues);
    apply_all(s, DEF_ENDPOINT, &s->cfg->endpoints); /* pools name them */
    apply_all(s, DEF_POOL, &s->cfg->pools);
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

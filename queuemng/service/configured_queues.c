/* configured_queues.c: queues of queuemng.yaml. What was applied is remembered in the store, as
 * "yaml/NAME" -> the entry as JSON. An entry is applied again only when somebody has changed
 * it: what was ordered since by the admin API stays. */
#include "queuemng/service/configured_queues.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/lead/steps.h"

#define LOG_MODULE "yaml"

static uint64_t name_key(const char *name)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "queue-yaml-entry";
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)name, strlen(name), key);
    return h;
}

static int remember(struct mng_service *s, const char *name, const char *text)
{
    uint64_t key = name_key(name);
    char *old = map_get_ptr(&s->yaml, key), *copy = strdup(text);

    if (copy == NULL || map_set_ptr(&s->yaml, key, copy) < 0) {
        free(copy);
        return SQ_ENOMEM;
    }
    free(old);
    return 0;
}

int mng_yaml_load(struct mng_service *s, const char *key, const char *val)
{
    return strncmp(key, "yaml/", 5) == 0 ? remember(s, key + 5, val) : 0;
}

/* The same entry? A key that is new in this version is not in the old text, and one of a
 * newer version not here: neither is a change that somebody has made. */
static bool is_same(const char *old, const char *text)
{
    struct queue_def a = { 0 }, b = { 0 };
    struct cfg_node *x = NULL, *y = NULL;
    struct err e;
    bool same;

    same = cfg_parse_json(&x, old, strlen(old), &e) == 0 &&
           cfg_parse_json(&y, text, strlen(text), &e) == 0 &&
           cfg_bind_stored(&a, sizeof(a), queue_def_keys, x, NULL, &e) == 0 &&
           cfg_bind_stored(&b, sizeof(b), queue_def_keys, y, NULL, &e) == 0 &&
           cfg_equal(&a, &b, queue_def_keys);
    cfg_node_free(x);
    cfg_node_free(y);
    cfg_clear(&a, queue_def_keys);
    cfg_clear(&b, queue_def_keys);
    return same;
}

static void apply(struct mng_service *s, const struct queue_def *d, const char *text)
{
    const char *old = map_get_ptr(&s->yaml, name_key(d->name));
    bool exists = mng_queue_get(s->mng, d->name, NULL) != NULL;
    char key[NAME_MAX_LEN + 8];
    struct err e;

    if (exists && old != NULL && (strcmp(old, text) == 0 || is_same(old, text)))
        return;
    if (mng_queue_put(s->mng, ev_now(s->ev), d, mng_service_step(s), &e) < 0) {
        log_error("event=queue_not_applied queue=%s why=%s", d->name,
                  log_q(e.text, strlen(e.text)));
        return;
    }
    snprintf(key, sizeof(key), "yaml/%s", d->name);
    if (store_put(s->store, key, text) < 0 || remember(s, d->name, text) < 0)
        log_error("event=no_memory what=yaml queue=%s", d->name);
    log_info("event=queue_applied queue=%s new=%d", d->name, !exists);
}

void mng_yaml_apply(struct mng_service *s)
{
    const struct queue_def *d = s->cfg->queues.v;
    struct buf b;

    assert(s->leads);
    buf_init(&b);
    for (size_t i = 0; i < s->cfg->queues.n; i++) {
        buf_reset(&b);
        cfg_dump_json(&b, &d[i], queue_def_keys);
        buf_byte(&b, 0);
        if (b.failed)
            log_error("event=no_memory what=yaml queue=%s", d[i].name);
        else
            apply(s, &d[i], (const char *)b.data);
    }
    buf_fini(&b);
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

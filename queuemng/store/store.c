/* store.c: pairs in memory. */
#include "queuemng/store/store.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"

void kv_init(struct kv *p)
{
    memset(p, 0, sizeof(*p));
    map_init(&p->by_key, 0);
}

void kv_fini(struct kv *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].key);
        free(p->v[i].val);
    }
    free(p->v);
    map_fini(&p->by_key);
    memset(p, 0, sizeof(*p));
}

static uint64_t key_hash(const char *key)
{
    static const uint8_t hash_key[crypto_shorthash_KEYBYTES] = "segq-store-check";
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)key, strlen(key), hash_key);
    return h;
}

/* The slot in the map in which the key is, or would be put; *i: its index or SIZE_MAX. */
static uint64_t find(const struct kv *p, const char *key, size_t *i)
{
    for (uint64_t h = key_hash(key);; h++) {
        uint64_t at = map_get(&p->by_key, h);

        if (at == MAP_NONE || strcmp(p->v[at].key, key) == 0) {
            *i = at == MAP_NONE ? SIZE_MAX : (size_t)at;
            return h;
        }
    }
}

static void value_drop(struct kv *p, struct kv_pair *x)
{
    if (x->val == NULL)
        return;
    assert(p->live > 0 && p->text_bytes >= strlen(x->key) + strlen(x->val));
    p->text_bytes -= strlen(x->key) + strlen(x->val);
    p->live--;
    free(x->val);
    x->val = NULL;
}

/* The slots of deleted keys go, if there is memory for that. */
static void squeeze(struct kv *p)
{
    struct kv fresh = *p;

    fresh.v = malloc(p->cap * sizeof(*fresh.v));
    fresh.n = 0;
    map_init(&fresh.by_key, 0);
    for (size_t i = 0; fresh.v != NULL && i < p->n; i++) {
        size_t at;

        if (p->v[i].val == NULL)
            continue;
        if (map_set(&fresh.by_key, find(&fresh, p->v[i].key, &at), fresh.n) < 0)
            break;
        fresh.v[fresh.n++] = p->v[i];
    }
    if (fresh.v == NULL || fresh.n < p->live) {
        free(fresh.v);
        map_fini(&fresh.by_key);
        return;
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].val == NULL)
            free(p->v[i].key);
    free(p->v);
    map_fini(&p->by_key);
    *p = fresh;
}

int kv_set(struct kv *p, const char *key, const char *val)
{
    size_t i;
    uint64_t h;
    char *copy = strdup(val);

    if (p->n == p->cap && p->live < p->n / 2)
        squeeze(p);
    h = find(p, key, &i);
    assert(p->live <= p->n && p->n <= p->cap);
    if (copy == NULL || (i == SIZE_MAX && !GROW(p->v, p->n, p->cap, 64))) {
        free(copy);
        return SQ_ENOMEM;
    }
    if (i == SIZE_MAX) {
        char *name = strdup(key);

        if (name == NULL || map_set(&p->by_key, h, p->n) < 0) {
            free(name);
            free(copy);
            return SQ_ENOMEM;
        }
        i = p->n++;
        p->v[i] = (struct kv_pair) { .key = name };
    }
    value_drop(p, &p->v[i]);
    p->v[i].val = copy;
    p->text_bytes += strlen(key) + strlen(val);
    p->live++;
    return 0;
}

void kv_del(struct kv *p, const char *key)
{
    size_t i;

    (void)find(p, key, &i);
    if (i != SIZE_MAX)
        value_drop(p, &p->v[i]);
}

int kv_each(const struct kv *p, kv_fn fn, void *ctx)
{
    for (size_t i = 0; i < p->n; i++) {
        int rc = p->v[i].val != NULL ? fn(ctx, p->v[i].key, p->v[i].val) : 0;

        if (rc < 0)
            return rc;
    }
    return 0;
}

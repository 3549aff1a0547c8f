/* pairs.c: see the header. */
#include "queuemng/store/pairs.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

void pairs_init(struct pairs *p)
{
    memset(p, 0, sizeof(*p));
    map_init(&p->by_key, 0);
}

void pairs_fini(struct pairs *p)
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

/* Where the key is, or would be put: its slot in the map; *i its index or SIZE_MAX. */
static uint64_t find(const struct pairs *p, const char *key, size_t *i)
{
    for (uint64_t h = key_hash(key);; h++) {
        uint64_t at = map_get(&p->by_key, h);

        if (at == MAP_NONE || strcmp(p->v[at].key, key) == 0) {
            *i = at == MAP_NONE ? SIZE_MAX : (size_t)at;
            return h;
        }
    }
}

static bool grow(struct pairs *p)
{
    size_t cap = p->cap != 0 ? p->cap * 2 : 64;
    struct pair *v = p->n < p->cap ? p->v : realloc(p->v, cap * sizeof(*v));

    if (v == NULL)
        return false;
    p->cap = p->n < p->cap ? p->cap : cap;
    p->v = v;
    return true;
}

static void value_drop(struct pairs *p, struct pair *x)
{
    if (x->val == NULL)
        return;
    p->text_bytes -= strlen(x->key) + strlen(x->val);
    p->live--;
    free(x->val);
    x->val = NULL;
}

int pairs_set(struct pairs *p, const char *key, const char *val)
{
    size_t i;
    uint64_t h = find(p, key, &i);
    char *copy = strdup(val);

    if (copy == NULL || (i == SIZE_MAX && !grow(p))) {
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
        p->v[i] = (struct pair) { .key = name };
    }
    value_drop(p, &p->v[i]);
    p->v[i].val = copy;
    p->text_bytes += strlen(key) + strlen(val);
    p->live++;
    return 0;
}

void pairs_drop(struct pairs *p, const char *key)
{
    size_t i;

    (void)find(p, key, &i);
    if (i != SIZE_MAX)
        value_drop(p, &p->v[i]);
}

int pairs_each(const struct pairs *p, pair_fn fn, void *ctx)
{
    for (size_t i = 0; i < p->n; i++) {
        int rc = p->v[i].val != NULL ? fn(ctx, p->v[i].key, p->v[i].val) : 0;

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* signature_cache.c: a table of sets of four. */
#include "router/gate/signature_cache.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define WAYS 4

struct sigcache {
    uint8_t key[SIGCACHE_KEY_BYTES];
    size_t mask; /* number of sets */
    bool used; /* else nothing of it was touched */
    struct known_pass *v; /* owned; WAYS a set */
};

struct sigcache *sigcache_new(size_t entries, const uint8_t key[SIGCACHE_KEY_BYTES])
{
    struct sigcache *v = calloc(1, sizeof(*v));
    size_t sets = 1;

    while (sets * WAYS < entries && sets < SIZE_MAX / 4 / WAYS / sizeof(*v->v))
        sets *= 2;
    if (v == NULL)
        return NULL;
    memcpy(v->key, key, sizeof(v->key));
    v->mask = sets - 1;
    v->v = calloc(sets * WAYS, sizeof(*v->v));
    if (v->v == NULL) {
        free(v);
        return NULL;
    }
    return v;
}

void sigcache_free(struct sigcache *v)
{
    if (v == NULL)
        return;
    free(v->v);
    free(v);
}

void sigcache_hash(const struct sigcache *v, const char *pass, size_t n, uint64_t hash[2])
{
    crypto_shorthash_siphashx24((uint8_t *)hash, (const uint8_t *)pass, n, v->key);
    hash[1] |= 1; /* never the empty one */
}

static struct known_pass *set_of(const struct sigcache *v, const uint64_t hash[2])
{
    return &v->v[(hash[0] & v->mask) * WAYS];
}

const struct known_pass *sigcache_find(const struct sigcache *v, const uint64_t hash[2])
{
    const struct known_pass *x = set_of(v, hash);

    for (int i = 0; i < WAYS; i++)
        if (x[i].hash[0] == hash[0] && x[i].hash[1] == hash[1])
            return &x[i];
    return NULL;
}

void sigcache_again(struct sigcache *v, const uint64_t hash[2], msec_t ms)
{
    struct known_pass *x = set_of(v, hash);

    for (int i = 0; i < WAYS; i++)
        if (x[i].hash[0] == hash[0] && x[i].hash[1] == hash[1])
            x[i].again_ms = ms;
}

void sigcache_put(struct sigcache *v, const struct known_pass *x)
{
    struct known_pass *set = set_of(v, x->hash), *to = set;

    assert((x->hash[1] & 1) != 0 && x->len <= sizeof(x->text)); /* sigcache_hash() made it */
    for (int i = 1; i < WAYS; i++) /* an empty one expired in 1970 */
        if (set[i].exp_s < to->exp_s)
            to = &set[i];
    *to = *x;
    v->used = true;
}

void sigcache_clear(struct sigcache *v)
{
    if (v->used)
        memset(v->v, 0, (v->mask + 1) * WAYS * sizeof(*v->v));
    v->used = false;
}

/* loads.c: see the header. */
#include "queuemng/lead/loads.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void loads_init(struct loads *l)
{
    map_init(&l->by_name, 0);
}

void loads_fini(struct loads *l)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&l->by_name, i, &key, &val)) != 0;)
        free((void *)(uintptr_t)val);
    map_fini(&l->by_name);
}

static uint64_t key_of(enum rpc_role role, const char *name)
{
    static const uint8_t k[crypto_shorthash_KEYBYTES] = "load-of-a-peer..";
    char text[NAME_MAX_LEN + 16];
    int n = snprintf(text, sizeof(text), "%d/%s", (int)role, name);
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)text, (size_t)n, k);
    return h;
}

void loads_note(struct loads *l, enum rpc_role role, const char *name, msec_t now_ms,
                const struct msg_load *m)
{
    uint64_t key = key_of(role, name);
    struct load_seen *x = map_get_ptr(&l->by_name, key);

    if (x == NULL && (x = calloc(1, sizeof(*x))) != NULL && map_set_ptr(&l->by_name, key, x) < 0) {
        free(x);
        x = NULL;
    }
    if (x == NULL)
        return;
    x->role = role;
    snprintf(x->name, sizeof(x->name), "%s", name);
    snprintf(x->version, sizeof(x->version), "%s", m->version != NULL ? m->version : "");
    x->at_ms = now_ms;
    x->load = *m;
    x->load.version = x->version;
}

const struct load_seen *loads_of(const struct loads *l, enum rpc_role role, const char *name,
                                 msec_t now_ms)
{
    const struct load_seen *x = map_get_ptr(&l->by_name, key_of(role, name));

    return x != NULL && x->role == role && strcmp(x->name, name) == 0 &&
                   now_ms - x->at_ms < LOAD_STALE_MS
               ? x : NULL;
}

void loads_tidy(struct loads *l, msec_t now_ms)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&l->by_name, i, &key, &val)) != 0;) {
        struct load_seen *x = (struct load_seen *)(uintptr_t)val;

        if (now_ms - x->at_ms < LOAD_STALE_MS)
            continue;
        map_del(&l->by_name, key);
        free(x);
        return; /* the map has moved; the next one at the next look */
    }
}

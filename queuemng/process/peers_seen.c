/* peers_seen.c: loads by role and name; blame by its last cores. */
#include "queuemng/process/peers_seen.h"

#include <assert.h>
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
    snprintf(x->warning, sizeof(x->warning), "%s", m->warning != NULL ? m->warning : "");
    x->at_ms = now_ms;
    x->load = *m;
    x->load.version = x->version;
    x->load.warning = x->warning;
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

/* ---- blame ------------------------------------------------------------------------ */

static bool is_of(const struct blamed *x, enum rpc_role role, const char *node)
{
    return x->at_ms[0] != 0 && x->role == role && strcmp(x->node, node) == 0;
}

/* Finds its row, or a row that it may have. */
static struct blamed *row_for(struct blame *b, enum rpc_role role, const char *node)
{
    struct blamed *oldest = &b->v[0];

    for (struct blamed *x = b->v; x < b->v + BLAME_ROWS; x++) {
        if (is_of(x, role, node))
            return x;
        if (x->at_ms[0] < oldest->at_ms[0])
            oldest = x;
    }
    memset(oldest, 0, sizeof(*oldest));
    oldest->role = role;
    strncpy(oldest->node, node, NAME_MAX_LEN);
    return oldest;
}

unsigned blame_add(struct blame *b, enum rpc_role role, const char *node, msec_t now_ms)
{
    struct blamed *x = row_for(b, role, node);
    unsigned times = 1;

    assert(now_ms > 0 && now_ms >= x->at_ms[0]);
    memmove(x->at_ms + 1, x->at_ms, sizeof(x->at_ms) - sizeof(x->at_ms[0]));
    x->at_ms[0] = now_ms;
    while (times < BLAME_TIMES && x->at_ms[times] != 0 &&
           now_ms - x->at_ms[times] < BLAME_WITHIN_MS)
        times++;
    if (times == BLAME_TIMES)
        x->until_ms = now_ms + BLAME_DROP_MS;
    return times;
}

msec_t blame_left_ms(const struct blame *b, enum rpc_role role, const char *node, msec_t now_ms)
{
    for (const struct blamed *x = b->v; x < b->v + BLAME_ROWS; x++)
        if (is_of(x, role, node))
            return x->until_ms > now_ms ? x->until_ms - now_ms : 0;
    return 0;
}

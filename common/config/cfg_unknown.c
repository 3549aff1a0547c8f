/* cfg_unknown.c: see the header. */
#include "common/config/cfg_unknown.h"

#include <string.h>

#include "common/config/near.h"

static const struct cfg_key *find(const struct cfg_key *keys, const char *name)
{
    while (!cfg_is_end(keys) && strcmp(keys->key, name) != 0)
        keys++;
    return cfg_is_end(keys) ? NULL : keys;
}

/* Words for what keys call by another one, and a part of those keys. */
static const char *part_of(const char *typed)
{
    static const char *const other[][2] = {
        { "rate", "per_s" },         { "speed", "per_s" },        { "slots", "max_active" },
        { "concurrency", "max_con" }, { "parallel", "max_con" },  { "inside", "max_active" },
    };

    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        if (strcmp(other[i][0], typed) == 0)
            return other[i][1];
    return typed;
}

/* Finds a key that has `part` in it (capacity: segment_capacity). */
static const char *with_part(const struct cfg_key *keys, const char *part)
{
    for (const struct cfg_key *k = keys; strlen(part) > 2 && !cfg_is_end(k); k++)
        if (strstr(k->key, part) != NULL)
            return k->key;
    return NULL;
}

/* Finds the key that was meant: one of a map in here (game: idle.game), one that is called otherwise, or is almost
 * so written, or has it as a part. False: nothing is near. */
static bool put_meant(struct buf *b, const struct cfg_key *keys, const char *typed)
{
    struct near near = near_to(typed);
    const char *part = part_of(typed);

    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++) {
        near_try(&near, k->key);
        if (k->type == CFG_OBJ && find(k->sub, typed) != NULL) {
            buf_printf(b, "%s.%s", k->key, typed);
            return true;
        }
    }
    if (part != typed || near.name == NULL)
        near.name = with_part(keys, part);
    if (near.name != NULL)
        buf_str(b, near.name);
    return near.name != NULL;
}

const struct cfg_node *cfg_unknown(const struct cfg_key *keys, const struct cfg_node *map)
{
    for (size_t i = 0; i < map->n_kids; i++)
        if (find(keys, map->kid[i]->key) == NULL)
            return map->kid[i];
    return NULL;
}

/* Printable, and no longer than an error can take. */
static void put_typed(struct buf *b, const char *key)
{
    size_t n = strlen(key), k = n <= 60 ? n : 57;

    while (k > 0 && k < n && ((unsigned char)key[k] & 0xc0) == 0x80)
        k--;
    for (size_t i = 0; i < k; i++)
        buf_byte(b, (unsigned char)key[i] < 0x20 || key[i] == 0x7f ? '?' : (uint8_t)key[i]);
    buf_str(b, k < n ? "..." : "");
}

void cfg_unknown_text(struct buf *b, const struct cfg_key *keys, const struct cfg_node *map)
{
    const char *before = "; did you mean ";
    struct buf meant;
    size_t n = 0;

    buf_init(&meant);
    for (size_t i = 0; i < map->n_kids && n < 8; i++) {
        const char *key = map->kid[i]->key;
        size_t was = meant.len;

        if (find(keys, key) != NULL)
            continue;
        buf_str(b, n++ > 0 ? ", " : "");
        put_typed(b, key);
        buf_str(&meant, before);
        if (put_meant(&meant, keys, key))
            before = ", ";
        else
            meant.len = was;
    }
    buf_str(b, n > 1 ? ": unknown keys" : ": unknown key");
    buf_append(b, meant.data, meant.len);
    buf_str(b, meant.len > 0 ? "? allowed: " : "; allowed: ");
    for (const struct cfg_key *k = keys; !cfg_is_end(k); k++)
        buf_printf(b, "%s%s", k > keys ? ", " : "", k->key);
    buf_fini(&meant);
}

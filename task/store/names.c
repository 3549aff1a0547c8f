/* names.c: a table of names, found by hash and by task. */
#include "task/store/names.h"

#include <sodium.h>
#include <string.h>

#include "common/base/err.h"

static struct name *at(const struct names *t, uint32_t i)
{
    return pages_at(&t->v, i);
}

void names_init(struct names *t, uint32_t max, const uint8_t seed[NAMES_SEED], msec_t now)
{
    assert(max > 0 && max < UINT32_MAX);
    memset(t, 0, sizeof(*t));
    pages_init(&t->v, sizeof(struct name));
    pages_init(&t->links, sizeof(struct wheel_link));
    wheel_init(&t->ends, &t->links, now);
    map_init(&t->by_hash, 0); /* hashes are keyed already */
    map_init(&t->by_task, 0);
    memcpy(t->seed, seed, NAMES_SEED);
    t->max = max;
}

void names_fini(struct names *t)
{
    pages_fini(&t->v);
    pages_fini(&t->links);
    map_fini(&t->by_hash);
    map_fini(&t->by_task);
}

struct name_hash names_hash(const struct names *t, enum name_kind kind, const char *queue,
                            size_t queue_len, const char *text, size_t len)
{
    crypto_generichash_state st;
    uint8_t head[9] = { (uint8_t)kind }, out[16];
    uint64_t n = queue_len;
    struct name_hash h;

    memcpy(head + 1, &n, sizeof(n)); /* lengths in front: no two pairs have the same bytes */
    crypto_generichash_init(&st, t->seed, NAMES_SEED, sizeof(out));
    crypto_generichash_update(&st, head, sizeof(head));
    crypto_generichash_update(&st, (const uint8_t *)queue, queue_len);
    crypto_generichash_update(&st, (const uint8_t *)text, len);
    crypto_generichash_final(&st, out, sizeof(out));
    memcpy(&h.lo, out, 8);
    memcpy(&h.hi, out + 8, 8);
    return h;
}

const struct name *names_find(const struct names *t, struct name_hash h)
{
    uint64_t i = map_get(&t->by_hash, h.lo);

    return i == MAP_NONE || at(t, (uint32_t)i)->hash.hi != h.hi ? NULL : at(t, (uint32_t)i);
}

/* An index whose entry and link can be used. UINT32_MAX: none. */
static uint32_t next_index(struct names *t)
{
    uint32_t i = t->free != 0 ? t->free - 1 : t->n_slots;

    if (t->n >= t->max || pages_reach(&t->v, i) < 0 || pages_reach(&t->links, i) < 0)
        return UINT32_MAX;
    return i;
}

int names_add(struct names *t, enum name_kind kind, struct name_hash h, task_no no,
              uint64_t digest)
{
    uint64_t first = map_get(&t->by_task, no);
    uint32_t i;

    assert(no != 0 && kind < NAME_NKINDS && (h.lo | h.hi) != 0);
    if (map_get(&t->by_hash, h.lo) != MAP_NONE)
        return SQ_ECONFLICT;
    if (t->n >= t->max)
        return SQ_EFULL;
    i = next_index(t);
    if (i == UINT32_MAX || map_set(&t->by_hash, h.lo, i) < 0)
        return SQ_ENOMEM;
    if (map_set(&t->by_task, no, i) < 0) {
        map_del(&t->by_hash, h.lo);
        return SQ_ENOMEM;
    }
    if (t->free != 0)
        t->free = at(t, i)->more;
    else
        t->n_slots++;
    *at(t, i) = (struct name){ h, digest, no, first == MAP_NONE ? 0 : (uint32_t)first + 1,
                               (uint8_t)kind };
    t->n++;
    t->n_begin += kind == NAME_UNIQUE;
    return 0;
}

/* The first name of the task, index + 1. */
static uint32_t first_of(const struct names *t, task_no no)
{
    uint64_t i = map_get(&t->by_task, no);

    return i == MAP_NONE ? 0 : (uint32_t)i + 1;
}

static void drop(struct names *t, uint32_t i)
{
    struct name *n = at(t, i);
    bool there = map_del(&t->by_hash, n->hash.lo);

    assert(there && t->n > 0);
    wheel_clear(&t->ends, i);
    t->n_begin -= n->kind == NAME_UNIQUE;
    *n = (struct name){ .more = t->free };
    t->free = i + 1;
    t->n--;
}

void names_live(struct names *t, task_no no)
{
    for (uint32_t i = first_of(t, no); i != 0; i = at(t, i - 1)->more)
        wheel_clear(&t->ends, i - 1);
}

#define BIT(kind) (1u << (kind))

/* Takes names of a task away: the one with this index; UINT32_MAX: all of these kinds. */
static void remove_some(struct names *t, task_no no, uint32_t one, unsigned kinds)
{
    uint32_t first = 0, next;

    for (uint32_t i = first_of(t, no); i != 0; i = next) {
        next = at(t, i - 1)->more;
        if (one == UINT32_MAX ? (BIT(at(t, i - 1)->kind) & kinds) != 0 : i - 1 == one) {
            drop(t, i - 1);
            continue;
        }
        at(t, i - 1)->more = first;
        first = i;
    }
    if (first == 0)
        map_del(&t->by_task, no);
    else if (map_set(&t->by_task, no, first - 1) < 0)
        assert(!"replacing needs no memory");
}

void names_drop(struct names *t, const struct name *n)
{
    remove_some(t, n->no, (uint32_t)map_get(&t->by_hash, n->hash.lo), 0);
}

void names_begin(struct names *t, task_no no)
{
    if (t->n_begin > 0)
        remove_some(t, no, UINT32_MAX, BIT(NAME_UNIQUE));
}

void names_end(struct names *t, task_no no, msec_t until)
{
    unsigned kinds = 0;

    for (uint32_t i = first_of(t, no); i != 0; i = at(t, i - 1)->more) {
        kinds |= BIT(at(t, i - 1)->kind);
        if (at(t, i - 1)->kind == NAME_KEY)
            wheel_set(&t->ends, i - 1, until);
    }
    kinds &= BIT(NAME_UNIQUE) | BIT(NAME_UNIQUE_RUNNING);
    if (kinds != 0)
        remove_some(t, no, UINT32_MAX, kinds);
}

void names_gone(struct names *t, task_no no)
{
    remove_some(t, no, UINT32_MAX, ~BIT(NAME_KEY));
}

void names_advance(struct names *t, msec_t now)
{
    uint32_t i;

    while ((i = wheel_pop(&t->ends, now)) != WHEEL_NONE)
        remove_some(t, at(t, i)->no, i, 0);
}

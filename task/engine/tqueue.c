/* tqueue.c: a table of queues by the keyed hash of their names. */
#include "task/engine/tqueue.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/rules.h"
#include "task/engine/look.h"

static uint64_t hash_text(const struct engine *e, const char *p, uint32_t n)
{
    uint64_t h;

    _Static_assert(crypto_shorthash_KEYBYTES == NAMES_SEED, "one seed for both");
    crypto_shorthash((uint8_t *)&h, (const uint8_t *)p, n, e->seed);
    return h;
}

static bool is_named(const struct tqueue *q, const char *name, uint32_t len)
{
    return q->len == len && memcmp(q->name, name, len) == 0;
}

/* A submission names its queue four times, and the next one mostly the same: without its hash. */
static bool is_last(const struct engine *e, const char *name, uint32_t len)
{
    return e->last_queue != 0 && is_named(tqueue_at(e, e->last_queue), name, len);
}

struct feed *engine_feed(struct engine *e, const struct trec_text *queue, struct feed_asker *a)
{
    return feeds_ask(&e->feeds, hash_text(e, queue->p, queue->n), a, e->at, e->wall_at);
}

struct tqueue *tqueue_find(const struct engine *e, const char *name, uint32_t len)
{
    bool last = is_last(e, name, len);
    uint64_t i = last ? e->last_queue : map_get(&e->queue_by_hash, hash_text(e, name, len));
    struct tqueue *q = i == MAP_NONE ? NULL : tqueue_at(e, (uint32_t)i);

    return q == NULL || (!last && !is_named(q, name, len)) ? NULL : q;
}

struct pool *tqueue_pool(const struct engine *e, const struct trec_text *match)
{
    for (uint32_t i = 0; i < e->n_pools; i++)
        if (strlen(e->pool[i]->match) == match->n &&
            memcmp(e->pool[i]->match, match->p, match->n) == 0)
            return e->pool[i];
    return NULL;
}

struct pool *tqueue_pool_of(const struct engine *e, const struct trec_text *name)
{
    for (uint32_t i = 0; i < e->n_pools; i++)
        if (queue_matches(e->pool[i]->match, name->p, name->n))
            return e->pool[i];
    return NULL;
}

static int begin(struct engine *e, const struct trec_text *name, uint64_t hash, uint32_t *index)
{
    uint32_t i = e->free_queue != 0 ? e->free_queue : e->n_queues;
    struct pool *pool = tqueue_pool_of(e, name);
    char *copy;

    if (pool == NULL)
        return SQ_EUNKNOWN;
    copy = strndup(name->p, name->n);
    if (copy == NULL || pages_reach(&e->queues, i) < 0 || map_set(&e->queue_by_hash, hash, i) < 0) {
        free(copy);
        return SQ_ENOMEM;
    }
    if (e->free_queue != 0)
        e->free_queue = tqueue_at(e, i)->limiter;
    else
        e->n_queues++;
    *tqueue_at(e, i) = (struct tqueue){ .pool = pool, .name = copy, .hash = hash, .len = name->n };
    rank_init(&tqueue_at(e, i)->rank);
    e->queues_now++;
    *index = i;
    return 0;
}

int tqueue_get(struct engine *e, const struct trec_text *name, uint32_t *index)
{
    uint64_t hash, known;
    int rc = 0;

    *index = e->last_queue;
    if (is_last(e, name->p, name->n))
        return 0;
    hash = hash_text(e, name->p, name->n);
    known = map_get(&e->queue_by_hash, hash);
    *index = (uint32_t)known;
    if (known == MAP_NONE)
        rc = begin(e, name, hash, index);
    else if (!is_named(tqueue_at(e, *index), name->p, name->n))
        rc = SQ_ECONFLICT;
    if (rc == 0)
        e->last_queue = *index;
    return rc;
}

void tqueue_tidy(struct engine *e, uint32_t index)
{
    struct tqueue *q = tqueue_at(e, index);

    assert(q->pool != NULL);
    if (q->tasks > 0)
        return;
    assert(q->rank.n == 0);
    map_del(&e->queue_by_hash, q->hash);
    free(q->name);
    rank_fini(&q->rank);
    *q = (struct tqueue){ .limiter = e->free_queue };
    e->free_queue = index;
    e->queues_now--;
    if (e->last_queue == index)
        e->last_queue = 0;
}

void tqueue_leave(struct engine *e, task_slot slot)
{
    uint32_t index = tqueue_index(e, slot);

    assert(tqueue_at(e, index)->tasks > 0);
    tree_leave(&e->tree, slot, e->at);
    task_store_give(&e->store, slot);
    tqueue_at(e, index)->tasks--;
    tqueue_tidy(e, index);
}

uint32_t tqueue_turn(struct engine *e, uint32_t index, uint8_t priority,
                    const struct trec_text *key1, const struct trec_text *key2)
{
    struct tqueue *q = tqueue_at(e, index);
    struct turn_kind kind = { priority, q->pool->rules.order == ORDER_STRICT,
                              q->pool->rules.order == ORDER_NUMBER };
    const struct trec_text name = { q->name, q->len }, *path[] = { &name, key1, key2 };
    uint32_t limiter = 0, turn = 0;

    for (unsigned level = 0; level < TASK_KEY_LEVELS && (level == 0 || path[level]->n > 0); level++) {
        struct key_name k = { path[level]->p, path[level]->n,
                              level == 0 ? q->hash : hash_text(e, path[level]->p, path[level]->n) };
        uint32_t l = tree_find_limiter(&e->tree, limiter, k.hash), u;

        if (l == 0)
            l = tree_new_limiter(&e->tree, limiter, &k, pool_key_rule(q->pool, path, level));
        u = l == 0 ? 0 : tree_turn(&e->tree, l, turn, kind);
        if (u == 0) {
            tree_tidy(&e->tree, turn, l != 0 ? l : limiter, e->at);
            return 0;
        }
        limiter = l;
        turn = u;
        tree_limiter_at(&e->tree, l)->queue = index;
        if (level == 0)
            q->limiter = l;
    }
    return turn;
}

uint32_t tqueue_limiter(struct engine *e, const struct trec_text *name, const struct trec_text *key1,
                        const struct trec_text *key2)
{
    const struct trec_text *path[] = { name, key1, key2 };
    struct pool *pool = tqueue_pool_of(e, name);
    uint32_t limiter = 0;

    for (unsigned level = 0; pool != NULL && level < TASK_KEY_LEVELS && path[level]->n > 0; level++) {
        struct key_name k = { path[level]->p, path[level]->n, hash_text(e, path[level]->p, path[level]->n) };
        uint32_t l = tree_find_limiter(&e->tree, limiter, k.hash);

        limiter = l != 0 ? l : tree_new_limiter(&e->tree, limiter, &k, pool_key_rule(pool, path, level));
        if (limiter == 0)
            break;
    }
    return limiter;
}

/* Rule of a limiter, as it would be made now. */
static const struct key_rule *rule_now(const struct engine *e, uint32_t i)
{
    struct trec_text text[TASK_KEY_LEVELS];
    const struct trec_text *path[TASK_KEY_LEVELS];
    unsigned n = 0;

    for (; i != 0; i = tree_limiter_at(&e->tree, i)->parent) {
        const char *s = tree_limiter_at(&e->tree, i)->text;

        text[n++] = (struct trec_text){ s, (uint32_t)strlen(s) };
    }
    for (unsigned level = 0; level < n; level++)
        path[level] = &text[n - 1 - level];
    return pool_key_rule(tqueue_pool_of(e, path[0]), path, n - 1);
}

void tqueue_rules_anew(struct engine *e)
{
    for (uint32_t i = 1; i < e->tree.n_limiters; i++)
        if (tree_limiter_at(&e->tree, i)->rule != NULL)
            tree_limiter_at(&e->tree, i)->rule = rule_now(e, i);
    tree_reconsider(&e->tree, e->at);
}

/* Limiter of a pinned key; 0: none has it. */
static uint32_t limiter_of(const struct engine *e, const struct key_limit *l)
{
    uint32_t i = tree_find_limiter(&e->tree, 0, hash_text(e, l->queue, (uint32_t)strlen(l->queue)));

    for (const char *p = l->key; i != 0 && *p != 0; p += *p == '/') {
        size_t n = strcspn(p, "/");

        i = tree_find_limiter(&e->tree, i, hash_text(e, p, (uint32_t)n));
        p += n;
    }
    return i;
}

void tqueue_pins_anew(struct engine *e, const struct key_rules *k)
{
    for (uint32_t n = 0; n < k->n_pinned; n++) {
        uint32_t i = limiter_of(e, &k->v[n]);

        if (i == 0)
            continue;
        tree_limiter_at(&e->tree, i)->rule = rule_now(e, i);
        tree_reconsider_one(&e->tree, i, e->at);
    }
}

uint32_t tqueue_other_turn(struct engine *e, task_slot slot, uint8_t priority)
{
    const struct task *t = task_at(&e->store, slot);
    const struct turn *now = tree_turn_at(&e->tree, t->turn);
    struct tqueue *q = tqueue_of(e, slot);
    struct turn_kind kind = { priority, now->strict, now->by_order };
    uint32_t path[TASK_KEY_LEVELS], n = 0, turn = 0;

    if (t->state == TASK_WAITING && rank_reach_level(&q->rank, tqueue_entry(q, t), priority) < 0)
        return 0;
    for (uint32_t i = now->limiter; i != 0; i = tree_limiter_at(&e->tree, i)->parent)
        path[n++] = i;
    while (n > 0) {
        uint32_t u = tree_turn(&e->tree, path[--n], turn, kind);

        if (u == 0) {
            tree_tidy(&e->tree, turn, 0, e->at);
            return 0;
        }
        turn = u;
    }
    return turn;
}

uint32_t tqueue_key(const struct engine *e, uint32_t parent, const struct trec_text *key)
{
    return tree_find_limiter(&e->tree, parent, hash_text(e, key->p, key->n));
}

uint32_t tqueue_index(const struct engine *e, task_slot slot)
{
    const struct turn *u = tree_turn_at(&e->tree, task_at(&e->store, slot)->turn);
    uint32_t index = tree_limiter_at(&e->tree, u->limiter)->queue;

    assert(tqueue_at(e, index)->pool != NULL);
    return index;
}

uint64_t tqueue_entry(const struct tqueue *q, const struct task *t)
{
    uint32_t back = (uint32_t)q->rank.next - t->entry;

    assert((t->state == TASK_WAITING || t->state == TASK_FREE) && back > 0);
    return q->rank.next - back;
}

static void count_units(struct engine *e, struct tqueue *q, uint64_t come, uint64_t go)
{
    assert(q->units + come >= go);
    q->units += come - go;
    e->units += come - go;
}

void tqueue_count_units(struct engine *e, task_slot slot, uint64_t come, uint64_t go)
{
    count_units(e, tqueue_of(e, slot), come, go);
}

void tqueue_begins_to_wait(struct engine *e, struct tqueue *q, task_slot slot)
{
    if (!task_state_waits((enum task_state)task_at(&e->store, slot)->state))
        count_units(e, q, task_cost(e, slot), 0);
    task_set_state(&e->store, slot, TASK_WAITING);
}

/* While a snapshot is read costs are not known yet: arrive_end() counts. */
void tqueue_set_state(struct engine *e, task_slot slot, enum task_state to)
{
    bool waits = task_state_waits(to);

    if (!e->loading && waits != task_state_waits((enum task_state)task_at(&e->store, slot)->state))
        tqueue_count_units(e, slot, waits ? task_cost(e, slot) : 0, waits ? 0 : task_cost(e, slot));
    task_set_state(&e->store, slot, to);
}

/* ---- the dead: a list in the links that they do not need --------------------------- */

void dead_add(struct engine *e, task_slot slot)
{
    struct tqueue *q = tqueue_of(e, slot);

    task_at(&e->store, slot)->entry = q->deaths++;
    line_add(&q->dead, &e->store, slot, false);
}

static void set_last(struct engine *e, uint32_t index, uint32_t last)
{
    tqueue_at(e, index)->redrive_last = last;
    if (last == 0)
        wheel_clear(&e->redrives, index);
}

void dead_remove(struct engine *e, task_slot slot)
{
    uint32_t index = tqueue_index(e, slot);
    struct tqueue *q = tqueue_at(e, index);

    if (q->redrive_last == slot + 1)
        set_last(e, index, task_at(&e->store, slot)->prev);
    line_remove(&q->dead, &e->store, slot, false);
}

uint64_t dead_place(const struct engine *e, task_slot slot)
{
    const struct tqueue *q = tqueue_of(e, slot);

    return task_at(&e->store, slot)->entry - task_at(&e->store, line_head(&q->dead))->entry;
}

/* ---- redriven at a rate ------------------------------------------------------------ */

struct rate dead_rate(const struct tqueue *q)
{
    uint64_t in_10_ms = q->redrive_rate / 100000;

    return rate_make((double)q->redrive_rate / 1000,
                     1 + (uint32_t)u64_min(in_10_ms, RATE_BURST_MAX - 1));
}

int dead_apply_redriving(struct engine *e, const struct trec *r)
{
    struct tqueue *q = tqueue_find(e, r->name.p, r->name.n);
    task_slot slot = task_find(&e->store, r->no);
    uint32_t index;
    int rc;

    if (q == NULL || e->loading || r->most > RATE_PER_1000_S)
        return SQ_EPROTO;
    index = tree_limiter_at(&e->tree, q->limiter)->queue;
    if (r->no == 0) {
        set_last(e, index, 0);
        return 0;
    }
    if (slot == SLOT_NONE || task_at(&e->store, slot)->state != TASK_DEAD ||
        tqueue_of(e, slot) != q)
        return SQ_EPROTO;
    rc = pages_reach(&e->redrive_links, index);
    if (rc < 0)
        return rc;
    set_last(e, index, slot + 1);
    q->redrive_rate = r->most;
    q->redrive_tat = 0;
    wheel_set(&e->redrives, index, ms_max(e->at, 1));
    return 0;
}

void dead_write_redrives(const struct engine *e, struct buf *out)
{
    for (uint32_t i = 1; e->redrives.n > 0 && i < e->n_queues; i++) {
        const struct tqueue *q = tqueue_at(e, i);
        struct trec r = { .kind = TREC_REDRIVING, .name = { q->name, q->len },
                          .most = q->redrive_rate };

        if (q->redrive_last == 0)
            continue;
        r.no = task_number(&e->store, q->redrive_last - 1);
        trec_append(&r, out);
    }
}

void dead_empty_buckets(struct engine *e)
{
    for (uint32_t i = 1; e->redrives.n > 0 && i < e->n_queues; i++)
        if (tqueue_at(e, i)->redrive_last != 0) {
            struct rate rate = dead_rate(tqueue_at(e, i));

            tqueue_at(e, i)->redrive_tat = rate_empty(&rate, e->at);
        }
}

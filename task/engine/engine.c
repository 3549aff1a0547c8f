/* engine.c: the parts of a partition, made and freed. */
#include "task/engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/tqueue.h"

void engine_init(struct engine *e, const struct engine_opts *o)
{
    assert(o->max_tasks > 0 && o->now_ms > 0);
    memset(e, 0, sizeof(*e));
    task_store_init(&e->store, o->max_tasks);
    e->store.weigh = o->weigh;
    tree_init(&e->tree, &e->store, o->max_keys, 1);
    owns_init(&e->owns);
    attempts_init(&e->attempts);
    replies_init(&e->replies);
    names_init(&e->names, o->max_tasks * NAMES_OF_TASK, o->seed, 1);
    pages_init(&e->links, sizeof(struct wheel_link));
    wheel_init(&e->timers, &e->links, 1); /* the order when it is read again */
    wheel_init(&e->walls, &e->links, 1);
    wheel_init(&e->overs, &e->links, 1);
    pages_init(&e->redrive_links, sizeof(struct wheel_link));
    wheel_init(&e->redrives, &e->redrive_links, 1);
    pages_init(&e->queues, sizeof(struct tqueue));
    map_init(&e->queue_by_hash, 0); /* hashes are keyed */
    e->n_queues = 1;
    e->next_lease = 1;
    e->at = o->now_ms;
    memcpy(e->seed, o->seed, NAMES_SEED);
    buf_init(&e->log);
    buf_init(&e->freed);
}

void engine_fini(struct engine *e)
{
    for (uint32_t i = 1; i < e->n_queues; i++) {
        if (tqueue_at(e, i)->pool == NULL)
            continue;
        free(tqueue_at(e, i)->name);
        rank_fini(&tqueue_at(e, i)->rank);
    }
    for (uint32_t i = 0; i < e->n_pools; i++)
        engine_pool_free(e->pool[i]);
    free(e->pool);
    free(e->ends);
    map_fini(&e->queue_by_hash);
    pages_fini(&e->queues);
    pages_fini(&e->links);
    pages_fini(&e->redrive_links);
    owns_fini(&e->owns);
    attempts_fini(&e->attempts);
    replies_fini(&e->replies);
    names_fini(&e->names);
    tree_fini(&e->tree);
    task_store_fini(&e->store);
    buf_fini(&e->log);
    buf_fini(&e->freed);
}

int engine_define(struct engine *e, const char *match, const struct task_rules *r)
{
    struct trec rec = { .kind = TREC_POOL, .name = { match, (uint32_t)strlen(match) } };
    struct buf b;
    int rc;

    if (rules_check(r) != NULL || rec.name.n == 0 || rec.name.n > TASK_NAME_MAX)
        return SQ_EINVAL;
    buf_init(&b);
    rules_encode(r, &b);
    rec.rules = (struct trec_text){ (const char *)b.data, (uint32_t)b.len };
    rc = b.failed ? SQ_ENOMEM : task_perform(e, &rec);
    buf_fini(&b);
    return rc;
}

int engine_define_keys(struct engine *e, const char *match, const struct buf *keys)
{
    struct trec rec = { .kind = TREC_KEYS, .name = { match, (uint32_t)strlen(match) },
                        .rules = { (const char *)keys->data, (uint32_t)keys->len } };
    const struct pool *p = tqueue_pool(e, &rec.name);

    if (p != NULL && p->keys.bytes.len == keys->len &&
        (keys->len == 0 || memcmp(p->keys.bytes.data, keys->data, keys->len) == 0))
        return 0;
    return keys->failed ? SQ_ENOMEM : task_perform(e, &rec);
}

void engine_limit(struct engine *e, uint32_t max_tasks)
{
    assert(max_tasks > 0 && max_tasks <= TASKS_MAX);
    e->store.max = max_tasks;
    e->names.max = max_tasks * NAMES_OF_TASK;
}

uint32_t engine_limit_read(const struct engine *e)
{
    uint64_t most = u64_max(e->store.n_slots, ((uint64_t)e->names.n + NAMES_OF_TASK - 1) / NAMES_OF_TASK);

    return (uint32_t)u64_max(e->store.max, u64_min(most, TASKS_MAX));
}

void engine_skip(struct engine *e, uint32_t numbers)
{
    e->store.next_order += numbers;
    e->next_lease += numbers;
}

void engine_log_reset(struct engine *e)
{
    buf_reset(&e->log);
}

uint64_t engine_bytes(const struct engine *e)
{
    uint64_t bytes = pages_bytes(&e->store.slots) + pages_bytes(&e->links) +
                     pages_bytes(&e->names.v) + pages_bytes(&e->names.links) +
                     pages_bytes(&e->queues) + pages_bytes(&e->redrive_links) + owns_bytes(&e->owns) +
                     attempts_bytes(&e->attempts) + replies_bytes(&e->replies) +
                     (e->names.by_hash.cap + e->names.by_task.cap) * sizeof(struct map_slot) +
                     (e->ends != NULL ? END_MARKS * sizeof(*e->ends) : 0);

    for (uint32_t i = 1; i < e->n_queues; i++)
        if (tqueue_at(e, i)->pool != NULL)
            bytes += rank_bytes(&tqueue_at(e, i)->rank) + tqueue_at(e, i)->len + 1;
    return bytes;
}

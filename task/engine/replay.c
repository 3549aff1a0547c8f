/* replay.c: walks slots, names and pools; what is read goes through apply.c. */
#include "task/engine/replay.h"

#include <string.h>

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/look.h"
#include "task/engine/side_records.h"
#include "task/engine/tqueue.h"

static struct trec_text text_of(const char *s)
{
    return (struct trec_text){ s, (uint32_t)strlen(s) };
}

static void write_own(const struct task_own *own, task_no no, struct buf *out)
{
    struct trec r;
    struct buf b;

    buf_init(&b);
    r = task_own_record(no, own, &b);
    trec_append(&r, out);
    out->failed |= b.failed;
    buf_fini(&b);
}

static void write_task(const struct engine *e, task_slot slot, struct buf *out)
{
    const struct task *t = task_at(&e->store, slot);
    const struct past *past = attempts_past(&e->attempts, slot);
    struct trec r = { .kind = TREC_TASK, .no = task_number(&e->store, slot) };
    const struct group *group;
    struct task_view v;

    look_at_task(e, slot, &v);
    r.name = text_of(v.queue);
    r.key1 = text_of(v.key1);
    r.key2 = text_of(v.key2);
    r.priority = v.priority;
    r.order = v.order;
    r.state = (uint64_t)v.state;
    r.until = (uint64_t)v.until_ms;
    r.entered = (uint64_t)v.entered_ms;
    r.wall = t->cancel;
    r.body = v.body;
    r.attempts = v.attempts;
    r.lease = v.state == TASK_RUNNING ? t->lease : (uint64_t)v.ended_ms;
    r.entry = (uint64_t)v.started_ms;
    if (v.state == TASK_WAITING)
        r.entry = tqueue_entry(tqueue_of(e, slot), t);
    if (v.state == TASK_DEAD)
        r.entry = dead_place(e, slot);
    places_write(e, slot, &r, out);
    trec_append(&r, out);
    if (v.own != NULL)
        write_own(v.own, r.no, out);
    group = groups_of(&e->groups, slot);
    if (group != NULL) {
        r = (struct trec){ .kind = TREC_MEMBER, .no = r.no, .lo = group->id };
        trec_append(&r, out);
    }
    if (v.chain != NULL) {
        r = task_chain_record(r.no, v.chain);
        trec_append(&r, out);
    }
    if (past != NULL) {
        r = (struct trec){ .kind = TREC_PAST, .no = r.no, .most = past->earlier,
                           .own = { (const char *)past->bytes, past->len } };
        trec_append(&r, out);
    }
    r = (struct trec){ .kind = TREC_REPLY, .no = r.no, .body = replies_of(&e->replies, slot) };
    if (r.body != 0)
        trec_append(&r, out);
    r = (struct trec){ .kind = TREC_SETTLED, .no = r.no };
    if (settled_of(&e->settled, slot, &r.lo))
        trec_append(&r, out);
    r = (struct trec){ .kind = TREC_PASSED, .no = r.no };
    if (v.state == TASK_RUNNING && t->passed)
        trec_append(&r, out);
    r = (struct trec){ .kind = TREC_TARGET, .no = r.no, .lo = t->target };
    if ((v.state == TASK_RUNNING || task_is_cut(t)) && t->target != 0)
        trec_append(&r, out);
    r = (struct trec){ .kind = TREC_DONE_UNDER, .no = r.no, .lease = task_done_start(t) };
    if (v.state == TASK_SUCCEEDED && r.lease != 0)
        trec_append(&r, out);
}

static void write_names(const struct engine *e, struct buf *out)
{
    for (uint32_t i = 0; i < e->names.n_slots; i++) {
        const struct name *n = pages_at(&e->names.v, i);
        struct trec r = { .kind = TREC_NAME, .no = n->no, .kind_of = n->kind, .lo = n->hash.lo,
                          .hi = n->hash.hi, .digest = n->digest };

        r.until = (uint64_t)wheel_when(&e->names.ends, i);
        if (n->no != 0)
            trec_append(&r, out);
    }
}

static void write_keys(const struct pool *p, struct buf *out)
{
    const struct buf *b = &p->keys.bytes;
    struct trec r = { .kind = TREC_KEYS, .name = text_of(p->match),
                      .rules = { (const char *)b->data, (uint32_t)b->len } };

    if (b->len > 0)
        trec_append(&r, out);
}

static void write_pools(const struct engine *e, struct buf *out)
{
    struct buf rules;

    buf_init(&rules);
    for (uint32_t i = 0; i < e->n_pools; i++) {
        struct trec r = { .kind = TREC_POOL, .name = text_of(e->pool[i]->match) };

        buf_reset(&rules);
        rules_encode(&e->pool[i]->rules, &rules);
        r.rules = (struct trec_text){ (const char *)rules.data, (uint32_t)rules.len };
        trec_append(&r, out);
        out->failed |= rules.failed;
        write_keys(e->pool[i], out);
    }
    buf_fini(&rules);
}

/* A bucket that is not full: nothing else says what started lately. */
static void write_levels(const struct engine *e, struct buf *out)
{
    for (uint32_t i = 1; i < e->tree.n_limiters; i++) {
        struct trec_text path[TASK_KEY_LEVELS] = { { 0 } };
        struct level level;
        unsigned n = 0;

        if (!tree_level(&e->tree, i, e->logged_at, &level))
            continue;
        for (uint32_t l = i; l != 0; l = tree_limiter_at(&e->tree, l)->parent)
            n++;
        for (uint32_t l = i; l != 0; l = tree_limiter_at(&e->tree, l)->parent)
            path[--n] = text_of(tree_limiter_at(&e->tree, l)->text);
        trec_append(&(const struct trec){ .kind = TREC_LEVEL, .name = path[0], .key1 = path[1], .key2 = path[2],
                                          .until = (uint64_t)level.starts, .lo = (uint64_t)level.units[0],
                                          .hi = (uint64_t)level.units[1], .digest = (uint64_t)level.units[2] },
                    out);
    }
}

void engine_snapshot(const struct engine *e, struct buf *out)
{
    struct trec at = { .kind = TREC_AT, .until = (uint64_t)e->logged_at };
    struct trec snap = { .kind = TREC_SNAP, .lo = e->store.next_order, .lease = e->next_lease };
    struct trec end = { .kind = TREC_SNAP_END };
    struct trec emptied = { .kind = TREC_EMPTIED, .until = (uint64_t)e->tree.emptied };
    struct trec sums = { .kind = TREC_SETTLEMENTS, .lo = e->settled.more, .hi = e->settled.back };

    trec_append(&at, out);
    windows_write(e, out);
    write_pools(e, out);
    trec_append(&snap, out);
    group_write_all(e, out);
    for (task_slot s = 0; s < e->store.n_slots; s++)
        if (task_at(&e->store, s)->state != TASK_FREE) {
            write_task(e, s, out);
            end.lo++;
        }
    write_names(e, out);
    if ((sums.lo | sums.hi) != 0) /* else an older program reads it */
        trec_append(&sums, out);
    if (e->tree.emptied != 0)
        trec_append(&emptied, out);
    write_levels(e, out);
    trec_append(&end, out);
    dead_write_redrives(e, out);
}

int engine_apply(struct engine *e, const struct trec *r)
{
    return task_apply(e, r);
}

void engine_empty_buckets(struct engine *e)
{
    const struct trec r = { .kind = TREC_EMPTIED, .until = (uint64_t)e->at };

    task_perform_sure(e, &r);
}

int engine_opened(struct engine *e, msec_t now_ms, msec_t at_ms)
{
    msec_t last = e->logged_at;
    struct trec stood = { .kind = TREC_STOOD };

    if (e->loading)
        return SQ_EPROTO;
    e->at = ms_max(last, at_ms);
    e->ahead_ms = e->at - now_ms;
    e->swept = last;
    if (last != 0 && e->at > last) {
        stood.until = (uint64_t)(e->at - last);
        task_perform_sure(e, &stood);
    }
    tree_advance(&e->tree, e->at);
    allowance_empty(&e->allowance, e->at);
    dead_empty_buckets(e);
    buf_reset(&e->freed); /* the shell learns what lives */
    return 0;
}

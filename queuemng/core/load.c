/* load.c: reads the stored records (state/records.h). */
#include "queuemng/core/load.h"

#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/versions.h"
#include "common/ticket/pass.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/core/segment_nodes.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/node.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/records.h"
#include "queuemng/tasks/targets.h"

static int bad(const char *key, struct err *e)
{
    return err_set(e, SQ_EPROTO, "stored record %s: unexpected content", key);
}

static int no_memory(const char *key, struct err *e)
{
    return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
}

static int load_meta(struct mng *m, const char *key, json_t *j, struct err *e)
{
    json_int_t format = json_integer_value(json_object_get(j, "format"));
    struct stored_meta v = { .format = 1 };

    if (format > STORE_FORMAT)
        return err_set(e, SQ_EPROTO, "the store was written by a newer segq (format %lld, "
                       "this one reads up to %d)", (long long)format, STORE_FORMAT);
    if (json_row_read(&meta_row, j, &v) < 0)
        return bad(key, e);
    m->cluster_id = v.cluster_id;
    m->epoch = v.epoch;
    m->next_seg = u64_max(m->next_seg, v.next_seg);
    m->next_queue = (queue_id)u64_max(m->next_queue, v.next_queue);
    m->next_node = (node_no)u64_max(m->next_node, v.next_node);
    return 0;
}

static int load_node(struct mng *m, const char *key, json_t *j, struct err *e)
{
    json_int_t no = json_integer_value(json_object_get(j, "no"));
    struct mnode *n;

    if (no <= 0 || no > MNG_NODE_NO_MAX)
        return bad(key, e);
    n = node_at(m, (node_no)no);
    if (n == NULL)
        return no_memory(key, e);
    return json_row_read(&node_row, j, n) < 0 ? bad(key, e) : 0;
}

static struct mqueue *queue_at(struct mng *m, queue_id id)
{
    struct mqueue *q = queue_by_id(m, id);

    return q != NULL ? q : queue_new(m, id);
}

static int queue_load(struct mng *m, const struct stored_queue *v, const struct queue_def *d,
                      struct err *e)
{
    struct mqueue *q = queue_at(m, v->id);
    bool deleted = v->deleted_until_ms != 0;

    if (q == NULL || cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d) < 0 ||
        (!deleted && queue_name(m, q) < 0))
        return err_set(e, SQ_ENOMEM, "stored queue %s: out of memory", d->name);
    q->deleted_until_ms = v->deleted_until_ms;
    q->deleted_state = (int)v->deleted_state;
    m->n_deleted += deleted;
    q->version = v->version;
    m->next_queue = (queue_id)u64_max(m->next_queue, (uint64_t)v->id + 1);
    return 0;
}

static int load_queue(struct mng *m, const char *key, json_t *j, struct err *e)
{
    json_t *deleted = json_object_get(j, "deleted"), *d = json_object_get(j, "def");
    struct queue_def def = { 0 };
    struct stored_queue v = { 0 };
    int rc;

    if (json_row_read(&queue_row, j, &v) < 0 || v.id == 0 || d == NULL ||
        (deleted != NULL && json_row_read(&deleted_row, deleted, &v) < 0) ||
        v.deleted_state > DEF_REJECT)
        return bad(key, e);
    rc = def_from_json(&def, sizeof(def), queue_def_keys, d, key, e);
    if (rc == 0)
        rc = queue_load(m, &v, &def, e);
    cfg_clear(&def, queue_def_keys);
    return rc;
}

/* Without its whole seed a draw is not one that others know. */
static void load_prequeue(struct mprequeue *pre, const struct stored_seg *v)
{
    size_t n = 0;

    pre->early = v->early;
    if (sodium_hex2bin(pre->seed, sizeof(pre->seed), v->seed, strlen(v->seed), NULL, &n, NULL) ==
            0 && n == DRAW_SEED)
        pre->n = v->drawn;
}

static int load_seg(struct mng *m, struct mlane *l, json_t *j)
{
    struct stored_seg v = { 0 };
    struct mnode *n;
    struct mseg *s;

    if (json_row_read(&seg_row, j, &v) < 0 || v.id == 0 || v.node == 0 ||
        v.node > MNG_NODE_NO_MAX || v.state < SEG_OPEN || v.state > SEG_SEALED ||
        v.kind < OPEN_TAIL || v.kind > OPEN_REBUILD || seg_find(m, v.id) != NULL)
        return SQ_EPROTO;
    n = node_at(m, v.node);
    s = n == NULL ? NULL : seg_new(m, l, n, v.id, v.capacity, v.kind, NULL);
    if (s == NULL)
        return SQ_ENOMEM;
    s->state = v.state;
    s->mark_end = v.mark_end;
    s->moves_from = v.moves_from;
    s->base = v.base;
    load_prequeue(&s->pre, &v);
    seg_set_phase(s, SEG_STORED); /* routers may have heard of it */
    s->lost_ms = 0;
    seg_used(s);
    m->next_seg = u64_max(m->next_seg, v.id + 1);
    return 0;
}

/* By the aliases so far: they end somewhere, since no circle was let in. */
static bool is_reached(const struct mlane *l, seg_id from, seg_id to)
{
    while (from != to && from != 0)
        from = alias_of(l, from);
    return from == to;
}

static int load_alias(struct mlane *l, json_t *j)
{
    struct malias a = { 0 };

    if (json_row_read(&alias_row, j, &a) < 0 || a.from == 0 || a.to == 0 ||
        alias_of(l, a.from) != 0 || is_reached(l, a.to, a.from))
        return SQ_EPROTO;
    return alias_add(l, a);
}

static bool leads_to(const struct mlane *l, seg_id to)
{
    for (uint32_t i = 0; i < l->n_alias; i++)
        if (l->alias[i].to == to)
            return true;
    return false;
}

static int load_lane(struct mng *m, struct mlane *l, json_t *j)
{
    json_t *v;
    size_t i;
    int rc;

    l->stored_told_ms = (uint64_t)json_integer_value(json_object_get(j, "told"));
    l->ordinals = (uint64_t)json_integer_value(json_object_get(j, "ordinals"));
    json_array_foreach(json_object_get(j, "segs"), i, v) {
        rc = load_seg(m, l, v);
        if (rc < 0)
            return rc;
    }
    json_array_foreach(json_object_get(j, "aliases"), i, v) {
        rc = load_alias(l, v);
        if (rc < 0)
            return rc;
    }
    for (uint32_t k = 0; k < l->n_alias; k++) /* a commit that was not confirmed then */
        if (leads_to(l, l->alias[k].from)) {
            alias_fold(l, l->alias[k].from, l->alias[k].to);
            k = UINT32_MAX; /* their order has changed */
        }
    return 0;
}

static int load_chain(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mqueue *q = queue_at(m, (queue_id)strtoul(key + strlen("chain/"), NULL, 10));
    json_t *lane;
    size_t i;

    if (q == NULL)
        return no_memory(key, e);
    if (json_row_read(&unreported_row, json_object_get(j, "flushed"), &q->flushed) < 0 ||
        json_row_read(&unreported_row, json_object_get(j, "lost"), &q->lost) < 0)
        return bad(key, e);
    json_array_foreach(json_object_get(j, "lanes"), i, lane) {
        int rc = i < LANES_MAX ? load_lane(m, &q->lane[i], lane) : SQ_EPROTO;

        if (rc < 0)
            return err_set(e, rc, "stored record %s: %s", key, sq_strerror(rc));
    }
    return 0;
}

static int load_marks(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mark_row v[MNG_MARK_ROWS];
    unsigned long long no;
    unsigned id, lane, n = 0;
    struct mqueue *q;
    size_t i;
    json_t *x;
    int rc = 0;

    if (sscanf(key, "mark/%u/%u/%llu", &id, &lane, &no) != 3 || lane >= LANES_MAX ||
        json_array_size(j) > MNG_MARK_ROWS)
        return bad(key, e);
    q = queue_at(m, (queue_id)id);
    json_array_foreach(j, i, x) {
        if (json_row_read(&mark_row, x, &v[n]) < 0 || v[n].end <= v[n].from)
            return bad(key, e);
        n++;
    }
    if (q != NULL)
        rc = marks_load(&q->lane[lane], no, v, n);
    return q == NULL || rc < 0 ? no_memory(key, e) : 0;
}

static int said(int rc, const char *key, struct err *e)
{
    return rc == SQ_ENOMEM ? no_memory(key, e) : rc < 0 ? bad(key, e) : 0;
}

static int load_directory(struct mng *m, const char *key, json_t *j, struct err *e)
{
    return said(directory_load(m, j), key, e);
}

static int load_task_node(struct mng *m, const char *key, json_t *j, struct err *e)
{
    return said(task_node_load(m, j), key, e);
}

static int load_tasks(struct mng *m, const char *key, json_t *j, struct err *e)
{
    return said(tasks_load(m, j), key, e);
}

static int load_budget(struct mng *m, const char *key, json_t *j, struct err *e)
{
    void *x;
    int rc = defined_load(m, DEF_BUDGET, key, j, &x, e);

    if (rc == 0)
        meters_load(((struct mbudget *)x)->meter, json_object_get(j, "windows"));
    return rc;
}

static int load_sched(struct mng *m, const char *key, json_t *j, struct err *e)
{
    struct mqueue *q = queue_at(m, (queue_id)strtoul(key + strlen("sched/"), NULL, 10));
    struct schedule_draw d;
    json_t *v;
    size_t i;

    if (q == NULL)
        return no_memory(key, e);
    if (json_row_read(&sched_row, j, &q->sched) < 0 || q->sched.draw > DRAW_TOLD)
        return bad(key, e);
    json_array_foreach(json_object_get(j, "draws"), i, v) {
        if (json_row_read(&draw_row, v, &d) < 0)
            return bad(key, e);
        schedule_add_draw(&q->sched, d.seg, d.count);
    }
    v = json_object_get(j, "moved");
    if (json_string_length(v) > 0 && json_string_length(v) <= MOVED_TEXT_MAX &&
        (q->moved = strdup(json_string_value(v))) == NULL)
        return no_memory(key, e);
    return 0;
}

typedef int (*load_fn)(struct mng *m, const char *key, json_t *j, struct err *e);

/* NULL: of a newer version, or the shell's own. */
static load_fn loader_of(const char *key)
{
    static const struct {
        const char *prefix;
        load_fn fn;
    } v[] = {
        { "node/", load_node },   { "queue/", load_queue },
        { "chain/", load_chain }, { "mark/", load_marks },
        { "sched/", load_sched }, { "pool/", pool_load },
        { "task_node/", load_task_node }, { "endpoint/", endpoint_load },
        { "pin/", pin_load },      { "route/", route_load },
             { "budget/", load_budget },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (strncmp(key, v[i].prefix, strlen(v[i].prefix)) == 0)
            return v[i].fn;
    if (strcmp(key, "directory") == 0)
        return load_directory;
    if (strcmp(key, "tasks") == 0)
        return load_tasks;
    return strcmp(key, "meta") == 0 ? load_meta : NULL;
}

int mng_load(struct mng *m, const char *key, const char *val, struct err *e)
{
    load_fn fn = loader_of(key);
    json_t *j;
    int rc;

    if (fn == NULL)
        return 0;
    j = json_loads(val, 0, NULL);
    if (j == NULL)
        return err_set(e, SQ_EPROTO, "stored record %s: not JSON", key);
    rc = fn(m, key, j, e);
    json_decref(j);
    return rc;
}

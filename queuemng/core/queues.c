/* queues.c: deletes queues, and restores them. */
#include "queuemng/core/queues.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/core/mng.h"
#include "queuemng/release/budgets.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/pools.h"

#define LOG_MODULE "queue"

static struct mng_deleted_view look(const struct mng *m, const struct mqueue *q)
{
    struct mng_deleted_view v = { .name = q->def.name,
                                  .until_ms = q->deleted_until_ms,
                                  .inside = slots_inside(m, q) };

    for (unsigned i = 0; i < q->n_lanes; i++)
        v.waiting += q->lane[i].waiting + q->lane[i].returning;
    return v;
}

static void gone(struct mng *m, struct mqueue *q)
{
    budget_outlives(m, q);
    queue_gone(m, q);
}

/* True: nobody would miss it. */
static bool is_empty(const struct mng *m, const struct mqueue *q)
{
    struct mng_deleted_view v = look(m, q);

    for (unsigned i = 0; i < q->n_lanes; i++)
        each_seg(&q->lane[i], s)
            if (!seg_is_reported(s) || seg_is_lost(s))
                return false;
    return v.waiting + v.inside == 0;
}

static int make_way(struct mng *m, const char *name, struct err *e)
{
    struct mqueue *q = queue_deleted(m, name);
    struct mng_deleted_view v;

    if (q == NULL)
        return 0;
    if (is_empty(m, q)) {
        gone(m, q);
        return 0;
    }
    v = look(m, q);
    return err_set(e, SQ_ECONFLICT,
                   "queue %s was deleted a moment ago, and %llu people wait in it, %llu are "
                   "inside: restore it (POST .../restore), or delete it for good first "
                   "(DELETE ...?final=true)",
                   name, (unsigned long long)v.waiting, (unsigned long long)v.inside);
}

/* ---- defined ------------------------------------------------------------------------------------ */

static bool hosts(const struct mnode *n, const struct mqueue *q)
{
    each_node_seg(n, s)
        if (s->lane->q == q)
            return true;
    return false;
}

static void rules_everywhere(struct mng *m, const struct mqueue *q)
{
    each_node(m, n)
        if (n->registered && hosts(n, q))
            queue_rules_to(m, q, n);
}

/* Certainly nobody is in it: nobody loses a place, or a slot that he has. */
static bool lane_is_empty(const struct mlane *l)
{
    if (l->waiting + l->returning + l->ready + l->active != 0 || l->pop.busy)
        return false;
    each_seg(l, s) {
        if (!seg_is_reported(s) || seg_is_lost(s) || s->move != NULL || !seg_reachable(s))
            return false;
    }
    return true;
}

static int lanes_may_go(const struct mqueue *q, unsigned from, struct err *e)
{
    for (unsigned i = from; i < q->n_lanes; i++) {
        const struct mlane *l = &q->lane[i];

        if (!lane_is_empty(l))
            return err_set(e, SQ_ECONFLICT,
                           "queue %s: lane %s is removed when nobody is in it: %llu wait, "
                           "%llu are inside. Give no more claims for it; a waiting ticket "
                           "moves by segqctl move-ticket, and flush ends all of them",
                           q->def.name, def_lane_name(&q->def, i),
                           (unsigned long long)(l->waiting + l->returning),
                           (unsigned long long)(l->ready + l->active));
    }
    return 0;
}

/* Lanes keep their numbers for ever: some may be added or removed at the end, none renamed
 * (but the first, when the queue is made plain: it is "default" then). */
static int lanes_fit(const struct mqueue *q, const struct queue_def *d, struct err *e)
{
    unsigned n = def_lane_count(d);

    for (unsigned i = 0; i < q->n_lanes && i < n && d->lanes.n != 0; i++)
        if (strcmp(def_lane_name(d, i), def_lane_name(&q->def, i)) != 0)
            return err_set(e, SQ_ECONFLICT,
                           "queue %s: lane %s cannot be renamed or moved; lanes are added and "
                           "removed at the end", d->name, def_lane_name(&q->def, i));
    return lanes_may_go(q, n, e);
}

static int queue_create(struct mng *m, const struct queue_def *d, struct mqueue **out,
                        struct err *e)
{
    struct mqueue *q = queue_new(m, m->next_queue);

    if (q == NULL)
        return err_set(e, SQ_ENOMEM, "queue %s: out of memory", d->name);
    if (cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d) < 0 ||
        queue_name(m, q) < 0) {
        queue_free(m, q);
        return err_set(e, SQ_ENOMEM, "queue %s: out of memory", d->name);
    }
    m->next_queue++;
    m->put_meta = true;
    *out = q;
    return 0;
}

/* Leaves alone what it has already: other changes are not refused for an endpoint that has gone. */
static int check_turn(const struct mng *m, const struct mqueue *q, const struct queue_def *d, struct err *e)
{
    bool same = q != NULL && strcmp(q->def.turn.queue, d->turn.queue) == 0;
    int rc = same || d->turn.queue[0] == '\0' ? 0 : pool_takes_calls(m, d->turn.queue, "turn_notice.queue", e);

    return rc < 0 ? rc : pools_push_auth(m, NULL, &d->turn, e);
}

int queue_define(struct mng *m, void *queue, const void *def, struct err *e)
{
    const struct queue_def *d = def;
    struct mqueue *q = queue;
    int rc;

    if (budget_takes_queue(m, d, e) < 0 || check_turn(m, q, d, e) < 0)
        return err_wrap(e, "queue %s", d->name);
    if (q == NULL) {
        rc = make_way(m, d->name, e);
        if (rc == 0)
            rc = queue_create(m, d, &q, e);
        if (rc < 0)
            return rc;
        log_info("event=queue_created queue=%s id=%u", d->name, q->id);
    } else {
        rc = lanes_fit(q, d, e);
        if (rc < 0)
            return rc;
        if (cfg_equal(&q->def, d, queue_def_keys))
            return 0;
        rc = cfg_copy(&q->def, sizeof(q->def), queue_def_keys, d);
        if (rc < 0)
            return err_set(e, rc, "queue %s: %s", d->name, sq_strerror(rc));
        for (unsigned i = def_lane_count(d); i < q->n_lanes; i++)
            segs_forget(m, &q->lane[i]);
        log_info("event=queue_changed queue=%s version=%llu", d->name,
                 (unsigned long long)q->version + 1);
    }
    q->version++;
    m->count_no++; /* perhaps another budget */
    q->stats_dirty = true;
    sched_set(m, q);
    queue_def_changed(m, q);
    credit_recall(m, q);
    if (def_lane_count(d) < q->n_lanes)
        queue_chain_changed(m, q);
    queue_fit_lanes(m, q);
    assert(queue_find(m, d->name) == q && q->n_lanes == def_lane_count(d));
    rules_everywhere(m, q);
    queue_mapped(m, q);
    if (q->version > 1)
        queue_figures_now(m, q);
    return 0;
}

/* ---- deleted, restored ----------------------------------------------------------------------------- */

static void set_state(struct mng *m, struct mqueue *q, int state)
{
    q->def.state = state;
    q->version++;
    queue_def_changed(m, q);
    credit_recall(m, q);
    queue_fit_lanes(m, q);
    queue_mapped(m, q);
    queue_figures_now(m, q);
}

static void queue_delete(struct mng *m, struct mqueue *q, struct mng_deleted_view *v)
{
    assert(q->deleted_until_ms == 0);
    queue_unname(m, q);
    q->deleted_state = q->def.state;
    q->deleted_until_ms = m->sched_ms + (int64_t)m->opts.undo_ms;
    m->n_deleted++;
    set_state(m, q, DEF_REJECT);
    *v = look(m, q);
    log_warn("event=queue_deleted queue=%s id=%u waiting=%llu inside=%llu restore_for_ms=%u",
             q->def.name, q->id, (unsigned long long)v->waiting,
             (unsigned long long)v->inside, m->opts.undo_ms);
}

int mng_queue_delete(struct mng *m, msec_t now_ms, const char *name, bool final,
                     struct mng_deleted_view *v, struct mng_out *out, struct err *e)
{
    struct mqueue *q = queue_find(m, name);

    if (q == NULL && final)
        q = queue_deleted(m, name);
    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", name);
    mng_begin(m, now_ms, out);
    if (final) {
        *v = look(m, q);
        v->name = name;
        v->until_ms = 0;
        gone(m, q);
    } else {
        queue_delete(m, q, v);
    }
    mng_end(m);
    return 0;
}

int mng_queue_restore(struct mng *m, msec_t now_ms, const char *name, struct mng_out *out,
                      struct err *e)
{
    struct mqueue *q = queue_deleted(m, name);

    if (q == NULL)
        return queue_find(m, name) != NULL
                   ? err_set(e, SQ_ECONFLICT, "queue %s is there: it was not deleted", name)
                   : err_set(e, SQ_EUNKNOWN, "no queue %s was deleted, or not in the last "
                             "minutes", name);
    mng_begin(m, now_ms, out);
    if (queue_name(m, q) < 0) {
        mng_end(m);
        return err_set(e, SQ_ENOMEM, "queue %s: out of memory", name);
    }
    assert(q->deleted_until_ms != 0 && m->n_deleted > 0);
    q->deleted_until_ms = 0;
    m->n_deleted--;
    log_info("event=queue_restored queue=%s id=%u state=%s", name, q->id,
             def_state_names[q->deleted_state]);
    set_state(m, q, q->deleted_state);
    mng_end(m);
    return 0;
}

void deletes_tick(struct mng *m)
{
    if (m->n_deleted == 0)
        return;
    each_queue(m, q) {
        if (q->deleted_until_ms != 0 && m->sched_ms >= q->deleted_until_ms)
            gone(m, q);
    }
}

void mng_each_deleted(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_queue(m, q) {
        if (q->deleted_until_ms != 0) {
            struct mng_deleted_view v = look(m, q);

            fn(ctx, &v);
        }
    }
}

/* orders.c: orders of operators about queues and nodes. */
#include "queuemng/core/orders.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/queue_life.h"
#include "queuemng/chain/reconcile.h"
#include "queuemng/core/deleted.h"
#include "queuemng/core/monitors.h"
#include "queuemng/core/step.h"
#include "queuemng/nodes/liveness.h"
#include "queuemng/release/budgets.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/opening.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/slots.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/task_nodes.h"

#define LOG_MODULE "queue"

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

static int queue_put(struct mng *m, const struct queue_def *d, struct err *e)
{
    struct mqueue *q = queue_find(m, d->name);
    int rc = queue_def_check(d, e);

    if (rc < 0)
        return rc;
    if (budget_takes_queue(m, d, e) < 0 ||
        metrics_check(m, &d->limits, q != NULL ? &q->def.limits : NULL, e) < 0)
        return err_wrap(e, "queue %s", d->name);
    if (q == NULL) {
        rc = queue_make_way(m, d->name, e);
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

int mng_queue_put(struct mng *m, msec_t now_ms, const struct queue_def *d,
                  struct mng_out *out, struct err *e)
{
    int rc;

    mng_begin(m, now_ms, out);
    rc = queue_put(m, d, e);
    mng_end(m);
    return rc;
}

const struct queue_def *mng_queue_get(const struct mng *m, const char *name,
                                      uint64_t *version)
{
    const struct mqueue *q = queue_find(m, name);

    if (q == NULL)
        return NULL;
    if (version != NULL)
        *version = q->version;
    return &q->def;
}

static void queue_flush(struct mng *m, struct mqueue *q)
{
    log_warn("event=queue_flushed queue=%s", q->def.name);
    slots_flush(m, q);
    for (unsigned i = 0; i < q->n_lanes; i++) {
        segs_forget(m, &q->lane[i]);
        lane_touch(m, &q->lane[i]);
    }
    queue_chain_changed(m, q);
}

int mng_order(struct mng *m, msec_t now_ms, const char *queue, enum mng_order o,
              struct mng_out *out, struct err *e)
{
    static const int state_of[] = {
        [MNG_PAUSE] = DEF_PAUSED,
        [MNG_RESUME] = DEF_OPEN,
        [MNG_CLOSE] = DEF_CLOSED,
        [MNG_OPEN] = DEF_OPEN,
        [MNG_PASSTHROUGH] = DEF_PASSTHROUGH,
        [MNG_REJECT] = DEF_REJECT,
    };
    struct mqueue *q = queue_find(m, queue);

    assert(o <= MNG_FLUSH);
    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", queue);
    mng_begin(m, now_ms, out);
    if (o == MNG_FLUSH) {
        queue_flush(m, q);
    } else if (q->def.state != state_of[o]) {
        q->def.state = state_of[o];
        q->version++;
        q->stats_dirty = true;
        queue_def_changed(m, q);
        credit_recall(m, q);
        log_info("event=queue_state queue=%s state=%s", queue,
                 def_state_names[q->def.state]);
        queue_fit_lanes(m, q); /* while it was closed nobody looked if it has a tail */
    }
    queue_mapped(m, q);
    queue_figures_now(m, q);
    mng_end(m);
    return 0;
}

int mng_release(struct mng *m, msec_t now_ms, const char *queue, uint64_t n,
                struct mng_out *out, struct err *e)
{
    struct mqueue *q = queue_find(m, queue);

    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", queue);
    if (sched_holds(q))
        return err_set(e, SQ_ECONFLICT,
                       "queue %s is not open yet: early people have no places", queue);
    mng_begin(m, now_ms, out);
    pops_by_hand(m, q, n);
    log_info("event=release_by_hand queue=%s n=%llu", queue, (unsigned long long)n);
    pops_tick(m, q);
    mng_end(m);
    return 0;
}

static void drain(struct mng *m, struct mnode *n, bool on)
{
    if (n->draining != on) {
        n->draining = on;
        node_put(m, n);
        log_info("event=drain node=%s on=%d segments=%zu", n->name, on, n->segs.n);
    }
    each_node_seg(n, s)
        lane_touch(m, s->lane);
    if (!on)
        lanes_look(m);
}

int mng_drain(struct mng *m, msec_t now_ms, const char *node, bool on, struct mng_out *out,
              struct err *e)
{
    struct mnode *n = node_by_name(m, node);
    struct mtask_node *t = task_node_by_name(m, node);

    if (n == NULL && t == NULL)
        return err_set(e, SQ_EUNKNOWN, "no node %s", node);
    mng_begin(m, now_ms, out);
    if (n != NULL)
        drain(m, n, on);
    if (t != NULL)
        task_node_drain(m, t, on);
    mng_end(m);
    return 0;
}

/* ---- forget ----------------------------------------------------------------------- */

/* Opens its segments elsewhere as if it had been silent for lost_after; what that
 * leaves is waited for, and it is forgotten when nothing is left. */
static void node_give_up(struct mng *m, struct mnode *n)
{
    assert(n->peer == 0 && !n->registered);
    n->draining = true;
    node_put(m, n);
    node_lost(m, n);
}

static int may_forget(const struct mng *m, const struct mnode *n, bool force, struct err *e)
{
    uint64_t waiting = 0, inside = 0;

    if (n->peer != 0)
        return err_set(e, SQ_ECONFLICT, "node %s is up: drain it, and stop it when it is "
                       "empty", n->name);
    if (force)
        return 0;
    each_node_seg(n, s) {
        waiting += (uint64_t)s->st.waiting + s->st.returning;
        inside += (uint64_t)s->st.ready + s->st.active;
    }
    if (!is_gone(n))
        return err_set(e, SQ_ECONFLICT,
                       "node %s has %zu segments: %llu people wait in them, %llu are inside. "
                       "They are opened on another node with room %lld s after it went "
                       "silent; to do so now: force",
                       n->name, n->segs.n, (unsigned long long)waiting,
                       (unsigned long long)inside, (long long)m->opts.lost_after_ms / 1000);
    if (key_needed_ms(m, n) > 0)
        return err_set(e, SQ_ECONFLICT,
                       "node %s alone has the key of passes that may be good for another "
                       "%lld s; to have them refused: force",
                       n->name, (long long)key_needed_ms(m, n) / 1000);
    return 0;
}

static int forget_task_node(struct mng *m, msec_t now_ms, const char *node, bool force,
                            struct mng_forget_end *end, struct mng_out *out, struct err *e)
{
    struct mtask_node *n = task_node_by_name(m, node);
    int rc = n == NULL ? err_set(e, SQ_EUNKNOWN, "no node %s", node)
                       : task_node_may_forget(m, n, force, e);

    if (rc < 0)
        return rc;
    mng_begin(m, now_ms, out);
    task_node_forget(m, n, "order");
    mng_end(m);
    end->forgotten = true;
    return 0;
}

int mng_forget(struct mng *m, msec_t now_ms, const char *node, bool force,
               struct mng_forget_end *end, struct mng_out *out, struct err *e)
{
    struct mnode *n = node_by_name(m, node);
    int rc;

    *end = (struct mng_forget_end){ 0 };
    if (n == NULL)
        return forget_task_node(m, now_ms, node, force, end, out, e);
    mng_begin(m, now_ms, out);
    rc = may_forget(m, n, force, e);
    if (rc == 0 && !is_gone(n)) {
        node_give_up(m, n);
        for (struct list_node *it = list_first(&n->segs); it != NULL;
             it = list_first(&n->segs)) { /* planned now: they may go elsewhere at once */
            size_t before = n->segs.n;

            lane_plan(m, list_entry(it, struct mseg, on_node)->lane);
            if (n->segs.n == before)
                break;
        }
    }
    if (rc == 0 && is_gone(n)) {
        node_forget(m, n, "order");
        end->forgotten = true;
    } else if (rc == 0) {
        end->segments = (uint32_t)n->segs.n;
    }
    mng_end(m);
    return rc;
}

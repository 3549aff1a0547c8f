/* orders.c: see the header. */
#include "queuemng/core/orders.h"

#include <assert.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/core/mng.h"
#include "queuemng/nodes/liveness.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
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

/* ---- endpoints ------------------------------------------------------------------------------------- */

bool mng_endpoint_order(struct mng *m, msec_t now_ms, const char *name, enum endpoint_order o,
                        struct mng_out *out)
{
    struct mendpoint *x = defined_find(m, DEF_ENDPOINT, name);

    if (x == NULL)
        return false;
    mng_begin(m, now_ms, out);
    endpoint_order(m, x, o);
    mng_end(m);
    return true;
}

/* orders.c: see the header. */
#include "queuemng/core/orders.h"

#include <assert.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/ticket/pass.h"
#include "common/wire/msg.h"
#include "queuemng/chain/chain.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/core/mng.h"
#include "queuemng/core/segment_nodes.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/records.h"
#include "queuemng/state/segment.h"
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
        each_node_seg(n, s)
            s->move_why[0] = '\0'; /* a merge that ended before does not hold this up */
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

/* ---- tickets that another device may take over ---- */


static struct mqueue *queue_of(const struct mng *m, seg_id seg)
{
    const struct mseg *s = seg_resolve(m, seg);

    return s != NULL ? s->lane->q : NULL;
}

static int put(struct mng *m, struct mqueue *q, const struct moved_ticket *x)
{
    int rc = moved_put(&q->moved, x, m->wall_ms / 1000);

    if (rc == 0) {
        q->put_sched = true;
        queue_put_later(m, q);
        queue_mapped(m, q);
    }
    return rc;
}

int mng_rebind(struct mng *m, msec_t now_ms, const struct token_key *key, seg_id seg, uint32_t number,
               struct mng_rebind_view *v, struct mng_out *out, struct err *e)
{
    struct moved_ticket x = { .seg = seg, .number = number, .open = true }, was = { 0 };
    struct mqueue *q = queue_of(m, seg);
    int rc;

    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "the ticket's segment is gone: the ticket is over");
    if (q->def.bind == BIND_NONE)
        return err_set(e, SQ_ECONFLICT, "queue %s does not bind tickets to devices (bind: none): any device "
                       "may show them", q->def.name);
    mng_begin(m, now_ms, out);
    x.until_s = m->wall_ms / 1000 + REBIND_S;
    *v = (struct mng_rebind_view){ .queue = q->def.name, .until_ms = x.until_s * 1000 };
    token_write(&(struct token){ .seg = seg, .number = number, .issued_s = (uint32_t)(m->wall_ms / 1000),
                                 .client = CLIENT_BROWSER, .device = 1 }, key, v->token);
    v->was_moved = moved_find(q->moved, seg, number, &was) && was.device[0] != '\0';
    memcpy(x.device, was.device, sizeof(x.device)); /* has it until another one comes */
    rc = put(m, q, &x);
    mng_end(m);
    if (rc == SQ_EFULL)
        return err_set(e, SQ_ECONFLICT, "queue %s: %d tickets were given to other devices lately, more are "
                       "not kept", q->def.name, MOVED_MAX);
    return rc < 0 ? err_set(e, rc, "queue %s: out of memory", q->def.name) : 0;
}

void rebind_take(struct mng *m, const struct msg_device *d)
{
    struct mqueue *q = queue_of(m, d->seg);
    struct moved_ticket x;

    if (q == NULL || !device_text_ok(d->id, strlen(d->id)) || !moved_find(q->moved, d->seg, d->number, &x) ||
        !x.open || x.until_s <= m->wall_ms / 1000 || strcmp(x.device, d->id) == 0)
        return; /* another one was first, or it is too late, or it has it */
    memcpy(x.device, d->id, sizeof(x.device));
    x.open = false;
    x.until_s = m->wall_ms / 1000 + MOVED_KEEP_S;
    if (put(m, q, &x) == 0)
        log_info("event=ticket_moved queue=%s ticket=%llu-%u", q->def.name, (unsigned long long)d->seg, d->number);
}

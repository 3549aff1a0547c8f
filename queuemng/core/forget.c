/* forget.c: forgets a node by an operator's order. */
#include "queuemng/core/forget.h"

#include <assert.h>

#include "queuemng/chain/chain.h"
#include "queuemng/core/step.h"
#include "queuemng/nodes/liveness.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/records.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/farewell.h"
#include "queuemng/tasks/table.h"

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

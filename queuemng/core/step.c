/* step.c: the end of every step. */
#include "queuemng/core/step.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/chain/chain.h"
#include "queuemng/core/map.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/records.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/records.h"
#include "queuemng/tasks/shares.h"

#define LOG_MODULE "mng"

static void records_flush(struct mng *m)
{
    if (m->put_meta && m->started)
        meta_put(m);
    m->put_meta = m->put_meta && !m->started;
    list_each_of(&m->puts, struct mqueue, in_puts, q) {
        if (q->put_def)
            def_put(m, q);
        if (q->put_chain)
            chain_put(m, q);
        for (unsigned i = 0; i < LANES_MAX && q->put_marks; i++)
            marks_flush(m, &q->lane[i]);
        if (q->put_sched)
            sched_put(m, q);
        q->put_def = q->put_chain = q->put_marks = q->put_sched = false;
        list_remove(&m->puts, &q->in_puts);
    }
}

void mng_end(struct mng *m)
{
    struct list_node *it;
    bool nobody;

    while ((it = list_first(&m->dirty_lanes)) != NULL) {
        struct mlane *l = container_of(it, struct mlane, in_dirty);

        list_remove(&m->dirty_lanes, it);
        l->dirty = false;
        nobody = l->waiting == 0;
        lane_plan(m, l);
        if (nobody != (l->waiting == 0) && (nobody || credit_is_due(l->q)))
            queue_urgent(m, l->q);
    }
    /* The first does not wait for a tick; nor does credit when nobody waits any more. */
    while ((it = list_first(&m->urgent)) != NULL) {
        list_remove(&m->urgent, it);
        pops_tick(m, container_of(it, struct mqueue, in_urgent));
    }
    records_flush(m);
    shares_flush(m);
    tasks_put(m);
    assert(m->puts.n == 0 && m->urgent.n == 0);
    each_node(m, n)
        batch_send(m, n);
    maps_flush(m);
    task_maps_flush(m);
    stats_look(m);
    if (m->stats_now)
        stats_flush(m);
    m->stats_now = false;
    out_sends(m);
    if (m->out->box.failed)
        log_error("event=no_memory what=step");
}

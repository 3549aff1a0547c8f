/* takeover.c: see the header. */
#include "queuemng/tasks/takeover.h"

#include "common/base/log.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/moves.h"
#include "queuemng/tasks/owners.h"

#define LOG_MODULE "tasks"

#define GONE_MS  500  /* a process that is started again is back by then */
#define START_MS 5000 /* the same of a node that this manager has not seen yet */

static void take_all(struct mng *m, const struct mtask_node *from)
{
    log_warn("event=partitions_taken_over node=%s partitions=%u silent_ms=%lld", from->name,
             from->n_parts, (long long)(m->now_ms - from->down_ms));
    each_pool(m, pool)
        for (uint32_t i = 0; i < pool->n; i++) {
            struct mpart *p = &pool->part[i];

            if (p->node == from)
                part_give(m, p, task_node_for_one_more(m, from), p->epoch + 1);
        }
}

void takeover_tick(struct mng *m)
{
    each_task_node(m, n)
        if ((n->peer == 0 || n->foreign) && n->shared && n->n_parts > 0 &&
            m->now_ms - n->down_ms >= (n->incarnation != 0 ? GONE_MS : START_MS) &&
            task_node_for_one_more(m, n) != NULL)
            take_all(m, n);
}

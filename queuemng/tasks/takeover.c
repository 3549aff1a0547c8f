/* takeover.c: see the header. */
#include "queuemng/tasks/takeover.h"

#include "common/base/log.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/moves.h"
#include "queuemng/tasks/owners.h"

#define LOG_MODULE "tasks"

#define GONE_MS  500  /* a process that is started again is back by then */
#define START_MS 5000 /* the same of a node that this manager has not seen yet */

/* A move that was begun before its node kept tasks in Redis is over. */
static void take(struct mng *m, struct mpart *p, struct mtask_node *to)
{
    if (p->to != NULL && p->to != to)
        part_move_forget(m, p);
    p->to = NULL;
    part_give(m, p, to, u64_max(p->epoch, p->to_epoch) + 1);
}

static void take_all(struct mng *m, const struct mtask_node *from)
{
    log_warn("event=partitions_taken_over node=%s partitions=%u silent_ms=%lld", from->name,
             from->n_parts, (long long)(m->now_ms - from->down_ms));
    each_pool(m, pool)
        for (uint32_t i = 0; i < pool->n; i++) {
            struct mpart *p = &pool->part[i];

            if (p->node == from)
                take(m, p, task_node_for_one_more(m, from));
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

/* owners.c: see the header. */
#include "queuemng/tasks/owners.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/orders.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

void part_leave(struct mng *m, part_no no, const struct mtask_node *n, uint64_t epoch)
{
    struct mgone *g = gone_add(m, no, n->no, epoch);

    if (g != NULL)
        part_drop(m, n, g);
    else
        m->out->box.failed = true;
}

void part_give(struct mng *m, struct mpart *p, struct mtask_node *n, uint64_t epoch)
{
    assert(p->node != n && epoch > p->epoch);
    if (p->node != NULL) {
        p->node->n_parts--;
        part_leave(m, p->no, p->node, p->epoch);
    }
    p->node = n;
    n->n_parts++;
    p->epoch = epoch;
    p->confirmed = false;
    p->rate_ms = 0;
    log_info("event=partition_placed part=%u pool=%s node=%s epoch=%llu", p->no,
             p->pool->def.match, n->name, (unsigned long long)p->epoch);
    task_map_changed(m);
    pool_put_later(m, p->pool);
    part_tell(m, p);
}

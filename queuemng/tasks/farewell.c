/* farewell.c: see the header. */
#include "queuemng/tasks/farewell.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/moves.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/records.h"
#include "queuemng/tasks/shares.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

void task_node_drain(struct mng *m, struct mtask_node *n, bool on)
{
    if (n->draining == on)
        return;
    n->draining = on;
    task_node_put(m, n);
    log_info("event=drain node=%s on=%d partitions=%u", n->name, on, n->n_parts);
}

int task_node_may_forget(const struct mng *m, const struct mtask_node *n, bool force,
                         struct err *e)
{
    unsigned long long undone = 0;

    if (n->peer != 0)
        return err_set(e, SQ_ECONFLICT, "node %s is up: drain it, and stop it when it is empty",
                       n->name);
    each_pool(m, pool)
        each_mpart(pool, p)
            if (p->node == n)
                undone += p->st.scheduled + p->st.waiting + p->st.running;
    if (n->n_parts == 0 || force)
        return 0;
    return err_set(e, SQ_ECONFLICT, "node %s has %u partitions of task queues, with %llu tasks to be "
                   "done when it was last heard: they are on its disk alone. Start it again; to "
                   "give them up: force", n->name, n->n_parts, undone);
}

void task_node_forget(struct mng *m, struct mtask_node *n, const char *why)
{
    char key[NAME_MAX_LEN + 16];

    assert(n->peer == 0);
    log_warn("event=node_forgotten node=%s no=%u why=%s partitions=%u", n->name, n->no, why,
             n->n_parts);
    part_moves_down(m, n);
    each_pool(m, pool)
        each_mpart(pool, p)
            if (p->node == n)
                part_renew(m, p);
    each_gone(m, g)
        if (g->node == n->no) {
            list_remove(&m->tasks.gone, &g->in);
            free(g);
        }
    shares_forget(m, n);
    snprintf(key, sizeof(key), "task_node/%s", n->name);
    out_del(m, key);
    m->tasks.put = true;
    task_map_changed(m);
    list_remove(&m->tasks.nodes, &n->in);
    free(n);
}

void task_nodes_farewell(struct mng *m)
{
    each_task_node(m, n)
        if (n->draining && n->n_parts == 0 && n->peer == 0 &&
            m->now_ms - n->down_ms >= m->opts.forget_after_ms)
            task_node_forget(m, n, "drained");
}

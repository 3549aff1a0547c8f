/* task_nodes.c: see the header. */
#include "queuemng/tasks/task_nodes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/node.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/endpoints.h"
#include "queuemng/tasks/parts.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/records.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

static struct mtask_node *by_name(struct mng *m, const char *name)
{
    struct mtask_node *n = task_node_by_name(m, name);

    if (n != NULL)
        return n;
    n = task_node_at(m, m->tasks.next_node);
    if (n != NULL)
        strncpy(n->name, name, NAME_MAX_LEN);
    return n;
}

static void unconfirm(struct mng *m, const struct mtask_node *n)
{
    each_gone(m, g)
        if (g->node == n->no)
            g->told_ms = 0;
    each_pool(m, p)
        for (uint32_t i = 0; i < p->n; i++)
            if (p->part[i].node == n)
                p->part[i].confirmed = false;
    shares_unsaid(m, n);
}

void task_node_up(struct mng *m, peer_no p, const char *name, uint64_t incarnation)
{
    struct mtask_node *n = by_name(m, name);

    if (n == NULL || map_set_ptr(&m->tasks.peer_node, p, n) < 0) {
        log_error("event=no_memory what=node node=%s", name);
        m->out->box.failed = true;
        return;
    }
    if (n->peer != 0) { /* the older link is not heard any more */
        (void)map_del(&m->tasks.peer_node, n->peer);
        n->peer = 0;
        unconfirm(m, n);
    }
    n->peer = p;
    n->registered = n->foreign = false;
    if (n->incarnation != incarnation)
        log_info("event=node_up node=%s incarnation=%016llx", name,
                 (unsigned long long)incarnation);
    n->incarnation = incarnation;
}

void task_node_down(struct mng *m, struct mtask_node *n)
{
    assert(n->peer != 0);
    (void)map_del(&m->tasks.peer_node, n->peer);
    n->peer = 0;
    n->registered = n->foreign = false;
    n->down_ms = m->now_ms;
    unconfirm(m, n);
    part_moves_down(m, n);
    log_warn("event=node_down node=%s partitions=%u", n->name, n->n_parts);
}

/* True, as for segment nodes (core/segment_nodes.c): its tasks belong to another store's managers. */
static bool is_foreign(struct mng *m, struct mtask_node *n, const struct msg_task_reg *g)
{
    n->foreign = g->store != 0 && g->store != m->cluster_id;
    if (n->foreign)
        log_error("event=foreign_node node=%s epoch=%llu seen=%llu do=\"its tasks belong to "
                  "managers with another store: end this manager, give it theirs (redis, "
                  "data_dir), or delete the node's journal\"",
                  n->name, (unsigned long long)m->epoch, (unsigned long long)g->epoch_seen);
    return n->foreign;
}

/* True: its tasks are where it does not look any more: it may not begin without them. */
static bool has_left_store(struct mtask_node *n, const struct msg_task_reg *g)
{
    n->foreign = n->shared && !g->shared && n->n_parts > 0;
    if (n->foreign)
        log_error("event=store_left node=%s partitions=%u do=\"its tasks are in Redis: set store: "
                  "redis again; or start a node with it, which takes them over\"", n->name,
                  n->n_parts);
    return n->foreign;
}

static void on_task_reg(struct mng *m, struct mtask_node *n, const struct msg_task_reg *g)
{
    struct msg_task_ok *ok;

    if (is_foreign(m, n, g) || has_left_store(n, g)) {
        n->registered = false; /* perhaps since before it said so */
        unconfirm(m, n);
        return;
    }
    n->shared = g->shared;
    note_epoch(m, n->name, g->epoch_seen);
    if (strcmp(n->addr, g->addr) != 0)
        task_map_changed(m);
    strncpy(n->addr, g->addr, sizeof(n->addr) - 1);
    strncpy(n->admin, g->admin, sizeof(n->admin) - 1);
    where_set(&n->where, g->region, g->zone);
    n->registered = true;
    n->silent = false;
    task_node_put(m, n);
    ok = &mng_to(m, n->peer, MSG_TASK_OK)->task_ok;
    ok->epoch = m->epoch;
    ok->no = n->no;
    ok->store = m->cluster_id;
    unconfirm(m, n);
    parts_listed(m, n, g);
    log_info("event=node_registered node=%s partitions=%u addr=%s", n->name, n->n_parts, n->addr);
}

void task_node_msg(struct mng *m, struct mtask_node *n, const struct msg *g)
{
    assert(n->peer != 0);
    if (n->foreign && g->type != MSG_TASK_REG)
        return;
    switch (g->type) {
    case MSG_TASK_REG:
        on_task_reg(m, n, &g->task_reg);
        break;
#define X(name, number, member, ways)                                                    \
    case MSG_##name:                                                                     \
        on_##member(m, n, &g->member);                                                   \
        break;
        MSG_TASK_REPORTS(X)
#undef X
    case MSG_ERROR:
        note_refusal(m, n->name, &g->error);
        break;
    default:
        log_warn("event=unexpected node=%s type=%s", n->name, msg_name(g->type));
        break;
    }
}

void task_nodes_tick(struct mng *m)
{
    each_task_node(m, n) {
        if (n->peer != 0 || n->silent || m->now_ms - n->down_ms < m->opts.lost_after_ms)
            continue;
        n->silent = true;
        log_error("event=task_node_silent node=%s silent_ms=%lld partitions=%u "
                  "note=\"their tasks wait for it\"", n->name,
                  (long long)(m->now_ms - n->down_ms), n->n_parts);
    }
    task_nodes_farewell(m);
}

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

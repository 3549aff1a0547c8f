/* parts.c: owners are chosen, told, and heard. */
#include "queuemng/tasks/parts.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/orders.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

#define DROPPED_MS 10000 /* a status this long after PART_DROP knows of it */

#define each_part(p, x) for (struct mpart *x = (p)->part; x < (p)->part + (p)->n; x++)

/* ---- owners ---------------------------------------------------------------------- */

static struct mtask_node *least_loaded(const struct mng *m)
{
    struct mtask_node *best = NULL;

    each_task_node(m, n)
        if (n->registered && (best == NULL || n->n_parts < best->n_parts))
            best = n;
    return best;
}

/* The node has what it is not to have: under this epoch, or a lower one. */
static void leave(struct mng *m, part_no no, const struct mtask_node *n, uint64_t epoch)
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
        leave(m, p->no, p->node, p->epoch);
    }
    p->node = n;
    n->n_parts++;
    p->epoch = epoch;
    p->confirmed = false;
    log_info("event=partition_placed part=%u pool=%s node=%s epoch=%llu", p->no,
             p->pool->def.match, n->name, (unsigned long long)p->epoch);
    task_map_changed(m);
    pool_put_later(m, p->pool);
    part_tell(m, p);
}

static void part_place(struct mng *m, struct mpart *p)
{
    struct mtask_node *n = least_loaded(m);

    assert(p->node == NULL && !p->opened);
    if (n != NULL)
        part_give(m, p, n, p->epoch + 1);
}

void parts_tick(struct mng *m)
{
    each_pool(m, pool) {
        each_part(pool, p) {
            if (p->node == NULL)
                part_place(m, p);
            else if (!p->confirmed && m->now_ms - p->told_ms >= MNG_AGAIN_MS)
                part_tell(m, p);
        }
    }
}

/* ---- what nodes have ------------------------------------------------------------- */

/* A node has what is no share of any pool. If its pool was removed, the next status has it
 * dropped; else it was never given out: what we kept is an old copy, and its tasks are let be. */
static void unknown(struct mng *m, const struct mtask_node *n, part_no no)
{
    if (gone_find(m, no, n->no) != NULL)
        return;
    log_error("event=foreign_partition part=%u node=%s", no, n->name);
    if (no >= m->tasks.next_part && no < UINT32_MAX / 2) { /* at least no new one gets its number */
        m->tasks.next_part = no + 1;
        m->tasks.put = true;
    }
}

static void listed(struct mng *m, struct mtask_node *n, const struct part_row *r)
{
    struct mpart *p = part_find(m, r->part);

    if (p == NULL) {
        unknown(m, n, r->part);
    } else if (p->node != n && r->epoch < p->epoch) {
        leave(m, p->no, n, p->epoch - 1); /* it has been another's since */
    } else if (p->node != n) {
        log_error("event=partition_elsewhere part=%u node=%s owner=%s", p->no, n->name,
                  p->node != NULL ? p->node->name : "none");
    } else {
        p->confirmed = true; /* until its loss would be noted; see parts_listed() */
        if (r->epoch > p->epoch) { /* what we kept is older */
            p->epoch = r->epoch;
            pool_put_later(m, p->pool);
            task_map_changed(m);
        }
    }
}

void parts_listed(struct mng *m, struct mtask_node *n, const struct msg_task_reg *g)
{
    assert(n->registered);
    for (uint32_t i = 0; i < g->n; i++)
        listed(m, n, &g->v[i]);
    each_pool(m, pool) {
        each_part(pool, p) {
            if (p->node != n)
                continue;
            if (p->opened && !p->confirmed && !n->shared) {
                log_error("event=partition_lost part=%u pool=%s node=%s", p->no, pool->def.match,
                          n->name);
                part_renew(m, p);
                continue;
            }
            p->confirmed = false;
            part_tell(m, p);
        }
    }
}

static bool has(const struct msg_part_status *s, const struct mgone *g)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].part == g->no && (g->epoch == 0 || s->v[i].part_epoch <= g->epoch))
            return true;
    return false;
}

/* What was to be dropped, and is, or is not yet. A status that left before the order came does not
 * count. */
static void gone_look(struct mng *m, const struct mtask_node *n, const struct msg_part_status *s)
{
    each_gone(m, g) {
        if (g->node != n->no)
            continue;
        if (g->told_ms == 0 || has(s, g))
            part_drop(m, n, g);
        else if (m->now_ms - g->told_ms >= DROPPED_MS) {
            log_info("event=partition_removed part=%u node=%s", g->no, n->name);
            list_remove(&m->tasks.gone, &g->in);
            free(g);
            m->tasks.put = true;
        }
    }
}

void on_part_status(struct mng *m, struct mtask_node *n, const struct msg_part_status *g)
{
    if (g->epoch != m->epoch || !n->registered)
        return;
    for (uint32_t i = 0; i < g->n; i++) {
        struct mpart *p = part_find(m, g->v[i].part);

        if (p == NULL || p->node != n || p->epoch != g->v[i].part_epoch)
            continue;
        p->st = g->v[i];
        p->confirmed = true;
        if (p->opened)
            continue;
        p->opened = true;
        pool_put_later(m, p->pool);
        task_map_changed(m);
    }
    gone_look(m, n, g);
}

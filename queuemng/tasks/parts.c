/* parts.c: owners are chosen, told, and heard. */
#include "queuemng/tasks/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/moves.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

#define DROPPED_MS 10000 /* a status this long after PART_DROP knows of it */

/* ---- owners ---------------------------------------------------------------------- */

static void part_place(struct mng *m, struct mpart *p)
{
    struct mtask_node *n = task_node_for_one_more(m, NULL);

    assert(p->node == NULL && !p->opened);
    if (n != NULL)
        part_give(m, p, n, p->epoch + 1);
}

void parts_tick(struct mng *m)
{
    m->tasks.split = m->tasks.split || m->tasks.endpoints.n != 0; /* said again; over */
    each_pool(m, pool) {
        each_mpart(pool, p) {
            if (p->node == NULL)
                part_place(m, p);
            else if (!p->confirmed && m->now_ms - p->told_ms >= MNG_AGAIN_MS)
                part_tell(m, p);
        }
    }
    part_moves_tick(m);
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

    part_move_heard(m, n, r, 0);
    if (p == NULL) {
        unknown(m, n, r->part);
    } else if (p->to == n) {
        return; /* a copy that is not whole */
    } else if (p->node != n && r->epoch < p->epoch) {
        part_leave(m, p->no, n, p->epoch - 1); /* another's since then */
    } else if (p->node != n) {
        log_error("event=partition_elsewhere part=%u node=%s owner=%s", p->no, n->name,
                  p->node != NULL ? p->node->name : "none");
    } else {
        p->confirmed = true; /* until its loss would be noted; see parts_listed() */
        if (r->epoch > p->epoch) { /* our copy is older */
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
        each_mpart(pool, p) {
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

/* Checks what was to be dropped, and is, or is not yet. A status that left before the order came does not
 * count. */
static void gone_look(struct mng *m, const struct mtask_node *n, const struct msg_part_status *s)
{
    each_gone(m, g) {
        bool there = has(s, g);

        if (g->node != n->no)
            continue;
        if (g->told_ms == 0 || (there && m->now_ms - g->said_ms >= MNG_AGAIN_MS))
            part_drop(m, n, g);
        else if (!there && m->now_ms - g->told_ms >= DROPPED_MS) {
            log_info("event=partition_removed part=%u node=%s", g->no, n->name);
            list_remove(&m->tasks.gone, &g->in);
            free(g);
            m->tasks.put = true;
        }
    }
}

void on_part_status(struct mng *m, struct mtask_node *n, const struct msg_part_status *g)
{
    uint64_t committed = m->tasks.moves_committed;

    if (g->epoch != m->epoch || !n->registered)
        return;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct part_row row = { g->v[i].part, g->v[i].part_epoch, g->v[i].life };
        struct mpart *p = part_find(m, row.part);

        part_move_heard(m, n, &row, g->v[i].to_epoch);
        if (p == NULL || p->node != n || p->epoch != row.epoch || row.life == PART_COME)
            continue;
        p->st = g->v[i];
        p->st.waits = (struct bytes_of){ 0 };
        (void)!waits_unpack(&p->waits, g->v[i].waits.p, g->v[i].waits.n);
        p->confirmed = true;
        if (p->opened)
            continue;
        p->opened = true;
        pool_put_later(m, p->pool);
        task_map_changed(m);
    }
    gone_look(m, n, g);
    if (m->tasks.moves_committed != committed)
        part_moves_next(m);
}

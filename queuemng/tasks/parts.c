/* parts.c: owners are chosen, told, and heard. */
#include "queuemng/tasks/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"

#define LOG_MODULE "tasks"

#define MOVES_MAX  4     /* at a time */
#define AWAY_MS    3000  /* without one of its nodes: aborted */
#define REST_MS    3000  /* after an abort, before another try */
#define CALLS_MS   35000 /* calls of a source have ended by then, or it cut them off */

/* ---- a move -------------------------------------------------------------------------- */

static void begin(struct mng *m, struct mpart *p, struct mtask_node *to)
{
    assert(p->to == NULL && p->node != NULL && p->node != to);
    p->to = to;
    p->to_epoch = u64_max(p->epoch, p->to_epoch) + 1; /* another one than an aborted move had */
    p->begun_ms = p->both_ms = m->now_ms;
    log_info("event=partition_move part=%u pool=%s from=%s to=%s epoch=%" PRIu64, p->no,
             p->pool->def.match, p->node->name, to->name, p->to_epoch);
    pool_put_later(m, p->pool);
    part_out(m, p);
}

static void commit(struct mng *m, struct mpart *p)
{
    struct mtask_node *to = p->to;

    p->to = NULL;
    m->tasks.moves_committed++;
    part_give(m, p, to, p->to_epoch);
}

/* Both keep it where the other one can open it: nothing is copied. */
static bool is_shared(const struct mpart *p)
{
    return p->node->shared && p->to->shared;
}

/* A shared one has not left its source, which has it under the same epoch still. */
static void abort_move(struct mng *m, struct mpart *p, const char *why)
{
    bool copied = !is_shared(p);

    log_warn("event=partition_move_aborted part=%u from=%s to=%s why=%s", p->no, p->node->name,
             p->to->name, log_q(why, strlen(why)));
    m->tasks.moves_aborted++;
    if (copied)
        part_leave(m, p->no, p->to, p->to_epoch);
    p->to = NULL;
    p->rest_ms = m->now_ms + REST_MS;
    pool_put_later(m, p->pool);
    if (!copied)
        return;
    p->epoch = u64_max(p->epoch, p->to_epoch) + 1;
    p->confirmed = false;
    task_map_changed(m);
    part_tell(m, p);
}

/* Takes what a node says of a partition, whosever it is. left_for: PART_LEFT: epoch of its move. */
static void part_move_heard(struct mng *m, const struct mtask_node *n, const struct part_row *r,
                            uint64_t left_for)
{
    struct mpart *p = part_find(m, r->part);

    if (p == NULL || p->to == NULL)
        return;
    if ((n == p->to && r->epoch == p->to_epoch && r->life == PART_COME) ||
        (n == p->node && r->epoch == p->epoch && r->life == PART_LEFT &&
         left_for == p->to_epoch && is_shared(p)))
        commit(m, p);
    else if (n == p->node && r->epoch == p->epoch && r->life == PART_STUCK)
        abort_move(m, p, "its copy does not go on");
    else if (n == p->node && r->epoch >= p->to_epoch)
        abort_move(m, p, "the source is ahead of what was stored");
}

void part_moves_down(struct mng *m, const struct mtask_node *n)
{
    each_pool(m, pool)
        each_mpart(pool, p)
            if (p->to == n)
                abort_move(m, p, "the target is gone");
}

void part_move_forget(struct mng *m, struct mpart *p)
{
    if (p->to != NULL && !is_shared(p))
        part_leave(m, p->no, p->to, 0);
    p->to = NULL;
}

/* ---- which ones ------------------------------------------------------------------------ */

/* Counts what nodes will have when all moves are over. */
static void count(struct mng *m)
{
    each_task_node(m, n)
        n->will_have = n->n_parts;
    each_pool(m, pool)
        each_mpart(pool, p)
            if (p->to != NULL) {
                p->node->will_have--;
                p->to->will_have++;
            }
}

/* Registered, not draining, with the fewest partitions after all moves; like: only one that keeps
 * tasks where that one does; NULL: any. NULL: none. */
static struct mtask_node *task_node_for_one_more(struct mng *m, const struct mtask_node *like)
{
    struct mtask_node *best = NULL;

    count(m);
    each_task_node(m, n)
        if (n->registered && !n->draining && (like == NULL || n->shared == like->shared) &&
            (best == NULL || n->will_have < best->will_have))
            best = n;
    return best;
}

/* Finds a partition that may go now; NULL. */
static struct mpart *one_of(struct mng *m, const struct mtask_node *n)
{
    each_pool(m, pool)
        each_mpart(pool, p)
            if (p->node == n && p->to == NULL && p->opened && p->confirmed &&
                p->rest_ms <= m->now_ms)
                return p;
    return NULL;
}

/* From a node that is drained, or that has two more than the one that has the fewest; of those
 * that keep tasks where that one does. */
static struct mpart *next(struct mng *m, const struct mtask_node *least)
{
    const struct mtask_node *most = NULL;
    struct mpart *p = NULL;

    each_task_node(m, n) {
        if (!n->registered || n->shared != least->shared)
            continue;
        if (n->draining && p == NULL)
            p = one_of(m, n);
        if (!n->draining && (most == NULL || n->will_have > most->will_have))
            most = n;
    }
    assert(most != NULL); /* least is one */
    return p != NULL || most->will_have < least->will_have + 2 ? p : one_of(m, most);
}

/* Begins a move for either kind of node. False: none to begin. */
static bool begin_next(struct mng *m)
{
    each_task_node(m, n) {
        struct mtask_node *to = task_node_for_one_more(m, n);
        struct mpart *p = to != NULL ? next(m, to) : NULL;

        if (p != NULL) {
            begin(m, p, to);
            return true;
        }
    }
    return false;
}

/* New ones, so that there are as many as may be at a time. */
static void part_moves_next(struct mng *m)
{
    unsigned moving = 0;

    each_pool(m, pool)
        each_mpart(pool, p)
            moving += p->to != NULL;
    while (moving < MOVES_MAX && begin_next(m))
        moving++;
}

/* Once a second: those under way; new ones. */
static void part_moves_tick(struct mng *m)
{
    each_pool(m, pool)
        each_mpart(pool, p) {
            if (p->to == NULL)
                continue;
            if (is_shared(p) && m->now_ms - p->begun_ms >= CALLS_MS) {
                commit(m, p); /* the target's opening fences the source */
            } else if (p->node->registered && p->to->registered) {
                p->both_ms = m->now_ms;
                part_out(m, p);
            } else if (m->now_ms - p->both_ms >= AWAY_MS) {
                abort_move(m, p, "one of its nodes is away");
            }
        }
    part_moves_next(m);
}

#define GONE_MS  500  /* a process that is started again is back by then */
#define START_MS 5000 /* the same of a node that this manager has not seen yet */

/* ---- takeover --------------------------------------------------------------------- */

/* A move of it is over; a copy of before its node kept tasks in Redis goes, if there is one. */
static void take(struct mng *m, struct mpart *p, struct mtask_node *to)
{
    struct mtask_node *was = p->to;

    if (was != NULL && was != to)
        part_leave(m, p->no, was, p->to_epoch);
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

/* ---- owners ---- */

/* Shares without a partition get one. */
bool parts_fill(struct mng *m, struct mpool *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->part[i].no != 0)
            continue;
        if (part_set(m, p, i, m->tasks.next_part, NULL, 0, false) < 0)
            return false;
        m->tasks.next_part++;
    }
    pool_put_later(m, p);
    task_map_changed(m);
    return true;
}

void part_renew(struct mng *m, struct mpart *x)
{
    struct mpool *p = x->pool;

    part_move_forget(m, x);
    part_unset(m, x);
    if (!parts_fill(m, p))
        m->out->box.failed = true;
}


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

/* moves.c: see the header. */
#include "queuemng/tasks/moves.h"

#include <assert.h>
#include <inttypes.h>

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

void part_move_heard(struct mng *m, const struct mtask_node *n, const struct part_row *r,
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

struct mtask_node *task_node_for_one_more(struct mng *m, const struct mtask_node *like)
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

void part_moves_next(struct mng *m)
{
    unsigned moving = 0;

    each_pool(m, pool)
        each_mpart(pool, p)
            moving += p->to != NULL;
    while (moving < MOVES_MAX && begin_next(m))
        moving++;
}

void part_moves_tick(struct mng *m)
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

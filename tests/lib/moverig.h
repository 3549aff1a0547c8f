/* moverig.h: the real manager core and real tables of tasks, a router with callers and workers,
 * links that break and reorder, disks that lose the turn at hand; on top of poolrig.h.
 *
 * What callers and workers were told is kept apart, and judged after each step:
 *   J18  a partition is in service at one node at most, and an epoch at one node ever
 *   J1   a task that was answered is there, with its own body, under its one number
 *   J3   an attempt is handed out once; none while a lease runs; none after the end was answered
 *   J13  a schedule's tick makes one task, and none is lost
 *   the end of each task is told in another queue, under one key; and no other end is
 *   so is each start, one for each attempt; a call that did not leave is given back, and starts again
 *   J25  a task that succeeds has the next one of its chain, once; no other has it
 *   J26  a group's counts are those of its tasks
 *   leases hold: who acknowledges in time is heard, whoever has the partition by then */
#ifndef SEGQ_TESTS_MOVERIG_H
#define SEGQ_TESTS_MOVERIG_H

#include "task/engine/change.h"
#include "task/node/keep.h"
#include "tests/lib/engine_state.h"
#include "tests/lib/moveasks.h"

/* ---- a step -------------------------------------------------------------------------- */

/* The first on its link, of any link. */
static inline bool mv_deliver(struct mv *w)
{
    struct rng *g = &w->r->rng;
    struct mv_wire x;
    uint32_t at;
    struct msg m;
    bool up = false;

    if (w->n_q == 0)
        return false;
    at = (uint32_t)rng_below(g, w->n_q);
    for (uint32_t i = 0; i < at; i++)
        if (w->q[i].link == w->q[at].link && w->q[i].to == w->q[at].to)
            at = i;
    x = w->q[at];
    memmove(w->q + at, w->q + at + 1, (--w->n_q - at) * sizeof(*w->q));
    for (int a = 0; a <= PR_NODES; a++)
        for (int b = 0; b < PR_NODES; b++)
            up |= w->link[a][b].no == x.link;
    arena_reset(&w->r->mem_in);
    if (up && msg_decode(x.type, x.body.data, x.body.len, &w->r->mem_in, &m) < 0)
        MV_BAD(w, "%s cannot be decoded", msg_name((enum msg_type)x.type));
    else if (up && x.to == MV_ROUTER && m.type == MSG_TASK_NOTICE)
        mv_notice(w, x.link, &m.task_notice);
    else if (up && x.to == MV_ROUTER && w->sender != NULL && w->sender->hear(w, x.rid, &m))
        ;
    else if (up && x.to == MV_ROUTER)
        mv_answer(w, x.rid, &m);
    else if (up && w->node[x.to].t != NULL)
        tasktab_msg(w->node[x.to].t, mv_now(w), x.link, x.rid, &m, &w->node[x.to].out);
    buf_fini(&x.body);
    return true;
}

static inline void mv_snapshot(struct mv *w, struct mv_node *d)
{
    bool begin = !d->snapping, more;

    if (tasktab_is_receiving(d->t) || (begin && !rng_chance(&w->r->rng, w->snap)))
        return;
    if (begin)
        d->snap_from = d->disk.len;
    d->snapping = true;
    more = tasktab_snapshot(d->t, begin, mv_slice, d);
    if (tasktab_snapshot_spoilt(d->t)) {
        d->snapping = false;
        buf_reset(&d->slice);
    } else if (!more) { /* at once: what it has put into the log leaves with the next turn */
        d->snapping = false;
        buf_reset(&d->snap);
        buf_append(&d->snap, d->slice.data, d->slice.len);
        buf_reset(&d->slice);
        memmove(d->disk.data, d->disk.data + d->snap_from, d->disk.len - d->snap_from);
        d->disk.len -= d->snap_from;
    }
}

/* The process is killed, or its disk fails: links break, what was not written has not happened. */
static inline void mv_kill(struct mv *w, int i, bool stays_down)
{
    mv_links_down(w, i);
    pr_cut(w->r, i);
    mv_node_end(w, i);
    w->kills++;
    if (stays_down)
        pr_node_run(w->r, i, false);
    else
        mv_node_begin(w, i);
}

/* Behind a turn no worker waits at the door of a queue that has a task for it. */
static inline void mv_look_at_doors(const struct mv *w, const struct tasktab *t)
{
    struct key_view k;

    each_part (t, p) {
        if (p->life != PART_OWNED || p->hold || t->hold || p->paused || w->keys)
            continue;
        list_each_of (&p->spots[true], struct spot, node, s)
            if (engine_queue_view(&p->e, s->queue, &k) && k.waiting > 0 && k.limited == 0)
                MV_BAD(w, "J9: %u tasks of %s and %lu workers wait for one another", k.waiting, s->queue, s->waits.n);
    }
}

static inline void mv_turn(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    struct rng *g = &w->r->rng;
    bool dies = rng_chance(g, w->kill);

    each_tpeer (d->t, p)
        tasktab_link(d->t, mv_now(w), p->no, p->said, 0); /* links take all that is said */
    if (w->redis != NULL)
        ms_before(w, i);
    if (w->sender != NULL)
        w->sender->before(w, i);
    if (!tasktab_turn(d->t, mv_now(w), &d->out))
        MV_BAD(w, "a turn without memory");
    mv_look_at_doors(w, d->t);
    if ((dies && rng_chance(g, 0.5)) || rng_chance(g, w->fail)) { /* before the write */
        mv_kill(w, i, dies);
        return;
    }
    if (w->redis != NULL) {
        ms_write(w, i);
    } else {
        buf_append(&d->disk, d->pend.data, d->pend.len);
        buf_reset(&d->pend);
        d->bodies_written = d->n_bodies;
    }
    if (w->sender != NULL)
        w->sender->written(w, i);
    if (dies) { /* after it, before anything is said */
        mv_kill(w, i, true);
        return;
    }
    mv_node_says(w, i);
    tasktab_written(d->t);
    if (w->redis != NULL)
        return;
    mv_snapshot(w, d);
    if (rng_chance(g, 0.003)) {
        d->old_to = d->n_bodies;
        tasktab_copy_bodies(d->t, mv_now(w));
        d->old_to = 0;
    }
}

static inline void mv_check_owners(struct mv *w)
{
    int8_t has[PR_NOS] = { 0 };

    for (int i = 0; i < PR_NODES; i++) {
        if (w->node[i].t == NULL)
            continue;
        each_part (w->node[i].t, p) {
            if (p->life != PART_OWNED || (w->redis != NULL && w->node[i].mine[p->no] != w->redis->fence[p->no]))
                continue;
            if (has[p->no] != 0)
                MV_BAD(w, "J18: partition %u is in service at %d and at %d", p->no, has[p->no] - 1, i);
            has[p->no] = (int8_t)(i + 1);
            if (p->epoch >= 200) {
                MV_BAD(w, "partition %u has epoch %lu", p->no, p->epoch);
                continue;
            }
            if (w->owner[p->no][p->epoch] != 0 && w->owner[p->no][p->epoch] != i + 1)
                MV_BAD(w, "J18: epoch %lu of partition %u has two owners", p->epoch, p->no);
            w->owner[p->no][p->epoch] = (int8_t)(i + 1);
        }
    }
}

static struct mv *mv_of; /* one world at a time: poolrig's calls have no context */

static inline void mv_tick(struct pr *r)
{
    struct mv *w = mv_of;

    for (int i = 0; i < PR_NODES; i++) /* also while no manager is there */
        if (r->node[i].runs && w->node[i].t == NULL)
            mv_node_begin(w, i);
    mv_dial(w);
    for (unsigned i = 0; i < 4; i++)
        mv_callers(w);
    for (unsigned i = 0; i < MV_ASKS; i++)
        if (w->ask[i].kind != MV_FREE && !w->ask[i].sent)
            mv_ask_send(w, &w->ask[i]);
    for (unsigned turns = 0; turns < 4; turns++) {
        for (unsigned n = (unsigned)rng_below(&r->rng, 30); n > 0 && mv_deliver(w); n--)
            continue;
        if (w->sender != NULL)
            w->sender->target(w);
        for (int i = 0; i < PR_NODES; i++)
            if (w->node[i].t != NULL)
                mv_turn(w, i);
        mv_check_owners(w);
    }
}

static inline void mv_up(struct pr *r, int i)
{
    if (mv_of->node[i].t == NULL)
        mv_node_begin(mv_of, i);
    tasktab_up(mv_of->node[i].t, r->node[i].peer, RPC_MANAGER, "m", &mv_of->node[i].out);
}

static inline void mv_down(struct pr *r, int i, peer_no p)
{
    (void)r;
    if (mv_of->node[i].t != NULL)
        tasktab_down(mv_of->node[i].t, p);
}

/* The pool tells starts and ends in a queue that the manager knows nothing of. */
static inline void mv_msg(struct pr *r, int i, const struct msg *m)
{
    struct msg told = *m;

    if (m->type == MSG_PART_OPEN) {
        told.part_open.notify = "hook";
        told.part_open.notify_starts = true;
    }
    if (mv_of->node[i].t != NULL)
        tasktab_msg(mv_of->node[i].t, mv_now(mv_of), r->node[i].peer, 0, &told, &mv_of->node[i].out);
}

/* Without a pool. */
static inline struct mv *mv_world(uint64_t seed)
{
    static const struct pr_real real = { mv_up, mv_down, mv_msg, mv_tick };
    struct mv *w = calloc(1, sizeof(*w));

    if (w == NULL)
        abort();
    mv_of = w;
    w->r = pr_new(seed);
    w->portion = (const uint32_t[]){ 0, 1, 50, 2000 }[seed % 4];
    w->r->real = &real;
    for (int i = 0; i < PR_NODES; i++) {
        w->node[i].w = w;
        outbox_init(&w->node[i].out);
    }
    return w;
}

static inline struct mv *mv_new(uint64_t seed)
{
    struct mv *w = mv_world(seed);
    struct err e = { 0 };

    if (pr_pool(w->r, "{\"match\": \"q*\", \"partitions\": 3, \"result_ttl\": \"30d\", "
                      "\"task_ttl\": \"30d\", \"max_attempts\": 60, \"retry\": {\"max\": \"1s\"}}",
                &e) < 0)
        MV_BAD(w, "%s", e.text);
    return w;
}

static inline void mv_free(struct mv *w)
{
    for (int i = 0; i < PR_NODES; i++) {
        struct mv_node *d = &w->node[i];

        tasktab_free(d->t);
        outbox_fini(&d->out);
        buf_fini(&d->disk);
        buf_fini(&d->snap);
        buf_fini(&d->pend);
        buf_fini(&d->slice);
        buf_fini(&d->gone);
        for (uint32_t b = 0; b <= d->n_bodies; b++)
            buf_fini(&d->body[b]);
        d->t = NULL;
    }
    for (uint32_t i = 0; i < w->n_q; i++)
        buf_fini(&w->q[i].body);
    free(w->q);
    for (uint32_t b = 0; w->redis != NULL && b < MV_BODIES; b++)
        buf_fini(&w->redis->body[b]);
    for (unsigned no = 0; w->redis != NULL && no < MS_PARTS; no++)
        buf_fini(&w->redis->log[no]);
    free(w->redis);
    pr_free(w->r);
    free(w);
}

/* Every tick of a schedule made its task, all of which wait. */
static inline void mv_judge_beats(struct mv *w)
{
    for (unsigned i = 0; i < MV_BEATS && w->r->why[0] == '\0'; i++) {
        const struct map_part *s = mv_share(w, MV_QUEUES + i);
        int node = s != NULL ? mv_node_of(w, s) : -1;
        struct part *p = node >= 0 && w->node[node].t != NULL ? tasktab_part(w->node[node].t, s->part)
                                                              : NULL;
        uint64_t want = (uint64_t)((w->r->now - MV_FROM) / MV_EVERY);
        struct queue_view v = { 0 };
        char name[8];

        snprintf(name, sizeof(name), "q%u", MV_QUEUES + i);
        if (p == NULL || !w->beats[i])
            continue;
        (void)!engine_look_queue(&p->e, &(struct trec_text){ name, 2 }, &v);
        w->ticks += v.tasks;
        if (v.tasks < want || v.tasks > want + 1)
            MV_BAD(w, "J13: %lu ticks of queue %s made %u tasks", want, name, v.tasks);
    }
}

/* Exactly the successes have a next one, each has one, and it is where it belongs (J25). */
static inline void mv_judge_chain(struct mv *w, unsigned id, const struct part *p, const struct task_view *v)
{
    const struct mv_task *t = &w->task[id];
    bool handed = t->handed || (v->chain != NULL && v->chain->next_part == MV_UNTOLD);
    unsigned how = mv_then_of(w, id), want = v->state == TASK_SUCCEEDED ? CHAIN_BEGUN : CHAIN_WAITS;
    struct task_view next;

    if (how == MV_THEN_NONE)
        return;
    if (v->chain == NULL || v->chain->state != want)
        MV_BAD(w, "J25: task %u is %s, and its chain is %d", id, task_state_word(v->state),
               v->chain != NULL ? v->chain->state : -1);
    else if (handed != (how == MV_THEN_AWAY && want == CHAIN_BEGUN))
        MV_BAD(w, "J25: the next of task %u was %s", id, handed ? "handed over" : "not handed over");
    else if (how == MV_THEN_HERE && want == CHAIN_BEGUN &&
             (engine_look(&p->e, v->chain->next_no, &next) < 0 || next.chain == NULL ||
              next.chain->after_no != t->no))
        MV_BAD(w, "J25: the next of task %u is lost", id);
}

/* A group's counts are those of its tasks (J26). */
static inline void mv_judge_group(struct mv *w, unsigned queue)
{
    const struct map_part *s = mv_share(w, queue);
    int i = s != NULL ? mv_node_of(w, s) : -1;
    const struct part *p = i >= 0 && w->node[i].t != NULL ? tasktab_part(w->node[i].t, s->part) : NULL;
    struct trec_text name = { MV_GROUP, sizeof(MV_GROUP) - 1 };
    uint32_t want[TASK_NSTATES] = { 0 };
    const struct group *k;
    struct task_view v;
    char text[8];

    if (p == NULL)
        return;
    snprintf(text, sizeof(text), "q%u", queue);
    k = engine_group(&p->e, &(struct trec_text){ text, 2 }, &name);
    for (unsigned id = queue; id < w->n_tasks; id += MV_QUEUES)
        if (mv_has_group(id) && engine_look(&p->e, w->task[id].no, &v) == 0)
            want[v.state]++;
    for (unsigned st = TASK_SCHEDULED; st < TASK_NSTATES; st++)
        if (want[st] != (k != NULL ? k->n[st] : 0))
            MV_BAD(w, "J26: group of queue %u: %u are %s, not %u", queue, k != NULL ? k->n[st] : 0,
                   task_state_word((enum task_state)st), want[st]);
}

/* No success has two. */
static inline void mv_judge_nexts(struct mv *w)
{
    uint64_t begun = 0, there = 0;

    for (unsigned id = 0; id < w->n_tasks; id++)
        begun += mv_then_of(w, id) == MV_THEN_HERE && w->task[id].notice_ms != 0;
    for (int i = 0; i < PR_NODES; i++) {
        if (w->node[i].t == NULL)
            continue;
        each_part (w->node[i].t, p) {
            struct queue_view v = { 0 };

            (void)!engine_look_queue(&p->e, &(struct trec_text){ MV_NEXT, 2 }, &v);
            there += p->life == PART_OWNED ? v.tasks : 0;
        }
    }
    w->chained += there;
    if (there != begun && w->r->why[0] == '\0')
        MV_BAD(w, "J25: %lu successes have %lu next tasks", begun, there);
}

static inline unsigned mv_starts_told(const struct mv *w, const struct mv_task *t)
{
    unsigned n = 0;

    for (unsigned i = 0; i < w->n_starts; i++)
        n += w->start[i].part == t->part && w->start[i].no == t->no;
    return n;
}

static inline bool mv_starts_wrong(const struct mv *w, const struct mv_task *t, uint32_t attempts)
{
    unsigned n = mv_starts_told(w, t);

    return w->sender != NULL ? n < attempts : n != attempts;
}

/* All is quiet: every task that was answered is at its owner, as its callers know it. */
static inline void mv_judge(struct mv *w)
{
    for (unsigned id = 0; id < w->n_tasks && w->r->why[0] == '\0'; id++) {
        const struct mv_task *t = &w->task[id];
        const struct map_part *s = mv_share(w, id % MV_QUEUES);
        int i = s != NULL ? mv_node_of(w, s) : -1;
        struct part *p = i >= 0 && w->node[i].t != NULL ? tasktab_part(w->node[i].t, s->part) : NULL;
        struct task_view v;
        struct buf b = { 0 };
        char want[40];

        if (!t->told)
            MV_BAD(w, "task %u was never answered", id);
        else if (p == NULL || p->life != PART_OWNED || p->epoch != s->epoch)
            MV_BAD(w, "task %u: its partition is not in service", id);
        else if (t->part != p->no || engine_look(&p->e, t->no, &v) < 0)
            MV_BAD(w, "J1: task %u is lost", id);
        else if (t->acked && v.state != TASK_SUCCEEDED)
            MV_BAD(w, "J2: task %u was acknowledged, and is %s", id, task_state_word(v.state));
        else if (!t->over && task_state_is_final(v.state) != (t->notice_ms != 0))
            MV_BAD(w, "task %u is %s, and its end was %s", id, task_state_word(v.state),
                   t->notice_ms != 0 ? "told" : "not told");
        else if (!t->over && mv_starts_wrong(w, t, v.attempts))
            MV_BAD(w, "task %u has %u attempts, and %u starts were told", id, v.attempts,
                   mv_starts_told(w, t));
        else {
            mv_judge_chain(w, id, p, &v);
            snprintf(want, sizeof(want), v.state == TASK_SUCCEEDED ? "result of %u" : "body of %u", id);
            if (w->redis != NULL)
                buf_append(&b, ms_body(&w->node[i], v.body)->data, ms_body(&w->node[i], v.body)->len);
            else
                (void)mv_body_get((void *)&w->node[i], v.body, &b);
            if (mv_is_large(w, id) && v.state != TASK_SUCCEEDED) { /* its file: J37 */
                buf_reset(&b);
                buf_append(&b, want, strlen(want));
            }
            /* a result is kept behind a head of its own (task/node/body.h) */
            if (b.len < strlen(want) || (v.state != TASK_SUCCEEDED && b.len != strlen(want)) ||
                memcmp(b.data + b.len - strlen(want), want, strlen(want)) != 0)
                MV_BAD(w, "task %u has another body", id);
        }
        buf_fini(&b);
    }
    mv_judge_nexts(w);
    for (unsigned q = 0; q < MV_QUEUES && w->r->why[0] == '\0'; q++)
        mv_judge_group(w, q);
}

#endif

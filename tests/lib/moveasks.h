/* moveasks.h: the router of moverig.h: what callers and workers ask, what they are told, and what that
 * says of each task (J1, J3, J13). */
#ifndef SEGQ_TESTS_MOVEASKS_H
#define SEGQ_TESTS_MOVEASKS_H

#include "common/task/rules.h"
#include "common/wire/codec.h"
#include "tests/lib/movelarge.h"

/* ---- the router: what callers and workers say ------------------------------------------ */

static inline const struct map_part *mv_share(const struct mv *w, unsigned queue)
{
    const struct msg_task_map *map = &w->r->map;
    char name[8];

    snprintf(name, sizeof(name), "q%u", queue);
    for (uint32_t i = 0; i < map->n_pools; i++) /* an endpoint has a pool of its own */
        if (strcmp(map->pools[i].match, "q*") == 0)
            return &map->pools[i].v[part_share(name, strlen(name), map->pools[i].n)];
    return NULL;
}

static inline int mv_node_of(const struct mv *w, const struct map_part *p)
{
    for (uint32_t i = 0; i < w->r->map.n_nodes; i++)
        if (w->r->map.nodes[i].no == p->node)
            return w->r->map.nodes[i].addr[strlen("10.0.0.")] - '1';
    return -1;
}

/* What is behind a task, if something is: a task of its own partition, in a queue from which nobody takes,
 * or one of another partition. The result of the first stands in it. */
enum { MV_THEN_NONE, MV_THEN_HERE, MV_THEN_AWAY };
#define MV_UNTOLD 1001 /* partition of the next of a task of which its submitter had not heard yet */
#define MV_NEXT "q9"

static inline unsigned mv_then_of(const struct mv *w, unsigned task)
{
    return w->sender != NULL ? MV_THEN_NONE : task % 3;
}

#define MV_GROUP "all" /* of each queue; some of its tasks */

static inline bool mv_has_group(unsigned task)
{
    return task / MV_QUEUES % 2 == 0;
}

/* J40: some tasks stand in another queue of their partition, too, "q1o" beside "q1", from which some takes take. */
static inline bool mv_is_offered(const struct mv *w, unsigned task)
{
    return w->sender == NULL && task % 4 < 2;
}

static inline struct bytes_of mv_then(const struct mv *w, unsigned task, part_no part, struct buf *b)
{
    struct task_put row = { .part = mv_then_of(w, task) == MV_THEN_HERE ? part : part + 1000,
                            .queue = MV_NEXT, .key1 = "", .key2 = "", .name = "", .own.labels = "",
                            .body = { 4, (const uint8_t *)"next" } };
    struct msg m = { .type = MSG_TASK_PUT, .task_put = { 1, &row } };

    buf_init(b);
    if (mv_then_of(w, task) == MV_THEN_NONE || msg_encode(&m, b) < 0)
        return (struct bytes_of){ 0 };
    return (struct bytes_of){ (uint32_t)b->len, b->data };
}

static inline uint64_t mv_cost(const struct mv *w, unsigned task)
{
    return w->costs == 0 ? 1 : 1 + task * 7 % w->costs;
}

/* The definition as an operator's order, which a manager hands on. */
static inline void mv_as_order(struct msg *m, struct buf *body)
{
    const struct msg_task_schedule k = m->task_schedule;

    if (msg_encode(m, body) == 0)
        *m = (struct msg){ .type = MSG_TASK_DO,
                           .task_do = { .part = k.part, .epoch = k.epoch, .verb = DO_PUT_SCHEDULE, .queue = k.queue,
                                        .key1 = k.name, .body = { (uint32_t)body->len, body->data } } };
}

static inline void mv_ask_send(struct mv *w, struct mv_ask *k)
{
    const struct map_part *p = mv_share(w, k->queue);
    int to = p != NULL ? mv_node_of(w, p) : -1;
    struct mv_task *t = &w->task[k->task];
    char queue[8], offer[8], body[40], key[8] = "";
    struct task_put put;
    struct settle_row row;
    struct msg m = { 0 };
    struct buf then = { 0 }, form = { 0 };

    if (to < 0 || w->link[MV_ROUTER][to].no == 0)
        return;
    if (k->kind == MV_PUT && mv_is_large(w, k->task)) {
        ml_look_at_link(w, k, w->link[MV_ROUTER][to].no);
        if (!k->whole) {
            ml_send_piece(w, k, p, to);
            return;
        }
        ml_form(k, &form);
    }
    snprintf(offer, sizeof(offer), "q%uo", k->queue);
    snprintf(queue, sizeof(queue), "q%u", k->queue);
    snprintf(body, sizeof(body), k->kind == MV_ACK ? "result of %u" : "body of %u", k->task);
    if (k->kind == MV_PUT) {
        if (w->keys)
            snprintf(key, sizeof(key), "k%u", k->task % MV_KEYS);
        put = (struct task_put){ .part = p->part, .epoch = p->epoch, .queue = queue, .key1 = key,
                                 .key2 = "", .name = "", .digest = k->task + 1,
                                 .key = { sizeof(k->task), (const uint8_t *)&k->task },
                                 .body = { (uint32_t)strlen(body), (const uint8_t *)body },
                                 .group = mv_has_group(k->task) ? MV_GROUP : "",
                                 .then = mv_then(w, k->task, p->part, &then) };
        if (mv_is_offered(w, k->task))
            put.offer = (struct bytes_of){ (uint32_t)strlen(offer), (const uint8_t *)offer };
        if (form.len > 0)
            put.body = (struct bytes_of){ (uint32_t)form.len, form.data };
        put.own.cost = w->costs != 0 ? mv_cost(w, k->task) + 1 : 0;
        m = (struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &put } };
    } else if (k->kind == MV_SCHEDULE) {
        m = (struct msg){ .type = MSG_TASK_SCHEDULE,
                          .task_schedule = { p->part, p->epoch, SCHEDULE_PUT, queue, "beat", .cron = "",
                                             .every_ms = MV_EVERY, .zone = "",
                                             .catch_up = CATCH_UP_ALL, .catch_up_max = RECUR_MAKE_UP,
                                             .from_ms = MV_START + MV_FROM } };
        m.task_schedule.put = (struct task_put){ .queue = "", .key1 = "", .key2 = "", .name = "",
                                                 .digest = 1, .own.labels = "",
                                                 .body = { 4, (const uint8_t *)"beat" } };
        if (k->queue % 2 == 1)
            mv_as_order(&m, &form);
    } else if (k->kind == MV_TAKE) {
        m = (struct msg){ .type = MSG_TASK_TAKE,
                          .task_take = { p->part, p->epoch, w->last_rid % 3 == 0 && w->sender == NULL ? offer : queue,
                                         3, MV_LEASE,
                                         (uint32_t)ms_max(k->until - w->r->now, 0) } };
    } else {
        row = (struct settle_row){ p->part, p->epoch, SETTLE_ACK, t->no, k->lease, 0,
                                   { (uint32_t)strlen(body), (const uint8_t *)body }, { 0 }, { 0 } };
        m = (struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &row, { 0 } } };
    }
    k->sent = true;
    k->link = w->link[MV_ROUTER][to].no;
    k->rid = ++w->last_rid;
    mv_send(w, k->link, to, k->rid, &m);
    buf_fini(&then);
    buf_fini(&form);
}

static inline struct mv_ask *mv_ask_new(struct mv *w)
{
    for (unsigned i = 0; i < MV_ASKS; i++)
        if (w->ask[i].kind == MV_FREE)
            return &w->ask[i];
    return NULL;
}

/* Which task it is, by its own body; of none, 0: it is wrong. */
static inline unsigned mv_body_task(struct mv *w, const struct taken_row *row)
{
    unsigned id = MV_TASKS;
    char want[40], got[40] = "";

    if (w->larges && ml_task_of(row->body.p, row->body.n, &id)) {
        if (!mv_is_large(w, id))
            MV_BAD(w, "J37: task %u has no large body", id);
        snprintf(got, sizeof(got), "body of %u", id);
    } else if (row->body.n < sizeof(got)) {
        memcpy(got, row->body.p, row->body.n);
    }
    (void)sscanf(got, "body of %u", &id);
    snprintf(want, sizeof(want), "body of %u", id);
    if (id >= w->n_tasks || strcmp(got, want) != 0) {
        MV_BAD(w, "J1: a task has the body \"%s\"", got);
        return 0;
    }
    if (w->task[id].told && w->task[id].no != row->no)
        MV_BAD(w, "J1: task %u has two numbers", id);
    return id;
}

static inline void mv_taken(struct mv *w, const struct taken_row *row)
{
    unsigned id = mv_body_task(w, row);
    struct mv_task *t = &w->task[id];

    if (t->acked)
        MV_BAD(w, "J3: task %u is handed out after its end", id);
    if (row->attempt <= t->attempts)
        MV_BAD(w, "J3: attempt %u of task %u twice", row->attempt, id);
    if (t->lease_until > mv_now(w).ms)
        MV_BAD(w, "J3: task %u is handed out while its lease runs", id);
    t->no = row->no;
    t->attempts = row->attempt;
    t->lease = row->lease;
    t->lease_until = row->until_ms;
    t->doubt = false;
    w->taken++;
}

static inline void mv_answer_put(struct mv *w, struct mv_ask *k, const struct task_put_row *a)
{
    struct mv_task *t = &w->task[k->task];
    const struct map_part *p = mv_share(w, k->queue);

    if (mv_is_large(w, k->task) && (a->code == CODE_BUSY || a->code >= CODE_FULL)) /* as its client does it on 503 */
        ml_again(w, k);
    if (a->code == CODE_STALE || a->code == CODE_BUSY || (a->code >= CODE_FULL && mv_is_large(w, k->task))) {
        w->stale++;
        return;
    }
    if (a->code != CODE_DONE && a->code != CODE_SAME)
        MV_BAD(w, "task %u is answered %u", k->task, a->code);
    if ((t->told || t->attempts > 0) && (t->no != a->no || a->code == CODE_DONE))
        MV_BAD(w, "J1: task %u is accepted twice", k->task);
    t->told = true;
    t->over = w->larges && task_state_is_final((enum task_state)a->state);
    t->no = a->no;
    t->part = p->part;
    k->kind = MV_FREE;
}

static inline void mv_answer_ack(struct mv *w, struct mv_ask *k, uint8_t code)
{
    struct mv_task *t = &w->task[k->task];

    if (code == CODE_STALE || code == CODE_BUSY) {
        w->stale++;
        return;
    }
    k->kind = MV_FREE;
    if (code == CODE_DONE || (code == CODE_SAME && t->doubt)) /* one before it may have been heard */
        t->acked = true;
    else if (code != CODE_CONFLICT || (!t->doubt && mv_now(w).ms < k->until))
        MV_BAD(w, "task %u: a lease that runs for another %ld ms does not hold: %u", k->task,
               (long)(k->until - mv_now(w).ms), code);
}

static inline void mv_answer_schedule(struct mv *w, struct mv_ask *k, uint8_t code)
{
    if (code == CODE_STALE || code == CODE_BUSY) {
        w->stale++;
        return;
    }
    if (code != CODE_DONE && code != CODE_SAME)
        MV_BAD(w, "the schedule of queue %u is answered %u", k->queue, code);
    w->beats[k->queue - MV_QUEUES] = w->r->now < MV_FROM;
    k->kind = MV_FREE;
}

static inline void mv_answer(struct mv *w, uint64_t rid, const struct msg *m)
{
    struct mv_ask *k = NULL;

    for (unsigned i = 0; i < MV_ASKS; i++)
        if (w->ask[i].kind != MV_FREE && w->ask[i].sent && w->ask[i].rid == rid)
            k = &w->ask[i];
    if (k == NULL)
        return;
    k->sent = false;
    if (m->type == MSG_TASK_UPLOAD_ANS) {
        ml_answer(w, k, &m->task_upload_ans);
    } else if (m->type == MSG_TASK_PUT_ANS) {
        mv_answer_put(w, k, &m->task_put_ans.v[0]);
    } else if (m->type == MSG_TASK_SCHEDULE_ANS) {
        mv_answer_schedule(w, k, m->task_schedule_ans.code);
    } else if (m->type == MSG_TASK_DO_ANS) {
        if (m->task_do_ans.code == CODE_DONE && m->task_do_ans.n_schedules == 0)
            MV_BAD(w, "the schedule of queue %u is made, and is not told", k->queue);
        mv_answer_schedule(w, k, m->task_do_ans.code);
    } else if (m->type == MSG_TASK_SETTLE_ANS) {
        mv_answer_ack(w, k, m->task_settle_ans.v[0].code);
    } else if (m->type == MSG_TASK_TAKE_ANS) {
        if (m->task_take_ans.code == CODE_STALE || m->task_take_ans.code == CODE_BUSY) {
            w->again++; /* it goes over */
            return;
        }
        k->kind = MV_FREE;
        for (uint32_t i = 0; i < m->task_take_ans.n; i++)
            mv_taken(w, &m->task_take_ans.v[i]);
    }
}

/* One start is one key and one moment, however often it is told. True: it was told before. */
static inline bool mv_started(struct mv *w, const struct msg_task_notice *m)
{
    if (m->state != TASK_RUNNING || strcmp(m->queue, "hook") != 0 || m->text.n == 0)
        MV_BAD(w, "a notice of another start");
    for (unsigned i = 0; i < w->n_starts; i++) {
        const struct mv_start *s = &w->start[i];

        if (s->part != m->part || s->lease != m->start)
            continue;
        if (s->no != m->no || s->at_ms != m->ended_ms)
            MV_BAD(w, "two starts under lease %lu of partition %u", m->start, m->part);
        return true;
    }
    if (w->n_starts == MV_STARTS)
        abort();
    w->start[w->n_starts++] = (struct mv_start){ m->part, m->no, m->start, m->ended_ms };
    return false;
}

/* An end of a task, or a start: the other queue takes it, or is full; or the router dies with it, or with the
 * answer. */
static inline void mv_notice(struct mv *w, peer_no link, const struct msg_task_notice *m)
{
    struct rng *g = &w->r->rng;
    struct msg a = { .type = MSG_TASK_NOTICE_ANS,
                     .task_notice_ans = { m->part, m->id, m->no, CODE_DONE, 0, 0 } };
    struct mv_task *t = NULL;

    for (unsigned i = 0; i < w->n_tasks; i++)
        if (w->task[i].told && w->task[i].part == m->part && w->task[i].no == m->no)
            t = &w->task[i];
    if (!w->quiet && rng_chance(g, 0.1))
        return;
    if (!w->quiet && rng_chance(g, 0.1)) {
        a.task_notice_ans.code = CODE_FULL;
    } else if (t != NULL && m->put.n > 0) { /* the next of a chain: one task, however often it comes */
        if (mv_then_of(w, (unsigned)(t - w->task)) != MV_THEN_AWAY)
            MV_BAD(w, "task %u is handed over", (unsigned)(t - w->task));
        a.task_notice_ans.code = t->handed ? CODE_SAME : CODE_DONE;
        a.task_notice_ans.to_part = 1000;
        a.task_notice_ans.to_no = t->no;
        w->chained += !t->handed;
        t->handed = true;
    } else if (m->put.n > 0) {
        a.task_notice_ans.to_part = MV_UNTOLD; /* its submission is answered later, or never */
        a.task_notice_ans.to_no = 1;
    } else if (m->start != 0) {
        a.task_notice_ans.code = mv_started(w, m) ? CODE_SAME : CODE_DONE;
    } else if (t != NULL) { /* else its submission was never answered */
        if (t->notice_ms != 0 && t->notice_ms != m->ended_ms)
            MV_BAD(w, "two ends of task %u are told", (unsigned)(t - w->task));
        if (!task_state_is_final((enum task_state)m->state) || strcmp(m->queue, "hook") != 0)
            MV_BAD(w, "a notice of another end");
        a.task_notice_ans.code = t->notice_ms != 0 ? CODE_SAME : CODE_DONE;
        t->notice_ms = m->ended_ms;
        w->notices++;
    }
    if (!w->quiet && rng_chance(g, 0.1))
        return;
    for (int i = 0; i < PR_NODES; i++)
        if (w->link[MV_ROUTER][i].no == link)
            mv_send(w, link, i, 0, &a);
}

/* Somebody says something new. */
static inline void mv_callers(struct mv *w)
{
    struct rng *g = &w->r->rng;
    struct mv_ask *k = mv_ask_new(w);
    unsigned id = w->n_tasks > 0 ? (unsigned)rng_below(g, w->n_tasks) : 0;

    if (k == NULL)
        return;
    for (unsigned i = 0; i < MV_BEATS && w->sender == NULL; i++)
        if (!w->asked[i]) {
            w->asked[i] = true;
            *k = (struct mv_ask){ .kind = MV_SCHEDULE, .queue = MV_QUEUES + i };
            return;
        }
    if (rng_chance(g, 0.3) && w->n_tasks < MV_TASKS && !w->quiet) {
        *k = (struct mv_ask){ .kind = MV_PUT, .task = w->n_tasks, .queue = w->n_tasks % MV_QUEUES };
        w->task[w->n_tasks++].put = true;
    } else if (w->sender == NULL && rng_chance(g, 0.3) && !w->quiet) {
        *k = (struct mv_ask){ .kind = MV_TAKE, .queue = (unsigned)rng_below(g, MV_QUEUES),
                              .until = w->r->now + (msec_t)rng_below(g, 5000) };
    } else if (w->n_tasks > 0 && w->task[id].lease_until > mv_now(w).ms && !w->task[id].acked) {
        for (unsigned i = 0; i < MV_ASKS; i++)
            if (w->ask[i].kind == MV_ACK && w->ask[i].task == id)
                return;
        *k = (struct mv_ask){ .kind = MV_ACK, .task = id, .queue = id % MV_QUEUES,
                              .lease = w->task[id].lease, .until = w->task[id].lease_until };
    }
}

#endif

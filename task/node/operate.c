/* operate.c: questions, also while nothing can be written; orders to one task, and to many. */
#include "task/node/operate.h"

#include "common/base/err.h"
#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/node/commands.h"
#include "task/node/parts.h"

#define ORDERS_MOST 10000u /* tasks of a question: some milliseconds */

/* Room for n rows; false: no memory. */
static bool has_rows(struct msg_task_do_ans *m, uint32_t n, struct outbox *out)
{
    m->v = arena_array(&out->mem, n, sizeof(*m->v));
    if (m->v == NULL)
        m->code = CODE_BUSY;
    return m->v != NULL;
}

static void look(const struct part *p, task_no no, struct msg_task_do_ans *m, struct outbox *out)
{
    if (!has_rows(m, 1, out))
        return;
    (void)tasktab_tell(p, no, m->v, &out->mem);
    if (m->v->code == CODE_DONE)
        tasktab_tell_history(p, no, m->v, &out->mem);
    m->code = m->v->code;
    m->n = m->code == CODE_DONE;
}

static struct task_filter meant(const struct msg_task_do *q, unsigned states)
{
    return (struct task_filter){ .queue = tasktab_text(q->queue), .key1 = tasktab_text(q->key1),
                                 .key2 = tasktab_text(q->key2), .states = states,
                                 .label = tasktab_text(q->label) };
}

static void list(const struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                 struct outbox *out)
{
    const struct task_filter f = meant(q, q->states);
    uint32_t most = u32_min(q->most, TASK_ROWS_MAX);
    task_no *no = arena_array(&out->mem, most, sizeof(*no));
    task_slot at = q->after;

    if (no == NULL || !has_rows(m, most, out)) {
        m->code = CODE_BUSY;
        return;
    }
    m->n = engine_list(&p->e, &f, &at, no, most);
    m->after = at != SLOT_NONE ? at : 0;
    for (uint32_t i = 0; i < m->n; i++)
        (void)tasktab_tell(p, no[i], &m->v[i], &out->mem);
    if (out->mem.failed) {
        m->n = 0;
        m->code = CODE_BUSY;
    }
}

static struct key_row key_row(const struct part *p, const struct key_view *v, struct arena *mem)
{
    return (struct key_row){ arena_strdup(mem, v->key1), arena_strdup(mem, v->key2), v->waiting,
                             v->running, v->limited, tasktab_unix(p, v->limited_until), v->dead,
                             v->redriving };
}

static void keys(const struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                 struct outbox *out)
{
    struct trec_text queue = tasktab_text(q->queue);
    uint32_t most = u32_min(q->most, TASK_ROWS_MAX), at = q->after;
    struct key_view *v = arena_array(&out->mem, most, sizeof(*v));

    m->keys = arena_array(&out->mem, most, sizeof(*m->keys));
    if (v == NULL || m->keys == NULL) {
        m->code = CODE_BUSY;
        return;
    }
    if (queue.n > 0)
        engine_top_keys(&p->e, &queue, &at, v, &m->n_keys, most);
    else
        engine_top_queues(&p->e, &at, LIST_STEPS, v, &m->n_keys, most);
    m->after = at != SLOT_NONE ? at : 0;
    for (uint32_t i = 0; i < m->n_keys; i++)
        m->keys[i] = key_row(p, &v[i], &out->mem);
    if (out->mem.failed) {
        m->n_keys = 0;
        m->code = CODE_BUSY;
    }
}

static void schedules(struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                      struct outbox *out)
{
    struct msg_task_schedule_ans a;

    tasktab_tell_schedules(p, q->queue, &a, &out->mem);
    m->code = a.code;
    m->n_schedules = a.n;
    m->schedules = a.v;
}

static int order(struct tasktab *t, struct part *p, const struct msg_task_do *q)
{
    switch ((enum task_do)q->verb) {
    case DO_CANCEL:
        return tasktab_cancel(t, p, q->no, q->force);
    case DO_RUN:
        return p->paused ? SQ_ECONFLICT : engine_run(&p->e, q->no);
    case DO_REDRIVE:
        return engine_redrive(&p->e, q->no);
    case DO_DISCARD:
        return engine_discard(&p->e, q->no);
    default:
        return SQ_EINVAL;
    }
}

/* How many, or < 0; of a queue that has no task: none. */
static int order_many(struct tasktab *t, struct part *p, const struct msg_task_do *q, uint32_t *after)
{
    const struct task_filter f = meant(q, UINT32_MAX);
    uint32_t most = u32_min(q->most, ORDERS_MOST), at = q->after;
    int n;

    *after = 0;
    switch ((enum task_do)q->verb) {
    case DO_CANCEL_ALL:
    case DO_CANCEL_LABEL:
        n = engine_cancel_some(&p->e, &f, q->force, &at, most);
        t->cut |= q->force && p->endpoint != NULL;
        *after = at != SLOT_NONE ? at : 0;
        break;
    case DO_REDRIVE_ALL:
        n = engine_redrive_all(&p->e, &f.queue, q->rate);
        break;
    case DO_REDRIVE_STOP:
        n = engine_redrive_stop(&p->e, &f.queue);
        break;
    default:
        assert(q->verb == DO_DISCARD_ALL);
        n = engine_discard_dead(&p->e, &f.queue, most);
        *after = n == (int)most; /* no place to go on at: there are fewer */
        break;
    }
    return n == SQ_EUNKNOWN ? 0 : n;
}

/* Answers with the task as it is afterwards, also if nothing came of it, since its state says why. */
static void carry_out(struct tasktab *t, const struct msg_task_do *q, struct msg_task_do_ans *m,
                      struct outbox *out)
{
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    uint8_t code;
    int n;

    t->n.changed++;
    if (p == NULL)
        return;
    if (q->verb == DO_RUN_SCHEDULE) {
        m->code = tasktab_run_schedule(p, q->queue, q->key1, &out->mem);
        m->done = m->code == CODE_DONE;
        return;
    }
    if (q->verb >= DO_CANCEL_ALL && q->verb < DO_NVERBS) {
        n = order_many(t, p, q, &m->after);
        m->done = n > 0 ? (uint64_t)n : 0;
        m->code = tasktab_code(t, n);
        return;
    }
    code = tasktab_code(t, order(t, p, q));
    look(p, q->no, m, out);
    if (m->code != CODE_BUSY)
        m->code = code;
}

void tasktab_do(struct tasktab *t, struct asker a, const struct msg_task_do *q,
                struct outbox *out)
{
    struct msg_task_do_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_DO_ANS)->task_do_ans;
    bool asks = q->verb == DO_LOOK || q->verb == DO_LIST || q->verb == DO_KEYS ||
                q->verb == DO_SCHEDULES;
    struct part *p = asks ? tasktab_owned(t, q->part, q->epoch) : NULL;

    if (((q->verb == DO_LIST || q->verb >= DO_KEYS) && q->most == 0) ||
        (q->verb == DO_CANCEL_LABEL && q->label[0] == '\0'))
        m->code = CODE_INVALID;
    else if (!asks)
        carry_out(t, q, m, out);
    else if (p == NULL)
        m->code = CODE_STALE;
    else if (q->verb == DO_LOOK)
        look(p, q->no, m, out);
    else if (q->verb == DO_LIST)
        list(p, q, m, out);
    else if (q->verb == DO_SCHEDULES)
        schedules(p, q, m, out);
    else
        keys(p, q, m, out);
}

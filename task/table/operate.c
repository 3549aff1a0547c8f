/* operate.c: questions, also while nothing can be written; orders to single tasks. */
#include "task/table/operate.h"

#include "common/base/err.h"
#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/table/ask.h"
#include "task/table/parts.h"

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
    m->code = m->v->code;
    m->n = m->code == CODE_DONE;
}

static void list(const struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                 struct outbox *out)
{
    const struct task_filter f = { .queue = tasktab_text(q->queue), .key1 = tasktab_text(q->key1),
                                   .key2 = tasktab_text(q->key2), .states = q->states };
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

static int order(struct part *p, const struct msg_task_do *q)
{
    switch ((enum task_do)q->verb) {
    case DO_CANCEL:
        return engine_cancel(&p->e, q->no);
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

/* The task as it is afterwards, also if nothing came of it: its state says why. */
static void carry_out(struct tasktab *t, const struct msg_task_do *q, struct msg_task_do_ans *m,
                      struct outbox *out)
{
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    uint8_t code;

    t->n.changed++;
    if (p == NULL)
        return;
    code = tasktab_code(t, order(p, q));
    look(p, q->no, m, out);
    if (m->code != CODE_BUSY)
        m->code = code;
}

void tasktab_do(struct tasktab *t, struct asker a, const struct msg_task_do *q,
                struct outbox *out)
{
    struct msg_task_do_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_DO_ANS)->task_do_ans;
    const struct part *p;

    if (q->verb != DO_LOOK && q->verb != DO_LIST) {
        carry_out(t, q, m, out);
        return;
    }
    p = tasktab_owned(t, q->part, q->epoch);
    if (p == NULL)
        m->code = CODE_STALE;
    else if (q->verb == DO_LOOK)
        look(p, q->no, m, out);
    else
        list(p, q, m, out);
}

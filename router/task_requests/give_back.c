/* give_back.c: see give_back.h. */
#include "router/task_requests/give_back.h"

#include "router/task_requests/ask.h"

/* Ignores the outcome: a lease ends by itself. */
static void done(struct task_call *c, const struct msg *m)
{
    (void)c;
    (void)m;
}

void give_back(struct tasking *t, part_no part, const struct msg_task_take_ans *m)
{
    struct task_call *c = m->n > 0 ? call_new(t, NULL, m->n, 0, 0, done) : NULL;

    if (c == NULL)
        return;
    t->counts.given_back += m->n;
    for (uint32_t i = 0; i < m->n; i++) {
        c->v[i].kind = ASK_SETTLE;
        c->v[i].part = part;
        c->v[i].settle = (struct settle_row){ .verb = SETTLE_NACK, .no = m->v[i].no,
                                              .lease = m->v[i].lease };
    }
    call_begin(c);
}

/* give_back.c: see give_back.h. */
#include "router/task_requests/give_back.h"

#include "router/task_requests/ask.h"

#define DOWN_MS 60000 /* for so long a link may be down: leases are mostly over then */

/* Ignores the outcome: a lease ends by itself. */
static void done(struct task_call *c, const struct msg *m)
{
    (void)c;
    (void)m;
}

static void say(struct ask *a, part_no part, enum task_settle verb, uint64_t lease)
{
    a->kind = ASK_SETTLE;
    a->part = part;
    a->repeats = true; /* a start that was given back has no lease any more */
    a->settle = (struct settle_row){ .verb = (uint8_t)verb, .lease = lease };
}

/* The last one first: each gets in front. */
void give_back(struct tasking *t, part_no part, const struct msg_task_take_ans *m)
{
    struct task_call *c = m->n > 0 ? call_new(t, NULL, m->n, 0, DOWN_MS, done) : NULL;

    if (c == NULL)
        return;
    t->counts.given_back += m->n;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct taken_row *k = &m->v[m->n - 1 - i];

        say(&c->v[i], part, SETTLE_UNSEEN, k->lease);
        c->v[i].settle.no = k->no;
    }
    call_begin(c);
}

void give_back_unheard(struct tasking *t, part_no part, uint64_t rid)
{
    struct task_call *c = call_new(t, NULL, 1, 0, DOWN_MS, done);

    if (c == NULL)
        return;
    t->counts.unheard++;
    say(&c->v[0], part, SETTLE_UNHEARD, rid);
    call_begin_later(c);
}

void give_back_waits(struct tasking *t, part_no part)
{
    struct task_call *c = call_new(t, NULL, 1, 0, 0, done);

    if (c == NULL)
        return;
    say(&c->v[0], part, SETTLE_UNHEARD, 0);
    call_begin(c);
}

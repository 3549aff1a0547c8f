/* portions.c: see portions.h. */
#include "task/node/portions.h"

#include "task/node/parts.h"

struct tpeer *tasktab_peer(const struct tasktab *t, peer_no no)
{
    each_tpeer (t, p) {
        if (p->no == no)
            return p;
    }
    return NULL;
}

static uint64_t on_its_way(const struct tpeer *p)
{
    return p->said - p->handed + p->unsent;
}

bool tasktab_may_let_go(const struct tpeer *p)
{
    return (p->owed.n > 0 || p->held.n > 0) && on_its_way(p) + p->lent < LINK_PORTION;
}

bool tasktab_has_room(struct tpeer *p)
{
    bool has = p == NULL || on_its_way(p) < LINK_PORTION;

    if (!has)
        p->wanted = true;
    return has;
}

void tasktab_weigh(struct tpeer *p, size_t bytes, struct outbox *out)
{
    if (p == NULL || out->failed) /* then it may not be there */
        return;
    p->said += bytes;
    outbox_weigh(out, bytes);
}

void tasktab_hold_call(struct tpeer *p, struct going_call *g)
{
    g->held = &p->held;
    list_push_back(&p->held, &g->in_held);
}

void tasktab_unhold(struct going_call *g)
{
    if (g->held != NULL)
        list_remove(g->held, &g->in_held);
    g->held = NULL;
}

void tasktab_unhold_all(struct tpeer *p)
{
    list_each_of (&p->held, struct going_call, in_held, g)
        tasktab_unhold(g);
}

bool tasktab_wants_room(const struct tasktab *t, peer_no no)
{
    const struct tpeer *p = tasktab_peer(t, no);

    return p != NULL && p->wanted;
}

void tasktab_link(struct tasktab *t, struct task_now now, peer_no no, uint64_t handed, size_t unsent)
{
    struct tpeer *p = tasktab_peer(t, no);

    if (p == NULL)
        return;
    p->handed = handed;
    p->unsent = unsent;
    p->lent = 0;
    if (!p->wanted || on_its_way(p) >= LINK_PORTION)
        return;
    p->wanted = false;
    each_part (t, x) /* takes that wait are looked at in this turn; behind a hold, when it is over */
        if (x->life == PART_OWNED)
            x->due = ms_min(x->due, now.ms);
}

void tasktab_answer_head(struct msg_task_piece *m, const struct call_answer *a, struct arena *mem)
{
    m->status = a->status;
    m->content_type = arena_strdup(mem, a->type);
    m->fields = (struct bytes_of){ (uint32_t)a->fields.n, arena_memdup(mem, a->fields.p, a->fields.n) };
    m->fields_cut = a->fields_cut || m->fields.p == NULL;
    m->sized = a->sized;
    m->length = a->says;
    if (m->content_type == NULL)
        m->content_type = "";
    if (m->fields.p == NULL)
        m->fields.n = 0;
}

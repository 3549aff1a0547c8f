/* copy.c: a walk over all tasks, some in each step. */
#include "task/table/copy.h"

#include "task/engine/change.h"
#include "task/table/parts.h"

/* False: not now: no room, or no memory. */
static bool copy_one(struct tasktab *t, struct part *p, task_slot slot)
{
    const struct tab_bodies *b = &t->o.bodies;
    uint64_t to;
    int rc = b->copy(b->ctx, task_at(&p->e.store, slot)->body, &to);

    if (rc < 0)
        return false; /* what cannot be read stays where it is */
    tasktab_clock(t, p);
    rc = engine_moved(&p->e, task_number(&p->e.store, slot), to);
    if (rc < 0)
        b->drop(b->ctx, to);
    return true;
}

void tasktab_copy_bodies(struct tasktab *t, struct task_now now)
{
    const struct tab_bodies *b = &t->o.bodies;
    uint32_t looked = 0, copied = 0, ends = 0;

    t->now = now;
    while (!t->hold && ends <= t->n_parts && looked < COPY_SLOTS && copied < COPY_BODIES) {
        struct part *p = t->copy_part < t->n_parts ? t->part[t->copy_part] : NULL;
        const struct task *k;

        if (p == NULL || p->life != PART_OWNED || t->copy_slot >= p->e.store.n_slots) {
            t->copy_part = p != NULL ? t->copy_part + 1 : 0;
            t->copy_slot = 0;
            ends++;
            continue;
        }
        k = task_at(&p->e.store, t->copy_slot);
        if (k->state != TASK_FREE && k->body != 0 && b->is_old(b->ctx, k->body))
            copied += copy_one(t, p, t->copy_slot);
        t->copy_slot++;
        looked++;
    }
}

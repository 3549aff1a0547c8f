/* copy.c: a walk over all tasks, some in each step. */
#include "task/node/copy.h"

#include "task/engine/change.h"
#include "task/node/parts.h"

typedef int (*moved)(struct engine *e, task_no no, uint64_t to);

/* How many bodies were copied: of one that is old, unless there is no room, or no memory now. */
static uint32_t copy_one(struct tasktab *t, struct part *p, task_slot slot, uint64_t ref, moved say)
{
    const struct tab_bodies *b = &t->o.bodies;
    uint64_t to;
    int rc;

    if (ref == 0 || !b->is_old(b->ctx, ref))
        return 0;
    rc = b->copy(b->ctx, ref, &to);
    if (rc < 0)
        return 0; /* unreadable bodies stay where they are */
    tasktab_clock(t, p);
    rc = say(&p->e, task_number(&p->e.store, slot), to);
    if (rc < 0)
        b->drop(b->ctx, to);
    return 1;
}

static uint32_t copy_of(struct tasktab *t, struct part *p, task_slot slot)
{
    const struct task *k = task_at(&p->e.store, slot);
    uint32_t n = k->state != TASK_FREE ? copy_one(t, p, slot, k->body, engine_moved) : 0;

    return n + copy_one(t, p, slot, replies_of(&p->e.replies, slot), engine_moved_reply);
}

void tasktab_copy_bodies(struct tasktab *t, struct task_now now)
{
    uint32_t looked = 0, copied = 0, ends = 0;

    t->now = now;
    while (!t->hold && ends <= t->n_parts && looked < COPY_SLOTS && copied < COPY_BODIES) {
        struct part *p = t->copy_part < t->n_parts ? t->part[t->copy_part] : NULL;

        if (p == NULL || p->life != PART_OWNED || t->copy_slot >= p->e.store.n_slots) {
            t->copy_part = p != NULL ? t->copy_part + 1 : 0;
            t->copy_slot = 0;
            ends++;
            continue;
        }
        copied += copy_of(t, p, t->copy_slot++);
        looked++;
    }
}

/* group.c: records; a walk over the tasks of those that are cancelled. */
#include "task/engine/group.h"

#include <string.h>

#include "task/engine/apply.h"
#include "task/engine/change.h"
#include "task/engine/side_records.h"

static uint64_t hash_of(const struct engine *e, const struct trec_text *queue, const struct trec_text *name)
{
    return names_hash(&e->names, NAME_NAME, queue->p, queue->n, name->p, name->n).lo;
}

static struct group *find(const struct engine *e, const struct trec_text *queue, const struct trec_text *name)
{
    return groups_find(&e->groups, hash_of(e, queue, name), queue->p, queue->n, name->p, name->n);
}

const struct group *engine_group(const struct engine *e, const struct trec_text *queue,
                                 const struct trec_text *name)
{
    return find(e, queue, name);
}

static int change(struct engine *e, const struct trec_text *queue, const struct trec_text *name, uint8_t flags)
{
    const struct group *k = find(e, queue, name);
    struct trec r;

    if (e->fenced)
        return SQ_ESTALE;
    if (k == NULL)
        return SQ_EUNKNOWN;
    if ((k->flags & flags) == flags || group_is_over(k))
        return 1;
    r = group_record(k, k->flags | flags);
    return task_perform(e, &r);
}

int engine_group_seal(struct engine *e, const struct trec_text *queue, const struct trec_text *name)
{
    return change(e, queue, name, GROUP_SEALED);
}

int engine_group_cancel(struct engine *e, const struct trec_text *queue, const struct trec_text *name)
{
    return change(e, queue, name, GROUP_SEALED | GROUP_CANCELLING);
}

/* ---- tasks get in ------------------------------------------------------------------ */

int group_may_enter(struct engine *e, const struct submit *s)
{
    const struct group *k;

    k = find(e, &s->queue, &s->group);
    if (k != NULL)
        return (k->flags & GROUP_SEALED) != 0 ? SQ_ESEALED : 0;
    e->full = FULL_GROUPS;
    return e->groups.n < GROUPS_MAX ? 0 : SQ_EFULL;
}

int group_enter(struct engine *e, const struct submit *s, task_no no)
{
    const struct group *k = find(e, &s->queue, &s->group);
    struct trec r = { .kind = TREC_GROUP, .lo = e->groups.next_id, .hi = hash_of(e, &s->queue, &s->group),
                      .name = s->queue, .key1 = s->group };
    struct trec in = { .kind = TREC_MEMBER, .no = no, .lo = k != NULL ? k->id : r.lo };
    int rc = k != NULL ? 0 : task_perform(e, &r);

    if (rc == 0)
        rc = task_perform(e, &in);
    if (rc < 0 && k == NULL) /* SQ_ENOMEM */
        (void)!groups_drop(&e->groups, r.lo);
    return rc == SQ_EPROTO ? SQ_ENOMEM : rc; /* another name has its hash: once in 10^9 partitions */
}

/* ---- what happens by itself -------------------------------------------------------- */

/* True: no task of it is left that is not final, and it says so; false: no memory, or `most`. */
static bool cancel_some(struct engine *e, struct group *k, unsigned most, unsigned *n)
{
    struct trec r = group_record(k, GROUP_SEALED);

    for (; k->cursor != 0; ++*n) {
        task_slot slot = k->cursor - 1;
        const struct group_member *m = pages_at(&e->groups.members, slot);
        uint32_t next = m->next;

        if (*n >= most)
            return false;
        if (!task_state_is_final((enum task_state)task_at(&e->store, slot)->state) &&
            engine_cancel(e, task_number(&e->store, slot)) == SQ_ENOMEM)
            return false;
        k->cursor = next;
    }
    task_perform_sure(e, &r);
    return true;
}

static unsigned advance(struct engine *e, unsigned most)
{
    unsigned n = 0;

    for (uint32_t i = 0; e->groups.cancelling > 0 && i < e->groups.n_v && n < most; i++) {
        struct group *k = e->groups.v[i];

        if (k != NULL && (k->flags & GROUP_CANCELLING) != 0 && !cancel_some(e, k, most, &n))
            break;
    }
    for (; n < most && e->groups.empty.n > 0; n++) {
        const struct group *k = container_of(list_first(&e->groups.empty), struct group, in);
        struct trec r = { .kind = TREC_GROUP_GONE, .lo = k->id };

        if (k->since + GROUP_KEPT_MS > e->at)
            break;
        task_perform_sure(e, &r);
    }
    return n;
}

bool engine_groups_advance(struct engine *e, unsigned most)
{
    return !e->fenced && advance(e, most) == most;
}

msec_t engine_groups_idle_ms(const struct engine *e, msec_t ms)
{
    const struct group *k;

    if (e->groups.cancelling > 0)
        return 0;
    if (e->groups.empty.n == 0)
        return MSEC_NEVER;
    k = container_of(list_first(&e->groups.empty), struct group, in);
    return ms_max(k->since + GROUP_KEPT_MS - engine_now(e, ms), 0);
}

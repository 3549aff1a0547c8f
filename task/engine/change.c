/* change.c: each looks at the state first, then says a record. */
#include "task/engine/change.h"

#include <string.h>

#include "common/base/err.h"
#include "task/engine/apply.h"
#include "task/engine/engine.h"
#include "task/engine/side_records.h"
#include "task/engine/tqueue.h"

#define BIT(S) (1u << TASK_##S)

int engine_cancel(struct engine *e, task_no no)
{
    int64_t slot = engine_find(e, no, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING) | BIT(RUNNING));
    struct trec r = { .kind = TREC_CANCEL, .no = no };
    bool runs = slot >= 0 && task_at(&e->store, (task_slot)slot)->state == TASK_RUNNING;

    if (slot < 0)
        return (int)slot;
    if (runs) {
        r.kind = TREC_STOP;
    } else {
        r.until = task_end_of(e, tqueue_rules(e, (task_slot)slot)->result_ms);
        e->counts.cancelled++;
    }
    task_perform_sure(e, &r);
    return runs;
}

int engine_withdraw(struct engine *e, task_no no)
{
    return engine_was_tried(e, no) ? SQ_ECONFLICT : engine_cancel(e, no);
}

int engine_cut(struct engine *e, task_no no)
{
    int64_t slot = engine_find(e, no, BIT(RUNNING));
    struct trec r = { .kind = TREC_CUT, .no = no };

    if (slot < 0)
        return engine_cancel(e, no);
    e->counts.cancelled++;
    task_perform_sure(e, &r);
    return 0;
}

int engine_cancel_some(struct engine *e, const struct task_filter *f, bool force, task_slot *at,
                       unsigned most)
{
    struct task_filter open = *f;
    task_no no[64];
    int n = 0;

    if (e->fenced)
        return SQ_ESTALE;
    open.states = f->states & (BIT(SCHEDULED) | BIT(WAITING) | BIT(RUNNING) | BIT(RETRYING));
    do {
        unsigned found = engine_list(e, &open, at, no, most < 64 ? most : 64);

        for (unsigned i = 0; i < found; i++)
            n += (force ? engine_cut(e, no[i]) : engine_cancel(e, no[i])) >= 0;
        most -= found;
        if (found < 64)
            break;
    } while (most > 0);
    return n;
}

int engine_run(struct engine *e, task_no no)
{
    int64_t slot = engine_find(e, no, BIT(SCHEDULED) | BIT(WAITING) | BIT(RETRYING));
    struct trec r = { .kind = TREC_RUN, .no = no, .entered = (uint64_t)e->at };
    const struct task *t;

    if (slot < 0)
        return (int)slot;
    t = task_at(&e->store, (task_slot)slot);
    if (t->state == TASK_WAITING && t->cancel)
        return 0;
    if (tqueue_rules(e, (task_slot)slot)->order == ORDER_STRICT) {
        if (t->state == TASK_WAITING)
            return SQ_EINVAL;
        r.kind = TREC_ENTER;
    }
    r.until = task_expiry(e, tqueue_of(e, (task_slot)slot)->pool,
                          owns_of(&e->owns, (task_slot)slot));
    return task_perform(e, &r);
}

/* ---- patches ----------------------------------------------------------------------- */

static bool may_be_patched(const struct engine *e, task_slot slot, const struct task_patch *p)
{
    enum task_order order = (enum task_order)tqueue_rules(e, (task_slot)slot)->order;
    struct task_own own = { .labels = p->labels };

    if ((p->has & PATCH_ORDER) != 0 && order != ORDER_NUMBER)
        return false; /* in a line by entry it would lose its place, and gain nothing */
    if ((p->has & PATCH_PRIORITY) != 0 &&
        (order == ORDER_STRICT || p->priority >= TASK_PRIORITIES))
        return false;
    if ((p->has & PATCH_WHEN) != 0 &&
        (p->delay_ms < 0 || p->delay_ms > DELAY_MAX_MS || p->at_ms < 0 ||
         p->at_ms > e->wall_at + DELAY_MAX_MS || (p->at_ms != 0 && p->delay_ms != 0)))
        return false;
    return (p->has & PATCH_LABELS) == 0 || own_ok(&own);
}

static int patch_labels(struct engine *e, task_slot slot, const char *labels)
{
    const struct task_own *now = owns_of(&e->owns, slot);
    struct task_own own = now != NULL ? *now : (struct task_own){ 0 };

    own.labels = labels;
    return task_perform_own(e, task_number(&e->store, slot), &own);
}

/* Does first what needs memory: the labels, when the turn of the new priority is there. */
static int patch(struct engine *e, task_slot slot, const struct task_patch *p)
{
    struct trec r = { .no = task_number(&e->store, slot), .priority = p->priority,
                      .order = p->order };
    bool moves = (p->has & PATCH_PRIORITY) != 0 && p->priority != task_at(&e->store, slot)->priority;
    const struct offer *f = moves ? offers_of(&e->offers, slot) : NULL;
    uint32_t turn = moves ? tqueue_other_turn(e, slot, p->priority) : 0;
    int rc = moves && turn == 0 ? SQ_ENOMEM : f != NULL ? places_reach_priority(e, f, p->priority) : 0;

    if (rc == 0 && (p->has & PATCH_LABELS) != 0)
        rc = patch_labels(e, slot, p->labels);
    if (rc < 0) {
        if (f != NULL)
            places_tidy_priority(e, f, p->priority);
        else
            tree_tidy(&e->tree, turn, 0, e->at);
        return rc;
    }
    if (moves) {
        r.kind = TREC_PRIORITY;
        task_perform_sure(e, &r);
    }
    if ((p->has & PATCH_ORDER) != 0) {
        r.kind = TREC_ORDER;
        task_perform_sure(e, &r);
    }
    if ((p->has & PATCH_WHEN) != 0) {
        r.kind = TREC_DELAY;
        r.wall = p->at_ms != 0;
        r.until = r.wall != 0 ? (uint64_t)p->at_ms : task_end_of(e, (uint64_t)p->delay_ms);
        task_perform_sure(e, &r);
    }
    return 0;
}

int engine_patch(struct engine *e, task_no no, const struct task_patch *p)
{
    unsigned states = BIT(SCHEDULED);
    int64_t slot;

    if ((p->has & PATCH_WHEN) == 0)
        states |= BIT(WAITING) | BIT(RETRYING);
    if (p->has == PATCH_LABELS)
        states |= BIT(RUNNING);
    slot = engine_find(e, no, states);
    if (slot < 0)
        return (int)slot;
    return may_be_patched(e, (task_slot)slot, p) ? patch(e, (task_slot)slot, p) : SQ_EINVAL;
}

int engine_redrive(struct engine *e, task_no no)
{
    int64_t slot = engine_find(e, no, BIT(DEAD));

    return slot < 0 ? (int)slot : task_redrive(e, (task_slot)slot);
}

int engine_read(struct engine *e, task_no no)
{
    int64_t slot = engine_find(e, no, BIT(SUCCEEDED));
    struct trec r = { .kind = TREC_READ, .no = no };

    if (slot < 0)
        return (int)slot;
    r.until = task_end_of(e, tqueue_rules(e, (task_slot)slot)->read_ms);
    if ((msec_t)r.until < wheel_when(&e->timers, (task_slot)slot))
        task_perform_sure(e, &r);
    return 0;
}

int engine_discard(struct engine *e, task_no no)
{
    int64_t slot = engine_find(e, no, BIT(SUCCEEDED) | BIT(DEAD) | BIT(CANCELLED) | BIT(EXPIRED));
    struct trec r = { .kind = TREC_GONE, .no = no };

    if (slot < 0)
        return (int)slot;
    if (task_is_cut(task_at(&e->store, (task_slot)slot)))
        return SQ_ECONFLICT;
    task_perform_sure(e, &r);
    e->counts.gone++;
    return 0;
}

int engine_moved(struct engine *e, task_no no, uint64_t body)
{
    int64_t slot = engine_find(e, no, ~BIT(FREE));
    struct trec r = { .kind = TREC_MOVED, .no = no, .body = body };

    if (slot < 0)
        return (int)slot;
    task_perform_sure(e, &r);
    return 0;
}

int engine_moved_reply(struct engine *e, task_no no, uint64_t reply)
{
    int64_t slot = engine_find(e, no, ~BIT(FREE));
    struct trec r = { .kind = TREC_REPLY, .no = no, .body = reply };

    if (slot < 0 || replies_of(&e->replies, (task_slot)slot) == 0)
        return slot < 0 ? (int)slot : SQ_EUNKNOWN;
    task_perform_sure(e, &r); /* the table has its place already */
    return 0;
}

void engine_lost_reply(struct engine *e, task_no no)
{
    struct trec r = { .kind = TREC_REPLY, .no = no };

    replies_drop(&e->replies, task_slot_of(no)); /* nothing to be freed */
    task_perform_sure(e, &r);
}

void engine_fence(struct engine *e, bool on)
{
    e->fenced = on;
}

/* ---- redrives: how far and how fast is said here; the clock does it ---------------- */

static int say_redriving(struct engine *e, const struct tqueue *q, struct trec *r)
{
    r->kind = TREC_REDRIVING;
    r->name = (struct trec_text){ q->name, q->len };
    return task_perform(e, r);
}

int engine_redrive_all(struct engine *e, const struct trec_text *queue, uint64_t per_1000_s)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    struct trec r = { .most = per_1000_s };
    int rc;

    if (e->fenced)
        return SQ_ESTALE;
    if (per_1000_s > RATE_PER_1000_S)
        return SQ_EINVAL;
    if (q == NULL)
        return SQ_EUNKNOWN;
    if (q->dead.n == 0)
        return 0;
    r.no = task_number(&e->store, q->dead.tail - 1);
    rc = say_redriving(e, q, &r);
    return rc < 0 ? rc : (int)q->dead.n;
}

int engine_redrive_stop(struct engine *e, const struct trec_text *queue)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    struct trec r = { 0 };

    if (e->fenced)
        return SQ_ESTALE;
    if (q == NULL)
        return SQ_EUNKNOWN;
    return q->redrive_last == 0 ? 0 : say_redriving(e, q, &r);
}

int engine_discard_dead(struct engine *e, const struct trec_text *queue, unsigned most)
{
    const struct tqueue *q;
    unsigned n = 0;

    if (e->fenced)
        return SQ_ESTALE;
    for (; n < most && (q = tqueue_find(e, queue->p, queue->n)) != NULL && q->dead.n > 0; n++)
        if (engine_discard(e, task_number(&e->store, line_head(&q->dead))) < 0)
            break;
    return (int)n;
}

/* ---- group -------------------------------------------------------------------------------- */

/* Records; a walk over the tasks of those that are cancelled. */

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

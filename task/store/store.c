/* store.c: slots, the row of free ones, counts. */
#include "task/store/store.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

static size_t size_of(uint32_t text_n, uint32_t data_n)
{
    return sizeof(struct progress) + text_n + data_n;
}

void progresses_init(struct progresses *p)
{
    *p = (struct progresses){ 0 };
    map_init(&p->by_slot, 0);
}

void progresses_fini(struct progresses *p)
{
    uint64_t slot, v;

    for (size_t i = 0; (i = map_next(&p->by_slot, i, &slot, &v)) != 0;)
        free((struct progress *)(uintptr_t)v);
    map_fini(&p->by_slot);
}

int progresses_set(struct progresses *p, uint32_t slot, const struct worker_said *s, msec_t at)
{
    struct progress *was = map_get_ptr(&p->by_slot, slot), *x;
    size_t had = was != NULL ? size_of(was->text_n, was->data_n) : 0, n = size_of(s->text_n, s->data_n);

    if (s->percent > 101 || s->text_n > PROGRESS_TEXT || s->data_n > PROGRESS_DATA)
        return SQ_EINVAL;
    if (p->bytes - had + n > PROGRESSES_BYTES || (x = realloc(was, n)) == NULL)
        return SQ_ENOMEM;
    if (map_set_ptr(&p->by_slot, slot, x) < 0) { /* a slot that is there needs no memory */
        free(x);
        return SQ_ENOMEM;
    }
    x->at = at;
    x->serial = ++p->serial;
    x->percent = s->percent;
    x->text_n = (uint16_t)s->text_n;
    x->data_n = (uint16_t)s->data_n;
    if (s->text_n > 0)
        memcpy(x->bytes, s->text, s->text_n);
    if (s->data_n > 0)
        memcpy(x->bytes + s->text_n, s->data, s->data_n);
    p->bytes += n - had;
    return 0;
}

static void progresses_drop(struct progresses *p, uint32_t slot)
{
    struct progress *x = map_get_ptr(&p->by_slot, slot);

    if (x == NULL)
        return;
    p->bytes -= size_of(x->text_n, x->data_n);
    (void)map_del(&p->by_slot, slot);
    free(x);
}

uint64_t progresses_bytes(const struct progresses *p)
{
    return p->bytes + p->by_slot.cap * sizeof(struct map_slot);
}

void task_store_init(struct task_store *s, uint32_t max)
{
    assert(max > 0 && max <= TASKS_MAX);
    memset(s, 0, sizeof(*s));
    pages_init(&s->slots, sizeof(struct task));
    s->max = max;
    s->next_order = 1;
}

void task_store_fini(struct task_store *s)
{
    pages_fini(&s->slots);
}

static task_slot next_slot(const struct task_store *s)
{
    return s->free != 0 ? s->free - 1 : s->n_slots;
}

bool task_store_is_full(const struct task_store *s)
{
    return next_slot(s) >= s->max;
}

task_no task_store_next(struct task_store *s)
{
    task_slot slot = next_slot(s);

    if (slot >= s->max || s->next_order > TASK_ORDER_MAX)
        return 0;
    if (pages_reach(&s->slots, slot) < 0)
        return 0;
    return s->next_order << TASK_SLOT_BITS | slot;
}

static void free_push(struct task_store *s, task_slot slot)
{
    struct task *t = task_at(s, slot);

    memset(t, 0, sizeof(*t));
    t->next = s->free;
    if (s->free != 0)
        task_at(s, s->free - 1)->prev = slot + 1;
    s->free = slot + 1;
    s->n[TASK_FREE]++;
}

static void free_take(struct task_store *s, task_slot slot)
{
    struct task *t = task_at(s, slot);

    assert(s->n[TASK_FREE] > 0 && t->state == TASK_FREE);
    if (t->prev != 0)
        task_at(s, t->prev - 1)->next = t->next;
    else
        s->free = t->next;
    if (t->next != 0)
        task_at(s, t->next - 1)->prev = t->prev;
    s->n[TASK_FREE]--;
}

int task_store_put(struct task_store *s, task_no no)
{
    task_slot slot = task_slot_of(no);
    uint64_t order = no >> TASK_SLOT_BITS;
    struct task *t;

    if (slot < s->n_slots && task_number(s, slot) >> TASK_SLOT_BITS != 0)
        return SQ_EPROTO;
    for (task_slot i = s->n_slots; i <= slot; i++) /* a replay may skip slots whose tasks went */
        if (pages_reach(&s->slots, i) < 0)
            return SQ_ENOMEM;
    for (; s->n_slots <= slot; s->n_slots++)
        free_push(s, s->n_slots);
    free_take(s, slot);
    t = task_at(s, slot);
    memset(t, 0, sizeof(*t));
    t->accepted = (uint32_t)order;
    t->accepted_high = order >> 32 & 0xff;
    s->next_order = u64_max(s->next_order, order + 1);
    s->n[TASK_FREE]++; /* until its first state is set */
    assert(task_number(s, slot) == no && no != 0);
    return 0;
}

void task_store_give(struct task_store *s, task_slot slot)
{
    assert(task_at(s, slot)->state == TASK_FREE && task_number(s, slot) != slot);
    s->n[TASK_FREE]--;
    free_push(s, slot);
}

task_slot task_find(const struct task_store *s, task_no no)
{
    task_slot slot = task_slot_of(no);

    if (slot >= s->n_slots || no >> TASK_SLOT_BITS == 0 || task_number(s, slot) != no ||
        task_at(s, slot)->state == TASK_FREE)
        return SLOT_NONE;
    return slot;
}

static bool is_weighed(enum task_state s)
{
    return s != TASK_FREE && !task_state_is_final(s);
}

static uint32_t weight(const struct task_store *s, uint64_t body)
{
    return s->weigh != NULL ? s->weigh(body) : 0;
}

uint64_t task_bytes(const struct task_store *s, task_slot slot)
{
    return weight(s, task_at(s, slot)->body);
}

void task_set_body(struct task_store *s, task_slot slot, uint64_t body)
{
    struct task *t = task_at(s, slot);

    if (is_weighed((enum task_state)t->state))
        s->bytes = s->bytes - weight(s, t->body) + weight(s, body);
    t->body = body;
}

void task_set_state(struct task_store *s, task_slot slot, enum task_state to)
{
    struct task *t = task_at(s, slot);
    enum task_state from = (enum task_state)t->state;

    assert(task_state_may_follow(from, to));
    assert(s->n[from] > 0);
    s->n[from]--;
    s->n[to]++;
    if (is_weighed(from) && !is_weighed(to))
        s->bytes -= weight(s, t->body);
    else if (!is_weighed(from) && is_weighed(to))
        s->bytes += weight(s, t->body);
    t->state = to;
    if (from == TASK_RUNNING && s->progresses != NULL && s->progresses->by_slot.n > 0)
        progresses_drop(s->progresses, slot);
    if (s->groups != NULL && s->groups->kept > 0)
        groups_moved(s->groups, slot, from, to);
}

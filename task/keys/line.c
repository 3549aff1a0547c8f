/* line.c: a list, or a pairing heap whose links are child, next sibling, and previous
 * (the sibling before, or the parent of a first child). */
#include "task/keys/line.h"

static struct task *at(const struct task_store *s, uint32_t ref)
{
    assert(ref != 0);
    return task_at(s, ref - 1);
}

static bool goes_before(const struct task *a, const struct task *b)
{
    if (a->order != b->order)
        return a->order < b->order;
    return (int32_t)(a->entry - b->entry) < 0; /* the row goes round after 2^32 */
}

/* Two heaps become one; either may be 0. */
static uint32_t join(const struct task_store *s, uint32_t a, uint32_t b)
{
    struct task *x, *y;

    if (a == 0 || b == 0)
        return a + b;
    if (goes_before(at(s, b), at(s, a))) {
        uint32_t t = a;

        a = b;
        b = t;
    }
    x = at(s, a);
    y = at(s, b);
    y->prev = a;
    y->next = x->child;
    if (x->child != 0)
        at(s, x->child)->prev = b;
    x->child = b;
    x->prev = x->next = 0;
    return a;
}

/* The children of a root that was taken become one heap: pairs from the left, then all of
 * these from the right. */
static uint32_t join_all(const struct task_store *s, uint32_t first)
{
    uint32_t pairs = 0, all = 0;

    while (first != 0) {
        uint32_t a = first, b = at(s, a)->next, pair;

        first = b != 0 ? at(s, b)->next : 0;
        at(s, a)->prev = at(s, a)->next = 0;
        if (b != 0)
            at(s, b)->prev = at(s, b)->next = 0;
        pair = join(s, a, b);
        at(s, pair)->next = pairs; /* a row of pairs, the last one first */
        pairs = pair;
    }
    while (pairs != 0) {
        uint32_t next = at(s, pairs)->next;

        at(s, pairs)->next = 0;
        all = join(s, all, pairs);
        pairs = next;
    }
    return all;
}

/* after: 0: in front of all. */
static void insert(struct line *l, const struct task_store *s, uint32_t after, uint32_t ref)
{
    struct task *t = at(s, ref);
    uint32_t before = after != 0 ? at(s, after)->next : l->head;

    t->prev = after;
    t->next = before;
    t->child = 0;
    if (after != 0)
        at(s, after)->next = ref;
    else
        l->head = ref;
    if (before != 0)
        at(s, before)->prev = ref;
    else
        l->tail = ref;
    l->n++;
}

void line_add(struct line *l, const struct task_store *s, task_slot slot, bool by_order)
{
    struct task *t = task_at(s, slot);

    if (!by_order) {
        insert(l, s, l->tail, slot + 1);
        return;
    }
    t->prev = t->next = t->child = 0;
    l->n++;
    l->head = join(s, l->head, slot + 1);
}

void line_add_first(struct line *l, const struct task_store *s, task_slot slot)
{
    insert(l, s, 0, slot + 1);
}

void line_add_by_entry(struct line *l, const struct task_store *s, task_slot slot)
{
    const struct task *t = task_at(s, slot);
    uint32_t older = l->tail, younger = l->head;

    while (older != 0 && (int32_t)(at(s, older)->entry - t->entry) > 0) {
        if ((int32_t)(at(s, younger)->entry - t->entry) > 0) {
            older = at(s, younger)->prev;
            break;
        }
        older = at(s, older)->prev;
        younger = at(s, younger)->next;
    }
    insert(l, s, older, slot + 1);
}

static void cut_from_heap(struct line *l, const struct task_store *s, uint32_t ref)
{
    struct task *t = at(s, ref);

    if (l->head == ref) {
        l->head = join_all(s, t->child);
        return;
    }
    if (at(s, t->prev)->child == ref)
        at(s, t->prev)->child = t->next;
    else
        at(s, t->prev)->next = t->next;
    if (t->next != 0)
        at(s, t->next)->prev = t->prev;
    l->head = join(s, l->head, join_all(s, t->child));
}

void line_remove(struct line *l, const struct task_store *s, task_slot slot, bool by_order)
{
    struct task *t = task_at(s, slot);

    assert(l->n > 0 && l->head != 0);
    l->n--;
    if (by_order) {
        cut_from_heap(l, s, slot + 1);
    } else {
        if (t->prev != 0)
            at(s, t->prev)->next = t->next;
        else
            l->head = t->next;
        if (t->next != 0)
            at(s, t->next)->prev = t->prev;
        else
            l->tail = t->prev;
    }
    assert((l->n == 0) == (l->head == 0));
    t->prev = t->next = t->child = 0;
}

uint32_t line_ahead(const struct task_store *s, task_slot slot, uint32_t most)
{
    uint32_t n = 0;

    for (uint32_t ref = task_at(s, slot)->prev; ref != 0 && n < most; ref = at(s, ref)->prev)
        n++;
    return n;
}

/* line.h: tasks that wait for the same turn. Pure. The links are those of struct task.
 *
 * Two kinds. By entry: a list, first come first served. By `order`: a pairing heap
 * (M. Fredman et al., "The Pairing Heap", 1986): the smallest `order` is in front, among
 * equals the one that entered first; O(1) to add, O(log n) amortised to take. */
#ifndef SEGQ_TASK_LINE_H
#define SEGQ_TASK_LINE_H

#include "task/store/store.h"

struct line {
    uint32_t head, tail; /* slot + 1; 0: none. By order: head is the root, tail is unused */
    uint32_t n;
};

static inline task_slot line_head(const struct line *l)
{
    return l->head != 0 ? l->head - 1 : SLOT_NONE;
}

void line_add(struct line *l, const struct task_store *s, task_slot slot, bool by_order);
/* In front of all (a line by order has no such place). */
void line_add_first(struct line *l, const struct task_store *s, task_slot slot);
/* A line by entry: behind those that entered before it. Costs a step for each of those between
 * it and the nearer end. */
void line_add_by_entry(struct line *l, const struct task_store *s, task_slot slot);
void line_remove(struct line *l, const struct task_store *s, task_slot slot, bool by_order);
/* How many of a line by entry are before it, counted up to `most`. */
uint32_t line_ahead(const struct task_store *s, task_slot slot, uint32_t most);

#endif

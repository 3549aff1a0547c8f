/* list.h: intrusive doubly linked list that knows its length. Pure. */
#ifndef SEGQ_LIST_H
#define SEGQ_LIST_H

#include "common/base/base.h"

struct list_node {
    struct list_node *prev, *next; /* both NULL while in no list */
};

struct list {
    struct list_node head; /* head.next = first, head.prev = last */
    size_t n;
};

static inline void list_init(struct list *l)
{
    l->head.prev = l->head.next = &l->head;
    l->n = 0;
}

static inline bool list_linked(const struct list_node *x)
{
    return x->next != NULL;
}

static inline void list_insert_after(struct list *l, struct list_node *at, struct list_node *x)
{
    x->prev = at;
    x->next = at->next;
    at->next->prev = x;
    at->next = x;
    l->n++;
}

static inline void list_push_back(struct list *l, struct list_node *x)
{
    list_insert_after(l, l->head.prev, x);
}

static inline void list_push_front(struct list *l, struct list_node *x)
{
    list_insert_after(l, &l->head, x);
}

static inline void list_remove(struct list *l, struct list_node *x)
{
    x->prev->next = x->next;
    x->next->prev = x->prev;
    x->prev = x->next = NULL;
    l->n--;
}

static inline struct list_node *list_first(const struct list *l)
{
    return l->n != 0 ? l->head.next : NULL;
}

static inline struct list_node *list_last(const struct list *l)
{
    return l->n != 0 ? l->head.prev : NULL;
}

/* NULL after the last */
static inline struct list_node *list_next(const struct list *l, const struct list_node *x)
{
    return x->next == &l->head ? NULL : x->next;
}

static inline struct list_node *list_prev(const struct list *l, const struct list_node *x)
{
    return x->prev == &l->head ? NULL : x->prev;
}

#define list_entry(ptr, type, member)                                                    \
    ((ptr) == NULL ? NULL : container_of(ptr, type, member))

/* The current one may be removed (and freed) in the body. */
#define list_each(l, it)                                                                 \
    for (struct list_node *it = (l)->head.next, *it##_next = it->next; it != &(l)->head; \
         it = it##_next, it##_next = it->next)

/* The same over the objects: `var` points to each of them in turn. */
#define list_each_of(l, type, member, var)                                               \
    for (type *var = list_entry(list_first(l), type, member), *var##_next;               \
         var != NULL &&                                                                  \
         (var##_next = list_entry(list_next(l, &var->member), type, member), true);      \
         var = var##_next)

#endif

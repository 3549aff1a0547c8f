/* link_ask.c: see link_ask.h. */
#include "router/tasking/link_ask.h"

bool task_link_ask(struct tasking *t, node_no node, struct ask *a)
{
    struct task_link *l = map_get_ptr(&t->links, node);

    if (l == NULL || (l->ch == NULL && l->failed))
        return false;
    ask_join(a, &l->open[a->kind]);
    return true;
}

bool task_link_is_up(const struct tasking *t, node_no node)
{
    const struct task_link *l = map_get_ptr(&t->links, node);

    return l != NULL && l->ch != NULL;
}

void tasking_links_count(const struct tasking *t, size_t *up, size_t *of)
{
    uint64_t no, val;

    *up = 0;
    *of = t->links.n;
    for (size_t i = 0; (i = map_next(&t->links, i, &no, &val)) != 0;)
        *up += ((struct task_link *)(uintptr_t)val)->ch != NULL;
}

/* link_ask.c: see link_ask.h. */
#include "router/task_requests/link_ask.h"

bool task_link_ask(struct tasking *t, node_no node, struct ask *a)
{
    struct task_link *l = node_links_reach(&t->links, node);

    if (l != NULL)
        ask_join(a, &l->open[a->kind]);
    return l != NULL;
}

bool task_link_is_up(const struct tasking *t, node_no node)
{
    const struct task_link *l = node_links_reach(&t->links, node);

    return l != NULL && l->n.ch != NULL;
}

/* client_gone.c: see client_gone.h. */
#include "router/task_requests/client_gone.h"

#include "router/task_requests/single_task.h"

/* Withdraws the task whose client has gone, if nobody has begun it. What cannot
 * be said now is said at the next tick. */
static void withdraw(struct task_call *c)
{
    struct msg_task_change m = { .verb = CHANGE_CANCEL, .no = c->v[0].no, .unbegun = true };

    if (!one_tell(c->t, c->v[0].part, &m))
        return;
    c->leaves = false;
    c->t->counts.left++;
}

static bool has_gone(const struct task_call *c)
{
    return c->leaves && (c->req == NULL || httpd_is_closing(c->req));
}

/* Until it is submitted nobody knows its number. */
static bool waits_for_end(const struct task_call *c)
{
    return c->v[0].kind == ASK_GET;
}

bool left_before(struct task_call *c)
{
    bool gone = has_gone(c);

    if (gone)
        withdraw(c);
    return gone;
}

void left_now(struct task_call *c)
{
    if (waits_for_end(c) && has_gone(c))
        withdraw(c);
    call_client_gone(c);
}

void left_look(struct tasking *t)
{
    list_each (&t->calls, it) {
        struct task_call *c = container_of(it, struct task_call, in_all);

        if (waits_for_end(c) && has_gone(c))
            withdraw(c);
    }
}

/* call_cost.c: see call_cost.h. */
#include "router/task_api/call_cost.h"

#include "common/task/call.h"
#include "common/submit/submission.h"

const char *call_cost_named(const struct http_req *q, int64_t *cost)
{
    struct slice text;
    uint64_t v = 0;

    *cost = 0;
    if (http_find(q, "segq-cost", &text) == 0)
        return NULL;
    for (size_t i = 0; i < text.n && v <= TASK_COST_MAX; i++)
        v = text.p[i] >= '0' && text.p[i] <= '9' ? 10 * v + (uint64_t)(text.p[i] - '0') : UINT32_MAX;
    *cost = (int64_t)v;
    return v >= 1 && v <= TASK_COST_MAX ? NULL : "segq-cost must be a whole number from 1 to 1000000000";
}

const char *call_cost_beyond(const struct task_way *w, int64_t cost)
{
    return w != NULL && w->max_cost != 0 && cost > (int64_t)w->max_cost ? w->cost_says : NULL;
}

const char *call_cost(const struct task_way *w, const struct tenant *t, struct slice body, uint64_t length,
                      int64_t *cost)
{
    const char *why;

    if (w == NULL || !cost_has_rule(&w->cost)) /* tenant_bind() tells a tenant of its bound */
        return tenant_bears(t, *cost) ? call_cost_beyond(w, *cost) : NULL;
    why = submit_units(&w->cost, body, length, cost);
    if (why != NULL)
        return why;
    return tenant_bears(t, *cost) ? call_cost_beyond(w, *cost)
           : "this token is a tenant's, and the call is estimated at more units than its calls may take (cost= "
             "of its line in task_tokens): ask for less";
}

const char *call_cost_of_form(const struct task_way *w, const struct tenant *t, struct slice form, int64_t *cost)
{
    struct call c;

    if (w == NULL || !cost_has_rule(&w->cost) || call_unpack((const uint8_t *)form.p, form.n, &c) < 0)
        return call_cost_beyond(w, *cost);
    return call_cost(w, t, (struct slice){ (char *)(uintptr_t)c.body.p, c.body.n }, c.body.n, cost);
}

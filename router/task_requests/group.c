/* group.c: a question, and its answer: each may be asked again. */
#include "router/task_requests/group.h"

#include "router/api/json_out.h"
#include "router/state/router.h"
#include "router/task_requests/ask.h"

static struct task_outcome outcome_of(int code)
{
    struct task_outcome o = task_token_outcome(code);

    if (code != CODE_UNKNOWN)
        return o;
    o.problem = API_GROUP_UNKNOWN;
    o.status = api_problem_status(o.problem);
    o.detail = "the queue has no group of this name: it comes with its first task, and goes a day after its "
               "last one has gone";
    return o;
}

static void answer(struct api_ans *a, const struct ask *q, const struct msg_task_group_ans *m)
{
    struct buf *b = &a->body;
    uint64_t all = 0, open = 0;

    for (uint32_t s = 0; s < m->n_counts; s++) {
        all += m->counts[s];
        open += task_state_is_final((enum task_state)s) ? 0 : m->counts[s];
    }
    api_ok(a, 200);
    out_text(b, "{\"queue\":", q->group.queue);
    out_text(b, ",\"group\":", q->group.name);
    buf_str(b, m->sealed ? ",\"sealed\":true" : ",\"sealed\":false");
    buf_str(b, m->sealed && open == 0 ? ",\"over\":true" : ",\"over\":false");
    if (m->cancelling)
        buf_str(b, ",\"cancelling\":true");
    out_u64(b, ",\"tasks\":", all);
    buf_str(b, ",\"states\":{");
    for (uint32_t s = TASK_SCHEDULED; s < m->n_counts && s < TASK_NSTATES; s++) {
        out_text(b, s == TASK_SCHEDULED ? "" : ",", task_state_word((enum task_state)s));
        out_u64(b, ":", m->counts[s]);
    }
    buf_str(b, "}}");
}

static void answered(struct task_call *c, const struct msg *m)
{
    const struct ask *a = &c->v[0];
    struct task_outcome o = outcome_of(a->code == CODE_SAME ? CODE_DONE : a->code);
    struct router *r = c->t->r;

    if (o.status >= 400) {
        api_problem(&r->ans, o.problem, o.detail, router_request_id(r));
        return;
    }
    answer(&r->ans, a, &m->task_group_ans);
    answer_tag(&r->ans, c->known);
}

void group_ask(struct tasking *t, const struct task_asked *x)
{
    struct task_call *c = call_new(t, x->req, 1, x->path.queue.n + x->path.name.n + x->q->if_none_match.n + 2, 0, answered);
    struct ask *a;

    if (c == NULL)
        return;
    a = &c->v[0];
    c->queue = (struct slice){ call_text(c, x->path.queue), x->path.queue.n };
    if (x->path.op == TASK_GROUP_LOOK)
        c->known = call_bytes(c, x->q->if_none_match);
    a->kind = ASK_GROUP;
    a->repeats = true;
    a->queue = c->queue;
    a->group = (struct msg_task_group){
        .verb = x->path.op == TASK_GROUP_LOOK ? GROUP_LOOK
                : x->path.op == TASK_GROUP_SEAL ? GROUP_SEAL : GROUP_CANCEL,
        .queue = c->queue.p, .name = call_text(c, x->path.name),
    };
    call_begin(c);
}

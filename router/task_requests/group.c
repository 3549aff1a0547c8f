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

/* Answers of all rows, together. */
static struct group_said add_up(const struct task_call *c)
{
    struct group_said all = { .sealed = true };

    for (uint32_t i = 0; i < c->n; i++) {
        const struct group_said *s = &c->v[i].group.said;

        if (c->v[i].code == CODE_UNKNOWN)
            continue;
        all.sealed = all.sealed && s->sealed;
        all.cancelling = all.cancelling || s->cancelling;
        for (int k = 0; k < TASK_NSTATES; k++)
            all.n[k] += s->n[k];
    }
    return all;
}

static void answer(struct api_ans *a, const struct task_call *c)
{
    struct group_said said = add_up(c);
    struct buf *b = &a->body;
    uint64_t all = 0, open = 0;

    for (int s = 0; s < TASK_NSTATES; s++) {
        all += said.n[s];
        open += task_state_is_final((enum task_state)s) ? 0 : said.n[s];
    }
    api_ok(a, 200);
    out_text(b, "{\"queue\":", c->queue.p);
    out_text(b, ",\"group\":", c->v[0].group.asked.name);
    buf_str(b, said.sealed ? ",\"sealed\":true" : ",\"sealed\":false");
    buf_str(b, said.sealed && open == 0 ? ",\"over\":true" : ",\"over\":false");
    if (said.cancelling)
        buf_str(b, ",\"cancelling\":true");
    out_u64(b, ",\"tasks\":", all);
    buf_str(b, ",\"states\":{");
    for (int s = TASK_SCHEDULED; s < TASK_NSTATES; s++) {
        out_text(b, s == TASK_SCHEDULED ? "" : ",", task_state_word((enum task_state)s));
        out_u64(b, ":", said.n[s]);
    }
    buf_str(b, "}}");
}

static void heard(struct ask *a, const struct msg *m)
{
    struct group_said *s = &a->group.said;

    if (a->code != CODE_DONE && a->code != CODE_SAME)
        return;
    a->code = CODE_DONE;
    s->sealed = m->task_group_ans.sealed;
    s->cancelling = m->task_group_ans.cancelling;
    for (uint32_t k = 0; k < m->task_group_ans.n_counts && k < TASK_NSTATES; k++)
        s->n[k] = m->task_group_ans.counts[k];
}

static void answered(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    int code = CODE_UNKNOWN;
    struct task_outcome o;

    (void)m;
    for (uint32_t i = 0; i < c->n && (code == CODE_UNKNOWN || code == CODE_DONE); i++)
        code = c->v[i].code != CODE_UNKNOWN ? c->v[i].code : code;
    o = outcome_of(code);
    if (o.status >= 400) {
        api_problem(&r->ans, o.problem, o.detail, router_request_id(r));
        return;
    }
    answer(&r->ans, c);
    answer_tag(&r->ans, c->known);
}

/* A row for each pool of the queue: its tasks stay where they were when it gets another one (strays.h). */
void group_ask(struct tasking *t, const struct task_asked *x)
{
    struct slice queue = x->path.queue;
    uint32_t n = pools_count_of(&t->pools, queue.p, queue.n);
    struct task_call *c = call_new(t, x->req, n, queue.n + x->path.name.n + x->q->if_none_match.n + 2, 0, answered);
    const char *name;

    if (c == NULL)
        return;
    c->queue = (struct slice){ call_text(c, queue), queue.n };
    name = call_text(c, x->path.name);
    if (x->path.op == TASK_GROUP_LOOK)
        c->known = call_bytes(c, x->q->if_none_match);
    c->each = heard;
    for (uint32_t i = 0; i < n; i++) {
        struct ask *a = &c->v[i];

        a->kind = ASK_GROUP;
        a->repeats = true;
        if (i == 0)
            a->queue = c->queue;
        else
            a->part = pools_of_queue_at(&t->pools, queue.p, queue.n, i)->part;
        a->group.asked = (struct msg_task_group){
            .verb = x->path.op == TASK_GROUP_LOOK ? GROUP_LOOK
                    : x->path.op == TASK_GROUP_SEAL ? GROUP_SEAL : GROUP_CANCEL,
            .queue = c->queue.p, .name = name,
        };
    }
    call_begin(c);
}

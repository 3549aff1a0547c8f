/* schedule.c: see schedule.h. The first pool of a queue is the one that has it; the others are older. */
#include "router/task_requests/schedule.h"

#include "common/submit/schedule_body.h"
#include "router/state/router.h"
#include "router/task_api/schedule_json.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submission.h"

static void answer(struct task_call *c, int code, const struct msg_task_schedule_ans *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    enum schedule_verb verb = (enum schedule_verb)a->schedule.verb;
    struct task_outcome o = schedule_outcome(code, verb, m);

    if (o.status >= 400)
        api_problem(&r->ans, o.problem, o.detail, router_request_id(r));
    else
        schedule_answer(&r->ans, verb, c->queue, a->schedule.name, m, a->part, &r->keys.token);
}

/* Joins what all rows from this one on say of a deletion. */
static int deleted(const struct task_call *c, uint32_t i)
{
    int code = c->v[i].code;

    while (++i < c->n)
        code = schedule_deleted(code, c->v[i].code);
    return code;
}

static void answered(struct task_call *c, const struct msg *m)
{
    const struct msg_task_schedule_ans none = { .why = "" };

    answer(c, deleted(c, 0), m != NULL ? &m->task_schedule_ans : &none);
}

/* A row each for the pools of the queue from this one on. NULL: that has been answered. */
static struct task_call *new_call(struct tasking *t, struct httpd_req *req, struct slice queue,
                                  struct slice named, enum schedule_verb verb, uint32_t first,
                                  uint32_t n, size_t bytes, call_done done)
{
    struct task_call *c = call_new(t, req, n, bytes + queue.n + named.n + 2, 0, done);
    const char *name;

    if (c == NULL)
        return NULL;
    c->queue = (struct slice){ call_text(c, queue), queue.n };
    name = call_text(c, named);
    for (uint32_t i = 0; i < n; i++) {
        struct ask *a = &c->v[i];

        a->kind = ASK_SCHEDULE;
        a->repeats = true;
        if (first + i == 0)
            a->queue = c->queue;
        else
            a->part = pools_of_queue_at(&t->pools, queue.p, queue.n, first + i)->part;
        a->schedule = (struct msg_task_schedule){
            .verb = (uint8_t)verb, .queue = c->queue.p, .name = name, .cron = "", .zone = "",
            .put = { .queue = "", .key1 = "", .key2 = "", .name = "", .group = "", .own.labels = "" },
        };
    }
    return c;
}

/* True: it stands in the queue's pool; older ones have it no more, or that is not known. */
static void moved(struct task_call *c, const struct msg *m)
{
    struct msg_task_schedule_ans a = { .fresh = c->fresh, .why = "" };
    int code = schedule_deleted(CODE_DONE, deleted(c, 0));

    (void)m;
    c->v[0].schedule.verb = SCHEDULE_PUT;
    answer(c, code, &a);
}

/* Only what stands in the queue's pool is deleted in older ones. */
static void written(struct task_call *c, const struct msg *m)
{
    const struct msg_task_schedule_ans none = { .why = "" };
    const struct msg_task_schedule_ans *s = m != NULL ? &m->task_schedule_ans : &none;
    struct slice name = { (char *)(uintptr_t)c->v[0].schedule.name,
                          strlen(c->v[0].schedule.name) };
    uint32_t n = pools_count_of(&c->t->pools, c->queue.p, c->queue.n);
    struct task_call *next;
    int code = c->v[0].code;

    if ((code != CODE_DONE && code != CODE_SAME) || n == 1) {
        answer(c, code, s);
        return;
    }
    next = new_call(c->t, NULL, c->queue, name, SCHEDULE_DELETE, 1, n - 1, 0, moved);
    if (next == NULL) {
        answer(c, ASK_LOST, s);
        return;
    }
    if (c->req != NULL)
        call_hand_over(c, next);
    next->silent = false;
    next->fresh = s->fresh;
    call_begin(next);
}

static void fill(struct task_call *c, const struct schedule_body *b, struct slice text,
                 struct slice bytes)
{
    struct ask *a = &c->v[0];
    struct msg_task_schedule *m = &a->schedule;

    m->cron = call_text(c, b->cron);
    m->zone = call_text(c, b->zone);
    schedule_numbers(m, b);
    m->text = (struct bytes_of){ (uint32_t)text.n, (const uint8_t *)text.p };
    m->put = submit_row(c, &b->task, bytes, true);
    m->put.queue = ""; /* the schedule's */
    a->is_call = bytes.p != b->task.payload.p;
}

void schedule_put(struct tasking *t, const struct task_asked *x)
{
    const struct task_way *w = pools_of_queue(&t->pools, x->path.queue.p, x->path.queue.n);
    enum api_problem problem = API_BAD_REQUEST;
    struct slice text = x->q->body, bytes = { 0 };
    char copy[SCHEDULE_TEXT_MAX];
    struct schedule_body b;
    struct body_error e;
    struct task_call *c;
    const char *why;

    if (x->q->has_body && !x->q->json) {
        router_problem(t->r, x->req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
        return;
    }
    if (x->q->body.n > SCHEDULE_TEXT_MAX) {
        router_problem(t->r, x->req, API_PAYLOAD_TOO_LARGE, "a schedule has at most 20 KiB");
        return;
    }
    if (x->q->body.n > 0)
        text.p = memcpy(copy, x->q->body.p, x->q->body.n); /* reading changes what is read */
    why = schedule_body_read(&b, x->q->body, TICK_MEMBERS, &e)
              ? submit_unfit(t, w, &b.task, &bytes, &problem, &e) : e.text;
    if (why == NULL)
        why = submit_cost(w, x->tenant, &b.task, bytes, &problem);
    if (why == NULL && bytes.n > SCHEDULE_BODY_MAX) {
        problem = API_PAYLOAD_TOO_LARGE;
        why = "the task of a schedule has at most 16 KiB";
    }
    if (why != NULL) {
        router_problem(t->r, x->req, problem, why);
        return;
    }
    c = new_call(t, x->req, x->path.queue, x->path.name, SCHEDULE_PUT, 0, 1,
                 2 * x->q->body.n + bytes.n + 2 + SUBMIT_ROOM, written);
    if (c == NULL)
        return;
    fill(c, &b, call_bytes(c, text), bytes);
    call_begin(c);
}

static void has_run(struct task_call *c, const struct msg *m)
{
    const struct msg_task_schedule_ans none = { .why = "" };
    const struct msg_task_schedule_ans *s = m != NULL ? &m->task_schedule_ans : &none;
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    bool older = a->code == CODE_DONE && s->ran == SCHEDULE_NOT_RUN;
    struct task_outcome o = schedule_outcome(older ? CODE_BUSY : a->code, SCHEDULE_GET, s);

    if (o.status >= 400)
        api_problem(&r->ans, o.problem, o.detail, router_request_id(r));
    else
        schedule_ran(&r->ans, c->queue, a->schedule.name, s, a->part, &r->keys.token);
}

/* Without an Idempotency-Key it is not asked again: it may have been done. */
void schedule_run(struct tasking *t, const struct task_asked *x)
{
    struct slice key = x->q->idempotency_key;
    struct task_call *c;

    if (key.n > TASK_IDEM_MAX || (key.p != NULL && !task_text_ok(key))) {
        router_problem(t->r, x->req, API_BAD_REQUEST,
                       "Idempotency-Key must be 1 to 128 visible ASCII characters");
        return;
    }
    c = new_call(t, x->req, x->path.queue, x->path.name, SCHEDULE_GET, 0, 1, key.n + 1, has_run);
    if (c == NULL)
        return;
    c->v[0].repeats = key.n > 0;
    c->v[0].schedule.run = true;
    key = call_bytes(c, key);
    c->v[0].schedule.put.key = (struct bytes_of){ (uint32_t)key.n, (const uint8_t *)key.p };
    call_begin(c);
}

void schedule_ask(struct tasking *t, const struct task_asked *x)
{
    enum schedule_verb verb = x->path.op == TASK_GET_SCHEDULE    ? SCHEDULE_GET
                              : x->path.op == TASK_LIST_SCHEDULES ? SCHEDULE_LIST
                                                             : SCHEDULE_DELETE;
    uint32_t n = verb == SCHEDULE_DELETE ? pools_count_of(&t->pools, x->path.queue.p, x->path.queue.n) : 1;
    struct task_call *c = new_call(t, x->req, x->path.queue, x->path.name, verb, 0, n, 0, answered);

    if (c != NULL)
        call_begin(c);
}

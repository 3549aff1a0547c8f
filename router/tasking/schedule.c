/* schedule.c: see schedule.h. The first row asks the pool that has the queue; the others, if there
 * are any, delete in older ones. */
#include "router/tasking/schedule.h"

#include "router/state/answer.h"
#include "router/tasking/ask.h"
#include "router/tasking/submit.h"
#include "router/tasks/schedule_answer.h"
#include "router/tasks/schedule_body.h"

#define OLDER_MOST 32 /* pools */

/* Each tick has these of its own. */
#define NOT_OF_TICKS (WITH(DELAY) | WITH(AT) | WITH(NAME) | WITH(IDEMPOTENCY_KEY))
#define MEMBERS      (SUBMIT_MEMBERS & ~NOT_OF_TICKS)

static uint32_t count_pools(const struct tasking *t, struct slice queue)
{
    uint32_t n = 0;

    while (n < OLDER_MOST && pools_of_queue_at(&t->pools, queue.p, queue.n, n) != NULL)
        n++;
    return n > 0 ? n : 1;
}

/* m: the answer of the only row; of several only the codes are kept. */
static void answered(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    const struct msg_task_schedule_ans none = { .code = (uint8_t)a->code, .why = "" };
    const struct msg_task_schedule_ans *s = m != NULL ? &m->task_schedule_ans : &none;
    struct task_outcome o;
    int code = a->code;

    for (uint32_t i = 1; i < c->n && a->schedule.verb == SCHEDULE_DELETE; i++)
        if (c->v[i].code == CODE_DONE)
            code = CODE_DONE;
    o = schedule_outcome(code, (enum schedule_verb)a->schedule.verb, s);
    if (o.status >= 400)
        api_problem(&r->ans, o.problem, o.detail, router_request_id(r));
    else
        schedule_answer(&r->ans, (enum schedule_verb)a->schedule.verb, c->queue, a->schedule.name, s,
                        a->part, &r->keys.token);
}

/* A call whose first row asks `verb`, and the others delete. NULL: that has been answered. */
static struct task_call *new_call(struct tasking *t, struct httpd_req *req, const struct task_path *p,
                                  enum schedule_verb verb, size_t bytes)
{
    bool all = verb == SCHEDULE_PUT || verb == SCHEDULE_DELETE;
    uint32_t n = all ? count_pools(t, p->queue) : 1;
    struct task_call *c = call_new(t, req, n, bytes + p->queue.n + p->name.n + 2, 0, answered);
    const char *name;

    if (c == NULL)
        return NULL;
    c->queue = (struct slice){ call_text(c, p->queue), p->queue.n };
    name = call_text(c, p->name);
    for (uint32_t i = 0; i < n; i++) {
        const struct task_way *w = pools_of_queue_at(&t->pools, p->queue.p, p->queue.n, i);
        struct ask *a = &c->v[i];

        a->kind = ASK_SCHEDULE;
        a->repeats = true;
        if (i == 0)
            a->queue = c->queue;
        else
            a->part = w->part;
        a->schedule = (struct msg_task_schedule){
            .verb = (uint8_t)(i == 0 ? verb : SCHEDULE_DELETE), .queue = c->queue.p, .name = name,
            .cron = "", .zone = "",
            .put = { .queue = "", .key1 = "", .key2 = "", .name = "", .own.labels = "" },
        };
    }
    return c;
}

static void fill(struct task_call *c, const struct schedule_body *b, struct slice text,
                 struct slice bytes)
{
    struct ask *a = &c->v[0];
    struct msg_task_schedule *m = &a->schedule;

    m->cron = call_text(c, b->cron);
    m->zone = call_text(c, b->zone);
    m->every_ms = b->every;
    m->jitter_ms = b->jitter;
    m->overlap = (uint8_t)b->overlap;
    m->catch_up = (uint8_t)b->catch_up;
    m->catch_up_max = (uint32_t)b->catch_up_max;
    m->from_ms = b->from;
    m->until_ms = b->until;
    m->paused = b->paused;
    m->text = (struct bytes_of){ (uint32_t)text.n, (const uint8_t *)text.p };
    m->put = submit_row(c, &b->task, bytes, true);
    m->put.queue = ""; /* the schedule's */
    a->is_call = bytes.p != b->task.payload.p;
}

void schedule_put(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct task_path *p)
{
    const struct task_way *w = pools_of_queue(&t->pools, p->queue.p, p->queue.n);
    enum api_problem problem = API_BAD_REQUEST;
    struct slice text = q->body, bytes = { 0 };
    char copy[SCHEDULE_TEXT_MAX];
    struct schedule_body b;
    struct body_error e;
    struct task_call *c;
    const char *why;

    if (q->has_body && !q->json) {
        router_problem(t->r, req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
        return;
    }
    if (q->body.n > SCHEDULE_TEXT_MAX) {
        router_problem(t->r, req, API_PAYLOAD_TOO_LARGE, "a schedule has at most 20 KiB");
        return;
    }
    if (q->body.n > 0)
        text.p = memcpy(copy, q->body.p, q->body.n); /* reading changes what is read */
    why = schedule_body_read(&b, q->body, MEMBERS, &e)
              ? submit_unfit(t, w, &b.task, &bytes, &problem, &e) : e.text;
    if (why == NULL && bytes.n > SCHEDULE_BODY_MAX) {
        problem = API_PAYLOAD_TOO_LARGE;
        why = "the task of a schedule has at most 16 KiB";
    }
    if (why != NULL) {
        router_problem(t->r, req, problem, why);
        return;
    }
    c = new_call(t, req, p, SCHEDULE_PUT, 2 * q->body.n + bytes.n + 2 + SUBMIT_ROOM);
    if (c == NULL)
        return;
    fill(c, &b, call_bytes(c, text), bytes);
    call_begin(c);
}

void schedule_ask(struct tasking *t, struct httpd_req *req, const struct task_path *p)
{
    enum schedule_verb verb = p->op == TASK_GET_SCHEDULE    ? SCHEDULE_GET
                              : p->op == TASK_LIST_SCHEDULES ? SCHEDULE_LIST
                                                             : SCHEDULE_DELETE;
    struct task_call *c = new_call(t, req, p, verb, 0);

    if (c != NULL)
        call_begin(c);
}

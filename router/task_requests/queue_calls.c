/* queue_calls.c: a question, and its answer: each may be asked again. */
#include "router/task_requests/queue_calls.h"

#include <string.h>

#include "common/base/text.h"
#include "common/submit/submission.h"
#include "router/api/json_out.h"
#include "router/state/router.h"
#include "router/task_api/answer.h"
#include "router/task_api/look.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/submission.h"
#include "router/task_requests/watch.h"

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

static void group_answer(struct api_ans *a, const struct task_call *c)
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

static void group_heard(struct ask *a, const struct msg *m)
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

static void group_answered(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;
    int code = CODE_UNKNOWN;
    struct task_outcome o;

    (void)m;
    for (uint32_t i = 0; i < c->n && (code == CODE_UNKNOWN || code == CODE_DONE); i++)
        code = c->v[i].code != CODE_UNKNOWN ? c->v[i].code : code;
    o = outcome_of(code);
    if (call_failed(c, &o))
        return;
    group_answer(&r->ans, c);
    answer_tag(&r->ans, c->known);
}

/* A row for each pool of the queue: its tasks stay where they were when it gets another one (ask.h). */
void group_ask(struct tasking *t, const struct task_asked *x)
{
    struct slice queue = x->path.queue;
    uint32_t n = pools_count_of(&t->pools, queue.p, queue.n);
    struct task_call *c = call_new(t, x->req, n, queue.n + x->path.name.n + x->q->if_none_match.n + 2, 0, group_answered);
    const char *name;

    if (c == NULL)
        return;
    c->queue = (struct slice){ call_text(c, queue), queue.n };
    name = call_text(c, x->path.name);
    if (x->path.op == TASK_GROUP_LOOK)
        c->known = call_bytes(c, x->q->if_none_match);
    c->each = group_heard;
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

/* ---- schedules ---------------------------------------------------------------------------- */
/* The first pool of a queue is the one that has it; the others are older. */

static void answer_schedule(struct task_call *c, int code, const struct msg_task_schedule_ans *m)
{
    struct router *r = c->t->r;
    const struct ask *a = &c->v[0];
    enum schedule_verb verb = (enum schedule_verb)a->schedule.verb;
    struct task_outcome o = schedule_outcome(code, verb, m);

    if (!call_failed(c, &o))
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

static void schedule_answered(struct task_call *c, const struct msg *m)
{
    const struct msg_task_schedule_ans none = { .why = "" };

    answer_schedule(c, deleted(c, 0), m != NULL ? &m->task_schedule_ans : &none);
}

/* A row each for the pools of the queue from this one on. NULL: that has been answered. */
static struct task_call *schedule_call(struct tasking *t, struct httpd_req *req, struct slice queue,
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
    answer_schedule(c, code, &a);
}

/* Only what stands in the queue's pool is deleted in older ones. */
static void written(struct task_call *c, const struct msg *m)
{
    const struct msg_task_schedule_ans none = { .why = "" };
    const struct msg_task_schedule_ans *s = m != NULL ? &m->task_schedule_ans : &none;
    struct slice name = slice_of(c->v[0].schedule.name);
    uint32_t n = pools_count_of(&c->t->pools, c->queue.p, c->queue.n);
    struct task_call *next;
    int code = c->v[0].code;

    if ((code != CODE_DONE && code != CODE_SAME) || n == 1) {
        answer_schedule(c, code, s);
        return;
    }
    next = schedule_call(c->t, NULL, c->queue, name, SCHEDULE_DELETE, 1, n - 1, 0, moved);
    if (next == NULL) {
        answer_schedule(c, ASK_LOST, s);
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
    m->text = bytes_in(text);
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
    c = schedule_call(t, x->req, x->path.queue, x->path.name, SCHEDULE_PUT, 0, 1,
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

    if (!call_failed(c, &o))
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
    c = schedule_call(t, x->req, x->path.queue, x->path.name, SCHEDULE_GET, 0, 1, key.n + 1, has_run);
    if (c == NULL)
        return;
    c->v[0].repeats = key.n > 0;
    c->v[0].schedule.run = true;
    c->v[0].schedule.put.key = call_bytes_in(c, key);
    call_begin(c);
}

void schedule_ask(struct tasking *t, const struct task_asked *x)
{
    enum schedule_verb verb = x->path.op == TASK_GET_SCHEDULE    ? SCHEDULE_GET
                              : x->path.op == TASK_LIST_SCHEDULES ? SCHEDULE_LIST
                                                             : SCHEDULE_DELETE;
    uint32_t n = verb == SCHEDULE_DELETE ? pools_count_of(&t->pools, x->path.queue.p, x->path.queue.n) : 1;
    struct task_call *c = schedule_call(t, x->req, x->path.queue, x->path.name, verb, 0, n, 0, schedule_answered);

    if (c != NULL)
        call_begin(c);
}

/* ---- the feed of starts and ends ---------------------------------------------------------- */

#define FEED_ROWS 256u /* rows of a question; as an event each has less than 200 bytes */

static void put_id(struct buf *b, uint64_t id)
{
    out_u64(b, "id: ", id);
    ADD(b, "\n");
}

static void put_row(struct watch *w, struct buf *b, uint64_t id, const struct feed_row *x)
{
    struct task_name name;

    task_token_write(w->part, x->no, &w->t->r->keys.token, name.text);
    put_id(b, id);
    watch_begin_event(w, b, NULL, 0);
    task_add_name(b, "{\"task\":\"", &name);
    task_add_state(b, x->state);
    out_u64(b, ",\"attempts\":", x->attempts);
    out_moment(b, ",\"at\":", x->at_ms);
    ADD(b, "}\n\n");
}

/* Says that some are missing, under the number before the next one. */
static void put_gap(struct watch *w, struct buf *b, uint64_t id)
{
    put_id(b, id);
    watch_begin_event(w, b, "gap", 0);
    out_u64(b, "{\"after\":\"", w->told);
    ADD(b, "\"}\n\n");
}

/* Without memory they are asked for again. */
static void tell_rows(struct watch *w, const struct msg_task_feed_ans *m)
{
    uint64_t first = m->next - m->n; /* number before the first */
    struct buf b;

    buf_init(&b);
    if (m->gap)
        put_gap(w, &b, first);
    for (uint32_t i = 0; i < m->n; i++)
        put_row(w, &b, first + i + 1, &m->v[i]);
    if (!b.failed && b.len > 0 && b.len <= UINT16_MAX)
        watch_send(w, &b);
    if (!b.failed)
        w->told = m->next;
    buf_fini(&b);
}

static void ask_on(struct watch *w);

static void feed_heard(struct task_call *c, const struct msg *m)
{
    struct watch *w = c->watch;
    const struct ask *a = &c->v[0];

    if (w == NULL)
        return;
    w->call = NULL;
    c->watch = NULL;
    w->each_ms = a->code == CODE_DONE ? FEED_EACH_MS : WATCH_AGAIN_MS;
    w->part = a->part;
    if (a->code == CODE_DONE)
        tell_rows(w, &m->task_feed_ans);
    if (a->code == CODE_DONE && m->task_feed_ans.n == FEED_ROWS && !httpd_is_behind(w->req))
        ask_on(w);
}

/* The call of its question. NULL: the router is overloaded. */
static struct task_call *feed_call(struct watch *w, struct httpd_req *req, call_done done)
{
    size_t n = strlen(w->queue);
    struct task_call *c = call_new(w->t, req, 1, n + 1, 0, done);

    if (c == NULL)
        return NULL;
    c->what = TASK_FEED;
    c->watch = w;
    c->queue = (struct slice){ call_copy(c, w->queue), n };
    c->v[0].kind = ASK_FEED;
    c->v[0].repeats = true;
    c->v[0].queue = c->queue;
    c->v[0].feed = (struct msg_task_feed){ .queue = c->queue.p, .after = w->told, .most = FEED_ROWS,
                                           .whose = w->whose };
    w->call = c;
    w->asked_ms = ev_now(w->t->r->ev);
    return c;
}

static void ask_on(struct watch *w)
{
    struct task_call *c = feed_call(w, NULL, feed_heard);

    if (c != NULL)
        call_begin(c);
}

/* The first event has a number, so that a client that comes again says where it was. */
static void open_queue(struct watch *w, struct task_call *c, const struct msg *answer)
{
    const struct msg_task_feed_ans *m = &answer->task_feed_ans;
    struct buf b;

    w->part = c->v[0].part;
    w->each_ms = FEED_EACH_MS;
    watch_open(w, c);
    buf_init(&b);
    put_id(&b, m->next - m->n);
    watch_begin_event(w, &b, "beat", WATCH_RETRY_MS);
    ADD(&b, "15000\n\n");
    if (!b.failed)
        watch_send(w, &b);
    buf_fini(&b);
    tell_rows(w, m);
}

/* 1, behind which there is a gap: it is none of ours; 0: there is none. */
static uint64_t number(struct slice v)
{
    int64_t id = v.n <= 18 ? decimal_read(v.p, v.n, UINT64_MAX) : -1;

    return v.n == 0 ? 0 : id > 1 ? (uint64_t)id : 1;
}

static bool has_most(const struct tasking *t, uint64_t whose)
{
    size_t own = 0;

    list_each_of (&t->feeds, struct watch, in_feeds, w)
        own += w->whose == whose;
    return own >= FEEDS_OPEN_MAX - t->feeds.n;
}

void feed_start(struct tasking *t, const struct task_asked *x)
{
    uint64_t whose = server_token_id(x->tenant);
    struct watch *w;
    struct slice last;

    if (has_most(t, whose)) {
        _Static_assert(FEEDS_OPEN_MAX == 512, "as the text says");
        t->r->counts.listeners_refused++;
        router_problem(t->r, x->req, API_QUEUE_FULL, "this token has as many streams of queues open at this router as are "
                       "free for all (256 of 512, if no other token has any): end one, or ask another router");
        return;
    }
    w = watch_new(t, x);

    if (w != NULL && (w->queue = strndup(x->path.queue.p, x->path.queue.n)) == NULL) {
        watch_forget(w);
        w = NULL;
    }
    if (w == NULL) {
        watch_refuse(t, x);
        return;
    }
    w->open = open_queue;
    w->ask = ask_on;
    w->whose = whose;
    list_push_back(&t->feeds, &w->in_feeds);
    w->told = http_find(x->q, "last-event-id", &last) == 1 ? number(last) : 0;
    watch_begin(w, feed_call(w, x->req, watch_first));
}

/* call.c: see call.h. */
#include "router/task_requests/call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/submit/submission.h"
#include "router/state/router.h"
#include "router/task_api/rights.h"

struct task_call *call_new(struct tasking *t, struct httpd_req *req, uint32_t n, size_t bytes,
                           msec_t wait_ms, call_done done)
{
    struct task_call *c = NULL;
    size_t rows = sizeof(*c) + n * sizeof(c->v[0]);

    assert(n > 0 && n <= TASK_ROWS_MAX && done != NULL);
    if (t->calls.n < TASK_CALLS)
        c = malloc(rows + bytes);
    if (c == NULL) {
        if (req != NULL)
            router_problem(t->r, req, API_OVERLOADED, "the router is overloaded; try again");
        return NULL;
    }
    memset(c, 0, rows);
    c->waits = WAITS_TASK;
    c->t = t;
    c->req = req;
    c->silent = req == NULL;
    c->done = done;
    c->n = n;
    c->open = n + 1;
    c->memory = (char *)c + rows;
    c->end = c->memory + bytes;
    c->wait_ms = wait_ms;
    c->deadline = ev_now(t->r->ev) + wait_ms + TASK_ASK_MS;
    for (uint32_t i = 0; i < n; i++)
        c->v[i].call = c;
    list_push_back(&t->calls, &c->in_all);
    if (req != NULL)
        httpd_set_user(req, c);
    return c;
}

void call_hand_over(struct task_call *c, struct task_call *next)
{
    assert(c->req != NULL && next->req == NULL);
    next->req = c->req;
    next->whose = c->whose;
    next->silent = false;
    next->progress = c->progress;
    next->ends = c->ends;
    next->untaken = c->untaken;
    next->said_ms = c->said_ms;
    httpd_set_user(next->req, next);
    c->req = NULL;
    c->silent = true;
}

struct slice call_bytes(struct task_call *c, struct slice bytes)
{
    struct slice out = { c->memory, bytes.n };

    assert(bytes.n <= (size_t)(c->end - c->memory));
    if (bytes.n > 0)
        memcpy(c->memory, bytes.p, bytes.n);
    c->memory += bytes.n;
    return out;
}

char *call_text(struct task_call *c, struct slice text)
{
    char *out = call_bytes(c, text).p;

    assert(c->memory < c->end);
    *c->memory++ = '\0';
    return out;
}

char *call_copy(struct task_call *c, const char *text)
{
    return call_text(c, slice_of(text));
}

struct bytes_of call_bytes_of(struct task_call *c, struct bytes_of b)
{
    return call_bytes_in(c, (struct slice){ (char *)(uintptr_t)b.p, b.n });
}

struct call_more {
    struct call_more *next;
    uint8_t bytes[];
};

struct bytes_of call_more(struct task_call *c, const struct buf *bytes)
{
    struct call_more *m = malloc(sizeof(*m) + bytes->len);

    if (m == NULL)
        return (struct bytes_of){ 0 };
    m->next = c->more;
    c->more = m;
    memcpy(m->bytes, bytes->data, bytes->len);
    return (struct bytes_of){ (uint32_t)bytes->len, m->bytes };
}

void ask_join(struct ask *a, struct list *list)
{
    assert(a->slot == NULL && a->list == NULL);
    a->list = list;
    list_push_back(list, &a->in_list);
}

void ask_leave(struct ask *a)
{
    list_remove(a->list, &a->in_list);
    a->list = NULL;
}

void ask_forget(struct ask *a)
{
    if (a->slot != NULL)
        *a->slot = NULL;
    a->slot = NULL;
    if (a->list != NULL)
        ask_leave(a);
}

const char *ask_endpoint(const struct ask *a)
{
    const struct task_way *w = pools_of_part(&a->call->t->pools, a->part);

    return w != NULL ? w->endpoint : "";
}

struct passed_from ask_from(const struct ask *a)
{
    const struct task_way *w = pools_of_part(&a->call->t->pools, a->part);

    return w != NULL ? (struct passed_from){ w->endpoint, w->url } : (struct passed_from){ "", "" };
}

void call_drop(struct task_call *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        ask_forget(&c->v[i]);
    list_remove(&c->t->calls, &c->in_all);
    if (c->many != NULL)
        c->many_free(c->many);
    for (struct call_more *m = c->more, *next; m != NULL; m = next) {
        next = m->next;
        free(m);
    }
    free(c);
}

static void finish(struct task_call *c, const struct msg *m)
{
    struct router *r = c->t->r;

    assert(c->open == 0);
    c->done(c, m);
    if (c->req != NULL && c->ends != NULL)
        c->ends(c);
    else if (c->req != NULL)
        router_answer(r, c->req);
    else if (!c->silent)
        api_ans_reset(&r->ans);
    call_drop(c);
}

void call_settled(struct task_call *c, const struct msg *m)
{
    assert(c->open > 0);
    if (--c->open == 0)
        finish(c, m);
}

void call_answered(struct ask *a, const struct msg *m)
{
    assert(!a->answered && a->slot == NULL && a->list == NULL);
    a->answered = true;
    if (a->call->each != NULL)
        a->call->each(a, m);
    call_settled(a->call, m);
}

void call_client_gone(struct task_call *c)
{
    assert(c->req != NULL);
    c->req = NULL; /* asked, so done all the same */
}

/* ---- many rows ---- */

#define ROW_ROOM (8 + CALLBACK_MORE + TENANT_ROOM) /* ends of a row's texts; what a call's form has more */
#define WHY_ROOM 4096 /* bytes for reasons of unfit rows */

/* Cuts the body into rows. How many; 0: *why. A single object that does not say that it is a line
 * (application/x-ndjson) is the natural mistake {"tasks":[...]}: as a row it would be refused within
 * an answer that looks like success. */
static uint32_t cut(struct slice row[TASK_ROWS_MAX], const struct http_req *q, enum api_problem *p,
                    const char **why)
{
    struct json_scan s;
    struct slice value;
    bool list, first = true;
    uint32_t n = 0;

    json_scan_init(&s, q->body);
    list = json_scan_peek(&s) == '[' && json_scan_enter(&s, '[');
    while (list ? json_scan_item(&s, &first) : s.why == NULL && !json_scan_ends(&s)) {
        if (!json_scan_value(&s, &value))
            break;
        if (n == TASK_ROWS_MAX) {
            *p = API_TOO_MANY_IN_BATCH;
            *why = "at most 1000 rows in one request";
            return 0;
        }
        row[n++] = value;
    }
    *p = API_BAD_REQUEST;
    *why = s.why != NULL ? s.why : "the body must be a JSON list of 1 to 1000 rows: [{...}, {...}]";
    return json_scan_ends(&s) && (list || n > 1 || !q->json) ? n : 0;
}

void row_refuse(struct ask *a, enum api_problem p, const char *why)
{
    struct task_call *c = a->call;
    size_t n = strlen(why);

    a->problem = (uint8_t)p;
    a->why = "invalid row (further reasons were cut)";
    if (c->why_room > n) {
        c->why_room -= (uint32_t)n + 1;
        a->why = call_text(c, (struct slice){ (char *)(uintptr_t)why, n });
    }
    call_answered(a, NULL);
}

struct task_call *call_of_rows(struct tasking *t, const struct task_asked *x, struct slice opens,
                               row_read read, call_done done)
{
    enum api_problem p;
    const char *why;
    uint32_t n = cut(t->rows.text, x->q, &p, &why);
    struct task_call *c;

    if (n == 0) {
        router_problem(t->r, x->req, p, why);
        return NULL;
    }
    c = call_new(t, x->req, n, x->q->body.n + n * ROW_ROOM + x->path.queue.n + 1 + opens.n + WHY_ROOM, 0, done);
    if (c == NULL)
        return NULL;
    c->why_room = WHY_ROOM;
    c->opens = call_bytes(c, opens);
    c->queue = (struct slice){ call_text(c, x->path.queue), x->path.queue.n };
    c->tenant = x->tenant;
    c->way = x->path.queue.n > 0 ? pools_of_queue(&t->pools, x->path.queue.p, x->path.queue.n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        read(&c->v[i], t->rows.text[i]);
    return c;
}

/* ---- what each kind of request has ------------------------------------------------------- */

bool call_failed(struct task_call *c, const struct task_outcome *o)
{
    if (o->status >= 400)
        api_problem(&c->t->r->ans, o->problem, o->detail, router_request_id(c->t->r));
    return o->status >= 400;
}

struct task_name row_name(const struct ask *a, task_no no)
{
    struct task_name name;

    task_token_write(a->part, no, &a->call->t->r->keys.token, name.text);
    return name;
}

bool task_body_taken(struct tasking *t, const struct task_asked *x, uint64_t members, struct task_body *b)
{
    struct body_error e;
    bool is_whole = task_body_whole(b, x->q->body, members, &e);

    if (!is_whole)
        router_problem(t->r, x->req, e.too_large ? API_PAYLOAD_TOO_LARGE : API_BAD_REQUEST, e.text);
    return is_whole;
}

/* rows.c: see rows.h. */
#include "router/task_requests/rows.h"

#include <assert.h>
#include <string.h>

#include "router/state/router.h"
#include "router/task_api/callback.h"
#include "router/task_requests/ask.h"

#define ROW_ROOM (8 + CALLBACK_MORE) /* ends of a row's texts; what a call's form has more */
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

void rows_start(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                struct slice queue, struct slice opens, row_read read, call_done done)
{
    enum api_problem p;
    const char *why;
    uint32_t n = cut(t->rows.text, q, &p, &why);
    struct task_call *c;

    if (n == 0) {
        router_problem(t->r, req, p, why);
        return;
    }
    c = call_new(t, req, n, q->body.n + n * ROW_ROOM + queue.n + 1 + opens.n + WHY_ROOM, 0, done);
    if (c == NULL)
        return;
    c->why_room = WHY_ROOM;
    c->opens = call_bytes(c, opens);
    c->queue = (struct slice){ call_text(c, queue), queue.n };
    c->way = queue.n > 0 ? pools_of_queue(&t->pools, queue.p, queue.n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        read(&c->v[i], t->rows.text[i]);
    call_begin(c);
}

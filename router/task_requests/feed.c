/* feed.c: see feed.h. */
#include "router/task_requests/feed.h"

#include <string.h>

#include "router/api/json_out.h"
#include "router/state/router.h"
#include "router/task_api/look.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/watch.h"

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

static void heard(struct task_call *c, const struct msg *m)
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
static struct task_call *new_call(struct watch *w, struct httpd_req *req, call_done done)
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
    struct task_call *c = new_call(w, NULL, heard);

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
    uint64_t id = 0;

    for (size_t i = 0; i < v.n; i++) {
        if (v.n > 18 || v.p[i] < '0' || v.p[i] > '9')
            return 1;
        id = id * 10 + (uint64_t)(v.p[i] - '0');
    }
    return v.n > 0 ? u64_max(id, 1) : 0;
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
    watch_begin(w, new_call(w, x->req, watch_first));
}

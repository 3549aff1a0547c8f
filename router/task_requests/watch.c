/* watch.c: see watch.h. */
#include "router/task_requests/watch.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "router/api/json_out.h"
#include "router/state/router.h"
#include "router/task_api/look.h"
#include "router/task_requests/ask.h"

#define LOG_MODULE "watch"
#define EVENT_BEAT "event: beat\ndata: 15000\n\n"
#define RETRY_LAST_MS 30000 /* after the last event there is nothing to come back for */
#define RETURN_PER_S 1000

_Static_assert(WATCH_BEAT_MS == 15000, "as it is told");

void watch_forget(struct watch *w)
{
    struct router *r = w->t->r;

    if (w->call != NULL)
        w->call->watch = NULL;
    gate_listen_end(&r->gate, w->client);
    list_remove(&w->t->watches, &w->in);
    if (list_linked(&w->in_feeds))
        list_remove(&w->t->feeds, &w->in_feeds);
    r->watches--;
    buf_fini(&w->late);
    free(w->queue);
    free(w);
}

/* Forgets it, and what is asked for it. */
static void leave(struct watch *w)
{
    struct task_call *c = w->call;

    watch_forget(w);
    if (c != NULL)
        call_drop(c);
}

/* ---- what is sent ----------------------------------------------------------------------- */

void watch_begin_event(struct watch *w, struct buf *b, const char *name, uint32_t retry_ms)
{
    if (retry_ms != 0)
        out_u64(b, "retry: ", retry_ms);
    buf_str(b, retry_ms != 0 ? "\n" : "");
    if (name != NULL) {
        ADD(b, "event: ");
        buf_str(b, name);
        ADD(b, "\n");
    }
    ADD(b, "data: ");
    w->is_new = false;
}

void watch_send(struct watch *w, const struct buf *b)
{
    w->sent_ms = ev_now(w->t->r->ev);
    w->t->r->counts.events++;
    httpd_send(w->req, (const char *)b->data, b->len);
}

/* An event, whole; without memory it is told with the next change. */
static void tell(struct watch *w, struct buf *b, bool last)
{
    ADD(b, "\n\n");
    if (b->failed || b->len > UINT16_MAX) {
        w->told = 0;
        return;
    }
    buf_reset(&w->late);
    if (last || !httpd_is_behind(w->req))
        watch_send(w, b);
    else
        buf_append(&w->late, b->data, b->len);
}

static uint64_t hash_of(const struct buf *b)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "segq watch"; /* public */
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, b->data, b->len, key);
    return h;
}

/* The look that is composed, as an event; r->ans is empty then. */
static void tell_look(struct watch *w, const char *name)
{
    struct api_ans *a = &w->t->r->ans;
    struct buf b;

    buf_init(&b);
    watch_begin_event(w, &b, name, name != NULL ? RETRY_LAST_MS : w->is_new ? WATCH_RETRY_MS : 0);
    buf_append(&b, a->body.data, a->body.len);
    b.failed |= a->body.failed;
    w->told = hash_of(&b);
    tell(w, &b, name != NULL);
    buf_fini(&b);
    api_ans_reset(a);
}

static void end(struct watch *w)
{
    httpd_end(w->req);
    leave(w);
}

void watch_hear(struct watch *w, const struct place_row *r)
{
    struct buf b;
    uint64_t h;

    if (w->req == NULL || r->state == TASK_FREE || r->state >= TASK_NSTATES)
        return;
    buf_init(&b);
    watch_begin_event(w, &b, NULL, 0);
    out_text(&b, "{\"state\":", task_state_word((enum task_state)r->state));
    out_u64(&b, ",\"attempts\":", r->attempts);
    if (r->state == TASK_WAITING)
        out_u64(&b, ",\"position\":", r->position);
    if (r->capped)
        ADD(&b, ",\"position_capped\":true");
    task_add_ahead(&b, r->ahead_of_priority);
    task_add_eta(&b, r->eta, r->eta_ms);
    task_add_progress(&b, &r->progress);
    ADD(&b, "}");
    h = hash_of(&b);
    if (h != w->told) {
        w->told = h;
        tell(w, &b, false);
    }
    buf_fini(&b);
}

/* ---- what is asked ---------------------------------------------------------------------- */

static void compose_look(const struct watch *w, const struct ask *a, const struct msg_task_get_ans *m)
{
    struct router *r = w->t->r;
    struct task_name name;

    task_token_write(w->part, m->no, &r->keys.token, name.text);
    task_name_then(&name, m, &r->keys.token);
    task_answer_look(&r->ans, &name, m, ask_endpoint(a));
}

/* A node that stops answers at once: then it is asked again with a later tick. */
static void ask_later(struct watch *w)
{
    if (ev_now(w->t->r->ev) - w->asked_ms >= w->each_ms && (w->queue == NULL || !httpd_is_behind(w->req)))
        w->ask(w);
}

static void tell_gone(struct watch *w, uint8_t problem, const char *why)
{
    api_problem(&w->t->r->ans, problem, why, router_request_id(w->t->r));
    tell_look(w, "gone");
    end(w);
}

/* The wait for its end is over; c goes behind this. */
static void heard(struct task_call *c, const struct msg *m)
{
    struct watch *w = c->watch;
    const struct ask *a = &c->v[0];
    struct task_outcome o = task_token_outcome(a->code);

    if (w == NULL)
        return;
    w->call = NULL;
    c->watch = NULL;
    if (a->code == CODE_UNKNOWN || a->code == CODE_DENIED) {
        tell_gone(w, (uint8_t)o.problem, o.detail);
        return;
    }
    if (a->code != CODE_DONE || m->type != MSG_TASK_GET_ANS) {
        ask_later(w);
        return;
    }
    if (task_state_is_final((enum task_state)m->task_get_ans.state)) {
        compose_look(w, a, &m->task_get_ans);
        tell_look(w, "end");
        end(w);
        return;
    }
    ask_later(w);
}

/* The call of its question. NULL: the router is overloaded. */
static struct task_call *new_call(struct watch *w, struct httpd_req *req, msec_t wait_ms, call_done done)
{
    struct task_call *c = call_new(w->t, req, 1, 0, wait_ms, done);

    if (c == NULL)
        return NULL;
    c->what = TASK_EVENTS;
    c->watch = w;
    c->v[0].kind = ASK_GET;
    c->v[0].part = w->part;
    c->v[0].repeats = true;
    c->v[0].get = (struct msg_task_get){ .no = w->no, .queue = "", .name = "", .wait_ms = (uint32_t)wait_ms,
                                         .places = wait_ms > 0 };
    w->call = c;
    w->asked_ms = ev_now(w->t->r->ev);
    return c;
}

static void ask_on(struct watch *w)
{
    struct task_call *c = new_call(w, NULL, WATCH_WAIT_MS, heard);

    if (c != NULL)
        call_begin(c);
}

/* ---- begin and end ---------------------------------------------------------------------- */

void watch_open(struct watch *w, struct task_call *c)
{
    w->req = c->req;
    c->req = NULL;
    c->silent = true;
    httpd_open(w->req, "text/event-stream", "X-Accel-Buffering: no\r\n");
    httpd_set_mark(w->req); /* whose user is a watch */
    httpd_set_user(w->req, w);
}

static void open_task(struct watch *w, struct task_call *c, const struct msg *answer)
{
    const struct msg_task_get_ans *m = &answer->task_get_ans;
    bool over = task_state_is_final((enum task_state)m->state);

    watch_open(w, c);
    compose_look(w, &c->v[0], m);
    tell_look(w, over ? "end" : NULL);
    if (over)
        end(w);
    else
        ask_on(w);
}

/* ---- both ------------------------------------------------------------------------------- */

void watch_first(struct task_call *c, const struct msg *m)
{
    struct watch *w = c->watch;
    struct router *r = c->t->r;
    int code = c->v[0].code;
    struct task_outcome o = w->queue == NULL ? task_token_outcome(code)
                                             : task_feed_outcome(code, code == CODE_FULL && m->task_feed_ans.of_token);

    w->call = NULL;
    c->watch = NULL;
    if (w->denied != NULL)
        o = (struct task_outcome){ 403, w->problem, w->denied };
    if (c->req != NULL && o.status < 400 && httpd_may_open(c->req)) {
        w->open(w, c, m);
        return;
    }
    if (!call_failed(c, &o)) {
        r->counts.listeners_refused++;
        api_no_listener(&r->ans, router_request_id(r));
    }
    watch_forget(w);
}

static bool has_room(const struct router *r)
{
    uint64_t most = u64_min((uint64_t)r->cfg->max_listeners, httpd_max_conns(r->httpd) / 2);

    return r->listeners.n + r->watches < most;
}

struct watch *watch_new(struct tasking *t, const struct task_asked *x)
{
    struct router *r = t->r;
    uint64_t client = gate_listener(&r->gate, httpd_tag(x->req));
    struct watch *w;

    if (!has_room(r) || !httpd_may_open(x->req) || !gate_listen(&r->gate, client))
        return NULL;
    w = calloc(1, sizeof(*w));
    if (w == NULL) {
        gate_listen_end(&r->gate, client);
        return NULL;
    }
    *w = (struct watch){ .t = t, .part = x->id.part, .no = x->id.no, .client = client, .is_new = true,
                         .each_ms = WATCH_AGAIN_MS };
    buf_init(&w->late);
    list_push_back(&t->watches, &w->in);
    r->watches++;
    return w;
}

void watch_refuse(struct tasking *t, const struct task_asked *x)
{
    t->r->counts.listeners_refused++;
    api_no_listener(&t->r->ans, router_request_id(t->r));
    router_answer(t->r, x->req);
}

void watch_begin(struct watch *w, struct task_call *c)
{
    if (c != NULL)
        call_begin(c);
    else
        watch_forget(w);
}

void watch_start(struct tasking *t, const struct task_asked *x)
{
    struct watch *w = watch_new(t, x);

    if (w == NULL) {
        watch_refuse(t, x);
        return;
    }
    w->open = open_task;
    w->ask = ask_on;
    watch_begin(w, new_call(w, x->req, 0, watch_first));
}

void watch_gone(void *user)
{
    leave(user);
}

static void look_after(struct watch *w, msec_t now)
{
    if (w->late.len > 0 && !httpd_is_behind(w->req)) {
        watch_send(w, &w->late);
        buf_reset(&w->late);
    } else if (now - w->sent_ms >= WATCH_BEAT_MS && !httpd_is_behind(w->req)) {
        w->sent_ms = now;
        httpd_send(w->req, EVENT_BEAT, sizeof(EVENT_BEAT) - 1);
    }
    if (w->call == NULL)
        ask_later(w);
}

void watches_tick(struct tasking *t)
{
    msec_t now = ev_now(t->r->ev);

    list_each_of (&t->watches, struct watch, in, w)
        if (w->req != NULL)
            look_after(w, now);
}

void watch_judged(struct watch *w, uint8_t problem, const char *why)
{
    w->problem = problem;
    w->denied = why;
    if (why != NULL && w->req != NULL)
        tell_gone(w, problem, why);
}

/* Ends it; clients come back in the order in which they came, not together. */
static void send_away(struct watch *w, size_t at)
{
    uint64_t ms = 500 + at * 1000 / RETURN_PER_S;
    struct buf b;

    buf_init(&b);
    watch_begin_event(w, &b, "away", (uint32_t)ms);
    out_u64(&b, "{\"poll_after_ms\":", ms);
    ADD(&b, "}");
    tell(w, &b, true);
    buf_fini(&b);
    end(w);
}

void watches_drain(struct tasking *t)
{
    size_t at = 0;

    if (t->watches.n > 0)
        log_info("event=watchers_sent_away n=%zu", t->watches.n);
    list_each_of (&t->watches, struct watch, in, w)
        if (w->req != NULL)
            send_away(w, at++);
}

void watches_free(struct tasking *t)
{
    list_each_of (&t->watches, struct watch, in, w)
        watch_forget(w);
}

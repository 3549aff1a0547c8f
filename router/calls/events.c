/* events.c: see events.h. */
#include "router/calls/events.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "router/calls/ticket.h"

#define LOG_MODULE "events"

#define RETRY_LEAST_MS 1000
#define RETRY_LAST_MS  30000 /* after the last event there is nothing to come back for */

struct listening {
    struct listen_ticket l;
    struct httpd_req *req; /* ref: the answer that is open */
    struct rflow *rf;      /* ref: the look that is under way; NULL: none */
    uint64_t client;       /* gate_listener() */
};

static_assert(sizeof(struct listening) <= 120, "with its connection at most 512 bytes");

/* ---- how it is said --------------------------------------------------------------------- */

#define EVENT_ID_DIGITS 18 /* more than any place has */
#define EVENT_TYPE    "text/event-stream"
#define EVENT_HEADERS "X-Accel-Buffering: no\r\n" /* nginx */
#define EVENT_BEAT(ms) "event: beat\ndata: " #ms "\n\n" /* scripts hear no comments */

uint64_t event_id(struct slice v)
{
    int64_t id = v.n <= EVENT_ID_DIGITS ? decimal_read(v.p, v.n, UINT64_MAX) : -1;

    return id > 0 ? (uint64_t)id : 0;
}

/* Number in Last-Event-ID; 0 also without it. */
static uint64_t event_last(const struct http_req *q)
{
    struct slice v;

    return http_find(q, "last-event-id", &v) == 1 ? event_id(v) : 0;
}

static void field(struct buf *b, const char *name, uint64_t v)
{
    buf_str(b, name);
    buf_u64(b, v);
    buf_byte(b, '\n');
}

/* The lines before the data, which goes behind it without a line end. name NULL: a ticket.
 * retry_ms 0: it stays as it was said. */
static void event_begin(struct buf *b, const char *name, uint64_t id, uint32_t retry_ms)
{
    if (retry_ms != 0)
        field(b, "retry: ", retry_ms);
    if (name != NULL) {
        buf_str(b, "event: ");
        buf_str(b, name);
        buf_byte(b, '\n');
    } else {
        field(b, "id: ", id);
    }
    buf_str(b, "data: ");
}

static void event_end(struct buf *b)
{
    assert(b->failed || memchr(b->data, '\r', b->len) == NULL); /* would end a line */
    buf_str(b, "\n\n");
}

/* ---- what is sent ----------------------------------------------------------------------- */

static void arm(struct router *r, msec_t when)
{
    ev_timer_at(r->listen_timer, when);
}

static void forget(struct router *r, struct listening *x)
{
    if (x->rf != NULL)
        x->rf->listening = NULL;
    gate_listen_end(&r->gate, x->client);
    listeners_want_no_more(&x->l, &r->replicas);
    listeners_remove(&r->listeners, &x->l);
    free(x);
}

static void end(struct router *r, struct listening *x)
{
    httpd_end(x->req);
    forget(r, x);
}

/* The event in b, whole; without memory the client asks again. */
static void send_event(struct router *r, struct listening *x, struct buf *b)
{
    event_end(b);
    r->counts.events++;
    if (!b->failed)
        httpd_send(x->req, (const char *)b->data, b->len);
}

static void tell(struct router *r, struct listening *x, const struct api_ticket *t,
                 uint32_t retry_ms)
{
    event_begin(&r->ans.body, NULL, t->admitted ? 0 : t->position, retry_ms);
    api_ticket(&r->ans, 200, t, false);
    send_event(r, x, &r->ans.body);
    api_ans_reset(&r->ans);
}

/* The last one: the problem that a poll is answered with. */
static void tell_gone(struct router *r, struct listening *x, const struct flow *f)
{
    struct buf b;

    buf_init(&b);
    event_begin(&b, "gone", 0, RETRY_LAST_MS);
    router_failed(r, f);
    buf_append(&b, r->ans.body.data, r->ans.body.len);
    b.failed |= r->ans.body.failed;
    send_event(r, x, &b);
    buf_fini(&b);
    api_ans_reset(&r->ans);
    end(r, x);
}

static void tell_admitted(struct router *r, struct listening *x, const struct api_ticket *t)
{
    tell(r, x, t, RETRY_LAST_MS);
    end(r, x);
}

/* ---- looks ------------------------------------------------------------------------------ */

/* retry_ms 0: it is not the first. The head of the answer lies before the first, and nothing
 * else. */
static void heard(struct router *r, struct listening *x, const struct flow *f,
                  const struct api_ticket *t, uint32_t retry_ms)
{
    bool can_tell = retry_ms != 0 || !httpd_is_behind(x->req);

    if (listeners_heard(&r->listeners, &x->l, f, api_words(t), can_tell, ev_now(r->ev)))
        tell(r, x, t, retry_ms);
    listeners_want(&x->l, &r->replicas, f->node);
}

static void looked(struct router *r, struct rflow *rf)
{
    struct listening *x = rf->listening;
    struct api_ticket t;

    if (x == NULL)
        return; /* client has gone */
    x->rf = NULL;
    rf->listening = NULL;
    if (rf->flow.result == FLOW_GONE)
        tell_gone(r, x, &rf->flow);
    else if (rf->flow.result != FLOW_OK || !router_ticket(r, rf, &t))
        listeners_put_off(&r->listeners, &x->l, ev_now(r->ev));
    else if (rf->flow.admitted)
        tell_admitted(r, x, &t);
    else
        heard(r, x, &rf->flow, &t, 0);
    if (r->listeners.due.n > 0)
        arm(r, ev_now(r->ev));
}

/* a: what the node says; NULL: it may have to be asked. False: overloaded. */
static bool look(struct router *r, struct listening *x, const struct place_ans *a)
{
    struct rflow *rf = rflow_new(r, NULL, looked, NULL);

    if (rf == NULL)
        return false;
    assert(x->rf == NULL);
    x->rf = rf;
    rf->as = RFLOW_LOOKS;
    rf->listening = x;
    token_write(&x->l.token, &r->keys.token, rf->text);
    flow_poll(&rf->flow, r->routes, a == NULL ? &r->replicas : NULL, &x->l.token, ev_now(r->ev));
    if (a != NULL && rf->flow.todo == FLOW_ASK) {
        rf->pass = a->pass;
        rf->pass_len = a->pass_len;
        flow_place_ans(&rf->flow, r->routes, a, ev_now(r->ev));
    }
    rflow_begin(r, rf);
    return true;
}

static void let_in(struct router *r, const struct let_in_row *row)
{
    struct place_ans a = { .state = PLACE_ADMITTED,
                           .pass = (const char *)row->pass,
                           .pass_len = (uint16_t)row->pass_len,
                           .released_at_ms = row->released_at_ms,
                           .pass_expires_s = row->pass_expires_s };
    uint32_t below = UINT32_MAX;
    struct listen_ticket *l;

    while ((l = listeners_of(&r->listeners, row->seg, row->number, &below)) != NULL) {
        struct listening *x = container_of(l, struct listening, l);

        if (x->rf != NULL) /* whatever it hears, it comes later */
            x->rf->listening = NULL;
        x->rf = NULL;
        listeners_look(&r->listeners, l);
        if (!look(r, x, &a))
            listeners_put_off(&r->listeners, l, ev_now(r->ev));
    }
}

static void send_beat(struct listening *x)
{
    static const char near[] = EVENT_BEAT(5000), far[] = EVENT_BEAT(15000);

    static_assert(LISTEN_NEAR_MS == 5000 && LISTEN_BEAT_MS == 15000, "as it is told");
    if (x->l.near)
        httpd_send(x->req, near, sizeof(near) - 1);
    else
        httpd_send(x->req, far, sizeof(far) - 1);
}

static void on_timer(void *arg)
{
    struct router *r = arg;
    msec_t now = ev_now(r->ev);
    enum listen_todo todo;
    struct listen_ticket *l;

    while ((l = listeners_due(&r->listeners, now, &todo)) != NULL) {
        struct listening *x = container_of(l, struct listening, l);

        if (todo == LISTEN_BEAT && !httpd_is_behind(x->req))
            send_beat(x);
        else if (todo == LISTEN_LOOK && !look(r, x, NULL))
            listeners_put_off(&r->listeners, l, now);
    }
    if (r->listeners.n > 0)
        arm(r, now + LISTEN_SLOT_MS);
}

/* ---- begin and end ---------------------------------------------------------------------- */

static bool has_room(const struct router *r)
{
    uint64_t most = u64_min((uint64_t)r->cfg->max_listeners, httpd_max_conns(r->httpd) / 2);

    return r->listeners.n + r->watches < most;
}

static void refuse(struct router *r)
{
    r->counts.listeners_refused++;
    api_no_listener(&r->ans, router_request_id(r));
}

/* NULL: not here, or not now. */
static struct listening *listening_new(struct router *r, const struct rflow *rf)
{
    struct listening *x = NULL;

    if (!has_room(r) || !httpd_may_open(rf->req) || !gate_listen(&r->gate, rf->listen_id))
        return NULL;
    x = malloc(sizeof(*x));
    if (x != NULL && listeners_add(&r->listeners, &x->l, &rf->flow.token, ev_now(r->ev))) {
        x->client = rf->listen_id;
        x->req = rf->req;
        x->rf = NULL;
        return x;
    }
    gate_listen_end(&r->gate, rf->listen_id);
    free(x);
    return NULL;
}

/* Keeps the smaller place: earlier words were not less than these. */
static void open_it(struct router *r, struct rflow *rf, struct api_ticket *t)
{
    struct listening *x = listening_new(r, rf);

    if (x == NULL) {
        refuse(r);
        return;
    }
    httpd_open(x->req, EVENT_TYPE, EVENT_HEADERS);
    httpd_set_user(x->req, x);
    rf->req = NULL; /* answered */
    x->l.wanted = rf->wanted;
    rf->wanted = 0;
    if (rf->flow.admitted) {
        tell_admitted(r, x, t);
        return;
    }
    if (rf->last_told != 0 && rf->last_told < t->position)
        t->position = rf->flow.position = rf->last_told;
    heard(r, x, &rf->flow, t, t->poll_after_ms > RETRY_LEAST_MS ? t->poll_after_ms : RETRY_LEAST_MS);
    send_beat(x);
    if (r->listeners.n == 1)
        arm(r, ev_now(r->ev) + LISTEN_SLOT_MS);
}

static void first_looked(struct router *r, struct rflow *rf)
{
    struct api_ticket t;

    if (rf->req != NULL && rf->flow.result == FLOW_OK && router_ticket(r, rf, &t))
        open_it(r, rf, &t);
    else if (rf->req != NULL)
        router_failed(r, &rf->flow);
    replicas_want_no_more(&r->replicas, rf->wanted, &rf->flow.token);
}

/* The node is asked: it never tells a greater place than it, or another router, did before. */
void events_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                  struct slice text)
{
    struct rflow *rf;
    struct token t;

    rf = ticket_call(r, req, q, text, first_looked, "the router is overloaded; your place is kept, try again", &t);
    if (rf == NULL)
        return;
    r->counts.polls++;
    rf->listen_id = gate_listener(&r->gate, httpd_tag(req));
    rf->last_told = event_last(q);
    memcpy(rf->text, text.p, TOKEN_TEXT_LEN);
    flow_poll(&rf->flow, r->routes, NULL, &t, ev_now(r->ev));
    rf->wanted = replicas_want(&r->replicas, rf->flow.node, &t); /* a release may be on its way */
    rflow_begin(r, rf);
}

void events_gone(struct router *r, struct listening *x)
{
    forget(r, x);
}

static void tell_away(struct router *r, struct listening *x, size_t n)
{
    uint32_t ms = listen_return_ms(&x->l, n);
    struct buf *b = &r->ans.body;

    event_begin(b, "away", 0, ms);
    buf_str(b, "{\"poll_after_ms\":");
    buf_u64(b, ms);
    buf_byte(b, '}');
    send_event(r, x, b);
    api_ans_reset(&r->ans);
    end(r, x);
}

void events_drain(struct router *r)
{
    size_t n = r->listeners.n;
    struct listen_ticket *l;

    if (n > 0)
        log_info("event=listeners_sent_away n=%zu", n);
    while ((l = listeners_first(&r->listeners)) != NULL)
        tell_away(r, container_of(l, struct listening, l), n);
}

int events_init(struct router *r)
{
    listeners_init(&r->listeners);
    r->let_in = let_in;
    r->listen_timer = ev_timer_new(r->ev, on_timer, r);
    return r->listen_timer != NULL ? 0 : SQ_ENOMEM;
}

void events_fini(struct router *r)
{
    if (r->listen_timer == NULL)
        return;
    listeners_fini(&r->listeners);
    ev_timer_free(r->listen_timer);
}


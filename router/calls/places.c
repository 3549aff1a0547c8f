/* places.c: see places.h. */
#include "router/calls/places.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/api/json_out.h"
#include "router/api/response.h"
#include "router/calls/challenge.h"
#include "router/calls/group_name.h"
#include "router/calls/join.h"
#include "router/calls/ticket.h"
#include "router/flow/places.h"

/* A call under way: its flows refer to it, one for each place that is asked. */
struct places_call {
    enum waiter waits;     /* WAITS_PLACES; httpd's user pointer */
    struct httpd_req *req; /* ref; NULL: the client has gone */
    struct router *r;      /* ref */
    struct list_node in_all; /* member of r->places */
    unsigned pending;      /* asks of this step without an answer, and one while they begin */
    bool joins, leaves;    /* kind of the call; neither: a poll */
    uint8_t failed;        /* a join: the first place that it did not get, + 1; 0: none */
    uint8_t fresh;         /* a join: a bit for each place that was not there before */
    struct flow why;       /* flow of that one */
    struct slice key;      /* a join's Idempotency-Key; key_text */
    uint8_t client;
    char key_text[JOIN_KEY_MAX];
    uint8_t lane[PLACES_MAX]; /* a join's, as are these */
    char queue[PLACES_MAX][NAME_MAX_LEN + 1];
    struct places p;
};

/* ---- answers ---- */

static const char *const states[] = { [PLACE_IS_UNKNOWN] = "unknown", [PLACE_IS_WAITING] = "waiting",
                                      [PLACE_IS_INSIDE] = "unknown", [PLACE_IS_ADMITTED] = "admitted",
                                      [PLACE_IS_OVER] = "over" };

/* A place of a group leaves with all the others, or for the one that is admitted. */
static const char *why_over(const struct places *p, const struct one_place *v)
{
    return v->reason == GONE_LEFT && places_first(p) < p->n ? "given_up" : api_gone_word(v->reason);
}

static void put_place(struct router *r, struct buf *b, const struct places *p, unsigned i)
{
    const struct one_place *v = &p->v[i];
    struct route_owner o;
    bool known = routes_owner(r->routes, v->token.seg, &o) == 0 && o.queue != NULL;
    struct api_ticket t = { .queue = known ? o.queue : NULL, .lane = known ? o.lane : 0,
                            .position = v->position };

    buf_str(b, i == 0 ? "{\"queue\":" : ",{\"queue\":");
    if (known)
        out_word(b, "", o.queue->map.name);
    else
        ADD(b, "null");
    out_word(b, ",\"state\":", states[v->is]);
    if (v->is == PLACE_IS_OVER)
        out_word(b, ",\"reason\":", why_over(p, v));
    if (v->is == PLACE_IS_WAITING && known) {
        out_or_null(b, ",\"position\":", v->position != 0 ? (int64_t)api_position(&t) : -1);
        out_or_null(b, ",\"eta_s\":",
                    v->position != 0 ? api_eta_s(v->position, api_lane_stats(&t)) : -1);
    }
    out_id(b, ",\"ticket\":", v->token.seg, v->token.number);
    ADD(b, "}");
}

/* The soonest of what its places were told; one that is unknown, or admitted at its join: soon. */
static uint32_t poll_after(const struct places *p)
{
    uint32_t ms = UINT32_MAX;

    for (unsigned i = 0; i < p->n; i++) {
        const struct one_place *v = &p->v[i];
        uint32_t its = v->is == PLACE_IS_WAITING && v->poll_after_ms != 0 ? v->poll_after_ms : 1000;

        if (v->is != PLACE_IS_OVER && its < ms)
            ms = its;
    }
    return ms;
}

/* Places of a group are to be polled as the group is told, not as each of them would be alone. */
static uint32_t tell_next(struct places_call *c)
{
    uint32_t ms = poll_after(&c->p);

    for (unsigned i = 0; i < c->p.n; i++)
        if (c->p.v[i].is == PLACE_IS_WAITING)
            ticket_polled(c->r, &c->p.v[i].token, ms);
    return ms;
}

/* rf: the poll of the one that is kept, if it has one; else NULL. */
static void put_group(struct places_call *c, const struct rflow *rf)
{
    struct api_ans *a = &c->r->ans;
    struct buf *b = &a->body;
    unsigned over = 0;
    bool pass = rf != NULL && rf->pass != NULL;
    char name[GROUP_NAME_ROOM];

    assert(c->p.step == PLACES_DONE);
    for (unsigned i = 0; i < c->p.n; i++)
        over += c->p.v[i].is == PLACE_IS_OVER;
    group_name_write(&c->p, &c->r->keys.token, name);
    api_ok(a, c->joins ? 201 : 200);
    out_word(b, "{\"group\":", name);
    out_word(b, ",\"state\":", pass ? "admitted" : over == c->p.n ? "over" : "waiting");
    ADD(b, ",\"places\":[");
    for (unsigned i = 0; i < c->p.n; i++)
        put_place(c->r, b, &c->p, i);
    ADD(b, "]");
    if (pass) {
        ADD(b, ",\"pass\":\"");
        buf_append(b, rf->pass, rf->pass_len);
        out_u64(b, "\",\"pass_expires_at\":", (uint64_t)rf->flow.pass_expires_s);
    } else if (over < c->p.n) {
        out_u64(b, ",\"poll_after_ms\":", tell_next(c));
    }
    ADD(b, "}");
}

/* The problem of the queue that could not be joined, by its name. */
static void put_failed_join(struct places_call *c)
{
    static const char none[] = "none of the queues was joined, for this one could not be: ";
    char detail[sizeof(none) + NAME_MAX_LEN];

    snprintf(detail, sizeof(detail), "%s%s", none, c->queue[c->failed - 1]);
    api_problem(&c->r->ans, api_flow_problem(&c->why), detail, router_request_id(c->r));
}

/* Answers, with what the last step came to. */
static void put_answer(struct places_call *c, const struct rflow *rf)
{
    if (c->failed != 0)
        put_failed_join(c);
    else if (c->p.step == PLACES_FAILED)
        api_problem_later(&c->r->ans, API_QUEUE_UNAVAILABLE,
                          "a line cannot be reached now; the places are kept, ask again", 1000,
                          router_request_id(c->r));
    else if (c->leaves)
        c->r->ans.status = 204;
    else
        put_group(c, rf);
}

/* ---- the steps ---- */

static void answered(struct router *r, struct rflow *rf);

static void begin_join(struct places_call *c, struct rflow *rf, unsigned i)
{
    const struct route_queue *q = routes_queue(c->r->routes, c->queue[i], strlen(c->queue[i]));
    struct join_body b;

    assert(q != NULL); /* looked up in this turn */
    memset(&b, 0, offsetof(struct join_body, claim));
    b.client = c->client;
    if (c->key.n > 0)
        join_by_key(c->r, q, &b, c->key);
    join_flow(c->r, rf, q, &b, c->lane[i]);
}

static void begin_one(struct places_call *c, struct rflow *rf, unsigned i)
{
    struct router *r = c->r;
    const struct token *t = &c->p.v[i].token;
    msec_t now = ev_now(r->ev);
    bool looks = c->p.step == PLACES_LOOK;

    switch ((enum places_step)c->p.step) {
    case PLACES_JOIN:
        begin_join(c, rf, i);
        break;
    case PLACES_GIVE_UP:
        flow_give_up(&rf->flow, r->routes, t, now);
        break;
    case PLACES_LOSE:
    case PLACES_LEAVE:
        flow_leave(&rf->flow, r->routes, t, now);
        break;
    default:
        flow_poll(&rf->flow, r->routes, looks ? &r->replicas : NULL, t, now);
    }
}

/* The flow of place i has ended; of a join also: what is to be undone, and why. */
static void ended(struct places_call *c, unsigned i, const struct flow *f)
{
    places_said(&c->p, i, f);
    if (c->p.step != PLACES_JOIN)
        return;
    if (f->result == FLOW_OK) {
        c->fresh |= (uint8_t)(1u << i);
    } else if (f->result != FLOW_EXISTING && c->failed == 0) {
        c->failed = (uint8_t)(i + 1);
        c->why = *f;
    }
}

static void ask_all(struct places_call *c)
{
    uint8_t asks = c->p.asks;

    c->pending = 1;
    for (unsigned i = 0; i < c->p.n; i++) {
        struct rflow *rf;

        if ((asks >> i & 1) == 0)
            continue;
        rf = rflow_new(c->r, NULL, answered, NULL);
        if (rf == NULL) { /* overloaded: as if no node answered */
            struct flow none = { .kind = FLOW_POLL, .todo = FLOW_DONE, .result = FLOW_UNAVAIL };

            ended(c, i, &none);
            continue;
        }
        rf->places = c;
        rf->place = (uint8_t)i;
        c->pending++;
        begin_one(c, rf, i);
        rflow_begin(c->r, rf);
    }
}

/* All or none: what was joined leaves again, but not what an earlier call with the same key has joined.
 * True: there is something to undo. */
static bool undo(struct places_call *c)
{
    c->p.step = PLACES_LEAVE;
    c->p.asks = c->fresh;
    return c->fresh != 0;
}

/* No ask is pending. rf: the last one, or NULL. May end the call: c is no more. */
static void step(struct places_call *c, const struct rflow *rf)
{
    while (c->pending == 0) {
        if (c->p.step == PLACES_JOIN && c->failed != 0 && undo(c)) {
            ask_all(c);
            c->pending--;
            continue;
        }
        if (c->p.step < PLACES_DONE)
            places_next(&c->p);
        if (c->p.step >= PLACES_DONE) {
            if (c->req != NULL) {
                put_answer(c, rf);
                router_answer(c->r, c->req);
            }
            list_remove(&c->r->places, &c->in_all);
            free(c);
            return;
        }
        ask_all(c);
        c->pending--;
        rf = NULL;
    }
}

static void answered(struct router *r, struct rflow *rf)
{
    struct places_call *c = rf->places;

    (void)r;
    ended(c, rf->place, &rf->flow);
    assert(c->pending > 0);
    if (--c->pending == 0)
        step(c, c->p.step == PLACES_TAKE ? rf : NULL);
}

void places_gone(struct places_call *c)
{
    c->req = NULL; /* asked, so done all the same */
}

void places_fini(struct router *r)
{
    struct list_node *it;

    while (r->places.head.next != NULL && (it = list_first(&r->places)) != NULL) {
        list_remove(&r->places, it);
        free(container_of(it, struct places_call, in_all));
    }
}

/* c is taken over. */
static void run(struct places_call *c, enum places_step first)
{
    httpd_set_user(c->req, c);
    list_push_back(&c->r->places, &c->in_all);
    places_begin(&c->p, first);
    ask_all(c);
    if (--c->pending == 0)
        step(c, NULL);
}

/* ---- the requests ---- */

struct said { /* slices point into the request's bytes */
    int64_t client;
    uint8_t n;
    struct slice queue[PLACES_MAX];
};

/* to: n. */
static bool take_queue(void *to, struct slice one)
{
    struct said *b = container_of(to, struct said, n);

    for (unsigned i = 0; i < b->n; i++)
        if (b->queue[i].n == one.n && memcmp(b->queue[i].p, one.p, one.n) == 0)
            return false;
    if (!api_is_name(one.p, one.n))
        return false;
    b->queue[b->n++] = one;
    return true;
}

static bool read_queues(const struct json_member *m, struct json_scan *s, void *to)
{
    return json_list(m, s, to, take_queue);
}

static const struct json_member members[] = {
    { "queues", offsetof(struct said, n), 2, PLACES_MAX, read_queues, RANGE_UNSAID, NULL,
      " must be a list of 2 to 8 names of queues, each once" },
    { "client", offsetof(struct said, client), 0, CLIENT_NCLASSES, json_word, RANGE_UNSAID, join_clients,
      " must be browser, mobile or game" },
};

/* False: the body is not as it must be; that is answered. */
static bool read_body(struct router *r, struct httpd_req *req, const struct http_req *q, struct said *b)
{
    struct body_error e = { 0 };
    uint64_t has;

    *b = (struct said){ 0 };
    if (!q->json)
        router_problem(r, req, API_UNSUPPORTED_MEDIA_TYPE, "the body must be JSON");
    else if (!json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, q->body, b, &has, &e))
        router_problem(r, req, API_BAD_REQUEST, e.text);
    else if (b->n == 0)
        router_problem(r, req, API_BAD_REQUEST, "queues is missing: a list of 2 to 8 names of queues");
    else
        return true;
    return false;
}

/* Why the queue is in no group; NULL: it may be, with this lane. */
static const char *unfit(struct router *r, const struct route_queue *q, enum api_problem *p, unsigned *lane)
{
    struct join_body b;
    const char *why = NULL;

    *p = API_NOT_ELIGIBLE;
    if (q == NULL) {
        *p = API_QUEUE_NOT_FOUND;
        return "there is no such queue";
    }
    if (q->map.state == QUEUE_CLOSED) {
        *p = API_QUEUE_CLOSED;
        return "it is closed";
    }
    if (q->map.bind == BIND_DEVICE)
        return "its tickets are bound to devices, those of a group are not";
    if (!challenge_is_free(q))
        return "it asks for challenges or looks for suspects, which a group cannot answer";
    memset(&b, 0, offsetof(struct join_body, claim));
    if (join_lane(r, q, &b, lane, &why) < 0)
        return why != NULL ? why : "it needs a claim, which a group does not have";
    return NULL;
}

/* False: one of them may not be joined; that is answered. */
static bool find_queues(struct router *r, struct httpd_req *req, const struct said *b, struct places_call *c)
{
    for (unsigned i = 0; i < b->n; i++) {
        const struct route_queue *q = routes_queue(r->routes, b->queue[i].p, b->queue[i].n);
        enum api_problem p;
        unsigned lane = 0;
        const char *why = unfit(r, q, &p, &lane);
        char detail[300];

        if (why != NULL) {
            snprintf(detail, sizeof(detail), "none of the queues was joined, for %.*s: %s",
                     (int)b->queue[i].n, b->queue[i].p, why);
            router_problem(r, req, p, detail);
            return false;
        }
        if (i > 0 && !router_may_pass(r, req, LIMIT_JOIN)) /* each is a join; one was counted */
            return false;
        memcpy(c->queue[i], b->queue[i].p, b->queue[i].n); /* zeroed */
        c->lane[i] = (uint8_t)lane;
    }
    c->p.n = b->n;
    return true;
}

/* The same key of a single join has another place: that one's ticket is known, a group's are not. */
static bool take_key(struct router *r, struct httpd_req *req, struct slice key, struct places_call *c)
{
    if (key.p == NULL)
        return true;
    if (!join_key_ok(key) || key.n >= JOIN_KEY_MAX) {
        router_problem(r, req, API_BAD_REQUEST, "Idempotency-Key must be 16 to 127 visible ASCII characters");
        return false;
    }
    c->key_text[0] = '\2';
    memcpy(c->key_text + 1, key.p, key.n);
    c->key = (struct slice){ c->key_text, key.n + 1 };
    return true;
}

static void join(struct router *r, struct httpd_req *req, const struct http_req *q, struct places_call *c)
{
    struct said b;

    if (!read_body(r, req, q, &b) || !take_key(r, req, q->idempotency_key, c) ||
        !find_queues(r, req, &b, c)) {
        free(c);
        return;
    }
    c->client = (uint8_t)b.client;
    c->joins = true;
    run(c, PLACES_JOIN);
}

/* A poll, or a leave: as many as it has places. False: too many; that is answered. */
static bool may_ask(struct router *r, struct httpd_req *req, const struct places_call *c)
{
    for (unsigned i = 1; i < c->p.n; i++) /* the first one was counted */
        if (!router_may_pass(r, req, LIMIT_POLL))
            return false;
    for (unsigned i = 0; i < c->p.n && !c->leaves; i++)
        if (!ticket_may_poll(r, req, &c->p.v[i].token))
            return false;
    return true;
}

void places_start(struct router *r, struct httpd_req *req, const struct http_req *q, struct slice group)
{
    struct places_call *c;

    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE,
                       "this router has no map of the queues yet; try again");
        return;
    }
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        router_problem(r, req, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    c->waits = WAITS_PLACES;
    c->req = req;
    c->r = r;
    if (group.n == 0) {
        join(r, req, q, c);
    } else if (!group_name_read(&c->p, &r->keys.token, group)) {
        free(c);
        router_forged(r, req);
    } else {
        c->leaves = q->method == HTTP_DELETE;
        if (!may_ask(r, req, c)) {
            free(c);
            return;
        }
        r->counts.polls += !c->leaves;
        r->counts.leaves += c->leaves;
        run(c, c->leaves ? PLACES_LEAVE : PLACES_LOOK);
    }
}

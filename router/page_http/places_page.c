/* places_page.c: see places_page.h. */
#include "router/page_http/places_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/http/request_headers.h"
#include "router/calls/places.h"
#include "router/calls/places_call.h"
#include "router/calls/ticket.h"
#include "router/gate/visit.h"
#include "router/page_http/files.h"

#define LOG_MODULE "page"

#define RETRY_MS 5000

/* ---- where to go afterwards ---- */

static const struct page_def *def_of(struct router *r, const struct route_queue *q)
{
    return q != NULL ? page_room_def(r, q) : NULL;
}

/* May people be sent there behind their turn in q (NULL: none)? */
static bool leads_to(struct router *r, const struct route_queue *q, const char *to)
{
    const struct page_def *d = def_of(r, q);

    return page_target_ok(to, strlen(to), d != NULL ? d->ret.v : NULL, d != NULL ? d->ret.n : 0);
}

/* Sends it on as the queue says whose turn it is. */
static void send_in(struct router *r, const struct page_ask *a, const struct route_queue *q)
{
    const struct page_def *d = def_of(r, q);
    char to[PAGE_TARGET_MAX + 1] = "";

    if (a->target[0] != '\0' && leads_to(r, q, a->target)) {
        page_send_to(r, a->target);
        return;
    }
    if (d != NULL && d->ret.n > 0)
        strcpy(to, ((char *const *)d->ret.v)[0]); /* at most 255, page_origin_ok() */
    strcat(to, "/");
    page_send_to(r, to);
}

/* ---- answers ---- */

/* name "": deletes it. */
static void put_cookie(struct router *r, const struct page_ask *a, const char *name)
{
    struct buf *b = &r->ans.headers;

    buf_str(b, "Set-Cookie: segq_places=");
    buf_str(b, name);
    page_cookie_rest(b, a, name[0] != '\0');
}

/* Forms may lead to what each of the queues leads to: a turn may be there at once. */
static void put_origins(struct router *r, const struct page_ask *a, struct buf *b)
{
    const struct cfg_group *g = places_group(r, slice_of(a->name));
    char *const *v = g != NULL ? g->queues.v : NULL;

    for (size_t i = 0; g != NULL && i < g->queues.n; i++) {
        const struct page_def *d = def_of(r, routes_queue(r->routes, v[i], strlen(v[i])));

        for (size_t k = 0; d != NULL && k < d->ret.n; k++) {
            buf_byte(b, ' ');
            buf_str(b, ((char *const *)d->ret.v)[k]);
        }
    }
    buf_byte(b, '\0');
}

static void put_page(struct router *r, struct page_view *v, const struct page_ask *a)
{
    struct buf origins = { 0 };

    put_origins(r, a, &origins);
    v->forms_to = origins.failed ? NULL : (const char *)origins.data;
    page_show(r, v);
    buf_fini(&origins);
}

/* A page without places, into r->ans. */
static void show(struct router *r, const struct page_ask *a, enum page_state state, uint32_t retry_ms)
{
    struct page_view v = page_view_of(r, a, NULL, state);

    v.poll_after_ms = retry_ms;
    put_page(r, &v, a);
}

/* The others are given up for it, so its end is the end of all. */
static uint8_t why_over(const struct places *p)
{
    uint8_t why = GONE_LEFT;

    for (unsigned i = 0; i < p->n && why == GONE_LEFT; i++)
        why = p->v[i].reason;
    return why;
}

static enum page_state state_of(const struct one_place *v, bool pass)
{
    return v->is == PLACE_IS_WAITING ? PAGE_WAITING
           : pass                    ? PAGE_TURN
           : v->is == PLACE_IS_OVER  ? page_state_gone(v->reason)
                                     : PAGE_UNAVAILABLE;
}

static void fill(const struct places_call *c, unsigned i, struct page_place *o)
{
    struct router *r = c->r;
    const struct one_place *v = &c->p.v[i];
    struct route_owner w;
    bool known = routes_owner(r->routes, v->token.seg, &w) == 0 && w.queue != NULL;
    const struct route_queue *q = known ? w.queue : NULL;
    struct api_ticket t = { .queue = q, .lane = known ? w.lane : 0, .position = v->position };

    *o = (struct page_place){ .queue = known ? q->map.name : "",
                              .state = state_of(v, known && c->pass[i].n > 0),
                              .early = v->early,
                              .eta_s = -1,
                              .ticket_seg = v->token.seg,
                              .ticket_number = v->token.number };
    if (!known)
        return;
    o->def = page_room_def(r, q);
    if (v->is != PLACE_IS_WAITING)
        return;
    o->paused = page_is_paused(q);
    if (v->position == 0)
        return;
    o->position = api_position(&t);
    o->eta_s = api_eta_s(v->position, api_lane_stats(&t));
}

static void show_places(struct places_call *c)
{
    const struct page_ask *a = c->page;
    struct page_view v = page_view_of(c->r, a, NULL, PAGE_PLACES);
    struct page_place places[PLACES_MAX];

    for (unsigned i = 0; i < c->p.n; i++)
        fill(c, i, &places[i]);
    v.places = places;
    v.n_places = c->p.n;
    v.keeps = c->p.keeps;
    v.poll_after_ms = places_told(c);
    put_page(c->r, &v, a);
}

/* Leads to the queue that was chosen, if its turn is still there; where the others are kept. */
static void let_in_chosen(struct places_call *c)
{
    const struct page_ask *a = c->page;

    for (unsigned i = 0; i < c->p.n; i++) {
        const struct kept_pass *k = &c->pass[i];
        struct route_owner o;
        struct api_ticket t = { .pass = (const char *)c->passes.data + k->at, .pass_len = k->n,
                                .released_at_ms = k->released_at_ms, .pass_expires_s = k->expires_s };

        if (k->n == 0 || routes_owner(c->r->routes, c->p.v[i].token.seg, &o) != 0 || o.queue == NULL ||
            o.queue->map.id != a->queue)
            continue;
        c->r->counts.page_enters++;
        page_pass_cookie(c->r, a, o.queue, &t);
        send_in(c->r, a, o.queue);
        return;
    }
    page_send_back(c->r, a, "?r=1");
}

/* rf: the poll of the place whose turn it is. */
static void let_in(struct places_call *c, const struct rflow *rf)
{
    struct api_ticket t;
    const struct page_ask *a = c->page;

    if (!router_ticket(c->r, rf, &t)) { /* a queue went in this moment */
        show(c->r, a, PAGE_UNAVAILABLE, RETRY_MS);
        return;
    }
    c->r->counts.page_enters++;
    page_pass_cookie(c->r, a, t.queue, &t);
    send_in(c->r, a, t.queue);
}

static void show_failed_join(struct places_call *c)
{
    const char *name = c->queue[c->p.failed - 1];
    uint32_t retry_ms;
    enum page_state s = page_state_of(&c->why, routes_queue(c->r->routes, name, strlen(name)),
                                      ev_wall_ms(c->r->ev), &retry_ms);

    show(c->r, c->page, s, retry_ms);
}

static void show_over(struct places_call *c)
{
    const struct page_ask *a = c->page;
    uint8_t why = why_over(&c->p);

    if (why != GONE_FINISHED) {
        show(c->r, a, page_state_gone(why), 0);
        return;
    }
    put_cookie(c->r, a, "");
    page_send_anew(c->r, a);
}

/* A places_tell. c->page: the struct page_ask. */
static void answer(struct places_call *c, const struct rflow *rf)
{
    const struct page_ask *a = c->page;
    char name[GROUP_NAME_ROOM];
    unsigned over = 0;

    for (unsigned i = 0; i < c->p.n; i++)
        over += c->p.v[i].is == PLACE_IS_OVER;
    if (c->p.failed != 0) {
        show_failed_join(c);
        return;
    }
    if (c->joins) { /* also of a join whose turn is there: asked again, it is told */
        group_name_write(&c->p, &c->r->keys.token, name);
        put_cookie(c->r, a, name);
    }
    if (c->p.step != PLACES_DONE) {
        show(c->r, a, PAGE_UNAVAILABLE, RETRY_MS);
    } else if (c->leaves) {
        put_cookie(c->r, a, "");
        page_send_back(c->r, a, "?left=1");
    } else if (rf != NULL && rf->pass != NULL) {
        let_in(c, rf);
    } else if (over == c->p.n) {
        show_over(c);
    } else if (a->act == ACT_ENTER) {
        let_in_chosen(c);
    } else if (a->posted || a->claimed) {
        page_send_back(c->r, a, "?r=1");
    } else {
        show_places(c);
    }
}

struct asked {
    struct router *r;
    struct httpd_req *req;
    const struct http_req *q;
    const struct cfg_group *g;
    struct places_call *c; /* page: the struct page_ask */
    struct slice form;     /* p NULL: it is a GET */
};

/* Reads what was asked for, if one of the queues may lead there; else "": each leads to its own site. */
static void read_target(struct asked *x, char *to)
{
    char *const *v = x->g->queues.v;
    bool ok = false;
    int64_t n = x->form.p != NULL ? page_member(x->form, "return", to, PAGE_TARGET_MAX + 1)
                                  : page_return(x->q->query, to, PAGE_TARGET_MAX + 1);

    for (size_t i = 0; n > 0 && !ok && i < x->g->queues.n; i++)
        ok = leads_to(x->r, routes_queue(x->r->routes, v[i], strlen(v[i])), to);
    if (!ok)
        to[0] = '\0';
}

/* Answers without a flow. */
static void say(struct asked *x, enum page_state state, uint32_t retry_ms)
{
    show(x->r, x->c->page, state, retry_ms);
    router_answer(x->r, x->req);
}

static void back(struct asked *x, const char *flag)
{
    page_send_back(x->r, x->c->page, flag);
    router_answer(x->r, x->req);
}

/* True: there is room in the address's budget for each of n; else it has been told so in words. */
static bool may_pass(struct asked *x, enum limit_kind k, size_t n)
{
    uint32_t wait_ms = gate_take(&x->r->gate, k, ev_now_us(x->r->ev));

    if (wait_ms == 0)
        wait_ms = gate_take_more(&x->r->gate, k, (unsigned)n - 1, ev_now_us(x->r->ev));
    if (wait_ms == 0)
        return true;
    say(x, PAGE_TOO_FAST, wait_ms > 1000 ? wait_ms : 1000);
    return false;
}

/* Finds its places by the cookie. */
static bool has_places(struct asked *x)
{
    struct cookies c = { 0 };
    struct slice v;

    while (cookie_next(&c, x->q, "segq_places", &v)) {
        if (group_name_read(&x->c->p, &x->r->keys.token, v))
            return true;
        x->c->p = (struct places){ 0 };
    }
    return false;
}

/* A queue may not be joined, so none is. A claim is its visitor's matter, the rest the operator's. */
static void refuse(struct asked *x, struct slice queue, const char *why)
{
    const struct route_queue *q = routes_queue(x->r->routes, queue.p, queue.n);
    uint32_t retry_ms = RETRY_MS;
    enum page_state s = PAGE_UNAVAILABLE;
    uint64_t left_out;

    if (x->c->bad_claim) {
        s = PAGE_REFUSED;
        retry_ms = 0;
    } else if (q != NULL && q->map.state == QUEUE_CLOSED)
        s = page_of_closed(q, ev_wall_ms(x->r->ev), &retry_ms);
    else if (log_may(&x->r->group_refused, ev_now(x->r->ev), 4, &left_out))
        log_warn("event=group_refused group=%s queue=%.*s why=%s left_out=%" PRIu64, x->g->name, (int)queue.n,
                 queue.p, log_q(why, strlen(why)), left_out);
    say(x, s, retry_ms);
}

/* c gets all queues, each with the claim's lane, or the default one. NULL, or why *queue may not be joined. */
static const char *add_all(struct asked *x, struct slice *queue)
{
    char *const *v = x->g->queues.v;
    const char *why = NULL;
    enum api_problem p;

    x->c->p = (struct places){ 0 };
    for (size_t i = 0; why == NULL && i < x->g->queues.n; i++) {
        *queue = (struct slice){ v[i], strlen(v[i]) };
        why = places_add(x->c, *queue, &p);
    }
    return why;
}

static void set_join(struct asked *x)
{
    x->c->p.keeps = x->g->others == GROUP_KEEPS;
    x->c->client = CLIENT_BROWSER;
    x->c->joins = true;
}

/* True: c joins them all. False: answered. */
static bool joins(struct asked *x)
{
    char key[JOIN_KEY_MAX + 1]; /* key of this rendering of the page: pressed twice it is a single join */
    struct slice queue;
    const char *why;

    if (!may_pass(x, LIMIT_JOIN, x->g->queues.n))
        return false;
    if (x->form.p != NULL && page_member(x->form, "key", key, sizeof(key)) > 0 &&
        !places_key(x->c, (struct slice){ key, strlen(key) }))
        x->c->key.n = 0;
    why = add_all(x, &queue);
    if (why != NULL)
        refuse(x, queue, why);
    else
        set_join(x);
    return why == NULL;
}

/* Do the places of `had` stand in the lanes that c would join? */
static bool is_there(const struct asked *x, const struct places *had)
{
    const struct places_call *c = x->c;
    unsigned n = 0;

    for (unsigned i = 0; i < had->n; i++) {
        struct route_owner o;

        if (routes_owner(x->r->routes, had->v[i].token.seg, &o) < 0 || o.queue == NULL)
            continue;
        for (unsigned k = 0; k < c->p.n; k++)
            n += o.lane == c->lane[k] && strcmp(o.queue->map.name, c->queue[k]) == 0;
    }
    return n == had->n && n == c->p.n;
}

/* True: c polls them all. */
static bool polls(struct asked *x)
{
    uint32_t over_ms = 0;

    if (!may_pass(x, LIMIT_POLL, x->c->p.n))
        return false;
    for (unsigned i = 0; over_ms == 0 && i < x->c->p.n; i++)
        over_ms = ticket_over_ms(x->r, &x->c->p.v[i].token);
    if (over_ms == 0)
        return true;
    say(x, PAGE_TOO_FAST, over_ms > 1000 ? over_ms : 1000);
    return false;
}

static bool has_flag(struct slice query, const char *name)
{
    char v[4];

    return page_member(query, name, v, sizeof(v)) == 1 && v[0] == '1';
}

/* The address has a claim, which a page does not keep. A good one joins, and finds the places of its person if
 * it names one; without a name places that are in its lanes are those. With a bad one places go on waiting
 * where they are; a visitor without any is told. True: c joins, or polls. False: answered. */
static bool use_claim(struct asked *x, bool has)
{
    struct page_ask *a = x->c->page;
    struct places had = x->c->p;
    struct slice queue;
    const char *why;

    if (!may_pass(x, LIMIT_JOIN, x->g->queues.n))
        return false;
    why = add_all(x, &queue);
    if (why != NULL && !has) {
        refuse(x, queue, why);
        return false;
    }
    a->claimed = true;
    if (why == NULL && !(has && x->c->subject_len == 0 && is_there(x, &had))) {
        set_join(x);
        return true;
    }
    x->c->p = had;
    return polls(x);
}

/* HEAD joins nobody, and is no poll. */
static bool get(struct asked *x)
{
    bool head = x->q->method == HTTP_HEAD, has = !head && has_places(x);
    bool looks = !head && visit_is_looked_at(x->q);

    if (looks && x->c->claim.n > 0)
        return use_claim(x, has);
    if (has && x->c->claim.n == 0)
        return polls(x);
    if (x->c->claim.n == 0 && has_flag(x->q->query, "left"))
        say(x, PAGE_LEFT, 0);
    else if (x->c->claim.n == 0 && has_flag(x->q->query, "r"))
        say(x, PAGE_COOKIES, 0);
    else if (looks)
        return joins(x);
    else if (may_pass(x, LIMIT_POLL, 1))
        say(x, PAGE_DOOR, 0);
    return false;
}

/* True: it is polled, and goes in where it was chosen. */
static bool enters(struct asked *x)
{
    struct page_ask *a = x->c->page;
    char name[NAME_MAX_LEN + 1];
    int64_t n = page_member(x->form, "queue", name, sizeof(name));
    const struct route_queue *q = n > 0 ? routes_queue(x->r->routes, name, (size_t)n) : NULL;

    if (q == NULL) {
        back(x, "?r=1");
        return false;
    }
    a->act = ACT_ENTER;
    a->queue = q->map.id;
    return polls(x);
}

static bool post(struct asked *x, char form)
{
    bool has;

    if (page_same_site(x->q) < 0) {
        router_problem(x->r, x->req, API_NOT_ELIGIBLE, "this form was sent by another site");
        return false;
    }
    has = has_places(x);
    if (form == 'e' && has && x->c->p.keeps)
        return enters(x);
    if (form == 'l' && has && may_pass(x, LIMIT_POLL, x->c->p.n))
        x->c->leaves = true;
    else if (form == 'j' && has && x->c->claim.n == 0 && has_flag(x->form, "door")) /* another tab has joined since */
        back(x, "");
    else if (form != 'j' && !(form == 'l' && has))
        back(x, form == 'l' ? "?left=1" : "?r=1");
    else if (form == 'j') {
        x->c->p = (struct places){ 0 };
        ((struct page_ask *)x->c->page)->posted = true;
        return joins(x);
    }
    return x->c->leaves;
}

/* True: c is to run. */
static bool begin(struct asked *x, const struct api_req *call)
{
    read_target(x, ((struct page_ask *)x->c->page)->target);
    if (call->call == API_WORDS || call->call == API_WORKER)
        router_problem(x->r, x->req, API_QUEUE_NOT_FOUND,
                       "a group has no words or worker of its own: ask for a queue's");
    else if (routes_version(x->r->routes) == 0)
        say(x, PAGE_UNAVAILABLE, RETRY_MS);
    else if (call->call == API_UNFORM)
        back(x, "");
    else
        return call->call == API_FORM ? post(x, call->form) : get(x);
    return false;
}

void places_page(struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct api_req *call, const struct cfg_group *g, struct page_ask *a)
{
    struct asked x = { .r = r, .req = req, .q = q, .g = g, .c = places_new(r, req, answer) };

    if (x.c == NULL) {
        free(a);
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "this router is out of memory; try again");
        return;
    }
    x.c->page = a;
    x.c->claim = (struct slice){ a->claim, a->claim_len };
    if (call->call == API_FORM)
        x.form = q->body.p != NULL ? q->body : (struct slice){ (char *)"", 0 };
    if (begin(&x, call))
        places_run(x.c);
    else
        places_free(x.c);
}

/* places_page.c: see places_page.h. */
#include "router/page_http/places_page.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/http/request_headers.h"
#include "router/calls/group_name.h"
#include "router/calls/places.h"
#include "router/calls/ticket.h"
#include "router/gate/visit.h"
#include "router/page_http/places_answer.h"

#define LOG_MODULE "page"
#define RETRY_MS 5000

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
        ok = places_lead_to(x->r, routes_queue(x->r->routes, v[i], strlen(v[i])), to);
    if (!ok)
        to[0] = '\0';
}

/* Answers without a flow. */
static void say(struct asked *x, enum page_state state, uint32_t retry_ms)
{
    places_show(x->r, x->c->page, state, retry_ms);
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
        router_problem(x->r, x->req, API_QUEUE_NOT_FOUND, "a group has no words or worker of its own: ask for a queue's");
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
    struct asked x = { .r = r, .req = req, .q = q, .g = g, .c = places_new(r, req, places_answer) };

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

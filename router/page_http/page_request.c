/* page_request.c: see page_request.h. */
#include "router/page_http/page_request.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/http/request_headers.h"
#include "router/calls/bearer.h"
#include "router/calls/challenge.h"
#include "router/calls/contact.h"
#include "router/calls/device.h"
#include "router/calls/join.h"
#include "router/calls/places.h"
#include "router/calls/ticket.h"
#include "router/gate/visit.h"
#include "router/links/site_asks.h"
#include "router/page/page.h"
#include "router/page_http/files.h"
#include "router/page_http/page_answer.h"
#include "router/page_http/page_price.h"
#include "router/page_http/places_page.h"

#define RETRY_MS 5000

struct asked { /* content of a request */
    const struct http_req *q;
    struct page_ask *a;
    const struct route_queue *queue; /* NULL: there is none */
    struct slice form;               /* body of a POST */
    bool has_token;
    struct token token;
    struct token others; /* device 0: none; a ticket that works with another device */
    bool stale;          /* key of this one must be proved anew */
    bool takes;          /* may be taken over by this one, */
    bool linked;         /* by a link */
    char text[TOKEN_TEXT_LEN + 1]; /* text of the token, else of others */
    bool bound;          /* device_join() was called */
    unsigned lane;
    struct join_body join; /* body that it joins with; last: its claim's bytes are not set to 0 */
};

/* ---- reading ---- */

static void read_target(struct router *r, struct asked *x)
{
    const struct page_def *d = x->queue != NULL ? page_room_def(r, x->queue) : NULL;
    char *const *origins = d != NULL ? d->ret.v : NULL;
    size_t n_origins = d != NULL ? d->ret.n : 0;
    char *to = x->a->target;
    int64_t n = x->form.p != NULL ? page_member(x->form, "return", to, PAGE_TARGET_MAX + 1)
                                  : page_return(x->q->query, to, PAGE_TARGET_MAX + 1);

    if (n > 0 && page_target_ok(to, (size_t)n, origins, n_origins))
        return;
    to[0] = '\0';
    if (n_origins > 0)
        strcpy(to, origins[0]); /* at most 255, page_origin_ok() */
    strcat(to, "/");
}

/* "TOKEN" or "TOKEN.1234" */
static void read_start(struct page_ask *a, struct slice v)
{
    const size_t at = TOKEN_TEXT_LEN + 1;
    int64_t n = v.n > at && v.n <= at + 12 && v.p[at - 1] == '.' ? decimal_read(v.p + at, v.n - at, UINT64_MAX) : -1;

    if (n >= 0)
        a->start = (uint64_t)n;
}

/* A ticket of ours, and as far as the map can tell, of this queue. */
static bool is_ticket(struct router *r, const struct asked *x, const char *p, size_t n,
                      struct token *t)
{
    struct route_owner o;

    if (n < TOKEN_TEXT_LEN || token_read(t, &r->keys.token, p, TOKEN_TEXT_LEN) < 0)
        return false;
    return routes_owner(r->routes, t->seg, &o) < 0 || o.queue == x->queue;
}

/* A ticket of another device is remembered, for the page that says so, or to be taken over. */
static bool is_own(struct router *r, struct asked *x, const struct token *t, const char *text)
{
    enum device_word word = SQ_LIKELY(t->device == 0) ? DEVICE_SAME : device_of(r, x->q, t);

    if (word == DEVICE_SAME || word == DEVICE_UNSURE)
        return true;
    if (x->others.device == 0 || word != DEVICE_OTHER) {
        x->others = *t;
        x->stale = word == DEVICE_STALE;
        x->takes = word == DEVICE_TAKES;
        memcpy(x->text, text, TOKEN_TEXT_LEN);
    }
    return false;
}

static bool take_token(struct router *r, struct asked *x, const char *p, size_t n)
{
    if (!is_ticket(r, x, p, n, &x->token) || !is_own(r, x, &x->token, p))
        return false;
    memcpy(x->text, p, TOKEN_TEXT_LEN);
    x->has_token = true;
    return true;
}

static void read_ticket(struct router *r, struct asked *x, bool trust_form)
{
    char form[TOKEN_TEXT_LEN + 1];
    struct cookies c = { 0 };
    struct token t;
    struct slice v;

    if (trust_form && page_member(x->form, "token", form, sizeof(form)) == TOKEN_TEXT_LEN &&
        take_token(r, x, form, TOKEN_TEXT_LEN)) {
        while (!x->a->other && cookie_next(&c, x->q, "segq_ticket", &v))
            x->a->other = is_ticket(r, x, v.p, v.n, &t) &&
                          memcmp(v.p, x->text, TOKEN_TEXT_LEN) != 0;
        return;
    }
    while (!x->has_token && cookie_next(&c, x->q, "segq_ticket", &v))
        if (take_token(r, x, v.p, v.n))
            read_start(x->a, v);
}

static bool has_flag(struct slice query, const char *name)
{
    char v[4];

    return page_member(query, name, v, sizeof(v)) == 1 && v[0] == '1';
}

/* ---- answers without a flow ---- */

static void show(struct router *r, struct httpd_req *req, struct asked *x,
                 enum page_state state, uint32_t retry_ms)
{
    struct page_view v = page_view_of(r, x->a, x->queue, state);

    v.poll_after_ms = retry_ms;
    page_show(r, &v);
    router_answer(r, req);
}

/* True: there is room in the address's budget; else it has been told so in words. */
static bool may_pass(struct router *r, struct httpd_req *req, struct asked *x,
                     enum limit_kind k)
{
    uint32_t wait_ms = gate_take(&r->gate, k, ev_now_us(r->ev));

    if (wait_ms == 0)
        return true;
    show(r, req, x, PAGE_TOO_FAST, wait_ms > 1000 ? wait_ms : 1000);
    return false;
}

/* ---- flows ---- */

/* Without a good proof it has a cookie. */
static void bind_device(struct router *r, struct httpd_req *req, struct asked *x)
{
    struct slice none = { 0 };
    char proof[PROOF_MAX + 1];
    int64_t n = x->form.p != NULL ? page_member(x->form, "proof", proof, sizeof(proof)) : 0;

    if (x->queue->map.bind != BIND_NONE && !x->bound)
        (void)device_join(r, req, x->q, x->queue, &x->join, none,
                          n > 0 ? (struct slice){ proof, (size_t)n } : none);
    x->bound = true;
}

/* Takes x->a over. */
static void begin(struct router *r, struct httpd_req *req, struct asked *x)
{
    struct rflow *rf;

    if (x->a->joins)
        bind_device(r, req, x);
    rf = rflow_new(r, req, page_done, NULL);
    if (rf == NULL) {
        show(r, req, x, PAGE_UNAVAILABLE, RETRY_MS);
        return;
    }
    assert(x->a != NULL && (x->a->joins || x->has_token));
    rf->page = x->a;
    x->a = NULL;
    if (rf->page->joins) {
        join_flow(r, rf, x->queue, &x->join, x->lane);
    } else if (rf->page->act == ACT_LEAVE) {
        r->counts.leaves++;
        flow_leave(&rf->flow, r->routes, &x->token, ev_now(r->ev));
    } else {
        r->counts.polls++;
        memcpy(rf->text, x->text, TOKEN_TEXT_LEN);
        flow_poll(&rf->flow, r->routes, NULL, &x->token, ev_now(r->ev));
    }
    rflow_begin(r, rf);
}

/* ---- a place has a price ---- */

/* By the token that the form has. True: it may join now; false: answered, or held. */
static bool is_person(struct router *r, struct httpd_req *req, struct asked *x, const struct site_work *w)
{
    char said[SITE_TOKEN_MAX + 1];
    int64_t n = x->form.p != NULL ? page_member(x->form, "verify", said, sizeof(said)) : 0;
    struct slice token = { n > 0 ? said : NULL, n > 0 ? (size_t)n : 0 };
    struct join_then then = page_check_then(x->a, x->lane);
    bool goes, held;

    x->a->door = x->form.p == NULL || has_flag(x->form, "door");
    if (n > 0) {
        x->a->joins = x->a->posted = true;
        bind_device(r, req, x);
    }
    goes = site_check(r, req, x->q, x->queue, &x->join, token, w, &then, &held);
    if (held)
        x->a = NULL;
    return goes;
}

/* May it join? False: it has been answered. An answer that is not good brings a fresh challenge. */
static bool may_join(struct router *r, struct httpd_req *req, struct asked *x)
{
    char said[CHALLENGE_ANSWER_MAX + 1];
    struct challenge_asked c = { .patient = true };
    struct page_widget widget;
    int64_t n = x->form.p != NULL ? page_member(x->form, "altcha", said, sizeof(said)) : 0;
    struct slice answer = { n > 0 ? said : NULL, n > 0 ? (size_t)n : 0 };
    enum challenge_way way;

    if (SQ_LIKELY(challenge_is_free(x->queue)))
        return true;
    c.checks = page_widget_of(page_room_def(r, x->queue), &widget);
    way = challenge_way(r, req, x->q, x->queue, &x->join, answer, &c);
    if (way == WAY_REFUSED && !may_pass(r, req, x, LIMIT_BAD))
        return false;
    if (way == WAY_REFUSED)
        way = challenge_way(r, req, x->q, x->queue, &x->join, (struct slice){ 0 }, &c);
    if (way == WAY_SITE)
        return is_person(r, req, x, &c.work);
    if (way == WAY_ASK)
        page_work(r, req, x->a, x->queue, x->form.p == NULL || has_flag(x->form, "door"),
                  (struct slice){ c.text, c.n }, c.keys);
    else if (way != WAY_IN)
        show(r, req, x, PAGE_TOO_FAST, way == WAY_SUSPECT ? SUSPECT_AGAIN_MS : 1000);
    return way == WAY_IN;
}

/* ---- claims ---- */

static void read_claim(struct asked *x)
{
    char *to = x->join.claim;
    int64_t n = x->form.p != NULL ? page_member(x->form, "claim", to, CLAIM_MAX_LEN)
                                  : page_own(x->q->query, "claim", to, CLAIM_MAX_LEN);

    x->join.claim_len = (uint16_t)(n > 0 ? n : 0);
}

/* The ticket that it has is in another lane than the claim's. */
static bool is_elsewhere(struct router *r, const struct asked *x)
{
    struct route_owner o;

    return routes_owner(r->routes, x->token.seg, &o) == 0 && o.lane != x->lane;
}

/* With a good claim it joins that lane, unless its ticket is in that lane already. With a bad
 * one a ticket goes on waiting where it is; a visitor without one is told. False: answered. */
static bool use_claim(struct router *r, struct httpd_req *req, struct asked *x)
{
    const char *why;
    int rc = join_lane(r, x->queue, &x->join, &x->lane, &why);

    if (rc == 0 && !join_may_replace(r, x->q, &x->join, &why))
        rc = SQ_EAUTH;
    if (rc == 0) {
        x->a->claimed = true;
        x->a->had = x->has_token;
        x->has_token = x->has_token && !is_elsewhere(r, x);
    } else if (!x->has_token) {
        show(r, req, x, rc == SQ_EAUTH ? PAGE_REFUSED : PAGE_UNAVAILABLE,
             rc == SQ_EAUTH ? 0 : RETRY_MS);
        return false;
    }
    return true;
}

/* The link of an operator who lets another device take a ticket over. */
static void read_link(struct router *r, struct asked *x)
{
    char text[TOKEN_TEXT_LEN + 1];

    if (x->has_token || x->takes || page_own(x->q->query, "take", text, sizeof(text)) != TOKEN_TEXT_LEN)
        return;
    if (take_token(r, x, text, TOKEN_TEXT_LEN))
        page_ticket_cookie(r, x->a, text, 0); /* taken over before */
    x->linked = x->takes;
}

/* A preview of the link, as messengers fetch it, must not take the place: it goes no further, for it
 * keeps no cookies. A browser over plain http, which does not say that it looks, comes again with it. */
static void take_by_cookie(struct router *r, struct httpd_req *req, struct asked *x)
{
    page_ticket_cookie(r, x->a, x->text, 0);
    page_send_back(r, x->a, "");
    router_answer(r, req);
}

/* The place is shown as soon as this router's map says that it is this device's. */
static void take_over(struct router *r, struct httpd_req *req, struct asked *x)
{
    device_take(r, req, x->q, &x->others);
    page_ticket_cookie(r, x->a, x->text, 0);
    show(r, req, x, PAGE_UNAVAILABLE, 1000);
}

/* The ticket belongs to another device: nobody joins anew by looking. Where keys are, the script proves
 * that it does not, and the page comes again. */
static void show_other(struct router *r, struct httpd_req *req, struct asked *x)
{
    r->counts.other_device += !x->stale;
    page_show_alien(r, x->a, x->queue, &x->others, x->text);
    router_answer(r, req);
}

static void show_closed(struct router *r, struct httpd_req *req, struct asked *x)
{
    uint32_t retry_ms;
    enum page_state s = page_of_closed(x->queue, ev_wall_ms(r->ev), &retry_ms);

    show(r, req, x, s, retry_ms);
}

/* HEAD is answered as the GET of a program without a ticket, for nobody looks: nobody joins, is
 * heard of or goes in by it. */
static void get(struct router *r, struct httpd_req *req, struct asked *x)
{
    bool claim = x->join.claim_len > 0, keyed = x->queue->map.bind == BIND_KEY && !x->a->json;
    bool head = x->q->method == HTTP_HEAD;
    bool looks = !head && (x->a->json || visit_is_looked_at(x->q));
    uint32_t over_ms;
    char no[2];

    if (!head)
        read_ticket(r, x, false);
    if (!head && x->queue->map.bind != BIND_NONE)
        read_link(r, x);
    if (!may_pass(r, req, x, looks && (claim || (!x->has_token && !keyed)) ? LIMIT_JOIN : LIMIT_POLL))
        return;
    if (x->stale && !x->has_token) {
        show_other(r, req, x);
        return;
    }
    if (claim && !use_claim(r, req, x))
        return;
    x->a->joins = !x->has_token;
    x->a->told = has_flag(x->q->query, "told") ? TOLD_YES : page_member(x->q->query, "told", no, sizeof(no)) == 1 ? TOLD_NO : TOLD_NOTHING;
    over_ms = x->has_token ? ticket_over_ms(r, &x->token) : 0;
    if (over_ms > 0)
        show(r, req, x, PAGE_TOO_FAST, over_ms > 1000 ? over_ms : 1000);
    else if (!x->has_token && x->linked && !looks)
        take_by_cookie(r, req, x);
    else if (!x->has_token && x->takes)
        take_over(r, req, x);
    else if (!x->has_token && !x->a->claimed && x->others.device != 0)
        show_other(r, req, x);
    else if (x->has_token)
        begin(r, req, x);
    else if (has_flag(x->q->query, "left"))
        show(r, req, x, PAGE_LEFT, 0);
    else if (has_flag(x->q->query, "r"))
        show(r, req, x, PAGE_COOKIES, 0);
    else if (x->queue->map.state == QUEUE_CLOSED)
        show_closed(r, req, x);
    else if (!looks || keyed) /* script of the door joins with a key */
        show(r, req, x, PAGE_DOOR, 0);
    else if (may_join(r, req, x))
        begin(r, req, x);
}

/* The button was pressed, or the script was: it wants a place. The door asks visitors without one;
 * another tab may have got one since. */
static void post_join(struct router *r, struct httpd_req *req, struct asked *x)
{
    char key[JOIN_KEY_MAX + 1]; /* key of this rendering of the page: pressed twice it is a single join */

    if (x->has_token && has_flag(x->form, "door")) {
        page_send_back(r, x->a, "");
        router_answer(r, req);
        return;
    }
    x->has_token = false;
    if (x->join.claim_len > 0 && !use_claim(r, req, x))
        return;
    if (x->queue->map.state != QUEUE_CLOSED && !may_join(r, req, x))
        return;
    if (page_member(x->form, "key", key, sizeof(key)) > 0 && x->join.subject_len == 0 &&
        join_key_ok((struct slice){ key, strlen(key) }))
        join_by_key(&r->keys.token, x->queue, &x->join, (struct slice){ key, strlen(key) });
    x->a->joins = x->a->posted = true;
    if (x->queue->map.state == QUEUE_CLOSED)
        show_closed(r, req, x);
    else
        begin(r, req, x);
}

#define REACH_MAX 254 /* characters of an e-mail address (RFC 3696, erratum 1690); a text may be as long */

/* False: it is none of the kind that the page asked for. Its receiver looks again. */
static bool is_reach(const char *s, size_t n, uint32_t field)
{
    const char *at = memchr(s, '@', n);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            return false;
    return utf8_ok(s, n) && (field != TURN_FIELD_EMAIL || (at != NULL && at > s && at[1] != '\0' && strchr(s, ' ') == NULL));
}

/* The contact of a form, as JSON. False: it has none that fits. */
static bool put_reach(const struct asked *x, struct buf *b)
{
    char text[REACH_MAX + 1];
    int64_t n = page_member(x->form, "contact", text, sizeof(text));

    if (x->queue->map.turn_queue[0] == '\0' || x->queue->map.turn_field == TURN_FIELD_NONE || n <= 0 ||
        !is_reach(text, (size_t)n, x->queue->map.turn_field))
        return false;
    page_put_json(b, text, (size_t)n);
    return !b->failed && b->len <= CONTACT_MAX;
}

static void told(struct router *r, struct rflow *rf)
{
    enum flow_result got = rf->flow.result;

    page_send_back(r, rf->page, got == FLOW_OK                          ? "?told=1"
                                : got == FLOW_INSIDE || got == FLOW_GONE ? "?r=1" /* the page says it */
                                                                         : "?told=0");
}

/* The field was filled in: the ticket has a contact. */
static void post_tell(struct router *r, struct httpd_req *req, struct asked *x)
{
    struct rflow *rf = NULL;
    struct contact_ask *ask;
    struct buf b;

    buf_init(&b);
    ask = put_reach(x, &b) ? contact_ask_new(&x->queue->map, b.len) : NULL;
    if (ask != NULL)
        contact_ask_fill(ask, r, x->text, &(struct contact_in){ .text = { (char *)b.data, b.len } });
    buf_fini(&b);
    if (ask != NULL)
        rf = rflow_new(r, req, told, NULL);
    if (rf == NULL) {
        free(ask);
        page_send_back(r, x->a, "?told=0");
        router_answer(r, req);
        return;
    }
    rf->contact = ask;
    rf->page = x->a;
    x->a = NULL;
    flow_contact(&rf->flow, r->routes, &x->token, ev_now(r->ev));
    rflow_begin(r, rf);
}

static void post(struct router *r, struct httpd_req *req, struct asked *x, char form)
{
    int same = page_same_site(x->q);

    if (same < 0) {
        router_problem(r, req, API_NOT_ELIGIBLE, "this form was sent by another site");
        return;
    }
    read_ticket(r, x, same > 0);
    if (!may_pass(r, req, x, form == 'j' || form == 't' ? LIMIT_JOIN : LIMIT_POLL))
        return;
    if (form == 'j') {
        post_join(r, req, x);
    } else if (!x->has_token) {
        page_send_back(r, x->a, form == 'l' && x->others.device == 0 ? "?left=1" : "?r=1"); /* another's is kept */
        router_answer(r, req);
    } else if (form == 't') {
        post_tell(r, req, x);
    } else {
        x->a->act = form == 'l' ? ACT_LEAVE : ACT_ENTER;
        begin(r, req, x);
    }
}

/* ---- the request ---- */

static void words(struct router *r, struct httpd_req *req, struct asked *x)
{
    if (x->queue == NULL) {
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue");
        return;
    }
    page_put_words(page_room_page(r), &r->ans.body, x->a->lang, page_room_def(r, x->queue),
                   x->queue->map.message, x->queue->page_version);
    r->ans.status = 200;
    r->ans.type = "application/json";
    buf_str(&r->ans.headers,
            "Cache-Control: public, max-age=1\r\nVary: Accept-Language, Cookie\r\n");
    router_answer(r, req);
}

static void worker(struct router *r, struct httpd_req *req, struct asked *x)
{
    struct slice script = page_worker(page_room_page(r));

    if (x->queue == NULL || (x->queue->map.push_key[0] == '\0' && x->queue->map.push_contact[0] == '\0')) {
        router_problem(r, req, API_QUEUE_NOT_FOUND, "there is no such queue, or nobody is told by its page");
        return;
    }
    buf_append(&r->ans.body, script.p, script.n);
    r->ans.status = 200;
    r->ans.type = "text/javascript";
    buf_str(&r->ans.headers, "Cache-Control: public, max-age=60\r\nContent-Security-Policy: default-src 'none'; connect-src 'self'\r\n");
    router_answer(r, req);
}

/* A browser that fetches ahead is told to come when the page is wanted. */
static bool is_ahead(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    if (q->method != HTTP_GET || !visit_is_ahead(q))
        return false;
    router_problem(r, req, API_QUEUE_UNAVAILABLE, "a place in line is not fetched ahead");
    return true;
}

static void send_back(struct router *r, struct httpd_req *req, struct asked *x)
{
    page_send_back(r, x->a, "");
    router_answer(r, req);
}

/* Ends the wait: nothing is left to wait for. */
static void send_on(struct router *r, struct httpd_req *req, struct asked *x)
{
    page_send_to(r, x->a->target);
    router_answer(r, req);
}

static void dispatch(struct router *r, struct httpd_req *req, struct asked *x,
                     const struct api_req *a)
{
    read_target(r, x);
    if (a->call == API_WORDS)
        words(r, req, x);
    else if (a->call == API_WORKER)
        worker(r, req, x);
    else if (routes_version(r->routes) == 0)
        show(r, req, x, PAGE_UNAVAILABLE, RETRY_MS);
    else if (x->queue == NULL)
        show(r, req, x, PAGE_NO_QUEUE, 0);
    else if (a->call == API_UNFORM)
        send_back(r, req, x);
    else if (a->call == API_PAGE && page_preview(r, req, x->q, x->queue, x->a))
        return; /* answered already */
    else if (route_is_free(x->queue) && (a->call != API_FORM || a->form == 'j'))
        send_on(r, req, x);
    else if (a->call == API_FORM)
        post(r, req, x, a->form);
    else
        get(r, req, x);
}

void page_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                const struct api_req *a)
{
    const struct cfg_group *group;
    struct asked x;

    if (a->call == API_PAGE && is_ahead(r, req, q))
        return;
    memset(&x, 0, offsetof(struct asked, join.claim)); /* all but the claim's bytes */
    x.q = q;
    x.join.client = CLIENT_BROWSER;
    if (a->call == API_FORM)
        x.form = q->body.p != NULL ? q->body : (struct slice) { (char *)"", 0 };
    read_claim(&x);
    x.a = calloc(1, sizeof(*x.a) + x.join.claim_len);
    if (x.a == NULL) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "this router is out of memory; try again");
        return;
    }
    x.a->claim_len = x.join.claim_len;
    memcpy(x.a->claim, x.join.claim, x.join.claim_len);
    x.a->gzip = page_room_gzip(q);
    x.a->json = a->call == API_PAGE && r->cfg->page_compat != PAGE_COMPAT_OFF && visit_wants_json(q);
    x.a->https = gate_is_secure(r->cfg, httpd_is_sealed(req), httpd_tag(req), q);
    x.queue = routes_queue(r->routes, a->arg.p, a->arg.n);
    if (x.queue != NULL) {
        x.a->queue = x.queue->map.id;
        strcpy(x.a->name, x.queue->map.name);
    } else if (api_is_name(a->arg.p, a->arg.n)) {
        memcpy(x.a->name, a->arg.p, a->arg.n);
    }
    x.a->lang = page_room_lang(r, q, x.queue != NULL ? page_room_def(r, x.queue) : NULL,
                               &x.a->chosen);
    group = x.queue == NULL ? places_group(r, a->arg) : NULL;
    if (SQ_UNLIKELY(group != NULL)) {
        places_page(r, req, q, a, group, x.a);
        return;
    }
    dispatch(r, req, &x, a);
    free(x.a);
}

/* ---- "/", and addresses where nothing is --------------------------------------------------- */

static bool has_pass(struct router *r, const struct http_req *q, struct page_view *v)
{
    enum bearer_state state;
    const struct known_pass *x = bearer_pass(r, q, (struct slice){ 0 }, &state);
    const struct route_queue *queue;

    if (state != BEARER_GOOD)
        return false;
    queue = routes_queue(r->routes, x->queue, strlen(x->queue));
    v->state = PAGE_IN;
    v->good_for_s = bearer_until_s(r, x) - bearer_now_s(r, x);
    if (queue != NULL) {
        v->def = page_room_def(r, queue);
        v->style = page_room_style(r, queue);
    }
    return true;
}

static void show_alone(struct router *r, struct httpd_req *req, const struct http_req *q,
                       struct page_view *v)
{
    v->lang = page_room_lang(r, q, v->def, &v->chosen);
    v->gzip = page_room_gzip(q);
    v->queue = "";
    v->target = "/";
    v->eta_s = -1;
    page_show(r, v);
    router_answer(r, req);
}

void page_front(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    struct page_view v = { .state = PAGE_START };

    if (!has_pass(r, q, &v)) {
        v.rooms = r->cfg->rooms.v;
        v.n_rooms = r->cfg->rooms.n;
    }
    show_alone(r, req, q, &v);
}

bool page_nothing(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    struct page_view v = { .state = PAGE_NO_QUEUE };

    if (q->method != HTTP_GET || visit_of(q, (struct slice){ 0 }, true) != VISIT_PAGE)
        return false;
    show_alone(r, req, q, &v);
    return true;
}

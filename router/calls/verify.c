/* verify.c: see verify.h. */
#include "router/calls/verify.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/ticket/pass.h"
#include "router/gate/bypass.h"
#include "router/api/json_out.h"
#include "router/calls/bearer.h"
#include "router/calls/device.h"
#include "router/calls/session.h"
#include "router/gate/passes.h"
#include "router/gate/visit.h"
#include "router/links/flows.h"

#define RETURN_MAX 2000 /* bytes; a longer address is not returned to */

struct asked {
    const struct http_req *q;
    struct slice queue;              /* n 0: any */
    const struct route_queue *known; /* NULL: none is named, or there is no such */
    size_t rule;                     /* index in gate_rules; GATE_RULE_NONE: none decides */
    bool past;                       /* the rule leads past all rooms */
    struct gate_rule_doubt doubt;    /* two servers may read the request in two ways */
    bool explain;                    /* say what decides, and do nothing */
    bool redirect;
    bool once;        /* the gate lets each pass in once, whatever it says */
    bool trusted;     /* a trusted proxy asks; then, as far as it tells: */
    struct slice uri; /* p NULL: not known */
    struct slice method, host;
    struct slice subject;
    bool has_addr;
    struct ip addr;
};

/* ---- what is asked --------------------------------------------------------------------- */

/* A field that is there once; else nothing: another server may read the other of two. */
static struct slice once(const struct http_req *q, const char *lower)
{
    struct slice v = { 0 };

    return *lower != '\0' && http_find(q, lower, &v) == 1 ? v : (struct slice){ 0 };
}

static void read_proxy(struct router *r, const struct httpd_req *req, struct asked *a)
{
    static const char *const fields[] = { [URI_ORIGINAL] = "x-original-uri",
                                          [URI_FORWARDED] = "x-forwarded-uri",
                                          [URI_NONE] = "" };
    static const char *const methods[] = { [URI_ORIGINAL] = "x-original-method",
                                           [URI_FORWARDED] = "x-forwarded-method",
                                           [URI_NONE] = "" };

    a->trusted = gate_is_trusted(httpd_tag(req));
    if (!a->trusted)
        return;
    a->has_addr = gate_client(&r->gate, a->q, &a->addr);
    a->uri = once(a->q, fields[r->cfg->gate_uri_header]);
    a->method = once(a->q, methods[r->cfg->gate_uri_header]);
    if (r->cfg->gate_uri_header == URI_FORWARDED) /* Host is what Traefik calls us */
        a->host = once(a->q, "x-forwarded-host");
    a->subject = once(a->q, r->gate_subject);
}

/* The operator's table goes before the gate's own queue=. */
static void read_rules(struct router *r, struct asked *a)
{
    const struct gate_rule_ask ask = { .q = a->q, .addr = a->has_addr ? &a->addr : NULL,
                                       .uri = a->uri, .method = a->method, .host = a->host,
                                       .crawlers = r->crawlers, .now_ms = ev_now(r->ev),
                                       .own = a->queue };
    const char *queue;

    a->rule = a->trusted ? gate_rules_find(r->gate_rules, &ask, &a->doubt) : GATE_RULE_NONE;
    if (a->rule == GATE_RULE_NONE || a->rule == GATE_RULE_TWO)
        return;
    queue = gate_rules_queue(r->gate_rules, a->rule);
    a->past = *queue == '\0';
    a->queue = slice_of(queue);
    a->known = a->past ? NULL : routes_queue(r->routes, a->queue.p, a->queue.n);
}

/* Finds what is wrong with it; NULL: nothing. */
static const char *read_asked(struct router *r, const struct httpd_req *req, struct asked *a)
{
    struct slice v;

    if (api_query(a->q->query, "queue=", &a->queue)) {
        if (!api_is_name(a->queue.p, a->queue.n)) {
            a->queue = (struct slice){ 0 };
            return "queue= is not the name of a queue";
        }
        a->known = routes_queue(r->routes, a->queue.p, a->queue.n);
    }
    a->redirect = api_query(a->q->query, "redirect=", &v) && v.n == 1 && v.p[0] == '1';
    a->explain = api_query(a->q->query, "explain=", &v) && slice_is(v, "1");
    a->once = api_query(a->q->query, "use=", &v);
    read_proxy(r, req, a);
    read_rules(r, a);
    if (a->rule == GATE_RULE_TWO && !a->explain)
        return "servers may read this request in two ways, and rules have two rooms for it";
    return !a->once || slice_is(v, "once") ? NULL : "use= can only be once";
}

/* ---- answers --------------------------------------------------------------------------- */

/* Where to wait, and where to go then: "/q/login?return=/shop". The address, good until the
 * next line of b. */
static struct slice put_location(struct buf *b, const char *field, struct slice queue,
                                 struct slice to)
{
    size_t at;

    buf_str(b, field);
    buf_str(b, ": ");
    at = b->len;
    buf_str(b, "/q/");
    buf_append(b, queue.p, queue.n);
    if (to.n > 0 && to.n <= RETURN_MAX) {
        buf_str(b, "?return=");
        buf_escaped(b, to.p, to.n, "-_.~/");
    }
    buf_str(b, "\r\n");
    if (b->failed)
        return (struct slice){ 0 };
    return (struct slice){ (char *)b->data + at, b->len - at - 2 };
}

static const char *const visits[] = { [VISIT_PAGE] = "page",
                                      [VISIT_FORM] = "form",
                                      [VISIT_CALL] = "call" };

/* A gate that tells the method sends every field of the visitor's, but for Traefik's,
 * which tells it always. */
static enum visit visit_by(const struct router *r, const struct asked *a)
{
    enum visit v = visit_of(a->q, a->method,
                            a->method.n > 0 && r->cfg->gate_uri_header == URI_ORIGINAL);

    /* A program of another waiting room goes to the page, as a browser does, and reads JSON there. */
    if (v == VISIT_CALL && r->cfg->page_compat != PAGE_COMPAT_OFF && visit_wants_json(a->q) &&
        (a->method.n == 0 || slice_is(a->method, "GET")))
        v = VISIT_PAGE;
    return v;
}

/* Back to the page that was asked for. A form or a script asked for no page, and its body is
 * gone: back to the page that it was sent from. */
static struct slice way_back(const struct asked *a, enum visit v)
{
    return v == VISIT_PAGE ? a->uri : visit_from(a->q, a->host);
}

/* go: to the room of `queue`, whose way back is `to`. */
static void deny(struct router *r, enum visit v, bool go, enum api_problem p, const char *why,
                 struct slice queue, struct slice to)
{
    struct api_ans *ans = &r->ans;
    struct slice room = { 0 };

    r->counts.verify_refused++;
    if (queue.n > 0)
        room = put_location(&ans->headers, go ? "Location" : "X-Segq-Location", queue, to);
    if (go) {
        ans->status = 303;
        return;
    }
    api_no_pass(ans, p, why, room, router_request_id(r));
    buf_str(&ans->headers, "X-Segq-Visit: ");
    buf_str(&ans->headers, visits[v]);
    buf_str(&ans->headers, "\r\n");
}

static void refuse(struct router *r, const struct asked *a, enum api_problem p,
                   const char *why, struct slice queue)
{
    enum visit v = visit_by(r, a);

    deny(r, v, a->redirect && queue.n > 0 && v != VISIT_CALL, p, why, queue, way_back(a, v));
}

/* 204 without a pass. q NULL: past all queues. */
static void let_by(struct router *r, const struct route_queue *q, const char *why)
{
    struct buf *b = &r->ans.headers;

    r->ans.status = 204;
    if (q != NULL) {
        buf_str(b, "X-Segq-Queue: ");
        buf_str(b, q->map.name);
        buf_str(b, "\r\n");
    }
    buf_str(b, "X-Segq-Bypass: ");
    buf_str(b, why);
    buf_str(b, "\r\n");
}

static enum bypass_why why_past(const struct router *r, const struct asked *a)
{
    struct bypass_ask ask = { .q = a->q,
                              .addr = a->has_addr ? &a->addr : NULL,
                              .uri = a->uri,
                              .subject = a->subject,
                              .key = &r->keys.token };

    if (a->past)
        return BYPASS_RULE;
    if (!a->trusted || a->known == NULL || a->known->bypass == NULL)
        return BYPASS_NONE;
    ask.queue = a->known->map.id;
    return bypass_of(a->known->bypass, &ask);
}

/* Without a pass; false: no rule says so. */
static bool let_past(struct router *r, const struct asked *a)
{
    enum bypass_why why;

    if (route_is_free(a->known)) {
        r->counts.verified++;
        let_by(r, a->known, "passthrough");
        return true;
    }
    why = why_past(r, a);
    if (why == BYPASS_NONE)
        return false;
    assert(why < BYPASS_NREASONS);
    r->counts.bypassed[why]++;
    let_by(r, a->known, bypass_names[why]);
    return true;
}

static const struct {
    enum api_problem problem;
    const char *why;
} faults[] = {
    [BEARER_NONE] = { API_PASS_INVALID, "pass missing or invalid" },
    [BEARER_ELSEWHERE] = { API_NOT_ELIGIBLE, "the pass is for another queue" },
    [BEARER_OVER] = { API_PASS_INVALID, "the pass is not valid at this time" },
    [BEARER_REVOKED] = { API_PASS_REVOKED, "the pass was given back or revoked" },
    [BEARER_OTHER_METHOD] = { API_PASS_OTHER_METHOD,
                              "the pass is bound to another method than the gate tells (htm)" },
    [BEARER_OTHER_URL] = { API_PASS_OTHER_URL,
                           "the pass is bound to another path than the gate tells (htu)" },
    [BEARER_OTHER_DEVICE] = { API_OTHER_DEVICE, "the pass works only with the device that joined" },
    [BEARER_USED] = { API_PASS_USED, "the pass is good once, and was used, or its session is over" },
};

/* A good pass that is bound opens only what a trusted gate says that it asks for. */
static enum bearer_state bound_state(const struct bound *b, const struct asked *a)
{
    size_t m = b != NULL ? strlen(b->htm) : 0;

    if (m > 0 && (a->method.n != m || memcmp(a->method.p, b->htm, m) != 0))
        return BEARER_OTHER_METHOD;
    if (b != NULL && b->htu[0] != '\0' && !bypass_path(b->htu, a->uri))
        return BEARER_OTHER_URL;
    return BEARER_GOOD;
}

/* True: it is being renewed, and answered then. */
static bool renews(struct router *r, struct httpd_req *req, const struct asked *a,
                   const struct known_pass *x)
{
    const struct route_queue *of = a->known;

    if (x->is_bound) /* for calls, not for a session */
        return false;
    if (of == NULL)
        of = routes_queue(r->routes, x->queue, strlen(x->queue));
    return of != NULL && renew_start(r, req, a->q, of, x);
}

/* ---- good once ------------------------------------------------------------------------- */

struct pass_use {
    struct known_pass x; /* a copy */
    enum visit visit;
    int64_t number; /* the question's */
};

/* To nowhere: the ticket is still let in, so its room would send a browser back with the same pass. */
static const struct slice no_room;

static struct slice queue_of(const struct known_pass *x)
{
    return slice_of(x->queue);
}

/* Mark of the question with this number; 0: not known. A gate that asks again has the same; where
 * another question has it by chance, the segment is asked in vain. */
static uint32_t mark_of(int64_t number)
{
    return (uint32_t)number;
}

/* From now on this router knows, too, that the pass was used, and by which question. */
static void note_use(struct router *r, const struct rflow *rf)
{
    const struct pass_use *u = rf->use;
    struct pass_row row = { .seg = u->x.seg, .number = u->x.number, .until_s = rf->pass_until_s };
    uint32_t mark = mark_of(rf->flow.result == FLOW_OK ? u->number : rf->flow.until_s);

    revoked_add(&r->used, &row, router_least_s(r));
    if (mark != 0)
        revoked_set_mark(&r->used, row.seg, row.number, mark);
}

/* Answers as the segment says whether this is the first use. */
static void used(struct router *r, struct rflow *rf)
{
    const struct pass_use *u = rf->use;
    bool first = rf->flow.result == FLOW_OK, is_again;

    if (!first && rf->flow.result != FLOW_GONE) {
        api_problem(&r->ans, API_QUEUE_UNAVAILABLE,
                    "whether the pass was used cannot be asked now; ask again",
                    router_request_id(r));
        return;
    }
    is_again = first && revoked_has(&r->used, u->x.seg, u->x.number);
    note_use(r, rf);
    r->counts.used += first && !is_again;
    r->counts.use_refused += !first;
    if (first)
        bearer_let_in(r, &u->x);
    else
        deny(r, u->visit, false, faults[BEARER_USED].problem, faults[BEARER_USED].why, no_room,
             no_room);
}

/* Is the good pass x let in once? */
static bool is_once(const struct router *r, const struct asked *a, const struct known_pass *x)
{
    const struct bound *b = bearer_bound(r, x);

    return a->once || (b != NULL && b->once);
}

/* Does the gate name its question, so that it may ask it again? Only the gate may say so: whoever
 * could would use a pass twice. */
static bool is_named(const struct router *r, const struct http_req *q)
{
    return once(q, "x-segq-ask").n > 0 &&
           gate_secret_is(&r->gate_secret, once(q, "x-segq-gate-secret"));
}

/* The same when the gate asks again, of whichever router: a use counts once by its number. */
static int64_t number_of_use(const struct router *r, const struct http_req *q)
{
    struct slice id = once(q, "x-segq-ask");
    uint64_t number;

    if (is_named(r, q))
        number = token_subject_hash(&r->keys.token, 0, id.p, id.n);
    else
        randombytes_buf(&number, sizeof(number));
    return (int64_t)(number & INT64_MAX) | 1;
}

/* Is the pass known to have been used by another question? A gate that asks again under the name that
 * used it is told so by the segment; whoever shows a used pass costs it nothing. */
static bool is_used(const struct router *r, const struct http_req *q, const struct known_pass *x)
{
    uint32_t mark = revoked_mark(&r->used, x->seg, x->number);

    if (!is_named(r, q))
        return revoked_has(&r->used, x->seg, x->number);
    return mark != 0 && mark != mark_of(number_of_use(r, q));
}

static void use_start(struct router *r, struct httpd_req *req, const struct asked *a,
                      const struct known_pass *x)
{
    struct token t = { .seg = x->seg, .number = x->number };
    struct pass_use *u = malloc(sizeof(*u));
    struct rflow *rf;

    if (u == NULL) {
        router_problem(r, req, API_OVERLOADED, "the router is overloaded; try again");
        return;
    }
    *u = (struct pass_use){ .x = *x, .visit = visit_by(r, a), .number = number_of_use(r, a->q) };
    rf = rflow_call(r, req, used, "the router is overloaded; try again");
    if (rf == NULL) {
        free(u);
        return;
    }
    rf->use = u;
    rf->pass_until_s = bearer_until_s(r, x);
    flow_session(&rf->flow, r->routes, &t, SESS_USE, u->number, ev_now(r->ev));
    rflow_begin(r, rf);
}

/* A good pass that is let in as often as it comes: the gate may give this answer by itself for so
 * long, to whoever presents the same. Not in the last second, which is not to be made longer; not
 * where rules decide by more than the pass. */
static void put_keep(struct router *r, const struct known_pass *x)
{
    if (r->gate_rules != NULL || r->cfg->replica_fresh <= 0 ||
        bearer_until_s(r, x) <= bearer_now_s(r, x) + 1)
        return;
    buf_str(&r->ans.headers, "X-Segq-Keep: ");
    buf_i64(&r->ans.headers, r->cfg->replica_fresh);
    buf_str(&r->ans.headers, "\r\n");
}

static void let_in(struct router *r, const struct known_pass *x)
{
    bearer_let_in(r, x);
    if (!x->is_bound && x->device[0] == '\0') /* kept by the pass alone */
        put_keep(r, x);
}

/* The pass that is shown, in *x (NULL: none), and what it is worth here. Counts and changes nothing. */
static enum bearer_state look_at_pass(struct router *r, const struct asked *a, const struct known_pass **x)
{
    enum bearer_state state;

    *x = bearer_pass(r, a->q, a->queue, &state);
    if (state == BEARER_GOOD)
        state = bound_state(bearer_bound(r, *x), a);
    if (state == BEARER_GOOD && !device_may_pass(r, a->q, *x))
        state = BEARER_OTHER_DEVICE;
    if (state == BEARER_GOOD && is_once(r, a, *x) && is_used(r, a->q, *x))
        state = BEARER_USED;
    return state;
}

/* False: the answer comes later, or has been given. */
static bool judge(struct router *r, struct httpd_req *req, const struct asked *a)
{
    const struct known_pass *x;
    enum bearer_state state = look_at_pass(r, a, &x);
    struct slice own = state == BEARER_USED ? no_room : a->queue;

    if (x != NULL && own.n == 0 && state != BEARER_USED)
        own = queue_of(x);
    r->counts.other_device += state == BEARER_OTHER_DEVICE;
    if (state == BEARER_GOOD && is_once(r, a, x)) {
        if (let_past(r, a)) /* a request that needs no pass spends none */
            return true;
        use_start(r, req, a, x);
        return false;
    }
    if (state == BEARER_GOOD && renews(r, req, a, x))
        return false;
    if (state == BEARER_GOOD)
        let_in(r, x);
    if (state != BEARER_GOOD && !let_past(r, a)) {
        r->counts.use_refused += state == BEARER_USED;
        refuse(r, a, faults[state].problem, faults[state].why, own);
    }
    return true;
}

/* ---- what decides ------------------------------------------------------------------------ */

static void out_slice(struct buf *b, const char *before, struct slice s)
{
    char text[1001];
    size_t n = s.n < sizeof(text) ? s.n : sizeof(text) - 1;

    memcpy(text, s.n > 0 ? s.p : "", n);
    text[n] = '\0';
    if (s.n > 0)
        out_text(b, before, text);
    else
        out_or_null(b, before, -1);
}

static void out_bool(struct buf *b, const char *before, bool v)
{
    out_bytes(b, before, v ? "true" : "false", v ? 4 : 5);
}

static void out_rule(struct buf *b, const char *before, size_t rule)
{
    out_or_null(b, before, rule == GATE_RULE_NONE ? -1 : (int64_t)rule);
}

/* 200 with what decides for this request, as judge() would; no pass is renewed or used, and nothing is
 * counted. For who knows the gate's secret: it tells what is protected by what. */
static void explain(struct router *r, const struct asked *a)
{
    struct buf *b = &r->ans.body;
    const struct known_pass *x;
    enum bearer_state state = look_at_pass(r, a, &x);
    enum bypass_why why = why_past(r, a);
    bool good = state == BEARER_GOOD, free = route_is_free(a->known), two = a->rule == GATE_RULE_TWO;

    api_ok(&r->ans, 200);
    out_word(b, "{\"verdict\":", two ? "refused" : good ? "pass" : free || why != BYPASS_NONE ? "bypass" : "room");
    out_rule(b, ",\"rule\":", two ? a->doubt.one : a->rule);
    out_rule(b, ",\"other_rule\":", a->doubt.other);
    out_slice(b, ",\"queue\":", a->queue);
    out_bool(b, ",\"queue_known\":", a->known != NULL);
    out_text(b, ",\"pass\":", good ? "good" : faults[state].why);
    if (free || why != BYPASS_NONE)
        out_word(b, ",\"bypass\":", free ? "passthrough" : bypass_names[why]);
    else
        out_or_null(b, ",\"bypass\":", -1);
    out_bool(b, ",\"trusted\":", a->trusted);
    out_bool(b, ",\"unclear\":", a->doubt.unclear);
    out_slice(b, ",\"uri\":", a->uri);
    out_slice(b, ",\"method\":", a->method);
    out_slice(b, ",\"host\":", a->host);
    ADD(b, "}");
}

void verify(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    struct asked a = { .q = q, .host = q->host };
    const char *why;

    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "keys are not known yet");
        return;
    }
    why = read_asked(r, req, &a);
    if (why != NULL)
        refuse(r, &a, API_PASS_INVALID, why, (struct slice){ 0 });
    else if (a.explain && gate_secret_is(&r->gate_secret, once(q, "x-segq-gate-secret")))
        explain(r, &a);
    else if (a.explain && !router_may_pass(r, req, LIMIT_BAD)) /* a wrong secret is a guess */
        return;
    else if (a.explain)
        refuse(r, &a, API_PASS_INVALID, "explain=1 needs X-Segq-Gate-Secret, as in gate_secret_file",
               (struct slice){ 0 });
    else if (!judge(r, req, &a))
        return;
    router_answer(r, req);
}

/* session.c: see session.h. */
#include "router/calls/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "router/calls/bearer.h"
#include "router/calls/device.h"
#include "router/links/flows.h"

/* ---- a command in a body ---- */

static bool read_seconds(uint32_t *out, const char *p, size_t n)
{
    int64_t v = n <= 8 ? decimal_read(p, n, SESSION_MAX_EXTEND) : -1;

    *out = (uint32_t)v;
    return v > 0;
}

/* "release", "revoke", "extend", "extend=SECONDS"; false: none of them. */
static bool read_cmd(struct session_cmd *c, const char *p, size_t n)
{
    static const char extend[] = "extend=";
    const size_t en = sizeof(extend) - 1;

    *c = (struct session_cmd) { .command = SESS_EXTEND };
    if (text_is(p, n, "extend"))
        return true;
    if (n > en && memcmp(p, extend, en) == 0)
        return read_seconds(&c->seconds, p + en, n - en);
    c->command = text_is(p, n, "release") ? SESS_RELEASE : SESS_REVOKE;
    return c->command == SESS_RELEASE || text_is(p, n, "revoke");
}

#define CMD_MUST " must be release, revoke, extend or extend=SECONDS"

static bool unfit(struct body_error *e, const char *why)
{
    return json_say(e, why, (struct slice){ 0 }, "");
}

static bool json_cmd(const struct json_member *m, struct json_scan *s, void *to)
{
    struct slice v;

    (void)m;
    return json_string_or_skip(s, &v) && read_cmd(to, v.p, v.n);
}

static bool of_json(struct session_cmd *c, struct slice body, struct body_error *e)
{
    static const struct json_member members[] = {
        { "command", 0, .read = json_cmd, .must = CMD_MUST }, JSON_OTHERS,
    };
    uint64_t has;

    return json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, body, c, &has, e) &&
           (has != 0 || unfit(e, "command" CMD_MUST));
}

/* "command=VALUE": only what such a value can be is unescaped. */
static bool of_form(struct session_cmd *c, struct slice body, struct body_error *e)
{
    static const char key[] = "command=";
    size_t n = sizeof(key) - 1;
    const char *p = body.p + n, *end = body.p + body.n;
    char v[32];
    size_t k = 0;

    if (body.n < n || memcmp(body.p, key, n) != 0)
        return unfit(e, "the body must be {\"command\": ...} or command=...");
    for (; p < end && k < sizeof(v); k++) {
        bool equals = end - p >= 3 && p[0] == '%' && p[1] == '3' && (p[2] | 0x20) == 'd';

        v[k] = equals ? '=' : *p;
        p += equals ? 3 : 1;
    }
    return (p == end && read_cmd(c, v, k)) || unfit(e, "command" CMD_MUST);
}

bool session_body(struct session_cmd *c, struct slice body, struct body_error *e)
{
    struct json_scan s;

    json_scan_init(&s, body);
    return json_scan_peek(&s) == '{' ? of_json(c, body, e) : of_form(c, body, e);
}

/* ---- commands ---- */

static void refuse(struct router *r, struct httpd_req *req, enum api_problem p,
                   const char *why)
{
    r->counts.sessions_refused++;
    router_problem(r, req, p, why);
}

/* Unix seconds; 0: sessions of this queue are not extended. */
static int64_t extend_until(const struct router *r, const struct known_pass *x,
                            const struct session_cmd *c)
{
    const struct route_queue *q = routes_queue(r->routes, x->queue, strlen(x->queue));
    int64_t most, until = bearer_now_s(r, x);

    if (q == NULL || q->map.session_max_s == 0)
        return 0;
    most = x->nbf_s + q->map.session_max_s; /* nbf: the release */
    until += c->seconds != 0 ? c->seconds : q->map.pass_ttl_s;
    return until < most ? until : most;
}

/* This router need not wait for the node to tell everybody. */
static void take_note(struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;
    bool longer = f->command == SESS_EXTEND;
    struct pass_row row = { .seg = f->token.seg,
                            .number = f->token.number,
                            .until_s = longer ? f->until_s : rf->pass_until_s };

    revoked_add(longer ? &r->extended : &r->revoked, &row, router_least_s(r));
    r->counts.extended += longer;
    r->counts.sessions_ended += !longer;
}

static void command_done(struct router *r, struct rflow *rf)
{
    const struct flow *f = &rf->flow;

    assert(f->kind == FLOW_SESSION && !f->renews);
    if (f->result != FLOW_OK) {
        router_failed(r, f);
        return;
    }
    take_note(r, rf);
    r->ans.status = 204;
    if (f->command == SESS_EXTEND)
        bearer_put_expires(&r->ans.headers, f->until_s);
}

static void begin(struct router *r, struct httpd_req *req, const struct known_pass *x,
                  const struct session_cmd *c, int64_t until_s)
{
    struct rflow *rf = rflow_call(r, req, command_done, "the router is overloaded; try again");
    struct token t = { .seg = x->seg, .number = x->number };

    if (rf == NULL)
        return;
    rf->pass_until_s = bearer_until_s(r, x);
    flow_session(&rf->flow, r->routes, &t, c->command, until_s, ev_now(r->ev));
    rflow_begin(r, rf);
}

static void command(struct router *r, struct httpd_req *req, const struct known_pass *x,
                    const struct session_cmd *c)
{
    int64_t until = c->command == SESS_EXTEND ? extend_until(r, x, c) : 0;

    if (bearer_until_s(r, x) <= bearer_now_s(r, x)) {
        refuse(r, req, API_PASS_INVALID, "the pass has expired");
    } else if (c->command == SESS_EXTEND && revoked_has(&r->revoked, x->seg, x->number)) {
        refuse(r, req, API_PASS_REVOKED, "the pass was given back or revoked");
    } else if (c->command == SESS_EXTEND && until == 0) {
        refuse(r, req, API_NOT_ELIGIBLE, "session_max of the queue is 0: not extended");
    } else {
        begin(r, req, x, c, until);
    }
}

void session_start(struct router *r, struct httpd_req *req, const struct http_req *q)
{
    struct slice said = { 0 };
    bool ours = http_find(q, "x-segq-gate-secret", &said) == 1 &&
                gate_secret_is(&r->gate_secret, said);
    const struct known_pass *x;
    struct session_cmd c;
    struct body_error e;

    /* The operator's own machines are not limited; a wrong secret is a guess. */
    if (!ours && !router_may_pass(r, req, said.p != NULL ? LIMIT_BAD : LIMIT_POLL))
        return;
    if (routes_version(r->routes) == 0) {
        router_problem(r, req, API_QUEUE_UNAVAILABLE, "keys are not known yet");
        return;
    }
    if (!session_body(&c, q->body, &e)) {
        refuse(r, req, API_BAD_REQUEST, e.text);
        return;
    }
    x = bearer_pass(r, q, (struct slice){ 0 }, NULL);
    if (c.command != SESS_RELEASE && !ours)
        refuse(r, req, API_UNAUTHORIZED, "X-Segq-Gate-Secret is missing or wrong");
    else if (x == NULL)
        refuse(r, req, API_PASS_INVALID, "pass missing or invalid");
    else if (!ours && !device_may_pass(r, q, x))
        refuse(r, req, API_OTHER_DEVICE, "the pass works only with the device that joined");
    else
        command(r, req, x, &c);
}

/* ---- renewal of a pass while it is used -------------------------------------------------- */

/* A client that sends its pass as a bearer does not keep it in a browser's cookie. */
static bool is_bearer(const struct router *r, const struct http_req *q, const struct known_pass *x)
{
    struct slice pass = api_bearer(q);
    uint64_t hash[2];

    if (pass.n == 0)
        return false;
    sigcache_hash(r->sigcache, pass.p, pass.n, hash);
    return hash[0] == x->hash[0] && hash[1] == x->hash[1];
}

/* A client that does not take the new pass over costs one renewal per third of idle_s, too. */
static void renewed(struct router *r, const struct rflow *rf)
{
    const struct renewal *n = rf->renewal;
    struct pass_row row = { .seg = n->x.seg, .number = n->x.number,
                            .until_s = rf->flow.until_s };

    r->counts.renewed++;
    revoked_add(&r->extended, &row, router_least_s(r));
    sigcache_again(r->sigcache, n->x.hash, ev_now(r->ev) + n->idle_s * 1000ll / 3);
}

static void failed(struct router *r, const struct rflow *rf)
{
    const struct flow *f = &rf->flow;

    if (f->result == FLOW_UNAVAIL && ev_now(r->ev) >= f->deadline_ms) {
        r->counts.renew_late++;
        return;
    }
    r->counts.renew_failed++;
    if (f->result == FLOW_GONE) /* over, says its node: it stays so */
        sigcache_again(r->sigcache, rf->renewal->x.hash,
                       ev_now(r->ev) + rf->renewal->idle_s * 1000ll);
}

static void put_pass(struct router *r, const struct rflow *rf, int64_t now_s)
{
    const struct renewal *n = rf->renewal;
    struct buf *b = &r->ans.headers;

    if (!n->bearer) {
        bearer_put_cookie(b, rf->pass, rf->pass_len, n->most_s - now_s, n->https);
        return;
    }
    buf_str(b, "X-Segq-Pass: ");
    buf_append(b, rf->pass, rf->pass_len);
    buf_str(b, "\r\n");
}

static void renewal_done(struct router *r, struct rflow *rf)
{
    bool ok = rf->flow.result == FLOW_OK;
    int64_t now_s = bearer_now_s(r, &rf->renewal->x);

    assert(rf->flow.renews && rf->flow.command == SESS_EXTEND);
    if (ok)
        renewed(r, rf);
    else
        failed(r, rf);
    bearer_let_in(r, &rf->renewal->x);
    if (ok && rf->pass_len > 0)
        put_pass(r, rf, now_s);
}

bool renew_start(struct router *r, struct httpd_req *req, const struct http_req *q,
                 const struct route_queue *of, const struct known_pass *x)
{
    int64_t until_s = renew_until_s(x->nbf_s, x->exp_s, of->map.session_idle_s,
                                    of->map.session_max_s, bearer_now_s(r, x));
    struct renewal *n;
    struct rflow *rf;

    if (until_s == 0 || x->again_ms > ev_now(r->ev) || (n = malloc(sizeof(*n))) == NULL)
        return false;
    *n = (struct renewal){ .x = *x,
                           .most_s = x->nbf_s + of->map.session_max_s,
                           .idle_s = of->map.session_idle_s,
                           .bearer = is_bearer(r, q, x),
                           .https = gate_is_secure(r->cfg, httpd_is_sealed(req), httpd_tag(req), q) };
    rf = rflow_new(r, req, renewal_done, n);
    if (rf == NULL) {
        free(n);
        return false;
    }
    /* Other requests of the same page do not ask, too. */
    sigcache_again(r->sigcache, x->hash, ev_now(r->ev) + RENEW_PAUSE_MS);
    flow_renew(&rf->flow, r->routes, &(struct token){ .seg = x->seg, .number = x->number }, until_s,
               ev_now(r->ev));
    rflow_begin(r, rf);
    return true;
}

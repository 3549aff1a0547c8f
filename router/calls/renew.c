/* renew.c: see renew.h. */
#include "router/calls/renew.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "router/calls/bearer.h"
#include "router/links/flows.h"
#include "router/state/router.h"

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

static void done(struct router *r, struct rflow *rf)
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

static void begin(struct router *r, struct rflow *rf, int64_t until_s)
{
    const struct known_pass *x = &rf->renewal->x;
    struct token t = { .seg = x->seg, .number = x->number };

    /* Other requests of the same page do not ask, too. */
    sigcache_again(r->sigcache, x->hash, ev_now(r->ev) + RENEW_PAUSE_MS);
    flow_renew(&rf->flow, r->routes, &t, until_s, ev_now(r->ev));
    rflow_begin(r, rf);
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
                           .https = gate_is_secure(r->cfg, httpd_tag(req), q) };
    rf = rflow_new(r, req, done, n);
    if (rf == NULL) {
        free(n);
        return false;
    }
    begin(r, rf, until_s);
    return true;
}

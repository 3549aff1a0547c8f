/* router_service.c: the router's parts put together; a request to its flow; answers. */
#include "router/service/router_service.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/supervisor/prog.h"
#include "router/service/mng_link.h"
#include "router/service/page_room.h"
#include "router/service/router_flow.h"
#include "router/service/seg_link.h"

#define LOG_MODULE "router"

/* ---- answers ---- */

void router_answer(struct router *r, struct httpd_req *req)
{
    struct api_ans *a = &r->ans;
    const char *headers = api_headers(a);

    if (headers == NULL) /* no memory to say more */
        httpd_answer(req, 503, NULL, "Retry-After: 1\r\n", "", 0);
    else
        httpd_answer(req, a->status, a->type, headers, (const char *)a->body.data,
                     a->body.len);
    api_ans_reset(a);
}

void router_problem(struct router *r, struct httpd_req *req, enum api_problem p,
                    const char *detail)
{
    api_problem(&r->ans, p, detail, router_request_id(r));
    router_answer(r, req);
}

/* Its node says whether it takes part in the draw, for it has the ticket: our map, and our
 * clock, may be another's. */
static bool draws(const struct flow *f, const struct route_queue *q)
{
    if (f->admitted || f->position != 0)
        return false;
    return f->no_place == NO_PLACE_UNSAID ? q->when.phase == PHASE_PREQUEUE
                                          : f->no_place == NO_PLACE_EARLY;
}

bool router_ticket(struct router *r, const struct rflow *rf, struct api_ticket *t)
{
    const struct flow *f = &rf->flow;
    struct route_owner o;

    if (routes_owner(r->routes, f->at_seg, &o) < 0 || o.queue == NULL)
        return false;
    if (f->kind == FLOW_POLL)
        memcpy(t->token, rf->text, TOKEN_TEXT_LEN);
    else
        token_write(&f->token, &r->keys.token, t->token);
    t->queue = o.queue->name;
    t->lane = o.queue->lanes[o.lane];
    t->said = o.queue->said;
    t->stats = &o.queue->stats.lane[o.lane];
    t->admitted = f->admitted;
    t->position = f->position;
    t->position_cap = o.queue->position_cap;
    t->poll_after_ms = f->poll_after_ms;
    t->segment = f->serving;
    t->of = f->token.seg;
    t->number = f->token.number;
    t->early = draws(f, o.queue);
    t->opens_ms = t->early ? o.queue->when.opens_ms : 0;
    t->pass = rf->pass;
    t->pass_len = rf->pass_len;
    t->released_at_ms = f->released_at_ms;
    t->pass_expires_s = f->pass_expires_s;
    return true;
}

bool router_is_https(const struct router *r, const struct httpd_req *req,
                     const struct http_req *q)
{
    return r->cfg->page_https == HTTPS_ALWAYS ||
           (r->cfg->page_https == HTTPS_AUTO && gate_is_https(httpd_tag(req), q));
}

int64_t router_wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

int64_t router_least_s(const struct router *r)
{
    return pass_clock_least_s(&r->pass_clock, ev_now(r->ev), router_wall_s());
}

/* ---- limits ---- */

bool router_may_pass(struct router *r, struct httpd_req *req, enum limit_kind k)
{
    uint32_t wait_ms = gate_take(&r->gate, k, ev_now_us(r->ev));

    if (__builtin_expect(wait_ms == 0, 1))
        return true;
    api_too_fast(&r->ans, wait_ms, k == LIMIT_POLL, router_request_id(r));
    router_answer(r, req);
    return false;
}

void router_forged(struct router *r, struct httpd_req *req)
{
    r->counts.forged++;
    if (router_may_pass(r, req, LIMIT_BAD))
        router_problem(r, req, API_TICKET_UNKNOWN, "this is not a ticket of ours");
}

static bool on_conn(void *ctx, const struct net_addr *peer, uint64_t *tag)
{
    struct router *r = ctx;

    return gate_conn(&r->gate, peer, ev_now(r->ev), tag);
}

static void on_conn_end(void *ctx, uint64_t tag)
{
    struct router *r = ctx;

    gate_conn_end(&r->gate, tag);
}

/* ---- requests ---- */

/* Whose budget a request is taken from; LIMIT_NKINDS: nobody's (they who ask are machines
 * of ours, and an answer "too fast" would take us out of service; or it is the page's, which
 * says it in words). */
static const uint8_t budget_of[] = {
    [API_JOIN] = LIMIT_JOIN,         [API_POLL] = LIMIT_POLL,
    [API_LEAVE] = LIMIT_POLL,        [API_QUEUE] = LIMIT_POLL,
    [API_JWKS] = LIMIT_POLL,         [API_VERIFY] = LIMIT_NKINDS,
    [API_SESSION] = LIMIT_NKINDS, /* session.c looks who asks */
    [API_PAGE] = LIMIT_NKINDS,       [API_WORDS] = LIMIT_POLL,
    [API_FORM] = LIMIT_NKINDS,       [API_UNFORM] = LIMIT_POLL,
    [API_START] = LIMIT_POLL,        [API_HEALTH] = LIMIT_NKINDS,
    [API_READY] = LIMIT_NKINDS,      [API_BAD_METHOD] = LIMIT_BAD,
    [API_BAD_PATH] = LIMIT_BAD,      [API_NO_PATH] = LIMIT_BAD,
};

static void jwks(struct router *r)
{
    const uint8_t(*keys)[32];
    size_t n = routes_keys(r->routes, &keys);

    if (routes_version(r->routes) == 0)
        api_problem(&r->ans, API_QUEUE_UNAVAILABLE, "keys are not known yet",
                    router_request_id(r));
    else
        api_jwks(&r->ans, keys, n);
}

static void ready(struct router *r)
{
    size_t up, of;

    seg_links_count(r->segs, &up, &of);
    api_ready(&r->ans, router_is_ready(r), routes_version(r->routes), up, of);
}

/* Calls that are answered later, or by others; false: it is none of these. */
static bool start(struct router *r, struct httpd_req *req, const struct http_req *q,
                  const struct api_req *a)
{
    switch (a->call) {
    case API_POLL:
        poll_start(r, req, a->arg);
        return true;
    case API_JOIN:
        join_start(r, req, q, a->arg);
        return true;
    case API_LEAVE:
        leave_start(r, req, a->arg);
        return true;
    case API_QUEUE:
        queue_get(r, req, a->arg);
        return true;
    case API_VERIFY:
        verify(r, req, q);
        return true;
    case API_SESSION:
        session_start(r, req, q);
        return true;
    case API_PAGE:
    case API_FORM:
    case API_WORDS:
    case API_UNFORM:
        page_start(r, req, q, a);
        return true;
    case API_START:
        page_front(r, req, q);
        return true;
    case API_NO_PATH:
        return page_nothing(r, req, q);
    default:
        return false;
    }
}

/* Calls whose answer this router knows by itself. */
static void answer(struct router *r, struct httpd_req *req, const struct api_req *a)
{
    switch (a->call) {
    case API_JWKS:
        jwks(r);
        break;
    case API_HEALTH:
        api_health(&r->ans);
        break;
    case API_READY:
        ready(r);
        break;
    case API_BAD_METHOD:
        api_bad_method(&r->ans, a->allow, router_request_id(r));
        break;
    case API_BAD_PATH:
        api_problem(&r->ans, API_BAD_REQUEST, "the path has a bad escape",
                    router_request_id(r));
        break;
    default: /* API_NO_PATH */
        api_problem(&r->ans, API_NOT_FOUND, "there is nothing here",
                    router_request_id(r));
    }
    router_answer(r, req);
}

static void on_request(void *ctx, struct httpd_req *req, const struct http_req *q)
{
    struct router *r = ctx;
    enum limit_kind k;
    const char *lines;
    struct api_req a;

    api_route(q, &a);
    lines = cors_lines(r->cors, q, &a);
    httpd_set_lines(req, lines);
    gate_request(&r->gate, httpd_tag(req), q);
    k = (enum limit_kind)budget_of[a.call];
    if (k != LIMIT_NKINDS && !router_may_pass(r, req, k))
        return;
    if (a.call == API_BAD_METHOD && lines != NULL && cors_preflight(q, &a))
        httpd_answer(req, 204, NULL, "", "", 0);
    else if (!start(r, req, q, &a))
        answer(r, req, &a);
}

static void on_gone(void *ctx, struct httpd_req *req, void *user)
{
    (void)ctx;
    (void)req;
    rflow_client_gone(user);
}

static void on_bad(void *ctx, struct httpd_req *req, int status)
{
    struct router *r = ctx;

    gate_request(&r->gate, httpd_tag(req), NULL);
    if (!router_may_pass(r, req, LIMIT_BAD))
        return;
    api_bad_http(&r->ans, status, router_request_id(r));
    router_answer(r, req);
}

/* ---- the whole ---- */

bool router_is_ready(const struct router *r)
{
    size_t up, of;

    seg_links_count(r->segs, &up, &of);
    return routes_version(r->routes) > 0 && up > 0;
}

void router_map_changed(struct router *r)
{
    seg_links_sync(r->segs);
    verify_keys_changed(r);
    rflow_map_changed(r);
}

void router_reload(struct router *r)
{
    struct err e = { 0 };

    gate_reload(&r->gate, r->cfg);
    if (claim_ring_load(&r->claims, r->cfg, &e) < 0)
        log_error("claim_keys kept as they were: %s", e.text);
}

static bool healthy(void *ctx, struct buf *why)
{
    (void)ctx;
    (void)why;
    return true; /* it answers: it lives. Whether it is of use says /readyz. */
}

static int open_links(struct router *r, struct err *e)
{
    struct timespec t;
    struct rpc_opts o = {
        .role = RPC_ROUTER,
        .node = r->cfg->node,
        .link_key = r->keys.link,
        .other_link_key = cluster_keys_other_link(&r->keys),
        .heartbeat_ms = (uint32_t)r->cfg->heartbeat,
    };

    clock_gettime(CLOCK_REALTIME, &t);
    o.incarnation = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    o.seed = o.incarnation;
    r->request_id = o.incarnation;
    return rpc_new(&r->rpc, r->ev, &o, e);
}

static int open_http(struct router *r, struct err *e)
{
    static const struct httpd_calls calls = { on_request, on_gone, on_bad, on_conn,
                                              on_conn_end };
    const struct router_cfg *c = r->cfg;
    struct httpd_opts ho = {
        .addr = c->listen,
        .max_conns = (uint32_t)c->max_conns,
        .head_ms = (uint32_t)c->head_timeout,
        .body_ms = (uint32_t)c->body_timeout,
        .idle_ms = (uint32_t)c->idle_timeout,
        .max_pipelined = (uint32_t)c->max_pipelined,
    };
    struct admin_opts ao = {
        .addr = c->admin,
        .metrics = router_metrics,
        .healthy = healthy,
        .ctx = r,
    };
    int rc = admin_new(&r->admin, r->ev, &ao, e);

    return rc < 0 ? rc : httpd_new(&r->httpd, r->ev, &ho, &calls, r, e);
}

static void lower_copy(char *to, const char *from)
{
    for (; from != NULL && *from != '\0'; from++)
        *to++ = (char)(*from >= 'A' && *from <= 'Z' ? *from | 0x20 : *from);
    *to = '\0';
}

static int open_all(struct router *r, struct err *e)
{
    const struct router_cfg *c = r->cfg;
    uint8_t key[VERDICT_KEY_BYTES];
    int rc = keys_cluster(&r->keys, c->secret_file, c->create_keys, e);

    if (rc < 0)
        return rc;
    rc = gate_init(&r->gate, c, e);
    if (rc == 0)
        rc = claim_ring_load(&r->claims, c, e);
    if (rc == 0)
        rc = cors_new(&r->cors, c->allow_origins.v, c->allow_origins.n, e);
    if (rc == 0)
        rc = gate_secret_read(&r->gate_secret, c->gate_secret_file, e);
    lower_copy(r->gate_subject, c->gate_subject_header);
    if (rc == 0)
        rc = page_room_new(&r->page, c, e);
    if (rc < 0)
        return rc;
    r->routes = routes_new();
    randombytes_buf(key, sizeof(key));
    r->verdicts = verdicts_new((size_t)c->verify_cache, key);
    if (r->routes == NULL || r->verdicts == NULL || rflow_init(r) < 0)
        return err_set(e, SQ_ENOMEM, "out of memory");
    rc = open_links(r, e);
    if (rc == 0)
        rc = open_http(r, e);
    if (rc < 0)
        return rc;
    r->segs = seg_links_new(r);
    r->mngs = r->segs != NULL ? mng_links_new(r) : NULL;
    if (r->mngs == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    log_info("node=%s listens on %s admin=%s", c->node, httpd_addr(r->httpd),
             admin_addr(r->admin));
    return 0;
}

int router_new(struct router **out, struct ev *ev, const struct router_cfg *cfg,
               struct err *e)
{
    struct router *r = calloc(1, sizeof(*r));
    int rc;

    if (r == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    r->cfg = cfg;
    r->ev = ev;
    revoked_init(&r->revoked, randombytes_random());
    revoked_init(&r->extended, randombytes_random());
    arena_init(&r->arena);
    api_ans_init(&r->ans);
    rc = open_all(r, e);
    if (rc < 0) {
        router_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void router_free(struct router *r)
{
    if (r == NULL)
        return;
    /* First the clients go (their flows learn it), then what flows wait for. */
    httpd_free(r->httpd);
    r->httpd = NULL;
    mng_links_free(r->mngs);
    seg_links_free(r->segs);
    rflow_fini(r);
    if (r->admin != NULL)
        admin_free(r->admin);
    if (r->rpc != NULL)
        rpc_free(r->rpc);
    if (r->routes != NULL)
        routes_free(r->routes);
    gate_fini(&r->gate);
    verdicts_free(r->verdicts);
    revoked_fini(&r->revoked);
    revoked_fini(&r->extended);
    page_room_free(r->page);
    claim_ring_fini(&r->claims);
    cors_free(r->cors);
    api_ans_fini(&r->ans);
    arena_fini(&r->arena);
    explicit_bzero(&r->keys, sizeof(r->keys));
    explicit_bzero(&r->gate_secret, sizeof(r->gate_secret));
    free(r);
}

void router_drain(struct router *r, ev_fn done, void *arg)
{
    httpd_drain(r->httpd, done, arg);
}

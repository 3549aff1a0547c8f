/* service.c: see service.h. */
#include "router/service/service.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/http/admin.h"
#include "common/net/ev.h"
#include "common/net/hosts.h"
#include "common/net/tls_server.h"
#include "common/supervisor/program.h"
#include "router/calls/challenge.h"
#include "router/calls/events.h"
#include "router/calls/places.h"
#include "router/links/flows.h"
#include "router/links/mng_link.h"
#include "router/links/seg_link.h"
#include "router/links/site_asks.h"
#include "router/page_http/files.h"
#include "router/service/dispatch.h"
#include "router/service/metrics.h"
#include "router/task_requests/ask.h"
#include "router/task_requests/task_link.h"
#include "router/task_requests/watch.h"

/* ---- names of crawlers -------------------------------------------------------------------- */

struct crawler_names {
    struct ev *ev; /* ref */
    struct hosts hosts;
    struct crawlers *core; /* owned */
};

static msec_t now_of(const struct crawler_ask *a)
{
    const struct crawler_names *n = crawler_ctx(a);

    return ev_now(n->ev);
}

static void on_name(void *ask, const char *name)
{
    crawler_named(ask, name, now_of(ask));
}

static size_t add_addrs(struct ip *to, const struct host_part *p)
{
    size_t n = 0;

    for (unsigned i = 0; i < p->n; i++)
        n += net_ip(&p->addr[i], &to[n]);
    return n;
}

static void on_addrs(void *ask, const struct host_found *f)
{
    struct ip addrs[2 * HOST_FOUND];
    size_t n = add_addrs(addrs, &f->v4);

    n += add_addrs(addrs + n, &f->v6);
    crawler_has(ask, addrs, n, f->v4.how == HOST_FAILED || f->v6.how == HOST_FAILED, now_of(ask));
}

static bool ask_name(void *ctx, const struct ip *ip, struct crawler_ask *a)
{
    struct crawler_names *n = ctx;

    return hosts_name(&n->hosts, ip, on_name, a);
}

static bool ask_addrs(void *ctx, const char *name, struct crawler_ask *a)
{
    struct crawler_names *n = ctx;

    return hosts_find(&n->hosts, name, on_addrs, a);
}

struct crawler_names *crawler_names_new(struct ev *ev)
{
    struct crawler_names *n = calloc(1, sizeof(*n));

    if (n == NULL)
        return NULL;
    n->ev = ev;
    n->core = crawlers_new(&(const struct crawler_io){ n, ask_name, ask_addrs });
    if (n->core == NULL) {
        free(n);
        return NULL;
    }
    hosts_init(&n->hosts, ev);
    return n;
}

void crawler_names_free(struct crawler_names *n)
{
    if (n == NULL)
        return;
    hosts_fini(&n->hosts); /* first: questions end */
    crawlers_free(n->core);
    free(n);
}

struct crawlers *crawler_names_of(struct crawler_names *n)
{
    return n != NULL ? n->core : NULL;
}

#define LOG_MODULE "router"

static int load_certs(struct router *r, struct err *e)
{
    const struct cfg_list *l = &r->cfg->listen_certs;

    tls_server_set_hsts(r->tls, r->cfg->listen_hsts / 1000);
    return tls_server_load(r->tls, "listen_certs", l->v, l->n, e);
}

static int load_rules(struct router *r, struct err *e)
{
    const struct router_cfg *c = r->cfg;

    if (c->gate_rules.n > 0 && r->crawler_names == NULL) {
        r->crawler_names = crawler_names_new(r->ev);
        r->crawlers = crawler_names_of(r->crawler_names);
        if (r->crawlers == NULL)
            return err_set(e, SQ_ENOMEM, "out of memory");
    }
    return gate_rules_load(&r->gate_rules, c->gate_rules.v, c->gate_rules.n, c->gate_country_header, e);
}

/* The old one stays, unless there is a good one. */
static void reload_verify_secret(struct router *r)
{
    struct gate_secret s;
    struct err e = { 0 };

    if (gate_secret_read(&s, r->cfg->verify_secret_file, &e) < 0)
        prog_refuse(&e);
    else
        r->verify_secret = s;
    explicit_bzero(&s, sizeof(s));
}

void router_reload(struct router *r)
{
    struct err e = { 0 };

    gate_reload(&r->gate, r->cfg);
    if (claim_ring_load(&r->claims, r->cfg, &e) < 0)
        prog_refuse(&e);
    if (load_rules(r, &e) < 0)
        prog_refuse(&e);
    if (rpc_reload(r->rpc, &r->cfg->tls, &e) < 0)
        prog_refuse(&e);
    if (admin_reload(r->admin, &r->cfg->admin_tls, &e) < 0)
        prog_refuse(&e);
    if (load_certs(r, &e) < 0)
        prog_refuse(&e);
    reload_verify_secret(r);
    tasking_reload(r->tasking);
    queue_names_look(r);
}

static bool healthy(void *ctx, struct buf *why)
{
    const struct router *r = ctx;

    rpc_warn(r->rpc, why);
    if (r->names.n > 0)
        buf_printf(why, "%s%s", why->len > 0 ? "; " : "", r->names.text);
    return true; /* an answer means alive; /readyz says whether it is of use. */
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
        .tls = &r->cfg->tls,
    };

    clock_gettime(CLOCK_REALTIME, &t);
    o.incarnation = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    o.seed = o.incarnation;
    r->request_id = o.incarnation;
    return rpc_new(&r->rpc, r->ev, &o, e);
}

static int open_http(struct router *r, struct err *e)
{
    const struct router_cfg *c = r->cfg;
    struct httpd_opts ho = {
        .addr = c->listen,
        .max_conns = (uint32_t)c->max_conns,
        .head_ms = (uint32_t)c->head_timeout,
        .body_ms = (uint32_t)c->body_timeout,
        .idle_ms = (uint32_t)c->idle_timeout,
        .max_pipelined = (uint32_t)c->max_pipelined,
        .max_large = r->tasking != NULL ? TASK_LARGEST : 0,
        .max_output_bytes = r->tasking != NULL ? 2 * TASK_LARGEST : 0,
        .tls = r->tls,
    };
    struct admin_opts ao = {
        .addr = c->admin,
        .metrics = router_metrics,
        .healthy = healthy,
        .cert = &c->admin_tls,
        .refused = prog_refused,
        .ctx = r,
    };
    int rc = admin_new(&r->admin, r->ev, &ao, e);

    if (rc == 0)
        rc = load_certs(r, e);
    if (rc == 0 && router_tasks_apart(c)) {
        ho.addr = c->listen_tasks;
        rc = httpd_new(&r->httpd_tasks, r->ev, &ho, &dispatch_task_calls, r, e);
        ho.addr = c->listen;
        ho.max_large = 0;
    }
    return rc < 0 ? rc : httpd_new(&r->httpd, r->ev, &ho, &dispatch_calls, r, e);
}

static int open_all(struct router *r, struct err *e)
{
    const struct router_cfg *c = r->cfg;
    uint8_t key[SIGCACHE_KEY_BYTES];
    int rc = keys_cluster(&r->keys, c->secret_file, c->create_keys, e)
          ?: web_push_key_of(&r->push, r->keys.contact)
          ?: web_push_key_of(&r->other_push, r->keys.other_contact);

    if (rc < 0)
        return rc;
    rc = gate_init(&r->gate, c, e);
    if (rc == 0 && challenge_init(r) < 0)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    rc = rc
        ?: claim_ring_load(&r->claims, c, e)
        ?: load_rules(r, e)
        ?: cors_new(&r->cors, c->allow_origins.v, c->allow_origins.n, e)
        ?: gate_secret_read(&r->gate_secret, c->gate_secret_file, e)
        ?: gate_secret_read(&r->verify_secret, c->verify_secret_file, e);
    assert(c->gate_subject_header == NULL ||
           strlen(c->gate_subject_header) < sizeof(r->gate_subject)); /* marked by its key */
    copy_lower(r->gate_subject, sizeof(r->gate_subject), c->gate_subject_header);
    if (rc == 0)
        rc = page_room_new(&r->page, c, e);
    if (rc < 0)
        return rc;
    r->routes = routes_new();
    randombytes_buf(key, sizeof(key));
    r->sigcache = sigcache_new((size_t)c->verify_cache, key);
    if (r->routes == NULL || r->sigcache == NULL || rflow_init(r) < 0 ||
        events_init(r) < 0)
        return err_set(e, SQ_ENOMEM, "out of memory");
    r->tls = tls_server_new(&(const struct tls_server_opts){
        .key = r->keys.link, .other = cluster_keys_other_link(&r->keys) });
    rc = r->tls == NULL ? err_set(e, SQ_ENOMEM, "out of memory") : open_links(r, e);
    if (rc == 0)
        rc = tasking_new(&r->tasking, r, e);
    if (rc == 0)
        rc = open_http(r, e);
    if (rc < 0)
        return rc;
    r->segs = seg_links_new(r);
    r->mngs = r->segs != NULL ? mng_links_new(r) : NULL;
    if (r->mngs == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    log_info("event=listening node=%s listen=%s admin=%s", c->node, httpd_addr(r->httpd),
             admin_addr(r->admin));
    if (r->httpd_tasks != NULL)
        log_info("event=listening_tasks listen=%s", httpd_addr(r->httpd_tasks));
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
    revoked_init(&r->used, randombytes_random());
    arena_init(&r->arena);
    api_ans_init(&r->ans);
    replicas_init(&r->replicas, cfg->replica_fresh, cfg->replica_keep, randombytes_random());
    rc = waiting_texts_init(&r->waiting_texts);
    rc = rc < 0 ? err_set(e, rc, "out of memory") : open_all(r, e);
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
    httpd_free(r->httpd_tasks);
    r->httpd = r->httpd_tasks = NULL;
    crawler_names_free(r->crawler_names); /* turns the loop: all else is whole */
    r->crawler_names = NULL;
    r->crawlers = NULL;
    tls_server_free(r->tls);
    site_asks_free(r->site_asks);
    r->site_asks = NULL;
    mng_links_free(r->mngs);
    tasking_free(r->tasking);
    seg_links_free(r->segs);
    rflow_fini(r);
    places_fini(r);
    if (r->behind_timer != NULL)
        ev_timer_free(r->behind_timer);
    events_fini(r);
    replicas_fini(&r->replicas);
    if (r->admin != NULL)
        admin_free(r->admin);
    if (r->rpc != NULL)
        rpc_free(r->rpc);
    if (r->routes != NULL)
        routes_free(r->routes);
    gate_fini(&r->gate);
    door_fini(&r->door);
    suspects_free(r->suspects);
    explicit_bzero(&r->verify_secret, sizeof(r->verify_secret));
    sigcache_free(r->sigcache);
    revoked_fini(&r->revoked);
    revoked_fini(&r->extended);
    revoked_fini(&r->used);
    page_room_free(r->page);
    claim_ring_fini(&r->claims);
    gate_rules_free(r->gate_rules);
    cors_free(r->cors);
    api_ans_fini(&r->ans);
    waiting_texts_fini(&r->waiting_texts);
    arena_fini(&r->arena);
    explicit_bzero(&r->keys, sizeof(r->keys));
    explicit_bzero(&r->gate_secret, sizeof(r->gate_secret));
    free(r);
}

#define BEHIND_MS     2000 /* calls of several places go on so long behind their answers */
#define BEHIND_LOOK_MS 20

static void say_farewell(void *router)
{
    struct router *r = router;
    msec_t now = ev_now(r->ev);
    bool behind = r->places_behind.n > 0 || r->n_late > 0;

    if (r->behind_until_ms == 0)
        r->behind_until_ms = now + BEHIND_MS;
    if (behind && now < r->behind_until_ms && r->behind_timer == NULL)
        r->behind_timer = ev_timer_new(r->ev, say_farewell, r);
    if (behind && now < r->behind_until_ms && r->behind_timer != NULL)
        ev_timer_at(r->behind_timer, now + BEHIND_LOOK_MS);
    else
        seg_links_farewell(r->segs, r->drained, r->drained_arg);
}

/* Ends requests: nobody waits for an answer. */
static void on_answered(void *router)
{
    struct router *r = router;

    if (--r->answering > 0)
        return;
    if (r->tasking != NULL)
        tasking_farewell(r->tasking, say_farewell, r);
    else
        say_farewell(r);
}

void router_drain(struct router *r, ev_fn done, void *arg)
{
    r->drained = done;
    r->drained_arg = arg;
    mng_links_leave(r->mngs);
    events_drain(r);
    if (r->tasking != NULL)
        watches_drain(r->tasking);
    r->answering = 1 + (r->httpd_tasks != NULL);
    httpd_drain(r->httpd, on_answered, r);
    if (r->httpd_tasks != NULL)
        httpd_drain(r->httpd_tasks, on_answered, r);
    if (r->tasking != NULL)
        asks_drain(r->tasking);
}

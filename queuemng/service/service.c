/* service.c: life of a queuemng: start, peers, ticks, the end of a turn, stop. */
#include "queuemng/service/service.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/supervisor/program.h"
#include "common/task/url.h"
#include "common/wire/codec.h"
#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/sign_in.h"
#include "queuemng/admin/trace.h"
#include "queuemng/admin/walk.h"
#include "queuemng/process/manager.h"
#include "queuemng/service/metrics.h"
#include "queuemng/service/routes.h"
#include "queuemng/service/term.h"
#include "queuemng/store/store_file.h"

#define LOG_MODULE "manager"

/* Asks name servers for the targets with `discover` while this manager leads (core/monitors.h).: a question per name;
 * its answer is a step of the core. */
struct question {
    struct list_node in; /* mng_service.names */
    struct mng_service *s; /* ref */
    char endpoint[TASK_NAME_MAX + 1];
    char *url; /* owned */
};

static void question_free(struct question *q)
{
    list_remove(&q->s->names, &q->in);
    free(q->url);
    free(q);
}

static void put_part(struct name_part *to, const struct host_part *p)
{
    to->how = p->how == HOST_HAS ? NAME_FOUND : p->how == HOST_HAS_NONE ? NAME_NONE : NAME_FAILED;
    to->ttl_s = p->ttl_s;
    for (; to->n < p->n && to->n < DISCOVER_MOST; to->n++) {
        char text[NET_TEXT_MAX];

        net_ip_text(&p->addr[to->n], text);
        copy_text(to->address[to->n], DISCOVER_TEXT, text);
    }
    copy_text(to->why, sizeof(to->why), p->why);
}

static void tell(struct mng_service *s, const char *endpoint, const char *url, const struct name_answer *a)
{
    if (s->leads)
        mng_name_told(s->mng, ev_now(s->ev), endpoint, url, a, mng_service_step(s));
}

static void on_found(void *arg, const struct host_found *f)
{
    struct question *q = arg;
    struct name_answer a = { 0 };

    put_part(&a.v4, &f->v4);
    put_part(&a.v6, &f->v6);
    tell(q->s, q->endpoint, q->url, &a);
    question_free(q);
}

static void cannot_ask(struct mng_service *s, const char *endpoint, const char *url)
{
    static const struct name_answer none = {
        .v4 = { .how = NAME_FAILED, .why = "name: it cannot be asked for" },
        .v6 = { .how = NAME_FAILED, .why = "name: it cannot be asked for" },
    };

    tell(s, endpoint, url, &none);
}

static void ask(void *ctx, const char *endpoint, const char *url)
{
    struct mng_service *s = ctx;
    struct question *q = calloc(1, sizeof(*q));
    struct url u;

    if (q == NULL || (q->url = strdup(url)) == NULL || url_parse(&u, url) != NULL) {
        if (q != NULL)
            free(q->url);
        free(q);
        return; /* a later tick asks again */
    }
    q->s = s;
    copy_text(q->endpoint, sizeof(q->endpoint), endpoint);
    list_push_back(&s->names, &q->in);
    if (hosts_find(&s->hosts, u.host, on_found, q))
        return;
    cannot_ask(s, q->endpoint, q->url);
    question_free(q);
}

/* At each tick of the leader. */
static void mng_names_tick(struct mng_service *s)
{
    mng_each_name_due(s->mng, ev_now(s->ev), ask, s);
}

/* Open questions die unanswered. */
static void mng_names_end(struct mng_service *s)
{
    hosts_fini(&s->hosts);
    list_each_of (&s->names, struct question, in, q)
        question_free(q);
}

static void on_turn_end(void *arg)
{
    struct mng_service *s = arg;
    uint64_t need;

    if (s->n_out > s->n_stored)
        (void)mng_service_flush(s, &need);
    if (s->broken)
        mng_term_anew(s);
    if (s->lead != NULL && s->leads && mng_fenced_by(s->mng) != 0)
        mng_lead_fenced(s->lead, mng_fenced_by(s->mng));
}

/* ---- peers ----------------------------------------------------------------------- */

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct mng_service *s = ctx;
    peer_no p = ++s->last_peer;

    assert(p != 0);
    if (mng_term_drops(s, ch, peer))
        return;
    if (map_set_ptr(&s->peers, p, ch) < 0) {
        rpc_chan_close(ch, "out of memory");
        return;
    }
    rpc_chan_set_data(ch, (void *)(uintptr_t)p);
    log_info("event=peer_up peer=%u role=%s node=%s addr=%s", p, rpc_role_name(peer->role),
             log_q(peer->node, strlen(peer->node)), peer->addr);
    if (s->leads)
        mng_peer_up(s->mng, ev_now(s->ev), p, (int)peer->role, peer->node,
                    peer->incarnation, mng_service_step_by(s, peer, 0));
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct mng_service *s = ctx;
    peer_no p = (peer_no)(uintptr_t)rpc_chan_data(ch);

    (void)why; /* rpc.c has logged it */
    if (p == 0)
        return;
    map_del(&s->peers, p);
    if (s->leads)
        mng_peer_down(s->mng, ev_now(s->ev), p, mng_service_step(s));
}

/* Takes what operators look at, and answers to their questions: they change nothing, and do not reach the core. */
static bool is_for_operators(struct mng_service *s, struct rpc_chan *ch, const struct msg *m,
                             uint64_t rid)
{
    const char *node = rpc_chan_peer(ch)->node;
    bool is_task = rpc_chan_peer(ch)->role == RPC_TASK;

    if (m->type == MSG_LOAD)
        loads_note(&s->loads, rpc_chan_peer(ch)->role, node, ev_now(s->ev), ev_wall_ms(s->ev),
                   &m->load);
    else if (m->type == MSG_WHY_ANS && rpc_chan_peer(ch)->role == RPC_SEGMENT)
        mng_trace_answer(s, node, &m->why_ans);
    else if (m->type == MSG_TASK_DO_ANS && is_task)
        mng_walk_answer(s, rid, &m->task_do_ans);
    else if (m->type == MSG_ERROR && m->error.about == MSG_TASK_DO && is_task)
        mng_walk_answer(s, rid, NULL);
    else
        return false;
    return true;
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct mng_service *s = ctx;
    peer_no p = (peer_no)(uintptr_t)rpc_chan_data(ch);
    struct msg m;
    int rc;

    if (p == 0)
        return;
    s->counts.messages++;
    if (!s->leads) {
        mng_standby_answer(s, ch, f);
        return;
    }
    arena_reset(&s->arena);
    rc = msg_decode(f->type, f->body, f->len, &s->arena, &m);
    if (rc == 0 && is_for_operators(s, ch, &m, f->rid))
        return;
    if (rc == 0) {
        mng_msg(s->mng, ev_now(s->ev), p, &m, mng_service_step_by(s, rpc_chan_peer(ch), f->type));
        return;
    }
    s->counts.undecodable++;
    if (rc != SQ_EUNKNOWN) {
        rpc_chan_close(ch, sq_strerror(rc));
        return;
    }
    m = (struct msg){ .type = MSG_ERROR };
    m.error.code = SQ_EUNKNOWN;
    m.error.about = f->type;
    m.error.text = "unknown message type";
    if (rpc_send(ch, &m, f->rid) < 0)
        rpc_chan_close(ch, "out of memory");
}

/* ---- time and monitors ----------------------------------------------------------- */

static void on_tick(void *arg)
{
    struct mng_service *s = arg;
    msec_t now = ev_now(s->ev);

    if (s->leads)
        mng_tick(s->mng, now, ev_wall_ms(s->ev), mng_service_step(s));
    if (s->leads)
        mng_names_tick(s);
    dashboard_feed_tick(s);
    mng_trace_tick(s);
    mng_walk_tick(s);
    loads_tidy(&s->loads, now);
    s->tick_ms += s->cfg->tick_ms;
    if (s->tick_ms <= now) /* we were late: do not run after the lost ones */
        s->tick_ms = now + s->cfg->tick_ms;
    assert(s->tick_ms > now);
    ev_timer_at(s->tick, s->tick_ms);
}

static void on_reading(void *ctx, const char *metric, double value, msec_t taken_ms)
{
    struct mng_service *s = ctx;

    mng_reading(s->mng, ev_now(s->ev), metric, value, taken_ms);
}

static void on_failed(void *ctx, const char *metric, const char *why)
{
    struct mng_service *s = ctx;

    mng_reading_failed(s->mng, ev_now(s->ev), metric, why);
}

static int start_monitor(struct mng_service *s, struct err *e)
{
    static const struct monitor_calls calls = { on_reading, on_failed };

    return monitor_new(&s->monitor, s->ev, s->cfg->metrics.v, s->cfg->metrics.n, &calls, s,
                       e);
}

/* ---- start, reload, end ---------------------------------------------------------- */

/* Without Redis there is one manager, and it leads from the start. */
static int start_alone(struct mng_service *s, struct err *e)
{
    int rc = store_file_open(&s->store, s->cfg->data_dir, NULL, e);

    if (rc == 0)
        rc = mng_term_begin(s, 0, e);
    return rc < 0 && s->store != NULL ? err_wrap(e, "%s", s->cfg->data_dir) : rc;
}

static int start_rpc(struct mng_service *s, struct err *e)
{
    static const struct rpc_calls calls = { .on_up = on_up,
                                            .on_frame = on_frame,
                                            .on_down = on_down };
    struct rpc_opts o = { .role = RPC_MANAGER,
                          .node = s->cfg->node,
                          .link_key = s->keys.link,
                          .other_link_key = cluster_keys_other_link(&s->keys),
                          .heartbeat_ms = (uint32_t)s->cfg->heartbeat_ms,
                          .tls = &s->cfg->tls };
    int rc;

    o.incarnation = (uint64_t)ev_wall_ms(s->ev);
    randombytes_buf(&o.seed, sizeof(o.seed));
    rc = rpc_new(&s->rpc, s->ev, &o, e);
    if (rc < 0)
        return rc;
    return rpc_listen(s->rpc, s->cfg->listen, 1u << RPC_ROUTER | 1u << RPC_SEGMENT | 1u << RPC_TASK,
                      &calls, s, e);
}

static int start_admin(struct mng_service *s, struct err *e)
{
    struct admin_opts o = { .addr = s->cfg->admin,
                            .metrics = mng_metrics,
                            .handler = admin_api,
                            .healthy = mng_healthy,
                            .cert = &s->cfg->admin_tls,
                            .refused = prog_refused,
                            .ctx = s };
    int rc = admin_new(&s->admin, s->ev, &o, e);

    if (rc == 0)
        admin_set_hsts(s->admin, s->cfg->admin_hsts_ms);
    return rc;
}

static int start(struct mng_service *s, struct err *e)
{
    const struct mng_cfg *c = s->cfg;
    bool alone = !cfg_has_redis(&c->redis);
    int rc = keys_cluster(&s->keys, c->secret_file, c->create_keys, e);

    if (rc == 0)
        rc = keys_admin_token(s->admin_token, sizeof(s->admin_token), c->admin_token_file,
                              c->create_keys, e);
    if (rc >= 0)
        rc = mng_tokens_start(s, e);
    if (rc >= 0)
        rc = dashboard_feed_start(s, e);
    if (rc == 0)
        rc = mng_core_new(s, e);
    if (rc == 0 && alone)
        rc = start_alone(s, e);
    rc = rc
        ?: start_rpc(s, e)
        ?: start_admin(s, e)
        ?: start_monitor(s, e);
    if (rc == 0 && !alone)
        rc = mng_lead_start(s, e);
    /* before rpc's own last hook: what is sent here leaves in this turn */
    if (rc == 0)
        rc = ev_hook(s->ev, 0, on_turn_end, s);
    if (rc < 0)
        return rc;
    s->tick = ev_timer_new(s->ev, on_tick, s);
    if (s->tick == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    s->tick_ms = ev_now(s->ev) + c->tick_ms;
    ev_timer_at(s->tick, s->tick_ms);
    return 0;
}

int mng_service_new(struct mng_service **out, struct ev *ev, const struct mng_cfg *cfg,
                    struct err *e)
{
    struct mng_service *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    s->ev = ev;
    s->cfg = cfg;
    s->store_ok = true;
    list_init(&s->deferred);
    list_init(&s->traces);
    list_init(&s->walks);
    list_init(&s->names);
    hosts_init(&s->hosts, ev);
    map_init(&s->peers, 0);
    map_init(&s->yaml, 0);
    loads_init(&s->loads);
    arena_init(&s->arena);
    rc = start(s, e);
    if (rc < 0) {
        mng_service_free(s);
        return rc;
    }
    log_info("event=ready node=%s listen=%s admin=%s", cfg->node, rpc_listen_addr(s->rpc),
             admin_addr(s->admin));
    *out = s;
    return 0;
}

void mng_service_reload(struct mng_service *s)
{
    struct err e = { 0 };

    if (rpc_reload(s->rpc, &s->cfg->tls, &e) < 0)
        prog_refuse(&e);
    if (admin_reload(s->admin, &s->cfg->admin_tls, &e) < 0)
        prog_refuse(&e);
    admin_set_hsts(s->admin, s->cfg->admin_hsts_ms);
    if (s->lead != NULL && mng_lead_reload(s->lead, s->cfg, &e) < 0)
        prog_refuse(&e);
    if (mng_proxy_secret_read(s, &e) < 0)
        prog_refuse(&e);
    (void)!mng_tokens_reload(s, &e); /* a refusal is logged there */
    monitor_free(s->monitor);
    s->monitor = NULL;
    if (start_monitor(s, &e) < 0)
        log_error("event=no_monitor why=%s", log_q(e.text, strlen(e.text)));
    mng_term_metrics(s);
    if (s->leads)
        mng_yaml_apply(s);
}

bool mng_service_stop(struct mng_service *s)
{
    if (s->lead != NULL)
        mng_lead_resign(s->lead);
    return s->lead != NULL;
}

void mng_service_free(struct mng_service *s)
{
    uint64_t need;

    if (s == NULL)
        return;
    ev_unhook(s->ev, on_turn_end, s);
    if (s->tick != NULL)
        ev_timer_free(s->tick);
    mng_names_end(s);
    monitor_free(s->monitor);
    if (s->n_out > 0 && s->store != NULL)
        (void)mng_service_flush(s, &need);
    mng_deferred_fail(s);
    mng_trace_end(s);
    mng_walk_end(s);
    if (s->admin != NULL)
        admin_free(s->admin);
    if (s->rpc != NULL)
        rpc_free(s->rpc);
    if (s->lead != NULL)
        mng_lead_free(s->lead); /* and its store */
    else
        store_close(s->store);
    mng_free(s->mng);
    for (size_t i = 0; i < s->cap_out; i++)
        if (s->out[i].out != NULL) {
            mng_out_fini(s->out[i].out);
            free(s->out[i].out);
        }
    free(s->out);
    mng_yaml_forget(s);
    loads_fini(&s->loads);
    dashboard_feed_end(s);
    map_fini(&s->peers);
    arena_fini(&s->arena);
    sodium_memzero(&s->keys, sizeof(s->keys));
    mng_tokens_end(s);
    sodium_memzero(s->admin_token, sizeof(s->admin_token));
    sodium_memzero(s->proxy_secret, sizeof(s->proxy_secret));
    free(s);
}

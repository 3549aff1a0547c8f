/* mng_service.c: the shell around the manager's core; the header has the picture. */
#include "queuemng/mng_service.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/codec.h"
#include "common/log.h"

#define LOG_MODULE "manager"

/* ---- acts ------------------------------------------------------------------------ */

/* There is always room for one more step: a manager that cannot even note down what its
 * core has decided would be a different one from the one that others know. */
struct mng_out *mng_service_step(struct mng_service *s)
{
    if (s->n_out == s->cap_out) {
        size_t cap = s->cap_out != 0 ? s->cap_out * 2 : 16;
        struct mng_out **v = realloc(s->out, cap * sizeof(*v));

        if (v == NULL)
            goto fail;
        s->out = v;
        for (; s->cap_out < cap; s->cap_out++) {
            v[s->cap_out] = malloc(sizeof(*v[0]));
            if (v[s->cap_out] == NULL)
                goto fail;
            mng_out_init(v[s->cap_out]);
        }
    }
    s->counts.steps++;
    return s->out[s->n_out++];
fail:
    log_error("event=no_memory what=step");
    abort();
}

static int put(struct mng_service *s, const struct mng_act *a)
{
    if (a->kind == MNG_PUT)
        return mng_store_put(s->store, a->key, a->val);
    return a->kind == MNG_DEL ? mng_store_del(s->store, a->key) : 0;
}

/* All puts of this turn, then one sync. */
static bool store(struct mng_service *s)
{
    struct err e = { 0 };
    int rc = 0;

    for (size_t i = 0; i < s->n_out; i++)
        for (uint32_t k = 0; k < s->out[i]->n; k++) {
            int r = put(s, &s->out[i]->act[k]);

            if (r < 0)
                rc = err_set(&e, r, "%s", sq_strerror(r));
        }
    if (rc == 0)
        rc = mng_store_sync(s->store, &e);
    if (rc < 0) {
        s->counts.store_failures++;
        if (s->store_ok)
            log_error("event=store_failed why=%s", log_q(e.text, strlen(e.text)));
    } else if (!s->store_ok) {
        log_info("event=store_ok");
    }
    s->store_ok = rc == 0;
    return rc == 0;
}

static void send_one(struct mng_service *s, const struct out_item *it, bool stored)
{
    struct rpc_chan *ch = map_get_ptr(&s->peers, it->to);
    int rc;

    if (ch == NULL)
        return; /* gone in this very turn */
    if (!stored) {
        rpc_chan_close(ch, "queuemng cannot store what it decided");
        return;
    }
    rc = msg_encode(&it->m, rpc_begin(ch));
    if (rc == 0)
        rc = rpc_end(ch, (uint16_t)it->m.type, 0);
    if (rc < 0) {
        log_error("event=not_sent type=%s why=\"%s\"", msg_name(it->m.type),
                  sq_strerror(rc));
        rpc_chan_close(ch, "a message could not be built");
    }
}

bool mng_service_flush(struct mng_service *s)
{
    bool ok = store(s);

    for (size_t i = 0; i < s->n_out; i++) {
        const struct mng_out *o = s->out[i];

        for (uint32_t k = 0; k < o->n; k++)
            if (o->act[k].kind == MNG_SEND)
                send_one(s, &o->box.v[o->act[k].item], ok);
        mng_out_reset(s->out[i]);
    }
    s->n_out = 0;
    return ok;
}

static void on_turn_end(void *arg)
{
    struct mng_service *s = arg;

    if (s->n_out > 0)
        (void)mng_service_flush(s);
}

/* ---- peers ----------------------------------------------------------------------- */

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct mng_service *s = ctx;
    peer_no p = ++s->last_peer;

    if (map_set_ptr(&s->peers, p, ch) < 0) {
        rpc_chan_close(ch, "out of memory");
        return;
    }
    rpc_chan_set_data(ch, (void *)(uintptr_t)p);
    log_info("event=peer_up peer=%u role=%s node=%s addr=%s", p, rpc_role_name(peer->role),
             log_q(peer->node, strlen(peer->node)), peer->addr);
    mng_peer_up(s->mng, ev_now(s->ev), p, (int)peer->role, peer->node, peer->incarnation,
                mng_service_step(s));
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct mng_service *s = ctx;
    peer_no p = (peer_no)(uintptr_t)rpc_chan_data(ch);

    (void)why; /* rpc.c has logged it */
    if (p == 0)
        return;
    map_del(&s->peers, p);
    mng_peer_down(s->mng, ev_now(s->ev), p, mng_service_step(s));
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
    arena_reset(&s->arena);
    rc = msg_decode(f->type, f->body, f->len, &s->arena, &m);
    if (rc == 0) {
        mng_msg(s->mng, ev_now(s->ev), p, &m, mng_service_step(s));
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
    if (msg_encode(&m, rpc_begin(ch)) < 0 || rpc_end(ch, MSG_ERROR, f->rid) < 0)
        rpc_chan_close(ch, "out of memory");
}

/* ---- time and monitors ----------------------------------------------------------- */

static void on_tick(void *arg)
{
    struct mng_service *s = arg;
    msec_t now = ev_now(s->ev);

    mng_tick(s->mng, now, ev_wall_ms(s->ev), mng_service_step(s));
    s->tick_ms += s->cfg->tick_ms;
    if (s->tick_ms <= now) /* we were late: do not run after the lost ones */
        s->tick_ms = now + s->cfg->tick_ms;
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

static int load_pair(void *ctx, const char *key, const char *val)
{
    struct mng_service *s = ctx;
    struct err e = { 0 };
    int rc = mng_yaml_load(s, key, val);

    if (rc == 0)
        rc = mng_load(s->mng, key, val, &e);
    if (rc < 0)
        log_error("event=store_not_understood key=%s why=%s", log_q(key, strlen(key)),
                  log_q(e.text, strlen(e.text)));
    return rc;
}

static int start_core(struct mng_service *s, struct err *e)
{
    struct mng_opts o = { .tick_ms = (uint32_t)s->cfg->tick_ms,
                          .lost_after_ms = (uint32_t)s->cfg->lost_after_ms,
                          .skip_after_ms = (uint32_t)s->cfg->skip_after_ms,
                          .issuer = s->cfg->issuer };
    int rc;

    randombytes_buf(&o.seed, sizeof(o.seed));
    s->mng = mng_new(&o);
    if (s->mng == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    rc = mng_store_open(&s->store, s->cfg->data_dir, e);
    if (rc < 0)
        return rc;
    rc = mng_store_each(s->store, load_pair, s);
    if (rc < 0)
        return err_set(e, rc, "%s: what is stored there cannot be used", s->cfg->data_dir);
    mng_start(s->mng, ev_now(s->ev), ev_wall_ms(s->ev), mng_service_step(s));
    mng_yaml_apply(s);
    if (!mng_service_flush(s)) /* a new epoch that is not durable must not command */
        return err_set(e, SQ_ESYS, "%s cannot be written", s->cfg->data_dir);
    return 0;
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
                          .heartbeat_ms = (uint32_t)s->cfg->heartbeat_ms };
    int rc;

    o.incarnation = (uint64_t)ev_wall_ms(s->ev);
    randombytes_buf(&o.seed, sizeof(o.seed));
    rc = rpc_new(&s->rpc, s->ev, &o, e);
    if (rc < 0)
        return rc;
    return rpc_listen(s->rpc, s->cfg->listen, 1u << RPC_ROUTER | 1u << RPC_SEGMENT, &calls, s,
                      e);
}

static int start_admin(struct mng_service *s, struct err *e)
{
    struct admin_opts o = { .addr = s->cfg->admin,
                            .bearer = s->admin_token,
                            .metrics = mng_metrics,
                            .handler = mng_admin,
                            .healthy = mng_healthy,
                            .ctx = s };

    return admin_new(&s->admin, s->ev, &o, e);
}

static int start(struct mng_service *s, struct err *e)
{
    const struct mng_cfg *c = s->cfg;
    int rc = keys_cluster(&s->keys, c->secret_file, c->create_keys, e);

    if (rc == 0)
        rc = keys_admin_token(s->admin_token, sizeof(s->admin_token), c->admin_token_file,
                              c->create_keys, e);
    if (rc >= 0)
        rc = start_core(s, e);
    if (rc == 0)
        rc = start_rpc(s, e);
    if (rc == 0)
        rc = start_admin(s, e);
    if (rc == 0)
        rc = start_monitor(s, e);
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
    map_init(&s->peers, 0);
    map_init(&s->yaml, 0);
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

    monitor_free(s->monitor);
    s->monitor = NULL;
    if (start_monitor(s, &e) < 0)
        log_error("event=no_monitor why=%s", log_q(e.text, strlen(e.text)));
    mng_yaml_apply(s);
}

void mng_service_free(struct mng_service *s)
{
    if (s == NULL)
        return;
    ev_unhook(s->ev, on_turn_end, s);
    if (s->tick != NULL)
        ev_timer_free(s->tick);
    monitor_free(s->monitor);
    if (s->admin != NULL)
        admin_free(s->admin);
    if (s->n_out > 0 && s->store != NULL)
        (void)mng_service_flush(s);
    if (s->rpc != NULL)
        rpc_free(s->rpc);
    mng_store_close(s->store);
    mng_free(s->mng);
    for (size_t i = 0; i < s->cap_out; i++)
        if (s->out[i] != NULL) {
            mng_out_fini(s->out[i]);
            free(s->out[i]);
        }
    free(s->out);
    mng_yaml_free(s);
    map_fini(&s->peers);
    arena_fini(&s->arena);
    sodium_memzero(&s->keys, sizeof(s->keys));
    sodium_memzero(s->admin_token, sizeof(s->admin_token));
    free(s);
}

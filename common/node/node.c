/* node.c: a node's configuration, and its life: start, ready, stop, end. */
#include "common/node/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/tls.h"
#include "common/net/tls_server.h"
#include "common/node/node_peers.h"
#include "common/supervisor/program.h"

#define LOG_MODULE "node"
#define READY_ANYWAY_MS 5000 /* without a manager we still serve what we have */
#define LAST_WORDS_MS   200  /* at stop: what is on its way to us is still answered */

/* Warnings for the manager: they end nothing. */
static void warn(const struct node *n, struct buf *b)
{
    rpc_warn(n->rpc, b);
    if (n->kind->warn != NULL)
        n->kind->warn(n->ctx, b);
    if (prog_refused()[0] != '\0')
        buf_printf(b, "%sthe last reload was refused: %s", b->len > 0 ? "; " : "", prog_refused());
}

static bool is_healthy(void *ctx, struct buf *why)
{
    struct node *n = ctx;

    if (n->stopping)
        buf_str(why, "stopping");
    else
        rpc_warn(n->rpc, why);
    if (!n->stopping && n->kind->warn != NULL)
        n->kind->warn(n->ctx, why);
    return !n->stopping;
}

static void on_metrics(void *ctx, struct buf *b)
{
    struct node *n = ctx;

    n->kind->metrics(n->ctx, b);
}

static void on_gone_timer(void *arg)
{
    struct node *n = arg;

    if (n->opts.on_gone != NULL)
        n->opts.on_gone(n->opts.ctx);
}

int node_open(struct node *n, struct ev *ev, const struct node_cfg *c, const struct node_opts *o,
              const struct node_kind *kind, void *ctx, struct err *e)
{
    struct rpc_opts ro = {
        .role = kind->role,
        .node = c->node,
        .incarnation = o->incarnation,
        .link_key = o->secret->link,
        .other_link_key = cluster_keys_other_link(o->secret),
        .heartbeat_ms = (uint32_t)c->heartbeat_ms,
        .seed = o->incarnation,
        .tls = &c->tls,
    };
    struct admin_opts ao = { .addr = c->admin, .metrics = on_metrics, .healthy = is_healthy,
                             .cert = &c->admin_tls, .refused = prog_refused, .ctx = n };
    int rc;

    *n = (struct node){ .ev = ev, .kind = kind, .ctx = ctx, .opts = *o, .began_ms = ev_now(ev) };
    n->opts.secret = NULL;
    list_init(&n->peers);
    arena_init(&n->mem);
    outbox_init(&n->out);
    rc = rpc_new(&n->rpc, ev, &ro, e)
        ?: rpc_listen(n->rpc, c->listen, kind->peers, &node_peer_calls, n, e)
        ?: admin_new(&n->admin, ev, &ao, e);
    if (rc == 0 && (n->gone = ev_timer_new(ev, on_gone_timer, n)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc < 0)
        return rc;
    snprintf(n->advertise, sizeof(n->advertise), "%s",
             c->advertise[0] != 0 ? c->advertise : rpc_listen_addr(n->rpc));
    snprintf(n->region, sizeof(n->region), "%s", c->region);
    snprintf(n->zone, sizeof(n->zone), "%s", c->zone);
    return 0;
}

int node_begin(struct node *n, const struct node_cfg *c, struct err *e)
{
    int rc = node_dial_managers(n, &c->managers, e);

    if (rc == 0)
        log_info("event=ready node=%s listen=%s advertise=%s admin=%s", c->node,
                 rpc_listen_addr(n->rpc), n->advertise, admin_addr(n->admin));
    return rc;
}

void node_close(struct node *n)
{
    if (n->ev == NULL)
        return;
    node_peers_free(n);
    rpc_free(n->rpc);
    admin_free(n->admin);
    ev_timer_free(n->gone);
    outbox_fini(&n->out);
    arena_fini(&n->mem);
}

void node_become_ready(struct node *n)
{
    if (n->ready)
        return;
    n->ready = true;
    if (n->opts.on_ready != NULL)
        n->opts.on_ready(n->opts.ctx);
}

void node_reload(struct node *n, const struct node_cfg *c)
{
    struct err e = { 0 };

    if (rpc_reload(n->rpc, &c->tls, &e) < 0)
        prog_refuse(&e);
    if (admin_reload(n->admin, &c->admin_tls, &e) < 0)
        prog_refuse(&e);
}

/* A standby manager passes over it. */
static void tell_load(struct node *n, msec_t now_ms)
{
    struct own_figures f = own_load_look(&n->load, now_ms, ev_wall_ms(n->ev));
    struct buf warning;
    struct msg m = { .type = MSG_LOAD,
                     .load = { .cpu_permille = f.cpu_permille, .rss_bytes = f.rss_bytes,
                               .started_ms = f.started_ms, .version = f.version,
                               .late_us = (uint32_t)n->late_ms * 1000, .wall_ms = ev_wall_ms(n->ev) } };

    n->late_ms = 0;
    buf_init(&warning);
    warn(n, &warning);
    buf_byte(&warning, 0);
    m.load.warning = warning.failed ? "" : (const char *)warning.data;
    each_node_peer (n, p)
        if (p->role == RPC_MANAGER && rpc_send(p->ch, &m, 0) < 0)
            n->n.unsent++;
    buf_fini(&warning);
}

void node_tick(struct node *n, msec_t now_ms)
{
    if (n->ticked_ms != 0)
        n->late_ms = ms_max(n->late_ms, now_ms - n->ticked_ms - NODE_TICK_MS);
    n->ticked_ms = now_ms;
    if (now_ms - n->load.looked_ms >= LOAD_EVERY_MS)
        tell_load(n, now_ms);
    if (now_ms - n->began_ms >= READY_ANYWAY_MS)
        node_become_ready(n);
}

bool node_stop(struct node *n)
{
    if (n->stopping)
        return false;
    n->stopping = true;
    log_info("event=stopping");
    rpc_unlisten(n->rpc);
    ev_timer_at(n->gone, ev_now(n->ev) + LAST_WORDS_MS);
    return true;
}

void node_cannot_recover(const struct err *e)
{
    log_error("event=cannot_recover why=%s do=\"it ends, and the supervisor starts it again\"",
              e->text[0] != 0 ? log_q(e->text, strlen(e->text)) : "\"no memory\"");
    _exit(EXIT_FAILURE);
}

const char *const node_journal_modes[] = { "off", "os", "fsync", NULL };

int node_cfg_check(const void *cfg, struct err *e)
{
    const struct node_cfg *c = cfg;

    return cfg_node_check(c->node, e)
        ?: cfg_apart_check("admin", c->admin, "listen", c->listen, e)
        ?: cfg_advertise_check(c->listen, c->advertise, e)
        ?: cfg_tls_check(&c->tls, e)
        ?: cfg_admin_tls_check(&c->admin_tls, e)
        ?: cfg_dials_check("managers", &c->managers, e);
}

int node_cfg_try(const void *cfg, struct err *e)
{
    const struct node_cfg *c = cfg;
    int rc = tls_check_files(&c->tls, e);

    return rc < 0 ? rc : tls_server_check(NULL, &c->admin_tls, cfg_has_cert(&c->admin_tls), e);
}

/* Grows from start to start, as far as the wall clock does. */
static uint64_t incarnation(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_ready(void *ctx)
{
    (void)ctx;
    prog_ready();
}

static void on_gone(void *ctx)
{
    ev_stop(ctx);
}

int node_start(struct node_opts *o, struct cluster_keys *secret, const struct node_cfg *c,
               struct ev *ev, struct err *e)
{
    *o = (struct node_opts){ .secret = secret, .incarnation = incarnation(),
                             .on_ready = on_ready, .on_gone = on_gone, .ctx = ev };
    return keys_cluster(secret, c->secret_file, c->create_keys, e);
}

/* mng_link.c: see mng_link.h. */
#include "router/links/mng_link.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/versions.h"
#include "common/http/admin.h"
#include "common/supervisor/metrics_process.h"
#include "common/supervisor/program.h"
#include "common/wire/codec.h"
#include "router/flow/routes.h"
#include "router/links/flows.h"
#include "router/links/seg_link.h"
#include "router/task_requests/tasking.h"

#define LOG_MODULE "mng_link"

#define LINKS_MAX 16 /* configured, and learnt */

struct mng_link {
    struct mng_links *m; /* ref */
    struct rpc_link *link;
    char addr[256];
    char node[NAME_MAX_LEN + 1]; /* the node's name; "" = not up yet */
    bool up, failed;
    bool stands_by; /* the manager's own word */
    bool outdated;  /* maps of an earlier epoch, or of another store */
    uint64_t store; /* store that its last map is of */
    bool asked_all; /* registered with version 0 and not answered yet */
    bool too_new;   /* maps of a format that we cannot read */
};

struct mng_links {
    struct router *r; /* ref */
    struct ev_timer *timer; /* owned: LOAD */
    struct ev_timer *joins; /* owned: JOINS */
    uint64_t joins_said;
    struct own_load load;
    struct histo before; /* answers up to the last LOAD */
    bool leaves;         /* this process ends in good order */
    size_t n;
    struct mng_link v[LINKS_MAX];
};

static void reg(struct mng_link *l, struct rpc_chan *ch, bool all)
{
    struct router *r = l->m->r;
    struct msg m = { .type = MSG_ROUTER_REG };
    int rc;

    if (!all) {
        m.router_reg.map_version = routes_version(r->routes);
        m.router_reg.map_epoch = routes_epoch(r->routes);
    }
    l->asked_all = all;
    m.router_reg.http = httpd_addr(r->httpd);
    m.router_reg.admin = admin_addr(r->admin);
    m.router_reg.region = r->cfg->region;
    m.router_reg.zone = r->cfg->zone;
    rc = rpc_send(ch, &m, 0);
    if (rc < 0) {
        log_error("event=not_registered manager=%s why=\"%s\"", l->addr, sq_strerror(rc));
        rpc_chan_close(ch, "cannot register");
    }
}

/* Lost rows are told with the next link, or who has left is told that it waits, as last known. */
static void tell_left(const struct mng_links *m, struct rpc_chan *ch, enum leaves_which which)
{
    const struct router *r = m->r;
    struct msg out = { .type = MSG_LEFT };

    out.left.v = malloc(MSG_LEFT_MAX * sizeof(*out.left.v));
    if (out.left.v != NULL)
        out.left.n = leaves_rows(&r->replicas.leaves, which, ev_now(r->ev), out.left.v);
    if (out.left.n > 0)
        (void)!rpc_send(ch, &out, 0);
    free(out.left.v);
}

static void tell_left_to_all(const struct mng_links *m)
{
    for (size_t i = 0; i < m->n; i++) {
        struct rpc_chan *ch = rpc_link_chan(m->v[i].link); /* NULL, too, while one that is up closes */

        if (ch != NULL)
            tell_left(m, ch, LEAVES_NEWS);
    }
}

static void on_new_format(struct mng_link *l, const struct msg_map *m)
{
    l->m->r->counts.maps_refused++;
    if (!l->too_new)
        log_error("event=map_too_new manager=%s format=%" PRIu32 " newest=%d "
                  "do=\"upgrade the router\"", l->addr, m->format, MAP_FORMAT);
    l->too_new = true;
}

static void on_map(struct mng_link *l, struct rpc_chan *ch, const struct msg_map *m)
{
    struct router *r = l->m->r;
    uint64_t before = routes_version(r->routes), epoch = routes_epoch(r->routes);
    int rc = routes_apply(r->routes, m);

    if (rc < 0) {
        r->counts.maps_refused++;
        if (l->asked_all && m->from_version != 0)
            return; /* on its way already */
        /* map of a former leader, or another cluster's: asking again brings the same */
        if (m->epoch < epoch || (rc == SQ_ESTALE && m->from_version == 0)) {
            if (!l->outdated)
                log_warn("event=map_refused manager=%s epoch=%" PRIu64 " here=%" PRIu64
                         " why=\"older, or another manager's\"",
                         l->addr, m->epoch, epoch);
            l->outdated = true;
            return;
        }
        log_warn("event=map_not_applied manager=%s from=%" PRIu64 " version=%" PRIu64
                 " epoch=%" PRIu64 " here=%" PRIu64 " here_epoch=%" PRIu64 " why=\"%s\"",
                 l->addr, m->from_version, m->version, m->epoch, before, epoch,
                 sq_strerror(rc));
        reg(l, ch, true);
        return;
    }
    l->asked_all = l->asked_all && m->from_version != 0;
    l->store = m->store;
    r->counts.maps++;
    if (m->more)
        return;
    if (before == 0)
        log_info("event=first_map version=%" PRIu64 " epoch=%" PRIu64, m->version, m->epoch);
    seg_links_sync(r->segs);
    rflow_map_changed(r);
    queue_names_look(r);
}

/* ---- the leader ------------------------------------------------------------------ */

static int link_dial(struct mng_links *m, const char *addr);

/* Is this manager one of ours? As long as one of our addresses is silent: perhaps. */
static bool is_known(const struct mng_links *m, const char *addr, const char *node)
{
    for (size_t i = 0; i < m->n; i++)
        if (!m->v[i].up || strcmp(m->v[i].addr, addr) == 0 ||
            strcmp(m->v[i].node, node) == 0)
            return true;
    return false;
}

/* We have links to all that we know, so mostly there is nothing to do: the leader's link
 * brings the map. One that the configuration does not name is dialled, too. */
static void on_standby(struct mng_link *l, const char *text)
{
    char addr[64] = "", node[NAME_MAX_LEN + 1] = "";

    (void)sscanf(text, "%63s %64s", addr, node);
    log_info("event=standby_manager manager=%s leader=%s", l->addr,
             addr[0] != 0 ? log_q(addr, strlen(addr)) : "none");
    l->stands_by = true;
    if (addr[0] == 0 || is_known(l->m, addr, node) || l->m->n == LINKS_MAX)
        return;
    if (link_dial(l->m, addr) < 0)
        log_error("event=no_memory what=link manager=%s", log_q(addr, strlen(addr)));
}

/* The nodes do not obey it: if it is its map that we have, then any other is better. */
static void on_stranger(struct mng_link *l)
{
    struct mng_links *m = l->m;

    log_warn("event=manager_not_obeyed manager=%s why=\"no segment node is its\"", l->addr);
    if (l->store == 0 || l->store != routes_store(m->r->routes))
        return;
    routes_disown(m->r->routes);
    for (size_t i = 0; i < m->n; i++) {
        struct rpc_chan *ch = rpc_link_chan(m->v[i].link);

        if (&m->v[i] != l && ch != NULL)
            reg(&m->v[i], ch, true);
    }
}

static void on_error(struct mng_link *l, const struct msg_error *m)
{
    if (m->code == SQ_ENOTLEADER)
        on_standby(l, m->text != NULL ? m->text : "");
    else if (m->code == SQ_ESTALE && m->about == MSG_ROUTER_REG)
        on_stranger(l);
    else
        log_warn("event=refused manager=%s why=\"%s\"", l->addr, sq_strerror(m->code));
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct mng_link *l = ctx;
    struct router *r = l->m->r;
    struct msg m;
    int rc = msg_decode(f->type, f->body, f->len, &r->arena, &m);

    if (rc == 0 && m.type == MSG_MAP && m.map.format > MAP_FORMAT) {
        on_new_format(l, &m.map);
    } else if (rc == 0 && m.type == MSG_MAP) {
        on_map(l, ch, &m.map);
    } else if (rc == 0 && m.type == MSG_STATS) {
        r->counts.stats++;
        routes_stats(r->routes, &m.stats);
        if (replicas_reach(&r->replicas, &m.stats, ev_now(r->ev)))
            tell_left_to_all(l->m);
        pass_clock_told(&r->pass_clock, ev_now(r->ev), m.stats.clock_ms);
    } else if (rc == 0 && m.type == MSG_LEFT) {
        leaves_heard(&r->replicas.leaves, &m.left, ev_now(r->ev));
    } else if (rc == 0 && m.type == MSG_TASK_MAP) {
        tasking_map(r->tasking, l->addr, &m.task_map);
    } else if (rc == 0 && m.type == MSG_ERROR) {
        on_error(l, &m.error);
    } else if (rc == SQ_EUNKNOWN) { /* a newer manager: not for us */
        log_debug("event=unknown_message manager=%s type=%u", l->addr, f->type);
    } else {
        rpc_chan_close(ch, rc == SQ_ENOMEM ? "no memory for a message" : "bad message");
    }
    arena_reset(&r->arena);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct mng_link *l = ctx;

    log_info("event=manager_up manager=%s node=%s", l->addr, peer->node);
    l->up = true;
    l->failed = l->stands_by = l->outdated = l->too_new = false;
    snprintf(l->node, sizeof(l->node), "%s", peer->node);
    reg(l, ch, false);
    tell_left(l->m, ch, LEAVES_ALL);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct mng_link *l = ctx;

    (void)ch;
    log_warn("event=manager_down manager=%s why=%s", l->addr, log_q(why, strlen(why)));
    l->up = false;
    l->asked_all = false;
}

static void on_fail(void *ctx, const char *why)
{
    struct mng_link *l = ctx;

    if (!l->failed)
        log_warn("event=manager_unreachable manager=%s why=%s", l->addr,
                 log_q(why, strlen(why)));
    l->failed = true;
}

static int link_dial(struct mng_links *m, const char *addr)
{
    static const struct rpc_calls calls = {
        .on_up = on_up,
        .on_frame = on_frame,
        .on_down = on_down,
        .on_fail = on_fail,
    };
    struct mng_link *l = &m->v[m->n];

    assert(m->n < LINKS_MAX);
    *l = (struct mng_link){ .m = m };
    snprintf(l->addr, sizeof(l->addr), "%s", addr);
    l->link = rpc_dial(m->r->rpc, l->addr, RPC_MANAGER, &calls, l);
    if (l->link == NULL)
        return SQ_ENOMEM;
    m->n++;
    return 0;
}

/* ---- what this process uses, for operators ------------------------------------------ */

/* 99 of 100 of those between the two took at most so long: the upper end of a bucket. */
static uint32_t p99_us(const struct histo *from, const struct histo *to)
{
    uint64_t n = to->n - from->n, seen = 0;

    for (unsigned b = 0; n > 0 && b < HISTO_BUCKETS; b++) {
        seen += to->count[b] - from->count[b];
        if (seen * 100 >= n * 99)
            return (uint32_t)1 << (b < 31 ? b : 31);
    }
    return 0;
}

static void on_load(void *arg)
{
    struct mng_links *m = arg;
    const struct router *r = m->r;
    msec_t now = ev_now(r->ev), since = now - m->load.looked_ms;
    struct own_figures f = own_load_look(&m->load, now, ev_wall_ms(r->ev));
    struct histo all = r->join_us;
    struct buf warning;
    struct msg out = { .type = MSG_LOAD,
                       .load = { .cpu_permille = f.cpu_permille, .rss_bytes = f.rss_bytes,
                                 .started_ms = f.started_ms, .version = f.version,
                                 .wall_ms = ev_wall_ms(r->ev) } };

    histo_join(&all, &r->poll_us);
    histo_join(&all, &r->leave_us);
    buf_init(&warning);
    rpc_warn(r->rpc, &warning);
    if (prog_refused()[0] != '\0')
        buf_printf(&warning, "%sthe last reload was refused: %s", warning.len > 0 ? "; " : "", prog_refused());
    if (now < r->untold.until)
        buf_printf(&warning, "%s%s", warning.len > 0 ? "; " : "", r->untold.text);
    if (r->names.n > 0)
        buf_printf(&warning, "%s%s", warning.len > 0 ? "; " : "", r->names.text);
    buf_byte(&warning, 0);
    out.load.warning = warning.failed ? "" : (const char *)warning.data;
    out.load.answers = true;
    out.load.leaves = m->leaves;
    out.load.answers_per_s = since > 0 ? (uint32_t)((all.n - m->before.n) * 1000 / (uint64_t)since) : 0;
    out.load.p99_us = p99_us(&m->before, &all);
    m->before = all;
    for (size_t i = 0; i < m->n; i++) {
        struct rpc_chan *ch = rpc_link_chan(m->v[i].link);

        if (ch != NULL)
            (void)!rpc_send(ch, &out, 0); /* for people alone, and the next one comes soon */
    }
    buf_fini(&warning);
    ev_timer_about(m->timer, LOAD_EVERY_MS);
}

void mng_links_leave(struct mng_links *m)
{
    m->leaves = true;
    on_load(m);
}

void mng_links_device(struct mng_links *m, const struct msg_device *d)
{
    struct msg out = { .type = MSG_DEVICE, .device = *d };

    for (size_t i = 0; i < m->n; i++) {
        struct rpc_chan *ch = rpc_link_chan(m->v[i].link);

        if (ch != NULL)
            (void)!rpc_send(ch, &out, 0);
    }
}

#define JOINS_EVERY_MS 1000

/* Lost rows are a second's joins: the next one says more. */
static void on_joins(void *arg)
{
    struct mng_links *m = arg;
    struct join_row rows[MSG_JOINS_MAX];
    struct suspect_row suspects[MSG_SUSPECTS_MAX];
    struct msg out = { .type = MSG_JOINS,
                       .joins = { .n = door_rows(&m->r->door, rows), .v = rows, .suspects = suspects } };
    uint64_t all = m->r->counts.joins;

    if (m->r->cfg->region[0] != '\0')
        out.joins.all = (uint32_t)u64_min(all - m->joins_said, UINT32_MAX);
    m->joins_said = all;
    if (m->r->suspects != NULL)
        m->r->suspects_n = suspects_rows(m->r->suspects, ev_now(m->r->ev), router_wall_s(), suspects,
                                         &out.joins.n_suspects);
    for (size_t i = 0; out.joins.n + out.joins.all + out.joins.n_suspects > 0 && i < m->n; i++) {
        struct rpc_chan *ch = rpc_link_chan(m->v[i].link);

        if (ch != NULL)
            (void)!rpc_send(ch, &out, 0);
    }
    ev_timer_about(m->joins, JOINS_EVERY_MS);
}

struct mng_links *mng_links_new(struct router *r)
{
    const struct cfg_list *addrs = &r->cfg->managers;
    struct mng_links *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    m->r = r;
    r->tell_left = tell_left_to_all;
    m->timer = ev_timer_new(r->ev, on_load, m);
    m->joins = ev_timer_new(r->ev, on_joins, m);
    if (m->timer == NULL || m->joins == NULL) {
        mng_links_free(m);
        return NULL;
    }
    ev_timer_about(m->joins, JOINS_EVERY_MS);
    ev_timer_about(m->timer, LOAD_EVERY_MS);
    for (size_t i = 0; i < addrs->n && i < LINKS_MAX; i++)
        if (link_dial(m, ((char **)addrs->v)[i]) < 0) {
            mng_links_free(m);
            return NULL;
        }
    return m;
}

void mng_links_free(struct mng_links *m)
{
    if (m == NULL)
        return;
    m->r->tell_left = NULL;
    for (size_t i = 0; i < m->n; i++)
        rpc_link_free(m->v[i].link);
    ev_timer_free(m->timer);
    ev_timer_free(m->joins);
    free(m);
}

size_t mng_links_up(const struct mng_links *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += m->v[i].up;
    return n;
}

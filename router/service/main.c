/* main.c: the router process: start, ready, end. */
#include "common/base/log.h"
#include "common/net/tls.h"
#include "common/net/tls_server.h"
#include "common/supervisor/program.h"
#include "router/gate/gate_rules.h"
#include "router/service/dispatch.h"
#include "router/service/service.h"
#include "router/task_requests/tasking.h"

#define LOG_MODULE "router"

#define DRAIN_MAX_MS  5000
#define READY_POLL_MS 20
#define READY_MAX_MS  5000 /* then we serve 503s rather than be thought dead */

static struct router_cfg cfg;
static struct ev *loop;
static struct router *router;
static struct ev_timer *ready, *drain_limit;
static msec_t started;
static bool draining;

static void on_drained(void *arg)
{
    ev_stop(arg);
}

static void stop(void)
{
    if (draining) {
        ev_stop(loop); /* asked twice */
        return;
    }
    draining = true;
    log_info("event=stopping");
    ev_timer_at(drain_limit, ev_now(loop) + DRAIN_MAX_MS);
    router_drain(router, on_drained, loop);
}

/* Ready = has a map and reaches a segment; or has tried for long enough. */
static void on_ready_timer(void *arg)
{
    msec_t now = ev_now(arg);

    if (router_is_ready(router)) {
        log_info("event=ready");
        prog_ready();
    } else if (now - started >= READY_MAX_MS) {
        log_warn("event=not_ready why=\"no chain map or no segment node yet\" "
                 "effect=\"answers are 503\"");
        prog_ready();
    } else {
        ev_timer_at(ready, now + READY_POLL_MS);
    }
}

static int start(struct ev *ev, struct err *e)
{
    int rc = router_new(&router, ev, &cfg, e);

    if (rc < 0)
        return rc;
    if (cfg.coalesce_us != 0)
        log_warn("event=key_ignored key=coalesce_us do=\"take it out of the file\"");
    loop = ev;
    started = ev_now(ev);
    ready = ev_timer_new(ev, on_ready_timer, ev);
    drain_limit = ev_timer_new(ev, on_drained, ev);
    if (ready == NULL || drain_limit == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    ev_timer_at(ready, started + READY_POLL_MS);
    return 0;
}

static int try(const void *c, struct err *e)
{
    const struct router_cfg *r = c;
    struct gate_rules *rules = NULL;
    int rc = tls_check_files(&r->tls, e)
          ?: tls_server_check(NULL, &r->admin_tls, cfg_has_cert(&r->admin_tls), e)
          ?: tasking_try(r, e)
          ?: gate_rules_load(&rules, r->gate_rules.v, r->gate_rules.n, r->gate_country_header, e);

    gate_rules_free(rules);
    return rc < 0 ? rc : tls_server_check("listen_certs", r->listen_certs.v, r->listen_certs.n, e);
}

static void reload(void)
{
    router_reload(router);
}

static void end(void)
{
    router_free(router);
    ev_timer_free(ready);
    ev_timer_free(drain_limit);
}

int main(int argc, char **argv)
{
    static struct program p = {
        .prog = { .name = "router",
                  .what = "answers the players: join, poll, leave",
                  .keys = router_keys,
                  .size = sizeof(struct router_cfg),
                  .check = router_cfg_check,
                  .try = try },
        .cfg = &cfg,
        .log_level = &cfg.log_level,
        .log_file = &cfg.log_file,
        .start = start,
        .stop = stop,
        .reload = reload,
        .end = end,
    };

    return program_main(&p, argc, argv);
}

/* main.c: the router process: start, signals, end. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/supervisor/giveback.h"
#include "common/base/log.h"
#include "common/supervisor/prog.h"
#include "router/service/dispatch.h"
#include "router/service/service.h"

#define LOG_MODULE "router"

#define DRAIN_MAX_MS  5000
#define READY_POLL_MS 20
#define READY_MAX_MS  5000 /* then we serve 503s rather than be thought dead */

struct process {
    struct prog prog;
    struct router_cfg cfg;
    struct ev *ev;
    struct router *router;
    struct ev_timer *ready, *drain_limit;
    struct giveback *memory;
    msec_t started;
    bool draining;
};

static void log_apply(const struct router_cfg *c)
{
    log_set_level((enum log_level)c->log_level);
}

static int log_start(const struct router_cfg *c, struct err *e)
{
    log_apply(c);
    return c->log_file[0] != '\0' ? log_open(c->log_file, e) : 0;
}

static void on_hup(void *arg)
{
    struct process *p = arg;
    struct err e = { 0 };

    log_reopen();
    if (prog_reload(&p->prog, &p->cfg, &e) < 0) {
        log_error("event=reload_refused why=%s", log_q(e.text, strlen(e.text)));
        return;
    }
    log_apply(&p->cfg);
    router_reload(p->router);
    log_info("event=reloaded");
}

static void on_drained(void *arg)
{
    struct process *p = arg;

    assert(p->draining);
    ev_stop(p->ev);
}

static void on_term(void *arg)
{
    struct process *p = arg;

    if (p->draining) {
        ev_stop(p->ev); /* asked twice */
        return;
    }
    p->draining = true;
    log_info("event=stopping");
    ev_timer_at(p->drain_limit, ev_now(p->ev) + DRAIN_MAX_MS);
    router_drain(p->router, on_drained, p);
}

/* Ready = has a map and reaches a segment; or has tried for long enough. */
static void on_ready_timer(void *arg)
{
    struct process *p = arg;
    msec_t now = ev_now(p->ev);

    if (router_is_ready(p->router)) {
        log_info("event=ready");
        prog_ready();
    } else if (now - p->started >= READY_MAX_MS) {
        log_warn("event=not_ready why=\"no chain map or no segment node yet\" "
                 "effect=\"answers are 503\"");
        prog_ready();
    } else {
        ev_timer_at(p->ready, now + READY_POLL_MS);
    }
}

static int start(struct process *p, struct err *e)
{
    int rc = keys_init(e);

    if (rc == 0)
        rc = log_start(&p->cfg, e);
    if (rc == 0)
        rc = ev_new(&p->ev, e);
    if (rc == 0)
        rc = giveback_new(&p->memory, p->ev, e);
    if (rc == 0)
        rc = router_new(&p->router, p->ev, &p->cfg, e);
    if (rc < 0)
        return rc;
    if (p->cfg.coalesce_us != 0)
        log_warn("event=key_ignored key=coalesce_us do=\"take it out of the file\"");
    p->started = ev_now(p->ev);
    p->ready = ev_timer_new(p->ev, on_ready_timer, p);
    p->drain_limit = ev_timer_new(p->ev, on_drained, p);
    if (p->ready == NULL || p->drain_limit == NULL ||
        ev_signal(p->ev, SIGTERM, on_term, p) < 0 ||
        ev_signal(p->ev, SIGINT, on_term, p) < 0 ||
        ev_signal(p->ev, SIGHUP, on_hup, p) < 0)
        return err_set(e, SQ_ENOMEM, "out of memory");
    ev_timer_at(p->ready, p->started + READY_POLL_MS);
    return 0;
}

static void end(struct process *p)
{
    router_free(p->router);
    if (p->ready != NULL)
        ev_timer_free(p->ready);
    if (p->drain_limit != NULL)
        ev_timer_free(p->drain_limit);
    giveback_free(p->memory);
    ev_free(p->ev);
    cfg_clear(&p->cfg, router_keys);
    free(p->prog.sets);
}

int main(int argc, char **argv)
{
    struct process p = {
        .prog = { .name = "router",
                  .what = "answers the players: join, poll, leave",
                  .keys = router_keys,
                  .size = sizeof(struct router_cfg),
                  .check = router_cfg_check },
    };
    struct err e = { 0 };
    int rc = prog_start(&p.prog, argc, argv, &p.cfg);

    if (rc >= 0) {
        cfg_clear(&p.cfg, router_keys);
        free(p.prog.sets);
        return rc;
    }
    signal(SIGPIPE, SIG_IGN);
    rc = start(&p, &e);
    if (rc < 0) {
        log_error("event=cannot_start why=%s", log_q(e.text, strlen(e.text)));
        end(&p);
        return 1;
    }
    ev_run(p.ev);
    log_info("event=stopped");
    end(&p);
    return 0;
}

/* main.c: queuemng: keeps the chains, releases, answers operators. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/supervisor/giveback.h"
#include "common/base/log.h"
#include "common/supervisor/prog.h"
#include "queuemng/service/service.h"

#define LOG_MODULE    "queuemng"
#define LAST_WORDS_MS 100 /* for giving the lease back */

struct program {
    struct prog prog;
    struct mng_cfg cfg;
    struct ev *ev;
    struct giveback *memory;
    struct mng_service *service;
    struct ev_timer *end;
};

static void on_hup(void *arg)
{
    struct program *p = arg;
    struct err e = { 0 };

    log_reopen();
    if (prog_reload(&p->prog, &p->cfg, &e) < 0) {
        log_error("event=reload_refused why=%s", log_q(e.text, strlen(e.text)));
        return;
    }
    log_set_level((enum log_level)p->cfg.log_level);
    mng_service_reload(p->service);
    log_info("event=reloaded");
}

static void on_end(void *arg)
{
    ev_stop(((struct program *)arg)->ev);
}

static void on_term(void *arg)
{
    struct program *p = arg;

    log_info("event=stopping");
    if (mng_service_stop(p->service))
        ev_timer_at(p->end, ev_now(p->ev) + LAST_WORDS_MS);
    else
        ev_stop(p->ev);
}

static int start(struct program *p, struct err *e)
{
    int rc = keys_init(e);

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file limit is an error to report, not our end */
    log_set_level((enum log_level)p->cfg.log_level);
    if (rc == 0)
        rc = log_open(p->cfg.log_file[0] != 0 ? p->cfg.log_file : NULL, e);
    if (rc == 0)
        rc = ev_new(&p->ev, e);
    if (rc == 0)
        rc = giveback_new(&p->memory, p->ev, e);
    if (rc == 0 && (p->end = ev_timer_new(p->ev, on_end, p)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc == 0)
        rc = mng_service_new(&p->service, p->ev, &p->cfg, e);
    if (rc == 0)
        rc = ev_signal(p->ev, SIGTERM, on_term, p);
    if (rc == 0)
        rc = ev_signal(p->ev, SIGINT, on_term, p);
    if (rc == 0)
        rc = ev_signal(p->ev, SIGHUP, on_hup, p);
    return rc;
}

int main(int argc, char **argv)
{
    static struct program p = { .prog = { .name = "queuemng",
                                          .what = "keeps the chains, releases, answers operators",
                                          .keys = mng_keys,
                                          .size = sizeof(struct mng_cfg),
                                          .check = mng_cfg_check } };
    struct err e = { 0 };
    int rc = prog_start(&p.prog, argc, argv, &p.cfg);

    if (rc >= 0) {
        cfg_clear(&p.cfg, mng_keys);
        free(p.prog.sets);
        return rc;
    }
    rc = start(&p, &e);
    if (rc < 0) {
        log_error("event=cannot_start why=%s", log_q(e.text, strlen(e.text)));
    } else {
        prog_ready();
        ev_run(p.ev);
        log_info("event=stopped");
    }
    mng_service_free(p.service);
    if (p.end != NULL)
        ev_timer_free(p.end);
    giveback_free(p.memory);
    if (p.ev != NULL)
        ev_free(p.ev);
    cfg_clear(&p.cfg, mng_keys);
    free(p.prog.sets);
    return rc < 0 ? 1 : 0;
}

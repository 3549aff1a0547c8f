/* main.c: the task process. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/net/ev.h"
#include "common/supervisor/giveback.h"
#include "common/ticket/keys.h"
#include "common/base/log.h"
#include "common/supervisor/prog.h"
#include "task/service/journal.h"
#include "task/service/service.h"

#define LOG_MODULE "main"

struct task_process {
    struct prog prog;
    struct task_cfg cfg;
    struct cluster_keys secret;
    struct ev *ev;
    struct giveback *memory;
    struct task_service *service;
};

static void on_ready(void *ctx)
{
    (void)ctx;
    prog_ready();
}

static void on_gone(void *ctx)
{
    ev_stop(((struct task_process *)ctx)->ev);
}

static void on_term(void *arg)
{
    task_service_stop(((struct task_process *)arg)->service);
}

static void on_hup(void *arg)
{
    struct task_process *m = arg;
    struct err e = { 0 };

    log_reopen();
    if (prog_reload(&m->prog, &m->cfg, &e) < 0) {
        log_error("event=reload_refused why=%s", log_q(e.text, strlen(e.text)));
        return;
    }
    log_set_level((enum log_level)m->cfg.node.log_level);
    log_info("event=reloaded");
}

/* Grows from start to start, as far as the wall clock does. */
static uint64_t incarnation(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int start(struct task_process *m, struct err *e)
{
    struct task_service_opts o = {
        .cfg = &m->cfg,
        .node = { .secret = &m->secret, .incarnation = incarnation(), .on_ready = on_ready,
                  .on_gone = on_gone, .ctx = m },
    };
    int rc = 0;

    log_set_level((enum log_level)m->cfg.node.log_level);
    if (m->cfg.node.log_file[0] != 0)
        rc = log_open(m->cfg.node.log_file, e);
    if (rc == 0)
        rc = keys_cluster(&m->secret, m->cfg.node.secret_file, m->cfg.node.create_keys, e);
    if (rc == 0)
        rc = ev_new(&m->ev, e);
    if (rc == 0)
        rc = giveback_new(&m->memory, m->ev, e);
    if (rc == 0)
        rc = ev_signal(m->ev, SIGTERM, on_term, m);
    if (rc == 0)
        rc = ev_signal(m->ev, SIGINT, on_term, m);
    if (rc == 0)
        rc = ev_signal(m->ev, SIGHUP, on_hup, m);
    return rc < 0 ? rc : task_service_new(&m->service, m->ev, &o, e);
}

static bool is_check(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], "--check-journal") == 0;
}

int main(int argc, char **argv)
{
    static struct task_process m = {
        .prog = { .name = "task",
                  .what = "holds tasks that wait for workers "
                          "(task --check-journal DIR: reads and explains a journal)",
                  .keys = task_cfg_keys,
                  .size = sizeof(struct task_cfg),
                  .check = node_cfg_check },
    };
    struct err e = { 0 };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    if (keys_init(&e) < 0) {
        fprintf(stderr, "task: %s\n", e.text);
        return 1;
    }
    if (is_check(argc, argv))
        return task_journal_check(argv[2], stdout);
    rc = prog_start(&m.prog, argc, argv, &m.cfg);
    if (rc < 0) {
        rc = start(&m, &e) < 0;
        if (rc == 0)
            ev_run(m.ev);
        else
            log_error("event=cannot_start why=%s", log_q(e.text, strlen(e.text)));
    }
    task_service_free(m.service);
    giveback_free(m.memory);
    ev_free(m.ev);
    keys_wipe(&m.secret, sizeof(m.secret));
    cfg_clear(&m.cfg, task_cfg_keys);
    return rc;
}

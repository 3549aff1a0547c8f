/* program.c: see program.h. */
#include "common/supervisor/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/supervisor/giveback.h"
#include "common/ticket/keys.h"

#define LOG_MODULE "program"

static void on_term(void *arg)
{
    ((struct program *)arg)->stop();
}

static void on_hup(void *arg)
{
    struct program *p = arg;
    struct err e = { 0 };

    log_reopen();
    if (prog_reload(&p->prog, p->cfg, &e) < 0) {
        log_error("event=reload_refused why=%s", log_q(e.text, strlen(e.text)));
        return;
    }
    log_set_level((enum log_level)*p->log_level);
    if (p->reload != NULL)
        p->reload();
    log_info("event=reloaded");
}

static int start(struct program *p, struct ev *ev, struct giveback **memory, struct err *e)
{
    const char *log_file = *p->log_file;
    int rc = log_file[0] != '\0' ? log_open(log_file, e) : 0;

    if (rc == 0)
        rc = giveback_new(memory, ev, e);
    if (rc == 0)
        rc = ev_signal(ev, SIGTERM, on_term, p);
    if (rc == 0)
        rc = ev_signal(ev, SIGINT, on_term, p);
    if (rc == 0)
        rc = ev_signal(ev, SIGHUP, on_hup, p);
    return rc < 0 ? rc : p->start(ev, e);
}

static int run(struct program *p)
{
    struct giveback *memory = NULL;
    struct ev *ev = NULL;
    struct err e = { 0 };
    int rc;

    log_set_level((enum log_level)*p->log_level);
    rc = ev_new(&ev, &e);
    if (rc == 0)
        rc = start(p, ev, &memory, &e);
    if (rc < 0) {
        log_error("event=cannot_start why=%s", log_q(e.text, strlen(e.text)));
    } else {
        ev_run(ev);
        log_info("event=stopped");
    }
    p->end();
    giveback_free(memory);
    ev_free(ev);
    return rc < 0;
}

int program_main(struct program *p, int argc, char **argv)
{
    struct err e = { 0 };
    int rc;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file limit is an error to report, not our end */
    if (keys_init(&e) < 0) {
        fprintf(stderr, "%s: %s\n", p->prog.name, e.text);
        return 1;
    }
    if (p->check_journal != NULL && argc == 3 && strcmp(argv[1], "--check-journal") == 0)
        return p->check_journal(argv[2], stdout);
    rc = prog_start(&p->prog, argc, argv, p->cfg);
    if (rc < 0)
        rc = run(p);
    cfg_clear(p->cfg, p->prog.keys);
    free(p->prog.sets);
    return rc;
}

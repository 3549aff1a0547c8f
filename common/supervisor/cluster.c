/* cluster.c: the supervisor's main(): lock, adopt, start, reload, end.
 *
 *   signals, children's events -> child_feed()
 *   end of each turn           -> cluster_sweep(): frees children that are down and not
 *                                 wanted, restarts one whose arguments or program are old,
 *                                 tells our own supervisor once that all are up, publishes status.
 */
#define _GNU_SOURCE
#include "common/supervisor/cluster.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/supervisor/cluster_args.h"
#include "common/supervisor/cluster_child.h"

#define LOG_MODULE "cluster"
#include "common/base/file.h"
#include "common/base/log.h"

/* ---- status ---------------------------------------------------------------------------
 */

static int publish(struct cluster *cl, struct err *e)
{
    struct cluster_status s = { .pid = getpid(), .n = cl->n };
    int rc;

    snprintf(s.name, sizeof(s.name), "%s", cl->cfg.name);
    s.v = calloc(cl->n + 1, sizeof(*s.v));
    if (s.v == NULL)
        return err_set(e, SQ_ENOMEM, "status");
    for (size_t i = 0; i < cl->n; i++)
        child_entry(cl->child[i], &s.v[i]);
    rc = cluster_status_write(cl->status_path, &s, e);
    free(s.v);
    return rc;
}

/* A full disk must not end or block supervision: said once, tried again at every change.
 */
static void publish_if_dirty(struct cluster *cl)
{
    struct err e = { 0 };
    bool failed;

    if (!cl->dirty)
        return;
    cl->dirty = false;
    failed = publish(cl, &e) < 0;
    if (failed && !cl->write_failed)
        log_error("event=status_not_written why=\"%s\"", e.text);
    cl->write_failed = failed;
}

/* ---- the end of each turn -------------------------------------------------------------
 */

static bool wanted(const struct cluster *cl, const struct child *c)
{
    return !cl->ending && c->index < (unsigned)cl->cfg.children;
}

/* Only from the end: the array has no gaps. */
static void drop_ended(struct cluster *cl)
{
    while (cl->n > 0) {
        struct child *c = cl->child[cl->n - 1];

        assert(c->index == cl->n - 1);
        if (c->sup.state != SUP_DOWN || wanted(cl, c))
            return;
        child_free(c);
        cl->n--;
        cl->dirty = true;
    }
}

static bool all_up(const struct cluster *cl)
{
    for (size_t i = 0; i < cl->n; i++)
        if (cl->child[i]->sup.state != SUP_UP)
            return false;
    return cl->n > 0;
}

/* Restarts a single child at a time, and only while all others serve. */
static void roll(struct cluster *cl)
{
    for (size_t i = 0; i < cl->n; i++) {
        struct child *c = cl->child[i];

        if (c->args_hash == c->wanted_hash)
            continue;
        log_info("event=restart child=%s why=\"its arguments or its program changed\"", c->name);
        child_feed(c, SUP_EV_RESTART);
        return;
    }
}

static void cluster_sweep(void *arg)
{
    struct cluster *cl = arg;

    drop_ended(cl);
    if (!cl->ending && all_up(cl)) {
        if (!cl->told_ready)
            prog_ready();
        cl->told_ready = true;
        roll(cl);
    }
    publish_if_dirty(cl);
    if (cl->ending && cl->n == 0)
        ev_stop(cl->ev);
}

/* ---- start, reload, end ---------------------------------------------------------------
 */

static int add_child(struct cluster *cl)
{
    struct child **v = reallocarray(cl->child, cl->n + 1, sizeof(*v));
    struct child *c;

    if (v == NULL)
        return SQ_ENOMEM;
    cl->child = v;
    c = child_new(cl, (unsigned)cl->n);
    if (c == NULL)
        return SQ_ENOMEM;
    v[cl->n++] = c;
    return 0;
}

/* Brings the children to what the configuration says. */
static void apply(struct cluster *cl)
{
    cl->opts.grace_ms = (uint32_t)cl->cfg.grace_ms;
    cl->opts.ready_ms = (uint32_t)cl->cfg.ready_ms;
    cl->opts.backoff_max_ms = (uint32_t)cl->cfg.restart_max_ms;
    while (cl->n < (size_t)cl->cfg.children)
        if (add_child(cl) < 0) {
            log_error("event=child_not_added why=\"no memory\"");
            break;
        }
    for (size_t i = 0; i < cl->n; i++) {
        child_want(cl->child[i]);
        child_feed(cl->child[i], wanted(cl, cl->child[i]) ? SUP_EV_START : SUP_EV_STOP);
    }
}

static void on_hup(void *arg)
{
    struct cluster *cl = arg;
    struct err e = { 0 };

    log_reopen();
    if (cl->ending)
        return;
    if (prog_reload(&cl->prog, &cl->cfg, &e) < 0) {
        log_error("event=reload_refused why=\"%s\"", e.text);
        return;
    }
    log_set_level((enum log_level)cl->cfg.log_level);
    if (cluster_program(cl->kind, &cl->cfg, cl->program_path, sizeof(cl->program_path), &e) < 0)
        log_error("event=program_not_found why=\"%s\"", e.text);
    log_info("event=reloaded children=%" PRId64, cl->cfg.children);
    for (size_t i = 0; i < cl->n; i++)
        child_feed(cl->child[i], SUP_EV_RELOAD);
    apply(cl);
    cl->dirty = true;
}

static void on_term(void *arg)
{
    struct cluster *cl = arg;

    if (!cl->ending)
        log_info("event=ending children=%zu", cl->n);
    cl->ending = true;
    for (size_t i = 0; i < cl->n; i++)
        child_feed(cl->child[i], SUP_EV_STOP);
}

/* The index in "<name>.<index>", or -1. */
static long entry_index(const struct cluster *cl, const char *name)
{
    size_t n = strlen(cl->cfg.name);
    char *end;
    long i;

    if (strncmp(name, cl->cfg.name, n) != 0 || name[n] != '.')
        return -1;
    i = strtol(name + n + 1, &end, 10);
    return *end == 0 && i >= 0 && i < 256 ? i : -1;
}

/* Children of an earlier supervisor, also those beyond the present number: they are
 * adopted first and then ended in the usual way. */
static int adopt(struct cluster *cl, struct err *e)
{
    struct cluster_status s;
    int rc = cluster_status_read(cl->status_path, &s, e);

    if (rc < 0) { /* ours alone, written by rename: a broken one is somebody's edit */
        log_error("event=status_not_read why=\"%s\"", e->text);
        return 0;
    }
    for (size_t k = 0; k < s.n && rc == 0; k++) {
        long i = entry_index(cl, s.v[k].name);

        while (rc == 0 && i >= 0 && cl->n <= (size_t)i)
            rc = add_child(cl);
        if (rc == 0 && i >= 0 && cl->child[i]->sup.state == SUP_DOWN)
            (void)child_adopt(cl->child[i], &s.v[k]);
    }
    free(s.v);
    return rc < 0 ? err_set(e, rc, "adopt children") : 0;
}

static int make_dir(const char *path, struct err *e)
{
    return path[0] != 0 ? file_make_dir(path, 0750, e) : 0;
}

static int lock(struct cluster *cl, struct err *e)
{
    const struct cluster_cfg *c = &cl->cfg;

    if (make_dir(c->state_dir, e) < 0 || make_dir(c->log_dir, e) < 0)
        return e->code;
    snprintf(cl->lock_path, sizeof(cl->lock_path), "%s/%s.lock", c->state_dir, c->name);
    snprintf(cl->status_path, sizeof(cl->status_path), "%s/%s.status.json", c->state_dir,
             c->name);
    /* Close-on-exec: a child that outlives us must not hold it. */
    cl->lock_fd = open(cl->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (cl->lock_fd < 0)
        return err_set(e, SQ_ESYS, "open %s: %s", cl->lock_path, strerror(errno));
    if (flock(cl->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, SQ_ECONFLICT, "%s: another supervisor named %s is running",
                       cl->lock_path, c->name);
    return 0;
}

static int open_cluster(struct cluster *cl, struct err *e)
{
    if (lock(cl, e) < 0 || ev_new(&cl->ev, e) < 0)
        return e->code;
    rng_seed(&cl->rng, (uint64_t)ev_wall_ms(cl->ev) ^ ((uint64_t)getpid() << 40));
    if (ev_signal(cl->ev, SIGHUP, on_hup, cl) < 0 ||
        ev_signal(cl->ev, SIGTERM, on_term, cl) < 0 ||
        ev_signal(cl->ev, SIGINT, on_term, cl) < 0 ||
        ev_hook(cl->ev, 0, cluster_sweep, cl) < 0)
        return err_set(e, SQ_ENOMEM, "event loop");
    return adopt(cl, e);
}

static void close_cluster(struct cluster *cl)
{
    for (size_t i = 0; i < cl->n; i++)
        child_free(cl->child[i]);
    free(cl->child);
    if (cl->ev != NULL)
        ev_free(cl->ev);
    if (cl->lock_fd >= 0)
        close(cl->lock_fd);
    cfg_clear(&cl->cfg, cl->kind->keys);
}

static int fail(const struct cluster *cl, const struct err *e)
{
    fprintf(stderr, "%s: %s\n", cl->kind->program, e->text);
    return 1;
}

static int supervise(struct cluster *cl)
{
    struct err e = { 0 };
    int rc = 0;

    if (open_cluster(cl, &e) < 0) {
        rc = fail(cl, &e);
    } else {
        log_info("event=supervising name=%s pid=%ld children=%" PRId64, cl->cfg.name,
                 (long)getpid(), cl->cfg.children);
        cl->dirty = true;
        apply(cl);
        cluster_sweep(cl); /* with adopted children alone the first turn may be long in coming */
        ev_run(cl->ev);
        log_info("event=supervisor_ended");
    }
    close_cluster(cl);
    return rc;
}

/* prog_start() closed it for children of ours; this one is to be us. */
static void keep_ready_fd(void)
{
    const char *fd = getenv("SEGQ_READY_FD");

    if (fd != NULL)
        (void)fcntl(atoi(fd), F_SETFD, 0);
}

/* A single child needs no parent: the init system watches it as it would watch us. */
static int become_child(struct cluster *cl)
{
    struct cluster_args a;
    struct err e = { 0 };

    if (cluster_args_make(&a, &cl->cfg, cl->program_path, 0, &e) < 0)
        return fail(cl, &e);
    keep_ready_fd();
    execv(a.v[0], a.v);
    err_set(&e, SQ_ESYS, "exec %s: %s", a.v[0], strerror(errno));
    cluster_args_free(&a);
    return fail(cl, &e);
}

static struct cluster the_cluster; /* program.h's check and try know no context */

static int check_cfg(const void *cfg, struct err *e)
{
    return cluster_check(the_cluster.kind, cfg, e);
}

/* Child 0's command line by this configuration, as a number. 0: no memory. */
static uint64_t line_of(const struct cluster *cl, const struct cluster_cfg *c)
{
    char path[PATH_MAX];
    struct cluster_args a;
    uint64_t hash;

    if (cluster_program(cl->kind, c, path, sizeof(path), NULL) < 0 ||
        cluster_args_make(&a, c, path, 0, NULL) < 0)
        return 0;
    hash = a.hash;
    cluster_args_free(&a);
    return hash;
}

/* With -t, and before a reload that would start children anew. Those that go on with the same
 * arguments are not asked: they read their file themselves, and refuse it themselves. */
static int try_cfg(const void *cfg, struct err *e)
{
    const struct cluster *cl = &the_cluster;
    bool same = cl->n > 0 && line_of(cl, &cl->cfg) == line_of(cl, cfg);

    return same ? 0 : cluster_try(cl->kind, cfg, e);
}

int cluster_main(const struct cluster_kind *k, int argc, char **argv)
{
    struct cluster *cl = &the_cluster;
    struct err e = { 0 };
    int rc;

    cl->kind = k;
    cl->lock_fd = -1;
    cl->prog = (struct prog) {
        .name = k->program,
        .what = k->what,
        .keys = k->keys,
        .size = sizeof(cl->cfg),
        .check = check_cfg,
        .try = try_cfg,
        .try_at_hup = true,
    };
    rc = prog_start(&cl->prog, argc, argv, &cl->cfg);
    if (rc >= 0) {
        cfg_clear(&cl->cfg, cl->prog.keys);
        free(cl->prog.sets);
        return rc;
    }
    log_set_level((enum log_level)cl->cfg.log_level);
    if (cluster_program(k, &cl->cfg, cl->program_path, sizeof(cl->program_path), &e) < 0)
        return fail(cl, &e);
    if (cl->cfg.fork == CLUSTER_AUTO && cl->cfg.children == 1)
        return become_child(cl);
    if (cl->cfg.log_file[0] != 0 && log_open(cl->cfg.log_file, &e) < 0)
        return fail(cl, &e);
    return supervise(cl);
}

/* cluster_child.c: one child of a supervisor: performs what the table decides.
 *
 *   fork, exec ---> readiness descriptor, pidfd, timer ---> events ---> sup_step() --->
 * act
 *
 * Nothing here frees a child or feeds an event from inside an act: an exec that failed is
 * posted as an exit, ended children are swept at the end of the turn. */
#include "common/supervisor/cluster_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/supervisor/cluster_args.h"

#define LOG_MODULE "cluster"

/* ---- the status file: a supervisor publishes it, its successor reads it ---- */

/* Changes with every boot: pids and start times of an earlier one mean nothing. */
static void boot_id(char *out, size_t cap)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, cap - 1) : 0;

    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    if (fd >= 0)
        close(fd);
}

static json_t *entry_json(const struct cluster_entry *c)
{
    char hash[20];

    snprintf(hash, sizeof(hash), "%016" PRIx64, c->args_hash);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:s, s:s}", "name", c->name,
                     "state", c->state, "pid", (json_int_t)c->pid, "start_ticks",
                     (json_int_t)c->start_ticks, "restarts", (json_int_t)c->restarts,
                     "since", (json_int_t)c->since_s, "listen", c->listen, "admin",
                     c->admin, "args", hash);
}

static json_t *status_json(const struct cluster_status *s)
{
    json_t *kids = json_array();
    char boot[64];

    boot_id(boot, sizeof(boot));
    for (size_t i = 0; i < s->n; i++)
        if (json_array_append_new(kids, entry_json(&s->v[i])) < 0) {
            json_decref(kids);
            return NULL;
        }
    return json_pack("{s:s, s:I, s:s, s:o}", "name", s->name, "pid", (json_int_t)s->pid,
                     "boot_id", boot, "children", kids);
}

int cluster_status_write(const char *path, const struct cluster_status *s, struct err *e)
{
    json_t *j = status_json(s);
    char *text = j != NULL ? json_dumps(j, JSON_INDENT(1)) : NULL;
    char tmp[4200];
    int fd = -1, rc = 0;

    json_decref(j);
    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "status %s", path);
    snprintf(tmp, sizeof(tmp), "%s.new", path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0 || file_write_all(fd, "\n", 1) < 0 ||
        rename(tmp, path) < 0)
        rc = err_set(e, SQ_ESYS, "write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}

static void copy_text(char *out, size_t cap, const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));

    snprintf(out, cap, "%s", s != NULL ? s : "");
}

static int64_t number(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

static void entry_from(struct cluster_entry *c, const json_t *j)
{
    char hash[20];

    copy_text(c->name, sizeof(c->name), j, "name");
    copy_text(c->state, sizeof(c->state), j, "state");
    copy_text(c->listen, sizeof(c->listen), j, "listen");
    copy_text(c->admin, sizeof(c->admin), j, "admin");
    copy_text(hash, sizeof(hash), j, "args");
    c->args_hash = strtoull(hash, NULL, 16);
    c->pid = number(j, "pid");
    c->start_ticks = (uint64_t)number(j, "start_ticks");
    c->restarts = (uint64_t)number(j, "restarts");
    c->since_s = number(j, "since");
}

static int status_from(struct cluster_status *s, const json_t *j)
{
    const json_t *kids = json_object_get(j, "children");
    size_t n = json_array_size(kids);
    char now[64], then[64];

    boot_id(now, sizeof(now));
    copy_text(then, sizeof(then), j, "boot_id");
    copy_text(s->name, sizeof(s->name), j, "name");
    if (strcmp(now, then) != 0 || n == 0)
        return 0;
    s->v = calloc(n, sizeof(*s->v));
    if (s->v == NULL)
        return SQ_ENOMEM;
    s->pid = number(j, "pid");
    for (s->n = 0; s->n < n; s->n++)
        entry_from(&s->v[s->n], json_array_get(kids, s->n));
    return 0;
}

int cluster_status_read(const char *path, struct cluster_status *s, struct err *e)
{
    json_error_t why;
    json_t *j;
    int rc;

    *s = (struct cluster_status) { .n = 0 };
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    j = json_load_file(path, 0, &why);
    if (j == NULL)
        return err_set(e, SQ_EINVAL, "%s: line %d: %s", path, why.line, why.text);
    rc = status_from(s, j);
    json_decref(j);
    return rc < 0 ? err_set(e, rc, "read %s", path) : 0;
}

/* ---- one child ---- */

static void on_due(void *arg)
{
    child_feed(arg, SUP_EV_DUE);
}

struct child *child_new(struct cluster *cl, unsigned index)
{
    struct child *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->cl = cl;
    c->index = index;
    c->since_s = ev_wall_ms(cl->ev) / 1000;
    snprintf(c->name, sizeof(c->name), "%s.%u", cl->cfg.name, index);
    sup_init(&c->sup);
    spawn_init(&c->proc);
    c->timer = ev_timer_new(cl->ev, on_due, c);
    if (c->timer == NULL) {
        child_free(c);
        return NULL;
    }
    return c;
}

static void unwatch(struct child *c)
{
    if (c->exit_io != NULL)
        ev_io_free(c->exit_io);
    if (c->ready_io != NULL)
        ev_io_free(c->ready_io);
    c->exit_io = c->ready_io = NULL;
    spawn_close(&c->proc);
}

void child_free(struct child *c)
{
    if (c == NULL)
        return;
    unwatch(c);
    if (c->timer != NULL)
        ev_timer_free(c->timer);
    free(c->listen);
    free(c->admin);
    free(c);
}

/* ---- what happens to the process ------------------------------------------------------
 */

/* Posted: the process has ended, or could not be started. */
static void on_gone(void *arg)
{
    struct child *c = arg;
    char how[40];
    long pid = (long)c->proc.pid;

    if (!spawn_ended(&c->proc, how, sizeof(how))) { /* woken for nothing */
        if (c->exit_io != NULL && ev_io_set(c->exit_io, EV_IO_READ) < 0)
            log_error("event=unwatched child=%s pid=%ld", c->name, pid);
        return;
    }
    unwatch(c);
    if (pid != 0)
        log_line(c->sup.state == SUP_ENDING || c->sup.state == SUP_BOUNCING ? LOG_INFO
                                                                            : LOG_WARN,
                 LOG_MODULE, "event=child_exited child=%s pid=%ld how=\"%s\"", c->name, pid,
                 how);
    child_feed(c, SUP_EV_EXIT);
}

static void on_exit_io(void *arg, unsigned what)
{
    struct child *c = arg;

    (void)what;
    if (ev_io_set(c->exit_io, 0) < 0)
        log_error("event=unwatched child=%s", c->name);
    ev_post(c->cl->ev, on_gone, c);
}

static void on_ready_io(void *arg, unsigned what)
{
    struct child *c = arg;
    int rc = spawn_read_ready(&c->proc);

    (void)what;
    if (rc == 0)
        return;
    if (ev_io_set(c->ready_io, 0) < 0)
        log_error("event=unwatched child=%s", c->name);
    if (rc > 0)
        child_feed(c, SUP_EV_READY);
    /* Closed without a word: its end or the time-out decides. */
}

static int watch(struct child *c)
{
    struct ev *ev = c->cl->ev;

    c->exit_io = ev_io_new(ev, c->proc.pidfd, on_exit_io, c);
    if (c->exit_io == NULL || ev_io_set(c->exit_io, EV_IO_READ) < 0)
        return SQ_ENOMEM;
    if (c->proc.ready_fd < 0)
        return 0;
    c->ready_io = ev_io_new(ev, c->proc.ready_fd, on_ready_io, c);
    if (c->ready_io == NULL || ev_io_set(c->ready_io, EV_IO_READ) < 0)
        return SQ_ENOMEM;
    return 0;
}

/* ---- the program's file ----------------------------------------------------------------
 */

/* The identity of the file to which the program's path leads now: another one after an upgrade in
 * place, or after a link has been turned. False: none, it is just being replaced. */
static bool program_id(const char *path, uint64_t *id)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return false;
    *id = st.st_ino;
    *id = *id * 1000003 ^ (uint64_t)st.st_dev;
    *id = *id * 1000003 ^ (uint64_t)st.st_size;
    *id = *id * 1000003 ^ (uint64_t)st.st_mtim.tv_sec;
    *id = *id * 1000003 ^ (uint64_t)st.st_mtim.tv_nsec;
    return true;
}

/* ---- acts -----------------------------------------------------------------------------
 */

static int start_process(struct child *c, struct cluster_args *a, struct err *e)
{
    const struct cluster_cfg *cfg = &c->cl->cfg;
    uint64_t id = 0;
    char log[4200];

    (void)program_id(c->cl->program_path, &id); /* spawn_start() says that it is missing */
    snprintf(log, sizeof(log), "%s/%s.log", cfg->log_dir, c->name);
    if (spawn_start(&c->proc, (const char *const *)a->v,
                    cfg->log_dir[0] != 0 ? log : NULL, e) < 0)
        return e->code;
    if (watch(c) < 0) { /* a child that cannot be watched must not run */
        (void)!spawn_signal(&c->proc, SIGKILL);
        return err_set(e, SQ_ENOMEM, "watch %s", c->name);
    }
    free(c->listen);
    free(c->admin);
    c->listen = a->listen;
    c->admin = a->admin;
    a->listen = a->admin = NULL;
    c->args_hash = c->wanted_hash = a->hash ^ id;
    return 0;
}

static void spawn(struct child *c)
{
    struct cluster_args a;
    struct err e = { 0 };
    int rc;

    assert(c->proc.pid == 0 && c->exit_io == NULL && c->ready_io == NULL);
    rc = cluster_args_make(&a, &c->cl->cfg, c->cl->program_path, c->index, &e);
    if (rc == 0)
        rc = start_process(c, &a, &e);
    cluster_args_free(&a);
    if (rc == 0) {
        log_info("event=started child=%s pid=%ld try=%" PRIu32, c->name,
                 (long)c->proc.pid, c->sup.tries);
        return;
    }
    log_error("event=start_failed child=%s why=\"%s\"", c->name, e.text);
    ev_post(c->cl->ev, on_gone, c);
}

static void send_signal(struct child *c, int signo)
{
    int rc = spawn_signal(&c->proc, signo);

    log_debug("event=signal child=%s pid=%ld signal=%d", c->name, (long)c->proc.pid, signo);
    if (rc < 0 && rc != SQ_EGONE) /* gone: its end is on the way */
        log_error("event=signal_failed child=%s pid=%ld signal=%d", c->name,
                  (long)c->proc.pid, signo);
}

static void perform(struct child *c, enum sup_act act)
{
    switch (act) {
    case SUP_ACT_NONE:
        break;
    case SUP_ACT_SPAWN:
        spawn(c);
        break;
    case SUP_ACT_TERM:
        send_signal(c, SIGTERM);
        break;
    case SUP_ACT_KILL:
        log_warn("event=child_killed child=%s pid=%ld why=\"did not end in time\"", c->name,
                 (long)c->proc.pid);
        send_signal(c, SIGKILL);
        break;
    case SUP_ACT_HUP:
        send_signal(c, SIGHUP);
        break;
    }
}

void child_feed(struct child *c, enum sup_event ev)
{
    enum sup_state was = c->sup.state;
    enum sup_act act =
        sup_step(&c->sup, &c->cl->opts, ev, ev_now(c->cl->ev), &c->cl->rng);

    if (was != c->sup.state) {
        c->since_s = ev_wall_ms(c->cl->ev) / 1000;
        c->cl->dirty = true;
        log_info("event=child_state child=%s state=%s>%s by=%s", c->name, sup_state_name(was),
                 sup_state_name(c->sup.state), sup_event_name(ev));
        if (ev == SUP_EV_DUE && was == SUP_STARTING)
            log_warn("event=not_ready_in_time child=%s", c->name);
    }
    ev_timer_at(c->timer, c->sup.due_ms);
    perform(c, act);
}

bool child_adopt(struct child *c, const struct cluster_entry *was)
{
    struct err e = { 0 };

    assert(c->sup.state == SUP_DOWN && c->proc.pid == 0);
    if (spawn_adopt(&c->proc, (pid_t)was->pid, was->start_ticks, &e) < 0) {
        log_info("event=not_adopted child=%s why=\"%s\"", c->name, e.text);
        return false;
    }
    if (watch(c) < 0) {
        log_error("event=not_adopted child=%s why=\"no memory\"", c->name);
        unwatch(c);
        return false;
    }
    c->listen = strdup(was->listen);
    c->admin = strdup(was->admin);
    c->args_hash = was->args_hash;
    c->sup.restarts = was->restarts;
    log_info("event=adopted child=%s pid=%ld", c->name, (long)was->pid);
    child_feed(c, SUP_EV_ADOPT);
    return true;
}

void child_want(struct child *c)
{
    struct cluster_args a;
    uint64_t id;
    struct err e = { 0 };

    if (cluster_args_make(&a, &c->cl->cfg, c->cl->program_path, c->index, &e) < 0) {
        log_error("event=arguments_failed child=%s why=\"%s\"", c->name, e.text);
        return;
    }
    if (program_id(c->cl->program_path, &id))
        c->wanted_hash = a.hash ^ id;
    else
        log_error("event=program_not_found child=%s path=\"%s\"", c->name, c->cl->program_path);
    cluster_args_free(&a);
}

void child_entry(const struct child *c, struct cluster_entry *out)
{
    *out = (struct cluster_entry) {
        .pid = c->proc.pid,
        .start_ticks = c->proc.pid != 0 ? c->proc.start_ticks : 0,
        .restarts = c->sup.restarts,
        .args_hash = c->args_hash,
        .since_s = c->since_s,
    };
    memcpy(out->name, c->name, sizeof(out->name));
    snprintf(out->state, sizeof(out->state), "%s", sup_state_name(c->sup.state));
    snprintf(out->listen, sizeof(out->listen), "%s", c->listen != NULL ? c->listen : "");
    snprintf(out->admin, sizeof(out->admin), "%s", c->admin != NULL ? c->admin : "");
}

/* cluster_args.c: from a cluster's configuration to one child's program and command line (pure), and
 * a try of them: the child itself says whether it would start. */
#define _GNU_SOURCE /* asprintf, pipe2 */
#include "common/supervisor/cluster_args.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/config/cfg_check.h"
#include "common/net/ev.h"

#define MAX_FIXED_ARGS 16 /* program, -c FILE, node, listen, admin, managers, NULL */

static const char *const *strs(const struct cfg_list *l)
{
    return l->v;
}

/* "host:port" with port + add; port 0 (any free one) stays 0. NULL: no memory. */
static char *addr_plus(const char *addr, int64_t add)
{
    const char *colon = strrchr(addr, ':');
    long port = strtol(colon + 1, NULL, 10);
    char *out;

    if (asprintf(&out, "%.*s:%" PRId64, (int)(colon - addr), addr,
                 port == 0 ? 0 : port + add) < 0)
        return NULL;
    return out;
}

static int64_t port_of(const char *addr)
{
    return strtol(strrchr(addr, ':') + 1, NULL, 10);
}

/* Takes s, which may be NULL for want of memory. */
static int add_take(struct cluster_args *a, char *s)
{
    if (s == NULL)
        return SQ_ENOMEM;
    a->v[a->n++] = s;
    return 0;
}

static int add_set(struct cluster_args *a, const char *key, const char *value)
{
    char *s;

    if (add_take(a, strdup("--set")) < 0 || asprintf(&s, "%s=%s", key, value) < 0)
        return SQ_ENOMEM;
    return add_take(a, s);
}

static char *join_managers(const struct cluster_cfg *c)
{
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < c->managers.n; i++) {
        if (i > 0)
            buf_byte(&b, ',');
        buf_str(&b, strs(&c->managers)[i]);
    }
    buf_byte(&b, 0);
    if (b.failed)
        buf_fini(&b);
    return (char *)b.data; /* taken from the buf: its memory is malloc's */
}

static int add_managers(struct cluster_args *a, const struct cluster_cfg *c)
{
    char *list;
    int rc;

    if (c->managers.n == 0)
        return 0;
    list = join_managers(c);
    if (list == NULL)
        return SQ_ENOMEM;
    rc = add_set(a, "managers", list);
    free(list);
    return rc;
}

static int add_all(struct cluster_args *a, const struct cluster_cfg *c, const char *path,
                   unsigned i)
{
    char node[NAME_MAX_LEN + 12];

    if (add_take(a, strdup(path)) < 0)
        return SQ_ENOMEM;
    if (c->config[0] != 0 &&
        (add_take(a, strdup("-c")) < 0 || add_take(a, strdup(c->config)) < 0))
        return SQ_ENOMEM;
    snprintf(node, sizeof(node), "%s.%u", c->name, i);
    if (add_set(a, "node", node) < 0 || add_set(a, "listen", a->listen) < 0 ||
        add_set(a, "admin", a->admin) < 0 || add_managers(a, c) < 0)
        return SQ_ENOMEM;
    for (size_t k = 0; k < c->set.n; k++)
        if (add_take(a, strdup("--set")) < 0 || add_take(a, strdup(strs(&c->set)[k])) < 0)
            return SQ_ENOMEM;
    return 0;
}

/* FNV-1a; tells command lines apart, nothing hostile. */
static uint64_t hash_args(const struct cluster_args *a)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < a->n; i++)
        for (const char *p = a->v[i];; p++) {
            h = (h ^ (uint8_t)*p) * 0x100000001b3u;
            if (*p == 0)
                break;
        }
    return h;
}

int cluster_args_make(struct cluster_args *a, const struct cluster_cfg *c,
                      const char *path, unsigned i, struct err *e)
{
    *a = (struct cluster_args) { .v = NULL };
    a->v = calloc(MAX_FIXED_ARGS + 2 * c->set.n, sizeof(*a->v));
    a->listen = addr_plus(c->listen, (int64_t)i * c->port_step);
    a->admin = addr_plus(c->admin, i);
    if (a->v == NULL || a->listen == NULL || a->admin == NULL ||
        add_all(a, c, path, i) < 0) {
        cluster_args_free(a);
        return err_set(e, SQ_ENOMEM, "arguments of %s.%u", c->name, i);
    }
    assert(a->n < MAX_FIXED_ARGS + 2 * c->set.n && a->v[a->n] == NULL);
    a->hash = hash_args(a);
    return 0;
}

void cluster_args_free(struct cluster_args *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    free(a->listen);
    free(a->admin);
    *a = (struct cluster_args) { .v = NULL };
}

static int check_ports(const struct cluster_kind *k, const struct cluster_cfg *c,
                       struct err *e)
{
    int64_t last = c->children - 1;

    if (port_of(c->listen) + last * c->port_step > 65535)
        return err_set(e, SQ_EINVAL, "listen: the last child's port is above 65535");
    if (port_of(c->admin) + last > 65535)
        return err_set(e, SQ_EINVAL, "admin: the last child's port is above 65535");
    if (c->port_step == 0 && c->children > 1 && !k->shares_port &&
        port_of(c->listen) != 0)
        return err_set(e, SQ_EINVAL,
                       "port_step: 0 with %" PRId64 " children, and a %s shares no port",
                       c->children, k->child);
    return 0;
}

int cluster_check(const struct cluster_kind *k, const struct cluster_cfg *c,
                  struct err *e)
{
    if (strlen(c->name) > NAME_MAX_LEN - 4)
        return err_set(e, SQ_EINVAL, "name: at most %d characters", NAME_MAX_LEN - 4);
    for (size_t i = 0; i < c->set.n; i++) {
        const char *s = strs(&c->set)[i], *eq = strchr(s, '=');

        if (eq == NULL || eq == s)
            return err_set(e, SQ_EINVAL, "set: \"%s\" is not KEY=VALUE", s);
    }
    if (cfg_dials_check("managers", &c->managers, e) < 0)
        return SQ_EINVAL;
    return check_ports(k, c, e);
}

/* ---- would the child start? ----
 *
 * A key that the supervisor passes on is known to the child alone; a child that refuses it would be
 * started again and again, for ever. */

#define TRY_MS   10000 /* in all: the supervisor's loop stands meanwhile */
#define STEP_MS  10
#define TEXT_CAP 400

extern char **environ;

int cluster_program(const struct cluster_kind *k, const struct cluster_cfg *c, char *path, size_t cap,
                    struct err *e)
{
    char self[PATH_MAX], *slash;
    ssize_t n;

    if (c->program[0] != 0) {
        snprintf(path, cap, "%s", c->program);
        return 0;
    }
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0)
        return err_set(e, SQ_ESYS, "/proc/self/exe: %s", strerror(errno));
    self[n] = 0;
    slash = strrchr(self, '/');
    snprintf(path, cap, "%.*s/%s", (int)(slash - self), self, k->child);
    return 0;
}

/* All signals as they are by default, none blocked: a supervisor's are not its children's. 0, or errno. */
static int start(pid_t *pid, char **argv, int err_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int code;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    code = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&files, 0, 1);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&files, err_fd, 2);
    if (code == 0)
        code = posix_spawn(pid, argv[0], &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return code;
}

/* Reads its words until it closes them, or until then; keeps the first characters. */
static void hear(int fd, int64_t until_us, char text[TEXT_CAP])
{
    size_t len = 0;
    ssize_t n = 1;

    while (n > 0) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char more[TEXT_CAP];
        size_t room = TEXT_CAP - 1 - len;
        int64_t left = until_us - ev_read_mono_us();
        int ready = left > 0 ? poll(&p, 1, (int)(left / 1000) + 1) : 0;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        n = read(fd, more, sizeof(more));
        if (n > 0) {
            room = (size_t)n < room ? (size_t)n : room;
            memcpy(text + len, more, room);
            len += room;
        }
    }
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

/* False: it lives still, then, and is killed: one that closes its words, or goes on with them. */
static bool has_ended(pid_t pid, int64_t until_us, int *status)
{
    pid_t who;

    while ((who = waitpid(pid, status, WNOHANG)) == 0 && ev_read_mono_us() < until_us)
        poll(NULL, 0, STEP_MS);
    if (who != 0)
        return true;
    kill(pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return false;
}

static int judge(pid_t pid, int fd, const char *program, struct err *e)
{
    int64_t until_us = ev_read_mono_us() + TRY_MS * 1000;
    char text[TEXT_CAP];
    int status = 0;

    hear(fd, until_us, text);
    if (!has_ended(pid, until_us, &status))
        return err_set(e, SQ_ETIMEOUT, "%s -t has not ended within %d s", program, TRY_MS / 1000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return err_set(e, SQ_EINVAL, "a child would not start: %s",
                   text[0] != '\0' ? text : "its program ended without a word");
}

static int try_args(char **argv, struct err *e)
{
    int fds[2], code, rc;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set(e, SQ_ESYS, "pipe: %s", strerror(errno));
    code = start(&pid, argv, fds[1]);
    close(fds[1]);
    rc = code != 0 ? err_set(e, SQ_ESYS, "program %s: %s", argv[0], strerror(code))
                   : judge(pid, fds[0], argv[0], e);
    close(fds[0]);
    return rc;
}

int cluster_try(const struct cluster_kind *k, const struct cluster_cfg *c, struct err *e)
{
    char path[PATH_MAX], test[] = "-t", **argv;
    struct cluster_args a;
    int rc = cluster_program(k, c, path, sizeof(path), e);

    if (rc < 0 || (rc = cluster_args_make(&a, c, path, 0, e)) < 0)
        return rc;
    argv = calloc(a.n + 2, sizeof(*argv));
    if (argv == NULL) {
        cluster_args_free(&a);
        return err_set(e, SQ_ENOMEM, "arguments of %s", path);
    }
    memcpy(argv, a.v, a.n * sizeof(*argv));
    argv[a.n] = test;
    rc = try_args(argv, e);
    free(argv);
    cluster_args_free(&a);
    return rc;
}

/* cluster_try.c: see the header. A key that the supervisor passes on is known to the child alone; a
 * child that refuses it would be started again and again, for ever. */
#define _GNU_SOURCE /* pipe2 */
#include "common/supervisor/cluster_try.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/net/ev_clock.h"
#include "common/supervisor/cluster_args.h"

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

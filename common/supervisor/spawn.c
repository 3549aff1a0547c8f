/* spawn.c: see spawn.h.
 *
 * Failures and their answers: out of descriptors or processes -> SQ_ESYS, nothing is left
 * behind; exec fails -> the child writes errno into a close-on-exec pipe, is reaped here
 * and the caller gets the sentence; pidfd_open fails after a good fork -> the child is
 * killed and reaped, since we could not watch it. */
#define _GNU_SOURCE
#include "common/supervisor/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_FD   3 /* in the child */
#define TROUBLE_FD 4

void spawn_init(struct spawn_proc *p)
{
    *p = (struct spawn_proc) { .pidfd = -1, .ready_fd = -1 };
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void spawn_close(struct spawn_proc *p)
{
    close_fd(&p->pidfd);
    close_fd(&p->ready_fd);
}

/* ---- in the child, between fork and exec: async-signal-safe calls only ------------ */

static void default_signals(void)
{
    sigset_t none;

    for (int s = 1; s < NSIG; s++)
        if (s != SIGKILL && s != SIGSTOP)
            signal(s, SIG_DFL); /* an ignored SIGPIPE would be inherited over exec */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void redirect(int to, int from)
{
    if (from == to)
        fcntl(to, F_SETFD, 0);
    else
        dup2(from, to);
}

static void become(const char *const *argv, char *const *env, int null_fd, int log_fd,
                   int ready_fd, int trouble_fd)
{
    int code;

    default_signals();
    /* Both pipes are lifted out of the way first: their numbers may be 3 or 4. */
    ready_fd = fcntl(ready_fd, F_DUPFD_CLOEXEC, 10);
    trouble_fd = fcntl(trouble_fd, F_DUPFD_CLOEXEC, 10);
    log_fd = fcntl(log_fd, F_DUPFD_CLOEXEC, 10);
    redirect(0, null_fd);
    redirect(1, log_fd);
    redirect(2, log_fd);
    redirect(READY_FD, ready_fd);
    dup3(trouble_fd, TROUBLE_FD, O_CLOEXEC);
    close_range(TROUBLE_FD + 1, ~0u, 0);
    execve(argv[0], (char *const *)(uintptr_t)argv, env);
    code = errno;
    if (write(TROUBLE_FD, &code, sizeof(code)) < 0)
        _exit(126);
    _exit(127);
}

/* ---- in the parent ----------------------------------------------------------------- */

extern char **environ;

/* Our environment with SEGQ_READY_FD set to the child's; the strings are not copied. */
static char **child_env(void)
{
    static char ready[] = "SEGQ_READY_FD=3";
    size_t n = 0, out = 0;
    char **env;

    while (environ[n] != NULL)
        n++;
    env = calloc(n + 2, sizeof(*env));
    if (env == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "SEGQ_READY_FD=", 14) != 0)
            env[out++] = environ[i];
    env[out] = ready;
    return env;
}

struct fds {
    int null_fd, log_fd, ready[2], trouble[2];
};

static void fds_close(struct fds *f)
{
    close_fd(&f->null_fd);
    close_fd(&f->log_fd);
    for (int i = 0; i < 2; i++) {
        close_fd(&f->ready[i]);
        close_fd(&f->trouble[i]);
    }
}

static int fds_open(struct fds *f, const char *log_path, struct err *e)
{
    *f = (struct fds) { -1, -1, { -1, -1 }, { -1, -1 } };
    f->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (f->null_fd < 0)
        return err_set(e, SQ_ESYS, "open /dev/null: %s", strerror(errno));
    if (log_path != NULL)
        f->log_fd = open(log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    else
        f->log_fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
    if (f->log_fd < 0)
        return err_set(e, SQ_ESYS, "open %s: %s", log_path != NULL ? log_path : "stderr",
                       strerror(errno));
    if (pipe2(f->ready, O_CLOEXEC) < 0 || pipe2(f->trouble, O_CLOEXEC) < 0)
        return err_set(e, SQ_ESYS, "pipe: %s", strerror(errno));
    if (fcntl(f->ready[0], F_SETFL, O_NONBLOCK) < 0)
        return err_set(e, SQ_ESYS, "fcntl: %s", strerror(errno));
    return 0;
}

/* Waits until exec has happened (end of file) or failed (its errno): a moment. */
static int exec_result(int fd)
{
    int code = 0;
    ssize_t n;

    do
        n = read(fd, &code, sizeof(code));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(code) ? code : 0;
}

static int start_with(struct spawn_proc *p, struct fds *f, const char *const *argv,
                      char *const *env, struct err *e)
{
    int code;
    pid_t pid = fork();

    if (pid < 0)
        return err_set(e, SQ_ESYS, "fork: %s", strerror(errno));
    if (pid == 0)
        become(argv, env, f->null_fd, f->log_fd, f->ready[1], f->trouble[1]);
    close_fd(&f->ready[1]);
    close_fd(&f->trouble[1]);
    code = exec_result(f->trouble[0]);
    if (code != 0) {
        waitpid(pid, NULL, 0);
        return err_set(e, SQ_ESYS, "exec %s: %s", argv[0], strerror(code));
    }
    p->pidfd = pidfd_open(pid, 0);
    if (p->pidfd < 0) {
        code = errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return err_set(e, SQ_ESYS, "pidfd_open: %s", strerror(code));
    }
    assert(p->ready_fd < 0);
    p->pid = pid;
    p->start_ticks = spawn_start_ticks(pid);
    p->child = true;
    p->ready_fd = f->ready[0];
    f->ready[0] = -1;
    return 0;
}

int spawn_start(struct spawn_proc *p, const char *const *argv, const char *log_path,
                struct err *e)
{
    char **env = child_env();
    struct fds f;
    int rc;

    spawn_init(p);
    if (env == NULL)
        return err_set(e, SQ_ENOMEM, "start %s", argv[0]);
    rc = fds_open(&f, log_path, e);
    if (rc == 0)
        rc = start_with(p, &f, argv, env, e);
    fds_close(&f);
    free(env);
    return rc;
}

uint64_t spawn_start_ticks(pid_t pid)
{
    char path[40], text[1024], state, *p;
    unsigned long long ticks;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    p = strrchr(text, ')'); /* the name before it may hold anything, also ')' */
    if (p == NULL ||
        sscanf(p + 1,
               " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
               " %*s %*s %llu",
               &state, &ticks) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : ticks;
}

int spawn_adopt(struct spawn_proc *p, pid_t pid, uint64_t start_ticks, struct err *e)
{
    spawn_init(p);
    if (pid <= 1 || start_ticks == 0)
        return err_set(e, SQ_EGONE, "no process %d", (int)pid);
    p->pidfd = pidfd_open(pid, 0);
    if (p->pidfd < 0)
        return err_set(e, SQ_EGONE, "no process %d: %s", (int)pid, strerror(errno));
    /* Looked at after the pidfd is held: from here on the pid cannot be another's. */
    if (spawn_start_ticks(pid) != start_ticks) {
        spawn_close(p);
        return err_set(e, SQ_EGONE, "process %d is another one", (int)pid);
    }
    p->pid = pid;
    p->start_ticks = start_ticks;
    return 0;
}

int spawn_signal(const struct spawn_proc *p, int signo)
{
    if (p->pidfd < 0)
        return SQ_EGONE;
    if (pidfd_send_signal(p->pidfd, signo, NULL, 0) == 0)
        return 0;
    return errno == ESRCH ? SQ_EGONE : SQ_ESYS;
}

bool spawn_ended(struct spawn_proc *p, char *how, size_t cap)
{
    struct pollfd pf = { .fd = p->pidfd, .events = POLLIN };
    int status;

    if (p->pid == 0) {
        snprintf(how, cap, "gone");
        return true;
    }
    assert(p->pidfd >= 0);
    if (poll(&pf, 1, 0) != 1)
        return false;
    if (!p->child || waitpid(p->pid, &status, WNOHANG) != p->pid)
        snprintf(how, cap, "gone");
    else if (WIFSIGNALED(status))
        snprintf(how, cap, "signal %d", WTERMSIG(status));
    else
        snprintf(how, cap, "exit %d", WEXITSTATUS(status));
    p->pid = 0;
    return true;
}

int spawn_read_ready(struct spawn_proc *p)
{
    char byte;
    ssize_t n;

    if (p->ready_fd < 0)
        return SQ_ECLOSED;
    n = read(p->ready_fd, &byte, 1);
    if (n > 0)
        return 1;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return SQ_ECLOSED;
}

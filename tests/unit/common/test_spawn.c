/* test_spawn.c: real processes (/bin/sh) started, watched, signalled, adopted. */
#include "common/supervisor/spawn.h"

#include "tests/lib/criterion.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool readable(int fd, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, ms) == 1;
}

static int start_sh(struct spawn_proc *p, const char *script, const char *log)
{
    const char *argv[] = { "/bin/sh", "-c", script, NULL };

    return spawn_start(p, argv, log, NULL);
}

static void finish(struct spawn_proc *p, const char *expected)
{
    char how[40] = "";

    cr_assert(readable(p->pidfd, 60000));
    cr_expect(spawn_ended(p, how, sizeof(how)));
    cr_expect_str_eq(how, expected);
    spawn_close(p);
}

Test(spawn, reports_ready_and_exit)
{
    struct spawn_proc p;
    char how[40];

    cr_assert_eq(start_sh(&p, "echo >&$SEGQ_READY_FD; read x <&0; exit 3", NULL), 0);
    cr_assert(readable(p.ready_fd, 60000));
    cr_expect_eq(spawn_read_ready(&p), 1);
    finish(&p, "exit 3"); /* stdin is /dev/null: read ends at once */
    cr_expect(spawn_ended(&p, how, sizeof(how)), "asked again: still ended");
}

Test(spawn, never_ready_is_told_apart_from_not_yet)
{
    struct spawn_proc p;

    cr_assert_eq(start_sh(&p, "exec sleep 100", NULL), 0);
    cr_expect_gt(p.start_ticks, 0); /* (of one that has ended already it is 0) */
    cr_expect_eq(spawn_read_ready(&p), 0);
    cr_expect_eq(spawn_signal(&p, SIGTERM), 0);
    cr_assert(readable(p.ready_fd, 60000));
    cr_expect_eq(spawn_read_ready(&p), SQ_ECLOSED);
    finish(&p, "signal 15");
    cr_expect_eq(spawn_signal(&p, SIGTERM), SQ_EGONE);
}

Test(spawn, a_missing_program_is_an_error_not_a_child)
{
    const char *argv[] = { "/nonexistent/program", NULL };
    struct spawn_proc p;
    struct err e = { 0 };

    cr_expect_eq(spawn_start(&p, argv, NULL, &e), SQ_ESYS);
    cr_expect(strstr(e.text, "/nonexistent/program") != NULL, "%s", e.text);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "no child is left behind");
}

static void slurp(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, out, cap - 1) : 0;

    out[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

/* Whatever is open here, without close-on-exec, at any number: only 0 to 3 get through.
 * An ignored signal is not inherited. */
Test(spawn, child_inherits_nothing_but_its_readiness_descriptor)
{
    char log[] = "/tmp/segq-spawn-XXXXXX", text[400];
    struct spawn_proc p;
    unsigned long long ignored;
    int fd = mkstemp(log);

    cr_assert_geq(fd, 0);
    close(fd);
    for (int i = 0; i < 20; i++)
        cr_assert_geq(open("/dev/null", O_RDONLY), 0);
    signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(start_sh(&p,
                          "for f in /proc/$$/fd/*; do printf '%s ' ${f##*/}; done;"
                          "grep SigIgn /proc/$$/status",
                          log),
                 0);
    finish(&p, "exit 0");
    slurp(log, text, sizeof(text));
    /* 10 may be the shell's own */
    cr_expect(strncmp(text, "0 1 2 3 ", 8) == 0, "%s", text);
    cr_expect(strstr(text, " 5 ") == NULL, "%s", text);
    cr_assert_not_null(strstr(text, "SigIgn:\t"), "%s", text);
    ignored = strtoull(strstr(text, "SigIgn:\t") + 8, NULL, 16);
    /* 32 and 33 are the C library's own: no program can set them back */
    cr_expect_eq(ignored & ~(3ull << 31), 0, "%s", text);
    unlink(log);
}

Test(spawn, adopts_a_running_process)
{
    struct spawn_proc p, q;
    char text[100];
    int fds[2];
    pid_t pid;
    ssize_t n;

    cr_assert_eq(pipe(fds), 0);
    if (fork() == 0) { /* a supervisor that starts a child, tells its pid, and dies */
        struct spawn_proc c;
        char line[40];

        if (start_sh(&c, "exec sleep 100", NULL) != 0)
            _exit(1);
        snprintf(line, sizeof(line), "%d", (int)c.pid);
        if (write(fds[1], line, strlen(line)) < 0)
            _exit(1);
        _exit(0);
    }
    wait(NULL);
    n = read(fds[0], text, sizeof(text) - 1);
    cr_assert_gt(n, 0);
    text[n] = 0;
    pid = atoi(text);
    cr_expect_eq(spawn_adopt(&q, pid, spawn_start_ticks(pid) + 1, NULL), SQ_EGONE);
    cr_assert_eq(spawn_adopt(&p, pid, spawn_start_ticks(pid), NULL), 0);
    cr_expect_not(spawn_ended(&p, text, sizeof(text)));
    cr_expect_eq(spawn_signal(&p, SIGKILL), 0);
    finish(&p, "gone");
}

Test(spawn, a_zombie_is_nobody)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    while (spawn_start_ticks(pid) != 0)
        ; /* it is not waited for, so the pid stays */
    cr_expect_eq(kill(pid, 0), 0);
    waitpid(pid, NULL, 0);
}

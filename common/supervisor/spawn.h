/* spawn.h: starts a child process by fork and exec, and holds it by a pidfd. Shell.
 *
 * The child gets: stdin from /dev/null, stdout and stderr appended to a log file, all
 * signals at their defaults and unblocked, descriptor 3 = where to write a newline when
 * it serves (its number in SEGQ_READY_FD), and no other descriptor of ours. It stays in
 * our session and process group, and does not die with us: a new supervisor finds it again
 * by pid and start time and holds it by a pidfd, too, though it is not its parent.
 *
 * A pidfd becomes readable when the process has ended; unlike a pid it is never reused
 * under our hands. */
#ifndef SEGQ_SPAWN_H
#define SEGQ_SPAWN_H

#include <sys/types.h>

#include "common/base/err.h"

struct spawn_proc { /* fds are -1 when closed; zeroed is not "none": use spawn_init */
    pid_t pid;            /* 0 = none */
    int pidfd;            /* readable: it has ended */
    int ready_fd;         /* readable: it said ready (a byte) or closed it (EOF) */
    uint64_t start_ticks; /* /proc/<pid>/stat, field 22: with pid, names this process */
    bool child;           /* ours: waitpid() tells how it ended */
};

void spawn_init(struct spawn_proc *p);
/* argv[0] is the path of the program; argv ends with NULL. log_path NULL: our stderr.
 * SQ_ESYS with the reason also when exec fails. */
SQ_CHECK int spawn_start(struct spawn_proc *p, const char *const *argv,
                         const char *log_path, struct err *e);
/* Takes hold of a running process that somebody else started. SQ_EGONE: no such process,
 * or another one under that pid. */
SQ_CHECK int spawn_adopt(struct spawn_proc *p, pid_t pid, uint64_t start_ticks,
                         struct err *e);
/* SQ_EGONE if it has ended. */
SQ_CHECK int spawn_signal(const struct spawn_proc *p, int signo);
/* After pidfd was readable: "exit 3", "signal 9", or "gone" for one that is not ours.
 * Reaps it. False: it is still running. */
bool spawn_ended(struct spawn_proc *p, char *how, size_t cap);
/* 1: it said ready; 0: nothing yet; SQ_ECLOSED: it never will. */
SQ_CHECK int spawn_read_ready(struct spawn_proc *p);
/* Closes the descriptors; the process is let be. */
void spawn_close(struct spawn_proc *p);

/* 0 if there is none, or only a zombie is left. */
uint64_t spawn_start_ticks(pid_t pid);

#endif

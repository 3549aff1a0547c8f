/* wall.c: to be preloaded into every process of a test run (`on.sh`): another date. The wall
 * clock, and the times of files, are SEGQ_WALL_S seconds ahead; the monotonic clock is left
 * alone, so everything lasts as long as ever. (libfaketime hands each process a descriptor and
 * a shared memory of its own and slows every look at the clock down: tests of descriptors and
 * of short waits, and redis-server, do not survive that.)
 *
 * System calls go straight to syscall(2): no dlsym, which allocates. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t wall_ahead_s(void)
{
    static time_t is;
    static int known;
    const char *s;

    if (!known) {
        s = getenv("SEGQ_WALL_S");
        is = s != NULL ? strtol(s, NULL, 10) : 0;
        known = 1;
    }
    return is;
}

/* ---- the clock ---------------------------------------------------------------------- */

#include "../lib/wall_calls.h"

/* ---- files: the kernel has written them by its own clock -------------------------------- */

static int moved(int rc, struct stat *st)
{
    if (rc == 0) {
        st->st_atim.tv_sec += wall_ahead_s();
        st->st_mtim.tv_sec += wall_ahead_s();
        st->st_ctim.tv_sec += wall_ahead_s();
    }
    return rc;
}

int fstatat(int at, const char *restrict path, struct stat *restrict st, int flags)
{
    return moved((int)syscall(SYS_newfstatat, at, path, st, flags), st);
}

int fstat(int fd, struct stat *st)
{
    return moved((int)syscall(SYS_fstat, fd, st), st);
}

int stat(const char *restrict path, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

/* Where off_t has 64 bits anyway these are the same. */
int fstatat64(int, const char *restrict, struct stat64 *restrict, int)
    __attribute__((alias("fstatat")));
int fstat64(int, struct stat64 *) __attribute__((alias("fstat")));
int stat64(const char *restrict, struct stat64 *restrict) __attribute__((alias("stat")));
int lstat64(const char *restrict, struct stat64 *restrict) __attribute__((alias("lstat")));

int statx(int at, const char *restrict path, int flags, unsigned mask,
          struct statx *restrict st)
{
    int rc = (int)syscall(SYS_statx, at, path, flags, mask, st);

    if (rc == 0) {
        st->stx_atime.tv_sec += wall_ahead_s();
        st->stx_mtime.tv_sec += wall_ahead_s();
        st->stx_ctime.tv_sec += wall_ahead_s();
        st->stx_btime.tv_sec += wall_ahead_s();
    }
    return rc;
}

static struct timespec back(const struct timespec *t)
{
    struct timespec out = *t;

    if (t->tv_nsec != UTIME_NOW && t->tv_nsec != UTIME_OMIT)
        out.tv_sec -= wall_ahead_s();
    return out;
}

static int set_times(int at, const char *path, const struct timespec t[2], int flags)
{
    struct timespec to[2];

    if (t != NULL) {
        to[0] = back(&t[0]);
        to[1] = back(&t[1]);
    }
    return (int)syscall(SYS_utimensat, at, path, t != NULL ? to : NULL, flags);
}

int utimensat(int at, const char *path, const struct timespec t[2], int flags)
{
    return set_times(at, path, t, flags);
}

int futimens(int fd, const struct timespec t[2])
{
    return set_times(fd, NULL, t, 0);
}

/* shim.c: to be preloaded into the processes of one machine (lib.sh, `shim`): a wall clock that
 * is wrong, and a disk that fails or has a power cut coming. Files in the folder SEGQ_SHIM
 * decide, and are looked at in each call, so that all of it may change in a running process:
 *
 *   clock    seconds, added to the wall clock (the monotonic one never jumps), and to those of
 *            SEGQ_WALL_S (tests/dates)
 *   pwrite   EIO, ENOSPC: writes fail; short: they do less than asked; EINTR: every second fails
 *   sync     EIO: fsync and fdatasync fail, and nothing is known about what was written
 *   size.N   written here: how long the file with inode N was when it was last synced. What is
 *            behind that is what a power cut takes
 *
 * System calls go straight to syscall(2): no dlsym, which allocates. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 512
#define WORD_BYTES 32

static void path_of(char *out, const char *name)
{
    const char *dir = getenv("SEGQ_SHIM");

    snprintf(out, PATH_BYTES, "%s/%s", dir != NULL ? dir : "/nonexistent", name);
}

/* What the file says; an empty word if it is not there. Keeps errno. */
static void word_of(char out[WORD_BYTES], const char *name)
{
    char path[PATH_BYTES];
    int was = errno;
    ssize_t n = 0;
    int fd;

    path_of(path, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, out, WORD_BYTES - 1);
        close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    errno = was;
}

/* ---- the wall clock ------------------------------------------------------------------ */

static time_t wall_ahead_s(void)
{
    const char *all = getenv("SEGQ_WALL_S");
    char w[WORD_BYTES];

    word_of(w, "clock");
    return strtol(w, NULL, 10) + (all != NULL ? strtol(all, NULL, 10) : 0);
}

#include "../lib/wall_calls.h"

/* ---- the disk ------------------------------------------------------------------------ */

static ssize_t do_pwrite(int fd, const void *p, size_t n, off_t at)
{
    static unsigned calls;
    char w[WORD_BYTES];

    word_of(w, "pwrite");
    if (strcmp(w, "EIO") == 0 || strcmp(w, "ENOSPC") == 0) {
        errno = w[1] == 'I' ? EIO : ENOSPC;
        return -1;
    }
    if (strcmp(w, "EINTR") == 0 && calls++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (strcmp(w, "short") == 0)
        n = n / 2 + n % 2;
    return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return do_pwrite(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return do_pwrite(fd, p, n, at);
}

/* So many bytes are safe. A reader meets the old number or the new one. */
static void note_size(const struct stat *st)
{
    char name[WORD_BYTES], path[PATH_BYTES], fresh[PATH_BYTES + 8];
    FILE *f;

    snprintf(name, sizeof(name), "size.%llu", (unsigned long long)st->st_ino);
    path_of(path, name);
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    f = fopen(fresh, "we");
    if (f == NULL)
        return;
    fprintf(f, "%lld\n", (long long)st->st_size);
    if (fclose(f) == 0)
        rename(fresh, path);
}

/* The size is that before the sync: what is written meanwhile is not promised. */
static int do_sync(long call, int fd)
{
    char w[WORD_BYTES];
    struct stat st;
    int known = fstat(fd, &st);
    int rc;

    word_of(w, "sync");
    if (strcmp(w, "EIO") == 0) {
        errno = EIO;
        return -1;
    }
    rc = (int)syscall(call, fd);
    if (rc == 0 && known == 0 && S_ISREG(st.st_mode))
        note_size(&st);
    return rc;
}

int fdatasync(int fd)
{
    return do_sync(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return do_sync(SYS_fsync, fd);
}

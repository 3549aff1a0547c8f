/* file.c: see the header. */
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int file_write_all(int fd, const void *p, size_t n)
{
    const uint8_t *at = p;

    while (n > 0) {
        ssize_t w = write(fd, at, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return SQ_ESYS;
        at += w;
        n -= (size_t)w;
    }
    return 0;
}

int file_make_dir(const char *path, unsigned mode, struct err *e)
{
    if (mkdir(path, mode) == 0 || errno == EEXIST)
        return 0;
    return err_set(e, SQ_ESYS, "make %s: %s", path, strerror(errno));
}

/* A renamed file is only there for good once its folder is synced; 0 or SQ_ESYS. */
static int file_sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? SQ_ESYS : 0;

    if (fd >= 0)
        close(fd);
    return rc;
}

/* All of it is on disk, or SQ_ESYS with errno. It belongs to whom `path` belongs: root may write the
 * file of a service, which has to read it. */
static int write_draft(const char *draft, const char *path, const void *p, size_t n)
{
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = fd < 0 ? SQ_ESYS : 0;
    struct stat was;

    if (rc == 0 && fchmod(fd, 0600) < 0)
        rc = SQ_ESYS;
    if (rc == 0 && stat(path, &was) == 0 && was.st_uid != geteuid() &&
        fchown(fd, was.st_uid, was.st_gid) < 0)
        rc = SQ_ESYS;
    if (rc == 0)
        rc = file_write_all(fd, p, n);
    if (rc == 0 && fsync(fd) < 0)
        rc = SQ_ESYS;
    if (fd >= 0 && close(fd) < 0)
        rc = SQ_ESYS;
    return rc;
}

/* Ends the path behind its folder. */
static const char *folder_of(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash == NULL)
        return ".";
    slash[slash == path ? 1 : 0] = '\0';
    return path;
}

int file_replace(const char *path, const void *p, size_t n, struct err *e)
{
    char draft[PATH_MAX];

    if ((size_t)snprintf(draft, sizeof(draft), "%s.new", path) >= sizeof(draft))
        return err_set(e, SQ_ETOOBIG, "%s: path too long", path);
    if (write_draft(draft, path, p, n) < 0 || rename(draft, path) < 0) {
        int rc = err_set(e, SQ_ESYS, "%s: %s", path, strerror(errno));

        (void)unlink(draft);
        return rc;
    }
    (void)!file_sync_dir(folder_of(draft)); /* else the old one is there after a crash */
    return 0;
}

int file_take_turn(const char *path, struct err *e)
{
    char text[PATH_MAX];
    const char *folder;
    int fd;

    if ((size_t)snprintf(text, sizeof(text), "%s", path) >= sizeof(text))
        return err_set(e, SQ_ETOOBIG, "%s: path too long", path);
    folder = folder_of(text);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX) < 0) {
        int rc = err_set(e, SQ_ESYS, "%s: %s", folder, strerror(errno));

        if (fd >= 0)
            close(fd);
        return rc;
    }
    return fd;
}

int file_open(const char *path, struct stat *st, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return err_set(e, errno == ENOENT ? SQ_EGONE : SQ_ESYS, "%s: %s", path, strerror(errno));
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    return err_set(e, SQ_EINVAL, "%s: not a regular file", path);
}

/* systemd gives its LoadCredential= files to a service's user by an access list, whose mask
 * stat shows as bits of the group. The folder they are in is that user's alone. */
static bool is_credential(const char *path, const struct stat *st)
{
    const char *dir = getenv("CREDENTIALS_DIRECTORY");
    size_t n = dir != NULL ? strlen(dir) : 0;

    return n > 1 && strncmp(path, dir, n) == 0 && path[n] == '/' &&
           strchr(path + n + 1, '/') == NULL && st->st_uid == 0 && st->st_gid == 0 &&
           (st->st_mode & (S_IRWXG | S_IRWXO)) == S_IRGRP;
}

int file_check_secret(const char *path, const struct stat *st, struct err *e)
{
    if ((st->st_mode & (S_IRWXG | S_IRWXO)) != 0 && !is_credential(path, st))
        return err_set(e, SQ_EAUTH, "%s: others may read or change it (mode %04o); chmod 600 it",
                       path, (unsigned)(st->st_mode & 07777));
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return err_set(e, SQ_EAUTH, "%s: belongs to another user", path);
    return 0;
}

/* How many bytes, at most cap; or SQ_ESYS. */
static int64_t read_some(int fd, uint8_t *out, size_t cap)
{
    size_t n = 0;

    while (n < cap) {
        ssize_t k = read(fd, out + n, cap - n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return SQ_ESYS;
        if (k == 0)
            break;
        n += (size_t)k;
    }
    return (int64_t)n;
}

int64_t file_read(const char *path, enum file_kind kind, void *out, size_t most, struct stat *st,
                  struct err *e)
{
    struct stat own;
    uint8_t more;
    int64_t n;
    int fd, rc;

    st = st != NULL ? st : &own;
    fd = file_open(path, st, e);
    if (fd < 0)
        return fd;
    rc = kind == FILE_SECRET ? file_check_secret(path, st, e) : 0;
    n = rc == 0 ? read_some(fd, out, most) : rc;
    if (rc == 0 && n == (int64_t)most && read_some(fd, &more, 1) > 0)
        n = err_set(e, SQ_ETOOBIG, "%s: more than %zu bytes", path, most);
    else if (rc == 0 && n < 0)
        n = err_set(e, SQ_ESYS, "%s: %s", path, strerror(errno));
    close(fd);
    return n;
}

bool file_is_same(const char *path, const struct stat *was)
{
    struct stat now;

    return stat(path, &now) == 0 && now.st_ino == was->st_ino && now.st_dev == was->st_dev &&
           now.st_size == was->st_size && now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

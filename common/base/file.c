/* file.c: see the header. */
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

int file_sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? SQ_ESYS : 0;

    if (fd >= 0)
        close(fd);
    return rc;
}

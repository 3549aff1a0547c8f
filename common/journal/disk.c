#define _GNU_SOURCE /* fallocate */
#include "common/journal/disk.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/failpoint.h"
#include "common/base/file.h"

#define ROOM_STEP (1u << 20)

struct disk_posix {
    struct disk d;
    int dir;  /* owned */
    int lock; /* owned; -1 = not locked */
    const char *points; /* ref: the name of its failpoints */
};

static struct disk_posix *posix_of(struct disk *d)
{
    return container_of(d, struct disk_posix, d);
}

static int or_errno(int rc)
{
    return rc < 0 ? -errno : rc;
}

static int posix_open(struct disk *d, const char *name, enum disk_how how)
{
    static const int flags[] = {
        [DISK_READ] = O_RDONLY,
        [DISK_WRITE] = O_RDWR,
        [DISK_CREATE] = O_RDWR | O_CREAT | O_TRUNC,
    };

    return or_errno(openat(posix_of(d)->dir, name, flags[how] | O_CLOEXEC | O_NOFOLLOW, 0640));
}

static void posix_close(struct disk *d, int h)
{
    (void)d;
    close(h);
}

static ssize_t posix_pread(struct disk *d, int h, void *p, size_t n, uint64_t at)
{
    ssize_t k = pread(h, p, n, (off_t)at);

    (void)d;
    return k < 0 ? -errno : k;
}

static ssize_t posix_pwrite(struct disk *d, int h, const void *p, size_t n, uint64_t at)
{
    ssize_t k;

    (void)d;
    if (FAILPOINT_FAILS_AT(posix_of(d)->points, "write"))
        return -EIO;
    k = pwrite(h, p, n, (off_t)at);
    return k < 0 ? -errno : k;
}

static int64_t posix_size(struct disk *d, int h)
{
    struct stat st;

    (void)d;
    return fstat(h, &st) < 0 ? -errno : st.st_size;
}

static int posix_sync(struct disk *d, int h)
{
    (void)d;
    return FAILPOINT_FAILS_AT(posix_of(d)->points, "sync") ? -EIO : or_errno(fdatasync(h));
}

/* File systems without fallocate get zeros: what is written once need not be found again. */
static int fill_zeros(int h, uint64_t from, uint64_t end)
{
    static const char zeros[64 * 1024];

    while (from < end) {
        ssize_t k = pwrite(h, zeros, u64_min(sizeof(zeros), end - from), (off_t)from);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return k < 0 ? -errno : -EIO;
        from += (uint64_t)k;
    }
    return 0;
}

static int posix_allocate(struct disk *d, int h, uint64_t end)
{
    int64_t size = posix_size(d, h);

    if (size < 0)
        return (int)size;
    if (end <= (uint64_t)size)
        return 0;
    /* The size stays: what is behind the last written byte is not part of the file. */
    if (fallocate(h, FALLOC_FL_KEEP_SIZE, size, (off_t)(end - (uint64_t)size)) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return -errno;
    return fill_zeros(h, (uint64_t)size, end);
}

static int posix_truncate(struct disk *d, int h, uint64_t size)
{
    (void)d;
    return or_errno(ftruncate(h, (off_t)size));
}

static int posix_rename(struct disk *d, const char *from, const char *to)
{
    return or_errno(renameat(posix_of(d)->dir, from, posix_of(d)->dir, to));
}

static int posix_unlink(struct disk *d, const char *name)
{
    return or_errno(unlinkat(posix_of(d)->dir, name, 0));
}

static int posix_sync_dir(struct disk *d)
{
    return or_errno(fsync(posix_of(d)->dir));
}

static int posix_list(struct disk *d, void (*on_name)(void *ctx, const char *name), void *ctx)
{
    int fd = openat(posix_of(d)->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    int rc;

    if (dir == NULL) {
        rc = -errno;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    errno = 0;
    while ((entry = readdir(dir)) != NULL)
        on_name(ctx, entry->d_name);
    rc = -errno;
    closedir(dir);
    return rc;
}

static int posix_lock(struct disk *d)
{
    struct disk_posix *p = posix_of(d);
    int rc;

    p->lock = openat(p->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (p->lock < 0)
        return -errno;
    rc = or_errno(flock(p->lock, LOCK_EX | LOCK_NB));
    if (rc < 0) {
        close(p->lock);
        p->lock = -1;
    }
    return rc;
}

static void posix_free(struct disk *d)
{
    struct disk_posix *p = posix_of(d);

    if (p->lock >= 0)
        close(p->lock);
    close(p->dir);
    free(p);
}

static const struct disk_ops posix_ops = {
    .open = posix_open,
    .close = posix_close,
    .pread = posix_pread,
    .pwrite = posix_pwrite,
    .size = posix_size,
    .sync = posix_sync,
    .allocate = posix_allocate,
    .truncate = posix_truncate,
    .rename = posix_rename,
    .unlink = posix_unlink,
    .sync_dir = posix_sync_dir,
    .list = posix_list,
    .lock = posix_lock,
    .free = posix_free,
};

int disk_posix_open(struct disk **out, const char *dir, const char *points, bool make,
                    struct err *e)
{
    struct disk_posix *p;

    if (make && file_make_dir(dir, 0750, e) < 0)
        return SQ_ESYS;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return err_set(e, SQ_ENOMEM, "%s: %s", dir, sq_strerror(SQ_ENOMEM));
    p->d.ops = &posix_ops;
    p->lock = -1;
    p->points = points;
    p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->dir < 0) {
        free(p);
        return err_set(e, SQ_ESYS, "open %s: %s", dir, strerror(errno));
    }
    *out = &p->d;
    return 0;
}

bool disk_room(struct disk *d, int h, uint64_t end, uint64_t *allocated, bool *starved)
{
    uint64_t wide = (end + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;

    if (end <= *allocated)
        return true;
    if (*starved)
        return false;
    if (d->ops->allocate(d, h, wide) >= 0)
        *allocated = wide;
    else if (d->ops->allocate(d, h, end) >= 0)
        *allocated = end;
    else
        *starved = true;
    return end <= *allocated;
}

/* ---- names ---- */

static const struct {
    const char *before, *after;
} forms[] = {
    [JNAME_LOG] = { "log-", "" },
    [JNAME_SNAP] = { "snap-", "" },
    [JNAME_TMP] = { "snap-", ".tmp" },
    [JNAME_TORN] = { "log-", ".torn" },
};

void jname_text(char out[JNAME_MAX], enum jname_kind kind, uint64_t seq)
{
    assert(kind < ARRAY_LEN(forms));
    snprintf(out, JNAME_MAX, "%s%016" PRIx64 "%s", forms[kind].before, seq, forms[kind].after);
}

/* 16 lower-case hex digits at p. */
static bool seq_parse(const char *p, uint64_t *out)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef", *at = p[i] ? strchr(digits, p[i]) : NULL;

        if (at == NULL)
            return false;
        v = v << 4 | (uint64_t)(at - digits);
    }
    *out = v;
    return v > 0;
}

static bool jname_parse(const char *text, struct jname *out)
{
    for (unsigned k = 0; k < ARRAY_LEN(forms); k++) {
        size_t n = strlen(forms[k].before);

        if (strncmp(text, forms[k].before, n) == 0 && seq_parse(text + n, &out->seq) &&
            strcmp(text + n + 16, forms[k].after) == 0) {
            out->kind = k;
            return true;
        }
    }
    return false;
}

static void add_name(void *ctx, const char *name)
{
    struct jdir *dir = ctx;
    struct jname one;

    if (dir->failed || !jname_parse(name, &one))
        return;
    if (!GROW(dir->v, dir->n, dir->cap, 64)) {
        dir->failed = true;
        return;
    }
    dir->v[dir->n++] = one;
}

static int by_kind_and_seq(const void *a, const void *b)
{
    const struct jname *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

int jdir_read(struct jdir *dir, struct disk *d, struct err *e)
{
    int rc;

    memset(dir, 0, sizeof(*dir));
    rc = d->ops->list(d, add_name, dir);
    if (rc < 0)
        return err_set(e, SQ_ESYS, "list: %s", strerror(-rc));
    if (dir->failed)
        return err_set(e, SQ_ENOMEM, "list: %s", sq_strerror(SQ_ENOMEM));
    if (dir->n > 0)
        qsort(dir->v, dir->n, sizeof(*dir->v), by_kind_and_seq);
    return 0;
}

void jdir_fini(struct jdir *dir)
{
    free(dir->v);
    dir->v = NULL;
}

int jdir_sync(struct disk *d, struct err *e)
{
    int rc;

    do {
        rc = d->ops->sync_dir(d);
    } while (rc == -EINTR);
    return rc < 0 ? err_set(e, SQ_ESYS, "sync of the folder: %s", strerror(-rc)) : 0;
}

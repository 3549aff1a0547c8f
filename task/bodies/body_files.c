#include "task/bodies/body_files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/buf.h"

#define OPEN_MOST 32 /* handles */

static void close_one(struct body_files *f, struct body_file *one)
{
    if (one->h < 0)
        return;
    f->disk->ops->close(f->disk, one->h);
    one->h = -1;
    one->may_write = false;
    f->n_open--;
}

static struct body_file *add(struct body_files *f, uint32_t no)
{
    struct body_file *one = calloc(1, sizeof(*one));

    if (one == NULL || !GROW(f->v, f->n, f->cap, 16) ||
        map_set_ptr(&f->by_no, no, one) < 0) {
        free(one);
        return NULL;
    }
    one->no = no;
    one->h = -1;
    f->v[f->n++] = one;
    return one;
}

static void forget(struct body_files *f, struct body_file *one)
{
    uint32_t i = 0;

    while (f->v[i] != one)
        i++;
    f->v[i] = f->v[--f->n];
    map_del(&f->by_no, one->no);
    close_one(f, one);
    free(one);
}

/* ---- what is there ----------------------------------------------------------------- */

struct listing {
    struct body_files *f;
    bool failed;
};

static void on_name(void *ctx, const char *name)
{
    struct listing *l = ctx;
    uint32_t no;

    if (!l->failed && body_name_parse(name, &no) && body_files_find(l->f, no) == NULL)
        l->failed = add(l->f, no) == NULL;
}

static void make_room_for_handle(struct body_files *f)
{
    struct body_file *found = NULL;

    for (uint32_t i = 0; i < f->n && f->n_open >= OPEN_MOST; i++)
        if (f->v[i]->h >= 0 && !f->v[i]->is_written && !f->v[i]->unsynced &&
            (found == NULL || f->v[i]->read_at < found->read_at))
            found = f->v[i];
    if (found != NULL)
        close_one(f, found);
}

static int open_one(struct body_files *f, struct body_file *one, enum disk_how how)
{
    char name[BODY_NAME_MAX];
    int h;

    make_room_for_handle(f);
    body_name(name, one->no);
    do {
        h = f->disk->ops->open(f->disk, name, how);
    } while (h == -EINTR);
    if (h < 0)
        return h;
    one->h = h;
    one->may_write = how != DISK_READ;
    f->n_open++;
    return 0;
}

static int measure(struct body_files *f, struct body_file *one)
{
    int rc = open_one(f, one, DISK_READ);
    int64_t size = rc < 0 ? rc : f->disk->ops->size(f->disk, one->h);

    close_one(f, one);
    one->end = size < 0 ? 0 : u64_min((uint64_t)size, BODY_END_MAX);
    return size < 0 ? (int)size : 0;
}

int body_files_init(struct body_files *f, struct disk *d, const char *node)
{
    struct listing l = { f, false };
    int rc;

    *f = (struct body_files){ .disk = d, .node = node };
    map_init(&f->by_no, 0);
    rc = d->ops->list(d, on_name, &l);
    if (rc == 0 && l.failed)
        rc = -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < f->n; i++) {
        rc = measure(f, f->v[i]);
        body_files_saw(f, f->v[i]->no);
    }
    return rc;
}

void body_files_fini(struct body_files *f)
{
    while (f->n > 0)
        forget(f, f->v[f->n - 1]);
    free(f->v);
    f->v = NULL;
    map_fini(&f->by_no);
}

/* Numbers go round: of two the one that is less than half of the way ahead is the later. */
void body_files_saw(struct body_files *f, uint32_t no)
{
    uint32_t ahead = (no - f->newest) & BODY_FILE_MAX;

    if (f->newest == 0 || (ahead != 0 && ahead <= BODY_FILE_MAX / 2))
        f->newest = no;
}

/* ---- one file ---------------------------------------------------------------------- */

int body_files_create(struct body_files *f, struct body_file **out)
{
    uint32_t no = f->newest;
    struct body_file *one;
    int rc;

    do {
        no = no == BODY_FILE_MAX ? 1 : no + 1;
    } while (body_files_find(f, no) != NULL);
    one = add(f, no);
    if (one == NULL)
        return -ENOMEM;
    rc = open_one(f, one, DISK_CREATE);
    if (rc == 0)
        rc = f->disk->ops->sync_dir(f->disk);
    if (rc < 0) {
        forget(f, one); /* an empty file is found, and removed, by the next start */
        return rc;
    }
    one->is_written = true;
    f->newest = no;
    *out = one;
    return 0;
}

int body_files_read(struct body_files *f, struct body_file *one, const struct body_place *at,
                    uint8_t *p)
{
    uint32_t done = 0;

    one->read_at = ++f->reads;
    if (one->h < 0) {
        int rc = open_one(f, one, DISK_READ);

        if (rc < 0)
            return rc;
    }
    while (done < at->len) {
        ssize_t k = f->disk->ops->pread(f->disk, one->h, p + done, at->len - done,
                                        at->at + done);

        if (k == -EINTR)
            continue;
        if (k <= 0)
            return k == 0 ? -EIO : (int)k;
        done += (uint32_t)k;
    }
    return 0;
}

int body_files_write(struct body_files *f, struct body_file *one, uint64_t at, const uint8_t *p,
                     size_t n)
{
    size_t done = 0;

    if (!one->may_write) {
        int rc;

        close_one(f, one);
        rc = open_one(f, one, DISK_WRITE);
        if (rc < 0)
            return rc;
    }
    one->unsynced = true;
    while (done < n) {
        ssize_t k = f->disk->ops->pwrite(f->disk, one->h, p + done, n - done, at + done);

        f->writes++;
        if (k == -EINTR)
            continue;
        if (k <= 0)
            return k == 0 ? -EIO : (int)k;
        done += (size_t)k;
    }
    return 0;
}

int body_files_remove(struct body_files *f, struct body_file *one)
{
    char name[BODY_NAME_MAX];
    int rc;

    assert(one->living == 0 && !one->is_written);
    body_name(name, one->no);
    close_one(f, one);
    rc = f->disk->ops->unlink(f->disk, name);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    forget(f, one);
    return 0;
}

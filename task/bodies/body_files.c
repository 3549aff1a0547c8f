/* body_files.c: sums, names and handles of files; walks over all of them. */
#include "task/bodies/body_files.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/journal/format.h"
#include "common/task/rules.h"

#define OPEN_MOST 32 /* handles */

/* ---- the form of a file -------------------------------------------------------------- */

_Static_assert(BODY_HEAD + TASK_BODY_MAX + BODY_UNIT <= 0xffffu * BODY_UNIT, "a reference has it");
_Static_assert(crypto_shorthash_KEYBYTES == sizeof(struct body_key), "keys are 128 bits");

/* Public: sums guard against accidents only. */
static const uint8_t fixed_key[16] = "segq bodies v1*";

static uint64_t sum_of(const void *p, size_t n, const uint8_t key[16])
{
    uint8_t out[crypto_shorthash_BYTES];

    crypto_shorthash(out, p, n, key);
    return le64_get(out);
}

static void body_name(char out[BODY_NAME_MAX], uint32_t file)
{
    snprintf(out, BODY_NAME_MAX, "body-%08" PRIx32, file);
}

static bool body_name_parse(const char *text, uint32_t *file)
{
    char again[BODY_NAME_MAX];

    if (strlen(text) != 13 || sscanf(text, "body-%8" SCNx32, file) != 1)
        return false;
    body_name(again, *file); /* a single spelling */
    return strcmp(text, again) == 0 && *file != 0 && *file <= BODY_FILE_MAX;
}

void body_key_make(struct body_key *k, const char *node, uint32_t file)
{
    le64_put(k->k, sum_of(node, strlen(node), fixed_key));
    le64_put(k->k + 8, file);
}

void body_seal(uint8_t *out, const struct body_key *k, uint32_t at, const uint8_t *p, uint32_t n)
{
    assert(at % BODY_UNIT == 0 && n <= TASK_BODY_MAX);
    le32_put(out + 8, n);
    le32_put(out + 12, at / BODY_UNIT);
    memcpy(out + BODY_HEAD, p, n);
    memset(out + BODY_HEAD + n, 0, body_len(n) - BODY_HEAD - n);
    le64_put(out, sum_of(out + 8, BODY_HEAD - 8 + n, k->k));
}

bool body_is_whole(const uint8_t *bytes, const struct body_key *k, const struct body_place *p,
                   uint32_t *n)
{
    *n = le32_get(bytes + 8);
    return *n <= TASK_BODY_MAX && body_len(*n) == p->len &&
           le32_get(bytes + 12) == p->at / BODY_UNIT &&
           le64_get(bytes) == sum_of(bytes + 8, BODY_HEAD - 8 + *n, k->k);
}

/* ---- handles ------------------------------------------------------------------------- */

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

/* Closed first. -errno: it stays, to be tried again. */
static int body_files_remove(struct body_files *f, struct body_file *one)
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

/* ---- which files go ------------------------------------------------------------------ */

#define LIVES_PART 3 /* old: less than 1 / so much of it lives */
#define SMALL_PART 8 /* small: shorter than 1 / so much of a full one */
#define SMALL_MOST 8

uint32_t tidy_remove(struct body_files *f, msec_t now_ms, msec_t linger_ms)
{
    uint32_t removed = 0;

    for (uint32_t i = f->n; i-- > 0;) {
        struct body_file *one = f->v[i];

        if (one->is_written || one->living != 0) {
            one->dead_at = 0;
            continue;
        }
        if (one->dead_at == 0)
            one->dead_at = now_ms;
        if (now_ms - one->dead_at >= linger_ms)
            removed += body_files_remove(f, one) == 0;
    }
    return removed;
}

bool tidy_mark(struct body_files *f, uint32_t file_bytes)
{
    uint64_t taken = 0, living = 0;
    uint32_t small = 0, old = 0;
    bool due;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct body_file *one = f->v[i];

        old += one->old && one->living != 0;
        if (one->is_written || one->old || one->stuck)
            continue;
        taken += one->end;
        living += one->living;
        small += one->end < file_bytes / SMALL_PART;
    }
    due = taken > living * LIVES_PART + file_bytes;
    for (uint32_t i = 0; i < f->n && (due || small > SMALL_MOST); i++) {
        struct body_file *one = f->v[i];

        if (one->is_written || one->old || one->stuck || one->living == 0)
            continue;
        one->old = (due && one->living < one->end / LIVES_PART) ||
                   (small > SMALL_MOST && one->end < file_bytes / SMALL_PART);
        old += one->old;
    }
    return old != 0;
}

void tidy_stuck(struct body_file *one)
{
    one->stuck = true;
    one->old = false;
}

/* ---- ahead ---------------------------------------------------------------------------- */

void body_ahead_fini(struct body_ahead *a)
{
    free(a->bytes);
    *a = (struct body_ahead){ 0 };
}

static bool is_in(const struct body_place *at, const struct body_place *in)
{
    return at->file == in->file && at->at >= in->at && at->at + at->len <= in->at + in->len;
}

static bool fill(struct body_ahead *a, struct body_files *files, struct body_file *f,
                 const struct body_place *at)
{
    if (a->bytes == NULL && (a->bytes = malloc(AHEAD_BYTES)) == NULL)
        return false;
    a->at = (struct body_place){ at->file, at->at,
                                 (uint32_t)u64_min(AHEAD_BYTES, f->end - at->at) };
    if (body_files_read(files, f, &a->at, a->bytes) == 0)
        return true;
    a->at.len = 0;
    return false;
}

const uint8_t *body_ahead_read(struct body_ahead *a, struct body_files *files,
                               struct body_file *f, const struct body_place *at)
{
    bool follows = a->file == at->file && at->at >= a->end && at->at - a->end <= AHEAD_GAP;

    a->file = at->file;
    a->end = at->at + at->len;
    if (is_in(at, &a->at) || (follows && at->len <= AHEAD_BYTES / 2 && fill(a, files, f, at)))
        return a->bytes + (at->at - a->at.at);
    return NULL;
}

/* answers.c: see answers.h. */
#define _GNU_SOURCE /* sync_file_range() */
#include "task/bodies/answers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/map.h"

#define LOG_MODULE "answers"
#define NAME_MAX_N 160
#define STEP_MOST  256 /* looked at in a step */

struct answer { /* a whole answer */
    struct list_node in;      /* answers.all: who was looked at longest ago is in front */
    struct list_node in_read; /* answers.read, if it was */
    struct answer *same;      /* another one under its key */
    struct answer_id id;
    msec_t dead_ms;           /* moment since when its task does not need it; 0: it does */
};

struct answers {
    int dir; /* descriptor of it */
    uint64_t max_bytes, last;
    msec_t linger_ms, step_ms; /* step_ms: moment of the last answers_step() */
    answer_lives lives;        /* question of that step */
    void *lives_ctx;
    struct list all, read;
    struct map by_task; /* key_of() -> struct answer: the first of those that have the key */
    bool said;          /* the disk fails, and that was logged */
    struct answers_counts n;
};

struct answer_file {
    struct answers *a; /* ref */
    int fd;
    uint64_t no, length;
};

/* ---- names ------------------------------------------------------------------------------ */

static uint64_t key_of(uint32_t part, task_no no)
{
    return no ^ (uint64_t)part << 40;
}

static void name_of(char name[NAME_MAX_N], const struct answer_id *id)
{
    char hex[2 * RESULT_SHA256 + 1];

    sodium_bin2hex(hex, sizeof(hex), id->sha256, RESULT_SHA256);
    snprintf(name, NAME_MAX_N, "%" PRIu32 "-%" PRIu64 "-%" PRIu64 "-%s", id->part, id->no,
             id->length, hex);
}

static void new_name(char name[NAME_MAX_N], uint64_t no)
{
    snprintf(name, NAME_MAX_N, "new-%" PRIu64, no);
}

static bool parse_name(const char *name, struct answer_id *id)
{
    char hex[2 * RESULT_SHA256 + 1], again[NAME_MAX_N];
    size_t n;

    if (sscanf(name, "%" SCNu32 "-%" SCNu64 "-%" SCNu64 "-%64[0-9a-f]", &id->part, &id->no,
               &id->length, hex) != 4 ||
        sodium_hex2bin(id->sha256, RESULT_SHA256, hex, strlen(hex), NULL, &n, NULL) != 0 ||
        n != RESULT_SHA256)
        return false;
    name_of(again, id);
    return strcmp(again, name) == 0;
}

/* ---- the table -------------------------------------------------------------------------- */

static struct answer *find(const struct answers *a, uint32_t part, task_no no)
{
    struct answer *x = map_get_ptr(&a->by_task, key_of(part, no));

    while (x != NULL && (x->id.part != part || x->id.no != no))
        x = x->same;
    return x;
}

/* False: no memory. */
static bool add(struct answers *a, const struct answer_id *id)
{
    uint64_t key = key_of(id->part, id->no);
    struct answer *x = calloc(1, sizeof(*x));

    if (x == NULL)
        return false;
    x->id = *id;
    x->same = map_get_ptr(&a->by_task, key);
    if (map_set_ptr(&a->by_task, key, x) < 0) {
        free(x);
        return false;
    }
    list_push_back(&a->all, &x->in);
    a->n.files++;
    a->n.bytes += id->length;
    return true;
}

static void forget(struct answers *a, struct answer *x)
{
    uint64_t key = key_of(x->id.part, x->id.no);
    struct answer *first = map_get_ptr(&a->by_task, key), *before = first;

    if (first != x) {
        while (before->same != x)
            before = before->same;
        before->same = x->same;
    } else if (x->same == NULL || map_set_ptr(&a->by_task, key, x->same) < 0) {
        map_del(&a->by_task, key);
    }
    list_remove(&a->all, &x->in);
    if (list_linked(&x->in_read))
        list_remove(&a->read, &x->in_read);
    a->n.files--;
    a->n.bytes -= x->id.length;
    free(x);
}

static void remove_one(struct answers *a, struct answer *x)
{
    char name[NAME_MAX_N];

    name_of(name, &x->id);
    (void)unlinkat(a->dir, name, 0); /* a leftover goes at the next start, with its task */
    forget(a, x);
}

/* ---- life ------------------------------------------------------------------------------- */

/* Takes in what is there from before. Others' files are left alone. */
static void take_in(struct answers *a, const char *name)
{
    struct answer_id id;
    struct stat s;

    if (strncmp(name, "new-", 4) == 0) {
        (void)unlinkat(a->dir, name, 0);
        return;
    }
    if (!parse_name(name, &id))
        return;
    if (fstatat(a->dir, name, &s, AT_SYMLINK_NOFOLLOW) < 0 || (uint64_t)s.st_size != id.length ||
        (a->linger_ms == 0 && a->n.bytes + id.length > a->max_bytes) || find(a, id.part, id.no) != NULL || !add(a, &id))
        (void)unlinkat(a->dir, name, 0);
}

static int read_dir(struct answers *a, const char *dir, struct err *e)
{
    DIR *d = opendir(dir);
    struct dirent *x;

    if (d == NULL)
        return err_set(e, SQ_ESYS, "%s: %s", dir, strerror(errno));
    while ((x = readdir(d)) != NULL)
        take_in(a, x->d_name);
    closedir(d);
    return 0;
}

int answers_open(struct answers **out, const char *dir, uint64_t max_bytes, msec_t linger_ms, struct err *e)
{
    struct answers *a = calloc(1, sizeof(*a));
    int rc;

    if (a == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    a->max_bytes = max_bytes;
    a->linger_ms = linger_ms;
    list_init(&a->all);
    list_init(&a->read);
    map_init(&a->by_task, 0); /* our own numbers */
    a->dir = -1;
    rc = file_make_dir(dir, 0750, e);
    if (rc == 0 && (a->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = err_set(e, SQ_ESYS, "%s: %s", dir, strerror(errno));
    if (rc == 0)
        rc = read_dir(a, dir, e);
    if (rc < 0) {
        answers_close(a);
        return rc;
    }
    *out = a;
    return 0;
}

void answers_close(struct answers *a)
{
    if (a == NULL)
        return;
    list_each_of (&a->all, struct answer, in, x)
        forget(a, x);
    map_fini(&a->by_task);
    if (a->dir >= 0)
        close(a->dir);
    free(a);
}

/* ---- one that comes --------------------------------------------------------------------- */

/* True: nobody needs it. Its task may have been seen to be over in a turn that is not written yet, and a dead one may
 * have been told to run again. */
static bool may_go(const struct answers *a, const struct answer *x)
{
    return a->linger_ms == 0 ||
           (x->dead_ms < a->step_ms && a->lives(a->lives_ctx, x->id.part, x->id.no) != ANSWER_LIVES);
}

/* The first one that may go does; false: none may. */
static bool give_way(struct answers *a)
{
    list_each_of (&a->read, struct answer, in_read, x) {
        if (!may_go(a, x))
            continue;
        remove_one(a, x);
        a->n.made_room++;
        return true;
    }
    return false;
}

static bool make_room(struct answers *a, uint64_t n)
{
    while (a->n.bytes + n > a->max_bytes && give_way(a))
        continue;
    if (a->n.bytes + n <= a->max_bytes) /* now */
        return true;
    a->n.no_room++;
    return false;
}

static void failed(struct answers *a, const char *what)
{
    a->n.failures++;
    if (!a->said)
        log_error("event=answers_failed what=%s why=\"%s\" do=\"mend the disk: %s\"", what, strerror(errno),
                  a->linger_ms == 0 ? "long answers are cut" : "large bodies are refused");
    a->said = true;
}

struct answer_file *answers_begin(struct answers *a, size_t most)
{
    struct answer_file *f;
    char name[NAME_MAX_N];

    a->n.no_room += a->n.writing >= most;
    if (a->n.writing >= most || !make_room(a, 1) || (f = calloc(1, sizeof(*f))) == NULL)
        return NULL;
    *f = (struct answer_file){ .a = a, .no = ++a->last };
    new_name(name, f->no);
    f->fd = openat(a->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (f->fd >= 0) {
        a->n.writing++;
        return f;
    }
    failed(a, "open");
    free(f);
    return NULL;
}

static void end(struct answer_file *f)
{
    f->a->n.bytes -= f->length;
    f->a->n.writing--;
    close(f->fd);
    free(f);
}

void answers_give_up(struct answer_file *f)
{
    char name[NAME_MAX_N];

    if (f == NULL)
        return;
    new_name(name, f->no);
    (void)unlinkat(f->a->dir, name, 0);
    end(f);
}

bool answers_has_room(struct answers *a, uint64_t n)
{
    return make_room(a, n);
}

/* A disk that is full has room again without those that nobody needs. */
static bool write_all(const struct answer_file *f, const void *p, size_t n)
{
    int rc;

    do {
        rc = file_write_all(f->fd, p, n);
    } while (rc < 0 && errno == ENOSPC && lseek(f->fd, (off_t)f->length, SEEK_SET) >= 0 && give_way(f->a));
    return rc == 0;
}

bool answers_add(struct answer_file *f, const void *p, size_t n)
{
    if (make_room(f->a, n)) {
        if (write_all(f, p, n)) {
            f->length += n;
            f->a->n.bytes += n;
            f->a->said = false;
            return true;
        }
        failed(f->a, "write");
    }
    answers_give_up(f);
    return false;
}

bool answers_sync(struct answer_file *f, bool whole)
{
    if (whole ? fdatasync(f->fd) == 0 : sync_file_range(f->fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0)
        return true;
    failed(f->a, "sync");
    return false;
}

bool answers_sync_dir(struct answers *a)
{
    if (fsync(a->dir) == 0)
        return true;
    failed(a, "sync");
    return false;
}

/* n, or fewer where it ends; SQ_ESYS. */
static int64_t read_from(int fd, uint64_t at, uint8_t *p, size_t n)
{
    size_t done = 0;
    ssize_t k = 1;

    while (done < n && k != 0) {
        k = pread(fd, p + done, n - done, (off_t)(at + done));
        if (k < 0 && errno != EINTR)
            return SQ_ESYS;
        done += k > 0 ? (size_t)k : 0;
    }
    return (int64_t)done;
}

int64_t answers_peek(const struct answer_file *f, uint64_t at, uint8_t *p, size_t n)
{
    return read_from(f->fd, at, p, n);
}

bool answers_keep(struct answer_file *f, const struct answer_id *id)
{
    struct answers *a = f->a;
    char from[NAME_MAX_N], to[NAME_MAX_N];

    answers_drop(a, id->part, id->no);
    new_name(from, f->no);
    name_of(to, id);
    if (f->length != id->length || renameat(a->dir, from, a->dir, to) < 0) {
        failed(a, "rename");
        answers_give_up(f);
        return false;
    }
    end(f);
    if (!add(a, id)) {
        (void)unlinkat(a->dir, to, 0);
        return false;
    }
    a->n.kept++;
    return true;
}

void answers_drop(struct answers *a, uint32_t part, task_no no)
{
    struct answer *x = a->all.n > 0 ? find(a, part, no) : NULL;

    if (x != NULL)
        remove_one(a, x);
}

/* ---- and is read ------------------------------------------------------------------------ */

static struct answer *find_same(const struct answers *a, const struct answer_id *id)
{
    struct answer *x = a->all.n > 0 ? find(a, id->part, id->no) : NULL;

    return x != NULL && memcmp(x->id.sha256, id->sha256, RESULT_SHA256) == 0 ? x : NULL;
}

bool answers_have(const struct answers *a, const struct answer_id *id)
{
    const struct answer *x = find_same(a, id);

    return x != NULL && x->id.length == id->length;
}

int answers_open_one(struct answers *a, const struct answer_id *id)
{
    char name[NAME_MAX_N];
    int fd;

    name_of(name, id);
    fd = openat(a->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : errno == ENOENT ? SQ_EUNKNOWN : SQ_ESYS;
}

static int64_t read_at(struct answers *a, const struct answer *x, uint64_t at, uint8_t *p, size_t n)
{
    int fd = answers_open_one(a, &x->id);
    int64_t rc;

    if (fd < 0)
        return fd;
    rc = read_from(fd, at, p, n);
    close(fd);
    return rc < 0 || rc == (int64_t)n ? rc : SQ_EUNKNOWN;
}

int64_t answers_read(struct answers *a, const struct answer_id *id, uint64_t at, uint8_t *p, size_t n)
{
    struct answer *x = find_same(a, id);
    int64_t rc;

    if (x == NULL || at > x->id.length)
        return SQ_EUNKNOWN;
    n = (size_t)u64_min(n, x->id.length - at);
    rc = read_at(a, x, at, p, n);
    if (rc < 0)
        return rc;
    a->n.read += n;
    if (a->linger_ms == 0 && at + n == x->id.length && !list_linked(&x->in_read))
        list_push_back(&a->read, &x->in_read);
    return rc;
}

/* Notes how its task is. Files that tasks need, and nobody does any more, are in the list `read`. */
static void look_at(struct answers *a, struct answer *x, enum answer_life life, msec_t now_ms)
{
    bool listed = list_linked(&x->in_read);

    x->dead_ms = life != ANSWER_DEAD ? 0 : x->dead_ms == 0 ? now_ms : x->dead_ms;
    if (a->linger_ms == 0)
        return;
    if (listed && life == ANSWER_LIVES)
        list_remove(&a->read, &x->in_read);
    else if (!listed && life != ANSWER_LIVES)
        list_push_back(&a->read, &x->in_read);
}

void answers_step(struct answers *a, msec_t now_ms, answer_lives lives, void *ctx)
{
    a->lives = lives;
    a->lives_ctx = ctx;
    a->step_ms = now_ms;
    for (size_t n = u64_min(a->all.n, STEP_MOST); n > 0; n--) {
        struct answer *x = container_of(list_first(&a->all), struct answer, in);

        look_at(a, x, lives(ctx, x->id.part, x->id.no), now_ms);
        if (x->dead_ms != 0 && now_ms - x->dead_ms >= a->linger_ms) {
            remove_one(a, x);
            continue;
        }
        list_remove(&a->all, &x->in);
        list_push_back(&a->all, &x->in);
    }
}

const struct answers_counts *answers_counts(const struct answers *a)
{
    return &a->n;
}

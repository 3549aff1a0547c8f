#include "queuemng/store/store_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/versions.h"
#include "common/journal/disk.h"
#include "common/journal/turn.h"

#define LOG_MODULE "store"

#define KEY_BYTES     1024u        /* no key is longer, with its final 0 */
#define PART_BYTES    (64u << 10)  /* bytes of a value in a record */
#define RESERVE_BYTES (64u << 10)  /* room that the log takes ahead */
#define REWRITE_BYTES (1u << 20)   /* a smaller log is not worth a snapshot */

enum { PUT = 1, DEL = 2, MORE = 3 };

struct store_file {
    struct store store;
    char dir[512];     /* folder of the journal */
    struct disk *disk; /* owned; NULL: the caller's is used */
    struct journal *j; /* owned */
    struct kv kv;      /* every pair */
    struct buf rec;    /* the record at hand; has room for the longest */
    struct buf value;  /* replay: what MORE brought */
    bool unsynced;     /* something was put since the last sync */
    uint64_t failures;
};

static struct store_file *of(struct store *s)
{
    return container_of(s, struct store_file, store);
}

static const struct store_file *of_const(const struct store *s)
{
    return container_of(s, const struct store_file, store);
}

static msec_t clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

/* ---- records ---------------------------------------------------------------------- */
/* Writes a record into the log, or as a chunk of the snapshot. key may be NULL. */
typedef int (*record_fn)(struct store_file *f, uint8_t type, const char *key, const char *p,
                         size_t n, struct err *e);

static void record_make(struct store_file *f, const char *key, const char *p, size_t n)
{
    if (key != NULL)
        buf_append(&f->rec, key, strlen(key) + 1);
    buf_append(&f->rec, p, n);
    assert(!f->rec.failed); /* room for the longest is there */
}

static int to_log(struct store_file *f, uint8_t type, const char *key, const char *p,
                  size_t n, struct err *e)
{
    (void)e;
    buf_reset(&f->rec);
    record_make(f, key, p, n);
    journal_append(f->j, type, f->rec.data, f->rec.len);
    return 0;
}

static int to_snapshot(struct store_file *f, uint8_t type, const char *key, const char *p,
                       size_t n, struct err *e)
{
    buf_reset(&f->rec);
    buf_byte(&f->rec, type);
    record_make(f, key, p, n);
    return journal_snap_put(f->j, f->rec.data, f->rec.len, e);
}

static int pair_write(struct store_file *f, record_fn fn, const char *key, const char *val,
                      struct err *e)
{
    size_t n = strlen(val);
    int rc = 0;

    for (; rc == 0 && n > PART_BYTES; val += PART_BYTES, n -= PART_BYTES)
        rc = fn(f, MORE, NULL, val, PART_BYTES, e);
    return rc < 0 ? rc : fn(f, PUT, key, val, n, e);
}

static int replay_put(struct store_file *f, const uint8_t *p, size_t n, struct err *e)
{
    const uint8_t *end = memchr(p, 0, n);
    int rc;

    if (end == NULL || end == p)
        return err_set(e, SQ_EPROTO, "a pair without a key");
    buf_append(&f->value, end + 1, n - (size_t)(end + 1 - p));
    buf_byte(&f->value, 0);
    if (f->value.failed)
        return err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM));
    if (strlen((const char *)f->value.data) + 1 != f->value.len)
        return err_set(e, SQ_EPROTO, "a value with a 0 inside");
    rc = kv_set(&f->kv, (const char *)p, (const char *)f->value.data);
    buf_reset(&f->value);
    return rc < 0 ? err_set(e, rc, "%s", sq_strerror(rc)) : 0;
}

static int on_record(void *ctx, uint8_t type, const uint8_t *p, size_t n, struct err *e)
{
    struct store_file *f = ctx;

    switch (type) {
    case PUT:
        return replay_put(f, p, n, e);
    case DEL:
        if (n < 2 || p[n - 1] != 0)
            return err_set(e, SQ_EPROTO, "a deletion without a key");
        kv_del(&f->kv, (const char *)p);
        return 0;
    case MORE:
        buf_append(&f->value, p, n);
        return f->value.failed ? err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM)) : 0;
    default:
        return err_set(e, SQ_EUNKNOWN, "a record of type %u, which this segq does not know",
                       type);
    }
}

static int on_chunk(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
    return n > 0 ? on_record(ctx, p[0], p + 1, n - 1, e)
                 : err_set(e, SQ_EPROTO, "an empty chunk");
}

/* ---- snapshot ---------------------------------------------------------------------- */
struct snapshot {
    struct store_file *f; /* ref */
    struct err *e;        /* ref */
};

static int add_pair(void *ctx, const char *key, const char *val)
{
    struct snapshot *s = ctx;

    return pair_write(s->f, to_snapshot, key, val, s->e);
}

/* Every pair into new files; the older ones go when these are on the disk. */
static int rewrite(struct store_file *f, struct err *e)
{
    struct snapshot s = { f, e };
    int rc = journal_snap_begin(f->j, e);

    if (rc < 0)
        return rc;
    rc = kv_each(&f->kv, add_pair, &s);
    if (rc == 0)
        return journal_snap_commit(f->j, e);
    journal_snap_abort(f->j);
    return rc;
}

/* The journal has failed: only a snapshot makes it work again. */
static int cure(struct store_file *f, struct err *e)
{
    int rc = rewrite(f, e);

    if (rc == 0)
        rc = journal_flush(f->j, e);
    if (rc == 0)
        log_warn("event=store_rewritten dir=%s keys=%zu", f->dir, f->kv.live);
    return rc;
}

/* ---- use --------------------------------------------------------------------------- */
static int file_put(struct store *s, const char *key, const char *val)
{
    struct store_file *f = of(s);
    int rc;

    assert(key[0] != '\0' && strlen(key) < KEY_BYTES);
    rc = kv_set(&f->kv, key, val);
    if (rc < 0)
        return rc;
    f->unsynced = true;
    return pair_write(f, to_log, key, val, NULL);
}

static int file_del(struct store *s, const char *key)
{
    struct store_file *f = of(s);

    assert(key[0] != '\0' && strlen(key) < KEY_BYTES);
    kv_del(&f->kv, key);
    f->unsynced = true;
    return to_log(f, DEL, key, NULL, 0, NULL);
}

static int file_sync(struct store *s, uint64_t *serial, struct err *e)
{
    struct store_file *f = of(s);
    struct err own = { 0 };
    int rc;

    *serial = 0;
    if (!f->unsynced && journal_ok(f->j))
        return 0;
    rc = journal_tick(f->j, clock_ms(), e);
    if (rc == 0 && journal_ok(f->j))
        rc = journal_flush(f->j, e);
    if (rc < 0)
        f->failures++;
    if (rc == 0 && journal_snap_due(f->j) && journal_ok(f->j) && rewrite(f, &own) < 0) {
        f->failures++;
        log_warn("event=store_not_rewritten dir=%s why=%s", f->dir,
                 log_q(own.text, strlen(own.text)));
    }
    if (!journal_ok(f->j))
        rc = cure(f, e);
    if (rc == 0)
        f->unsynced = false;
    return rc;
}

static uint64_t file_done(const struct store *s)
{
    (void)s;
    return 0; /* kept when the sync returns */
}

static int file_each(const struct store *s, kv_fn fn, void *ctx)
{
    return kv_each(&of_const(s)->kv, fn, ctx);
}

static void file_count(const struct store *s, struct store_counts *c)
{
    const struct store_file *f = of_const(s);
    struct journal_counts n;

    journal_counts(f->j, &n);
    *c = (struct store_counts) { .keys = f->kv.live,
                                 .bytes = n.log_bytes + n.snap_bytes,
                                 .syncs = n.syncs,
                                 .compactions = n.snapshots,
                                 .failures = f->failures };
}

static void file_close(struct store *s)
{
    struct store_file *f = of(s);

    journal_close(f->j);
    if (f->disk != NULL)
        f->disk->ops->free(f->disk);
    kv_fini(&f->kv);
    buf_fini(&f->rec);
    buf_fini(&f->value);
    free(f);
}

/* ---- opening ----------------------------------------------------------------------- */
static int open_journal(struct store_file *f, const char *dir, struct disk *disk,
                        struct err *e)
{
    struct journal_opts o = { .dir = f->dir,
                              .disk = disk,
                              .node = "queuemng",
                              .format = STORE_FORMAT,
                              .mode = JOURNAL_FSYNC,
                              .reserve_bytes = RESERVE_BYTES,
                              .snap_after_bytes = REWRITE_BYTES };
    int rc = 0;

    if (snprintf(f->dir, sizeof(f->dir), "%s/store", dir) >= (int)sizeof(f->dir))
        return err_set(e, SQ_EINVAL, "store: the folder's name is too long");
    if (disk == NULL) {
        /* Keeps others from reading it: a draw's seed is a secret until the opening. */
        rc = file_make_dir(dir, 0700, e);
        if (rc == 0)
            rc = file_make_dir(f->dir, 0700, e);
        if (rc == 0)
            rc = disk_posix_open(&f->disk, f->dir, "store", false, e);
        o.disk = f->disk;
    }
    if (rc == 0)
        rc = journal_open(&f->j, &o, &(struct journal_replay) { on_chunk, on_record, f }, e);
    return rc == SQ_EBUSY ? err_set(e, SQ_ECONFLICT, "%s: another manager uses this folder",
                                    f->dir)
                          : rc;
}

static const struct store_ops file_ops = { file_put,  file_del,   file_sync, file_done,
                                           file_each, file_count, file_close };

int store_file_open(struct store **out, const char *dir, struct disk *disk, struct err *e)
{
    struct store_file *f = calloc(1, sizeof(*f));
    int rc;

    if (f == NULL)
        return err_set(e, SQ_ENOMEM, "store %s: %s", dir, sq_strerror(SQ_ENOMEM));
    f->store.ops = &file_ops;
    kv_init(&f->kv);
    buf_init(&f->rec);
    buf_init(&f->value);
    rc = buf_reserve(&f->rec, 1 + KEY_BYTES + PART_BYTES) == NULL
             ? err_set(e, SQ_ENOMEM, "store %s: %s", dir, sq_strerror(SQ_ENOMEM))
             : open_journal(f, dir, disk, e);
    if (rc < 0) {
        file_close(&f->store);
        return rc;
    }
    *out = &f->store;
    return 0;
}

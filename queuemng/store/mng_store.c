/* mng_store.c: see the header. In memory there is a copy of every pair, so that
 * compaction never reads the file. */
#include "queuemng/store/mng_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/failpoint.h"
#include "common/base/file.h"
#include "common/base/log.h"

#define LOG_MODULE "store"

#define MAGIC          "segqkv1\n"
#define MAGIC_BYTES    8
#define HEAD_BYTES     16
#define PAYLOAD_MAX    (64u << 20)
#define COMPACT_FLOOR  (1u << 20) /* a smaller file is not worth compacting */

enum { PUT = 1, DEL = 2 };

struct mng_store {
    char path[512], dir[480];
    int fd, lock_fd;
    struct pairs pairs; /* all of it */
    struct buf pending; /* records not yet written */
    uint64_t file_bytes;
    bool broken; /* the file failed: everything must go to a new one */
    struct mng_store_counts count;
};

static const uint8_t check_key[crypto_shorthash_KEYBYTES] = "segq-store-check";

static uint64_t live_bytes(const struct mng_store *s)
{
    return s->pairs.text_bytes + s->pairs.live * (HEAD_BYTES + 3);
}

/* ---- records --------------------------------------------------------------------- */

static uint32_t length_check(uint32_t len)
{
    return (len ^ 0x73656771u) * 2654435761u;
}

static int record_add(struct buf *b, uint8_t op, const char *key, const char *val)
{
    uint16_t klen = (uint16_t)strlen(key);
    size_t vlen = val != NULL ? strlen(val) : 0;
    uint32_t len = (uint32_t)(3 + klen + vlen), check = length_check(len);
    size_t at = b->len;
    uint64_t sum;

    if (buf_reserve(b, HEAD_BYTES + len) == NULL)
        return SQ_ENOMEM;
    buf_append(b, &len, 4);
    buf_append(b, &check, 4);
    buf_append(b, "\0\0\0\0\0\0\0", 8);
    buf_byte(b, op);
    buf_append(b, &klen, 2);
    buf_append(b, key, klen);
    buf_append(b, val, vlen);
    crypto_shorthash((uint8_t *)&sum, b->data + at + HEAD_BYTES, len, check_key);
    memcpy(b->data + at + 8, &sum, 8);
    return 0;
}

static int record_apply(struct mng_store *s, const uint8_t *p, uint32_t len)
{
    char *text;
    uint16_t klen;
    int rc = 0;

    memcpy(&klen, p + 1, 2);
    if (len < 3u + klen || klen == 0 || (p[0] != PUT && p[0] != DEL))
        return SQ_EPROTO;
    text = malloc(len + 2);
    if (text == NULL)
        return SQ_ENOMEM;
    memcpy(text, p + 3, klen);
    text[klen] = '\0';
    memcpy(text + klen + 1, p + 3 + klen, len - 3 - klen);
    text[len - 2] = '\0';
    if (p[0] == PUT)
        rc = pairs_set(&s->pairs, text, text + klen + 1);
    else
        pairs_drop(&s->pairs, text);
    free(text);
    return rc;
}

static bool all_zero(const uint8_t *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0)
        n--;
    return n == 0;
}

/* > 0 bytes of a whole record; 0 a torn tail; SQ_EPROTO damage. */
static int64_t record_check(const uint8_t *p, size_t n)
{
    uint32_t len, check;
    uint64_t sum, want;

    if (n < HEAD_BYTES || all_zero(p, n))
        return 0;
    memcpy(&len, p, 4);
    memcpy(&check, p + 4, 4);
    memcpy(&want, p + 8, 8);
    if (check != length_check(len) || len < 3 || len > PAYLOAD_MAX)
        return SQ_EPROTO;
    if (len > n - HEAD_BYTES)
        return 0;
    crypto_shorthash((uint8_t *)&sum, p + HEAD_BYTES, len, check_key);
    if (sum == want)
        return HEAD_BYTES + (int64_t)len;
    /* its last blocks may not have reached the disk, if nothing comes after */
    return len == n - HEAD_BYTES || all_zero(p + HEAD_BYTES + len, n - HEAD_BYTES - len)
               ? 0
               : SQ_EPROTO;
}

/* How far the file is good: everything but a torn tail. */
static int64_t replay(struct mng_store *s, const uint8_t *p, size_t n, struct err *e)
{
    size_t at = MAGIC_BYTES;

    if (n < MAGIC_BYTES)
        return 0; /* torn while it was being made */
    if (memcmp(p, MAGIC, MAGIC_BYTES) != 0)
        return err_set(e, SQ_EPROTO, "%s: not a store of this version", s->path);
    while (at < n) {
        int64_t took = record_check(p + at, n - at);
        int rc;

        if (took == 0) {
            log_warn("event=torn_tail file=%s offset=%zu cut_bytes=%zu", s->path, at, n - at);
            return (int64_t)at;
        }
        rc = took < 0 ? (int)took
                      : record_apply(s, p + at + HEAD_BYTES, (uint32_t)(took - HEAD_BYTES));
        if (rc < 0)
            return err_set(e, rc, "%s: record at offset %zu: %s", s->path, at,
                           rc == SQ_EPROTO ? "damaged" : sq_strerror(rc));
        at += (size_t)took;
    }
    return (int64_t)at;
}

/* ---- files ----------------------------------------------------------------------- */

static int add_put(void *b, const char *key, const char *val)
{
    return record_add(b, PUT, key, val);
}

/* Old or new, never neither: a whole new file, synced, renamed over the old one. */
static int compact(struct mng_store *s, struct err *e)
{
    char tmp[520];
    struct buf b;
    int fd, rc = 0;

    buf_init(&b);
    buf_append(&b, MAGIC, MAGIC_BYTES);
    rc = pairs_each(&s->pairs, add_put, &b);
    snprintf(tmp, sizeof(tmp), "%s.new", s->path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || b.failed || rc < 0 || file_write_all(fd, b.data, b.len) < 0 || fsync(fd) < 0 ||
        rename(tmp, s->path) < 0 || file_sync_dir(s->dir) < 0) {
        rc = err_set(e, SQ_ESYS, "%s: %s", tmp, strerror(errno));
        if (fd >= 0)
            close(fd);
        buf_fini(&b);
        return rc;
    }
    if (s->fd >= 0)
        close(s->fd);
    s->fd = fd;
    s->file_bytes = b.len;
    s->broken = false;
    s->count.compactions++;
    buf_reset(&s->pending); /* it is in the snapshot */
    buf_fini(&b);
    return 0;
}

static int load(struct mng_store *s, struct err *e)
{
    struct stat st;
    uint8_t *p = NULL;
    int64_t good;
    ssize_t got;

    s->fd = open(s->path, O_RDWR | O_CLOEXEC);
    if (s->fd < 0)
        return errno == ENOENT ? compact(s, e)
                               : err_set(e, SQ_ESYS, "%s: %s", s->path, strerror(errno));
    if (fstat(s->fd, &st) < 0 || (p = malloc((size_t)st.st_size + 1)) == NULL)
        return err_set(e, SQ_ESYS, "%s: %s", s->path, strerror(errno));
    got = pread(s->fd, p, (size_t)st.st_size, 0);
    if (got != st.st_size) {
        free(p);
        return err_set(e, SQ_ESYS, "%s: read: %s", s->path, strerror(errno));
    }
    good = replay(s, p, (size_t)st.st_size, e);
    free(p);
    if (good < 0)
        return (int)good;
    if (good != st.st_size)
        return compact(s, e); /* without the torn tail, or the file that was never whole */
    s->file_bytes = (uint64_t)good;
    if (lseek(s->fd, 0, SEEK_END) < 0)
        return err_set(e, SQ_ESYS, "%s: %s", s->path, strerror(errno));
    return 0;
}

static int lock(struct mng_store *s, struct err *e)
{
    char path[520];

    snprintf(path, sizeof(path), "%s/manager.lock", s->dir);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd < 0)
        return err_set(e, SQ_ESYS, "%s: %s", path, strerror(errno));
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, SQ_ECONFLICT, "%s: another manager uses this directory", s->dir);
    return 0;
}

int mng_store_open(struct mng_store **out, const char *dir, struct err *e)
{
    struct mng_store *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL)
        return err_set(e, SQ_ENOMEM, "store %s: out of memory", dir);
    s->fd = s->lock_fd = -1;
    pairs_init(&s->pairs);
    buf_init(&s->pending);
    if (strlen(dir) >= sizeof(s->dir) - 32) {
        rc = err_set(e, SQ_EINVAL, "store: directory name too long");
        goto fail;
    }
    snprintf(s->dir, sizeof(s->dir), "%s", dir);
    snprintf(s->path, sizeof(s->path), "%s/manager.store", dir);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
        rc = err_set(e, SQ_ESYS, "%s: %s", dir, strerror(errno));
        goto fail;
    }
    rc = lock(s, e);
    if (rc == 0)
        rc = load(s, e);
    if (rc < 0)
        goto fail;
    *out = s;
    return 0;
fail:
    mng_store_close(s);
    return rc;
}

void mng_store_close(struct mng_store *s)
{
    if (s == NULL)
        return;
    pairs_fini(&s->pairs);
    buf_fini(&s->pending);
    if (s->fd >= 0)
        close(s->fd);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s);
}

/* ---- use ------------------------------------------------------------------------- */

int mng_store_each(const struct mng_store *s, pair_fn fn, void *ctx)
{
    return pairs_each(&s->pairs, fn, ctx);
}

int mng_store_put(struct mng_store *s, const char *key, const char *val)
{
    size_t at = s->pending.len;
    int rc = record_add(&s->pending, PUT, key, val);

    if (rc == 0)
        rc = pairs_set(&s->pairs, key, val);
    if (rc < 0) {
        s->pending.len = at;
        s->pending.failed = false;
    }
    return rc;
}

int mng_store_del(struct mng_store *s, const char *key)
{
    int rc = record_add(&s->pending, DEL, key, NULL);

    if (rc == 0)
        pairs_drop(&s->pairs, key);
    else
        s->pending.failed = false;
    return rc;
}

int mng_store_sync(struct mng_store *s, struct err *e)
{
    int rc;

    if (s->pending.len == 0 && !s->broken)
        return 0;
    if (!s->broken && s->file_bytes > COMPACT_FLOOR &&
        s->file_bytes > 2 * live_bytes(s))
        return compact(s, e);
    if (!s->broken && !FAILPOINT_FAILS("store.write") &&
        file_write_all(s->fd, s->pending.data, s->pending.len) == 0 &&
        !FAILPOINT_FAILS("store.sync") && fdatasync(s->fd) == 0) {
        s->file_bytes += s->pending.len;
        buf_reset(&s->pending);
        s->count.syncs++;
        return 0;
    }
    /* this file is not believed any more, whatever a second sync would say */
    if (!s->broken)
        log_error("event=write_failed file=%s errno=%d", s->path, errno);
    s->broken = true;
    s->count.failures++;
    rc = compact(s, e);
    if (rc == 0)
        log_warn("event=store_rewritten file=%s bytes=%llu", s->path,
                 (unsigned long long)s->file_bytes);
    return rc;
}

void mng_store_count(const struct mng_store *s, struct mng_store_counts *c)
{
    *c = s->count;
    c->keys = s->pairs.live;
    c->live_bytes = live_bytes(s);
    c->file_bytes = s->file_bytes;
}

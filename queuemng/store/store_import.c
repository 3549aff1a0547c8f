#include "queuemng/store/store_import.h"

#include <assert.h>
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
#include "common/base/file.h"
#include "common/base/log.h"

#define LOG_MODULE "store"

#define MAGIC       "segqkv1\n"
#define MAGIC_BYTES 8
#define HEAD_BYTES  16
#define PAYLOAD_MAX (64u << 20)
#define GONE        "segq keeps this store in the folder store/ since release 0.2\n"

enum { PUT = 1, DEL = 2 };

struct old { /* an import */
    const char *dir; /* ref */
    char path[512];
    struct buf text; /* the whole file */
    struct kv kv;
};

/* ---- records ------------------------------------------------------------------------ */
static bool all_zero(const uint8_t *p, size_t n)
{
    while (n > 0 && p[n - 1] == 0)
        n--;
    return n == 0;
}

static uint64_t sum_of(const uint8_t *p, size_t n)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "segq-store-check";
    uint64_t sum;

    crypto_shorthash((uint8_t *)&sum, p, n, key);
    return sum;
}

/* > 0: bytes of a whole record; 0: a torn tail; SQ_EPROTO: damage. */
static int64_t record_check(const uint8_t *p, size_t n)
{
    uint32_t len, check;
    uint64_t sum;

    if (n < HEAD_BYTES || all_zero(p, n))
        return 0;
    memcpy(&len, p, 4);
    memcpy(&check, p + 4, 4);
    memcpy(&sum, p + 8, 8);
    if (check != (len ^ 0x73656771u) * 2654435761u || len < 3 || len > PAYLOAD_MAX)
        return SQ_EPROTO;
    if (len > n - HEAD_BYTES)
        return 0;
    if (sum == sum_of(p + HEAD_BYTES, len))
        return HEAD_BYTES + (int64_t)len;
    /* Accepts a torn end: its last blocks may not have reached the disk, if nothing comes after. */
    return all_zero(p + HEAD_BYTES + len, n - HEAD_BYTES - len) ? 0 : SQ_EPROTO;
}

static int record_apply(struct kv *kv, const uint8_t *p, size_t len)
{
    uint16_t klen;
    char *text;
    int rc = 0;

    memcpy(&klen, p + 1, 2);
    if (len < 3u + klen || klen == 0 || (p[0] != PUT && p[0] != DEL))
        return SQ_EPROTO;
    text = malloc(len + 2); /* key, 0, value, 0 */
    if (text == NULL)
        return SQ_ENOMEM;
    memcpy(text, p + 3, klen);
    text[klen] = '\0';
    memcpy(text + klen + 1, p + 3 + klen, len - 3 - klen);
    text[len - 2] = '\0';
    if (p[0] == PUT)
        rc = kv_set(kv, text, text + klen + 1);
    else
        kv_del(kv, text);
    free(text);
    return rc;
}

static int records(struct old *o, struct err *e)
{
    const uint8_t *p = o->text.data;
    size_t at = MAGIC_BYTES, n = o->text.len;

    while (at < n) {
        int64_t took = record_check(p + at, n - at);
        int rc = took < 0 ? (int)took : 0;

        assert(took <= (int64_t)(n - at));
        if (took == 0) {
            log_warn("event=torn_tail file=%s offset=%zu cut_bytes=%zu", o->path, at, n - at);
            return 0;
        }
        if (rc == 0)
            rc = record_apply(&o->kv, p + at + HEAD_BYTES, (size_t)took - HEAD_BYTES);
        if (rc < 0)
            return err_set(e, rc, "%s: record at offset %zu: %s", o->path, at,
                           rc == SQ_EPROTO ? "damaged" : sq_strerror(rc));
        at += (size_t)took;
    }
    return 0;
}

/* ---- files -------------------------------------------------------------------------- */
static int file_err(struct err *e, const char *path)
{
    return err_set(e, SQ_ESYS, "%s: %s", path, strerror(errno));
}

static int read_all(struct old *o, int fd, struct err *e)
{
    for (;;) {
        uint8_t *to = buf_reserve(&o->text, 64 * 1024);
        ssize_t n = to != NULL ? read(fd, to, 64 * 1024) : 0;

        if (to == NULL)
            return err_set(e, SQ_ENOMEM, "%s: %s", o->path, sq_strerror(SQ_ENOMEM));
        if (n < 0 && errno != EINTR)
            return file_err(e, o->path);
        if (n == 0)
            return 0;
        o->text.len += n > 0 ? (size_t)n : 0;
    }
}

/* 1: there is one, and it was read; 0: there is none. */
static int read_file(struct old *o, struct err *e)
{
    int fd = open(o->path, O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : file_err(e, o->path);
    rc = read_all(o, fd, e);
    close(fd);
    if (rc < 0)
        return rc;
    if (o->text.len < MAGIC_BYTES)
        return 0; /* torn while it was being made */
    if (o->text.len == strlen(GONE) && memcmp(o->text.data, GONE, strlen(GONE)) == 0)
        return 0; /* taken over by an earlier start */
    if (memcmp(o->text.data, MAGIC, MAGIC_BYTES) != 0)
        return err_set(e, SQ_EPROTO, "%s: not a store of segq", o->path);
    rc = records(o, e);
    return rc < 0 ? rc : 1;
}

/* Old or new, never neither: the text is renamed over the file. */
static int retire(struct old *o, struct err *e)
{
    char tmp[520];
    int fd, rc = 0;

    snprintf(tmp, sizeof(tmp), "%s.new", o->path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || file_write_all(fd, GONE, strlen(GONE)) < 0 || fsync(fd) < 0 ||
        rename(tmp, o->path) < 0 || file_sync_dir(o->dir) < 0)
        rc = file_err(e, tmp);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int locked_import(struct old *o, store_take_fn take, void *ctx, struct err *e)
{
    int rc = read_file(o, e);
    size_t keys = o->kv.live;

    if (rc <= 0)
        return rc;
    rc = take(ctx, &o->kv, e);
    if (rc == 0)
        rc = retire(o, e);
    if (rc == 0)
        log_info("event=store_imported file=%s keys=%zu", o->path, keys);
    return rc;
}

/* The lock of the older releases; -1: there is none to be taken. */
static int lock(const struct old *o, struct err *e)
{
    char path[520];
    int fd, rc;

    snprintf(path, sizeof(path), "%s/manager.lock", o->dir);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -1 : file_err(e, path);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    rc = errno == EWOULDBLOCK
             ? err_set(e, SQ_ECONFLICT, "%s: another manager uses this folder", o->dir)
             : file_err(e, path);
    close(fd);
    return rc;
}

int store_import(const char *dir, store_take_fn take, void *ctx, struct err *e)
{
    struct old o = { .dir = dir };
    int fd, rc;

    if (snprintf(o.path, sizeof(o.path), "%s/manager.store", dir) >= (int)sizeof(o.path))
        return err_set(e, SQ_EINVAL, "store: the folder's name is too long");
    if (access(o.path, F_OK) < 0 && errno == ENOENT)
        return 0;
    fd = lock(&o, e);
    if (fd < -1)
        return fd;
    kv_init(&o.kv);
    buf_init(&o.text);
    rc = locked_import(&o, take, ctx, e);
    kv_fini(&o.kv);
    buf_fini(&o.text);
    if (fd >= 0)
        close(fd);
    return rc;
}

#include "task/bodies/bodies.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/task/rules.h"
#include "task/bodies/body_files.h"

#define LOG_MODULE "bodies"
#define COPIES_A_TURN (4u << 20) /* bytes that a turn may have when one more is copied */
#define KEEP_BYTES (4u << 20) /* the memory of a rare huge turn goes */
#define ROOM_BYTES (1u << 20) /* a disk has room when it has so much */
#define LOOK_MS    1000

struct bodies {
    struct disk *disk; /* owned if own_disk */
    bool own_disk;
    bool failed;  /* nothing is believed until bodies_again() */
    bool redo;    /* the journal's records of bodies are to be written again */
    bool starved; /* room was refused; asked for again after the next flush */
    bool opened;
    bool full; /* no room for what is new */
    uint64_t full_before; /* c.full at the last look */
    msec_t looked_ms;
    char node[NAME_MAX_LEN + 1];
    uint32_t sync_ms, file_bytes;
    struct body_files files;
    struct body_file *now; /* ref: the one that is written; NULL: the next put makes one */
    struct body_key key;   /* current file */
    uint64_t allocated;    /* current file */
    struct buf out;        /* bytes not written, from now->end on */
    msec_t synced_ms;
    bool (*keep)(void *ctx, uint32_t file, uint32_t at, const uint8_t *p, uint32_t n);
    void *keep_ctx; /* both: bodies_opts; keep NULL: `os` */
    struct buf scratch; /* a body that is read */
    struct body_ahead ahead;
    struct bodies_counts c;
};

/* ---- the file that is written ------------------------------------------------------- */

/* No more is written to it. Room beyond its end is given back. */
static void seal(struct bodies *b)
{
    if (b->allocated > b->now->end)
        (void)b->disk->ops->truncate(b->disk, b->now->h, b->now->end);
    b->now->is_written = false;
    b->now = NULL;
}

/* Under `os` a sync that fails is not tried again: nothing else was promised. */
static bool sync_one(struct bodies *b, struct body_file *one)
{
    int rc;

    do {
        b->c.syncs++;
        rc = b->disk->ops->sync(b->disk, one->h);
    } while (rc == -EINTR);
    one->unsynced = rc < 0 && b->keep != NULL;
    if (rc == 0)
        return true;
    b->failed = b->redo = b->keep != NULL;
    b->c.failures++;
    log_error("event=bodies_sync_failed file=%08x at=%llu error=\"%s\"", one->no,
              (unsigned long long)one->end, strerror(-rc));
    if (!b->failed && one == b->now && b->out.len == 0)
        seal(b);
    return false;
}

bool bodies_sync(struct bodies *b)
{
    for (uint32_t i = 0; i < b->files.n && !b->failed; i++)
        if (b->files.v[i]->unsynced)
            (void)sync_one(b, b->files.v[i]);
    return !b->failed;
}

/* ---- open, close ------------------------------------------------------------------- */

static int open_error(struct err *e, int rc, const char *dir)
{
    if (rc == -ENOMEM)
        return err_set(e, SQ_ENOMEM, "%s: %s", dir, sq_strerror(SQ_ENOMEM));
    return err_set(e, rc == -EWOULDBLOCK ? SQ_EBUSY : SQ_ESYS, "%s: %s", dir,
                   rc == -EWOULDBLOCK ? "another process has it" : strerror(-rc));
}

int bodies_open(struct bodies **out, const struct bodies_opts *o, struct err *e)
{
    struct bodies *b = sodium_init() < 0 ? NULL : calloc(1, sizeof(*b));
    int rc;

    if (b == NULL)
        return open_error(e, -ENOMEM, o->dir);
    b->redo = true;
    b->keep = o->keep;
    b->keep_ctx = o->keep_ctx;
    b->sync_ms = o->sync_ms != 0 ? o->sync_ms : 1000;
    b->file_bytes = o->file_bytes != 0 ? o->file_bytes : BODIES_FILE;
    assert(b->file_bytes <= BODIES_FILE && strlen(o->node) <= NAME_MAX_LEN);
    memcpy(b->node, o->node, strlen(o->node) + 1);
    buf_init(&b->out);
    buf_init(&b->scratch);
    b->disk = o->disk;
    if (b->disk == NULL) {
        rc = disk_posix_open(&b->disk, o->dir, "bodies", true, e);
        if (rc < 0) {
            free(b);
            return rc;
        }
        b->own_disk = true;
    }
    rc = b->disk->ops->lock(b->disk);
    if (rc >= 0)
        rc = body_files_init(&b->files, b->disk, b->node);
    if (rc < 0) {
        bodies_close(b);
        return open_error(e, rc, o->dir);
    }
    *out = b;
    return 0;
}

void bodies_close(struct bodies *b)
{
    if (b == NULL)
        return;
    body_files_fini(&b->files);
    if (b->own_disk)
        b->disk->ops->free(b->disk);
    buf_fini(&b->out);
    buf_fini(&b->scratch);
    body_ahead_fini(&b->ahead);
    free(b);
}

void bodies_again(struct bodies *b)
{
    for (uint32_t i = 0; i < b->files.n; i++) {
        b->files.v[i]->living = 0;
        b->files.v[i]->dead_at = 0;
    }
    buf_reset(&b->out);
    if (b->failed && b->now != NULL)
        seal(b); /* unknown after a failed sync */
    b->failed = b->opened = false;
}

/* ---- places ------------------------------------------------------------------------ */

/* True for what this process may believe: a file that is there, and bytes within it. */
static struct body_file *file_of(const struct bodies *b, const struct body_place *p)
{
    struct body_file *f = body_files_find(&b->files, p->file);
    uint64_t end = f == NULL ? 0 : f->end + (f == b->now ? b->out.len : 0);

    return p->len >= BODY_HEAD && end >= p->len && p->at <= end - p->len ? f : NULL;
}

int bodies_live(struct bodies *b, uint64_t ref)
{
    struct body_place p = body_place_of(ref);
    struct body_file *f;

    assert(!b->opened);
    if (ref == 0)
        return 0;
    f = file_of(b, &p);
    if (f == NULL) {
        if (p.file != 0)
            body_files_saw(&b->files, p.file); /* a number that was given is not given again */
        b->c.damaged++;
        return SQ_EGONE;
    }
    f->living = u64_min(f->living + p.len, f->end);
    return 0;
}

int bodies_redo(struct bodies *b, uint64_t file, uint64_t at, const uint8_t *p, size_t n)
{
    struct body_file *f;
    int rc;

    assert(!b->opened);
    if (file == 0 || file > BODY_FILE_MAX || n == 0 || n > BODY_END_MAX || at > BODY_END_MAX - n)
        return SQ_EPROTO;
    body_files_saw(&b->files, (uint32_t)file);
    f = body_files_find(&b->files, (uint32_t)file);
    if (f == NULL || !b->redo)
        return 0; /* all in it had died; or it is there */
    rc = body_files_write(&b->files, f, at, p, n);
    if (rc < 0) {
        b->c.failures++;
        log_error("event=bodies_write_failed file=%08x at=%llu error=\"%s\"", f->no,
                  (unsigned long long)at, strerror(-rc));
        return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM ? SQ_ENOMEM : SQ_ESYS;
    }
    f->end = u64_max(f->end, at + n);
    return 0;
}

void bodies_opened(struct bodies *b)
{
    b->redo = false;
    b->opened = true;
}

void bodies_drop(struct bodies *b, uint64_t ref)
{
    struct body_place p = body_place_of(ref);
    struct body_file *f = ref == 0 ? NULL : file_of(b, &p);

    if (f == NULL)
        return;
    f->living -= u64_min(f->living, p.len);
    if (f == b->now && p.at >= f->end && p.at + p.len == f->end + b->out.len)
        b->out.len -= p.len;
}

/* ---- a turn ------------------------------------------------------------------------ */

static int begin_file(struct bodies *b)
{
    int rc;

    if (b->now != NULL)
        return 0;
    rc = body_files_create(&b->files, &b->now);
    if (rc < 0) {
        b->c.failures++;
        b->c.full += rc == -ENOSPC || rc == -EDQUOT;
        return rc == -ENOSPC || rc == -EDQUOT ? SQ_EFULL : rc == -ENOMEM ? SQ_ENOMEM : SQ_ESYS;
    }
    b->allocated = 0;
    body_key_make(&b->key, b->node, b->now->no);
    return 0;
}

int bodies_put(struct bodies *b, const uint8_t *p, uint32_t n, uint64_t *ref)
{
    uint64_t at;
    uint8_t *to;
    int rc;

    assert(b->opened);
    *ref = 0;
    if (n == 0)
        return 0;
    if (n > TASK_BODY_MAX)
        return SQ_ETOOBIG;
    rc = b->failed ? SQ_ESYS : begin_file(b);
    if (rc < 0)
        return rc;
    at = b->now->end + b->out.len;
    if (at + body_len(n) > BODY_END_MAX ||
        !disk_room(b->disk, b->now->h, at + body_len(n), &b->allocated, &b->starved)) {
        b->c.full++;
        return SQ_EFULL;
    }
    to = buf_reserve(&b->out, body_len(n));
    if (to == NULL) {
        b->out.failed = false;
        return SQ_ENOMEM;
    }
    body_seal(to, &b->key, (uint32_t)at, p, n);
    b->out.len += body_len(n);
    b->now->living += body_len(n);
    *ref = body_ref(&(struct body_place){ b->now->no, (uint32_t)at, body_len(n) });
    b->c.puts++;
    return 0;
}

static int write_failed(struct bodies *b, int rc)
{
    b->c.failures++;
    if (rc == -ENOSPC || rc == -EDQUOT) {
        log_warn("event=bodies_full file=%08x at=%llu", b->now->no,
                 (unsigned long long)b->now->end);
        return SQ_EFULL;
    }
    log_error("event=bodies_write_failed file=%08x at=%llu error=\"%s\"", b->now->no,
              (unsigned long long)b->now->end, strerror(-rc));
    b->failed = true;
    return SQ_ESYS;
}

static bool is_kept(struct bodies *b)
{
    return b->out.len <= BODIES_KEPT_MOST &&
           b->keep(b->keep_ctx, b->now->no, (uint32_t)b->now->end, b->out.data,
                   (uint32_t)b->out.len);
}

int bodies_flush(struct bodies *b)
{
    int rc;

    if (b->failed)
        return SQ_ESYS;
    b->starved = false;
    if (b->out.len == 0)
        return 0;
    rc = body_files_write(&b->files, b->now, b->now->end, b->out.data, b->out.len);
    if (rc < 0)
        return write_failed(b, rc);
    if (b->keep != NULL && !is_kept(b) && !sync_one(b, b->now))
        return SQ_ESYS;
    b->now->end += b->out.len;
    b->c.bytes += b->out.len;
    b->out.len = 0;
    if (b->now->end >= b->file_bytes)
        seal(b);
    if (b->out.cap > KEEP_BYTES)
        buf_fini(&b->out);
    return 0;
}

/* ---- reads ------------------------------------------------------------------------- */

/* 0: *p is what the file has there, until the next read. */
static int read_alone(struct bodies *b, struct body_file *f, const struct body_place *at,
                      const uint8_t **p)
{
    buf_reset(&b->scratch);
    *p = buf_reserve(&b->scratch, at->len);
    if (*p == NULL)
        return -ENOMEM;
    return body_files_read(&b->files, f, at, b->scratch.data);
}

static int damaged(struct bodies *b, struct body_file *f, const struct body_place *at, int rc)
{
    b->c.damaged++;
    log_error("event=body_damaged file=%08x at=%u bytes=%u error=\"%s\"", at->file, at->at, at->len,
              rc < 0 ? strerror(-rc) : "not what was written");
    if (f != NULL)
        tidy_stuck(f);
    return SQ_EPROTO;
}

/* The bytes of the place, as they were written: until the next read. What was read ahead and is not
 * right may have been written since: it is read again. */
static int fetch(struct bodies *b, uint64_t ref, const uint8_t **p, uint32_t *n)
{
    struct body_place at = body_place_of(ref);
    struct body_file *f = file_of(b, &at);
    struct body_key key;
    const uint8_t *bytes;
    int rc = 0;

    if (f == NULL)
        return damaged(b, f, &at, -ENOENT);
    body_key_make(&key, b->node, at.file);
    bytes = f == b->now && at.at >= f->end ? b->out.data + (at.at - f->end)
                                          : body_ahead_read(&b->ahead, &b->files, f, &at);
    if (bytes == NULL || !body_is_whole(bytes, &key, &at, n)) {
        rc = read_alone(b, f, &at, &bytes);
        if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
            return SQ_ENOMEM;
        if (rc < 0 || !body_is_whole(bytes, &key, &at, n))
            return damaged(b, f, &at, rc);
    }
    *p = bytes + BODY_HEAD;
    return 0;
}

int bodies_get(struct bodies *b, uint64_t ref, struct buf *out)
{
    const uint8_t *p;
    uint32_t n;
    int rc;

    if (ref == 0)
        return 0;
    rc = fetch(b, ref, &p, &n);
    if (rc < 0)
        return rc;
    b->c.gets++;
    buf_append(out, p, n);
    return out->failed ? SQ_ENOMEM : 0;
}

bool bodies_is_old(const struct bodies *b, uint64_t ref)
{
    const struct body_file *f = ref == 0 ? NULL :
        body_files_find(&b->files, body_place_of(ref).file);

    return f != NULL && f->old;
}

int bodies_copy(struct bodies *b, uint64_t ref, uint64_t *to)
{
    const uint8_t *p;
    uint32_t n;
    int rc;

    *to = 0;
    if (b->out.len >= COPIES_A_TURN)
        return SQ_EFULL;
    rc = bodies_is_old(b, ref) ? fetch(b, ref, &p, &n) : SQ_EINVAL;
    if (rc == 0)
        rc = bodies_put(b, p, n, to);
    b->c.copies += rc == 0;
    return rc;
}

/* ---- files ------------------------------------------------------------------------- */

static bool has_unsynced(const struct bodies *b)
{
    for (uint32_t i = 0; i < b->files.n; i++)
        if (b->files.v[i]->unsynced)
            return true;
    return false;
}

/* Once a second, if something was refused since, or while there was no room: nobody may ask for long then. */
static void look_for_room(struct bodies *b, msec_t now_ms)
{
    bool full;

    if (now_ms - b->looked_ms < LOOK_MS || (!b->full && b->c.full == b->full_before))
        return;
    b->looked_ms = now_ms;
    b->starved = false;
    full = begin_file(b) < 0 ||
           !disk_room(b->disk, b->now->h, b->now->end + b->out.len + ROOM_BYTES, &b->allocated, &b->starved);
    b->full_before = b->c.full;
    if (full == b->full)
        return;
    b->full = full;
    if (full)
        log_warn("event=bodies_full effect=\"tasks with a payload are refused; what is there goes on\"");
    else
        log_info("event=bodies_have_room");
}

void bodies_warn(const struct bodies *b, struct buf *out)
{
    if (b != NULL && b->full)
        buf_printf(out, "%sno room on the disk of its bodies: no task with a payload is accepted; what is there goes on",
                   out->len > 0 ? "; " : "");
}

bool bodies_step(struct bodies *b, msec_t now_ms)
{
    if (!b->opened || b->failed)
        return false;
    look_for_room(b, now_ms);
    if (now_ms - b->synced_ms >= b->sync_ms && has_unsynced(b)) {
        b->synced_ms = now_ms;
        if (!bodies_sync(b))
            return false;
    }
    b->c.removed += tidy_remove(&b->files, now_ms, b->keep != NULL ? 0 : BODIES_LINGER_MS);
    return tidy_mark(&b->files, b->file_bytes);
}

void bodies_counts(const struct bodies *b, struct bodies_counts *out)
{
    *out = b->c;
    out->no_room = b->full;
    out->writes = b->files.writes;
    out->files = b->files.n;
    for (uint32_t i = 0; i < b->files.n; i++) {
        out->disk_bytes += b->files.v[i]->end;
        out->living_bytes += b->files.v[i]->living;
    }
}

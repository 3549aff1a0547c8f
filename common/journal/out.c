#include "common/journal/out.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define KEEP_BYTES (4u << 20) /* beyond what it began with */

int jout_init(struct jout *o, size_t longest)
{
    memset(o, 0, sizeof(*o));
    o->h = -1;
    o->cap = o->first_cap = JGROUP_BYTES + JRECORD_BYTES + longest;
    o->buf = malloc(o->cap);
    if (o->buf == NULL)
        return SQ_ENOMEM;
    jout_drop(o);
    return 0;
}

void jout_close(struct jout *o, struct disk *d)
{
    if (o->h >= 0)
        d->ops->close(d, o->h);
    o->h = -1;
}

void jout_fini(struct jout *o, struct disk *d)
{
    jout_close(o, d);
    free(o->buf);
    o->buf = NULL;
}

/* The group of a rare huge turn is written: it does not keep its memory. */
static void shrink(struct jout *o)
{
    uint8_t *buf = realloc(o->buf, o->first_cap);

    if (buf == NULL)
        return;
    o->buf = buf;
    o->cap = o->first_cap;
}

void jout_drop(struct jout *o)
{
    o->len = JGROUP_BYTES;
    o->count = 0;
    if (o->cap > o->first_cap + KEEP_BYTES)
        shrink(o);
}

static bool grow(struct jout *o, size_t n)
{
    size_t cap = o->cap * 2 > o->len + n ? o->cap * 2 : o->len + n;
    uint8_t *buf;

    if (o->len - JGROUP_BYTES + n > JGROUP_MAX || o->count == JCOUNT_MAX)
        return false;
    buf = realloc(o->buf, cap);
    if (buf == NULL)
        return false;
    o->buf = buf;
    o->cap = cap;
    return true;
}

void *jout_put_slow(struct jout *o, uint8_t type, size_t n)
{
    if (o->cap - o->len < JRECORD_BYTES + n || o->count == JCOUNT_MAX)
        if (!grow(o, JRECORD_BYTES + n))
            return NULL;
    return jout_put(o, type, n);
}

static int disk_err(struct err *e, int rc, const char *what, const struct jout *o)
{
    return err_set(e, rc == -ENOSPC || rc == -EDQUOT ? SQ_EFULL : SQ_ESYS,
                   "%s file %016" PRIx64 " at %" PRIu64 ": %s", what, o->seq, o->written,
                   strerror(-rc));
}

int jout_bytes(struct journal *j, struct jout *o, const uint8_t *p, size_t n, struct err *e)
{
    size_t done = 0;

    while (done < n) {
        ssize_t k = j->disk->ops->pwrite(j->disk, o->h, p + done, n - done,
                                         o->written + done);

        j->c.writes++;
        if (k == -EINTR)
            continue;
        if (k <= 0)
            return disk_err(e, k == 0 ? -EIO : (int)k, "write", o);
        done += (size_t)k;
    }
    o->written += n;
    j->c.bytes += n;
    return 0;
}

bool jout_room(struct journal *j, struct jout *o, uint64_t end)
{
    return disk_room(j->disk, o->h, end, &o->allocated, &j->starved);
}

int jout_write(struct journal *j, struct jout *o, enum jgroup_kind kind, struct err *e)
{
    int rc;

    assert(o->h >= 0 && o->len >= JGROUP_BYTES && o->len <= o->cap);
    jgroup_seal(o->buf, &o->key, o->written, o->synced, (uint32_t)(o->len - JGROUP_BYTES),
                o->count, kind);
    (void)jout_room(j, o, o->written + o->len); /* without it the write may still succeed */
    rc = jout_bytes(j, o, o->buf, o->len, e);
    if (rc < 0)
        return rc;
    j->c.records += o->count;
    jout_drop(o);
    return 0;
}

int jout_sync(struct journal *j, struct jout *o, struct err *e)
{
    int rc;

    do {
        j->c.syncs++;
        rc = j->disk->ops->sync(j->disk, o->h);
    } while (rc == -EINTR);
    assert(o->synced <= o->written);
    if (rc < 0) {
        (void)disk_err(e, rc, "sync", o);
        return SQ_ESYS; /* even for want of space: what was written is not known any more */
    }
    o->synced = o->written;
    return 0;
}

static int write_head(struct journal *j, struct jout *o, const struct jfile_new *n,
                      struct err *e)
{
    struct jhead h = { .version = j->format, .seq = n->seq, .flags = n->flags, .boot = j->boot,
                       .kind = n->name == JNAME_LOG ? JLOG : JSNAP };
    uint8_t head[JHEAD_BYTES];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    h.created_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    memcpy(h.node, j->node, sizeof(h.node));
    jhead_build(head, &h);
    jkey_make(&o->key, j->node, h.kind, n->seq);
    return jout_bytes(j, o, head, sizeof(head), e);
}

static int fill_new(struct journal *j, struct jout *o, const struct jfile_new *n,
                    struct err *e)
{
    bool roomy = n->room == 0 || jout_room(j, o, n->room);
    int rc;

    if (!roomy && n->must)
        return err_set(e, SQ_EFULL, "no room for %" PRIu64 " bytes of log", n->room);
    rc = write_head(j, o, n, e);
    if (rc < 0 || n->name != JNAME_LOG)
        return rc;
    rc = jout_sync(j, o, e);
    return rc < 0 ? rc : jdir_sync(j->disk, e);
}

int jout_create(struct journal *j, struct jout *o, const struct jfile_new *n, struct err *e)
{
    char name[JNAME_MAX];
    int rc;

    assert(o->h < 0 && n->seq > 0);
    jname_text(name, n->name, n->seq);
    o->seq = n->seq;
    o->written = o->synced = o->allocated = 0;
    o->h = j->disk->ops->open(j->disk, name, DISK_CREATE);
    if (o->h < 0)
        return disk_err(e, o->h, "create", o);
    rc = fill_new(j, o, n, e);
    if (rc < 0) {
        jout_close(o, j->disk);
        j->disk->ops->unlink(j->disk, name); /* a log without groups is harmless, too */
    }
    return rc;
}

#include "common/journal/tail.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/journal/out.h"

#define LOG_MODULE "journal"

/* Keeps the bytes that were cut off beside the log, for a human. A failure is ignored. */
static void keep_torn(struct jreplay *r, struct jwalk *w, uint64_t seq)
{
    struct disk *d = r->j->disk;
    char name[JNAME_MAX];
    uint64_t at = w->at;
    int h;

    assert(w->at < w->f.size);
    jname_text(name, JNAME_TORN, seq);
    h = d->ops->open(d, name, DISK_CREATE);
    while (h >= 0 && at < w->f.size) {
        const uint8_t *p;
        size_t n = u64_min(64 * 1024, w->f.size - at);
        ssize_t k;

        if (jreader_get(&w->f, at, n, &p, NULL) < 0)
            break;
        k = d->ops->pwrite(d, h, p, n, at - w->at);
        if (k <= 0)
            break;
        at += (uint64_t)k;
    }
    if (h >= 0)
        d->ops->close(d, h);
    r->j->c.torn_bytes += w->f.size - w->at;
    log_warn("event=torn_tail dir=%s file=%s offset=%" PRIu64 " cut_bytes=%" PRIu64 " kept=%s",
             r->j->where, w->name, w->at, w->f.size - w->at, name);
}

/* Is anything behind the last group, and may it be? 0: what is there may be cut off. */
int jtail_read(struct jreplay *r, struct jwalk *w, uint64_t seq, bool last, struct err *e)
{
    for (;;) {
        int rc = jreader_tail(&w->f, &w->key, w->at, e);

        if (rc < 0)
            return err_wrap(e, "%s", w->name);
        if (rc == JTAIL_ZEROS && (last || w->ended))
            return 0;
        if (rc == JTAIL_TORN && last) {
            keep_torn(r, w, seq);
            return 0;
        }
        rc = jreplay_damage(r, w->name, w->at,
                            rc == JTAIL_ZEROS ? "the log ends without its end mark"
                                              : "bytes that were once written are damaged",
                            e);
        if (rc == 0)
            rc = jwalk_skip(r, w, e);
        if (rc == 1)
            rc = jwalk_groups(r, w, e);
        else if (rc == 0)
            return 0;
        if (rc < 0)
            return rc;
    }
}

/* Writes the bytes that may be in the kernel only once more. A sync alone would not do: if
 * one failed before the restart, the kernel shows these bytes, calls them clean, and
 * forgets them in the next power cut. */
static int write_again(struct jreplay *r, struct jwalk *w, struct jout *o, struct err *e)
{
    uint64_t at = w->synced; /* the file's own word: may be behind its end */

    while (at < w->at) {
        size_t n = u64_min(64 * 1024, w->at - at);
        const uint8_t *p;
        int rc = jreader_get(&w->f, at, n, &p, e);

        o->written = at;
        if (rc == 0)
            rc = jout_bytes(r->j, o, p, n, e);
        if (rc < 0)
            return rc;
        at += n;
    }
    return jout_sync(r->j, o, e);
}

static int cut_and_end(struct jreplay *r, struct jwalk *w, struct jout *o, struct err *e)
{
    struct journal *j = r->j;
    int rc = j->disk->ops->truncate(j->disk, o->h, w->at);

    if (rc < 0)
        return err_set(e, SQ_ESYS, "cut %s: %s", w->name, strerror(-rc));
    w->f.size = w->at; /* nothing behind it can be read ahead any more */
    rc = write_again(r, w, o, e);
    if (rc < 0 || w->ended)
        return rc;
    rc = jout_write(j, o, JG_CLOSED, e);
    return rc < 0 ? rc : jout_sync(j, o, e);
}

int jtail_close(struct jreplay *r, uint64_t seq, struct jwalk *w, struct err *e)
{
    struct disk *d = r->j->disk;
    struct jout o;
    int rc = jout_init(&o, 0);

    if (rc < 0)
        return err_set(e, rc, "%s", sq_strerror(rc));
    o.seq = seq;
    o.written = w->at;
    o.allocated = UINT64_MAX; /* no room for more than the mark */
    o.key = w->key;
    o.h = d->ops->open(d, w->name, DISK_WRITE);
    if (o.h < 0)
        rc = err_set(e, SQ_ESYS, "open %s: %s", w->name, strerror(-o.h));
    else
        rc = cut_and_end(r, w, &o, e);
    jout_fini(&o, d);
    return rc;
}

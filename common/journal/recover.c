#include "common/journal/recover.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/journal/out.h"

#define LOG_MODULE "journal"

struct chain_log {
    uint64_t seq;
    bool head, fresh, groups; /* has a whole head; is marked FRESH; holds a group */
    bool foreign;             /* begun in another start of the machine */
};

struct recovery {
    struct jreplay to;
    struct jdir dir;       /* owned */
    uint64_t base;         /* sequence of the newest snapshot; 0 = none */
    struct chain_log *log; /* owned: those at base and after */
    size_t n;
};

static uint64_t clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the end of a log: torn, or damaged? --------------------------------------------- */
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

/* 0: what follows the last group may be cut off (torn bytes are kept as log-N.torn); goes on behind
 * damage if that is allowed. < 0: damaged or unreadable. last: only this log may be torn. */
static int jtail_read(struct jreplay *r, struct jwalk *w, uint64_t seq, bool last, struct err *e)
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

/* Cuts the log behind its last group, syncs the rest, and gives it its end mark. */
static int jtail_close(struct jreplay *r, uint64_t seq, struct jwalk *w, struct err *e)
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

/* ---- the logs ------------------------------------------------------------------------ */
static int replay_log(struct recovery *r, const struct chain_log *log, bool last, struct err *e)
{
    struct jwalk w = { .f.h = -1 };
    char name[JNAME_MAX];
    int rc;

    jname_text(name, JNAME_LOG, log->seq);
    rc = jwalk_open(&r->to, &w, name, JLOG, log->seq, e)
        ?: jwalk_groups(&r->to, &w, e)
        ?: jtail_read(&r->to, &w, log->seq, last, e);
    r->to.j->older_bytes += w.at;
    r->to.j->older_logs++;
    if (rc == 0 && log->head && (last || !w.ended))
        rc = jtail_close(&r->to, log->seq, &w, e);
    jwalk_close(&w);
    return rc;
}

/* ---- which logs there are ------------------------------------------------------------ */
static int look_at(struct recovery *r, struct chain_log *log, struct err *e)
{
    struct jreader f;
    struct jhead h = { 0 };
    struct jgroup g;
    struct jkey key;
    char name[JNAME_MAX];
    int rc;

    jname_text(name, JNAME_LOG, log->seq);
    assert(log->seq >= r->base);
    rc = jreader_open(&f, r->to.j->disk, name, e);
    if (rc < 0)
        return rc;
    jkey_make(&key, r->to.j->node, JLOG, log->seq);
    rc = jreplay_head(&r->to, &f, name, JLOG, log->seq, &h, e);
    log->head = rc == 1;
    log->foreign = rc == 1 && h.boot != r->to.j->boot;
    log->fresh = rc == 1 && (h.flags & JHEAD_FRESH) != 0;
    if (rc >= 0)
        rc = jreader_find(&f, &key, JHEAD_BYTES, &g, e);
    log->groups = rc == 1;
    jreader_close(&f);
    return rc < 0 ? rc : 0;
}

static int collect_logs(struct recovery *r, struct err *e)
{
    int rc = 0;

    r->log = calloc(r->dir.n + 1, sizeof(*r->log));
    if (r->log == NULL)
        return err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM));
    for (size_t i = 0; rc == 0 && i < r->dir.n; i++)
        if (r->dir.v[i].kind == JNAME_LOG && r->dir.v[i].seq >= r->base) {
            r->log[r->n].seq = r->dir.v[i].seq;
            rc = look_at(r, &r->log[r->n++], e);
        }
    return rc;
}

static int remove_log(struct recovery *r, uint64_t seq, struct err *e)
{
    char name[JNAME_MAX];
    int rc;

    jname_text(name, JNAME_LOG, seq);
    rc = r->to.j->disk->ops->unlink(r->to.j->disk, name);
    return rc < 0 ? err_set(e, SQ_ESYS, "remove %s: %s", name, strerror(-rc)) : 0;
}

static bool is_void(const struct recovery *r, const struct chain_log *log)
{
    return log->fresh && log->seq != r->base;
}

/* A cure that was not finished: nothing in these logs was ever acknowledged. */
static int drop_void(struct recovery *r, struct err *e)
{
    char name[JNAME_MAX];
    size_t first = 0;
    int rc = 0;

    while (first < r->n && !is_void(r, &r->log[first]))
        first++;
    for (size_t i = first; i < r->n; i++)
        if (r->log[i].head && !r->log[i].fresh) { /* finished, and used */
            jname_text(name, JNAME_SNAP, r->log[first].seq);
            return jreplay_damage(&r->to, name, 0, "the file is missing", e);
        }
    for (size_t i = r->n; rc == 0 && i-- > first;) {
        log_warn("event=journal_void dir=%s file=log-%016" PRIx64
                 " why=\"its snapshot was not finished\"",
                 r->to.j->where, r->log[i].seq);
        rc = remove_log(r, r->log[i].seq, e);
    }
    if (rc == 0 && first < r->n)
        rc = jdir_sync(r->to.j->disk, e);
    r->n = first;
    return rc;
}

/* The newest log died while it was made; a damaged head before groups is another thing. */
static void drop_unborn(struct recovery *r)
{
    if (r->n > 0 && !r->log[r->n - 1].head && !r->log[r->n - 1].groups)
        r->n--;
}

static int missing(struct recovery *r, uint64_t seq, struct err *e)
{
    char name[JNAME_MAX];

    jname_text(name, JNAME_LOG, seq);
    return jreplay_damage(&r->to, name, 0, "the file is missing", e);
}

static int check_gaps(struct recovery *r, struct err *e)
{
    uint64_t want = r->base > 0 ? r->base : 1;
    int rc = r->n == 0 && r->base > 0 ? missing(r, want, e) : 0;

    assert(r->n <= r->dir.n);
    for (size_t i = 0; rc == 0 && i < r->n; i++, want++) {
        if (i > 0 && is_void(r, &r->log[i]))
            break; /* some may have been removed already */
        if (r->log[i].seq != want) {
            rc = missing(r, want, e);
            want = r->log[i].seq;
        }
    }
    return rc;
}

static int replay_logs(struct recovery *r, struct err *e)
{
    size_t last = r->n; /* the last one with groups: only it may be torn */
    int rc = 0;

    while (last > 0 && !r->log[last - 1].groups)
        last--;
    for (size_t i = 0; rc == 0 && i < r->n; i++)
        rc = replay_log(r, &r->log[i], i + 1 >= last, e);
    return rc;
}

/* A log of this start of the machine without a group says nothing: it was begun, then we were
 * killed before we had said what follows from the answer. Without any log: all are newer than
 * the snapshot, and gone. */
static bool was_cut(const struct recovery *r)
{
    if (r->to.j->boot == 0)
        return false;
    for (size_t i = r->n; i-- > 0;)
        if (r->log[i].foreign || r->log[i].groups)
            return r->log[i].foreign;
    return r->base > 0;
}

static void find_base(struct recovery *r)
{
    for (size_t i = 0; i < r->dir.n; i++)
        if (r->dir.v[i].kind == JNAME_SNAP)
            r->base = u64_max(r->base, r->dir.v[i].seq);
}

static int recover(struct recovery *r, struct err *e)
{
    int rc = jdir_read(&r->dir, r->to.j->disk, e);

    if (rc < 0)
        return rc;
    find_base(r);
    rc = collect_logs(r, e)
        ?: check_gaps(r, e)
        ?: drop_void(r, e);
    drop_unborn(r);
    r->to.j->was_cut = was_cut(r);
    if (rc == 0)
        rc = jwalk_snapshot(&r->to, r->base, e);
    return rc < 0 ? rc : replay_logs(r, e);
}

/* ---- again, in service --------------------------------------------------------------- */
/* Reads groups up to `end`; nothing is cut off or closed. */
static int reread_log(struct recovery *r, uint64_t seq, uint64_t end, struct err *e)
{
    struct jwalk w = { .f.h = -1 };
    char name[JNAME_MAX];
    struct jgroup g;
    int rc;

    jname_text(name, JNAME_LOG, seq);
    rc = jwalk_open(&r->to, &w, name, JLOG, seq, e);
    while (rc == 0 && w.at < end && (rc = jreader_group(&w.f, &w.key, w.at, &g, e)) == 1)
        rc = jwalk_group(&r->to, &w, &g, e);
    if (rc == 0 && end != UINT64_MAX && w.at != end)
        rc =
            err_set(e, SQ_EPROTO, "%s ends at offset %" PRIu64 " of %" PRIu64, name, w.at, end);
    jwalk_close(&w);
    return rc;
}

int journal_reread(struct journal *j, const struct journal_replay *to, struct err *e)
{
    struct recovery r = { .to = { .j = j, .to = to } };
    uint64_t t0 = clock_us();
    int rc = jdir_read(&r.dir, j->disk, e);

    find_base(&r);
    j->c.replay_chunks = j->c.replay_records = j->c.replay_bytes = 0;
    if (rc == 0)
        rc = jwalk_snapshot(&r.to, r.base, e);
    for (size_t i = 0; rc == 0 && i < r.dir.n; i++) {
        const struct jname *f = &r.dir.v[i];

        if (f->kind == JNAME_LOG && f->seq >= r.base && f->seq <= j->log.seq)
            rc = reread_log(&r, f->seq, f->seq == j->log.seq ? j->kept : UINT64_MAX, e);
    }
    j->c.replay_ms = (clock_us() - t0) / 1000;
    jdir_fini(&r.dir);
    return rc;
}

int journal_recover(struct journal *j, const struct journal_replay *to, bool allow_damage,
                    uint64_t *next, struct err *e)
{
    struct recovery r = { .to = { .j = j, .to = to, .allow = allow_damage } };
    uint64_t t0 = clock_us();
    int rc = recover(&r, e);

    if (r.n > 0)
        *next = r.log[r.n - 1].seq + 1;
    else
        *next = u64_max(r.base, 1);
    j->c.replay_ms = (clock_us() - t0) / 1000;
    j->c.bytes = j->c.writes = j->c.syncs = 0; /* recovery is not counted */
    free(r.log);
    jdir_fini(&r.dir);
    return rc;
}

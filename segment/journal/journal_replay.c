/* journal_replay.c: recovery. What may be found, and what is done about it:
 *
 *   snap-N and log-N, log-N+1 ... each ended by its end mark   replayed
 *   the last of them without one                      cut at its last whole group, closed
 *   logs with a head and no group behind them         replayed as nothing
 *   the newest log without a whole head               not born yet: its number is used again
 *   a FRESH log whose snapshot is missing             void, with all that follow it: removed
 *   files older than snap-N, *.tmp                    rubbish; never read
 *   a number missing, no end mark before a log that goes on, a snapshot that is not whole,
 *   bad bytes that were synced once                   damage: refused, or skipped if allowed
 *
 * Recovery that is killed at any step may be begun again. */
#include "segment/journal/journal_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"

#define LOG_MODULE "journal"

struct chain_log {
    uint64_t seq;
    bool head, fresh, groups; /* has a whole head; is marked FRESH; holds a group */
    bool foreign;             /* begun in another start of the machine */
};

struct recovery {
    struct journal *j;                 /* ref */
    const struct journal_replay *to;   /* ref */
    bool allow;                        /* damage */
    struct jdir dir;                   /* owned */
    uint64_t base;                     /* sequence of the newest snapshot; 0 = none */
    struct chain_log *log;             /* owned: those at base and after */
    size_t n;
};

static uint64_t wall_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* 0 if damage is allowed (and said), else refused. */
static int damage(struct recovery *r, const char *name, uint64_t at, const char *what,
                  struct err *e)
{
    if (!r->allow)
        return err_set(e, SQ_EPROTO, "%s at offset %" PRIu64 ": %s", name, at, what);
    log_error("dir=%s file=%s offset=%" PRIu64 " damage skipped: %s", r->j->where, name, at,
              what);
    return 0;
}

/* ---- one file ----------------------------------------------------------------------- */
/* 1: fine; 0: no whole head; < 0: of another, or of a newer version. */
static int read_head(struct recovery *r, struct jreader *f, const char *name,
                     enum jkind kind, uint64_t seq, struct jhead *h, struct err *e)
{
    const uint8_t *p;
    int rc;

    if (f->size < JHEAD_BYTES)
        return 0;
    rc = jreader_get(f, 0, JHEAD_BYTES, &p, e);
    if (rc < 0)
        return rc;
    switch (jhead_parse(p, h)) {
    case JHEAD_BAD:
        return 0;
    case JHEAD_NEWER:
        return err_set(e, SQ_EPROTO, "%s was written by a newer segq (format %u, this one "
                       "reads up to %u)", name, h->version, JOURNAL_FORMAT);
    case JHEAD_OK:
        break;
    }
    if (h->kind != kind || h->seq != seq)
        return err_set(e, SQ_EPROTO, "%s is another file under a wrong name", name);
    if (strcmp(h->node, r->j->node) != 0)
        return err_set(e, SQ_EPROTO, "%s belongs to node %s", name,
                       log_q(h->node, strlen(h->node)));
    return 1;
}

static int deliver(struct recovery *r, enum jkind kind, const struct jgroup *g, struct err *e)
{
    struct journal_counts *c = &r->j->c;
    struct jrecord rec;
    uint32_t pos = 0;
    int rc = 0;

    while (rc >= 0 && jgroup_next(g, &pos, &rec)) {
        if (kind == JLOG) {
            rc = r->to->on_record(r->to->ctx, rec.type, rec.p, rec.len, e);
            c->replay_records++;
        } else {
            rc = r->to->on_chunk(r->to->ctx, rec.p, rec.len, e);
            c->replay_chunks++;
        }
    }
    c->replay_bytes += JGROUP_BYTES + g->len;
    return rc < 0 ? rc : 0;
}

struct walk { /* one file, from its head to where no group follows */
    struct jreader f;
    struct jkey key;
    const char *name; /* ref */
    enum jkind kind;
    uint64_t at;       /* behind the last group */
    uint64_t synced;   /* known to be on the disk */
    uint64_t end_word; /* snapshot: the count in its end group */
    bool ended;        /* by an end mark */
};

static int walk_group(struct recovery *r, struct walk *w, const struct jgroup *g,
                      struct err *e)
{
    uint64_t at = w->at;

    w->at += JGROUP_BYTES + g->len;
    w->synced = u64_max(w->synced, g->synced);
    w->ended = g->kind != JG_RECORDS;
    if (w->kind == JSNAP && g->kind == JG_END && g->len == JRECORD_BYTES + 8) {
        w->end_word = le64_get(g->body + JRECORD_BYTES);
        return 0;
    }
    if (deliver(r, w->kind, g, e) == 0)
        return 0;
    return err_wrap(e, "%s at offset %" PRIu64, w->name, at);
}

/* All groups from w->at on, as far as they follow each other. */
static int walk_groups(struct recovery *r, struct walk *w, struct err *e)
{
    struct jgroup g;
    int rc;

    while ((rc = jreader_group(&w->f, &w->key, w->at, &g, e)) == 1) {
        rc = walk_group(r, w, &g, e);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? err_wrap(e, "%s", w->name) : 0;
}

/* Damage is allowed: goes on at the next whole group. 1, or 0: there is none. */
static int walk_skip(struct recovery *r, struct walk *w, struct err *e)
{
    struct jgroup g;
    int rc = jreader_find(&w->f, &w->key, w->at + 1, &g, e);
    uint64_t to = rc == 1 ? g.at : w->f.size;

    if (rc < 0)
        return rc;
    r->j->c.damaged_bytes += to - w->at;
    w->at = to;
    return rc;
}

static int walk_open(struct recovery *r, struct walk *w, const char *name, enum jkind kind,
                     uint64_t seq, struct err *e)
{
    struct jhead h;
    int rc = jreader_open(&w->f, r->j->disk, name, e);

    if (rc < 0)
        return rc;
    w->name = name;
    w->kind = kind;
    w->at = JHEAD_BYTES;
    jkey_make(&w->key, r->j->node, kind, seq);
    rc = read_head(r, &w->f, name, kind, seq, &h, e);
    if (rc == 0)
        rc = damage(r, name, 0, "the head is damaged", e);
    return rc < 0 ? rc : 0;
}

/* ---- the snapshot -------------------------------------------------------------------- */
static int snap_rest(struct recovery *r, struct walk *w, struct err *e)
{
    int rc;

    while ((rc = jreader_is_zero(&w->f, w->at, e)) == 0) {
        rc = damage(r, w->name, w->at, "the snapshot is damaged", e);
        if (rc == 0)
            rc = walk_skip(r, w, e);
        if (rc == 1)
            rc = walk_groups(r, w, e);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || (w->ended && w->end_word == r->j->c.replay_chunks))
        return rc < 0 ? rc : 0;
    return damage(r, w->name, w->at, "the snapshot is not whole", e);
}

static int replay_snap(struct recovery *r, struct err *e)
{
    struct walk w = { .f.h = -1 };
    char name[JNAME_MAX];
    int rc;

    if (r->base == 0)
        return 0;
    jname_text(name, JNAME_SNAP, r->base);
    rc = walk_open(r, &w, name, JSNAP, r->base, e);
    if (rc == 0)
        rc = walk_groups(r, &w, e);
    if (rc == 0)
        rc = snap_rest(r, &w, e);
    r->j->base_bytes = w.at;
    if (w.f.d != NULL)
        jreader_close(&w.f);
    return rc;
}

/* ---- the logs ------------------------------------------------------------------------ */
/* What was cut off, beside the log, for a human. That it cannot be kept stops nobody. */
static void keep_torn(struct recovery *r, struct walk *w, uint64_t seq)
{
    struct disk *d = r->j->disk;
    char name[JNAME_MAX];
    uint64_t at = w->at;
    int h;

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
    log_warn("dir=%s log=%016" PRIx64 " offset=%" PRIu64 " torn tail of %" PRIu64
             " bytes cut off, kept as %s", r->j->where, seq, w->at, w->f.size - w->at, name);
}

/* Is anything behind the last group, and may it be? 0: what is there may be cut off. */
static int log_rest(struct recovery *r, struct walk *w, uint64_t seq, bool last,
                    struct err *e)
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
        rc = damage(r, w->name, w->at,
                    rc == JTAIL_ZEROS ? "the log ends without its end mark"
                                      : "bytes that were once written are damaged", e);
        if (rc == 0)
            rc = walk_skip(r, w, e);
        if (rc == 1)
            rc = walk_groups(r, w, e);
        else if (rc == 0)
            return 0;
        if (rc < 0)
            return rc;
    }
}

/* Writes the bytes that may be in the kernel only once more. A sync alone would not do: if
 * one failed before the restart, the kernel shows these bytes, calls them clean, and
 * forgets them in the next power cut. */
static int write_again(struct recovery *r, struct walk *w, struct jout *o, struct err *e)
{
    uint64_t at = w->synced;

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

static int cut_and_end(struct recovery *r, struct walk *w, struct jout *o, struct err *e)
{
    struct journal *j = r->j;
    int rc = j->disk->ops->truncate(j->disk, o->h, w->at);

    if (rc < 0)
        return err_set(e, SQ_ESYS, "cut %s: %s", w->name, strerror(-rc));
    rc = write_again(r, w, o, e);
    if (rc < 0 || w->ended)
        return rc;
    rc = jout_write(j, o, JG_CLOSED, e);
    return rc < 0 ? rc : jout_sync(j, o, e);
}

/* Cuts the log behind its last group, makes sure of the rest, and gives it its end mark. */
static int close_log(struct recovery *r, uint64_t seq, struct walk *w, struct err *e)
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

static int replay_log(struct recovery *r, const struct chain_log *log, bool last,
                      struct err *e)
{
    struct walk w = { .f.h = -1 };
    char name[JNAME_MAX];
    int rc;

    jname_text(name, JNAME_LOG, log->seq);
    rc = walk_open(r, &w, name, JLOG, log->seq, e);
    if (rc == 0)
        rc = walk_groups(r, &w, e);
    if (rc == 0)
        rc = log_rest(r, &w, log->seq, last, e);
    r->j->older_bytes += w.at;
    r->j->older_logs++;
    if (rc == 0 && log->head && (last || !w.ended))
        rc = close_log(r, log->seq, &w, e);
    if (w.f.d != NULL)
        jreader_close(&w.f);
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
    rc = jreader_open(&f, r->j->disk, name, e);
    if (rc < 0)
        return rc;
    jkey_make(&key, r->j->node, JLOG, log->seq);
    rc = read_head(r, &f, name, JLOG, log->seq, &h, e);
    log->head = rc == 1;
    log->foreign = rc == 1 && h.boot != r->j->boot;
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
    rc = r->j->disk->ops->unlink(r->j->disk, name);
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
        if (r->log[i].head && !r->log[i].fresh) { /* it was finished, and used */
            jname_text(name, JNAME_SNAP, r->log[first].seq);
            return damage(r, name, 0, "the file is missing", e);
        }
    for (size_t i = r->n; rc == 0 && i-- > first;) {
        log_warn("dir=%s log=%016" PRIx64 " is void: its snapshot was not finished",
                 r->j->where, r->log[i].seq);
        rc = remove_log(r, r->log[i].seq, e);
    }
    if (rc == 0 && first < r->n)
        rc = jdisk_sync_dir(r->j->disk, e);
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
    return damage(r, name, 0, "the file is missing", e);
}

static int check_gaps(struct recovery *r, struct err *e)
{
    uint64_t want = r->base > 0 ? r->base : 1;
    int rc = r->n == 0 && r->base > 0 ? missing(r, want, e) : 0;

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
    if (r->j->boot == 0)
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
    int rc = jdir_read(&r->dir, r->j->disk, e);

    if (rc < 0)
        return rc;
    find_base(r);
    rc = collect_logs(r, e);
    if (rc == 0)
        rc = check_gaps(r, e);
    if (rc == 0)
        rc = drop_void(r, e);
    drop_unborn(r);
    r->j->was_cut = was_cut(r);
    if (rc == 0)
        rc = replay_snap(r, e);
    return rc < 0 ? rc : replay_logs(r, e);
}

/* ---- again, in service --------------------------------------------------------------- */
/* Its groups up to `end`; nothing is cut off or closed. */
static int reread_log(struct recovery *r, uint64_t seq, uint64_t end, struct err *e)
{
    struct walk w = { .f.h = -1 };
    char name[JNAME_MAX];
    struct jgroup g;
    int rc;

    jname_text(name, JNAME_LOG, seq);
    rc = walk_open(r, &w, name, JLOG, seq, e);
    while (rc == 0 && w.at < end && (rc = jreader_group(&w.f, &w.key, w.at, &g, e)) == 1)
        rc = walk_group(r, &w, &g, e);
    if (rc == 0 && end != UINT64_MAX && w.at != end)
        rc = err_set(e, SQ_EPROTO, "%s ends at offset %" PRIu64 " of %" PRIu64, name, w.at,
                     end);
    if (w.f.d != NULL)
        jreader_close(&w.f);
    return rc;
}

int journal_reread(struct journal *j, const struct journal_replay *to, struct err *e)
{
    struct recovery r = { .j = j, .to = to };
    uint64_t t0 = wall_us();
    int rc = jdir_read(&r.dir, j->disk, e);

    find_base(&r);
    j->c.replay_chunks = j->c.replay_records = j->c.replay_bytes = 0;
    if (rc == 0)
        rc = replay_snap(&r, e);
    for (size_t i = 0; rc == 0 && i < r.dir.n; i++) {
        const struct jname *f = &r.dir.v[i];

        if (f->kind == JNAME_LOG && f->seq >= r.base && f->seq <= j->log.seq)
            rc = reread_log(&r, f->seq, f->seq == j->log.seq ? j->kept : UINT64_MAX, e);
    }
    j->c.replay_ms = (wall_us() - t0) / 1000;
    jdir_fini(&r.dir);
    return rc;
}

int journal_recover(struct journal *j, const struct journal_replay *to, bool allow_damage,
                    uint64_t *next, struct err *e)
{
    struct recovery r = { .j = j, .to = to, .allow = allow_damage };
    uint64_t t0 = wall_us();
    int rc = recover(&r, e);

    if (r.n > 0)
        *next = r.log[r.n - 1].seq + 1;
    else
        *next = u64_max(r.base, 1);
    j->c.replay_ms = (wall_us() - t0) / 1000;
    j->c.bytes = j->c.writes = j->c.syncs = 0; /* those of recovery are not told */
    free(r.log);
    jdir_fini(&r.dir);
    return rc;
}

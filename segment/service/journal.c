/* journal.c: records into the journal, the journal into records, snapshots in slices.
 *
 * Every node has a folder of its own below journal_dir, named after it. */
#include "segment/service/journal.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/base/failpoint.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/versions.h"
#include "common/journal/check.h"
#include "common/journal/snapshot.h"
#include "common/journal/turn.h"
#include "segment/records/jrec.h"

#define LOG_MODULE "journal"
/* Bytes that a live ticket can still cost: it leaves, or is admitted and forgotten; as a rule
 * among many others in one group. */
#define TICKET_BYTES 24u
#define CHUNK_BYTES  (128u << 10)
#define SLICE_BLOCKS 2000u /* per tick: a million tickets, some 100 KB as bitmaps */
#define PROMISE_MS   1000
#define RECORD_ROOM  (80u << 10) /* no record is longer: JREC_WORDS of them, and some */

struct seg_journal {
    char dir[512];
    char node[NAME_MAX_LEN + 1];
    enum journal_mode mode;
    uint64_t snap_after; /* bytes; 0 = the journal's own default */
    struct disk *disk;  /* ref, or NULL */
    uint64_t boot;      /* which start of the machine this is; 0 = not known */
    struct journal *j;  /* owned */
    struct segtab *tab; /* ref; from the recovery on */
    struct buf rec;     /* the record at hand */
    struct buf chunk;   /* of the snapshot that is being written */
    int snap_rc; /* of what was put into it */
    struct err snap_err;
    bool holding;
    bool failed; /* the last flush: since then the table holds, and nothing changes */
    uint64_t promised; /* tickets */
    msec_t promised_ms;
    uint64_t refused, taken_back, recovered;
};

/* ---- life ------------------------------------------------------------------------ */

/* It would come to life again when it is switched on later. */
static int refuse_old(const struct seg_journal *j, struct err *e)
{
    struct journal_opts o = {
        .dir = j->dir,
        .node = j->node,
        .format = JOURNAL_FORMAT,
        .disk = j->disk,
        .mode = JOURNAL_OFF,
    };
    struct journal *old;
    int rc = journal_open(&old, &o, &(struct journal_replay) { 0 }, e);

    if (rc == 0)
        journal_close(old);
    return rc;
}

/* The beginning of the kernel's name for it. 0: there is none. */
static uint64_t this_boot(void)
{
    char text[40] = "", hex[17] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    unsigned n = 0;

    if (f == NULL)
        return 0;
    if (fgets(text, sizeof(text), f) == NULL)
        text[0] = '\0';
    fclose(f);
    for (const char *p = text; *p != '\0' && n < 16; p++)
        if (isxdigit((unsigned char)*p))
            hex[n++] = *p;
    return strtoull(hex, NULL, 16);
}

int seg_journal_new(struct seg_journal **out, const struct seg_cfg *c, struct disk *disk,
                    struct err *e)
{
    struct seg_journal *j = calloc(1, sizeof(*j));
    const char *parent = c->journal_dir != NULL ? c->journal_dir : "journal";
    int rc = 0;

    *out = NULL;
    if (j == NULL)
        return err_set(e, SQ_ENOMEM, "journal");
    j->mode = (enum journal_mode)c->journal;
    j->snap_after = (uint64_t)c->journal_snapshot;
    j->disk = disk;
    j->boot = disk == NULL ? this_boot() : 0;
    snprintf(j->node, sizeof(j->node), "%s", c->node);
    if (snprintf(j->dir, sizeof(j->dir), "%s/%s", parent, c->node) >= (int)sizeof(j->dir))
        rc = err_set(e, SQ_ETOOBIG, "journal_dir: too long");
    if (rc == 0)
        rc = j->mode == JOURNAL_OFF ? refuse_old(j, e)
             : disk == NULL         ? file_make_dir(parent, 0750, e)
                                    : 0;
    if (rc == 0 && buf_reserve(&j->rec, RECORD_ROOM) == NULL)
        rc = err_set(e, SQ_ENOMEM, "journal");
    if (rc < 0 || j->mode == JOURNAL_OFF) {
        seg_journal_free(j);
        return rc;
    }
    *out = j;
    return 0;
}

void seg_journal_set_boot(struct seg_journal *j, uint64_t boot)
{
    j->boot = boot;
}

void seg_journal_free(struct seg_journal *j)
{
    if (j == NULL)
        return;
    journal_close(j->j);
    buf_fini(&j->rec);
    buf_fini(&j->chunk);
    free(j);
}

/* ---- records ---------------------------------------------------------------------- */

void seg_journal_log(void *journal, const struct jrec *r)
{
    struct seg_journal *j = journal;

    buf_reset(&j->rec);
    jrec_encode(r, &j->rec);
    assert(!j->rec.failed); /* there is room for the longest */
    journal_append(j->j, r->kind, j->rec.data, j->rec.len);
    FAILPOINT_NOTE(jrec_name(r->kind));
}

static int replay(struct seg_journal *j, uint8_t kind, const uint8_t *p, size_t n,
                  int64_t *used, struct err *e)
{
    struct jrec r;
    int rc;

    *used = jrec_decode(kind, p, n, &r);
    if (*used < 0)
        return err_set(e, (int)*used, "record of %s cannot be read: %s", jrec_name(kind),
                       sq_strerror((int)*used));
    rc = segtab_replay(j->tab, &r);
    return rc < 0 ? err_set(e, rc, "record %s of segment %" PRIu64 ": %s", jrec_name(kind),
                            r.seg, sq_strerror(rc))
                  : 0;
}

static int on_record(void *ctx, uint8_t type, const uint8_t *p, size_t n, struct err *e)
{
    int64_t used;
    int rc = replay(ctx, type, p, n, &used, e);

    if (rc == 0 && (size_t)used != n)
        rc = err_set(e, SQ_EPROTO, "record of %s: %zu bytes too many", jrec_name(type),
                     n - (size_t)used);
    return rc;
}

/* Many records, each behind its kind. */
static int on_chunk(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
    int64_t used;

    for (; n > 0; p += 1 + used, n -= 1 + (size_t)used) {
        int rc = replay(ctx, p[0], p + 1, n - 1, &used, e);

        if (rc < 0)
            return rc;
    }
    return 0;
}

int seg_journal_recover(struct seg_journal *j, struct segtab *t, struct seg_now now,
                        struct err *e)
{
    struct journal_opts o = { .dir = j->dir,
                              .node = j->node, .format = JOURNAL_FORMAT,
                              .disk = j->disk,
                              .mode = j->mode,
                              .snap_after_bytes = j->snap_after,
                              .boot = j->boot };
    struct journal_counts c;
    struct segtab_counts n;
    int rc;

    j->tab = t;
    rc = journal_open(&j->j, &o, &(struct journal_replay) { on_chunk, on_record, j }, e);
    if (rc < 0)
        return rc;
    if (segtab_replayed(t, now) < 0)
        return err_set(e, SQ_ENOMEM, "journal %s", j->dir);
    if (journal_was_cut(j->j))
        segtab_seal_all(t);
    rc = journal_flush(j->j, e);
    segtab_count(t, &n);
    journal_counts(j->j, &c);
    j->recovered = n.waiting + n.ready + n.active + n.returning;
    log_info("event=recovered segments=%" PRIu64 " tickets=%" PRIu64 " seconds=%.3f dir=%s",
             n.segments, j->recovered, (double)c.replay_ms / 1000, j->dir);
    return rc;
}

/* ---- a turn ---------------------------------------------------------------------- */

bool seg_journal_reserve(struct seg_journal *j, uint64_t n)
{
    if (j == NULL)
        return true;
    if (j->holding || !journal_reserve(j->j, n * TICKET_BYTES)) {
        j->refused += n;
        return false;
    }
    j->promised += n;
    return true;
}

static void hold(struct seg_journal *j, bool on, const char *why)
{
    assert(j->tab != NULL);
    if (j->holding == on)
        return;
    j->holding = on;
    segtab_hold(j->tab, on);
    if (on)
        log_error("event=journal_holding why=%s effect=\"joins and releases are refused\"",
                  log_q(why, strlen(why)));
    else
        log_info("event=journal_resumed");
}

bool seg_journal_flush(struct seg_journal *j)
{
    struct err e = { 0 };
    bool failed;
    int rc;

    if (j == NULL)
        return true;
    failed = j->failed;
    FAILPOINT_NOTED("before_write", 0);
    rc = journal_flush(j->j, &e);
    FAILPOINT_NOTED("after_write", 1);
    j->failed = rc < 0;
    hold(j, rc < 0 || !journal_ok(j->j), e.text);
    if (rc == 0 || failed)
        return true;
    j->taken_back++;
    return false;
}

int seg_journal_again(struct seg_journal *j, struct segtab *t, struct seg_now now,
                      struct err *e)
{
    int rc;

    j->tab = t;
    rc = journal_again(j->j, &(struct journal_replay) { on_chunk, on_record, j }, e);
    if (rc == 0 && segtab_replayed(t, now) < 0)
        rc = err_set(e, SQ_ENOMEM, "journal %s", j->dir);
    segtab_hold(t, true);
    return rc;
}

/* ---- snapshots ------------------------------------------------------------------- */

static void put_chunk(struct seg_journal *j)
{
    if (j->snap_rc == 0 && j->chunk.failed)
        j->snap_rc = err_set(&j->snap_err, SQ_ENOMEM, "no memory for the snapshot");
    if (j->snap_rc == 0 && j->chunk.len > 0)
        j->snap_rc = journal_snap_put(j->j, j->chunk.data, j->chunk.len, &j->snap_err);
    buf_reset(&j->chunk);
}

static void on_snap(void *ctx, const struct jrec *r)
{
    struct seg_journal *j = ctx;

    buf_byte(&j->chunk, r->kind);
    jrec_encode(r, &j->chunk);
    if (j->chunk.len >= CHUNK_BYTES)
        put_chunk(j);
}

/* Its end is in the log before the snapshot counts. */
static void slice(struct seg_journal *j, bool begin)
{
    bool more = segtab_snapshot(j->tab, begin, SLICE_BLOCKS, on_snap, j);
    if (!more)
        put_chunk(j);
    if (j->snap_rc == 0 && !more)
        j->snap_rc = journal_snap_commit(j->j, &j->snap_err);
    if (j->snap_rc < 0) {
        journal_snap_abort(j->j);
        log_error("event=snapshot_failed why=%s",
                  log_q(j->snap_err.text, strlen(j->snap_err.text)));
    }
}

static void snapshot(struct seg_journal *j)
{
    bool begin = !journal_snap_running(j->j);

    if (begin && !journal_snap_due(j->j))
        return;
    if (begin) {
        buf_reset(&j->chunk);
        memset(&j->snap_err, 0, sizeof(j->snap_err));
        j->snap_rc = journal_snap_begin(j->j, &j->snap_err);
        if (j->snap_rc < 0) {
            log_error("event=snapshot_not_begun why=%s",
                      log_q(j->snap_err.text, strlen(j->snap_err.text)));
            return;
        }
    }
    slice(j, begin);
}

/* ---- time ------------------------------------------------------------------------ */

/* Tickets that are gone need no room any more. */
static void keep_promises(struct seg_journal *j)
{
    struct segtab_counts n;
    uint64_t live;

    segtab_count(j->tab, &n);
    live = n.waiting + n.ready + n.active + n.returning;
    if (live < j->promised)
        journal_give_back(j->j, (j->promised - live) * TICKET_BYTES);
    else if (live > j->promised &&
             !journal_reserve(j->j, (live - j->promised) * TICKET_BYTES))
        return; /* moved here, or recovered: later, then */
    j->promised = live;
}

void seg_journal_tick(struct seg_journal *j, msec_t now_ms)
{
    struct err e = { 0 };

    if (j == NULL)
        return;
    if (journal_tick(j->j, now_ms, &e) < 0)
        hold(j, true, e.text);
    if (now_ms - j->promised_ms >= PROMISE_MS) {
        j->promised_ms = now_ms;
        keep_promises(j);
    }
    snapshot(j);
}

/* Free room of the file system, without root's reserve. */
static uint64_t room_bytes(const struct seg_journal *j)
{
    struct statvfs v;

    if (j->disk != NULL || statvfs(j->dir, &v) < 0)
        return 0;
    return (uint64_t)v.f_bavail * v.f_frsize;
}

void seg_journal_count(const struct seg_journal *j, struct seg_journal_counts *n)
{
    memset(n, 0, sizeof(*n));
    if (j == NULL)
        return;
    journal_counts(j->j, &n->file);
    n->refused = j->refused;
    n->taken_back = j->taken_back;
    n->holding = j->holding;
    n->recovered = j->recovered;
    n->room_bytes = room_bytes(j);
}

static const char *name_of(uint8_t type)
{
    return type > 0 && type < JREC_NKINDS ? jrec_name(type) : NULL;
}

int seg_journal_check(const char *dir, FILE *out)
{
    return journal_check(dir, JOURNAL_FORMAT, name_of, out);
}

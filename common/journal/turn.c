#include "common/journal/turn.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/journal/out.h"

#define LOG_MODULE "journal"

#define PIECE_BYTES     (256u * 1024)
#define RETRY_MS        5000
#define SNAP_AFTER_LOGS 64u /* restarts, each of which begins a log */
#define TORN_KEPT       16u /* sequences for which a torn tail is kept */

/* The log is not believed any more; `what` is said in the process's log. */
static void fail(struct journal *j, const char *what)
{
    if (!j->failed)
        log_error("event=journal_failed dir=%s file=log-%016" PRIx64 " why=%s "
                  "until=\"a snapshot is written\"",
                  j->where, j->log.seq, log_q(what, strlen(what)));
    j->failed = true;
    j->curing = false;
    j->full = false;
    j->c.failures++;
}

void *journal_put(struct journal *j, uint8_t type, size_t n)
{
    void *p = jout_put(&j->log, type, n);

    if (SQ_LIKELY(p != NULL))
        return p;
    /* The group's records are in the caller's state, and in the snapshot that is due now. */
    fail(j, "out of memory");
    jout_drop(&j->log);
    return jout_put(&j->log, type, n);
}

void journal_append(struct journal *j, uint8_t type, const void *p, size_t n)
{
    assert(n <= JOURNAL_RECORD_MAX);
    memcpy(journal_put(j, type, n), p, n);
}

bool journal_reserve(struct journal *j, uint64_t n)
{
    if (j->mode != JOURNAL_OFF) {
        uint64_t end = j->log.written + j->log.len + j->promised + n + j->reserve;

        if (j->failed || j->full || !jout_room(j, &j->log, end))
            return false;
    }
    j->promised += n;
    return true;
}

void journal_give_back(struct journal *j, uint64_t n)
{
    j->promised -= u64_min(n, j->promised);
}

static int write_group(struct journal *j, struct err *e)
{
    int rc = jout_write(j, &j->log, JG_RECORDS, e);

    if (rc == SQ_EFULL) {
        if (!j->full)
            log_error("event=journal_full dir=%s why=%s", j->where,
                      log_q(e->text, strlen(e->text)));
        j->full = j->starved = true;
        j->c.full++;
    } else if (rc < 0) {
        fail(j, e->text);
    } else if (j->full) {
        log_info("event=journal_has_room dir=%s", j->where);
        j->full = false;
    }
    return rc;
}

static int sync_log(struct journal *j, struct err *e)
{
    int rc = jout_sync(j, &j->log, e);

    if (rc < 0)
        fail(j, e->text);
    j->synced_ms = j->now_ms;
    return rc;
}

/* A group without room was given up. An empty one shows whether there is room again. */
static int try_room(struct journal *j, struct err *e)
{
    if (j->starved || !jout_room(j, &j->log, j->log.written + JOURNAL_ROOM_AGAIN))
        return err_set(e, SQ_EFULL, "no room for %u bytes", JOURNAL_ROOM_AGAIN);
    return write_group(j, e);
}

int journal_flush(struct journal *j, struct err *e)
{
    struct err own = { 0 };
    int rc = 0;

    assert(j->kept <= j->log.written && j->log.synced <= j->log.written);
    if (e == NULL)
        e = &own;
    if (j->mode == JOURNAL_OFF || (j->failed && !j->curing))
        jout_drop(&j->log);
    else if (j->log.count > 0)
        rc = write_group(j, e);
    else if (j->full)
        rc = try_room(j, e);
    if (rc < 0)
        return rc;
    if (j->failed)
        return err_set(e, SQ_ESYS, "the journal has failed; a snapshot will cure it");
    if (j->mode == JOURNAL_FSYNC && j->log.synced < j->log.written)
        rc = sync_log(j, e);
    if (rc == 0)
        j->kept = j->log.written;
    return rc;
}

int journal_piece(struct journal *j, struct err *e)
{
    if (j->failed)
        return err_set(e, SQ_ESYS, "the journal has failed; a snapshot will cure it");
    return write_group(j, e);
}

size_t journal_pending(const struct journal *j)
{
    return j->log.len - JGROUP_BYTES;
}

int journal_tick(struct journal *j, msec_t now_ms, struct err *e)
{
    struct err own = { 0 };

    j->now_ms = now_ms;
    j->starved = false;
    if (j->mode != JOURNAL_OS || j->failed || j->log.synced == j->log.written)
        return 0;
    if (now_ms - j->synced_ms < (msec_t)j->sync_ms)
        return 0;
    return sync_log(j, e != NULL ? e : &own);
}

bool journal_ok(const struct journal *j)
{
    return !j->failed;
}

int journal_end_log(struct journal *j, struct err *e)
{
    int rc = journal_flush(j, e);

    if (rc == 0 && j->log.synced < j->log.written)
        rc = jout_sync(j, &j->log, e);
    if (rc == 0)
        rc = jout_write(j, &j->log, JG_CLOSED, e);
    return rc < 0 ? rc : jout_sync(j, &j->log, e);
}

/* ---- snapshots ----------------------------------------------------------------------- */

bool journal_snap_due(const struct journal *j)
{
    uint64_t grown = j->older_bytes + j->log.written;

    if (j->mode == JOURNAL_OFF || j->snap_running || j->now_ms < j->retry_ms)
        return false;
    return j->failed || j->older_logs >= SNAP_AFTER_LOGS ||
           grown > u64_max(j->snap_after, j->base_bytes);
}

static int close_old(struct journal *j, struct err *e)
{
    int rc = journal_end_log(j, e);

    /* An end mark that found no room does no harm. One that may be there or not does not
     * either, but the file is not to be believed after a failed sync. */
    if (rc == SQ_ESYS && !j->failed)
        fail(j, e->text);
    return rc;
}

/* The buffer stays: it holds the turn that goes on. */
static void switch_log(struct journal *j, const struct jout *fresh)
{
    struct jout *log = &j->log;

    assert(fresh->seq == log->seq + 1 && fresh->synced == fresh->written);
    if (!j->failed)
        j->disk->ops->truncate(j->disk, log->h, log->written); /* gives its room back */
    jout_close(log, j->disk);
    j->older_bytes += log->written;
    j->older_logs++;
    log->h = fresh->h;
    log->seq = fresh->seq;
    log->written = j->kept = fresh->written;
    log->synced = fresh->synced;
    log->allocated = fresh->allocated;
    log->key = fresh->key;
}

static int next_log(struct journal *j, struct err *e)
{
    struct jfile_new n = { .name = JNAME_LOG, .seq = j->log.seq + 1, .must = !j->failed,
                           .flags = j->failed ? JHEAD_FRESH : 0,
                           .room = JHEAD_BYTES + j->promised + j->reserve };
    struct jout fresh = { .h = -1 };
    int rc = jout_create(j, &fresh, &n, e);

    if (rc == 0)
        switch_log(j, &fresh);
    return rc;
}

static int begin(struct journal *j, struct err *e)
{
    struct jfile_new n = { .name = JNAME_TMP, .seq = j->log.seq + 1, .must = !j->failed,
                           .room = JHEAD_BYTES + j->base_bytes };
    int rc = jout_init(&j->snap, 4096);

    if (rc < 0)
        return err_set(e, rc, "%s", sq_strerror(rc));
    rc = jout_create(j, &j->snap, &n, e);
    if (rc == 0 && !j->failed)
        rc = close_old(j, e);
    return rc < 0 ? rc : next_log(j, e);
}

static void snap_over(struct journal *j)
{
    jout_fini(&j->snap, j->disk);
    j->snap_running = false;
    j->curing = false;
}

static void give_up(struct journal *j)
{
    char name[JNAME_MAX];

    jname_text(name, JNAME_TMP, j->snap.seq);
    snap_over(j);
    j->disk->ops->unlink(j->disk, name);
    j->c.snap_failures++;
    j->retry_ms = j->now_ms + RETRY_MS;
}

int journal_snap_begin(struct journal *j, struct err *e)
{
    struct err own = { 0 };
    int rc;

    if (e == NULL)
        e = &own;
    if (j->mode == JOURNAL_OFF || j->snap_running)
        return err_set(e, SQ_EINVAL, "no snapshot can begin now");
    if (j->failed)
        jout_drop(&j->log); /* in the caller's state, hence in the snapshot */
    rc = begin(j, e);
    if (rc < 0) {
        give_up(j);
        return rc;
    }
    assert(j->snap.seq == j->log.seq);
    j->snap_running = true;
    j->curing = j->failed;
    j->snap_chunks = 0;
    return 0;
}

bool journal_snap_running(const struct journal *j)
{
    return j->snap_running;
}

static int running(const struct journal *j, struct err *e)
{
    return j->snap_running ? 0 : err_set(e, SQ_EINVAL, "no snapshot is being written");
}

int journal_snap_put(struct journal *j, const void *p, size_t n, struct err *e)
{
    int rc = running(j, e);
    void *to;

    assert(n <= JOURNAL_RECORD_MAX);
    if (rc < 0)
        return rc;
    to = jout_put(&j->snap, 0, n);
    if (to == NULL)
        return err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM));
    memcpy(to, p, n);
    j->snap_chunks++;
    return j->snap.len < PIECE_BYTES ? 0 : jout_write(j, &j->snap, JG_RECORDS, e);
}

void journal_snap_abort(struct journal *j)
{
    if (j->snap_running)
        give_up(j);
}

static int finish_file(struct journal *j, struct err *e)
{
    uint8_t *p;
    int rc = 0;

    if (j->snap.count > 0)
        rc = jout_write(j, &j->snap, JG_RECORDS, e);
    if (rc < 0)
        return rc;
    p = jout_put(&j->snap, 0, 8); /* fits: the buffer was emptied */
    le64_put(p, j->snap_chunks);
    rc = jout_write(j, &j->snap, JG_END, e);
    if (rc < 0)
        return rc;
    j->disk->ops->truncate(j->disk, j->snap.h, j->snap.written); /* gives its room back */
    FAILPOINT("snapshot.before_sync");
    return jout_sync(j, &j->snap, e);
}

static int publish(struct journal *j, struct err *e)
{
    char tmp[JNAME_MAX], name[JNAME_MAX];
    int rc;

    assert(j->snap.synced == j->snap.written);
    jname_text(tmp, JNAME_TMP, j->snap.seq);
    jname_text(name, JNAME_SNAP, j->snap.seq);
    FAILPOINT("snapshot.before_rename");
    rc = j->disk->ops->rename(j->disk, tmp, name);
    FAILPOINT("snapshot.after_rename");
    if (rc < 0)
        return err_set(e, SQ_ESYS, "rename %s: %s", tmp, strerror(-rc));
    return jdir_sync(j->disk, e);
}

/* A file that cannot be removed goes after the next snapshot, and is never read. */
static void remove_older(struct journal *j, uint64_t seq)
{
    struct jdir dir;
    struct err e;

    if (jdir_read(&dir, j->disk, &e) < 0)
        log_warn("event=journal_files_stay dir=%s why=%s", j->where,
                 log_q(e.text, strlen(e.text)));
    for (size_t i = 0; i < dir.n; i++) {
        uint64_t kept = dir.v[i].kind == JNAME_TORN ? TORN_KEPT : 0;
        char name[JNAME_MAX];

        if (dir.v[i].seq + kept >= seq)
            continue;
        jname_text(name, dir.v[i].kind, dir.v[i].seq);
        j->disk->ops->unlink(j->disk, name);
    }
    jdir_fini(&dir);
}

static void count_commit(struct journal *j)
{
    if (j->curing) { /* else the log failed since begin(): another one is due */
        log_info("event=journal_cured dir=%s file=log-%016" PRIx64, j->where,
                 j->log.seq);
        j->failed = false;
        j->full = false;
    }
    j->base_bytes = j->snap.written;
    j->older_bytes = 0;
    j->older_logs = 0;
    j->c.snapshots++;
}

int journal_snap_commit(struct journal *j, struct err *e)
{
    int rc = running(j, e)
          ?: finish_file(j, e)
          ?: publish(j, e);

    if (rc < 0) {
        journal_snap_abort(j);
        return rc;
    }
    count_commit(j);
    FAILPOINT("snapshot.before_unlink");
    remove_older(j, j->snap.seq);
    FAILPOINT("snapshot.after_unlink");
    snap_over(j);
    return 0;
}

/* journal.c: one turn of the journal: put, reserve, flush, sync; opening and closing. */
#include "segment/journal/journal.h"
#include "segment/journal/journal_int.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"

#define LOG_MODULE "journal"

#define RESERVE_BYTES    (1u << 20)
#define SNAP_AFTER_BYTES (64u << 20)
#define SNAP_AFTER_LOGS  64u /* restarts, each of which begins a log */
#define SYNC_MS          1000u
#define ROOM_AGAIN       (1u << 20) /* so much room, and a full disk counts as mended */

/* ---- opening ----------------------------------------------------------------------- */
static int take_opts(struct journal *j, const struct journal_opts *o, struct err *e)
{
    j->mode = o->mode;
    j->disk = o->disk;
    j->reserve = o->reserve_bytes > 0 ? o->reserve_bytes : RESERVE_BYTES;
    j->snap_after = o->snap_after_bytes > 0 ? o->snap_after_bytes : SNAP_AFTER_BYTES;
    j->boot = o->boot;
    j->sync_ms = o->sync_ms > 0 ? o->sync_ms : SYNC_MS;
    if (strlen(o->node) > NAME_MAX_LEN)
        return err_set(e, SQ_EINVAL, "a node's name has at most %d characters", NAME_MAX_LEN);
    memcpy(j->node, o->node, strlen(o->node));
    j->where = strdup(o->dir != NULL ? o->dir : "journal");
    if (j->where == NULL || jout_init(&j->log, JOURNAL_RECORD_MAX) < 0)
        return err_set(e, SQ_ENOMEM, "%s", sq_strerror(SQ_ENOMEM));
    return 0;
}

static int open_disk(struct journal *j, struct err *e)
{
    int rc;

    if (j->disk == NULL) {
        rc = disk_posix_open(&j->disk, j->where, true, e);
        if (rc < 0)
            return rc;
        j->own_disk = true;
    }
    rc = j->disk->ops->lock(j->disk);
    if (rc == -EWOULDBLOCK)
        return err_set(e, SQ_EBUSY, "another process uses it");
    return rc < 0 ? err_set(e, SQ_ESYS, "lock: %s", strerror(-rc)) : 0;
}

static int refuse_leftovers(struct journal *j, struct err *e)
{
    struct jdir dir;
    int rc = jdir_read(&dir, j->disk, e);

    for (size_t i = 0; rc == 0 && i < dir.n; i++)
        if (dir.v[i].kind == JNAME_LOG || dir.v[i].kind == JNAME_SNAP)
            rc = err_set(e, SQ_EPROTO, "holds a journal, but the journal is switched off: "
                                       "switch it on, or remove the folder");
    jdir_fini(&dir);
    return rc;
}

static int open_off(struct journal *j, struct err *e)
{
    int rc;

    if (j->disk == NULL && access(j->where, F_OK) < 0)
        return 0;
    rc = open_disk(j, e);
    return rc < 0 ? rc : refuse_leftovers(j, e);
}

static int open_on(struct journal *j, const struct journal_opts *o,
                   const struct journal_replay *r, struct err *e)
{
    struct jfile_new log = { .name = JNAME_LOG, .room = JHEAD_BYTES + j->reserve };
    int rc = open_disk(j, e);

    if (rc == 0)
        rc = journal_recover(j, r, o->allow_damage, &log.seq, e);
    if (rc == 0)
        rc = jout_create(j, &j->log, &log, e);
    j->kept = j->log.written;
    return rc;
}

static void destroy(struct journal *j)
{
    if (j->disk != NULL) {
        jout_fini(&j->snap, j->disk);
        jout_fini(&j->log, j->disk);
    }
    if (j->own_disk)
        j->disk->ops->free(j->disk);
    free(j->log.buf);
    free(j->where);
    free(j);
}

int journal_open(struct journal **out, const struct journal_opts *o,
                 const struct journal_replay *r, struct err *e)
{
    struct journal *j = calloc(1, sizeof(*j));
    int rc;

    if (j == NULL)
        return err_set(e, SQ_ENOMEM, "journal: %s", sq_strerror(SQ_ENOMEM));
    j->log.h = j->snap.h = -1;
    rc = take_opts(j, o, e);
    if (rc == 0)
        rc = j->mode == JOURNAL_OFF ? open_off(j, e) : open_on(j, o, r, e);
    if (rc < 0) {
        (void)err_wrap(e, "journal %s", j->where != NULL ? j->where : "");
        destroy(j);
        return rc;
    }
    *out = j;
    return 0;
}

/* The end mark says that all before it was on the disk: the next start may rely on it. */
static int close_log(struct journal *j, struct err *e)
{
    int rc = journal_flush(j, e);

    if (rc == 0 && j->log.synced < j->log.written)
        rc = jout_sync(j, &j->log, e);
    if (rc == 0)
        rc = jout_write(j, &j->log, JG_CLOSED, e);
    return rc < 0 ? rc : jout_sync(j, &j->log, e);
}

void journal_close(struct journal *j)
{
    struct err e = { 0 };

    if (j == NULL)
        return;
    if (j->snap_running)
        journal_snap_abort(j);
    if (j->log.h >= 0) {
        if (close_log(j, &e) < 0)
            log_error("dir=%s not closed in order: %s", j->where, e.text);
        else
            j->disk->ops->truncate(j->disk, j->log.h, j->log.written); /* room goes back */
    }
    destroy(j);
}

/* ---- one turn ---------------------------------------------------------------------- */
void journal_fail(struct journal *j, const char *what)
{
    if (!j->failed)
        log_error("dir=%s file=%016llx failed, nothing new is acknowledged until a snapshot "
                  "is written: %s", j->where, (unsigned long long)j->log.seq, what);
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
    /* What the group held is in the caller's state, and in the snapshot that is due now. */
    journal_fail(j, "out of memory");
    jout_drop(&j->log);
    return jout_put(&j->log, type, n);
}

void journal_append(struct journal *j, uint8_t type, const void *p, size_t n)
{
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
            log_error("dir=%s no room, nothing new is acknowledged: %s", j->where, e->text);
        j->full = j->starved = true;
        j->c.full++;
    } else if (rc < 0) {
        journal_fail(j, e->text);
    } else if (j->full) {
        log_info("dir=%s there is room again", j->where);
        j->full = false;
    }
    return rc;
}

static int sync_log(struct journal *j, struct err *e)
{
    int rc = jout_sync(j, &j->log, e);

    if (rc < 0)
        journal_fail(j, e->text);
    j->synced_ms = j->now_ms;
    return rc;
}

/* What had no room was given up. An empty group says whether the next one has. */
static int try_room(struct journal *j, struct err *e)
{
    if (j->starved || !jout_room(j, &j->log, j->log.written + ROOM_AGAIN))
        return err_set(e, SQ_EFULL, "no room for %u bytes", ROOM_AGAIN);
    return write_group(j, e);
}

int journal_flush(struct journal *j, struct err *e)
{
    struct err own = { 0 };
    int rc = 0;

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

int journal_again(struct journal *j, const struct journal_replay *r, struct err *e)
{
    int rc;

    if (j->snap_running)
        journal_snap_abort(j);
    jout_drop(&j->log);
    rc = journal_reread(j, r, e);
    return rc < 0 ? err_wrap(e, "journal %s", j->where) : 0;
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

/* ---- what others may know ---------------------------------------------------------- */
bool journal_ok(const struct journal *j)
{
    return !j->failed;
}

bool journal_was_cut(const struct journal *j)
{
    return j->was_cut;
}

bool journal_snap_due(const struct journal *j)
{
    uint64_t grown = j->older_bytes + j->log.written;

    if (j->mode == JOURNAL_OFF || j->snap_running || j->now_ms < j->retry_ms)
        return false;
    return j->failed || j->older_logs >= SNAP_AFTER_LOGS ||
           grown > u64_max(j->snap_after, j->base_bytes);
}

void journal_counts(const struct journal *j, struct journal_counts *out)
{
    *out = j->c;
    out->promised = j->promised;
    out->log_bytes = j->older_bytes + j->log.written;
    out->unsynced = j->log.written - j->log.synced;
}

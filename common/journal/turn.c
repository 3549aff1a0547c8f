#include "common/journal/turn.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/journal/out.h"

#define LOG_MODULE "journal"

#define ROOM_AGAIN (1u << 20) /* bytes free: then a full disk counts as mended */

void journal_fail(struct journal *j, const char *what)
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
    journal_fail(j, "out of memory");
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
        journal_fail(j, e->text);
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
        journal_fail(j, e->text);
    j->synced_ms = j->now_ms;
    return rc;
}

/* A group without room was given up. An empty one shows whether there is room again. */
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

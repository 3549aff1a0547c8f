#include "common/journal/journal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/journal/disk.h"
#include "common/journal/out.h"
#include "common/journal/recover.h"
#include "common/journal/turn.h"

#define LOG_MODULE "journal"

#define RESERVE_BYTES    (1u << 20)
#define SNAP_AFTER_BYTES (64u << 20)
#define SYNC_MS          1000u

/* ---- opening ----------------------------------------------------------------------- */
static int take_opts(struct journal *j, const struct journal_opts *o, struct err *e)
{
    assert(o->format > 0);
    j->mode = o->mode;
    j->disk = o->disk;
    j->reserve = o->reserve_bytes > 0 ? o->reserve_bytes : RESERVE_BYTES;
    j->snap_after = o->snap_after_bytes > 0 ? o->snap_after_bytes : SNAP_AFTER_BYTES;
    j->boot = o->boot;
    j->format = o->format;
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
        rc = disk_posix_open(&j->disk, j->where, "disk", true, e);
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
    int rc = open_disk(j, e)
          ?: journal_recover(j, r, o->allow_damage, &log.seq, e)
          ?: jout_create(j, &j->log, &log, e);

    j->kept = j->log.written;
    assert(rc < 0 || (j->log.h >= 0 && j->log.seq > 0));
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

void journal_close(struct journal *j)
{
    struct err e = { 0 };

    if (j == NULL)
        return;
    if (j->snap_running)
        journal_snap_abort(j);
    if (j->log.h >= 0) {
        if (journal_end_log(j, &e) < 0)
            log_error("event=journal_not_closed dir=%s why=%s", j->where,
                      log_q(e.text, strlen(e.text)));
        else
            j->disk->ops->truncate(j->disk, j->log.h, j->log.written); /* room goes back */
    }
    destroy(j);
}

int journal_again(struct journal *j, const struct journal_replay *r, struct err *e)
{
    int rc;

    assert(j->mode != JOURNAL_OFF);
    if (j->snap_running)
        journal_snap_abort(j);
    if (!j->failed) /* the turn's earlier groups (journal_piece) stand before all that follows */
        j->kept = j->log.written;
    jout_drop(&j->log);
    rc = journal_reread(j, r, e);
    return rc < 0 ? err_wrap(e, "journal %s", j->where) : 0;
}

/* ---- what others may know ---------------------------------------------------------- */
bool journal_was_cut(const struct journal *j)
{
    return j->was_cut;
}

void journal_counts(const struct journal *j, struct journal_counts *out)
{
    *out = j->c;
    out->promised = j->promised;
    out->log_bytes = j->older_bytes + j->log.written;
    out->snap_bytes = j->base_bytes;
    out->unsynced = j->log.written - j->log.synced;
}

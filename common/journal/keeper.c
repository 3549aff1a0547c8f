/* keeper.c: holds after a failed write; promises; chunks of snapshots. */
#include "common/journal/keeper.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/base/failpoint.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/journal/turn.h"

#define LOG_MODULE  "journal"
#define CHUNK_BYTES (128u << 10)
#define PROMISE_MS  1000

struct keeper {
    char dir[512];
    char node[NAME_MAX_LEN + 1];
    struct keeper_opts o; /* without its texts */
    uint64_t boot;        /* which start of the machine this is; 0 = not known */
    struct journal *j;    /* owned */
    struct buf chunk;     /* a chunk of the snapshot that is being written */
    int snap_rc;          /* result of the last put into it */
    struct err snap_err;
    bool holding;
    bool failed; /* the last flush */
    bool full;   /* no room for one thing more; those that are there have theirs */
    uint64_t promised; /* things */
    msec_t promised_ms;
    uint64_t refused, taken_back;
    uint64_t wanted; /* things, the most that was refused at once since the last look for room */
};

/* ---- life ------------------------------------------------------------------------ */

static struct journal_opts opts_of(const struct keeper *k)
{
    return (struct journal_opts){ .dir = k->dir,
                                  .node = k->node,
                                  .format = k->o.format,
                                  .disk = k->o.disk,
                                  .mode = k->o.mode,
                                  .snap_after_bytes = k->o.snap_after,
                                  .boot = k->boot };
}

/* Removed: it would come to life again when it is switched on later. */
static int refuse_old(const struct keeper *k, struct err *e)
{
    struct journal_opts o = opts_of(k);
    struct journal *old;
    int rc = journal_open(&old, &o, &(struct journal_replay){ 0 }, e);

    if (rc == 0)
        journal_close(old);
    return rc;
}

uint64_t keeper_this_boot(void)
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

int keeper_new(struct keeper **out, const struct keeper_opts *o, struct err *e)
{
    struct keeper *k = calloc(1, sizeof(*k));
    int rc = 0;

    *out = NULL;
    if (k == NULL)
        return err_set(e, SQ_ENOMEM, "journal");
    k->o = *o;
    /* A disk may be full from the start: found before anybody asks. */
    k->wanted = 1;
    k->o.parent = k->o.node = NULL;
    k->boot = o->disk == NULL ? keeper_this_boot() : 0;
    snprintf(k->node, sizeof(k->node), "%s", o->node);
    if (snprintf(k->dir, sizeof(k->dir), "%s/%s", o->parent, o->node) >= (int)sizeof(k->dir))
        rc = err_set(e, SQ_ETOOBIG, "journal_dir: too long");
    if (rc == 0)
        rc = o->mode == JOURNAL_OFF ? refuse_old(k, e)
             : o->disk == NULL      ? file_make_dir(o->parent, 0750, e)
                                    : 0;
    if (rc < 0 || o->mode == JOURNAL_OFF) {
        keeper_free(k);
        return rc;
    }
    *out = k;
    return 0;
}

void keeper_set_boot(struct keeper *k, uint64_t boot)
{
    k->boot = boot;
}

void keeper_free(struct keeper *k)
{
    if (k == NULL)
        return;
    journal_close(k->j);
    buf_fini(&k->chunk);
    free(k);
}

const char *keeper_dir(const struct keeper *k)
{
    return k->dir;
}

struct journal *keeper_journal(struct keeper *k)
{
    return k->j;
}

int keeper_open(struct keeper *k, const struct journal_replay *r, struct err *e)
{
    struct journal_opts o = opts_of(k);

    return journal_open(&k->j, &o, r, e);
}

/* ---- a turn ---------------------------------------------------------------------- */

static void mind_room(struct keeper *k, bool full)
{
    if (k->full == full)
        return;
    k->full = full;
    if (full)
        log_error("event=journal_full dir=%s why=\"no room for what is new\" effect=\"it is refused; what is "
                  "there goes on\"", k->dir);
    else
        log_info("event=journal_has_room dir=%s", k->dir);
}

bool keeper_reserve(struct keeper *k, uint64_t n)
{
    if (k == NULL)
        return true;
    if (k->holding || !journal_reserve(k->j, n * k->o.thing_bytes)) {
        k->refused += n;
        k->wanted = u64_max(k->wanted, n);
        return false;
    }
    k->promised += n;
    return true;
}

/* Once a second, if something was refused since, or while there was no room: nobody may ask for long then. */
static void look_for_room(struct keeper *k)
{
    uint64_t need = k->full ? JOURNAL_ROOM_AGAIN : k->wanted * k->o.thing_bytes;
    bool room;

    if (k->holding || need == 0)
        return;
    k->wanted = 0;
    room = journal_reserve(k->j, need);
    if (room)
        journal_give_back(k->j, need);
    mind_room(k, !room);
}

void keeper_warn(const struct keeper *k, struct buf *b)
{
    if (k == NULL || (!k->holding && !k->full))
        return;
    buf_printf(b, "%s%s: nothing new is accepted; %s", b->len > 0 ? "; " : "",
               k->holding ? "its journal cannot be written" : "no room on the disk of its journal",
               k->holding ? "what is there stands still" : "what is there goes on");
}

static void hold(struct keeper *k, bool on, const char *why)
{
    if (k->holding == on)
        return;
    k->holding = on;
    if (on)
        log_error("event=journal_holding why=%s effect=\"nothing new is accepted\"",
                  log_q(why, strlen(why)));
    else
        log_info("event=journal_resumed");
}

bool keeper_flush(struct keeper *k)
{
    struct err e = { 0 };
    bool failed;
    int rc;

    if (k == NULL)
        return true;
    failed = k->failed;
    FAILPOINT_NOTED("before_write", 0);
    rc = journal_flush(k->j, &e);
    FAILPOINT_NOTED("after_write", 1);
    k->failed = rc < 0;
    hold(k, rc < 0 || !journal_ok(k->j), e.text);
    if (rc == 0 || failed)
        return true;
    k->taken_back++;
    return false;
}

bool keeper_fails(struct keeper *k, const char *why)
{
    k->failed = true;
    hold(k, true, why);
    k->taken_back++;
    return false;
}

bool keeper_holds(const struct keeper *k)
{
    return k != NULL && k->holding;
}

bool keeper_no_room(const struct keeper *k)
{
    return k != NULL && k->full;
}

int keeper_again(struct keeper *k, const struct journal_replay *r, struct err *e)
{
    return journal_again(k->j, r, e);
}

/* ---- snapshots ------------------------------------------------------------------- */

static void put_chunk(struct keeper *k)
{
    if (k->snap_rc == 0 && k->chunk.failed)
        k->snap_rc = err_set(&k->snap_err, SQ_ENOMEM, "no memory for the snapshot");
    if (k->snap_rc == 0 && k->chunk.len > 0)
        k->snap_rc = journal_snap_put(k->j, k->chunk.data, k->chunk.len, &k->snap_err);
    buf_reset(&k->chunk);
}

struct buf *keeper_chunk(struct keeper *k)
{
    return &k->chunk;
}

void keeper_snap_put(struct keeper *k)
{
    if (k->chunk.len >= CHUNK_BYTES || k->chunk.failed)
        put_chunk(k);
}

bool keeper_snap(struct keeper *k, bool *begin)
{
    *begin = !journal_snap_running(k->j);
    if (!*begin)
        return true;
    if (!journal_snap_due(k->j))
        return false;
    buf_reset(&k->chunk);
    memset(&k->snap_err, 0, sizeof(k->snap_err));
    k->snap_rc = journal_snap_begin(k->j, &k->snap_err);
    if (k->snap_rc < 0)
        log_error("event=snapshot_not_begun why=%s",
                  log_q(k->snap_err.text, strlen(k->snap_err.text)));
    return k->snap_rc == 0;
}

void keeper_snap_sliced(struct keeper *k, bool more)
{
    if (!more)
        put_chunk(k);
    if (k->snap_rc == 0 && !more)
        k->snap_rc = journal_snap_commit(k->j, &k->snap_err);
    if (k->snap_rc == 0)
        return;
    journal_snap_abort(k->j);
    log_error("event=snapshot_failed why=%s",
              log_q(k->snap_err.text, strlen(k->snap_err.text)));
}

void keeper_snap_abort(struct keeper *k)
{
    journal_snap_abort(k->j);
}

/* ---- time ------------------------------------------------------------------------ */

bool keeper_tick(struct keeper *k, msec_t now_ms)
{
    struct err e = { 0 };
    bool due = now_ms - k->promised_ms >= PROMISE_MS;

    if (journal_tick(k->j, now_ms, &e) < 0)
        hold(k, true, e.text);
    if (due) {
        k->promised_ms = now_ms;
        look_for_room(k);
    }
    return due;
}

void keeper_promise(struct keeper *k, uint64_t live)
{
    uint32_t bytes = k->o.thing_bytes;

    if (live < k->promised)
        journal_give_back(k->j, (k->promised - live) * bytes);
    else if (live > k->promised && !journal_reserve(k->j, (live - k->promised) * bytes))
        return; /* moved here, or recovered: later, then */
    k->promised = live;
}

/* Free room of the file system, without root's reserve. */
static uint64_t room_bytes(const struct keeper *k)
{
    struct statvfs v;

    if (k->o.disk != NULL || statvfs(k->dir, &v) < 0)
        return 0;
    return (uint64_t)v.f_bavail * v.f_frsize;
}

void keeper_count(const struct keeper *k, struct keeper_counts *n)
{
    memset(n, 0, sizeof(*n));
    if (k == NULL)
        return;
    journal_counts(k->j, &n->file);
    n->refused = k->refused;
    n->taken_back = k->taken_back;
    n->holding = k->holding;
    n->no_room = k->full;
    n->room_bytes = room_bytes(k);
}

/* journal.c: records into the journal, the journal into records, snapshots in slices.
 *
 * Every node has a folder of its own below journal_dir, named after it. */
#include "segment/service/journal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/versions.h"
#include "common/journal/check.h"
#include "common/journal/turn.h"
#include "segment/core/jrec.h"

#define LOG_MODULE "journal"
#define SLICE_BLOCKS 2000u /* per tick: a million tickets, some 100 KB as bitmaps */
#define PIECE_BYTES   (1u << 20) /* what a move brings is written in groups of so much */
#define RECORD_ROOM  (80u << 10) /* no record is longer: JREC_WORDS of them, and some */

struct seg_journal {
    struct keeper *k;   /* owned */
    struct segtab *tab; /* ref; from the recovery on */
    struct buf rec;     /* the record at hand */
    uint64_t recovered;
    bool held; /* last word to the table */
    bool absorbing; /* amid the records of what a move brings */
    bool lost;      /* some could not be written: the turn will not be */
};

/* ---- life ------------------------------------------------------------------------ */

int seg_journal_new(struct seg_journal **out, const struct node_cfg *c, struct disk *disk,
                    struct err *e)
{
    const char *parent = c->journal_dir != NULL ? c->journal_dir : "journal";
    struct keeper_opts o = { .parent = parent,
                             .node = c->node,
                             .mode = (enum journal_mode)c->journal,
                             .format = JOURNAL_FORMAT,
                             .snap_after = (uint64_t)c->journal_snapshot,
                             .disk = disk,
                             .thing_bytes = SEG_TICKET_BYTES };
    struct seg_journal *j = calloc(1, sizeof(*j));
    int rc = j != NULL && buf_reserve(&j->rec, RECORD_ROOM) != NULL
                 ? keeper_new(&j->k, &o, e)
                 : err_set(e, SQ_ENOMEM, "journal");

    *out = NULL;
    if (rc < 0 || j->k == NULL) {
        seg_journal_free(j);
        return rc;
    }
    *out = j;
    return 0;
}

void seg_journal_set_boot(struct seg_journal *j, uint64_t boot)
{
    keeper_set_boot(j->k, boot);
}

void seg_journal_free(struct seg_journal *j)
{
    if (j == NULL)
        return;
    keeper_free(j->k);
    buf_fini(&j->rec);
    free(j);
}

/* ---- records ---------------------------------------------------------------------- */

/* All that a move brings is worth nothing without its ABSORBED, which is in the turn's last group: so the
 * groups before it may be there alone, and no move is too large for one. */
static void cut(struct seg_journal *j, const struct jrec *r)
{
    struct err e = { 0 };

    if (r->kind == JREC_ABSORB)
        j->absorbing = r->seg != 0;
    else if (r->kind == JREC_ABSORBED)
        j->absorbing = false;
    if (!j->absorbing || journal_pending(keeper_journal(j->k)) < PIECE_BYTES)
        return;
    if (journal_piece(keeper_journal(j->k), &e) < 0)
        j->lost = true;
}

void seg_journal_log(void *journal, const struct jrec *r)
{
    struct seg_journal *j = journal;

    if (SQ_UNLIKELY(j->lost))
        return;
    buf_reset(&j->rec);
    jrec_encode(r, &j->rec);
    assert(!j->rec.failed); /* room for the longest is there */
    journal_append(keeper_journal(j->k), r->kind, j->rec.data, j->rec.len);
    FAILPOINT_NOTE(jrec_name(r->kind));
    cut(j, r);
}

bool seg_journal_room(void *journal, uint64_t bytes)
{
    struct journal *f = keeper_journal(((struct seg_journal *)journal)->k);

    if (!journal_reserve(f, bytes))
        return false;
    journal_give_back(f, bytes); /* the file has the room now, and the turn needs it */
    return true;
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

static uint64_t live_tickets(const struct seg_journal *j)
{
    struct segtab_counts n;

    segtab_count(j->tab, &n);
    return n.waiting + n.ready + n.active + n.returning;
}

int seg_journal_recover(struct seg_journal *j, struct segtab *t, struct seg_now now,
                        struct err *e)
{
    struct journal_counts c;
    struct segtab_counts n;
    int rc;

    j->tab = t;
    rc = keeper_open(j->k, &(struct journal_replay) { on_chunk, on_record, j }, e);
    if (rc < 0)
        return rc;
    if (segtab_replayed(t, now) < 0)
        return err_set(e, SQ_ENOMEM, "journal %s", keeper_dir(j->k));
    if (journal_was_cut(keeper_journal(j->k)))
        segtab_seal_all(t);
    rc = journal_flush(keeper_journal(j->k), e);
    segtab_count(t, &n);
    journal_counts(keeper_journal(j->k), &c);
    j->recovered = live_tickets(j);
    log_info("event=recovered segments=%" PRIu64 " tickets=%" PRIu64 " seconds=%.3f dir=%s",
             n.segments, j->recovered, (double)c.replay_ms / 1000, keeper_dir(j->k));
    return rc;
}

/* ---- a turn ---------------------------------------------------------------------- */

bool seg_journal_reserve(struct seg_journal *j, uint64_t n)
{
    return j == NULL || keeper_reserve(j->k, n);
}

/* The table holds as long as the journal does. */
static void hold(struct seg_journal *j)
{
    bool on = keeper_holds(j->k);

    if (on != j->held)
        segtab_hold(j->tab, on);
    j->held = on;
}

bool seg_journal_flush(struct seg_journal *j)
{
    bool ok;

    if (j == NULL)
        return true;
    ok = j->lost ? keeper_fails(j->k, "what a move brings could not be written") : keeper_flush(j->k);
    j->lost = j->absorbing = false;
    hold(j);
    return ok;
}

int seg_journal_again(struct seg_journal *j, struct segtab *t, struct seg_now now,
                      struct err *e)
{
    int rc;

    j->tab = t;
    rc = keeper_again(j->k, &(struct journal_replay) { on_chunk, on_record, j }, e);
    if (rc == 0 && segtab_replayed(t, now) < 0)
        rc = err_set(e, SQ_ENOMEM, "journal %s", keeper_dir(j->k));
    segtab_hold(t, true);
    segtab_no_room(t, keeper_no_room(j->k));
    j->held = true;
    return rc;
}

/* ---- time ------------------------------------------------------------------------ */

static void on_snap(void *ctx, const struct jrec *r)
{
    struct seg_journal *j = ctx;
    struct buf *chunk = keeper_chunk(j->k);

    buf_byte(chunk, r->kind);
    jrec_encode(r, chunk);
    keeper_snap_put(j->k);
}

void seg_journal_tick(struct seg_journal *j, msec_t now_ms)
{
    bool begin;

    if (j == NULL)
        return;
    if (keeper_tick(j->k, now_ms))
        keeper_promise(j->k, live_tickets(j));
    hold(j);
    segtab_no_room(j->tab, keeper_no_room(j->k));
    if (keeper_snap(j->k, &begin))
        keeper_snap_sliced(j->k, segtab_snapshot(j->tab, begin, SLICE_BLOCKS, on_snap, j));
}

void seg_journal_warn(const struct seg_journal *j, struct buf *b)
{
    if (j != NULL)
        keeper_warn(j->k, b);
}

void seg_journal_count(const struct seg_journal *j, struct keeper_counts *n)
{
    keeper_count(j != NULL ? j->k : NULL, n);
    n->recovered = j != NULL ? j->recovered : 0;
}

static const char *name_of(uint8_t type)
{
    return type > 0 && type < JREC_NKINDS ? jrec_name(type) : NULL;
}

int seg_journal_check(const char *dir, FILE *out)
{
    return journal_check(dir, JOURNAL_FORMAT, name_of, out);
}

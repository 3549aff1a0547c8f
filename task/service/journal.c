/* journal.c: a record is one of the journal; a chunk of a snapshot has many, framed as in record.h. */
#include "task/service/journal.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/versions.h"
#include "common/journal/check.h"
#include "common/journal/turn.h"
#include "common/task/rules.h"
#include "task/node/keep.h"
#include "task/store/record.h"

#define LOG_MODULE "journal"

_Static_assert(KEY_LIMITS_MAX * KEY_LIMIT_BYTES + 2 * TASK_NAME_MAX < JOURNAL_RECORD_MAX,
               "the limits of a pool's keys are a record");

void *task_journal_record(void *keeper, uint8_t kind, size_t n)
{
    FAILPOINT_NOTE(trec_name(kind));
    return journal_put(keeper_journal(keeper), kind, n);
}

bool task_journal_keep(void *keeper, uint32_t file, uint32_t at, const uint8_t *p, uint32_t n)
{
    struct trec r = { .kind = TREC_BODY, .lo = file, .hi = at, .name = { (const char *)p, n } };
    uint64_t most = JOURNAL_COST(n + 4 * VARINT_MAX);
    struct journal *j = keeper_journal(keeper);
    struct buf b;
    bool ok;

    if (!journal_reserve(j, most))
        return false;
    journal_give_back(j, most);
    buf_init(&b);
    buf_byte(&b, 0); /* no partition's: the node's */
    trec_encode(&r, &b);
    ok = !b.failed;
    if (ok)
        memcpy(task_journal_record(keeper, r.kind, b.len), b.data, b.len);
    buf_fini(&b);
    return ok;
}

/* ---- read again -------------------------------------------------------------------- */

static int replay(struct tasktab *t, bool snap, uint8_t kind, const uint8_t *p, size_t n,
                  struct err *e)
{
    int rc = tasktab_replay(t, snap, kind, p, n);

    return rc < 0 ? err_set(e, rc, "record %s: %s", trec_name(kind), sq_strerror(rc)) : 0;
}

/* The byte in front: of the node. */
static int replay_body(struct bodies *b, const uint8_t *p, size_t n, struct err *e)
{
    struct trec r;
    int rc = n == 0 || p[0] != 0 ? SQ_EPROTO : trec_decode(TREC_BODY, p + 1, n - 1, &r);

    if (rc == 0)
        rc = bodies_redo(b, r.lo, r.hi, (const uint8_t *)r.name.p, r.name.n);
    return rc < 0 ? err_set(e, rc, "bodies cannot be written again: %s", sq_strerror(rc)) : 0;
}

static int on_record(void *ctx, uint8_t kind, const uint8_t *p, size_t n, struct err *e)
{
    const struct task_journal *j = ctx;

    return kind == TREC_BODY ? replay_body(j->bodies, p, n, e)
                             : replay(j->tab, false, kind, p, n, e);
}

static int on_chunk(void *ctx, const uint8_t *p, size_t n, struct err *e)
{
    const struct task_journal *j = ctx;
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < n;) {
        struct trec_frame f;

        if (!trec_next(p, n, &at, &f))
            return err_set(e, SQ_EPROTO, "a chunk of a snapshot is cut short");
        rc = replay(j->tab, true, f.kind, f.p, f.n, e);
    }
    return rc;
}

static bool is_there(void *bodies, uint64_t ref)
{
    return bodies_live(bodies, ref) == 0;
}

int task_journal_read(const struct task_journal *j, struct task_now now, bool again,
                      struct err *e)
{
    const struct journal_replay r = { on_chunk, on_record, (void *)j };
    struct journal_counts c;
    bool cut = false;
    int rc = 0;

    if (j->keeper != NULL)
        rc = again ? keeper_again(j->keeper, &r, e) : keeper_open(j->keeper, &r, e);
    if (rc < 0)
        return rc;
    if (j->keeper != NULL)
        cut = journal_was_cut(keeper_journal(j->keeper));
    rc = tasktab_replayed(j->tab, now, cut, is_there, j->bodies);
    if (rc < 0)
        return err_set(e, rc, "journal: %s", sq_strerror(rc));
    bodies_opened(j->bodies);
    if (j->keeper == NULL)
        return 0;
    journal_counts(keeper_journal(j->keeper), &c);
    log_info("event=recovered tasks=%" PRIu64 " seconds=%.3f dir=%s", tasktab_tasks(j->tab),
             (double)c.replay_ms / 1000, keeper_dir(j->keeper));
    return 0;
}

/* ---- snapshots --------------------------------------------------------------------- */

static void *chunk_record(void *keeper, uint8_t kind, size_t n)
{
    struct buf *b = keeper_chunk(keeper);

    keeper_snap_put(keeper); /* records that are whole */
    return trec_room(b, kind, n);
}

void task_journal_snapshot(const struct task_journal *j)
{
    bool begin, more;

    if (j->keeper == NULL || tasktab_is_receiving(j->tab) || !keeper_snap(j->keeper, &begin))
        return;
    more = tasktab_snapshot(j->tab, begin, chunk_record, j->keeper);
    /* With its end the logs go that have bodies. */
    if (tasktab_snapshot_spoilt(j->tab) || (!more && !bodies_sync(j->bodies)))
        keeper_snap_abort(j->keeper);
    else
        keeper_snap_sliced(j->keeper, more);
}

static const char *name_of(uint8_t kind)
{
    const char *name = trec_name(kind);

    return name[0] != '?' ? name : NULL;
}

int task_journal_check(const char *dir, FILE *out)
{
    return journal_check(dir, TASK_FORMAT, name_of, out);
}

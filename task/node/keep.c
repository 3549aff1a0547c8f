/* keep.c: the number of its partition in front of each record. */
#include "task/node/keep.h"

#include <inttypes.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint.h"
#include "task/engine/change.h"
#include "task/engine/replay.h"
#include "task/node/parts.h"
#include "task/node/wait.h"

#define LOG_MODULE        "table"
#define NUMBERS_AFTER_CUT (1u << 20) /* numbers given in the second before a power cut, at most */

struct writer { /* place for records */
    void *(*record)(void *ctx, uint8_t kind, size_t n);
    void *ctx;
    const struct tasktab *shared; /* in place of `record`: by its shared store */
};

/* Nothing of the node itself is in a shared store. */
static bool is_kept(const struct writer *w, part_no part)
{
    return w->shared != NULL ? part != 0 : w->record != NULL;
}

static uint8_t *room_for(const struct writer *w, part_no part, uint8_t kind, size_t n)
{
    if (w->shared != NULL)
        return w->shared->o.shared->record(w->shared->o.shared_ctx, part, kind, n);
    return w->record(w->ctx, kind, n);
}

static bool write_bytes(const struct writer *w, part_no part, uint8_t kind, const uint8_t *p,
                        size_t n)
{
    uint8_t head[VARINT_MAX];
    size_t len = (size_t)(varint_put(head, part) - head);
    uint8_t *to = room_for(w, part, kind, len + n);

    if (to == NULL)
        return false;
    memcpy(to, head, len);
    if (n > 0)
        memcpy(to + len, p, n);
    return true;
}

/* All records of a log (record.h). */
static bool write_log(const struct writer *w, part_no part, const struct buf *log)
{
    bool ok = !log->failed;
    struct trec_frame f;

    for (size_t at = 0; ok && at < log->len;)
        ok = trec_next(log->data, log->len, &at, &f) && write_bytes(w, part, f.kind, f.p, f.n);
    return ok;
}

static struct writer journal_of(const struct tasktab *t)
{
    return (struct writer){ t->o.record, t->o.record_ctx, t->o.shared != NULL ? t : NULL };
}

static bool write_one(const struct writer *w, part_no part, const struct trec *r)
{
    struct buf b;
    bool ok;

    buf_init(&b);
    trec_append(r, &b);
    ok = write_log(w, part, &b);
    buf_fini(&b);
    return ok;
}

static struct trec node_record(const struct tasktab *t)
{
    return (struct trec){ .kind = TREC_NODE, .epoch = t->epoch, .hi = t->store };
}

static struct trec part_record(const struct part *p)
{
    struct trec r = { .kind = TREC_PART, .epoch = p->epoch, .most = engine_limit_read(&p->e),
                      .wall = p->paused, .name = tasktab_text(p->match) };

    memcpy(&r.lo, p->seed, 8);
    memcpy(&r.hi, p->seed + 8, 8);
    return r;
}

/* ---- the journal ------------------------------------------------------------------- */

void tasktab_keep(struct tasktab *t, part_no part, const struct trec *r)
{
    struct writer w = journal_of(t);

    if (is_kept(&w, part) && !write_one(&w, part, r))
        t->lost_record = true;
}

void tasktab_keep_node(struct tasktab *t)
{
    struct trec r = node_record(t);

    tasktab_keep(t, 0, &r);
}

void tasktab_keep_part(struct tasktab *t, const struct part *p)
{
    struct trec r = part_record(p);

    tasktab_keep(t, p->no, &r);
}

static struct trec clock_record(const struct part_clock *c)
{
    return (struct trec){ .kind = TREC_CLOCK, .lo = c->boot, .until = (uint64_t)c->axis,
                          .entered = (uint64_t)c->boot_ms, .wall = (uint64_t)c->wall_ms };
}

void tasktab_keep_clock(struct tasktab *t, struct part *p, const struct part_clock *c)
{
    struct trec r = clock_record(c);

    p->clock = *c;
    tasktab_keep(t, p->no, &r);
}

static struct trec node_clock(const struct tasktab *t)
{
    return clock_record(&(struct part_clock){ t->now.ms, t->o.boot.id, t->now.ms + t->o.boot.ahead_ms, t->now.wall_ms });
}

static void keep_level(void *ctx, const struct trec *r)
{
    tasktab_keep(ctx, 0, r);
}

void tasktab_keep_levels(struct tasktab *t)
{
    const struct trec now = node_clock(t);

    if (t->o.calls != NULL && !t->hold)
        levels_changed(&t->o.calls->endpoints, &now, t->now.ms, keep_level, t);
}

static void free_later(struct tasktab *t, uint64_t body)
{
    if (body != 0)
        buf_append(&t->freed, &body, sizeof(body));
}

void tasktab_part_gone(struct tasktab *t, struct part *p)
{
    struct trec r = { .kind = TREC_DROP };

    for (task_slot s = 0; s < p->e.store.n_slots && t->o.shared == NULL; s++) {
        const struct task *k = task_at(&p->e.store, s);

        free_later(t, k->state != TASK_FREE ? k->body : 0);
        free_later(t, replies_of(&p->e.replies, s));
    }
    if (t->o.shared == NULL) /* else it is not only ours */
        tasktab_keep(t, p->no, &r);
    tasktab_part_drop(t, p);
    t->snap_spoilt = t->snapping;
}

/* Tells those who wait for the end of a task. */
static void tell_of_ends(struct tasktab *t, struct part *p, struct outbox *out)
{
    const struct buf *log = &p->e.log;
    struct trec_frame f;
    size_t at = 0;
    struct trec r;

    while (p->spots[false].n > 0 && trec_next(log->data, log->len, &at, &f))
        if (trec_decode(f.kind, f.p, f.n, &r) == 0 &&
            (trec_is_end(&r) || r.kind == TREC_GONE))
            tasktab_waits_final(t, p, r.no, out);
}

/* Bodies that no task has any more: they go with these records, or when these are written. */
void tasktab_free_later(struct tasktab *t, struct part *p)
{
    const struct buf *b = &p->e.freed;

    if (t->o.shared == NULL)
        buf_append(&t->freed, b->data, b->len);
    else
        for (size_t i = 0; i < b->len; i += sizeof(uint64_t)) {
            uint64_t ref;

            memcpy(&ref, b->data + i, sizeof(ref));
            t->o.shared->drop(t->o.shared_ctx, p->no, ref);
        }
    buf_reset(&p->e.freed);
}

bool tasktab_keep_log(struct tasktab *t, struct part *p, struct outbox *out)
{
    struct writer w = journal_of(t);

    tell_of_ends(t, p, out);
    p->asked |= p->e.log.len > 0;
    if (p->e.log.failed || (is_kept(&w, p->no) && !write_log(&w, p->no, &p->e.log)))
        return false;
    if (p->out != NULL && p->out->open)
        buf_append(&p->out->stream, p->e.log.data, p->e.log.len);
    engine_log_reset(&p->e);
    tasktab_free_later(t, p);
    if (tasktab_clock_is_old(t, p)) {
        struct part_clock seen = tasktab_clock_seen(t, p);

        tasktab_keep_clock(t, p, &seen);
    }
    return true;
}

/* ---- read again -------------------------------------------------------------------- */

/* The partition is here, under this epoch. */
static int replay_part(struct tasktab *t, bool snap, part_no no, const struct trec *r)
{
    struct part *p = tasktab_part(t, no);
    uint8_t seed[NAMES_SEED];
    struct part_seed s = { no, (uint32_t)r->most, seed };

    if (no == 0 || r->most == 0 || r->most > TASKS_MAX || r->name.n == 0 ||
        r->name.n > TASK_NAME_MAX || memchr(r->name.p, 0, r->name.n) != NULL ||
        (snap && p != NULL))
        return SQ_EPROTO;
    memcpy(seed, &r->lo, 8);
    memcpy(seed + 8, &r->hi, 8);
    if (p == NULL)
        p = tasktab_part_new(t, &s);
    if (p == NULL)
        return SQ_ENOMEM;
    p->epoch = r->epoch;
    p->life = PART_OWNED;
    p->paused = r->wall != 0;
    p->behind = snap;
    engine_limit(&p->e, (uint32_t)r->most);
    memcpy(p->match, r->name.p, r->name.n);
    p->match[r->name.n] = 0;
    return 0;
}

/* The engine is fenced when all is read. */
static int replay_life(struct part *p, const struct trec *r)
{
    p->life = r->kind == TREC_COMING ? PART_COMING
              : r->kind == TREC_COME ? PART_COME
                                     : PART_FENCED;
    p->fence = p->life == PART_FENCED ? r->epoch : 0;
    return 0;
}

static int replay_clock(struct part *p, const struct trec *r)
{
    const uint64_t most = (uint64_t)WHEEL_MAX;

    if (r->until == 0 || r->until >= most || r->entered >= most || r->wall >= most)
        return SQ_EPROTO;
    p->clock = (struct part_clock){ (msec_t)r->until, r->lo, (msec_t)r->entered, (msec_t)r->wall };
    return 0;
}

static int replay_own(struct tasktab *t, bool snap, part_no no, const struct trec *r)
{
    struct part *p = tasktab_part(t, no);

    switch (r->kind) {
    case TREC_NODE:
        t->epoch = r->epoch;
        t->store = r->hi;
        return no == 0 ? 0 : SQ_EPROTO;
    case TREC_QUOTA:
        return no == 0 ? levels_read(&t->levels, r) : SQ_EPROTO;
    case TREC_PART:
        return p != NULL && p->behind && !snap ? 0 : replay_part(t, snap, no, r);
    case TREC_COMING:
    case TREC_COME:
    case TREC_FENCED:
        return p == NULL ? SQ_EPROTO : p->behind && !snap ? 0 : replay_life(p, r);
    case TREC_CLOCK:
        return p == NULL ? SQ_EPROTO : p->behind && !snap ? 0 : replay_clock(p, r);
    case TREC_SNAPPED:
        if (p != NULL)
            p->behind = false;
        return 0;
    case TREC_DROP:
        if (p == NULL || p->behind)
            return SQ_EPROTO; /* a snapshot does not outlive a drop */
        tasktab_part_drop(t, p);
        return 0;
    default:
        return SQ_EPROTO; /* not of the table */
    }
}

int tasktab_replay(struct tasktab *t, bool snap, uint8_t kind, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;
    uint64_t no;
    struct trec r;
    struct part *part;
    int rc;

    p = varint_get(p, end, &no);
    if (p == NULL || no > UINT32_MAX)
        return SQ_EPROTO;
    rc = trec_decode(kind, p, (size_t)(end - p), &r);
    if (rc < 0 || trec_is_of_node(kind))
        return rc < 0 ? rc : replay_own(t, snap, (part_no)no, &r);
    part = tasktab_part(t, (part_no)no);
    if (part == NULL)
        return SQ_EPROTO;
    if (part->behind && !snap)
        return 0;
    return tasktab_part_apply(part, &r);
}

/* Ends a task whose body is not there (a power cut under `os`): it cannot be done. */
static void lose(struct part *p, task_slot slot)
{
    const struct task *k = task_at(&p->e.store, slot);
    task_no no = task_number(&p->e.store, slot);

    log_error("event=body_lost part=%u task=%" PRIu64 " state=%s", p->no, no,
              task_state_word((enum task_state)k->state));
    task_set_body(&p->e.store, slot, 0);
    (void)!engine_cancel(&p->e, no);
    (void)!engine_discard(&p->e, no); /* a running one goes when its lease has ended */
}

/* Says of each body that it lives. How many are not there. */
static uint64_t find_bodies(struct part *p, bool (*live)(void *ctx, uint64_t ref), void *ctx)
{
    uint64_t lost = 0;

    for (task_slot s = 0; s < p->e.store.n_slots; s++) {
        const struct task *k = task_at(&p->e.store, s);
        uint64_t reply = replies_of(&p->e.replies, s);

        if (reply != 0 && !live(ctx, reply)) {
            engine_lost_reply(&p->e, task_number(&p->e.store, s));
            lost++;
        }
        if (k->state == TASK_FREE || k->body == 0 || live(ctx, k->body))
            continue;
        lose(p, s);
        lost++;
    }
    return lost;
}

int tasktab_part_replayed(struct tasktab *t, struct part *p,
                          bool (*live)(void *ctx, uint64_t ref), void *ctx)
{
    int rc = engine_opened(&p->e, t->now.ms, tasktab_clock_after(t, p));

    if (rc < 0)
        return rc;
    p->behind = false;
    p->restarted = t->o.shared == NULL && p->clock.boot != 0 && p->clock.boot == t->o.boot.id;
    p->due = p->life == PART_OWNED ? t->now.ms : MSEC_NEVER;
    t->n.lost_bodies += find_bodies(p, live, ctx);
    engine_fence(&p->e, p->life == PART_FENCED);
    return 0;
}

/* Copies that are not whole do not outlive the process. */
static void drop_halves(struct tasktab *t)
{
    for (uint32_t i = 0; i < t->n_parts;) {
        if (t->part[i]->life == PART_COMING)
            tasktab_part_gone(t, t->part[i]);
        else
            i++;
    }
    buf_reset(&t->freed); /* the shell learns what lives, and has never heard of these */
}

int tasktab_replayed(struct tasktab *t, struct task_now now, bool cut,
                     bool (*live)(void *ctx, uint64_t ref), void *ctx)
{
    struct trec done = { .kind = TREC_SNAPPED };

    t->now = now;
    drop_halves(t);
    if (cut)
        levels_forget_all(&t->levels);
    each_part (t, p) {
        int rc;

        if (p->behind) /* killed between the snapshot's end and this record */
            tasktab_keep(t, p->no, &done);
        rc = tasktab_part_replayed(t, p, live, ctx);
        if (rc < 0)
            return rc;
        if (cut) { /* starts may be missing */
            engine_skip(&p->e, NUMBERS_AFTER_CUT);
            engine_empty_buckets(&p->e);
        }
    }
    return 0;
}

/* ---- snapshots --------------------------------------------------------------------- */

static bool snap_part(const struct tasktab *t, const struct part *p, const struct writer *w)
{
    struct part_clock seen = p->life == PART_OWNED ? tasktab_clock_seen(t, p) : p->clock;
    struct trec r = part_record(p), at = clock_record(&seen);
    struct trec life = { .kind = p->life == PART_COME ? TREC_COME : TREC_FENCED,
                         .epoch = p->life == PART_COME ? p->epoch : p->fence };
    struct buf all;
    bool ok;

    buf_init(&all);
    tasktab_part_snapshot(p, &all);
    ok = write_one(w, p->no, &r) && (p->life == PART_OWNED || write_one(w, p->no, &life)) &&
         (seen.axis == 0 || write_one(w, p->no, &at)) && write_log(w, p->no, &all);
    buf_fini(&all);
    return ok;
}

bool tasktab_snapshot_part(const struct tasktab *t, part_no no,
                           void *(*record)(void *ctx, uint8_t kind, size_t n), void *ctx)
{
    const struct part *p = tasktab_part(t, no);
    struct writer w = { record, ctx, NULL };

    assert(p->e.log.len == 0); /* between turns */
    return snap_part(t, p, &w);
}

static void put_level(void *ctx, const struct trec *r)
{
    (void)!write_one(ctx, 0, r);
}

bool tasktab_snapshot(struct tasktab *t, bool begin,
                      void *(*record)(void *ctx, uint8_t kind, size_t n), void *ctx)
{
    struct writer w = { record, ctx, NULL };
    struct trec r = node_record(t), done = { .kind = TREC_SNAPPED }, now = node_clock(t);

    if (begin) {
        t->snap_next = 0;
        t->snapping = true;
        t->snap_spoilt = false;
        (void)!write_one(&w, 0, &r); /* the giver of room remembers that there was none */
        if (t->o.calls != NULL)
            levels_all(&t->o.calls->endpoints, &t->levels, &now, t->now.ms, put_level, &w);
    }
    if (t->snap_next < t->n_parts && !t->snap_spoilt) {
        struct part *p = t->part[t->snap_next++];

        assert(p->e.log.len == 0 || t->hold);
        (void)!snap_part(t, p, &w);
        /* A log that is not empty between turns: nothing can be written, and what a replay has
         * said waits for that. The snapshot has it. */
        engine_log_reset(&p->e);
        tasktab_keep(t, p->no, &done);
    }
    t->snapping = t->snap_next < t->n_parts;
    return t->snapping;
}

bool tasktab_is_receiving(const struct tasktab *t)
{
    each_part (t, p)
        if (p->life == PART_COMING)
            return true;
    return false;
}

bool tasktab_snapshot_spoilt(const struct tasktab *t)
{
    return t->snap_spoilt;
}

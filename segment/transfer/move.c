/* move.c: moves, seen from a node: which are under way, and what ends them.
 *
 *   source:  DIALLING --link--> COPYING (then fenced: xfer_out.h) --MOVE_END--> gone
 *   target:  RECEIVING --all is here--> WHOLE --members told--> READY --MOVE_END--> gone
 *
 * Each is gone, too, when it is aborted.
 *
 * What can go wrong                       then
 *   the link breaks before COPY_END       both sides abort by themselves and say so
 *   it breaks after it                    the source waits for MOVE_END; so does a target
 *                                         that was READY; one that was not drops the copy
 *   a message of the copy is lost         the target sees the gap and refuses
 *   nothing comes any more                each side aborts after a while
 * Once COPY_END was sent the target may be READY: from then on neither a source nor a
 * READY target decides by itself. (A fence without COPY_END is safe to lift.) */
#include "segment/transfer/move.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "segment/core/auditing.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/directory/exchange.h"
#include "segment/directory/holdings.h"
#include "segment/directory/past.h"
#include "segment/tickets/passes.h"
#include "segment/tickets/timeouts.h"

#define LOG_MODULE "move"

/* ---- stages ----------------------------------------------------------------------- */

#define TO(stage) (1u << (stage))

void move_step(struct move *v, enum move_stage to)
{
    static const uint8_t may[STAGE_N] = {
        [STAGE_DIALLING] = TO(STAGE_COPYING),
        [STAGE_RECEIVING] = TO(STAGE_WHOLE),
        [STAGE_WHOLE] = TO(STAGE_READY),
    };

    assert(v->stage < STAGE_N && (may[v->stage] & TO(to)));
    v->stage = to;
}

struct xfer_time segtab_move_time(const struct segtab *t, const struct seg *g)
{
    return (struct xfer_time) {
        .now_ms = t->now.now_ms,
        .service_ms = t->service_ms,
        .wall_ms = t->now.wall_ms,
        .unit_ms = g->unit_ms,
        .unit_now = segtab_unit(t, g),
    };
}

/* ---- reports ---------------------------------------------------------------------- */

void segtab_move_tell(struct segtab *t, uint64_t move, seg_id from, seg_id to,
                      uint8_t side, uint8_t report, uint32_t tickets, const char *why,
                      struct outbox *out)
{
    if (t->manager == 0)
        return; /* the next one is told everything */
    outbox_add(out, t->manager, MSG_MOVE_STATUS)->move_status = (struct msg_move_status) {
        .epoch = t->epoch,
        .move = move,
        .from = from,
        .to = to,
        .side = side,
        .report = report,
        .tickets = tickets,
        .why = why,
    };
}

void segtab_move_report(struct segtab *t, struct move *v, struct outbox *out)
{
    bool in = v->side == MOVE_SIDE_IN;
    uint8_t report =
        in ? (v->stage == STAGE_READY ? MOVE_FENCED : MOVE_ACCEPTED) : MOVE_COPYING;
    uint32_t tickets = in ? v->in.waiting : v->seg->b.q.waiting;

    v->told_ms = t->now.now_ms;
    segtab_move_tell(t, v->id, v->from, v->to, v->side, report, tickets, "", out);
}

void segtab_moves_tell(struct segtab *t, struct outbox *out)
{
    each_move (t, v)
        segtab_move_report(t, v, out);
}

/* ---- life ------------------------------------------------------------------------- */

struct move *segtab_move_find(const struct segtab *t, uint64_t id, uint8_t side)
{
    each_move (t, v) {
        if (v->id == id && v->side == side)
            return v;
    }
    return NULL;
}

struct move *move_new(struct segtab *t, uint64_t id, seg_id from, seg_id to, uint8_t side,
                      struct seg *g)
{
    struct move *v = calloc(1, sizeof(*v));

    assert(g->b.id == (side == MOVE_SIDE_IN ? to : from));
    assert(g->in == NULL && g->out == NULL);
    if (v == NULL)
        return NULL;
    v->id = id;
    v->from = from;
    v->to = to;
    v->side = side;
    v->seg = g;
    v->progress_ms = t->now.now_ms;
    v->since = t->dir.count;
    if (side == MOVE_SIDE_IN) {
        xfer_in_init(&v->in, id, from, to, &t->pool);
        segtab_dir_watch_move(v);
        v->stage = STAGE_RECEIVING;
        g->in = v;
    } else if (xfer_out_init(&v->out, &g->b, id, to, g->ahead) < 0) {
        free(v);
        return NULL;
    } else {
        v->out.portion = t->o.portion;
        v->stage = STAGE_DIALLING;
        g->out = v;
    }
    list_push_back(&t->moves, &v->node);
    return v;
}

void segtab_move_free(struct segtab *t, struct move *v)
{
    assert(v == (v->side == MOVE_SIDE_IN ? v->seg->in : v->seg->out));
    list_remove(&t->moves, &v->node);
    t->replica.now = true;
    segtab_touch(t, v->seg);
    if (v->side == MOVE_SIDE_IN) {
        segtab_past(t, v->seg->queue, &v->in.subjects, &v->in.contacts);
        xfer_in_fini(&v->in);
        segq_unreserve(&v->seg->b.q);
        v->seg->in = NULL;
    } else {
        xfer_out_fini(&v->out);
        v->seg->out = NULL;
    }
    free(v);
}

struct thaw {
    uint8_t then, now, min;
};

static uint8_t thaw_one(void *ctx, uint8_t deadline)
{
    const struct thaw *w = ctx;
    uint8_t left = idle_left(deadline, w->then);

    return (uint8_t)(w->now + (left > w->min ? left : w->min));
}

/* Behind the fence nobody could be heard: that time does not count. */
static void thaw(struct segtab *t, const struct move *v)
{
    struct seg *g = v->seg;
    uint32_t min = XFER_MIN_LEFT_MS / g->unit_ms + 2;
    struct thaw w = { v->fenced_unit, segtab_unit(t, g), (uint8_t)min };

    segq_remark(&g->b.q, thaw_one, &w);
    sessions_shift(&g->b.released, t->service_ms - v->fenced_ms);
}

void segtab_move_abort(struct segtab *t, struct move *v, const char *why,
                       struct outbox *out)
{
    struct seg *g = v->seg;

    if (v->side == MOVE_SIDE_OUT && xfer_out_is_final(&v->out))
        segtab_log_set(t, JREC_ABORTED, g->b.id, v->id);
    if (v->side == MOVE_SIDE_OUT && xfer_out_is_fenced(&v->out)) {
        thaw(t, v);
        if (t->replica.n_listeners > 0)
            segtab_spare(t, g, 0); /* marks of them were not taken */
    }
    log_info("event=move_aborted move=%" PRIu64 " from=%" PRIu64 " to=%" PRIu64
             " side=%s why=\"%s\"",
             v->id, v->from, v->to, v->side == MOVE_SIDE_IN ? "in" : "out", why);
    segtab_move_tell(t, v->id, v->from, v->to, v->side, MOVE_ABORTED, 0, why, out);
    t->n.moves_aborted++;
    segtab_move_free(t, v);
    segtab_fit_unit(t, g); /* put off while it was copied */
}

void segtab_moves_drop(struct segtab *t, struct seg *g, const char *why,
                       struct outbox *out)
{
    if (g->out != NULL)
        segtab_move_abort(t, g->out, why, out);
    if (g->in != NULL)
        segtab_move_abort(t, g->in, why, out);
}

/* Forgets where the other end is; nothing has to be said to it. */
int segtab_move_recover(struct segtab *t, struct seg *g, uint64_t id, seg_id to)
{
    struct move *v = move_new(t, id, g->b.id, to, MOVE_SIDE_OUT, g);

    if (v == NULL)
        return SQ_ENOMEM;
    move_step(v, STAGE_COPYING);
    v->out.phase = XFER_SENT;
    return 0;
}

/* ---- the end: MOVE_END, commit or abort, on either side -----------------------------------
 * The commit of a target either happens whole or, without memory or behind another large one, not at
 * all: then nothing is reported, and the manager gives MOVE_END again. */

/* Names of the absorbed must be in `locations` before anything is changed; those of a move
 * within this node are there already. */
static int reserve_homes(struct segtab *t, const struct xfer_in *x)
{
    for (uint32_t i = 0; i < x->relocs.n; i++) {
        struct reloc *r = x->relocs.v[i];

        if (map_get(&t->locations, r->seg) == MAP_NONE &&
            segtab_location_set(t, r->seg, AT_RELOC, r) < 0)
            return SQ_ENOMEM;
    }
    return 0;
}

static void unreserve_homes(struct segtab *t, const struct xfer_in *x)
{
    for (uint32_t i = 0; i < x->relocs.n; i++)
        if (map_get(&t->locations, x->relocs.v[i]->seg) ==
            ((uint64_t)(uintptr_t)x->relocs.v[i] | AT_RELOC))
            map_del(&t->locations, x->relocs.v[i]->seg); /* not a name yet */
}

static void adopt_relocs(struct segtab *t, struct seg *g)
{
    for (uint32_t i = 0; i < g->b.relocs.n; i++) {
        struct reloc *r = g->b.relocs.v[i];

        if (r->host != NULL)
            continue;
        r->host = g;
        if (segtab_location_set(t, r->seg, AT_RELOC, r) < 0)
            log_error("event=segment_name_lost seg=%" PRIu64, r->seg); /* cannot be: reserved */
    }
}

/* Else the disk would be full amid its records, and everybody at this node would wait. */
static bool has_room(const struct segtab *t, uint64_t records)
{
    return t->hold || t->o.log_room == NULL || t->o.log_room(t->o.log_ctx, records);
}

/* Moves write in a turn what one may, for everybody waits meanwhile: heartbeats, too. */
static bool may_absorb(struct segtab *t, uint64_t records)
{
    if (t->absorbed > 0 && t->absorbed + records > XFER_RECORDS_MAX)
        return false;
    t->absorbed += records;
    return true;
}

/* false: no memory now, or it is another's turn; MOVE_END will come again. */
static bool commit_in(struct segtab *t, struct move *v, uint64_t records, struct outbox *out)
{
    struct seg *g = v->seg;
    struct xfer_time tm = segtab_move_time(t, g);
    uint32_t waiting = v->in.waiting;
    uint64_t before = g->b.q.waiting;

    assert(v->stage == STAGE_READY && g->in == v);
    if (t->hold || !may_absorb(t, records))
        return false;
    if (reserve_homes(t, &v->in) < 0 ||
        xfer_in_commit(&v->in, &g->b, &tm, g->queue->pass_ttl_s) < 0) {
        unreserve_homes(t, &v->in);
        log_warn("event=no_memory what=commit move=%" PRIu64, v->id);
        return false;
    }
    segtab_log_absorbed(t, g, &v->in);
    if (xfer_in_people(&v->in, &g->b))
        segtab_dir_moved(t, v);
    adopt_relocs(t, g);
    segtab_passes_moved(t, g, &v->in);
    /* The source's tickets must not be shown a larger position than before. (Of one whose
     * own is not known it would be too large for the target's.) */
    if (v->in.ahead != AHEAD_UNKNOWN && g->ahead != AHEAD_UNKNOWN)
        g->ahead = u64_min(g->ahead, v->in.ahead > before ? v->in.ahead - before : 0);
    else if (before == 0) /* the same people in a new place: they keep what they were told */
        g->ahead = u64_min(g->ahead, v->in.ahead);
    segtab_log_set(t, JREC_AHEAD, g->b.id, g->ahead);
    log_info("event=move_committed move=%" PRIu64 " from=%" PRIu64 " to=%" PRIu64
             " side=in tickets=%" PRIu32,
             v->id, v->from, v->to, waiting);
    t->n.moves_in++;
    segtab_audit_seg(t, g, AUDIT_ABSORBED, v->from, waiting);
    if (t->replica.n_listeners > 0)
        segtab_spare(t, g, 0); /* for the absorbed: their marks go to nobody during the fence */
    segtab_wake(t, g);
    segtab_move_tell(t, v->id, v->from, v->to, MOVE_SIDE_IN, MOVE_COMMITTED, waiting, "",
                     out);
    segtab_move_free(t, v);
    return true;
}

static void move_home(struct segtab *t, seg_id id, seg_id to)
{
    segtab_location_moved(t, id, to);
    segtab_log_set(t, JREC_ALIAS, id, to);
}

/* Drops the source and remembers where its tickets, and those it had absorbed, are. */
static void drop_source(struct segtab *t, struct seg *g, seg_id to)
{
    uint32_t n = g->b.relocs.n;

    segtab_log_set(t, JREC_REMOVE, g->b.id, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct reloc *r = g->b.relocs.v[i];

        if (map_get(&t->locations, r->seg) == ((uint64_t)(uintptr_t)r | AT_RELOC))
            move_home(t, r->seg, to);
    }
    if (segtab_seg(t, g->b.id) == g)
        move_home(t, g->b.id, to);
    segtab_past(t, g->queue, &g->b.subjects, &g->b.contacts);
    segtab_seg_free(t, g);
}

static void commit_out(struct segtab *t, struct move *v)
{
    struct seg *g = v->seg;
    seg_id to = v->to;

    assert(v->side == MOVE_SIDE_OUT && g->out == v);
    log_info("event=move_committed move=%" PRIu64 " from=%" PRIu64 " to=%" PRIu64
             " side=out",
             v->id, v->from, to);
    t->n.moves_out++;
    segtab_move_free(t, v);
    drop_source(t, g, to);
}

/* The commit of a move of which we know nothing (any more). */
static void end_unknown(struct segtab *t, const struct msg_move_end *m,
                        struct outbox *out)
{
    if (segtab_has_absorbed(t, m->from, m->to))
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_IN, MOVE_COMMITTED, 0, "",
                         out);
    if (segtab_seg(t, m->to) == NULL || segtab_has_absorbed(t, m->from, m->to))
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_COMMITTED, 0, "",
                         out);
}

/* We were restarted before the commit: the target is here and has nothing, so the source,
 * which may be here, too, must not go. */
static bool is_copy_lost(const struct segtab *t, const struct move *in,
                         const struct msg_move_end *m)
{
    return in == NULL && segtab_seg(t, m->to) != NULL &&
           !segtab_has_absorbed(t, m->from, m->to);
}

static void move_commit(struct segtab *t, const struct msg_move_end *m,
                        struct outbox *out)
{
    struct move *in = segtab_move_find(t, m->move, MOVE_SIDE_IN);
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_OUT);
    struct seg *left = segtab_seg(t, m->from);
    uint64_t records;

    if (in != NULL && in->stage != STAGE_READY) {
        segtab_move_abort(t, in, "committed, but the copy is not complete", out);
        return;
    }
    records = in != NULL ? xfer_in_records(&in->in) : 0;
    if (in != NULL && !has_room(t, records)) {
        segtab_move_abort(t, in, "there is no room in the journal for what it brings", out);
        return;
    }
    if (in != NULL && !commit_in(t, in, records, out))
        return;
    if (is_copy_lost(t, in, m)) {
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_IN, MOVE_ABORTED, 0,
                         "unknown move", out);
        return;
    }
    if (v != NULL) {
        commit_out(t, v);
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_COMMITTED, 0, "",
                         out);
    } else if (in == NULL) {
        /* The map is the truth: what was committed to somewhere else is not served here. But one
         * that is being rebuilt came later. */
        if (left != NULL && !left->b.q.rebuilding && segtab_seg(t, m->to) == NULL) {
            segtab_moves_drop(t, left, "it was moved away", out);
            drop_source(t, left, m->to);
        }
        end_unknown(t, m, out);
    }
}

/* An order that names other ends is not about this move, whatever its number. */
static bool is_meant(const struct move *v, const struct msg_move_end *m)
{
    return v == NULL || v->from == m->from;
}

void order_move_end(struct segtab *t, peer_no from, const struct msg_move_end *m,
                    struct outbox *out)
{
    struct move *in = segtab_move_find(t, m->move, MOVE_SIDE_IN);
    struct move *v = segtab_move_find(t, m->move, MOVE_SIDE_OUT);

    (void)from;
    if (m->commit) {
        if (is_meant(in, m) && is_meant(v, m))
            move_commit(t, m, out);
        return;
    }
    if (in != NULL)
        segtab_move_abort(t, in, "ordered", out);
    if (v != NULL)
        segtab_move_abort(t, v, "ordered", out);
    if (in == NULL && segtab_seg(t, m->to) != NULL)
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_IN, MOVE_ABORTED, 0,
                         "ordered", out);
    /* A node that is both target and source answers for both. */
    if (v == NULL && (segtab_seg(t, m->to) == NULL || segtab_seg(t, m->from) != NULL))
        segtab_move_tell(t, m->move, m->from, m->to, MOVE_SIDE_OUT, MOVE_ABORTED, 0,
                         "ordered", out);
}

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
#include "segment/core/recording.h"
#include "segment/core/rules.h"
#include "segment/core/segment.h"
#include "segment/directory/rows.h"
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
    if (side == MOVE_SIDE_IN) {
        xfer_in_init(&v->in, id, from, to, &t->pool);
        segtab_dir_watch_move(v);
        v->stage = STAGE_RECEIVING;
        g->in = v;
    } else if (xfer_out_init(&v->out, &g->b, id, to, g->ahead) < 0) {
        free(v);
        return NULL;
    } else {
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

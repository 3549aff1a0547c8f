/* segtab.c: the node's brain: its life, its peers, its clock, its tick.
 *
 *   tick: advance the service clock -> end what is over (claim windows, passes, graces)
 *         -> sweep for time-outs, bounded -> settle tags -> moves -> reports
 * A tick visits only segments where somebody waits or was released, or that changed. */
#include "segment/node/segtab.h"
#include "segment/node/segtab_audit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "segtab"
#define LOOP_MAX   256 /* messages to ourselves handled per call */

/* ---- life ------------------------------------------------------------------------ */

static void copy_text(char *to, size_t cap, const char *from)
{
    size_t n = from != NULL ? strnlen(from, cap - 1) : 0;

    if (n > 0)
        memcpy(to, from, n);
    to[n] = 0;
}

uint64_t segtab_max_blocks(const struct segtab_opts *o)
{
    return (o->max_tickets + BLOCK_SLOTS - 1) / BLOCK_SLOTS;
}

struct segtab *segtab_new(const struct segtab_opts *o)
{
    struct segtab *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    t->o = *o;
    copy_text(t->addr, sizeof(t->addr), o->addr);
    copy_text(t->admin, sizeof(t->admin), o->admin);
    t->o.retry_ms = o->retry_ms > 0 ? o->retry_ms : 1000;
    t->o.sweep_blocks = o->sweep_blocks > 0 ? o->sweep_blocks : 4096;
    block_pool_init(&t->pool, segtab_max_blocks(o));
    map_init(&t->homes, 0);
    map_init(&t->queues, 0);
    list_init(&t->segs);
    list_init(&t->dirty);
    list_init(&t->active);
    list_init(&t->moves);
    dirs_init(&t->dir);
    outbox_init(&t->loop[0]);
    outbox_init(&t->loop[1]);
    t->service_ms = SEGTAB_UNIT_MS * 1000;
    return t;
}

static void queue_free(struct queue *q)
{
    free(q->name);
    free(q->issuer);
    for (uint32_t i = 0; i < LANES_MAX; i++)
        free(q->lanes[i]);
    free(q);
}

void segtab_free(struct segtab *t)
{
    uint64_t key, val;

    if (t == NULL)
        return;
    segtab_dir_mode(t, false); /* nobody is to be told of what ends now */
    list_each (&t->moves, it)
        segtab_move_free(t, container_of(it, struct move, node));
    list_each (&t->segs, it)
        segtab_seg_free(t, container_of(it, struct seg, node));
    for (size_t i = 0; (i = map_next(&t->queues, i, &key, &val)) != 0;)
        queue_free((struct queue *)(uintptr_t)val);
    dirs_fini(&t->dir);
    map_fini(&t->homes);
    map_fini(&t->queues);
    outbox_fini(&t->loop[0]);
    outbox_fini(&t->loop[1]);
    segtab_stage_free(t);
    block_pool_fini(&t->pool);
    free(t->moved);
    free(t->peers);
    free(t->ended);
    free(t->longer);
    free(t);
}

/* ---- clock ----------------------------------------------------------------------- */

/* Advanced by every call, not by the tick alone, so that a poll just before a late tick
 * is not dated back; and never by more than a step for time in which nobody called. A router
 * that is not heard may be dead: its silence counts when it says something. */
void segtab_clock(struct segtab *t, struct seg_now now)
{
    msec_t to = ms_min(now.now_ms, t->heard_ms), d = to - t->clock_at_ms;

    t->now = now;
    if (SQ_UNLIKELY(t->close_ms != 0 && now.wall_ms >= t->close_ms))
        segtab_close_due(t);
    if (d <= 0)
        return;
    t->clock_at_ms = to;
    if (t->clock_runs && !t->hold && to >= t->rest_until_ms)
        t->service_ms += ms_min(d, SEGTAB_MAX_STEP_MS);
}

void segtab_heard(struct segtab *t, struct seg_now now)
{
    t->heard_ms = now.now_ms;
    segtab_clock(t, now);
}

/* Nobody could poll, and now they come one after the other: those routers, too, that are back
 * a little later. */
static void rest(struct segtab *t)
{
    msec_t now = t->now.now_ms;

    if (t->n_routers == 0 && t->heard_ms != 0) {
        t->back_ms = now;
        t->away_ms = ms_min(now - t->heard_ms, SEGTAB_REST_MS);
        t->rest_until_ms = now + t->away_ms;
    } else if (now < t->rest_until_ms) {
        t->rest_until_ms = ms_min(now + t->away_ms, t->back_ms + 2 * SEGTAB_REST_MS);
    }
    t->heard_ms = t->clock_at_ms = now;
}

uint8_t segtab_unit(const struct segtab *t, const struct seg *g)
{
    return (uint8_t)(uint64_t)((double)t->service_ms * g->per_unit);
}

struct rescale {
    uint8_t old_now, new_now;
    uint32_t old_ms, new_ms;
};

static uint8_t rescale(void *ctx, uint8_t deadline)
{
    const struct rescale *r = ctx;
    uint32_t left = body_left(deadline, r->old_now);
    uint32_t units = (left * r->old_ms + r->new_ms - 1) / r->new_ms;

    if (left > 0)
        units++;
    return (uint8_t)(r->new_now + (units < BODY_HORIZON ? units : BODY_HORIZON));
}

/* A unit only grows: a finer one could not hold what is left to those already told. */
void segtab_fit_unit(struct segtab *t, struct seg *g)
{
    const struct queue *q = g->queue;
    uint64_t idle = queue_longest_idle_ms(q), told = pace_longest_ms(&q->pace[g->lane]) + 1ull, need;
    struct rescale r = { .old_ms = g->unit_ms };

    need = u64_min(u64_max(told, t->o.retry_ms) + idle, UINT32_MAX / 2);
    if ((g->unit_ms == 0 || need > 120ull * g->unit_ms) && g->out == NULL &&
        !t->replaying) {
        r.old_now = g->unit_ms > 0 ? segtab_unit(t, g) : 0;
        g->unit_ms = (uint32_t)u64_max(SEGTAB_UNIT_MS, (need + 99) / 100);
        g->per_unit = 1.0 / g->unit_ms;
        r.new_ms = g->unit_ms;
        r.new_now = segtab_unit(t, g);
        if (r.old_ms > 0)
            segq_remark(&g->b.q, rescale, &r);
        g->swept_unit = (uint8_t)(r.new_now - 1);
        segtab_log_set(t, JREC_UNIT, g->b.id, g->unit_ms);
    }
    need = 120ull * g->unit_ms;
    g->told_max_ms =
        (uint32_t)(need > idle + t->o.retry_ms ? need - idle : t->o.retry_ms);
}

/* ---- segments -------------------------------------------------------------------- */

int segtab_home_set(struct segtab *t, seg_id id, enum home_kind k, void *p)
{
    return map_set(&t->homes, id, (uint64_t)(uintptr_t)p | k);
}

/* The id must be in `homes`. */
void segtab_home_moved(struct segtab *t, seg_id id, seg_id to)
{
    uint32_t i = t->n_moved % SEGTAB_MOVED_MAX;

    if (t->moved == NULL)
        t->moved = calloc(SEGTAB_MOVED_MAX, sizeof(*t->moved));
    if (t->moved == NULL) {
        map_del(&t->homes, id); /* "unknown" also makes the router look for a newer map */
        return;
    }
    if (t->n_moved >= SEGTAB_MOVED_MAX &&
        map_get(&t->homes, t->moved[i].id) == ((uint64_t)i << 2 | HOME_MOVED))
        map_del(&t->homes, t->moved[i].id);
    t->moved[i] = (struct moved) { id, to };
    t->n_moved++;
    if (map_set(&t->homes, id, (uint64_t)i << 2 | HOME_MOVED) < 0)
        map_del(&t->homes, id);
}

struct seg *segtab_seg(const struct segtab *t, seg_id id)
{
    uint64_t v = map_get(&t->homes, id);

    return v != MAP_NONE && (v & 3) == HOME_SEG ? (struct seg *)(uintptr_t)v : NULL;
}

struct seg *segtab_seg_new(struct segtab *t, const struct msg_seg_open *m,
                           struct queue *q)
{
    struct seg *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->tab = t;
    body_init(&g->b, m->seg, &t->pool);
    segtab_dir_watch(g);
    if ((m->kind == OPEN_REBUILD && segq_hollow(&g->b.q, m->capacity) < 0) ||
        segtab_home_set(t, m->seg, HOME_SEG, g) < 0) {
        body_fini(&g->b);
        free(g);
        return NULL;
    }
    if (m->kind == OPEN_REBUILD)
        g->b.joined = m->capacity;
    g->queue = q;
    g->lane = m->lane;
    g->capacity = m->capacity;
    g->ahead = m->ahead;
    g->ahead_due = AHEAD_UNKNOWN;
    g->snap_no = t->snap_no;
    if (m->kind == OPEN_TARGET)
        segq_seal(&g->b.q);
    segtab_log_open(t, g, m->kind);
    segtab_fit_unit(t, g);
    list_push_back(&t->segs, &g->node);
    list_push_back(&q->segs, &g->queued);
    return g;
}

static void home_drop(struct segtab *t, seg_id id, const void *p, enum home_kind k)
{
    if (map_get(&t->homes, id) == ((uint64_t)(uintptr_t)p | k))
        map_del(&t->homes, id);
}

/* Homes that point elsewhere by now (moved, or absorbed here) stay. The rules of a queue
 * go with its last segment: they come again with the next one. */
void segtab_seg_free(struct segtab *t, struct seg *g)
{
    struct queue *q = g->queue;

    home_drop(t, g->b.id, g, HOME_SEG);
    for (uint32_t i = 0; i < g->b.relocs.n; i++)
        home_drop(t, g->b.relocs.v[i]->seg, g->b.relocs.v[i], HOME_RELOC);
    list_remove(&t->segs, &g->node);
    list_remove(&q->segs, &g->queued);
    if (list_linked(&g->dirty))
        list_remove(&t->dirty, &g->dirty);
    if (list_linked(&g->active))
        list_remove(&t->active, &g->active);
    body_fini(&g->b);
    marks_fini(&g->unkept);
    draw_free(g->draw);
    free(g);
    if (q->segs.n == 0 && !t->partial) { /* else: some of them are not read yet */
        map_del(&t->queues, q->id);
        queue_free(q);
    }
}

void segtab_touch(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->dirty))
        list_push_back(&t->dirty, &g->dirty);
}

void segtab_wake(struct segtab *t, struct seg *g)
{
    if (!list_linked(&g->active))
        list_push_back(&t->active, &g->active);
}

void segtab_died(struct seg *g, uint32_t slot)
{
    if (g->out != NULL)
        xfer_out_touch(&g->out->out, slot);
    if (g->b.subjects.n > 0)
        subjects_del(&g->b.subjects, body_ticket(&g->b, slot));
}

/* ---- the tick -------------------------------------------------------------------- */

void segtab_over(struct segtab *t, struct seg *g, struct session *x, int reason)
{
    if (reason == GONE_LEFT)
        segtab_audit_session(t, g, x, AUDIT_LEFT, NULL);
    else
        segtab_audit_session(t, g, x, AUDIT_LAPSED,
                             x->state == SESSION_RETURNING ? "silent" : "grace_over");
    subjects_del(&g->b.subjects, x->id);
    x->reason = (uint8_t)reason;
    session_set(&g->b.released, x, SESSION_OVER, t->service_ms + SEGTAB_TOMB_MS);
    segtab_log_session(t, g, x);
    segtab_touch(t, g);
}

static void session_step(struct segtab *t, struct seg *g, struct session *x)
{
    switch ((enum session_state)x->state) {
    case SESSION_READY:
        if (marks_has(&g->unkept, x->id)) { /* nobody may tell it yet */
            session_set(&g->b.released, x, SESSION_READY, t->service_ms + g->queue->claim_ms);
            return;
        }
        g->no_shows++;
        t->n.no_shows++;
        segtab_audit_session(t, g, x, AUDIT_NO_SHOW, NULL);
        if (g->queue->grace_ms == 0) {
            segtab_over(t, g, x, GONE_NO_SHOW);
            break;
        }
        session_set(&g->b.released, x, SESSION_GRACE, t->service_ms + g->queue->grace_ms);
        segtab_log_session(t, g, x);
        break;
    case SESSION_GRACE:
    case SESSION_RETURNING:
        segtab_over(t, g, x, GONE_NO_SHOW);
        break;
    default: /* admitted, or over: nothing of it matters any more */
        if (x->state == SESSION_ADMITTED)
            segtab_audit_session(t, g, x, AUDIT_FINISHED, NULL);
        subjects_del(&g->b.subjects, x->id);
        segtab_log_forget(t, g, x->id);
        session_forget(&g->b.released, x);
    }
    segtab_touch(t, g);
}

static void end_sessions(struct segtab *t, struct seg *g)
{
    struct session *x;

    while ((x = sessions_due(&g->b.released, t->service_ms, t->now.now_ms)) != NULL)
        session_step(t, g, x);
    sessions_trim(&g->b.released);
}

/* true: swept to its end (or nothing to do); false: the budget is used up. */
static bool sweep_seg(struct segtab *t, struct seg *g, uint32_t *budget)
{
    uint32_t gone[BLOCK_SLOTS], n;
    uint8_t unit = segtab_unit(t, g);

    if (g->b.q.waiting == 0 || (g->sweep_block == 0 && g->swept_unit == unit))
        return true;
    if (g->sweep_block == 0)
        g->swept_unit = unit;
    while (g->sweep_block < g->b.q.n_blocks) {
        if (*budget == 0)
            return false;
        (*budget)--;
        n = segq_sweep(&g->b.q, unit, &g->sweep_block, gone);
        segtab_audit_died(t, g, gone, n, AUDIT_EXPIRED);
        for (uint32_t i = 0; i < n; i++)
            segtab_died(g, gone[i]);
        segtab_log_drops(t, g, gone, n, DEAD_EXPIRED);
        g->expired += n;
        t->n.expired += n;
        if (n > 0)
            segtab_touch(t, g);
    }
    g->sweep_block = 0;
    return true;
}

/* Sweeps in turn: whoever was not finished is the first of the next tick. */
static void tick_active(struct segtab *t)
{
    uint32_t budget = t->o.sweep_blocks;
    bool sweeping = true;

    list_each (&t->active, it) {
        struct seg *g = container_of(it, struct seg, active);

        if (!seg_is_fenced(g))
            end_sessions(t, g);
        if (g->b.q.hollow)
            segtab_rebuild_tick(t, g);
    }
    for (size_t n = t->active.n; n > 0 && sweeping; n--) {
        struct seg *g = list_entry(list_first(&t->active), struct seg, active);

        sweeping = seg_is_fenced(g) || sweep_seg(t, g, &budget);
        if (!sweeping)
            break;
        list_remove(&t->active, &g->active);
        if (g->b.q.waiting > 0 || g->b.released.idx.n > 0 || g->b.q.hollow)
            list_push_back(&t->active, &g->active);
    }
}

static void settle_dirty(struct segtab *t)
{
    list_each (&t->dirty, it)
        segq_settle(&container_of(it, struct seg, dirty)->b.q);
}

static void tick(struct segtab *t, struct outbox *out)
{
    if (!t->hold)
        tick_active(t);
    settle_dirty(t);
    segtab_dir_tick(t);
    segtab_moves_tick(t, out);
    segtab_passes_flush(t, out);
    if (t->now.now_ms - t->report_ms >= SEGTAB_REPORT_MS)
        segtab_report_changes(t, out);
}

/* ---- peers ----------------------------------------------------------------------- */

struct peer *segtab_peer(struct segtab *t, peer_no no)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].no == no)
            return &t->peers[i];
    return NULL;
}

const struct peer *segtab_peer_named(const struct segtab *t, const char *name,
                                     uint8_t role)
{
    for (uint32_t i = 0; i < t->n_peers; i++)
        if (t->peers[i].role == role && strcmp(t->peers[i].name, name) == 0)
            return &t->peers[i];
    return NULL;
}

static void router_up(struct segtab *t, peer_no no, struct outbox *out)
{
    rest(t);
    t->clock_runs = ++t->n_routers > 0;
    segtab_passes_all(t, no, out);
}

static void segment_up(struct segtab *t, peer_no no, struct outbox *out)
{
    segtab_moves_peer(t, segtab_peer(t, no), true, out);
    segtab_dir_up(t, segtab_peer(t, no)->name);
}

static void peer_up(struct segtab *t, const struct segtab_in *in, struct outbox *out)
{
    struct peer *p;

    if (t->n_peers == t->cap_peers) {
        uint32_t cap = t->cap_peers * 2 + 16;

        p = realloc(t->peers, cap * sizeof(*p));
        if (p == NULL) {
            log_error("no memory for peer=%" PRIu32, in->peer);
            return; /* its orders are refused; it will come again */
        }
        t->peers = p;
        t->cap_peers = cap;
    }
    p = &t->peers[t->n_peers++];
    *p = (struct peer) { .no = in->peer, .role = in->role };
    copy_text(p->name, sizeof(p->name), in->name);
    if (p->role == RPC_ROUTER)
        router_up(t, p->no, out);
    else if (p->role == RPC_MANAGER)
        segtab_register(t, p->no, out);
    else
        segment_up(t, p->no, out);
}

static void segment_down(struct segtab *t, const struct peer *gone, struct outbox *out)
{
    segtab_moves_peer(t, gone, false, out);
    segtab_dir_down(t, gone->no, gone->name);
}

static void peer_down(struct segtab *t, peer_no no, struct outbox *out)
{
    struct peer *p = segtab_peer(t, no), gone;

    if (p == NULL)
        return;
    gone = *p;
    *p = t->peers[--t->n_peers];
    if (gone.role == RPC_ROUTER)
        t->clock_runs = --t->n_routers > 0;
    else if (gone.role == RPC_SEGMENT)
        segment_down(t, &gone, out);
    if (t->manager != no)
        return;
    t->manager = 0;
    t->word_ms = t->now.now_ms;
}

/* ---- in -------------------------------------------------------------------------- */

static void message(struct segtab *t, peer_no from, const struct msg *m,
                    struct outbox *out)
{
    const struct peer *p = segtab_peer(t, from);
    unsigned role = from == SEGTAB_SELF ? RPC_SEGMENT : p != NULL ? p->role : 0;

    switch (msg_may(role, RPC_SEGMENT, m->type) ? m->type : MSG_NONE) {
#define X(name, ...) case MSG_##name:
        MSG_ORDERS(X)
        segtab_order(t, from, m, out);
        break;
        MSG_COPIES(X)
        segtab_copy(t, from, m, out);
        break;
#undef X
    case MSG_DIR:
    case MSG_DIR_ANS:
        segtab_dir_msg(t, from, m, out);
        break;
    case MSG_ERROR:
        log_warn("peer=%" PRIu32 " about=%s error=%s", from,
                 msg_name((enum msg_type)m->error.about), sq_strerror(m->error.code));
        break;
    default:
        segtab_error(out, from, SQ_EUNKNOWN, m->type, "not for a segment node");
    }
}

/* What we sent to ourselves (a move within the node) is handled here, in order. Bounded:
 * the rest waits for the next call. */
static void run_loop(struct segtab *t, struct outbox *out)
{
    for (unsigned n = 0; n < LOOP_MAX && t->loop[t->loop_in].n > 0;) {
        struct outbox *o = &t->loop[t->loop_in];

        t->loop_in ^= 1;
        for (uint32_t i = 0; i < o->n; i++)
            message(t, SEGTAB_SELF, &o->v[i].m, out);
        n += o->n;
        outbox_reset(o);
    }
}

struct outbox *segtab_to(struct segtab *t, peer_no peer, struct outbox *out)
{
    return peer == SEGTAB_SELF ? &t->loop[t->loop_in] : out;
}

void segtab_step(struct segtab *t, const struct segtab_in *in, struct outbox *out)
{
    if (in->kind == SEGTAB_TICK && t->n_routers > 0)
        t->heard_ms = ms_max(t->heard_ms, in->now.now_ms - in->silent_ms);
    segtab_clock(t, in->now);
    switch (in->kind) {
    case SEGTAB_TICK:
        tick(t, out);
        break;
    case SEGTAB_REPORT:
        settle_dirty(t); /* what is reported is not settled by the next tick */
        segtab_report_changes(t, out);
        break;
    case SEGTAB_UP:
        peer_up(t, in, out);
        break;
    case SEGTAB_DOWN:
        peer_down(t, in->peer, out);
        break;
    case SEGTAB_MSG:
        message(t, in->peer, in->msg, out);
        break;
    case SEGTAB_DIAL_FAIL:
        segtab_moves_no_dial(t, in->name, out);
        break;
    case SEGTAB_ASK: /* what every step does at its end */
        break;
    }
    run_loop(t, out);
    segtab_dir_flush(t, out);
}

void segtab_each_waiting(const struct segtab *t,
                         void (*fn)(void *ctx, seg_id host, seg_id seg, uint32_t number),
                         void *ctx)
{
    for (struct list_node *it = list_first(&t->segs); it != NULL;
         it = list_next(&t->segs, it)) {
        const struct body *b = &container_of(it, struct seg, node)->b;

        for (uint32_t n = segq_next(&b->q, 0); n != SEGQ_NONE;
             n = segq_next(&b->q, n + 1)) {
            struct ticket_id id = segtab_outside(t, body_ticket(b, n));

            fn(ctx, b->id, id.seg, id.number);
        }
    }
}

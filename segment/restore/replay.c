/* replay.c: records back into a table. Everything is looked at before it is
 * believed: a record that cannot follow those before it is SQ_EPROTO. At the end the clocks begin
 * anew, and what was half done ends. */
#include "segment/restore/replay.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/location.h"
#include "segment/core/recording.h"
#include "segment/core/segment.h"
#include "segment/core/state.h"
#include "segment/restore/stage.h"
#include "segment/tickets/credit.h"
#include "segment/tickets/rebuild.h"
#include "segment/tickets/release.h"
#include "segment/transfer/move.h"

/* ---- tickets ---------------------------------------------------------------------- */

static int join(struct seg *g, const struct jrec_run *r)
{
    int rc;

    if (g->b.q.sealed || r->first != g->b.q.end || r->n > g->capacity - g->b.joined)
        return SQ_EPROTO;
    rc = replay_append(g, r->n);
    g->b.joined = g->b.q.end;
    if (g->b.joined >= g->capacity)
        segq_seal(&g->b.q);
    return rc;
}

static int drop(struct seg *g, const struct jrec_run *r)
{
    if (r->why != DEAD_LEFT && r->why != DEAD_EXPIRED)
        return SQ_EPROTO;
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t slot = r->first + i;
        struct ticket_id id;

        if (segq_is_unknown(&g->b.q, slot)) { /* left before it had come back */
            if (segq_kill(&g->b.q, slot, (enum dead)r->why) < 0)
                return SQ_ENOMEM;
            continue;
        }
        if (!segq_is_alive(&g->b.q, slot))
            return SQ_EPROTO;
        id = contents_ticket(&g->b, slot);
        segq_drop(&g->b.q, slot, (enum dead)r->why);
        contents_forget(&g->b, id);
    }
    *(r->why == DEAD_LEFT ? &g->left : &g->expired) += r->n;
    return 0;
}

static int pop(struct segtab *t, struct seg *g, const struct jrec_pop *p)
{
    uint32_t n, more;

    if (p->tick <= g->last_tick || p->waiting > g->b.q.waiting ||
        p->returning > g->b.released.n[SESSION_RETURNING] ||
        g->unstored.n >= SEGTAB_UNSTORED_MAX)
        return SQ_EPROTO;
    n = segtab_pop_returning(t, g, p->returning, p->at_ms);
    do {
        more = segtab_pop_waiting(t, g, p->returning + p->waiting - n, p->at_ms, false);
        n += more;
    } while (more > 0);
    assert(n <= p->returning + p->waiting);
    if (n != p->returning + p->waiting)
        return SQ_ENOMEM;
    g->popped += n;
    g->last_tick = p->tick;
    g->last_n = p->n;
    return 0;
}

static int back(struct seg *g, const struct jrec_run *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (!segq_is_unknown(&g->b.q, r->first + i))
            return SQ_EPROTO;
        if (segq_restore(&g->b.q, r->first + i, 0) < 0)
            return SQ_ENOMEM;
    }
    return 0;
}

static int on_rebuild(struct segtab *t, struct seg *g, const struct jrec *r)
{
    const struct jrec_released *x = &r->released;

    if (r->kind == JREC_REBUILD)
        return replay_rebuild(g, &r->rebuild);
    if (!g->b.q.rebuilding)
        return SQ_EPROTO;
    if (r->kind == JREC_RESTORED)
        return back(g, &r->run);
    if (r->kind == JREC_REBUILT) {
        segq_rebuilt(&g->b.q, g->mark_end);
        return 0;
    }
    if (x->first >= g->b.q.end || x->n > g->b.q.end - x->first)
        return SQ_EPROTO;
    return segtab_rebuild_released(t, g, x->first, x->n, x->at_ms);
}

/* A ready ticket that was not polled in time was a no-show. */
static int session(struct seg *g, const struct jrec_session *s)
{
    struct session *x = sessions_find(&g->b.released, s->id);

    if (x == NULL || s->state >= SESSION_NSTATES)
        return SQ_EPROTO;
    if (x->state == SESSION_READY &&
        (s->state == SESSION_GRACE ||
         (s->state == SESSION_OVER && s->reason == GONE_NO_SHOW)))
        g->no_shows++;
    if (s->state == SESSION_OVER || s->state == SESSION_REVOKED || s->state == SESSION_FREE)
        contents_forget(&g->b, s->id);
    if (s->state == SESSION_FREE) {
        session_forget(&g->b.released, x);
        return 0;
    }
    x->reason = s->reason;
    session_restore(&g->b.released, x, (enum session_state)s->state, 0);
    return 0;
}

static int extend(struct seg *g, const struct jrec_extend *e)
{
    struct session *x = sessions_find(&g->b.released, e->id);

    if (x == NULL)
        return SQ_EPROTO;
    x->until_s = e->until_s;
    return 0;
}

static int used(struct seg *g, const struct jrec_used *u)
{
    struct session *x = sessions_find(&g->b.released, u->id);

    if (x == NULL || !session_has_use(x->state))
        return SQ_EPROTO;
    x->used = u->used;
    return 0;
}

static int subject(struct seg *g, const struct jrec_subject *s)
{
    struct subject x = replay_subject_of(s);

    if (subjects_by_ticket(&g->b.subjects, x.id) != NULL)
        return SQ_EPROTO;
    return subjects_add(&g->b.subjects, &x);
}

/* ---- one record ------------------------------------------------------------------- */

static int rules(struct segtab *t, const struct jrec_rules *v)
{
    char name[NAME_MAX_LEN * 16 + 1], issuer[4096], lane[LANES_MAX][NAME_MAX_LEN + 1];
    struct msg_rules m = { .queue = v->queue,
                           .name = name,
                           .issuer = issuer,
#define X(f) .f = v->f,
                           NODE_RULES(X)
#undef X
                           .n_lanes = v->n_lanes };
    bool changed;

    if (v->name.n >= sizeof(name) || v->issuer.n >= sizeof(issuer))
        return SQ_EPROTO;
    memcpy(name, v->name.p, v->name.n);
    name[v->name.n] = 0;
    memcpy(issuer, v->issuer.p, v->issuer.n);
    issuer[v->issuer.n] = 0;
    memcpy(m.idle_ms, v->idle_ms, sizeof(m.idle_ms));
    for (uint32_t i = 0; i < v->n_lanes; i++) {
        if (v->lanes[i].n > NAME_MAX_LEN)
            return SQ_EPROTO;
        memcpy(lane[i], v->lanes[i].p, v->lanes[i].n);
        lane[i][v->lanes[i].n] = 0;
        m.lanes[i] = lane[i];
    }
    return segtab_set_rules(t, &m, &changed);
}

static int epoch(struct segtab *t, const struct jrec_epoch *e)
{
    if (e->epoch < t->epoch)
        return SQ_EPROTO;
    t->epoch = e->epoch;
    memcpy(t->manager_name, e->manager.p, e->manager.n);
    t->manager_name[e->manager.n] = 0;
    return 0;
}

/* A snapshot has tables that the changes before their MARK move about: they are where the
 * last change left them. */
static int set_locations(struct segtab *t)
{
    each_seg (t, g) {
        for (uint32_t i = 0; i < g->b.relocs.n; i++)
            if (segtab_location_set(t, g->b.relocs.v[i]->seg, AT_RELOC, g->b.relocs.v[i]) < 0)
                return SQ_ENOMEM;
    }
    return 0;
}

/* The first one ends the snapshot itself, the second what was said while it was taken. */
static int snap_end(struct segtab *t)
{
    if (!t->partial)
        return 0; /* a move that was given up */
    if (!t->snap_read) {
        t->snap_read = true;
        return 0;
    }
    t->partial = false;
    each_seg (t, g)
        g->known = false;
    return set_locations(t);
}

/* A record whose contents are one number, about a segment that is here. */
static int on_number(struct segtab *t, struct seg *g, const struct jrec *r)
{
    switch ((enum jrec_kind)r->kind) {
    case JREC_UNIT:
        replay_unit(g, r->set.n);
        return 0;
    case JREC_SEAL: /* without a successor, the one that was named before stays */
        if (!g->b.q.sealed)
            segq_seal(&g->b.q);
        if (r->set.n != 0)
            g->next = r->set.n;
        return 0;
    case JREC_NEXT:
        g->next = r->set.n;
        return 0;
    case JREC_AHEAD:
        g->ahead = r->set.n;
        return 0;
    case JREC_REMOVE:
        replay_remove(t, g);
        return 0;
    case JREC_ABORTED:
        replay_drop_moves(t, g);
        return 0;
    case JREC_EARLY:
        replay_early(t, g, r->set.n);
        return 0;
    case JREC_STORED:
        if (r->set.n == g->last_tick)
            marks_clear(&g->unstored);
        return 0;
    default:
        return SQ_EPROTO;
    }
}

/* A record about a segment that is here. */
static int on_seg(struct segtab *t, struct seg *g, const struct jrec *r)
{
    switch ((enum jrec_kind)r->kind) {
    case JREC_JOIN:
        return join(g, &r->run);
    case JREC_ASIDE:
        return segtab_aside_again(g, r->run.first, r->run.n);
    case JREC_ENTERED:
        return segtab_entered_again(t, g, r->released.first, r->released.n, r->released.at_ms);
    case JREC_DROP:
        return drop(g, &r->run);
    case JREC_POP:
        return pop(t, g, &r->pop);
    case JREC_SESSION:
        return session(g, &r->session);
    case JREC_EXTEND:
        return extend(g, &r->extend);
    case JREC_USED:
        return used(g, &r->used);
    case JREC_SUBJECT:
        return subject(g, &r->subject);
    case JREC_CONTACT:
    case JREC_CONTACT_SAID:
        return replay_contact(&g->b.contacts, r);
    case JREC_FINAL:
        return g->out == NULL ? segtab_move_recover(t, g, r->move.move, r->move.to)
                              : SQ_EPROTO;
    case JREC_REBUILD:
    case JREC_RELEASED:
    case JREC_RESTORED:
    case JREC_REBUILT:
        return on_rebuild(t, g, r);
    case JREC_DRAW:
        return replay_draw(t, g, &r->draw, !g->b.q.rebuilding);
    default:
        return on_number(t, g, r);
    }
}

static int on_any(struct segtab *t, const struct jrec *r)
{
    struct seg *g;

    switch ((enum jrec_kind)r->kind) {
    case JREC_EPOCH:
        return epoch(t, &r->epoch);
    case JREC_CLUSTER:
        t->store = r->set.n;
        return 0;
    case JREC_RULES:
        return rules(t, &r->rules);
    case JREC_OPEN:
        return replay_new_seg(t, r->seg, &r->open, &g);
    case JREC_ALIAS:
        if (segtab_seg(t, r->seg) != NULL)
            return SQ_EPROTO;
        segtab_location_moved(t, r->seg, r->set.n);
        return 0;
    case JREC_ABSORB:
        return replay_stage(t, r->seg);
    case JREC_SNAP: /* the first thing at all */
        t->partial = t->segs.n == 0;
        return t->partial ? 0 : SQ_EPROTO;
    case JREC_SNAP_END:
        return snap_end(t);
    case JREC_MARK:
        g = replay_seg(t, r->seg);
        if (g != NULL)
            g->known = false;
        return 0;
    case JREC_SEG:
        return replay_seg_begin(t, r);
    default:
        g = replay_seg(t, r->seg);
        return replay_is_known(t, g) ? 0 : g != NULL ? on_seg(t, g, r) : SQ_EPROTO;
    }
}

int segtab_replay(struct segtab *t, const struct jrec *r)
{
    t->replaying = true;
    t->pool.max_blocks = UINT64_MAX; /* recorded tickets keep their places */
    return replay_is_staged(t, r->seg) ? replay_on_stage(t, r) : on_any(t, r);
}

/* ---- after the replay ---------------------------------------------------------------- */

#define LOG_MODULE "replay"
#define FULL_UNITS 120u /* idle time and told interval fit into it: segtab_fit_unit() */

static uint8_t full_deadline(void *ctx, uint8_t deadline)
{
    (void)deadline;
    return *(const uint8_t *)ctx;
}

static msec_t session_end(const struct segtab *t, const struct seg *g,
                          const struct session *x)
{
    uint64_t idle = t->o.retry_ms + (uint64_t)queue_longest_idle_ms(g->queue);

    switch ((enum session_state)x->state) {
    case SESSION_READY:
        return t->service_ms + seg_claim_ms(g, x->id);
    case SESSION_ADMITTED:
    case SESSION_REVOKED:
        return x->expires_ms;
    case SESSION_GRACE: /* perhaps skipped as away: its claim window runs, too */
        return t->service_ms + seg_claim_ms(g, x->id) + g->queue->grace_ms;
    case SESSION_RETURNING:
        return t->service_ms + (msec_t)idle;
    default:
        return t->service_ms + SEGTAB_OVER_MS;
    }
}

/* Only the wall clock tells how old a pass is: the other one began anew with us. */
static void restart_sessions(struct segtab *t, struct seg *g)
{
    struct session *x;

    for (uint32_t i = 0; (x = sessions_next(&g->b.released, &i)) != NULL;) {
        x->expires_ms = segtab_session_end(t, g, x);
        session_set(&g->b.released, x, (enum session_state)x->state,
                    session_end(t, g, x));
    }
}

static void restart_seg(struct segtab *t, struct seg *g)
{
    uint8_t unit, full;

    segtab_fit_unit(t, g);
    unit = segtab_unit(t, g);
    full = (uint8_t)(unit + FULL_UNITS);
    segq_remark(&g->b.q, full_deadline, &full);
    segq_settle(&g->b.q);
    g->looked_ms = t->service_ms;
    g->swept_unit = unit;
    g->classes = UINT8_MAX; /* not written down which */
    if (g->out != NULL) {
        g->out->fenced_ms = t->service_ms;
        g->out->fenced_ahead = g->ahead;
        g->out->fenced_unit = unit;
        g->out->progress_ms = t->now.now_ms;
    }
    restart_sessions(t, g);
    segtab_wake(t, g);
    segtab_touch(t, g);
}

/* Earlier releases are not known: the manager was not told that it is here, and orders it
 * again. */
static bool is_half_begun(const struct seg *g)
{
    return g->b.q.rebuilding && g->for_ms == 0;
}

int segtab_replayed(struct segtab *t, struct seg_now now)
{
    bool unfinished = t->partial, is_cut = replay_is_cut(t);

    segtab_clock(t, now);
    segtab_stage_free(t);
    if (unfinished && snap_end(t) < 0)
        return SQ_ENOMEM;
    assert(t->stage == NULL);
    t->replaying = false;
    t->pool.max_blocks = segtab_max_blocks(&t->o);
    if (t->pool.n_blocks > t->pool.max_blocks)
        log_warn("event=over_max_tickets max_tickets=%" PRIu64
                 " note=\"joins are refused until there is room\"",
                 t->o.max_tickets);
    if (is_cut) /* before all else: records about that segment are to count again */
        segtab_log_set(t, JREC_ABSORB, 0, 0);
    if (unfinished) /* the end of the snapshot had not been written down */
        segtab_log_set(t, JREC_SNAP_END, 0, 0);
    segtab_rules_replayed(t);
    each_seg (t, g) {
        if (segtab_seg(t, g->b.id) == g && !is_half_begun(g)) {
            restart_seg(t, g);
            continue;
        }
        /* Absorbed by another one here; only its removal was not written down. */
        log_info("event=segment_removed seg=%" PRIu64 " queue=%s why=\"absorbed, or half begun\"",
                 g->b.id, g->queue->name);
        segtab_log_set(t, JREC_REMOVE, g->b.id, 0);
        replay_remove(t, g);
    }
    return 0;
}

void segtab_seal_all(struct segtab *t)
{
    each_seg (t, g) {
        if (g->b.q.sealed || segtab_seg(t, g->b.id) != g)
            continue;
        log_info("event=segment_sealed seg=%" PRIu64 " queue=%s joined=%" PRIu32
                 " why=\"its last joins may be missing\"",
                 g->b.id, g->queue->name, g->b.joined);
        segtab_log_set(t, JREC_SEAL, g->b.id, 0);
        segq_seal(&g->b.q);
        segtab_touch(t, g);
    }
}

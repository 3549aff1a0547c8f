/* check.c: what must hold, checked where it could break.
 *
 *   at every append    I6 a new ticket; I3 nobody joins behind the furthest joined segment
 *   at every place     I2 one pass for ever; I1 gone only for a cause that is really due
 *   at every answer    I4 positions never grow; nobody waits again after it was admitted
 *   at every pop       a tick is executed once, and gives no more than it was told;
 *                      I7 no more are inside than max_active (slots.c)
 *   at every place     I5 positions of two people agree with their order (told.c)
 *   at every map       I11 versions grow, a segment keeps its owner, sealed stays sealed
 *                      I6 one live ticket for a subject (subjects.c)
 *   at every tick      I1 a lane has a tail if there is room (room.c)
 *   in every sweep     I1 each ticket waits in one place; I3 order inside each segment,
 *                      and nobody waits in front of somebody who is inside
 *   at the end         I3 release stamps follow the order of joins; I7 rates
 *
 * Exempt (PROTOCOL.md, design section 8): order of joins at a node that the manager could
 * not reach for 2 s (it opens another tail); order of no-shows that came back, or whose pass
 * was over by a clock that leapt (FAULTS.md F19). Of a segment
 * that was lost and opened again: who had left or timed out before may come back, and then
 * those behind it are further back. */
#include "tests/lib/sim/check.h"

#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/mng.h"
#include "tests/lib/sim/net.h"
#include "tests/lib/sim/opening.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/replace.h"
#include "tests/lib/sim/sessions.h"
#include "tests/lib/sim/slots.h"
#include "tests/lib/sim/subjects.h"
#include "tests/lib/sim/told.h"
#include "tests/lib/sim/turns.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "segment/core/location.h"

#define GIVEN_UP_US 1900000 /* just below the manager's own limit */
#define NOBODY      UINT32_MAX

uint64_t check_hash(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)p[i]) * 0x100000001b3u;
    return h | 1;
}

struct ticket *check_ticket(struct sim *s, seg_id seg, uint32_t number)
{
    uint64_t i = map_get(&s->ticket_by_key, seg << 24 | number);

    return i != MAP_NONE ? &s->ticket[i] : NULL;
}

struct sseg *check_seg(struct sim *s, seg_id id)
{
    return map_get_ptr(&s->seg_by_id, id);
}

static unsigned long long llu(uint64_t v)
{
    return v;
}

/* ---- segments ------------------------------------------------------------------------ */

/* From now on everybody has a whole idle time-out to come back. */
static void check_rebuild(struct sim *s, const struct proc *p, struct sseg *g)
{
    struct sseg *host = check_seg(s, g->alias);

    if (host != NULL && host->node != p->idx)
        host->gone = true;
    g->alias = 0;
    g->gone = false;
    g->rebuilt_at = s->now;
    g->node = p->idx;
    s->lost_any = true;
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        struct ticket *t = &s->ticket[i];

        if (t->seg != g->id)
            continue;
        t->rebuilt = true;
        t->forgot |= t->leaving;
        t->given_up |= t->timed_out;
        t->touch = s->now;
        t->node = p->idx;
        t->stopped = proc_stopped_us(s, p);
        t->told_ms = 0;
    }
    sim_note(s, "segment %lu is rebuilt at process %lu", g->id, p->idx, 0, 0, 0);
}

void check_opened(struct sim *s, const struct proc *p, const struct msg_seg_open *o)
{
    struct sseg *g = check_seg(s, o->seg);
    uint64_t q = map_get(&s->queue_of, o->queue);

    if (g == NULL) {
        g = sim_alloc(sizeof(*g));
        g->id = o->seg;
        g->node = p->idx;
        g->lane = (uint16_t)(q * LANES_MAX + o->lane);
        g->early = o->early;
        g->by_order = o->closes_ms == 0;
        if (g->early && g->by_order && o->kind == OPEN_TAIL && s->count.jumps == 0)
            sim_fail(s, "segment %llu is for early ones, and does not know until when",
                     llu(o->seg));
        if (map_set_ptr(&s->seg_by_id, o->seg, g) < 0)
            sim_fail(s, "out of memory");
    }
    if (q == MAP_NONE)
        sim_fail(s, "segment %llu of unknown queue %u", llu(o->seg), o->queue);
    else if (o->kind == OPEN_REBUILD)
        check_rebuild(s, p, g);
    else if (g->node != p->idx)
        sim_fail(s, "I11: segment %llu opened at processes %u and %u", llu(o->seg), g->node,
                 p->idx);
}

void check_given_up(struct sim *s, const struct proc *mng)
{
    uint64_t key, val;

    for (unsigned i = 0; i < SIM_SEGS_MAX; i++) {
        const struct proc *p = proc_of(s, SIM_SEG, i);

        if (p == NULL || mng->mng->lost_seg[i] == 0 ||
            s->now - mng->mng->lost_seg[i] < GIVEN_UP_US)
            continue;
        for (size_t k = 0; (k = map_next(&s->seg_by_id, k, &key, &val)) != 0;) {
            struct sseg *g = (struct sseg *)(uintptr_t)val;

            if (g->node == p->idx)
                g->relaxed = true;
        }
    }
}

struct sseg *check_host(struct sim *s, seg_id id)
{
    struct sseg *g = check_seg(s, id);

    while (g != NULL && g->alias != 0)
        g = check_seg(s, g->alias);
    return g;
}

/* One that is rebuilt has the owner that is stored; any other keeps its own. */
static void check_stored_seg(struct sim *s, const json_t *j)
{
    struct sseg *g = check_seg(s, (seg_id)json_integer_value(json_array_get(j, 0)));

    if (g != NULL && json_integer_value(json_array_get(j, 4)) == OPEN_REBUILD)
        g->owner = (node_no)json_integer_value(json_array_get(j, 1));
}

/* Aliases are true from the moment in which they are stored. */
void check_stored(struct sim *s, const char *key, const char *val)
{
    json_t *j, *lane, *pair, *seg;
    size_t i, k;

    if (strncmp(key, "sched/", 6) == 0)
        opening_stored(s, key, val);
    if (strncmp(key, "chain/", 6) != 0)
        return;
    j = json_loads(val, 0, NULL);
    json_array_foreach(json_object_get(j, "lanes"), i, lane) {
        json_array_foreach(json_object_get(lane, "segs"), k, seg)
            check_stored_seg(s, seg);
        json_array_foreach(json_object_get(lane, "aliases"), k, pair) {
            struct sseg *g =
                check_seg(s, (seg_id)json_integer_value(json_array_get(pair, 0)));

            if (g != NULL)
                g->alias = (seg_id)json_integer_value(json_array_get(pair, 1));
        }
    }
    json_decref(j);
}

/* Its ordinals are the same for ever. */
static void check_base(struct sim *s, seg_id id, uint64_t base)
{
    struct sseg *g = check_seg(s, id);

    if (g == NULL)
        return;
    if (g->base != 0 && g->base != base)
        sim_fail(s, "segment %llu began with ordinal %llu, and now with %llu", llu(id), llu(g->base), llu(base));
    g->base = base;
}

/* A new manager may call a segment open that has sealed itself: it has not heard yet. */
static void check_map_seg(struct sim *s, const struct map_seg *m)
{
    struct sseg *g = check_seg(s, m->id);

    if (g == NULL)
        return; /* stored by a manager that died before it could open it */
    if (g->owner != 0 && g->owner != m->node)
        sim_fail(s, "I11: segment %llu belongs to nodes %u and %u", llu(m->id), g->owner,
                 m->node);
    g->owner = m->node;
    if (m->state == SEG_OPEN && g->sealed_epoch == s->map_epoch)
        sim_fail(s, "segment %llu was sealed, and is called open again", llu(m->id));
    if (m->state != SEG_OPEN)
        g->sealed_epoch = s->map_epoch;
}

static void check_map_lane(struct sim *s, const struct map_lane *l)
{
    for (uint32_t i = 0; i < l->n_segs; i++) {
        check_map_seg(s, &l->segs[i]);
        check_base(s, l->segs[i].id, l->segs[i].base);
    }
    for (uint32_t i = 0; i < l->n_aliases; i++)
        check_base(s, l->aliases[i].from, l->aliases[i].base);
}

/* A replica that took over had not heard of the last renewals: who leads goes on until its
 * lease is over, beside the next one (PROTOCOL.md section 14). Routers refuse its maps. */
static bool is_of_lost_lease(const struct sim *s, const struct msg_map *g)
{
    return g->epoch < s->map_epoch && s->store.failed_over != 0 &&
           s->now - s->store.failed_over < SIM_LEASE_MS * 1000;
}

void check_map(struct sim *s, const struct msg_map *g)
{
    if (is_of_lost_lease(s, g))
        return;
    if (g->epoch < s->map_epoch ||
        (g->epoch == s->map_epoch && g->version < s->map_version))
        sim_fail(s, "I11: map %llu.%llu is announced after %llu.%llu", llu(g->epoch),
                 llu(g->version), llu(s->map_epoch), llu(s->map_version));
    s->map_epoch = g->epoch;
    s->map_version = g->version;
    for (uint32_t q = 0; q < g->n_queues; q++)
        opening_map(s, &g->queues[q]);
    for (uint32_t q = 0; q < g->n_queues; q++)
        for (uint32_t l = 0; l < g->queues[q].n_lanes; l++)
            check_map_lane(s, &g->queues[q].lanes[l]);
}

/* ---- joins --------------------------------------------------------------------------- */

static struct ticket *ticket_new(struct sim *s, const struct proc *p,
                                 const struct append_ans *a)
{
    size_t cap = s->cap_tickets;
    struct ticket *t;

    s->ticket = sim_grow(s->ticket, &cap, s->n_tickets + 1, sizeof(*s->ticket));
    s->cap_tickets = (uint32_t)cap;
    t = &s->ticket[s->n_tickets];
    if (map_set(&s->ticket_by_key, a->seg << 24 | a->number, s->n_tickets) < 0)
        sim_fail(s, "out of memory");
    s->n_tickets++;
    *t = (struct ticket){ .seg = a->seg,
                          .number = a->number,
                          .issued_s = a->issued_s,
                          .player = NOBODY,
                          .touch = s->now,
                          .said = s->now,
                          .node = p->idx,
                          .stopped = proc_stopped_us(s, p),
                          .told_ms = a->poll_after_ms };
    return t;
}

static void check_admitted(struct sim *s, struct ticket *t, const struct place_ans *a);
static void check_stopped(struct sim *s, const struct squeue *q, int64_t ordered_ms);

/* By a credit that the manager gave before: a release of its moment, for the rules; for the rate,
 * one of now. */
static void check_entered(struct sim *s, const struct proc *p, const struct sseg *g,
                          struct ticket *t, const struct append_ans *a)
{
    struct place_ans pass = { .state = PLACE_ADMITTED,
                              .pass = a->pass,
                              .pass_len = a->pass_len,
                              .released_at_ms = a->released_at_ms,
                              .pass_expires_s = a->pass_expires_s };
    unsigned queue = g->lane / LANES_MAX;
    int64_t at_ms = clock_true(s, a->released_at_ms);

    check_admitted(s, t, &pass);
    sim_note(s, "ticket %lu-%lu enters, released at %lu", t->seg, t->number,
             (unsigned long)(at_ms - SIM_WALL_MS), 0, 0);
    s->rel = sim_grow(s->rel, &s->cap_rel, s->n_rel + 1, sizeof(*s->rel));
    s->rel[s->n_rel++] = (struct released){ .at_ms = sim_wall(s), .n = 1, .queue = queue };
    s->count.released++;
    s->count.credited++;
    s->lane[g->lane].let_in++;
    if (p->disk_full)
        sim_fail(s, "%s lets in somebody and cannot write it down", p->name);
    check_stopped(s, &s->queue[queue], at_ms);
    slots_check(s, queue, at_ms);
}

static void found_waiting(struct sim *s, const struct proc *p, const struct append_req *q, const struct append_ans *a);

void check_appended(struct sim *s, const struct proc *p, const struct append_req *q,
                    const struct append_ans *a)
{
    struct sseg *g = check_seg(s, q->seg);
    struct ticket *t;
    struct slane *l;

    if (a->state == APPEND_EXISTING)
        found_waiting(s, p, q, a);
    if (a->state != APPEND_OK && a->state != APPEND_ENTERED)
        return;
    if (g == NULL || (g->node != p->idx && !g->relaxed) || a->seg != q->seg) {
        sim_fail(s, "%s put somebody into segment %llu, which it does not have", p->name,
                 llu(a->seg));
        return;
    }
    if (check_ticket(s, a->seg, a->number) != NULL) {
        sim_fail(s, "I6: ticket %llu-%u was given twice", llu(a->seg), a->number);
        return;
    }
    l = &s->lane[g->lane];
    t = ticket_new(s, p, a);
    t->lane = g->lane;
    t->ord = ++l->next_ord;
    t->relaxed = g->relaxed;
    t->rebuilt = g->node != p->idx; /* its segment was opened again: this node has not heard it */
    t->old_seg = q->old_seg;
    t->old_number = q->old_number;
    subject_given(s, t, q);
    opening_joined(s, g, a->position);
    s->count.relaxed += g->relaxed;
    if (g->id < l->last_joined && !g->relaxed)
        sim_fail(s, "I3: somebody joined segment %llu after somebody joined %llu",
                 llu(g->id), llu(l->last_joined));
    if (g->id > l->last_joined)
        l->last_joined = g->id;
    if (g->base + a->number <= l->last_ordinal && !g->relaxed)
        sim_fail(s, "ticket %llu-%u has ordinal %llu, an earlier one %llu", llu(a->seg), a->number,
                 llu(g->base + a->number), llu(l->last_ordinal));
    l->last_ordinal = u64_max(l->last_ordinal, g->base + a->number);
    sim_note(s, "ticket %lu-%lu: lane %lu ord %lu position %lu", t->seg, t->number, t->lane,
             t->ord, a->position);
    if (a->state == APPEND_ENTERED)
        check_entered(s, p, g, t, a);
}

/* ---- polls --------------------------------------------------------------------------- */

/* Its silence, without the time in which its own node was stopped (I1: a pause of ours
 * expires nobody). */
static msec_t silence_ms(struct sim *s, const struct ticket *t)
{
    const struct sseg *g = check_host(s, t->seg);
    bool stayed = g != NULL && g->node == t->node;
    usec_t stopped = stayed ? proc_stopped_us(s, &s->proc[t->node]) - t->stopped : 0;

    return (s->now - t->touch - stopped) / 1000;
}

static bool is_idle(struct sim *s, const struct ticket *t)
{
    return silence_ms(s, t) >= s->o.idle_ms + t->told_ms;
}

/* A pass for which nobody could come is over: while no manager has stored a release, people are told that they wait. */
static bool is_over(const struct sim *s, const struct ticket *t)
{
    return t->out_at != 0 && s->now - t->out_at >= s->o.pass_ttl_ms * 1000 - SIM_OUT_US;
}

/* Is there a cause for this ticket to be over? The times are the least that rules allow;
 * broken links may only make them longer. */
static const char *why_not_gone(struct sim *s, const struct ticket *t, unsigned reason)
{
    msec_t silent = silence_ms(s, t);
    bool idle = is_idle(s, t) || t->perhaps_over;
    bool no_show = silent + t->stale_ms >= s->o.claim_ms + s->o.grace_ms;
    bool finished = t->fate == T_ADMITTED &&
                    sim_wall(s) + s->wall_ahead_ms >= session_last_s(t) * 1000;

    if (t->fate == T_GONE)
        return NULL;
    if (t->rebuilt && reason == GONE_FINISHED &&
        (t->returned || s->now - t->said >= s->o.pass_ttl_ms * 1000 || is_over(s, t)))
        return NULL; /* was released before, and nobody came for the pass in its life */
    if ((t->leaving || t->given_up) && reason != GONE_LOST)
        return NULL; /* what a segment was that was merged away, nobody keeps: any reason */
    switch ((enum gone_reason)reason) {
    case GONE_EXPIRED:
        return idle && t->fate == T_LIVE ? NULL : "expired, but was not idle for so long";
    case GONE_NO_SHOW:
        return no_show && t->fate == T_LIVE ? NULL : "no-show, but claim and grace are not over";
    case GONE_LEFT:
        return "left, but never asked to";
    case GONE_FINISHED:
        if (finished || (t->fate == T_LIVE && (idle || no_show)))
            return NULL;
        return "finished, but nothing of the kind happened";
    default:
        return "lost, but nothing was lost";
    }
}

static void set_fate(const struct sim *s, struct ticket *t, enum ticket_fate fate)
{
    t->fate_at = t->fate == fate ? t->fate_at : s->now;
    t->fate = (uint8_t)fate;
}

static void check_gone(struct sim *s, struct ticket *t, unsigned reason)
{
    const char *why = why_not_gone(s, t, reason);

    if (why != NULL)
        sim_fail(s, "I1: ticket %llu-%u is gone: %s (silent for %.3f s, told %u ms, fate %u)",
                 llu(t->seg), t->number, why, (double)(s->now - t->touch) / 1e6, t->told_ms,
                 t->fate);
    set_fate(s, t, T_GONE);
}

static void check_admitted(struct sim *s, struct ticket *t, const struct place_ans *a)
{
    uint64_t pass = check_hash(a->pass, a->pass_len);
    struct slane *l = &s->lane[t->lane];

    if (t->fate == T_GONE && !t->rebuilt)
        sim_fail(s, "I1: ticket %llu-%u was gone and is admitted", llu(t->seg), t->number);
    if (t->pass != 0 && (t->released_ms != a->released_at_ms ||
                         (t->pass != pass && t->expires_s == a->pass_expires_s) ||
                         !session_may_say(t, a->pass_expires_s)))
        sim_fail(s, "I2: ticket %llu-%u was admitted twice: %.*s", llu(t->seg), t->number,
                 a->pass_len, a->pass);
    set_fate(s, t, T_ADMITTED);
    t->timed_out = false; /* it was let in while nobody polled, and its poll came in time */
    t->pass = pass;
    t->released_ms = a->released_at_ms;
    t->expires_s = a->pass_expires_s;
    if (t->first_expires_s == 0)
        t->first_expires_s = a->pass_expires_s;
    if (!t->relaxed && !t->returned && t->ord > l->max_admitted_ord)
        l->max_admitted_ord = t->ord;
}

/* It was over, and nobody knows that any more. */
static void revive(struct sim *s, struct ticket *t)
{
    s->count.left_back += t->leaving;
    set_fate(s, t, T_LIVE);
    t->revived = true;
    t->given_up = t->timed_out = false;
    s->lane[t->lane].revived = true;
}

/* Silent for so long: perhaps it was called meanwhile, in vain; or is, before its node has heard
 * from a router that it is back. */
static void note_return(const struct sim *s, struct ticket *t)
{
    msec_t claim = s->o.claim_ms - 200, away = t->told_ms + s->o.away_ms;

    if (s->now - t->said > 1000 * (s->o.away_ms > 0 && away < claim ? away : claim))
        t->returned = true;
}

/* Routers were told perhaps that it is not reached, and hear late that it is again. */
void check_heard_anew(const struct sim *s, struct proc *node)
{
    if (s->now >= node->heard_anew + SIM_WORD_US)
        node->was_heard = node->heard;
    node->heard_anew = s->now;
}

/* When a manager heard it last, as far as routers can know. */
static usec_t last_heard(const struct sim *s, const struct proc *node)
{
    return s->now < node->heard_anew + SIM_WORD_US ? node->was_heard : node->heard;
}

/* It was given up and lives on, cut off together with the router that asks it: neither knows that
 * the ticket's segment was opened elsewhere since (FAULTS.md F12). */
static bool is_given_up(struct sim *s, const struct ticket *t, const struct proc *node)
{
    const struct sseg *host = check_host(s, t->seg);

    return t->rebuilt && host != NULL && host->node != node->idx &&
           last_heard(s, node) < check_seg(s, t->seg)->rebuilt_at;
}

/* as_of: the moment of the node's state that was told. */
static void told_waiting(struct sim *s, struct ticket *t, const struct proc *node,
                         uint64_t position, uint32_t told_ms, usec_t as_of, msec_t fence_ms)
{
    t->touch = s->now;
    t->said = as_of;
    t->stale_ms = (s->now - as_of) / 1000;
    t->told_ms = told_ms;
    t->node = node->idx;
    t->stopped = proc_stopped_us(s, node);
    if (position != 0)
        told_position(s, t, position, as_of, fence_ms);
}

/* The node that counts the join says how its ticket waits; 1 says nothing. */
static void found_waiting(struct sim *s, const struct proc *p, const struct append_req *q, const struct append_ans *a)
{
    subject_found(s, q, a);
    if (!s->failed && a->counted == APPEND_COUNTED && a->position > 1)
        told_waiting(s, check_ticket(s, a->seg, a->number), p, a->position, a->poll_after_ms, s->now, 0);
}

void check_known(struct sim *s, const struct proc *router, const struct proc *node,
                 const struct token *q, const struct flow *f, const struct known *k)
{
    usec_t as_of = k->as_of;
    bool kept = k->kept;
    struct ticket *t = check_ticket(s, q->seg, q->number);
    msec_t oldest_ms = kept ? s->o.keep_ms : s->o.fresh_ms + k->far_ms;

    s->count.known++;
    s->count.kept += kept;
    s->count.last_known += kept && f->position != 0;
    sim_note(s, "known %lu-%lu at %lu, %lu us old", q->seg, q->number, f->position,
             (uint64_t)(s->now - as_of), 0);
    if (t == NULL || node == NULL || f->result != FLOW_OK || f->admitted) {
        sim_fail(s, "%s answers by itself what nobody can know: %llu-%u", router->name,
                 llu(q->seg), q->number);
        return;
    }
    if (as_of > s->now || s->now - as_of > oldest_ms * 1000)
        sim_fail(s, "I-R1: %s tells of %llu-%u what was so %.3f s ago", router->name, llu(t->seg),
                 t->number, (double)(s->now - as_of) / 1e6);
    if (is_given_up(s, t, node))
        return;
    if (t->fate != T_LIVE && t->fate_at < as_of)
        sim_fail(s, "%s: ticket %llu-%u waits again, says %s", t->fate == T_ADMITTED ? "I2" : "I1",
                 llu(t->seg), t->number, router->name);
    if (f->position != 0 && opening_is_waiting_for(s, t->seg))
        sim_fail(s, "ticket %llu-%u has position %llu before the draw, says %s", llu(t->seg),
                 t->number, llu(f->position), router->name);
    if (t->fate != T_LIVE)
        return;
    t->perhaps_over |= is_idle(s, t);
    note_return(s, t);
    told_waiting(s, t, node, f->position, f->poll_after_ms, as_of, k->fence_ms);
}

void check_placed(struct sim *s, const struct proc *p, const struct place_req *q,
                  const struct place_ans *a)
{
    struct ticket *t = check_ticket(s, q->seg, q->number);

    if (t == NULL) {
        sim_fail(s, "somebody polls with a token that nobody gave: %llu-%u", llu(q->seg),
                 q->number);
        return;
    }
    sim_note(s, "place %lu-%lu: state %lu, %lu", t->seg, t->number, a->state, a->position, 0);
    if (a->state != PLACE_ADMITTED && is_given_up(s, t, p))
        return;
    if (a->state == PLACE_WAITING || a->state == PLACE_ADMITTED)
        note_return(s, t);
    if (s->count.jumps > 0 && a->state == PLACE_WAITING && a->position == 1)
        t->returned = true; /* perhaps was released, and its pass is over by a wrong clock */
    if (a->state == PLACE_WAITING) {
        if (a->position != 0 && opening_is_waiting_for(s, t->seg))
            sim_fail(s, "ticket %llu-%u has position %llu before the draw", llu(t->seg),
                     t->number, llu(a->position));
        if (t->rebuilt && (t->forgot || t->given_up || t->fate == T_GONE))
            revive(s, t);
        if (t->fate != T_LIVE)
            sim_fail(s, "%s: ticket %llu-%u waits again at position %llu",
                     t->fate == T_ADMITTED ? "I2" : "I1", llu(t->seg), t->number,
                     llu(a->position));
        turns_waits(s, t);
        t->perhaps_over = t->timed_out = false;
        told_waiting(s, t, p, a->position, a->poll_after_ms, s->now, 0);
    } else if (a->state == PLACE_ADMITTED) {
        check_admitted(s, t, a);
    } else if (a->state == PLACE_GONE) {
        check_gone(s, t, a->reason);
    }
}

void check_let_in(struct sim *s, const struct proc *p, const struct msg_let_in *m)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct let_in_row *r = &m->v[i];
        struct place_req q = { .seg = r->seg, .number = r->number };
        struct place_ans a = { .state = PLACE_ADMITTED,
                               .pass = (const char *)r->pass,
                               .pass_len = (uint16_t)r->pass_len,
                               .released_at_ms = r->released_at_ms,
                               .pass_expires_s = r->pass_expires_s };

        check_placed(s, p, &q, &a);
    }
}

#define LEFT_US 1000000 /* by then all routers know who has left, unless links are cut */

/* An answer that is older than what was told by a state of newer_at. The third gap of PROTOCOL
 * section 5: what moved in `slack_ms` before the end of a node (the router that carried a leave knows
 * of it at once); and what a node has told that goes on where neither manager nor router hear of
 * it. */
static bool is_last_known(const struct sim *s, const struct sans *a, usec_t newer_at,
                          msec_t slack_ms)
{
    slack_ms += s->o.ocean_ms > 0 ? SIM_FAR_MS : 0; /* the other router may be nearer by that */
    return a->kept && a->as_of <= newer_at &&
           (newer_at <= a->as_of + slack_ms * 1000 ||
            last_heard(s, &s->proc[a->node]) <= a->as_of + s->o.fresh_ms * 1000);
}

static void check_waiting_answer(struct sim *s, const struct player *p,
                                 const struct ticket *t, const struct sans *a)
{
    uint64_t pos = a->flow.position;

    bool later = t->rebuilt && s->lane[t->lane].revived;

    s->count.left_waits += p->leave_acked && s->now > p->ended_at + LEFT_US;

    if (p->ended_at != 0 && a->as_of <= p->ended_at &&
        (!a->kept || is_last_known(s, a, p->ended_at, s->o.poll_min_ms)))
        return; /* what was so before: whoever does not wait as told may be told that */
    if (p->leave_acked && !t->forgot)
        sim_fail(s, "I1: ticket %llu-%u has left and waits", llu(t->seg), t->number);
    if (p->state == P_ADMITTED)
        sim_fail(s, "I2: ticket %llu-%u was inside and waits", llu(t->seg), t->number);
    if (pos == 0) { /* not known: being rebuilt, or released and not stored yet */
        s->count.nulls++;
        return;
    }
    if (p->position != 0 && pos > p->position && !later &&
        !is_last_known(s, a, p->position_at, s->o.fresh_ms))
        sim_fail(s, "I4: ticket %llu-%u (ord %llu) was at position %llu and is at %llu",
                 llu(t->seg), t->number, llu(t->ord), llu(p->position), llu(pos));
}

void check_answer(struct sim *s, struct player *p, const struct sans *a)
{
    struct ticket *t = p->ticket != NOBODY ? &s->ticket[p->ticket] : NULL;

    if (a->flow.result == FLOW_NO_QUEUE ||
        (a->flow.result == FLOW_EXISTING && p->state != P_REPLACING &&
         (p->subject == 0 || a->kind != FLOW_JOIN)))
        sim_fail(s, "a player got the strange answer %u", a->flow.result);
    if (t == NULL || a->kind != FLOW_POLL ||
        (!a->flow.admitted && is_given_up(s, t, &s->proc[a->node])))
        return;
    if (a->flow.result == FLOW_GONE) {
        s->count.left_other += p->leave_acked && !p->by_pass && a->flow.reason != GONE_LEFT;
        check_gone(s, t, a->flow.reason);
    } else if (a->flow.result == FLOW_OK && !a->flow.admitted) {
        check_waiting_answer(s, p, t, a);
    } else if (a->flow.result == FLOW_OK) {
        if (p->leave_acked && !t->forgot)
            sim_fail(s, "I1: ticket %llu-%u has left and is admitted", llu(t->seg),
                     t->number);
        if (a->pass != t->pass && t->until_s == 0)
            sim_fail(s, "I2: ticket %llu-%u was shown another pass", llu(t->seg), t->number);
    }
}

/* ---- releases ------------------------------------------------------------------------ */

#define SLOW_FOR_US 20000000 /* for so long the manager goes by a way (queuemng/state/node.c) */

static bool was_slow(const struct sim *s, const struct mnode *n)
{
    usec_t since = s->now > SLOW_FOR_US ? s->now - SLOW_FOR_US : 0;
    unsigned m = sim_leader(s);

    for (unsigned i = 0; i < SIM_PROCS; i++)
        if (s->proc[i].kind == SIM_SEG && strcmp(s->proc[i].name, n->name) == 0 &&
            (s->slow_until[m][i] > since || s->slow_until[i][m] > since))
            return true;
    return false;
}

/* A link that was slow looks like an ocean for a while. */
static uint16_t way_ms(const struct sim *s)
{
    const struct mng *m = sim_core(s);
    msec_t most = 0;

    if (m != NULL)
        each_node(m, n)
            if (was_slow(s, n))
                most = ms_max(most, node_way_ms(n));
    return (uint16_t)most;
}

/* Paused or rejecting all the time: nobody is let in, whatever earns tickets. The stamp of a
 * pop is the manager's last tick: the queue may have been resumed since. */
static void check_stopped(struct sim *s, const struct squeue *q, int64_t ordered_ms)
{
    if (check_rate(q, ordered_ms - 100, ordered_ms + 100) <= 0 && q->by_hand == 0)
        sim_fail(s, "I7: queue %s lets in somebody while it is stopped (state %d)", q->name,
                 q->state);
}

void check_popped(struct sim *s, const struct msg_seg_popped *g, const struct msg *order)
{
    struct sseg *seg = check_seg(s, g->seg);
    const struct msg_seg_pop *o = &order->seg_pop;

    if (order == NULL || order->type != MSG_SEG_POP || seg == NULL || g->busy ||
        o->tick != g->tick)
        return;
    if (g->n > o->n)
        sim_fail(s, "segment %llu gave %u of %u", llu(g->seg), g->n, o->n);
    if (seg->last_tick == g->tick) {
        if (seg->last_n != g->n)
            sim_fail(s, "I2: tick %llu of segment %llu gave %u, then %u", llu(g->tick),
                     llu(g->seg), seg->last_n, g->n);
        return;
    }
    seg->last_tick = g->tick;
    seg->last_n = g->n;
    sim_note(s, "segment %lu gives %lu of %lu, tick %lx", g->seg, g->n, o->n, g->tick, 0);
    if (g->n == 0)
        return;
    s->rel = sim_grow(s->rel, &s->cap_rel, s->n_rel + 1, sizeof(*s->rel));
    s->rel[s->n_rel++] = (struct released){ .at_ms = clock_true(s, o->released_at_ms),
                                            .n = g->n,
                                            .queue = seg->lane / LANES_MAX,
                                            .way_ms = way_ms(s) };
    s->count.released += g->n;
    if (s->proc[seg->node].disk_full)
        sim_fail(s, "%s lets in somebody and cannot write it down", s->proc[seg->node].name);
    s->lane[seg->lane].let_in += g->n;
    check_stopped(s, &s->queue[seg->lane / LANES_MAX], clock_true(s, o->released_at_ms));
    opening_popped(s, seg, clock_true(s, o->released_at_ms));
    slots_check(s, seg->lane / LANES_MAX, clock_true(s, o->released_at_ms));
}

/* ---- sweeps -------------------------------------------------------------------------- */

static void seen_waiting(void *ctx, seg_id host, seg_id seg, uint32_t number)
{
    struct sim *s = ctx;
    struct sseg *h = check_seg(s, host);
    struct ticket *t = check_ticket(s, seg, number);
    struct slane *l;

    if (h == NULL || t == NULL) {
        sim_fail(s, "a ghost waits in segment %llu: %llu-%u", llu(host), llu(seg), number);
        return;
    }
    if (h->node != s->sweep_node || h->gone)
        return; /* given to another node: this one is not asked any more */
    if (h->alias != 0)
        return; /* moved: what is still there is a copy, the truth is at the target */
    if (t->replaced && !t->rebuilt)
        sim_fail(s, "I6: ticket %llu-%u was replaced, and waits in segment %llu", llu(seg), number,
                 llu(host));
    if (t->sweep == s->sweep)
        sim_fail(s, "I1: ticket %llu-%u waits in segments %llu and %llu", llu(seg), number,
                 llu(t->host), llu(host));
    if (t->fate != T_LIVE)
        sim_fail(s, "I1: ticket %llu-%u waits and is over (fate %u)", llu(seg), number,
                 t->fate);
    t->sweep = s->sweep;
    t->host = host;
    t->out_at = 0;
    if (t->subject != 0)
        subject_waits(s, t);
    if (t->relaxed || (h->early && !h->drawn_there))
        return;
    if (h->sweep == s->sweep && t->ord <= h->last_ord)
        sim_fail(s, "I3: segment %llu holds order %llu before %llu", llu(host),
                 llu(h->last_ord), llu(t->ord));
    h->sweep = s->sweep;
    h->last_ord = t->ord;
    l = &s->lane[t->lane];
    if (t->ord < l->max_admitted_ord && !t->revived && s->o.skip_after_ms >= SIM_NEVER_MS)
        sim_fail(s, "I3: ticket %llu-%u (ord %llu, segment %llu) waits, a later one (%llu) "
                    "is inside",
                 llu(seg), number, llu(t->ord), llu(host), llu(l->max_admitted_ord));
}

void check_sweep(struct sim *s)
{
    sessions_sweep(s);
    opening_look(s);
    s->sweep++;
    s->count.sweeps++;
    for (unsigned i = 0; i < s->n_procs && !s->failed; i++)
        if (s->proc[i].kind == SIM_SEG && s->proc[i].alive) {
            s->sweep_node = (uint8_t)i;
            segtab_each_waiting(s->proc[i].segtab, seen_waiting, s);
            subjects_known(s, &s->proc[i]);
        }
    for (uint32_t i = 0; i < s->n_tickets; i++) {
        struct ticket *t = &s->ticket[i];

        if (t->sweep == 0 || t->sweep != s->sweep - 1)
            continue;
        t->timed_out = is_idle(s, t);
        t->out_at = s->now;
        sim_note(s, "ticket %lu-%lu waits no more in segment %lu", t->seg, t->number,
                 t->host, 0, 0);
    }
}

uint64_t sim_left_unknown(struct sim *s)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < s->n_players; i++) {
        const struct player *p = &s->player[i];
        const struct ticket *t = p->leave_acked && !p->by_pass ? &s->ticket[p->ticket] : NULL;
        const struct proc *node = t != NULL ? &s->proc[check_host(s, t->seg)->node] : NULL;
        struct location l;

        if (node != NULL && node->segtab != NULL &&
            segtab_find(node->segtab, t->seg, t->number, &l) == FOUND_HERE &&
            sessions_find(&l.seg->b.released, l.id) == NULL)
            n += (l.slot != SEGQ_NONE && segq_is_alive(&l.seg->b.q, l.slot)) ||
                 segtab_reason(&l) != GONE_LEFT;
    }
    return n;
}

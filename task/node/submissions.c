/* submissions.c: rows of TASK_PUT, ticks of schedules, next tasks of chains: all come this way. */
#include "task/node/submissions.h"

#include "common/base/err.h"
#include "common/task/call.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/engine/look.h"
#include "task/engine/offer.h"
#include "task/engine/submit.h"
#include "task/engine/tqueue.h"
#include "task/node/answer.h"
#include "task/node/body.h"
#include "task/node/parts.h"

msec_t tasktab_delay(const struct tasktab *t, const struct part *p, msec_t ms)
{
    msec_t late = engine_now(&p->e, t->now.ms) - p->e.at + 1;

    return ms > 0 && ms < DELAY_MAX_MS - late ? ms + late : ms;
}

#define DOWN_AGAIN_MS 1000 /* whom an endpoint that is down refuses may ask again */

struct put { /* a submission at hand */
    struct node_room room;
    struct bytes_of payload;
    uint64_t body; /* where the payload is; 0: nowhere */
    const struct submit *s;
    uint64_t may_wait_ms; /* see struct task_put */
    peer_no from;    /* 0: nobody waits for the answer, and may come again */
    struct call_file file; /* file of its body */
    struct put_refused why;
};

/* The endpoint is down, or paused; one whose breaker lets somebody try is not: else none would ever find out
 * that it is back, where all calls have another way. */
static bool goes_nowhere(const struct part *p, const struct task_view *v)
{
    const struct endpoint *ep = p->endpoint;

    if (v->eta != TASK_ETA_PAUSED && v->eta != TASK_ETA_ENDPOINT && v->eta != TASK_ETA_TRIPPED)
        return false;
    return v->eta != TASK_ETA_ENDPOINT || ep == NULL || !endpoint_would_try(ep, p->tab->now.ms);
}

/* Estimates its wait in that of its queues where it would start first. */
static void foresee(const struct part *p, const struct submit *s, struct task_view *v)
{
    struct trec_text rest = s->offer;
    struct submit there = *s;
    struct task_view w;

    engine_foresee(&p->e, s, v);
    tasktab_reckon(p, v);
    while (rest.n > 0) {
        there.queue = offer_next(&rest);
        engine_foresee(&p->e, &there, &w);
        tasktab_reckon(p, &w);
        if (w.eta_ms < 0 || (v->eta_ms >= 0 && w.eta_ms < v->eta_ms))
            *v = w;
    }
}

/* Time by which a wait, as it is estimated now, is longer than max_wait, or than its route says. What is not
 * known, or is the pace of a burst alone, is no reason to refuse anybody; an endpoint that is down is one to
 * try another. */
static msec_t too_long(const struct part *p, const struct put *at)
{
    const struct submit *s = at->s;
    const struct task_rules *r = engine_bounds_waits(&p->e) ? engine_rules_of(&p->e, &s->queue) : NULL;
    uint64_t pool = r != NULL ? r->max_wait_ms : 0, other = at->may_wait_ms;
    msec_t most = (msec_t)(pool == 0 || other == 0 ? pool + other : u64_min(pool, other));
    struct task_view v;

    if (most == 0 || s->delay_ms != 0 || s->at_wall_ms > p->e.wall_at)
        return 0;
    foresee(p, s, &v);
    if (other != 0 && goes_nowhere(p, &v))
        return DOWN_AGAIN_MS;
    return v.young && v.eta == TASK_ETA_PACE ? 0 : ms_max(v.eta_ms - most, 0);
}

static int room_for(struct put *at)
{
    struct part *p = at->room.p;
    bool node = !p->tab->full && !tasktab_make_room(&at->room);
    int rc = node || p->tab->full ? SQ_EFULL
                                  : tasktab_body_put(p->tab, p, &at->payload, &at->body);

    if (rc == SQ_EFULL)
        p->e.full = node ? FULL_NODE : FULL_DISK;
    return rc;
}

/* False: the pieces of its body have come on another link, or it is no form of ours: nothing is submitted. */
static bool has_its_file(const struct put *at)
{
    const struct tab_large *l = &at->room.p->tab->o.large;

    return at->file.length == 0 || (l->ctx != NULL && l->has(l->ctx, at->from, &at->file));
}

/* Gives it its file, if it has one. */
static int take_its_file(void *ctx, task_no no)
{
    struct put *at = ctx;
    struct part *p = at->room.p;
    const struct tab_large *l = &p->tab->o.large;
    int rc = at->file.length > 0 ? l->keep(l->ctx, at->from, &at->file, p->no, no) : 0;

    if (rc == SQ_EFULL)
        p->e.full = FULL_DISK;
    return rc;
}

/* Time after which its endpoint may have room for it, which refuses calls that would wait for that; 0: it has, or
 * does not refuse any. What nobody would submit again waits: ticks of schedules, next tasks of chains. */
static msec_t over_quota(const struct part *p, const struct put *at)
{
    const struct submit *s = at->s;
    struct task_view v;

    if (p->endpoint == NULL || p->endpoint->def.on_quota == ON_QUOTA_WAIT || at->from == 0 || s->delay_ms != 0 ||
        s->at_wall_ms > p->e.wall_at)
        return 0;
    engine_foresee(&p->e, s, &v);
    return endpoint_over_quota(p->endpoint, v.turns, own_cost(&s->own), p->tab->now.ms);
}

static int is_too_long(struct part *p, enum task_full bound)
{
    p->tab->n.too_long++;
    p->e.full = (uint8_t)bound;
    return SQ_EFULL;
}

static int admit(void *ctx, uint64_t *body)
{
    struct put *at = ctx;
    struct part *p = at->room.p;
    int rc;

    if (!has_its_file(at))
        return SQ_EBUSY;
    at->why.ms = too_long(p, at);
    if (at->why.ms > 0)
        return is_too_long(p, FULL_WAIT);
    at->why.ms = over_quota(p, at);
    if (at->why.ms > 0)
        return is_too_long(p, FULL_QUOTA);
    rc = room_for(at);
    *body = at->body;
    return rc;
}

/* Notes what the estimate of its wait is, now and then, to see later how right it was. */
static void promise(struct part *p, task_no no)
{
    struct task_view v;
    msec_t ours;

    if (!engine_may_promise(&p->e, no) || engine_look(&p->e, no, &v) < 0 || v.state != TASK_WAITING ||
        offers_of(&p->e.offers, task_slot_of(no)) != NULL) /* whose wait is not that of one queue */
        return;
    tasktab_reckon(p, &v);
    ours = v.eta_ms;
    tasktab_hear_service(p, v.queue, &v);
    /* also one that is not known: the next look is a second later */
    engine_promise(&p->e, no, ours, v.eta == TASK_ETA_SERVICE ? v.eta_ms : -1);
}

/* Says what waits, and when enough of it may have started. */
static void say_units(const struct part *p, struct put *at)
{
    const struct tqueue *q = tqueue_find(&p->e, at->s->queue.p, at->s->queue.n);
    struct task_view v;

    engine_foresee_room(&p->e, at->s, &v);
    if (v.waiting > 0)
        tasktab_reckon(p, &v);
    at->why = (struct put_refused){ v.young && v.eta == TASK_ETA_PACE ? 0 : ms_max(v.eta_ms, 0), q->units,
                                    q->pool->rules.max_waiting_units };
}

static int put_row(struct part *p, const struct task_put *r, peer_no from, uint64_t *tasks, task_no *no,
                   struct put_refused *why)
{
    struct tasktab *t = p->tab;
    struct put at = { { p, *tasks - tasktab_part_tasks(p) }, r->body, 0, NULL,
                      u64_min(r->may_wait_ms, DELAY_MAX_MS), from, { 0 }, { 0 } };
    struct submit s = { .queue = tasktab_text(r->queue),
                        .key1 = tasktab_text(r->key1),
                        .key2 = tasktab_text(r->key2),
                        .name = tasktab_text(r->name),
                        .key = { (const char *)r->key.p, r->key.n },
                        .digest = r->digest,
                        .bytes = r->body.n,
                        .admit = admit,
                        .named = take_its_file,
                        .ctx = &at,
                        .order = r->order,
                        .priority = r->priority,
                        .delay_ms = tasktab_delay(t, p, r->delay_ms),
                        .at_wall_ms = r->at_ms,
                        .own = r->own,
                        .group = tasktab_text(r->group != NULL ? r->group : ""),
                        .then = { (const char *)r->then.p, r->then.n },
                        .offer = { (const char *)r->offer.p, r->offer.n },
                        .after_part = r->after_part,
                        .after_no = r->after_no,
                        .unique = { (const char *)r->unique.p, r->unique.n },
                        .unique_while = (enum unique_while)r->unique_while,
                        .on_conflict = (enum unique_conflict)r->on_conflict };
    int rc;

    at.s = &s;
    if (!call_has_file(r->body.p, r->body.n, &at.file)) /* no payload of another kind begins so */
        at.file.length = 0;
    rc = engine_submit(&p->e, &s, no);
    if (rc == SQ_EFULL && p->e.full == FULL_UNITS)
        say_units(p, &at);
    *why = at.why;
    if (rc == 0)
        promise(p, *no);
    else
        tasktab_body_drop(t, p, at.body);
    if (rc != 0 && at.file.length > 0 && t->o.large.ctx != NULL) /* no task has it */
        t->o.large.drop(t->o.large.ctx, from, at.file.upload);
    if (rc == SQ_EFULL && p->e.full != FULL_CHAINS && p->e.full != FULL_QUOTA) /* others are not refused for that */
        p->full_ms = t->now.ms;
    *tasks = at.room.others + tasktab_part_tasks(p);
    return rc;
}

int tasktab_put_one(struct part *p, const struct task_put *r, peer_no from, uint64_t *tasks, task_no *no,
                    struct put_refused *why)
{
    return put_row(p, r, from, tasks, no, why);
}

int tasktab_put_here(struct part *p, const struct task_put *put, task_no *no)
{
    uint64_t tasks = tasktab_tasks(p->tab);
    struct put_refused why;

    return put_row(p, put, 0, &tasks, no, &why);
}

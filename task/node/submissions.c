/* submissions.c: rows of TASK_PUT, ticks of schedules, next tasks of chains: all come this way. */
#include "task/node/submissions.h"

#include <inttypes.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/json/json_point.h"
#include "common/task/call.h"
#include "common/wire/codec.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/engine/tqueue.h"
#include "task/node/answer.h"
#include "task/node/body.h"
#include "task/node/ends.h"
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

/* ---- chain -------------------------------------------------------------------------------- */

/* Results into the next payload; the next task here, or on its way. */

#define LOG_MODULE "chains"

/* ---- results into a payload --------------------------------------------------------- */

static struct slice slice_at(const void *p, size_t n)
{
    return (struct slice){ (char *)(uintptr_t)p, n };
}

/* JSON_POINT_FOUND is CHAIN_WHY_UNSAID. */
static uint8_t why_of(enum json_point rc)
{
    static const uint8_t whys[] = {
        [JSON_POINT_FOUND] = CHAIN_WHY_UNSAID,    [JSON_POINT_NO_JSON] = CHAIN_WHY_NO_JSON,
        [JSON_POINT_NOTHING] = CHAIN_WHY_NOTHING, [JSON_POINT_TWICE] = CHAIN_WHY_NOTHING,
        [JSON_POINT_LONG] = CHAIN_WHY_TOO_LARGE,
    };

    return whys[rc];
}

/* The whole result as JSON, of what is kept of it. */
static uint8_t result_of(const struct bytes_of *kept, struct slice *json)
{
    struct reply reply;
    struct result r;

    if (kept->n == 0 || reply_unpack(kept->p, kept->n, &reply) < 0 ||
        result_unpack(reply.rest, reply.rest_n, &r) < 0 || r.length == 0)
        return CHAIN_WHY_NO_RESULT;
    *json = slice_at(r.p, r.n);
    return r.n < r.length ? CHAIN_WHY_TRUNCATED : CHAIN_WHY_UNSAID;
}

/* The form of a call with results in its body. */
static uint8_t fill_call(const struct bytes_of *form, struct slice result, struct buf *out)
{
    struct call_span rest, name, value;
    struct buf body;
    struct call c;
    uint8_t why;

    if (call_unpack(form->p, form->n, &c) < 0)
        return CHAIN_WHY_REFUSED;
    buf_init(&body);
    why = why_of(json_fill(slice_at(c.body.p, c.body.n), result, CHAIN_BODY_MAX, &body));
    if (why == 0) {
        call_pack_begin(out, c.method, c.path);
        rest = c.headers;
        while (call_header_next(&rest, &name, &value))
            call_pack_header(out, name, value);
        call_pack_body(out, (struct call_span){ (const char *)body.data, body.len });
    }
    out->failed |= body.failed;
    buf_fini(&body);
    return why == 0 && out->len > CHAIN_BODY_MAX + CALL_HEAD_MAX ? CHAIN_WHY_TOO_LARGE : why;
}

static uint8_t fill(struct task_put *put, const struct bytes_of *kept, struct buf *out)
{
    struct slice result;
    uint8_t why;

    if ((put->chain & CHAIN_HOLES) == 0)
        return CHAIN_WHY_UNSAID;
    why = result_of(kept, &result);
    if (why == 0)
        why = (put->chain & CHAIN_CALL) != 0
                  ? fill_call(&put->body, result, out)
                  : why_of(json_fill(slice_at(put->body.p, put->body.n), result, CHAIN_BODY_MAX, out));
    put->body = (struct bytes_of){ (uint32_t)out->len, out->data };
    put->chain &= (uint8_t)~CHAIN_HOLES;
    return why;
}

/* ---- the next one -------------------------------------------------------------------- */

static const struct chain *waiting_chain(const struct part *p, task_no no)
{
    task_slot slot = p->e.chains.by_slot.n > 0 ? task_find(&p->e.store, no) : SLOT_NONE;
    const struct chain *k = slot != SLOT_NONE ? chains_of(&p->e.chains, slot) : NULL;

    return k != NULL && k->state == CHAIN_WAITS ? k : NULL;
}

int tasktab_chain_ready(const struct part *p, task_no no, const struct bytes_of *kept,
                        struct chain_step *next)
{
    const struct chain *k = waiting_chain(p, no);
    struct task_put *put;
    int rc;

    next->any = k != NULL;
    if (k == NULL)
        return 0;
    next->why = 0;
    arena_init(&next->mem);
    buf_init(&next->body);
    rc = msg_decode(MSG_TASK_PUT, (const uint8_t *)k->then, k->n, &next->mem, &next->m);
    if (rc == SQ_ENOMEM)
        return rc;
    if (rc < 0 || next->m.task_put.n != 1) {
        next->why = CHAIN_WHY_REFUSED;
        return 0;
    }
    put = &next->m.task_put.v[0];
    put->after_part = p->no;
    put->after_no = no;
    next->why = fill(put, kept, &next->body);
    return next->body.failed ? SQ_ENOMEM : 0;
}

void tasktab_chain_over(struct chain_step *next)
{
    if (!next->any)
        return;
    arena_fini(&next->mem);
    buf_fini(&next->body);
}

/* On its way. False: there is no room, or no memory. */
static bool relay(struct part *p, task_no no, const struct chain_step *next)
{
    struct notice_text text = { .no = no };
    struct buf b;
    bool ok;

    buf_init(&b);
    ok = msg_encode(&next->m, &b) == 0 && b.len <= RELAY_TEXT_MAX;
    text.p = (const char *)b.data;
    text.n = b.len;
    ok = ok && notices_add(&p->relays, &text, &p->e.log);
    buf_fini(&b);
    return ok;
}

/* Here, or on its way; what came of it into *is. */
static void submit(struct part *p, task_no no, const struct chain_step *next, struct chain *is)
{
    const struct task_put *put = &next->m.task_put.v[0];
    bool here = put->part == p->no && ((put->chain & CHAIN_CALL) != 0) == (p->endpoint_name[0] != 0);

    if (here && tasktab_put_here(p, put, &is->next_no) == 0) {
        is->state = CHAIN_BEGUN;
        is->next_part = p->no;
    } else if (relay(p, no, next)) {
        is->state = CHAIN_SENT;
    } else {
        is->state = CHAIN_FAILED;
        is->why = CHAIN_WHY_NO_ROOM;
    }
}

static void note(struct part *p, task_no no, const struct chain *is)
{
    p->tab->n.chains_begun += is->state == CHAIN_BEGUN;
    p->tab->n.chains_failed += is->state == CHAIN_FAILED;
    if (is->state == CHAIN_FAILED)
        log_warn("event=chain_failed id=%" PRIu32 "-%" PRIu64 " why=%s", p->no, no,
                 chain_why_word(is->why));
    (void)!engine_chain(&p->e, no, is); /* needs no memory but the log's; the task may have gone */
}

void tasktab_chain_goes(struct part *p, task_no no, const struct chain_step *next)
{
    const struct chain *k = next->any ? waiting_chain(p, no) : NULL;
    struct chain is;

    if (k == NULL)
        return;
    is = (struct chain){ .after_part = k->after_part, .after_no = k->after_no,
                         .state = CHAIN_FAILED, .why = next->why };
    if (next->why == 0)
        submit(p, no, next, &is);
    note(p, no, &is);
    p->due = p->tab->now.ms; /* a hand-over leaves with this turn */
}

/* INVALID: a router of an older release, which knows no chains. */
void tasktab_chain_answered(struct part *p, const struct msg_task_notice_ans *m)
{
    const struct notice *x = notices_sent(&p->relays, m->id, m->no);
    bool never = m->code == CODE_MISMATCH || m->code == CODE_CONFLICT;
    bool done = m->code == CODE_DONE || m->code == CODE_SAME;
    task_slot slot = task_find(&p->e.store, m->no);
    const struct chain *k = slot != SLOT_NONE ? chains_of(&p->e.chains, slot) : NULL;
    struct chain is;

    if (x == NULL)
        return; /* said before, or to a former owner */
    if (!done && !never) {
        notices_refused(&p->relays, x, p->tab->now.ms);
        return;
    }
    notices_over(&p->relays, x, never, &p->e.log);
    is = k != NULL ? *k : (struct chain){ 0 };
    is.state = done ? CHAIN_BEGUN : CHAIN_FAILED;
    is.why = done ? 0 : CHAIN_WHY_REFUSED;
    is.next_part = done ? m->to_part : 0;
    is.next_no = done ? m->to_no : 0;
    note(p, m->no, &is);
}

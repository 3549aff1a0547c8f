/* calls.c: each turn, the partitions of an endpoint in their turn, while it lets calls go. */
#include "task/node/calls.h"

#include <assert.h>

#include "common/base/text.h"
#include "common/task/call.h"
#include "task/calls/endpoint.h"
#include "task/calls/endpoint_lets.h"
#include "task/engine/look.h"
#include "task/engine/worker.h"
#include "task/node/body.h"
#include "task/node/commands.h"
#include "task/node/following.h"
#include "task/node/parts.h"

#define LOG_MODULE "calls"
#define NEED_MS    200 /* reports of what an endpoint needs, or has to give, are so far apart */
#define NEED_PART  8   /* such a part of its share is worth a report */
#define TURN_MOST  32 /* calls of an endpoint: their bodies are in memory together */

/* ---- endpoints ----------------------------------------------------------------------------- */

void tasktab_calls_bind(struct tasktab *t)
{
    each_part (t, p)
        p->endpoint = p->endpoint_name[0] != 0 && t->o.calls != NULL ? endpoints_find(&t->o.calls->endpoints, p->endpoint_name)
                                                             : NULL;
}

static int define(struct tasktab *t, const struct msg_endpoint *m)
{
    bool is_new = endpoints_find(&t->o.calls->endpoints, m->name) == NULL;
    int rc = endpoints_define(&t->o.calls->endpoints, m, t->now.ms);

    const struct trec *r = rc == 0 ? levels_find(&t->levels, m->name) : NULL;

    if (r != NULL && is_new)
        levels_resume(endpoints_find(&t->o.calls->endpoints, m->name), r, m, tasktab_clock_gone(t, r), t->now.ms);
    if (rc == 0)
        levels_follow(endpoints_find(&t->o.calls->endpoints, m->name), is_new, r, m, t->now.ms - t->now.wall_ms, t->now.ms);
    if (r != NULL)
        levels_forget(&t->levels, r);
    return rc;
}

const char *tasktab_endpoint_order(struct tasktab *t, const struct msg *m)
{
    int rc = 0;

    if (t->o.calls == NULL)
        return "this node makes no calls";
    if (m->type == MSG_ENDPOINT)
        rc = define(t, &m->endpoint);
    else
        endpoints_drop(&t->o.calls->endpoints, m->endpoint_drop.name);
    tasktab_calls_bind(t);
    t->say = true;
    return rc == 0 ? NULL : sq_strerror(rc);
}

static bool is_bound(const struct tasktab *t, const struct endpoint *ep)
{
    each_part (t, p)
        if (p->endpoint == ep)
            return true;
    return false;
}

void tasktab_calls_tidy(struct tasktab *t)
{
    each_endpoint (&t->o.calls->endpoints, ep)
        if (endpoint_is_over(ep) && !is_bound(t, ep))
            endpoints_forget(&t->o.calls->endpoints, ep);
}

static bool has_open(const struct tasktab *t, const struct part *p, const struct endpoint *ep)
{
    return p->endpoint == ep && p->life == PART_OWNED && !p->paused && !p->hold && !t->hold &&
           (p->out == NULL || p->out->calls_until == 0) && engine_has_open(&p->e);
}

/* Calls, as counted in the last seconds, and as of now. */
static void count_waiting(struct tasktab *t)
{
    each_endpoint (&t->o.calls->endpoints, ep)
        ep->waiting = 0;
    each_part (t, p)
        if (p->endpoint != NULL && has_open(t, p, p->endpoint))
            p->endpoint->waiting += u64_max(p->held[HOLD_ENDPOINT], 1);
    each_endpoint (&t->o.calls->endpoints, ep)
        if (ep->of != NULL)
            ep->waiting = ep->of->waiting;
}

static uint64_t told_ms(const struct endpoint *ep, unsigned row, msec_t now)
{
    return (uint64_t)ms_max(ep->told.of[row].until - now, 0);
}

/* Units that its next call needs: also one by which a breaker would find out whether the target is well, else it
 * would never find out. */
static uint64_t needs_of(const struct endpoint *ep, msec_t now)
{
    const struct endpoint *of = ep->of != NULL ? ep->of : ep;
    bool may = endpoint_lacks_share(ep, now) || (!ep->def.tripped && endpoint_would_try(ep, now));

    return of->waiting > 0 && may ? u64_max(ep->quota.needs, 1) : 0;
}

static struct endpoint_row endpoint_row(const struct tasktab *t, struct endpoint *ep, struct arena *a)
{
    char said[READING_SAID_MAX + 1] = "";

    ep->reading = ep->def.targets ? READING_NONE : (uint8_t)pressure_state(&ep->pressure, &ep->def, t->now.ms, said);
    return (struct endpoint_row){
        .name = ep->name,
        .serial = ep->def.serial,
        .breaker = ep->def.tripped || (ep->def.targets && endpoint_is_down(ep)) ? BREAKER_OPEN
                   : ep->def.targets ? BREAKER_CLOSED : ep->breaker.state,
        .in_flight = u64_max(ep->in_flight, ep->running),
        .held = endpoint_held(ep),
        .sent = ep->n.sent,
        .succeeded = ep->n.succeeded,
        .failed = ep->n.failed,
        .ms = ep->n.ms,
        .unusable = endpoint_unusable(ep),
        .waiting = endpoint_lacks_share(ep, t->now.ms) ? ep->waiting + endpoint_lacked(ep, t->now.ms) : 0,
        .adaptive = endpoint_adaptive(ep),
        .probe = ep->hand.no,
        .probe_state = ep->hand.state,
        .probe_ms = ep->hand.ms,
        .probe_said = ep->hand.said,
        .affine = ep->n.affine,
        .astray = ep->n.astray,
        .reading = ep->reading,
        .reading_said = said[0] != 0 ? arena_strdup(a, said) : "",
        .units = ep->n.units,
        .used = { quota_used(&ep->quota, 0, t->now.ms), quota_used(&ep->quota, 1, t->now.ms),
                  quota_used(&ep->quota, 2, t->now.ms) },
        .window = { ep->quota.purse[0].window.no, ep->quota.purse[1].window.no, ep->quota.purse[2].window.no },
        .needs = needs_of(ep, t->now.ms),
        .told_left = { ep->told.of[0].left, ep->told.of[1].left, ep->told.of[2].left },
        .told_ms = { told_ms(ep, 0, t->now.ms), told_ms(ep, 1, t->now.ms), told_ms(ep, 2, t->now.ms) },
    };
}

void tasktab_report_endpoints(struct tasktab *t, struct outbox *out)
{
    struct msg_endpoint_status *m;

    if (t->o.calls == NULL || t->o.calls->endpoints.n == 0)
        return;
    m = &outbox_add(out, t->manager, MSG_ENDPOINT_STATUS)->endpoint_status;
    m->epoch = t->epoch;
    m->v = arena_array(&out->mem, t->o.calls->endpoints.n, sizeof(*m->v));
    if (m->v == NULL)
        return;
    count_waiting(t);
    each_endpoint (&t->o.calls->endpoints, ep) {
        ep->said_wanted = ep->wanted;
        ep->said_running = ep->running;
        if (ep->def.serial != 0 && m->n < ENDPOINTS_MAX)
            m->v[m->n++] = endpoint_row(t, ep, &out->mem);
    }
}

/* ---- tasks start --------------------------------------------------------------------------- */

static void right_of(const struct part *p, task_no no, uint64_t lease, uint8_t attempt,
                     char text[RIGHT_TEXT_LEN + 1])
{
    struct attempt_right r = { .part = p->no, .no = no, .lease = lease, .attempt = attempt };

    right_sign(&r, p->seed);
    right_write(&r, text);
    text[RIGHT_TEXT_LEN] = 0;
}

static void fill_call(const struct part *p, const struct taken *k, const struct task_view *v, struct going_call *g)
{
    g->part = p->no;
    g->no = k->no;
    g->cost = k->cost;
    g->lease = k->lease;
    g->until = k->until;
    g->due_ms = tasktab_unix(p, v->entered_ms);
    g->max_result = (uint32_t)u64_min(engine_max_result(&p->e, k->no), TASK_RESULT_MAX);
    right_of(p, k->no, k->lease, (uint8_t)k->attempt, g->right);
    copy_text(g->queue, sizeof(g->queue), v->queue);
}

/* Makes the call of a started task, and what is sent; to: its target, NULL: as the endpoint chooses. Without
 * memory, or its body, it is tried again when its lease is over. Where it goes. */
static struct endpoint *begin(struct tasktab *t, struct part *p, struct endpoint *to, const struct taken *k,
                              struct outbox *out)
{
    struct msg_task_take_ans *m;
    struct going_call *g;
    struct task_view v;
    bool seen = engine_look(&p->e, k->no, &v) == 0;

    if (to == NULL)
        to = endpoint_target(p->endpoint, seen ? endpoint_affinity(p->endpoint, v.key1, v.key2) : 0, k->cost,
                             t->now.ms);
    assert(to != NULL); /* endpoint_lets(), endpoint_affords() */
    endpoint_pays(to, k->cost, t->now.ms);
    g = calls_begin(t->o.calls, to, k->attempt, t->now.ms);
    if (g != NULL && seen) {
        fill_call(p, k, &v, g);
        calls_name(t->o.calls, g);
    }
    if (to->of != NULL && engine_at_target(&p->e, k->no, k->lease, to->def.target) < 0)
        assert(!"it has just started");
    if (g == NULL || !seen)
        return to;
    m = &outbox_answer(out, PEER_SELF, g->id, MSG_TASK_TAKE_ANS)->task_take_ans;
    m->v = arena_array(&out->mem, 1, sizeof(*m->v));
    if (m->v != NULL && tasktab_fill_row(t, p, k, m->v, &out->mem) > 0)
        m->n = 1;
    p->asked = true;
    return to;
}

enum took { TOOK_NONE, TOOK_ONE, TOOK_TOO_DEAR }; /* TOO_DEAR: the next one has more units than there are */

/* The next partition's next task, to this target of the endpoint (NULL: as it chooses); NONE: there is none
 * that may start. */
static enum took take_next(struct tasktab *t, struct endpoint *ep, struct endpoint *to, struct outbox *out)
{
    uint64_t most = endpoint_affords(to != NULL ? to : ep, t->now.ms);

    for (uint32_t i = 0; i < t->n_parts; i++) {
        uint32_t at = (ep->next + i) % t->n_parts;
        struct part *p = t->part[at];
        struct taken k;

        if (!has_open(t, p, ep))
            continue;
        tasktab_clock(t, p);
        if (engine_take_call(&p->e, ep->def.deadline_ms + LEASE_MORE_MS, most, &k) <= 0) {
            if (k.cost == 0)
                continue;
            endpoint_waits(ep, k.cost, t->now.ms);
            ep->next = at;
            return TOOK_TOO_DEAR;
        }
        to = begin(t, p, to, &k, out);
        ep->next = at + 1;
        ep->running++;
        to->running += to != ep;
        return TOOK_ONE;
    }
    return TOOK_NONE;
}

static bool is_here(const struct tasktab *t, part_no no)
{
    const struct part *p = tasktab_part(t, no);

    return p != NULL && p->life == PART_OWNED;
}

static void count_left(struct tasktab *t)
{
    t->left = false;
    each_going (t->o.calls, g) {
        bool left = !is_here(t, g->part);

        g->endpoint->running += left;
        g->at->running += left && g->at != g->endpoint;
        if (left && g->at == g->endpoint) /* each target may be the one url that it had */
            list_each_of (&g->endpoint->targets, struct endpoint, in_of, x)
                x->running++;
        t->left |= left;
    }
}

/* Counts a partition: where nobody knows which target has a task, each may have it. */
static void count_at_targets(const struct part *p)
{
    uint64_t unknown = p->e.store.n[TASK_RUNNING] + p->e.cuts;

    for (unsigned no = 1; no <= TARGET_NO_MAX; no++)
        unknown -= p->e.at_target[no];
    list_each_of (&p->endpoint->targets, struct endpoint, in_of, x)
        x->running += p->e.at_target[x->def.target] + unknown;
}

/* Tasks of its partitions, and what goes on at its target of partitions that have left. */
static void count_running(struct tasktab *t)
{
    each_endpoint (&t->o.calls->endpoints, ep) {
        ep->running = endpoint_left(ep, t->now.ms);
        ep->wanted = false;
    }
    if (t->left)
        count_left(t);
    each_part (t, p)
        if (p->endpoint != NULL && p->life == PART_OWNED) {
            p->endpoint->running += p->e.store.n[TASK_RUNNING] + p->e.cuts;
            p->endpoint->wanted |= has_open(t, p, p->endpoint);
            if (p->endpoint->targets.n > 0)
                count_at_targets(p);
        }
}

/* Sends what an operator has ordered, beyond its breaker; how it is goes to the manager with the report
 * that follows its end. */
static void take_probe(struct tasktab *t, struct endpoint *ep, struct outbox *out)
{
    struct endpoint *of = ep->of != NULL ? ep->of : ep;
    enum took how;

    if (ep->hand.state != PROBE_ASKED || ep->def.targets)
        return;
    t->say = true;
    if (!endpoint_probes(ep, ep->running, of->wanted, t->now.ms))
        return;
    how = take_next(t, of, ep, out);
    of->wanted = how != TOOK_NONE;
    if (ep->hand.state == PROBE_ASKED)
        ep->hand.state = how == TOOK_NONE ? PROBE_NO_TASK : PROBE_LIMITED;
}

/* False: no more may begin now. */
static bool take_one(struct tasktab *t, struct endpoint *ep, struct outbox *out)
{
    enum took how = take_next(t, ep, NULL, out);

    ep->wanted = how != TOOK_NONE;
    return how == TOOK_ONE;
}

static bool is_full(struct calls *c)
{
    c->full = c->going.n + c->files >= c->most;
    return c->full;
}

/* Tells at once that an endpoint has run dry and has slots to give, or has work and no slot: the manager need not
 * learn it by the second. */
static void tell_need(struct tasktab *t, const struct endpoint *ep)
{
    uint64_t share = ep->def.max_concurrent;
    bool lacks = ep->wanted && !ep->said_wanted && ep->running >= share;
    bool frees = !ep->wanted && ep->running < share &&
                 (ep->said_wanted || ep->said_running > ep->running + share / NEED_PART);

    if (share != ENDPOINT_ANY && (lacks || frees) && t->now.ms - t->said_ms >= NEED_MS)
        t->say = true;
}

/* Puts the last one that came to a call, and those before it, behind the others: the next room is theirs. */
static void take_turns(struct list *endpoints, const struct endpoint *last)
{
    struct list_node *first;

    do {
        first = list_first(endpoints);
        list_remove(endpoints, first);
        list_push_back(endpoints, first);
    } while (first != &last->in);
}

void tasktab_calls_take(struct tasktab *t, struct outbox *out)
{
    struct endpoint *last = NULL;

    t->calls_due = MSEC_NEVER;
    if (t->o.calls == NULL || t->o.calls->endpoints.n == 0 || t->hold || t->stopping)
        return;
    count_running(t);
    t->o.calls->full = false;
    each_endpoint (&t->o.calls->endpoints, ep) {
        t->calls_due = ms_min(t->calls_due, breaker_advance(&ep->breaker, t->now.ms));
        take_probe(t, ep, out);
    }
    each_endpoint (&t->o.calls->endpoints, ep) {
        for (unsigned n = 0; n < TURN_MOST && ep->wanted && !is_full(t->o.calls) &&
             endpoint_lets(ep, ep->running, t->now.ms) && take_one(t, ep, out); n++)
            last = ep;
        tell_need(t, ep);
        if (ep->wanted && !is_full(t->o.calls)) /* then the end of one makes a turn */
            t->calls_due = ms_min(t->calls_due, endpoint_when(ep, ep->running, t->now.ms));
    }
    if (t->o.calls->full && last != NULL)
        take_turns(&t->o.calls->endpoints, last);
}

/* ---- and end ------------------------------------------------------------------------------- */

/* Packs what is kept of the answer: without memory nothing. */
static void keep_reply(const struct part *p, struct going_call *g, const struct call_answer *a)
{
    uint64_t most = u64_min(engine_max_result(&p->e, g->no), a->n);

    reply_pack(&(struct reply){ .status = a->status, .type = a->type, .type_n = strlen(a->type),
                                .fields = a->fields, .fields_cut = a->fields_cut }, &g->result);
    if (a->length == a->n)
        result_pack(a->body, a->n, most, &g->result);
    else
        result_pack_cut(a->body, (uint32_t)most, a->length, a->sha256, &g->result);
    if (g->result.failed) { /* not to be told to anybody */
        buf_fini(&g->result);
        buf_init(&g->result);
    }
}

struct attempt_at {
    task_no no;
    uint64_t lease;
};

/* The reply goes with the task that is tried again, or dead. */
static int keep_failed(struct tasktab *t, struct part *p, const struct attempt_at *h,
                       const struct bytes_of *kept, struct call_failed *f)
{
    int rc = tasktab_body_put(t, p, kept, &f->reply);

    if (rc < 0) /* no room for what can be done without */
        f->reply = 0;
    rc = engine_call_failed(&p->e, h->no, h->lease, f);
    if (rc != 0)
        tasktab_body_drop(t, p, f->reply);
    return rc;
}

/* The true cost of the attempt under this lease is known: so many units; 0: it has not begun. Before its end,
 * in the same turn; where that has to be tried again it comes again. */
static int true_cost(struct part *p, const struct attempt_at *h, uint64_t units)
{
    int rc = engine_settle(&p->e, h->no, h->lease, units);

    return rc == SQ_ENOMEM ? rc : 0; /* an attempt that is over: its end is refused likewise */
}

static int settle(struct tasktab *t, struct part *p, const struct going_call *g)
{
    const struct verdict *v = &g->verdict;
    const struct bytes_of kept = { (uint32_t)g->result.len, g->result.data };
    struct call_failed f = {
        v->delay_ms, v->least_ms, v->spared, v->excused, v->kind == VERDICT_DEAD,
        { .end = v->status != 0 ? ATTEMPT_STATUS : ATTEMPT_UNANSWERED, .number = v->status,
          .reason = g->why, .reason_len = (uint32_t)strlen(g->why) }, 0,
    };
    int rc = g->is_used && v->kind != VERDICT_PENDING
                 ? true_cost(p, &(struct attempt_at){ g->no, g->lease }, g->used) : 0;

    if (rc < 0)
        return rc;
    switch (v->kind) {
    case VERDICT_DONE:
        return tasktab_keep_done(t, p, g->no, g->lease, &kept);
    case VERDICT_PENDING:
        return engine_extend(&p->e, g->no, g->lease, (uint32_t)v->delay_ms);
    default:
        if (v->elsewhere)
            return engine_unseen(&p->e, g->no, g->lease);
        return keep_failed(t, p, &(struct attempt_at){ g->no, g->lease }, &kept, &f);
    }
}

bool tasktab_call_may_go(const struct tasktab *t, const struct going_call *g)
{
    const struct part *p = tasktab_part(t, g->part);

    return p != NULL && p->life == PART_OWNED && !p->hold && engine_runs(&p->e, g->no, g->lease);
}

bool tasktab_calls_cut(struct tasktab *t)
{
    bool cut = t->cut;

    t->cut = false;
    return cut;
}

bool tasktab_call_is_cut(const struct tasktab *t, const struct going_call *g)
{
    const struct part *p = tasktab_part(t, g->part);

    return g->step != CALL_ENDED && p != NULL && p->life == PART_OWNED &&
           !engine_runs(&p->e, g->no, g->lease);
}

bool tasktab_call_ends(struct tasktab *t, struct task_now now, struct going_call *g)
{
    struct part *p = tasktab_part(t, g->part);
    int rc;

    assert(g->step == CALL_ENDED);
    if (now.ms >= g->until || p == NULL || p->life != PART_OWNED)
        return true; /* a lease that is over, or a partition at another node: nobody is told */
    if (t->hold || p->hold)
        return false;
    t->now = now;
    tasktab_clock(t, p);
    t->answered = g->verdict.status;
    rc = settle(t, p, g);
    g->told_whole = rc == 0 && g->verdict.status != 0;
    t->answered = 0;
    return rc != SQ_ENOMEM && rc != SQ_ESYS && rc != SQ_EBUSY;
}

void tasktab_call_answered(struct tasktab *t, struct task_now now, struct going_call *g,
                           const struct call_answer *a)
{
    const struct part *p = tasktab_part(t, g->part);

    g->passed = p != NULL && engine_is_passed(&p->e, g->no, g->lease);
    calls_answered(g, a, now.ms, now.wall_ms);
    tasktab_follow_answered(g, a);
    if (a->fault == CALL_NONE && g->verdict.kind != VERDICT_PENDING && p != NULL)
        keep_reply(p, g, a);
}

/* ---- and are said later how they ended ------------------------------------------------------- */

static bool may_say(const struct part *p, const struct msg_task_complete *q)
{
    struct attempt_right r = { .part = p->no, .no = q->no, .lease = q->lease,
                               .attempt = (uint8_t)q->attempt };

    if (q->right.n != RIGHT_MAC_BYTES)
        return false;
    memcpy(r.mac, q->right.p, RIGHT_MAC_BYTES);
    return right_is_signed(&r, p->seed);
}

/* Packs its words, as they are kept, into t->bytes. False: no memory. */
static bool pack_said(struct tasktab *t, const struct part *p, const struct msg_task_complete *q,
                      struct bytes_of *kept)
{
    buf_reset(&t->bytes);
    reply_pack(&(struct reply){ .status = q->status, .type = q->content_type,
                                .type_n = strlen(q->content_type) }, &t->bytes);
    result_pack(q->result.p, q->result.n, engine_max_result(&p->e, q->no), &t->bytes);
    *kept = (struct bytes_of){ (uint32_t)t->bytes.len, t->bytes.data };
    return !t->bytes.failed;
}

/* The target of a task that runs; its endpoint, if that has none, or it is not known. */
static struct endpoint *target_of(const struct part *p, task_no no)
{
    task_slot slot = task_find(&p->e.store, no);

    list_each_of (&p->endpoint->targets, struct endpoint, in_of, x)
        if (slot != SLOT_NONE && x->def.target == task_at(&p->e.store, slot)->target)
            return x;
    return p->endpoint;
}

/* Units that it says, as an answer would. The rates of its endpoint are settled as those of its keys are, once; not
 * before the call's answer is there, which settles them, too. */
static int complete_cost(const struct tasktab *t, struct part *p, const struct msg_task_complete *q)
{
    const struct endpoint *ep = t->o.calls != NULL && p->endpoint_name[0] != 0 ? p->endpoint : NULL;
    uint64_t units, more = p->e.counts.units_more, back = p->e.counts.units_back;
    struct usage u;
    int rc;

    if (ep == NULL || ep->def.serial == 0 || q->result.n == 0)
        return 0;
    usage_begin(&u, ep->def.used, "application/json");
    usage_more(&u, q->result.p, q->result.n);
    if (!usage_end(&u, &units))
        return 0;
    rc = true_cost(p, &(struct attempt_at){ q->no, q->lease }, u64_min(units, ep->def.used_most));
    if (calls_of_task(t->o.calls, p->no, q->no) == NULL)
        endpoint_settles(target_of(p, q->no), p->e.counts.units_back - back, p->e.counts.units_more - more, 0, t->now.ms);
    return rc;
}

static int complete(struct tasktab *t, struct part *p, const struct msg_task_complete *q)
{
    struct call_failed f = {
        .delay_ms = q->ms == SETTLE_BY_BACKOFF ? -1 : (msec_t)q->ms,
        .for_good = q->verb == COMPLETE_DEAD,
        .how = { .end = ATTEMPT_STATUS, .number = q->status, .reason = (const char *)q->reason.p,
                 .reason_len = q->reason.n },
    };
    struct bytes_of kept;

    if (q->verb == COMPLETE_EXTEND)
        return engine_extend(&p->e, q->no, q->lease, q->ms);
    if (q->status < 100 || f.delay_ms > DELAY_MAX_MS)
        return SQ_EINVAL;
    if (!pack_said(t, p, q, &kept) || complete_cost(t, p, q) < 0)
        return SQ_ENOMEM;
    return q->verb == COMPLETE_SUCCEEDED
               ? tasktab_keep_done(t, p, q->no, q->lease, &kept)
               : keep_failed(t, p, &(struct attempt_at){ q->no, q->lease }, &kept, &f);
}

/* The attempt is over, and ended as is said now. */
static bool ended_so(const struct part *p, const struct msg_task_complete *q)
{
    task_slot slot = task_find(&p->e.store, q->no);
    const struct task *k = slot != SLOT_NONE ? task_at(&p->e.store, slot) : NULL;
    struct attempt a[ATTEMPTS_KEPT + 1];
    uint32_t earlier;

    if (k == NULL || q->verb == COMPLETE_EXTEND)
        return false;
    if (q->verb == COMPLETE_SUCCEEDED)
        return k->state == TASK_SUCCEEDED && k->attempts == q->attempt;
    for (unsigned n = look_at_history(&p->e, slot, a, &earlier); n-- > 0;)
        if (a[n].no == q->attempt && a[n].number == q->status)
            return a[n].end == ATTEMPT_CANCELLED || /* stopped on order: its end was the task's */
                   (a[n].end == ATTEMPT_STATUS &&
                    (q->verb == COMPLETE_FAILED ||
                     (k->state == TASK_DEAD && k->attempts == q->attempt)));
    return false;
}

static uint8_t try_complete(struct tasktab *t, struct part *p, const struct msg_task_complete *q)
{
    int rc;

    if (!may_say(p, q))
        return CODE_INVALID;
    t->answered = q->verb != COMPLETE_EXTEND ? q->status : 0;
    rc = complete(t, p, q);
    t->answered = 0;
    if (rc == SQ_ECONFLICT && q->verb != COMPLETE_EXTEND)
        (void)!engine_cut_ends(&p->e, q->no, q->attempt); /* the target has stopped */
    return rc == SQ_ECONFLICT && ended_so(p, q) ? CODE_SAME : tasktab_code(t, rc);
}

void tasktab_complete(struct tasktab *t, struct asker a, const struct msg_task_complete *q,
                      struct outbox *out)
{
    struct msg_task_complete_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_COMPLETE_ANS)->task_complete_ans;
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    task_slot slot;

    t->n.settled++;
    if (p == NULL)
        return;
    m->code = try_complete(t, p, q);
    slot = task_find(&p->e.store, q->no);
    if (slot == SLOT_NONE || m->code == CODE_INVALID)
        return;
    m->state = (uint8_t)task_at(&p->e.store, slot)->state;
    m->until_ms = tasktab_unix(p, wheel_when(&p->e.timers, slot));
}

/* calls.c: each turn, the partitions of an endpoint in their turn, while it lets calls go. */
#include "task/table/calls.h"

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/task/reply.h"
#include "task/engine/look.h"
#include "task/engine/settle.h"
#include "task/engine/take.h"
#include "task/table/answer.h"
#include "task/table/ask.h"
#include "task/table/parts.h"
#include "task/table/result.h"
#include "task/table/shared.h"

#define LOG_MODULE    "calls"
#define LEASE_MORE_MS 10000u /* than the deadline */
#define TURN_MOST     32     /* of an endpoint: their bodies are in memory together */

/* ---- endpoints ----------------------------------------------------------------------------- */

void tasktab_calls_bind(struct tasktab *t)
{
    each_part (t, p)
        p->endpoint = p->endpoint_name[0] != 0 && t->o.calls != NULL ? calls_find(t->o.calls, p->endpoint_name)
                                                             : NULL;
}

const char *tasktab_endpoint_order(struct tasktab *t, const struct msg *m)
{
    int rc = 0;

    if (t->o.calls == NULL)
        return "this node makes no calls";
    if (m->type == MSG_ENDPOINT)
        rc = calls_define(t->o.calls, &m->endpoint, t->now.ms);
    else
        calls_drop(t->o.calls, m->endpoint_drop.name);
    tasktab_calls_bind(t);
    t->say = true;
    return rc == 0 ? NULL : sq_strerror(rc);
}

static bool has_open(const struct tasktab *t, const struct part *p, const struct endpoint *ep)
{
    return p->endpoint == ep && p->life == PART_OWNED && !p->paused && !p->hold && !t->hold &&
           engine_has_open(&p->e);
}

/* As counted in the last seconds, and as it is now. */
static void count_waiting(struct tasktab *t)
{
    each_endpoint (t->o.calls, ep)
        ep->waiting = 0;
    each_part (t, p)
        if (p->endpoint != NULL && has_open(t, p, p->endpoint))
            p->endpoint->waiting += u64_max(p->held[HOLD_ENDPOINT], 1);
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
    each_endpoint (t->o.calls, ep) {
        const struct endpoint_counts *n = &ep->n;

        if (ep->def.serial != 0 && m->n < ENDPOINTS_MAX)
            m->v[m->n++] = (struct endpoint_row){ ep->name, ep->def.serial, ep->breaker.state,
                                                  u64_max(ep->in_flight, ep->running), n->sent,
                                                  n->succeeded, n->failed, n->ms, ep->unusable,
                                                  endpoint_is_down(ep) ? 0 : ep->waiting };
    }
}

/* ---- tasks start --------------------------------------------------------------------------- */

/* It has started: its call, and what is sent. Without memory, or its body, it is tried again when
 * its lease is over. */
static void begin(struct tasktab *t, struct part *p, const struct taken *k, struct outbox *out)
{
    struct going_call *g = calls_begin(t->o.calls, p->endpoint, k->attempt, t->now.ms);
    struct msg_task_take_ans *m;
    struct task_view v;

    if (g == NULL || engine_look(&p->e, k->no, &v) < 0)
        return;
    g->part = p->no;
    g->no = k->no;
    g->lease = k->lease;
    g->until = k->until;
    g->due_ms = tasktab_unix(p, v.entered_ms);
    copy_text(g->queue, sizeof(g->queue), v.queue);
    m = &outbox_answer(out, PEER_SELF, g->id, MSG_TASK_TAKE_ANS)->task_take_ans;
    m->v = arena_array(&out->mem, 1, sizeof(*m->v));
    if (m->v != NULL && tasktab_fill_row(t, p, k, m->v, &out->mem) > 0)
        m->n = 1;
    p->asked = true;
}

/* The next partition's next task; false: there is none that may start. */
static bool take_next(struct tasktab *t, struct endpoint *ep, struct outbox *out)
{
    for (uint32_t i = 0; i < t->n_parts; i++) {
        uint32_t at = (ep->next + i) % t->n_parts;
        struct part *p = t->part[at];
        struct taken k;

        if (!has_open(t, p, ep))
            continue;
        tasktab_clock(t, p);
        if (engine_take_any(&p->e, ep->def.deadline_ms + LEASE_MORE_MS, &k) <= 0)
            continue;
        begin(t, p, &k, out);
        ep->next = at + 1;
        return true;
    }
    return false;
}

static void count_running(struct tasktab *t)
{
    each_endpoint (t->o.calls, ep) {
        ep->running = 0;
        ep->wanted = false;
    }
    each_part (t, p)
        if (p->endpoint != NULL && p->life == PART_OWNED) {
            p->endpoint->running += p->e.store.n[TASK_RUNNING] + p->e.cuts;
            p->endpoint->wanted |= has_open(t, p, p->endpoint);
        }
}

void tasktab_calls_take(struct tasktab *t, struct outbox *out)
{
    t->calls_due = MSEC_NEVER;
    if (t->o.calls == NULL || t->o.calls->endpoints.n == 0 || t->hold || t->stopping)
        return;
    count_running(t);
    each_endpoint (t->o.calls, ep) {
        t->calls_due = ms_min(t->calls_due, breaker_advance(&ep->breaker, t->now.ms));
        for (unsigned n = 0; n < TURN_MOST && ep->wanted && endpoint_lets(ep, ep->running, t->now.ms);
             n++) {
            ep->wanted = take_next(t, ep, out);
            ep->running += ep->wanted;
        }
        if (ep->wanted)
            t->calls_due = ms_min(t->calls_due, endpoint_when(ep, ep->running, t->now.ms));
    }
}

/* ---- and end ------------------------------------------------------------------------------- */

/* What is kept of the answer: without memory nothing. */
static void keep_reply(const struct part *p, struct going_call *g, const struct call_answer *a)
{
    uint64_t most = u64_min(engine_max_result(&p->e, g->no), a->n);

    reply_pack(a->status, a->type, strlen(a->type), &g->result);
    if (a->length == a->n)
        result_pack(a->body, a->n, most, &g->result);
    else
        result_pack_cut(a->body, (uint32_t)most, a->length, a->sha256, &g->result);
    if (g->result.failed) { /* nobody can be told what it said */
        buf_fini(&g->result);
        buf_init(&g->result);
    }
}

/* The reply goes with the task that is tried again, or dead. */
static int keep_failed(struct tasktab *t, struct part *p, const struct going_call *g,
                       struct call_failed *f)
{
    const struct bytes_of kept = { (uint32_t)g->result.len, g->result.data };
    int rc = tasktab_body_put(t, p, &kept, &f->reply);

    if (rc < 0) /* no room for what can be done without */
        f->reply = 0;
    rc = engine_call_failed(&p->e, g->no, g->lease, f);
    if (rc != 0)
        tasktab_body_drop(t, p, f->reply);
    return rc;
}

static int settle(struct tasktab *t, struct part *p, const struct going_call *g)
{
    const struct verdict *v = &g->verdict;
    const struct bytes_of kept = { (uint32_t)g->result.len, g->result.data };
    struct call_failed f = {
        v->delay_ms, v->least_ms, v->spared, v->kind == VERDICT_DEAD,
        { .end = v->status != 0 ? ATTEMPT_STATUS : ATTEMPT_UNANSWERED, .number = v->status,
          .reason = g->why, .reason_len = (uint32_t)strlen(g->why) }, 0,
    };

    return v->kind == VERDICT_DONE ? tasktab_keep_done(t, p, g->no, g->lease, &kept)
                                   : keep_failed(t, p, g, &f);
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
        return true; /* its lease is over, or another node has the partition: nobody is told */
    if (t->hold || p->hold)
        return false;
    t->now = now;
    tasktab_clock(t, p);
    t->answered = g->verdict.status;
    rc = settle(t, p, g);
    t->answered = 0;
    return rc != SQ_ENOMEM && rc != SQ_ESYS && rc != SQ_EBUSY;
}

void tasktab_call_answered(struct tasktab *t, struct task_now now, struct going_call *g,
                           const struct call_answer *a)
{
    const struct part *p = tasktab_part(t, g->part);

    calls_answered(g, a, now.ms, now.wall_ms);
    if (a->fault == CALL_NONE && p != NULL)
        keep_reply(p, g, a);
}

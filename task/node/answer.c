/* answer.c: what a look and a take are told. */
#include "task/node/answer.h"

#include <string.h>

#include "common/base/err.h"
#include "common/task/call.h"
#include "task/calls/endpoint_lets.h"
#include "task/calls/estimates.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/engine/tqueue.h"
#include "task/engine/worker.h"
#include "task/node/body.h"
#include "task/node/calls.h"
#include "task/node/parts.h"

static bool is_whole_here(const struct tasktab *t, const struct msg_task_get_ans *m)
{
    const struct tab_answers *w = &t->o.answers;

    return w->have != NULL && m->result_length > m->result.n &&
           w->have(w->ctx, m->part, m->no, m->result_length, m->result_sha256.p);
}

/* The bytes of a result are there. One without bytes was not given. False: they are not what was
 * packed, or there is no memory; then there is none in the answer. */
static bool unpack(struct tasktab *t, struct msg_task_get_ans *m, struct arena *mem)
{
    struct bytes_of kept = m->result;
    struct reply reply;
    struct result r;
    uint8_t *hash;

    if (kept.n == 0)
        return true;
    m->result = (struct bytes_of){ 0 };
    if (reply_unpack(kept.p, kept.n, &reply) < 0 ||
        result_unpack(reply.rest, reply.rest_n, &r) < 0) {
        t->n.lost_bodies++;
        return false;
    }
    hash = arena_memdup(mem, r.sha256, sizeof(r.sha256));
    m->content_type = reply.type_n > 0 ? arena_strndup(mem, reply.type, reply.type_n) : "";
    if (hash == NULL || m->content_type == NULL) {
        m->content_type = "";
        return false;
    }
    m->status = reply.status;
    m->fields = (struct bytes_of){ (uint32_t)reply.fields.n, (const uint8_t *)reply.fields.p };
    m->fields_cut = reply.fields_cut;
    m->result = (struct bytes_of){ r.n, r.p };
    m->result_length = r.length;
    m->result_sha256 = (struct bytes_of){ RESULT_SHA256, hash };
    m->result_whole = is_whole_here(t, m);
    return true;
}

void tasktab_arrived(struct tasktab *t, struct msg *m, struct arena *mem)
{
    if (m->type == MSG_TASK_GET_ANS && !unpack(t, &m->task_get_ans, mem))
        m->task_get_ans.code = CODE_BUSY;
    if (m->type == MSG_TASK_DO_ANS && m->task_do_ans.n == 1 && !unpack(t, m->task_do_ans.v, mem))
        m->task_do_ans.code = CODE_BUSY;
}

bool tasktab_load_result(struct tasktab *t, const struct part *p, uint64_t ref, struct msg_task_get_ans *m,
                         struct arena *mem)
{
    return tasktab_body_load(t, p, ref, &m->result, mem) &&
           (t->o.shared != NULL || unpack(t, m, mem));
}

/* ---- looks ------------------------------------------------------------------------- */

static const struct msg_task_get_ans nothing = { .content_type = "", .queue = "", .key1 = "", .key2 = "",
                                                 .limited_by = "" };

static void say_eta(struct task_view *v, enum task_eta by, int64_t ms)
{
    v->eta = by;
    v->eta_ms = ms;
}

/* Windows begin at whole seconds of the calendar; the two axes are known to some milliseconds. */
static msec_t whole_second(const struct part *p, msec_t at)
{
    int64_t unix_ms = tasktab_unix(p, at);

    return at + (unix_ms + 500) / 1000 * 1000 - unix_ms;
}

/* Waits for the next calendar window of the endpoint, or of its budget, are waits for a limit. */
static void reckon_window(const struct part *p, struct task_view *v)
{
    const char *whose;
    msec_t ends = endpoint_window(p->endpoint, v->turns, p->e.at, &whose);

    if (ends == 0)
        return;
    v->limited = CLOSED_WINDOW;
    v->limited_by = whose;
    v->limited_until = whole_second(p, ends);
    if (v->eta_ms < ends - p->e.at)
        say_eta(v, TASK_ETA_RATE, ends - p->e.at);
}

/* The endpoint's word goes before that of the engine if it says that nothing goes, or a later time. */
void tasktab_reckon(const struct part *p, struct task_view *v)
{
    enum task_eta by = TASK_ETA_ENDPOINT;
    int64_t ms = -1;

    if ((v->limited & CLOSED_WINDOW) != 0) /* queue or key: the engine says so */
        v->limited_until = whole_second(p, v->limited_until);
    if (p->paused) {
        say_eta(v, TASK_ETA_PAUSED, -1);
        return;
    }
    if (p->endpoint_name[0] == 0)
        return;
    if (p->endpoint != NULL)
        by = endpoint_eta(p->endpoint, v->turns, p->e.at, &ms);
    if (by == TASK_ETA_PAUSED || by == TASK_ETA_ENDPOINT || by == TASK_ETA_TRIPPED || v->eta == TASK_ETA_NO_WORKER ||
        (v->eta_ms >= 0 && ms > v->eta_ms) || (v->young && v->eta == TASK_ETA_PACE && ms >= 0))
        say_eta(v, by, ms); /* the endpoint knows better how fast a young line goes */
    if (v->limited == 0 && by == TASK_ETA_RATE)
        reckon_window(p, v);
    if (v->limited == 0 && (by == TASK_ETA_CONCURRENCY || (by == TASK_ETA_RATE && ms > 0)) &&
        p->endpoint->def.budget[0] != 0) {
        v->limited = CLOSED_BUDGET;
        v->limited_by = p->endpoint->def.budget;
    }
}

/* Where the operator's service has spoken lately, its estimate is told in place of ours. Not where nothing
 * goes, as we know for sure, of a task that goes first, nor one that is below what a rate of ours allows. */
void tasktab_hear_service(const struct part *p, const char *queue, struct task_view *v)
{
    bool stands = v->eta == TASK_ETA_PAUSED || v->eta == TASK_ETA_TRIPPED || v->eta == TASK_ETA_ENDPOINT;
    int64_t ms;

    if (p->estimates == NULL || v->first || stands)
        return;
    ms = estimates_of(p->estimates, queue, v->turns, p->tab->now.ms);
    if (ms >= 0 && (v->eta != TASK_ETA_RATE || ms >= v->eta_ms))
        say_eta(v, TASK_ETA_SERVICE, ms);
}

/* A caller is told a wait of this queue, so the service is asked about it. */
static void is_looked_at(const struct part *p, const char *queue)
{
    if (p->estimates != NULL)
        estimates_look(p->estimates, queue, p->tab->now.ms);
}

void tasktab_tell_progress(const struct part *p, const struct progress *x, struct progress_said *to,
                           struct arena *mem)
{
    if (x == NULL)
        return;
    *to = (struct progress_said){ .ms = tasktab_unix(p, x->at), .percent = x->percent,
                                .text = { x->text_n, arena_memdup(mem, x->bytes, x->text_n) },
                                .data = { x->data_n, arena_memdup(mem, x->bytes + x->text_n, x->data_n) } };
    if (mem->failed)
        *to = (struct progress_said){ 0 };
}

/* The tasks before it and behind it. */
static void tell_chain(const struct task_view *v, struct msg_task_get_ans *m)
{
    if (v->chain == NULL)
        return;
    m->after_part = v->chain->after_part;
    m->after_no = v->chain->after_no;
    m->then = v->chain->state;
    m->then_why = v->chain->why;
    m->then_part = v->chain->next_part;
    m->then_no = v->chain->next_no;
}

/* Tells its queues but for the one in which it is itself. */
static void tell_offer(const struct part *p, task_no no, struct msg_task_get_ans *m, struct arena *mem)
{
    const struct offer *f = offers_of(&p->e.offers, task_slot_of(no));
    char text[OFFER_TEXT], *w = text;

    if (f == NULL)
        return;
    for (unsigned i = 0; i < f->n; i++) {
        const struct tqueue *q = tqueue_of(&p->e, f->v[i].slot);

        if (i == f->own)
            continue;
        if (w > text)
            *w++ = ',';
        memcpy(w, q->name, q->len);
        w += q->len;
    }
    m->offer = (struct bytes_of){ (uint32_t)(w - text), arena_memdup(mem, text, (size_t)(w - text)) };
    m->offer.n = m->offer.p != NULL ? m->offer.n : 0;
}

uint64_t tasktab_tell(const struct part *p, task_no no, bool to_caller, struct msg_task_get_ans *m,
                      struct arena *mem)
{
    struct task_view v;

    *m = nothing;
    if (engine_look(&p->e, no, &v) < 0) {
        m->code = CODE_UNKNOWN;
        return 0;
    }
    if (v.state == TASK_WAITING) {
        tasktab_reckon(p, &v);
        if (to_caller)
            tasktab_hear_service(p, v.queue, &v);
    }
    *m = (struct msg_task_get_ans){
        .part = p->no,
        .no = no,
        .content_type = "",
        .state = (uint8_t)v.state,
        .priority = v.priority,
        .attempts = v.attempts,
        .target = v.state == TASK_RUNNING ? task_at(&p->e.store, task_slot_of(no))->target : 0,
        .stopping = v.stopping,
        .queue = arena_strdup(mem, v.queue),
        .key1 = arena_strdup(mem, v.key1),
        .key2 = arena_strdup(mem, v.key2),
        .order = v.order,
        .entered_ms = tasktab_unix(p, v.entered_ms),
        .started_ms = tasktab_unix(p, v.started_ms),
        .ended_ms = tasktab_unix(p, v.ended_ms),
        .until_ms = v.by_wall ? v.until_ms : tasktab_unix(p, v.until_ms),
        .position = v.position,
        .waiting = v.waiting,
        .ahead_of_key = v.ahead_of_key,
        .ahead_of_priority = v.state == TASK_WAITING ? v.ahead_of_priority + 1 : 0,
        .limited = v.limited,
        .limited_by = arena_strdup(mem, v.limited_by != NULL ? v.limited_by : ""),
        .limited_until_ms = tasktab_unix(p, v.limited_until),
        .eta = (uint8_t)v.eta,
        .eta_ms = v.eta_ms,
    };
    tell_chain(&v, m);
    if (p->e.offers.n > 0)
        tell_offer(p, no, m, mem);
    tasktab_tell_progress(p, v.progress, &m->progress, mem);
    m->cost_used = v.is_settled ? v.cost_used + 1 : 0;
    if (v.own != NULL) {
        m->own = *v.own;
        m->own.labels = arena_strdup(mem, v.own->labels);
    }
    if (mem->failed) {
        *m = nothing;
        m->code = CODE_BUSY;
    }
    return m->code != CODE_DONE           ? 0
           : v.state == TASK_SUCCEEDED ? v.body
           : v.state == TASK_DEAD      ? replies_of(&p->e.replies, task_slot_of(no))
                                       : 0;
}

/* For its callers: operators are told every place. 0: none is held back. */
static uint64_t cap_of(const struct part *p, const char *queue)
{
    struct trec_text name = tasktab_text(queue);
    const struct task_rules *r = engine_rules_of(&p->e, &name);

    return r != NULL ? r->position_cap : 0;
}

/* ahead: plus 1, which is how it goes over the wire. It is below the place, so one as large as that says `or more`. */
static uint64_t capped_ahead(uint64_t ahead, uint64_t cap)
{
    return cap > 0 ? u64_min(ahead, cap + 1) : ahead;
}

static void cap_place(const struct part *p, const char *queue, struct msg_task_get_ans *m)
{
    uint64_t cap = m->waiting > 0 ? cap_of(p, queue) : 0;

    m->position_capped = cap > 0 && m->position > cap;
    m->waiting_capped = cap > 0 && m->waiting > cap;
    if (m->position_capped)
        m->position = cap;
    if (m->waiting_capped)
        m->waiting = cap;
    m->ahead_of_priority = capped_ahead(m->ahead_of_priority, cap);
}

bool tasktab_place(const struct part *p, task_no no, struct place_row *r, const struct progress **said)
{
    struct task_view v;
    uint64_t cap;

    if (engine_look(&p->e, no, &v) < 0)
        return false;
    r->state = (uint8_t)v.state;
    if (v.state == TASK_WAITING) {
        tasktab_reckon(p, &v);
        tasktab_hear_service(p, v.queue, &v);
        is_looked_at(p, v.queue);
    }
    cap = v.state == TASK_WAITING ? cap_of(p, v.queue) : 0;
    r->capped = cap > 0 && v.position > cap;
    r->position = r->capped ? cap : v.position;
    r->ahead_of_priority = v.state == TASK_WAITING ? capped_ahead(v.ahead_of_priority + 1, cap) : 0;
    r->eta = (uint8_t)v.eta;
    r->eta_ms = v.eta_ms;
    r->attempts = (uint8_t)v.attempts;
    *said = v.progress;
    return true;
}

void tasktab_answer_count(struct asker a, const struct part *p, const char *queue, struct outbox *out)
{
    struct msg_task_get_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_GET_ANS)->task_get_ans;
    struct submit s = { .queue = tasktab_text(queue) };
    struct task_view v;

    *m = nothing;
    engine_foresee(&p->e, &s, &v);
    tasktab_reckon(p, &v);
    tasktab_hear_service(p, queue, &v);
    is_looked_at(p, queue);
    m->waiting = v.waiting;
    m->eta = (uint8_t)v.eta;
    m->eta_ms = v.eta_ms;
    cap_place(p, queue, m);
}

void tasktab_feed(struct tasktab *t, struct asker a, const struct msg_task_feed *q, struct outbox *out)
{
    struct msg_task_feed_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_FEED_ANS)->task_feed_ans;
    struct part *p = tasktab_owned(t, q->part, q->epoch);
    struct trec_text queue = tasktab_text(q->queue);
    struct feed_event v[FEED_ROWS_MAX];
    struct feed_asker who = { .whose = q->whose };
    struct feed_part got;
    const struct feed *f;

    m->code = p == NULL ? CODE_STALE : p->hold || t->hold ? CODE_BUSY : CODE_DONE;
    if (m->code != CODE_DONE)
        return;
    f = engine_feed(&p->e, &queue, &who);
    m->v = arena_array(&out->mem, q->most, sizeof(*m->v));
    if (f == NULL || m->v == NULL) {
        m->code = f == NULL ? CODE_FULL : CODE_BUSY;
        m->of_token = who.has_most;
        return;
    }
    got = feed_read(f, q->after, v, q->most);
    m->next = got.next;
    m->gap = got.gap;
    m->n = got.n;
    for (unsigned i = 0; i < got.n; i++)
        m->v[i] = (struct feed_row){ v[i].state, v[i].no, v[i].attempts, tasktab_unix(p, v[i].at) };
}

void tasktab_tell_history(const struct part *p, task_no no, struct msg_task_get_ans *m,
                          struct arena *mem)
{
    task_slot slot = task_find(&p->e.store, no);
    struct attempt a[ATTEMPTS_KEPT + 1];
    unsigned n = slot != SLOT_NONE ? look_at_history(&p->e, slot, a, &m->earlier) : 0;

    m->history = n > 0 ? arena_array(mem, n, sizeof(*m->history)) : NULL;
    m->n_history = m->history != NULL ? n : 0;
    for (unsigned i = 0; i < m->n_history; i++)
        m->history[i] = (struct attempt_row){
            .no = a[i].no, .end = a[i].end, .number = a[i].number,
            .started_ms = tasktab_unix(p, a[i].started), .ended_ms = tasktab_unix(p, a[i].ended),
            .again_ms = tasktab_unix(p, a[i].again),
            .reason = { a[i].reason_len, arena_memdup(mem, a[i].reason, a[i].reason_len) },
        };
    if (mem->failed) {
        *m = nothing;
        m->code = CODE_BUSY;
    }
}

void tasktab_answer_get(struct tasktab *t, struct asker a, const struct part *p, task_no no,
                        bool result, struct outbox *out)
{
    struct msg_task_get_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_GET_ANS)->task_get_ans;
    uint64_t ref = tasktab_tell(p, no, true, m, &out->mem);

    cap_place(p, m->queue, m);
    if (m->code == CODE_DONE && m->state == TASK_WAITING)
        is_looked_at(p, m->queue);
    if (m->code == CODE_DONE)
        tasktab_tell_history(p, no, m, &out->mem);
    if (result && !tasktab_load_result(t, p, ref, m, &out->mem))
        m->code = CODE_BUSY;
    if (m->result.n > 0)
        tasktab_weigh(a.peer, m->result.n + m->fields.n, out);
}

bool tasktab_has_result(const struct part *p, task_no no)
{
    task_slot slot = task_find(&p->e.store, no);
    const struct task *k = slot != SLOT_NONE ? task_at(&p->e.store, slot) : NULL;

    return k != NULL && ((k->state == TASK_SUCCEEDED && k->body != 0) ||
                         (k->state == TASK_DEAD && replies_of(&p->e.replies, slot) != 0));
}

void tasktab_get_nothing(struct asker a, uint8_t code, struct outbox *out)
{
    struct msg_task_get_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_GET_ANS)->task_get_ans;

    *m = nothing;
    m->code = code;
}

/* ---- answers that are kept whole --------------------------------------------------- */

bool tasktab_has_part(const struct tasktab *t, part_no part)
{
    const struct part *p = tasktab_part(t, part);

    return p != NULL && (p->life == PART_OWNED || p->life == PART_FENCED);
}

bool tasktab_has_task(const struct tasktab *t, part_no part, task_no no)
{
    return tasktab_has_part(t, part) &&
           task_find(&tasktab_part(t, part)->e.store, no) != SLOT_NONE;
}

enum task_state tasktab_state_of(const struct tasktab *t, part_no part, task_no no)
{
    const struct part *p = tasktab_part(t, part);
    task_slot slot = p != NULL ? task_find(&p->e.store, no) : SLOT_NONE;

    return slot != SLOT_NONE ? (enum task_state)task_at(&p->e.store, slot)->state : TASK_FREE;
}

void tasktab_read(struct tasktab *t, struct asker a, const struct msg_task_read *q,
                  struct outbox *out)
{
    struct msg_task_read_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_READ_ANS)->task_read_ans;
    const struct part *p = tasktab_owned(t, q->part, q->epoch);
    uint8_t *to;
    int64_t n;

    m->code = p == NULL ? CODE_STALE : p->hold ? CODE_BUSY : CODE_UNKNOWN;
    if (p == NULL || p->hold || t->o.answers.read == NULL || q->sha256.n != RESULT_SHA256 ||
        task_find(&p->e.store, q->no) == SLOT_NONE)
        return;
    to = arena_array(&out->mem, q->most, 1);
    n = to != NULL ? t->o.answers.read(t->o.answers.ctx, q, to, q->most) : SQ_ENOMEM;
    if (n >= 0) {
        m->code = CODE_DONE;
        m->data = (struct bytes_of){ (uint32_t)n, to };
        tasktab_weigh(a.peer, (size_t)n, out);
    } else if (n != SQ_EUNKNOWN) {
        m->code = CODE_BUSY;
    }
}

/* ---- takes ------------------------------------------------------------------------- */

void tasktab_take_nothing(struct asker a, uint8_t code, struct outbox *out)
{
    outbox_answer(out, a.peer->no, a.rid, MSG_TASK_TAKE_ANS)->task_take_ans.code = code;
}

size_t tasktab_fill_row(struct tasktab *t, const struct part *p, const struct taken *k,
                        struct taken_row *r, struct arena *mem)
{
    struct task_view v;
    int rc = engine_look(&p->e, k->no, &v);

    assert(rc == 0 && v.state == TASK_RUNNING);
    (void)rc;
    *r = (struct taken_row){ .no = k->no, .lease = lease_outside(&p->leases, k->no, k->lease),
                             .attempt = k->attempt, .until_ms = tasktab_unix(p, k->until),
                             .key1 = arena_strdup(mem, v.key1),
                             .key2 = arena_strdup(mem, v.key2) };
    if (!tasktab_body_load(t, p, k->body, &r->body, mem) || r->key1 == NULL || r->key2 == NULL)
        return 0;
    return ROW_BYTES + r->body.n + strlen(r->key1) + strlen(r->key2);
}

static void note_given(struct tasktab *t, uint64_t rid, const struct part *p, const struct taken *k)
{
    uint64_t *newest = &t->given_by_rid[rid % GIVEN_KEPT], at = ++t->n_given, back = at - *newest;

    t->given[at % GIVEN_KEPT] = (struct given){ rid, k->lease, k->no, p->no,
                                                back < GIVEN_KEPT ? (uint32_t)back : 0 };
    *newest = at;
}

bool tasktab_is_unheard(const struct tasktab *t, uint64_t rid)
{
    return t->unheard[rid % UNHEARD_KEPT] == rid && rid != 0;
}

void tasktab_unheard(struct tasktab *t, struct part *p, uint64_t rid)
{
    t->unheard[rid % UNHEARD_KEPT] = rid;
    for (uint64_t at = t->given_by_rid[rid % GIVEN_KEPT]; at != 0 && at + GIVEN_KEPT > t->n_given;) {
        struct given *g = &t->given[at % GIVEN_KEPT]; /* the newest first: each gets in front */

        if (g->rid == rid && g->part == p->no) {
            (void)!engine_unseen(&p->e, g->no, g->start); /* perhaps the lease is over */
            g->rid = 0;
        }
        at = g->back != 0 ? at - g->back : 0;
    }
}

bool tasktab_take_now(struct tasktab *t, struct asker a, const struct door *d,
                      struct outbox *out)
{
    struct trec_text queue = tasktab_text(d->queue);
    struct msg_task_take_ans *m;
    uint32_t n = 0, most = u32_min(d->most, TASK_ROWS_MAX);
    size_t bytes = 0;
    struct taken k;

    if (!tasktab_has_room(a.peer))
        return false;
    for (uint32_t i = 0; i < most && bytes < ROWS_BYTES; i++) {
        size_t more;

        if (engine_take(&d->part->e, &queue, 1, d->lease_ms, &k) <= 0)
            break;
        note_given(t, a.rid, d->part, &k);
        more = tasktab_fill_row(t, d->part, &k, &t->rows[n], &out->mem);
        bytes += more;
        n += more > 0;
    }
    if (n == 0)
        return false;
    m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_TAKE_ANS)->task_take_ans;
    m->v = arena_memdup(&out->mem, t->rows, n * sizeof(*m->v));
    m->n = m->v != NULL ? n : 0;
    tasktab_weigh(a.peer, bytes, out);
    t->n.takes++;
    return true;
}

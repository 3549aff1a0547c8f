/* commands.c: what the engine answers, as codes. A row that fails changes nothing. */
#include "task/node/commands.h"

#include <string.h>

#include "common/base/err.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "task/calls/calls.h"
#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/engine/tqueue.h"
#include "task/engine/worker.h"
#include "task/node/body.h"
#include "task/node/following.h"
#include "task/node/parts.h"
#include "task/node/submissions.h"
#include "task/node/wait.h"
#include "task/schedules/schedule_requests.h"

uint8_t tasktab_code(struct tasktab *t, int rc)
{
    switch (rc) {
    case SQ_EUNKNOWN:
        return CODE_UNKNOWN;
    case SQ_ECONFLICT:
        return CODE_CONFLICT;
    case SQ_EFULL:
        return CODE_FULL;
    case SQ_EINVAL:
    case SQ_ETOOBIG:
        return CODE_INVALID;
    case SQ_ESTALE:
        return CODE_STALE;
    default:
        t->n.busy += rc < 0; /* no memory, or bodies cannot be written */
        return rc < 0 ? CODE_BUSY : CODE_DONE;
    }
}

struct part *tasktab_commanded(struct tasktab *t, part_no no, uint64_t epoch, uint8_t *code)
{
    struct part *p = t->hold ? NULL : tasktab_owned(t, no, epoch);
    bool busy = t->hold || (p != NULL && p->hold);

    t->n.busy += busy;
    *code = busy ? CODE_BUSY : p == NULL ? CODE_STALE : CODE_DONE;
    return busy ? NULL : p;
}

static enum task_state state_of(const struct part *p, task_no no)
{
    task_slot slot = task_find(&p->e.store, no);

    return slot == SLOT_NONE ? TASK_FREE : (enum task_state)task_at(&p->e.store, slot)->state;
}

/* ---- submissions ------------------------------------------------------------------- */

/* A fast target would have told more than the answer can begin with before its reader is here. */
static void expect_reader(struct tasktab *t, struct asker a, struct part *p, task_no no, struct outbox *out)
{
    struct wait_for f = { .no = no, .ms = READER_COMES_MS, .comes = true };

    (void)!tasktab_wait(t, a, p, &f, out); /* without memory it is heard at its end */
}

void tasktab_put(struct tasktab *t, struct asker a, const struct msg_task_put *q,
                 struct outbox *out)
{
    struct msg_task_put_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_PUT_ANS)->task_put_ans;
    uint64_t tasks = tasktab_tasks(t);

    m->v = arena_array(&out->mem, q->n, sizeof(*m->v));
    if (m->v == NULL)
        return; /* nothing has been done: the answer without rows says so */
    m->n = q->n;
    for (uint32_t i = 0; i < q->n; i++) {
        struct part *p = tasktab_commanded(t, q->v[i].part, q->v[i].epoch, &m->v[i].code);
        struct put_refused why;
        int rc;

        if (p == NULL)
            continue;
        rc = tasktab_put_one(p, &q->v[i], a.peer->no, &tasks, &m->v[i].no, &why);
        m->v[i].too_long_ms = (uint32_t)ms_min(why.ms, UINT32_MAX);
        m->v[i].units = why.units;
        m->v[i].max_units = why.max_units;
        m->v[i].code = rc == 1              ? CODE_SAME
                       : rc == SQ_ECONFLICT ? CODE_MISMATCH
                       : rc == SQ_EHELD     ? CODE_HELD
                       : rc == SQ_ESEALED   ? CODE_CONFLICT
                       : rc == SQ_EFULL     ? (uint8_t)(CODE_FULL + p->e.full)
                                            : tasktab_code(t, rc);
        if (rc >= 0)
            m->v[i].state = (uint8_t)state_of(p, m->v[i].no);
        if (rc == 0 && q->v[i].read)
            expect_reader(t, a, p, m->v[i].no, out);
    }
    t->n.puts += q->n;
}

/* False: its endpoint signs, or another node may have to open what is in a file of this one. Whether it has an
 * endpoint, the router knows: behind a start nobody may have told us yet. */
static bool takes_large(const struct part *p)
{
    return p->tab->o.large.ctx != NULL && (p->endpoint == NULL || p->endpoint->def.secret_file[0] == 0);
}

void tasktab_upload(struct tasktab *t, struct asker a, const struct msg_task_upload *q, struct outbox *out)
{
    struct msg_task_upload_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_UPLOAD_ANS)->task_upload_ans;
    const struct tab_large *l = &t->o.large;
    const struct large_piece piece = { .upload = q->upload, .at = q->at, .length = q->length, .p = q->data.p,
                                       .n = q->data.n, .last = q->last };
    uint8_t sha256[RESULT_SHA256];
    const struct part *p;
    int rc;

    if (q->left && l->ctx != NULL)
        l->drop(l->ctx, a.peer->no, q->upload);
    if (q->left)
        return;
    p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    if (p == NULL)
        return;
    rc = takes_large(p) ? l->add(l->ctx, a.peer->no, &piece, sha256) : SQ_EINVAL;
    m->code = tasktab_code(t, rc);
    if (rc == 0 && q->last)
        m->sha256 = (struct bytes_of){ RESULT_SHA256, arena_memdup(&out->mem, sha256, sizeof(sha256)) };
    if (m->sha256.n > 0 && m->sha256.p == NULL)
        *m = (struct msg_task_upload_ans){ .code = CODE_BUSY };
}

/* ---- groups ------------------------------------------------------------------------ */

void tasktab_group(struct tasktab *t, struct asker a, const struct msg_task_group *q, struct outbox *out)
{
    struct msg_task_group_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_GROUP_ANS)->task_group_ans;
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    struct trec_text queue = tasktab_text(q->queue), name = tasktab_text(q->name);
    const struct group *k;
    int rc = 0;

    if (p == NULL)
        return;
    if (q->verb != GROUP_LOOK)
        rc = q->verb == GROUP_SEAL ? engine_group_seal(&p->e, &queue, &name)
                                   : engine_group_cancel(&p->e, &queue, &name);
    k = engine_group(&p->e, &queue, &name);
    m->code = k == NULL ? CODE_UNKNOWN : rc == 1 ? CODE_SAME : tasktab_code(t, rc);
    if (k == NULL)
        return;
    if (rc == 0 && q->verb != GROUP_LOOK && group_is_over(k)) /* the last task had ended before */
        tasktab_group_over(p, k);
    m->sealed = (k->flags & GROUP_SEALED) != 0;
    m->cancelling = (k->flags & GROUP_CANCELLING) != 0;
    m->counts = arena_array(&out->mem, TASK_NSTATES, sizeof(*m->counts));
    m->n_counts = m->counts != NULL ? TASK_NSTATES : 0;
    for (uint32_t s = 0; s < m->n_counts; s++)
        m->counts[s] = k->n[s];
}

/* ---- schedules --------------------------------------------------------------------- */

static int submit_tick(void *ctx, const struct task_put *put, task_no *no)
{
    return tasktab_put_here(ctx, put, no);
}

static enum task_state state_of_tick(void *ctx, task_no no)
{
    return state_of(ctx, no);
}

static void cancel_tick(void *ctx, task_no no)
{
    (void)!engine_cancel(&((struct part *)ctx)->e, no); /* perhaps over, or stopping */
}

static task_no keyed(void *ctx, const char *queue, const char *key, uint32_t n)
{
    const struct names *t = &((struct part *)ctx)->e.names;
    const struct name *found = names_find(t, names_hash(t, NAME_KEY, queue, strlen(queue), key, n));

    return found != NULL ? found->no : 0;
}

static struct schedules_host host_of(struct part *p)
{
    return (struct schedules_host){ submit_tick, state_of_tick, cancel_tick, keyed, p };
}

void tasktab_schedules_advance(struct tasktab *t, struct part *p)
{
    struct schedules_host h = host_of(p);

    schedules_advance(&p->schedules, &h, t->now.wall_ms, &p->e.log);
}

void tasktab_tell_schedules(struct part *p, const char *queue, struct msg_task_schedule_ans *a,
                            struct arena *mem)
{
    const struct msg_task_schedule q = { .verb = SCHEDULE_LIST, .queue = queue, .name = "" };
    struct schedules_host h = host_of(p);

    schedules_ask(&p->schedules, &h, &q, p->tab->now.wall_ms, &p->e.log, a, mem);
}

void tasktab_do_schedule(struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m, struct arena *mem)
{
    struct schedules_host h = host_of(p);

    schedules_do(&p->schedules, &h, q, p->tab->now.wall_ms, &p->e.log, m, mem);
}

uint8_t tasktab_run_schedule(struct part *p, const char *queue, const char *name, struct arena *mem)
{
    const struct msg_task_schedule q = { .verb = SCHEDULE_GET, .queue = queue, .name = name, .run = true };
    struct schedules_host h = host_of(p);
    struct msg_task_schedule_ans a;

    schedules_ask(&p->schedules, &h, &q, p->tab->now.wall_ms, &p->e.log, &a, mem);
    if (a.ran == SCHEDULE_FIRED)
        return CODE_DONE;
    return a.ran == SCHEDULE_SKIPPED || a.code == CODE_INVALID ? CODE_CONFLICT : a.code;
}

void tasktab_schedule(struct tasktab *t, struct asker a, const struct msg_task_schedule *q,
                      struct outbox *out)
{
    struct msg_task_schedule_ans *m =
        &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_SCHEDULE_ANS)->task_schedule_ans;
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    struct schedules_host h = host_of(p);

    m->why = "";
    if (p != NULL)
        schedules_ask(&p->schedules, &h, q, t->now.wall_ms, &p->e.log, m, &out->mem);
}

/* ---- looks ------------------------------------------------------------------------- */

static task_no number_of(const struct part *p, task_no no, const char *queue, const char *name)
{
    struct trec_text q = tasktab_text(queue), n = tasktab_text(name);

    return no != 0 || n.n == 0 ? no : engine_named(&p->e, &q, &n);
}

void tasktab_get(struct tasktab *t, struct asker a, const struct msg_task_get *q,
                 struct outbox *out)
{
    struct part *p = tasktab_owned(t, q->part, q->epoch);
    struct wait_for f = { .ms = q->wait_ms, .result = q->result, .leaves = q->leaves,
                          .window = u64_max(q->window, q->follow) >= WINDOW_BYTES ? WINDOW_BYTES : 0,
                          .follows = q->follow >= WINDOW_BYTES, .places = q->places };
    enum task_state s;

    t->n.gets++;
    if (p == NULL || p->hold) {
        tasktab_get_nothing(a, p == NULL ? CODE_STALE : CODE_BUSY, out);
        return;
    }
    if (q->no == 0 && q->name[0] == 0) {
        tasktab_answer_count(a, p, q->queue, out);
        return;
    }
    f.no = number_of(p, q->no, q->queue, q->name);
    s = state_of(p, f.no);
    if (q->result && tasktab_has_result(p, f.no) && !tasktab_has_room(a.peer))
        tasktab_owe(t, a, p, f.no, out);
    else if (f.ms == 0 || s == TASK_FREE || task_state_is_final(s) ||
        !tasktab_wait(t, a, p, &f, out))
        tasktab_answer_get(t, a, p, f.no, q->result, out);
    else if (f.window > 0 && s == TASK_RUNNING && f.follows)
        tasktab_follow(t, p, f.no);
    else
        t->reads |= f.window > 0 && s == TASK_RUNNING;
}

/* ---- takes ------------------------------------------------------------------------- */

void tasktab_take(struct tasktab *t, struct asker a, const struct msg_task_take *q,
                  struct outbox *out)
{
    uint8_t code;
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &code);
    struct door d = { p, q->queue, q->most, q->lease_ms };
    struct wait_for f = { .queue = q->queue, .ms = q->wait_ms, .most = q->most,
                          .lease_ms = q->lease_ms };

    if (p != NULL && p->endpoint_name[0] != 0)
        code = CODE_CONFLICT; /* tasks are calls */
    if (p == NULL || code != CODE_DONE || tasktab_is_unheard(t, a.rid)) {
        tasktab_take_nothing(a, code, out);
        return;
    }
    if (!p->paused && tasktab_take_now(t, a, &d, out))
        return;
    if (f.ms == 0 || !tasktab_wait(t, a, p, &f, out))
        tasktab_take_nothing(a, CODE_DONE, out);
}

/* ---- settlements ------------------------------------------------------------------- */

int tasktab_keep_done(struct tasktab *t, struct part *p, task_no no, uint64_t lease,
                      const struct bytes_of *kept)
{
    struct chain_step next;
    uint64_t ref = 0;
    int rc = tasktab_chain_ready(p, no, kept, &next)
          ?: tasktab_body_put(t, p, kept, &ref)
          ?: engine_ack(&p->e, no, lease, ref);

    if (rc != 0)
        tasktab_body_drop(t, p, ref);
    else
        tasktab_chain_goes(p, no, &next);
    tasktab_chain_over(&next);
    return rc;
}

static int ack(struct tasktab *t, struct part *p, const struct settle_row *r, uint64_t lease)
{
    struct bytes_of kept = { 0 };

    if (r->result.n > 0 || r->type.n > 0) {
        buf_reset(&t->bytes);
        if (r->type.n > 0) /* kept as the answer of a target that said 200 is */
            reply_pack(&(const struct reply){ .status = 200, .type = (const char *)r->type.p, .type_n = r->type.n },
                       &t->bytes);
        result_pack(r->result.p, r->result.n, engine_max_result(&p->e, r->no),
                    &t->bytes);
        if (t->bytes.failed)
            return SQ_ENOMEM;
        kept = (struct bytes_of){ (uint32_t)t->bytes.len, t->bytes.data };
    }
    return tasktab_keep_done(t, p, r->no, lease, &kept);
}

/* The askers may do this in other queues alone; they do not learn whether there is such a task. */
static bool is_denied(const struct part *p, task_no no, const struct bytes_of *queues)
{
    task_slot slot = queues->n > 0 ? task_find(&p->e.store, no) : SLOT_NONE;
    struct task_view v;

    if (slot == SLOT_NONE)
        return queues->n > 0;
    look_at_task(&p->e, slot, &v);
    return !queues_match((const char *)queues->p, queues->n, v.queue, strlen(v.queue));
}

/* A worker that has, or had, an offered task hears so: it may stand in another of its queues since. */
static bool is_denied_worker(const struct part *p, task_no no, const struct bytes_of *queues)
{
    bool denied = is_denied(p, no, queues);
    task_slot slot = denied ? task_find(&p->e.store, no) : SLOT_NONE;
    const struct offer *f = slot != SLOT_NONE ? offers_of(&p->e.offers, slot) : NULL;

    for (unsigned i = 0; denied && f != NULL && i < f->n; i++) {
        const struct tqueue *q = tqueue_of(&p->e, f->v[i].slot);

        denied = !queues_match((const char *)queues->p, queues->n, q->name, q->len);
    }
    return denied;
}

/* The number of the start that the worker means; 0, which no start has: of none. */
static uint64_t start_of(const struct part *p, task_no no, uint64_t lease)
{
    task_slot slot = task_find(&p->e.store, no);
    const struct task *k = slot != SLOT_NONE ? task_at(&p->e.store, slot) : NULL;

    return k != NULL && k->state == TASK_RUNNING && lease_is(&p->leases, no, k->lease, lease)
               ? k->lease : 0;
}

/* An `ack`, a `nack`, that was carried out already: its answer was lost. */
static bool is_repeated(const struct part *p, const struct settle_row *r)
{
    uint64_t start = r->verb == SETTLE_ACK    ? engine_done_start(&p->e, r->no)
                     : r->verb == SETTLE_NACK ? engine_given_back_start(&p->e, r->no)
                                              : 0;

    return start != 0 && lease_is(&p->leases, r->no, start, r->lease);
}

static int settle_one(struct tasktab *t, struct part *p, const struct settle_row *r,
                      uint64_t lease)
{
    struct attempt given_back = { .end = ATTEMPT_GIVEN_BACK };

    switch ((enum task_settle)r->verb) {
    case SETTLE_ACK:
        return ack(t, p, r, lease);
    case SETTLE_NACK:
        given_back.reason = (const char *)r->reason.p;
        given_back.reason_len = r->reason.n;
        return engine_nack(&p->e, r->no, lease,
                           r->ms == SETTLE_BY_BACKOFF ? -1 : tasktab_delay(t, p, r->ms), &given_back);
    case SETTLE_EXTEND:
        return engine_extend(&p->e, r->no, lease, r->ms);
    case SETTLE_UNSEEN:
        return engine_unseen(&p->e, r->no, lease);
    default:
        return SQ_EINVAL;
    }
}

static void settle_row(struct tasktab *t, struct asker a, const struct msg_task_settle *q, uint32_t i,
                       struct settled_row *m, struct outbox *out)
{
    const struct settle_row *r = &q->v[i];
    struct part *p = tasktab_commanded(t, r->part, r->epoch, &m->code);
    uint64_t lease = p != NULL ? start_of(p, r->no, r->lease) : 0; /* 0: nobody has it, or not by this one */
    task_slot slot;

    if (p == NULL)
        return;
    if (r->verb == SETTLE_UNHEARD) {
        if (r->lease != 0) {
            tasktab_unheard(t, p, r->lease);
            tasktab_unwait_take(t, p, a.peer, r->lease, out);
        } else {
            tasktab_untake(t, p, a.peer, out);
        }
        return;
    }
    if (lease == 0 && is_repeated(p, r)) {
        m->code = CODE_SAME;
    } else if (is_denied_worker(p, r->no, &q->queues)) {
        m->code = CODE_DENIED;
        return;
    } else {
        m->code = tasktab_code(t, settle_one(t, p, r, lease));
    }
    m->state = (uint8_t)state_of(p, r->no);
    slot = task_find(&p->e.store, r->no);
    if (slot != SLOT_NONE)
        m->until_ms = tasktab_unix(p, wheel_when(&p->e.timers, slot));
    else if (m->code == CODE_SAME && r->verb == SETTLE_ACK)
        m->state = TASK_SUCCEEDED; /* gone */
}

void tasktab_settle(struct tasktab *t, struct asker a, const struct msg_task_settle *q,
                    struct outbox *out)
{
    struct msg_task_settle_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_SETTLE_ANS)->task_settle_ans;

    m->v = arena_array(&out->mem, q->n, sizeof(*m->v));
    if (m->v == NULL)
        return; /* see tasktab_put() */
    m->n = q->n;
    for (uint32_t i = 0; i < q->n; i++)
        settle_row(t, a, q, i, &m->v[i], out);
    t->n.settled += q->n;
}

void tasktab_progress(struct tasktab *t, struct asker a, const struct msg_task_progress *q,
                      struct outbox *out)
{
    struct msg_task_progress_ans *m =
        &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_PROGRESS_ANS)->task_progress_ans;
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    const struct worker_said s = { q->percent, (const char *)q->text.p, (const char *)q->data.p, q->text.n, q->data.n };

    if (p == NULL)
        return;
    if (is_denied_worker(p, q->no, &q->queues)) {
        m->code = CODE_DENIED;
        return;
    }
    m->code = tasktab_code(t, engine_progress(&p->e, q->no, start_of(p, q->no, q->lease), &s, q->ms));
    m->state = (uint8_t)state_of(p, q->no);
    if (m->state == TASK_RUNNING)
        m->until_ms = tasktab_unix(p, wheel_when(&p->e.timers, task_slot_of(q->no)));
    t->n.settled += m->code == CODE_DONE;
}

/* ---- changes ----------------------------------------------------------------------- */

int tasktab_cancel(struct tasktab *t, struct part *p, task_no no, bool force)
{
    int rc = force ? engine_cut(&p->e, no) : engine_cancel(&p->e, no);

    t->cut |= force && rc == 0 && p->endpoint != NULL;
    return rc;
}

static int change_one(struct tasktab *t, struct part *p, task_no no,
                      const struct msg_task_change *q)
{
    struct task_patch patch = q->patch;

    switch ((enum task_change)q->verb) {
    case CHANGE_CANCEL:
        return q->unbegun ? engine_withdraw(&p->e, no) : tasktab_cancel(t, p, no, q->force);
    case CHANGE_PATCH:
        patch.delay_ms = tasktab_delay(t, p, patch.delay_ms);
        return engine_patch(&p->e, no, &patch);
    case CHANGE_READ:
        return engine_read(&p->e, no);
    case CHANGE_DISCARD:
        return engine_discard(&p->e, no);
    default:
        return SQ_EINVAL;
    }
}

void tasktab_change(struct tasktab *t, struct asker a, const struct msg_task_change *q,
                    struct outbox *out)
{
    struct msg_task_change_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_CHANGE_ANS)->task_change_ans;
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);

    t->n.changed++;
    if (p == NULL)
        return;
    if (q->no != 0 && is_denied(p, q->no, &q->queues)) {
        m->code = CODE_DENIED;
        return;
    }
    m->no = number_of(p, q->no, q->queue, q->name);
    m->code = tasktab_code(t, change_one(t, p, m->no, q));
    m->state = (uint8_t)state_of(p, m->no);
    m->maybe_executed = m->state == TASK_CANCELLED && engine_was_tried(&p->e, m->no);
}

/* operate.c: questions, also while nothing can be written; orders to one task, and to many. */
#include "task/node/operate.h"

#include <string.h>

#include "common/base/err.h"
#include "task/engine/change.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/engine/worker.h"
#include "task/node/body.h"
#include "task/node/commands.h"
#include "task/node/parts.h"
#include "task/node/submissions.h"

#define ORDERS_MOST 10000u /* tasks of a question: some milliseconds */

/* Room for n rows; false: no memory. */
static bool has_rows(struct msg_task_do_ans *m, uint32_t n, struct outbox *out)
{
    m->v = arena_array(&out->mem, n, sizeof(*m->v));
    if (m->v == NULL)
        m->code = CODE_BUSY;
    return m->v != NULL;
}

static void look(const struct part *p, task_no no, struct msg_task_do_ans *m, struct outbox *out)
{
    if (!has_rows(m, 1, out))
        return;
    (void)tasktab_tell(p, no, false, m->v, &out->mem);
    if (m->v->code == CODE_DONE)
        tasktab_tell_history(p, no, m->v, &out->mem);
    m->code = m->v->code;
    m->n = m->code == CODE_DONE;
}

static struct task_filter meant(const struct msg_task_do *q, unsigned states)
{
    return (struct task_filter){ .queue = tasktab_text(q->queue), .key1 = tasktab_text(q->key1),
                                 .key2 = tasktab_text(q->key2), .states = states,
                                 .label = tasktab_text(q->label) };
}

/* On the partition's axis; 0: any. What is before its begin is 1. */
static msec_t on_axis(const struct part *p, uint64_t unix_ms)
{
    int64_t at = (int64_t)u64_min(unix_ms, INT64_MAX) - p->unix_ahead;

    return unix_ms == 0 ? 0 : ms_max(at, 1);
}

/* None, if there is no such name, or its task is in no such state. */
static void named(const struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                  struct outbox *out)
{
    struct trec_text queue = tasktab_text(q->queue), name = tasktab_text(q->key1);
    task_no no = engine_named(&p->e, &queue, &name);

    if (no != 0)
        look(p, no, m, out);
    m->n = m->n > 0 && (q->states >> m->v->state & 1) != 0;
}

static void list(const struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                 struct outbox *out)
{
    struct task_filter f = meant(q, q->states);
    uint32_t most = u32_min(q->most, TASK_ROWS_MAX);
    task_no *no = arena_array(&out->mem, most, sizeof(*no));
    task_slot at = q->after;

    if (no == NULL || !has_rows(m, most, out)) {
        m->code = CODE_BUSY;
        return;
    }
    f.since = on_axis(p, q->since_ms);
    f.until = on_axis(p, q->until_ms);
    m->n = engine_list(&p->e, &f, &at, no, most);
    m->after = at != SLOT_NONE ? at : 0;
    for (uint32_t i = 0; i < m->n; i++)
        (void)tasktab_tell(p, no[i], false, &m->v[i], &out->mem);
    if (out->mem.failed) {
        m->n = 0;
        m->code = CODE_BUSY;
    }
}

static struct key_row key_row(const struct part *p, const struct key_view *v, struct arena *mem)
{
    return (struct key_row){ arena_strdup(mem, v->key1), arena_strdup(mem, v->key2), v->waiting,
                             v->running, v->limited, tasktab_unix(p, v->limited_until), v->dead,
                             v->redriving };
}

static void keys(const struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                 struct outbox *out)
{
    struct trec_text queue = tasktab_text(q->queue);
    uint32_t most = u32_min(q->most, TASK_ROWS_MAX), at = q->after;
    struct key_view *v = arena_array(&out->mem, most, sizeof(*v));

    m->keys = arena_array(&out->mem, most, sizeof(*m->keys));
    if (v == NULL || m->keys == NULL) {
        m->code = CODE_BUSY;
        return;
    }
    if (queue.n > 0)
        engine_top_keys(&p->e, &queue, &at, v, &m->n_keys, most);
    else
        engine_top_queues(&p->e, &at, LIST_STEPS, v, &m->n_keys, most);
    m->after = at != SLOT_NONE ? at : 0;
    for (uint32_t i = 0; i < m->n_keys; i++)
        m->keys[i] = key_row(p, &v[i], &out->mem);
    if (out->mem.failed) {
        m->n_keys = 0;
        m->code = CODE_BUSY;
    }
}

static void schedules(struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                      struct outbox *out)
{
    struct msg_task_schedule_ans a;

    tasktab_tell_schedules(p, q->queue, &a, &out->mem);
    m->code = a.code;
    m->n_schedules = a.n;
    m->schedules = a.v;
}

/* ---- the first tasks, in the order in which they would start ------------------------- */

/* Numbers of the first tasks, in the arena; NULL: no memory. */
static task_no *first_of(struct part *p, const char *queue, uint32_t most, struct first_tasks *f,
                         struct arena *mem)
{
    struct trec_text name = tasktab_text(queue);
    task_no *no = arena_array(mem, most, sizeof(*no));

    if (no == NULL || engine_first(&p->e, &name, most, no, f) < 0)
        return NULL;
    f->now = p->paused ? 0 : f->now;
    return no;
}

/* Bytes of the row in the frame; 0: no memory, or the payload is lost. */
static size_t first_row(struct tasktab *t, const struct part *p, task_no no, bool bodies,
                        struct first_row *r, struct arena *mem)
{
    struct task_view v;

    look_at_task(&p->e, task_slot_of(no), &v);
    *r = (struct first_row){ .no = no, .attempts = v.attempts, .priority = v.priority, .order = v.order,
                             .entered_ms = tasktab_unix(p, v.entered_ms), .key1 = arena_strdup(mem, v.key1),
                             .key2 = arena_strdup(mem, v.key2) };
    if (r->key1 == NULL || r->key2 == NULL || (bodies && !tasktab_body_load(t, p, v.body, &r->body, mem)))
        return 0;
    return ROW_BYTES + r->body.n + strlen(r->key1) + strlen(r->key2);
}

static void fill_first(struct tasktab *t, struct asker a, struct part *p, const struct msg_task_first *q,
                       struct msg_task_first_ans *m, struct outbox *out)
{
    struct first_tasks f;
    task_no *no = first_of(p, q->queue, q->most, &f, &out->mem);
    size_t bytes = 0;

    m->v = arena_array(&out->mem, q->most, sizeof(*m->v));
    if (no == NULL || m->v == NULL) {
        m->code = CODE_BUSY;
        return;
    }
    m->waiting = f.waiting;
    m->now = f.now;
    m->cut = f.cut;
    for (uint32_t i = 0; i < f.n && m->code == CODE_DONE; i++) {
        size_t more = bytes < ROWS_BYTES ? first_row(t, p, no[i], q->bodies, &m->v[i], &out->mem) : 0;

        if (bytes < ROWS_BYTES && more == 0)
            m->code = CODE_BUSY;
        m->cut |= bytes >= ROWS_BYTES;
        m->n += more > 0;
        bytes += more;
    }
    m->n = m->code == CODE_DONE ? m->n : 0;
    tasktab_weigh(a.peer, bytes, out);
}

void tasktab_first(struct tasktab *t, struct asker a, const struct msg_task_first *q, struct outbox *out)
{
    struct msg_task_first_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_FIRST_ANS)->task_first_ans;
    struct part *p = tasktab_owned(t, q->part, q->epoch);

    t->n.gets++;
    m->code = p == NULL ? CODE_STALE : p->hold || !tasktab_has_room(a.peer) ? CODE_BUSY : CODE_DONE;
    if (m->code == CODE_DONE)
        fill_first(t, a, p, q, m, out);
}

static void do_first(struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                     struct outbox *out)
{
    struct first_tasks f;
    uint32_t most = u32_min(q->most, TASK_ROWS_MAX);
    task_no *no = first_of(p, q->queue, most, &f, &out->mem);

    m->v = arena_array(&out->mem, most, sizeof(*m->v));
    if (no == NULL || m->v == NULL) {
        m->code = CODE_BUSY;
        return;
    }
    for (uint32_t i = 0; i < f.n; i++)
        (void)tasktab_tell(p, no[i], false, &m->v[i], &out->mem);
    m->n = f.n;
    m->done = f.now;
    m->cut = f.cut;
}

/* ---- all that is known of tasks ------------------------------------------------------- */

/* Bytes of the row in the frame, about. */
static size_t export_row(struct tasktab *t, const struct part *p, task_no no, struct msg_task_get_ans *m,
                         struct export_row *r, struct arena *mem)
{
    const struct chain *k = chains_of(&p->e.chains, task_slot_of(no));
    struct task_more more;
    struct task_view v;

    (void)tasktab_tell(p, no, false, m, mem);
    look_at_task(&p->e, task_slot_of(no), &v);
    look_at_more(&p->e, task_slot_of(no), &more);
    *r = (struct export_row){ .place = more.place, .attempts_left = more.attempts_left,
                              .lacks = more.named ? EXPORT_NAMED : 0 };
    r->group = more.group != NULL
                   ? arena_strndup(mem, more.group->text + more.group->queue_n, more.group->name_n) : "";
    if (k != NULL && k->state == CHAIN_WAITS)
        r->then = (struct bytes_of){ k->n, arena_memdup(mem, k->then, k->n) };
    if (!tasktab_body_load(t, p, v.body, &r->body, mem))
        r->lacks |= EXPORT_UNREAD;
    return 2 * ROW_BYTES + r->body.n + r->then.n;
}

static void export(struct tasktab *t, const struct part *p, const struct msg_task_do *q,
                   struct msg_task_do_ans *m, struct outbox *out)
{
    const unsigned open = 1u << TASK_SCHEDULED | 1u << TASK_WAITING | 1u << TASK_RETRYING | 1u << TASK_RUNNING;
    const struct task_filter f = { .any_queue = true, .states = q->states & open };
    uint32_t most = u32_min(q->most, EXPORT_ROWS_MAX), n;
    task_no *no = arena_array(&out->mem, most, sizeof(*no));
    task_slot at = q->after;
    size_t bytes = 0;

    m->more = arena_array(&out->mem, most, sizeof(*m->more));
    if (no == NULL || m->more == NULL || !has_rows(m, most, out)) {
        m->code = CODE_BUSY;
        return;
    }
    n = engine_list(&p->e, &f, &at, no, most);
    for (uint32_t i = 0; i < n; i++) {
        if (bytes >= ROWS_BYTES) {
            at = task_slot_of(no[i]);
            break;
        }
        bytes += export_row(t, p, no[i], &m->v[m->n], &m->more[m->n], &out->mem);
        m->n++;
    }
    m->n_more = m->n;
    m->after = at != SLOT_NONE ? at : 0;
    if (out->mem.failed)
        *m = (struct msg_task_do_ans){ .code = CODE_BUSY };
}

/* ---- one task, with its bytes --------------------------------------------------------- */

static void body(struct tasktab *t, const struct part *p, task_no no, struct msg_task_do_ans *m,
                 struct outbox *out)
{
    struct task_view v;
    uint64_t reply;

    m->more = arena_array(&out->mem, 1, sizeof(*m->more));
    if (m->more == NULL || !has_rows(m, 1, out)) {
        m->code = CODE_BUSY;
        return;
    }
    reply = tasktab_tell(p, no, false, m->v, &out->mem);
    m->code = m->v->code;
    if (m->code != CODE_DONE)
        return;
    *m->more = (struct export_row){ .group = "" };
    look_at_task(&p->e, task_slot_of(no), &v);
    if (v.state != TASK_SUCCEEDED && !tasktab_body_load(t, p, v.body, &m->more->body, &out->mem))
        m->more->lacks = EXPORT_UNREAD;
    if (!tasktab_load_result(t, p, reply, m->v, &out->mem))
        m->code = CODE_BUSY;
    m->n = m->n_more = m->code == CODE_DONE;
}

/* Another task like the one that `m` has, which it names as the one before it. Names and keys of callers are
 * that one's: hashes alone are kept. */
static int another(struct part *p, const struct msg_task_do *q, const struct msg_task_get_ans *like, task_no *no,
                   struct arena *mem)
{
    const struct chain *k = chains_of(&p->e.chains, task_slot_of(q->no));
    struct task_put put = { .queue = like->queue, .key1 = like->key1, .key2 = like->key2, .name = "",
                            .priority = like->priority, .order = like->order, .own = like->own, .body = q->body,
                            .after_part = p->no, .after_no = q->no };
    struct task_more more;

    look_at_more(&p->e, task_slot_of(q->no), &more);
    put.group = more.group != NULL ? arena_strndup(mem, more.group->text + more.group->queue_n, more.group->name_n)
                                   : "";
    if (k != NULL && k->state == CHAIN_WAITS)
        put.then = (struct bytes_of){ k->n, arena_memdup(mem, k->then, k->n) };
    return mem->failed ? SQ_ENOMEM : tasktab_put_here(p, &put, no);
}

static void resubmit(struct tasktab *t, struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m,
                     struct outbox *out)
{
    task_no no;
    int rc;

    look(p, q->no, m, out);
    if (m->code != CODE_DONE)
        return;
    rc = task_state_is_final((enum task_state)m->v->state) ? another(p, q, m->v, &no, &out->mem) : SQ_ECONFLICT;
    if (rc == 0)
        look(p, no, m, out);
    if (m->code == CODE_DONE)
        m->code = rc == SQ_ESEALED ? CODE_CONFLICT : tasktab_code(t, rc);
}

/* ---- orders ------------------------------------------------------------------------- */

static int order(struct tasktab *t, struct part *p, const struct msg_task_do *q)
{
    switch ((enum task_do)q->verb) {
    case DO_CANCEL:
        return tasktab_cancel(t, p, q->no, q->force);
    case DO_RUN:
        return p->paused ? SQ_ECONFLICT : engine_run(&p->e, q->no);
    case DO_REDRIVE:
        return engine_redrive(&p->e, q->no);
    case DO_DISCARD:
        return engine_discard(&p->e, q->no);
    default:
        return SQ_EINVAL;
    }
}

/* How many, or < 0; of a queue that has no task: none. */
static int order_many(struct tasktab *t, struct part *p, const struct msg_task_do *q, uint32_t *after)
{
    const struct task_filter f = meant(q, UINT32_MAX);
    uint32_t most = u32_min(q->most, ORDERS_MOST), at = q->after;
    int n;

    *after = 0;
    switch ((enum task_do)q->verb) {
    case DO_CANCEL_ALL:
    case DO_CANCEL_LABEL:
        n = engine_cancel_some(&p->e, &f, q->force, &at, most);
        t->cut |= q->force && p->endpoint != NULL;
        *after = at != SLOT_NONE ? at : 0;
        break;
    case DO_REDRIVE_ALL:
        n = engine_redrive_all(&p->e, &f.queue, q->rate);
        break;
    case DO_REDRIVE_STOP:
        n = engine_redrive_stop(&p->e, &f.queue);
        break;
    default:
        assert(q->verb == DO_DISCARD_ALL);
        n = engine_discard_dead(&p->e, &f.queue, most);
        *after = n == (int)most; /* no place to go on at: there are fewer */
        break;
    }
    return n == SQ_EUNKNOWN ? 0 : n;
}

/* Answers with the task as it is afterwards, also if nothing came of it, since its state says why. */
static void carry_out(struct tasktab *t, const struct msg_task_do *q, struct msg_task_do_ans *m,
                      struct outbox *out)
{
    struct part *p = tasktab_commanded(t, q->part, q->epoch, &m->code);
    uint8_t code;
    int n;

    t->n.changed++;
    if (p == NULL)
        return;
    if (q->verb == DO_RUN_SCHEDULE) {
        m->code = tasktab_run_schedule(p, q->queue, q->key1, &out->mem);
        m->done = m->code == CODE_DONE;
        return;
    }
    if (q->verb == DO_PUT_SCHEDULE || q->verb == DO_DROP_SCHEDULE) {
        tasktab_do_schedule(p, q, m, &out->mem);
        return;
    }
    if (q->verb == DO_RESUBMIT) {
        resubmit(t, p, q, m, out);
        return;
    }
    if (q->verb >= DO_CANCEL_ALL && q->verb < DO_SCHEDULES) {
        n = order_many(t, p, q, &m->after);
        m->done = n > 0 ? (uint64_t)n : 0;
        m->code = tasktab_code(t, n);
        return;
    }
    code = tasktab_code(t, order(t, p, q));
    look(p, q->no, m, out);
    if (m->code != CODE_BUSY)
        m->code = code;
}

void tasktab_do(struct tasktab *t, struct asker a, const struct msg_task_do *q,
                struct outbox *out)
{
    struct msg_task_do_ans *m = &outbox_answer(out, a.peer->no, a.rid, MSG_TASK_DO_ANS)->task_do_ans;
    bool asks = q->verb < DO_NVERBS && (DO_ASKS >> q->verb & 1) != 0;
    struct part *p = asks ? tasktab_owned(t, q->part, q->epoch) : NULL;

    if (((q->verb == DO_LIST || (q->verb >= DO_KEYS && q->verb < DO_BODY)) && q->most == 0) ||
        (q->verb == DO_CANCEL_LABEL && q->label[0] == '\0'))
        m->code = CODE_INVALID;
    else if (!asks)
        carry_out(t, q, m, out);
    else if (p == NULL)
        m->code = CODE_STALE;
    else if (q->verb == DO_LOOK)
        look(p, q->no, m, out);
    else if (q->verb == DO_LIST)
        list(p, q, m, out);
    else if (q->verb == DO_NAMED)
        named(p, q, m, out);
    else if (q->verb == DO_SCHEDULES)
        schedules(p, q, m, out);
    else if (q->verb == DO_FIRST)
        do_first(p, q, m, out);
    else if (q->verb == DO_EXPORT)
        export(t, p, q, m, out);
    else if (q->verb == DO_SCHEDULE)
        tasktab_do_schedule(p, q, m, &out->mem);
    else if (q->verb == DO_BODY)
        body(t, p, q->no, m, out);
    else
        keys(p, q, m, out);
}

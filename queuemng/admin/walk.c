/* walk.c: one question at a time for each operator's call. */
#include "queuemng/admin/walk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"
#include "common/task/rules.h"
#include "queuemng/admin/changes.h"
#include "queuemng/admin/task_body.h"
#include "queuemng/admin/task_json.h"

#define WAIT_MS   4000 /* segqctl waits for longer */
#define WALKS_MAX 64   /* at the same time: operators are few */

static bool is_of_many(const struct walk *w)
{
    return w->q.verb == DO_LIST || (w->q.verb >= DO_KEYS && w->q.verb < DO_BODY) || w->q.verb == DO_NAMED;
}

/* Token of a task: the right to read it. */
static const struct token_key *shown(const struct mng_service *s, const struct walk *w)
{
    return w->q.tokens ? &s->keys.token : NULL;
}

static bool is_order(const struct task_ask *q)
{
    return (DO_ASKS >> q->verb & 1) == 0;
}

static bool is_of_schedule(const struct task_ask *q)
{
    return q->verb >= DO_SCHEDULE && q->verb <= DO_DROP_SCHEDULE;
}

/* The next partition is asked if this one cannot be: not where a definition has its one place. */
static bool spans(const struct walk *w)
{
    return is_of_many(w) || (is_of_schedule(&w->q) && (w->q.verb != DO_PUT_SCHEDULE || w->wants_old || w->in_older));
}

/* Lists tasks, as many as are asked for. */
static bool lists_tasks(const struct walk *w)
{
    return w->q.verb == DO_LIST || w->q.verb == DO_FIRST || w->q.verb == DO_EXPORT || w->q.verb == DO_NAMED;
}

struct admin_ans *walk_held(const struct walk *w)
{
    struct admin_ans *a = admin_held_ans(w->answer);

    buf_reset(&a->body);
    return a;
}

/* ---- the end --------------------------------------------------------------------- */

static void walk_free(struct walk *w)
{
    free(w->part);
    json_decref(w->rows);
    json_decref(w->away);
    json_decref(w->entry);
    buf_fini(&w->form);
    buf_fini(&w->old);
    free(w);
}

void walk_finish(struct mng_service *s, struct walk *w)
{
    struct admin_held *answer = w->answer;
    json_t *entry = w->entry;

    w->entry = NULL;
    admin_change_done(s, entry, admin_held_ans(answer)->status);
    list_remove(&s->walks, &w->in);
    walk_free(w);
    admin_send(answer);
}

/* Where the next call goes on, if there may be more. */
static json_t *next_of(const struct walk *w)
{
    return w->i < w->n ? json_sprintf("%u-%u", w->part[w->i], w->q.after) : json_null();
}

static void fill_many(const struct walk *w, struct admin_ans *a)
{
    bool queues = w->q.pool[0] != '\0';
    json_t *j = json_pack("{s:s,s:o,s:O}", queues ? "pool" : "queue",
                          queues ? w->q.pool : w->q.queue, "next", next_of(w), "away", w->away);

    if (j != NULL && is_order(&w->q))
        (void)json_object_update_new(j, json_pack("{s:s,s:I}", "order", task_do_word(w->q.verb),
                                                  "tasks", (json_int_t)w->done));
    else if (j != NULL)
        (void)json_object_set(j, lists_tasks(w) ? "tasks"
                                 : queues ? "queues" : task_do_word(w->q.verb),
                              w->rows);
    if (j != NULL && w->q.verb == DO_FIRST)
        (void)json_object_update_new(j, json_pack("{s:I,s:b}", "startable", (json_int_t)w->done, "cut", w->cut));
    admin_json(a, 200, j);
}

void walk_away(const struct mng *m, const struct walk *w, struct admin_ans *a)
{
    struct mng_part_view p = { .node = "" };

    (void)mng_part(m, w->part[w->i], &p);
    if (p.node == NULL || p.node[0] == '\0') {
        admin_problem(a, 503, "queue_unavailable", "no task node has %s now",
                      is_of_schedule(&w->q) ? "the queue" : "the task's partition");
        return;
    }
    admin_problem(a, 503, "queue_unavailable", "task node %s, which has the %s, %s%s", p.node,
                  is_of_schedule(&w->q) ? "queue" : "task",
                  p.peer != 0 ? "did not answer in time" : "is away: it keeps its tasks",
                  p.peer != 0 && is_order(&w->q) && !w->wants_old ? "; it may have been done" : "");
}

/* ---- questions ------------------------------------------------------------------- */

static uint32_t verb_of(const struct walk *w)
{
    const struct task_ask *q = &w->q;

    if (w->wants_old)
        return q->verb == DO_PUT_SCHEDULE ? DO_SCHEDULE : DO_BODY;
    if (w->in_older)
        return DO_DROP_SCHEDULE;
    return q->verb == DO_CANCEL_ALL && q->label[0] != '\0' ? DO_CANCEL_LABEL : q->verb;
}

static bool say(struct mng_service *s, struct walk *w, const struct mng_part_view *p)
{
    struct rpc_chan *ch = p->peer != 0 ? map_get_ptr(&s->peers, p->peer) : NULL;
    struct msg m = { .type = MSG_TASK_DO };

    m.task_do = (struct msg_task_do){ .part = p->st.part,
                                      .epoch = p->st.part_epoch,
                                      .verb = verb_of(w),
                                      .no = w->q.no,
                                      .queue = w->q.queue,
                                      .key1 = w->q.key1,
                                      .key2 = w->q.key2,
                                      .states = w->q.states,
                                      .after = w->q.after,
                                      .most = w->q.most,
                                      .rate = w->q.rate,
                                      .label = w->q.label,
                                      .force = w->q.force,
                                      .since_ms = (uint64_t)w->q.since_ms,
                                      .until_ms = (uint64_t)w->q.until_ms };
    if (!w->wants_old && !w->in_older)
        m.task_do.version = w->q.version;
    if ((w->q.verb == DO_RESUBMIT || w->q.verb == DO_PUT_SCHEDULE) && !w->wants_old && !w->in_older)
        m.task_do.body = (struct bytes_of){ (uint32_t)w->form.len, w->form.data };
    if (lists_tasks(w))
        m.task_do.most -= (uint32_t)json_array_size(w->rows);
    else if (w->q.only_limited)
        m.task_do.most = TASK_ROWS_MAX; /* some of them */
    w->rid = ++s->last_walk;
    return ch != NULL && rpc_send(ch, &m, w->rid) == 0;
}

bool walk_ask_this(struct mng_service *s, struct walk *w)
{
    struct mng_part_view p;

    return mng_part(s->mng, w->part[w->i], &p) && say(s, w, &p);
}

void walk_next_part(struct walk *w)
{
    w->i++;
    w->q.after = 0;
}

void walk_skip(struct walk *w, const struct mng_part_view *p)
{
    (void)json_array_append_new(w->away, json_pack("{s:I,s:s}", "partition",
                                                   (json_int_t)w->part[w->i], "node",
                                                   p->node != NULL ? p->node : ""));
    walk_next_part(w);
}

static bool is_enough(const struct mng_service *s, const struct walk *w)
{
    return ev_now(s->ev) >= w->until ||
           (lists_tasks(w) && json_array_size(w->rows) >= w->q.most) ||
           (w->q.verb == DO_EXPORT && json_array_size(w->rows) > 0); /* a frame may have a MiB */
}

bool walk_ask_next(struct mng_service *s, struct walk *w)
{
    while (w->i < w->n && !is_enough(s, w)) {
        struct mng_part_view p = { .node = "" };

        if (mng_part(s->mng, w->part[w->i], &p) && say(s, w, &p))
            return true;
        if (!spans(w))
            return false;
        walk_skip(w, &p);
    }
    return false;
}

/* ---- answers --------------------------------------------------------------------- */

/* The request of the old call with the new bytes; asks the node to make the task of it. False: the answer says
 * why not. */
static bool fill_form(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                      const struct msg_task_do_ans *m)
{
    struct bytes_of old = m->n_more > 0 ? m->more[0].body : (struct bytes_of){ 0 };
    struct bytes_of bytes = { (uint32_t)w->form.len, w->form.data };
    const char *why;
    struct buf out;

    buf_init(&out);
    why = task_body_call(&out, &old, bytes);
    buf_fini(&w->form);
    w->form = out;
    w->wants_old = false;
    if (why != NULL)
        admin_problem(walk_held(w), 409, "conflict", "%s", why);
    else if (out.failed)
        admin_problem(walk_held(w), 503, "queue_unavailable", "out of memory");
    else if (!say(s, w, p))
        walk_away(s->mng, w, walk_held(w));
    else
        return true;
    return false;
}

/* Notes in the operators' log which task it made. */
static void note_new(struct walk *w, const struct msg_task_get_ans *task)
{
    unsigned long long from = w->q.no, to = task->no;

    (void)json_object_set_new(w->entry, "changes",
                              json_pack("[{s:s,s:o,s:o}]", "key", "task", "from",
                                        json_sprintf("%u-%llu", w->q.part, from), "to",
                                        json_sprintf("%u-%llu", w->q.part, to)));
}

static void of_one(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                   const struct msg_task_do_ans *m)
{
    const struct msg_task_get_ans *task = m->n > 0 ? &m->v[0] : NULL;
    struct admin_ans *a;

    if (w->wants_old && m->code == CODE_DONE) {
        if (!fill_form(s, w, p, m))
            walk_finish(s, w);
        return;
    }
    a = walk_held(w);
    if (task != NULL && m->code == CODE_DONE && w->q.verb == DO_RESUBMIT)
        note_new(w, task);
    if (m->code != CODE_DONE)
        task_refused(a, w->q.verb, m->code, task, p);
    else if (task != NULL && w->q.verb == DO_BODY && m->n_more > 0)
        admin_json(a, 200, task_body_json(task, &m->more[0], p, w->q.most));
    else if (task != NULL)
        admin_json(a, w->q.verb == DO_RESUBMIT ? 201 : 200,
                   task_json(task, p, mng_target_place(s->mng, p->endpoint, task->target), shown(s, w)));
    else
        admin_json(a, 200, json_pack("{s:o,s:s}", "id", json_sprintf("%u-%llu", w->q.part,
                                                                     (unsigned long long)w->q.no),
                                     "state", "gone"));
    walk_finish(s, w);
}

/* Keeps those with the most tasks that wait. */
static void add_key(const struct mng *m, struct walk *w, const struct key_row *k)
{
    size_t at = json_array_size(w->rows);

    if (w->q.only_limited && k->limited == 0)
        return;
    while (at > 0 && task_key_has(json_array_get(w->rows, at - 1)) < k->waiting + k->dead)
        at--;
    if (at < w->q.most)
        (void)json_array_insert_new(w->rows, at, w->q.pool[0] != '\0'
                                                     ? task_queue_json(k)
                                                     : task_key_json(k, w->q.queue, m));
    if (json_array_size(w->rows) > w->q.most)
        (void)json_array_remove(w->rows, w->q.most);
}

/* The first partition that has it is the one; in older pools there may be one that was forgotten. */
static bool run_ends(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                     const struct msg_task_do_ans *m)
{
    struct admin_ans *a;

    if (m->code == CODE_UNKNOWN) {
        walk_next_part(w);
        if (walk_ask_next(s, w))
            return true;
    }
    a = walk_held(w);
    w->done = m->done;
    if (m->code == CODE_UNKNOWN)
        w->q.special->unknown(w, a);
    else if (m->code != CODE_DONE)
        task_refused(a, w->q.verb, m->code, NULL, p);
    else
        admin_json(a, 200, json_pack("{s:s,s:n,s:[],s:s,s:I}", "queue", w->q.queue, "next", "away",
                                     "order", task_do_word(w->q.verb), "tasks", (json_int_t)m->done));
    walk_finish(s, w);
    return true;
}

/* An older node lists tasks of all times. */
static bool is_within(const struct task_ask *q, const struct msg_task_get_ans *t)
{
    int64_t at_ms = t->ended_ms != 0 ? t->ended_ms : t->entered_ms;

    return at_ms >= q->since_ms && (q->until_ms == 0 || at_ms < q->until_ms);
}

static void of_many(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                    const struct msg_task_do_ans *m)
{
    if (w->q.verb == DO_RUN_SCHEDULE && run_ends(s, w, p, m))
        return;
    w->done += m->done;
    w->cut |= m->cut;
    for (uint32_t i = 0; i < m->n_more && i < m->n; i++)
        (void)json_array_append_new(w->rows, task_export_json(&m->v[i], &m->more[i], p, &s->keys.token));
    for (uint32_t i = 0; i < m->n && w->q.verb != DO_EXPORT; i++)
        if (is_within(&w->q, &m->v[i]))
            (void)json_array_append_new(
                w->rows,
                task_json(&m->v[i], p, mng_target_place(s->mng, p->endpoint, m->v[i].target), shown(s, w)));
    for (uint32_t i = 0; i < m->n_keys; i++)
        add_key(s->mng, w, &m->keys[i]);
    for (uint32_t i = 0; i < m->n_schedules; i++)
        (void)json_array_append_new(w->rows, task_schedule_json(&m->schedules[i], p));
    if (m->code != CODE_DONE)
        walk_skip(w, p);
    else if (m->after != 0)
        w->q.after = m->after;
    else
        walk_next_part(w);
    if (walk_ask_next(s, w))
        return;
    fill_many(w, walk_held(w));
    walk_finish(s, w);
}

void mng_walk_answer(struct mng_service *s, uint64_t rid, const struct msg_task_do_ans *m)
{
    static const struct msg_task_do_ans unknown = { .code = CODE_INVALID };

    list_each (&s->walks, it) {
        struct walk *w = container_of(it, struct walk, in);
        struct mng_part_view p = { .pool = "", .node = "" };

        if (w->rid != rid)
            continue;
        if (!mng_part(s->mng, w->part[w->i], &p)) /* the pool has gone since it was asked */
            p.st.part = w->part[w->i];
        if (is_of_schedule(&w->q))
            w->q.special->answered(s, w, &p, m != NULL ? m : &unknown);
        else if (is_of_many(w))
            of_many(s, w, &p, m != NULL ? m : &unknown);
        else
            of_one(s, w, &p, m != NULL ? m : &unknown);
        return;
    }
}

static void give_up(struct mng_service *s, struct walk *w)
{
    struct mng_part_view p = { .node = "" };

    (void)mng_part(s->mng, w->part[w->i], &p);
    if (is_of_many(w)) {
        walk_skip(w, &p);
        fill_many(w, walk_held(w));
    } else if (w->in_older) {
        walk_skip(w, &p);
        w->q.special->left(w, walk_held(w));
    } else {
        walk_away(s->mng, w, walk_held(w));
    }
    walk_finish(s, w);
}

void mng_walk_tick(struct mng_service *s)
{
    list_each (&s->walks, it) {
        struct walk *w = container_of(it, struct walk, in);

        if (ev_now(s->ev) >= w->until)
            give_up(s, w);
    }
}

void mng_walk_end(struct mng_service *s)
{
    list_each (&s->walks, it)
        give_up(s, container_of(it, struct walk, in));
}

/* ---- the request ----------------------------------------------------------------- */

static void add_part(void *ctx, const void *view)
{
    const struct mng_part_view *v = view;
    struct walk *w = ctx;

    w->part[w->n++] = v->st.part;
}

/* False: the answer says why not. */
static bool take_payload(struct admin_call *c, struct walk *w, const struct mng_part_view *p)
{
    const struct task_ask *q = &w->q;

    w->wants_old = p->endpoint != NULL && p->endpoint[0] != '\0';
    if (w->wants_old && q->typed && q->type.n > 0) {
        admin_problem(c->a, 400, "bad_request", "content_type is that of the request, which stays: leave it out");
        return false;
    }
    if (q->typed && !w->wants_old)
        payload_pack(&w->form, (struct call_span){ q->type.p, q->type.n }, (struct call_span){ q->bytes.p, q->bytes.n });
    else
        buf_append(&w->form, q->bytes.p, q->bytes.n);
    if (w->form.failed)
        admin_problem(c->a, 503, "queue_unavailable", "out of memory");
    return !w->form.failed;
}

/* Which partitions; a list may go on at a later one. False: the answer says why not. */
static bool find_parts(struct admin_call *c, struct walk *w)
{
    struct mng_part_view p;

    if (!is_of_many(w) && !is_of_schedule(&w->q)) {
        w->part[w->n++] = w->q.part;
        if (mng_part(c->s->mng, w->q.part, &p))
            return w->q.verb != DO_RESUBMIT || take_payload(c, w, &p);
        admin_problem(c->a, 404, "task_unknown", "its partition %u is not here: its pool was "
                      "deleted, or the tasks were lost", w->q.part);
        return false;
    }
    if (w->q.pool[0] != '\0')
        mng_each_part(c->s->mng, w->q.pool, add_part, w);
    else
        mng_each_part_of(c->s->mng, w->q.queue, add_part, w);
    while (w->q.part != 0 && w->i < w->n && w->part[w->i] != w->q.part)
        w->i++;
    if (w->n == 0 && w->q.pool[0] != '\0')
        admin_problem(c->a, 404, "pool_not_found", "no pool %s", w->q.pool);
    else if (w->n == 0)
        admin_problem(c->a, 404, "pool_not_found", "no pool has a queue %s", w->q.queue);
    else if (w->i == w->n)
        admin_problem(c->a, 400, "bad_request", "?after= is not of this list");
    else if (w->q.verb == DO_PUT_SCHEDULE)
        return w->q.special->begin(c, w);
    return w->i < w->n;
}

static struct walk *walk_new(struct mng_service *s, const struct task_ask *q)
{
    struct walk *w = s->walks.n < WALKS_MAX ? calloc(1, sizeof(*w)) : NULL;

    if (w == NULL)
        return NULL;
    w->q = *q;
    w->until = ev_now(s->ev) + WAIT_MS;
    buf_init(&w->form);
    buf_init(&w->old);
    w->part = calloc(PARTS_MAX, sizeof(*w->part));
    w->rows = json_array();
    w->away = json_array();
    if (w->part != NULL && w->rows != NULL && w->away != NULL)
        return w;
    walk_free(w);
    return NULL;
}

static void too_many(struct admin_call *c)
{
    admin_problem(c->a, 503, "queue_unavailable",
                  "too many questions about tasks at the same time; retry in some seconds");
}

void task_walk(struct admin_call *c, const struct task_ask *q)
{
    struct walk *w = walk_new(c->s, q);

    if (w != NULL)
        w->q.tokens = c->who->role > ROLE_VIEWER;
    if (w == NULL) {
        too_many(c);
    } else if (!find_parts(c, w)) {
        walk_free(w);
    } else if (!walk_ask_next(c->s, w)) { /* no node is there */
        if (is_of_many(w))
            fill_many(w, c->a);
        else if (spans(w))
            w->q.special->unknown(w, c->a);
        else
            walk_away(c->s->mng, w, c->a);
        walk_free(w);
    } else if ((w->answer = admin_hold(c->a)) == NULL) {
        walk_free(w);
        too_many(c);
    } else {
        list_push_back(&c->s->walks, &w->in);
        c->later = is_order(q) || q->verb == DO_EXPORT || q->verb == DO_BODY ? &w->entry : NULL; /* a note of who has read payloads */
    }
}

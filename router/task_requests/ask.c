/* ask.c: see ask.h. */
#include "router/task_requests/ask.h"

#include <sodium.h>
#include <string.h>

#include "common/task/rules.h"
#include "router/task_requests/progress.h"

static void answered(struct ask *a, int code, const struct msg *m)
{
    a->code = (int16_t)(a->lost && code == ASK_NOBODY ? ASK_LOST : code);
    call_answered(a, m);
}

static void wait(struct ask *a)
{
    struct tasking *t = a->call->t;

    ask_join(a, &t->waiting);
}

static const struct task_way *way_of(const struct ask *a)
{
    const struct pools *p = &a->call->t->pools;

    return a->queue.n > 0 ? pools_of_queue(p, a->queue.p, a->queue.n) : pools_of_part(p, a->part);
}

/* Asked again, it waits for what is left of the time for which its caller waits. */
static uint32_t wait_left(const struct task_call *c, uint32_t wait_ms)
{
    msec_t left = c->deadline - TASK_ASK_MS - ev_now(c->t->r->ev);

    return left < 0 ? 0 : left < wait_ms ? (uint32_t)left : wait_ms;
}

/* Queues that the node compares with the task's; none if all queues of the partition fit. */
static struct bytes_of to_compare(const struct ask *a, const struct task_way *w)
{
    struct slice o = a->call->opens;

    if (o.n == 0 || queues_match(o.p, o.n, w->match, strlen(w->match)))
        return (struct bytes_of){ 0 };
    return bytes_in(o);
}

/* ---- kinds ------------------------------------------------------------------------------- */

#define AT(type, member) offsetof(struct type, member)
#define ASKS(NAME, type)                                                                 \
    .asks = MSG_TASK_##NAME, .answers = MSG_TASK_##NAME##_ANS, .size = sizeof(struct type)

const struct ask_form ask_forms[ASK_NKINDS] = {
    [ASK_PUT] = { ASKS(PUT, task_put), .row = sizeof(struct task_put_row),
                  .no = AT(task_put_row, no), .state = AT(task_put_row, state) },
    [ASK_SETTLE] = { ASKS(SETTLE, settle_row), .row = sizeof(struct settled_row),
                     .state = AT(settled_row, state), .until_ms = AT(settled_row, until_ms),
                     .compares = true },
    [ASK_GET] = { ASKS(GET, msg_task_get), .wait_ms = AT(msg_task_get, wait_ms) },
    [ASK_TAKE] = { ASKS(TAKE, msg_task_take), .wait_ms = AT(msg_task_take, wait_ms) },
    [ASK_CHANGE] = { ASKS(CHANGE, msg_task_change), .no = AT(msg_task_change_ans, no),
                     .state = AT(msg_task_change_ans, state),
                     .maybe_executed = AT(msg_task_change_ans, maybe_executed), .compares = true },
    [ASK_SCHEDULE] = { ASKS(SCHEDULE, msg_task_schedule) },
    [ASK_COMPLETE] = { ASKS(COMPLETE, msg_task_complete), .state = AT(msg_task_complete_ans, state),
                       .until_ms = AT(msg_task_complete_ans, until_ms) },
    [ASK_READ] = { ASKS(READ, msg_task_read) },
    [ASK_FEED] = { ASKS(FEED, msg_task_feed) },
    [ASK_PROGRESS] = { ASKS(PROGRESS, msg_task_progress), .state = AT(msg_task_progress_ans, state),
                       .until_ms = AT(msg_task_progress_ans, until_ms), .compares = true },
    [ASK_GROUP] = { ASKS(GROUP, msg_task_group) },
    [ASK_FIRST] = { ASKS(FIRST, msg_task_first) },
    [ASK_UPLOAD] = { ASKS(UPLOAD, msg_task_upload) },
};

/* All questions begin alike, and so do all answers: with their code. */
#define ALIKE(type) \
    _Static_assert(AT(type, part) == AT(msg_task_get, part) && AT(type, epoch) == AT(msg_task_get, epoch), #type)
ALIKE(task_put);
ALIKE(settle_row);
ALIKE(msg_task_take);
ALIKE(msg_task_change);
ALIKE(msg_task_schedule);
ALIKE(msg_task_complete);
ALIKE(msg_task_read);
ALIKE(msg_task_group);
ALIKE(msg_task_progress);
ALIKE(msg_task_first);
ALIKE(msg_task_feed);
ALIKE(msg_task_upload);
_Static_assert(AT(task_put_row, code) + AT(settled_row, code) + AT(msg_task_get_ans, code) +
               AT(msg_task_take_ans, code) + AT(msg_task_change_ans, code) +
               AT(msg_task_schedule_ans, code) + AT(msg_task_complete_ans, code) +
               AT(msg_task_read_ans, code) + AT(msg_task_group_ans, code) +
               AT(msg_task_progress_ans, code) + AT(msg_task_first_ans, code) + AT(msg_task_feed_ans, code) +
               AT(msg_task_upload_ans, code) == 0, "codes come first");

static void name_part(struct ask *a, const struct task_way *w)
{
    const struct ask_form *f = &ask_forms[a->kind];
    uint32_t *wait_ms = (uint32_t *)(void *)((char *)&a->get + f->wait_ms);

    a->part = w->part;
    a->get.part = w->part;
    a->get.epoch = w->epoch;
    if (f->wait_ms != 0)
        *wait_ms = wait_left(a->call, *wait_ms);
    if (f->compares)
        a->queues = to_compare(a, w);
}

static bool is_other_kind(const struct ask *a, const struct task_way *w)
{
    bool calls = w->endpoint[0] != '\0';
    bool makes = a->kind == ASK_PUT ||
                 (a->kind == ASK_SCHEDULE && a->schedule.verb == SCHEDULE_PUT);

    return (makes && a->is_call != calls) || (a->kind == ASK_TAKE && calls);
}

static bool link_ask(struct tasking *t, node_no node, struct ask *a)
{
    struct task_link *l = node_links_reach(&t->links, node);

    if (l != NULL)
        ask_join(a, &l->open[a->kind]);
    return l != NULL;
}

bool task_link_is_up(const struct tasking *t, node_no node)
{
    const struct task_link *l = node_links_reach(&t->links, node);

    return l != NULL && l->n.ch != NULL;
}

static void ask_begin(struct ask *a, const struct task_way *w)
{
    struct tasking *t = a->call->t;

    if (!t->pools.known) {
        wait(a);
        return;
    }
    if (w == NULL) { /* unknown queue of a partition that is gone: the node's answer */
        struct slice o = a->call->opens;

        answered(a, o.n > 0 && !queues_match(o.p, o.n, "*", 1) ? CODE_DENIED : CODE_UNKNOWN, NULL);
        return;
    }
    if (is_other_kind(a, w)) {
        answered(a, ASK_OTHER_KIND, NULL);
        return;
    }
    name_part(a, w);
    if (w->node == 0 || !link_ask(t, w->node, a))
        answered(a, ASK_NOBODY, NULL);
}

void call_begin(struct task_call *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        struct ask *a = &c->v[i];

        if (!a->answered)
            ask_begin(a, a->queue.n > 0 && c->way != NULL ? c->way : way_of(a));
    }
    c->way = NULL;
    call_settled(c, NULL); /* the begin itself: until here it could not end */
}

/* Keeps the i-th row's answer until all of a call's rows have theirs. */
static int keep(struct ask *a, const struct msg *m, uint32_t i)
{
    const struct ask_form *f = &ask_forms[a->kind];
    const void *rows = a->kind == ASK_PUT ? (const void *)m->task_put_ans.v : m->task_settle_ans.v;
    const char *ans = f->row == 0 ? (const char *)&m->task_get_ans : (const char *)rows + i * f->row;

    if (f->no != 0)
        memcpy(&a->no, ans + f->no, sizeof(a->no));
    if (f->state != 0)
        a->state = *(const uint8_t *)(ans + f->state);
    if (f->until_ms != 0)
        memcpy(&a->until_ms, ans + f->until_ms, sizeof(a->until_ms));
    if (a->kind == ASK_PUT) {
        a->too_long_ms = m->task_put_ans.v[i].too_long_ms;
        a->units = m->task_put_ans.v[i].units;
        a->max_units = m->task_put_ans.v[i].max_units;
    }
    if (f->maybe_executed != 0)
        a->maybe_executed = *(const bool *)(ans + f->maybe_executed);
    return *(const uint8_t *)ans;
}

void ask_answered(struct ask *a, const struct msg *m, uint32_t i)
{
    int code = m->type == MSG_TASK_PIECE ? CODE_DONE : keep(a, m, i);

    if (code == CODE_STALE) {
        a->call->t->counts.stale++;
        wait(a);
    } else {
        answered(a, code, m);
    }
}

void ask_lost(struct ask *a)
{
    a->call->t->counts.lost++;
    a->lost = a->kind == ASK_PUT;
    if (a->repeats)
        wait(a);
    else
        answered(a, ASK_LOST, NULL);
}

void ask_unsent(struct ask *a)
{
    answered(a, ASK_NOBODY, NULL);
}

static const struct msg no_tasks = { .type = MSG_TASK_TAKE_ANS };

/* True: its tasks would be taken by nobody. */
static bool is_for_nobody(const struct ask *a)
{
    const struct task_call *c = a->call;

    return a->kind == ASK_TAKE && (c->req == NULL || httpd_is_closing(c->req));
}

void asks_retry(struct tasking *t)
{
    size_t n = t->waiting.n; /* asks that wait again go to the end */

    for (size_t i = 0; i < n && t->waiting.n > 0; i++) {
        struct ask *a = container_of(list_first(&t->waiting), struct ask, in_list);
        const struct task_way *w = t->pools.known ? way_of(a) : NULL;

        ask_leave(a);
        if (is_for_nobody(a))
            answered(a, CODE_DONE, &no_tasks);
        else if (w == NULL || (w->node != 0 && task_link_is_up(t, w->node)))
            ask_begin(a, w);
        else
            wait(a);
    }
}

/* Ends its rows that have no answer: with nothing that was taken, or, m NULL, as overdue. A row may end
 * others by its end; c goes with the last one. */
static void end_rows(struct task_call *c, const struct msg *m)
{
    c->open++; /* not before all have been looked at */
    for (uint32_t i = 0; i < c->n; i++) {
        struct ask *a = &c->v[i];
        bool sent = a->slot != NULL;

        if (a->answered)
            continue;
        ask_forget(a);
        answered(a, m != NULL ? CODE_DONE : sent ? ASK_LOST : ASK_NOBODY, m);
    }
    call_settled(c, m);
}

void asks_drain(struct tasking *t)
{
    list_each (&t->calls, it) {
        struct task_call *c = container_of(it, struct task_call, in_all);

        if (c->v[0].kind == ASK_TAKE && c->wait_ms > 0)
            end_rows(c, &no_tasks);
    }
}

void ask_end_take(struct ask *a)
{
    struct tasking *t = a->call->t;
    part_no part = a->part;
    uint64_t rid = a->slot != NULL ? a->rid : 0;

    ask_forget(a);
    answered(a, CODE_DONE, &no_tasks);
    if (rid != 0)
        give_back_take(t, part, rid);
}

void ask_end_takes(struct task_call *c)
{
    c->open++; /* not before all have ended */
    for (uint32_t i = 0; i < c->n; i++)
        if (!c->v[i].answered)
            ask_end_take(&c->v[i]);
    call_settled(c, &no_tasks);
}

void asks_tick(struct tasking *t)
{
    msec_t now = ev_now(t->r->ev);

    asks_retry(t);
    list_each (&t->calls, it) {
        struct task_call *c = container_of(it, struct task_call, in_all);

        if (c->deadline > now) {
            progress_tick(c, now);
            continue;
        }
        t->counts.overdue++;
        end_rows(c, NULL);
    }
}

/* ---- what is told to a partition: nobody waits for an answer ----------------------------- */

#define GIVE_BACK_MS 60000 /* for so long a link may be down: leases are mostly over then */

static void nothing(struct task_call *c, const struct msg *m)
{
    (void)c;
    (void)m;
}

/* NULL: the router is overloaded. */
static struct task_call *tell(struct tasking *t, part_no part, enum ask_kind kind, uint32_t n,
                              msec_t wait_ms)
{
    struct task_call *c = call_new(t, NULL, n, 0, wait_ms, nothing);

    for (uint32_t i = 0; c != NULL && i < n; i++) {
        c->v[i].kind = (uint8_t)kind;
        c->v[i].repeats = true;
        c->v[i].part = part;
    }
    return c;
}

bool ask_change(struct tasking *t, part_no part, const struct msg_task_change *m)
{
    struct task_call *c = tell(t, part, ASK_CHANGE, 1, 0);

    if (c == NULL)
        return false;
    c->v[0].change = *m;
    c->v[0].change.queue = c->v[0].change.name = "";
    call_begin(c);
    return true;
}

/* The last one first: each gets in front. Said twice, it finds no lease. */
void give_back(struct tasking *t, part_no part, const struct msg_task_take_ans *m)
{
    struct task_call *c = m->n > 0 ? tell(t, part, ASK_SETTLE, m->n, GIVE_BACK_MS) : NULL;

    if (c == NULL)
        return;
    t->counts.given_back += m->n;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct taken_row *k = &m->v[m->n - 1 - i];

        c->v[i].settle = (struct settle_row){ .verb = SETTLE_UNSEEN, .no = k->no, .lease = k->lease };
    }
    call_begin(c);
}

void give_back_unheard(struct tasking *t, part_no part, uint64_t rid)
{
    struct task_call *c = tell(t, part, ASK_SETTLE, 1, GIVE_BACK_MS);

    if (c == NULL)
        return;
    t->counts.unheard++;
    c->v[0].settle = (struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid };
    wait(&c->v[0]);
    call_settled(c, NULL); /* the begin */
}

void give_back_take(struct tasking *t, part_no part, uint64_t rid)
{
    struct task_call *c = tell(t, part, ASK_SETTLE, 1, GIVE_BACK_MS);

    if (c == NULL)
        return;
    c->v[0].settle = (struct settle_row){ .verb = SETTLE_UNHEARD, .lease = rid };
    call_begin(c);
}

void give_back_waits(struct tasking *t, part_no part)
{
    struct task_call *c = tell(t, part, ASK_SETTLE, 1, 0);

    if (c == NULL)
        return;
    c->v[0].settle = (struct settle_row){ .verb = SETTLE_UNHEARD };
    call_begin(c);
}

/* ---- clients who go ---------------------------------------------------------------------- */

/* Withdraws the task whose client has gone, if nobody has begun it. What cannot
 * be said now is said at the next tick. */
static void withdraw(struct task_call *c)
{
    struct msg_task_change m = { .verb = CHANGE_CANCEL, .no = c->v[0].no, .unbegun = true };

    if (!ask_change(c->t, c->v[0].part, &m))
        return;
    c->leaves = false;
    c->t->counts.left++;
}

static bool has_gone(const struct task_call *c)
{
    return c->leaves && (c->req == NULL || httpd_is_closing(c->req));
}

/* Until it is submitted nobody knows its number. */
static bool waits_for_end(const struct task_call *c)
{
    return c->v[0].kind == ASK_GET;
}

bool left_before(struct task_call *c)
{
    bool gone = has_gone(c);

    if (gone)
        withdraw(c);
    return gone;
}

void left_over(struct task_call *c)
{
    if (c->leaves)
        withdraw(c);
}

void left_now(struct task_call *c)
{
    if (waits_for_end(c) && has_gone(c))
        withdraw(c);
    call_client_gone(c);
}

void left_look(struct tasking *t)
{
    list_each (&t->calls, it) {
        struct task_call *c = container_of(it, struct task_call, in_all);

        if (waits_for_end(c) && has_gone(c))
            withdraw(c);
    }
}

/* ---- strays ------------------------------------------------------------------------------- */

/* Two that have one entry are only asked more often. */
static struct stray_asked *entry_of(struct tasking *t, struct slice queue, part_no part, uint64_t *hash)
{
    static const uint8_t any[crypto_shorthash_KEYBYTES];

    crypto_shorthash((uint8_t *)hash, (const uint8_t *)queue.p, queue.n, any);
    *hash += part;
    return &t->strays[*hash % STRAYS_ENTRIES];
}

static bool may_ask(struct tasking *t, struct slice queue, part_no part)
{
    msec_t now = ev_now(t->r->ev);
    uint64_t hash;
    struct stray_asked *e = entry_of(t, queue, part, &hash);

    if (e->hash == hash && now < e->until)
        return false;
    *e = (struct stray_asked){ hash, now + STRAYS_MS };
    return true;
}

const struct task_way *strays_next(struct tasking *t, struct slice queue, uint32_t *place)
{
    const struct task_way *w;

    while ((w = pools_of_queue_at(&t->pools, queue.p, queue.n, ++*place)) != NULL)
        if (w->endpoint[0] == '\0' && may_ask(t, queue, w->part))
            return w;
    return NULL;
}

void strays_found(struct tasking *t, struct slice queue, part_no part)
{
    uint64_t hash;
    struct stray_asked *e = entry_of(t, queue, part, &hash);

    if (e->hash == hash)
        e->until = 0;
}

/* report.c: registration, counts of partitions; what an operator's own service is asked. */
#include "task/node/report.h"

#include <string.h>

#include "common/base/text.h"
#include "task/calls/estimates.h"
#include "task/engine/look.h"
#include "task/engine/submit.h"
#include "task/keys/tree.h"
#include "task/node/answer.h"
#include "task/node/body.h"
#include "task/node/calls.h"
#include "task/node/parts.h"
#include "task/node/submissions.h"

#define REPORT_MS   1000
#define LOOK_SLOTS  65536u /* slots of a partition, each report, in search of the oldest */
#define FULL_MS     10000  /* a partition that refused a task is full for so long */
#define LOOK_TURNS  8192u  /* and for what holds tasks up: a millisecond at most */

static uint8_t life(const struct part *p)
{
    return p->out != NULL && p->out->stuck ? PART_STUCK : p->life;
}

static bool has_left(const struct tasktab *t, const struct part *p)
{
    return t->o.shared != NULL && p->out != NULL && p->out->last;
}

void tasktab_register(const struct tasktab *t, peer_no to, struct outbox *out)
{
    struct msg_task_reg *m = &outbox_add(out, to, MSG_TASK_REG)->task_reg;

    m->addr = t->addr;
    m->admin = t->admin;
    m->region = t->o.region;
    m->zone = t->o.zone;
    m->epoch_seen = t->epoch;
    m->store = t->store;
    m->shared = t->o.shared != NULL;
    m->v = arena_array(&out->mem, t->n_parts, sizeof(*m->v));
    if (m->v == NULL)
        return; /* the status names them, too */
    each_part (t, p)
        m->v[m->n++] = (struct part_row){ p->no, p->epoch, life(p) };
}

/* A walk over the slots, some in each report, while there are tasks in line: exact where a partition has
 * had few of them. */
static void look_for_oldest(struct part *p)
{
    task_slot end = u32_min(p->looked + LOOK_SLOTS, p->e.store.n_slots);

    if (p->e.store.n[TASK_WAITING] == 0) {
        p->looked = 0;
        p->oldest = p->oldest_now = 0;
        return;
    }
    for (; p->looked < end; p->looked++) {
        const struct task *k = task_at(&p->e.store, p->looked);
        msec_t entered = (msec_t)k->entered_ms;

        if (k->state == TASK_WAITING && (p->oldest_now == 0 || entered < p->oldest_now))
            p->oldest_now = entered;
    }
    if (p->looked < p->e.store.n_slots)
        return;
    p->oldest = p->oldest_now;
    p->oldest_now = 0;
    p->looked = 0;
}

/* Counts those that nothing in its queues holds up. */
static void hold_the_rest(const struct tasktab *t, struct part *p)
{
    uint64_t rest = p->e.store.n[TASK_WAITING];

    for (unsigned h = 0; h < TASK_NHOLDS; h++)
        rest -= u64_min(rest, p->held[h]);
    if (!allowance_lets(&p->e.allowance, engine_now(&p->e, t->now.ms)))
        p->held[HOLD_LIMITS] = rest;
    else if (p->endpoint_name[0] != 0)
        p->held[HOLD_ENDPOINT] = rest;
}

static void look_for_holds(const struct tasktab *t, struct part *p)
{
    p->held_at += p->held_at == 0;
    tree_held(&p->e.tree, &p->held_at, LOOK_TURNS, p->held_now);
    if (p->held_at != 0)
        return;
    memcpy(p->held, p->held_now, sizeof(p->held));
    memset(p->held_now, 0, sizeof(p->held_now));
    hold_the_rest(t, p);
}

uint64_t tasktab_oldest_ms(const struct tasktab *t, const struct part *p)
{
    if (p->oldest == 0 || p->e.store.n[TASK_WAITING] == 0)
        return 0;
    return (uint64_t)ms_max(engine_now(&p->e, t->now.ms) - p->oldest, 0);
}

/* The bound by which others, too, are refused. */
static uint8_t full_of_all(const struct part *p)
{
    return p->e.full != FULL_CHAINS && p->e.full != FULL_QUOTA ? p->e.full : FULL_NONE;
}

static struct part_status_row row(const struct tasktab *t, const struct part *p)
{
    const uint32_t *n = p->e.store.n;
    const struct engine_counts *c = &p->e.counts;
    struct part_status_row r = {
        .part = p->no,
        .part_epoch = p->epoch,
        .scheduled = (uint64_t)n[TASK_SCHEDULED] + n[TASK_RETRYING],
        .waiting = n[TASK_WAITING],
        .running = n[TASK_RUNNING],
        .final = (uint64_t)n[TASK_SUCCEEDED] + n[TASK_CANCELLED] + n[TASK_EXPIRED],
        .dead = n[TASK_DEAD],
        .queues = p->e.queues_now,
        .oldest_ms = tasktab_oldest_ms(t, p),
        .accepted = c->accepted,
        .started = c->started,
        .succeeded = c->succeeded,
        .retried = c->retried,
        .died = c->dead,
        .expired = c->expired,
        .due = c->late.n,
        .late_ms = c->late.sum_us / 1000,
        .bytes = p->e.store.bytes,
        .schedules = p->schedules.n,
        .waiting_units = p->e.units,
        .full = p->full_ms != 0 && t->now.ms - p->full_ms < FULL_MS ? full_of_all(p) : FULL_NONE,
        .life = has_left(t, p) ? PART_LEFT : life(p),
        .to_epoch = has_left(t, p) ? p->out->to_epoch : 0,
    };

    memcpy(r.held, p->held, sizeof(r.held));
    return r;
}

/* None without memory: they are a picture's. */
static struct bytes_of waits_of(const struct part *p, struct arena *mem)
{
    uint8_t bytes[WAITS_BYTES];
    uint32_t n = (uint32_t)waits_pack(&p->e.counts.waits, bytes);
    const uint8_t *kept = n > 0 ? arena_memdup(mem, bytes, n) : NULL;

    return (struct bytes_of){ kept != NULL ? n : 0, kept };
}

void tasktab_report(struct tasktab *t, struct outbox *out)
{
    bool due = t->now.ms - t->said_ms >= REPORT_MS;
    struct msg_part_status *m;

    if (!due && !t->say)
        return;
    t->say = false;
    t->said_ms = t->now.ms;
    each_part (t, p) {
        look_for_oldest(p);
        look_for_holds(t, p);
        busiest_look(&p->busiest, &p->e, t->o.busiest);
    }
    if (t->manager == 0)
        return;
    m = &outbox_add(out, t->manager, MSG_PART_STATUS)->part_status;
    m->epoch = t->epoch;
    m->v = arena_array(&out->mem, t->n_parts, sizeof(*m->v));
    if (m->v == NULL)
        return;
    each_part (t, p) {
        m->v[m->n] = row(t, p);
        m->v[m->n++].waits = waits_of(p, &out->mem);
        p->asked |= has_left(t, p); /* said when the store has the ends of its calls */
    }
    tasktab_report_endpoints(t, out);
}

/* ---- ends of tasks, to routers ------------------------------------------------------------- */

/* From one call to the next another one, if there are more. NULL: there is none. */
static struct tpeer *next_router(struct tasktab *t)
{
    each_tpeer (t, p) {
        if (p->role != RPC_ROUTER)
            continue;
        list_remove(&t->peers, &p->node);
        list_push_back(&t->peers, &p->node);
        return p;
    }
    return NULL;
}

/* Relays are long, and wait for room; what is short never does. */
static bool may_say(const struct notices *s, struct tpeer *router)
{
    return router != NULL && (!s->relays || tasktab_has_room(router));
}

static void send_all(struct tasktab *t, struct part *p, struct notices *s, struct outbox *out)
{
    struct tpeer *router;

    if (notices_idle_ms(s, t->now.ms) > 0)
        return;
    router = next_router(t);
    if (!may_say(s, router))
        notices_hold(s, t->now.ms);
    while (may_say(s, router) && notices_say(s, p->no, router->no, t->now.ms, out)) {
        if (s->relays) /* long ones */
            tasktab_weigh(router, out->v[out->n - 1].m.task_notice.put.n, out);
        p->asked = true;
        router = next_router(t);
    }
}

void tasktab_notices_send(struct tasktab *t, struct part *p, struct outbox *out)
{
    if (p->life != PART_OWNED || p->hold || t->hold)
        return;
    if (p->notices.queue[0] != 0)
        send_all(t, p, &p->notices, out);
    send_all(t, p, &p->relays, out);
}

void tasktab_notice_answered(struct tasktab *t, const struct msg_task_notice_ans *m)
{
    struct part *p = tasktab_part(t, m->part);

    if (p == NULL || p->life != PART_OWNED)
        return; /* said again, by whoever has the partition then */
    p->due = t->now.ms; /* others may go */
    if (p->hold || t->hold) {
        notices_unheard(m->id >= RELAY_IDS ? &p->relays : &p->notices, m);
        return;
    }
    tasktab_clock(t, p);
    if (m->id >= RELAY_IDS)
        tasktab_chain_answered(p, m);
    else
        notices_answered(&p->notices, m, t->now.ms, &p->e.log);
}

/* ---- the operator's own service for waits --------------------------------------------------- */

static void write_question(const struct part *p, const char *queue, struct buf *b)
{
    struct submit s = { .queue = tasktab_text(queue) };
    struct key_view k;
    struct task_view v;

    (void)engine_queue_view(&p->e, queue, &k);
    engine_foresee(&p->e, &s, &v);
    tasktab_reckon(p, &v);
    eta_question_write(&(struct eta_question){ queue, v.waiting, k.running, v.turns, v.eta_ms }, b);
}

const struct eta_rules *tasktab_eta_due(struct tasktab *t, struct task_now now, struct eta_due *d, struct buf *b)
{
    for (uint32_t i = 0; i < t->n_parts; i++) {
        const struct part *p = t->part[(t->eta_next + i) % t->n_parts];
        const char *queue = p->estimates != NULL && p->life == PART_OWNED && !p->hold && !t->hold
                                ? estimates_due(p->estimates, now.ms) : NULL;

        if (queue == NULL)
            continue;
        t->eta_next = (t->eta_next + i + 1) % t->n_parts; /* many queues of one hide no others */
        d->part = p->no;
        copy_text(d->queue, sizeof(d->queue), queue);
        write_question(p, queue, b);
        return &p->estimates->rules;
    }
    return NULL;
}

const struct eta_rules *tasktab_eta_rules(const struct tasktab *t, part_no no)
{
    const struct part *p = tasktab_part(t, no);

    return p != NULL && p->life == PART_OWNED && p->estimates != NULL ? &p->estimates->rules : NULL;
}

const char *tasktab_eta_told(struct tasktab *t, struct task_now now, const struct eta_due *d, const char *p,
                             size_t n)
{
    struct part *of = tasktab_part(t, d->part);

    return of != NULL && of->estimates != NULL ? estimates_told(of->estimates, d->queue, p, n, now.ms) : NULL;
}

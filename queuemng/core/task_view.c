/* task_view.c: fills the views. */
#include "queuemng/core/task_view.h"

#include <string.h>

#include "common/task/rules.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/table.h"
#include "queuemng/tasks/targets.h"

bool mng_endpoint_tripped(const struct mng *m, const char *name)
{
    const struct mendpoint *x = defined_find(m, DEF_ENDPOINT, name);

    return x != NULL && x->tripped;
}

void mng_each_pool(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_pool(m, p) {
        struct mng_pool_view v = { .def = &p->def, .id = p->part[0].no, .version = p->version,
                                   .partitions = p->n, .paused = p->def.paused,
                                   .warn_waiting = (uint64_t)p->def.warn_waiting,
                                   .rate_per_s = p->def.limits.n != 0 ? p->release.rate_per_s : -1,
                                   .limited_by = p->release.limited_by };

        (void)pool_sum(p, &v.sum);
        for (uint32_t i = 0; i < p->n; i++) {
            v.away += !p->part[i].confirmed;
            waits_join(&v.waits, &p->part[i].waits);
        }
        fn(ctx, &v);
    }
}

struct mng_part_moves mng_part_moves(const struct mng *m)
{
    struct mng_part_moves n = { .done = m->tasks.moves_committed,
                                .aborted = m->tasks.moves_aborted };

    each_pool(m, p)
        each_mpart(p, x)
            n.running += x->to != NULL;
    return n;
}

/* meter: what was used in a window that is over is left out. */
static void add_row(struct endpoint_row *sum, const struct endpoint_row *r, const struct meter *meter)
{
    sum->in_flight += r->in_flight;
    sum->held += r->held;
    sum->sent += r->sent;
    sum->succeeded += r->succeeded;
    sum->failed += r->failed;
    sum->ms += r->ms;
    sum->adaptive += r->adaptive;
    sum->affine += r->affine;
    sum->astray += r->astray;
    sum->units += r->units;
    for (size_t i = 0; i < UNIT_RATES_MAX; i++)
        sum->used[i] += meter[i].window.no == 0 || meter[i].window.no == r->window[i] ? r->used[i] : 0;
}

static void add_reading(struct mng_readings *r, const struct mshare *s)
{
    if (r->said == NULL || r->said[0] == 0 || (s->st.reading > READING_OPEN && s->reading_said[0] != 0))
        r->said = s->reading_said;
    r->closed += s->st.reading == READING_CLOSED;
    r->narrowed += s->st.reading == READING_NARROWED;
    r->blind += s->st.reading == READING_BLIND;
}

static void put_told(struct mng_told_view *v, const struct mng *m, const struct mendpoint *x)
{
    for (unsigned i = 0; i < TOLD_MAX; i++)
        if (m->now_ms < x->told[i].until)
            v[i] = (struct mng_told_view){ x->told[i].left, (uint64_t)(x->told[i].until - m->now_ms) };
}

void mng_each_endpoint(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_endpoint(m, x) {
        struct mng_endpoint_view v = { .def = &x->def, .version = x->version, .unusable = "",
                                       .tripped = x->tripped, .probe = x->probe, .readings.said = "",
                                       .meter = x->meter };

        each_share(x, s) {
            v.nodes += s->owner;
            v.open += s->st.breaker == BREAKER_OPEN;
            v.half_open += s->st.breaker == BREAKER_PROBES;
            if (s->unusable[0] != 0)
                v.unusable = s->unusable;
            add_row(&v.sum, &s->st, x->meter);
            add_reading(&v.readings, s);
        }
        each_target(x, t)
            each_share(t, s)
                v.sum.adaptive += s->st.adaptive;
        put_told(v.told, m, x);
        fn(ctx, &v);
    }
}

void mng_each_target(const struct mng *m, const char *name, mng_each_fn fn, void *ctx)
{
    const struct mendpoint *x = defined_find(m, DEF_ENDPOINT, name);

    if (x == NULL)
        return;
    each_target(x, t) {
        struct mng_target_view v = { .url = t->def.url, .address = t->address, .weight = t->weight,
                                     .max_concurrent = (uint64_t)t->def.max_concurrent,
                                     .rates = &t->def.rates, .draining = t->def.paused, .gone = t->gone,
                                     .unusable = "", .readings.said = "", .meter = t->meter };

        each_share(t, s) {
            v.nodes += s->owner;
            v.open += s->st.breaker == BREAKER_OPEN;
            v.half_open += s->st.breaker == BREAKER_PROBES;
            if (s->unusable[0] != 0)
                v.unusable = s->unusable;
            v.slots += u64_min(s->said.slots, ENDPOINT_ANY - v.slots);
            add_row(&v.sum, &s->st, t->meter);
            add_reading(&v.readings, s);
        }
        put_told(v.told, m, t);
        fn(ctx, &v);
    }
}

struct mng_target_place mng_target_place(const struct mng *m, const char *name, uint32_t no)
{
    const struct mendpoint *x = defined_find(m, DEF_ENDPOINT, name);

    if (x != NULL && no != 0)
        each_target(x, t)
            if (t->no == no)
                return (struct mng_target_place){ t->def.url, t->address };
    return (struct mng_target_place){ "", "" };
}

void mng_each_name(const struct mng *m, const char *endpoint, mng_each_fn fn, void *ctx)
{
    const struct mendpoint *x = defined_find(m, DEF_ENDPOINT, endpoint);

    if (x == NULL)
        return;
    each_name(x, n) {
        struct mng_name_view v = { .url = n->url, .addresses = n->d.n, .targets = targets_of_name(x, n->url),
                                   .left_out = n->d.left_out,
                                   .heard_ms = n->d.heard != 0 ? m->now_ms - n->d.heard : -1,
                                   .next_ms = ms_max(n->d.due - m->now_ms, 0), .why = n->d.why,
                                   .failing_ms = n->failing != 0 ? (uint64_t)(m->now_ms - n->failing) : 0 };

        fn(ctx, &v);
    }
}

static void add_probes(const struct mendpoint *x, struct mng_target_place target, mng_each_fn fn, void *ctx)
{
    each_share(x, s) {
        bool heard = s->heard && s->st.probe == x->probe;
        struct mng_probe_view v = { .node = s->node->name,
                                    .target = target,
                                    .there = s->node->registered,
                                    .heard = heard,
                                    .state = heard ? s->st.probe_state : PROBE_ASKED,
                                    .ms = heard ? s->st.probe_ms : 0,
                                    .said = heard ? s->probe_said : "" };

        if (s->owner)
            fn(ctx, &v);
    }
}

void mng_each_probe(const struct mng *m, const char *name, mng_each_fn fn, void *ctx)
{
    const struct mendpoint *x = defined_find(m, DEF_ENDPOINT, name);

    if (x == NULL || x->probe == 0)
        return;
    if (x->def.targets.n == 0)
        add_probes(x, (struct mng_target_place){ "", "" }, fn, ctx);
    each_target(x, t)
        add_probes(t, (struct mng_target_place){ t->def.url, t->address }, fn, ctx);
}

static struct mng_part_view part_view(const struct mng *m, const struct mpool *p, uint32_t share)
{
    const struct mendpoint *e = defined_find(m, DEF_ENDPOINT, p->def.endpoint);
    const struct mpart *x = &p->part[share];
    struct mng_part_view v = { .pool = p->def.match,
                               .node = x->node != NULL ? x->node->name : "",
                               .to = x->to != NULL ? x->to->name : "",
                               .share = share,
                               .up = x->confirmed,
                               .paused = p->def.paused,
                               .endpoint = p->def.endpoint,
                               .targeted = e != NULL && e->def.targets.n > 0,
                               .peer = x->confirmed ? x->node->peer : 0,
                               .st = x->st };

    v.st.part = x->no;
    v.st.part_epoch = x->epoch;
    return v;
}

void mng_each_part(const struct mng *m, const char *match, mng_each_fn fn, void *ctx)
{
    const struct mpool *p = defined_find(m, DEF_POOL, match);

    for (uint32_t i = 0; p != NULL && i < p->n; i++) {
        struct mng_part_view v = part_view(m, p, i);

        fn(ctx, &v);
    }
}

/* The pool that has the queue, as routers find it. NULL: none matches. */
static const struct mpool *own_pool(const struct mng *m, const char *queue, size_t n)
{
    const struct mpool *first = NULL;

    each_pool(m, p) {
        if (!queue_matches(p->def.match, queue, n))
            continue;
        if (p->def.rollout == 100 || queue_is_among(queue, n, (unsigned)p->def.rollout))
            return p;
        first = first != NULL ? first : p;
    }
    return first;
}

void mng_each_part_of(const struct mng *m, const char *queue, mng_each_fn fn, void *ctx)
{
    size_t n = strlen(queue);
    const struct mpool *own = own_pool(m, queue, n);
    struct mng_part_view v;

    if (own == NULL)
        return;
    v = part_view(m, own, part_share(queue, n, own->n));
    fn(ctx, &v);
    each_pool(m, p) {
        if (p == own || !queue_matches(p->def.match, queue, n))
            continue;
        v = part_view(m, p, part_share(queue, n, p->n));
        fn(ctx, &v);
    }
}

bool mng_part(const struct mng *m, part_no no, struct mng_part_view *v)
{
    const struct mpart *x = part_find(m, no);

    if (x != NULL)
        *v = part_view(m, x->pool, (uint32_t)(x - x->pool->part));
    return x != NULL;
}

void mng_each_task_node(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_task_node(m, n) {
        struct mng_task_node_view v = { .no = n->no,
                                        .name = n->name,
                                        .addr = n->addr,
                                        .admin = n->admin,
                                        .region = n->where.region,
                                        .zone = n->where.zone,
                                        .incarnation = n->incarnation,
                                        .up = n->registered,
                                        .draining = n->draining,
                                        .silent_ms = n->peer != 0 ? 0 : m->now_ms - n->down_ms,
                                        .partitions = n->n_parts };

        each_pool(m, p)
            each_mpart(p, x)
                v.moving += x->node == n && x->to != NULL;
        fn(ctx, &v);
    }
}

uint64_t mng_lacks_workers(const struct mng_pool_view *v)
{
    uint64_t left = v->def->paused || v->def->endpoint[0] != '\0' ? 0 : v->sum.waiting;

    for (enum task_hold h = 0; h < TASK_NHOLDS; h++)
        left -= u64_min(left, v->sum.held[h]);
    return left;
}

/* ---- budgets --------------------------------------------------------------------------------------- */

static struct bears both(struct bears a, struct bears b)
{
    return (struct bears){ u64_min(a.rate + b.rate, ENDPOINT_ANY), u64_min(a.slots + b.slots, ENDPOINT_ANY), 0,
                           u64_min(a.shared + b.shared, ENDPOINT_ANY) };
}

static struct mng_member_view endpoint_view(struct mendpoint *x)
{
    struct mng_member_view v = { .kind = "endpoint", .name = x->def.name,
                                 .weight = x->def.budget.weight, .part = x->claim.aim };

    each_share(x, s) {
        v.used = both(v.used, (struct bears){ s->held.rate, s->st.in_flight, 0, s->held.shared });
        v.held = both(v.held, s->held);
    }
    return v;
}

void mng_each_member(const struct mng *m, const char *budget, mng_each_fn fn, void *ctx)
{
    each_queue(m, q)
        if (strcmp(q->def.budget.name, budget) == 0) {
            struct mng_member_view v = { "queue", q->def.name, q->def.budget.weight, q->claim.aim,
                                         { q->budget_rate, slots_inside(m, q), 0, 0 },
                                         budget_queue_holds(m, q) };

            fn(ctx, &v);
        }
    each_endpoint(m, x)
        if (strcmp(x->def.budget.name, budget) == 0) {
            struct mng_member_view v = endpoint_view(x);

            fn(ctx, &v);
        }
}

static void add_used(void *ctx, const void *view)
{
    struct bears *n = ctx;

    *n = both(*n, ((const struct mng_member_view *)view)->used);
}

/* Rates of a budget stand behind an endpoint's own. */
static void add_units(const struct mng *m, const struct mbudget *b, struct endpoint_row *sum)
{
    each_endpoint(m, x)
        if (budget_with_units(m, x) == b)
            each_share(x, s)
                for (size_t i = 0; i < b->def.rates.n && x->def.rates.n + i < UNIT_RATES_MAX; i++)
                    sum->used[i] += s->st.used[x->def.rates.n + i];
}

void mng_each_budget(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_budget(m, b) {
        struct mng_budget_view v = { .meter = b->meter, .def = &b->def, .version = b->version,
                                     .limited_by = b->release.limited_by, .whole = b->whole,
                                     .held = budget_held(m, b) };

        mng_each_member(m, b->def.name, add_used, &v.used);
        add_units(m, b, &v.sum);
        fn(ctx, &v);
    }
}

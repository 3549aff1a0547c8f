/* budgets.c: see the header. */
#include "queuemng/release/budgets.h"

#include <string.h>

#include "common/base/log.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"
#include "queuemng/state/tasks.h"

#define LEAVES_MORE_MS 10000 /* time by which the lease of a call is longer than its deadline */

static bool is_of(const struct budget_member *x, const struct mbudget *b)
{
    return strcmp(x->name, b->def.name) == 0;
}

#define each_queue_of(m, b, q)                                                           \
    each_queue(m, q)                                                                     \
        if (is_of(&q->def.budget, b))
#define each_endpoint_of(m, b, x)                                                        \
    each_endpoint(m, x)                                                                  \
        if (is_of(&x->def.budget, b))

static struct mbudget *budget_of(const struct mng *m, const struct budget_member *x)
{
    return x->name[0] != 0 ? defined_find(m, DEF_BUDGET, x->name) : NULL;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return u64_min(u64_min(a, ENDPOINT_ANY) + u64_min(b, ENDPOINT_ANY), ENDPOINT_ANY);
}

static uint64_t less(uint64_t whole, uint64_t n)
{
    return whole == ENDPOINT_ANY ? whole : whole > n ? whole - n : 0;
}

/* ---- held ------------------------------------------------------------------------ */

static struct bears held_by_calls(const struct mng *m, const struct mbudget *b)
{
    struct bears n = { 0 };

    each_endpoint_of(m, b, x)
        each_share(x, s)
            n = (struct bears){ sum(n.rate, s->held.rate), sum(n.slots, s->held.slots), 0,
                                sum(n.shared, s->held.shared) };
    return n;
}

static uint64_t queue_slots(const struct mng *m, const struct mbudget *b, const struct mqueue *q)
{
    return slots_known(q) ? slots_inside(m, q) : b->whole.slots;
}

struct bears budget_queue_holds(const struct mng *m, const struct mqueue *q)
{
    const struct mbudget *b = budget_of(m, &q->def.budget);

    return b != NULL ? (struct bears){ q->budget_rate, queue_slots(m, b, q), 0, 0 } : (struct bears){ 0 };
}

static struct bears with_left(const struct mng *m, const struct mbudget *b, struct bears n)
{
    const struct mleft *v[] = { &b->calls, &b->people };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        if (m->now_ms < v[i]->until_ms)
            n.slots = sum(n.slots, v[i]->slots);
    return n;
}

struct bears budget_held(const struct mng *m, const struct mbudget *b)
{
    struct bears n = with_left(m, b, held_by_calls(m, b));

    each_queue_of(m, b, q) {
        n.rate = sum(n.rate, q->budget_rate);
        n.slots = sum(n.slots, queue_slots(m, b, q));
    }
    return n;
}

/* Queues are counted once in a step: each asks before it lets somebody in, if only by hand, so the
 * one that asked last alone may hold more than it did. */
static void asks(const struct mng *m, struct mbudget *b, const struct mqueue *q)
{
    if (b->asked != NULL)
        b->queues_slots += queue_slots(m, b, b->asked) - b->asked_slots;
    b->asked = q;
    b->asked_slots = queue_slots(m, b, q);
}

static void count_queues(const struct mng *m, struct mbudget *b)
{
    b->counted_no = m->count_no;
    b->queues_slots = 0;
    b->asked = NULL;
    each_queue_of(m, b, x)
        b->queues_slots += queue_slots(m, b, x);
}

static void leave_behind(const struct mng *m, struct mleft *v, uint64_t slots, int64_t ms)
{
    if (slots == 0)
        return;
    v->slots = sum(m->now_ms < v->until_ms ? v->slots : 0, slots);
    v->until_ms = ms_max(v->until_ms, m->now_ms + ms);
}

void budget_leaves(struct mng *m, const struct mendpoint *x)
{
    struct mbudget *b = budget_of(m, &x->def.budget);
    uint64_t n = 0;

    if (b == NULL)
        return;
    each_share(x, s)
        n = sum(n, s->held.slots);
    leave_behind(m, &b->calls, n, x->def.deadline_ms + LEAVES_MORE_MS);
}

void budget_outlives(struct mng *m, const struct mqueue *q)
{
    struct mbudget *b = budget_of(m, &q->def.budget);

    if (b != NULL)
        leave_behind(m, &b->people, slots_inside(m, q), queue_unreported_ms(&q->def));
}

static struct bears unheld(const struct mng *m, const struct mbudget *b)
{
    struct bears n = budget_held(m, b);

    return (struct bears){ less(b->whole.rate, n.rate), less(b->whole.slots, n.slots), 0,
                           less(b->whole.shared, n.shared) };
}

struct bears budget_unheld(const struct mng *m, const struct mendpoint *x)
{
    const struct mbudget *b = budget_of(m, &x->def.budget);

    return b != NULL ? unheld(m, b) : (struct bears){ ENDPOINT_ANY, ENDPOINT_ANY, 0, ENDPOINT_ANY };
}

struct bears budget_part(const struct mng *m, const struct mendpoint *x)
{
    const struct mbudget *b = budget_of(m, &x->def.budget);
    struct bears any = { ENDPOINT_ANY, ENDPOINT_ANY, 0, ENDPOINT_ANY }, part = b != NULL ? x->claim.aim : any;

    if (b != NULL && b->whole.rate == ENDPOINT_ANY && b->whole.slots == ENDPOINT_ANY) { /* also of who has just come */
        part.rate = any.rate;
        part.slots = any.slots;
    }
    return part;
}

struct mbudget *budget_with_units(const struct mng *m, const struct mendpoint *x)
{
    struct mbudget *b = budget_of(m, &x->def.budget);

    return b != NULL && b->def.rates.n > 0 ? b : NULL;
}

uint64_t budget_lets_in(const struct mng *m, const struct mqueue *q)
{
    struct mbudget *b = budget_of(m, &q->def.budget);
    uint64_t own;

    if (b == NULL || b->whole.slots == ENDPOINT_ANY)
        return UINT64_MAX;
    own = less(q->claim.aim.slots, slots_inside(m, q));
    if (b->counted_no != m->count_no && own == 0)
        return 0; /* and it need not be counted */
    if (b->counted_no != m->count_no)
        count_queues(m, b);
    asks(m, b, q);
    return u64_min(own, less(b->whole.slots, sum(with_left(m, b, held_by_calls(m, b)).slots,
                                                 b->queues_slots)));
}

uint64_t budget_slots(const struct mng *m, const struct mqueue *q)
{
    const struct mbudget *b = budget_of(m, &q->def.budget);

    return b != NULL && b->whole.slots != ENDPOINT_ANY ? q->claim.aim.slots : ENDPOINT_ANY;
}

bool budget_is_exceeded(const struct mng *m, const struct mqueue *q)
{
    uint64_t part = budget_slots(m, q);

    return part != ENDPOINT_ANY && slots_inside(m, q) > part;
}

double budget_rate(const struct mng *m, const struct mqueue *q)
{
    const struct mbudget *b = budget_of(m, &q->def.budget);

    return b != NULL && b->whole.rate != ENDPOINT_ANY ? (double)q->budget_rate / 1000 : -1;
}

/* ---- wanted ---------------------------------------------------------------------- */

static bool lets_nobody_in(const struct mqueue *q)
{
    return q->def.state == DEF_PAUSED || q->def.state == DEF_REJECT || sched_holds(q) ||
           q->deleted_until_ms != 0;
}

/* Within its own limits. */
static struct bears could_use(const struct mng *m, const struct mqueue *q)
{
    uint64_t waiting = 0, credit = 0, inside = slots_inside(m, q), rate, own = ENDPOINT_ANY;
    double came = 0;

    for (unsigned i = 0; i < q->n_lanes; i++) {
        waiting += q->lane[i].waiting + q->lane[i].returning;
        came += q->lane[i].join_per_s;
        each_seg(&q->lane[i], s)
            credit += s->credit.open;
    }
    inside -= u64_min(inside, credit);
    if (lets_nobody_in(q))
        return (struct bears){ 0, inside, 0, 0 };
    if (q->def.mode != MODE_SLOTS && q->rel.last_ms != 0)
        own = (uint64_t)(q->rel.own_per_s * 1000);
    rate = u64_min(1000 * waiting + (uint64_t)(1250 * came), own);
    inside += waiting + (uint64_t)(1.25 * came);
    return (struct bears){ rate, q->def.mode != MODE_RATE ? u64_min(inside, (uint64_t)q->def.max_active)
                                                          : inside, 0, 0 };
}

/* ---- divided --------------------------------------------------------------------- */

static size_t members(struct mng *m, const struct mbudget *b, struct claim **v)
{
    size_t n = 0;

    each_queue_of(m, b, q) {
        q->claim.weight = (uint64_t)q->def.budget.weight;
        q->claim.no = q->id;
        q->claim.people = true;
        if (v != NULL)
            v[n] = &q->claim;
        n++;
    }
    each_endpoint_of(m, b, x) {
        x->claim.weight = (uint64_t)x->def.budget.weight;
        x->claim.no = UINT32_MAX + (uint64_t)n; /* behind the queues, by name */
        if (v != NULL)
            v[n] = &x->claim;
        n++;
    }
    return n;
}

static void divide(struct mng *m, struct mbudget *b)
{
    size_t n = members(m, b, NULL);
    struct claim **v = arena_array(&m->out->box.mem, n, sizeof(struct claim *));
    struct fair *f = arena_array(&m->out->box.mem, n, sizeof(*f));

    if (v == NULL || f == NULL) {
        m->out->box.failed = true;
        return;
    }
    claims_divide(v, members(m, b, v), b->whole, m->now_ms, f);
    m->tasks.split = true;
}

/* Calls hold on to what they were told; what is left of the rate is people's. */
static void queues_rate(struct mng *m, struct mbudget *b)
{
    uint64_t left = less(b->whole.rate, held_by_calls(m, b).rate), all = 0;

    each_queue_of(m, b, q)
        all = sum(all, q->claim.aim.rate);
    each_queue_of(m, b, q)
        q->budget_rate = all <= left ? q->claim.aim.rate
                                     : (uint64_t)((double)q->claim.aim.rate * (double)left / (double)all);
}

static uint64_t rate_now(struct mng *m, struct mbudget *b)
{
    const struct def_limit *l = b->def.limits.v;
    const struct metric *metrics[METRIC_LIMITS_MAX] = { 0 };
    struct queue_def d = { .state = DEF_OPEN, .mode = MODE_RATE, .limits = b->def.limits,
                           .fallback_per_s = b->def.fallback_per_s,
                           .release_per_s = b->def.rate_per_s, .hysteresis = b->def.hysteresis };
    const struct release_in in = { .now_ms = m->now_ms, .tick_ms = m->opts.tick_ms, .def = &d,
                                   .metrics = metrics };

    if (!budget_has_rate(&b->def))
        return ENDPOINT_ANY;
    for (size_t i = 0; i < d.limits.n && i < ARRAY_LEN(metrics); i++)
        metrics[i] = metric_find(m->metric, m->n_metrics, l[i].metric);
    return (uint64_t)(release_rate(&b->release, &in) * 1000);
}

void budgets_tick(struct mng *m, bool second)
{
    each_budget(m, b) {
        struct bears whole = { rate_now(m, b), b->def.max_active != 0 ? (uint64_t)b->def.max_active
                                                                       : ENDPOINT_ANY, 0,
                               b->def.rates.n > 0 ? UNIT_PARTS : ENDPOINT_ANY };
        bool changed = whole.rate != b->whole.rate || whole.slots != b->whole.slots ||
                       whole.shared != b->whole.shared;

        b->whole = whole;
        if (second)
            each_queue_of(m, b, q)
                claim_says(&q->claim, could_use(m, q));
        if (second || changed)
            divide(m, b);
        queues_rate(m, b);
    }
}

#define LOG_MODULE "budget"

/* ---- members --------------------------------------------------------------------- */

/* Each of them is a bucket of the endpoint's at its nodes. */
static int counts_units(const struct budget_def *b, size_t rates, struct err *e)
{
    if (b->rates.n == 0 || b->rates.n + rates <= UNIT_RATES_MAX)
        return 0;
    return err_set(e, SQ_EINVAL, "its rates and those of budget %s are %zu: at most %d together", b->name,
                   rates + b->rates.n, UNIT_RATES_MAX);
}

int budget_named(const struct mng *m, const struct budget_member *x, size_t rates, struct err *e)
{
    const struct mbudget *b = x->name[0] != 0 ? defined_find(m, DEF_BUDGET, x->name) : NULL;

    if (x->name[0] != 0 && b == NULL)
        return err_set(e, SQ_EINVAL, "there is no budget %s", x->name);
    return b != NULL ? counts_units(&b->def, rates, e) : 0;
}

static int counts_inside(const struct budget_def *b, const struct queue_def *d, struct err *e)
{
    if (b->max_active == 0 || d->mode != MODE_RATE)
        return 0;
    return err_set(e, SQ_EINVAL, "budget %s has max_active: queue %s must count who is inside (mode "
                   "slots or both)", b->name, d->name);
}

int budget_takes_queue(const struct mng *m, const struct queue_def *d, struct err *e)
{
    const struct mbudget *b = defined_find(m, DEF_BUDGET, d->budget.name);
    int rc = budget_named(m, &d->budget, 0, e);

    return rc < 0 || b == NULL ? rc : counts_inside(&b->def, d, e);
}

int budget_may_remove(const struct mng *m, const void *x, bool final, struct err *e)
{
    const struct mbudget *b = x;

    (void)final; /* members are not given up for it */
    each_queue(m, q)
        if (strcmp(q->def.budget.name, b->def.name) == 0)
            return err_set(e, SQ_ECONFLICT, "budget %s: queue %s has it%s", b->def.name, q->def.name,
                           q->deleted_until_ms == 0 ? "" : ": it was deleted a moment ago; delete it "
                           "for good first (DELETE ...?final=true)");
    each_endpoint(m, p)
        if (strcmp(p->def.budget.name, b->def.name) == 0)
            return err_set(e, SQ_ECONFLICT, "budget %s: endpoint %s has it", b->def.name, p->def.name);
    return 0;
}

void budget_remove(struct mng *m, void *x)
{
    struct mbudget *b = x;

    log_warn("event=budget_removed budget=%s", b->def.name);
    defined_del(m, DEF_BUDGET, b);
    defined_free(m, DEF_BUDGET, b);
}

/* ---- defined --------------------------------------------------------------------- */

static void windows_move(struct mng *m, struct mbudget *b, const struct budget_def *d)
{
    size_t from[UNIT_RATES_MAX];

    meters_move(b->meter, &b->def.rates, &d->rates, from);
    each_endpoint_of(m, b, x) {
        each_share(x, s)
            meters_move_given(s, from, x->def.rates.n);
        x->put = m->tasks.put = true; /* with the budget: at other places these units are of other windows */
    }
}

void budget_put(struct mng *m, const struct mbudget *b)
{
    json_t *j = defined_json(DEF_BUDGET, b), *windows = meters_json(b->meter, &b->def.rates);

    if (windows != NULL)
        (void)json_object_set_new(j, "windows", windows);
    defined_put(m, DEF_BUDGET, b, j);
}

static int change(struct mng *m, struct mbudget *b, const struct budget_def *d, struct err *e)
{
    int rc = 0;

    if (defined_equals(DEF_BUDGET, b, d))
        return 0;
    each_queue(m, q)
        if (rc == 0 && strcmp(q->def.budget.name, d->name) == 0)
            rc = counts_inside(d, &q->def, e);
    each_endpoint_of(m, b, x)
        if (rc == 0 && counts_units(d, x->def.rates.n, e) < 0)
            rc = err_wrap(e, "endpoint %s", x->def.name);
    if (rc < 0)
        return rc;
    windows_move(m, b, d);
    rc = defined_change(DEF_BUDGET, b, d, e);
    if (rc == 0) {
        b->release = (struct release){ 0 };
        m->tasks.split = true; /* endpoints tell nodes its rates in units */
    }
    return rc;
}

int budget_define(struct mng *m, void *x, const void *def, struct err *e)
{
    const struct budget_def *d = def;
    struct mbudget *b = x;
    int rc = meters_known(m, &d->rates, e);

    if (rc < 0)
        return err_wrap(e, "budget %s", d->name);
    if (b != NULL)
        rc = change(m, b, d, e);
    else if (m->budgets.n >= BUDGETS_MAX)
        rc = err_set(e, SQ_ECONFLICT, "budget %s: a cluster has at most %d", d->name, BUDGETS_MAX);
    else if ((b = defined_new(m, DEF_BUDGET, d)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "budget %s: out of memory", d->name);
    if (rc == 0) {
        budget_put(m, b);
        log_info("event=budget_changed budget=%s version=%llu", d->name, (unsigned long long)b->version);
    }
    return rc;
}

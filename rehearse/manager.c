/* manager.c: see the header. Pure. */
#include "rehearse/manager.h"

#include <math.h>

#include "rehearse/state.h"

#define NEXT_LEADS_MS 3000 /* the lease, and a second */

/* ---- the backend ---- */

static void backend_tick(struct play *p)
{
    const struct night_backend *b = &p->n->backend;

    p->entries *= 0.9; /* a mean over a second; those of a tick are added as they come */
    p->value = b->base + b->per_person * p->inside * p->k + b->per_release * p->entries * p->k;
    if (p->now < p->down_until) {
        p->value = 0;
        return;
    }
    p->sec.backend = fmaxf(p->sec.backend, (float)p->value); /* also of a crash, before the second is over */
    if (b->crash_above > 0 && p->value > b->crash_above) {
        figures_mark(p->f, p->now, "the backend went down at %.0f", p->value);
        p->f->crashes++;
        p->f->thrown_out += p->inside;
        p->inside = 0;
        p->crashed = p->now;
        p->down_until = p->now + (uint32_t)b->restart_ms;
    }
    if (p->now - p->sampled < b->sample_ms && p->sampled != 0)
        return;
    p->sampled = p->now;
    if (p->now < p->down_until)
        metric_fail(&p->metric, "down");
    else
        metric_set(&p->metric, p->value, 1e9, p->now, p->now);
}

/* ---- releases ---- */

static uint64_t slots(const struct play *p)
{
    uint64_t most = (uint64_t)p->d.max_active, taken = ((uint64_t)p->inside + p->ready) * p->k;

    for (unsigned i = 0; i < p->n_lanes; i++)
        taken += p->lane[i].owed;

    return most > taken ? most - taken : 0;
}

/* ms: until the release is stored, at the node. */
static void let_in(struct play *p, struct lane *l, const uint32_t *order, uint32_t n, bool passed_over, uint32_t ms)
{
    for (uint32_t k = 0; k < n; k++) {
        p->v[l->by_order[order[k]]].released = p->now + ms;
        if (l->last_order != UINT32_MAX && order[k] <= l->last_order)
            p->f->out_of_order += !passed_over;
        else
            l->last_order = order[k];
    }
    l->released += n;
    p->ready += n;
    p->sec.released += n;
}

/* From the head on; past a node that is away, but only after a while. Returns how many went in. */
static uint64_t pop(struct play *p, struct lane *l, uint64_t n)
{
    static _Thread_local uint32_t out[LINEUP_POP_MAX];
    uint64_t left = n;
    bool passed = false;

    for (uint32_t s = l->line.head; s < l->line.n && left > 0; s++) {
        struct lineup_seg *g = &l->line.v[s];
        const struct proc *node = &p->node[g->node];

        if (g->q.waiting == 0)
            continue;
        if (node->down_ms != 0 && p->now - node->down_ms < p->n->cluster.skip_after_ms)
            break;
        passed |= node->down_ms != 0;
        while (node->down_ms == 0 && left > 0) {
            uint32_t got = lineup_pop(&l->line, s, (uint32_t)u64_min(left, LINEUP_POP_MAX), out);

            if (got == 0)
                break;
            let_in(p, l, out, got, out[0] < l->last_order && p->f->overtaken > 0,
                   p->world.way[p->world.manager][p->world.of_node[g->node]] + node->disk_ms);
            p->f->overtaken += passed ? got : 0;
            left -= got;
        }
    }
    return n - left;
}

/* Whole rows; what is left of one stays owed, as long as somebody waits for it. */
static uint64_t pop_people(struct play *p, struct lane *l, uint64_t n)
{
    uint64_t rows = (l->owed + n) / p->k, got = pop(p, l, rows);

    l->owed = l->line.waiting > 0 ? (l->owed + n) % p->k : 0;
    return n - u64_min(n, (rows - got) * p->k);
}

static void judge(struct play *p, const struct release_in *in, uint64_t got)
{
    double rate = p->rel.rate_per_s * in->boost, debt = 1 + p->k;
    bool by_slots = p->d.mode != MODE_RATE && p->d.state != DEF_PASSTHROUGH;
    uint64_t over = by_slots && got > in->slots ? got - in->slots : 0;

    if (p->d.mode != MODE_SLOTS) {
        /* two ticks may come together, of the rate before; a fraction, or of a row, is carried */
        p->may = fmin(p->may, debt + 0.2 * fmax(rate, p->may_rate)) + rate * TICK_MS / 1000 - (double)got;
        over = u64_max(over, p->may < -debt ? (uint64_t)ceil(-debt - p->may) : 0);
        p->may = fmax(-debt, p->may);
        p->may_rate = rate;
        p->f->boost = fmax(p->f->boost, in->boost);
    }
    p->f->over_limit += over;
}

static void release(struct play *p)
{
    const struct metric *metrics[16];
    struct release_in in = { .now_ms = p->now + 1,
                             .tick_ms = TICK_MS,
                             .def = &p->d,
                             .metrics = metrics,
                             .n_lanes = p->n_lanes,
                             .weights = p->weight,
                             .boost = no_show_boost(&p->no_show, p->d.no_show_boost),
                             .slots = slots(p) };
    struct release_out out = { 0 };
    uint64_t got = 0, asked = 0;

    for (unsigned i = 0; i < p->n_lanes; i++)
        in.waiting[i] = waiting_of(p, &p->lane[i]) - u64_min(p->lane[i].owed, waiting_of(p, &p->lane[i]));
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        metrics[i] = &p->metric;
    release_tick(&p->rel, &in, &out);
    p->allowed = p->d.mode == MODE_SLOTS ? p->release_per_s : out.allowed_per_s;
    for (unsigned i = 0; i < p->n_lanes; asked += out.n[i++])
        got += pop_people(p, &p->lane[i], out.n[i]);
    release_refund(&p->rel, asked - got, p->rel.rate_per_s * TICK_MS / 1000);
    judge(p, &in, got);
}

/* ---- what people are told ---- */

static uint64_t coming(const struct play *p, const struct lane *l)
{
    return waiting_of(p, l) + (uint64_t)(2 * l->join_per_s);
}

/* Like queuemng/release/eta.c: lanes share the budget as they share those who wait. */
static void plan_lane(struct play *p, struct lane *l, uint64_t all)
{
    double share = all > 0 ? (double)coming(p, l) / (double)all : 1.0 / p->n_lanes;
    struct pace x = pace_plan(coming(p, l), l->release_per_s, (uint32_t)fmax(1, (double)p->d.poll_budget_per_s * share),
                              (uint32_t)p->d.poll_min_ms, (uint32_t)p->d.poll_max_ms);
    uint32_t off = x.us_per_place > l->pace.us_per_place ? x.us_per_place - l->pace.us_per_place
                                                         : l->pace.us_per_place - x.us_per_place;

    if (x.min_ms != l->pace.min_ms || x.max_ms != l->pace.max_ms || (uint64_t)off * 20 > l->pace.us_per_place)
        l->pace = x;
}

static void plan(struct play *p)
{
    uint64_t all = 0;

    for (unsigned i = 0; i < p->n_lanes; i++)
        all += coming(p, &p->lane[i]);
    for (unsigned i = 0; i < p->n_lanes; i++)
        plan_lane(p, &p->lane[i], all);
}

/* The lane's share of what its queue lets in; 0: what those before it leave is known by measuring. */
static double share_of(const struct play *p, unsigned no)
{
    double sum = 0;

    for (unsigned i = 0; i < p->n_lanes; i++) {
        if (i != no && p->lane[i].line.waiting == 0)
            continue;
        if (p->d.sharing == SHARE_STRICT && i < no)
            return 0;
        sum += p->d.sharing == SHARE_STRICT && i != no ? 0 : (double)p->weight[i];
    }
    return (double)p->weight[no] / sum;
}

static void estimate(struct play *p, unsigned no)
{
    struct lane *l = &p->lane[no];
    bool by_slots = p->d.mode == MODE_SLOTS || p->rel.by_slots;
    struct eta_in in = { .now_ms = p->now + 1,
                         .waiting = waiting_of(p, l),
                         .released = (uint64_t)l->released * p->k,
                         .gone = l->gone * p->k,
                         .allowed = by_slots ? 0 : p->allowed * no_show_boost(&p->no_show, p->d.no_show_boost) *
                                                       share_of(p, no),
                         .paused = p->d.state == DEF_PAUSED,
                         .told_for_ms = pace_longest_ms(&l->pace) };

    if (by_slots && l->line.waiting > 0)
        in.by_stay = (double)p->d.max_active * 1000 / (double)queue_session_ms(&p->d) * share_of(p, no);
    in.stopped = !in.paused && (p->d.state == DEF_REJECT || (p->d.mode != MODE_SLOTS && p->allowed <= 0));
    eta_second(&l->eta, &in);
}

static void rates(struct play *p, struct lane *l)
{
    double j = (double)l->joined * p->k, r = (double)l->released * p->k;

    l->join_per_s = j > l->join_per_s ? j : 0.7 * l->join_per_s + 0.3 * j;
    l->release_per_s = l->release_per_s == 0 ? r : 0.8 * l->release_per_s + 0.2 * r;
    p->release_per_s += l->release_per_s;
}

static void told_second(struct play *p)
{
    p->release_per_s = 0;
    for (unsigned i = 0; i < p->n_lanes; i++) {
        rates(p, &p->lane[i]);
        estimate(p, i);
        p->lane[i].joined = p->lane[i].released = 0;
        p->lane[i].gone = 0;
    }
    plan(p);
}

/* ---- what happens when ---- */

static void lose(struct play *p, struct proc *x, const struct night_event *e)
{
    bool for_good = e->for_ms == 0 || (x->down_ms != 0 && x->back_ms == 0);

    x->back_ms = for_good ? 0 : (uint32_t)u64_max(x->back_ms, p->now + (uint64_t)e->for_ms);
    if (x->down_ms == 0)
        x->down_ms = p->now;
}

static void kill_proc(struct play *p, struct proc *x, const char *what, const struct night_event *e)
{
    lose(p, x, e);
    figures_mark(p->f, p->now, "%s %lld is killed", what, (long long)e->no);
}

static uint32_t up_at(const struct proc *x)
{
    return x->down_ms == 0 ? 0 : x->back_ms != 0 ? x->back_ms : UINT32_MAX;
}

/* When something of it is up: 0: now; UINT32_MAX: never. */
static uint32_t region_up_at(const struct play *p, unsigned region)
{
    uint32_t at = UINT32_MAX;

    for (int64_t i = 0; i < p->n->cluster.nodes; i++)
        if (p->world.of_node[i] == region && up_at(&p->node[i]) < at)
            at = up_at(&p->node[i]);
    for (unsigned i = 0; i < p->world.routers[region]; i++)
        if (up_at(&p->router[p->world.router[region][i]]) < at)
            at = up_at(&p->router[p->world.router[region][i]]);
    return at;
}

/* A manager elsewhere leads soon; if all are away, the first one that is back. */
static void lead_elsewhere(struct play *p)
{
    uint32_t at = UINT32_MAX;

    for (unsigned i = 0; i < p->world.n; i++)
        if (region_up_at(p, i) < at) {
            p->world.manager = i;
            at = region_up_at(p, i);
        }
    p->other_leads = at != UINT32_MAX;
    p->manager_back = p->other_leads ? (at > p->now ? at : p->now) + NEXT_LEADS_MS : UINT32_MAX;
}

static void lose_region(struct play *p, const struct night_event *e)
{
    unsigned region = regions_no(p->n, e->region);

    for (int64_t i = 0; i < p->n->cluster.nodes; i++)
        if (p->world.of_node[i] == region)
            lose(p, &p->node[i], e);
    for (unsigned i = 0; i < p->world.routers[region]; i++)
        lose(p, &p->router[p->world.router[region][i]], e);
    figures_mark(p->f, p->now, "region %s is lost", e->region);
    if (region == p->world.manager)
        lead_elsewhere(p);
}

static void happens(struct play *p, const struct night_event *e)
{
    switch ((enum night_what)e->what) {
    case KILL_NODE:
        kill_proc(p, &p->node[e->no - 1], "segment node", e);
        break;
    case KILL_ROUTER:
        kill_proc(p, &p->router[e->no - 1], "router", e);
        break;
    case KILL_MANAGER:
        p->manager_back = e->for_ms > 0 ? p->now + (uint32_t)e->for_ms : UINT32_MAX;
        figures_mark(p->f, p->now, "the manager is killed");
        break;
    case ADD_ROUTER:
        world_add_router(&p->world, p->n_routers++, e->region != NULL && e->region[0] != '\0' ? regions_no(p->n, e->region) : 0);
        figures_mark(p->f, p->now, "router %u is added", p->n_routers);
        break;
    case LOSE_REGION:
        lose_region(p, e);
        break;
    case SLOW_DISK:
        p->node[e->no - 1].disk_ms = (uint32_t)e->value;
        p->node[e->no - 1].disk_back_ms = e->for_ms > 0 ? p->now + (uint32_t)e->for_ms : 0;
        figures_mark(p->f, p->now, "writes of segment node %lld take %.0f ms", (long long)e->no, e->value);
        break;
    case SET_RATE:
        figures_mark(p->f, p->now, "rate %g to %g", p->d.release_per_s, e->value);
        p->d.release_per_s = e->value;
        break;
    case SET_MAX:
        figures_mark(p->f, p->now, "max_active %lld to %.0f", (long long)p->d.max_active, e->value);
        p->d.max_active = (int64_t)e->value;
        break;
    case SET_STATE:
        figures_mark(p->f, p->now, "%s to %s", def_state_names[p->d.state], def_state_names[e->state]);
        p->d.state = e->state;
        break;
    }
}

static void come_back(struct play *p, struct proc *v, unsigned n, const char *what)
{
    for (unsigned i = 0; i < n; i++)
        if (v[i].down_ms != 0 && v[i].back_ms != 0 && p->now >= v[i].back_ms) {
            v[i] = (struct proc){ .disk_ms = v[i].disk_ms, .disk_back_ms = v[i].disk_back_ms };
            figures_mark(p->f, p->now, "%s %u is back", what, i + 1);
        }
}

static void disks_are_well(struct play *p)
{
    for (int64_t i = 0; i < p->n->cluster.nodes; i++)
        if (p->node[i].disk_back_ms != 0 && p->now >= p->node[i].disk_back_ms) {
            p->node[i].disk_ms = (uint32_t)p->n->cluster.disk_ms;
            p->node[i].disk_back_ms = 0;
            figures_mark(p->f, p->now, "the disk of segment node %lld is well", (long long)i + 1);
        }
}

/* Lines of a node that is gone for long are rebuilt on others: its people bring their places. */
static void rebuild(struct play *p)
{
    unsigned n = (unsigned)p->n->cluster.nodes, to;

    for (unsigned i = 0; i < n; i++) {
        if (p->node[i].down_ms == 0 || p->now - p->node[i].down_ms < p->n->cluster.lost_after_ms)
            continue;
        for (to = 0; to < n && p->node[to].down_ms != 0;)
            to++;
        for (unsigned k = 0; k < p->n_lanes; k++)
            for (uint32_t s = p->lane[k].line.head; to < n && s < p->lane[k].line.n; s++)
                if (p->lane[k].line.v[s].node == i)
                    p->lane[k].line.v[s].node = (uint16_t)to;
    }
}

/* ---- ticks ---- */

void manager_start(struct play *p)
{
    plan(p);
}

void manager_tick(struct play *p)
{
    const struct night_event *e = p->n->events.v;

    while (p->next_event < p->n->events.n && e[p->next_event].at_ms <= p->now)
        happens(p, &e[p->next_event++]);
    come_back(p, p->router, p->n_routers, "router");
    come_back(p, p->node, (unsigned)p->n->cluster.nodes, "segment node");
    disks_are_well(p);
    rebuild(p);
    for (unsigned i = 0; i < p->n_lanes; i++)
        lineup_settle(&p->lane[i].line);
    backend_tick(p);
    if (p->now < p->manager_back)
        return;
    if (p->other_leads)
        figures_mark(p->f, p->now, "a manager in %s leads", regions_name(p->n, p->world.manager));
    p->other_leads = false;
    release(p);
}

void manager_second(struct play *p)
{
    const struct night_costs *cost = &p->n->cluster.cost;
    uint32_t no = p->now / 1000;
    struct second *s = &p->f->s[no];

    *s = p->sec;
    s->joined *= p->k;
    s->released *= p->k;
    s->polls *= p->k;
    s->gave_up *= p->k;
    s->waiting = (uint32_t)all_waiting(p);
    s->inside = p->inside * p->k;
    s->allowed = (float)p->allowed;
    s->why = (uint8_t)figures_why(p->f, p->now < p->manager_back       ? "no_manager"
                                        : p->rel.limited_by[0] != '\0' ? p->rel.limited_by
                                                                       : "none");
    if (s->waiting > 0)
        p->f->why_s[s->why]++;
    for (uint32_t i = 0; i < p->f->procs; i++) {
        bool router = i < p->f->routers;
        struct proc *x = router ? &p->router[i] : &p->node[i - p->f->routers];
        bool runs = x->down_ms == 0 && (!router || i < p->n_routers);

        p->f->cpu[(size_t)no * p->f->procs + i] =
            (float)(x->used_us / 1e6 + (runs ? (router ? cost->router_idle_ms : cost->node_idle_ms) / 1e3 : 0));
        x->used_us = 0;
    }
    for (unsigned i = 0; i < p->n_lanes; i++) {
        s->tail = fmaxf(s->tail, (float)(p->lane[i].tail.used_us / 1e6));
        p->lane[i].tail.used_us = 0;
    }
    if (p->now >= p->manager_back) {
        no_show_second(&p->no_show);
        told_second(p);
    }
    if (p->world.n > 1 && world_second(&p->world, p->n, p->now))
        figures_mark(p->f, p->now, "most people join in %s: segments are opened there", p->world.most.region);
    p->sec = (struct second){ 0 };
}

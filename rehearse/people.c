/* people.c: what each person does when it is its time: joins, polls, gives up, goes in, leaves.
 * Pure. */
#include "rehearse/people.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "common/base/buf.h"
#include "rehearse/state.h"

static uint32_t span(struct play *p, const struct night_span *s)
{
    double ms = (double)s->mean_ms;

    if (s->kind == DIST_NONE)
        return UINT32_MAX;
    if (s->kind == DIST_UNIFORM)
        ms = 2 * ms * rng_unit(&p->rng);
    else if (s->kind == DIST_EXPONENTIAL)
        ms = rng_exp(&p->rng, ms);
    return ms < 1e9 ? (uint32_t)ms + 1 : 1000000000;
}

/* A silent one keeps its place for so long, beside the time that it was told to wait. */
static uint32_t idle_ms(const struct play *p)
{
    const struct def_idle *d = &p->d.idle;
    int64_t of[] = { d->browser_ms, d->mobile_ms, d->game_ms };

    return (uint32_t)of[p->n->crowd.client];
}

static void due(struct play *p, uint32_t i, uint64_t at)
{
    if (at < (uint64_t)p->n->for_ms + CALENDAR_MS)
        calendar_put(p->cal, p->v, i, p->now, (uint32_t)at);
}

/* A person keeps to its router while that is up, and to its region while one there is. */
static struct proc *router_of(struct play *p, uint32_t i)
{
    const struct world *w = &p->world;

    for (unsigned j = 0, region = p->v[i].region; j < w->n; j++, region = (region + 1) % w->n)
        for (unsigned k = 0; k < w->routers[region]; k++) {
            struct proc *r = &p->router[w->router[region][(i + k) % w->routers[region]]];

            if (r->down_ms == 0)
                return r;
        }
    return NULL;
}

/* ms from a router to a node; there and back it is the same twice, or nearly. */
static uint32_t way_of(const struct play *p, const struct proc *router, unsigned node)
{
    return p->world.way[p->world.of_router[router - p->router]][p->world.of_node[node]];
}

static uint32_t way_back(const struct play *p, const struct proc *router, unsigned node)
{
    return p->world.way[p->world.of_node[node]][p->world.of_router[router - p->router]];
}

static void told(const struct play *p, struct person *x)
{
    const struct lane *l = &p->lane[x->lane];
    double s;

    if (x->told != UINT32_MAX)
        return;
    s = eta_seconds(eta_told_rate(&l->eta), l->eta.told_leave, x->place);
    if (s >= 0 && s < 1e6)
        x->told = (uint32_t)(s * 1000) + (p->now - x->came);
}

/* When it polls again, or gives up, if that is sooner. */
static void poll_later(struct play *p, uint32_t i, uint32_t ms)
{
    struct person *x = &p->v[i];
    uint64_t at = (uint64_t)p->now + ms;

    due(p, i, at < x->give_up ? at : x->give_up);
}

static uint32_t interval(struct play *p, const struct person *x)
{
    return pace_jittered_ms(&p->lane[x->lane].pace, x->place, (uint32_t)rng_u64(&p->rng));
}

/* ---- joins ---- */

static double fullness(const struct play *p, unsigned node)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < p->n_lanes; i++)
        for (uint32_t s = p->lane[i].line.head; s < p->lane[i].line.n; s++)
            if (p->lane[i].line.v[s].node == node)
                n += p->lane[i].line.v[s].q.waiting;
    return (double)n * p->k * 100 / (double)p->n->cluster.max_tickets;
}

/* Percent; a node elsewhere than most people join counts as so much fuller. */
static double aside(const struct play *p, unsigned node)
{
    const char *most = p->world.most.region;

    if (most[0] == '\0')
        return 0;
    return fullness(p, node) + (strcmp(regions_name(p->n, p->world.of_node[node]), most) != 0 ? REGION_PERCENT : 0);
}

/* Takes one after the other; with regions the one that is set aside least. */
static int node_up(struct play *p, unsigned *no)
{
    double least = INFINITY;

    for (int64_t k = 0; k < p->n->cluster.nodes; k++) {
        unsigned at = (unsigned)((p->next_node + k) % p->n->cluster.nodes);

        if (p->node[at].down_ms == 0 && aside(p, at) < least) {
            least = aside(p, at);
            *no = at;
        }
    }
    if (least == INFINITY)
        return SQ_EUNAVAIL;
    p->next_node = *no + 1;
    return 0;
}

/* The answer is there in ms from now. */
static void joined(struct play *p, struct person *x, uint32_t ms)
{
    struct region_times *t = &p->f->times[x->region];
    uint32_t took = p->now - x->came + ms;

    t->joins++;
    t->join_ms += took;
    t->most_join_ms = took > t->most_join_ms ? took : t->most_join_ms;
    p->world.joined[x->region] += p->k;
}

/* A join comes again. */
static int held(struct play *p, uint32_t i)
{
    p->f->held++;
    p->v[i].state = COMING;
    due(p, i, p->now + AGAIN_MS + rng_below(&p->rng, AGAIN_MS));
    return 0;
}

static int join(struct play *p, uint32_t i)
{
    const struct night_costs *c = &p->n->cluster.cost;
    struct person *x = &p->v[i];
    struct proc *r = router_of(p, i);
    struct lane *l = &p->lane[x->lane];
    unsigned no = lineup_tail(&l->line);
    uint32_t answer;
    int rc;

    if (p->d.state == DEF_CLOSED || p->d.state == DEF_REJECT ||
        (p->d.max_waiting > 0 && all_waiting(p) >= (uint64_t)p->d.max_waiting)) {
        p->f->refused++;
        x->state = OVER;
        return 0;
    }
    if (no != UINT_MAX && p->node[no].down_ms != 0) {
        lineup_seal(&l->line);
        no = UINT_MAX;
    }
    if (r == NULL || (no == UINT_MAX && node_up(p, &no) < 0) ||
        (x->state == COMING && !proc_serve(p, r, c->connect_us + c->join_us)))
        return held(p, i);
    if (x->state == COMING && way_of(p, r, no) > 0) {
        x->state = AT_SEA;
        due(p, i, p->now + way_of(p, r, no));
        return 0;
    }
    if (!proc_serve(p, &l->tail, c->node_join_us) || !proc_serve(p, &p->node[no], c->node_join_us))
        return held(p, i);
    if (!GROW(l->by_order, l->n_orders, l->cap, 4096))
        return SQ_ENOMEM;
    rc = lineup_join(&l->line, no, &x->seg, &x->order);
    if (rc < 0)
        return rc;
    l->by_order[l->n_orders++] = i;
    l->joined++;
    p->f->joined++;
    p->sec.joined++;
    x->state = WAITING;
    x->place = lineup_place(&l->line, x->seg, x->order) * p->k;
    told(p, x);
    answer = way_back(p, r, no) + p->node[no].disk_ms;
    joined(p, x, answer);
    poll_later(p, i, answer + interval(p, x));
    return 0;
}

/* A person of a past night leaves when it did; who was let in then would have waited longer. */
static uint32_t past_patience(const struct play *p, uint32_t i)
{
    const struct night_past *x = &p->n->past[i];
    uint32_t idle = x->fate == PAST_SILENT ? idle_ms(p) : 0;

    if (x->fate != PAST_LEFT && x->fate != PAST_SILENT)
        return UINT32_MAX;
    return x->waited_ms > idle ? x->waited_ms - idle : 1;
}

/* By chance, but the same in every night. */
static uint8_t lane_of(const struct play *p, uint32_t i)
{
    const struct night_share *v = p->n->crowd.lanes.v;
    double part = (double)((i * 2246822519u) >> 8) / 16777216.0 * 100;

    if (p->n->past != NULL)
        return (uint8_t)p->n->past[i].lane;
    for (size_t k = 0; k < p->n->crowd.lanes.n; part -= v[k++].percent)
        if (part < v[k].percent)
            return (uint8_t)night_lane(&p->d, v[k].lane, strlen(v[k].lane));
    return 0;
}

static int arrives(struct play *p, enum person_kind kind)
{
    uint32_t i = p->came++, patience = UINT32_MAX;
    struct person *x = &p->v[i];

    if (p->n->past != NULL)
        patience = past_patience(p, i);
    else if (kind == PERSON)
        patience = span(p, &p->n->crowd.patience);
    *x = (struct person){ .came = p->now, .told = UINT32_MAX, .place = UINT32_MAX, .next = CALENDAR_NONE };
    x->kind = (uint8_t)kind & 15;
    x->region = regions_of(p->n, kind == SECOND ? i - 1 : i) & 15;
    x->lane = kind == SECOND ? (x[-1].lane & 15) : (kind == BOT ? 0 : lane_of(p, i) & 15);
    x->give_up = patience < UINT32_MAX - p->now ? p->now + patience : UINT32_MAX;
    if (kind == SECOND) /* gives up when its person does */
        x->give_up = x[-1].give_up;
    p->persons += kind == PERSON;
    p->f->second_places += kind == SECOND;
    p->f->bots += kind == BOT;
    return join(p, i);
}

/* Refusals for an address cost the routers a request each. */
static void refuse_bots(struct play *p, double n)
{
    uint64_t late = p->f->late;

    if (n < 1)
        return;
    p->f->bots_refused += (uint64_t)n;
    for (unsigned i = 0; i < p->n_routers; i++) /* requests that a full router drops are no loss */
        if (p->router[i].down_ms != 0 ||
            !proc_serve(p, &p->router[i], n / p->n_routers * (p->n->cluster.cost.connect_us + p->n->cluster.cost.poll_us)))
            p->f->late = late;
}

int people_arrive(struct play *p)
{
    msec_t until = p->now + CALENDAR_MS;
    uint64_t end = night_arrived(p->n, until) / p->k;
    double tried, bots = night_bots(p->n, until, &tried) / p->k;
    int rc = 0;

    while (rc == 0 && p->persons < end && p->came < p->people) {
        rc = arrives(p, PERSON);
        if (rc == 0 && night_seconds(p->n, p->persons) > p->f->second_places && p->came < p->people)
            rc = arrives(p, SECOND);
    }
    while (rc == 0 && (double)p->f->bots + 1 <= bots && p->came < p->people)
        rc = arrives(p, BOT);
    refuse_bots(p, tried / p->k - bots - (double)p->f->bots_refused);
    return rc;
}

/* ---- in line ---- */

static bool no_show(const struct play *p, uint32_t i)
{
    const struct person *x = &p->v[i];
    double part = (double)((i * 2654435761u) >> 8) / 16777216.0 * 100; /* the same in every night */

    if (p->n->past != NULL)
        return p->n->past[i].fate == PAST_NO_SHOW;
    if (x->kind == BOT)
        return part >= p->n->crowd.bots.enter;
    return x->in != 0 || part < p->n->crowd.no_shows; /* is in by another place of its own */
}

static void missed(struct play *p, struct person *x)
{
    p->ready--;
    p->no_show.missed += p->k;
    p->f->no_shows++;
    x->state = OVER;
}

static uint32_t stay(struct play *p, uint32_t i)
{
    if (p->n->past != NULL && p->n->past[i].stay_ms != UINT32_MAX)
        return p->n->past[i].stay_ms;
    return span(p, &p->n->crowd.stay);
}

/* ms: until the pass has come. */
static void enter(struct play *p, uint32_t i, uint32_t ms)
{
    struct person *x = &p->v[i];
    struct region_times *t = &p->f->times[x->region];

    p->ready--;
    p->no_show.claimed += p->k;
    p->f->admitted++;
    p->entries++;
    x->in = p->now + ms;
    x->give_up = p->now;
    x->state = INSIDE;
    t->passes++;
    t->pass_ms += x->in - x->released;
    p->f->bots_in += x->kind == BOT;
    if (x->kind == SECOND)
        x[-1].in = x->in;
    else if (i + 1 < p->came && x[1].kind == SECOND)
        x[1].in = x->in;
    p->inside++;
    due(p, i, (uint64_t)x->in + stay(p, i));
}

/* Was let in and has just learned of it; or is too late. */
static void learns(struct play *p, uint32_t i, uint32_t ms)
{
    struct person *x = &p->v[i];
    uint64_t claim = x->released + (uint64_t)p->d.claim_ms;

    if (x->state == WAITING && !no_show(p, i) && p->now < claim + (uint64_t)p->d.grace_ms) {
        enter(p, i, ms);
    } else if (p->now < claim) {
        x->state = SILENT;
        due(p, i, claim);
    } else {
        missed(p, x);
    }
}

static void give_up(struct play *p, uint32_t i)
{
    struct person *x = &p->v[i];
    bool silent = p->n->past != NULL ? p->n->past[i].fate == PAST_SILENT
                                     : rng_unit(&p->rng) * 100 < p->n->crowd.silent;

    if (silent) {
        x->state = SILENT;
        due(p, i, (uint64_t)p->now + idle_ms(p) + (p->n->past == NULL ? pace_interval_ms(&p->lane[x->lane].pace, x->place) : 0));
        return;
    }
    lineup_drop(&p->lane[x->lane].line, x->seg, x->order, DEAD_LEFT);
    x->state = OVER;
    p->f->gave_up++;
    p->lane[x->lane].gone++;
    p->sec.gave_up++;
}

static void waits(struct play *p, uint32_t i)
{
    const struct night_cluster *c = &p->n->cluster;
    struct person *x = &p->v[i];
    const struct lane *l = &p->lane[x->lane];
    unsigned no = l->line.v[x->seg].node;
    struct proc *r = router_of(p, i), *node = &p->node[no];
    uint32_t there = r != NULL ? way_of(p, r, no) : 0, back = r != NULL ? way_back(p, r, no) : 0;
    bool knows = x->released != 0 && p->now >= x->released + back; /* the router, of the release */
    bool fresh = l->pace.min_ms > 0 && pace_interval_ms(&l->pace, x->place) > c->keepalive_ms;
    uint32_t place;
    bool served;

    if (p->now >= x->give_up && x->released == 0) {
        give_up(p, i);
        return;
    }
    p->sec.polls++;
    p->f->polls++;
    served = r != NULL && proc_serve(p, r, c->cost.poll_us + (fresh ? c->cost.connect_us : 0));
    if (served && x->released != 0 && !knows) {
        poll_later(p, i, interval(p, x));
        return;
    }
    if (served && x->released == 0 && node->down_ms != 0 && p->now - node->down_ms < c->keep_ms) {
        poll_later(p, i, interval(p, x)); /* place as last known */
        return;
    }
    if (!served || node->down_ms != 0 ||
        !proc_serve(p, node, x->released != 0 ? c->cost.node_poll_us + c->cost.pass_us : c->cost.node_poll_us)) {
        p->f->held += node->down_ms != 0;
        if (served && node->down_ms != 0)
            due(p, i, p->now + 1000ull * put_off_s(&r->put_off, p->now, (uint32_t)rng_u64(&p->rng)) +
                          rng_below(&p->rng, AGAIN_MS));
        else
            due(p, i, p->now + AGAIN_MS + rng_below(&p->rng, AGAIN_MS));
        return;
    }
    if (x->released != 0) {
        learns(p, i, there + back);
        return;
    }
    place = lineup_place(&l->line, x->seg, x->order) * p->k;
    p->f->grew += place > x->place;
    x->place = place;
    told(p, x);
    poll_later(p, i, interval(p, x));
}

static void was_silent(struct play *p, uint32_t i)
{
    struct person *x = &p->v[i];

    if (x->released != 0) {
        learns(p, i, 0);
        return;
    }
    lineup_drop(&p->lane[x->lane].line, x->seg, x->order, DEAD_EXPIRED);
    x->state = OVER;
    p->f->timed_out++;
    p->lane[x->lane].gone++;
}

static void leaves(struct play *p, struct person *x)
{
    if (x->give_up > p->crashed) /* a crash threw out who was in by then */
        p->inside--;
    x->state = OVER;
}

int people_due(struct play *p)
{
    for (uint32_t i = calendar_take(p->cal, p->now), next; i != CALENDAR_NONE; i = next) {
        struct person *x = &p->v[i];
        int rc = 0;

        next = x->next;
        if (x->due >= p->now + CALENDAR_MS)
            calendar_put(p->cal, p->v, i, p->now, x->due);
        else if (x->state == COMING || x->state == AT_SEA)
            rc = join(p, i);
        else if (x->state == WAITING)
            waits(p, i);
        else if (x->state == SILENT)
            was_silent(p, i);
        else if (x->state == INSIDE)
            leaves(p, x);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* groups.c: see groups.h. Does what a router's shell does (router/calls/places_call.c,
 * router/links/flows.c). */
#include "tests/lib/sim/groups.h"

#include "router/flow/places.h"
#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/proc.h"

#include <stdlib.h>
#include <string.h>

#define LATE_US  30000000
#define DUE_US   2020000
#define LOST_US  6000000 /* no answer at all: another router is asked */
#define TRIES    4

enum { G_OUT, G_IN, G_LEAVING, G_OVER };

struct person { /* at one device */
    uint32_t who, gen;
    uint8_t state, router, tries;
    bool vain; /* a queue too many */
    usec_t leave_at;
    struct places p; /* as told last */
};

struct party { /* a call at a router */
    struct party *next;
    uint32_t id, person, gen;
    bool joins, told;
    uint8_t unsure, outlived;
    unsigned pending;
    struct places p;
    char queue[PLACES_MAX][NAME_MAX_LEN + 1];
};

struct sgroups {
    struct person *v;
    uint32_t n, next_party;
    size_t cap;
    struct group_counts count;
};

uint64_t group_name(uint32_t who, unsigned queue, char text[SIM_SUBJECT_LEN])
{
    snprintf(text, SIM_SUBJECT_LEN, "g%u", who);
    return (((uint64_t)who + (1u << 20)) << 8 | (queue + 1u)) * 0x9e3779b97f4a7c15u;
}

bool is_group_name(const char *text, size_t n)
{
    return n > 0 && text[0] == 'g';
}

static void timer(struct sim *s, uint32_t i, double ms)
{
    struct event e = { .kind = E_GROUP, .proc = SIM_NOBODY, .a = i, .c = ++s->groups->v[i].gen };

    sim_after_ms(s, ms, e);
}

/* ---- calls at a router ---- */

static void step(struct sim *s, struct proc *p, struct party *y);

static uint32_t new_flow(struct srouter *r)
{
    uint32_t i = router_flow_slot(r);
    uint32_t gen = r->flow[i].gen + 1;

    r->flow[i] = (struct sflow){ .used = true, .gen = gen };
    return i;
}

static void begin_join(struct sim *s, struct srouter *r, struct sflow *f, const struct party *y, unsigned i)
{
    const char *name = y->queue[i];

    f->subject_hash = group_name(s->groups->v[y->person].who, i, f->subject);
    f->f = (struct flow){ .token = { .client = CLIENT_MOBILE, .subject_hash = f->subject_hash } };
    flow_join(&f->f, r->r, routes_queue(r->r, name, strlen(name)), 0, sim_ms(s));
    f->f.named = true;
}

static void ask_all(struct sim *s, struct proc *p, struct party *y)
{
    struct srouter *r = p->router;
    uint8_t asks = y->p.asks;

    y->pending = 1;
    for (unsigned i = 0; i < y->p.n; i++) {
        uint32_t k;
        struct sflow *f;

        if ((asks >> i & 1) == 0)
            continue;
        k = new_flow(r);
        f = &r->flow[k];
        f->party = y;
        f->place = (uint8_t)i;
        if (y->p.step == PLACES_JOIN)
            begin_join(s, r, f, y, i);
        else
            places_ask(&y->p, i, &f->f, r->r, &r->known, sim_ms(s));
        f->req.token = f->f.token;
        y->pending++;
        router_go(s, p, k);
    }
    y->pending--;
}

static void give_back(struct sim *s, struct proc *p, const struct token *t, bool again, usec_t until)
{
    uint32_t k = new_flow(p->router);
    struct sflow *f = &p->router->flow[k];

    f->late = true;
    f->late_until = until;
    place_give_back(&f->f, p->router->r, t, false, again, sim_ms(s));
    f->req.token = *t;
    s->groups->count.late++;
    router_go(s, p, k);
}

static void late_ended(struct sim *s, struct proc *p, const struct sflow *f)
{
    if (f->f.kind == FLOW_LEAVE && f->f.result == FLOW_UNAVAIL && s->now < f->late_until)
        give_back(s, p, &f->f.token, f->f.unsure, f->late_until);
}

void group_flow_ended(struct sim *s, struct proc *p, uint32_t i)
{
    struct sflow was = p->router->flow[i];
    struct party *y = was.party;

    if (was.late) {
        late_ended(s, p, &was);
        return;
    }
    places_said(&y->p, was.place, &was.f);
    if (y->p.step == PLACES_UNDO)
        y->unsure |= (uint8_t)(was.f.unsure << was.place);
    if (--y->pending == 0)
        step(s, p, y);
}

bool group_outlive(struct sim *s, struct proc *p, uint32_t i, uint32_t *ends)
{
    struct srouter *r = p->router;
    struct event e = { .kind = E_FLOW, .proc = p->idx, .incarnation = p->incarnation, .a = i };
    uint32_t k = 0, gen;
    struct sflow *f = &r->flow[i];

    if (f->late && s->now >= f->late_until)
        return false;
    if (!f->late) {
        k = *ends = new_flow(r);
        gen = r->flow[k].gen;
        f = &r->flow[i];
        r->flow[k] = *f;
        r->flow[k].gen = gen;
        f->party->outlived |= (uint8_t)((f->party->p.step == PLACES_UNDO) << f->place);
        f->party = NULL;
        f->late_until = s->now + LATE_US;
        s->groups->count.late++;
    }
    f->f.named = f->f.whose = false;
    f->f.deadline_ms = f->f.wake_ms = sim_ms(s) + FLOW_TIMEOUT_MS;
    f->wake_gen = e.c = ++r->next_wake;
    sim_at(s, f->f.wake_ms * 1000, e);
    if (f->late)
        *ends = UINT32_MAX;
    f->late = true;
    return true;
}

static void told(struct sim *s, const struct party *y);

static void tell(struct sim *s, struct party *y)
{
    if (!y->told)
        told(s, y);
    y->told = true;
}

bool group_waits_on(const struct sflow *f)
{
    bool undoes = f->party != NULL && (f->party->p.step == PLACES_JOIN || f->party->p.step == PLACES_UNDO);

    return (f->late || undoes) && f->f.todo == FLOW_ASK && f->f.asks != FLOW_POLL;
}

static void forget(struct srouter *r, struct party *y)
{
    struct party **at = &r->parties;

    while (*at != y)
        at = &(*at)->next;
    *at = y->next;
    free(y);
}

static void undo_on(struct sim *s, struct proc *p, const struct party *y)
{
    for (unsigned i = 0; i < y->p.n; i++)
        if (((y->p.got & ~y->outlived) >> i & 1) != 0 && y->p.v[i].is == PLACE_IS_UNKNOWN)
            give_back(s, p, &y->p.v[i].token, (y->unsure >> i & 1) != 0, s->now + LATE_US);
}

/* No ask is pending. */
static void step(struct sim *s, struct proc *p, struct party *y)
{
    while (y->pending == 0 && !s->failed) {
        if (y->p.step == PLACES_JOIN && y->p.failed == 0 && !y->p.keeps)
            places_one_order(&y->p, y->queue);
        if (y->p.step == PLACES_UNDO)
            undo_on(s, p, y);
        places_next(&y->p);
        if (y->p.step >= PLACES_DONE) {
            tell(s, y);
            forget(p->router, y);
            return;
        }
        ask_all(s, p, y);
    }
}

static void begin(struct sim *s, struct proc *p, uint32_t i, enum places_step first)
{
    const struct person *x = &s->groups->v[i];
    struct party *y = sim_alloc(sizeof(*y));
    struct event e = { .kind = E_GROUP, .proc = p->idx, .incarnation = p->incarnation };

    *y = (struct party){ .next = p->router->parties, .id = ++s->groups->next_party, .person = i, .gen = x->gen,
                         .joins = first == PLACES_JOIN };
    p->router->parties = y;
    if (y->joins) {
        y->p.keeps = x->who % 2 == 0;
        y->p.n = (uint8_t)(s->o.queues + x->vain);
    } else {
        y->p = x->p;
    }
    y->p.named = true;
    for (unsigned q = 0; y->joins && q < y->p.n; q++)
        snprintf(y->queue[q], sizeof(y->queue[q]), "%s", q < s->o.queues ? s->queue[q].name : "missing");
    e.a = y->id;
    sim_at(s, s->now + DUE_US, e);
    places_begin(&y->p, first);
    ask_all(s, p, y);
    if (y->pending == 0)
        step(s, p, y);
}

static void on_due(struct sim *s, struct proc *p, uint32_t id)
{
    for (struct party *y = p->router->parties; y != NULL; y = y->next)
        if (y->id == id && y->p.step == PLACES_JOIN) /* it stood still */
            sim_at(s, s->now + 20000, (struct event){ .kind = E_GROUP, .proc = p->idx,
                                                      .incarnation = p->incarnation, .a = id });
        else if (y->id == id)
            tell(s, y);
}

void groups_router_dies(struct sim *s, struct proc *p)
{
    struct party *y;

    while ((y = p->router->parties) != NULL) {
        s->groups->count.killed++;
        if (!y->told && s->groups->v[y->person].gen == y->gen)
            timer(s, y->person, 300);
        forget(p->router, y);
    }
    for (uint32_t i = 0; i < p->router->n; i++)
        if (s->groups != NULL && p->router->flow[i].used && p->router->flow[i].late)
            s->groups->count.killed++;
}

/* ---- people ---- */

static void again(struct sim *s, uint32_t i)
{
    struct person *x = &s->groups->v[i];

    x->router = (uint8_t)rng_below(&s->rng, s->o.routers);
    timer(s, i, sim_rand(s, 100, 1200));
}

static void over(struct person *x)
{
    x->state = G_OVER;
    x->gen++;
}

static void has_joined(struct sim *s, uint32_t i, const struct places *p)
{
    struct person *x = &s->groups->v[i];

    x->state = G_IN;
    x->p = *p;
    x->leave_at = s->now + (usec_t)sim_rand(s, 0, 20e6);
    s->groups->count.joined++;
    for (unsigned k = 0; k < p->n; k++) {
        const struct ticket *t = check_ticket(s, p->v[k].token.seg, p->v[k].token.number);

        if (t == NULL || !t->of_group)
            sim_fail(s, "a group is told a place that nobody gave");
        else if (t->given_back && !t->lost && !t->rebuilt)
            sim_fail(s, "a group is told %llu-%u, which was given back", (unsigned long long)t->seg, t->number);
    }
    timer(s, i, sim_rand(s, 500, 2000));
}

static void on_joined(struct sim *s, uint32_t i, const struct party *y)
{
    struct person *x = &s->groups->v[i];

    if (y->p.failed == 0) {
        has_joined(s, i, &y->p);
    } else if (++x->tries >= TRIES) {
        s->groups->count.failed++;
        over(x);
    } else {
        again(s, i);
    }
}

static bool all_over(const struct places *p)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n; i++)
        n += p->v[i].is == PLACE_IS_OVER;
    return n == p->n;
}

/* Behind the others' leaves a turn has been taken; or all have ended. */
static void on_polled(struct sim *s, uint32_t i, const struct places *p)
{
    struct person *x = &s->groups->v[i];
    bool turn = p->step == PLACES_DONE && !p->keeps && places_first(p) < p->n;

    x->p = *p;
    s->groups->count.turns += turn;
    if (turn)
        x->leave_at = s->now;
    if (p->step == PLACES_DONE && all_over(p))
        over(x);
    else
        timer(s, i, sim_rand(s, 500, 2000));
}

static void told(struct sim *s, const struct party *y)
{
    struct person *x = &s->groups->v[y->person];

    if (x->gen != y->gen)
        return; /* it asked another router since */
    if (x->state == G_OUT)
        on_joined(s, y->person, y);
    else if (x->state == G_IN)
        on_polled(s, y->person, &y->p);
    else if (y->p.step == PLACES_DONE)
        over(x);
    else
        again(s, y->person);
}

static void act(struct sim *s, uint32_t i)
{
    struct person *x = &s->groups->v[i];
    struct proc *p = proc_of(s, SIM_ROUTER, x->router);

    if (x->state == G_OVER)
        return;
    if (!p->alive || p->paused_until > s->now || routes_version(p->router->r) == 0) {
        again(s, i);
        return;
    }
    if (x->state == G_IN && s->now >= x->leave_at)
        x->state = G_LEAVING;
    if (rng_chance(&s->rng, 0.2))
        x->router = (uint8_t)rng_below(&s->rng, s->o.routers);
    timer(s, i, LOST_US / 1000); /* also makes x->gen new: that is the call's */
    begin(s, p, i, x->state == G_OUT ? PLACES_JOIN : x->state == G_IN ? PLACES_LOOK : PLACES_LEAVE);
}

void groups_event(struct sim *s, const struct event *e)
{
    if (e->proc != SIM_NOBODY)
        on_due(s, &s->proc[e->proc], e->a);
    else if (e->c == s->groups->v[e->a].gen)
        act(s, e->a);
}

void sim_join_groups(struct sim *s, unsigned n, double share, msec_t over_ms)
{
    struct sgroups *g = s->groups != NULL ? s->groups : sim_alloc(sizeof(*g));
    uint32_t who = g->n;

    s->groups = g;
    g->v = sim_grow(g->v, &g->cap, g->n + n, sizeof(*g->v));
    for (; n > 0; n--) {
        uint32_t i = g->n++;

        who += rng_chance(&s->rng, 0.5);
        g->v[i] = (struct person){ .who = who, .router = (uint8_t)rng_below(&s->rng, s->o.routers),
                                   .vain = rng_chance(&s->rng, share) };
        timer(s, i, sim_rand(s, 0, (double)over_ms));
    }
}

/* ---- what must hold ---- */

static bool has(const struct person *x, const struct ticket *t)
{
    for (unsigned i = 0; x->state == G_IN && i < x->p.n; i++)
        if (x->p.v[i].token.seg == t->seg && x->p.v[i].token.number == t->number)
            return true;
    return false;
}

void groups_given_back(struct sim *s, struct ticket *t)
{
    t->given_back = true;
    for (uint32_t i = 0; s->groups != NULL && i < s->groups->n; i++)
        if (has(&s->groups->v[i], t) && !t->lost && !t->rebuilt)
            sim_fail(s, "%llu-%u is given back, though device %u was told of it", (unsigned long long)t->seg,
                     t->number, i);
    s->groups->count.given_back++;
}

bool groups_over(struct sim *s)
{
    for (uint32_t i = 0; i < s->groups->n; i++)
        if (s->groups->v[i].state != G_OVER)
            return false;
    return true;
}

uint32_t groups_left(struct sim *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_tickets; i++) {
        const struct ticket *t = &s->ticket[i];
        bool left = t->of_group && t->fate == T_LIVE && !t->leaving && !t->timed_out && !t->lost && !t->rebuilt;

        n += left;
        if (left)
            sim_note(s, "%lu-%lu is left", t->seg, t->number, 0, 0, 0);
    }
    return n;
}

struct group_counts groups_count(const struct sim *s)
{
    return s->groups->count;
}

void groups_free(struct sim *s)
{
    if (s->groups != NULL)
        free(s->groups->v);
    free(s->groups);
}

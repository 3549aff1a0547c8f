/* sim_places.c: I12: of a person's places in several queues at most one has its pass told, and one has,
 * if its turn came and the person comes for it; of a group that keeps the others each has whose turn came,
 * and no place is given up. One who joined with a name, at several devices, has several groups of the same
 * places, listed in any order. Several routers call at once, die amid a call, hear
 * old news; messages are lost on their way and on their way back; turns lapse. Places are what a segment
 * makes of them (tests/unit/segment/test_commands.c has the real one): written down before it answers. */
#include "tests/lib/criterion.h"

#include <stdlib.h>

#include "common/base/rng.h"
#include "router/flow/places.h"

#define ROUTERS 3
#define ROUNDS  400
#define SEEDS   4000

enum at { WAITS, READY, ADMITTED, OVER };

struct world {
    struct rng rng;
    unsigned n;
    enum at at[PLACES_MAX];
    struct places call[ROUTERS];
    bool runs[ROUTERS];
    uint8_t left[ROUTERS]; /* asks of the step that have no answer yet */
    unsigned told;         /* a bit for each place whose pass was told */
    unsigned turns;        /* a bit for each place that was admitted */
    unsigned given_up;     /* places that calls have ended */
    bool came, faults, keeps, named;
};

static bool chance(struct world *w, unsigned percent)
{
    return rng_below(&w->rng, 100) < percent;
}

/* Which of the world's places is the i-th one of a call? */
static unsigned at_of(const struct places *p, unsigned i)
{
    return p->v[i].token.number;
}

/* What the segment makes of it. */
static void effect(struct world *w, unsigned i, enum places_step step, struct flow *f)
{
    enum at *at = &w->at[i];

    *f = (struct flow){ .kind = FLOW_POLL, .todo = FLOW_DONE, .result = FLOW_OK };
    w->given_up += step == PLACES_GIVE_UP || step == PLACES_LOSE;
    if (step == PLACES_GIVE_UP) {
        f->result = *at == ADMITTED ? FLOW_INSIDE : FLOW_OK;
        *at = *at == ADMITTED ? ADMITTED : OVER;
    } else if (step == PLACES_LOSE) {
        *at = OVER;
    } else if (*at == OVER) {
        f->result = FLOW_GONE;
        f->reason = GONE_LEFT;
    } else if (*at == WAITS || (w->faults && step == PLACES_LOOK && chance(w, 20))) {
        f->position = 1; /* a router may answer this from what it heard a while ago */
    } else {
        *at = ADMITTED;
        w->turns |= 1u << i;
        f->admitted = w->came = true;
    }
}

static void ended(struct world *w, unsigned r)
{
    struct places *p = &w->call[r];
    enum places_step was = (enum places_step)p->step;

    places_next(p);
    w->left[r] = p->asks;
    w->runs[r] = p->step < PLACES_DONE;
    if (p->step == PLACES_DONE && was == PLACES_TAKE && places_first(p) < p->n)
        w->told |= 1u << at_of(p, places_first(p));
    for (unsigned i = 0; w->keeps && p->step == PLACES_DONE && i < p->n; i++)
        w->told |= (unsigned)(p->v[i].is == PLACE_IS_ADMITTED) << at_of(p, i);
}

static void one_ask(struct world *w, unsigned r)
{
    unsigned i = (unsigned)rng_below(&w->rng, w->n);
    struct flow f, none = { .kind = FLOW_POLL, .todo = FLOW_DONE, .result = FLOW_UNAVAIL };
    bool lost = w->faults && chance(w, 4), unheard = w->faults && chance(w, 4);

    if ((w->left[r] >> i & 1) == 0)
        return;
    if (!lost)
        effect(w, at_of(&w->call[r], i), (enum places_step)w->call[r].step, &f);
    places_said(&w->call[r], i, lost || unheard ? &none : &f);
    w->left[r] &= (uint8_t)~(1u << i);
    if (w->left[r] == 0)
        ended(w, r);
}

/* As a join lists them, which is how the name of its group has them. */
static void list(struct world *w, struct places *p)
{
    unsigned first = w->named ? (unsigned)rng_below(&w->rng, w->n) : 0;
    char queue[PLACES_MAX][NAME_MAX_LEN + 1] = { "" };

    for (unsigned i = 0; i < w->n; i++) {
        unsigned at = (first + i) % w->n;

        p->v[i].token = (struct token){ .number = at, .issued_s = at % 3 };
        queue[i][0] = (char)('a' + at);
    }
    p->step = PLACES_JOIN;
    if (w->named)
        places_one_order(p, queue);
}

static void begin(struct world *w, unsigned r)
{
    w->call[r] = (struct places){ .n = (uint8_t)w->n, .keeps = w->keeps };
    list(w, &w->call[r]);
    places_begin(&w->call[r], PLACES_LOOK);
    w->left[r] = w->call[r].asks;
    w->runs[r] = true;
}

/* Turns come, and lapse. */
static void turns(struct world *w)
{
    unsigned i = (unsigned)rng_below(&w->rng, w->n);

    if (w->at[i] == WAITS && chance(w, 10))
        w->at[i] = READY;
    else if (w->at[i] == READY && chance(w, 3))
        w->at[i] = chance(w, 50) ? OVER : WAITS;
}

static void round_of(struct world *w)
{
    unsigned r = (unsigned)rng_below(&w->rng, ROUTERS);

    turns(w);
    if (w->runs[r] && w->faults && chance(w, 2))
        w->runs[r] = false; /* killed */
    else if (w->runs[r])
        one_ask(w, r);
    else if (chance(w, 20))
        begin(w, r);
}

/* Everything answers again, and the person asks once more. */
static void last_call(struct world *w)
{
    w->faults = false;
    for (unsigned r = 0; r < ROUTERS; r++)
        while (w->runs[r])
            one_ask(w, r);
    begin(w, 0);
    while (w->runs[0])
        one_ask(w, 0);
}

static void judge(const struct world *w, uint64_t seed)
{
    unsigned admitted = 0;

    for (unsigned i = 0; i < w->n; i++)
        admitted += w->at[i] == ADMITTED;
    cr_assert_eq(w->told & (w->told - 1), 0, "seed %lu: two passes were told", (unsigned long)seed);
    cr_assert(!w->came || w->told != 0, "seed %lu: it came for its turn, and got nothing", (unsigned long)seed);
    cr_assert_eq(admitted, w->came, "seed %lu: %u places are inside", (unsigned long)seed, admitted);
}

static void judge_kept(const struct world *w, uint64_t seed)
{
    cr_assert_eq(w->told, w->turns, "seed %lu: turns %x came, %x were told", (unsigned long)seed, w->turns, w->told);
    cr_assert_eq(w->given_up, 0, "seed %lu: a place was given up", (unsigned long)seed);
}

static unsigned one(uint64_t seed, bool faults, bool keeps, bool named)
{
    struct world w = { .faults = faults, .keeps = keeps, .named = named };

    rng_seed(&w.rng, seed);
    w.n = 2 + (unsigned)rng_below(&w.rng, PLACES_MAX - 1);
    for (unsigned i = 0; i < ROUNDS; i++)
        round_of(&w);
    last_call(&w);
    if (keeps)
        judge_kept(&w, seed);
    else
        judge(&w, seed);
    return w.came;
}

Test(places, one_pass_of_several_places)
{
    const char *more = getenv("SIM_SEEDS");
    uint64_t seeds = more != NULL && atoll(more) > SEEDS ? (uint64_t)atoll(more) : SEEDS;
    unsigned came = 0;

    for (uint64_t seed = 1; seed <= seeds; seed++)
        for (unsigned i = 0; i < 8; i++)
            came += one(seed, i & 1, i & 2, i & 4);
    cr_expect_gt(came, 4 * seeds, "nobody's turn came");
}

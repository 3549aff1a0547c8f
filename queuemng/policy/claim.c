/* claim.c: fair parts: least parts first; then water is poured into vessels as wide as their weights.
 * Claims: slots first; then the rate, and units, among those with slots. */
#include "queuemng/policy/claim.h"

#include <assert.h>
#include <stdlib.h>

#define TURN_MS    5000
#define LEAST_PART 16 /* share of an equal part of the rate for a member that wants none */

/* ---- fair parts ------------------------------------------------------------------- */

#define NEAR 8 /* a part of */

static uint64_t room(const struct fair *f, bool beyond)
{
    if (beyond)
        return UINT64_MAX;
    return f->wants > f->part ? f->wants - f->part : 0;
}

static uint64_t give(struct fair *f, uint64_t n, bool beyond)
{
    n = u64_min(n, room(f, beyond));
    f->part += n;
    return n;
}

/* beyond: more than they want. What is left, because nobody has room, is returned. */
static uint64_t pour(struct fair *v, size_t n, uint64_t left, bool beyond)
{
    for (;;) {
        uint64_t weights = 0, given = 0;

        for (size_t i = 0; i < n; i++)
            weights += room(&v[i], beyond) != 0 ? v[i].weight : 0;
        if (left == 0 || weights == 0)
            return left;
        for (size_t i = 0; i < n; i++)
            given += give(&v[i], left * v[i].weight / weights, beyond);
        for (size_t i = 0; i < n && given == 0 && left > 0; i++) /* less than one for each */
            left -= give(&v[i], 1, beyond);
        left -= given;
    }
}

static bool is_near(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) * NEAR <= a;
}

static bool may_stay(const struct fair *v, size_t n, uint64_t whole)
{
    uint64_t sum = 0;
    bool near = true;

    for (size_t i = 0; i < n; i++) {
        sum += v[i].has;
        near = near && is_near(v[i].has, v[i].part);
    }
    return near && sum == whole;
}

void fair_divide(struct fair *v, size_t n, uint64_t whole)
{
    uint64_t left = whole;

    assert(whole <= (uint64_t)1 << 50);
    for (size_t i = 0; i < n; i++) {
        assert(v[i].weight >= 1 && v[i].weight <= 1000);
        v[i].part = u64_min(v[i].least, left);
        left -= v[i].part;
    }
    left = pour(v, n, left, false);
    (void)pour(v, n, left, true);
    if (!may_stay(v, n, whole))
        return;
    for (size_t i = 0; i < n; i++)
        v[i].part = v[i].has;
}

/* ---- claims ----------------------------------------------------------------------- */

void claim_says(struct claim *c, struct bears wants)
{
    c->wanted = c->wants;
    c->wants = wants;
}

static struct bears wants(const struct claim *c)
{
    return (struct bears){ u64_max(c->wants.rate, c->wanted.rate),
                           u64_max(c->wants.slots, c->wanted.slots),
                           u64_max(c->wants.units, c->wanted.units),
                           u64_max(c->wants.shared, c->wanted.shared) };
}

/* ---- whose turn it is ------------------------------------------------------------ */

enum turn { HAS_IT, IS_NEXT, HAD_IT, KEEPS_IT, WANTS_NONE }; /* the lower goes first */

static enum turn turn_of(const struct claim *c, msec_t now)
{
    bool has = c->aim.slots != 0;

    if (wants(c).slots == 0)
        return has ? KEEPS_IT : WANTS_NONE;
    return !has ? IS_NEXT : now - c->since_ms < TURN_MS ? HAS_IT : HAD_IT;
}

/* Gives it to the last one of those that had it; else who waits for longer is the next. */
static int compare(const void *a, const void *b)
{
    const struct claim *x = *(struct claim *const *)a, *y = *(struct claim *const *)b;

    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x->since_ms != y->since_ms)
        return (x->since_ms < y->since_ms) == (x->turn != HAD_IT) ? -1 : 1;
    return x->no < y->no ? -1 : x->no > y->no;
}

static void in_turn(struct claim **v, size_t n, uint64_t slots, msec_t now)
{
    for (size_t i = 0; i < n; i++)
        v[i]->turn = slots < n ? turn_of(v[i], now) : 0;
    if (slots < n) /* else all have some, in their order */
        qsort(v, n, sizeof(*v), compare);
}

/* ---- what they should have ------------------------------------------------------- */

static void slots_aims(struct claim **v, size_t n, uint64_t whole, msec_t now, struct fair *f)
{
    for (size_t i = 0; i < n; i++)
        f[i] = (struct fair){ .wants = u64_min(wants(v[i]).slots, whole), .least = 1,
                              .weight = v[i]->weight, .has = v[i]->aim.slots, .part = whole };
    if (whole != ENDPOINT_ANY)
        fair_divide(f, n, whole);
    for (size_t i = 0; i < n; i++) {
        if ((v[i]->aim.slots != 0) != (f[i].part != 0))
            v[i]->since_ms = now;
        v[i]->aim.slots = f[i].part;
    }
}

/* at: the member of struct bears. */
static uint64_t *of(struct bears *b, size_t at)
{
    return (uint64_t *)(void *)((char *)b + at);
}

static bool takes(const struct claim *c, size_t at)
{
    return c->aim.slots != 0 && !(c->people && at == offsetof(struct bears, shared));
}

/* Divides the rate, or units. */
static void rate_aims(struct claim **v, size_t n, uint64_t whole, size_t at, struct fair *f)
{
    size_t can = 0;

    for (size_t i = 0; i < n; i++) {
        struct bears w = wants(v[i]);

        if (takes(v[i], at))
            f[can++] = (struct fair){ .wants = u64_min(*of(&w, at), whole),
                                      .least = u64_max(whole / (LEAST_PART * n), 1),
                                      .weight = v[i]->weight, .has = *of(&v[i]->aim, at), .part = whole };
        *of(&v[i]->aim, at) = 0;
    }
    if (whole != ENDPOINT_ANY)
        fair_divide(f, can, whole);
    can = 0;
    for (size_t i = 0; i < n; i++)
        if (takes(v[i], at))
            *of(&v[i]->aim, at) = f[can++].part;
}

void claims_divide(struct claim **v, size_t n, struct bears whole, msec_t now, struct fair *f)
{
    in_turn(v, n, whole.slots, now);
    slots_aims(v, n, whole.slots, now, f);
    rate_aims(v, n, whole.rate, offsetof(struct bears, rate), f);
    rate_aims(v, n, whole.units, offsetof(struct bears, units), f);
    rate_aims(v, n, whole.shared, offsetof(struct bears, shared), f);
}

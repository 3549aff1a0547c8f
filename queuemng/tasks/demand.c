/* demand.c: see the header. */
#include "queuemng/tasks/demand.h"

#include <stdlib.h>

#include "queuemng/policy/fair.h"
#include "queuemng/state/state.h"

#define TURN_MS    5000
#define LEAST_PART 16 /* of an equal part of the rate: what a node has that wants none */

/* ---- what they could use --------------------------------------------------------- */

static uint64_t and_more(uint64_t n)
{
    return n + (n + 3) / 4;
}

static struct mbears could_use(const struct mshare *s)
{
    uint64_t began = s->st.sent - (s->st.sent >= s->sent ? s->sent : 0); /* else it is started anew */

    if (!s->heard)
        return s->held;
    return (struct mbears){ 1000 * (and_more(began) + s->st.waiting),
                            and_more(s->st.in_flight) + s->st.waiting };
}

void demand_second(struct mng *m)
{
    each_endpoint(m, x)
        each_share(x, s) {
            s->wanted = s->wants;
            s->wants = could_use(s);
            s->sent = s->st.sent;
        }
    m->tasks.split = m->tasks.split || m->tasks.endpoints.n != 0;
}

static struct mbears wants(const struct mshare *s)
{
    return (struct mbears){ u64_max(s->wants.rate, s->wanted.rate),
                            u64_max(s->wants.slots, s->wanted.slots) };
}

/* ---- whose turn it is ------------------------------------------------------------ */

enum turn { HAS_IT, IS_NEXT, HAD_IT, KEEPS_IT, WANTS_NONE }; /* the lower goes first */

static enum turn turn_of(const struct mng *m, const struct mshare *s)
{
    bool has = s->aim.slots != 0;

    if (wants(s).slots == 0)
        return has ? KEEPS_IT : WANTS_NONE;
    return !has ? IS_NEXT : m->now_ms - s->since_ms < TURN_MS ? HAS_IT : HAD_IT;
}

struct by_turn {
    struct mshare *s;
    enum turn turn;
};

/* Of those that had it, the last one keeps it; else who waits for longer is the next. */
static int compare(const void *a, const void *b)
{
    const struct by_turn *x = a, *y = b;

    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    if (x->s->since_ms != y->s->since_ms)
        return (x->s->since_ms < y->s->since_ms) == (x->turn != HAD_IT) ? -1 : 1;
    return x->s->node->no < y->s->node->no ? -1 : 1;
}

/* Owners; NULL: no memory. */
static struct fair *in_turn(struct mng *m, const struct mendpoint *x, struct mbears whole, size_t *n)
{
    struct by_turn *v = arena_array(&m->out->box.mem, x->shares.n, sizeof(*v));
    struct fair *f = arena_array(&m->out->box.mem, x->shares.n, sizeof(*f));

    if (v == NULL || f == NULL)
        return NULL;
    *n = 0;
    each_share(x, s)
        if (s->owner)
            v[(*n)++] = (struct by_turn){ s, turn_of(m, s) };
    if (whole.slots < *n) /* else all have some, by their numbers */
        qsort(v, *n, sizeof(*v), compare);
    for (size_t i = 0; i < *n; i++)
        f[i] = (struct fair){ .weight = 1, .of = v[i].s };
    return f;
}

/* ---- what they should have ------------------------------------------------------- */

static void slots_aims(const struct mng *m, struct fair *f, size_t n, uint64_t whole)
{
    for (size_t i = 0; i < n; i++) {
        const struct mshare *s = f[i].of;

        f[i].wants = u64_min(wants(s).slots, whole);
        f[i].least = 1;
        f[i].has = s->aim.slots;
        f[i].part = ENDPOINT_ANY;
    }
    if (whole != ENDPOINT_ANY)
        fair_divide(f, n, whole);
    for (size_t i = 0; i < n; i++) {
        struct mshare *s = f[i].of;

        if ((s->aim.slots != 0) != (f[i].part != 0))
            s->since_ms = m->now_ms;
        s->aim.slots = f[i].part;
    }
}

static void rate_aims(struct fair *f, size_t n, uint64_t whole)
{
    size_t can = 0;

    for (size_t i = 0; i < n; i++) { /* those with a slot stand first */
        struct mshare *s = f[i].of;

        f[i].wants = u64_min(wants(s).rate, whole);
        f[i].least = u64_max(whole / (LEAST_PART * n), 1);
        f[i].has = s->aim.rate;
        f[i].part = ENDPOINT_ANY;
        s->aim.rate = 0;
        can += s->aim.slots != 0;
    }
    if (whole != ENDPOINT_ANY)
        fair_divide(f, can, whole);
    for (size_t i = 0; i < can; i++)
        ((struct mshare *)f[i].of)->aim.rate = f[i].part;
}

void demand_aims(struct mng *m, struct mendpoint *x, struct mbears whole)
{
    size_t n;
    struct fair *f = in_turn(m, x, whole, &n);

    if (f == NULL) {
        m->out->box.failed = true;
        return;
    }
    each_share(x, s)
        if (!s->owner)
            s->aim = (struct mbears){ 0 };
    slots_aims(m, f, n, whole.slots);
    rate_aims(f, n, whole.rate);
}

/* supervise.c: the table of supervise.h, and the little arithmetic around it. */
#include "common/supervisor/supervise.h"

#include <assert.h>

enum due {           /* the wait of the new state */
           DUE_KEEP, /* the deadline stays as it was */
           DUE_NEVER,
           DUE_READY,   /* the readiness time-out */
           DUE_GRACE,   /* from TERM to KILL */
           DUE_BACKOFF, /* the next try */
           DUE_STABLE,  /* up for long enough to be trusted again */
};

enum tally { T_NONE, T_FAIL, T_CALM }; /* counts a failure; forgets the failures */

struct cell {
    enum sup_state to;
    enum sup_act act;
    enum due due;
    enum tally tally;
};

#define STAY(s)                                                                          \
    {                                                                                    \
        .to = SUP_##s, .due = DUE_KEEP                                                   \
    }
#define GO(s, a, d, ...)                                                                 \
    {                                                                                    \
        .to = SUP_##s, .act = SUP_ACT_##a, .due = DUE_##d, __VA_ARGS__                   \
    }
#define FAILED .tally = T_FAIL
#define CALM   .tally = T_CALM

/* clang-format off */
/* Every state x every event. What cannot happen (READY of a child without a process, say)
 * stays where it is: a late event of a dead process must do no harm. */
static const struct cell table[SUP_NSTATES][SUP_NEVENTS] = {
    [SUP_DOWN] = {
        [SUP_EV_START]   = GO(STARTING, SPAWN, READY, CALM),
        [SUP_EV_STOP]    = STAY(DOWN),
        [SUP_EV_READY]   = STAY(DOWN),
        [SUP_EV_EXIT]    = STAY(DOWN),
        [SUP_EV_DUE]     = STAY(DOWN),
        [SUP_EV_RELOAD]  = STAY(DOWN),
        [SUP_EV_RESTART] = STAY(DOWN),
        [SUP_EV_ADOPT]   = GO(UP, NONE, STABLE, CALM),
    },
    [SUP_STARTING] = {
        [SUP_EV_START]   = STAY(STARTING),
        [SUP_EV_STOP]    = GO(ENDING, TERM, GRACE),
        [SUP_EV_READY]   = GO(UP, NONE, STABLE),
        [SUP_EV_EXIT]    = GO(BACKOFF, NONE, BACKOFF, FAILED),
        [SUP_EV_DUE]     = GO(BOUNCING, TERM, GRACE, FAILED),
        [SUP_EV_RELOAD]  = STAY(STARTING), /* HUP may kill what has no handler yet */
        [SUP_EV_RESTART] = GO(BOUNCING, TERM, GRACE),
        [SUP_EV_ADOPT]   = STAY(STARTING),
    },
    [SUP_UP] = {
        [SUP_EV_START]   = STAY(UP),
        [SUP_EV_STOP]    = GO(ENDING, TERM, GRACE),
        [SUP_EV_READY]   = STAY(UP),
        [SUP_EV_EXIT]    = GO(BACKOFF, NONE, BACKOFF, FAILED),
        [SUP_EV_DUE]     = GO(UP, NONE, NEVER, CALM),
        [SUP_EV_RELOAD]  = { .to = SUP_UP, .act = SUP_ACT_HUP, .due = DUE_KEEP },
        [SUP_EV_RESTART] = GO(BOUNCING, TERM, GRACE),
        [SUP_EV_ADOPT]   = STAY(UP),
    },
    [SUP_ENDING] = {
        [SUP_EV_START]   = STAY(BOUNCING), /* the grace period goes on */
        [SUP_EV_STOP]    = STAY(ENDING),
        [SUP_EV_READY]   = STAY(ENDING),
        [SUP_EV_EXIT]    = GO(DOWN, NONE, NEVER),
        [SUP_EV_DUE]     = GO(ENDING_HARD, KILL, GRACE),
        [SUP_EV_RELOAD]  = STAY(ENDING),
        [SUP_EV_RESTART] = STAY(ENDING),
        [SUP_EV_ADOPT]   = STAY(ENDING),
    },
    [SUP_ENDING_HARD] = { /* a hang in the kernel is possible: KILL is repeated */
        [SUP_EV_START]   = STAY(BOUNCING_HARD),
        [SUP_EV_STOP]    = STAY(ENDING_HARD),
        [SUP_EV_READY]   = STAY(ENDING_HARD),
        [SUP_EV_EXIT]    = GO(DOWN, NONE, NEVER),
        [SUP_EV_DUE]     = GO(ENDING_HARD, KILL, GRACE),
        [SUP_EV_RELOAD]  = STAY(ENDING_HARD),
        [SUP_EV_RESTART] = STAY(ENDING_HARD),
        [SUP_EV_ADOPT]   = STAY(ENDING_HARD),
    },
    [SUP_BOUNCING] = {
        [SUP_EV_START]   = STAY(BOUNCING),
        [SUP_EV_STOP]    = STAY(ENDING),
        [SUP_EV_READY]   = STAY(BOUNCING),
        [SUP_EV_EXIT]    = GO(BACKOFF, NONE, BACKOFF),
        [SUP_EV_DUE]     = GO(BOUNCING_HARD, KILL, GRACE),
        [SUP_EV_RELOAD]  = STAY(BOUNCING),
        [SUP_EV_RESTART] = STAY(BOUNCING),
        [SUP_EV_ADOPT]   = STAY(BOUNCING),
    },
    [SUP_BOUNCING_HARD] = {
        [SUP_EV_START]   = STAY(BOUNCING_HARD),
        [SUP_EV_STOP]    = STAY(ENDING_HARD),
        [SUP_EV_READY]   = STAY(BOUNCING_HARD),
        [SUP_EV_EXIT]    = GO(BACKOFF, NONE, BACKOFF),
        [SUP_EV_DUE]     = GO(BOUNCING_HARD, KILL, GRACE),
        [SUP_EV_RELOAD]  = STAY(BOUNCING_HARD),
        [SUP_EV_RESTART] = STAY(BOUNCING_HARD),
        [SUP_EV_ADOPT]   = STAY(BOUNCING_HARD),
    },
    [SUP_BACKOFF] = {
        [SUP_EV_START]   = STAY(BACKOFF),
        [SUP_EV_STOP]    = GO(DOWN, NONE, NEVER),
        [SUP_EV_READY]   = STAY(BACKOFF),
        [SUP_EV_EXIT]    = STAY(BACKOFF),
        [SUP_EV_DUE]     = GO(STARTING, SPAWN, READY),
        [SUP_EV_RELOAD]  = STAY(BACKOFF),
        [SUP_EV_RESTART] = STAY(BACKOFF), /* starts with the new arguments anyway */
        [SUP_EV_ADOPT]   = STAY(BACKOFF),
    },
};
/* clang-format on */

static uint32_t or_default(uint32_t v, uint32_t def)
{
    return v != 0 ? v : def;
}

/* 200 ms, 400 ms ... 10 s, each minus up to a quarter, so that the children of many
 * machines do not come back in step after a power cut. */
static msec_t backoff_ms(const struct sup_child *c, const struct sup_opts *o,
                         struct rng *rng)
{
    uint64_t min = or_default(o->backoff_min_ms, 200);
    uint64_t max = or_default(o->backoff_max_ms, 10000);
    unsigned doublings = c->tries > 1 ? c->tries - 1 : 0;
    uint64_t ms = doublings < 20 ? u64_min(min << doublings, max) : max;

    return (msec_t)u64_max(ms - rng_below(rng, ms / 4 + 1), u64_min(min, max));
}

static msec_t due_at(const struct sup_child *c, const struct sup_opts *o, enum due d,
                     msec_t now_ms, struct rng *rng)
{
    switch (d) {
    case DUE_KEEP:
        return c->due_ms;
    case DUE_NEVER:
        return MSEC_NEVER;
    case DUE_READY:
        return now_ms + or_default(o->ready_ms, 30000);
    case DUE_GRACE:
        return now_ms + or_default(o->grace_ms, 30000);
    case DUE_BACKOFF:
        return now_ms + backoff_ms(c, o, rng);
    case DUE_STABLE:
        return now_ms + or_default(o->stable_ms, 60000);
    }
    return MSEC_NEVER;
}

void sup_init(struct sup_child *c)
{
    *c = (struct sup_child) { .state = SUP_DOWN, .due_ms = MSEC_NEVER };
}

static void count(struct sup_child *c, const struct cell *x, enum sup_event ev)
{
    if (x->tally == T_FAIL && c->tries < UINT32_MAX)
        c->tries++;
    if (x->tally == T_CALM)
        c->tries = 0;
    if (x->act == SUP_ACT_SPAWN && c->started)
        c->restarts++;
    if (x->act == SUP_ACT_SPAWN || ev == SUP_EV_ADOPT)
        c->started = true;
}

enum sup_act sup_step(struct sup_child *c, const struct sup_opts *o, enum sup_event ev,
                      msec_t now_ms, struct rng *rng)
{
    const struct cell *x;

    assert(c->state < SUP_NSTATES && ev < SUP_NEVENTS);
    x = &table[c->state][ev];
    count(c, x, ev);
    c->due_ms = due_at(c, o, x->due, now_ms, rng);
    if (c->state != x->to)
        c->since_ms = now_ms;
    c->state = x->to;
    assert(c->state < SUP_NSTATES);
    return x->act;
}

const char *sup_state_name(enum sup_state s)
{
    static const char *const names[SUP_NSTATES] = {
        [SUP_DOWN] = "down",
        [SUP_STARTING] = "starting",
        [SUP_UP] = "up",
        [SUP_ENDING] = "ending",
        [SUP_BACKOFF] = "backoff",
        [SUP_ENDING_HARD] = "killed",
        [SUP_BOUNCING] = "bouncing",
        [SUP_BOUNCING_HARD] = "killed-restart",
    };
    return s < SUP_NSTATES ? names[s] : "?";
}

const char *sup_event_name(enum sup_event e)
{
    static const char *const names[SUP_NEVENTS] = {
        [SUP_EV_START] = "start",     [SUP_EV_STOP] = "stop",
        [SUP_EV_READY] = "ready",     [SUP_EV_EXIT] = "exit",
        [SUP_EV_DUE] = "due",         [SUP_EV_RELOAD] = "reload",
        [SUP_EV_RESTART] = "restart", [SUP_EV_ADOPT] = "adopt",
    };
    return e < SUP_NEVENTS ? names[e] : "?";
}

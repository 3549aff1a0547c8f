/* throttle.c: cells of a second; a mean in the long run; a bucket that may be overdrawn. */
#include "task/calls/throttle.h"

#include <assert.h>
#include <string.h>

static void open_up(struct breaker *b, const struct breaker_rules *r, msec_t now)
{
    msec_t ms = b->last_ms == 0 ? r->open_ms : ms_min(2 * b->last_ms, BREAKER_OPEN_MAX_MS);

    ms = ms_max(ms, 1);
    *b = (struct breaker){ .state = BREAKER_OPEN, .until = now + ms, .last_ms = ms };
}

msec_t breaker_advance(struct breaker *b, msec_t now)
{
    if (b->state == BREAKER_OPEN && now >= b->until) {
        b->state = BREAKER_PROBES;
        b->allowed = 1;
    }
    return b->state == BREAKER_OPEN ? b->until : MSEC_NEVER;
}

bool breaker_would_let(const struct breaker *b, msec_t now)
{
    struct breaker copy = *b;

    return breaker_lets(&copy, now);
}

bool breaker_lets(struct breaker *b, msec_t now)
{
    (void)breaker_advance(b, now);
    return b->state == BREAKER_CLOSED ||
           (b->state == BREAKER_PROBES && b->probes + b->good < b->allowed);
}

msec_t breaker_when(const struct breaker *b)
{
    if (b->state == BREAKER_OPEN)
        return b->until;
    return b->state == BREAKER_CLOSED || b->probes + b->good < b->allowed ? 0 : MSEC_NEVER;
}

bool breaker_begins(struct breaker *b)
{
    assert(b->state != BREAKER_OPEN);
    b->probes += b->state == BREAKER_PROBES;
    return b->state == BREAKER_PROBES;
}

static void count(struct breaker *b, bool failed, msec_t now)
{
    int64_t second = now / 1000;
    unsigned i = (unsigned)(second % BREAKER_SLOTS);

    if (b->slot[i].second != second) {
        memset(&b->slot[i], 0, sizeof(b->slot[i]));
        b->slot[i].second = second;
    }
    b->slot[i].ended++;
    b->slot[i].failed += failed;
    b->row_since = failed && b->in_a_row > 0 ? b->row_since : now;
    b->in_a_row = failed ? b->in_a_row + 1 : 0;
}

static bool is_ill(const struct breaker *b, const struct breaker_rules *r, msec_t now)
{
    uint64_t ended = 0, failed = 0;

    for (unsigned i = 0; i < BREAKER_SLOTS; i++) {
        bool counts = now / 1000 - b->slot[i].second < (int64_t)BREAKER_SLOTS;

        ended += counts ? b->slot[i].ended : 0;
        failed += counts ? b->slot[i].failed : 0;
    }
    return b->in_a_row >= BREAKER_IN_A_ROW ||
           (b->in_a_row >= BREAKER_FEW && now - b->row_since >= BREAKER_FEW_MS) ||
           (ended >= r->min && failed > 0 && failed * 100 >= ended * r->ratio);
}

/* All that were let go in this round are back, and were well: a larger one, or enough. */
static void round_over(struct breaker *b)
{
    if (b->allowed >= BREAKER_PROBES_MAX) {
        *b = (struct breaker){ .state = BREAKER_CLOSED };
        return;
    }
    b->allowed *= 2;
    b->good = 0;
}

void breaker_heard_well(struct breaker *b)
{
    if (b->state != BREAKER_OPEN)
        return;
    b->state = BREAKER_PROBES;
    b->allowed = 2;
    b->probes = b->good = 0;
}

void breaker_ends(struct breaker *b, const struct breaker_rules *r, bool probe,
                  enum breaker_end how, msec_t now)
{
    if (r->ratio == 0) {
        *b = (struct breaker){ .state = BREAKER_CLOSED };
        return;
    }
    if (b->state == BREAKER_CLOSED && !probe && how != END_UNKNOWN) {
        count(b, how == END_FAILED, now);
        if (how == END_FAILED && is_ill(b, r, now))
            open_up(b, r, now);
    } else if (b->state == BREAKER_PROBES && probe && b->probes > 0) {
        b->probes--;
        b->good += how == END_WELL;
        if (how == END_FAILED)
            open_up(b, r, now);
        else if (b->good == b->allowed)
            round_over(b);
    }
}

/* ---- adaptive limit -------------------------------------------------------------------- */

#define WINDOW     10   /* answers */
#define TOLERANCE  1.5  /* times as long is no queue yet */
#define SMOOTHING  0.2
#define QUEUE      4    /* calls that may wait at the target */
#define LONG_OF    600  /* windows' worth of memory of the long run, in answers */
#define CUT        0.9
#define FORGET     0.95 /* part of the long run, where it is more than twice what is seen */

static double within(double v, const struct adaptive_rules *r)
{
    return v < (double)r->min ? (double)r->min : v > (double)r->max ? (double)r->max : v;
}

uint64_t adaptive_limit(const struct adaptive *a, const struct adaptive_rules *r)
{
    return (uint64_t)within(a->limit, r);
}

/* The window is over: short_ms is its mean. */
static void learn(struct adaptive *a, const struct adaptive_rules *r, double short_ms, bool binds)
{
    double weight = 2.0 * WINDOW / (LONG_OF + 1), gradient, next;

    a->long_ms = a->long_ms == 0 ? short_ms : a->long_ms * (1 - weight) + short_ms * weight;
    if (a->long_ms > 2 * short_ms)
        a->long_ms *= FORGET;
    if (!binds)
        return;
    gradient = TOLERANCE * a->long_ms / short_ms;
    gradient = gradient < 0.5 ? 0.5 : gradient > 1 ? 1 : gradient;
    a->limit = within(a->limit, r);
    next = a->limit * (1 - SMOOTHING) + SMOOTHING * (gradient * a->limit + QUEUE);
    a->limit = within(next, r);
}

void adaptive_well(struct adaptive *a, const struct adaptive_rules *r, uint32_t ms, uint64_t in_flight,
                   msec_t now)
{
    double mean;

    if (a->n == 0)
        a->since = now;
    a->sum_ms += ms > 0 ? ms : 1;
    mean = a->sum_ms / ++a->n;
    if (a->n < WINDOW || (double)(now - a->since) < mean)
        return;
    a->n = 0;
    a->sum_ms = 0;
    learn(a, r, mean, (double)in_flight * 2 >= within(a->limit, r));
}

void adaptive_too_much(struct adaptive *a, const struct adaptive_rules *r, msec_t now)
{
    if (a->cut_at != 0 && (double)(now - a->cut_at) < a->long_ms)
        return;
    a->cut_at = now;
    a->limit = within(within(a->limit, r) * CUT, r);
}

/* ---- budget of retries ----------------------------------------------------------------- */

#define ONE 1000000 /* a retry */

void budget_init(struct budget *b, msec_t now)
{
    *b = (struct budget){ .micros = (int64_t)BUDGET_LEAST * ONE, .at = now, .began = now };
}

/* Retries that 10 s bring at the pace of now. */
static int64_t of_span(const struct budget *b)
{
    uint64_t firsts = u64_max(b->firsts, b->before);

    return ((int64_t)BUDGET_LEAST + (int64_t)u64_min(firsts, 1000000) / BUDGET_PER) * ONE;
}

static void advance(struct budget *b, msec_t now)
{
    msec_t passed = now > b->at ? now - b->at : 0;

    if (now - b->began >= BUDGET_SPAN_MS) {
        b->before = now - b->began < 2 * BUDGET_SPAN_MS ? b->firsts : 0;
        b->firsts = 0;
        b->began = now;
    }
    passed = ms_min(passed, BUDGET_WAIT_MS);
    b->micros += (int64_t)BUDGET_LEAST * ONE * passed / BUDGET_SPAN_MS;
    b->at = now;
    if (b->micros > of_span(b))
        b->micros = of_span(b);
}

void budget_first(struct budget *b, msec_t now)
{
    advance(b, now);
    b->firsts++;
    b->micros += ONE / BUDGET_PER;
}

msec_t budget_retry(struct budget *b, msec_t now)
{
    advance(b, now);
    b->micros -= ONE;
    if (b->micros >= 0)
        return 0;
    return ms_min(-b->micros / (of_span(b) / BUDGET_SPAN_MS), BUDGET_WAIT_MS);
}

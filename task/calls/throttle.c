/* throttle.c: cells of a second; a mean in the long run; a bucket that may be overdrawn. */
#include "task/calls/throttle.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/metrics.h"
#include "common/base/text.h"

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

/* ---- pressure ----------------------------------------------------------------------------- */

/* A page at a time; what follows is reckoned when it is asked for. */

#define READ_LABELS 16

static double bound(uint64_t thousandths)
{
    return thousandths == ENDPOINT_ANY ? INFINITY : (double)thousandths / 1000;
}

static int value_of(const struct endpoint_reading *r, const char *text, size_t n, double *value, struct err *e)
{
    char names[READING_LABELS_MAX + 1];
    struct sample_label label[READ_LABELS];
    struct sample_want w = { .name = r->metric, .labels = label, .max = r->max != 0 };
    struct sample_value s = { 0 };
    int rc;

    copy_text(names, sizeof(names), r->labels);
    rc = sample_labels(names, label, READ_LABELS, e);
    if (rc < 0)
        return rc;
    w.n_labels = (size_t)rc;
    rc = sample_page_read(&s, &w, text, n, e);
    *value = s.value;
    return rc;
}

bool pressure_read(struct pressure *p, const struct msg_endpoint *d, const char *text, size_t n, msec_t now)
{
    bool whole = true;

    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++) {
        const struct endpoint_reading *r = &d->readings[i];
        struct err e = { 0 };
        double v;

        if (value_of(r, text, n, &v, &e) < 0) {
            pressure_failed(p, e.text, now);
            whole = false;
            continue;
        }
        p->of[i].closed = v > bound(r->close_above) || (p->of[i].closed && v > bound(r->open_below));
        p->of[i].value = v;
        p->of[i].at = now;
    }
    if (whole) {
        p->failing = 0;
        p->why[0] = 0;
    }
    return whole;
}

void pressure_failed(struct pressure *p, const char *why, msec_t now)
{
    copy_text(p->why, sizeof(p->why), why);
    if (p->failing == 0)
        p->failing = now;
}

static bool counts(const struct pressure *p, const struct msg_endpoint *d, uint32_t i, msec_t now)
{
    return p->of[i].at != 0 && now - p->of[i].at < (msec_t)d->reading_stale_ms;
}

bool pressure_closes(const struct pressure *p, const struct msg_endpoint *d, msec_t now)
{
    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++)
        if (p->of[i].closed && counts(p, d, i, now))
            return true;
    return false;
}

/* Part of its slots that a reading leaves, 0 to 1. */
static double part(const struct pressure *p, const struct msg_endpoint *d, uint32_t i, msec_t now)
{
    double from = bound(d->readings[i].narrow_from), to = bound(d->readings[i].narrow_to), v = p->of[i].value;

    if (!counts(p, d, i, now) || v <= from)
        return 1;
    return v >= to ? 0 : (to - v) / (to - from);
}

uint64_t pressure_slots(const struct pressure *p, const struct msg_endpoint *d, uint64_t most, msec_t now)
{
    double least = 1;

    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++)
        least = fmin(least, part(p, d, i, now));
    return most == 0 || least >= 1 ? most : u64_max((uint64_t)((double)most * least), 1);
}

static void say(const struct pressure *p, const struct msg_endpoint *d, uint32_t i, char *text)
{
    snprintf(text, READING_SAID_MAX + 1, "%s %g", d->readings[i].metric, p->of[i].value);
}

static bool is_blind(const struct pressure *p, const struct msg_endpoint *d, msec_t now)
{
    bool all = true;

    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++)
        all = all && counts(p, d, i, now);
    return !all && p->failing != 0 && now - p->failing >= (msec_t)d->reading_stale_ms;
}

enum reading_state pressure_state(const struct pressure *p, const struct msg_endpoint *d, msec_t now,
                                  char text[READING_SAID_MAX + 1])
{
    enum reading_state state = d->n_readings > 0 ? READING_OPEN : READING_NONE;
    double least = 1;

    text[0] = 0;
    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++) {
        double left = part(p, d, i, now);

        if (!counts(p, d, i, now) || (state == READING_CLOSED && !p->of[i].closed))
            continue;
        if (p->of[i].closed)
            state = READING_CLOSED;
        else if (left < least)
            state = READING_NARROWED;
        if (p->of[i].closed || left < least || text[0] == 0)
            say(p, d, i, text);
        least = fmin(least, left);
    }
    if (state != READING_CLOSED && is_blind(p, d, now)) {
        copy_text(text, READING_SAID_MAX + 1, p->why);
        return READING_BLIND;
    }
    return state;
}

bool pressure_same(const struct msg_endpoint *a, const struct msg_endpoint *b)
{
    bool same = a->n_readings == b->n_readings;

    for (uint32_t i = 0; same && i < a->n_readings; i++) {
        const struct endpoint_reading *x = &a->readings[i], *y = &b->readings[i];

        same = strcmp(x->metric, y->metric) == 0 && strcmp(x->labels, y->labels) == 0 && x->max == y->max &&
               x->close_above == y->close_above && x->open_below == y->open_below &&
               x->narrow_from == y->narrow_from && x->narrow_to == y->narrow_to;
    }
    return same;
}

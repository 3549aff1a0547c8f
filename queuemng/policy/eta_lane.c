/* eta_lane.c: measuring a lane's speed, telling it in steps, probing what was told. Pure. */
#include "queuemng/policy/eta_lane.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define CLEARLY     0.30 /* share of the told rate that the fast mean must be off by */
#define A_LITTLE    0.12 /* and the slow one */
#define LEAVE_MAX   1.0  /* giving up is not taken to be faster than the releases (below) */
#define FIRST_SKIP  5    /* by slots the first seconds fill the house: that is no speed */
#define FIRST_LOOK  3    /* seconds after which what was measured is told for the first time */

/* ---- measuring ------------------------------------------------------------------- */

/* A mean of the last seconds: of all of them while there are fewer. */
static double mean(double was, double now, uint32_t n, uint32_t memory)
{
    return was + (now - was) / (n < memory ? n : memory);
}

/* In a rush much is given up in a short time (a page closed at once, a crowd of scripts
 * that times out together); that must not promise the others too much: people who leave
 * never count for more than a second stream as fast as the releases. */
static double leave_most(const struct eta_in *in, double rate)
{
    return LEAVE_MAX * rate / (double)(in->waiting > 0 ? in->waiting : 1);
}

static void measure(struct eta_lane *e, const struct eta_in *in)
{
    double before = (double)(in->waiting + in->released + in->gone);

    e->n++;
    if (in->allowed <= 0 && e->n <= FIRST_SKIP)
        return;
    if (in->allowed <= 0 && e->n == FIRST_SKIP + 1)
        e->fast = e->slow = (double)in->released;
    e->fast = mean(e->fast, (double)in->released, e->n, ETA_FAST_S);
    e->slow = mean(e->slow, (double)in->released, e->n, ETA_SLOW_S);
    e->leave = mean(e->leave, (double)in->gone / before, e->n, ETA_SLOW_S);
}

/* ---- telling --------------------------------------------------------------------- */

static void say(struct eta_lane *e, const struct eta_in *in, double rate, double leave)
{
    double was = eta_seconds(e->told_rate, e->told_leave, in->waiting + 1);
    double now = eta_seconds(rate, leave, in->waiting + 1);

    e->off_s = 0;
    e->told_rate = rate;
    e->told_leave = leave;
    if (was < 0 || now < 0)
        return; /* the first that is told: nobody was told anything else */
    e->reason = now > was ? ETA_SLOWER : ETA_FASTER;
    e->reason_until_ms = in->now_ms + ms_max(in->told_for_ms, 10000);
}

/* Noise is no change: releases of a small rate come in ones. */
static bool is_off(double told, double measured, double share, double seconds)
{
    double noise = 3 * sqrt(told / (2 * seconds));
    double least = told * share > noise ? told * share : noise;

    return fabs(measured - told) > least;
}

/* More or fewer give up than was told, so that it matters. */
static bool leave_is_off(const struct eta_lane *e, const struct eta_in *in, double leave)
{
    double was = eta_seconds(e->told_rate, e->told_leave, in->waiting + 1);
    double now = eta_seconds(e->told_rate, leave, in->waiting + 1);

    return fabs(now - was) > A_LITTLE * was;
}

static void tell(struct eta_lane *e, const struct eta_in *in)
{
    double rate = e->slow, leave = fmin(e->leave, leave_most(in, rate));
    bool much = is_off(e->told_rate, e->fast, CLEARLY, ETA_FAST_S);

    if (in->allowed <= 0 && e->n <= FIRST_SKIP + FIRST_LOOK)
        return;
    if (much || is_off(e->told_rate, e->slow, A_LITTLE, ETA_SLOW_S) ||
        leave_is_off(e, in, leave))
        e->off_s++;
    else
        e->off_s = 0;
    if (e->told_rate > 0 && e->off_s < ETA_SURE_S)
        return;
    if (much && e->told_rate > 0)
        rate = e->slow = e->fast; /* earlier seconds count no more */
    if (rate > 0)
        say(e, in, rate, fmin(leave, leave_most(in, rate)));
}

/* The controller says so itself, before anything of it can be measured. */
static void allow(struct eta_lane *e, const struct eta_in *in)
{
    double by = e->allowed > 0 ? in->allowed / e->allowed : 1;

    if (in->allowed <= 0) {
        e->allowed = 0;
        return;
    }
    if (e->told_rate > 0 && (by > 1 + A_LITTLE || by < 1 - A_LITTLE)) {
        e->fast *= by;
        e->slow *= by;
        say(e, in, e->told_rate * by, e->told_leave);
        e->allowed = in->allowed;
    } else if (e->told_rate <= 0 || e->allowed <= 0) {
        e->allowed = in->allowed;
    }
    if (e->told_rate <= 0) {
        e->fast = e->slow = in->allowed;
        e->n = ETA_FAST_S; /* weight of the first seconds */
        say(e, in, in->allowed, 0);
    }
}

static bool is_held(const struct eta_lane *e)
{
    return e->reason == ETA_PAUSED || e->reason == ETA_STOPPED;
}

static bool goes_by_stay(const struct eta_lane *e)
{
    return e->told_rate < e->by_stay;
}

void eta_hold(struct eta_lane *e, bool paused)
{
    e->reason = paused ? ETA_PAUSED : ETA_STOPPED;
}

void eta_second(struct eta_lane *e, const struct eta_in *in)
{
    if (e->last_ms != 0 && in->now_ms - e->last_ms > ETA_STALE_MS)
        memset(e, 0, offsetof(struct eta_lane, probe));
    e->last_ms = in->now_ms;
    e->by_stay = in->by_stay;
    if (in->paused || in->stopped) {
        eta_hold(e, in->paused);
        return;
    }
    if (is_held(e) || e->reason == ETA_STAY ||
        (e->reason != ETA_AS_TOLD && in->now_ms >= e->reason_until_ms))
        e->reason = ETA_AS_TOLD;
    allow(e, in);
    if (!in->held && in->waiting != 0 && in->waiting >= in->released) {
        measure(e, in);
        tell(e, in);
    }
    if (goes_by_stay(e))
        e->reason = ETA_STAY;
}

double eta_told_rate(const struct eta_lane *e)
{
    return is_held(e) ? 0 : goes_by_stay(e) ? e->by_stay : e->told_rate;
}

/* ---- probes ---------------------------------------------------------------------- */

const double eta_bounds[11] = { 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800 };

static struct eta_probe *probe_free(struct eta_lane *e)
{
    for (unsigned i = 0; i < ETA_PROBES; i++)
        if (e->probe[i].seg == 0)
            return &e->probe[i];
    return NULL;
}

/* Long lines: every second one is given up, and the next come half as often. */
static void probes_thin(struct eta_lane *e)
{
    unsigned n = 0;

    for (unsigned i = 1; i < ETA_PROBES; i += 2)
        e->probe[n++] = e->probe[i];
    while (n < ETA_PROBES)
        e->probe[n++].seg = 0;
    e->probe_every_ms *= 2;
}

void eta_probe(struct eta_lane *e, msec_t now_ms, seg_id seg, uint32_t number,
               uint64_t waiting)
{
    double s = eta_seconds(eta_told_rate(e), e->told_leave, waiting);
    struct eta_probe *p;

    if (e->probe_every_ms == 0)
        e->probe_every_ms = ETA_PROBE_MS;
    if (s < 0 || now_ms - e->probe_ms < e->probe_every_ms)
        return;
    for (unsigned i = 0; i < ETA_PROBES; i++)
        if (e->probe[i].seg == seg && e->probe[i].number == number)
            return; /* no join since */
    p = probe_free(e);
    if (p == NULL) {
        probes_thin(e);
        return; /* another time comes */
    }
    e->probe_ms = now_ms;
    *p = (struct eta_probe){ seg, number, s, now_ms };
}

static void error_add(struct eta_errors *sum, double error_s, double promised_s)
{
    unsigned i = 0;

    while (i < ARRAY_LEN(eta_bounds) && error_s > eta_bounds[i])
        i++;
    assert(i < ARRAY_LEN(sum->le));
    sum->le[i]++;
    sum->n++;
    sum->sum_s += error_s;
    sum->promised_s += promised_s;
}

void eta_passed(struct eta_lane *e, msec_t now_ms, seg_id seg, uint32_t end,
                struct eta_errors *sum)
{
    bool any = false;

    for (unsigned i = 0; i < ETA_PROBES; i++) {
        struct eta_probe *p = &e->probe[i];

        any |= p->seg != 0;
        if (p->seg != seg || p->number >= end || seg == 0)
            continue;
        error_add(sum, fabs((double)(now_ms - p->at_ms) / 1000 - p->promised_s),
                  p->promised_s);
        p->seg = 0;
    }
    if (!any)
        e->probe_every_ms = ETA_PROBE_MS;
}

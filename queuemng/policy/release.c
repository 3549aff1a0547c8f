/* release.c: from readings to whole tickets per lane. Pure.
 *
 * Credit is an integer in nano-tickets (micro-tickets per second times milliseconds), so
 * rounding never gains or loses a ticket.
 * A gap between ticks is paid at the smaller of the rate before it and after it: a rate
 * that has just risen was not allowed for the time that has passed already. Of a gap of
 * more than two ticks (we slept, or nobody waited) the rest is not made up for: no burst. */
#include "queuemng/policy/release.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NANO      1000000000.0
#define FUTURE_MS 5000  /* clocks of machines may differ by this */
#define HOLD_MS   15000 /* after a metric was lost the rate does not rise */

void metric_fail(struct metric *m, const char *why)
{
    m->ok = false;
    snprintf(m->why, sizeof(m->why), "%s", why);
}

void metric_set(struct metric *m, double value, double max_value, msec_t taken_ms,
                msec_t now_ms)
{
    m->value = value;
    m->taken_ms = ms_min(taken_ms, now_ms);
    m->ok = false;
    if (!isfinite(value))
        snprintf(m->why, sizeof(m->why), "not a number");
    else if (value < 0)
        snprintf(m->why, sizeof(m->why), "negative: %g", value);
    else if (!(value <= max_value))
        snprintf(m->why, sizeof(m->why), "%g is above %g", value, max_value);
    else if (taken_ms > now_ms + FUTURE_MS)
        snprintf(m->why, sizeof(m->why), "from the future: by %lld ms",
                 (long long)(taken_ms - now_ms));
    else if (now_ms - taken_ms > METRIC_FRESH_MS)
        snprintf(m->why, sizeof(m->why), "stale: %lld ms old",
                 (long long)(now_ms - taken_ms));
    else {
        m->ok = true;
        m->why[0] = 0;
    }
}

const struct metric *metric_find(const struct metric *v, unsigned n, const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

bool metric_usable(const struct metric *m, msec_t now_ms)
{
    return m->ok && now_ms - m->taken_ms <= METRIC_FRESH_MS;
}

/* Index of the first tier that a value is below, by `margin` at least; n: of none. Also
 * for NaN, which is below nothing. */
static uint32_t tier_of(const struct def_limit *l, double value, double margin)
{
    const struct def_tier *t = l->tiers.v;
    uint32_t i = 0;

    while (i < l->tiers.n && !(value < t[i].below - margin))
        i++;
    return i;
}

static double tier_rate(const struct def_limit *l, uint32_t tier)
{
    const struct def_tier *t = l->tiers.v;

    return tier < l->tiers.n ? t[tier].rate_per_s : 0;
}

/* Forgets what was held in the tiers of another list: an index into it says nothing in this one. */
static void forget_other_limits(struct release *r, const struct queue_def *d)
{
    uint64_t digest = metric_limits_digest(&d->limits);

    if (r->limits_digest == digest)
        return;
    r->limits_digest = digest;
    memset(r->tier, 0, sizeof(r->tier));
    memset(r->tier_known, 0, sizeof(r->tier_known));
    memset(r->lost_ms, 0, sizeof(r->lost_ms));
}

/* Worse at once, better only when clearly below the border. */
static double rate_by_reading(struct release *r, size_t i, const struct def_limit *l,
                              double value, double hysteresis)
{
    uint32_t plain = tier_of(l, value, 0);
    uint32_t safe = tier_of(l, value, hysteresis);

    assert(!r->tier_known[i] || r->tier[i] <= l->tiers.n);
    if (!r->tier_known[i] || plain > r->tier[i])
        r->tier[i] = plain;
    else if (safe < r->tier[i])
        r->tier[i] = safe;
    r->tier_known[i] = true;
    r->lost_ms[i] = 0;
    return tier_rate(l, r->tier[i]);
}

/* Rates without a reading: the fallback, but for a while not more than before: a
 * monitor often dies of the very load that it should report. */
static double rate_without(struct release *r, size_t i, const struct def_limit *l,
                           const struct queue_def *d, msec_t now_ms)
{
    double rate = d->fallback_per_s;

    r->fallback = true;
    if (!r->tier_known[i])
        return rate;
    if (r->lost_ms[i] == 0)
        r->lost_ms[i] = now_ms;
    if (now_ms - r->lost_ms[i] < HOLD_MS)
        return fmin(rate, tier_rate(l, r->tier[i]));
    r->tier_known[i] = false;
    return rate;
}

static void limited_by(struct release *r, const char *what)
{
    snprintf(r->limited_by, sizeof(r->limited_by), "%s", what);
}

static double rate_by_limits(struct release *r, const struct release_in *in)
{
    const struct queue_def *d = in->def;
    const struct def_limit *l = d->limits.v;
    double least = -1;

    forget_other_limits(r, d);
    if (d->limits.n == 0) { /* nothing to fall back from */
        limited_by(r, "no_limits");
        return d->fallback_per_s;
    }
    for (size_t i = 0; i < d->limits.n && i < ARRAY_LEN(r->tier); i++) {
        const struct metric *m = in->metrics != NULL ? in->metrics[i] : NULL;
        bool usable = m != NULL && metric_usable(m, in->now_ms);
        double rate = usable ? rate_by_reading(r, i, &l[i], m->value, d->hysteresis)
                             : rate_without(r, i, &l[i], d, in->now_ms);

        if (least < 0 || rate < least) {
            least = rate;
            limited_by(r, usable ? l[i].metric : "fallback");
        }
    }
    return least;
}

void release_look(struct release *r, const struct release_in *in)
{
    const struct def_limit *l = in->def->limits.v;

    forget_other_limits(r, in->def);
    for (size_t i = 0; i < in->def->limits.n && i < ARRAY_LEN(r->tier); i++) {
        const struct metric *m = in->metrics[i];

        if (m != NULL && metric_usable(m, in->now_ms))
            (void)rate_by_reading(r, i, &l[i], m->value, in->def->hysteresis);
    }
}

/* By the operator's word everybody is let in, or nobody is. */
static bool is_free(const struct release_in *in)
{
    return in->free || in->def->state == DEF_PASSTHROUGH;
}

static bool is_held(const struct release_in *in)
{
    return !is_free(in) &&
           (in->not_open || in->def->state == DEF_PAUSED || in->def->state == DEF_REJECT);
}

static double target_rate(struct release *r, const struct release_in *in)
{
    r->fallback = false;
    if (is_held(in)) {
        limited_by(r, in->def->state != DEF_OPEN ? def_state_names[in->def->state]
                                                 : "not_open");
        return 0;
    }
    if (is_free(in)) { /* newcomers pass by: people who wait must not be worse off */
        limited_by(r, in->def->state == DEF_PASSTHROUGH ? "passthrough" : "shadow");
        return PASSTHROUGH_PER_S;
    }
    if (in->def->mode == MODE_SLOTS)
        return 0; /* nothing is earned by time */
    if (in->def->release_per_s > 0) {
        limited_by(r, "fixed");
        return in->def->release_per_s;
    }
    return rate_by_limits(r, in);
}

/* By slots alone it is earned by time all the same, if a budget has a rate. */
static double within_budget(struct release *r, const struct release_in *in, double rate)
{
    r->own_per_s = rate;
    if (in->rate_budget == NULL || is_held(in) || is_free(in) ||
        (in->def->mode != MODE_SLOTS && rate <= in->rate_most))
        return rate;
    limited_by(r, in->rate_budget);
    return in->rate_most;
}

/* Falls at once, rises by max_rise_per_s. */
static void slew(struct release *r, const struct release_in *in, double target, msec_t gap_ms)
{
    const struct queue_def *d = in->def;
    double most = r->rate_per_s + d->max_rise_per_s * (double)gap_ms / 1000.0;

    if (d->max_rise_per_s > 0 && !is_free(in) && target > most) {
        target = most;
        limited_by(r, "max_rise");
    }
    r->rate_per_s = target > 0 ? target : 0; /* also for NaN */
}

/* Whole tickets for the gap; what is less than one is carried. */
static uint64_t earn(struct release *r, double rate, msec_t gap_ms)
{
    uint64_t nano = (uint64_t)llround(r->carry * NANO);
    uint64_t whole;

    nano += (uint64_t)llround(rate * 1e6) * (uint64_t)gap_ms;
    whole = nano / (uint64_t)NANO;
    r->carry = (double)(nano % (uint64_t)NANO) / NANO;
    return whole;
}

/* While everybody is let in there are no no-shows to make up for. */
static double boost(const struct release_in *in)
{
    return in->boost > 1 && !is_free(in) ? in->boost : 1;
}

/* ---- lanes ----------------------------------------------------------------------- */

struct share {
    uint64_t left[LANES_MAX]; /* waiters not yet given anything */
    int64_t weight[LANES_MAX];
    unsigned n;
    int64_t sum;              /* sum of the weights of lanes with waiters */
    uint64_t rounds;          /* how often all of them can have their full weight */
};

static void share_sum(struct share *s)
{
    s->sum = 0;
    s->rounds = UINT64_MAX;
    for (unsigned i = 0; i < s->n; i++) {
        if (s->left[i] == 0)
            continue;
        s->sum += s->weight[i];
        s->rounds = u64_min(s->rounds, s->left[i] / (uint64_t)s->weight[i]);
    }
}

/* Gives a ticket by smooth weighted round robin: everybody earns the weight, the richest gets
 * the ticket and pays the sum. */
static unsigned share_one(struct share *s, int64_t *credit)
{
    unsigned best = s->n;

    for (unsigned i = 0; i < s->n; i++) {
        if (s->left[i] == 0)
            continue;
        credit[i] += s->weight[i];
        if (best == s->n || credit[i] > credit[best])
            best = i;
    }
    assert(best < s->n); /* some lane has waiters */
    credit[best] -= s->sum;
    return best;
}

static void share_weight(struct share *s, int64_t *credit, uint64_t n, uint64_t *out)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->left[i] == 0)
            credit[i] = 0; /* an empty lane does not save up */
    for (share_sum(s); n > 0 && s->sum > 0; share_sum(s)) {
        /* whole rounds at once: after each the credits are what they were before */
        uint64_t k = u64_min(n / (uint64_t)s->sum, s->rounds);
        unsigned one;

        for (unsigned i = 0; k > 0 && i < s->n; i++) {
            uint64_t give = s->left[i] == 0 ? 0 : k * (uint64_t)s->weight[i];

            out[i] += give;
            s->left[i] -= give;
            n -= give;
        }
        if (k > 0)
            continue;
        one = share_one(s, credit);
        out[one]++;
        s->left[one]--;
        n--;
        if (s->left[one] == 0)
            credit[one] = 0;
    }
}

static void share_strict(struct share *s, uint64_t n, uint64_t *out)
{
    for (unsigned i = 0; i < s->n; i++) {
        out[i] = u64_min(n, s->left[i]);
        n -= out[i];
    }
}

void release_share(struct release *r, const struct release_in *in, uint64_t n,
                   uint64_t out[LANES_MAX])
{
    struct share s = { .n = in->n_lanes < LANES_MAX ? in->n_lanes : LANES_MAX };

    memset(out, 0, LANES_MAX * sizeof(*out));
    for (unsigned i = 0; i < s.n; i++) {
        s.left[i] = in->waiting[i];
        s.weight[i] = in->weights != NULL && in->weights[i] > 0 ? in->weights[i] : 1;
    }
    if (in->def->sharing == SHARE_STRICT)
        share_strict(&s, n, out);
    else
        share_weight(&s, r->lane_credit, n, out);
}

/* ---- the tick -------------------------------------------------------------------- */

/* Credit beyond the free slots is not saved up. */
static uint64_t within_slots(struct release *r, const struct release_in *in, uint64_t n)
{
    bool earned = in->def->mode == MODE_BOTH || in->rate_budget != NULL;

    if (in->def->mode == MODE_RATE || is_held(in) || is_free(in) ||
        (earned && in->slots > 0 && in->slots >= n))
        return n;
    r->by_slots = true;
    limited_by(r, in->budget != NULL ? in->budget : in->flushed ? "flushed" : "slots");
    return in->slots;
}

static msec_t tick_ms(const struct release_in *in)
{
    return in->tick_ms > 0 ? in->tick_ms : 100;
}

/* Takes what was left over less than a tick ago: a tick that is split has not less to give. */
static uint64_t take_spare(struct release *r, const struct release_in *in)
{
    uint64_t n = in->now_ms - r->spare_ms < tick_ms(in) && r->rate_per_s > 0 ? r->spare : 0;

    r->spare = 0;
    return n;
}

/* Keeps a ticket: the next person to come to an empty line need not wait. */
static void keep_spare(struct release *r, const struct release_in *in, uint64_t n)
{
    if (n == 0 || in->def->mode == MODE_SLOTS)
        return;
    r->carry = 1;
    r->spare = u64_min(n - 1, in->keep);
    if (in->now_ms - r->spare_ms >= tick_ms(in))
        r->spare_ms = in->now_ms;
}

/* How long it is since the last time, at most two ticks. */
static msec_t renew_rate(struct release *r, const struct release_in *in)
{
    msec_t gap = r->last_ms == 0 ? 0 : in->now_ms - r->last_ms;

    gap = ms_max(0, ms_min(gap, 2 * tick_ms(in)));
    slew(r, in, within_budget(r, in, target_rate(r, in)), gap);
    r->last_ms = in->now_ms;
    return gap;
}

double release_rate(struct release *r, const struct release_in *in)
{
    (void)renew_rate(r, in);
    return r->rate_per_s;
}

void release_tick(struct release *r, const struct release_in *in, struct release_out *out)
{
    double before = r->rate_per_s;
    msec_t gap = renew_rate(r, in);
    uint64_t n;

    if (r->rate_per_s == 0)
        r->carry = 0;
    n = take_spare(r, in) + earn(r, fmin(before, r->rate_per_s) * boost(in), gap);
    r->by_slots = false;
    n = within_slots(r, in, n);
    release_share(r, in, n, out->n);
    for (unsigned i = 0; i < LANES_MAX; i++) {
        r->granted += out->n[i];
        n -= out->n[i];
    }
    keep_spare(r, in, n);
    assert(r->carry >= 0 && r->rate_per_s >= 0);
    out->allowed_per_s = r->rate_per_s;
}

void release_refund(struct release *r, uint64_t n, double max_carry)
{
    double most = fmax(r->carry, 1 + (max_carry > 0 ? max_carry : 0));

    assert(r->carry >= 0);
    r->granted -= u64_min(n, r->granted);
    r->carry = fmin(r->carry + (double)n, most);
}

/* A moving average over decided tickets; gaps between polls. Pure. */

void no_show_second(struct no_show *c)
{
    double came = (double)(c->claimed - c->seen_claimed);
    double n = came + (double)(c->missed - c->seen_missed);
    double before = (double)(c->seen_claimed + c->seen_missed), memory;

    assert(c->claimed >= c->seen_claimed && c->missed >= c->seen_missed);
    if (n == 0)
        return;
    /* the mean of all of them at first, later one that forgets */
    memory = before + n < NO_SHOW_MEMORY ? before + n : NO_SHOW_MEMORY;
    c->rate += (came / n - c->rate) * (n < memory ? n / memory : 1);
    assert(c->rate >= 0 && c->rate <= 1);
    c->seen_claimed = c->claimed;
    c->seen_missed = c->missed;
}

double no_show_share_come(const struct no_show *c)
{
    return c->seen_claimed + c->seen_missed < NO_SHOW_FEW ? 1 : c->rate;
}

double no_show_boost(const struct no_show *c, double most)
{
    double rate = no_show_share_come(c);

    if (most <= 1 || rate >= 1)
        return 1;
    return rate * most <= 1 ? most : 1 / rate;
}

/* ---- silence --------------------------------------------------------------------- */

void quiet_poll(struct quiet *h, msec_t now_ms, msec_t quiet_ms)
{
    if (h->last_ms == 0 || now_ms - h->last_ms > quiet_ms)
        h->since_ms = now_ms;
    h->last_ms = now_ms;
    assert(h->since_ms <= h->last_ms);
}

uint32_t quiet_away_ms(const struct quiet *h, msec_t now_ms, msec_t quiet_ms, msec_t away_ms)
{
    if (h->last_ms == 0 || now_ms - h->last_ms > quiet_ms ||
        now_ms - h->since_ms < away_ms)
        return 0;
    return away_ms < UINT32_MAX ? (uint32_t)away_ms : UINT32_MAX;
}

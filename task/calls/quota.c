/* quota.c: a level is the time in which the bucket came by it: room_ns less what is missing until `tat`. */
#include "task/calls/quota.h"

#include <assert.h>
#include <string.h>

#define each_rate(q, k) for (unsigned k = 0; k < UNIT_RATES_MAX && (q)->rate[k].units != 0; k++)

#define each_bucket(q, k)  \
    each_rate (q, k)       \
        if (!is_window(q, k))
#define each_purse(q, k)   \
    each_rate (q, k)       \
        if (is_window(q, k))

#define LATELY    64 /* calls */
#define NTH_UNITS ((uint64_t)1 << 50)
#define WINDOWS_MOST 1000

#define FINE ((uint64_t)1 << 20) /* parts of a unit that a change of the node's part keeps */

static bool is_window(const struct quota *q, unsigned k)
{
    return q->purse[k].window.to_ms != 0;
}

/* Room beyond its own, for a call that needs more; a call needs one unit at least. */
static int64_t beyond(const struct quota *q, unsigned k)
{
    int64_t needs = units_ns(&q->rate[k], u64_max(q->needs, 1));

    return needs > q->rate[k].room_ns ? needs - q->rate[k].room_ns : 0;
}

static int64_t level(const struct quota *q, unsigned k, msec_t now)
{
    int64_t full = now * RATE_NS - beyond(q, k);

    return q->rate[k].room_ns - ((q->tat[k] > full ? q->tat[k] : full) - now * RATE_NS);
}

static void set_level(struct quota *q, unsigned k, int64_t ns, msec_t now)
{
    q->tat[k] = now * RATE_NS + q->rate[k].room_ns - ns;
}

/* Forgets what would have gone over the edge; before the room, or the need, is another one. */
static void settle(struct quota *q, msec_t now)
{
    each_bucket (q, k)
        set_level(q, k, level(q, k, now), now);
}

/* Parts of a unit in so much time, and the time of so many. */
static __int128 parts_of(const struct unit_rate *r, int64_t ns)
{
    return (__int128)ns * (__int128)r->units * (__int128)FINE / r->per_ns;
}

static int64_t time_of(const struct unit_rate *r, __int128 parts)
{
    __int128 ns = parts * r->per_ns / ((__int128)r->units * (__int128)FINE);

    return ns > UNITS_NS_MAX ? UNITS_NS_MAX : ns < -UNITS_NS_MAX ? -UNITS_NS_MAX : (int64_t)ns;
}

/* The node's part of a rate: slower, with less room, which takes as long to fill. */
static struct unit_rate part_of(const uint64_t *numbers, uint64_t part)
{
    struct unit_rate r = unit_rate_make(&(struct unit_rate_numbers){ numbers[0], numbers[1], numbers[2] });

    if (r.units != 0 && part < UNIT_PARTS)
        r.per_ns = (int64_t)((r.per_ns * (__int128)UNIT_PARTS + (__int128)part - 1) / (__int128)part);
    return r;
}

static bool is_good(const uint64_t *numbers)
{
    return numbers[0] >= 1 && numbers[0] <= RATE_UNITS_MAX && numbers[1] < RATE_NPERS &&
           numbers[2] <= RATE_UNITS_MAX;
}

static uint64_t whole_of(const uint64_t *numbers)
{
    return numbers[2] != 0 ? numbers[2] : numbers[0];
}

struct rates {
    const uint64_t *numbers;
    uint32_t n, n_own;
};

static bool is_kth(const struct quota *q, unsigned k, const struct rates *v, uint32_t i)
{
    return q->rate[k].units == v->numbers[3 * i] && q->per[k] == v->numbers[3 * i + 1] &&
           q->whole[k] == whole_of(&v->numbers[3 * i]) && q->shared[k] == (i >= v->n_own);
}

/* Finds the i-th rate among those of before: the same one, else the one in whose place it is, of the endpoint, or of
 * its budget, if that has gone. UNIT_RATES_MAX: it is new. */
static unsigned before(const struct quota *was, const struct rates *v, uint32_t i)
{
    unsigned at = i;

    each_rate (was, k)
        if (is_kth(was, k, v, i))
            return k;
    if (i >= v->n_own) {
        at = i - v->n_own;
        each_rate (was, k)
            at += !was->shared[k];
    }
    if (at >= UNIT_RATES_MAX || was->rate[at].units == 0 || was->shared[at] != (i >= v->n_own))
        return UNIT_RATES_MAX;
    for (uint32_t k = 0; k < v->n; k++)
        if (is_kth(was, at, v, k))
            return UNIT_RATES_MAX;
    return at;
}

void quota_define(struct quota *q, const uint64_t *numbers, uint32_t n, struct quota_parts parts, msec_t now)
{
    const struct rates all = { numbers, n, n - u32_min(n, parts.n_shared) };
    uint32_t n_own = all.n_own;
    struct quota was = *q;
    unsigned to = 0;

    settle(&was, now);
    *q = (struct quota){ .needs = q->needs, .changed = true, .calls = q->calls, .units = q->units };
    q->none = (n_own > 0 && parts.own == 0) || (n > n_own && parts.shared == 0);
    memcpy(q->purse, was.purse, sizeof(q->purse));
    memcpy(q->since, was.since, sizeof(q->since));
    for (uint32_t i = 0; i < n && i < UNIT_RATES_MAX; i++) {
        struct unit_rate *r = &q->rate[to];
        uint64_t part = i < n_own ? parts.own : parts.shared;
        unsigned k = before(&was, &all, i);
        __int128 had = k < UNIT_RATES_MAX && !is_window(&was, k) ? parts_of(&was.rate[k], level(&was, k, now)) : 0;

        if (!is_good(&numbers[3 * i]))
            continue; /* no manager says so */
        if (had > 0 && (part == 0 || was.idle[k]))
            had = 0; /* others have it */
        *r = part_of(&numbers[3 * i], u64_max(part, 1));
        q->idle[to] = part == 0;
        q->whole[to] = whole_of(&numbers[3 * i]);
        q->per[to] = (uint8_t)numbers[3 * i + 1];
        q->shared[to] = i >= n_own;
        set_level(q, to, time_of(r, had), now);
        to++;
    }
    settle(q, now);
}

uint64_t quota_most(const struct quota *q, msec_t now)
{
    uint64_t most = q->none ? 0 : QUOTA_ANY;

    each_purse (q, k)
        most = u64_min(most, purse_most(&q->purse[k], q->whole[k], now));
    each_bucket (q, k) {
        __int128 units = parts_of(&q->rate[k], level(q, k, now)) / (__int128)FINE;

        most = units <= 0 ? 0 : u64_min(most, (uint64_t)units);
    }
    return most;
}

void quota_waits(struct quota *q, uint64_t cost, msec_t now)
{
    settle(q, now);
    q->needs = cost;
}

void quota_pays(struct quota *q, uint64_t cost, msec_t now)
{
    each_purse (q, k)
        purse_pays(&q->purse[k], cost);
    each_bucket (q, k)
        set_level(q, k, level(q, k, now) - units_ns(&q->rate[k], cost), now);
    q->needs = 0;
    q->changed = true;
    settle(q, now);
    if (q->calls == LATELY) {
        q->calls /= 2;
        q->units /= 2;
    }
    q->calls++;
    q->units += cost;
}

void quota_owes(struct quota *q, uint64_t units, msec_t now)
{
    q->changed = true;
    each_purse (q, k)
        purse_pays(&q->purse[k], units);
    each_bucket (q, k) {
        int64_t ns = level(q, k, now) - units_ns(&q->rate[k], units);

        set_level(q, k, ns < -UNITS_NS_MAX ? -UNITS_NS_MAX : ns, now);
    }
}

void quota_returns(struct quota *q, uint64_t cost, msec_t begun, msec_t now)
{
    q->changed = true;
    each_purse (q, k)
        if (begun > q->since[k]) /* in that same moment it may have been paid in the one before */
            purse_returns(&q->purse[k], q->purse[k].window.no, cost);
    each_bucket (q, k)
        set_level(q, k, level(q, k, now) + units_ns(&q->rate[k], cost), now);
    settle(q, now);
}

msec_t quota_when(const struct quota *q, msec_t now)
{
    msec_t when = q->none ? MSEC_NEVER : 0;

    each_purse (q, k)
        if (purse_most(&q->purse[k], q->whole[k], now) < u64_max(q->needs, 1))
            when = MSEC_NEVER; /* when the manager says so */
    each_bucket (q, k) {
        int64_t ns = q->tat[k] - q->rate[k].room_ns + units_ns(&q->rate[k], u64_max(q->needs, 1));

        when = ms_max(when, ns <= 0 ? 0 : (ns + RATE_NS - 1) / RATE_NS);
    }
    return when;
}

uint64_t quota_room(const struct quota *q, unsigned k)
{
    if (is_window(q, k))
        return q->purse[k].given;
    return q->rate[k].units != 0 ? (uint64_t)(parts_of(&q->rate[k], q->rate[k].room_ns) / (__int128)FINE) : 0;
}

/* Units that must be there for a call to be let in: of one that this node alone has no room for, a full bucket. */
static double units_to_enter(const struct quota *q, unsigned k, uint64_t cost)
{
    return (double)(cost <= q->whole[k] ? u64_min(cost, quota_room(q, k)) : cost);
}

struct nth_call {
    double before, own; /* units of those before it, and its own */
};

static struct nth_call nth_call(const struct quota *q, uint64_t nth, uint64_t cost)
{
    double mean = q->calls > 0 ? (double)q->units / (double)q->calls : 1;
    double head = q->needs > 0 ? (double)q->needs : mean;

    return (struct nth_call){ nth > 1 ? head + mean * (double)(nth - 2) : 0,
                              cost > 0 ? (double)cost : nth > 1 ? mean : head };
}

/* Units that it lacks in a window; <= 0: none, or that window is over. */
static double lacks(const struct quota *q, unsigned k, const struct nth_call *c, msec_t now)
{
    const struct purse *p = &q->purse[k];

    return now < p->window.to_ms
               ? c->before + c->own - ((double)purse_left(p, q->whole[k]) + (double)q->rest[k]) : 0;
}

msec_t quota_window(const struct quota *q, uint64_t nth, uint64_t cost, msec_t now, bool *shared)
{
    struct nth_call c = nth_call(q, nth, cost);
    msec_t ends = 0;

    each_purse (q, k)
        if (lacks(q, k, &c, now) > 0 && q->purse[k].window.to_ms > ends) {
            ends = q->purse[k].window.to_ms;
            *shared = q->shared[k];
        }
    return ends;
}

msec_t quota_nth(const struct quota *q, uint64_t nth, uint64_t cost, msec_t now)
{
    struct nth_call c = nth_call(q, nth, cost);
    msec_t when = 0;

    each_purse (q, k) {
        const struct meter_window *w = &q->purse[k].window;
        double more = lacks(q, k, &c, now), windows = more > 0 ? (more - 1) / (double)q->whole[k] : 0;

        if (more > 0) /* and as long as the others are */
            when = ms_max(when, w->to_ms + (w->to_ms - w->from_ms) * (msec_t)(windows < WINDOWS_MOST ? windows : WINDOWS_MOST));
    }
    each_bucket (q, k) {
        int64_t ns = q->tat[k] > now * RATE_NS - beyond(q, k) ? q->tat[k] : now * RATE_NS - beyond(q, k);
        double units = c.before + (cost > 0 ? units_to_enter(q, k, cost) : c.own);

        ns += units_ns(&q->rate[k], units < (double)NTH_UNITS ? (uint64_t)units : NTH_UNITS) - q->rate[k].room_ns;
        when = ms_max(when, ns <= 0 ? 0 : (ns + RATE_NS - 1) / RATE_NS);
    }
    return when;
}

int64_t quota_level(const struct quota *q, unsigned k, msec_t now)
{
    __int128 parts = is_window(q, k)        ? (__int128)q->purse[k].taken * (__int128)FINE
                     : q->rate[k].units != 0 ? parts_of(&q->rate[k], level(q, k, now)) : 0;

    return (int64_t)(parts / (__int128)FINE - (parts % (__int128)FINE < 0));
}

void quota_resume(struct quota *q, const struct quota_kept *was, msec_t away, msec_t now)
{
    uint32_t n_own = was->n - u32_min(was->n, was->parts.n_shared);

    *q = (struct quota){ .needs = 0 };
    quota_define(q, was->numbers, was->n, was->parts, now - away);
    each_rate (q, k)
        if (k < n_own)
            set_level(q, k, time_of(&q->rate[k], (__int128)was->units[k] * (__int128)FINE), now - away);
        else
            set_level(q, k, was->units[k] < 0 ? time_of(&q->rate[k], (__int128)was->units[k] * (__int128)FINE) : 0, now);
    settle(q, now);
}

uint64_t quota_used(const struct quota *q, unsigned k, msec_t now)
{
    __int128 parts;

    if (k >= UNIT_RATES_MAX || q->rate[k].units == 0)
        return 0;
    if (is_window(q, k))
        return q->purse[k].taken;
    parts = parts_of(&q->rate[k], q->rate[k].room_ns - level(q, k, now));
    return parts <= 0 ? 0 : (uint64_t)((parts + (__int128)FINE - 1) / (__int128)FINE);
}

/* Finds the purse of this window among those of before: rates come and go beside it. UNIT_RATES_MAX: there is none. */
static unsigned purse_before(const struct quota *was, uint64_t no)
{
    for (unsigned i = 0; i < UNIT_RATES_MAX; i++)
        if (is_window(was, i) && was->purse[i].window.no == no)
            return i;
    return UNIT_RATES_MAX;
}

/* Units taken of this window; number 0: that is not known. */
static struct purse kept_of(const struct quota_kept *was, uint64_t no)
{
    for (unsigned k = 0; was != NULL && k < UNIT_RATES_MAX; k++)
        if (was->windows[k] == no)
            return (struct purse){ { no, 0, 0 }, 0, (uint64_t)(was->units[k] > 0 ? was->units[k] : 0) };
    return (struct purse){ 0 };
}

void quota_follow(struct quota *q, const struct quota_windows *w, msec_t now)
{
    const struct quota was = *q;

    for (unsigned k = 0; k < UNIT_RATES_MAX; k++) {
        const uint64_t *v = &w->numbers[WINDOW_NUMBERS * k];
        bool is = WINDOW_NUMBERS * (k + 1) <= w->n && v[2] != 0;
        const struct meter_window at = is ? (struct meter_window){ v[0], (int64_t)v[1] + w->ahead, (int64_t)v[2] + w->ahead }
                                          : (struct meter_window){ 0 };
        const struct purse kept = kept_of(w->kept, at.no);
        unsigned from = is ? purse_before(&was, at.no) : UNIT_RATES_MAX;
        struct purse *p = &q->purse[k];

        *p = from < UNIT_RATES_MAX ? was.purse[from] : (struct purse){ 0 };
        q->since[k] = from < UNIT_RATES_MAX ? was.since[from] : now;
        if (!is)
            continue;
        q->rest[k] = v[4];
        if (w->fresh)
            purse_resumes(p, &at, v[3], kept.window.no != 0 ? &kept : NULL);
        else
            purse_gets(p, &at, v[3]);
        p->window = at; /* by the clock of now */
        if (w->fresh)
            q->since[k] = now;
        q->changed = true;
    }
}

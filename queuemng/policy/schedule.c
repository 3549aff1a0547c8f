/* schedule.c: opening and closing times. */
#include "queuemng/policy/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

#define LEAP_MS  5000  /* a clock that is set by more than this leaps */
#define STAYS_MS 10000 /* and is believed after this */
#define STEADY_MS 600000 /* for passes after this at most */

/* ---- RFC 3339 ---------------------------------------------------------------------- */

/* n digits; -1: others. */
static int digits(const char **p, int n)
{
    int v = 0;

    for (; n > 0; n--, (*p)++) {
        if (**p < '0' || **p > '9')
            return -1;
        v = v * 10 + (**p - '0');
    }
    return v;
}

static bool is(const char **p, const char *one_of)
{
    bool ok = **p != '\0' && strchr(one_of, **p) != NULL;

    *p += ok;
    return ok;
}

static bool is_leap(int y)
{
    return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

static int days_of(int y, int m)
{
    static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return m == 2 && is_leap(y) ? 29 : days[m - 1];
}

/* Days from 1970-01-01. */
static int64_t day_number(int y, int m, int d)
{
    int64_t before = y - 1;
    int64_t n = before * 365 + before / 4 - before / 100 + before / 400;

    for (int i = 1; i < m; i++)
        n += days_of(y, i);
    return n + d - 1 - 719162;
}

/* "Z" or "+01:00"; minutes, or INT32_MAX. */
static int zone(const char **p)
{
    int sign = **p == '-' ? -1 : 1, h, m;

    if (is(p, "Zz"))
        return 0;
    if (!is(p, "+-"))
        return INT32_MAX;
    h = digits(p, 2);
    if (h < 0 || h > 23 || !is(p, ":"))
        return INT32_MAX;
    m = digits(p, 2);
    return m < 0 || m > 59 ? INT32_MAX : sign * (h * 60 + m);
}

int schedule_parse(const char *p, int64_t *ms)
{
    int y, mon, d, h, min, s, off;
    int64_t fraction = 0;

    y = digits(&p, 4);
    if (y < 1970 || !is(&p, "-"))
        return SQ_EINVAL;
    mon = digits(&p, 2);
    if (mon < 1 || mon > 12 || !is(&p, "-"))
        return SQ_EINVAL;
    d = digits(&p, 2);
    if (d < 1 || d > days_of(y, mon) || !is(&p, "Tt "))
        return SQ_EINVAL;
    h = digits(&p, 2);
    if (h < 0 || h > 23 || !is(&p, ":"))
        return SQ_EINVAL;
    min = digits(&p, 2);
    if (min < 0 || min > 59 || !is(&p, ":"))
        return SQ_EINVAL;
    s = digits(&p, 2);
    if (s < 0 || s > 59)
        return SQ_EINVAL;
    if (is(&p, ".")) {
        const char *from = p;

        for (int64_t unit = 100; *p >= '0' && *p <= '9'; p++, unit /= 10)
            fraction += unit * (*p - '0');
        if (p == from)
            return SQ_EINVAL;
    }
    off = zone(&p);
    if (off == INT32_MAX || *p != '\0')
        return SQ_EINVAL;
    *ms = ((day_number(y, mon, d) * 24 + h) * 60 + min - off) * 60000 + s * 1000 + fraction;
    return *ms > 0 ? 0 : SQ_EINVAL;
}

/* ---- definition ---------------------------------------------------------------------- */

/* 0: not said. */
static int64_t moment(const char *text)
{
    int64_t ms = 0;

    return text == NULL || text[0] == '\0' || schedule_parse(text, &ms) < 0 ? 0 : ms;
}

static int moment_check(const char *key, const char *text, struct err *e)
{
    if (text != NULL && text[0] != '\0' && moment(text) == 0)
        return err_set(e, SQ_EINVAL, "%s: \"%s\" is no date and time with a zone, like "
                       "2027-01-31T20:00:00+01:00", key, text);
    return 0;
}

int schedule_check(const struct schedule_def *d, struct err *e)
{
    int64_t opens = moment(d->opens_at), closes = moment(d->closes_at);
    int rc = moment_check("opens_at", d->opens_at, e);

    if (rc == 0)
        rc = moment_check("closes_at", d->closes_at, e);
    if (rc == 0 && opens != 0 && closes != 0 && closes <= opens)
        rc = err_set(e, SQ_EINVAL, "closes_at is not after opens_at");
    return rc;
}

void schedule_set(struct schedule *s, const struct schedule_def *d)
{
    s->opens_ms = moment(d->opens_at);
    s->closes_ms = moment(d->closes_at);
}

/* ---- time ------------------------------------------------------------------------------ */

bool schedule_is_opened(const struct schedule *s)
{
    return s->opens_ms == 0 || s->opened_for == s->opens_ms;
}

/* Once for each moment, whatever the clock says afterwards. */
static bool has_come(int64_t *done_for, int64_t at_ms, int64_t wall_ms, int64_t before_ms)
{
    if (at_ms == 0 || *done_for == at_ms || wall_ms < at_ms - before_ms)
        return false;
    *done_for = at_ms;
    return true;
}

/* The seed of the opening to come: one that was told is of an earlier one. */
static bool seed_step(struct schedule *s, const struct schedule_def *d,
                      const uint8_t secret[DRAW_SEED])
{
    if (schedule_is_opened(s)) {
        if (s->draw != DRAW_SECRET)
            return false;
        s->draw = DRAW_TOLD;
        return true;
    }
    if (d->prequeue_ms == 0 || s->draw == DRAW_SECRET)
        return false;
    memcpy(s->seed, secret, DRAW_SEED);
    s->draw = DRAW_SECRET;
    s->n_draws = 0;
    return true;
}

static uint8_t phase_of(const struct schedule *s)
{
    if (s->closes_ms != 0 && s->closed_for == s->closes_ms)
        return SCHED_OVER;
    if (schedule_is_opened(s))
        return SCHED_PLAIN;
    return s->early_for == s->opens_ms ? SCHED_PREQUEUE : SCHED_EARLY;
}

bool schedule_step(struct schedule *s, const struct schedule_def *d, int64_t wall_ms,
                   const uint8_t secret[DRAW_SEED])
{
    bool changed = has_come(&s->opened_for, s->opens_ms, wall_ms, 0);
    uint8_t phase;

    if (d->prequeue_ms > 0)
        changed |= has_come(&s->early_for, s->opens_ms, wall_ms, d->prequeue_ms);
    changed |= has_come(&s->closed_for, s->closes_ms, wall_ms, 0);
    changed |= seed_step(s, d, secret);
    phase = phase_of(s);
    changed |= phase != s->phase;
    s->phase = phase;
    return changed;
}

/* ---- the draw -------------------------------------------------------------------------- */

void schedule_add_draw(struct schedule *s, uint64_t seg, uint32_t count)
{
    uint32_t i = s->n_draws;

    if (s->n_draws == SCHEDULE_DRAWS_MAX)
        return;
    for (; i > 0 && s->draws[i - 1].seg > seg; i--)
        s->draws[i] = s->draws[i - 1];
    s->draws[i].seg = seg;
    s->draws[i].count = count;
    s->n_draws++;
}

static void put_hex(struct buf *b, const char *name, const uint8_t *p, size_t n)
{
    buf_printf(b, "\"%s\":\"", name);
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%02x", p[i]);
    buf_str(b, "\"");
}

void schedule_put_draw(const struct schedule *s, const char *queue, struct buf *b)
{
    uint8_t hash[DRAW_SEED];

    if (s->draw == DRAW_NONE)
        return;
    draw_commitment(queue, s->seed, hash);
    buf_str(b, "{");
    put_hex(b, "commitment", hash, sizeof(hash));
    if (s->draw == DRAW_TOLD) {
        buf_str(b, ",");
        put_hex(b, "seed", s->seed, sizeof(s->seed));
    }
    buf_str(b, ",\"segments\":[");
    for (uint32_t i = 0; i < s->n_draws; i++)
        buf_printf(b, "%s{\"segment\":%llu,\"count\":%u}", i > 0 ? "," : "",
                   (unsigned long long)s->draws[i].seg, s->draws[i].count);
    buf_str(b, "]}");
}

/* ---- clocks ---------------------------------------------------------------------------- */

static int64_t believed_after(struct wall_guard *g, msec_t now_ms, int64_t wall_ms,
                              msec_t stays_ms)
{
    int64_t said = wall_ms - now_ms;

    if (!g->known)
        g->known_ms = now_ms;
    if (!g->known || llabs(said - g->offset_ms) <= LEAP_MS) {
        g->known = true;
        g->offset_ms = said;
        g->since_ms = 0;
    } else if (g->since_ms == 0 || llabs(said - g->other_ms) > LEAP_MS) {
        g->other_ms = said;
        g->since_ms = now_ms;
    } else if (now_ms - g->since_ms >= stays_ms) {
        g->offset_ms = said;
        g->since_ms = 0;
        g->known_ms = now_ms;
    }
    return now_ms + g->offset_ms;
}

int64_t wall_believed(struct wall_guard *g, msec_t now_ms, int64_t wall_ms)
{
    return believed_after(g, now_ms, wall_ms, STAYS_MS);
}

int64_t wall_steady(struct wall_guard *g, msec_t now_ms, int64_t wall_ms)
{
    msec_t age = g->since_ms != 0 ? g->since_ms - g->known_ms : 0;

    return believed_after(g, now_ms, wall_ms, ms_max(STAYS_MS, ms_min(age, STEADY_MS)));
}

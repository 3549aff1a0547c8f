/* told.c: rows are few: "r NAME RESET" for requests, "u NAME RESET" for units, one behind the other. */
#include "task/calls/told.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/recur/recur.h"

#define NUMBER_MOST 1000000000000000 /* larger ones are as good as that */
#define UNIX_S      1000000000       /* from here on a number is a moment, */
#define UNIX_MS     1000000000000    /* in ms */

/* ---- rows ------------------------------------------------------------------------------------ */

struct names {
    bool units;
    const char *left, *reset;
    size_t left_n, reset_n;
};

static bool next_row(const char **rows, struct names *x)
{
    const char *p = *rows;

    if (p[0] == 0 || p[1] != ' ')
        return false;
    *x = (struct names){ .units = p[0] == 'u', .left = p + 2, .left_n = strcspn(p + 2, " ") };
    x->reset = x->left + x->left_n + (x->left[x->left_n] != 0);
    x->reset_n = strcspn(x->reset, " ");
    *rows = x->reset + x->reset_n + (x->reset[x->reset_n] != 0);
    return true;
}

#define each_row(rows, i, x) \
    struct names x;          \
    const char *at_ = rows;  \
    for (unsigned i = 0; i < TOLD_MAX && next_row(&at_, &x); i++)

unsigned told_field(const char *rows, const char *name, size_t n)
{
    unsigned all = 0;

    each_row (rows, i, x)
        all |= (unsigned)(x.left_n == n && strncasecmp(x.left, name, n) == 0) << 2 * i |
               (unsigned)(x.reset_n == n && strncasecmp(x.reset, name, n) == 0) << (2 * i + 1);
    return all;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "12", "1.5": in thousandths, what is behind them left out. False: no digit is there. */
static bool number(const char **p, int64_t *thousandths)
{
    int64_t v = 0, part = 100;

    if (!is_digit(**p))
        return false;
    for (; is_digit(**p); ++*p)
        v = v < NUMBER_MOST ? v * 10 + **p - '0' : v;
    v = (v < NUMBER_MOST ? v : NUMBER_MOST) * 1000;
    if (**p == '.' && is_digit((*p)[1]))
        for (++*p; is_digit(**p); ++*p, part /= 10)
            v += part * (**p - '0');
    *thousandths = v;
    return true;
}

/* Thousandths of so many of these, in ms; -1: no unit of time. */
static int64_t in_ms(int64_t v, const char **p)
{
    static const struct {
        const char *word;
        int64_t times, part;
    } units[] = { { "ms", 1, 1000 }, { "us", 1, 1000000 }, { "\xc2\xb5s", 1, 1000000 }, { "ns", 1, 1000000000 },
                  { "d", 86400, 1 }, { "h", 3600, 1 },     { "m", 60, 1 },              { "s", 1, 1 } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strncmp(*p, units[i].word, strlen(units[i].word)) == 0) {
            *p += strlen(units[i].word);
            return v > INT64_MAX / 86400 ? INT64_MAX / 2 : v * units[i].times / units[i].part;
        }
    return -1;
}

static int64_t duration(const char *p)
{
    int64_t sum = 0, v, ms;

    do {
        if (!number(&p, &v) || (ms = in_ms(v, &p)) < 0)
            return -1;
        sum = ms > HOLD_MAX_MS || sum > HOLD_MAX_MS ? HOLD_MAX_MS : sum + ms;
    } while (*p != 0);
    return sum;
}

/* "+01:00", "Z": in ms. False: neither. */
static bool zone(const char *p, int64_t *ms)
{
    unsigned h = 0, min = 0;
    char end;

    *ms = 0;
    if (strcasecmp(p, "Z") == 0)
        return true;
    if ((p[0] != '+' && p[0] != '-') || sscanf(p + 1, "%2u:%2u%c", &h, &min, &end) != 2)
        return false;
    *ms = (int64_t)(h * 60 + min) * 60000 * (p[0] == '-' ? -1 : 1);
    return h < 24 && min < 60;
}

/* Unix ms; -1: no moment. */
static int64_t moment(const char *p)
{
    unsigned y, mon, d, h, min, s;
    int64_t thousandths, ms;
    char t;

    if (strlen(p) < 20 || sscanf(p, "%4u-%2u-%2u%c%2u:%2u:", &y, &mon, &d, &t, &h, &min) != 6 ||
        (t != 'T' && t != 't' && t != ' ') || y < 1970 || y > 9999 || mon < 1 || mon > 12 || d < 1 || d > 31 || h > 23 || min > 59)
        return -1;
    p += strlen("2024-01-01T00:00:");
    if (!number(&p, &thousandths) || thousandths >= 61000 || !zone(p, &ms))
        return -1;
    s = (unsigned)(thousandths / 1000);
    return ((day_of_date(y, mon, d) * 24 + h) * 60 + min) * 60000 + s * 1000 + thousandths % 1000 - ms;
}

int64_t told_reset(const char *text, int64_t wall_ms)
{
    const char *p = text;
    int64_t v, at = moment(text);

    if (at < 0 && number(&p, &v) && *p == 0) {
        at = v / 1000 >= UNIX_MS ? v / 1000 : v / 1000 >= UNIX_S ? v : -1;
        if (at < 0)
            return v < HOLD_MAX_MS ? v : HOLD_MAX_MS;
    }
    if (at < 0)
        return duration(text);
    return at <= wall_ms ? 0 : at - wall_ms < HOLD_MAX_MS ? at - wall_ms : HOLD_MAX_MS;
}

/* ---- heard ----------------------------------------------------------------------------------- */

static bool is_told(const struct told_row *r, msec_t now)
{
    return now < r->until;
}

static void set_row(struct told_quotas *t, struct told_row *r, bool units, const struct told_row *is,
                    const struct told_mark *by)
{
    *r = *is;
    r->by = by->calls;
    r->begun = units ? t->begun.units - by->units : t->begun.calls - by->calls;
}

bool told_hear(struct told_quotas *t, const char *rows, const char (*said)[TOLD_SAID_MAX + 1], const struct told_mark *by,
               msec_t now, int64_t wall_ms)
{
    bool good = true;

    if (by->rows != t->begun.rows)
        return true; /* other fields say it now */
    each_row (rows, i, x) {
        const char *left = said[2 * i], *reset = said[2 * i + 1], *p = left;
        int64_t thousandths, ms = told_reset(reset, wall_ms);

        if (left[0] == 0 && reset[0] == 0)
            continue;
        if (!number(&p, &thousandths) || *p != 0 || ms < 0)
            good = false;
        else if (!is_told(&t->of[i], now) || by->calls >= t->of[i].by)
            set_row(t, &t->of[i], x.units,
                    &(struct told_row){ .left = (uint64_t)thousandths / 1000, .until = now + ms }, by);
    }
    return good;
}

void told_pass_on(struct told_quotas *t, const uint64_t *word, uint32_t n, msec_t now)
{
    for (uint32_t i = 0; i < n / 2 && i < TOLD_MAX; i++)
        if (!is_told(&t->of[i], now) && word[2 * i + 1] > 0)
            t->of[i] = (struct told_row){ .left = word[2 * i], .by = t->begun.calls,
                                          .until = now + (msec_t)u64_min(word[2 * i + 1], HOLD_MAX_MS) };
}

/* ---- counted --------------------------------------------------------------------------------- */

void told_begins(struct told_quotas *t, const char *rows, uint64_t cost)
{
    t->begun.calls++;
    t->begun.units += cost;
    each_row (rows, i, x)
        t->of[i].begun += x.units ? cost : 1;
}

void told_returns(struct told_quotas *t, const char *rows, const struct told_mark *by, uint64_t cost)
{
    each_row (rows, i, x)
        if (by->calls > t->of[i].by)
            t->of[i].begun -= u64_min(t->of[i].begun, x.units ? cost : 1);
}

static uint64_t here(const struct told_row *r, uint64_t part)
{
    uint64_t mine = (uint64_t)((unsigned __int128)r->left * u64_min(part, UNIT_PARTS) / UNIT_PARTS);

    return mine > r->begun ? mine - r->begun : 0;
}

uint64_t told_most(const struct told_quotas *t, const char *rows, uint64_t part, msec_t now)
{
    uint64_t most = TOLD_ANY;

    each_row (rows, i, x) {
        uint64_t n = is_told(&t->of[i], now) ? here(&t->of[i], part) : TOLD_ANY;

        most = u64_min(most, x.units || n == 0 ? n : TOLD_ANY);
    }
    return most;
}

msec_t told_when(const struct told_quotas *t, const char *rows, uint64_t part, uint64_t nth, uint64_t units, msec_t now)
{
    msec_t when = 0;

    each_row (rows, i, x)
        if (is_told(&t->of[i], now) && here(&t->of[i], part) < (x.units ? u64_max(units, 1) : nth))
            when = ms_max(when, t->of[i].until);
    return when;
}

bool told_is_out(const struct told_quotas *t, msec_t now)
{
    for (unsigned i = 0; i < TOLD_MAX; i++)
        if (is_told(&t->of[i], now) && t->of[i].left <= t->of[i].begun)
            return true;
    return false;
}

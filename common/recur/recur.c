/* recur.c: fixed times go from the calendar to the clock, the others from the clock to the calendar.
 * Ticks are walked in their order; of many that are due together only the newest. */
#include "common/recur/recur.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#define DAY_S      86400
#define DAYS_AHEAD 16000 /* 29 February is a Sunday within 40 years */
#define OFFSET_MAX DAY_S

/* ---- reading ----------------------------------------------------------------------------- */

struct field {
    const char *name;
    int least, most;
    const char *words; /* three letters each, from `least` on; NULL: none */
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, N_FIELDS };

static const struct field fields[N_FIELDS] = {
    { "minute", 0, 59, NULL },
    { "hour", 0, 23, NULL },
    { "day of the month", 1, 31, NULL },
    { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    { "day of the week", 0, 7, "sunmontuewedthufrisat" },
};

static bool SQ_PRINTF(2, 3) wrong(struct cron_error *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(e->text, sizeof(e->text), fmt, args);
    va_end(args);
    return false;
}

/* A number, or a name; -1: neither. */
static int number(const struct field *f, const char *p, size_t n)
{
    for (size_t i = 0; f->words != NULL && n == 3 && f->words[i] != '\0'; i += 3)
        if (strncasecmp(f->words + i, p, 3) == 0)
            return f->least + (int)i / 3;
    return n <= 4 ? (int)decimal_read(p, n, 9999) : -1;
}

/* The number at *p, which goes on behind it. */
static bool read_number(const struct field *f, const char **p, int *v, struct cron_error *e)
{
    size_t n = strcspn(*p, ",-/*");

    *v = number(f, *p, n);
    if (*v < 0)
        return wrong(e, "%s: \"%.20s\" is no number%s", f->name, *p,
                     f->words != NULL ? ", and no name" : "");
    if (*v < f->least || *v > f->most)
        return wrong(e, "%s: %d is not in %d-%d", f->name, *v, f->least, f->most);
    *p += n;
    return true;
}

/* Reads a part of a list. */
static bool read_part(const struct field *f, const char **p, uint64_t *set, struct cron_error *e)
{
    static const struct field steps = { "", 1, 9999, NULL };
    int from = f->least, to = f->most, step = 1;
    bool range = **p == '*';

    if (range) {
        ++*p;
    } else {
        if (!read_number(f, p, &from, e))
            return false;
        to = from;
        range = **p == '-';
        if (range && (++*p, !read_number(f, p, &to, e)))
            return false;
    }
    if (from > to)
        return wrong(e, "%s: the range %d-%d goes backwards", f->name, from, to);
    if (**p == '/') {
        size_t n = strcspn(++*p, ",");

        step = number(&steps, *p, n);
        if (!range)
            return wrong(e, "%s: a step needs a star or a range before it", f->name);
        if (step < 1 || step > f->most)
            return wrong(e, "%s: the step \"%.20s\" is not in 1-%d", f->name, *p, f->most);
        *p += n;
    }
    for (int i = from; i <= to; i += step)
        *set |= 1ull << i;
    return true;
}

static bool read_field(const struct field *f, const char *p, uint64_t *set, struct cron_error *e)
{
    *set = 0;
    for (;;) {
        if (!read_part(f, &p, set, e))
            return false;
        if (*p == '\0')
            return true;
        if (*p++ != ',')
            return wrong(e, "%s: \"%.20s\" is not understood", f->name, p - 1);
    }
}

static const char *expanded(const char *text)
{
    static const char *const words[][2] = {
        { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },
        { "@midnight", "0 0 * * *" }, { "@weekly", "0 0 * * 0" },
        { "@monthly", "0 0 1 * *" },  { "@yearly", "0 0 1 1 *" },
        { "@annually", "0 0 1 1 *" },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(text, words[i][0]) == 0)
            return words[i][1];
    return text;
}

/* Cuts the copy into its fields. How many. */
static int split(char *copy, char *field[N_FIELDS])
{
    char *save, *one = strtok_r(copy, " \t", &save);
    int n = 0;

    for (; one != NULL && n <= N_FIELDS; one = strtok_r(NULL, " \t", &save)) {
        if (n < N_FIELDS)
            field[n] = one;
        n++;
    }
    return n;
}

static int64_t next_day(const struct cron *c, int64_t day);

bool cron_read(struct cron *c, const char *text, struct cron_error *e)
{
    char copy[CRON_TEXT_MAX + 1], *field[N_FIELDS];
    uint64_t set[N_FIELDS];
    int n;

    e->text[0] = '\0';
    if (strlen(text) > CRON_TEXT_MAX)
        return wrong(e, "the expression is longer than %d bytes", CRON_TEXT_MAX);
    snprintf(copy, sizeof(copy), "%s", expanded(text));
    if (copy[0] == '@')
        return wrong(e, "\"%.20s\" is not known: @hourly, @daily, @weekly, @monthly, @yearly", copy);
    n = split(copy, field);
    if (n != N_FIELDS)
        return wrong(e, "five fields are needed: minute hour day month weekday");
    for (int i = 0; i < N_FIELDS; i++)
        if (!read_field(&fields[i], field[i], &set[i], e))
            return false;
    *c = (struct cron){
        .minutes = set[MINUTE],
        .hours = (uint32_t)set[HOUR],
        .days = (uint32_t)set[DAY],
        .months = (uint32_t)set[MONTH],
        .weekdays = (uint8_t)((set[WEEKDAY] | set[WEEKDAY] >> 7) & 0x7f),
        .either_day = field[DAY][0] != '*' && field[WEEKDAY][0] != '*',
        .fixed = field[MINUTE][0] != '*' && field[HOUR][0] != '*',
    };
    return next_day(c, 0) != CRON_NEVER || wrong(e, "this date never comes");
}

/* ---- the calendar ------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bool fits_day(const struct cron *c, int64_t day)
{
    int64_t since = day + 4; /* 1970-01-01 was a Thursday */
    int weekday = (int)(since - 7 * floor_div(since, 7)), year, month, mday;
    bool of_month, of_week = (c->weekdays >> weekday & 1) != 0;

    date_of_day(day, &year, &month, &mday);
    of_month = (c->days >> mday & 1) != 0;
    return (c->months >> month & 1) != 0 &&
           (c->either_day ? of_month || of_week : of_month && of_week);
}

/* The first day from this one on that fits; CRON_NEVER: none comes. */
static int64_t next_day(const struct cron *c, int64_t day)
{
    for (int64_t end = day + DAYS_AHEAD; day < end; day++)
        if (fits_day(c, day))
            return day;
    return CRON_NEVER;
}

/* ---- fixed times ------------------------------------------------------------------------- */

/* The first time of day from `second` on, in seconds; -1: none. */
static int64_t next_time(const struct cron *c, int64_t second)
{
    int64_t first = floor_div(second + 59, 60);

    for (int64_t m = first; m < DAY_S / 60; m++) {
        if ((c->hours >> m / 60 & 1) == 0)
            m += 59 - m % 60;
        else if ((c->minutes >> m % 60 & 1) != 0)
            return m * 60;
    }
    return -1;
}

/* The next moment on a wall clock, `shown` or later, in seconds as if it were UTC. */
static int64_t next_shown(const struct cron *c, int64_t shown)
{
    int64_t today = floor_div(shown, DAY_S), day = next_day(c, today);
    int64_t time = day == today ? next_time(c, shown - day * DAY_S) : -1;

    if (time < 0) {
        if (day == today)
            day = next_day(c, day + 1);
        time = next_time(c, 0);
    }
    return day == CRON_NEVER ? CRON_NEVER : day * DAY_S + time;
}

/* The moment of a change of clocks between two that have different offsets. */
static bool find_change(const struct zone *z, int64_t before, int64_t after, int32_t new_offset,
                        int64_t *at)
{
    while (after - before > 1) {
        int64_t middle = before + (after - before) / 2;
        int32_t offset;

        if (!zone_offset(z, middle, &offset))
            return false;
        if (offset == new_offset)
            after = middle;
        else
            before = middle;
    }
    *at = after;
    return true;
}

/* When clocks show that: the first time if they do it twice, the moment of the change if they never
 * do. False: the zone is not known. */
static bool moment_of(const struct zone *z, int64_t shown, int64_t *at)
{
    int32_t before, after, there;
    int64_t by_before, by_after;

    if (!zone_offset(z, shown - OFFSET_MAX, &before) || !zone_offset(z, shown + OFFSET_MAX, &after))
        return false;
    by_before = shown - before;
    by_after = shown - after;
    if (!zone_offset(z, by_before, &there))
        return false;
    *at = by_before; /* if clocks show it twice, this is the first time */
    if (there == before)
        return true;
    if (!zone_offset(z, by_after, &there))
        return false;
    *at = by_after;
    return there == after || find_change(z, by_after - 1, by_before, after, at);
}

static int64_t next_fixed(const struct cron *c, const struct zone *z, int64_t after_s)
{
    int64_t shown = next_shown(c, after_s - OFFSET_MAX), at;

    for (; shown != CRON_NEVER; shown = next_shown(c, shown + 60)) {
        if (!moment_of(z, shown, &at))
            return CRON_NEVER;
        if (at > after_s)
            return at;
    }
    return CRON_NEVER;
}

/* ---- those that follow the clock ----------------------------------------------------------- */

static bool fits_time(const struct cron *c, int64_t second)
{
    return (c->hours >> second / 3600 & 1) != 0 && (c->minutes >> second / 60 % 60 & 1) != 0;
}

/* From a minute that does not fit, to the next one; to the next hour if nothing in this one fits, and
 * clocks do not change before it. */
static int64_t step(const struct cron *c, const struct zone *z, int64_t at, int32_t offset,
                    bool fits_day, int64_t second)
{
    int64_t hour = 3600 - second % 3600;
    int32_t then;

    if ((!fits_day || (c->hours >> second / 3600 & 1) == 0) && zone_offset(z, at + hour, &then) &&
        then == offset)
        return hour;
    return 60;
}

/* Whole days that do not fit are passed over, but for the day before the one that does: clocks may
 * change there. */
static int64_t next_stepping(const struct cron *c, const struct zone *z, int64_t after_s)
{
    int64_t end = after_s + (int64_t)DAYS_AHEAD * DAY_S, at = after_s + 1;

    while (at < end) {
        int64_t shown, day, second, fit;
        int32_t offset;

        if (!zone_offset(z, at, &offset))
            return CRON_NEVER;
        shown = at + offset;
        day = floor_div(shown, DAY_S);
        second = shown - day * DAY_S;
        fit = next_day(c, day);
        if (fit == CRON_NEVER)
            return CRON_NEVER;
        if (fit > day + 1)
            at += (fit - day - 1) * DAY_S - second;
        else if (second % 60 != 0)
            at += 60 - second % 60;
        else if (fit == day && fits_time(c, second))
            return at;
        else
            at += step(c, z, at, offset, fit == day, second);
    }
    return CRON_NEVER;
}

int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after_s)
{
    assert(c->minutes != 0 && c->hours != 0 && c->months != 0);
    return c->fixed ? next_fixed(c, z, after_s) : next_stepping(c, z, after_s);
}

/* ---- zones ------------------------------------------------------------------------------- */

bool zone_name_ok(const char *name)
{
    size_t n = strlen(name);
    bool part = false; /* a part has begun */

    for (size_t i = 0; i < n; i++) {
        if (name[i] == '/' && !part)
            return false;
        part = name[i] != '/';
        if (part && !isalnum((unsigned char)name[i]) && strchr("_+-", name[i]) == NULL)
            return false;
    }
    return part && n <= ZONE_NAME_MAX;
}

bool zone_offset(const struct zone *z, int64_t at_s, int32_t *offset_s)
{
    *offset_s = 0;
    if (z->name[0] == '\0' || strcmp(z->name, "UTC") == 0)
        return true;
    return z->of != NULL && z->of->offset(z->of->ctx, z->name, at_s, offset_s);
}

/* ---- ticks of a schedule ---------------------------------------------------------------- */

const char *recur_wrong(const struct recur *r)
{
    if (r->every_ms != 0 && (r->every_ms < RECUR_EVERY_MIN || r->every_ms > RECUR_EVERY_MAX ||
                             r->every_ms % 1000 != 0))
        return "every must be 1 second to 400 days, in whole seconds";
    if (r->from_ms < 0 || r->from_ms > RECUR_AT_MAX || r->from_ms % 1000 != 0)
        return "from must be a moment in whole Unix seconds, before 2109";
    if (r->until_ms < 0 || r->until_ms > RECUR_AT_MAX || r->until_ms % 1000 != 0)
        return "until must be a moment in whole Unix seconds, before 2109";
    if (r->until_ms != 0 && r->until_ms < r->from_ms)
        return "until is before from";
    return NULL;
}

static int64_t floor_to(int64_t ms, int64_t step)
{
    return ms - (ms % step + step) % step;
}

int64_t recur_next(const struct recur *r, const struct zone *z, int64_t after_ms)
{
    int64_t next;

    if (after_ms < r->from_ms)
        after_ms = r->from_ms - 1;
    if (r->every_ms != 0) {
        next = r->from_ms + floor_to(after_ms - r->from_ms, r->every_ms) + r->every_ms;
    } else {
        next = cron_next(&r->cron, z, floor_to(after_ms, 1000) / 1000);
        if (next == CRON_NEVER)
            return RECUR_NEVER;
        next *= 1000;
    }
    return next > RECUR_AT_MAX || (r->until_ms != 0 && next > r->until_ms) ? RECUR_NEVER : next;
}

static void shift(struct due *d, int64_t tick, unsigned most)
{
    if (d->n == most) {
        d->newest = d->v[0];
        d->missed++;
        memmove(d->v, d->v + 1, (d->n - 1) * sizeof(d->v[0]));
        d->n--;
    }
    d->v[d->n++] = tick;
}

/* Before so many ticks none can count, and who has to walk over a year of minutes keeps others
 * waiting: the moment behind which there are some more than are counted. */
static int64_t look_back(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms)
{
    for (int64_t back = 86400000; back < now_ms - last_ms; back *= 2) {
        int64_t at = now_ms - back;
        unsigned n = 0;

        while (n <= RECUR_COUNTED && (at = recur_next(r, z, at)) <= now_ms)
            n++;
        if (n > RECUR_COUNTED)
            return now_ms - back;
    }
    return last_ms;
}

/* Passes over at once the many ticks of a short `every` that cannot count. */
static int64_t pass_over(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms,
                         unsigned most, struct due *d)
{
    int64_t end = r->until_ms != 0 && r->until_ms < now_ms ? r->until_ms : now_ms;
    int64_t first, n;

    if (r->every_ms == 0)
        return look_back(r, z, last_ms, now_ms);
    first = recur_next(r, NULL, last_ms);
    if (first > end)
        return last_ms;
    n = (end - first) / r->every_ms + 1;
    if (n <= most)
        return last_ms;
    d->missed = (uint64_t)(n - most);
    d->newest = first + (n - most - 1) * r->every_ms;
    return d->newest;
}

void recur_due(const struct recur *r, const struct zone *z, int64_t last_ms, int64_t now_ms,
               enum catch_up how, unsigned most, struct due *d)
{
    int64_t at;

    most = how != CATCH_UP_ALL ? 1 : most < RECUR_MAKE_UP ? most : RECUR_MAKE_UP;
    assert(most > 0);
    d->n = 0;
    d->missed = 0;
    d->newest = 0;
    at = pass_over(r, z, last_ms, now_ms, most, d);
    while ((at = recur_next(r, z, at)) <= now_ms)
        shift(d, at, most);
    if (how == CATCH_UP_NONE && d->n > 0 && d->v[0] < now_ms - RECUR_LATE_MS) {
        d->newest = d->v[0];
        d->missed++;
        d->n = 0;
    }
}

/* FNV-1a, then its bits are spread: what it is made of need not be secret. */
int64_t recur_jitter(const char *name, int64_t tick_ms, int64_t jitter_ms)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t)tick_ms;

    for (; *name != '\0'; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return (int64_t)(h % ((uint64_t)jitter_ms + 1));
}

const char *tick_outcome_word(unsigned outcome)
{
    static const char *const words[TICK_NOUTCOMES] = { "", "fired", "skipped", "missed", "refused" };

    return outcome < TICK_NOUTCOMES ? words[outcome] : "";
}

/* pass_clock.c: two clocks that were told, and the machine's own. */
#include "router/gate/pass_clock.h"

#include <assert.h>
#include <stdlib.h>

static bool is_same(const struct told_clock *t, int64_t ahead_ms)
{
    return t->known && llabs(t->ahead_ms - ahead_ms) <= PASS_CLOCK_SLACK_MS;
}

static int64_t time_s(const struct told_clock *t, msec_t now_ms)
{
    return (now_ms + t->ahead_ms) / 1000;
}

/* The first clock has stamped what there is: there was no other. */
static struct told_clock another(const struct pass_clock *c, int64_t ahead_ms, int64_t at_s)
{
    return (struct told_clock){ .known = true,
                                .ahead_ms = ahead_ms,
                                .from_s = c->now.known ? at_s - PASS_CLOCK_NBF_S : INT64_MIN };
}

void pass_clock_told(struct pass_clock *c, msec_t now_ms, int64_t stamp_ms)
{
    int64_t ahead_ms = stamp_ms - now_ms;
    struct told_clock was = c->now;

    if (stamp_ms <= 0)
        return;
    if (!is_same(&was, ahead_ms)) { /* leapt, or leapt back */
        c->now = is_same(&c->before, ahead_ms) ? c->before
                                               : another(c, ahead_ms, stamp_ms / 1000);
        c->before = was;
    }
    c->now.ahead_ms = ahead_ms;
    c->now.to_s = stamp_ms / 1000 + PASS_CLOCK_NBF_S;
    assert(c->now.known);
}

int64_t pass_clock_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s, int64_t nbf_s,
                     int64_t until_s)
{
    int64_t told_s = time_s(&c->now, now_ms), before_s = time_s(&c->before, now_ms);

    if (c->now.known && nbf_s >= c->now.from_s && pass_clock_good(told_s, nbf_s, until_s))
        return told_s;
    if (c->before.known && nbf_s >= c->before.from_s && nbf_s <= c->before.to_s &&
        pass_clock_good(before_s, nbf_s, until_s))
        return before_s;
    return wall_s;
}

int64_t pass_clock_least_s(const struct pass_clock *c, msec_t now_ms, int64_t wall_s)
{
    int64_t told_s = time_s(&c->now, now_ms), before_s = time_s(&c->before, now_ms);

    if (c->now.known && told_s < wall_s)
        wall_s = told_s;
    return c->before.known && before_s < wall_s ? before_s : wall_s;
}

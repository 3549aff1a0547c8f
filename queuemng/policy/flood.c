/* flood.c: see flood.h. */
#include "queuemng/policy/flood.h"

const char *const flood_whys[] = { "", "by_hand", "joins" };

static unsigned level_at(uint64_t per_s, uint64_t from)
{
    return per_s >= FLOOD_FIERCE * from ? 2 : per_s >= from ? 1 : 0;
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
    return u64_max(u64_min(a, b), u64_min(u64_max(a, b), c));
}

/* Rises at once; falls by one when it was calm for long. */
static unsigned next_level(struct flood *f, uint64_t from)
{
    unsigned now = level_at(f->per_s, from);
    bool is_calm = level_at(2 * f->per_s, from) < f->by_joins;

    f->calm_s = now < f->by_joins && is_calm ? f->calm_s + 1 : 0;
    if (now >= f->by_joins || f->calm_s < FLOOD_CALM_S)
        return now > f->by_joins ? now : f->by_joins;
    f->calm_s = 0;
    return f->by_joins - 1;
}

bool flood_second(struct flood *f, enum challenge_mode mode, uint64_t from, int64_t wall_ms)
{
    enum flood_why was = f->why;
    unsigned level = f->level;

    f->per_s = middle(f->last[0], f->last[1], f->came);
    f->last[0] = f->last[1];
    f->last[1] = f->came;
    f->came = 0;
    f->by_joins = mode == CHALLENGE_OFF || from == 0 ? 0 : next_level(f, from);
    f->level = f->by_joins == 0 && mode == CHALLENGE_ON ? 1 : f->by_joins;
    f->why = f->by_joins > 0 ? FLOOD_JOINS : f->level > 0 ? FLOOD_BY_HAND : FLOOD_CALM;
    if (f->level == level && f->why == was)
        return false;
    if (f->why != was) {
        f->since_ms = wall_ms;
        f->began_per_s = f->per_s;
    }
    return true;
}

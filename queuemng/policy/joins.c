/* joins.c: see joins.h. */
#include "queuemng/policy/joins.h"

#include <stdio.h>
#include <string.h>

void region_add(struct region_joins *v, unsigned *n, const char *region, double per_s)
{
    unsigned i = 0;

    if (region[0] == '\0')
        return;
    while (i < *n && strcmp(v[i].region, region) != 0)
        i++;
    if (i == REGIONS_MAX)
        return;
    if (i == *n)
        v[(*n)++] = (struct region_joins){ region, 0 };
    v[i].per_s += per_s;
}

static double joins_of(const struct region_joins *v, unsigned n, const char *region)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(v[i].region, region) == 0)
            return v[i].per_s;
    return 0;
}

/* NULL: none has clearly more than the present one. */
static const struct region_joins *rival_of(const struct region_choice *x, const struct region_joins *v, unsigned n)
{
    double present = joins_of(v, n, x->region);
    const struct region_joins *most = NULL;

    for (unsigned i = 0; i < n; i++)
        if (most == NULL || v[i].per_s > most->per_s)
            most = &v[i];
    return most != NULL && most->per_s >= REGION_LEAST && most->per_s > 1.5 * present ? most : NULL;
}

bool region_second(struct region_choice *x, const struct region_joins *v, unsigned n, msec_t now_ms)
{
    const struct region_joins *rival = rival_of(x, v, n);

    if (rival == NULL) {
        x->rival[0] = '\0';
        return false;
    }
    if (strcmp(x->rival, rival->region) != 0) {
        snprintf(x->rival, sizeof(x->rival), "%s", rival->region);
        x->since_ms = now_ms;
    }
    if (x->region[0] != '\0' && now_ms - x->since_ms < REGION_HOLD_MS)
        return false;
    memcpy(x->region, x->rival, sizeof(x->region));
    x->rival[0] = '\0';
    return true;
}

/* ---- challenges ---- */

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

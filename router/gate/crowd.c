/* crowd.c: see crowd.h. */
#include "router/gate/crowd.h"

#include <assert.h>
#include <stdlib.h>

#define WAYS 4

struct row {
    uint64_t id; /* 0: free */
    msec_t at_ms; /* begin of its period */
    uint32_t now, before;
};

struct crowd {
    size_t n_sets; /* power of two */
    uint32_t period_ms;
    struct row (*set)[WAYS]; /* owned */
};

struct crowd *crowd_new(size_t entries, uint32_t period_ms)
{
    struct crowd *c = calloc(1, sizeof(*c));

    assert(period_ms > 0);
    if (c == NULL)
        return NULL;
    c->period_ms = period_ms;
    c->n_sets = 1;
    while (c->n_sets * WAYS < entries)
        c->n_sets *= 2;
    c->set = calloc(c->n_sets, sizeof(*c->set));
    if (c->set == NULL) {
        free(c);
        return NULL;
    }
    return c;
}

void crowd_free(struct crowd *c)
{
    if (c != NULL)
        free(c->set);
    free(c);
}

static struct row *set_of(const struct crowd *c, uint64_t id)
{
    return c->set[(id >> 1) & (c->n_sets - 1)]; /* ids may all be odd */
}

static struct row *find(const struct crowd *c, uint64_t id)
{
    struct row *set = set_of(c, id);

    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].id == id)
            return &set[i];
    return NULL;
}

/* The row as it stands now. A clock that goes back ages nothing. */
static struct row aged(const struct crowd *c, struct row r, msec_t now_ms)
{
    msec_t past = now_ms - r.at_ms, period = c->period_ms;

    if (past >= 2 * period)
        return (struct row){ .id = r.id, .at_ms = now_ms };
    if (past >= period)
        return (struct row){ .id = r.id, .at_ms = r.at_ms + period, .before = r.now };
    return r;
}

static struct crowd_count count(const struct crowd *c, const struct row *r, msec_t now_ms)
{
    msec_t left = r->at_ms + c->period_ms - now_ms;

    left = left > c->period_ms ? c->period_ms : left;
    return (struct crowd_count){
        .now = r->now,
        .all = r->now + r->before,
        .lately = r->now + (uint32_t)((uint64_t)r->before * (uint64_t)left / c->period_ms),
    };
}

/* The row of its set with the least to lose. */
static struct row *give_up(struct crowd *c, uint64_t id, msec_t now_ms)
{
    struct row *set = set_of(c, id), *least = NULL;
    uint32_t lost = 0;

    for (unsigned i = 0; i < WAYS; i++) {
        struct row r = aged(c, set[i], now_ms);
        uint32_t all = r.now + r.before;

        if (least == NULL || all < lost || (all == lost && set[i].at_ms < least->at_ms)) {
            least = &set[i];
            lost = all;
        }
    }
    return least;
}

struct crowd_count crowd_add(struct crowd *c, uint64_t id, msec_t now_ms)
{
    struct row *r = find(c, id);

    assert(id != 0);
    if (r != NULL) {
        *r = aged(c, *r, now_ms);
    } else {
        r = give_up(c, id, now_ms);
        *r = (struct row){ .id = id, .at_ms = now_ms };
    }
    r->now += r->now < UINT32_MAX / 2;
    return count(c, r, now_ms);
}

struct crowd_count crowd_look(const struct crowd *c, uint64_t id, msec_t now_ms)
{
    const struct row *r = find(c, id);
    struct row now = r != NULL ? aged(c, *r, now_ms) : (struct row){ .id = id, .at_ms = now_ms };

    return count(c, &now, now_ms);
}

bool crowd_knows(const struct crowd *c, uint64_t id)
{
    return find(c, id) != NULL;
}

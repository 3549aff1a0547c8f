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
    struct row (*set)[WAYS]; /* owned */
};

struct crowd *crowd_new(size_t entries)
{
    struct crowd *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
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

/* Finds its row; or the one that is given up for it, made empty. */
static struct row *row_of(struct crowd *c, uint64_t id, msec_t now_ms)
{
    struct row *set = set_of(c, id), *oldest = set;

    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].id == id)
            return &set[i];
        if (oldest->id != 0 && (set[i].id == 0 || set[i].at_ms < oldest->at_ms))
            oldest = &set[i];
    }
    *oldest = (struct row){ .id = id, .at_ms = now_ms };
    return oldest;
}

struct crowd_count crowd_add(struct crowd *c, uint64_t id, uint32_t period_ms, msec_t now_ms)
{
    struct row *r = row_of(c, id, now_ms);
    msec_t past = now_ms - r->at_ms;

    assert(id != 0 && period_ms > 0);
    if (past < 0)
        past = 0; /* a clock that goes back ages nothing */
    if (past >= 2 * (msec_t)period_ms) {
        *r = (struct row){ .id = id, .at_ms = now_ms };
        past = 0;
    } else if (past >= period_ms) {
        *r = (struct row){ .id = id, .at_ms = r->at_ms + period_ms, .before = r->now };
        past -= period_ms;
    }
    r->now += r->now < UINT32_MAX / 2;
    return (struct crowd_count){
        .now = r->now,
        .all = r->now + r->before,
        .lately = r->now + (uint32_t)((uint64_t)r->before * (uint64_t)(period_ms - past) / period_ms),
    };
}

bool crowd_knows(const struct crowd *c, uint64_t id)
{
    const struct row *set = set_of(c, id);

    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].id == id)
            return true;
    return false;
}

/* trial.c: copies, each made when it is first looked at. */
#include "task/keys/trial.h"

#include <stdlib.h>
#include <string.h>

#include "task/keys/tree.h"

static bool reserve(struct trial_copies *c, const struct pages *live, uint32_t n)
{
    *c = (struct trial_copies){ live, malloc(n > 0 ? (size_t)n * live->size : 1),
                                calloc(n / 64 + 1, sizeof(uint64_t)) };
    return c->piece != NULL && c->here != NULL;
}

int trial_begin(struct trial *r, const struct tree *live, struct tree *t)
{
    bool ok = reserve(&r->v[TRIAL_LIMITERS], &live->limiters, live->n_limiters);

    ok &= reserve(&r->v[TRIAL_TURNS], &live->turns, live->n_turns);
    ok &= reserve(&r->v[TRIAL_BUCKETS], &live->buckets, live->has_units ? live->n_limiters : 0);
    ok &= reserve(&r->v[TRIAL_DEBTS], &live->debts, live->has_costs ? live->n_turns : 0);
    if (!ok) {
        trial_end(r);
        return SQ_ENOMEM;
    }
    assert(live->trial == NULL);
    *t = *live;
    t->trial = r;
    return 0;
}

void trial_end(struct trial *r)
{
    for (size_t k = 0; k < TRIAL_NKINDS; k++) {
        free(r->v[k].piece);
        free(r->v[k].here);
    }
    *r = (struct trial){ 0 };
}

void *trial_at(struct trial *r, enum trial_of kind, uint32_t i)
{
    struct trial_copies *c = &r->v[kind];
    char *to = c->piece + (size_t)i * c->live->size;

    if ((c->here[i / 64] >> (i % 64) & 1) == 0) {
        memcpy(to, pages_at(c->live, i), c->live->size);
        c->here[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return to;
}

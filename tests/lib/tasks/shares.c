/* shares.c: whether a key waits is asked of the engine: it has tasks that were never answered. */
#include "tests/lib/tasks/shares.h"

#include "task/engine/tqueue.h"
#include "tests/lib/tasks/model.h"
#include "tests/lib/tasks/names.h"

static bool has_waiting(const struct world *w, unsigned queue, unsigned key)
{
    struct trec_text q = task_text('q', queue), k = task_text('a', key);
    const struct tqueue *of = tqueue_find(w->e, q.p, q.n);
    uint32_t l = of == NULL ? 0 : key == 0 ? of->limiter : tqueue_key(w->e, of->limiter, &k);
    uint32_t turn = l == 0 ? 0 : tree_limiter_at(&w->e->tree, l)->turns;

    return turn != 0 && tree_turn_at(&w->e->tree, turn)->line.n > 0;
}

/* Its weight; 0: something else than its turn may stop it. */
static unsigned weight_of(const struct world *w, unsigned queue, unsigned key)
{
    struct key_place k = { queue, key, 0 };
    struct key_limit l = limits_of(&w->limits, &w->plan.rules, &k, 1);

    if (key == 0)
        return 1;
    return l.rate == 0 && l.at_once == 0 && l.paused == 0 && l.units_1 == 0 ? (unsigned)l.weight : 0;
}

void shares_start(struct world *w, const struct mtask *t)
{
    double (*ahead)[SHARES_KEYS] = w->model->shares.ahead[t->queue];
    unsigned weight = weight_of(w, t->queue, t->key1);
    double over = w->plan.costly > 0 ? (double)w->plan.cost_most - 1 : 0; /* of the last task in a round */
    double credit = w->plan.unseen > 0 ? over : 0; /* what was given back beyond its debts */
    bool more = has_waiting(w, t->queue, t->key1);

    if (w->plan.settles > 0 || w->plan.below > 0 || w->plan.priorities > 1 || w->plan.rules.order == ORDER_STRICT)
        return;
    for (unsigned k = 0; k < SHARES_KEYS; k++) {
        bool both = k != t->key1 && weight > 0 && weight_of(w, t->queue, k) > 0 &&
                    has_waiting(w, t->queue, k);

        if (both) {
            ahead[t->key1][k] += (double)own_cost(&t->own) / weight;
            ahead[k][t->key1] -= (double)own_cost(&t->own) / weight;
            if (ahead[t->key1][k] > (over > 0 ? 2 + (over + credit) / weight + over / weight_of(w, t->queue, k) : 1) + 1e-6)
                world_broke(w, "J10: key %u of weight %u is %f rounds ahead of key %u of weight %u",
                            t->key1, weight, ahead[t->key1][k], k, weight_of(w, t->queue, k));
        }
        if (!both || !more)
            ahead[t->key1][k] = ahead[k][t->key1] = 0;
    }
}

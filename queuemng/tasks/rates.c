/* rates.c: see the header. */
#include "queuemng/tasks/rates.h"

#include "queuemng/state/out.h"
#include "queuemng/state/state.h"

#define HOLDS_MS 16000 /* an owner's rate holds for 15 s there; a second for the way */

static double rate_now(struct mng *m, struct mpool *p)
{
    const struct def_limit *l = p->def.limits.v;
    const struct metric *metrics[METRIC_LIMITS_MAX] = { 0 };
    struct queue_def d = { .state = DEF_OPEN, .mode = MODE_RATE, .limits = p->def.limits,
                           .fallback_per_s = p->def.fallback_per_s,
                           .hysteresis = p->def.hysteresis };
    const struct release_in in = { .now_ms = m->now_ms, .tick_ms = m->opts.tick_ms, .def = &d,
                                   .metrics = metrics };

    for (size_t i = 0; i < d.limits.n && i < ARRAY_LEN(metrics); i++)
        metrics[i] = metric_find(m->metric, m->n_metrics, l[i].metric);
    return release_rate(&p->release, &in);
}

static bool is_heard(const struct mpart *x)
{
    return x->confirmed && x->node != NULL && x->node->registered;
}

static uint64_t needs(const struct mpart *x)
{
    return x->st.waiting + 1;
}

/* Returns what an owner that is not heard may use. */
static uint64_t held(const struct mng *m, const struct mpool *p, const struct mpart *x)
{
    uint64_t fallback = pool_fallback(&p->def);

    if (x->node == NULL || !x->opened)
        return 0;
    return x->rate_ms != 0 && m->now_ms - x->rate_ms < HOLDS_MS ? u64_max(x->rate, fallback) : fallback;
}

static void tell(struct mng *m, struct mpart *x, uint64_t rate)
{
    struct msg_part_rate *g;

    if (x->rate_ms != 0 && x->rate == rate && m->now_ms - x->rate_ms < 1000)
        return;
    g = &mng_to(m, x->node->peer, MSG_PART_RATE)->part_rate;
    g->epoch = m->epoch;
    g->part = x->no;
    g->part_epoch = x->epoch;
    g->rate = x->rate = rate;
    x->rate_ms = m->now_ms;
}

static void share_out(struct mng *m, struct mpool *p, uint64_t rate)
{
    uint64_t all = 0;

    each_mpart(p, x) {
        if (is_heard(x))
            all += needs(x);
        else
            rate -= u64_min(rate, held(m, p, x));
    }
    each_mpart(p, x)
        if (is_heard(x))
            tell(m, x, (uint64_t)((double)rate * (double)needs(x) / (double)all));
}

void pool_rates_tick(struct mng *m)
{
    each_pool(m, p)
        if (p->def.limits.n != 0)
            share_out(m, p, (uint64_t)(rate_now(m, p) * 1000));
}

/* state.h: a night while it is played. Pure. */
#ifndef SEGQ_REHEARSE_STATE_H
#define SEGQ_REHEARSE_STATE_H

#include "common/base/rng.h"
#include "queuemng/policy/eta_lane.h"
#include "queuemng/policy/release.h"
#include "rehearse/figures.h"
#include "rehearse/lineup.h"
#include "rehearse/regions.h"

#define TICK_MS     100
#define AGAIN_MS    1000 /* after a refusal for want of CPU */
#define SLOW_NS     1000000000 /* a process that is so far behind refuses */

enum person_state {
    COMING,  /* has not been taken in yet */
    AT_SEA,  /* likewise; the join is on its way to another region */
    WAITING, /* in line, polls; or was let in, and does not know it yet */
    SILENT,  /* has closed the page; its place is kept for a while */
    INSIDE,
    OVER
};

struct proc { /* a router or a node: requests are served one after the other */
    uint64_t busy_ns; /* until then */
    double used_us;   /* in this second */
    uint32_t down_ms; /* since then, 0: it is up */
    uint32_t back_ms; /* 0: never */
    uint32_t disk_ms, disk_back_ms; /* time of a node's write, until then; 0: for ever */
    struct put_off put_off; /* polls of segments whose node is away */
};

struct lane {
    struct lineup line;
    uint32_t *by_order; /* owned: person of each join */
    uint32_t n_orders, cap;
    uint32_t last_order; /* released last */
    struct eta_lane eta;
    struct pace pace;
    double join_per_s, release_per_s;
    uint32_t joined, released; /* in this second */
    uint64_t gone;
    struct proc tail; /* joins of a lane are taken one after the other, on whatever node its tail is */
    uint64_t owed; /* people who may go in, and are no row yet */
};

struct play {
    const struct night *n;
    struct figures *f;
    struct queue_def d; /* changed by events; lists and texts are n's */
    struct rng rng;
    struct calendar *cal; /* owned */
    struct person *v;     /* owned: `people`, in order of coming */
    uint32_t people, came; /* rows */
    uint32_t k;            /* people of a row; what is counted in a play are rows */
    uint32_t persons;      /* people who have come */
    uint32_t now;
    struct lane lane[LANES_MAX];
    unsigned n_lanes;
    int64_t weight[LANES_MAX];
    struct proc router[NIGHT_ROUTERS_MAX], node[NIGHT_NODES_MAX];
    unsigned n_routers, next_node;
    struct world world;
    uint32_t manager_back, next_event;
    bool other_leads; /* at manager_back another one, of world.manager; it is still to be told */
    /* the manager */
    struct release rel;
    struct no_show no_show;
    struct metric metric;
    double release_per_s, allowed;
    uint32_t inside, ready; /* in the backend; let in, and not there yet */
    double entries;                  /* a second, lately */
    uint32_t down_until, crashed, sampled; /* backend */
    double value;                    /* metric, before it is read */
    double may, may_rate;            /* released beyond: over the limit; the rate of it */
    struct second sec;
};

/* People. */
static inline uint64_t waiting_of(const struct play *p, const struct lane *l)
{
    return l->line.waiting * p->k;
}

static inline uint64_t all_waiting(const struct play *p)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < p->n_lanes; i++)
        n += waiting_of(p, &p->lane[i]);
    return n;
}

/* The process takes `us` of CPU for a request of each of a row; false: it is too far behind. */
static inline bool proc_serve(struct play *p, struct proc *x, double us)
{
    uint64_t now = (uint64_t)p->now * 1000000, from = u64_max(now, x->busy_ns);

    if (from - now > SLOW_NS) {
        p->f->late++;
        return false;
    }
    x->busy_ns = from + (uint64_t)(us * p->k * 1000 + 0.5);
    x->used_us += us * p->k;
    if ((double)(x->busy_ns - now) / 1e9 > p->f->slowest_s)
        p->f->slowest_s = (double)(x->busy_ns - now) / 1e9;
    return true;
}

#endif

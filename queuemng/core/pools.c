/* pools.c: see the header. */
#include "queuemng/core/pools.h"

#include <string.h>

#include "common/task/queue_name.h"
#include "queuemng/core/monitors.h"
#include "queuemng/core/step.h"
#include "queuemng/state/out.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/table.h"

int mng_pool_put(struct mng *m, msec_t now_ms, const struct pool_def *d, struct mng_out *out,
                 struct err *e)
{
    const struct mpool *p = pool_find(m, d->match);
    int rc = metrics_check(m, &d->limits, p != NULL ? &p->def.limits : NULL, e);

    if (rc < 0)
        return err_wrap(e, "pool %s", d->match);
    mng_begin(m, now_ms, out);
    rc = pool_define(m, d, e);
    mng_end(m);
    return rc;
}

const struct pool_def *mng_pool_get(const struct mng *m, const char *match, uint64_t *version)
{
    const struct mpool *p = pool_find(m, match);

    if (p != NULL && version != NULL)
        *version = p->version;
    return p != NULL ? &p->def : NULL;
}

static int pool_may_delete(const struct mpool *p, struct err *e)
{
    struct part_status_row sum;
    bool known = pool_sum(p, &sum);

    if (known && sum.scheduled + sum.waiting + sum.running + sum.schedules == 0)
        return 0;
    return err_set(e, SQ_ECONFLICT, "pool %s: its tasks and schedules would go with it: %llu wait, "
                   "%llu are scheduled, %llu run; %llu schedules%s. With final=true it is removed all "
                   "the same", p->def.match, (unsigned long long)sum.waiting,
                   (unsigned long long)sum.scheduled, (unsigned long long)sum.running,
                   (unsigned long long)sum.schedules,
                   known ? "" : ", and some partitions are away");
}

int mng_pool_delete(struct mng *m, msec_t now_ms, const char *match, bool final,
                    struct mng_out *out, struct err *e)
{
    struct mpool *p = pool_find(m, match);
    int rc = 0;

    if (p == NULL)
        return err_set(e, SQ_EUNKNOWN, "no pool %s", match);
    if (!final)
        rc = pool_may_delete(p, e);
    if (rc < 0)
        return rc;
    mng_begin(m, now_ms, out);
    pool_remove(m, p);
    mng_end(m);
    return 0;
}

/* ---- endpoints ------------------------------------------------------------------- */

int mng_endpoint_put(struct mng *m, msec_t now_ms, const struct endpoint_def *d, bool own_pool,
                     struct mng_out *out, struct err *e)
{
    int rc;

    mng_begin(m, now_ms, out);
    rc = endpoint_define(m, d, own_pool, e);
    mng_end(m);
    return rc;
}

const struct endpoint_def *mng_endpoint_get(const struct mng *m, const char *name,
                                            uint64_t *version)
{
    const struct mendpoint *x = endpoint_find(m, name);

    if (x != NULL && version != NULL)
        *version = x->version;
    return x != NULL ? &x->def : NULL;
}

bool mng_endpoint_order(struct mng *m, msec_t now_ms, const char *name, enum endpoint_order o,
                        struct mng_out *out)
{
    struct mendpoint *x = endpoint_find(m, name);

    if (x == NULL)
        return false;
    mng_begin(m, now_ms, out);
    endpoint_order(m, x, o);
    mng_end(m);
    return true;
}

bool mng_endpoint_tripped(const struct mng *m, const char *name)
{
    const struct mendpoint *x = endpoint_find(m, name);

    return x != NULL && x->tripped;
}

static int may_delete(const struct mng *m, const char *name, struct err *e)
{
    each_pool(m, p) {
        int rc = 0;

        if (strcmp(p->def.endpoint, name) != 0)
            continue;
        if (strcmp(p->def.match, name) == 0)
            rc = pool_may_delete(p, e);
        else
            rc = err_set(e, SQ_ECONFLICT, "endpoint %s: the tasks of pool %s are calls to it. With "
                         "final=true the pools go with it", name, p->def.match);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int mng_endpoint_delete(struct mng *m, msec_t now_ms, const char *name, bool final,
                        struct mng_out *out, struct err *e)
{
    struct mendpoint *x = endpoint_find(m, name);
    int rc = 0;

    if (x == NULL)
        return err_set(e, SQ_EUNKNOWN, "no endpoint %s", name);
    if (!final)
        rc = may_delete(m, name, e);
    if (rc < 0)
        return rc;
    mng_begin(m, now_ms, out);
    endpoint_remove(m, x);
    mng_end(m);
    return 0;
}

/* ---- views ----------------------------------------------------------------------- */

void mng_each_pool(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_pool(m, p) {
        struct mng_pool_view v = { .def = &p->def, .id = p->part[0].no, .version = p->version,
                                   .partitions = p->n, .paused = p->def.paused,
                                   .rate_per_s = p->def.limits.n != 0 ? p->release.rate_per_s : -1,
                                   .limited_by = p->release.limited_by };

        (void)pool_sum(p, &v.sum);
        for (uint32_t i = 0; i < p->n; i++)
            v.away += !p->part[i].confirmed;
        fn(ctx, &v);
    }
}

struct mng_part_moves mng_part_moves(const struct mng *m)
{
    struct mng_part_moves n = { .done = m->tasks.moves_committed,
                                .aborted = m->tasks.moves_aborted };

    each_pool(m, p)
        each_mpart(p, x)
            n.running += x->to != NULL;
    return n;
}

void mng_each_endpoint(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_endpoint(m, x) {
        struct mng_endpoint_view v = { .def = &x->def, .version = x->version, .unusable = "",
                                       .tripped = x->tripped, .probe = x->probe };

        each_share(x, s) {
            v.nodes += s->owner;
            v.open += s->st.breaker == BREAKER_OPEN;
            v.half_open += s->st.breaker == BREAKER_PROBES;
            if (s->unusable[0] != 0)
                v.unusable = s->unusable;
            v.sum.in_flight += s->st.in_flight;
            v.sum.held += s->st.held;
            v.sum.sent += s->st.sent;
            v.sum.succeeded += s->st.succeeded;
            v.sum.failed += s->st.failed;
            v.sum.ms += s->st.ms;
            v.sum.adaptive += s->st.adaptive;
        }
        fn(ctx, &v);
    }
}

void mng_each_probe(const struct mng *m, const char *name, mng_each_fn fn, void *ctx)
{
    const struct mendpoint *x = endpoint_find(m, name);

    if (x == NULL || x->probe == 0)
        return;
    each_share(x, s) {
        bool heard = s->heard && s->st.probe == x->probe;
        struct mng_probe_view v = { .node = s->node->name,
                                    .there = s->node->registered,
                                    .heard = heard,
                                    .state = heard ? s->st.probe_state : PROBE_ASKED,
                                    .ms = heard ? s->st.probe_ms : 0,
                                    .said = heard ? s->probe_said : "" };

        if (s->owner)
            fn(ctx, &v);
    }
}

static struct mng_part_view part_view(const struct mpool *p, uint32_t share)
{
    const struct mpart *x = &p->part[share];
    struct mng_part_view v = { .pool = p->def.match,
                               .node = x->node != NULL ? x->node->name : "",
                               .to = x->to != NULL ? x->to->name : "",
                               .share = share,
                               .up = x->confirmed,
                               .paused = p->def.paused,
                               .endpoint = p->def.endpoint,
                               .peer = x->confirmed ? x->node->peer : 0,
                               .st = x->st };

    v.st.part = x->no;
    v.st.part_epoch = x->epoch;
    return v;
}

void mng_each_part(const struct mng *m, const char *match, mng_each_fn fn, void *ctx)
{
    const struct mpool *p = pool_find(m, match);

    for (uint32_t i = 0; p != NULL && i < p->n; i++) {
        struct mng_part_view v = part_view(p, i);

        fn(ctx, &v);
    }
}

void mng_each_part_of(const struct mng *m, const char *queue, mng_each_fn fn, void *ctx)
{
    size_t n = strlen(queue);

    each_pool(m, p) {
        struct mng_part_view v;

        if (!queue_matches(p->def.match, queue, n))
            continue;
        v = part_view(p, part_share(queue, n, p->n));
        fn(ctx, &v);
    }
}

bool mng_part(const struct mng *m, part_no no, struct mng_part_view *v)
{
    const struct mpart *x = part_find(m, no);

    if (x != NULL)
        *v = part_view(x->pool, (uint32_t)(x - x->pool->part));
    return x != NULL;
}

void mng_each_task_node(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_task_node(m, n) {
        struct mng_task_node_view v = { .no = n->no,
                                        .name = n->name,
                                        .addr = n->addr,
                                        .admin = n->admin,
                                        .incarnation = n->incarnation,
                                        .up = n->registered,
                                        .draining = n->draining,
                                        .silent_ms = n->peer != 0 ? 0 : m->now_ms - n->down_ms,
                                        .partitions = n->n_parts };

        each_pool(m, p)
            each_mpart(p, x)
                v.moving += x->node == n && x->to != NULL;
        fn(ctx, &v);
    }
}

uint64_t mng_lacks_workers(const struct mng_pool_view *v)
{
    uint64_t left = v->def->paused || v->def->endpoint[0] != '\0' ? 0 : v->sum.waiting;

    for (enum task_hold h = 0; h < TASK_NHOLDS; h++)
        left -= u64_min(left, v->sum.held[h]);
    return left;
}

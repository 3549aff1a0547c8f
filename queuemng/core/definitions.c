/* definitions.c: the table of what is special of each kind. */
#include "queuemng/core/definitions.h"

#include <assert.h>
#include <string.h>

#include "queuemng/core/mng.h"
#include "queuemng/core/monitors.h"
#include "queuemng/core/queues.h"
#include "queuemng/release/budgets.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"
#include "queuemng/tasks/endpoints.h"
#include "queuemng/tasks/pools.h"
#include "queuemng/tasks/targets.h"

/* x: the object that has the definition */
typedef int (*define_fn)(struct mng *m, void *x, const void *def, struct err *e); /* NULL: a new one */
static const struct {
    define_fn define;
    int (*may_remove)(const struct mng *m, const void *x, bool final, struct err *e); /* NULL: it may */
    void (*remove)(struct mng *m, void *x); /* NULL: in another way */
} kinds[DEF_NKINDS] = {
    [DEF_BUDGET] = { budget_define, budget_may_remove, budget_remove },
    [DEF_ENDPOINT] = { endpoint_define, endpoint_may_remove, endpoint_remove },
    [DEF_POOL] = { pool_define, pool_may_remove, pool_remove },
    [DEF_QUEUE] = { queue_define, NULL, NULL },
    [DEF_ROUTE] = { route_define, NULL, route_remove },
    [DEF_PIN] = { pin_define, NULL, pin_remove },
};

static void *find(const struct mng *m, enum def_kind_no kind, const char *name)
{
    return kind == DEF_QUEUE ? queue_find(m, name) : defined_find(m, kind, name);
}

const void *mng_defined(const struct mng *m, enum def_kind_no kind, const char *name,
                        uint64_t *version)
{
    const void *x = find(m, kind, name);
    const struct mqueue *q = kind == DEF_QUEUE ? x : NULL;

    if (x != NULL && version != NULL)
        *version = q != NULL ? q->version : defined_version(kind, x);
    return x == NULL ? NULL : q != NULL ? &q->def : defined_def(kind, x);
}

static void each_queue_def(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_queue(m, q) {
        struct mng_def_view v = { &q->def, queue_def_keys, q->version };

        if (q->deleted_until_ms == 0)
            fn(ctx, &v);
    }
}

void mng_each_defined(const struct mng *m, enum def_kind_no kind, mng_each_fn fn, void *ctx)
{
    if (kind == DEF_QUEUE) {
        each_queue_def(m, fn, ctx);
        return;
    }
    for (const void *x = NULL; (x = defined_next(m, kind, x)) != NULL;) {
        struct mng_def_view v = { defined_def(kind, x), def_kinds[kind].keys, defined_version(kind, x) };

        fn(ctx, &v);
    }
}

int mng_not_defined(enum def_kind_no kind, const char *name, struct err *e)
{
    int n = (int)strcspn(name, ":");

    if (kind != DEF_PIN)
        return err_set(e, SQ_EUNKNOWN, "no %s %s", def_kinds[kind].word, name);
    assert(name[n] == ':');
    return err_set(e, SQ_EUNKNOWN, "key %s of queue %.*s is not pinned", name + n + 1, n, name);
}

/* ---- changes ------------------------------------------------------------------------------------ */

static const struct cfg_list *limits(const struct def_kind *k, const void *def)
{
    return def != NULL ? (const void *)((const char *)def + k->limits) : NULL;
}

static int define(struct mng *m, enum def_kind_no kind, define_fn fn, const void *def, struct err *e)
{
    const struct def_kind *k = &def_kinds[kind];
    char name[DEF_NAME_MAX + 1];
    int rc = k->check(def, e);

    if (rc < 0)
        return rc;
    def_full_name(k, def, name);
    if (k->limits != 0)
        rc = metrics_check(m, limits(k, def), limits(k, mng_defined(m, kind, name, NULL)), e);
    return rc < 0 ? err_wrap(e, "%s %s", k->word, name) : fn(m, find(m, kind, name), def, e);
}

static int define_step(struct mng *m, enum def_kind_no kind, define_fn fn, msec_t now_ms,
                       const void *def, struct mng_out *out, struct err *e)
{
    int rc;

    mng_begin(m, now_ms, out);
    rc = define(m, kind, fn, def, e);
    mng_end(m);
    return rc;
}

int mng_define(struct mng *m, enum def_kind_no kind, msec_t now_ms, const void *def,
               struct mng_out *out, struct err *e)
{
    return define_step(m, kind, kinds[kind].define, now_ms, def, out, e);
}

int mng_define_endpoint_alone(struct mng *m, msec_t now_ms, const void *def, struct mng_out *out,
                              struct err *e)
{
    return define_step(m, DEF_ENDPOINT, endpoint_define_alone, now_ms, def, out, e);
}

int mng_undefine(struct mng *m, enum def_kind_no kind, msec_t now_ms, const char *name, bool final,
                 struct mng_out *out, struct err *e)
{
    void *x = find(m, kind, name);
    int rc = 0;

    assert(kinds[kind].remove != NULL);
    if (x == NULL)
        return mng_not_defined(kind, name, e);
    if (kinds[kind].may_remove != NULL)
        rc = kinds[kind].may_remove(m, x, final, e);
    if (rc < 0)
        return rc;
    mng_begin(m, now_ms, out);
    kinds[kind].remove(m, x);
    mng_end(m);
    return 0;
}

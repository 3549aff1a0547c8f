/* deleted.c: deletes queues, and restores them. */
#include "queuemng/core/deleted.h"

#include <assert.h>

#include "common/base/log.h"
#include "queuemng/release/budget_parts.h"
#include "queuemng/chain/queue_life.h"
#include "queuemng/core/step.h"
#include "queuemng/release/credit.h"
#include "queuemng/release/pop.h"
#include "queuemng/state/changed.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/slots.h"
#include "queuemng/state/segment.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "queue"

static struct mng_deleted_view look(const struct mng *m, const struct mqueue *q)
{
    struct mng_deleted_view v = { .name = q->def.name,
                                  .until_ms = q->deleted_until_ms,
                                  .inside = slots_inside(m, q) };

    for (unsigned i = 0; i < q->n_lanes; i++)
        v.waiting += q->lane[i].waiting + q->lane[i].returning;
    return v;
}

static void gone(struct mng *m, struct mqueue *q)
{
    budget_outlives(m, q);
    queue_gone(m, q);
}

/* True: nobody would miss it. */
static bool is_empty(const struct mng *m, const struct mqueue *q)
{
    struct mng_deleted_view v = look(m, q);

    for (unsigned i = 0; i < q->n_lanes; i++)
        each_seg(&q->lane[i], s)
            if (!seg_is_reported(s) || seg_is_lost(s))
                return false;
    return v.waiting + v.inside == 0;
}

int queue_make_way(struct mng *m, const char *name, struct err *e)
{
    struct mqueue *q = queue_deleted(m, name);
    struct mng_deleted_view v;

    if (q == NULL)
        return 0;
    if (is_empty(m, q)) {
        gone(m, q);
        return 0;
    }
    v = look(m, q);
    return err_set(e, SQ_ECONFLICT,
                   "queue %s was deleted a moment ago, and %llu people wait in it, %llu are "
                   "inside: restore it (POST .../restore), or delete it for good first "
                   "(DELETE ...?final=true)",
                   name, (unsigned long long)v.waiting, (unsigned long long)v.inside);
}

static void set_state(struct mng *m, struct mqueue *q, int state)
{
    q->def.state = state;
    q->version++;
    queue_def_changed(m, q);
    credit_recall(m, q);
    queue_fit_lanes(m, q);
    queue_mapped(m, q);
    queue_figures_now(m, q);
}

static void queue_delete(struct mng *m, struct mqueue *q, struct mng_deleted_view *v)
{
    assert(q->deleted_until_ms == 0);
    queue_unname(m, q);
    q->deleted_state = q->def.state;
    q->deleted_until_ms = m->sched_ms + (int64_t)m->opts.undo_ms;
    m->n_deleted++;
    set_state(m, q, DEF_REJECT);
    *v = look(m, q);
    log_warn("event=queue_deleted queue=%s id=%u waiting=%llu inside=%llu restore_for_ms=%u",
             q->def.name, q->id, (unsigned long long)v->waiting,
             (unsigned long long)v->inside, m->opts.undo_ms);
}

int mng_queue_delete(struct mng *m, msec_t now_ms, const char *name, bool final,
                     struct mng_deleted_view *v, struct mng_out *out, struct err *e)
{
    struct mqueue *q = queue_find(m, name);

    if (q == NULL && final)
        q = queue_deleted(m, name);
    if (q == NULL)
        return err_set(e, SQ_EUNKNOWN, "no queue %s", name);
    mng_begin(m, now_ms, out);
    if (final) {
        *v = look(m, q);
        v->name = name;
        v->until_ms = 0;
        gone(m, q);
    } else {
        queue_delete(m, q, v);
    }
    mng_end(m);
    return 0;
}

int mng_queue_restore(struct mng *m, msec_t now_ms, const char *name, struct mng_out *out,
                      struct err *e)
{
    struct mqueue *q = queue_deleted(m, name);

    if (q == NULL)
        return queue_find(m, name) != NULL
                   ? err_set(e, SQ_ECONFLICT, "queue %s is there: it was not deleted", name)
                   : err_set(e, SQ_EUNKNOWN, "no queue %s was deleted, or not in the last "
                             "minutes", name);
    mng_begin(m, now_ms, out);
    if (queue_name(m, q) < 0) {
        mng_end(m);
        return err_set(e, SQ_ENOMEM, "queue %s: out of memory", name);
    }
    assert(q->deleted_until_ms != 0 && m->n_deleted > 0);
    q->deleted_until_ms = 0;
    m->n_deleted--;
    log_info("event=queue_restored queue=%s id=%u state=%s", name, q->id,
             def_state_names[q->deleted_state]);
    set_state(m, q, q->deleted_state);
    mng_end(m);
    return 0;
}

void deletes_tick(struct mng *m)
{
    if (m->n_deleted == 0)
        return;
    each_queue(m, q) {
        if (q->deleted_until_ms != 0 && m->sched_ms >= q->deleted_until_ms)
            gone(m, q);
    }
}

void mng_each_deleted(const struct mng *m, mng_each_fn fn, void *ctx)
{
    each_queue(m, q) {
        if (q->deleted_until_ms != 0) {
            struct mng_deleted_view v = look(m, q);

            fn(ctx, &v);
        }
    }
}

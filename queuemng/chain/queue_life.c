/* queue_life.c: queues made, emptied, freed. */
#include "queuemng/chain/queue_life.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "queuemng/chain/lifecycle.h"
#include "queuemng/state/marks.h"
#include "queuemng/state/out.h"
#include "queuemng/state/queue.h"
#include "queuemng/state/state.h"

#define LOG_MODULE "queue"

struct mqueue *queue_new(struct mng *m, queue_id id)
{
    struct mqueue *q = calloc(1, sizeof(*q));

    assert(queue_by_id(m, id) == NULL);
    if (q == NULL || map_set_ptr(&m->queue_by_id, id, q) < 0) {
        free(q);
        return NULL;
    }
    q->id = id;
    for (unsigned i = 0; i < LANES_MAX; i++) {
        q->lane[i].q = q;
        q->lane[i].no = i;
        list_init(&q->lane[i].segs);
    }
    list_push_back(&m->queues, &q->in_all);
    return q;
}

/* The caller has told the nodes and the store what it wants them to know. */
void queue_free(struct mng *m, struct mqueue *q)
{
    for (unsigned i = 0; i < LANES_MAX; i++) {
        struct mlane *l = &q->lane[i];

        each_seg(l, s)
            seg_unlink(m, s);
        if (list_linked(&l->in_dirty))
            list_remove(&m->dirty_lanes, &l->in_dirty);
        assert(l->segs.n == 0);
        free(l->alias);
        marks_forget(m, l, false);
    }
    if (q->active)
        list_remove(&m->active, &q->in_active);
    if (list_linked(&q->in_puts))
        list_remove(&m->puts, &q->in_puts);
    if (list_linked(&q->in_urgent))
        list_remove(&m->urgent, &q->in_urgent);
    list_remove(&m->queues, &q->in_all);
    m->count_no++;
    map_del(&m->queue_by_id, q->id);
    if (q->deleted_until_ms != 0)
        m->n_deleted--;
    else if (q->def.name != NULL)
        queue_unname(m, q);
    cfg_clear(&q->def, queue_def_keys);
    free(q);
}

/* Nodes forget the segments of a queue that is deleted or flushed; one that cannot be
 * reached now is told when it reports a segment that nobody knows. */
void segs_forget(struct mng *m, struct mlane *l)
{
    each_seg(l, s) {
        if (s->node->registered) {
            struct msg_seg_remove *r =
                &mng_to(m, s->node->peer, MSG_SEG_REMOVE)->seg_remove;

            r->epoch = m->epoch;
            r->seg = s->id;
            r->force = true;
        }
        seg_unlink(m, s);
    }
    l->n_alias = 0;
    marks_forget(m, l, true);
    l->pop.busy = false;
    l->manual = 0;
}

static void tomb_add(struct mng *m, queue_id id)
{
    if (m->n_tombs == MNG_TOMBSTONES) { /* routers with an older map get all of it */
        uint32_t half = MNG_TOMBSTONES / 2;

        m->tomb_floor = m->tomb[half - 1].version;
        memmove(m->tomb, m->tomb + half, (MNG_TOMBSTONES - half) * sizeof(m->tomb[0]));
        m->n_tombs -= half;
    }
    assert(m->n_tombs < MNG_TOMBSTONES);
    m->tomb[m->n_tombs++] = (struct tombstone){ .id = id, .version = ++m->map_version };
}

void queue_gone(struct mng *m, struct mqueue *q)
{
    char key[96];

    log_info("event=queue_gone queue=%s id=%u", q->def.name, q->id);
    for (unsigned i = 0; i < q->n_lanes; i++)
        segs_forget(m, &q->lane[i]);
    tomb_add(m, q->id);
    snprintf(key, sizeof(key), "queue/%s", q->def.name);
    out_del(m, key);
    snprintf(key, sizeof(key), "chain/%u", q->id);
    out_del(m, key);
    snprintf(key, sizeof(key), "sched/%u", q->id);
    out_del(m, key);
    queue_free(m, q);
}

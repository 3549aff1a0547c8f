/* redrive.c: says how far and how fast; the clock does it. */
#include "task/engine/redrive.h"

#include "task/engine/apply.h"
#include "task/engine/change.h"
#include "task/engine/tqueue.h"

static int say_redriving(struct engine *e, const struct tqueue *q, struct trec *r)
{
    r->kind = TREC_REDRIVING;
    r->name = (struct trec_text){ q->name, q->len };
    return task_perform(e, r);
}

int engine_redrive_all(struct engine *e, const struct trec_text *queue, uint64_t per_1000_s)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    struct trec r = { .most = per_1000_s };
    int rc;

    if (e->fenced)
        return SQ_ESTALE;
    if (per_1000_s > RATE_PER_1000_S)
        return SQ_EINVAL;
    if (q == NULL)
        return SQ_EUNKNOWN;
    if (q->dead.n == 0)
        return 0;
    r.no = task_number(&e->store, q->dead.tail - 1);
    rc = say_redriving(e, q, &r);
    return rc < 0 ? rc : (int)q->dead.n;
}

int engine_redrive_stop(struct engine *e, const struct trec_text *queue)
{
    const struct tqueue *q = tqueue_find(e, queue->p, queue->n);
    struct trec r = { 0 };

    if (e->fenced)
        return SQ_ESTALE;
    if (q == NULL)
        return SQ_EUNKNOWN;
    return q->redrive_last == 0 ? 0 : say_redriving(e, q, &r);
}

int engine_discard_dead(struct engine *e, const struct trec_text *queue, unsigned most)
{
    const struct tqueue *q;
    unsigned n = 0;

    if (e->fenced)
        return SQ_ESTALE;
    for (; n < most && (q = tqueue_find(e, queue->p, queue->n)) != NULL && q->dead.n > 0; n++)
        if (engine_discard(e, task_number(&e->store, line_head(&q->dead))) < 0)
            break;
    return (int)n;
}

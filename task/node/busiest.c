/* busiest.c: see busiest.h. */
#include "task/node/busiest.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "task/node/state.h"

void busiest_look(struct busiest *b, const struct engine *e, unsigned most)
{
    struct key_view *now;

    if (b->v == NULL && most > 0)
        b->v = calloc((size_t)most * 2, sizeof(*b->v)); /* without memory: again at the next report */
    if (b->v == NULL)
        return;
    now = b->v + most;
    engine_top_queues(e, &b->at, BUSIEST_STEPS, now, &b->n_now, most);
    if (b->at != SLOT_NONE)
        return;
    memcpy(b->v, now, b->n_now * sizeof(*now));
    b->n = b->n_now;
    b->n_now = 0;
    b->at = 0;
}

void busiest_fini(struct busiest *b)
{
    free(b->v);
}

static void add_up(struct key_view *sum, const struct key_view *v)
{
    sum->waiting += v->waiting;
    sum->running += v->running;
    sum->dead += v->dead;
}

/* The figures of a queue that may be anywhere: in two partitions, if a more specific pool has taken it and
 * the tasks that it had are not over yet. */
static void look_at_named(const struct tasktab *t, const char *name, struct key_view *v)
{
    struct key_view one;

    *v = (struct key_view){ 0 };
    copy_text(v->key1, sizeof(v->key1), name);
    each_part (t, p)
        if (p->life == PART_OWNED && engine_queue_view(&p->e, name, &one))
            add_up(v, &one);
}

static struct key_view *find(struct key_view *v, unsigned n, const char *queue)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(v[i].key1, queue) == 0)
            return &v[i];
    return NULL;
}

/* Adds one of a partition's busiest to those of the others. */
static void join_one(const struct part *p, unsigned i, struct key_view *top, unsigned *n, unsigned most)
{
    struct key_view *v = p->busiest.v, *k, now;

    if (find(v, i, v[i].key1) != NULL || !engine_queue_view(&p->e, v[i].key1, &now))
        return; /* gone, or gone and come during the walk */
    k = find(top, *n, now.key1);
    if (k != NULL) {
        add_up(k, &now);
        return;
    }
    k = key_view_room(top, n, most, (uint64_t)now.waiting + now.dead);
    if (k != NULL)
        *k = now;
}

unsigned tasktab_queue_views(const struct tasktab *t, const char names[][TASK_NAME_MAX + 1],
                             unsigned n_names, struct key_view *v)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_names; i++)
        look_at_named(t, names[i], &v[i]);
    each_part (t, p)
        for (unsigned i = 0; p->life == PART_OWNED && i < u32_min(p->busiest.n, t->o.busiest); i++)
            if (find(v, n_names, p->busiest.v[i].key1) == NULL)
                join_one(p, i, v + n_names, &n, t->o.busiest);
    return n_names + n;
}

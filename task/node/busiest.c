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

static bool is_named(const char names[][TASK_NAME_MAX + 1], unsigned n, const char *queue)
{
    while (n > 0 && strcmp(names[n - 1], queue) != 0)
        n--;
    return n > 0;
}

/* The figures of a queue that may be anywhere: of the partition that has it. */
static void look_at_named(const struct tasktab *t, const char *name, struct key_view *v)
{
    *v = (struct key_view){ 0 };
    copy_text(v->key1, sizeof(v->key1), name);
    each_part (t, p)
        if (p->life == PART_OWNED && engine_queue_view(&p->e, name, v))
            return;
}

unsigned tasktab_queue_views(const struct tasktab *t, const char names[][TASK_NAME_MAX + 1],
                             unsigned n_names, struct key_view *v)
{
    struct key_view *top = v + n_names;
    unsigned n = 0;

    for (unsigned i = 0; i < n_names; i++)
        look_at_named(t, names[i], &v[i]);
    each_part (t, p)
        for (unsigned i = 0; p->life == PART_OWNED && i < u32_min(p->busiest.n, t->o.busiest); i++) {
            const char *name = p->busiest.v[i].key1;
            struct key_view now, *k;

            if (is_named(names, n_names, name) || !engine_queue_view(&p->e, name, &now))
                continue;
            k = key_view_room(top, &n, t->o.busiest, (uint64_t)now.waiting + now.dead);
            if (k != NULL)
                *k = now;
        }
    return n_names + n;
}

/* past.c: one table after the other, record by record. */
#include "segment/directory/past.h"

#include <stdlib.h>

#include "segment/directory/holdings.h"
#include "segment/directory/permit.h"

/* The name may be here again by now, or be allowed to come: then the word is of that one. */
static void gone(void *ctx, const struct subject *x, bool here)
{
    const struct past *p = ctx;
    struct segtab *t = p->tab;
    struct dir_row r = { .hash = x->hash };

    if (!here && dirs_on(&t->dir) && !permits_has(&t->dir, x->hash) &&
        !dir_queue_holds(t, map_get_ptr(&t->queues, p->queue), x->hash))
        dir_say(t, dir_owner(&t->dir, x->hash), DIR_FREE, &r);
}

void segtab_past(struct segtab *t, const struct queue *q, struct subjects *s, struct contacts *c)
{
    struct past *p;

    if ((uint64_t)s->n + c->n <= portion_of(PAST_AT_ONCE, t->o.portion))
        return;
    p = calloc(1, sizeof(*p));
    if (p == NULL)
        return; /* at once, then */
    p->tab = t;
    p->queue = q->id;
    subjects_init(&p->subjects);
    p->subjects.watch = (struct subject_watch){ gone, p };
    subjects_swap(&p->subjects, s);
    p->contacts = *c;
    contacts_init(c);
    list_push_back(&t->pasts, &p->node);
}

static bool end_some(struct past *p)
{
    uint32_t most = portion_of(PAST_TICK, p->tab->o.portion);

    return subjects_end(&p->subjects, &p->at_subject, most) || contacts_end(&p->contacts, &p->at_contact, most);
}

static void past_free(struct segtab *t, struct past *p)
{
    list_remove(&t->pasts, &p->node);
    p->subjects.watch = (struct subject_watch){ 0 };
    subjects_fini(&p->subjects);
    contacts_fini(&p->contacts);
    free(p);
}

void segtab_past_tick(struct segtab *t)
{
    struct past *p = list_entry(list_first(&t->pasts), struct past, node);

    if (p != NULL && !end_some(p))
        past_free(t, p);
}

void segtab_past_free(struct segtab *t)
{
    list_each_of (&t->pasts, struct past, node, p)
        past_free(t, p);
}

/* parked.c: see parked.h. */
#include "segment/directory/parked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool room(struct dirs *d)
{
    if (d->park == NULL) {
        d->park = calloc(DIR_PARKED_MAX, sizeof(*d->park));
        for (uint32_t i = 0; d->park != NULL && i < DIR_PARKED_MAX; i++)
            list_push_back(&d->park_spare, &d->park[i].in);
    }
    return d->park_spare.n > 0;
}

static void wait_for(struct parked *p, struct permit *c)
{
    p->word = c;
    list_push_back(&c->parked, &p->in);
}

bool parked_add(struct segtab *t, struct permit *c, const struct append_from *from, uint8_t row,
                const struct append_req *r)
{
    struct dirs *d = &t->dir;
    struct parked *p;

    if (!room(d))
        return false;
    p = container_of(list_first(&d->park_spare), struct parked, in);
    list_remove(&d->park_spare, &p->in);
    p->from = *from;
    p->row = row;
    p->since_ms = t->now.now_ms;
    p->req = *r;
    memcpy(p->text, r->subject, r->subject_len);
    p->req.subject = p->text;
    list_push_back(&d->parked, &p->in_time);
    wait_for(p, c);
    d->n_parked++;
    return true;
}

static void due(struct dirs *d, struct parked *p, bool is_here)
{
    list_remove(&p->word->parked, &p->in);
    p->word = NULL;
    p->is_here = is_here;
    list_push_back(&d->due, &p->in);
}

void parked_word(struct dirs *d, struct permit *c, bool is_here)
{
    list_each_of (&c->parked, struct parked, in, p)
        due(d, p, is_here);
}

struct parked *parked_due(const struct dirs *d)
{
    return list_entry(list_first(&d->due), struct parked, in);
}

uint32_t parked_run(const struct dirs *d)
{
    const struct append_from *from = NULL;
    uint32_t n = 0;

    list_each_of (&d->due, struct parked, in, p) {
        if (n == MSG_BATCH_MAX || (from != NULL && (p->from.peer != from->peer || p->from.rid != from->rid)))
            break;
        from = &p->from;
        n++;
    }
    return n;
}

void parked_again(struct dirs *d, struct permit *c, struct parked *p)
{
    assert(p->word == NULL);
    list_remove(&d->due, &p->in);
    wait_for(p, c);
}

void parked_done(struct dirs *d, struct parked *p)
{
    list_remove(p->word != NULL ? &p->word->parked : &d->due, &p->in);
    list_remove(&d->parked, &p->in_time);
    p->word = NULL;
    list_push_front(&d->park_spare, &p->in);
}

void parked_gone(struct dirs *d, peer_no peer)
{
    list_each_of (&d->parked, struct parked, in_time, p)
        if (p->from.peer == peer)
            parked_done(d, p);
}

void parked_tick(struct segtab *t)
{
    list_each_of (&t->dir.parked, struct parked, in_time, p) {
        if (t->now.now_ms - p->since_ms < DIR_PARK_MS)
            return;
        if (p->word != NULL)
            due(&t->dir, p, false);
    }
}

/* contact.c: records in an array, found by ticket. */
#include "segment/line/contact.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base.h"

void contacts_init(struct contacts *s)
{
    memset(s, 0, sizeof(*s));
    ticket_idx_init(&s->by_ticket, sizeof(struct contact));
}

void contacts_fini(struct contacts *s)
{
    for (uint32_t i = 0; i < s->cap; i++)
        if (s->v[i].id.seg != 0)
            free(s->v[i].sealed);
    free(s->v);
    ticket_idx_fini(&s->by_ticket);
    contacts_init(s);
}

static int reserve(struct contacts *s)
{
    uint32_t cap = s->cap < 16 ? 16 : s->cap / 2 * 3;
    struct contact *v;

    if (ticket_idx_reserve(&s->by_ticket, s->v, s->n + 1) < 0)
        return SQ_ENOMEM;
    if (s->free != 0)
        return 0;
    v = realloc(s->v, cap * sizeof(*v));
    if (v == NULL)
        return SQ_ENOMEM;
    s->v = v;
    for (uint32_t i = cap; i-- > s->cap;) {
        v[i] = (struct contact){ .id.number = s->free };
        s->free = i + 1;
    }
    s->cap = cap;
    return 0;
}

/* A new record of this ticket; there is room. */
static struct contact *add(struct contacts *s, struct ticket_id id)
{
    uint32_t i = s->free - 1;

    assert(s->free != 0 && id.seg != 0);
    s->free = s->v[i].id.number;
    s->v[i] = (struct contact){ .id = id };
    s->n++;
    ticket_idx_put(&s->by_ticket, s->v, i);
    return &s->v[i];
}

static void lose_bytes(struct contacts *s, struct contact *x)
{
    s->held -= x->n > 0;
    s->bytes -= x->n;
    free(x->sealed);
    x->sealed = NULL;
    x->n = 0;
}

int contacts_put(struct contacts *s, const struct contact *x)
{
    uint8_t *sealed = x->n > 0 ? malloc(x->n) : NULL;
    struct contact *was;

    if ((x->n > 0 && sealed == NULL) || reserve(s) < 0) {
        free(sealed);
        return SQ_ENOMEM;
    }
    if (x->n > 0)
        memcpy(sealed, x->sealed, x->n);
    was = contacts_find(s, x->id);
    if (was == NULL)
        was = add(s, x->id);
    lose_bytes(s, was);
    s->held += x->n > 0;
    s->bytes += x->n;
    *was = *x;
    was->sealed = sealed;
    return 0;
}

int contacts_put_all(struct contacts *s, const struct contacts *from)
{
    const struct contact *x;

    for (uint32_t i = 0; (x = contacts_next(from, &i)) != NULL;)
        if (contacts_put(s, x) < 0)
            return SQ_ENOMEM;
    return 0;
}

struct contact *contacts_find_known(const struct contacts *s, struct ticket_id id)
{
    uint32_t i = ticket_idx_find(&s->by_ticket, s->v, id);

    return i != TICKET_IDX_NONE ? &s->v[i] : NULL;
}

void contact_said(struct contacts *s, struct contact *x, uint8_t said)
{
    x->said |= said;
    if ((x->said & TURN_NOW) != 0)
        lose_bytes(s, x);
}

void contacts_del_known(struct contacts *s, struct ticket_id id)
{
    uint32_t i = ticket_idx_find(&s->by_ticket, s->v, id);

    if (i == TICKET_IDX_NONE)
        return;
    ticket_idx_del(&s->by_ticket, s->v, i);
    lose_bytes(s, &s->v[i]);
    s->v[i] = (struct contact){ .id.number = s->free };
    s->free = i + 1;
    if (--s->n == 0)
        contacts_fini(s);
}

uint32_t contacts_longest(const struct contacts *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->cap; i++)
        if (s->v[i].id.seg != 0 && s->v[i].n > n)
            n = s->v[i].n;
    return n;
}

struct contact *contacts_next(const struct contacts *s, uint32_t *i)
{
    while (*i < s->cap) {
        struct contact *x = &s->v[(*i)++];

        if (x->id.seg != 0)
            return x;
    }
    return NULL;
}

/* contact.h: where people of one segment want to be told that their turn comes. Pure.
 * A contact is bytes that a router has sealed: nothing in here can read them. They are kept until the
 * ticket has been told that it is let in, or has ended; the rest of the record says until its end how
 * long the ticket has to come. A segment in which nobody asked for it pays nothing.
 *
 * Memory: owns copies of the bytes; freed with the last one. A pointer to a contact is good until the
 * next contacts_put() or contacts_del(). */
#ifndef SEGQ_CONTACT_H
#define SEGQ_CONTACT_H

#include "common/wire/msg_router_segment.h"
#include "segment/line/ticket_idx.h"

struct contact {
    struct ticket_id id; /* seg 0: a free record, number = next free */
    uint8_t said;        /* bits of enum turn_word: its receiver has them */
    uint8_t saying;      /* the last word to a router; not written down */
    uint16_t n;          /* bytes; 0: told that it is let in */
    uint32_t claim_ms;   /* from its release on, if that is longer than its queue's */
    msec_t again_ms;     /* not said (again) before; not written down */
    uint8_t *sealed;     /* owned */
};

struct contacts {
    struct contact *v; /* owned */
    uint32_t n, cap;
    uint32_t held; /* have bytes, */
    uint64_t bytes; /* bytes of all */
    uint32_t free; /* first free record + 1; 0 = none */
    uint32_t at;   /* the caller's place among them */
    struct ticket_idx by_ticket;
};

void contacts_init(struct contacts *s);
void contacts_fini(struct contacts *s); /* empty, as after init */
/* 0 or SQ_ENOMEM (nothing has changed). x->sealed is copied; one of the same ticket is replaced. */
SQ_CHECK int contacts_put(struct contacts *s, const struct contact *x);
/* The same with all of another table; SQ_ENOMEM: some of them. */
SQ_CHECK int contacts_put_all(struct contacts *s, const struct contacts *from);
struct contact *contacts_find_known(const struct contacts *s, struct ticket_id id);
/* NULL: this ticket has none. Most lines have none at all. */
static inline struct contact *contacts_find(const struct contacts *s, struct ticket_id id)
{
    return SQ_UNLIKELY(s->n > 0) ? contacts_find_known(s, id) : NULL;
}
/* Notes words that were told; with TURN_NOW the bytes go. */
void contact_said(struct contacts *s, struct contact *x, uint8_t said);
void contacts_del_known(struct contacts *s, struct ticket_id id);
static inline void contacts_del(struct contacts *s, struct ticket_id id)
{
    if (SQ_UNLIKELY(s->n > 0))
        contacts_del_known(s, id);
}
/* Bytes of the longest. */
uint32_t contacts_longest(const struct contacts *s);
/* for (i = 0; (x = contacts_next(s, &i)) != NULL;) in no order; the present one may be deleted. */
struct contact *contacts_next(const struct contacts *s, uint32_t *i);

#endif

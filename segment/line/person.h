/* person.h: what a segment knows of the people behind its tickets, in two tables. Pure.
 *
 *   subjects   who it is. A name has one ticket: a second join finds the first. The name itself, and
 *              what the pass is bound to (common/ticket/pass.h), is kept for the pass
 *   contacts   where they want to be told that their turn comes: bytes that a router has sealed,
 *              nothing in here can read them. They are kept until the ticket has been told that it
 *              is let in, or has ended; the rest of the record says until its end how long the
 *              ticket has to come
 *
 * A segment whose tickets have none pays nothing.
 *
 * Memory: owns copies of names and bytes; a table is freed with its last record. A pointer to a
 * record is good until the next change of its table. */
#ifndef SEGQ_PERSON_H
#define SEGQ_PERSON_H

#include "common/base/map.h"
#include "common/ticket/pass.h"
#include "common/wire/msg_router_segment.h"
#include "segment/line/ticket_idx.h"

/* ---- subjects ------------------------------------------------------------------------ */

struct subject {
    struct ticket_id id;
    uint32_t issued_s;
    uint8_t client;
    uint8_t len;
    uint8_t joins; /* number of joins that were answered with it and keep it; 0: not known, or too many */
    bool found;    /* by another join than the one that took it */
    uint64_t hash; /* keyed, by the router */
    char *text;    /* owned, not 0-terminated; NULL: a free record, hash = next free */
};

struct subject_watch { /* called for every subject that comes or goes; fn may be NULL */
    void (*fn)(void *ctx, const struct subject *x, bool here);
    void *ctx;
};

struct subjects {
    struct subject *v; /* owned */
    uint32_t n, cap;
    uint32_t free; /* first free record + 1; 0 = none */
    struct ticket_idx by_ticket;
    struct map by_hash; /* hash -> index; the hash is keyed already */
    struct subject_watch watch;
};

void subjects_init(struct subjects *s);
void subjects_fini(struct subjects *s); /* empty, as after init; the watch stays */
/* Ends a table in which nothing is looked up any more, n records at a time, from *at (0 at first) on.
 * False: that was the last, and it is as after subjects_fini(), and *at as at first. */
bool subjects_end(struct subjects *s, uint32_t *at, uint32_t n);
/* Takes copies of all that are in the other table: none of their tickets is in s. The watch hears of them if
 * tell says so. SQ_ENOMEM: none was taken. */
SQ_CHECK int subjects_gather(struct subjects *s, const struct subjects *from, bool tell);
void subjects_swap(struct subjects *a, struct subjects *b); /* each keeps its watch */
/* 0 or SQ_ENOMEM (nothing has changed). x->text is copied. */
SQ_CHECK int subjects_add(struct subjects *s, const struct subject *x);
bool subjects_has(const struct subjects *s, uint64_t hash);
/* The ticket of this subject, or NULL. */
const struct subject *subjects_by_name(const struct subjects *s, uint64_t hash,
                                       const char *text, size_t len);
const struct subject *subjects_by_ticket(const struct subjects *s, struct ticket_id id);
/* A later join is answered with it. False: it is not counted, so it cannot be given back. */
bool subjects_found(struct subjects *s, struct ticket_id id);
void subjects_del_known(struct subjects *s, struct ticket_id id);
/* A join that was answered with it gives it back. surely: it may have been heard already, so it counts only
 * if no other join knows of it. False: another one knows of it, as far as this process can tell. */
SQ_CHECK bool subjects_give_back(struct subjects *s, struct ticket_id id, bool surely);
/* Unknown: nothing. Most lines have no subjects: then a leave shall cost nothing here. */
static inline void subjects_del(struct subjects *s, struct ticket_id id)
{
    if (SQ_UNLIKELY(s->n > 0))
        subjects_del_known(s, id);
}
/* for (i = 0; (x = subjects_next(s, &i)) != NULL;) in no order. */
const struct subject *subjects_next(const struct subjects *s, uint32_t *i);

/* ---- contacts ---------------------------------------------------------------------- */

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
bool contacts_end(struct contacts *s, uint32_t *at, uint32_t n); /* likewise */
/* 0 or SQ_ENOMEM (nothing has changed). x->sealed is copied; one of the same ticket is replaced. */
SQ_CHECK int contacts_put(struct contacts *s, const struct contact *x);
/* The same with all of another table; SQ_ENOMEM: some of them are there. */
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
/* for (i = 0; (x = contacts_next(s, &i)) != NULL;) in no order; the present one may be deleted. */
struct contact *contacts_next(const struct contacts *s, uint32_t *i);

#endif

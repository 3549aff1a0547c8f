/* subject.h: the subjects of one segment's live tickets. Pure.
 * A name has one ticket: a second join finds the first. The name itself, and what the pass is
 * bound to (common/ticket/bound.h), is kept for the pass. A segment whose tickets have no subjects
 * pays nothing.
 *
 * Memory: owns copies of the names; freed with the last one. A pointer to a subject is
 * good until the next change. */
#ifndef SEGQ_SUBJECT_H
#define SEGQ_SUBJECT_H

#include "common/base/map.h"
#include "common/ticket/bound.h"
#include "segment/line/ticket_idx.h"

struct subject {
    struct ticket_id id;
    uint32_t issued_s;
    uint8_t client;
    uint8_t len;
    bool fresh;    /* the join that took it alone knows of it, as far as this process can tell */
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
/* 0 or SQ_ENOMEM (nothing has changed). x->text is copied. */
SQ_CHECK int subjects_add(struct subjects *s, const struct subject *x);
bool subjects_has(const struct subjects *s, uint64_t hash);
/* The ticket of this subject, or NULL. */
const struct subject *subjects_by_name(const struct subjects *s, uint64_t hash,
                                       const char *text, size_t len);
const struct subject *subjects_by_ticket(const struct subjects *s, struct ticket_id id);
/* A later join is answered with it: it is fresh no more. */
void subjects_found(struct subjects *s, struct ticket_id id);
void subjects_del_known(struct subjects *s, struct ticket_id id);
/* Unknown: nothing. Most lines have no subjects: then a leave shall cost nothing here. */
static inline void subjects_del(struct subjects *s, struct ticket_id id)
{
    if (SQ_UNLIKELY(s->n > 0))
        subjects_del_known(s, id);
}
/* for (i = 0; (x = subjects_next(s, &i)) != NULL;) in no order. */
const struct subject *subjects_next(const struct subjects *s, uint32_t *i);

#endif

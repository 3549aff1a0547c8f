/* permit.h: the permission to give a subject a ticket: a join with a subject needs the word
 * of the member that keeps the subject's share of the directory. */
#ifndef SEGQ_SEG_DIRECTORY_PERMIT_H
#define SEGQ_SEG_DIRECTORY_PERMIT_H

#include "segment/core/state.h"

enum permit_word {
    PERMIT_OURS, /* give it a ticket, now, or segtab_permit_return() */
    PERMIT_WAIT, /* ask again in DIR_WAIT_MS */
    PERMIT_COMES, /* the same, or wait for the owner's word: parked_add() */
    PERMIT_HAS,  /* another node has its ticket: *has */
};

/* May the subject have a new ticket here? PERMIT_HAS: *has is its old one. */
enum permit_word segtab_permit(struct segtab *t, uint64_t hash, struct ticket_id old,
                               struct dir_row *has);
/* The claim whose answer is awaited, or NULL. */
struct permit *permit_asked(const struct dirs *d, uint64_t hash);
/* The permission is not used: another node may have it. */
void segtab_permit_return(struct segtab *t, uint64_t hash);
/* An owner's answer to a join that waits. */
void permits_answer(struct segtab *t, uint16_t owner, const struct dir_row *r);
/* The owner's words are void; its open claims are asked again. */
void permits_drop(struct segtab *t, uint16_t owner);
/* Gives back permissions that no join has come back for. */
void permits_tick(struct segtab *t);
/* The owner of a share that has not answered for too long, or UINT16_MAX. */
uint16_t permits_overdue(const struct segtab *t);
/* A join waits for this subject, or may come back for its permission. */
bool permits_has(const struct dirs *d, uint64_t hash);

#endif

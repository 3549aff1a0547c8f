/* holdings.h: what this node says to each member of the directory, row by row, and what it
 * holds itself. */
#ifndef SEGQ_SEG_DIRECTORY_HOLDINGS_H
#define SEGQ_SEG_DIRECTORY_HOLDINGS_H

#include "segment/core/state.h"

/* True: a directory exists, and we are one of its members. */
bool dirs_on(const struct dirs *d);
/* Index of the member that keeps the share of this subject. */
uint16_t dir_owner(const struct dirs *d, uint64_t hash);
/* Index of another member, or UINT16_MAX. */
uint16_t dir_member_named(const struct dirs *d, const char *name);
/* A row to the owner of a share; to our own share at once, to others with the next flush. */
void dir_say(struct segtab *t, uint16_t owner, enum dir_ask what, const struct dir_row *r);
/* The member knows nothing of what we hold; dir_say_begin() says it anew. */
void dir_forget_said(struct dir_member *m);
/* Has this subject a ticket here, or in a copy that is arriving? */
bool dir_holds(const struct segtab *t, uint64_t hash);
/* The same for one whose queue is known; NULL: it has no segment here. */
bool dir_queue_holds(const struct segtab *t, const struct queue *q, uint64_t hash);
struct dir_row dir_row_of(const struct segtab *t, const struct subject *x);
/* From now on the directory hears of each subject that comes to the segment, or goes. */
void segtab_dir_watch(struct seg *g);
/* Likewise of those that a move brings. */
void segtab_dir_watch_move(struct move *v);
/* A holder's entry may be old (what it held is over, and the word that said so was lost): it
 * is asked. */
void dir_check(struct segtab *t, uint16_t holder, uint64_t hash);

#endif

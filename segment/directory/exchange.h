/* exchange.h: what members of the directory say to each other: MSG_DIR and MSG_DIR_ANS, and all
 * that this node holds, told from the beginning to a member or to its own share. */
#ifndef SEGQ_SEG_DIRECTORY_EXCHANGE_H
#define SEGQ_SEG_DIRECTORY_EXCHANGE_H

#include "segment/core/state.h"

/* MSG_DIR: a holder speaks to us as an owner. MSG_DIR_ANS: an owner to us as a holder. */
void segtab_dir_msg(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);

/* Forgets a member: it knows nothing of what we hold, and its words to us are void. */
void dir_silence(struct segtab *t, uint16_t i);
/* Says everything to a member, from the beginning; */
void dir_say_begin(struct segtab *t, uint16_t i);
/* to our own share. */
void dir_say_self_all(struct segtab *t);
/* A segment has its subjects in another order: members that are amid being told of it hear of all of it again. */
void segtab_dir_again(struct segtab *t, const struct seg *g);
/* The same of a move's target, in which those who came are by now: members that were told of some of them before
 * all was said anew hear all anew once more, for they may be behind this segment already. */
void segtab_dir_moved(struct segtab *t, const struct move *v);
/* A segment is about to become the last of the list: members that are amid being told of it hear of those
 * behind it first, and then of all of it. */
void segtab_dir_to_end(struct segtab *t, const struct seg *g);
/* Tells the members of the subjects of a move whose copy is whole. They must have heard of them
 * before the commit: each subject is known to be here before it has left the source. False:
 * some member has no link. */
bool segtab_dir_tell(struct segtab *t, struct move *v);
bool segtab_dir_told(const struct segtab *t, const struct move *v);

#endif

/* say.h: saying everything that this node holds: to a member of the directory, from the
 * beginning, or to its own share. */
#ifndef SEGQ_SEG_DIRECTORY_SAY_H
#define SEGQ_SEG_DIRECTORY_SAY_H

#include "segment/core/state.h"

/* Forgets a member: it knows nothing of what we hold, and its words to us are void. */
void dir_silence(struct segtab *t, uint16_t i);
/* From the beginning. */
void dir_say_begin(struct segtab *t, uint16_t i);
/* To our own share. */
void dir_say_self_all(struct segtab *t);
/* The answer to an echo. */
void dir_heard(struct segtab *t, uint16_t i, uint64_t number);
/* Tells the members of the subjects of a move whose copy is whole. They must have heard of them
 * before the commit: each subject is known to be here before it has left the source. False:
 * some member has no link. */
bool segtab_dir_tell(struct segtab *t, struct move *v);
bool segtab_dir_told(const struct segtab *t, const struct move *v);

#endif

/* ask.h: what members of the directory ask of each other: MSG_DIR and MSG_DIR_ANS. */
#ifndef SEGQ_SEG_DIRECTORY_ASK_H
#define SEGQ_SEG_DIRECTORY_ASK_H

#include "segment/core/state.h"

/* MSG_DIR: a holder speaks to us as an owner. MSG_DIR_ANS: an owner to us as a holder. */
void segtab_dir_msg(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out);

#endif

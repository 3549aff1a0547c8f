/* pick.h: who is next in a queue. Pure. Rules: tree.h. */
#ifndef SEGQ_TASK_PICK_H
#define SEGQ_TASK_PICK_H

#include "task/keys/tree.h"

struct roots { /* of a queue */
    uint32_t turn[TASK_PRIORITIES]; /* 0: none */
    const msec_t *head_start;       /* of TASK_PRIORITIES */
};

/* SLOT_NONE if nobody may start now. served: the turn whose share pays. Changes nothing. */
task_slot tree_pick(struct tree *t, const struct roots *r, uint32_t *served);
/* The share of the turn, and of those above it, pays for one. Before tree_start. */
void tree_pay(struct tree *t, uint32_t served);

#endif

/* shared.h: partitions in a store that other nodes can open, too: opened by reading them there,
 * and lost when another node has them. Bodies, of either kind of store. Pure. For the files of this
 * room; tasktab_opts.shared. */
#ifndef SEGQ_TASKTAB_SHARED_H
#define SEGQ_TASKTAB_SHARED_H

#include "task/node/state.h"

/* Orders about a partition that is being read. */
struct part_rules { /* the pool in a PART_OPEN */
    struct task_rules rules;
    struct buf keys; /* owned; limits of keys, as a record has them */
};

struct opening_part {
    struct list_node in; /* tasktab.openings */
    struct msg_part_open m; /* texts and numbers: below */
    char match[TASK_NAME_MAX + 1], endpoint[TASK_NAME_MAX + 1],
        notify[TASK_NAME_MAX + 1];
    struct part_rules rules;
};

/* Begins to read it, or goes on. Takes *r over, and leaves none of it. 0, SQ_ENOMEM,
 * SQ_EBUSY. */
SQ_CHECK int tasktab_shared_open(struct tasktab *t, const struct msg_part_open *m,
                                 struct part_rules *r);
struct opening_part *tasktab_opening(const struct tasktab *t, part_no no); /* NULL: none */
void tasktab_opening_over(struct tasktab *t, struct opening_part *o);
/* All that is being read is forgotten. */
void tasktab_openings_free(struct tasktab *t);

/* See tab_bodies. */
SQ_CHECK int tasktab_body_put(struct tasktab *t, const struct part *p, const struct bytes_of *body,
                              uint64_t *ref);
void tasktab_body_drop(struct tasktab *t, const struct part *p, uint64_t ref);
/* The bytes of a body or result, in the arena; of a shared store: they are there when the turn's
 * answers may leave. False: they are lost, or there is no memory. */
bool tasktab_body_load(struct tasktab *t, const struct part *p, uint64_t ref, struct bytes_of *to,
                       struct arena *mem);

#endif

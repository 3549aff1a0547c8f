/* table.h: the tables of pools, of their partitions, of endpoints, and of task nodes: made, found,
 * freed; what of them has changed, for the end of the step; what task nodes are told of them, and owners of
 * partitions. A partition's number is never used again. */
#ifndef SEGQ_QUEUEMNG_TASKS_TABLE_H
#define SEGQ_QUEUEMNG_TASKS_TABLE_H

#include "common/base/err.h"
#include "queuemng/state/defined.h"
#include "queuemng/state/tasks.h"

struct mng;

/* Gives a new pool n shares that have no partition yet. NULL: no memory, and it is freed. */
struct mpool *pool_fill(struct mng *m, struct mpool *p, uint32_t n);
void pool_free(struct mng *m, struct mpool *p);
/* Sums what its partitions reported last; the oldest of all. True: all are known. */
bool pool_sum(const struct mpool *p, struct part_status_row *sum);

struct mpart *part_find(const struct mng *m, part_no no); /* NULL: there is none */
/* Makes a share this partition. 0 or SQ_ENOMEM. */
SQ_CHECK int part_set(struct mng *m, struct mpool *p, uint32_t share, part_no no,
                      struct mtask_node *owner, uint64_t epoch, bool opened);
void part_unset(struct mng *m, struct mpart *x);

void endpoint_free(struct mng *m, struct mendpoint *x);
void target_free(struct mendpoint *t);
struct mshare *share_find(const struct mendpoint *x, const struct mtask_node *n); /* or NULL */
/* Made if it is not there. NULL: no memory. */
struct mshare *share_at(struct mendpoint *x, struct mtask_node *n);
void share_free(struct mendpoint *x, struct mshare *s);

struct mgone *gone_find(const struct mng *m, part_no no, node_no node); /* NULL: there is none */
/* The node is to drop what it has under this epoch (0: any) or a lower one. NULL: no memory. */
struct mgone *gone_add(struct mng *m, part_no no, node_no node, uint64_t epoch);

/* Made if it is not there. NULL: no memory. */
struct mtask_node *task_node_at(struct mng *m, node_no no);
struct mtask_node *task_node_by_name(const struct mng *m, const char *name); /* NULL: none */
struct mtask_node *task_node_of(const struct mng *m, peer_no p); /* NULL: of no task node */

/* Stored with the end of this step. */
void pool_put_later(struct mng *m, struct mpool *p);
/* Stored and told with the end of this step. */
void endpoint_put_later(struct mng *m, struct mendpoint *x);
/* Told to routers with the end of this step; what nodes may use of endpoints is looked at. */
void task_map_changed(struct mng *m);

/* PART_OPEN to its owner, if it is there: its epoch, its pool's rules. */
void part_tell(struct mng *m, struct mpart *p);
/* PART_OUT to its owner: the move that is stored. */
void part_out(struct mng *m, const struct mpart *p);
/* PART_DROP: what it has goes. A node that is away is told when it registers with it. */
void part_drop(struct mng *m, const struct mtask_node *n, struct mgone *g);

/* A former owner may still have its files, for as long as it is away: it is noted what it is to
 * drop, and stored. */

/* Gives it to that node from now on, under this epoch, which is higher than any that it had. Who had it
 * is to drop it, and is told when it registers. */
void part_give(struct mng *m, struct mpart *p, struct mtask_node *n, uint64_t epoch);
/* The node has what it is not to have, under this epoch (0: any) or a lower one: it is to drop it. */
void part_leave(struct mng *m, part_no no, const struct mtask_node *n, uint64_t epoch);

/* The names of targets with `discover: dns`, at the manager, and what is known of each.
 *
 * The manager that leads asks, not the task nodes: so there is one view of a name, an address has one number for
 * all nodes, and its slots are divided among them like those of any target, whatever each of them would be told,
 * and when. What is known is stored: the next leader begins with it, and asks at once. */

struct mname *name_at(const struct mendpoint *x, const char *url); /* NULL */
/* Names of the definition; a new one begins with its targets that are there. was: the url before. 0 or SQ_ENOMEM. */
SQ_CHECK int names_follow(struct mendpoint *x, const char *was);
void names_free(struct mendpoint *x);

#endif

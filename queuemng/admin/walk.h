/* walk.h: what is asked of the owners of partitions: of one after the other, for an answer to an
 * operator that waits for them. Nothing of this goes through the core: its state does not change.
 *
 *   operator --HTTP--> task_walk --TASK_DO--> the first partition's node
 *            <-------- all asked, or enough rows, or WAIT_MS  <--TASK_DO_ANS--  and the next */
#ifndef SEGQ_QUEUEMNG_ADMIN_WALK_H
#define SEGQ_QUEUEMNG_ADMIN_WALK_H

#include "common/base/text.h"
#include "queuemng/admin/answers.h"

struct task_ask {
    enum task_do verb;
    part_no part; /* partition of a task; of many: 0, or the partition at which it goes on */
    task_no no;   /* number of a task */
    char queue[TASK_NAME_MAX + 1], key1[TASK_NAME_MAX + 1], key2[TASK_NAME_MAX + 1];
    char label[LABEL_MAX + 1]; /* LIST, CANCEL_ALL: "": any, or none */
    char pool[TASK_NAME_MAX + 1]; /* KEYS, without a queue: the queues of this pool */
    unsigned states; /* LIST: bits, 1 << enum task_state */
    uint32_t after, most;
    uint64_t rate;     /* REDRIVE_ALL: per 1000 s; 0: any */
    bool only_limited; /* KEYS: that a limit of theirs stops */
    bool tokens;       /* task_walk() sets it: the asker may see tokens of tasks */
    bool force;        /* CANCEL, CANCEL_ALL: those that run, too */
    struct slice bytes, type; /* RESUBMIT: payload of the new task; borrowed until task_walk() returns */
    bool typed;        /* RESUBMIT: it is no JSON, of this type; n 0: any bytes */
};

/* Answers, now or later. */
void task_walk(struct admin_call *c, const struct task_ask *q);

/* A node's answer to question `rid`; NULL: it knows no such questions. */
void mng_walk_answer(struct mng_service *s, uint64_t rid, const struct msg_task_do_ans *m);
void mng_walk_tick(struct mng_service *s); /* answers what has waited for too long */
void mng_walk_end(struct mng_service *s);  /* answers all, with what is known */

#endif

/* walk.h: what is asked of the owners of partitions: of one after the other, for an answer to an
 * operator that waits for them. Nothing of this goes through the core: its state does not change.
 *
 *   operator --HTTP--> task_walk --TASK_DO--> the first partition's node
 *            <-------- all asked, or enough rows, or WAIT_MS  <--TASK_DO_ANS--  and the next */
#ifndef SEGQ_QUEUEMNG_ADMIN_WALK_H
#define SEGQ_QUEUEMNG_ADMIN_WALK_H

#include "common/base/text.h"
#include "queuemng/admin/answers.h"

struct walk_special;

struct task_ask {
    enum task_do verb;
    part_no part; /* partition of a task; of many: 0, or the partition at which it goes on */
    task_no no;   /* number of a task */
    char queue[TASK_NAME_MAX + 1], key1[TASK_NAME_MAX + 1], key2[TASK_NAME_MAX + 1];
    char label[LABEL_MAX + 1]; /* LIST, CANCEL_ALL: "": any, or none */
    char pool[TASK_NAME_MAX + 1]; /* KEYS, without a queue: the queues of this pool */
    unsigned states; /* LIST: bits, 1 << enum task_state */
    uint32_t after, most;
    int64_t since_ms, until_ms; /* LIST: Unix ms; 0: any */
    uint64_t rate;     /* REDRIVE_ALL: per 1000 s; 0: any */
    bool only_limited; /* KEYS: that a limit of theirs stops */
    bool tokens;       /* task_walk() sets it: the asker may see tokens of tasks */
    bool force;        /* CANCEL, CANCEL_ALL: those that run, too */
    struct slice bytes, type; /* RESUBMIT: payload of the new task; borrowed until task_walk() returns */
    uint64_t version;  /* PUT_SCHEDULE, DROP_SCHEDULE: as in msg_task_do; of schedules key1 is the name, `bytes` the body */
    const struct walk_special *special; /* for schedules; else NULL */
    bool patches;      /* PUT_SCHEDULE: `bytes` are the members that change */
    bool typed;        /* RESUBMIT: it is no JSON, of this type; n 0: any bytes */
};

/* Answers, now or later. */
void task_walk(struct admin_call *c, const struct task_ask *q);

/* A node's answer to question `rid`; NULL: it knows no such questions. */
void mng_walk_answer(struct mng_service *s, uint64_t rid, const struct msg_task_do_ans *m);
void mng_walk_tick(struct mng_service *s); /* answers what has waited for too long */
void mng_walk_end(struct mng_service *s);  /* answers all, with what is known */

/* ---- one that is under way: for walk.c, and for what it asks about schedules ---- */

struct walk {
    struct list_node in; /* mng_service.walks */
    struct admin_held *answer;
    uint64_t rid; /* id of the question that is out */
    msec_t until;
    struct task_ask q;
    part_no *part; /* owned: those to be asked */
    uint32_t n, i;
    json_t *rows;  /* owned: tasks, or keys */
    uint64_t done; /* orders about many: to so many; FIRST: so many may start at once */
    bool cut;      /* FIRST: some partition could not list all that was asked for */
    json_t *away;  /* owned: partitions that did not answer */
    json_t *entry; /* owned: of an order, for the operators' log */
    struct buf form;  /* owned: RESUBMIT: body of the new task; PUT_SCHEDULE: what is asked for, or the message */
    struct buf old;   /* owned: text of the schedule that a PATCH has found */
    bool wants_old;   /* RESUBMIT of a call, a PATCH of a schedule: what there is is to come first */
    bool in_older;    /* PUT_SCHEDULE: it is done, and goes where older pools have one of the name */
    int status;       /* PUT_SCHEDULE: of the answer in `rows` */
};

struct walk_special { /* questions about one schedule, in several partitions */
    /* Prepares a PUT_SCHEDULE whose partitions are known. False: the answer says why it may not be asked. */
    bool (*begin)(struct admin_call *c, struct walk *w);
    /* A node's answer; the walk goes on, or ends. */
    void (*answered)(struct mng_service *s, struct walk *w, const struct mng_part_view *p,
                     const struct msg_task_do_ans *m);
    /* No partition that could be asked has it. */
    void (*unknown)(const struct walk *w, struct admin_ans *a);
    /* Says that it is done, but that partitions of older pools, which did not answer, may have one of its name. */
    void (*left)(const struct walk *w, struct admin_ans *a);
};

/* The answer that was held back, empty. */
struct admin_ans *walk_held(const struct walk *w);
/* Asks the next partition that can be asked, and notes those that cannot. False: all have been, or it is enough. */
bool walk_ask_next(struct mng_service *s, struct walk *w);
/* Asks the one at which it is. False: it cannot be asked. */
bool walk_ask_this(struct mng_service *s, struct walk *w);
void walk_next_part(struct walk *w);
void walk_skip(struct walk *w, const struct mng_part_view *p); /* notes that this one did not answer */
void walk_finish(struct mng_service *s, struct walk *w); /* the answer is filled in: it leaves; frees w */
/* Answers that a node is away, or did not answer. */
void walk_away(const struct mng *m, const struct walk *w, struct admin_ans *a);

#endif

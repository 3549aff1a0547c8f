/* wait.h: TAKEs that found nothing, and GETs of what is not final, until there is something, or
 * for as long as they said. Pure. For the files of this room.
 *
 * A GET that says so (`places`) is told its place meanwhile: a second after it came, and then once a second
 * at most. The clock looks at those who were looked at longest ago, PLACES_TURN of them in a tenth of a second,
 * so 10 000 are looked at each 2.5 s, and cost no more than 4000. What is as it was is not told again; what
 * there is for one link is one message (TASK_PLACES). */
#ifndef SEGQ_TASKTAB_WAIT_H
#define SEGQ_TASKTAB_WAIT_H

#include "task/node/answer.h"

#define PLACES_EACH_MS 1000
#define PLACES_TURN    400u

struct wait_for {
    const char *queue; /* queue whose next task; NULL: the end of task `no` */
    task_no no;
    uint32_t ms;
    uint32_t most, lease_ms; /* members of a TAKE */
    bool result;             /* members of a GET */
    uint32_t window;
    bool leaves, follows, places;
    bool comes; /* only announced, with a window: the answer is not read past that meanwhile */
};

#define READER_COMES_MS 2000 /* for so long who is announced is waited for */

/* False: no memory, or the process ends: answer now. The link's oldest may be answered for it. */
SQ_CHECK bool tasktab_wait(struct tasktab *t, struct asker a, struct part *p,
                           const struct wait_for *f, struct outbox *out);
/* A look at the result of a task that is over: its link has no room. */
void tasktab_owe(struct tasktab *t, struct asker a, const struct part *p, task_no no, struct outbox *out);
/* Answers the oldest of these; there is one. */
void tasktab_pay(struct tasktab *t, struct tpeer *peer, struct outbox *out);
/* Forgets those of the link. */
void tasktab_unwait(struct tasktab *t, struct tpeer *peer);
/* Ends the link's TAKEs that wait in the partition: with nothing. */
void tasktab_untake(struct tasktab *t, const struct part *p, struct tpeer *peer, struct outbox *out);
/* Ends the link's TAKE of this request id, if it waits in the partition: with nothing. It looks at some
 * waits alone: one that it does not find ends by its time, and is given nothing. */
void tasktab_unwait_take(struct tasktab *t, const struct part *p, const struct tpeer *peer, uint64_t rid,
                         struct outbox *out);
/* The clock: those whose time is over are answered with what there is. */
void tasktab_waits_end(struct tasktab *t, struct outbox *out);
/* Something has changed in the partition: is there a task for those who wait at its doors? */
void tasktab_waits_take(struct tasktab *t, struct part *p, struct outbox *out);
/* The link of the one who waits for the task and hears it as it comes, if it has room: then that one waits
 * no more, and is in *r. NULL: there is none. */
struct call_reader;
SQ_CHECK struct tpeer *tasktab_wait_reader(struct tasktab *t, const struct part *p, task_no no,
                                           struct call_reader *r);
/* The next one of those who would follow it (following.h); it waits on. False: there is none. */
struct wait_reader {
    struct wait *wait;
    struct tpeer *peer;
    uint64_t rid;
    uint32_t window;
};
SQ_CHECK bool tasktab_wait_follower(const struct part *p, task_no no, struct wait_reader *r);
/* Ends it without an answer. */
void tasktab_wait_over(struct tasktab *t, const struct wait_reader *r);
/* Was one announced who has not come yet? */
bool tasktab_reader_comes(const struct part *p, task_no no);
/* The task is final, or gone. */
void tasktab_waits_final(struct tasktab *t, struct part *p, task_no no, struct outbox *out);
/* All who wait there are answered: CODE_DONE: with what there is; else with this code. */
void tasktab_waits_drop(struct tasktab *t, struct part *p, uint8_t code, struct outbox *out);

#endif

/* ask.h: a question's way to the node that has its partition, its waits, and how it ends. Shell.
 *
 *   what happens                        what follows
 *   no pool, no such partition          answered: CODE_UNKNOWN
 *   nobody has the partition, or the    answered at once: ASK_NOBODY
 *     link to its node is down
 *   there is no map yet                 waits for it
 *   CODE_STALE: the node has it no      waits for a newer map, and asks again; each tick, too: the
 *     more, or not yet                  node may be the one that was behind; a
 *                                       TAKE whose client has gone is not asked again
 *   the link breaks under it            asked again if it `repeats`; else ASK_LOST: it may be done
 *   its time is over                    ASK_LOST if it was sent, else ASK_NOBODY; a submission whose link
 *                                       broke under it is never ASK_NOBODY: a node may have it */
#ifndef SEGQ_ROUTER_ASK_H
#define SEGQ_ROUTER_ASK_H

#include "router/state/node_links.h"
#include "router/task_requests/call.h"
#include "router/task_requests/tasking.h"

#define TASK_TICK_MS 200

/* A kind of question: its message, and what is kept of the answer until all rows of a call have
 * theirs: offsets, 0 means that it is not there. */
struct ask_form {
    enum msg_type asks, answers;
    uint16_t size; /* bytes of the question, or of its row */
    uint8_t row;   /* size of an answer's row; 0: a frame has one question */
    uint8_t no, state, until_ms, maybe_executed; /* in the answer, or its row */
    uint8_t wait_ms; /* in the question */
    bool compares;   /* the node compares the task's queue with those that the caller may */
};
extern const struct ask_form ask_forms[ASK_NKINDS]; /* by enum ask_kind */

struct task_link { /* questions that leave with this turn, or when the link, never up yet, is */
    struct node_link n;
    struct tasking *t;            /* ref */
    struct list open[ASK_NKINDS]; /* lists of struct ask */
    uint32_t reads;               /* pieces of long answers that are on their way */
    struct map passings;          /* request id -> struct passing */
    struct map sent;              /* request id -> struct sent (task_link.c), owned */
};

/* Asks all rows that are not answered. May end, and free, the call, as all of these may. */
void call_begin(struct task_call *c);
/* Takes its answer: *m, and of rows the i-th. */
void ask_answered(struct ask *a, const struct msg *m, uint32_t i);
/* Ends it after a broken link, or a refused frame. */
void ask_lost(struct ask *a);
/* Ends it unsent, after a broken link. */
void ask_unsent(struct ask *a);
/* Makes those that wait look again: a newer map, or a link, is there. */
void asks_retry(struct tasking *t);
/* Once a tick: the same, and time limits. */
void asks_tick(struct tasking *t);
/* Ends a take: with nothing, and what it was given, if the node has answered, goes back. */
void ask_end_take(struct ask *a);
/* Ends waits of takes when the router drains: with nothing, as if their time were over. Tasks that a node
 * hands out in this very moment go back. */
void asks_drain(struct tasking *t);
/* Ends all of a call, which goes. */
void ask_end_takes(struct task_call *c);

/* The link to the node is there. */
bool task_link_is_up(const struct tasking *t, node_no node);

/* ---- what is told to a partition: nobody waits for an answer ----
 * Tasks that were taken for a worker that never saw them wait again at once, with no attempt spent,
 * instead of when their leases end.
 *
 *   what happens                            what is said
 *   a worker goes while its take waits      SETTLE_UNSEEN of each task that it is given then
 *   the link breaks under a take            SETTLE_UNHEARD of its request id, when the link is up again
 *   the router stops                        SETTLE_UNHEARD 0: the node ends its takes; those that it
 *                                           had answered by then are UNSEEN. The router ends when all
 *                                           have been answered, or after a second
 *   the router is killed, the node begins   nothing: leases end by themselves; each was an attempt,
 *     anew, the partition moves meanwhile   since nobody knows that no worker began */

/* False: the router is overloaded. */
bool ask_change(struct tasking *t, part_no part, const struct msg_task_change *m);
void give_back(struct tasking *t, part_no part, const struct msg_task_take_ans *m);
/* The link is down: what the take of this request id was given goes back when it is up. */
void give_back_unheard(struct tasking *t, part_no part, uint64_t rid);
/* The same of a link that is up: its wait ends there, too. */
void give_back_take(struct tasking *t, part_no part, uint64_t rid);
/* Ends our takes that wait at the node of the partition. */
void give_back_waits(struct tasking *t, part_no part);

/* ---- clients of /v1/call who close their connection while their request waits in line ----
 * It is cancelled, unless it has begun (task_call.leaves). A closed connection is seen at the next
 * tick, one that broke at once. A client that closes its side and goes on reading counts as gone,
 * and is answered all the same. A router that stops tells nobody: it is the router that goes. */

/* Notes that its task is submitted. True: its client has gone meanwhile. */
bool left_before(struct task_call *c);
/* Withdraws its task, if that has not begun and its client would have withdrawn it by going. */
void left_over(struct task_call *c);
/* For httpd_calls.on_gone: c's connection is no more. */
void left_now(struct task_call *c);
/* Each tick: whose clients have gone? */
void left_look(struct tasking *t);

/* Tasks of a queue that are in the line of another pool than the queue's own, since an
 * operator made a more specific pool, or took one away, while they were in line. They stay where
 * their tokens say; calls and cancels go by the tokens, and who takes from the queue is given them
 * first, by questions to those partitions that do not wait.
 *
 * A pool that matches all queues is there in most clusters, and has no task of most queues. So a
 * partition is asked by one take at a time, and then not again for STRAYS_MS, unless it had some:
 * a stray that is tried again, or due, comes that much later. */

#define STRAYS_MS     5000
#define STRAYS_ASK_MS 1000 /* and its answer is waited for so long: it is in the way of a take */

/* Finds the next pool with workers that matches the queue, behind *place (0: its own), and is to be asked now;
 * the caller asks it. *place: where it is. NULL: none. */
const struct task_way *strays_next(struct tasking *t, struct slice queue, uint32_t *place);
/* Some were there: the next take asks it, too. */
void strays_found(struct tasking *t, struct slice queue, part_no part);

#endif

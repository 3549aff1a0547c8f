/* long_answer.h: an answer that is longer than what a look has of it, from its task node to its
 * client: piece by piece, the next one when the client has taken the last. Shell.
 *
 *   memory   a piece of each client (TASK_READ_MAX); WHOLES_MOST clients, WHOLES_OF_ONE of a task: who
 *            has its token takes none from others
 *   slow     a client has WHOLE_SLOWEST bytes a second, and WHOLE_GRACE_MS; then its connection ends
 *   broken   the node goes, the answer goes, or it has another hash: the connection ends before
 *            Content-Length is reached, and the last piece is not sent before the hash is known
 *   nodes    know nothing of readers: each piece is a question of its own, asked again after a break */
#ifndef SEGQ_ROUTER_LONG_ANSWER_H
#define SEGQ_ROUTER_LONG_ANSWER_H

#include "router/task_requests/call.h"

#define WHOLES_MOST    256
#define WHOLES_OF_ONE  16
#define WHOLE_SLOWEST  (32u << 10)
#define WHOLE_GRACE_MS 30000

struct whole;

/* True: more of it exists than is here, but too many are being read: later. */
bool whole_is_crowded(const struct tasking *t, part_no part, const struct msg_task_get_ans *m);
/* For the client of c, who asked for the result of m. NULL: there is not more, or it cannot have it
 * (HEAD, requests behind it, no memory): it gets what is here. */
struct whole *whole_new(struct task_call *c, part_no part, const struct msg_task_get_ans *m);
/* r->ans is its head and its first bytes. What it is of, c or its client, is not to be used for an
 * answer any more. done: all of it is on its way to the client; NULL: nobody cares. */
typedef void (*whole_done)(struct tasking *t, part_no part, task_no no);
void whole_start(struct task_call *c, struct whole *w, whole_done done);

/* From httpd; user: struct whole. */
void whole_taken(void *user);
void whole_gone(void *user);
/* Ends those that are too slow. */
void wholes_tick(struct tasking *t);
void wholes_free(struct tasking *t);

#endif

/* passing.h: the answer to a call while it comes from its target: from its task node, piece by piece, to
 * its client. Shell; the arithmetic of its window is common/task/call.h.
 *
 *   begins   a TASK_GET with a window is answered with PIECE_HEAD in place of TASK_GET_ANS
 *   slow     what the client has not taken is WINDOW_BYTES at most: the node reads no more from the
 *            target until it has. A client that takes next to nothing is dropped (httpd.h)
 *   whole    only by PIECE_WHOLE, at the length that the target has said, if it has. Whatever else
 *            happens, the connection ends without the last chunk, or short of Content-Length
 *   gone     the client: the node is told, which ends the call if that was said in the TASK_GET
 *   follow   the same for one who reads along (TASK_GET.follow): it is whole only with the right hash, and
 *            where Content-Length was said the last byte waits for that */
#ifndef SEGQ_ROUTER_PASSING_H
#define SEGQ_ROUTER_PASSING_H

#include "router/task_requests/ask.h"

struct passing;

/* May the client of c be told an answer as it comes? */
bool passing_may(const struct task_call *c);
/* m: PIECE_HEAD, on the link and under the id of the question that it answers. The client of c has it
 * from now on; nobody waits for c. c without a client: the node is told. */
void passing_begin(struct task_call *c, const struct task_name *name, const struct msg_task_piece *m);
/* The same for one who follows. read: all of it is on its way to the client, and
 * the task has succeeded. */
typedef void (*passing_done)(struct tasking *t, part_no part, task_no no);
void passing_follow(struct task_call *c, const struct task_name *name, const struct msg_task_piece *m,
                    passing_done read);
/* A later piece. */
void passing_hear(struct task_link *l, uint64_t rid, const struct msg_task_piece *m);
/* The link is down: all of them are broken. */
void passings_lost(struct task_link *l);
/* Tells the node that nobody waits for the answer that begins. */
void passing_refuse(struct task_link *l, uint64_t rid, const struct msg_task_piece *m);

/* From httpd; user: struct passing. */
void passing_taken(void *user);
void passing_gone(void *user);
void passings_free(struct tasking *t);

#endif

/* pieces.h: what is too long for one message is passed on piece by piece: bodies of calls, and answers. Shell.
 *
 * The large body of a call, from its client to the task node that is to have the task: the next piece is read
 * when the node has the last. Its task is submitted when all of it is there.
 *
 *   memory   what was read and the node has not got: HTTPD_PIECE bytes at most, HTTPD_WHOLE and a read more at
 *            the begin of a chunked one. UPLOADS_MOST clients
 *   link     TASK_UPLOAD_MAX bytes of each are on their way. With the link the node forgets what it has: the
 *            client gets 503, nothing was submitted, and it sends it again
 *   clients  who goes amid it leaves nothing behind
 *   fair     a token has at most as many under way as are free then (half of all, if it is alone), so that one whose
 *            clients send slowly leaves room for others. As buffers of switches are shared: A. Choudhury, E. Hahne,
 *            "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998 */
#ifndef SEGQ_PIECES_H
#define SEGQ_PIECES_H

#include "router/task_requests/call.h"

#define UPLOADS_MOST 1024

struct upload;

/* c: a submission of one row that is to be begun then; its form ends with a file. x: the request, with the body's
 * begin. Answers, and frees c, where that cannot be. */
void upload_start(struct task_call *c, const struct task_asked *x);
/* Bytes that the body of a call to this queue may have. */
uint64_t upload_most(const struct task_way *w);

/* From httpd; user: struct upload. */
void upload_piece(void *user, const char *p, size_t n, bool last);
void upload_gone(void *user);
void uploads_free(struct tasking *t); /* their calls have gone already */

/* An answer that is longer than what a look has of it, from its task node to its
 * client: piece by piece, the next one when the client has taken the last.
 *
 *   memory   a piece of each client (TASK_READ_MAX); WHOLES_MOST clients, WHOLES_OF_ONE of a task: who
 *            has its token takes none from others
 *   slow     a client has WHOLE_SLOWEST bytes a second, and WHOLE_GRACE_MS; then its connection ends
 *   broken   the node goes, the answer goes, or it has another hash: the connection ends before
 *            Content-Length is reached, and the last piece is not sent before the hash is known
 *   nodes    know nothing of readers: each piece is a question of its own, asked again after a break */

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

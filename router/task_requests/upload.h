/* upload.h: the large body of a call, from its client to the task node that is to have the task: piece by
 * piece, and the next one is read when the node has the last. Its task is submitted when all of it is
 * there. Shell.
 *
 *   memory   what was read and the node has not got: HTTPD_PIECE bytes at most, HTTPD_WHOLE and a read more at
 *            the begin of a chunked one. UPLOADS_MOST clients
 *   link     TASK_UPLOAD_MAX bytes of each are on their way. With the link the node forgets what it has: the
 *            client gets 503, nothing was submitted, and it sends it again
 *   clients  who goes amid it leaves nothing behind
 *   fair     a token has at most as many under way as are free then (half of all, if it is alone), so that one whose
 *            clients send slowly leaves room for others. As buffers of switches are shared: A. Choudhury, E. Hahne,
 *            "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998 */
#ifndef SEGQ_ROUTER_UPLOAD_H
#define SEGQ_ROUTER_UPLOAD_H

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

#endif

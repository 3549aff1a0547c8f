/* progress.h: callers of /v1/call that hear of their place in line (`segq-progress`), in the event stream that
 * they wait for. Shell.
 *
 *   who      said `segq-progress: 1` (or `events`), and wants an event stream: by Accept, or by "stream": true
 *            of its JSON, as clients of language models say it
 *   begins   when its task node first tells of it (TASK_PLACES), a second after the call was submitted: status
 *            200 and the head of an event stream leave then. A call that is answered before has the status
 *            and the head of its answer, as ever
 *   says     comments (": segq place=12 eta_s=30"), which every reader of event streams leaves out; or, if it
 *            said so, events. One a second at most, one in PROGRESS_QUIET_MS at least; none while the client has
 *            not taken the last
 *   ends     with the events of the target, if it answers 2xx with an event stream. Else the answer, be it an
 *            error of the target or of ours, is an event `error`, since the status has left already */
#ifndef SEGQ_ROUTER_PROGRESS_H
#define SEGQ_ROUTER_PROGRESS_H

#include "router/task_requests/call.h"

#define PROGRESS_QUIET_MS 10000
#define PROGRESS_BODY_MAX 65536u /* bytes of an answer that is said in an event; the rest is cut */

struct collected;

/* How the request wants to be told (enum progress). NULL, or what is wrong with it. */
const char *progress_of(const struct http_req *q, uint8_t *how);

/* News of a call that waits. Its answer then goes the same way: task_call.ends. */
void progress_hear(struct task_call *c, const struct place_row *r);
/* Once in a while: says something to those who have heard nothing for long. */
void progress_tick(struct task_call *c, msec_t now);
/* From httpd. */
void progress_taken(struct task_call *c);

/* An answer that begins so goes on in the stream as it is. */
bool progress_fits(uint32_t status, const char *type);
/* Keeps one that does not, to say it later. NULL: no memory. */
struct collected *collected_new(uint32_t status, const char *type);
void collected_add(struct collected *c, const void *p, size_t n);
/* Says it, once all of it is there. */
void collected_say(struct collected *c, struct httpd_req *req);
void collected_free(struct collected *c); /* NULL is fine */

#endif

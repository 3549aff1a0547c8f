/* heard.h: what is heard of an answer, whoever the client is: head, body. Shell, without a socket.
 * For the files of this room. */
#ifndef SEGQ_OUT_HEARD_H
#define SEGQ_OUT_HEARD_H

#include "task/out/out_int.h"

/* Reads a whole head: what it says to us. */
void heard_head(struct out_call *c, const struct http_answer *a);
/* The next bytes of its body. False: no more is wanted: c->cut, or no memory. */
bool heard_body(struct out_call *c, const void *p, size_t n);
/* Ends it; to its caller. */
void heard_all(struct out_call *c);

#endif

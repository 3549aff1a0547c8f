/* httpd_busy.h: what hangs on a connection of httpd.h that is not idle: its input, its output, its
 * requests; from pools, to pools. Shell. NULL, false: no memory, or above its bound. */
#ifndef SEGQ_HTTPD_BUSY_H
#define SEGQ_HTTPD_BUSY_H

#include "common/http/httpd_int.h"

void pieces_free(struct busy *b);
struct busy *busy_take(struct conn *c); /* the one that it has, if it has one */
void busy_give(struct conn *c);

/* For n more bytes of pending input. */
SQ_CHECK bool in_room(struct conn *c, size_t n);
void in_free(struct conn *c);
/* For a request of n bytes, whose body is large: within the share of all that are. */
SQ_CHECK bool in_large(struct conn *c, size_t n);
/* For n bytes behind the output that is there. */
char *out_room(struct conn *c, size_t n);
void out_give(struct httpd *h, struct busy *b);

struct httpd_req *req_new(struct conn *c); /* queued */
/* A request of a connection that has nothing else under way: the server's only one of its kind, not
 * queued. Good until the next one. */
struct httpd_req *req_at_hand(struct conn *c);
/* Leaves the answer for later, or for the ordinary way: queued from now on. */
SQ_CHECK bool req_keep(struct httpd_req *r);
void req_pop(struct conn *c); /* the first one has been answered */
void req_give(struct httpd *h, struct httpd_req *r);

/* ---- what a connection waits for: in which deadline list it is ---- */

void httpd_arm(struct httpd *h, msec_t when); /* the timer of the deadlines goes by then */
/* fresh: the deadline begins anew even if it waits for the same as before. */
void conn_wait(struct conn *c, enum conn_wait w, bool fresh);
void conn_wait_end(struct conn *c);

#endif

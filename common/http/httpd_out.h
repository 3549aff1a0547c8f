/* httpd_out.h: answers of a connection of httpd.h, and their order. Shell. */
#ifndef SEGQ_HTTPD_OUT_H
#define SEGQ_HTTPD_OUT_H

#include "common/http/httpd_int.h"

void conn_dirty(struct conn *c); /* is settled at the end of the turn */
void conn_end(struct conn *c, enum conn_end why); /* the first reason counts */

bool out_pending(const struct conn *c);

/* True: the answer to the first request is told in pieces, and not at its end. */
static inline bool out_is_open(const struct conn *c)
{
    return c->busy != NULL && c->busy->first != NULL && c->busy->first->open;
}

void out_flush(struct conn *c);
void out_continue(struct conn *c);
/* Tells the user of a hungry first request, if the client has taken all that came. */
void out_taken(struct conn *c);
/* Queues it behind the answers before. q: as on_bad gets it. */
void out_error(struct conn *c, int status, const struct http_req *q);

#endif

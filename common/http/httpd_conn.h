/* httpd_conn.h: a connection of httpd.h: its handshake, what it waits for, and how it ends. Shell. */
#ifndef SEGQ_HTTPD_CONN_H
#define SEGQ_HTTPD_CONN_H

#include "common/http/httpd_int.h"

bool handshakes_due(struct httpd *h); /* this turn has time for one more step */
bool handshakes_fit(const struct httpd *h); /* True: has room for one more, or an old one will make it. */

/* Takes fd, also on failure. NULL: no memory. */
struct conn *conn_new(struct httpd *h, int fd, uint64_t tag);
/* At the end of a turn in which it was dirty. False: it has ended; the caller frees it. */
SQ_CHECK bool conn_settle(struct conn *c);
void conn_free(struct conn *c);
void conn_overdue(struct conn *c); /* after its deadline */

#endif

/* httpd_tls.h: handshakes of connections of httpd.h, and their bounds. Shell. */
#ifndef SEGQ_HTTPD_TLS_H
#define SEGQ_HTTPD_TLS_H

#include "common/http/httpd_int.h"

/* c: of struct tls_conn, new. False: no memory. */
SQ_CHECK bool conn_seal(struct conn *c, struct httpd *h, int fd);
/* Before its end. bye: the client is told. */
void conn_unseal(struct conn *c, bool bye);
/* Goes on with it, if the turn has time left. True: it is over, or was none: c is not sealed, then,
 * its answer is written, and it takes no request. */
SQ_CHECK bool conn_handshake(struct conn *c);

bool handshakes_due(struct httpd *h); /* this turn has time for one more step */
bool handshakes_fit(const struct httpd *h); /* True: has room for one more, or an old one will make it. */

#endif

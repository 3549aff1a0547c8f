/* httpd_in.h: the input of a connection of httpd.h: bytes to requests. Shell. */
#ifndef SEGQ_HTTPD_IN_H
#define SEGQ_HTTPD_IN_H

#include "common/http/httpd_int.h"

void conn_read(struct conn *c);
void conn_go_on(struct conn *c);       /* with input that a limit has left */
void conn_linger_read(struct conn *c); /* throws away what still comes */

#endif

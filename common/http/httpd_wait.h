/* httpd_wait.h: what a connection of httpd.h waits for, in which deadline list it is. Shell. */
#ifndef SEGQ_HTTPD_WAIT_H
#define SEGQ_HTTPD_WAIT_H

#include "common/http/httpd_int.h"

void httpd_arm(struct httpd *h, msec_t when); /* the timer of the deadlines goes by then */
/* fresh: the deadline begins anew even if it waits for the same as before. */
void conn_wait(struct conn *c, enum conn_wait w, bool fresh);
void conn_wait_end(struct conn *c);

#endif

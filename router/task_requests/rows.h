/* rows.h: a request whose body has many rows: a JSON list, or lines of JSON (NDJSON). Shell.
 * A body that is no JSON is refused as a whole; a row that is unfit is refused alone. */
#ifndef SEGQ_ROUTER_ROWS_H
#define SEGQ_ROUTER_ROWS_H

#include "router/task_requests/call.h"

/* Reads a row: fills *a, or calls row_refuse(). */
typedef void (*row_read)(struct ask *a, struct slice text);

/* opens: as a call has it. A call with all rows of the body, read by `read` and asked; or it was answered already. */
void rows_start(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                struct slice queue, struct slice opens, row_read read, call_done done);
/* The row is not asked: why is copied, as far as there is room. */
void row_refuse(struct ask *a, enum api_problem p, const char *why);

#endif

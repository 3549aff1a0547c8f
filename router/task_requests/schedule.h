/* schedule.h: schedules of a queue are defined, looked at, listed and deleted, where its tasks are.
 * Shell.
 * What is put or deleted is so in every pool whose pattern matches the queue: a schedule that was made
 * before a more specific pool goes on in the older one until then. */
#ifndef SEGQ_ROUTER_SCHEDULE_H
#define SEGQ_ROUTER_SCHEDULE_H

#include "router/task_api/path.h"
#include "router/task_requests/tasking.h"

void schedule_put(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct task_path *p);
/* Fires it now. */
void schedule_run(struct tasking *t, struct httpd_req *req, const struct http_req *q,
                  const struct task_path *p);
/* GET, DELETE of one; the list. */
void schedule_ask(struct tasking *t, struct httpd_req *req, const struct task_path *p);

#endif

/* report.h: what managers are told, and routers of tasks that have ended. Pure. For the files of
 * this room. */
#ifndef SEGQ_TASKTAB_REPORT_H
#define SEGQ_TASKTAB_REPORT_H

#include "task/node/state.h"

/* The first message on a link to a manager. */
void tasktab_register(const struct tasktab *t, peer_no to, struct outbox *out);
/* To the manager that commands: once a second, and when something was ordered. */
void tasktab_report(struct tasktab *t, struct outbox *out);
/* For how long the first of those that wait has waited until now, as of the last round of the
 * search. */
uint64_t tasktab_oldest_ms(const struct tasktab *t, const struct part *p);

/* Ends of tasks leave for routers, which take turns. */
void tasktab_notices_send(struct tasktab *t, struct part *p, struct outbox *out);
void tasktab_notice_answered(struct tasktab *t, const struct msg_task_notice_ans *m);

#endif

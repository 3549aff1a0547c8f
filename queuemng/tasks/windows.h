/* windows.h: calendar windows of rates in units: whose turn it is, and which node gets how much of one
 * (common/recur/meter.h). Pure. */
#ifndef SEGQ_QUEUEMNG_TASKS_WINDOWS_H
#define SEGQ_QUEUEMNG_TASKS_WINDOWS_H

#include "queuemng/state/tasks.h"

struct mng;
struct mbudget;

/* Where they are due: begins those that are over, gives units of them to nodes that run low, of all endpoints of its
 * budget at once; what changed is stored, then told. */
void windows_look(struct mng *m, struct mendpoint *x);
/* Its own rates, and its budget's name, become these (meters_move()). */
void windows_change(const struct mng *m, struct mendpoint *x, const struct cfg_list *rates, const char *budget);
/* Numbers as ENDPOINT has them, also of its budget's (or NULL); how many of them. */
uint32_t windows_numbers(struct mendpoint *x, struct mbudget *b, const struct mshare *s, uint64_t *v);

#endif

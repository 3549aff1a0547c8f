/* windows.h: calendar windows of rates in units: whose turn it is, and which node gets how much of one
 * (common/recur/meter.h). Pure. */
#ifndef SEGQ_QUEUEMNG_TASKS_WINDOWS_H
#define SEGQ_QUEUEMNG_TASKS_WINDOWS_H

#include <jansson.h>

#include "queuemng/state/tasks.h"

struct mng;

/* Begins those that are due, and gives units of them to nodes that run low. True: what changed is to be stored, then
 * told. */
SQ_CHECK bool windows_look(struct mng *m, struct mendpoint *x);
/* Rates become these: each window goes on, at whatever place it is now; one that was not there begins. */
void windows_change(struct mendpoint *x, const struct cfg_list *rates);
/* SQ_EINVAL: a zone of them is not known here. */
SQ_CHECK int windows_known(const struct mng *m, const struct cfg_list *rates, struct err *e);
/* Numbers as ENDPOINT has them; how many of them. */
uint32_t windows_numbers(const struct mendpoint *x, const struct mshare *s, uint64_t *v);
json_t *windows_json(const struct mendpoint *x); /* NULL: it has none */
void windows_load(struct mendpoint *x, const json_t *j);

#endif

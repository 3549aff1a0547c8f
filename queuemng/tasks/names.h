/* names.h: the names of targets with `discover: dns`, at the manager, and what is known of each.
 *
 * The manager that leads asks, not the task nodes: so there is one view of a name, an address has one number for
 * all nodes, and its slots are divided among them like those of any target, whatever each of them would be told,
 * and when. What is known is stored: the next leader begins with it, and asks at once. */
#ifndef SEGQ_QUEUEMNG_TASKS_NAMES_H
#define SEGQ_QUEUEMNG_TASKS_NAMES_H

#include "common/base/err.h"
#include "queuemng/state/tasks.h"

struct mname *name_at(const struct mendpoint *x, const char *url); /* NULL */
/* Names of the definition; a new one begins with its targets that are there. was: the url before. 0 or SQ_ENOMEM. */
SQ_CHECK int names_follow(struct mendpoint *x, const char *was);
void names_free(struct mendpoint *x);

#endif

/* people.h: what each person does when it is its time. Pure. */
#ifndef SEGQ_REHEARSE_PEOPLE_H
#define SEGQ_REHEARSE_PEOPLE_H

#include "common/base/err.h"

struct play;

/* People who come in this slot of the calendar, and those who are due in it; SQ_ENOMEM. */
SQ_CHECK int people_arrive(struct play *p);
SQ_CHECK int people_due(struct play *p);

#endif

/* names.h: asks name servers for the targets with `discover` while this manager leads (core/discovery.h). Shell. */
#ifndef SEGQ_QUEUEMNG_SERVICE_NAMES_H
#define SEGQ_QUEUEMNG_SERVICE_NAMES_H

#include "queuemng/process/manager.h"

/* At each tick of the leader. */
void mng_names_tick(struct mng_service *s);
/* Open questions die unanswered. */
void mng_names_end(struct mng_service *s);

#endif

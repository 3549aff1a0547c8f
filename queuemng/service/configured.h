/* configured.h: queues and pools of the configuration.
 * Rule: an entry is applied if its object does not exist, or if the entry differs from what was
 * applied last. So a change by the admin API is kept until the entry itself changes. */
#ifndef SEGQ_MNG_CONFIGURED_H
#define SEGQ_MNG_CONFIGURED_H

#include "queuemng/process/manager.h"

/* A pair of the store. */
SQ_CHECK int mng_yaml_load(struct mng_service *s, const char *key, const char *val);
void mng_yaml_apply(struct mng_service *s);
void mng_yaml_forget(struct mng_service *s); /* a term is over */
void mng_yaml_free(struct mng_service *s);

#endif

/* service.h: queuemng: the shell around the manager's core. manager.h has the picture. */
#ifndef SEGQ_MNG_SERVICE_H
#define SEGQ_MNG_SERVICE_H

#include "queuemng/process/manager.h"

SQ_CHECK int mng_service_new(struct mng_service **out, struct ev *ev,
                             const struct mng_cfg *cfg, struct err *e);
void mng_service_free(struct mng_service *s);
/* HUP: *cfg has been replaced in place. */
void mng_service_reload(struct mng_service *s);
/* Before the end: gives up leading, if we do. True: it takes a short moment to say so. */
bool mng_service_stop(struct mng_service *s);

#endif

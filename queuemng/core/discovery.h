/* discovery.h: names of targets with `discover` are asked for by the process, and what it is told comes here
 * (policy/discovery.h, tasks/table.h). */
#ifndef SEGQ_QUEUEMNG_CORE_DISCOVERY_H
#define SEGQ_QUEUEMNG_CORE_DISCOVERY_H

#include "common/base/base.h"
#include "queuemng/policy/discovery.h"

struct mng;
struct mng_out;

typedef void (*mng_ask_fn)(void *ctx, const char *endpoint, const char *url);

/* Asks for each name whose time has come, and that is not being asked for. */
void mng_each_name_due(struct mng *m, msec_t now_ms, mng_ask_fn ask, void *ctx);
/* Name servers have answered, or have not. */
void mng_name_told(struct mng *m, msec_t now_ms, const char *endpoint, const char *url, const struct name_answer *a,
                   struct mng_out *out);

#endif

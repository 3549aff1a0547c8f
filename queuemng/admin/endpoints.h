/* endpoints.h: paths of endpoints and of pinned keys: their definitions, and orders about them. */
#ifndef SEGQ_QUEUEMNG_ADMIN_ENDPOINTS_H
#define SEGQ_QUEUEMNG_ADMIN_ENDPOINTS_H

#include "queuemng/admin/answers.h"

struct key_path;

/* /v1/admin/endpoints/NAME[/VERB]; verb: "" or what stands behind the name */
void admin_endpoint(struct admin_call *c);

/* Rates in units, each with what of it is used; meter: of each, with its calendar window; NULL: they have none. */
json_t *admin_unit_rates(const struct cfg_list *rates, const struct endpoint_row *sum, const struct meter *meter);
/* Quotas by answers. New reference. */
json_t *admin_told(const struct endpoint_def *d, const struct mng_told_view *told);
/* The targets of an endpoint that has several, and names whose addresses are such; new references. */
json_t *admin_endpoint_targets(const struct mng *m, const char *endpoint);
json_t *admin_endpoint_names(const struct mng *m, const char *endpoint);

/* /v1/admin/task-queues/QUEUE/tasks/keys/KEY[/ORDER] */
void admin_pin(struct admin_call *c, const struct key_path *k);

#endif

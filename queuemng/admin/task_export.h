/* task_export.h: a task as it would be submitted again, elsewhere. */
#ifndef SEGQ_QUEUEMNG_ADMIN_TASK_EXPORT_H
#define SEGQ_QUEUEMNG_ADMIN_TASK_EXPORT_H

#include "common/task/call.h"
#include "queuemng/admin/answers.h"

/* A row of an export: `submit` is the text of a submission (TaskSubmit of openapi.yaml), with an
 * Idempotency-Key that no other task of any cluster has; null, and `why`, where it cannot be written. NULL:
 * no memory. */
json_t *task_export_json(const struct msg_task_get_ans *m, const struct export_row *x,
                         const struct mng_part_view *p, const struct token_key *k);

/* Sets method, path and headers of a call, as a submission has them. */
void task_head_json(json_t *o, const struct call *c);
json_t *task_base64_json(struct call_span bytes); /* NULL: no memory */

#endif

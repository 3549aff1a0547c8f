/* task_body.h: payload and result of a task as an operator is shown them, or as it would be submitted again,
 * elsewhere; a payload that an operator gives. */
#ifndef SEGQ_QUEUEMNG_ADMIN_TASK_BODY_H
#define SEGQ_QUEUEMNG_ADMIN_TASK_BODY_H

#include "common/task/call.h"
#include "queuemng/admin/answers.h"
#include "queuemng/admin/walk.h"

/* A row of an export: `submit` is the text of a submission (TaskSubmit of openapi.yaml), with an
 * Idempotency-Key that no other task of any cluster has; null, and `why`, where it cannot be written. NULL:
 * no memory. */
json_t *task_export_json(const struct msg_task_get_ans *m, const struct export_row *x,
                         const struct mng_part_view *p, const struct token_key *k);

#define TASK_SHOWN     4096u        /* bytes that are shown without ?bytes= */
#define TASK_SHOWN_MAX (512u << 10) /* with it */

/* Payload and result, of each at most `most` bytes, by their lengths beyond that. NULL: no memory. */
json_t *task_body_json(const struct msg_task_get_ans *m, const struct export_row *x,
                       const struct mng_part_view *p, size_t most);
/* Reads the payload of a new task: bytes, and their type, into *q, in `room`, which the caller has. An empty
 * object makes *q a plain redrive. False: the answer says what is wrong. */
SQ_CHECK bool task_payload_read(struct admin_call *c, struct task_ask *q, struct buf *room);
/* Appends the call form of a new task: the request of the old one with these bytes. NULL, or why not. */
const char *task_body_call(struct buf *out, const struct bytes_of *old, struct bytes_of bytes);

#endif

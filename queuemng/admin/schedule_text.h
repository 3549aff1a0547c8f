/* schedule_text.h: a schedule's definition as text: changed, compared, shown, and made the message that defines it.
 * What nobody changes stays byte for byte: a payload's numbers may be longer than ours. */
#ifndef SEGQ_QUEUEMNG_ADMIN_SCHEDULE_TEXT_H
#define SEGQ_QUEUEMNG_ADMIN_SCHEDULE_TEXT_H

#include <jansson.h>

#include "common/base/text.h"
#include "common/task/rules.h"
#include "common/wire/msg.h"

/* Makes JSON of it; all: with what it submits. */
json_t *schedule_definition(const struct schedule_row *row, bool all);
/* "key", "from", "to" of each member that differs; of what is submitted only its length and a part of its digest:
 * the log of changes is for everybody. NULL: it is not there. */
json_t *schedule_changes(const struct schedule_row *was, const struct schedule_row *is);

/* NULL, or why a change's body is none: a sentence. It is not changed. */
const char *schedule_patch_wrong(struct slice patch, bool *only_paused);
/* Appends the row's text with the members of the patch in place of its own; null takes one away. The patch's
 * bytes change. */
void schedule_merge(struct buf *out, const struct schedule_row *row, struct slice patch);

struct schedule_place { /* where it is to be; all borrowed */
    const char *queue, *name, *pool, *endpoint; /* endpoint "": workers take the queue's tasks */
    struct cost_rule cost;
    int64_t max_body, max_cost; /* bounds of the pool; 0: any */
};

struct schedule_refusal {
    int status; /* 400, 413, 503 */
    char text[300];
};

/* Appends the TASK_SCHEDULE that defines it. 0; < 0: *no says why not. */
SQ_CHECK int schedule_pack(struct buf *out, const struct schedule_place *at, struct slice text,
                           struct schedule_refusal *no);

#endif

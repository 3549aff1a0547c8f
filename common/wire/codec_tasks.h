/* codec_tasks.h: the table of each message about tasks. Pure. */
#ifndef SEGQ_CODEC_TASKS_H
#define SEGQ_CODEC_TASKS_H

#include "common/wire/fields.h"
#include "common/wire/msg.h"

#define X(name, number, member, ways) const struct fields *codec_##member##_fields(void);
MSG_TASK_RECORDS(X)
#undef X

#endif

/* take.h: workers take what waits. Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_TAKE_H
#define SEGQ_TASKTAB_TAKE_H

#include "task/table/ask.h"

struct door {
    struct part *part;
    const char *queue;
    uint32_t most, lease_ms;
};

void tasktab_take(struct tasktab *t, struct asker a, const struct msg_task_take *q,
                  struct outbox *out);
/* Takes, and answers; false: there is nothing to take, and nothing is said. */
SQ_CHECK bool tasktab_take_now(struct tasktab *t, struct asker a, const struct door *d,
                               struct outbox *out);
void tasktab_take_nothing(struct asker a, uint8_t code, struct outbox *out);

#endif

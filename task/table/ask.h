/* ask.h: routers' questions (and managers' changes): one partition each, or rows of several.
 * Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_ASK_H
#define SEGQ_TASKTAB_ASK_H

#include "task/table/state.h"

struct asker {
    struct tpeer *peer;
    uint64_t rid; /* of the question */
};

void tasktab_put(struct tasktab *t, struct asker a, const struct msg_task_put *q,
                 struct outbox *out);
void tasktab_get(struct tasktab *t, struct asker a, const struct msg_task_get *q,
                 struct outbox *out);
void tasktab_settle(struct tasktab *t, struct asker a, const struct msg_task_settle *q,
                    struct outbox *out);
void tasktab_change(struct tasktab *t, struct asker a, const struct msg_task_change *q,
                    struct outbox *out);

/* What is known of the task now. */
void tasktab_answer_get(struct tasktab *t, struct asker a, const struct part *p, task_no no,
                        bool result, struct outbox *out);
/* The bytes of a body or result, in the arena; n 0: there are none. False: they are lost, or
 * there is no memory. */
SQ_CHECK bool tasktab_bytes(struct tasktab *t, uint64_t ref, struct bytes_of *to,
                            struct arena *mem);

#endif

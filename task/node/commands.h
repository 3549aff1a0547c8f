/* commands.h: routers' questions: one partition each, or rows of several.
 * Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_COMMANDS_H
#define SEGQ_TASKTAB_COMMANDS_H

#include "task/node/answer.h"

/* Makes a code of what the engine said. */
uint8_t tasktab_code(struct tasktab *t, int rc);
/* The partition of a command; NULL: *code says why not. */
struct part *tasktab_commanded(struct tasktab *t, part_no no, uint64_t epoch, uint8_t *code);

/* The task is done; kept: what is kept of its result, n 0: nothing. 0, or as engine_ack(). */
SQ_CHECK int tasktab_keep_done(struct tasktab *t, struct part *p, task_no no, uint64_t lease,
                               const struct bytes_of *kept);

/* Cancels, as engine_cancel(); force: as engine_cut(). */
SQ_CHECK int tasktab_cancel(struct tasktab *t, struct part *p, task_no no, bool force);

/* A piece of a large body, whose submission follows. */
void tasktab_upload(struct tasktab *t, struct asker a, const struct msg_task_upload *q, struct outbox *out);
void tasktab_put(struct tasktab *t, struct asker a, const struct msg_task_put *q,
                 struct outbox *out);
void tasktab_get(struct tasktab *t, struct asker a, const struct msg_task_get *q,
                 struct outbox *out);
void tasktab_take(struct tasktab *t, struct asker a, const struct msg_task_take *q,
                  struct outbox *out);
void tasktab_settle(struct tasktab *t, struct asker a, const struct msg_task_settle *q,
                    struct outbox *out);
void tasktab_progress(struct tasktab *t, struct asker a, const struct msg_task_progress *q,
                      struct outbox *out);
/* Fires it now. Returns enum task_code: CONFLICT: it is not made, since another one is not over, or it
 * cannot be. */
uint8_t tasktab_run_schedule(struct part *p, const char *queue, const char *name, struct arena *mem);
/* Lists those of a queue. */
void tasktab_tell_schedules(struct part *p, const char *queue, struct msg_task_schedule_ans *a,
                            struct arena *mem);
/* Looks at one, defines it, deletes it, for an operator: schedules_do(). */
void tasktab_do_schedule(struct part *p, const struct msg_task_do *q, struct msg_task_do_ans *m, struct arena *mem);
/* Makes the tasks of what is due; the partition's clock has run. */
void tasktab_schedules_advance(struct tasktab *t, struct part *p);
void tasktab_schedule(struct tasktab *t, struct asker a, const struct msg_task_schedule *q,
                      struct outbox *out);
void tasktab_group(struct tasktab *t, struct asker a, const struct msg_task_group *q,
                   struct outbox *out);
void tasktab_change(struct tasktab *t, struct asker a, const struct msg_task_change *q,
                    struct outbox *out);

#endif

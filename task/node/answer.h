/* answer.h: what a look and a take are told, now. Pure. For the files of this room. */
#ifndef SEGQ_TASKTAB_ANSWER_H
#define SEGQ_TASKTAB_ANSWER_H

#include "common/wire/codec.h"
#include "task/engine/look.h"
#include "task/node/state.h"

#define ROW_BYTES 64u /* beside texts and body */
/* Most bytes of rows with bodies in a frame: a row more may be as long as the longest body. */
#define ROWS_BYTES (FRAME_MAX_BODY - TASK_BODY_MAX - 64u * 1024)

struct asker {
    struct tpeer *peer;
    uint64_t rid; /* id of the question */
};

/* Fills in what is known of the task now, but for its result: that has the reference that is returned, 0:
 * none. to_caller: operators are told our own estimate, since its reason is what holds the task up. */
uint64_t tasktab_tell(const struct part *p, task_no no, bool to_caller, struct msg_task_get_ans *m,
                      struct arena *mem);
/* Loads the result by that reference into *m. False: it cannot be read now. Bytes of a shared store come later:
 * tasktab_arrived(). */
SQ_CHECK bool tasktab_load_result(struct tasktab *t, const struct part *p, uint64_t ref,
                                  struct msg_task_get_ans *m, struct arena *mem);
/* And its attempts (DONE: it has been told). */
void tasktab_tell_history(const struct part *p, task_no no, struct msg_task_get_ans *m,
                          struct arena *mem);
void tasktab_answer_get(struct tasktab *t, struct asker a, const struct part *p, task_no no,
                        bool result, struct outbox *out);
/* Adds to the engine's view of a task in line what it does not know: a pause of the pool, the endpoint. */
void tasktab_reckon(const struct part *p, struct task_view *v);
/* And the word of the operator's service in place of ours, if there is one. */
void tasktab_hear_service(const struct part *p, const char *queue, struct task_view *v);
/* Writes the place that its caller is told into *r; false: there is no such task. *said: what its worker has
 * said, which is not written yet; NULL: nothing. */
SQ_CHECK bool tasktab_place(const struct part *p, task_no no, struct place_row *r,
                            const struct progress **said);
void tasktab_tell_progress(const struct part *p, const struct progress *x, struct progress_said *to,
                           struct arena *mem);
void tasktab_feed(struct tasktab *t, struct asker a, const struct msg_task_feed *q, struct outbox *out);
/* How many wait in the queue, and how long one that is submitted now would. */
void tasktab_answer_count(struct asker a, const struct part *p, const char *queue, struct outbox *out);
void tasktab_get_nothing(struct asker a, uint8_t code, struct outbox *out);
/* True: the task is over, and has bytes that a look may ask for. */
bool tasktab_has_result(const struct part *p, task_no no);

/* A piece of an answer that is kept whole. */
void tasktab_read(struct tasktab *t, struct asker a, const struct msg_task_read *q,
                  struct outbox *out);

struct taken;
/* A task that has just started. Its bytes in the frame; 0: its body is lost, and it is tried again,
 * until it is dead. */
size_t tasktab_fill_row(struct tasktab *t, const struct part *p, const struct taken *k,
                        struct taken_row *r, struct arena *mem);

struct door {
    struct part *part;
    const char *queue;
    uint32_t most, lease_ms;
};
/* Takes, and answers; false: there is nothing to take, or no room on the link, and nothing is said. */
SQ_CHECK bool tasktab_take_now(struct tasktab *t, struct asker a, const struct door *d,
                               struct outbox *out);
/* The TAKE of this request id was not heard: what it was given waits again, as nobody has seen it. */
void tasktab_unheard(struct tasktab *t, struct part *p, uint64_t rid);
/* Has that been said of it? The link on which it came may still be up here: it is given nothing more. */
bool tasktab_is_unheard(const struct tasktab *t, uint64_t rid);
void tasktab_take_nothing(struct asker a, uint8_t code, struct outbox *out);

#endif

/* answer.h: what task nodes say, as the API's answers: statuses, problems and JSON. Pure.
 * Composed without printf, into the answer at hand (router/api/response.h). Keys and names are
 * visible ASCII; payloads and results are JSON already, and go in byte for byte. */
#ifndef SEGQ_TASK_API_ANSWER_H
#define SEGQ_TASK_API_ANSWER_H

#include "common/submit/body.h"
#include "common/ticket/token.h"
#include "common/wire/msg.h"
#include "router/api/response.h"
#include "router/task_api/look.h"
#include "router/task_api/result.h"

/* ---- a question's end, as a status, or as a problem in words ---- */

enum task_failure { /* beside enum task_code: what a router says of a question by itself */
    ASK_LOST = TASK_NCODES, /* sent, and no answer came: it may be done */
    ASK_NOBODY,             /* no node has the partition now, or it is not reached */
    ASK_OTHER_KIND,         /* the queue's tasks are calls, and this is of workers; or vice versa */
};

/* Answer to a row of a submission. */
struct task_outcome {
    int status;
    enum api_problem problem; /* status >= 400 */
    const char *detail;
};

/* Says why a task of this cost has no room where so many units wait, of at most `most`; into text[200]. */
const char *task_no_units(char *text, uint64_t cost, uint64_t units, uint64_t most);
/* code: enum task_code or task_failure. */
struct task_outcome task_put_outcome(int code);
struct task_outcome task_take_outcome(int code);
/* Answer about a task that was named by its token: CODE_UNKNOWN: it has gone. */
struct task_outcome task_token_outcome(int code);
struct task_outcome task_feed_outcome(int code, bool of_token);
/* Answer about an attempt that was named by its right. */
struct task_outcome task_complete_outcome(int code);

/* ---- answers ---- */

/* The answer to one submission that was taken: 201; 200: the same again; 202: it is a request that was
 * passed on, and nobody waits for its end. */
void task_answer_put(struct api_ans *a, int status, const struct task_name *t, struct slice queue,
                     uint8_t state);
/* Likewise, after a wait for its end; fresh: it is a new task. 200 if it is final. endpoint: that
 * it is a call to, "" none. */
void task_answer_waited(struct api_ans *a, bool fresh, const struct task_name *t,
                        const struct msg_task_get_ans *m, const char *endpoint);
/* Answers about a task that a worker has settled. */
void task_answer_settled(struct api_ans *a, const struct task_name *t, enum task_verb verb,
                         const struct settled_row *row);
/* Answers a target that has said how its attempt ended: by its id, since the token is not the target's. */
void task_answer_completed(struct api_ans *a, part_no part, task_no no, uint8_t state,
                           int64_t until_ms);
/* A request that was passed on: what the target answered, with its status and header fields, as much
 * as is kept; 202 while the task is not final, 502 if there is no answer that can be passed on. */
void task_answer_call(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const struct passed_from *from, uint64_t salt);
/* Head of an answer that is passed on while it comes; m: PIECE_HEAD. */
void task_answer_passing(struct api_ans *a, const struct task_name *t, const struct msg_task_piece *m,
                         const struct passed_from *from);
/* The same to one who follows it by its result: a browser that goes there shows no page of a stranger's. */
void task_answer_followed(struct api_ans *a, const struct task_name *t, const struct msg_task_piece *m,
                          const struct passed_from *from);
/* Head of an event stream in which a call is told its place, and later its answer. */
void task_answer_progress(struct api_ans *a, const struct task_name *t, part_no part, task_no no);
/* Answers 202 and a look: it has ended, and the answer cannot be read now. */
void task_answer_later(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                       const char *endpoint);
/* The result alone, as much as is kept of it: 204 if that is nothing; 202 while the task is not
 * final, 409 task_final if it ended without one. */
void task_answer_result(struct api_ans *a, const struct msg_task_get_ans *m,
                        const struct passed_from *from, uint64_t salt);
/* To one who follows: as the target answered, once that is over; else like task_answer_result(). */
void task_answer_result_as_told(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                                const struct passed_from *from, uint64_t salt);
/* Answers with what a worker takes; behind its settlement, if that is what the answer has so far. */
void task_answer_taken(struct api_ans *a, const struct msg_task_take_ans *m, part_no part,
                       const struct token_key *k);
/* The tasks of one answer behind those that are there, each with its queue. */
void task_add_taken(struct buf *b, const struct msg_task_take_ans *m, part_no part, const struct token_key *k,
                    struct slice queue);
/* Answers with what has been added so. */
void task_answer_taken_of(struct api_ans *a, const struct buf *tasks);
/* Likewise: its settlement is done, and nothing was taken. */
void task_answer_not_taken(struct api_ans *a, enum api_problem p, const char *detail);
/* The answer of task_answer_settled(), again. */
void task_answer_resume(struct api_ans *a, struct slice settled);
/* Answers about a changed task: its state now; 0 is not told. */
void task_answer_changed(struct api_ans *a, const struct task_name *t, uint8_t state, bool stopping,
                         bool maybe_executed);

/* A list of rows (207): begin, then for each row one of the others, then end. */
void task_list_begin(struct api_ans *a);
void task_list_put(struct api_ans *a, int status, const struct task_name *t, uint8_t state);
void task_list_settled(struct api_ans *a, const struct task_name *t, enum task_verb verb,
                       const struct settled_row *row);
/* wait_ms: to be tried again after so long; 0: it is not said. */
void task_list_problem(struct api_ans *a, enum api_problem p, const char *detail, uint64_t wait_ms);
void task_list_end(struct api_ans *a);

/* Answers of the API about schedules, from what a task node says. */

/* code: enum task_code or task_failure. */
struct task_outcome schedule_outcome(int code, enum schedule_verb verb,
                                     const struct msg_task_schedule_ans *m);
/* Answers a deletion in two pools; what either of them left undone is said. */
int schedule_deleted(int code, int other);
/* Answers a run that has an outcome. */
void schedule_ran(struct api_ans *a, struct slice queue, const char *name,
                  const struct msg_task_schedule_ans *m, part_no part, const struct token_key *k);
/* Answers a question that succeeded. part: of the tasks that it names. */
void schedule_answer(struct api_ans *a, enum schedule_verb verb, struct slice queue, const char *name,
                     const struct msg_task_schedule_ans *m, part_no part, const struct token_key *k);

#endif

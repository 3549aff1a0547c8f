/* look.h: a task as it is, in answers; what came of it: result.h. Pure. */
#ifndef SEGQ_TASK_API_LOOK_H
#define SEGQ_TASK_API_LOOK_H

#include "common/ticket/token.h"
#include "common/wire/msg.h"
#include "router/api/response.h"

struct task_name { /* a task's public name */
    char text[TASK_TOKEN_LEN];
    char then[TASK_TOKEN_LEN]; /* next task of its chain, if its look has one: task_name_then() */
};

void task_name_then(struct task_name *t, const struct msg_task_get_ans *m, const struct token_key *k);

/* A task as it is. endpoint: it is a call to that; "": it is none. */
void task_answer_look(struct api_ans *a, const struct task_name *t, const struct msg_task_get_ans *m,
                      const char *endpoint);
/* When to look again: Retry-After, in whole seconds, rounded up. */
void task_retry_after(struct api_ans *a, const struct msg_task_get_ans *m);

/* Answers how many wait in a queue, and how long a task that is submitted now would. */
void task_answer_count(struct api_ans *a, struct slice queue, const struct msg_task_get_ans *m);
/* Answers with the first tasks of a queue, in order. payloads: with what was submitted. */
void task_answer_first(struct api_ans *a, struct slice queue, const struct msg_task_first_ans *m, part_no part,
                       const struct token_key *k, bool payloads);

/* ---- members of other answers, too ---- */

/* Notes what the answer tells (struct api_told). */
void task_note(struct api_ans *a, const struct task_name *t, uint8_t state);
/* before: up to the name's quote. */
void task_add_name(struct buf *b, const char *before, const struct task_name *t);
/* {"queue":"ride/7" */
void task_add_queue(struct buf *b, struct slice queue);
void task_add_state(struct buf *b, uint8_t state); /* TASK_FREE: nothing */
/* The effect of a cancel on an attempt: it runs out; its target may have done it. */
void task_add_cancel(struct buf *b, bool stopping, bool maybe_executed);
/* ,"ahead_of_priority":3; n: as a node says it; 0, it has not: nothing */
void task_add_ahead(struct buf *b, uint64_t n);
/* ,"eta_s":12,"eta_reason":"pace" */
void task_add_eta(struct buf *b, uint8_t by, int64_t ms);
/* ,"progress":{"at":...,"percent":40,"text":"...","data":{...}} */
void task_add_progress(struct buf *b, const struct progress_said *p);
/* ,"payload":{...}; or ,"content_type":"image/png","payload_base64":"..." */
void task_add_payload(struct buf *b, const void *p, size_t n);
/* JSON as it stands, on one line: no string of it has a break. */
void task_add_line(struct buf *b, struct slice json);
void task_add_key(struct buf *b, const char *key1, const char *key2); /* "": nothing */

#endif

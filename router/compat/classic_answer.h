/* classic_answer.h: answers of our own API in the words of API queues of the classic kind. Pure.
 *
 *   ours                                          theirs
 *   scheduled, waiting, retrying                  pending
 *   running, admitted                             processing
 *   succeeded; finished after it was admitted     completed
 *   dead, expired, cancelled, finished otherwise  failed, and task_error says which
 *   task, entered_at                              task_id, created_at
 *   position, eta_s                               wait_num (those before it), wait_time: numbers, -1
 *                                                 if not known
 *   result; pass and pass_expires_at              task_result: a string, as the target answered it;
 *                                                 the pass as JSON in a string
 *   moments                                       strings; "": not yet
 *   a problem's code and detail                   {code, message}, under the same status */
#ifndef SEGQ_ROUTER_CLASSIC_ANSWER_H
#define SEGQ_ROUTER_CLASSIC_ANSWER_H

#include "router/api/response.h"

#define CLASSIC_TIME_MAX 72

struct classic_clock {
    int64_t now_s;
    const char *layout;
    /* Writes a moment in the layout; how many bytes. */
    size_t (*tell)(char out[CLASSIC_TIME_MAX], const char *layout, int64_t unix_s);
};

/* a: an answer to what classic_ask.h made; what tells of no task and no problem stays as it is. */
void classic_answer(struct api_ans *a, const struct classic_clock *c);

#endif

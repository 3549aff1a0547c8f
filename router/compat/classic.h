/* classic.h: the calls of API queues of the classic kind, as requests of our own API, and its
 * answers in their words. Pure.
 *
 *   POST submitTask  task_type offline: a submission with a call; the queue is that of the endpoint
 *                    with the longest url that target_url begins with
 *                    task_type online: a permit of the line of people of that queue's name, good
 *                    once, for http_method and the path of target_url
 *   GET  queryTask   ?task_id=...: a look, or a poll
 *   POST cancelTask  {"task_id"}: a cancel, or a leave
 *
 *   our answer                                    theirs
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
 *   a problem's code and detail                   {code, message}, under the same status
 *
 * An url is of the endpoint whose own url is its longest beginning, part by part: /api has /api/x,
 * and not /apix. A member that is unknown, unfit, or there twice is refused by its name. */
#ifndef SEGQ_ROUTER_CLASSIC_H
#define SEGQ_ROUTER_CLASSIC_H

#include "common/http/http.h"
#include "router/api/request.h"
#include "router/api/response.h"
#include "router/task_api/pools.h"

/* How far the clock of who submits may be from ours. */
#define CLASSIC_CLOCK_S 900

struct classic_ask {
    struct http_req q; /* question to our own API: its slices point to `arg`, to `body`, and */
    struct api_req a;  /* into the request that it is made of */
    struct slice queue; /* line of people of an online task; n 0: none */
    char arg[TASK_NAME_MAX + 8];
    struct buf body; /* owned */
};

struct classic_error {
    enum api_problem problem;
    const char *allow; /* API_METHOD_NOT_ALLOWED */
    char detail[200];
};

/* rest: of the path, behind /compat/v1/. q's body is changed. False: *e says why. Either way c is to
 * be freed. */
SQ_CHECK bool classic_ask_read(struct classic_ask *c, const struct http_req *q, struct slice rest,
                               const struct pools *pools, int64_t now_s, struct classic_error *e);
void classic_ask_free(struct classic_ask *c);

struct classic_target {
    const char *endpoint; /* borrowed from the map */
    struct slice path;    /* behind the endpoint's url, with its query; from a slash on */
    struct slice whole;   /* path of the url, without its query; likewise */
};

/* NULL: it is found; t points into url, which may be changed. Else what is wrong, a sentence of ours
 * without its subject. *unknown: it is an url, but no endpoint has it. */
const char *classic_target_find(struct classic_target *t, const struct pools *pools,
                                struct slice url, bool *unknown);

#define CLASSIC_TIME_MAX 72

struct classic_clock {
    int64_t now_s;
    const char *layout;
    /* Writes a moment in the layout; how many bytes. */
    size_t (*tell)(char out[CLASSIC_TIME_MAX], const char *layout, int64_t unix_s);
};

/* a: an answer to what classic_ask_read() made; what tells of no task and no problem stays as it is. */
void classic_answer(struct api_ans *a, const struct classic_clock *c);

#endif

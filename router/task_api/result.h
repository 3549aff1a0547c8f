/* result.h: what came of a task: a worker's result, or what the target of a call said, byte for byte: as
 * much as is kept of it. Of a dead call it is what the target said last. Pure. */
#ifndef SEGQ_TASK_API_RESULT_H
#define SEGQ_TASK_API_RESULT_H

#include "common/wire/msg.h"
#include "router/api/response.h"

/* ---- members of a look (look.h) ---- */

/* ,"kind":"callback","endpoint":"gen" and what its target has said; "": it is no call, nothing */
void result_add_call(struct buf *b, const struct msg_task_get_ans *m, const char *endpoint);
/* ,"result":...,"result_length":...; the bytes, if they may stand in JSON of ours */
void result_add(struct buf *b, const struct msg_task_get_ans *m);

/* ---- the bytes alone ---- */

/* True for a final one: it succeeded, or its target has said something. */
bool result_is_there(const struct msg_task_get_ans *m);
/* For a final one: NULL, or why its answer cannot be that to a request that was passed on: there is
 * none, or it is a redirect that does not say where to. */
const char *result_not_passed_on(const struct msg_task_get_ans *m);
/* A browser shows it, and runs nothing of it. */
bool result_is_harmless(const struct msg_task_get_ans *m);
/* Writes its bytes, their type, and lines of the head. Bytes of a stranger's server come under our name: they
 * may be no page of ours. */
void result_put(struct api_ans *a, const struct msg_task_get_ans *m);
/* The same of one whose bytes come later: type and lines. */
void result_begin(struct api_ans *a, const struct msg_task_get_ans *m);

/* ---- header fields of a target's answer, said again in an answer of ours ----
 * Location leads back through us if it leads to the endpoint, as a proxy's does:
 *   http://gen:9000/v2/img/7, of an endpoint http://gen:9000/v2  ->  /v1/call/gen/img/7
 * Any other address stays as it is. */

struct passed_from {
    const char *endpoint, *url; /* like task_way.url; "": not known any more; then Location stays as it is */
};

/* The answer says where to: a redirect without that is none. */
bool passed_on_location(const struct msg_task_get_ans *m);
/* Appends the lines. of_file: but Content-Disposition, which we say ourselves. */
void passed_on_fields(struct buf *headers, const struct msg_task_get_ans *m,
                      const struct passed_from *from, bool of_file);

#endif

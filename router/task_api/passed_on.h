/* passed_on.h: the header fields of a target's answer, said again in an answer of ours. Pure.
 *
 * Location leads back through us if it leads to the endpoint, as a proxy's does:
 *   http://gen:9000/v2/img/7, of an endpoint http://gen:9000/v2  ->  /v1/call/gen/img/7
 * Any other address stays as it is. */
#ifndef SEGQ_TASK_API_PASSED_ON_H
#define SEGQ_TASK_API_PASSED_ON_H

#include "common/wire/msg.h"

struct passed_from {
    const char *endpoint, *url; /* "": not known any more; then Location stays as it is */
};

/* The answer says where to: a redirect without that is none. */
bool passed_on_location(const struct msg_task_get_ans *m);
/* Appends the lines. of_file: but Content-Disposition, which we say ourselves. */
void passed_on_fields(struct buf *headers, const struct msg_task_get_ans *m,
                      const struct passed_from *from, bool of_file);

#endif

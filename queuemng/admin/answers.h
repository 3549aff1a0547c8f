/* answers.h: one call of the admin API, and what the answers have in common. */
#ifndef SEGQ_MNG_ANSWERS_H
#define SEGQ_MNG_ANSWERS_H

#include <jansson.h>

#include "queuemng/lead/manager.h"

struct admin_call { /* one request */
    struct mng_service *s;
    const struct admin_req *q;
    struct admin_ans *a;
    char name[NAME_MAX_LEN + 1]; /* of the queue or node in the path */
};

/* Takes j (NULL: no memory). */
void admin_json(struct admin_ans *a, int status, json_t *j);
/* By sq_err: 404, 409, 400, 503. */
void admin_err(struct admin_ans *a, const struct err *e);
void admin_not_allowed(struct admin_ans *a, const char *allow);
/* What was changed must be on disk before we say so; if not: 503 in place of `a`. */
void admin_kept(struct admin_call *c);

#endif

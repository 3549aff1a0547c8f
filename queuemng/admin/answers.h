/* answers.h: one call of the admin API: its parameters, status and body. */
#ifndef SEGQ_MNG_ANSWERS_H
#define SEGQ_MNG_ANSWERS_H

#include <jansson.h>

#include "common/task/key_limit.h"
#include "queuemng/access/bearer.h"
#include "queuemng/process/manager.h"

#define ADMIN_NAME_MAX KEY_TEXT_MAX /* a key's are the longest */
#define ADMIN_LINES    20 /* of the log that a bearer can cause at once, then one a second */

struct admin_call { /* a request */
    struct mng_service *s;
    const struct admin_req *q;
    struct admin_ans *a;
    const struct bearer *who;
    bool proxied; /* by a proxy of admin_trusted_proxies; q->from is the browser's address, then */
    int64_t began_s; /* Unix time of the sign-in; 0: the request has a token, no session */
    uint64_t session; /* id of that; 0: likewise */
    char name[ADMIN_NAME_MAX + 1]; /* name of the queue, pool, endpoint, key or node in the path */
    const char *rest, *verb; /* rest of the path behind its first word, behind its first name; or "" */
    enum def_kind_no kind;   /* kind of the definition that the call is about */
    json_t **later; /* not NULL: the answer is held back, and here goes its entry of the log */
};

/* Takes j (NULL: no memory). */
void admin_json(struct admin_ans *a, int status, json_t *j);
/* By sq_err: 404 (with this code), 409, 400, 503. */
void admin_err(struct admin_ans *a, const struct err *e, const char *unknown);
void admin_not_allowed(struct admin_ans *a, const char *allow);
/* 200 with j, for what was changed: it must be on disk before we say so; if not: 503. */
void admin_changed(struct admin_call *c, json_t *j);
void admin_kept(struct admin_call *c); /* the same for an answer that is there already */

bool admin_is_true(const struct admin_call *c, const char *name); /* ?name=true */
/* ?name=, a whole number from 1 to max; `absent` if the query does not have it. 0: it is none, and
 * the answer is 400. */
uint64_t admin_number(struct admin_call *c, const char *name, uint64_t max, uint64_t absent);

json_t *admin_moment(int64_t ms); /* Unix seconds; null: 0 */
/* Writes what a process uses; null: it has not said. NULL: no memory. */
json_t *admin_load_json(const struct mng_service *s, enum rpc_role role, const char *name);

#endif

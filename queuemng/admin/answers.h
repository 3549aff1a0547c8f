/* answers.h: one call of the admin API: its parameters, names in its path, status and body. */
#ifndef SEGQ_MNG_ANSWERS_H
#define SEGQ_MNG_ANSWERS_H

#include <jansson.h>

#include "common/base/err.h"
#include "common/task/rules.h"
#include "common/ticket/token.h"
#include "queuemng/access/tokens.h"
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

/* Names in paths: of tickets and tasks (a token, or an id as passes and
 * audit trails have it: "<segment>-<number>", "<partition>-<number>"); of task queues and their keys,
 * which have slashes. */

struct ticket_name {
    seg_id seg;
    uint32_t number;
    bool has_token; /* then these are known, too */
    uint8_t client;
    uint32_t issued_s;
    bool has_subject;
};

/* 0; SQ_EINVAL: neither of both; SQ_EAUTH: a token that is not ours. */
SQ_CHECK int ticket_name_read(struct ticket_name *n, const struct token_key *k,
                              const char *text);
/* The same of a task. */
SQ_CHECK int task_name_read(part_no *part, task_no *no, const struct token_key *k,
                            const char *text);
/* The id alone. */
SQ_CHECK int task_id_read(part_no *part, task_no *no, const char *text);

/* "QUEUE/tasks", "QUEUE/tasks/REST": no part of a queue's name is "tasks" ("tasks-old" may be). REST,
 * or ""; NULL: it is no such path. */
const char *queue_path_read(const char *path, char queue[TASK_NAME_MAX + 1]);

struct schedule_path {
    char queue[TASK_NAME_MAX + 1], name[TASK_NAME_MAX + 1];
    const char *order; /* borrowed: "run"; or "" */
};
/* Behind task-queues/: "QUEUE/tasks/schedules/NAME", "QUEUE/tasks/schedules/NAME/ORDER". False: it is no such
 * path. */
bool schedule_path_read(struct schedule_path *k, const char *path);

struct key_path {
    char queue[TASK_NAME_MAX + 1], key[KEY_TEXT_MAX + 1];
    char verb[8]; /* verb of an order: "pause", "resume"; else "" */
};
/* Behind task-queues/: "QUEUE/tasks/keys/KEY"; of an order "QUEUE/tasks/keys/KEY/VERB". False: it is no
 * such path. */
bool key_path_read(struct key_path *k, const char *path, bool order);

#endif

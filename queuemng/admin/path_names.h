/* path_names.h: names in paths of the admin API: of tickets and tasks (a token, or an id as passes and
 * audit trails have it: "<segment>-<number>", "<partition>-<number>"); of task queues and their keys,
 * which have slashes. Pure. */
#ifndef SEGQ_QUEUEMNG_ADMIN_PATH_NAMES_H
#define SEGQ_QUEUEMNG_ADMIN_PATH_NAMES_H

#include "common/base/err.h"
#include "common/task/key_limit.h"
#include "common/task/rules.h"
#include "common/ticket/token.h"

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

/* changes.h: the operators' log: around every call that may change something, what it did.
 * op_log.h keeps the entries. */
#ifndef SEGQ_MNG_CHANGES_H
#define SEGQ_MNG_CHANGES_H

#include "queuemng/admin/answers.h"

struct admin_change {
    bool watched;
    bool sets;        /* all that the call may change is in its subject: see struct route */
    const char *kind; /* word of a definition's kind, "node", "task" or "" */
    char name[TASK_NAME_MAX + 1 + ADMIN_NAME_MAX + 1]; /* name of a key: "QUEUE KEY" */
    char pin[DEF_NAME_MAX + 1]; /* full name of a key */
    json_t *before;   /* owned; NULL: was not there */
};
/* path: behind /v1/admin/. Every begin needs its end. */
void admin_change_begin(struct admin_change *x, struct admin_call *c, const char *path, bool sets);
void admin_change_end(struct admin_change *x, struct admin_call *c);
/* The held answer to an order leaves (admin_call.later). Takes the entry; NULL is fine. */
void admin_change_done(struct mng_service *s, json_t *entry, int status);
/* GET /v1/admin/audit */
void admin_changes(struct admin_call *c);

#endif

/* mng_admin.h: what the mng_admin*.c files share: the admin API of /v1/admin. */
#ifndef SEGQ_MNG_ADMIN_H
#define SEGQ_MNG_ADMIN_H

#include <jansson.h>

#include "queuemng/service/mng_service.h"

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

/* mng_admin_audit.c: around every call that may change something. */
struct admin_change {
    bool watched;
    const char *kind; /* "queue", "node" or "" */
    char name[NAME_MAX_LEN + 1];
    json_t *before;   /* owned; NULL: was not there */
};
void admin_change_begin(struct admin_change *x, struct admin_call *c, const char *path);
void admin_change_end(struct admin_change *x, struct admin_call *c);
void admin_audit(struct admin_call *c);

/* mng_admin_live.c: what the dashboard looks at */
void admin_live(struct admin_call *c);
void admin_history(struct admin_call *c);

/* mng_admin_page.c: the dashboard's files; false: there is no such path */
bool admin_page(struct admin_call *c);

/* mng_admin_queue.c */
json_t *admin_def_json(const struct queue_def *d, uint64_t version); /* 0: without it */
void admin_queues(struct admin_call *c);               /* /queues */
void admin_queue(struct admin_call *c);                /* /queues/NAME */
void admin_order(struct admin_call *c, const char *verb); /* /queues/NAME/VERB */
/* mng_why.c; text: a token, or "<segment>-<number>" */
void admin_ticket(struct admin_call *c, const char *text);
/* mng_admin_ticket.c: /queues/NAME/tickets/TICKET/move */
void admin_move_ticket(struct admin_call *c, const char *path);
/* mng_admin_view.c */
void admin_cluster(struct admin_call *c);
void admin_targets(struct admin_call *c);
void admin_cluster_parts(struct admin_call *c, json_t *j); /* nodes, routers, moves, metrics */
const char *admin_seg_state(int state);
json_t *admin_eta(double s); /* -1: null; a decimal is enough */
json_t *admin_text(const char *text); /* NULL: null */

#endif

/* routes.h: the admin API of /v1/admin, and the dashboard's files: paths in one table: method, path, the
 * role that it needs, and where the queue or pool is that the bearer must be for. One check, before any
 * handler. */
#ifndef SEGQ_QUEUEMNG_SERVICE_ROUTES_H
#define SEGQ_QUEUEMNG_SERVICE_ROUTES_H

#include "common/http/admin.h"
#include "queuemng/access/tokens.h"
#include "queuemng/admin/answers.h"

enum route_about { /* the part of the cluster that a bearer must be for */
    ABOUT_NOTHING = 1, /* none: the answer has only what the bearer may see */
    ABOUT_ALL,         /* all queues and pools: nodes, budgets, sums */
    ABOUT_QUEUE,       /* the queue of people in the path */
    ABOUT_POOL,        /* the pool, task queue or endpoint in the path */
    ABOUT_QUERY,       /* ?queue= or ?pool= */
    ABOUT_TICKET,      /* the queue that the ticket's segment belongs to */
    ABOUT_TASK,        /* the pool that the task's partition belongs to */
};

struct route {
    const char *method, *path; /* path: behind /v1/admin/, as in openapi.yaml */
    enum role role;            /* the least */
    enum route_about about;
    void (*answer)(struct admin_call *c);
    enum def_kind_no kind;     /* kind of its definition */
    const char *keys;          /* PATCH: an operator may change these; NULL: the role is for all */
    bool sets;                 /* all that it may change is in the definition, or in the state, of its subject */
    bool each;                 /* each manager answers for itself, not the leader alone */
};

extern const struct route routes[];
extern const size_t n_routes;

/* struct admin_opts.handler; ctx: struct mng_service. */
void admin_api(void *ctx, const struct admin_req *q, struct admin_ans *a);

#endif

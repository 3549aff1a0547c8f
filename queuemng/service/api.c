/* api.c: the paths of the admin API. */
#include "queuemng/service/api.h"

#include <string.h>

#include "queuemng/admin/changes.h"
#include "queuemng/admin/cluster.h"
#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/admin/endpoints.h"
#include "queuemng/admin/live.h"
#include "queuemng/admin/queues.h"
#include "queuemng/admin/task_figures.h"
#include "queuemng/admin/tasks.h"
#include "queuemng/admin/trace.h"

#define PREFIX "/v1/admin/"

/* "queues/NAME[/VERB]": the name into c->name, the verb (or "") returned; NULL: neither. */
static const char *split(struct admin_call *c, const char *path)
{
    size_t n = strcspn(path, "/");

    if (n == 0 || n > NAME_MAX_LEN)
        return NULL;
    memcpy(c->name, path, n);
    c->name[n] = 0;
    if (path[n] == 0)
        return "";
    return path[n + 1] != 0 ? path + n + 1 : NULL;
}

/* The whole rest of the path: names of task queues have slashes. */
static bool pool_name(struct admin_call *c, const char *path)
{
    size_t n = strlen(path);

    if (n == 0 || n > NAME_MAX_LEN)
        return false;
    memcpy(c->name, path, n + 1);
    return true;
}

struct read { /* answered to GET */
    const char *path;
    void (*answer)(struct admin_call *c); /* NULL: with the definitions of this kind */
    enum def_kind_no kind;
};
static const struct read of_each[] = { { "manager", admin_manager, 0 },
                                       { "audit", admin_changes, 0 } };
static const struct read of_leader[] = { { "cluster", admin_cluster, 0 },
                                         { "live", admin_live, 0 },
                                         { "history", admin_history, 0 },
                                         { "cluster/history", admin_cluster_history, 0 },
                                         { "targets", admin_targets, 0 },
                                         { "queues", admin_queues, 0 },
                                         { "pools", NULL, DEF_POOL },
                                         { "endpoints", NULL, DEF_ENDPOINT },
                                         { "budgets", admin_budgets, 0 },
                                         { "pinned-keys", NULL, DEF_PIN },
                                         { "task-queues", admin_task_queues, 0 } };

/* True: it is one of them, and answered. */
static bool read(struct admin_call *c, const char *path, const struct read *v, size_t n)
{
    while (n > 0 && strcmp(v->path, path) != 0) {
        v++;
        n--;
    }
    if (n > 0 && strcmp(c->q->method, "GET") != 0)
        admin_not_allowed(c->a, "GET, HEAD");
    else if (n > 0 && v->answer != NULL)
        v->answer(c);
    else if (n > 0)
        admin_definitions(c, v->kind);
    return n > 0;
}

static void of_queue(struct admin_call *c, const char *verb)
{
    if (verb[0] == '\0')
        admin_queue(c);
    else if (strcmp(verb, "history") == 0)
        admin_queue_history(c);
    else if (strcmp(verb, "preview") == 0)
        admin_preview(c);
    else
        admin_order(c, verb);
}

static void route(struct admin_call *c, const char *path)
{
    const char *verb = NULL;

    if (read(c, path, of_each, ARRAY_LEN(of_each)))
        return;
    if (!c->s->leads)
        admin_elsewhere(c);
    else if (read(c, path, of_leader, ARRAY_LEN(of_leader)))
        return;
    else if (strncmp(path, "queues/", 7) == 0 && (verb = split(c, path + 7)) != NULL)
        of_queue(c, verb);
    else if (strncmp(path, "pools/", 6) == 0 && pool_name(c, path + 6))
        admin_definition(c, DEF_POOL, c->name, NULL);
    else if (strncmp(path, "endpoints/", 10) == 0 && (verb = split(c, path + 10)) != NULL)
        admin_endpoint(c, verb);
    else if (strncmp(path, "budgets/", 8) == 0 && (verb = split(c, path + 8)) != NULL && verb[0] == '\0')
        admin_definition(c, DEF_BUDGET, c->name, NULL);
    else if (strncmp(path, "tasks/", 6) == 0)
        admin_task(c, path + 6);
    else if (strncmp(path, "task-queues/", 12) == 0)
        admin_task_queue(c, path + 12);
    else if (strncmp(path, "nodes/", 6) == 0 && (verb = split(c, path + 6)) != NULL)
        admin_node(c, verb);
    else if (strncmp(path, "tickets/", 8) == 0 && strcmp(c->q->method, "GET") == 0)
        admin_trace(c, path + 8);
    else if (strncmp(path, "tickets/", 8) == 0)
        admin_not_allowed(c->a, "GET, HEAD");
    else
        admin_problem(c->a, 404, "not_found", "no such path");
}

void admin_api(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    struct admin_call c = { .s = ctx, .q = q, .a = a };
    struct admin_change change;

    if (strncmp(q->path, PREFIX, sizeof(PREFIX) - 1) != 0) {
        if (!admin_page(&c))
            admin_problem(a, 404, "not_found", "no such path");
    } else if (!q->authorized) {
        admin_problem(a, 401, "unauthorized",
                      "missing or invalid admin token: it is in the file that admin_token_file names");
    } else {
        admin_change_begin(&change, &c, q->path + sizeof(PREFIX) - 1);
        route(&c, q->path + sizeof(PREFIX) - 1);
        admin_change_end(&change, &c);
    }
}

/* api.c: the paths of the admin API. */
#include "queuemng/admin/api.h"

#include <string.h>

#include "queuemng/admin/changes.h"
#include "queuemng/admin/cluster.h"
#include "queuemng/admin/leader.h"
#include "queuemng/admin/live.h"
#include "queuemng/admin/nodes.h"
#include "queuemng/admin/page.h"
#include "queuemng/admin/queues.h"
#include "queuemng/admin/trace.h"

#define PREFIX "/v1/admin/"

/* ---- paths ----------------------------------------------------------------------- */

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

static void get_only(struct admin_call *c, void (*fn)(struct admin_call *c))
{
    if (strcmp(c->q->method, "GET") == 0)
        fn(c);
    else
        admin_not_allowed(c->a, "GET, HEAD");
}

static void route(struct admin_call *c, const char *path)
{
    const char *verb = NULL;

    if (strcmp(path, "manager") == 0) {
        get_only(c, admin_manager);
    } else if (strcmp(path, "audit") == 0) {
        get_only(c, admin_changes); /* each manager's own */
    } else if (!c->s->leads) {
        admin_elsewhere(c);
    } else if (strcmp(path, "cluster") == 0) {
        get_only(c, admin_cluster);
    } else if (strcmp(path, "live") == 0) {
        get_only(c, admin_live);
    } else if (strcmp(path, "history") == 0) {
        get_only(c, admin_history);
    } else if (strcmp(path, "targets") == 0) {
        get_only(c, admin_targets);
    } else if (strcmp(path, "queues") == 0) {
        get_only(c, admin_queues);
    } else if (strncmp(path, "queues/", 7) == 0 && (verb = split(c, path + 7)) != NULL) {
        if (verb[0] == 0)
            admin_queue(c);
        else
            admin_order(c, verb);
    } else if (strncmp(path, "nodes/", 6) == 0 && (verb = split(c, path + 6)) != NULL) {
        admin_node(c, verb);
    } else if (strncmp(path, "tickets/", 8) == 0) {
        if (strcmp(c->q->method, "GET") == 0)
            admin_trace(c, path + 8);
        else
            admin_not_allowed(c->a, "GET, HEAD");
    } else {
        admin_problem(c->a, 404, "not_found", "no such path");
    }
}

void admin_api(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    struct admin_call c = { .s = ctx, .q = q, .a = a };
    struct admin_change change;

    if (strncmp(q->path, PREFIX, sizeof(PREFIX) - 1) != 0) {
        if (!admin_page(&c))
            admin_problem(a, 404, "not_found", "no such path");
    } else if (!q->authorized) {
        admin_problem(a, 401, "unauthorized", "missing or invalid admin token");
    } else {
        admin_change_begin(&change, &c, q->path + sizeof(PREFIX) - 1);
        route(&c, q->path + sizeof(PREFIX) - 1);
        admin_change_end(&change, &c);
    }
}

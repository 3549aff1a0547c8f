/* mng_admin.c: the admin API's paths, and what its answers have in common. */
#include "queuemng/mng_admin.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "/v1/admin/"

static const char page[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>segq</title></head>"
    "<body><h1>segq: queuemng</h1>\n"
    "<p>This is the admin port of a waiting room's manager. Everything under "
    "<code>/v1/admin/</code> wants <code>Authorization: Bearer &lt;admin token&gt;</code>."
    "</p>\n<ul><li><a href=\"/healthz\">/healthz</a></li><li><a href=\"/metrics\">/metrics"
    "</a></li><li>GET /v1/admin/cluster</li><li>GET /v1/admin/queues</li>"
    "<li>GET /v1/admin/targets</li></ul>\n"
    "<p>On the command line: <code>segqctl status</code>.</p></body></html>\n";

void admin_json(struct admin_ans *a, int status, json_t *j)
{
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    char *text = j != NULL ? json_dumps(j, flags) : NULL;

    json_decref(j);
    if (text == NULL) {
        admin_problem(a, 503, "queue_unavailable", "out of memory");
        return;
    }
    a->status = status;
    a->content_type = "application/json";
    buf_str(&a->body, text);
    buf_byte(&a->body, '\n');
    free(text);
}

void admin_err(struct admin_ans *a, const struct err *e)
{
    switch (e->code) {
    case SQ_EUNKNOWN:
        admin_problem(a, 404, "queue_not_found", "%s", e->text);
        break;
    case SQ_ECONFLICT:
        admin_problem(a, 409, "conflict", "%s", e->text);
        break;
    case SQ_EINVAL:
    case SQ_ETOOBIG:
        admin_problem(a, 400, "bad_request", "%s", e->text);
        break;
    default:
        admin_problem(a, 503, "queue_unavailable", "%s", e->text);
    }
}

void admin_not_allowed(struct admin_ans *a, const char *allow)
{
    admin_problem(a, 405, "method_not_allowed", "allowed: %s", allow);
    a->allow = allow;
}

void admin_kept(struct admin_call *c)
{
    if (mng_service_flush(c->s))
        return;
    c->a->etag = NULL;
    admin_problem(c->a, 503, "queue_unavailable",
                  "the store cannot be written: the change may be lost at a restart");
}

/* ---- nodes ----------------------------------------------------------------------- */

static void drain(struct admin_call *c, bool on)
{
    struct err e = { 0 };

    if (strcmp(c->q->method, "POST") != 0) {
        admin_not_allowed(c->a, "POST");
        return;
    }
    if (mng_drain(c->s->mng, ev_now(c->s->ev), c->name, on, mng_service_step(c->s), &e) < 0) {
        if (e.code == SQ_EUNKNOWN)
            admin_problem(c->a, 404, "not_found", "%s", e.text);
        else
            admin_err(c->a, &e);
        return;
    }
    admin_json(c->a, 200, json_pack("{s:s,s:b}", "node", c->name, "draining", on));
    admin_kept(c);
}

static void node(struct admin_call *c, const char *verb)
{
    if (strcmp(verb, "drain") == 0 || strcmp(verb, "undrain") == 0)
        drain(c, verb[0] == 'd');
    else
        admin_problem(c->a, 404, "not_found", "no such path");
}

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

    if (strcmp(path, "cluster") == 0) {
        get_only(c, admin_cluster);
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
        node(c, verb);
    } else {
        admin_problem(c->a, 404, "not_found", "no such path");
    }
}

static void front(struct admin_call *c)
{
    c->a->status = 200;
    c->a->content_type = "text/html; charset=utf-8";
    buf_str(&c->a->body, page);
}

void mng_admin(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    struct admin_call c = { .s = ctx, .q = q, .a = a };

    if (strcmp(q->path, "/") == 0)
        get_only(&c, front);
    else if (strncmp(q->path, PREFIX, sizeof(PREFIX) - 1) != 0)
        admin_problem(a, 404, "not_found", "no such path");
    else if (!q->authorized)
        admin_problem(a, 401, "unauthorized", "an admin token is wanted");
    else
        route(&c, q->path + sizeof(PREFIX) - 1);
}

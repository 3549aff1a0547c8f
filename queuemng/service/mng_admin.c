/* mng_admin.c: the admin API's paths, and what its answers have in common. */
#include "queuemng/service/mng_admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "/v1/admin/"

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
    uint64_t need;

    switch (mng_service_flush(c->s, &need)) {
    case MNG_KEPT:
        break;
    case MNG_KEPT_LATER:
        mng_hold(c->s, c->a, need);
        break;
    case MNG_NOT_KEPT:
        c->a->etag = NULL;
        admin_problem(c->a, 503, "queue_unavailable",
                      "the store cannot be written: the change may be lost at a restart");
        break;
    }
}

/* ---- several managers ------------------------------------------------------------ */

/* What this one is; each answers for itself. */
static void manager(struct admin_call *c)
{
    const struct mng_service *s = c->s;
    struct mng_lead_view v = { .leads = s->leads, .lease_age_ms = -1, .leader = "",
                               .leader_admin = "" };
    struct mng_counts n;
    char self[80];

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    mng_count(s->mng, &n);
    snprintf(self, sizeof(self), "http://%s", v.leader_admin);
    admin_json(c->a, 200,
               json_pack("{s:s,s:s,s:I,s:s,s:s*,s:o,s:o,s:o}", "node", s->cfg->node, "role",
                         s->leads ? "leader" : "standby", "epoch",
                         (json_int_t)(s->lead != NULL ? v.epoch : n.epoch), "store",
                         s->lead != NULL ? "redis" : "file", "redis", v.redis,
                         "store_reachable",
                         json_boolean(s->lead != NULL ? v.reachable : s->store_ok),
                         "lease_age_ms",
                         v.lease_age_ms >= 0 ? json_integer(v.lease_age_ms) : json_null(),
                         "leader",
                         v.leader_admin[0] == 0 ? json_null()
                                                : json_pack("{s:s,s:s}", "node", v.leader,
                                                            "admin", self)));
}

/* Sent on to the leader: a question by 307, an order by 409 with its address: whoever
 * gives it decides where. */
static void elsewhere(struct admin_call *c)
{
    struct mng_lead_view v;
    bool get = strcmp(c->q->method, "GET") == 0;
    char url[80];

    mng_lead_look(c->s->lead, &v);
    if (v.leader_admin[0] == 0) {
        admin_problem(c->a, 503, "not_leader", "no manager leads at present");
        return;
    }
    snprintf(url, sizeof(url), "http://%s", v.leader_admin);
    admin_json(c->a, get ? 307 : 409,
               json_pack("{s:s,s:i,s:s,s:s,s:s,s:s}", "title",
                         get ? "Temporary Redirect" : "Conflict", "status", get ? 307 : 409,
                         "code", "not_leader", "detail", "another manager leads", "leader",
                         url, "request_id", c->a->request_id));
    c->a->content_type = "application/problem+json";
    snprintf(c->a->location_buf, sizeof(c->a->location_buf), "%s%s%s%s", url, c->q->raw_path,
             c->q->query[0] != 0 ? "?" : "", c->q->query);
    if (get)
        c->a->location = c->a->location_buf;
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

static void forget_answer(struct admin_call *c, const struct mng_forget_end *end)
{
    char text[200];

    if (end->forgotten)
        snprintf(text, sizeof(text), "It is forgotten. Should it come back, it is a new node.");
    else
        snprintf(text, sizeof(text), "It is given up: %u of its segments wait for a node with "
                 "room. It is forgotten when they have one.", end->segments);
    admin_json(c->a, end->forgotten ? 200 : 202,
               json_pack("{s:s,s:b,s:i,s:s}", "node", c->name, "forgotten", end->forgotten,
                         "segments", (int)end->segments, "detail", text));
    admin_kept(c);
}

static void forget(struct admin_call *c)
{
    struct mng_forget_end end;
    struct err e = { 0 };
    char word[8] = "";
    bool force = admin_query(c->q->query, "force", word, sizeof(word)) &&
                 strcmp(word, "true") == 0;

    if (strcmp(c->q->method, "POST") != 0)
        admin_not_allowed(c->a, "POST");
    else if (mng_forget(c->s->mng, ev_now(c->s->ev), c->name, force, &end,
                        mng_service_step(c->s), &e) == 0)
        forget_answer(c, &end);
    else if (e.code == SQ_EUNKNOWN)
        admin_problem(c->a, 404, "not_found", "%s", e.text);
    else
        admin_err(c->a, &e);
}

static void node(struct admin_call *c, const char *verb)
{
    if (strcmp(verb, "drain") == 0 || strcmp(verb, "undrain") == 0)
        drain(c, verb[0] == 'd');
    else if (strcmp(verb, "forget") == 0)
        forget(c);
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

    if (strcmp(path, "manager") == 0) {
        get_only(c, manager);
    } else if (strcmp(path, "audit") == 0) {
        get_only(c, admin_audit); /* each manager's own */
    } else if (!c->s->leads) {
        elsewhere(c);
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
        else if (strncmp(verb, "tickets/", 8) == 0)
            admin_move_ticket(c, verb + 8);
        else
            admin_order(c, verb);
    } else if (strncmp(path, "nodes/", 6) == 0 && (verb = split(c, path + 6)) != NULL) {
        node(c, verb);
    } else if (strncmp(path, "tickets/", 8) == 0) {
        if (strcmp(c->q->method, "GET") == 0)
            admin_ticket(c, path + 8);
        else
            admin_not_allowed(c->a, "GET, HEAD");
    } else {
        admin_problem(c->a, 404, "not_found", "no such path");
    }
}

void mng_admin(void *ctx, const struct admin_req *q, struct admin_ans *a)
{
    struct admin_call c = { .s = ctx, .q = q, .a = a };
    struct admin_change change;

    if (strncmp(q->path, PREFIX, sizeof(PREFIX) - 1) != 0) {
        if (!admin_page(&c))
            admin_problem(a, 404, "not_found", "no such path");
    } else if (!q->authorized) {
        admin_problem(a, 401, "unauthorized", "an admin token is wanted");
    } else {
        admin_change_begin(&change, &c, q->path + sizeof(PREFIX) - 1);
        route(&c, q->path + sizeof(PREFIX) - 1);
        admin_change_end(&change, &c);
    }
}

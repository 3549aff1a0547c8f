/* routes.c: the table, and the check. */
#include "queuemng/service/routes.h"

#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/http/request_headers.h"
#include "common/net/net.h"
#include "queuemng/admin/answers.h"
#include "queuemng/admin/changes.h"
#include "queuemng/admin/cluster.h"
#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/admin/endpoints.h"
#include "queuemng/admin/live.h"
#include "queuemng/admin/queues.h"
#include "queuemng/admin/sign_in.h"
#include "queuemng/admin/task_figures.h"
#include "queuemng/admin/task_schedule.h"
#include "queuemng/admin/tasks.h"
#include "queuemng/admin/trace.h"

#define LOG_MODULE "manager"

static void definitions(struct admin_call *c)
{
    admin_definitions(c, c->kind);
}

static void definition(struct admin_call *c)
{
    admin_definition(c, c->kind, c->name, NULL);
}

/* ---- the table ---- */

/* Without a role or what it is about a row does not compile. */
#define R(method_, path_, role_, about_, answer_, ...)                                       \
    { .method = method_, .path = path_, .role = ROLE_##role_, .about = ABOUT_##about_,         \
      .answer = answer_, ##__VA_ARGS__ }
/* A definition of a kind: whoever sees it; the whole of it is an admin's, some keys an operator's. */
#define DEFINED(path, about, answer, no, operator_keys)                                   \
    R("GET", path, VIEWER, about, answer, .kind = no),                                    \
        R("PUT", path, ADMIN, about, answer, .kind = no, .sets = true),                   \
        R("PATCH", path, OPERATOR, about, answer, .kind = no, .keys = operator_keys, .sets = true), \
        R("DELETE", path, ADMIN, about, answer, .kind = no)
#define A_QUEUE "queues/{queue}"
#define ENDPT   "endpoints/{endpoint}"
#define TASKS   "task-queues/{taskQueue}/tasks"

/* Rows for an operator: what a launch night needs, also if it cannot be taken back (release,
 * passthrough: then the room itself is the trouble). For an admin: what takes away places, tasks or
 * definitions of all (flush, cancel and discard of a whole queue, delete, forget). */
const struct route routes[] = {
    R("GET", "whoami", VIEWER, NOTHING, admin_whoami, .each = true),
    R("POST", "session", VIEWER, NOTHING, admin_sign_in, .each = true),
    R("DELETE", "session", VIEWER, NOTHING, admin_sign_out, .each = true),
    R("POST", "tokens/reload", ADMIN, ALL, admin_tokens_reload, .each = true),
    R("GET", "manager", VIEWER, NOTHING, admin_manager, .each = true),
    R("GET", "audit", VIEWER, NOTHING, admin_changes, .each = true),
    R("GET", "cluster", VIEWER, NOTHING, admin_cluster),
    R("GET", "live", VIEWER, NOTHING, admin_live),
    R("GET", "history", VIEWER, QUERY, admin_history),
    R("GET", "cluster/history", VIEWER, ALL, admin_cluster_history),
    R("GET", "targets", VIEWER, NOTHING, admin_targets),
    R("GET", "queues", VIEWER, NOTHING, admin_queues),
    DEFINED(A_QUEUE, QUEUE, admin_queue, DEF_QUEUE,
            "state mode max_active release_per_s limits fallback_per_s max_rise_per_s message page.messages"),
    R("GET", "suspects", OPERATOR, QUERY, admin_suspects),
    R("GET", A_QUEUE "/history", VIEWER, QUEUE, admin_queue_history),
    R("GET", A_QUEUE "/preview", VIEWER, QUEUE, admin_preview),
    R("POST", A_QUEUE "/pause", OPERATOR, QUEUE, admin_order, .sets = true),
    R("POST", A_QUEUE "/resume", OPERATOR, QUEUE, admin_order, .sets = true),
    R("POST", A_QUEUE "/close", OPERATOR, QUEUE, admin_order, .sets = true),
    R("POST", A_QUEUE "/open", OPERATOR, QUEUE, admin_order, .sets = true),
    R("POST", A_QUEUE "/passthrough", OPERATOR, QUEUE, admin_order, .sets = true),
    R("POST", A_QUEUE "/reject", OPERATOR, QUEUE, admin_order, .sets = true),
    R("POST", A_QUEUE "/release", OPERATOR, QUEUE, admin_order),
    R("POST", A_QUEUE "/flush", ADMIN, QUEUE, admin_order),
    R("POST", A_QUEUE "/restore", ADMIN, QUEUE, admin_order),
    R("GET", "pools", VIEWER, NOTHING, definitions, .kind = DEF_POOL),
    DEFINED("pools/{match}", POOL, definition, DEF_POOL,
            "paused queue key subkey limits fallback_per_s"),
    R("GET", "endpoints", VIEWER, NOTHING, definitions, .kind = DEF_ENDPOINT),
    DEFINED(ENDPT, POOL, admin_endpoint, DEF_ENDPOINT, "paused rate_per_s burst rates max_concurrent"),
    R("POST", ENDPT "/pause", OPERATOR, POOL, admin_endpoint, .sets = true),
    R("POST", ENDPT "/resume", OPERATOR, POOL, admin_endpoint, .sets = true),
    R("GET", ENDPT "/targets", VIEWER, POOL, admin_endpoint),
    R("POST", ENDPT "/drain", OPERATOR, POOL, admin_endpoint),
    R("POST", ENDPT "/undrain", OPERATOR, POOL, admin_endpoint),
    R("POST", ENDPT "/trip", OPERATOR, POOL, admin_endpoint, .sets = true),
    R("POST", ENDPT "/reset", OPERATOR, POOL, admin_endpoint),
    R("GET", ENDPT "/probe", VIEWER, POOL, admin_endpoint),
    R("POST", ENDPT "/probe", OPERATOR, POOL, admin_endpoint),
    R("GET", "budgets", VIEWER, NOTHING, admin_budgets),
    DEFINED("budgets/{budget}", ALL, definition, DEF_BUDGET, "rate_per_s max_active"),
    R("GET", "routes", VIEWER, NOTHING, definitions, .kind = DEF_ROUTE),
    DEFINED("routes/{route}", ALL, definition, DEF_ROUTE, "rules"),
    R("GET", "pinned-keys", VIEWER, NOTHING, definitions, .kind = DEF_PIN),
    R("GET", "ticks", VIEWER, NOTHING, admin_ticks),
    R("GET", "task-queues", VIEWER, NOTHING, admin_task_queues),
    R("GET", "task-queues/busiest", VIEWER, QUERY, admin_task_queue),
    R("POST", "task-queues/export", OPERATOR, QUERY, admin_task_queue),
    R("GET", TASKS, VIEWER, POOL, admin_task_queue),
    R("GET", TASKS "/schedules", VIEWER, POOL, admin_task_queue),
    DEFINED(TASKS "/schedules/{schedule}", POOL, admin_task_queue, DEF_NKINDS, "paused"),
    R("POST", TASKS "/schedules/{schedule}/run", OPERATOR, POOL, admin_task_queue),
    R("GET", TASKS "/keys", VIEWER, POOL, admin_task_queue),
    DEFINED(TASKS "/keys/{taskKey}", POOL, admin_task_queue, DEF_PIN, "paused"),
    R("POST", TASKS "/keys/{taskKey}/pause", OPERATOR, POOL, admin_task_queue, .sets = true),
    R("POST", TASKS "/keys/{taskKey}/resume", OPERATOR, POOL, admin_task_queue, .sets = true),
    R("POST", TASKS "/cancel", ADMIN, POOL, admin_task_queue),
    R("POST", TASKS "/redrive", OPERATOR, POOL, admin_task_queue),
    R("POST", TASKS "/stop", OPERATOR, POOL, admin_task_queue),
    R("POST", TASKS "/discard", ADMIN, POOL, admin_task_queue),
    R("GET", "tasks/{task}", VIEWER, TASK, admin_task),
    R("GET", "tasks/{task}/payload", OPERATOR, TASK, admin_task),
    R("POST", "tasks/{task}/cancel", OPERATOR, TASK, admin_task),
    R("POST", "tasks/{task}/run", OPERATOR, TASK, admin_task),
    R("POST", "tasks/{task}/redrive", OPERATOR, TASK, admin_task),
    R("POST", "tasks/{task}/discard", ADMIN, TASK, admin_task),
    R("GET", "tickets/{ticket}", VIEWER, TICKET, admin_trace),
    R("POST", "tickets/{ticket}/rebind", OPERATOR, TICKET, admin_rebind),
    R("POST", "nodes/{node}/drain", OPERATOR, ALL, admin_node, .sets = true),
    R("POST", "nodes/{node}/undrain", OPERATOR, ALL, admin_node, .sets = true),
    R("POST", "nodes/{node}/forget", ADMIN, ALL, admin_node),
};
const size_t n_routes = ARRAY_LEN(routes);

/* ---- paths ---- */

/* Is the path one of this form? A name has no slash; that of a task queue ends at its "/tasks", a
 * pool's and a key's is as long as what follows lets it be. */
static bool matches(const char *form, const char *path)
{
    char queue[TASK_NAME_MAX + 1];
    bool long_name = strncmp(form, "{match}", 7) == 0 || strncmp(form, "{taskKey}", 9) == 0;
    const char *behind = form[0] == '{' ? strchr(form, '}') + 1 : NULL;

    if (form[0] != '{')
        return form[0] == path[0] && (form[0] == '\0' || matches(form + 1, path + 1));
    if (strncmp(form, "{taskQueue}", 11) == 0)
        return queue_path_read(path, queue) != NULL && matches(behind, path + strlen(queue));
    for (size_t n = 0; path[n] != '\0' && (long_name || path[n] != '/'); n++)
        if (matches(behind, path + n + 1))
            return n < ADMIN_NAME_MAX;
    return false;
}

/* The first name of the path into c->name; what follows it, and what follows the first word. */
static void take_names(struct admin_call *c, const char *form, const char *path)
{
    size_t at = strcspn(form, "{"), n;
    const char *slash = strchr(path, '/');

    c->rest = slash != NULL ? slash + 1 : "";
    c->verb = "";
    c->name[0] = '\0';
    if (form[at] == '\0')
        return;
    if (strncmp(form + at, "{taskQueue}", 11) == 0)
        (void)queue_path_read(path + at, c->name);
    else {
        n = strchr(form + at, '}')[1] == '\0' ? strlen(path + at) : strcspn(path + at, "/");
        assert(n <= ADMIN_NAME_MAX);
        memcpy(c->name, path + at, n);
        c->name[n] = '\0';
    }
    n = at + strlen(c->name);
    if (path[n] == '/')
        c->verb = path + n + 1;
}

static const struct route *find(const char *method, const char *path)
{
    for (size_t i = 0; i < n_routes; i++)
        if (strcmp(routes[i].method, method) == 0 && matches(routes[i].path, path))
            return &routes[i];
    return NULL;
}

/* 405 with what the path takes, or 404. */
static void no_route(struct admin_call *c, const char *path)
{
    static const char *const methods[] = { "GET", "PUT", "PATCH", "DELETE", "POST" };
    char *allow = c->a->location_buf; /* room that lives as long as the answer */
    size_t n = 0, cap = sizeof(c->a->location_buf);

    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (find(methods[i], path) != NULL)
            n += (size_t)snprintf(allow + n, cap - n, "%s%s", n > 0 ? ", " : "",
                                  i == 0 ? "GET, HEAD" : methods[i]);
    if (n > 0)
        admin_not_allowed(c->a, allow);
    else
        admin_problem(c->a, 404, "not_found", "no such path, or a name in it that no queue, pool, key or "
                      "node can have");
}

/* ---- the check ---- */

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = list; n > 0 && (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

/* May an operator change this key? "page.messages" in the list: that member of the map alone. */
static bool is_operators(const char *keys, const struct cfg_node *n)
{
    char name[80];

    if (has_word(keys, n->key) || strcmp(n->key, "version") == 0)
        return true;
    for (size_t i = 0; n->kind == CFG_NODE_MAP && i < n->n_kids; i++) {
        snprintf(name, sizeof(name), "%.30s.%.40s", n->key, n->kid[i]->key);
        if (!has_word(keys, name))
            return false;
    }
    return n->kind == CFG_NODE_MAP && n->n_kids > 0;
}

/* The role that this call needs; *key: the key of a definition because of which. What cannot be read
 * is refused by its handler, which reads it in the same way. */
static enum role role_needed(const struct route *r, const struct admin_call *c, char key[64])
{
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    enum role role = r->role;

    key[0] = '\0';
    if (r->keys == NULL || c->who->role != ROLE_OPERATOR ||
        cfg_parse_json(&doc, (const char *)c->q->body, c->q->body_len, &e) < 0)
        return role;
    for (size_t i = 0; doc->kind == CFG_NODE_MAP && i < doc->n_kids; i++) {
        if (is_operators(r->keys, doc->kid[i]))
            continue;
        role = ROLE_ADMIN;
        snprintf(key, 64, "%.63s", doc->kid[i]->key);
        break;
    }
    cfg_node_free(doc);
    return role;
}

static bool has_query(const struct admin_call *c)
{
    bool is_pool = admin_query_has(c->q->query, "pool");
    char name[TASK_NAME_MAX + 1];

    if (!admin_query(c->q->query, is_pool ? "pool" : "queue", name, sizeof(name)))
        return true; /* the handler asks for a name */
    return is_pool ? bearer_has_pool(c->who, name) : bearer_has_queue(c->who, name);
}

static bool has_ticket(const struct admin_call *c)
{
    struct mng_place_view place;
    struct ticket_name n;

    return ticket_name_read(&n, &c->s->keys.token, c->name) == 0 &&
           mng_place(c->s->mng, n.seg, &place) && bearer_has_queue(c->who, place.queue);
}

static bool has_task(const struct admin_call *c)
{
    struct mng_part_view p;
    part_no part;
    task_no no;

    return task_name_read(&part, &no, &c->s->keys.token, c->name) == 0 &&
           mng_part(c->s->mng, part, &p) && bearer_has_pool(c->who, p.pool);
}

/* Is the bearer for what the call is about? Whether it exists makes no difference. A standby does not
 * know tickets and tasks; its answer sends to the leader, which looks again. */
static bool is_for(const struct route *r, const struct admin_call *c)
{
    if (r->about == ABOUT_NOTHING || bearer_has_all(c->who))
        return true;
    switch (r->about) {
    case ABOUT_QUEUE:
        return bearer_has_queue(c->who, c->name);
    case ABOUT_POOL:
        return bearer_has_pool(c->who, c->name);
    case ABOUT_QUERY:
        return has_query(c);
    case ABOUT_TICKET:
        return !c->s->leads || has_ticket(c);
    case ABOUT_TASK:
        return !c->s->leads || has_task(c);
    default:
        return false;
    }
}

static const char *about_words(const struct route *r)
{
    static const char *const words[] = { [ABOUT_ALL] = "all queues and pools",
                                         [ABOUT_QUEUE] = "this queue",
                                         [ABOUT_POOL] = "this pool, task queue or endpoint",
                                         [ABOUT_QUERY] = "this queue or pool",
                                         [ABOUT_TICKET] = "the queue of this ticket",
                                         [ABOUT_TASK] = "the pool of this task" };

    return words[r->about];
}

static void log_refused(const struct admin_call *c, const char *row, const char *role, const char *needs,
                        const char *name, const char *what)
{
    uint64_t left_out;

    if (log_may(&c->s->refused_log, ev_now(c->s->ev), ADMIN_LINES, &left_out))
        log_warn("event=admin_refused token=%s role=%s needs=%s who=%s from=%s did=%s what=%s left_out=%" PRIu64, row, role,
                 needs, log_q(name, strlen(name)), c->q->from != NULL ? c->q->from : "", c->q->method, what, left_out);
}

static bool may(const struct route *r, struct admin_call *c)
{
    char key[64], words[BEARER_WORDS_CAP];
    enum role needed = role_needed(r, c, key);
    bool is_role = c->who->role >= needed;

    if (is_role && is_for(r, c))
        return true;
    if (!is_role)
        admin_problem(c->a, 403, "forbidden", "the role %s is needed%s%s; %s is of role %s",
                      role_word(needed), key[0] != '\0' ? " to change " : "", key,
                      bearer_words(c->who, words), role_word(c->who->role));
    else
        admin_problem(c->a, 403, "forbidden", "the role %s for %s is needed; %s is not for that",
                      role_word(needed), about_words(r), bearer_words(c->who, words));
    log_refused(c, c->who->row, role_word(c->who->role), role_word(needed), c->who->name, r->path);
    return false;
}

/* Answers, or refuses: 403, 404, 405, and at a standby what leads to the leader. path: behind
 * /v1/admin/; c->who is known. */
static void route_call(struct admin_call *c, const char *path)
{
    const struct route *r = find(c->q->method, path);
    struct admin_change change;

    if (r != NULL) {
        take_names(c, r->path, path);
        c->kind = r->kind;
        if (!may(r, c))
            return;
    }
    if (!c->s->leads && (r == NULL || !r->each)) {
        admin_elsewhere(c);
    } else if (r == NULL) {
        no_route(c, path);
    } else if (r->role == ROLE_VIEWER) { /* changes nothing of the cluster */
        r->answer(c);
    } else {
        admin_change_begin(&change, c, path, r->sets);
        r->answer(c);
        admin_change_end(&change, c);
    }
}

/* ---- the caller: the bearer of a token or of a session, or a person whom a proxy has signed in ---- */

#define PREFIX "/v1/admin/"

/* ---- proxies ---- */

static bool says_who(const struct admin_req *q)
{
    const struct admin_forwarded *f = &q->forwarded;

    return f->user[0] != '\0' || f->email[0] != '\0' || f->groups[0] != '\0';
}

/* The secret, if there has to be one. */
static bool is_proved(struct mng_service *s, const struct admin_req *q)
{
    const char *said = q->forwarded.proof;
    size_t n = strlen(s->proxy_secret);
    uint64_t left_out;

    if (s->cfg->admin_proxy_secret_file[0] == '\0')
        return true;
    if (n > 0 && strlen(said) == n && sodium_memcmp(said, s->proxy_secret, n) == 0)
        return true;
    if (says_who(q) && log_may(&s->refused_log, ev_now(s->ev), ADMIN_LINES, &left_out))
        log_warn("event=proxy_unproved from=%s left_out=%" PRIu64, q->from, left_out);
    return false;
}

/* Does a proxy ask that is believed? Then from becomes the browser's address, as far as proxies say it:
 * in `text`, which stays. The list is read each time: operators are few. */
static bool is_proxied(struct mng_service *s, struct admin_req *q, char text[NET_TEXT_MAX])
{
    const struct cfg_list *l = &s->cfg->admin_trusted_proxies;
    struct net_addr browser = { .len = sizeof(browser.in6), .in6.sin6_family = AF_INET6 };
    const struct http_via *via = q->forwarded.via;
    struct ip_net nets[CFG_NETS_MAX];
    struct ip ip;
    size_t n = 0;

    while (n < l->n && ip_net_parse(&nets[n], ((char **)l->v)[n])) /* mng_cfg_check() has, too */
        n++;
    if (q->from == NULL || !ip_parse(&ip, q->from, strlen(q->from)) || !ip_in_any(nets, n, &ip))
        return false;
    if (!is_proved(s, q))
        return false;
    if (via != NULL && forwarded_client(&ip, FORWARDED_X, via->line, via->n, nets, n) > 0) {
        memcpy(&browser.in6.sin6_addr, ip.b, sizeof(ip.b));
        net_ip_text(&browser, text);
        q->from = text;
    }
    return true;
}

/* No row is for the person: to us they are nobody. */
static void no_row(struct admin_call *c, const struct access_person *p, const struct access_token *ended)
{
    const char *name = p->user[0] != '\0' ? p->user : p->email;

    if (ended != NULL)
        admin_problem(c->a, 401, "unauthorized", "the proxy has signed in %s, whose row %s of "
                      "admin_tokens_file has ended, at %s", name, ended->name, ended->until);
    else if (!person_ok(name))
        admin_problem(c->a, 401, "unauthorized", "the proxy has signed in somebody without a user name or "
                      "address of printable ASCII, of at most %d characters", PERSON_MAX);
    else
        admin_problem(c->a, 401, "unauthorized", "the proxy has signed in %s: admin_tokens_file has no row "
                      "for this name, nor for a group of theirs", name);
    log_refused(c, "-", "none", "viewer", name, "-");
}

/* ---- who it is ---- */

/* A browser adds the cookie, or the proxy's session, to requests that another site has made it send, too:
 * they are no proof that its user wants them. */
static bool may_be_forged(struct admin_call *c, const char *what)
{
    if (c->q->dashboard || strcmp(c->q->method, "GET") == 0)
        return false;
    admin_problem(c->a, 403, "forbidden", "%s is for the dashboard: with it alone, without "
                  "X-Segq-Dashboard, another site may have made the browser ask", what);
    return true;
}

static const struct access_token *by_token(struct admin_call *c)
{
    const struct admin_req *q = c->q;
    const struct access_token *t = access_find(&c->s->root, q->token, q->token_len);

    if (t == NULL)
        t = access_find(&c->s->tokens, q->token, q->token_len);
    if (t == NULL)
        admin_problem(c->a, 401, "unauthorized",
                      "missing or invalid admin token: it is in the file that admin_token_file names, "
                      "or was made by segqctl token add");
    return t;
}

static const struct access_token *by_session(struct admin_call *c)
{
    const struct access_token *t = sign_in_token(c);

    if (t == NULL)
        admin_problem(c->a, 401, "unauthorized", "the session has ended, or its token was revoked: sign "
                      "in again");
    return t == NULL || may_be_forged(c, "a session") ? NULL : t;
}

/* The row of the person that a proxy has signed in. NULL: the answer says why not, or is still empty:
 * there is none, but a session may be. */
static const struct access_token *by_proxy(struct admin_call *c, const char **person)
{
    const struct admin_forwarded *f = &c->q->forwarded;
    const struct access_person p = { f->user, f->email, f->groups };
    const struct access_token *ended, *t;

    if (f->twice) {
        admin_problem(c->a, 400, "bad_request", "X-Forwarded-User, -Email or -Groups comes twice: the proxy "
                      "has to put its own in place of the browser's, not beside it");
        return NULL;
    }
    t = access_of_person(&c->s->tokens, &p, ev_wall_ms(c->s->ev), person, &ended);
    if (t == NULL && c->q->session_len == 0)
        no_row(c, &p, ended);
    return t == NULL || may_be_forged(c, "a proxy's sign-on") ? NULL : t;
}

/* A token goes before all: whoever sends one says who they are, and if it is wrong, they are nobody;
 * what a program may do is what its token says, also behind a proxy that has an account for it. A
 * person whom a proxy has signed in goes before a cookie: the browser may be somebody else's by now,
 * whom the proxy knows, and the cookie does not. */
static const struct access_token *row_of(struct admin_call *c, const char **person)
{
    const struct access_token *t = NULL;

    if (c->q->token_len == 0 && c->proxied && says_who(c->q)) {
        t = by_proxy(c, person);
        if (t != NULL || c->a->status != 0)
            return t;
    }
    t = c->q->token_len == 0 && c->q->session_len > 0 ? by_session(c) : by_token(c);
    if (t == NULL || !access_is_over(t, ev_wall_ms(c->s->ev)))
        return t;
    admin_problem(c->a, 401, "unauthorized", "the token %s has ended, at %s", t->name, t->until);
    return NULL;
}

void admin_api(void *ctx, const struct admin_req *request, struct admin_ans *a)
{
    struct admin_req q = *request;
    struct admin_call c = { .s = ctx, .q = &q, .a = a };
    const struct access_token *t;
    const char *person = NULL;
    char from[NET_TEXT_MAX];
    struct bearer who;

    c.proxied = is_proxied(c.s, &q, from);
    if (strncmp(q.path, PREFIX, sizeof(PREFIX) - 1) != 0) {
        if (!admin_page(&c))
            admin_problem(a, 404, "not_found", "no such path");
    } else if ((t = row_of(&c, &person)) != NULL) {
        who = bearer_of(t, person);
        c.who = &who;
        route_call(&c, q.path + sizeof(PREFIX) - 1);
    }
}

/* changes.c: every change by an operator is logged (op_log.h), whatever its path: the call's
 * subject (a queue's definition, a node's drain) is read before and after it, and the difference
 * is logged. So a new kind of order is logged, too. A call that could change nothing else than its subject,
 * and did not (a definition written back as it was read, the pause of a paused queue), is no change.
 *
 * A token with a name says who it was, or a proxy that has signed the person in; `token` is the name of
 * the row that the role is from. With the token of admin_token_file, which many may have, the name
 * is the request's own word (X-Segq-Operator): it helps colleagues to find each other, and proves
 * nothing. That of a row is marked then, so that nobody acts in its name. */
#include "queuemng/admin/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/ev.h"
#include "queuemng/admin/answers.h"
#include "queuemng/admin/definitions.h"

#define LOG_MODULE "audit"
#define WHO_MAX      64
#define UNPROVED     " (unproved)"
#define WHO_CAP      (PERSON_MAX + sizeof(UNPROVED))
#define QUEUES       "task-queues/"
#define AUDIT_N      100 /* entries answered without ?n= */

/* ---- the subject of a call ------------------------------------------------------- */

struct node_ask {
    const char *name;
    json_t *j;
};

static void on_node(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;
    struct node_ask *a = ctx;

    if (strcmp(n->name, a->name) == 0)
        a->j = json_pack("{s:b}", "draining", n->draining);
}

static void on_task_node(void *ctx, const void *view)
{
    const struct mng_task_node_view *n = view;
    struct node_ask *a = ctx;

    if (strcmp(n->name, a->name) != 0)
        return;
    if (a->j == NULL)
        a->j = json_pack("{s:b}", "draining", n->draining);
    else /* a segment node has the same name: the order is for both */
        (void)json_object_set_new(a->j, "task_node_draining", json_boolean(n->draining));
}

/* The part of the path behind `prefix`, up to the next of `end`; false: it has none. */
static bool name_in(const char *path, const char *prefix, const char *end,
                    char name[ADMIN_NAME_MAX + 1])
{
    size_t n = strlen(prefix), len;

    if (strncmp(path, prefix, n) != 0)
        return false;
    len = strcspn(path + n, end);
    if (len == 0 || len > NAME_MAX_LEN)
        return false;
    memcpy(name, path + n, len);
    name[len] = '\0';
    return true;
}

static json_t *node_subject(const struct mng *m, const char *name)
{
    struct node_ask a = { name, NULL };

    mng_each_node(m, on_node, &a);
    mng_each_task_node(m, on_task_node, &a);
    return a.j;
}

static json_t *def_subject(const struct mng *m, enum def_kind_no kind, const char *name)
{
    const void *d = mng_defined(m, kind, name, NULL);
    json_t *j = d != NULL ? admin_def_json(d, def_kinds[kind].keys, 0) : NULL;

    if (j != NULL && kind == DEF_ENDPOINT)
        (void)json_object_set_new(j, "tripped", json_boolean(mng_endpoint_tripped(m, name)));
    return j;
}

/* NULL: about nothing that is there. */
static json_t *subject(const struct admin_change *x, const struct mng *m)
{
    for (enum def_kind_no k = 0; k < DEF_NKINDS; k++)
        if (def_kinds[k].word != NULL && strcmp(def_kinds[k].word, x->kind) == 0)
            return def_subject(m, k, k == DEF_PIN ? x->pin : x->name);
    return strcmp(x->kind, "node") == 0 ? node_subject(m, x->name) : NULL;
}

static void name_key(struct admin_change *x, const struct key_path *k)
{
    snprintf(x->name, sizeof(x->name), "%s %s", k->queue, k->key);
    snprintf(x->pin, sizeof(x->pin), "%s:%s", k->queue, k->key);
    x->kind = "key";
}

static void name_schedule(struct admin_change *x, const struct schedule_path *k)
{
    snprintf(x->name, sizeof(x->name), "%s %s", k->queue, k->name);
    x->kind = "schedule";
}

static void name_task(struct admin_change *x, struct mng_service *s)
{
    part_no part;
    task_no no;

    if (task_name_read(&part, &no, &s->keys.token, x->name) == 0)
        snprintf(x->name, sizeof(x->name), "%u-%llu", part, (unsigned long long)no);
    x->kind = "task";
}

static void name_ticket(struct admin_change *x, struct mng_service *s)
{
    struct ticket_name n;

    if (ticket_name_read(&n, &s->keys.token, x->name) == 0)
        snprintf(x->name, sizeof(x->name), "%llu-%u", (unsigned long long)n.seg, n.number);
    else
        strcpy(x->name, "-");
    x->kind = "ticket";
}

/* True: the path is about a definition that a file may list. */
static bool name_definition(struct admin_change *x, const char *path)
{
    for (enum def_kind_no k = 0; k < DEF_FILE_END; k++) {
        const char *end = k == DEF_POOL ? "" : "/"; /* a pool's name has slashes */
        char prefix[32];

        snprintf(prefix, sizeof(prefix), "%s/", def_kinds[k].words);
        if (name_in(path, prefix, end, x->name)) {
            x->kind = def_kinds[k].word;
            return true;
        }
    }
    return false;
}

void admin_change_begin(struct admin_change *x, struct admin_call *c, const char *path, bool sets)
{
    struct schedule_path schedule;
    struct key_path key;

    *x = (struct admin_change){ .kind = "", .watched = true, .sets = sets };
    if (name_in(path, "nodes/", "/", x->name))
        x->kind = "node";
    else if (name_in(path, "tasks/", "/", x->name))
        name_task(x, c->s);
    else if (name_in(path, "tickets/", "/", x->name))
        name_ticket(x, c->s);
    else if (strncmp(path, QUEUES, strlen(QUEUES)) == 0 && schedule_path_read(&schedule, path + strlen(QUEUES)))
        name_schedule(x, &schedule);
    else if (!name_definition(x, path) && strncmp(path, QUEUES, strlen(QUEUES)) == 0 &&
             key_path_read(&key, path + strlen(QUEUES), strcmp(c->q->method, "POST") == 0))
        name_key(x, &key);
    x->before = subject(x, c->s->mng);
}

/* ---- the difference -------------------------------------------------------------- */

/* Their values are secrets: the log has that they changed, and not the values. */
static void mask_headers(json_t *headers)
{
    json_t *h;
    size_t i;

    json_array_foreach(headers, i, h) {
        if (json_string_length(json_object_get(h, "value")) > 0 &&
            json_object_set_new(h, "value", json_string("(secret)")) < 0)
            (void)json_object_del(h, "value");
    }
}

static void add_change(json_t *list, const char *key, json_t *from, json_t *to)
{
    if (strcmp(key, "bypass.headers") == 0) {
        mask_headers(from);
        mask_headers(to);
    }
    (void)json_array_append_new(list, json_pack("{s:s,s:O?,s:O?}", "key", key, "from", from,
                                                "to", to));
}

static void diff(json_t *list, const char *prefix, json_t *from, json_t *to)
{
    const char *k;
    char key[160];
    json_t *v;

    json_object_foreach(to, k, v) {
        json_t *old = json_object_get(from, k);

        snprintf(key, sizeof(key), "%s%s", prefix, k);
        if (json_is_object(v) && json_is_object(old)) {
            char deeper[170];

            snprintf(deeper, sizeof(deeper), "%s.", key);
            diff(list, deeper, old, v);
        } else if (old == NULL || !json_equal(old, v)) {
            add_change(list, key, old, v);
        }
    }
}

/* ---- the entry ------------------------------------------------------------------- */

static bool is_a_tokens(const struct access_file *f, const char *name)
{
    const struct access_token *v = f->v.v;

    for (size_t i = 0; i < f->v.n; i++)
        if (strcasecmp(v[i].name, name) == 0 || strcasecmp(v[i].user, name) == 0 ||
            strcasecmp(v[i].email, name) == 0)
            return true;
    return false;
}

/* The bearer's name, or that which the request gives itself: what is not a plain character becomes '?',
 * and a name that somebody's row proves is marked. */
static void who_of(const struct admin_call *c, char who[WHO_CAP])
{
    size_t n = 0;

    if (strcmp(c->who->row, TOKEN_ROOT) != 0) {
        copy_text(who, WHO_CAP, c->who->name);
        return;
    }
    for (const char *p = c->q->operator_name; p != NULL && *p != '\0' && n < WHO_MAX; p++)
        who[n++] = *p >= 0x20 && *p < 0x7f ? *p : '?';
    who[n] = '\0';
    if (n == 0)
        strcpy(who, "unnamed");
    else if (is_a_tokens(&c->s->tokens, who))
        strcat(who, UNPROVED);
}

/* "state=paused", "message=..", at most as much as a line of the log likes. */
static void changes_text(const json_t *changes, char *out, size_t cap)
{
    size_t i, n = 0;
    json_t *x;

    out[0] = '\0';
    json_array_foreach(changes, i, x) {
        char *to = json_dumps(json_object_get(x, "to"),
                              JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

        if (n + 8 < cap)
            n += (size_t)snprintf(out + n, cap - n, "%s%s=%.60s", n > 0 ? " " : "",
                                  json_string_value(json_object_get(x, "key")),
                                  to != NULL ? to : "?");
        free(to);
    }
}

/* The path of an order about a task or ticket, with its id: a token is the right to read it. */
static void path_of(const struct admin_change *x, const struct admin_call *c, char *out, size_t cap)
{
    bool is_ticket = strcmp(x->kind, "ticket") == 0;
    const char *rest = is_ticket || strcmp(x->kind, "task") == 0 ? strrchr(c->q->path, '/') : NULL;

    if (rest != NULL)
        snprintf(out, cap, "/v1/admin/%s/%s%s", is_ticket ? "tickets" : "tasks", x->name, rest);
    else
        snprintf(out, cap, "%s", c->q->path);
}

/* NULL: no memory. */
static json_t *entry_of(const struct admin_change *x, const struct admin_call *c, json_t *changes)
{
    char who[WHO_CAP], path[512];

    who_of(c, who);
    path_of(x, c, path, sizeof(path));
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:O,s:s}", "who", who, "token", c->who->row,
                     "role", role_word(c->who->role), "from",
                     c->q->from != NULL ? c->q->from : "", "method", c->q->method, "path", path,
                     "query", c->q->query, "kind", x->kind, "name", x->name, "status",
                     c->a->status, "changes", changes, "request_id", c->a->request_id);
}

static const char *text_of(const json_t *entry, const char *key)
{
    const char *s = json_string_value(json_object_get(entry, key));

    return s != NULL && s[0] != '\0' ? s : "-";
}

/* Takes the entry. */
static void note(struct mng_service *s, json_t *entry)
{
    const char *who = text_of(entry, "who"), *path = text_of(entry, "path");
    const char *name = text_of(entry, "name");
    char text[160];

    changes_text(json_object_get(entry, "changes"), text, sizeof(text));
    if (text[0] != '\0')
        log_info("event=admin_change %s=%s by=%s role=%s from=%s change=%s", text_of(entry, "kind"),
                 strchr(name, ' ') != NULL ? log_q(name, strlen(name)) : name, log_q(who, strlen(who)), text_of(entry, "role"),
                 text_of(entry, "from"),
                 log_q(text, strlen(text)));
    else
        log_info("event=operator who=%s role=%s from=%s did=%s what=%s", log_q(who, strlen(who)),
                 text_of(entry, "role"), text_of(entry, "from"), text_of(entry, "method"), log_q(path, strlen(path)));
    op_log_add(s->op_log, entry, ev_wall_ms(s->ev));
}

/* Leaves out refusals, which have changed nothing. 503: it may have happened. */
static bool is_done(int status)
{
    return status < 300 || status == 503;
}

/* True: the subject is as it was, and nothing else can have changed. */
static bool is_idle(const struct admin_change *x, const struct admin_call *c, const json_t *after)
{
    return x->sets && c->later == NULL && c->a->status < 300 && x->before != NULL && after != NULL &&
           json_equal(x->before, after);
}

void admin_change_end(struct admin_change *x, struct admin_call *c)
{
    if (x->watched && (is_done(c->a->status) || c->later != NULL)) {
        json_t *after = subject(x, c->s->mng), *changes = json_array(), *entry = NULL;
        bool idle = is_idle(x, c, after);

        if (x->before != NULL && after != NULL)
            diff(changes, "", x->before, after);
        if (!idle)
            entry = entry_of(x, c, changes);
        json_decref(changes);
        json_decref(after);
        if (c->later != NULL)
            *c->later = entry;
        else if (!idle)
            note(c->s, entry);
    }
    json_decref(x->before);
}

void admin_change_done(struct mng_service *s, json_t *entry, int status)
{
    if (entry != NULL && is_done(status)) {
        (void)json_object_set_new(entry, "status", json_integer(status));
        note(s, entry);
    } else {
        json_decref(entry);
    }
}

/* ---- GET /v1/admin/audit?n= ------------------------------------------------------ */

/* Is the entry about a queue or pool that the bearer may see? A key's name begins with its queue. */
static bool is_seen(const struct bearer *who, const json_t *entry)
{
    const char *kind = text_of(entry, "kind");
    char name[sizeof(((struct admin_change *)0)->name)];

    if (bearer_has_all(who))
        return true;
    copy_text(name, sizeof(name), text_of(entry, "name"));
    name[strcspn(name, " ")] = '\0';
    if (strcmp(kind, "queue") == 0)
        return bearer_has_queue(who, name);
    return (strcmp(kind, "pool") == 0 || strcmp(kind, "endpoint") == 0 || strcmp(kind, "key") == 0 ||
            strcmp(kind, "schedule") == 0) &&
           bearer_has_pool(who, name);
}

void admin_changes(struct admin_call *c)
{
    size_t n = admin_number(c, "n", OP_LOG_KEPT, AUDIT_N);
    struct op_log_counts k;
    json_t *all, *seen, *x;
    size_t i;

    if (n == 0)
        return;
    op_log_count(c->s->op_log, &k);
    all = op_log_last(c->s->op_log, OP_LOG_KEPT);
    seen = json_array();
    json_array_foreach(all, i, x)
        if (json_array_size(seen) < n && is_seen(c->who, x))
            (void)json_array_append(seen, x);
    json_decref(all);
    admin_json(c->a, 200, json_pack("{s:o,s:I}", "entries", seen, "unwritten",
                                    (json_int_t)k.unwritten));
}

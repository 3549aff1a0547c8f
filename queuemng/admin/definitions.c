/* definitions.c: see the header. */
#include "queuemng/admin/definitions.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/process/manager.h"
#include "queuemng/state/records.h"

json_t *admin_def_json(const void *def, const struct cfg_key *keys, uint64_t version)
{
    json_t *j = def_keys_json(def, keys);

    if (j != NULL && version != 0 &&
        json_object_set_new(j, "version", json_integer((json_int_t)version)) < 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* Headers that let a visitor pass: without their values they are refused if they are written back,
 * so that none is replaced by what was shown. */
json_t *admin_def_shown(const struct admin_call *c, const void *def, const struct cfg_key *keys,
                        uint64_t version)
{
    json_t *j = admin_def_json(def, keys, version), *h;
    size_t i;

    if (c->who->role < ROLE_ADMIN)
        json_array_foreach(json_object_get(json_object_get(j, "bypass"), "headers"), i, h)
            (void)json_object_del(h, "value");
    return j;
}

struct defs {
    const struct admin_call *c;
    enum def_kind_no kind;
    json_t *list;
};

static bool is_seen(const struct defs *x, const void *def)
{
    switch (x->kind) {
    case DEF_QUEUE:
        return bearer_has_queue(x->c->who, def_name(def));
    case DEF_PIN:
        return bearer_has_pool(x->c->who, ((const struct key_pin *)def)->queue);
    case DEF_BUDGET:
    case DEF_ROUTE:
        return bearer_has_all(x->c->who);
    default:
        return bearer_has_pool(x->c->who, def_name(def));
    }
}

static void add_def(void *ctx, const void *view)
{
    const struct mng_def_view *v = view;
    const struct defs *x = ctx;

    if (is_seen(x, v->def))
        (void)json_array_append_new(x->list, admin_def_shown(x->c, v->def, v->keys, v->version));
}

json_t *admin_defs_json(const struct admin_call *c, enum def_kind_no kind)
{
    struct defs x = { c, kind, json_array() };

    mng_each_defined(c->s->mng, kind, add_def, &x);
    return x.list;
}

void admin_definitions(struct admin_call *c, enum def_kind_no kind)
{
    admin_json(c->a, 200, json_pack("{s:o}", def_kinds[kind].words, admin_defs_json(c, kind)));
}

/* ---- kinds -------------------------------------------------------------------------------------- */

static const struct {
    const char *unknown; /* code of the 404 */
    const char *refers;  /* and of what a new one names */
} kinds[DEF_NKINDS] = {
    [DEF_BUDGET] = { "budget_not_found", "budget_not_found" },
    [DEF_ENDPOINT] = { "endpoint_not_found", "endpoint_not_found" },
    [DEF_POOL] = { "pool_not_found", "pool_not_found" },
    [DEF_QUEUE] = { "queue_not_found", "queue_not_found" },
    [DEF_ROUTE] = { "route_not_found", "endpoint_not_found" },
    [DEF_PIN] = { "key_not_found", "pool_not_found" },
};

void admin_def_err(struct admin_call *c, enum def_kind_no kind, const struct err *e)
{
    admin_err(c->a, e, kinds[kind].unknown);
}

static void not_found(struct admin_call *c, enum def_kind_no kind, const char *name)
{
    struct err e = { 0 };

    mng_not_defined(kind, name, &e);
    admin_def_err(c, kind, &e);
}

struct least {
    const struct endpoint_def *endpoint;
    json_t *to;
};

void admin_queue_warns(json_t *to, const struct queue_def *d)
{
    char text[400];

    snprintf(text, sizeof(text), "turn_notice.push_contact: no browser can be told, since no pool %s/HOST has the endpoint "
             "of a push service: segqctl endpoint add fcm url=https://fcm.googleapis.com; segqctl pool add "
             "%s/fcm.googleapis.com endpoint=fcm; others: docs/turn.md", d->turn.queue, d->turn.queue);
    (void)json_object_set_new(to, "warning", json_string(text));
}

struct warned {
    const char *queue;
    json_t *to;
};

static void warn_of_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    const struct warned *x = ctx;

    if (q->push_none && strcmp(q->def->name, x->queue) == 0)
        admin_queue_warns(x->to, q->def);
}

static void warn_of_least(void *ctx, const void *view)
{
    const struct pool_def *pool = ((const struct mng_def_view *)view)->def;
    const struct least *x = ctx;
    char text[200];

    if (strcmp(pool->endpoint, x->endpoint->name) != 0 || pool->max_cost >= x->endpoint->cost.min)
        return;
    snprintf(text, sizeof(text), "cost.min %lld is above max_cost %lld of pool %s: it refuses each call",
             (long long)x->endpoint->cost.min, (long long)pool->max_cost, pool->match);
    (void)json_object_set_new(x->to, "warning", json_string(text));
}

void admin_answer_def(struct admin_call *c, enum def_kind_no kind, const char *name, int status)
{
    uint64_t version = 0;
    const void *d = mng_defined(c->s->mng, kind, name, &version);
    json_t *j;

    if (d == NULL) {
        not_found(c, kind, name);
        return;
    }
    j = admin_def_shown(c, d, def_kinds[kind].keys, version);
    if (kind == DEF_ENDPOINT && strcmp(c->q->method, "GET") != 0) /* no refusal: a file that raises both raises the pool's behind it */
        mng_each_defined(c->s->mng, DEF_POOL, warn_of_least, &(struct least){ d, j });
    if (kind == DEF_QUEUE && strcmp(c->q->method, "GET") != 0)
        mng_each_queue(c->s->mng, warn_of_queue, &(struct warned){ name, j });
    admin_json(c->a, status, j);
    snprintf(c->a->etag_buf, sizeof(c->a->etag_buf), "\"%llu\"", (unsigned long long)version);
    c->a->etag = c->a->etag_buf;
}

/* ---- conditions, bodies --------------------------------------------------------------------------- */

/* If-Match: * or a list of tags; true if the present version is in it. */
static bool matches(const char *if_match, uint64_t version)
{
    char tag[40];

    if (if_match[0] == 0 || strcmp(if_match, "*") == 0)
        return true;
    snprintf(tag, sizeof(tag), "\"%llu\"", (unsigned long long)version);
    for (const char *p = if_match; *p != 0;) {
        size_t n;

        p += strspn(p, " ,\t");
        n = strcspn(p, " ,\t");
        if (text_is(p, n, tag))
            return true;
        p += n;
    }
    return false;
}

/* PUT with If-Match of what is not there: it never was, or was removed meanwhile. */
static void not_there(struct admin_call *c, enum def_kind_no kind, const char *name)
{
    struct err e = { 0 };

    mng_not_defined(kind, name, &e);
    admin_problem(c->a, 412, "conflict", "%s; without If-Match, PUT makes it", e.text);
}

/* May PUT, PATCH, DELETE go on? False: the answer says why not. version 0: it is not there. */
static bool may_change(struct admin_call *c, enum def_kind_no kind, const char *name, uint64_t version)
{
    const char *what = def_kinds[kind].word;
    bool is_put = strcmp(c->q->method, "PUT") == 0;

    if (version == 0 && !is_put)
        not_found(c, kind, name);
    else if (version == 0 && c->q->if_match[0] != 0)
        not_there(c, kind, name);
    else if (version != 0 && !matches(c->q->if_match, version))
        admin_problem(c->a, 412, "conflict", "%s %s was changed meanwhile, it is at version %llu now: "
                      "look at it again", what, c->name, (unsigned long long)version);
    else if (is_put && version != 0 && strcmp(c->q->if_none_match, "*") == 0)
        admin_problem(c->a, 412, "conflict", "%s %s exists already; PATCH changes it (segqctl %s set)",
                      what, c->name, what);
    else
        return true;
    return false;
}

/* `version` and `warning` are ours, not the table's: what was read may be written back as it is.
 * The name may be left out. */
static int fit_body(struct cfg_node *doc, const char *key, const char *name, struct err *e)
{
    struct cfg_node *n = cfg_node_get(doc, key);

    if (doc->kind != CFG_NODE_MAP)
        return err_set(e, SQ_EINVAL, "the body must be a JSON object");
    for (size_t i = doc->n_kids; i-- > 0;)
        if (strcmp(doc->kid[i]->key, "version") == 0 || strcmp(doc->kid[i]->key, "warning") == 0) {
            cfg_node_free(doc->kid[i]);
            memmove(&doc->kid[i], &doc->kid[i + 1],
                    (doc->n_kids - i - 1) * sizeof(doc->kid[0]));
            doc->n_kids--;
        }
    if (n != NULL && (n->text == NULL || strcmp(n->text, name) != 0))
        return err_set(e, SQ_EINVAL, "%s: differs from the one in the path", key);
    return 0;
}

/* A new one: the name is the path's. */
static int bind_named(const struct def_kind *k, const char *name, struct cfg_node *doc, void *def,
                      struct err *e)
{
    char set[ADMIN_NAME_MAX + 16];
    struct cfg_node *n;
    int rc;

    snprintf(set, sizeof(set), "%s=%s", k->name, name);
    rc = cfg_set(doc, k->keys, set, e);
    if (rc < 0)
        return rc;
    n = cfg_node_get(doc, k->name);
    n->line = CFG_LINE_JSON; /* for errors: it came in the path, not by --set */
    n->quoted = true;
    return cfg_bind(def, k->size, k->keys, doc, NULL, e);
}

/* The body into *def, zeroed memory. old: PATCH changes this one. */
static int read_def(const struct admin_call *c, const struct def_kind *k, const void *old, void *def,
                    struct err *e)
{
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, (const char *)c->q->body, c->q->body_len, e);

    if (rc == 0)
        rc = fit_body(doc, k->name, c->name, e);
    if (rc == 0 && old == NULL)
        rc = bind_named(k, c->name, doc, def, e);
    else if (rc == 0 && cfg_copy(def, k->size, k->keys, old) < 0)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    else if (rc == 0)
        rc = cfg_patch(def, k->size, k->keys, doc, NULL, e);
    cfg_node_free(doc);
    return rc;
}

/* ---- changes -------------------------------------------------------------------------------------- */

void admin_define(struct admin_call *c, enum def_kind_no kind, const char *name, void *def, int rc,
                  struct err *e, int status)
{
    if (rc == 0)
        rc = mng_define(c->s->mng, kind, ev_now(c->s->ev), def, mng_service_step(c->s), e);
    cfg_clear(def, def_kinds[kind].keys);
    if (rc < 0) {
        e->code = rc;
        admin_err(c->a, e, kinds[kind].refers);
        return;
    }
    admin_answer_def(c, kind, name, status);
    admin_kept(c);
}

static bool is_foreign(const struct admin_call *c, const char *was, const char *is)
{
    return is[0] != '\0' && strcmp(was, is) != 0 && !bearer_has_pool(c->who, is);
}

static bool is_other_share(const struct budget_member *was, const struct budget_member *is)
{
    const char *name = was != NULL ? was->name : "";

    return strcmp(name, is->name) != 0 || (name[0] != '\0' && was->weight != is->weight);
}

/* Routers say the secret of all queues to it. */
static bool is_other_site(const struct def_challenge *was, const struct def_challenge *is)
{
    const char *url = was != NULL && was->verify_url != NULL ? was->verify_url : "";

    return is->verify_url != NULL && is->verify_url[0] != '\0' && strcmp(url, is->verify_url) != 0;
}

/* A script runs in the pages of all queues' site. */
static bool is_other_script(const struct page_def *was, const struct page_def *is)
{
    const char *check = was != NULL && was->check != NULL ? was->check : "";

    return is->check != NULL && is->check[0] != '\0' && strcmp(check, is->check) != 0;
}

/* The key by which a definition reaches beyond the bearer's part: an endpoint that its calls would go to,
 * a budget, whose shares are everybody's, a site that gets the routers' secret, or a script of a page. NULL: none does, or did so before. */
static const char *foreign_key(const struct admin_call *c, enum def_kind_no kind, const void *old,
                               const void *def)
{
    const struct endpoint_def *was_endpoint = old, *endpoint = def;
    const struct queue_def *was_queue = old, *queue = def;
    const struct pool_def *was = old, *pool = def;

    if (bearer_has_all(c->who))
        return NULL;
    if (kind == DEF_POOL && is_foreign(c, was != NULL ? was->endpoint : "", pool->endpoint))
        return "endpoint";
    if (kind == DEF_POOL && is_foreign(c, was != NULL ? was->notify : "", pool->notify))
        return "notify";
    if (kind == DEF_QUEUE && is_foreign(c, old != NULL ? was_queue->turn.queue : "", queue->turn.queue))
        return "turn_notice";
    if (kind == DEF_QUEUE && is_other_site(old != NULL ? &was_queue->challenge : NULL, &queue->challenge))
        return "challenge.verify_url";
    if (kind == DEF_QUEUE && is_other_script(old != NULL ? &was_queue->page : NULL, &queue->page))
        return "page.check";
    if ((kind == DEF_QUEUE && is_other_share(old != NULL ? &was_queue->budget : NULL, &queue->budget)) ||
        (kind == DEF_ENDPOINT &&
         is_other_share(old != NULL ? &was_endpoint->budget : NULL, &endpoint->budget)))
        return "budget";
    return NULL;
}

/* Keys that need a token for all, and why. */
static const char *why_all(const char *key)
{
    return strcmp(key, "budget") == 0                 ? " (a budget: all queues and pools)"
           : strcmp(key, "challenge.verify_url") == 0 ? " (all queues and pools: routers send it their secret)"
           : strcmp(key, "page.check") == 0           ? " (all queues and pools: its script runs on the site of all)"
                                                      : "";
}

struct callers {
    const struct bearer *who;
    const char *endpoint;
    bool foreign; /* a pool that is not the bearer's calls the endpoint */
};

static void on_pool(void *ctx, const void *view)
{
    const struct mng_def_view *v = view;
    const struct pool_def *pool = v->def;
    struct callers *x = ctx;

    if (strcmp(pool->endpoint, x->endpoint) == 0 && !bearer_has_pool(x->who, pool->match))
        x->foreign = true;
}

/* Pools go with the endpoint that they call. */
static bool takes_foreign_pools(const struct admin_call *c, enum def_kind_no kind, const char *name)
{
    struct callers x = { .who = c->who, .endpoint = name };

    if (kind == DEF_ENDPOINT)
        mng_each_defined(c->s->mng, DEF_POOL, on_pool, &x);
    return x.foreign;
}

static void put(struct admin_call *c, enum def_kind_no kind, const char *name,
                const struct admin_special *x, const void *old)
{
    const void *base = strcmp(c->q->method, "PATCH") == 0 ? old : NULL;
    _Alignas(16) char def[DEF_SIZE_MAX] = { 0 };
    char words[BEARER_WORDS_CAP];
    struct err e = { 0 };
    int rc = read_def(c, &def_kinds[kind], base, def, &e);
    const char *key;

    if (rc == 0 && x != NULL && x->fit != NULL)
        rc = x->fit(c, name, base, def, &e);
    key = rc == 0 ? foreign_key(c, kind, old, def) : NULL;
    if (key != NULL) {
        cfg_clear(def, def_kinds[kind].keys);
        admin_problem(c->a, 403, "forbidden", "%s: what it names, too, must be the token's%s; %s is not for that", key,
                      why_all(key), bearer_words(c->who, words));
        return;
    }
    admin_define(c, kind, name, def, rc, &e, old == NULL ? 201 : 200);
}

void admin_undefine(struct admin_call *c, enum def_kind_no kind, const char *name)
{
    char words[BEARER_WORDS_CAP];
    struct err e = { 0 };
    json_t *j;

    if (takes_foreign_pools(c, kind, name)) {
        admin_problem(c->a, 403, "forbidden", "pools that %s is not for call this endpoint, and would go "
                      "with it", bearer_words(c->who, words));
        return;
    }
    if (mng_undefine(c->s->mng, kind, ev_now(c->s->ev), name, admin_is_true(c, "final"),
                     mng_service_step(c->s), &e) < 0) {
        admin_def_err(c, kind, &e);
        return;
    }
    j = json_pack("{s:s}", def_kinds[kind].word, c->name);
    if (def_kinds[kind].scope != 0)
        (void)json_object_set_new(j, "queue", json_stringn(name, strcspn(name, ":")));
    admin_changed(c, j);
}

void admin_definition(struct admin_call *c, enum def_kind_no kind, const char *name,
                      const struct admin_special *x)
{
    uint64_t version = 0;
    const void *old = mng_defined(c->s->mng, kind, name, &version);
    const char *m = c->q->method;

    if (strcmp(m, "GET") == 0)
        admin_answer_def(c, kind, name, 200);
    else if (!may_change(c, kind, name, version))
        return;
    else if (m[0] != 'D')
        put(c, kind, name, x, old);
    else if (x != NULL && x->delete != NULL)
        x->delete(c);
    else
        admin_undefine(c, kind, name);
}

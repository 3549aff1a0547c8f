/* queues.c: queue definitions, and orders about queues. Every definition goes through the same
 * table as queuemng.yaml. */
#include "queuemng/admin/queues.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queuemng/lead/steps.h"
#include "queuemng/state/def_json.h"

#define RELEASE_MAX 1000000000u
#define UNKNOWN     "queue_not_found"

static void set_etag(struct admin_ans *a, uint64_t version)
{
    snprintf(a->etag_buf, sizeof(a->etag_buf), "\"%llu\"", (unsigned long long)version);
    a->etag = a->etag_buf;
}

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
        if (n == strlen(tag) && memcmp(p, tag, n) == 0)
            return true;
        p += n;
    }
    return false;
}

json_t *admin_def_json(const struct queue_def *d, uint64_t version)
{
    json_t *j = def_json(d, queue_def_keys);

    if (j != NULL && version != 0 &&
        json_object_set_new(j, "version", json_integer((json_int_t)version)) < 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

static void add_def(void *ctx, const void *view)
{
    const struct mng_queue_view *v = view;

    (void)json_array_append_new(ctx, admin_def_json(v->def, v->version));
}

void admin_queues(struct admin_call *c)
{
    json_t *list = json_array();

    mng_each_queue(c->s->mng, add_def, list);
    admin_json(c->a, 200, json_pack("{s:o}", "queues", list));
}

static void answer_def(struct admin_call *c, int status)
{
    uint64_t version = 0;
    const struct queue_def *d = mng_queue_get(c->s->mng, c->name, &version);

    if (d == NULL) {
        admin_problem(c->a, 404, UNKNOWN, "no queue %s", c->name);
        return;
    }
    admin_json(c->a, status, admin_def_json(d, version));
    set_etag(c->a, version);
}

/* ---- changes --------------------------------------------------------------------- */

/* `version` is ours, not the table's: what was read may be written back as it is. The
 * name may be left out. */
static int fit_body(struct cfg_node *doc, const char *name, struct err *e)
{
    struct cfg_node *n = cfg_node_get(doc, "name");

    if (doc->kind != CFG_NODE_MAP)
        return err_set(e, SQ_EINVAL, "the body must be a JSON object");
    for (size_t i = 0; i < doc->n_kids; i++)
        if (strcmp(doc->kid[i]->key, "version") == 0) {
            cfg_node_free(doc->kid[i]);
            memmove(&doc->kid[i], &doc->kid[i + 1],
                    (doc->n_kids - i - 1) * sizeof(doc->kid[0]));
            doc->n_kids--;
            break;
        }
    if (n != NULL && (n->text == NULL || strcmp(n->text, name) != 0))
        return err_set(e, SQ_EINVAL, "name: differs from the one in the path");
    return 0;
}

static int read_def(struct admin_call *c, const struct queue_def *old, struct queue_def *d,
                    struct err *e)
{
    char set[NAME_MAX_LEN + 8];
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, (const char *)c->q->body, c->q->body_len, e);

    if (rc == 0)
        rc = fit_body(doc, c->name, e);
    if (rc == 0 && old != NULL) { /* PATCH */
        if (cfg_copy(d, sizeof(*d), queue_def_keys, old) < 0)
            rc = err_set(e, SQ_ENOMEM, "out of memory");
        else
            rc = cfg_patch(d, sizeof(*d), queue_def_keys, doc, NULL, e);
    } else if (rc == 0) {
        snprintf(set, sizeof(set), "name=%s", c->name);
        rc = cfg_set(doc, queue_def_keys, set, e);
        if (rc == 0)
            rc = cfg_bind(d, sizeof(*d), queue_def_keys, doc, NULL, e);
    }
    cfg_node_free(doc);
    return rc;
}

static void put(struct admin_call *c, const struct queue_def *old, bool patch)
{
    struct queue_def d = { 0 };
    struct err e = { 0 };
    int rc = read_def(c, patch ? old : NULL, &d, &e);

    if (rc == 0)
        rc = mng_queue_put(c->s->mng, ev_now(c->s->ev), &d, mng_service_step(c->s), &e);
    cfg_clear(&d, queue_def_keys);
    if (rc < 0) {
        e.code = rc;
        admin_err(c->a, &e, UNKNOWN);
        return;
    }
    answer_def(c, old != NULL ? 200 : 201);
    admin_kept(c);
}

/* "2026-11-22T03:10:00Z" */
static void time_text(int64_t ms, char out[32])
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL || strftime(out, 32, "%FT%TZ", &tm) == 0)
        out[0] = '\0';
}

/* What happens now, to how many, and until when it can be undone. */
static void deleted_text(const struct mng_deleted_view *v, char *out, size_t cap)
{
    unsigned long long waiting = v->waiting, inside = v->inside;
    char until[32];

    time_text(v->until_ms, until);
    if (v->until_ms == 0)
        snprintf(out, cap, "It is gone for good: %llu people who waited are told that their "
                 "place is gone, %llu inside keep their passes until they end.", waiting,
                 inside);
    else
        snprintf(out, cap, "Nobody joins and nobody is let in any more. %llu people who wait "
                 "keep their places, and %llu inside their passes, until %s: until then it "
                 "can be restored. After that those who wait are told that their place is "
                 "gone.", waiting, inside, until);
}

static void delete(struct admin_call *c)
{
    struct mng_deleted_view v;
    struct err e = { 0 };
    char text[400];
    bool final = admin_is_true(c, "final");

    if (mng_queue_delete(c->s->mng, ev_now(c->s->ev), c->name, final, &v,
                         mng_service_step(c->s), &e) < 0) {
        admin_err(c->a, &e, UNKNOWN);
        return;
    }
    deleted_text(&v, text, sizeof(text));
    admin_changed(c, json_pack("{s:s,s:b,s:I,s:I,s:o,s:s}", "queue", c->name, "final", final,
                               "waiting", (json_int_t)v.waiting, "inside", (json_int_t)v.inside,
                               "restore_until_ms",
                               final ? json_null() : json_integer(v.until_ms), "detail", text));
}

void admin_queue(struct admin_call *c)
{
    uint64_t version = 0;
    const struct queue_def *old = mng_queue_get(c->s->mng, c->name, &version);
    const char *m = c->q->method;
    bool is_put = strcmp(m, "PUT") == 0;

    if (strcmp(m, "GET") == 0) {
        answer_def(c, 200);
        return;
    }
    if (!is_put && strcmp(m, "PATCH") != 0 && strcmp(m, "DELETE") != 0) {
        admin_not_allowed(c->a, "GET, HEAD, PUT, PATCH, DELETE");
        return;
    }
    if (old == NULL && m[0] == 'D' && c->q->if_match[0] == 0) {
        delete(c); /* of one that is deleted, for good; or it is not there */
        return;
    }
    if (old == NULL && !is_put) {
        admin_problem(c->a, 404, UNKNOWN, "no queue %s", c->name);
        return;
    }
    if (c->q->if_match[0] != 0 && (old == NULL || !matches(c->q->if_match, version))) {
        admin_problem(c->a, 412, "conflict", "the definition is at version %llu",
                      (unsigned long long)version);
        return;
    }
    if (is_put && old != NULL && strcmp(c->q->if_none_match, "*") == 0) {
        admin_problem(c->a, 412, "conflict", "queue %s exists already", c->name);
        return;
    }
    if (m[0] == 'D')
        delete(c);
    else
        put(c, old, !is_put);
}

/* ---- orders ---------------------------------------------------------------------- */

static void release(struct admin_call *c)
{
    uint64_t n = admin_number(c, "n", RELEASE_MAX, 0);
    struct err e = { 0 };

    if (n == 0)
        return;
    if (mng_release(c->s->mng, ev_now(c->s->ev), c->name, n, mng_service_step(c->s), &e) < 0)
        admin_err(c->a, &e, UNKNOWN);
    else
        admin_changed(c, json_pack("{s:s,s:I}", "queue", c->name, "release", (json_int_t)n));
}

/* restore, or one of enum mng_order. */
static void order(struct admin_call *c, bool is_restore, enum mng_order o)
{
    const struct queue_def *d;
    msec_t now = ev_now(c->s->ev);
    struct mng_out *step = mng_service_step(c->s);
    struct err e = { 0 };
    int rc = is_restore ? mng_queue_restore(c->s->mng, now, c->name, step, &e)
                        : mng_order(c->s->mng, now, c->name, o, step, &e);

    if (rc < 0) {
        admin_err(c->a, &e, UNKNOWN);
        return;
    }
    d = mng_queue_get(c->s->mng, c->name, NULL);
    assert(d != NULL); /* the order was about it */
    admin_changed(c, json_pack("{s:s,s:s}", "queue", c->name, "state",
                               def_state_names[d->state]));
}

void admin_order(struct admin_call *c, const char *verb)
{
    static const char *const verbs[] = { [MNG_PAUSE] = "pause", [MNG_RESUME] = "resume",
                                         [MNG_CLOSE] = "close", [MNG_OPEN] = "open",
                                         [MNG_PASSTHROUGH] = "passthrough",
                                         [MNG_REJECT] = "reject", [MNG_FLUSH] = "flush" };
    bool is_release = strcmp(verb, "release") == 0, is_restore = strcmp(verb, "restore") == 0;
    size_t o = 0;

    while (o < ARRAY_LEN(verbs) && strcmp(verbs[o], verb) != 0)
        o++;
    if (o == ARRAY_LEN(verbs) && !is_release && !is_restore)
        admin_problem(c->a, 404, "not_found", "no such path");
    else if (strcmp(c->q->method, "POST") != 0)
        admin_not_allowed(c->a, "POST");
    else if (is_release)
        release(c);
    else
        order(c, is_restore, (enum mng_order)o);
}

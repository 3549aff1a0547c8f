/* queues.c: see the header. */
#include "queuemng/admin/queues.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ticket/keys.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/process/manager.h"

#define RELEASE_MAX 1000000000u

/* The definition of a queue of which nothing is said. */
static json_t *defaults_json(void)
{
    static const char bare[] = "{\"name\":\"default\"}";
    struct queue_def d = { 0 };
    json_t *j = NULL;
    struct err e;

    if (cfg_read_json(&d, sizeof(d), queue_def_keys, bare, sizeof(bare) - 1, NULL, &e) == 0) {
        j = admin_def_json(&d, queue_def_keys, 0);
        json_object_del(j, "name");
    }
    cfg_clear(&d, queue_def_keys);
    return j;
}

void admin_queues(struct admin_call *c)
{
    admin_json(c->a, 200, json_pack("{s:o,s:o}", "queues", admin_defs_json(c, DEF_QUEUE),
                                    "defaults", defaults_json()));
}

/* ---- changes --------------------------------------------------------------------- */

static int fit(struct admin_call *c, const char *name, const void *old, void *def, struct err *e)
{
    struct cfg_node *said = NULL;
    int rc;

    (void)name;
    if (old == NULL)
        return 0;
    rc = cfg_parse_json(&said, (const char *)c->q->body, c->q->body_len, e);
    if (rc == 0)
        rc = queue_def_drop_messages(def, old, said, e);
    cfg_node_free(said);
    return rc;
}

/* "2026-11-22T03:10:00Z" */
static void time_text(int64_t ms, char out[32])
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL || strftime(out, 32, "%FT%TZ", &tm) == 0)
        out[0] = '\0';
}

/* Says what happens now, to how many, and until when it can be undone. */
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
        admin_def_err(c, DEF_QUEUE, &e);
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
    static const struct admin_special x = { fit, delete };
    bool is_there = mng_defined(c->s->mng, DEF_QUEUE, c->name, NULL) != NULL;

    if (!is_there && strcmp(c->q->method, "DELETE") == 0 && c->q->if_match[0] == 0)
        delete(c); /* a deleted queue, for good; or none */
    else
        admin_definition(c, DEF_QUEUE, c->name, &x);
}

/* ---- its waiting page ---- */

void admin_preview(struct admin_call *c)
{
    int64_t until_s = ev_wall_ms(c->s->ev) / 1000 + PREVIEW_TTL_S;
    char ticket[PREVIEW_TEXT_CAP], path[ADMIN_NAME_MAX + PREVIEW_TEXT_CAP + 40];

    if (mng_defined(c->s->mng, DEF_QUEUE, c->name, NULL) == NULL) {
        admin_answer_def(c, DEF_QUEUE, c->name, 404);
        return;
    }
    preview_write(ticket, &c->s->keys, c->name, until_s);
    snprintf(path, sizeof(path), "/q/%s?preview=head&ticket=%s", c->name, ticket);
    admin_json(c->a, 200, json_pack("{s:s,s:s,s:I}", "queue", c->name, "path", path,
                                    "until_ms", (json_int_t)until_s * 1000));
}

/* ---- suspects ---- */

struct suspects {
    const struct admin_call *c;
    const char *queue; /* "": all that the bearer may see */
    size_t n, cap;
    struct mng_suspect_sum {
        const char *queue;
        struct suspect_row of; /* sums over routers */
        uint32_t routers;
    } *v;
};

static void take_suspect(void *ctx, const void *view)
{
    const struct mng_suspect_view *s = view;
    struct suspects *x = ctx;

    if (x->n < x->cap && bearer_has_queue(x->c->who, s->queue) &&
        (x->queue[0] == '\0' || strcmp(x->queue, s->queue) == 0))
        x->v[x->n++] = (struct mng_suspect_sum){ s->queue, *s->row, 1 };
}

static void count_suspect(void *ctx, const void *view)
{
    (void)view;
    (*(size_t *)ctx)++;
}

static int by_prefix(const void *a, const void *b)
{
    const struct suspect_row *x = &((const struct mng_suspect_sum *)a)->of;
    const struct suspect_row *y = &((const struct mng_suspect_sum *)b)->of;

    return x->queue != y->queue ? (x->queue < y->queue ? -1 : 1)
           : x->net != y->net   ? (x->net < y->net ? -1 : 1)
                                : (int)x->bits - (int)y->bits;
}

static int by_score(const void *a, const void *b)
{
    const struct suspect_row *x = &((const struct mng_suspect_sum *)a)->of;
    const struct suspect_row *y = &((const struct mng_suspect_sum *)b)->of;

    return x->score != y->score ? (x->score > y->score ? -1 : 1) : by_prefix(a, b);
}

static void add_suspect(struct mng_suspect_sum *to, const struct suspect_row *r)
{
    to->of.score += r->score;
    to->of.places += r->places;
    to->of.silent += r->silent;
    to->of.posing += r->posing;
    to->of.refused += r->refused;
    to->of.script |= r->script;
    if (r->since_s < to->of.since_s)
        to->of.since_s = r->since_s;
    to->routers++;
}

/* Makes one row of a prefix; the most suspect first. */
static void sum_suspects(struct suspects *x)
{
    size_t n = 0;

    qsort(x->v, x->n, sizeof(*x->v), by_prefix);
    for (size_t i = 0; i < x->n; i++)
        if (n > 0 && by_prefix(&x->v[n - 1], &x->v[i]) == 0)
            add_suspect(&x->v[n - 1], &x->v[i].of);
        else
            x->v[n++] = x->v[i];
    x->n = n;
    qsort(x->v, n, sizeof(*x->v), by_score);
}

/* "192.0.2.0/24", "2001:db8:1::/48" */
static void prefix_text(const struct suspect_row *r, char out[64])
{
    uint8_t b[16] = { 0 };
    char text[INET6_ADDRSTRLEN];

    for (unsigned i = 0; i < 8; i++)
        b[i] = (uint8_t)(r->net >> (56 - 8 * i));
    if (inet_ntop(r->bits == 24 ? AF_INET : AF_INET6, b, text, sizeof(text)) == NULL)
        text[0] = '\0';
    snprintf(out, 64, "%s/%u", text, r->bits);
}

static json_t *suspect_json(const struct mng_suspect_sum *s)
{
    char prefix[64];

    prefix_text(&s->of, prefix);
    return json_pack("{s:s,s:s,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "queue", s->queue, "prefix", prefix, "score",
                     (json_int_t)s->of.score, "by", s->of.script ? "script" : "places", "silent",
                     (json_int_t)s->of.silent, "posing", (json_int_t)s->of.posing, "places",
                     (json_int_t)s->of.places, "refused", (json_int_t)s->of.refused, "routers",
                     (json_int_t)s->routers, "since_ms", (json_int_t)s->of.since_s * 1000);
}

void admin_suspects(struct admin_call *c)
{
    char queue[NAME_MAX_LEN + 1] = "";
    struct suspects x = { .c = c, .queue = queue };
    json_t *list = json_array();

    (void)admin_query(c->q->query, "queue", queue, sizeof(queue));
    if (queue[0] != '\0' && mng_defined(c->s->mng, DEF_QUEUE, queue, NULL) == NULL) {
        admin_answer_def(c, DEF_QUEUE, queue, 404);
        json_decref(list);
        return;
    }
    mng_each_suspect(c->s->mng, count_suspect, &x.cap);
    x.v = calloc(x.cap + 1, sizeof(*x.v));
    if (x.v != NULL)
        mng_each_suspect(c->s->mng, take_suspect, &x);
    if (x.n > 0)
        sum_suspects(&x);
    for (size_t i = 0; i < x.n; i++)
        (void)json_array_append_new(list, suspect_json(&x.v[i]));
    free(x.v);
    admin_json(c->a, 200, json_pack("{s:o}", "suspects", list));
}

/* ---- orders ---------------------------------------------------------------------- */

static json_int_t waiting_now(const struct admin_call *c)
{
    return (json_int_t)mng_queue_waiting(c->s->mng, c->name);
}

static void release(struct admin_call *c)
{
    uint64_t n = admin_number(c, "n", RELEASE_MAX, 0);
    json_int_t waiting = waiting_now(c);
    struct err e = { 0 };

    if (n == 0)
        return;
    if (mng_release(c->s->mng, ev_now(c->s->ev), c->name, n, mng_service_step(c->s), &e) < 0)
        admin_def_err(c, DEF_QUEUE, &e);
    else
        admin_changed(c, json_pack("{s:s,s:I,s:I}", "queue", c->name, "release", (json_int_t)n,
                                   "waiting", waiting));
}

/* restore, or one of enum mng_order. */
static void order(struct admin_call *c, bool is_restore, enum mng_order o)
{
    const struct queue_def *d = mng_defined(c->s->mng, DEF_QUEUE, c->name, NULL);
    const char *was = is_restore || d == NULL ? "deleted" : def_state_names[d->state];
    json_int_t waiting = waiting_now(c);
    msec_t now = ev_now(c->s->ev);
    struct mng_out *step = mng_service_step(c->s);
    struct err e = { 0 };
    int rc = is_restore ? mng_queue_restore(c->s->mng, now, c->name, step, &e)
                        : mng_order(c->s->mng, now, c->name, o, step, &e);

    if (rc < 0) {
        admin_def_err(c, DEF_QUEUE, &e);
        return;
    }
    d = mng_defined(c->s->mng, DEF_QUEUE, c->name, NULL);
    assert(d != NULL); /* the order was about it */
    admin_changed(c, json_pack("{s:s,s:s,s:s,s:I,s:s}", "queue", c->name, "state",
                               def_state_names[d->state], "was", was, "waiting",
                               is_restore ? waiting_now(c) : waiting, "message",
                               d->message != NULL ? d->message : ""));
}

void admin_order(struct admin_call *c)
{
    static const char *const verbs[] = { [MNG_PAUSE] = "pause", [MNG_RESUME] = "resume",
                                         [MNG_CLOSE] = "close", [MNG_OPEN] = "open",
                                         [MNG_PASSTHROUGH] = "passthrough",
                                         [MNG_REJECT] = "reject", [MNG_FLUSH] = "flush" };
    bool is_release = strcmp(c->verb, "release") == 0, is_restore = strcmp(c->verb, "restore") == 0;
    size_t o = 0;

    while (o < ARRAY_LEN(verbs) && strcmp(verbs[o], c->verb) != 0)
        o++;
    assert(o < ARRAY_LEN(verbs) || is_release || is_restore);
    if (is_release)
        release(c);
    else
        order(c, is_restore, (enum mng_order)o);
}

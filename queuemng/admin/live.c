/* live.c: GET /v1/admin/live: what the dashboard looks at once a second: every
 * node, the busiest queues by their sums, one queue in full, and what has happened since
 * the last look. /v1/admin/cluster has every segment of every queue: too much for that.
 * GET /v1/admin/history: the last ten minutes of one queue. */
#include "queuemng/admin/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/admin/cluster.h"
#include "queuemng/admin/queues.h"
#include "queuemng/lead/health.h"

#define QUEUES_MAX   200 /* shown in the list */
#define SEGMENTS_MAX 300 /* of a lane: the first ones, where the releases are */
#define EVENTS_MAX   (2 * EVENTS_KEPT)
#define FIND_MAX     64

#define INT(x) ((json_int_t)(x))

static void add(json_t *list, json_t *j)
{
    (void)json_array_append_new(list, j); /* NULL (no memory) is not added */
}

/* The word that stands for a value in the table of definitions. */
static const char *word_of(const char *key, int value)
{
    for (const struct cfg_key *k = queue_def_keys; k->key != NULL; k++)
        if (strcmp(k->key, key) == 0)
            return k->words[value];
    return "?";
}

/* All of them: what a page may offer. */
static json_t *words_json(const char *key)
{
    json_t *list = json_array();

    for (const struct cfg_key *k = queue_def_keys; k->key != NULL; k++)
        for (size_t i = 0; strcmp(k->key, key) == 0 && k->words[i] != NULL; i++)
            add(list, json_string(k->words[i]));
    return list;
}

/* ---- sums of a queue ------------------------------------------------------------- */

struct sums {
    uint64_t waiting, returning, ready, active, joined, released, left, expired, no_shows,
        segments, rebuilding, missing;
    double rate_per_s;
    double eta_last_s;      /* of the slowest lane; -1: not known of some */
    const char *eta_reason; /* static words: see struct mng_lane_view */
};

static void sum_eta(struct sums *s, const struct mng_lane_view *l)
{
    bool later = s->eta_last_s >= 0 && (l->eta_last_s < 0 || l->eta_last_s > s->eta_last_s);

    if (!later)
        return;
    s->eta_last_s = l->eta_last_s;
    s->eta_reason = l->eta_reason;
}

static void sum_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *l = view;
    struct sums *s = ctx;

    s->waiting += l->waiting;
    s->returning += l->returning;
    s->ready += l->ready;
    s->active += l->active;
    s->joined += l->joined;
    s->released += l->released;
    s->left += l->left;
    s->expired += l->expired;
    s->no_shows += l->no_shows;
    s->segments += l->n_segs;
    s->rebuilding += l->n_away;
    s->missing += l->missing;
    s->rate_per_s += l->rate_per_s;
    sum_eta(s, l);
}

static json_t *queue_json(struct mng_service *svc, const struct mng_queue_view *q)
{
    const struct queue_def *d = q->def;
    struct sums s = { 0 };

    mng_each_lane(svc->mng, q->id, sum_lane, &s);
    return json_pack("{s:s,s:s,s:s,s:I,s:I,s:f,s:f,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,"
                     "s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:o,s:o}",
                     "queue", d->name, "state", word_of("state", d->state), "mode",
                     word_of("mode", d->mode), "max_active", INT(d->max_active), "version",
                     INT(q->version), "allowed_per_s", q->allowed_per_s, "rate_per_s",
                     s.rate_per_s, "limited_by", q->limited_by, "message",
                     d->message != NULL ? d->message : "", "waiting", INT(s.waiting),
                     "returning", INT(s.returning), "ready", INT(s.ready), "active",
                     INT(s.active), "joined", INT(s.joined), "released", INT(s.released),
                     "left", INT(s.left), "expired", INT(s.expired), "no_shows",
                     INT(s.no_shows), "segments", INT(s.segments), "rebuilding",
                     INT(s.rebuilding), "missing", INT(s.missing), "inside", INT(q->inside),
                     "inside_flushed", INT(q->inside_flushed), "flushed_until_ms",
                     INT(q->flushed_until_ms), "public_state", q->public_state, "eta_last_s", admin_eta(s.eta_last_s),
                     "eta_reason", admin_text(s.eta_reason));
}

/* ---- the list of queues ---------------------------------------------------------- */

/* A view is good for the time of the call that gives it: its words are kept beside it. */
struct kept_view {
    uint64_t weight;
    struct mng_queue_view v;
    char limited_by[NAME_MAX_LEN + 1];
};

static void keep(struct kept_view *k, const struct mng_queue_view *q, uint64_t weight)
{
    k->weight = weight;
    k->v = *q;
    snprintf(k->limited_by, sizeof(k->limited_by), "%s", q->limited_by);
}

static const struct mng_queue_view *kept(struct kept_view *k)
{
    k->v.limited_by = k->limited_by;
    return &k->v;
}

struct pick { /* the busiest ones, most waiting first */
    struct mng_service *s;
    const char *find; /* a part of the name; "" = any */
    const char *name; /* the one that is looked at, or NULL */
    struct kept_view one;
    bool has_one;
    struct kept_view best[QUEUES_MAX];
    size_t n, total;
};

/* An insertion into a short sorted list: most queues are less busy than its last one. */
static void on_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct pick *p = ctx;
    struct sums s = { 0 };
    uint64_t weight;
    size_t i;

    p->total++;
    if (p->name != NULL && strcmp(q->def->name, p->name) == 0) {
        keep(&p->one, q, 0);
        p->has_one = true;
    }
    if (p->find[0] != '\0' && strstr(q->def->name, p->find) == NULL)
        return;
    mng_each_lane(p->s->mng, q->id, sum_lane, &s);
    weight = s.waiting + s.returning + s.ready + s.active;
    if (p->n == QUEUES_MAX && weight <= p->best[QUEUES_MAX - 1].weight)
        return;
    i = p->n < QUEUES_MAX ? p->n++ : QUEUES_MAX - 1;
    for (; i > 0 && p->best[i - 1].weight < weight; i--)
        p->best[i] = p->best[i - 1];
    keep(&p->best[i], q, weight);
}

/* ---- one queue ------------------------------------------------------------------- */

struct chain_ask {
    struct mng_service *s;
    struct map *node; /* node_no -> name */
    json_t *list;
    size_t n;         /* segments there are */
};

static void on_node_name(void *ctx, const void *view)
{
    const struct mng_node_view *n = view;

    (void)!map_set_ptr(ctx, n->no, (void *)(uintptr_t)n->name);
}

static void on_seg(void *ctx, const void *view)
{
    const struct mng_seg_view *g = view;
    struct chain_ask *x = ctx;
    const char *node = map_get_ptr(x->node, g->node);

    if (x->n++ < SEGMENTS_MAX)
        add(x->list,
            json_pack("{s:I,s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:I}", "segment", INT(g->id), "node",
                      node != NULL ? node : "?", "state",
                      g->lost      ? "lost"
                      : g->rebuild ? "rebuilding"
                                   : admin_seg_state(g->state),
                      "reachable", g->reachable, "capacity", INT(g->capacity), "joined",
                      INT(g->st.joined), "waiting", INT(g->st.waiting + g->st.returning),
                      "inside", INT(g->st.ready + g->st.active), "move", INT(g->move)));
}

static void on_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *l = view;
    struct chain_ask *x = ctx, segs = *x;

    segs.list = json_array();
    segs.n = 0;
    mng_each_seg(x->s->mng, l->queue, l->lane_no, on_seg, &segs);
    add(x->list,
        json_pack("{s:s,s:I,s:I,s:I,s:f,s:o,s:o,s:I,s:o}", "lane", l->lane, "waiting",
                  INT(l->waiting + l->returning), "ready", INT(l->ready), "active",
                  INT(l->active), "rate_per_s", l->rate_per_s, "eta_last_s",
                  admin_eta(l->eta_last_s), "eta_reason", admin_text(l->eta_reason),
                  "segments_total",
                  INT(segs.n), "segments", segs.list));
}

/* Its sums, its definition, its chains. */
static json_t *detail(struct mng_service *s, const struct mng_queue_view *q)
{
    struct map node;
    struct chain_ask x = { .s = s, .node = &node, .list = json_array() };
    json_t *j = queue_json(s, q);

    map_init(&node, 0);
    mng_each_node(s->mng, on_node_name, &node);
    mng_each_lane(s->mng, q->id, on_lane, &x);
    map_fini(&node);
    (void)json_object_set_new(j, "lanes", x.list);
    (void)json_object_set_new(j, "def", admin_def_json(q->def, q->version));
    return j;
}

/* ---- events ---------------------------------------------------------------------- */

static json_t *events_json(const struct events *v, uint64_t since)
{
    static const char *const level[] = { "error", "warn", "info", "debug" };
    const struct event *e[EVENTS_MAX];
    size_t n = events_since(v, since, e, EVENTS_MAX);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        add(list, json_pack("{s:I,s:I,s:s,s:s}", "seq", INT(e[i]->seq), "at_ms",
                            INT(e[i]->wall_ms), "level", level[e[i]->level & 3], "text",
                            e[i]->text));
    return list;
}

/* ---- the answer ------------------------------------------------------------------ */

static json_t *head(struct admin_call *c)
{
    const struct mng_service *s = c->s;
    struct op_log_counts k;
    struct mng_counts n;
    struct buf why;
    bool well;
    json_t *j;

    buf_init(&why);
    well = mng_healthy(c->s, &why);
    buf_byte(&why, 0);
    op_log_count(s->op_log, &k);
    mng_count(s->mng, &n);
    j = json_pack("{s:s,s:I,s:I,s:I,s:b,s:s,s:I,s:I}", "manager", s->cfg->node, "now_ms",
                  INT(ev_wall_ms(s->ev)), "epoch", INT(n.epoch), "map_version",
                  INT(n.map_version), "healthy", well, "why",
                  why.failed ? "" : (const char *)why.data, "audit_unwritten",
                  INT(k.unwritten), "lost_segments", INT(n.lost_segments));
    buf_fini(&why);
    return j;
}

static json_t *queues_json(struct admin_call *c, json_t *j, const char *name,
                           const char *find)
{
    struct pick *p = calloc(1, sizeof(*p));
    json_t *list = json_array();

    if (p == NULL) {
        json_decref(list);
        json_decref(j);
        return NULL;
    }
    p->s = c->s;
    p->find = find;
    p->name = name;
    mng_each_queue(c->s->mng, on_queue, p);
    for (size_t i = 0; i < p->n; i++)
        add(list, queue_json(c->s, kept(&p->best[i])));
    (void)json_object_set_new(j, "queues", list);
    (void)json_object_set_new(j, "queues_total", json_integer(INT(p->total)));
    (void)json_object_set_new(j, "queue", p->has_one ? detail(c->s, kept(&p->one)) : json_null());
    free(p);
    return j;
}

void admin_live(struct admin_call *c)
{
    char name[NAME_MAX_LEN + 1] = "", find[FIND_MAX + 1] = "", since[24] = "0";
    json_t *j = head(c);

    (void)admin_query(c->q->query, "queue", name, sizeof(name));
    (void)admin_query(c->q->query, "find", find, sizeof(find));
    (void)admin_query(c->q->query, "since", since, sizeof(since));
    j = queues_json(c, j, name[0] != '\0' ? name : NULL, find);
    if (j != NULL) {
        admin_cluster_parts(c, j);
        (void)json_object_set_new(j, "states", words_json("state"));
        (void)json_object_set_new(j, "modes", words_json("mode"));
        (void)json_object_set_new(j, "events_last", json_integer(INT(c->s->events.last)));
        (void)json_object_set_new(
            j, "events", events_json(&c->s->events, strtoull(since, NULL, 10)));
    }
    admin_json(c->a, 200, j);
}

/* ---- history --------------------------------------------------------------------- */

static void find_id(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct pick *p = ctx;

    if (strcmp(q->def->name, p->name) == 0) {
        keep(&p->one, q, 0);
        p->has_one = true;
    }
}

/* Two decimals: more say nothing, and take room. */
static json_t *short_number(float v)
{
    double x = (double)(int64_t)((double)v * 100 + 0.5) / 100;

    return x == (double)(int64_t)x ? json_integer(INT(x)) : json_real(x);
}

static json_t *points_json(const struct history_queue *h)
{
    json_t *list = json_array();

    for (size_t i = 0; h != NULL && i < history_n(h); i++) {
        const struct history_point *p = history_at(h, i);

        add(list, json_pack("[o,o,o,o,o,o,o]", short_number(p->waiting),
                            short_number(p->active), short_number(p->joined_per_s),
                            short_number(p->released_per_s), short_number(p->no_shows_per_s),
                            short_number(p->left_per_s), short_number(p->allowed_per_s)));
    }
    return list;
}

void admin_history(struct admin_call *c)
{
    char name[NAME_MAX_LEN + 1];
    struct pick *p;

    if (!admin_query(c->q->query, "queue", name, sizeof(name))) {
        admin_problem(c->a, 400, "bad_request", "?queue= must name a queue");
        return;
    }
    p = calloc(1, sizeof(*p));
    if (p == NULL) {
        admin_problem(c->a, 503, "queue_unavailable", "out of memory");
        return;
    }
    p->name = name;
    mng_each_queue(c->s->mng, find_id, p);
    if (!p->has_one)
        admin_problem(c->a, 404, "queue_not_found", "no queue %s", name);
    else
        admin_json(c->a, 200,
                   json_pack("{s:s,s:I,s:i,s:[s,s,s,s,s,s,s],s:o}", "queue", name, "at_ms",
                             INT(c->s->history.wall_ms), "step_ms", HISTORY_STEP_MS,
                             "columns", "waiting", "inside", "joined_per_s",
                             "released_per_s", "no_shows_per_s", "left_per_s",
                             "allowed_per_s", "points",
                             points_json(history_of(&c->s->history, p->one.v.id))));
    free(p);
}

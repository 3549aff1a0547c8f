/* live.c: GET /v1/admin/live: every node, the busiest queues by their sums, one queue in full, and
 * what has happened since the last look. (/v1/admin/cluster has every segment of every queue: too
 * much for once a second.) And the history of a queue, a pool, or of all queues. */
#include "queuemng/admin/live.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/supervisor/program.h"
#include "queuemng/admin/cluster.h"
#include "queuemng/admin/dashboard.h"
#include "queuemng/admin/definitions.h"
#include "queuemng/process/manager.h"

#define LIVE_QUEUES_MAX   200 /* shown in the list */
#define SEGMENTS_MAX 300 /* segments of a lane: the first ones, where the releases are */
#define EVENTS_MAX   (2 * EVENTS_KEPT)
#define FIND_MAX     64

#define INT(x) ((json_int_t)(x))

/* ---- queues ---------------------------------------------------------------------- */

static json_t *queue_json(const struct mng *m, const struct mng_queue_view *q)
{
    const char *message = q->def->message;
    struct mng_lane_view sum = mng_queue_sum(m, q->id);
    json_t *j = admin_queue_json(q);

    (void)json_object_update_new(j, admin_figures_json(&sum));
    (void)json_object_set_new(j, "segments", json_integer(INT(sum.n_segs)));
    (void)json_object_set_new(j, "message", json_string(message != NULL ? message : ""));
    return j;
}

/* Queues that concern most people, most first. */
struct top {
    struct {
        uint64_t people;
        struct mng_queue_view v;
    } best[LIVE_QUEUES_MAX];
    size_t n, total; /* listed; of all that there are */
};

struct pick {
    const struct mng *m;
    const struct admin_call *c;
    const char *find; /* a part of the name; "" = any */
    const char *name; /* the one that is shown in full; "" = none */
    json_t *full;     /* queue asked for; NULL: none; owned */
    struct top busiest, unusual;
    size_t total, n_waiting;   /* queues; those in which somebody waits */
    struct mng_lane_view all;  /* sums over all queues; eta_last_s: the longest; 0: none is known */
    const char *longest;       /* the queue with that wait */
};

/* An insertion into a short sorted list: most queues are less busy than its last one. */
static void top_add(struct top *t, const struct mng_queue_view *q, uint64_t people)
{
    size_t i;

    t->total++;
    if (t->n == LIVE_QUEUES_MAX && people <= t->best[LIVE_QUEUES_MAX - 1].people)
        return;
    i = t->n < LIVE_QUEUES_MAX ? t->n++ : LIVE_QUEUES_MAX - 1;
    for (; i > 0 && t->best[i - 1].people < people; i--)
        t->best[i] = t->best[i - 1];
    assert(i < t->n && t->n <= LIVE_QUEUES_MAX);
    t->best[i].people = people;
    t->best[i].v = *q;
}

/* Says whether a queue needs a word (the words are the dashboard's): its state, a segment away,
 * or a limit that keeps people in line. */
static bool is_unusual(const struct mng_queue_view *q, const struct mng_lane_view *sum)
{
    static const char *const held[] = { "recovery", "flushed", "fallback" };
    bool shut = q->def->state != DEF_OPEN && q->def->state != DEF_CLOSED;
    bool unusual = shut || sum->n_away > 0 || q->push_none;

    if (sum->waiting == 0)
        return unusual; /* closed on purpose, and nobody is in it */
    unusual |= q->def->state != DEF_OPEN;
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        unusual |= strcmp(q->limited_by, held[i]) == 0;
    return unusual || (q->def->mode != MODE_SLOTS && q->allowed_per_s <= 0);
}

static void add_sums(struct pick *p, const struct mng_queue_view *q, const struct mng_lane_view *sum)
{
    struct mng_lane_view *all = &p->all;

    p->total++;
    p->n_waiting += sum->waiting + sum->returning > 0;
    all->waiting += sum->waiting;
    all->returning += sum->returning;
    all->ready += sum->ready;
    all->active += sum->active;
    all->rate_per_s += sum->rate_per_s;
    if (sum->eta_last_s <= all->eta_last_s)
        return;
    all->eta_last_s = sum->eta_last_s;
    all->eta_reason = sum->eta_reason;
    p->longest = q->def->name;
}

static void on_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct pick *p = ctx;
    struct mng_lane_view sum;
    uint64_t in_line;

    if (!bearer_has_queue(p->c->who, q->def->name))
        return;
    sum = mng_queue_sum(p->m, q->id);
    in_line = sum.waiting + sum.returning;
    add_sums(p, q, &sum);
    if (strcmp(q->def->name, p->name) == 0) {
        p->full = queue_json(p->m, q);
        (void)json_object_set_new(p->full, "lanes", admin_lanes_json(p->m, q->id, SEGMENTS_MAX));
        (void)json_object_set_new(p->full, "def", admin_def_shown(p->c, q->def, queue_def_keys, q->version));
    }
    if (is_unusual(q, &sum))
        top_add(&p->unusual, q, in_line);
    if (strstr(q->def->name, p->find) != NULL)
        top_add(&p->busiest, q, in_line + sum.ready + sum.active);
}

static json_t *all_json(const struct pick *p)
{
    const struct mng_lane_view *all = &p->all;

    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:f,s:o}", "queues_waiting", INT(p->n_waiting), "waiting",
                     INT(all->waiting), "returning", INT(all->returning), "ready", INT(all->ready),
                     "active", INT(all->active), "rate_per_s", all->rate_per_s, "longest",
                     p->longest == NULL ? json_null() : json_pack("{s:s,s:f,s:s?}", "queue", p->longest,
                                                                  "eta_s", all->eta_last_s, "eta_reason",
                                                                  all->eta_reason));
}

static json_t *top_json(const struct mng *m, const struct top *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->n; i++)
        (void)json_array_append_new(list, queue_json(m, &t->best[i].v));
    return list;
}

/* Sets queues, queues_total, all, unusual, queue. False: no memory. */
static bool set_queues(json_t *j, const struct admin_call *c, const char *name, const char *find)
{
    const struct mng *m = c->s->mng;
    struct pick *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return false;
    p->m = m;
    p->c = c;
    p->find = find;
    p->name = name;
    mng_each_queue(m, on_queue, p);
    (void)json_object_update_new(j, json_pack("{s:o,s:I,s:o,s:o,s:I,s:o?}", "queues",
                                              top_json(m, &p->busiest), "queues_total",
                                              INT(p->total), "all", all_json(p), "unusual",
                                              top_json(m, &p->unusual), "unusual_total",
                                              INT(p->unusual.total), "queue", p->full));
    free(p);
    return true;
}

/* ---- events ---------------------------------------------------------------------- */

/* The value of key= in a line of the log, as far as it has no blank. */
static bool value_of(const char *line, const char *key, char *out, size_t cap)
{
    const char *at = strstr(line, key);
    size_t n;

    while (at != NULL && at != line && at[-1] != ' ')
        at = strstr(at + 1, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    at += *at == '"';
    n = strcspn(at, " \"");
    copy_text(out, n < cap ? n + 1 : cap, at);
    return true;
}

/* A bearer for a part of the cluster sees events that name a queue or pool of that part, and no other. */
static bool is_seen(const struct bearer *who, const char *line)
{
    char name[TASK_NAME_MAX + 1];

    if (bearer_has_all(who))
        return true;
    if (value_of(line, "queue=", name, sizeof(name))) /* with a key: a task queue */
        return (strstr(line, " key=") != NULL ? bearer_has_pool : bearer_has_queue)(who, name);
    return (value_of(line, "pool=", name, sizeof(name)) || value_of(line, "endpoint=", name, sizeof(name))) &&
           bearer_has_pool(who, name);
}

static json_t *events_json(const struct bearer *who, const struct events *v, uint64_t since)
{
    static const char *const level[] = { "error", "warn", "info", "debug" };
    const struct event *e[EVENTS_MAX];
    size_t n = events_since(v, since, e, EVENTS_MAX);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        if (is_seen(who, e[i]->text))
            (void)json_array_append_new(
            list, json_pack("{s:I,s:I,s:s,s:s}", "seq", INT(e[i]->seq), "at_ms",
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
    j = json_pack("{s:s,s:I,s:I,s:I,s:b,s:s,s:s,s:s,s:I,s:I}", "manager", s->cfg->node, "now_ms",
                  INT(ev_wall_ms(s->ev)), "epoch", INT(n.epoch), "map_version",
                  INT(n.map_version), "healthy", well, "why",
                  why.failed ? "" : (const char *)why.data, "tokens_wrong",
                  s->tokens_wrong, "reload_refused", prog_refused(), "audit_unwritten",
                  INT(k.unwritten), "lost_segments", INT(n.lost_segments));
    buf_fini(&why);
    return j;
}

static json_t *words_json(const char *const *words)
{
    json_t *list = json_array();

    for (size_t i = 0; words[i] != NULL; i++)
        (void)json_array_append_new(list, json_string(words[i]));
    return list;
}

void admin_live(struct admin_call *c)
{
    char name[NAME_MAX_LEN + 1] = "", find[FIND_MAX + 1] = "", since[24] = "0";
    char pool[TASK_NAME_MAX + 1] = "";
    const struct events *events = &c->s->events;
    json_t *j = head(c);

    (void)admin_query(c->q->query, "queue", name, sizeof(name));
    (void)admin_query(c->q->query, "pool", pool, sizeof(pool));
    (void)admin_query(c->q->query, "find", find, sizeof(find));
    (void)admin_query(c->q->query, "since", since, sizeof(since));
    admin_set_lists(j, c, pool);
    (void)json_object_update_new(
        j, json_pack("{s:o,s:o,s:I,s:o}", "states", words_json(def_state_names), "modes",
                     words_json(def_mode_names), "events_last", INT(events->last), "events",
                     events_json(c->who, events, strtoull(since, NULL, 10))));
    if (!set_queues(j, c, name, find)) {
        json_decref(j);
        j = NULL;
    }
    admin_json(c->a, 200, j);
}

/* ---- history ----------------------------------------------------------------------- */

static const char *const ranges[HISTORY_RANGES] = { [HISTORY_10M] = "10m", [HISTORY_1H] = "1h",
                                                    [HISTORY_24H] = "24h" };

struct wanted {
    const char *kind, *name; /* queue or pool; NULL: the cluster */
    uint32_t id;             /* 0: there is none, or the cluster */
    const struct history *h;
    const char *const *columns;
    enum history_range range;
};

/* ---- history: points ---------------------------------------------------------------- */

/* Two decimals: more say nothing, and take room. null: not known. */
static json_t *short_number(float v)
{
    double x;

    if (isnan(v))
        return json_null();
    x = (double)(int64_t)((double)v * 100 + 0.5) / 100;
    return x == (double)(int64_t)x ? json_integer(INT(x)) : json_real(x);
}

static json_t *point_json(const struct history_point *p, bool waits)
{
    json_t *j;

    if (p == NULL)
        return json_null();
    j = json_array();
    for (size_t i = 0; i < HISTORY_FIGURES; i++)
        (void)json_array_append_new(j, short_number(p->mean[i]));
    (void)json_array_append_new(j, short_number(p->least));
    (void)json_array_append_new(j, short_number(p->most));
    for (size_t i = 0; i < HISTORY_TOPS; i++)
        (void)json_array_append_new(j, short_number(p->top[i]));
    for (size_t i = 0; i < HISTORY_WAITS && waits; i++)
        (void)json_array_append_new(j, short_number(p->wait[i]));
    return j;
}

static json_t *points_json(const struct wanted *w)
{
    const struct history_queue *q = history_of(w->h, w->id);
    size_t n = q != NULL ? history_n(w->h, q, w->range) : 0;
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, point_json(history_at(w->h, q, w->range, i), w->columns == pool_columns));
    return list;
}

/* ---- history: the answer ------------------------------------------------------------ */

static bool read_range(struct admin_call *c, enum history_range *r)
{
    char word[8] = "10m";

    if (admin_query_has(c->q->query, "range") &&
        !admin_query(c->q->query, "range", word, sizeof(word)))
        word[0] = '\0';
    for (*r = 0; *r < HISTORY_RANGES; (*r)++)
        if (strcmp(word, ranges[*r]) == 0)
            return true;
    admin_problem(c->a, 400, "bad_request", "?range= is 10m, 1h or 24h");
    return false;
}

static void answer(struct admin_call *c, struct wanted *w)
{
    json_t *columns, *j;

    if (!read_range(c, &w->range))
        return;
    columns = json_array();
    for (size_t i = 0; i < HISTORY_COLUMNS && w->columns[i] != NULL; i++)
        (void)json_array_append_new(columns, json_string(w->columns[i]));
    j = json_pack("{s:s,s:I,s:I,s:o,s:o}", "range", ranges[w->range], "at_ms",
                  INT(w->h->wall_ms), "step_ms", INT(history_step_ms(w->range)), "columns",
                  columns, "points", points_json(w));
    if (w->kind != NULL)
        (void)json_object_set_new(j, w->kind, json_string(w->name));
    admin_json(c->a, 200, j);
}

static void find_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct wanted *w = ctx;

    if (strcmp(q->def->name, w->name) == 0)
        w->id = q->id;
}

static void find_pool(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    struct wanted *w = ctx;

    if (strcmp(v->def->match, w->name) == 0)
        w->id = v->id;
}

static void of_queue(struct admin_call *c, const char *name)
{
    struct wanted w = { "queue", name, .h = &c->s->history, .columns = queue_columns };

    mng_each_queue(c->s->mng, find_queue, &w);
    if (w.id == 0)
        admin_problem(c->a, 404, "queue_not_found", "no queue %s", name);
    else
        answer(c, &w);
}

static void of_pool(struct admin_call *c, const char *name)
{
    struct wanted w = { "pool", name, .h = &c->s->pool_history, .columns = pool_columns };

    mng_each_pool(c->s->mng, find_pool, &w);
    if (w.id == 0)
        admin_problem(c->a, 404, "pool_not_found", "no pool %s", name);
    else
        answer(c, &w);
}

void admin_history(struct admin_call *c)
{
    char name[TASK_NAME_MAX + 1];
    bool is_pool = admin_query_has(c->q->query, "pool");

    if (!admin_query(c->q->query, is_pool ? "pool" : "queue", name, sizeof(name)))
        admin_problem(c->a, 400, "bad_request", "?queue= must name a queue, or ?pool= a pool of "
                      "task queues");
    else if (is_pool)
        of_pool(c, name);
    else
        of_queue(c, name);
}

void admin_cluster_history(struct admin_call *c)
{
    answer(c, &(struct wanted){ .h = &c->s->history, .columns = queue_columns });
}

void admin_queue_history(struct admin_call *c)
{
    of_queue(c, c->name);
}

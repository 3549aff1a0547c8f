/* dashboard.c: events out of the log, every two seconds the queues' figures; the dashboard's files. */
#include "queuemng/admin/dashboard.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

/* A manager that has just begun to lead hears from its nodes one after the other: what they have
 * counted before is no crowd that arrives. */
#define NODES_MS 4000

static void on_line(void *ctx, enum log_level level, const char *line)
{
    struct mng_service *s = ctx;

    events_add(&s->events, ev_wall_ms(s->ev), (int)level, line);
}

int dashboard_feed_start(struct mng_service *s, struct err *e)
{
    history_init(&s->history);
    history_init(&s->pool_history);
    s->op_log = op_log_new(s->cfg->data_dir);
    if (s->op_log == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    log_set_tap(on_line, s);
    return 0;
}

void dashboard_feed_end(struct mng_service *s)
{
    if (s->op_log == NULL)
        return;
    op_log_free(s->op_log, ev_wall_ms(s->ev));
    s->op_log = NULL;
    log_set_tap(NULL, NULL);
    history_fini(&s->history);
    history_fini(&s->pool_history);
}

/* ---- figures --------------------------------------------------------------------- */

const char *const queue_columns[HISTORY_COLUMNS] = {
    "waiting",        "inside",     "allowed_per_s", "joined_per_s", "released_per_s",
    "no_shows_per_s", "left_per_s",
    "waiting_min", "waiting_max", "joined_per_s_max", "released_per_s_max"
};
const char *const pool_columns[HISTORY_COLUMNS] = {
    "waiting",     "running",      "oldest_ms", "accepted_per_s", "started_per_s",
    "ended_per_s", "failed_per_s",
    "waiting_min", "waiting_max", "accepted_per_s_max", "started_per_s_max",
    "wait_p50_ms", "wait_p99_ms"
};

static void add_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct mng_service *s = ctx;
    struct mng_lane_view l = mng_queue_sum(s->mng, q->id);

    history_add(&s->history, q->id,
                &(struct history_sums){ { (double)(l.waiting + l.returning),
                                          (double)(l.ready + l.active), q->allowed_per_s },
                                        { l.joined, l.released, l.no_shows, l.left + l.expired },
                                        { { 0 } } });
}

static void add_pool(void *ctx, const void *view)
{
    const struct mng_pool_view *v = view;
    const struct part_status_row *n = &v->sum;
    struct mng_service *s = ctx;

    history_add(&s->pool_history, v->id,
                &(struct history_sums){ { (double)n->waiting, (double)n->running,
                                          (double)n->oldest_ms },
                                        { n->accepted, n->started,
                                          n->succeeded + n->died + n->expired,
                                          n->retried + n->died }, v->waits });
}

void dashboard_feed_tick(struct mng_service *s)
{
    msec_t now = ev_now(s->ev);

    if (!s->leads)
        s->history_from_ms = now + NODES_MS;
    if (now < s->history_ms)
        return;
    s->history_ms += HISTORY_STEP_MS; /* no drift: a round in each step */
    if (s->history_ms <= now)
        s->history_ms = now + HISTORY_STEP_MS;
    op_log_tick(s->op_log, ev_wall_ms(s->ev));
    if (now < s->history_from_ms)
        return;
    history_begin(&s->history, now, ev_wall_ms(s->ev));
    mng_each_queue(s->mng, add_queue, s);
    history_end(&s->history);
    history_begin(&s->pool_history, now, ev_wall_ms(s->ev));
    mng_each_pool(s->mng, add_pool, s);
    history_end(&s->pool_history);
}

/* ---- files ------------------------------------------------------------------------ */

/* They are public: the figures come from the API, with the operator's token. */

#define FOLDER "/dashboard/"
#define INDEX  "index.html"

static const char *type_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    if (strcmp(dot, ".js") == 0)
        return "text/javascript; charset=utf-8";
    if (strcmp(dot, ".css") == 0)
        return "text/css; charset=utf-8";
    return "text/html; charset=utf-8";
}

static const char *file_of(const char *path)
{
    if (strcmp(path, "/") == 0)
        return INDEX;
    if (strncmp(path, FOLDER, strlen(FOLDER)) != 0)
        return NULL;
    return path + strlen(FOLDER);
}

static void send_blob(struct admin_call *c, const struct dash_blob *b)
{
    const char *begin = c->q->gzip ? b->gz : b->begin, *end = c->q->gzip ? b->gz_end : b->end;

    c->a->status = 200;
    c->a->content_type = type_of(b->name);
    c->a->gzip = c->q->gzip;
    buf_append(&c->a->body, begin, (size_t)(end - begin));
}

bool admin_page(struct admin_call *c)
{
    const char *name = file_of(c->q->path);
    size_t i = 0;

    while (name != NULL && i < dash_blobs_n && strcmp(dash_blobs[i].name, name) != 0)
        i++;
    if (name == NULL || i == dash_blobs_n)
        return false;
    if (strcmp(c->q->method, "GET") != 0) {
        admin_not_allowed(c->a, "GET, HEAD");
        return true;
    }
    send_blob(c, &dash_blobs[i]);
    return true;
}

/* dashboard_feed.c: gathers what the dashboard is shown: events out of the log, and every five
 * seconds the queues' figures. */
#include "queuemng/admin/dashboard_feed.h"

#include <stdlib.h>

#include "common/base/log.h"

static void on_line(void *ctx, enum log_level level, const char *line)
{
    struct mng_service *s = ctx;

    events_add(&s->events, ev_wall_ms(s->ev), (int)level, line);
}

int dashboard_feed_start(struct mng_service *s, struct err *e)
{
    history_init(&s->history);
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
}

/* ---- figures --------------------------------------------------------------------- */

static void add_lane(void *ctx, const void *view)
{
    const struct mng_lane_view *l = view;
    struct history_sums *x = ctx;

    x->waiting += l->waiting + l->returning;
    x->active += l->ready + l->active;
    x->joined += l->joined;
    x->released += l->released;
    x->no_shows += l->no_shows;
    x->left += l->left + l->expired;
}

static void add_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct mng_service *s = ctx;
    struct history_sums sums = { .allowed_per_s = q->allowed_per_s };

    mng_each_lane(s->mng, q->id, add_lane, &sums);
    history_add(&s->history, q->id, &sums);
}

void dashboard_feed_tick(struct mng_service *s)
{
    msec_t now = ev_now(s->ev);

    if (now < s->history_ms)
        return;
    s->history_ms = now + HISTORY_STEP_MS;
    op_log_tick(s->op_log, ev_wall_ms(s->ev));
    if (!s->leads)
        return;
    history_begin(&s->history, now, ev_wall_ms(s->ev));
    mng_each_queue(s->mng, add_queue, s);
    history_end(&s->history);
}

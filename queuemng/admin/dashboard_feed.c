/* dashboard_feed.c: events out of the log, and every five seconds the queues' figures. */
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

static void add_queue(void *ctx, const void *view)
{
    const struct mng_queue_view *q = view;
    struct mng_service *s = ctx;
    struct mng_lane_view l = mng_queue_sum(s->mng, q->id);

    history_add(&s->history, q->id,
                &(struct history_sums){ .waiting = l.waiting + l.returning,
                                        .active = l.ready + l.active,
                                        .joined = l.joined,
                                        .released = l.released,
                                        .no_shows = l.no_shows,
                                        .left = l.left + l.expired,
                                        .allowed_per_s = q->allowed_per_s });
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

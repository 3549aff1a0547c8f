/* live.c: see the header. */
#include "queuemng/ctl/live.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/ctl/screen.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/status_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/ctl_view/top_view.h"

#define TASKS "/v1/admin/task-queues"

struct live {
    struct ctl *c;
    const char *queue; /* NULL: all */
};

static int once(screen_fn show, struct ctl *c, const char *queue)
{
    struct buf b;
    int rc;

    buf_init(&b);
    rc = show(&(struct live){ c, queue }, &b, 0);
    ctl_put_out(&b);
    buf_fini(&b);
    return rc;
}

static int again(screen_fn show, struct ctl *c, void *arg)
{
    const struct screen s = { .every_s = c->every_s > 0 ? c->every_s : 1, .count = c->count,
                              .text = c->form == FORM_TABLE };

    return screen_run(&s, show, arg);
}

/* ---- status, watch ---- */

static int show_status(void *arg, struct buf *b, size_t lines)
{
    const struct live *l = arg;
    int rc;
    json_t *doc = ctl_fetch(l->c, (struct ctl_call){ .method = "GET", .path = "/v1/admin/cluster" }, &rc);
    json_t *tasks = NULL;

    (void)lines;
    if (doc != NULL && !view_cluster(b, doc, l->queue, l->c->all))
        rc = ctl_say_no_queue(l->c, l->queue);
    if (doc != NULL && rc == CTL_OK && l->queue == NULL)
        tasks = ctl_get(l->c, TASKS, NULL, &rc);
    if (tasks != NULL)
        view_lacks_workers(b, tasks); /* the trouble with tasks, below the rest */
    json_decref(tasks);
    json_decref(doc);
    return rc;
}

int cmd_status(struct ctl *c, char **argv)
{
    return once(show_status, c, argv[0]);
}

int cmd_watch(struct ctl *c, char **argv)
{
    return again(show_status, c, &(struct live){ c, argv[0] });
}

/* ---- task queues ---- */

static int show_task_queues(void *arg, struct buf *b, size_t lines)
{
    const struct live *l = arg;
    int rc;
    json_t *doc = ctl_fetch(l->c, (struct ctl_call){ .method = "GET", .path = TASKS }, &rc);

    (void)lines;
    if (doc != NULL && !view_task_queues(b, doc, l->queue))
        rc = ctl_fail(CTL_REFUSED, "no pool takes a queue '%s'", l->queue);
    json_decref(doc);
    return rc;
}

int cmd_task_queues(struct ctl *c)
{
    return once(show_task_queues, c, NULL);
}

int cmd_task_top(struct ctl *c, char **argv)
{
    return again(show_task_queues, c, &(struct live){ c, argv[0] });
}

/* ---- top ---- */

#define LOOKS   8    /* looks that are kept */
#define RATE_MS 3000 /* rates are of so long, if there is as much */

struct top {
    struct ctl *c;
    json_t *look[LOOKS]; /* owned: the youngest first */
};

/* Finds the look that rates are counted from; NULL: no look before. */
static const json_t *then(const struct top *t, const json_t *now)
{
    double at = ctl_f64(now, "now_ms");

    for (size_t i = 0; i < LOOKS && t->look[i] != NULL; i++)
        if (at - ctl_f64(t->look[i], "now_ms") >= RATE_MS || i + 1 == LOOKS || t->look[i + 1] == NULL)
            return t->look[i];
    return NULL;
}

static void keep(struct top *t, json_t *now)
{
    json_decref(t->look[LOOKS - 1]);
    memmove(&t->look[1], &t->look[0], (LOOKS - 1) * sizeof(t->look[0]));
    t->look[0] = now;
}

static int show_top(void *arg, struct buf *b, size_t lines)
{
    struct top *t = arg;
    int rc;
    json_t *now = ctl_fetch(t->c, (struct ctl_call){ .method = "GET",
                                                     .path = "/v1/admin/live?since=9223372036854775807" },
                            &rc);

    if (now == NULL)
        return rc;
    view_top(b, now, then(t, now), lines);
    keep(t, now);
    return CTL_OK;
}

int cmd_top(struct ctl *c, char **argv)
{
    struct top t = { .c = c };
    int rc = again(show_top, c, &t);

    (void)argv;
    for (size_t i = 0; i < LOOKS; i++)
        json_decref(t.look[i]);
    return rc;
}

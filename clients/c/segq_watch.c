/* segq_watch.c: starts and ends of a queue, and what becomes of a task; see segq_tasks.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIET_MS 20000 /* the longest silence of a stream that lives */
#define WORST_MS 30000 /* of the back-off */
#define TEXT_MAX (64u << 10)
#define ID_MAX   129 /* with its NUL */

enum heard {
    HEARD_FINE,
    HEARD_ENOUGH,  /* the reader wants no more */
    HEARD_END,     /* the task is over */
    HEARD_GONE,    /* segq says no more */
    HEARD_GARBAGE, /* ends this stream */
};

struct part {
    char *p;
    size_t n;
};

struct feed {
    int (*on_event)(void *ctx, const struct segq_event *v); /* a queue's; NULL: it is a task's */
    int (*on_state)(void *ctx, const json_t *task);
    void *ctx;
    const char *task;
    json_t *state; /* owned: as told last */
    struct part line, data; /* of the event that comes: has_data */
    int has_data;
    char name[32], id[ID_MAX];
    char last[ID_MAX]; /* of the event that the reader has dealt with last */
    enum heard heard;
    struct segq_error gone;
    long away_ms, grown_ms; /* when to come back, as told; pauses while streams bring nothing */
};

static int add(struct part *t, const char *p, size_t n)
{
    char *more = t->n + n < TEXT_MAX ? realloc(t->p, t->n + n + 1) : NULL;

    if (more == NULL)
        return -1;
    memcpy(more + t->n, p, n);
    t->p = more;
    t->n += n;
    t->p[t->n] = '\0';
    return 0;
}

static enum heard tell(struct feed *f, const json_t *said)
{
    const json_t *at = json_object_get(said, "at");
    struct segq_event v = { .id = f->id[0] != '\0' ? f->id : f->last };

    v.gap = strcmp(f->name, "gap") == 0;
    if (!v.gap && f->name[0] != '\0' && strcmp(f->name, "message") != 0)
        return HEARD_FINE; /* of a later release */
    if (!v.gap) {
        v.task = segq_text(said, "task");
        v.state = segq_text(said, "state");
        v.attempts = (int)json_integer_value(json_object_get(said, "attempts"));
        v.at = json_number_value(at);
        if (v.task[0] == '\0')
            return HEARD_GARBAGE;
    }
    return f->on_event(f->ctx, &v) == 0 ? HEARD_FINE : HEARD_ENOUGH;
}

static int is_over(const json_t *task)
{
    static const char *const ends[] = { "succeeded", "dead", "cancelled", "expired" };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(segq_text(task, "state"), ends[i]) == 0)
            return 1;
    return 0;
}

static enum heard tell_state(struct feed *f, json_t *said)
{
    if (segq_text(said, "state")[0] == '\0')
        return HEARD_GARBAGE;
    json_decref(f->state);
    f->state = json_incref(said);
    if (f->on_state(f->ctx, said) != 0)
        return HEARD_ENOUGH;
    return is_over(said) ? HEARD_END : HEARD_FINE;
}

static enum heard of_json(struct feed *f)
{
    json_t *said = json_loadb(f->data.p, f->data.n, 0, NULL);
    json_int_t ms = json_integer_value(json_object_get(said, "poll_after_ms"));
    enum heard h = HEARD_FINE;

    if (!json_is_object(said)) {
        h = HEARD_GARBAGE;
    } else if (strcmp(f->name, "gone") == 0) {
        segq_fail(&f->gone, SEGQ_API, (int)json_integer_value(json_object_get(said, "status")),
                  segq_text(said, "code"), segq_text(said, "detail"));
        h = HEARD_GONE;
    } else if (strcmp(f->name, "away") == 0) {
        f->away_ms = ms <= 0 ? 0 : ms < 86400000 ? (long)ms : 86400000;
    } else if (f->on_event != NULL) {
        h = tell(f, said);
    } else if (f->name[0] == '\0' || strcmp(f->name, "message") == 0 || strcmp(f->name, "end") == 0) {
        h = tell_state(f, said);
    }
    json_decref(said);
    return h;
}

/* A blank line: the event is whole. */
static void on_whole(struct feed *f)
{
    if (f->has_data && strcmp(f->name, "beat") != 0)
        f->heard = of_json(f);
    if (f->has_data && f->heard == HEARD_FINE) {
        f->grown_ms = 1000;
        if (f->id[0] != '\0')
            strcpy(f->last, f->id);
    }
    f->name[0] = '\0';
    f->data.n = 0;
    f->has_data = 0;
}

/* Another one is a stranger's: no header could send it back. */
static int is_id(const char *s)
{
    size_t n = 0;

    while (s[n] >= ' ' && s[n] <= '~' && n < ID_MAX)
        n++;
    return s[n] == '\0' && n < ID_MAX;
}

static const char *value_of(const char *line, const char *field)
{
    size_t n = strlen(field);

    if (strncmp(line, field, n) != 0 || line[n] != ':')
        return NULL;
    return line + n + (line[n + 1] == ' ' ? 2 : 1);
}

static void on_line(struct feed *f, const char *line)
{
    const char *v;

    if (line[0] == '\0') {
        on_whole(f);
    } else if ((v = value_of(line, "event")) != NULL) {
        snprintf(f->name, sizeof(f->name), "%s", v);
    } else if ((v = value_of(line, "id")) != NULL) {
        if (is_id(v))
            strcpy(f->id, v);
    } else if ((v = value_of(line, "data")) != NULL) {
        if ((f->has_data && add(&f->data, "\n", 1) != 0) || add(&f->data, v, strlen(v)) != 0)
            f->heard = HEARD_GARBAGE;
        f->has_data = 1;
    }
}

static int on_piece(void *ctx, const char *p, size_t n)
{
    struct feed *f = ctx;

    while (n > 0 && f->heard == HEARD_FINE) {
        const char *end = memchr(p, '\n', n);
        size_t some = end != NULL ? (size_t)(end - p) : n;

        if (add(&f->line, p, some) != 0)
            return 1; /* too long, or no memory: the stream ends, and is asked for again */
        if (end != NULL) {
            if (f->line.n > 0 && f->line.p[f->line.n - 1] == '\r')
                f->line.p[f->line.n - 1] = '\0';
            f->line.n = 0;
            on_line(f, f->line.p);
            some++;
        }
        p += some;
        n -= some;
    }
    return f->heard != HEARD_FINE;
}

static int is_stopped(const int *stop)
{
    return stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static void rest(struct feed *f, long told_ms, const int *stop)
{
    int64_t until = segq_now_ms() + segq_spread(told_ms > 0 ? told_ms : f->grown_ms), left;

    f->grown_ms = f->grown_ms * 2 < WORST_MS ? f->grown_ms * 2 : WORST_MS;
    while ((left = until - segq_now_ms()) > 0 && !is_stopped(stop))
        segq_sleep(left < 200 ? (long)left : 200);
}

/* A router has no room for the stream: the task is looked at, which says when to come back. */
static long look(struct segq_client *c, struct feed *f, struct segq_error *e)
{
    json_t *t = segq_look(c, f->task, e);
    json_int_t ms = json_integer_value(json_object_get(t, "poll_after_ms"));

    if (t == NULL) {
        f->heard = segq_mends(e) ? HEARD_FINE : HEARD_GONE;
        f->gone = *e;
    } else {
        f->heard = tell_state(f, t);
    }
    json_decref(t);
    return ms < 1000 ? 0 : ms < 86400000 ? (long)ms : 86400000;
}

/* One stream. 1: there is something to come back for. */
static int listen_once(struct segq_client *c, const char *path, struct feed *f, const int *stop,
                       struct segq_error *e)
{
    struct segq_ask q = { .method = "GET", .path = path, .accept = "text/event-stream",
                          .last_id = f->last[0] != '\0' ? f->last : NULL, .stop = stop,
                          .on_piece = on_piece, .ctx = f, .timeout_ms = QUIET_MS };
    json_t *said;
    long told_ms;

    f->line.n = f->data.n = 0;
    f->has_data = 0;
    f->name[0] = f->id[0] = '\0';
    f->away_ms = 0;
    f->heard = HEARD_FINE;
    said = segq_http(c, &q, e);
    json_decref(said);
    told_ms = said == NULL ? e->retry_after_ms : q.status == 204 ? q.retry_after_ms : f->away_ms;
    if (said != NULL && q.status == 204 && f->task != NULL)
        told_ms = look(c, f, e);
    if (f->heard == HEARD_GONE)
        *e = f->gone;
    if (f->heard == HEARD_ENOUGH || f->heard == HEARD_GONE || f->heard == HEARD_END || is_stopped(stop) ||
        (said == NULL && !segq_mends(e)))
        return 0;
    rest(f, told_ms, stop);
    return !is_stopped(stop);
}

int segq_watch_queue(struct segq_client *c, const char *queue, const char *after,
                     int (*on_event)(void *ctx, const struct segq_event *v), void *ctx,
                     const int *stop, struct segq_error *e)
{
    struct feed f = { .on_event = on_event, .ctx = ctx, .grown_ms = 1000 };
    char path[512];

    if (after != NULL && !is_id(after)) {
        segq_fail(e, SEGQ_API, 400, "bad_request", "after is no id of an event");
        return -1;
    }
    strcpy(f.last, after != NULL ? after : "");
    segq_path(path, sizeof(path), "/v1/queues/", queue, "/tasks/events");
    while (listen_once(c, path, &f, stop, e))
        ;
    free(f.line.p);
    free(f.data.p);
    if (f.heard != HEARD_ENOUGH && !is_stopped(stop))
        return -1;
    memset(e, 0, sizeof(*e));
    return 0;
}

json_t *segq_watch(struct segq_client *c, const char *task, int (*on_state)(void *ctx, const json_t *task),
                   void *ctx, const int *stop, struct segq_error *e)
{
    struct feed f = { .on_state = on_state, .ctx = ctx, .task = task, .grown_ms = 1000 };
    char path[512];

    segq_path(path, sizeof(path), "/v1/tasks/", task, "/events");
    while (listen_once(c, path, &f, stop, e))
        ;
    free(f.line.p);
    free(f.data.p);
    if (f.heard == HEARD_END || f.heard == HEARD_ENOUGH) {
        memset(e, 0, sizeof(*e));
        return f.state;
    }
    json_decref(f.state);
    if (is_stopped(stop))
        segq_fail(e, SEGQ_DEADLINE, 0, "stopped", "the watch was ended before the task");
    return NULL;
}

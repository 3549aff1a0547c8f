/* segq_ends.c: see segq_work.h. What tells segq of tasks: their ends, together; that their leases
 * go on; their progress. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_work.h"

#include <stdio.h>
#include <string.h>

#define SETTLE_BYTES (200u << 10) /* of a request */

/* ---- ends ---- */

static void queue_end(struct segq_worker *w, struct work *x)
{
    x->next = NULL;
    *w->last_end = x;
    w->last_end = &x->next;
    w->n_ends++;
}

int segq_end(struct work *x, json_t *row)
{
    struct segq_worker *w = x->w;

    if (x->over) {
        json_decref(row);
        return 0;
    }
    x->over = 1;
    x->row = row;
    x->refs++;
    x->tell_at_ms = segq_now_ms();
    x->tell_until_ms = x->tell_at_ms + w->o.lease_ms;
    x->pause_ms = SEGQ_PAUSE_MS;
    queue_end(w, x);
    pthread_cond_broadcast(&w->change);
    return 1;
}

/* In place of an end that is refused (a result that is too long, a delay that is none): a nack that
 * says so. 0: it was that. */
static int make_plainer(struct work *x, const char *why)
{
    char text[400], reason[SEGQ_REASON_MAX + 1];

    if (json_object_get(x->row, "result") == NULL && x->bytes == NULL &&
        json_object_get(x->row, "delay") == NULL)
        return 0;
    json_decref(x->bytes);
    x->bytes = NULL;
    json_object_del(x->row, "result_base64");
    json_object_del(x->row, "content_type");
    snprintf(text, sizeof(text), "its end was refused: %s", why);
    segq_plain(reason, text);
    json_object_del(x->row, "result");
    json_object_del(x->row, "delay");
    json_object_set_new(x->row, "verb", json_string("nack"));
    json_object_set_new(x->row, "reason", json_string(reason));
    return 1;
}

/* Those of one queue that are due, out of the list; *wake: when the next one is. */
static size_t due_ends(struct segq_worker *w, struct work **out, int64_t *wake)
{
    struct work **at = &w->ends;
    int64_t now = segq_now_ms();
    size_t n = 0, size = 0;

    *wake = now + 200;
    while (*at != NULL && n < SEGQ_BATCH && size < SETTLE_BYTES) {
        struct work *x = *at;

        if (x->tell_at_ms > now && x->tell_at_ms < *wake)
            *wake = x->tell_at_ms;
        if (x->tell_at_ms > now || (n > 0 && (x->alone || out[0]->alone)) ||
            (n > 0 && strcmp(x->job.queue, out[0]->job.queue) != 0)) {
            at = &x->next;
            continue;
        }
        out[n++] = x;
        size += json_dumpb(x->row, NULL, 0, JSON_COMPACT);
        *at = x->next;
        w->n_ends--;
    }
    for (w->last_end = &w->ends; *w->last_end != NULL;)
        w->last_end = &(*w->last_end)->next;
    return n;
}

/* It is told again after a pause, as long as its lease; a word of what became of it. */
static const char *put_off(struct segq_worker *w, struct work *x, long told_ms)
{
    long pause = segq_spread(told_ms > 0 ? told_ms : x->pause_ms);
    const char *word = NULL;

    pthread_mutex_lock(&w->lock);
    x->pause_ms = segq_grow(x->pause_ms);
    x->tell_at_ms = segq_now_ms() + pause;
    if (x->tell_at_ms <= x->tell_until_ms) {
        queue_end(w, x);
    } else {
        word = "trouble"; /* it is tried again when its lease ends */
        segq_unref(x);
    }
    pthread_mutex_unlock(&w->lock);
    return word;
}

static void drop_end(struct segq_worker *w, struct work *x)
{
    pthread_mutex_lock(&w->lock);
    segq_unref(x);
    pthread_mutex_unlock(&w->lock);
}

/* What segq says of one end. */
static void take_outcome(struct segq_worker *w, struct work *x, int status, const char *detail)
{
    if (status == 429 || status == 503) {
        if (put_off(w, x, 0) != NULL)
            segq_say(w, "trouble", NULL);
    } else if ((status == 400 || status == 413) && make_plainer(x, detail)) {
        put_off(w, x, 1);
    } else {
        if (status >= 400)
            segq_say(w, "lost", x);
        drop_end(w, x);
    }
}

/* The whole request is refused, or there was no answer. */
static void take_refusal(struct segq_worker *w, struct work **x, size_t n,
                         const struct segq_error *e)
{
    int spoiled = e->kind == SEGQ_API && (e->status == 400 || e->status == 413);

    segq_say(w, "trouble", NULL);
    for (size_t i = 0; i < n; i++) {
        if (n > 1 && spoiled)
            x[i]->alone = 1; /* each alone tells which */
        if (segq_mends(e))
            put_off(w, x[i], e->retry_after_ms);
        else if (spoiled && (n > 1 || make_plainer(x[i], e->detail)))
            put_off(w, x[i], 1);
        else
            drop_end(w, x[i]);
    }
}

/* A settlement: NULL, or as many outcomes as rows. */
static json_t *settle(struct segq_worker *w, const char *queue, json_t *rows, long timeout_ms,
                      struct segq_error *e)
{
    char path[512];
    struct segq_ask q = { .method = "POST", .value = rows, .path = path };
    json_t *said;

    q.timeout_ms = timeout_ms;
    segq_path(path, sizeof(path), "/v1/queues/", queue, "/tasks/settle");
    said = segq_http(w->c, &q, e);
    if (said != NULL && json_array_size(said) != json_array_size(rows)) {
        json_decref(said);
        said = segq_none(e, "an answer that is no list of outcomes");
    }
    json_decref(rows);
    return said;
}

static int status_of(const json_t *outcome)
{
    return (int)json_integer_value(json_object_get(outcome, "status"));
}

/* The longest that one answer may take. */
static long quarter_ms(const struct segq_worker *w)
{
    return w->o.lease_ms / 4 > 1000 ? w->o.lease_ms / 4 : 1000;
}

static void tell(struct segq_worker *w, struct work **x, size_t n)
{
    json_t *rows = json_array(), *said;
    struct segq_error e;

    for (size_t i = 0; i < n; i++)
        json_array_append(rows, x[i]->row);
    said = settle(w, x[0]->job.queue, rows, quarter_ms(w), &e);
    if (said == NULL)
        take_refusal(w, x, n, &e);
    for (size_t i = 0; said != NULL && i < n; i++) {
        json_t *one = json_array_get(said, i);

        take_outcome(w, x[i], status_of(one), segq_text(one, "detail"));
    }
    json_decref(said);
}

void *segq_tell_ends(void *arg)
{
    struct segq_worker *w = arg;
    struct work *x[SEGQ_BATCH];
    int64_t wake;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        size_t n = due_ends(w, x, &wake);

        if (n == 0 && w->closing)
            break;
        if (n == 0) {
            segq_wait_ms(w, wake - segq_now_ms());
            continue;
        }
        w->telling = 1;
        pthread_mutex_unlock(&w->lock);
        tell(w, x, n);
        pthread_mutex_lock(&w->lock);
        w->telling = 0;
        pthread_cond_broadcast(&w->change);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- leases and progress ---- */

static void lose(struct segq_worker *w, struct work *x)
{
    int mine;

    pthread_mutex_lock(&w->lock);
    mine = !x->over;
    if (mine)
        x->over = x->lost = 1;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    if (mine)
        segq_say(w, "lost", x);
}

/* Those of one queue that are at half of their lease, and were not asked about in this turn. */
static size_t due_leases(struct segq_worker *w, struct work **out, int64_t now)
{
    size_t n = 0;

    for (int i = 0; i < w->o.concurrency && n < SEGQ_BATCH; i++) {
        struct work *x = w->slots[i];

        if (x == NULL || x->over || x->extend_at_ms > now)
            continue;
        if (n > 0 && strcmp(x->job.queue, out[0]->job.queue) != 0)
            continue;
        x->extend_at_ms = now + w->o.lease_ms / 8 + 1; /* if this time it does not work */
        x->refs++;
        out[n++] = x;
    }
    return n;
}

/* One thread keeps all leases: a router that is slow has a small part of one, and then another is
 * asked. Where all are slow, each has twice the time of the one before. */
static void judge_patience(struct segq_worker *w, int answered)
{
    long least = w->o.lease_ms / 16;

    least = least < 250 ? 250 : least > 2000 ? 2000 : least;
    w->patience_ms = answered ? least : w->patience_ms * 2;
    if (w->patience_ms > quarter_ms(w))
        w->patience_ms = quarter_ms(w);
}

static void extend(struct segq_worker *w, struct work **x, size_t n)
{
    json_t *rows = json_array(), *said;
    int64_t asked = segq_now_ms();
    struct segq_error e;

    for (size_t i = 0; i < n; i++) {
        json_t *row = segq_row(x[i], "extend");

        json_object_set_new(row, "lease", json_real((double)w->o.lease_ms / 1000));
        json_array_append_new(rows, row);
    }
    said = settle(w, x[0]->job.queue, rows, w->patience_ms, &e);
    judge_patience(w, said != NULL || e.kind == SEGQ_API);
    if (said == NULL)
        segq_say(w, "trouble", NULL);
    for (size_t i = 0; i < n; i++) {
        int status = said != NULL ? status_of(json_array_get(said, i)) : 503;

        if (status < 400) {
            pthread_mutex_lock(&w->lock);
            x[i]->until_ms = asked + w->o.lease_ms;
            x[i]->extend_at_ms = asked + w->o.lease_ms / 2;
            pthread_mutex_unlock(&w->lock);
            segq_say(w, "extended", x[i]);
        } else if ((status != 429 && status != 503) || x[i]->until_ms <= segq_now_ms()) {
            lose(w, x[i]);
        }
    }
    json_decref(said);
}

/* 0: nobody has answered. */
static int tell_progress(struct segq_worker *w, struct work *x, json_t *progress)
{
    char path[512];
    struct segq_ask q = { .method = "POST", .path = path, .value = progress };
    struct segq_error e;
    json_t *said;

    q.timeout_ms = w->patience_ms;
    segq_path(path, sizeof(path), "/v1/tasks/", x->job.task, "/progress");
    said = segq_http(w->c, &q, &e);
    judge_patience(w, said != NULL || e.kind == SEGQ_API);
    if (said == NULL && (e.status == 409 || e.status == 410))
        lose(w, x);
    else if (said == NULL)
        segq_say(w, "trouble", x);
    json_decref(said);
    return said != NULL || e.kind == SEGQ_API;
}

static void keep_due(struct segq_worker *w, struct work **x)
{
    int64_t now = segq_now_ms();
    size_t n;

    while ((n = due_leases(w, x, now)) > 0) {
        pthread_mutex_unlock(&w->lock);
        extend(w, x, n);
        pthread_mutex_lock(&w->lock);
        while (n > 0)
            segq_unref(x[--n]);
    }
}

static void keep_turn(struct segq_worker *w, struct work **x)
{
    keep_due(w, x);
    for (int i = 0; i < w->o.concurrency; i++) {
        struct work *one = w->slots[i];
        json_t *progress;
        int told;

        if (one == NULL || one->over || one->progress == NULL)
            continue;
        progress = one->progress;
        one->progress = NULL;
        one->refs++;
        pthread_mutex_unlock(&w->lock);
        told = tell_progress(w, one, progress);
        pthread_mutex_lock(&w->lock);
        if (!told && one->progress == NULL)
            one->progress = json_incref(progress); /* with the next turn, by a router with more time */
        json_decref(progress);
        segq_unref(one);
        keep_due(w, x); /* that may have taken a while */
        if (!told)
            break;
    }
}

void *segq_keep_leases(void *arg)
{
    struct segq_worker *w = arg;
    struct work *x[SEGQ_BATCH];
    long every = w->o.lease_ms / 8 < 250 ? w->o.lease_ms / 8 : 250;

    judge_patience(w, 1);
    pthread_mutex_lock(&w->lock);
    while (!w->closing) {
        int64_t next = segq_now_ms() + every;

        keep_turn(w, x);
        while (!w->closing && segq_now_ms() < next)
            segq_wait_ms(w, next - segq_now_ms());
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* segq_worker.c: see segq_tasks.h. One thread takes, one tells ends, one keeps leases, and one for
 * each handler that may run. All that they share is under one lock; nothing is called under it. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_work.h"

#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNSETTLED_MAX 2000 /* ends that wait to be told: no more is taken */
#define GATHER_MS     2    /* so long a take waits for more slots while others work */
#define WORST_MS      30000

static volatile sig_atomic_t signals; /* that came */

static void on_signal(int n)
{
    (void)n;
    signals++;
}

/* ---- small things ---- */

void segq_wait_ms(struct segq_worker *w, int64_t ms)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    ms = (ms > 0 ? ms : 1) + t.tv_nsec / 1000000;
    t.tv_sec += ms / 1000;
    t.tv_nsec = t.tv_nsec % 1000000 + ms % 1000 * 1000000;
    pthread_cond_timedwait(&w->change, &w->lock, &t);
}

void segq_say(struct segq_worker *w, const char *name, const struct work *x)
{
    if (w->o.on_event != NULL)
        w->o.on_event(w->o.ctx, name, x != NULL ? &x->job : NULL);
}

void segq_unref(struct work *x)
{
    if (--x->refs > 0)
        return;
    json_decref(x->said);
    json_decref(x->bytes);
    free(x->raw);
    json_decref(x->progress);
    json_decref(x->row);
    free(x);
}

long segq_grow(long pause_ms)
{
    return pause_ms * 2 < WORST_MS ? pause_ms * 2 : WORST_MS;
}

void segq_plain(char out[SEGQ_REASON_MAX + 1], const char *text)
{
    size_t n = strlen(text);

    if (n > SEGQ_REASON_MAX) {
        n = SEGQ_REASON_MAX;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    out[n] = '\0';
}

json_t *segq_row(const struct work *x, const char *verb)
{
    return json_pack("{s:s, s:s, s:s}", "task", x->job.task, "verb", verb, "lease_id",
                     x->job.lease_id);
}

/* ---- what handlers call ---- */

json_t *segq_nack(struct segq_job *job, const char *reason, const char *delay)
{
    struct work *x = (struct work *)job;

    segq_plain(x->reason, reason);
    snprintf(x->delay, sizeof(x->delay), "%s", delay != NULL ? delay : "");
    return NULL;
}

json_t *segq_bytes(struct segq_job *job, const void *p, size_t n, const char *content_type)
{
    struct work *x = (struct work *)job;
    unsigned char *text = malloc((n + 2) / 3 * 4 + 1);

    if (text == NULL)
        return segq_nack(job, "no memory", NULL);
    EVP_EncodeBlock(text, p, (int)n);
    json_decref(x->bytes);
    x->bytes = json_pack("{s:s, s:s}", "result_base64", text, "content_type", content_type);
    free(text);
    return json_null();
}

int segq_job_lost(struct segq_job *job)
{
    struct work *x = (struct work *)job;
    int lost;

    pthread_mutex_lock(&x->w->lock);
    lost = x->lost;
    pthread_mutex_unlock(&x->w->lock);
    return lost;
}

void segq_job_progress(struct segq_job *job, int percent, const char *text, json_t *data)
{
    struct work *x = (struct work *)job;
    json_t *said = json_pack("{s:s}", "lease_id", job->lease_id);
    char words[SEGQ_REASON_MAX + 1] = "";

    segq_plain(words, text != NULL ? text : "");
    if (percent >= 0)
        json_object_set_new(said, "percent", json_integer(percent));
    if (words[0] != '\0')
        json_object_set_new(said, "text", json_string(words));
    if (data != NULL)
        json_object_set_new(said, "data", data);
    pthread_mutex_lock(&x->w->lock);
    json_decref(x->progress);
    x->progress = said;
    pthread_mutex_unlock(&x->w->lock);
}

/* ---- taking ---- */

/* Waits for a slot, and a moment longer for more of them; 0: it stops. */
static int free_slots(struct segq_worker *w)
{
    int64_t gather = 0;

    while (!w->stopping) {
        int n = w->o.concurrency - w->used;

        if (n > 0 && w->n_ends < UNSETTLED_MAX) {
            if (gather == 0)
                gather = segq_now_ms() + GATHER_MS;
            if (n * 2 >= w->o.concurrency || segq_now_ms() >= gather)
                return n < SEGQ_BATCH ? n : SEGQ_BATCH;
        }
        segq_wait_ms(w, gather != 0 ? gather - segq_now_ms() : 200);
    }
    return 0;
}

/* What stands in place of a payload that is no JSON. */
static void take_bytes(struct work *x)
{
    const char *text = json_string_value(json_object_get(x->said, "payload_base64"));
    size_t n = text != NULL ? strlen(text) : 0;

    x->job.content_type = json_string_value(json_object_get(x->said, "content_type"));
    if (text == NULL || (x->raw = malloc(n / 4 * 3 + 1)) == NULL)
        return;
    x->job.bytes = x->raw;
    if (n > 0 && EVP_DecodeBlock(x->raw, (const unsigned char *)text, (int)n) > 0)
        x->job.n_bytes = n / 4 * 3 - (text[n - 1] == '=') - (text[n - 2] == '=');
}

/* NULL: it is no task. said stays the caller's. */
static struct work *new_work(struct segq_worker *w, json_t *said)
{
    struct work *x = calloc(1, sizeof(*x));
    const char *queue = segq_text(said, "queue");

    if (x == NULL || segq_text(said, "task")[0] == '\0') {
        free(x);
        return NULL;
    }
    x->w = w;
    x->refs = 1;
    x->said = json_incref(said);
    x->job.task = segq_text(said, "task");
    x->job.queue = queue[0] != '\0' ? queue : w->o.queues[0];
    x->job.key = json_string_value(json_object_get(said, "key"));
    x->job.lease_id = segq_text(said, "lease_id");
    x->job.attempt = (int)json_integer_value(json_object_get(said, "attempt"));
    x->job.payload = json_object_get(said, "payload");
    take_bytes(x);
    x->until_ms = segq_now_ms() + w->o.lease_ms;
    x->extend_at_ms = segq_now_ms() + w->o.lease_ms / 2;
    return x;
}

static size_t begin(struct segq_worker *w, const json_t *tasks)
{
    json_t *said;
    size_t i;

    json_array_foreach(tasks, i, said) {
        struct work *x = new_work(w, said);

        if (x == NULL)
            continue;
        segq_say(w, "taken", x);
        pthread_mutex_lock(&w->lock);
        for (int k = 0; k < w->o.concurrency; k++)
            if (w->slots[k] == NULL) {
                w->slots[k] = x;
                x = NULL;
                break;
            }
        w->used += x == NULL;
        pthread_cond_broadcast(&w->change);
        if (x != NULL)
            segq_unref(x); /* more than was asked for: its lease ends */
        pthread_mutex_unlock(&w->lock);
    }
    return i;
}

static json_t *ask_for(struct segq_worker *w, int n, struct segq_error *e)
{
    char path[512] = "/v1/tasks/take";
    struct segq_ask q = { .method = "POST", .path = path, .stop = &w->hurry };
    json_t *said;

    q.timeout_ms = segq_client_timeout(w->c) + w->o.wait_ms;
    q.value = json_pack("{s:i, s:f, s:f}", "n", n, "lease", (double)w->o.lease_ms / 1000, "wait",
                        (double)w->o.wait_ms / 1000);
    if (w->o.n_queues == 1) {
        segq_path(path, sizeof(path), "/v1/queues/", w->o.queues[0], "/tasks/take");
    } else {
        json_t *queues = json_array();

        for (size_t i = 0; i < w->o.n_queues; i++)
            json_array_append_new(queues, json_string(w->o.queues[i]));
        json_object_set_new(q.value, "queues", queues);
    }
    said = segq_http(w->c, &q, e);
    json_decref(q.value);
    return said;
}

/* So long, if it does not stop. */
static void rest(struct segq_worker *w, long ms)
{
    int64_t end = segq_now_ms() + ms;

    while (!w->stopping && segq_now_ms() < end)
        segq_wait_ms(w, end - segq_now_ms());
}

static void *take(void *arg)
{
    struct segq_worker *w = arg;
    long pause = SEGQ_PAUSE_MS;
    int n;

    pthread_mutex_lock(&w->lock);
    while ((n = free_slots(w)) > 0) {
        int64_t asked = segq_now_ms();
        struct segq_error e;
        json_t *said;
        size_t got = 0;

        pthread_mutex_unlock(&w->lock);
        said = ask_for(w, n, &e);
        if (said != NULL)
            got = begin(w, json_object_get(said, "tasks"));
        json_decref(said);
        if (said == NULL && segq_mends(&e))
            segq_say(w, "trouble", NULL);
        pthread_mutex_lock(&w->lock);
        if (said != NULL) {
            pause = SEGQ_PAUSE_MS;
            if (got == 0 && segq_now_ms() < asked + w->o.wait_ms / 2)
                rest(w, 100); /* a router that stops does not wait */
        } else if (segq_mends(&e)) {
            rest(w, segq_spread(e.retry_after_ms > 0 ? e.retry_after_ms : pause));
            pause = segq_grow(pause);
        } else { /* it can never work: the token, the queue, our own request */
            w->refused = w->stopping = 1;
            w->why = e;
            w->end_at_ms = segq_now_ms() + w->o.drain_ms;
        }
    }
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- handlers ---- */

static void finish(struct work *x, json_t *result)
{
    json_t *row = segq_row(x, result != NULL ? "ack" : "nack");
    const char *name = result != NULL ? "succeeded" : "failed";
    int told;

    if (result == NULL) {
        const char *why = x->reason[0] != '\0' ? x->reason : "failed";

        json_object_set_new(row, "reason", json_string(why));
        if (x->delay[0] != '\0')
            json_object_set_new(row, "delay", json_string(x->delay));
    } else if (x->bytes != NULL) {
        json_object_update(row, x->bytes);
    } else if (!json_is_null(result)) {
        json_object_set(row, "result", result);
    }
    json_decref(result);
    pthread_mutex_lock(&x->w->lock);
    told = segq_end(x, row);
    pthread_mutex_unlock(&x->w->lock);
    if (told)
        segq_say(x->w, name, x);
}

/* The slot of a task that has not begun; -1: none. */
static int next_slot(const struct segq_worker *w)
{
    for (int i = 0; i < w->o.concurrency; i++)
        if (w->slots[i] != NULL && !w->slots[i]->begun)
            return i;
    return -1;
}

static void *handle(void *arg)
{
    struct segq_worker *w = arg;

    pthread_mutex_lock(&w->lock);
    while (!w->closing) {
        int i = next_slot(w);
        struct work *x = i >= 0 ? w->slots[i] : NULL;

        if (x == NULL) {
            segq_wait_ms(w, 1000);
            continue;
        }
        x->begun = 1;
        if (!x->over) {
            pthread_mutex_unlock(&w->lock);
            segq_say(w, "started", x);
            finish(x, w->o.handler(&x->job, w->o.ctx));
            pthread_mutex_lock(&w->lock);
        }
        w->slots[i] = NULL;
        w->used--;
        segq_unref(x);
        pthread_cond_broadcast(&w->change);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- from birth to death ---- */

struct segq_worker *segq_worker_new(struct segq_client *c, const struct segq_worker_options *o)
{
    struct segq_worker *w = calloc(1, sizeof(*w));
    pthread_condattr_t monotonic;

    if (w == NULL || o->n_queues < 1 || o->n_queues > 16 || o->handler == NULL) {
        free(w);
        return NULL;
    }
    w->c = c;
    w->o = *o;
    w->o.concurrency = o->concurrency > 0 ? o->concurrency : 8;
    w->o.lease_ms = o->lease_ms > 0 ? o->lease_ms : 30000;
    w->o.wait_ms = o->wait_ms > 0 ? o->wait_ms : 2000;
    w->o.drain_ms = o->drain_ms > 0 ? o->drain_ms : 25000;
    w->last_end = &w->ends;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->change, &monotonic);
    pthread_condattr_destroy(&monotonic);
    w->slots = calloc((size_t)w->o.concurrency, sizeof(*w->slots));
    w->handlers = calloc((size_t)w->o.concurrency, sizeof(*w->handlers));
    if (w->slots == NULL || w->handlers == NULL) {
        segq_worker_free(w);
        return NULL;
    }
    return w;
}

void segq_worker_stop(struct segq_worker *w, long drain_ms)
{
    pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->hurry, w->stopping, __ATOMIC_RELAXED);
    w->end_at_ms = segq_now_ms() + (w->stopping ? 0 : drain_ms >= 0 ? drain_ms : w->o.drain_ms);
    w->stopping = 1;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}

static int n_live(const struct segq_worker *w)
{
    int n = 0;

    for (int i = 0; i < w->o.concurrency; i++)
        n += w->slots[i] != NULL && !w->slots[i]->over;
    return n;
}

/* Signals that have come since: one drains, the second gives back. */
static void obey(struct segq_worker *w, sig_atomic_t *seen)
{
    for (; *seen != signals; (*seen)++)
        segq_worker_stop(w, -1);
}

static void give_back(struct segq_worker *w)
{
    for (int i = 0; i < w->o.concurrency; i++) {
        struct work *x = w->slots[i];
        json_t *row;

        if (x == NULL || x->over)
            continue;
        row = segq_row(x, "nack");
        json_object_set_new(row, "reason", json_string("the worker stops"));
        json_object_set_new(row, "delay", json_integer(0));
        x->lost = 1;
        x->refs++;
        segq_end(x, row);
        pthread_mutex_unlock(&w->lock);
        segq_say(w, "given_back", x);
        pthread_mutex_lock(&w->lock);
        segq_unref(x);
    }
}

static void drain(struct segq_worker *w, sig_atomic_t *seen)
{
    pthread_mutex_lock(&w->lock);
    while (n_live(w) > 0 && segq_now_ms() < w->end_at_ms) {
        segq_wait_ms(w, w->end_at_ms - segq_now_ms() < 100 ? w->end_at_ms - segq_now_ms() : 100);
        pthread_mutex_unlock(&w->lock);
        obey(w, seen);
        pthread_mutex_lock(&w->lock);
    }
    give_back(w);
    while (w->n_ends > 0 || w->telling)
        segq_wait_ms(w, 100);
    w->closing = 1;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}

static int is_stopping(struct segq_worker *w)
{
    int stops;

    pthread_mutex_lock(&w->lock);
    if (!w->stopping)
        segq_wait_ms(w, 100);
    stops = w->stopping;
    pthread_mutex_unlock(&w->lock);
    return stops;
}

int segq_worker_run(struct segq_worker *w, struct segq_error *e)
{
    struct sigaction ours = { .sa_handler = on_signal }, term, intr;
    sig_atomic_t seen = signals;

    if (!w->o.no_signals) {
        sigaction(SIGTERM, &ours, &term);
        sigaction(SIGINT, &ours, &intr);
    }
    for (; w->n_handlers < w->o.concurrency; w->n_handlers++)
        if (pthread_create(&w->handlers[w->n_handlers], NULL, handle, w) != 0)
            abort();
    if (pthread_create(&w->taker, NULL, take, w) != 0 ||
        pthread_create(&w->teller, NULL, segq_tell_ends, w) != 0 ||
        pthread_create(&w->keeper, NULL, segq_keep_leases, w) != 0)
        abort();
    while (!is_stopping(w))
        obey(w, &seen);
    pthread_join(w->taker, NULL); /* what it brings is begun */
    drain(w, &seen);
    pthread_join(w->teller, NULL);
    pthread_join(w->keeper, NULL);
    if (!w->o.no_signals) {
        sigaction(SIGTERM, &term, NULL);
        sigaction(SIGINT, &intr, NULL);
    }
    *e = w->why;
    return w->refused ? -1 : 0;
}

void segq_worker_free(struct segq_worker *w)
{
    if (w == NULL)
        return;
    for (int i = 0; i < w->n_handlers; i++)
        pthread_join(w->handlers[i], NULL);
    pthread_cond_destroy(&w->change);
    pthread_mutex_destroy(&w->lock);
    free(w->slots);
    free(w->handlers);
    free(w);
}

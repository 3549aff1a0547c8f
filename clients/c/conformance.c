/* conformance.c: the C clients behind the line protocol of clients/conformance/README.md. A thread
 * for each question. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_key.h"
#include "segq_tasks.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MANY 4096

struct opened {
    const char *routers[8];
    size_t n;
    struct segq_client *c;
    struct segq_gate *gates[2]; /* of the row's queue, of another one */
    long timeout_ms;
};
struct question {
    json_t *a; /* its members */
    int id;
    struct opened *o;
};
struct running {
    struct segq_worker *w;
    const char *queues[16];
    int over;
};

static struct opened opened[MANY]; /* by the number of the question */
static struct running running[MANY];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t ends;

static void say(json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT);

    pthread_mutex_lock(&lock);
    puts(text);
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    free(text);
    json_decref(line);
}

static void say_ok(const struct question *q, json_t *ok)
{
    say(json_pack("{s:i, s:o}", "id", q->id, "ok", ok != NULL ? ok : json_null()));
}

static void say_event(const struct question *q, json_t *event)
{
    say(json_pack("{s:i, s:o}", "id", q->id, "event", event));
}

static void say_error(const struct question *q, const char *kind, const char *type, int status,
                      const char *code, const char *reason, const char *detail)
{
    say(json_pack("{s:i, s:{s:s, s:s, s:i, s:s, s:s?, s:s}}", "id", q->id, "error", "kind", kind,
                  "type", type, "status", status, "code", code, "reason", reason, "detail", detail));
}

/* ok, or what is wrong with it. */
static void answer(const struct question *q, json_t *ok, const struct segq_error *e)
{
    static const char *const kinds[] = { "other", "api", "network", "deadline", "task", "signature",
                                         "pass" };

    if (ok != NULL)
        say_ok(q, ok);
    else
        say_error(q, kinds[e->kind], kinds[e->kind], e->status, e->code, NULL, e->detail);
}

static const char *text(const struct question *q, const char *name)
{
    return segq_text(q->a, name);
}

static double number(const json_t *o, const char *name, double other)
{
    json_t *v = json_object_get(o, name);

    return json_is_number(v) ? json_number_value(v) : other;
}

static void pause_ms(double ms)
{
    struct timespec t;

    t.tv_sec = (time_t)(ms / 1000);
    t.tv_nsec = (long)(ms - (double)t.tv_sec * 1000) * 1000000;
    nanosleep(&t, NULL);
}

/* ---- people ---- */

static void on_news(void *ctx, const struct segq *s, enum segq_state state)
{
    const struct segq_ticket *t = segq_ticket(s);

    if (!t->trouble && (state == SEGQ_WAITING || state == SEGQ_ADMITTED))
        say_event(ctx, json_pack("{s:s, s:s, s:s, s:I, s:I}", "token", t->token, "device",
                                 t->device, "state",
                                 state == SEGQ_WAITING ? "waiting" : "admitted", "position",
                                 (json_int_t)t->position, "eta_s", (json_int_t)t->eta_s));
}

static void say_gone(const struct question *q, enum segq_state state, const char *why)
{
    int status = strcmp(why, "queue_not_found") == 0 ? 404 : 403;

    if (state == SEGQ_REFUSED)
        say_error(q, "api", "refused", status, why, NULL, why);
    else if (strcmp(why, "unknown") == 0)
        say_error(q, "api", why, 404, "ticket_unknown", NULL, why);
    else
        say_error(q, "api", why, 410, "ticket_gone", why, why);
}

/* A device's, by its name here. */
static const struct segq_key *key_of(const char *name)
{
    static struct {
        char name[32];
        struct segq_key key;
    } keys[64];
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (keys[i].name[0] != '\0' && strcmp(keys[i].name, name) != 0)
        i++;
    if (keys[i].name[0] == '\0' && segq_key_open(&keys[i].key, NULL) == 0)
        snprintf(keys[i].name, sizeof(keys[i].name), "%s", name);
    pthread_mutex_unlock(&lock);
    return &keys[i].key;
}

static struct segq *line_of(struct question *q, int polls_only, int tells)
{
    struct segq_options o = { .routers = q->o->routers, .n_routers = q->o->n, .client = "game" };

    o.queue = text(q, "queue");
    o.timeout_ms = q->o->timeout_ms;
    o.polls_only = polls_only;
    o.token = text(q, "token")[0] != '\0' ? text(q, "token") : NULL;
    o.device = text(q, "device");
    o.key = text(q, "key")[0] != '\0' ? key_of(text(q, "key")) : NULL;
    o.on_news = tells ? on_news : NULL;
    o.ctx = q;
    return segq_new(&o);
}

static void do_wait_pass(struct question *q)
{
    double left = number(q->a, "timeout_s", 86400) * 10;
    struct segq *s = line_of(q, 0, 1);
    enum segq_state state;

    while ((state = segq_poll(s, 100)) < SEGQ_ADMITTED && left-- > 0)
        ;
    if (state == SEGQ_ADMITTED)
        say_ok(q, json_pack("{s:s, s:s}", "token", segq_ticket(s)->token, "pass",
                            segq_ticket(s)->pass));
    else if (state < SEGQ_ADMITTED)
        say_error(q, "deadline", "deadline", 0, "", NULL, "no time is left");
    else
        say_gone(q, state, segq_ticket(s)->why);
    segq_free(s);
}

static void do_poll(struct question *q)
{
    struct segq *s = line_of(q, 1, 0);
    enum segq_state state;

    while ((state = segq_poll(s, 100)) < SEGQ_ADMITTED && segq_ticket(s)->total == 0)
        ;
    if (state <= SEGQ_ADMITTED)
        say_ok(q, json_pack("{s:s, s:I, s:s, s:s}", "state", state < SEGQ_ADMITTED ? "waiting" : "admitted",
                            "position", (json_int_t)segq_ticket(s)->position, "pass",
                            segq_ticket(s)->pass, "device", segq_ticket(s)->device));
    else
        say_gone(q, state, segq_ticket(s)->why);
    segq_free(s);
}

static void do_leave(struct question *q)
{
    struct segq *s = line_of(q, 1, 0);

    segq_leave(s);
    while (segq_poll(s, 100) < SEGQ_ADMITTED)
        ;
    segq_free(s);
    say_ok(q, NULL);
}

/* Several queues at once: plain requests. */
static json_t *places_body(struct question *q)
{
    json_t *b = json_pack("{s:s}", "client", "game"), *queues = json_object_get(q->a, "queues");

    if (json_array_size(queues) > 0)
        json_object_set(b, "queues", queues);
    if (text(q, "name")[0] != '\0')
        json_object_set_new(b, "group", json_string(text(q, "name")));
    if (text(q, "others")[0] != '\0')
        json_object_set_new(b, "others", json_string(text(q, "others")));
    if (text(q, "claim")[0] != '\0')
        json_object_set_new(b, "claim", json_string(text(q, "claim")));
    return b;
}

static json_t *poll_places(struct question *q, const char *group, struct segq_error *e)
{
    char path[512];

    snprintf(path, sizeof(path), "/v1/places/%s", group);
    return segq_ask(q->o->c, "GET", path, NULL, e);
}

static void do_wait_places(struct question *q)
{
    const char *group = text(q, "group");
    struct segq_error e;
    json_t *p = group[0] != '\0' ? poll_places(q, group, &e) : segq_ask(q->o->c, "POST", "/v1/places", places_body(q), &e);

    while (p != NULL && strcmp(segq_text(p, "state"), "waiting") == 0) {
        json_t *next;

        say_event(q, json_incref(p));
        pause_ms(number(p, "poll_after_ms", 1000));
        next = poll_places(q, segq_text(p, "group"), &e);
        json_decref(p);
        p = next;
    }
    if (p != NULL && strcmp(segq_text(p, "state"), "over") == 0) {
        json_decref(p);
        say_error(q, "api", "ticket_gone", 410, "ticket_gone", NULL, "no place is left");
        return;
    }
    answer(q, p, &e);
}

static void do_leave_places(struct question *q)
{
    struct segq_error e;
    char path[512];

    snprintf(path, sizeof(path), "/v1/places/%s", text(q, "group"));
    answer(q, segq_ask(q->o->c, "DELETE", path, NULL, &e), &e);
}

/* ---- at the door ---- */

static struct segq_gate *gate_of(struct question *q)
{
    struct segq_gate **g = &q->o->gates[strcmp(text(q, "queue"), "login") == 0];

    pthread_mutex_lock(&lock);
    if (*g == NULL)
        *g = segq_gate_new(q->o->c, text(q, "queue"));
    pthread_mutex_unlock(&lock);
    return *g;
}

static void do_check_pass(struct question *q)
{
    struct segq_error e;
    json_t *claims = segq_gate_check(gate_of(q), text(q, "token"), &e);

    answer(q, claims != NULL ? json_pack("{s:O}", "ticket", json_object_get(claims, "jti")) : NULL, &e);
    json_decref(claims);
}

static void do_verify_pass(struct question *q)
{
    struct segq_error e;

    answer(q, segq_gate_verify(gate_of(q), text(q, "token"), &e), &e);
}

static void do_claim(struct question *q)
{
    char *claim = segq_sign_claim(text(q, "secret"), text(q, "kid"), 0,
                                  json_deep_copy(json_object_get(q->a, "members")));

    say_ok(q, json_string(claim));
    free(claim);
}

/* ---- tasks ---- */

static void do_submit(struct question *q)
{
    json_t *members = json_copy(q->a), *payload = json_incref(json_object_get(q->a, "payload")), *t;
    struct segq_error e;

    json_object_del(members, "queue");
    json_object_del(members, "payload");
    t = segq_submit(q->o->c, text(q, "queue"), payload, members, &e);
    answer(q, t, &e);
}

static void do_submit_many(struct question *q)
{
    struct segq_error e;
    json_t *rows, *out, *row;
    size_t i;

    rows = segq_submit_many(q->o->c, text(q, "queue"), json_deep_copy(json_object_get(q->a, "rows")), &e);
    out = rows != NULL ? json_array() : NULL;
    json_array_foreach(rows, i, row) {
        json_t *task = json_object_get(row, "task"), *code = json_object_get(row, "code");

        json_array_append_new(out, json_pack("{s:O, s:O?, s:O?}", "status",
                                             json_object_get(row, "status"), "task", task, "code", code));
        if (task == NULL)
            json_object_set_new(json_array_get(out, i), "task", json_null());
    }
    json_decref(rows);
    answer(q, out, &e);
}

static void do_wait_task(struct question *q)
{
    struct segq_error e;
    json_t *t;

    t = segq_wait(q->o->c, text(q, "task"), (long)(number(q->a, "timeout_s", 0) * 1000), &e);
    answer(q, t != NULL ? json_pack("{s:O, s:O?}", "state", json_object_get(t, "state"), "result",
                                    json_object_get(t, "result")) : NULL, &e);
    json_decref(t);
}

static void do_look(struct question *q)
{
    struct segq_error e;

    answer(q, segq_look(q->o->c, text(q, "task"), &e), &e);
}

static void do_cancel(struct question *q)
{
    struct segq_error e;

    answer(q, segq_cancel(q->o->c, text(q, "task"), json_is_true(json_object_get(q->a, "force")), &e), &e);
}

static void do_group(struct question *q)
{
    const char *then = text(q, "then");
    struct segq_error e;
    char path[256];

    snprintf(path, sizeof(path), "/v1/groups/%s/%s%s%s", text(q, "queue"), text(q, "group"),
             then[0] != '\0' ? "/" : "", then);
    answer(q, segq_ask(q->o->c, then[0] != '\0' ? "POST" : "GET", path, NULL, &e), &e);
}

static int on_piece(void *ctx, const char *p, size_t n)
{
    say_event(ctx, json_pack("{s:s%}", "piece", p, n));
    return 0;
}

static void stream(struct question *q, const char *method, const char *path)
{
    struct segq_error e;
    int status;

    do
        status = segq_stream(q->o->c, method, path, NULL, on_piece, q, 60000, &e);
    while (status == 202);
    answer(q, status > 0 ? json_pack("{s:i}", "status", status) : NULL, &e);
}

static void do_call(struct question *q)
{
    const char *method = text(q, "method");
    char path[256];

    snprintf(path, sizeof(path), "/v1/call/%s%s", text(q, "endpoint"), text(q, "path"));
    stream(q, method[0] != '\0' ? method : "GET", path);
}

static void do_follow(struct question *q)
{
    char path[256];

    snprintf(path, sizeof(path), "/v1/tasks/%s/result?follow=1&wait=20", text(q, "task"));
    stream(q, "GET", path);
}

static int on_start_or_end(void *ctx, const struct segq_event *v)
{
    say_event(ctx, json_pack("{s:s, s:b, s:s?, s:s?}", "id", v->id, "gap", v->gap, "task", v->task,
                             "state", v->state));
    return 0;
}

static int on_state(void *ctx, const json_t *task)
{
    json_t *progress = json_object_get(task, "progress");

    say_event(ctx, json_pack("{s:s, s:O?}", "state", segq_text(task, "state"), "progress",
                             json_is_null(progress) ? NULL : progress));
    return 0;
}

static void do_watch(struct question *q)
{
    struct segq_error e;
    json_t *last = segq_watch(q->o->c, text(q, "task"), on_state, q, NULL, &e);

    answer(q, last, &e);
}

static void do_watch_queue(struct question *q)
{
    struct segq_error e;
    int rc = segq_watch_queue(q->o->c, text(q, "queue"),
                              json_string_value(json_object_get(q->a, "after")),
                              on_start_or_end, q, NULL, &e);

    answer(q, rc == 0 ? json_null() : NULL, &e);
}

/* ---- workers, webhooks ---- */

static json_t *backwards(struct segq_job *job)
{
    char out[256];
    size_t n = job->n_bytes < sizeof(out) ? job->n_bytes : sizeof(out);

    for (size_t i = 0; i < n; i++)
        out[i] = ((const char *)job->bytes)[n - 1 - i];
    return segq_bytes(job, out, n, job->content_type);
}

static json_t *handle(struct segq_job *job, void *ctx)
{
    const json_t *p = job->payload;
    json_t *progress = json_object_get(p, "progress"), *result = json_object_get(p, "result");
    int again = job->attempt <= (int)number(p, "times", 99);

    (void)ctx;
    if (job->bytes != NULL)
        return backwards(job);
    pause_ms(number(p, "ms", 0));
    if (progress != NULL)
        segq_job_progress(job, (int)number(progress, "percent", -1), segq_text(progress, "text"),
                          json_incref(json_object_get(progress, "data")));
    pause_ms(number(p, "then_ms", 0));
    if (again && segq_text(p, "fail")[0] != '\0')
        return segq_nack(job, segq_text(p, "fail"), NULL);
    if (again && segq_text(p, "nack")[0] != '\0')
        return segq_nack(job, segq_text(p, "nack"), segq_text(p, "delay"));
    return result != NULL ? json_incref(result) : json_null();
}

static void on_event(void *ctx, const char *name, const struct segq_job *job)
{
    say_event(ctx, json_pack("{s:s, s:s?, s:i}", "what", name, "task", job != NULL ? job->task : NULL,
                             "attempt", job != NULL ? job->attempt : 0));
}

static struct segq_worker *worker_of(int i)
{
    struct segq_worker *w;

    pthread_mutex_lock(&lock);
    w = running[i].w;
    pthread_mutex_unlock(&lock);
    return w;
}

static void wait_for(int i)
{
    for (int over = 0; !over; pause_ms(10)) {
        pthread_mutex_lock(&lock);
        over = running[i].over;
        pthread_mutex_unlock(&lock);
    }
}

static void do_work(struct question *q)
{
    struct running *r = &running[q->id];
    struct segq_worker_options o = { .handler = handle, .ctx = q, .on_event = on_event, .no_signals = 1 };
    json_t *queues = json_object_get(q->a, "queues"), *one;
    struct segq_worker *w;
    struct segq_error e;
    size_t i;

    json_array_foreach(queues, i, one)
        r->queues[i] = json_string_value(one);
    o.queues = r->queues;
    o.n_queues = json_array_size(queues);
    o.concurrency = (int)number(q->a, "concurrency", 4);
    o.lease_ms = (long)(number(q->a, "lease_s", 30) * 1000);
    o.wait_ms = 1000;
    w = segq_worker_new(q->o->c, &o);
    pthread_mutex_lock(&lock);
    r->w = w;
    pthread_mutex_unlock(&lock);
    answer(q, segq_worker_run(w, &e) == 0 ? json_null() : NULL, &e);
    pthread_mutex_lock(&lock);
    r->over = 1;
    pthread_mutex_unlock(&lock);
}

static void do_stop(struct question *q)
{
    int work = (int)number(q->a, "work", 0);

    segq_worker_stop(worker_of(work), (long)(number(q->a, "drain_s", 10) * 1000));
    wait_for(work);
    say_ok(q, NULL);
}

static void do_webhook(struct question *q)
{
    json_t *keys = json_object_get(q->a, "keys"), *h = json_object_get(q->a, "headers"), *one;
    const char *all[8], *id = json_string_value(json_object_get(h, "webhook-id"));
    struct segq_error e;
    size_t i, n = 0;

    json_array_foreach(keys, i, one)
        all[n++] = json_string_value(one);
    answer(q, segq_webhook_verify(all, n, id, json_string_value(json_object_get(h, "webhook-timestamp")),
                                  json_string_value(json_object_get(h, "webhook-signature")),
                                  text(q, "body"), strlen(text(q, "body")), 0, &e) == 0
               ? json_string(id) : NULL, &e);
}

/* ---- the loop ---- */

static void do_open(struct question *q)
{
    json_t *routers = json_object_get(q->a, "routers"), *one;
    struct opened *o = &opened[q->id];
    size_t i;

    json_array_foreach(routers, i, one)
        o->routers[o->n++] = json_string_value(one);
    o->timeout_ms = (long)(number(q->a, "timeout_s", 10) * 1000);
    o->c = segq_client_new(o->routers, o->n, json_string_value(json_object_get(q->a, "token")));
    segq_client_times(o->c, o->timeout_ms, (long)(number(q->a, "retry_for_s", 60) * 1000));
    say_ok(q, NULL);
}

static const struct {
    const char *name;
    void (*go)(struct question *q);
} verbs[] = {
    { "open", do_open }, { "wait_pass", do_wait_pass }, { "poll", do_poll }, { "leave", do_leave },
    { "wait_places", do_wait_places }, { "leave_places", do_leave_places },
    { "check_pass", do_check_pass }, { "verify_pass", do_verify_pass }, { "claim", do_claim },
    { "submit", do_submit }, { "submit_many", do_submit_many }, { "wait_task", do_wait_task },
    { "look", do_look }, { "cancel", do_cancel }, { "group", do_group }, { "call", do_call },
    { "follow", do_follow }, { "watch", do_watch }, { "watch_queue", do_watch_queue }, { "work", do_work }, { "stop", do_stop },
    { "webhook", do_webhook },
};

static void *go(void *arg)
{
    struct question *q = arg;
    const char *verb = text(q, "do");
    size_t i = 0;

    while (i < sizeof(verbs) / sizeof(verbs[0]) && strcmp(verbs[i].name, verb) != 0)
        i++;
    if (i == sizeof(verbs) / sizeof(verbs[0])) {
        say_error(q, "other", "other", 0, "", NULL, "no such verb");
        return NULL;
    }
    q->o = &opened[(int)number(q->a, "client", 0)];
    json_object_del(q->a, "id");
    json_object_del(q->a, "client");
    json_object_del(q->a, "do");
    verbs[i].go(q);
    return NULL; /* what it has stays: events may still name it */
}

static void on_term(int n)
{
    (void)n;
    ends = 1;
}

/* SIGTERM: workers drain, and the program ends. */
static void *watch(void *arg)
{
    while (!ends)
        pause_ms(20);
    for (int i = 0; i < MANY; i++)
        if (worker_of(i) != NULL)
            segq_worker_stop(worker_of(i), 10000);
    for (int i = 0; i < MANY; i++)
        if (worker_of(i) != NULL)
            wait_for(i);
    _Exit(0);
    return arg;
}

static void start(void *(*f)(void *), void *arg)
{
    pthread_t t;

    if (pthread_create(&t, NULL, f, arg) != 0)
        abort();
    pthread_detach(t);
}

int main(void)
{
    struct sigaction term = { .sa_handler = on_term, .sa_flags = SA_RESTART };
    char *line = NULL;
    size_t cap = 0;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    sigaction(SIGTERM, &term, NULL);
    start(watch, NULL);
    while (getline(&line, &cap, stdin) > 0) {
        struct question *q = calloc(1, sizeof(*q));

        q->a = json_loads(line, 0, NULL);
        q->id = (int)number(q->a, "id", 0);
        if (q->id <= 0 || q->id >= MANY)
            abort();
        if (strcmp(text(q, "do"), "open") == 0)
            go(q); /* before all others that need it */
        else
            start(go, q);
    }
    _Exit(0);
}

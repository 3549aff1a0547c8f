/* segq_tasks.h: tasks, workers, passes and webhooks of segq, for servers. segq_http.c,
 * segq_tasks.c, segq_watch.c, segq_worker.c, segq_ends.c, segq_gate.c, segq_webhook.c; libcurl
 * 7.72 or newer, jansson, libcrypto, POSIX threads. For people in line: segq.h.
 *
 *   const char *routers[] = { "https://q1.example", "https://q2.example" };
 *   struct segq_client *c = segq_client_new(routers, 2, token);
 *   struct segq_error e;
 *   json_t *cat = json_pack("{s:s}", "prompt", "a cat");
 *   json_t *task = segq_submit(c, "images", cat, NULL, &e);
 *   json_t *over = segq_wait(c, segq_text(task, "task"), 60000, &e);
 *
 * JSON that a function is given is its own from then on; what it returns is the caller's
 * (json_decref). NULL or -1: *e says why. Members are those of proto/openapi.yaml. Threads may
 * share a client. Call curl_global_init() before, once. */
#ifndef SEGQ_TASKS_H
#define SEGQ_TASKS_H

#include <jansson.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum segq_failure {
    SEGQ_FINE,
    SEGQ_API,       /* refused: status, code, detail are segq's */
    SEGQ_NETWORK,   /* no router gave an answer that could be read */
    SEGQ_DEADLINE,  /* not in time */
    SEGQ_FAILED,    /* the task that was waited for ended without success: code is its state */
    SEGQ_SIGNATURE, /* of a webhook */
    SEGQ_PASS,      /* a pass that opens nothing: code says why in one word */
};
struct segq_error {
    enum segq_failure kind;
    int status;
    long retry_after_ms; /* 0: not told */
    char code[64], detail[256];
};

struct segq_client;
/* routers: any will do. token: of a server that submits or takes tasks; NULL: none. */
struct segq_client *segq_client_new(const char *const *routers, size_t n, const char *token);
void segq_client_free(struct segq_client *c); /* NULL is fine */
/* Of one whole answer (10000), and of all tries of a call (60000). */
void segq_client_times(struct segq_client *c, long timeout_ms, long retry_for_ms);

/* ---- tasks ---- */

/* One task. members: name, key, delay, priority, unique, cost ... of TaskSubmit; NULL: none.
 * payload NULL: null, or payload_base64 and content_type of the members. A submission has an
 * Idempotency-Key, so that a lost answer never makes two tasks; who repeats it after an error gives
 * a name, or idempotency_key. */
json_t *segq_submit(struct segq_client *c, const char *queue, json_t *payload, json_t *members,
                    struct segq_error *e);
/* Many, 1000 in a request: an array of TaskSubmit. Their outcomes, in that order: status, task,
 * code, detail. Rows that are put off (503) are not asked again. */
json_t *segq_submit_many(struct segq_client *c, const char *queue, json_t *rows,
                         struct segq_error *e);
json_t *segq_look(struct segq_client *c, const char *task, struct segq_error *e);
/* Until it is over; timeout_ms 0: as long as it takes. */
json_t *segq_wait(struct segq_client *c, const char *task, long timeout_ms, struct segq_error *e);
json_t *segq_cancel(struct segq_client *c, const char *task, int force, struct segq_error *e);
/* Any other call of the API (groups, schedules ...), tried again as told: its answer, which is an
 * object or an array; an empty object where it has none. "/v1/places" (several queues at once) goes
 * without the client's token, and a join there has a key of its own. */
json_t *segq_ask(struct segq_client *c, const char *method, const char *path, json_t *body,
                 struct segq_error *e);
/* A request to an endpoint, when its turn has come (path "/v1/call/ENDPOINT/..."), or the answer of
 * a task's call ("/v1/tasks/TASK/result?follow=1&wait=20"): pieces as they come; on_piece says != 0
 * to end it. The status of the answer, or -1. Not repeated. timeout_ms: the longest silence. */
int segq_stream(struct segq_client *c, const char *method, const char *path, const char *body,
                int (*on_piece)(void *ctx, const char *p, size_t n), void *ctx, long timeout_ms,
                struct segq_error *e);

/* What becomes of a task, as it comes: on_state gets its state, place and progress as a look tells them,
 * and says != 0 to end it. Then, or when it is over, its state as told last; NULL: an error, or another
 * thread has set *stop (NULL: none does), which takes about a second. A stream that breaks off is asked
 * for again; where a router has no room for one, the task is looked at as often as it says. */
json_t *segq_watch(struct segq_client *c, const char *task, int (*on_state)(void *ctx, const json_t *task),
                   void *ctx, const int *stop, struct segq_error *e);

struct segq_event { /* a start or an end in a queue */
    const char *id;           /* where to go on behind it */
    int gap;                  /* 1: some before it are not known any more; it has no task */
    const char *task, *state; /* running, or how it ended; NULL of a gap */
    int attempts;
    double at; /* seconds since 1970 */
};
/* Starts and ends of a queue's tasks, as they come: on_event says != 0 to end it, or another thread
 * sets *stop (NULL: none does), which takes about a second. Then 0; -1: segq refuses it, or the
 * token may not look any more. A stream that breaks off is asked for again behind the last event
 * that on_event has dealt with. after: the id of one that was heard before; NULL: from now on. */
int segq_watch_queue(struct segq_client *c, const char *queue, const char *after,
                     int (*on_event)(void *ctx, const struct segq_event *v), void *ctx,
                     const int *stop, struct segq_error *e);
/* A member that is a text; "" if it is none. */
const char *segq_text(const json_t *o, const char *member);

/* ---- workers ---- */

struct segq_job { /* a task in a handler's hands */
    const char *task, *queue, *key; /* key: NULL if it has none */
    int attempt;
    json_t *payload; /* stays the job's. NULL: it is no JSON, but */
    const void *bytes;
    size_t n_bytes;
    const char *content_type;
    const char *lease_id;
};
/* Returns the result (json_null(): done, without one). NULL: it failed, and is tried again: return
 * segq_nack(job, "no paper", "5m") says why and when; delay NULL: as the pool says. */
typedef json_t *(*segq_handler)(struct segq_job *job, void *ctx);
json_t *segq_nack(struct segq_job *job, const char *reason, const char *delay);
/* A result that is no JSON, copied: return segq_bytes(job, png, n, "image/png"). */
json_t *segq_bytes(struct segq_job *job, const void *p, size_t n, const char *content_type);
/* 1: cancelled by force, or its lease has ended: another worker may have it. */
int segq_job_lost(struct segq_job *job);
/* Says how far it is, for looks: percent 0 to 100 (-1: none), 200 bytes of text or NULL, 1 KiB of
 * JSON or NULL. The newest word is told, some four times a second. */
void segq_job_progress(struct segq_job *job, int percent, const char *text, json_t *data);

struct segq_worker_options {
    const char *const *queues; /* 1 to 16 */
    size_t n_queues;
    segq_handler handler; /* called by `concurrency` threads */
    void *ctx;
    int concurrency; /* 0 = 8 */
    long lease_ms;   /* 0 = 30000 */
    long wait_ms;    /* of a take; 0 = 2000 */
    long drain_ms;   /* at the end, for what runs; 0 = 25000 */
    int no_signals;  /* 1: SIGTERM and SIGINT are the caller's; else they drain, twice: give back */
    /* NULL, or called by any thread: taken, started, succeeded, failed, given_back, extended, lost
     * (with its job), trouble (job NULL). It must be quick. */
    void (*on_event)(void *ctx, const char *name, const struct segq_job *job);
};
struct segq_worker;
struct segq_worker *segq_worker_new(struct segq_client *c, const struct segq_worker_options *o);
/* Takes only what it can begin, extends leases while handlers run, tells ends together. Returns
 * when it has drained: 0, or -1 where no later try can help (a token that may not take). Handlers
 * that are still running then must not outlive the program. */
int segq_worker_run(struct segq_worker *w, struct segq_error *e);
/* From any thread: takes nothing more; what runs has drain_ms (-1: that of the options). */
void segq_worker_stop(struct segq_worker *w, long drain_ms);
void segq_worker_free(struct segq_worker *w); /* after run */

/* ---- at the door ---- */

struct segq_gate;
struct segq_gate *segq_gate_new(struct segq_client *c, const char *queue);
void segq_gate_free(struct segq_gate *g);
/* By the published keys, which are cached: no router is asked. Its claims (jti is the ticket, sub
 * who joined). Clocks may differ by 30 s. A pass that is bound is a router's business. */
json_t *segq_gate_check(struct segq_gate *g, const char *pass, struct segq_error *e);
/* By a router, which knows of revoked ones, too: ticket, subject, lane, expires; or bypass. */
json_t *segq_gate_verify(struct segq_gate *g, const char *pass, struct segq_error *e);
/* A signed claim (claim_keys of conf/router.yaml), HS256; free() it. secret: as it stands in its
 * file. members, for a lane: aud (the queue), lane, sub; for a task: queues, jti, key, priority. */
char *segq_sign_claim(const char *secret, const char *kid, long ttl_s, json_t *members);

/* ---- calls that segq sends (Standard Webhooks) ---- */

/* keys: "whsec_..." and "whpk_...", old and new: any of them may have signed. The three headers as
 * they came, NULL if one did not. tolerance_s 0: 300. 0: it is segq's, and `id` the same in each
 * attempt. */
int segq_webhook_verify(const char *const *keys, size_t n, const char *id, const char *timestamp,
                        const char *signature, const void *body, size_t size, long tolerance_s,
                        struct segq_error *e);

#ifdef __cplusplus
}
#endif

#endif

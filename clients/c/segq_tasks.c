/* segq_tasks.c: see segq_tasks.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "segq_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH       1000
#define BATCH_BYTES (512u << 10)
#define WAIT_S      20 /* of one question that waits */

static json_t *task_of(json_t *said, struct segq_error *e)
{
    if (said == NULL || segq_text(said, "task")[0] != '\0')
        return said;
    json_decref(said);
    return segq_none(e, "an answer that is no task");
}

json_t *segq_submit(struct segq_client *c, const char *queue, json_t *payload, json_t *members,
                    struct segq_error *e)
{
    char path[512], fresh[SEGQ_KEY_ROOM], *key = NULL;
    struct segq_ask q = { .method = "POST", .retry_for_ms = -1 };
    json_t *said;

    q.value = members != NULL ? members : json_object();
    q.path = segq_path(path, sizeof(path), "/v1/queues/", queue, "/tasks");
    if (json_object_get(q.value, "idempotency_key") != NULL) {
        key = strdup(segq_text(q.value, "idempotency_key"));
        json_object_del(q.value, "idempotency_key");
    }
    if (json_object_get(q.value, "path") == NULL &&
        json_object_get(q.value, "payload_base64") == NULL)
        json_object_set_new(q.value, "payload", payload != NULL ? payload : json_null());
    else
        json_decref(payload);
    if (key != NULL)
        q.key = key;
    else if (json_object_get(q.value, "name") == NULL && json_object_get(q.value, "claim") == NULL)
        q.key = segq_new_key(fresh);
    said = task_of(segq_http(c, &q, e), e);
    json_decref(q.value);
    free(key);
    return said;
}

/* So many of the rows from `first` on go into one request. */
static size_t portion(const json_t *rows, size_t first)
{
    size_t n = 0, size = 0;

    for (; first + n < json_array_size(rows) && n < BATCH; n++) {
        size += json_dumpb(json_array_get(rows, first + n), NULL, 0, JSON_COMPACT);
        if (n > 0 && size > BATCH_BYTES)
            break;
    }
    return n;
}

json_t *segq_submit_many(struct segq_client *c, const char *queue, json_t *rows,
                         struct segq_error *e)
{
    json_t *out = json_array(), *row;
    char path[512], key[33];
    size_t i;

    segq_path(path, sizeof(path), "/v1/queues/", queue, "/tasks/batch");
    json_array_foreach(rows, i, row)
        if (json_object_get(row, "name") == NULL && json_object_get(row, "idempotency_key") == NULL)
            json_object_set_new(row, "idempotency_key", json_string(segq_new_key(key)));
    for (size_t first = 0, n; out != NULL && (n = portion(rows, first)) > 0; first += n) {
        json_t *some = json_array(), *said;

        for (i = first; i < first + n; i++)
            json_array_append(some, json_array_get(rows, i));
        said = segq_ask(c, "POST", path, some, e);
        if (said != NULL && json_array_size(said) != n)
            segq_none(e, "an answer that is no list of outcomes");
        if (said == NULL || json_array_size(said) != n) {
            json_decref(out);
            out = NULL;
        } else {
            json_array_extend(out, said);
        }
        json_decref(said);
    }
    json_decref(rows);
    return out;
}

json_t *segq_look(struct segq_client *c, const char *task, struct segq_error *e)
{
    char path[512];

    segq_path(path, sizeof(path), "/v1/tasks/", task, "");
    return task_of(segq_ask(c, "GET", path, NULL, e), e);
}

json_t *segq_cancel(struct segq_client *c, const char *task, int force, struct segq_error *e)
{
    char path[512];

    segq_path(path, sizeof(path), "/v1/tasks/", task, force ? "?force=1" : "");
    return segq_ask(c, "DELETE", path, NULL, e);
}

static json_t *too_late(struct segq_error *e)
{
    segq_fail(e, SEGQ_DEADLINE, 0, "deadline", "no time is left");
    return NULL;
}

static int is_one_of(const char *state, const char *const *states)
{
    for (; *states != NULL; states++)
        if (strcmp(state, *states) == 0)
            return 1;
    return 0;
}

/* Why: what the last attempt says. */
static json_t *failed_task(json_t *task, struct segq_error *e)
{
    json_t *history = json_object_get(task, "history"), *last;

    last = json_array_get(history, json_array_size(history) - 1);
    segq_fail(e, SEGQ_FAILED, 0, segq_text(task, "state"),
              segq_text(last, segq_text(last, "reason")[0] != '\0' ? "reason" : "end"));
    json_decref(task);
    return NULL;
}

json_t *segq_wait(struct segq_client *c, const char *task, long timeout_ms, struct segq_error *e)
{
    static const char *const ends[] = { "dead", "cancelled", "expired", NULL };
    long most = segq_client_timeout(c);
    int64_t end = segq_now_ms() + (timeout_ms > 0 ? timeout_ms : INT64_MAX / 2);
    char path[512];

    segq_path(path, sizeof(path), "/v1/tasks/", task, "");
    for (;;) {
        int64_t asked = segq_now_ms(), left = end - asked;
        struct segq_ask q = { .method = "GET", .path = path };
        json_t *t;

        if (left <= 0)
            return too_late(e);
        q.wait_s = left < WAIT_S * 1000 ? (long)left / 1000 : WAIT_S;
        q.timeout_ms = left < most ? (long)left : most + q.wait_s * 1000;
        q.retry_for_ms = left < 86400000 ? (long)left : 86400000;
        t = task_of(segq_http(c, &q, e), e);
        if (t == NULL)
            return segq_now_ms() >= end ? too_late(e) : NULL;
        if (strcmp(segq_text(t, "state"), "succeeded") == 0)
            return t;
        if (is_one_of(segq_text(t, "state"), ends))
            return failed_task(t, e);
        json_decref(t);
        if (segq_now_ms() < asked + 500) /* a router that stops does not wait */
            segq_sleep(left < 500 ? (long)left : 500);
    }
}

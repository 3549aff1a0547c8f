/* path.h: what a request about tasks wants: by its method and path, of which queue or task; by its
 * fields, how long it waits (Prefer, RFC 7240), and whether it has the answer already
 * (If-None-Match, RFC 9110). Pure. */
#ifndef SEGQ_TASK_API_PATH_H
#define SEGQ_TASK_API_PATH_H

#include "common/http/http.h"
#include "router/api/response.h"

enum task_op {
    TASK_SUBMIT,  /* POST /v1/queues/{queue}/tasks */
    TASK_COUNT,   /* GET /v1/queues/{queue}/tasks */
    TASK_FIRST,   /* GET /v1/queues/{queue}/tasks?order=start */
    TASK_BATCH,   /* POST /v1/queues/{queue}/tasks/batch */
    TASK_TAKE,    /* POST /v1/queues/{queue}/tasks/take */
    TASK_TAKE_MANY, /* POST /v1/tasks/take: from several queues */
    TASK_SETTLE,  /* POST /v1/queues/{queue}/tasks/settle */
    TASK_NAMED,   /* GET /v1/queues/{queue}/tasks/{name} */
    TASK_UNNAME,  /* DELETE of it */
    TASK_FEED,    /* GET /v1/queues/{queue}/tasks/events */
    TASK_LOOK,    /* GET /v1/tasks/{task} */
    TASK_RESULT,  /* GET /v1/tasks/{task}/result */
    TASK_EVENTS,  /* GET /v1/tasks/{task}/events */
    TASK_CANCEL,  /* DELETE /v1/tasks/{task} */
    TASK_PATCH,   /* PATCH /v1/tasks/{task} */
    TASK_ACK,     /* POST /v1/tasks/{task}/ack */
    TASK_NACK,    /* POST /v1/tasks/{task}/nack */
    TASK_EXTEND,  /* POST /v1/tasks/{task}/extend */
    TASK_PROGRESS, /* POST /v1/tasks/{task}/progress */
    TASK_PUT_SCHEDULE,    /* PUT /v1/schedules/{queue}/{name} */
    TASK_GET_SCHEDULE,    /* GET of it */
    TASK_DELETE_SCHEDULE, /* DELETE of it */
    TASK_RUN_SCHEDULE,    /* POST /v1/schedules/{queue}/{name}/run */
    TASK_LIST_SCHEDULES,  /* GET /v1/schedules/{queue}/ */
    TASK_GROUP_LOOK,   /* GET /v1/groups/{queue}/{name} */
    TASK_GROUP_SEAL,   /* POST /v1/groups/{queue}/{name}/seal */
    TASK_GROUP_CANCEL, /* POST /v1/groups/{queue}/{name}/cancel */
    TASK_COMPLETE, /* POST /v1/tasks/{right}/complete: a target's */
    TASK_PROLONG,  /* POST /v1/tasks/{right}/extend: likewise */
    TASK_CALL,    /* any method of /v1/call/{endpoint}/{path}, /v1/route/{route}/{path} */
    TASK_BAD_METHOD, /* 405 and `allow` */
    TASK_NO_PATH,    /* 404 */
};

struct task_path {
    enum task_op op;
    struct slice queue, name, token; /* token: or the right of an attempt */
    struct slice endpoint, path; /* TASK_CALL; path: from its slash on, with the query */
    const char *allow; /* TASK_BAD_METHOD */
    bool by_route;   /* TASK_CALL: `endpoint` is the name of a route */
    bool ack, force, follow; /* asked for in the query, task_path_ask() */
    bool payload;    /* likewise, of TASK_FIRST */
    uint32_t limit;  /* likewise: 1 .. TASK_ROWS_MAX */
    msec_t wait_ms;  /* likewise; -1: not said */
    bool paid; /* paid like a join: its body has the word of a permit */
};

/* rest: the decoded path behind /v1/queues/: a queue's name and "/tasks" somewhere in it. */
void task_path_queue(struct task_path *out, enum http_method m, struct slice rest);
/* Reads the query of any op but TASK_CALL, whose query is its target's: `ack`, `follow` and `wait` of
 * TASK_RESULT, `force` of TASK_CANCEL and TASK_UNNAME, once, 0 or 1; `wait`: seconds. `order=start` makes a
 * TASK_FIRST of a TASK_COUNT, with `limit` and `payload`. NULL, or a sentence: nothing else means anything,
 * and a caller who thinks it does must hear so. */
const char *task_path_ask(struct task_path *p, struct slice query);
/* rest: the path behind /v1/call/, as it came; query: likewise, right behind it. The queue is not in
 * the path: it stays empty. */
void task_path_call(struct task_path *out, struct slice rest, struct slice query);
/* rest: the decoded path behind /v1/schedules/. */
void task_path_schedule(struct task_path *out, enum http_method m, struct slice rest);
/* rest: the decoded path behind /v1/groups/. */
void task_path_group(struct task_path *out, enum http_method m, struct slice rest);
/* rest: the decoded path behind /v1/tasks/. */
void task_path_task(struct task_path *out, enum http_method m, struct slice rest);

/* ---- fields ---- */

/* Prefer: respond-async */
bool prefers_async(const struct http_req *q);
/* Prefer: whole: not as it comes, but when all of it is there, or as much as is kept. */
bool prefers_whole(const struct http_req *q);
/* The seconds of "Prefer: wait=N", as ms, at most TASK_WAIT_MAX_MS; unsaid: there is none. */
msec_t wait_preferred(const struct http_req *q, msec_t unsaid);
/* Says that it was waited for: Preference-Applied. Nothing for 0. */
void wait_applied(struct api_ans *a, msec_t wait_ms);

/* The answer gets an ETag, made of its body: all routers say the same. If `known` (the value of
 * If-None-Match) has it, the answer becomes 304. */
void answer_tag(struct api_ans *a, struct slice known);

#endif

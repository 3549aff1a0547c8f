/* tasks.c: paths and parameters become questions to task nodes (walk.h). */
#include "queuemng/admin/tasks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"
#include "common/task/state.h"
#include "queuemng/admin/answers.h"
#include "queuemng/admin/endpoints.h"
#include "queuemng/admin/task_body.h"
#include "queuemng/admin/task_json.h"
#include "queuemng/admin/task_schedule.h"
#include "queuemng/admin/walk.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/schedule.h"

#define LIST_N    100 /* tasks without ?n= */
#define KEYS_N    20  /* keys without ?top= */
#define RATE_MOST ((int)(RATE_PER_1000_S / 1000))

/* ---- one task -------------------------------------------------------------------- */

/* Finds the verb among from .. to; DO_NVERBS: none. */
static enum task_do order_of(const char *word, enum task_do from, enum task_do to)
{
    for (enum task_do v = from; v <= to; v++)
        if (strcmp(task_do_word(v), word) == 0)
            return v;
    return DO_NVERBS;
}

/* Refuses what a path has no use for: an order would concern more than was meant. */
static bool takes(struct admin_call *c, const struct task_ask *q, const char *name, unsigned verbs)
{
    if ((verbs >> q->verb & 1) != 0 || !admin_query_has(c->q->query, name))
        return true;
    admin_problem(c->a, 400, "bad_request", "?%s= says nothing here", name);
    return false;
}

/* ?force=true of a cancel: also of what runs. */
static bool read_force(struct admin_call *c, struct task_ask *q)
{
    q->force = admin_is_true(c, "force");
    if (!takes(c, q, "force", 1u << DO_CANCEL | 1u << DO_CANCEL_ALL))
        return false;
    if (q->force || !admin_query_has(c->q->query, "force"))
        return true;
    admin_problem(c->a, 400, "bad_request", "?force= is true, or is not there");
    return false;
}

/* "": a look; "payload"; the word of an order, which may have a body. */
static enum task_do verb_of(const struct admin_call *c, const char *word)
{
    enum task_do v;

    if (strcmp(word, task_do_word(DO_BODY)) == 0)
        return DO_BODY;
    v = word[0] == '\0' ? DO_LOOK : order_of(word, DO_CANCEL, DO_DISCARD);
    return v == DO_REDRIVE && c->q->body_len > 0 ? DO_RESUBMIT : v;
}

/* Is the payload as long as its pool lets one be? */
static bool is_short(struct admin_call *c, const struct task_ask *q)
{
    struct mng_part_view p;
    const struct pool_def *d = mng_part(c->s->mng, q->part, &p) ? mng_defined(c->s->mng, DEF_POOL, p.pool, NULL)
                                                               : NULL;
    uint64_t most = d != NULL ? u64_min((uint64_t)d->max_body, TASK_BODY_MAX - CALL_HEAD_MAX - CALL_PATH_MAX)
                              : TASK_BODY_MAX;

    if (q->bytes.n <= most)
        return true;
    admin_problem(c->a, 413, "payload_too_large", "the payload has %zu bytes: at most %llu here", q->bytes.n,
                  (unsigned long long)most);
    return false;
}

static bool read_body(struct admin_call *c, struct task_ask *q, struct buf *room)
{
    if (q->verb == DO_BODY)
        q->most = (uint32_t)admin_number(c, "bytes", TASK_SHOWN_MAX, TASK_SHOWN);
    if (q->verb == DO_RESUBMIT)
        return task_payload_read(c, q, room) && is_short(c, q);
    return q->verb != DO_BODY || q->most > 0;
}

void admin_task(struct admin_call *c)
{
    const char *path = c->rest;
    size_t n = strcspn(path, "/");
    struct task_ask q = { .verb = verb_of(c, path[n] == '\0' ? "" : path + n + 1) };
    struct buf room;
    char text[NAME_MAX_LEN + 1] = "";
    int rc;

    buf_init(&room);
    if (n <= NAME_MAX_LEN)
        memcpy(text, path, n);
    rc = task_name_read(&q.part, &q.no, &c->s->keys.token, text);
    assert(q.verb != DO_NVERBS); /* the table of routes has them */
    if (rc < 0)
        admin_problem(c->a, 404, "task_unknown", "%s",
                      rc == SQ_EAUTH ? "not a task of this cluster"
                                     : "neither a task nor an id (partition-number)");
    else if (read_force(c, &q) && read_body(c, &q, &room))
        task_walk(c, &q);
    buf_fini(&room);
}

/* ---- the tasks of a queue -------------------------------------------------------- */

/* 1: it is in text; 0: there is none; < 0: it cannot be read, and the answer says so. Else an order
 * that names a key would concern the whole queue. */
static int given(struct admin_call *c, const char *name, char *text, size_t cap)
{
    if (!admin_query_has(c->q->query, name))
        return 0;
    if (admin_query(c->q->query, name, text, cap))
        return 1;
    admin_problem(c->a, 400, "bad_request", "?%s= is too long, or badly encoded", name);
    return -1;
}

/* "waiting,dead": bits; all of them without ?state=. False: the answer says what is wrong. */
static bool read_states(struct admin_call *c, struct task_ask *q)
{
    char text[100] = "", *rest = text, *word;
    int is_there = given(c, "state", text, sizeof(text));

    q->states = ~(1u << TASK_FREE);
    if (is_there <= 0)
        return is_there == 0;
    q->states = 0;
    while ((word = strsep(&rest, ",")) != NULL) {
        enum task_state s = TASK_SCHEDULED;

        while (s < TASK_NSTATES && strcmp(task_state_word(s), word) != 0)
            s++;
        if (s == TASK_NSTATES) {
            admin_problem(c->a, 400, "bad_request", "?state=: '%s' is none of scheduled, waiting, "
                          "running, retrying, succeeded, dead, cancelled, expired", word);
            return false;
        }
        q->states |= 1u << s;
    }
    return true;
}

/* ?key=: one or two levels. */
static bool read_key(struct admin_call *c, struct task_ask *q)
{
    char text[2 * TASK_NAME_MAX + 2] = "", *slash;
    int is_there = given(c, "key", text, sizeof(text));

    if (is_there <= 0)
        return is_there == 0;
    slash = strchr(text, '/');
    if (slash != NULL)
        *slash++ = '\0';
    if (text[0] == '\0' || strlen(text) > TASK_NAME_MAX ||
        (slash != NULL && (slash[0] == '\0' || strlen(slash) > TASK_NAME_MAX))) {
        admin_problem(c->a, 400, "bad_request", "?key= is a key, or a key and one below it: "
                      "tenant7/user42, each of at most %d bytes", TASK_NAME_MAX);
        return false;
    }
    strcpy(q->key1, text);
    strcpy(q->key2, slash != NULL ? slash : "");
    return true;
}

/* ?label=: one of up to four that a task has. */
static bool read_label(struct admin_call *c, struct task_ask *q)
{
    int is_there = given(c, "label", q->label, sizeof(q->label));

    if (is_there <= 0)
        return is_there == 0;
    if (label_ok(q->label, strlen(q->label)))
        return true;
    admin_problem(c->a, 400, "bad_request", "?label= is one label: visible ASCII without a comma, at "
                  "most %d bytes", LABEL_MAX);
    return false;
}

/* ?since=, ?until=: moments, of lists; also in seconds, as answers have them. */
static bool read_moment(struct admin_call *c, const char *name, int64_t *ms)
{
    char text[48], *end;
    int is_there = given(c, name, text, sizeof(text));
    double s;

    if (is_there <= 0)
        return is_there == 0;
    s = strtod(text, &end);
    if (end != text && *end == '\0' && s > 0 && s < 1e11) {
        *ms = (int64_t)(s * 1000 + 0.5);
        return true;
    }
    if (schedule_parse(text, ms) == 0)
        return true;
    admin_problem(c->a, 400, "bad_request", "?%s= is a date and time with a zone, like "
                  "2027-01-31T20:00:00Z (a + is %%2B in an address), or Unix seconds", name);
    return false;
}

static bool read_times(struct admin_call *c, struct task_ask *q)
{
    if (!read_moment(c, "since", &q->since_ms) || !read_moment(c, "until", &q->until_ms))
        return false;
    if (q->until_ms == 0 || q->since_ms < q->until_ms)
        return true;
    admin_problem(c->a, 400, "bad_request", "?until= is not after ?since=");
    return false;
}

/* True: the list of a queue's tasks has none of these parameters beside ?`name`=, which says `what`. */
static bool is_alone(struct admin_call *c, const char *const *others, size_t n, const char *name, const char *what)
{
    for (size_t i = 0; i < n; i++)
        if (admin_query_has(c->q->query, others[i])) {
            admin_problem(c->a, 400, "bad_request", "?%s= %s: ?%s= says nothing beside it", name, what, others[i]);
            return false;
        }
    return true;
}

/* ?name=: the task that its caller named so. */
static bool read_name(struct admin_call *c, struct task_ask *q)
{
    static const char *const others[] = { "key", "label", "after", "since", "until" };
    int is_there = given(c, "name", q->key1, sizeof(q->key1));

    if (is_there <= 0)
        return is_there == 0;
    if (q->key1[0] == '\0') {
        admin_problem(c->a, 400, "bad_request", "?name= is what the task's caller named it");
        return false;
    }
    q->verb = DO_NAMED;
    return is_alone(c, others, ARRAY_LEN(others), "name", "means one task");
}

/* ?after=: "next" of the answer before. */
static bool read_after(struct admin_call *c, struct task_ask *q)
{
    char text[40];
    int is_there = given(c, "after", text, sizeof(text));
    task_no after;

    if (is_there <= 0)
        return is_there == 0;
    if (task_id_read(&q->part, &after, text) == 0 && after < TASKS_MAX) {
        q->after = (uint32_t)after;
        return true;
    }
    admin_problem(c->a, 400, "bad_request", "?after= is \"next\" of the answer before");
    return false;
}

/* ?rate_per_s=: from 0.001 on, as pools have them. */
static bool read_rate(struct admin_call *c, struct task_ask *q)
{
    char text[24], *end;
    int is_there = given(c, "rate_per_s", text, sizeof(text));
    double rate;

    if (is_there <= 0)
        return is_there == 0;
    rate = strtod(text, &end);
    if (end != text && *end == '\0' && rate >= 0.001 && rate <= RATE_MOST) {
        q->rate = (uint64_t)(rate * 1000 + 0.5);
        return true;
    }
    admin_problem(c->a, 400, "bad_request", "?rate_per_s= must be a number from 0.001 to %d",
                  RATE_MOST);
    return false;
}

/* ?by=waiting|limited */
static bool read_by(struct admin_call *c, struct task_ask *q)
{
    char word[10] = "waiting";

    if (given(c, "by", word, sizeof(word)) < 0)
        return false;
    q->only_limited = strcmp(word, "limited") == 0;
    if (q->only_limited || strcmp(word, "waiting") == 0)
        return true;
    admin_problem(c->a, 400, "bad_request", "?by= is waiting or limited");
    return false;
}

/* ?order=start of a list: the first tasks, in that order. */
static bool read_order(struct admin_call *c, struct task_ask *q)
{
    char word[10] = "";
    int is_there = given(c, "order", word, sizeof(word));
    static const char *const others[] = { "state", "key", "label", "after", "name", "since", "until" };

    if (is_there <= 0)
        return is_there == 0;
    if (q->verb != DO_LIST || strcmp(word, "start") != 0) {
        admin_problem(c->a, 400, "bad_request", "?order= is start, of a list of tasks");
        return false;
    }
    q->verb = DO_FIRST;
    return is_alone(c, others, ARRAY_LEN(others), "order", "start lists the first tasks in line of the whole queue");
}

/* "QUEUE/tasks", "QUEUE/tasks/WORD" */
static bool split(const char *path, struct task_ask *q)
{
    const char *word = queue_path_read(path, q->queue);

    if (word != NULL)
        q->verb = word[0] == '\0'                   ? DO_LIST
                  : strcmp(word, "schedules") == 0 ? DO_SCHEDULES
                                                   : order_of(word, DO_KEYS, DO_DISCARD_ALL);
    return q->verb != DO_NVERBS;
}

/* How many: of a list, of keys; of an order: as many as there are. */
static bool read_most(struct admin_call *c, struct task_ask *q)
{
    bool keys = q->verb == DO_KEYS;

    q->most = UINT32_MAX;
    if (keys || q->verb == DO_LIST || q->verb == DO_FIRST || q->verb == DO_EXPORT || q->verb == DO_NAMED)
        q->most = (uint32_t)admin_number(c, keys ? "top" : "n", TASK_ROWS_MAX,
                                         keys ? KEYS_N : LIST_N);
    return q->most > 0;
}

static bool takes_all(struct admin_call *c, struct task_ask *q)
{
    return takes(c, q, "state", 1u << DO_LIST) &&
           takes(c, q, "key", 1u << DO_LIST | 1u << DO_CANCEL_ALL) &&
           takes(c, q, "label", 1u << DO_LIST | 1u << DO_CANCEL_ALL) &&
           takes(c, q, "name", 1u << DO_LIST) && takes(c, q, "since", 1u << DO_LIST) &&
           takes(c, q, "until", 1u << DO_LIST) &&
           takes(c, q, "rate_per_s", 1u << DO_REDRIVE_ALL) && takes(c, q, "by", 1u << DO_KEYS) && read_force(c, q);
}

static void of_pool(struct admin_call *c, enum task_do verb)
{
    struct task_ask q = { .verb = verb };
    int is_there = given(c, "pool", q.pool, sizeof(q.pool));

    if (is_there == 0)
        admin_problem(c->a, 400, "bad_request", "?pool= must name a pool of task queues");
    else if (is_there > 0 && (verb != DO_EXPORT || (read_states(c, &q) && read_after(c, &q))) && read_most(c, &q))
        task_walk(c, &q);
}

void admin_task_queue(struct admin_call *c)
{
    const char *path = c->rest;
    struct task_ask q = { .verb = DO_NVERBS };
    struct schedule_path schedule;
    struct key_path k;

    if (strcmp(path, "busiest") == 0) {
        of_pool(c, DO_KEYS);
        return;
    }
    if (strcmp(path, "export") == 0) {
        of_pool(c, DO_EXPORT);
        return;
    }
    if (key_path_read(&k, path, strcmp(c->q->method, "POST") == 0)) {
        admin_pin(c, &k);
        return;
    }
    if (schedule_path_read(&schedule, path)) {
        admin_schedule(c, &schedule);
        return;
    }
    if (!split(path, &q)) /* a schedule's name that is too long */
        admin_problem(c->a, 404, "not_found", "no such path");
    else if (takes_all(c, &q) && read_states(c, &q) && read_key(c, &q) && read_label(c, &q) &&
        read_after(c, &q) && read_rate(c, &q) && read_by(c, &q) && read_times(c, &q) && read_order(c, &q) &&
        (q.verb == DO_FIRST || read_name(c, &q)) && read_most(c, &q))
        task_walk(c, &q);
}

/* tasks.c: paths and parameters become questions to task nodes (walk.h). */
#include "queuemng/tasking/tasks.h"

#include <string.h>

#include "common/task/queue_name.h"
#include "common/task/state.h"
#include "queuemng/admin/token_name.h"
#include "queuemng/tasking/task_json.h"
#include "queuemng/tasking/walk.h"

#define LIST_N 100 /* tasks without ?n= */

static bool is(const struct admin_call *c, const char *method)
{
    if (strcmp(c->q->method, method) == 0)
        return true;
    admin_not_allowed(c->a, method[0] == 'G' ? "GET, HEAD" : method);
    return false;
}

/* ---- one task -------------------------------------------------------------------- */

/* DO_LOOK for "", DO_NVERBS if it is no order. */
static enum task_do order_of(const char *word)
{
    enum task_do v = DO_CANCEL;

    if (word[0] == '\0')
        return DO_LOOK;
    while (v < DO_NVERBS && strcmp(task_do_word(v), word) != 0)
        v++;
    return v;
}

void admin_task(struct admin_call *c, const char *path)
{
    size_t n = strcspn(path, "/");
    struct task_ask q = { .verb = order_of(path[n] == '/' ? path + n + 1 : "") };
    char text[NAME_MAX_LEN + 1] = "";
    int rc;

    if (n <= NAME_MAX_LEN)
        memcpy(text, path, n);
    rc = task_name_read(&q.part, &q.no, &c->s->keys.token, text);
    if (q.verb == DO_NVERBS)
        admin_problem(c->a, 404, "not_found",
                      "no such order: a task is told to cancel, run, redrive, discard");
    else if (!is(c, q.verb == DO_LOOK ? "GET" : "POST"))
        return;
    else if (rc < 0)
        admin_problem(c->a, 404, "task_unknown", "%s",
                      rc == SQ_EAUTH ? "not a task of this cluster"
                                     : "neither a task nor an id (partition-number)");
    else
        task_walk(c, &q);
}

/* ---- the tasks of a queue -------------------------------------------------------- */

/* "waiting,dead": bits; all of them without ?state=. 0: the answer says what is wrong. */
static unsigned states_of(struct admin_call *c)
{
    char text[100] = "", *rest = text, *word;
    unsigned bits = 0;

    if (!admin_query(c->q->query, "state", text, sizeof(text)))
        return ~(1u << TASK_FREE);
    while ((word = strsep(&rest, ",")) != NULL) {
        enum task_state s = TASK_SCHEDULED;

        while (s < TASK_NSTATES && strcmp(task_state_word(s), word) != 0)
            s++;
        if (s == TASK_NSTATES) {
            admin_problem(c->a, 400, "bad_request", "?state=: '%s' is none of scheduled, waiting, "
                          "running, retrying, succeeded, dead, cancelled, expired", word);
            return 0;
        }
        bits |= 1u << s;
    }
    return bits;
}

/* ?key=: one or two levels. */
static bool read_key(struct admin_call *c, struct task_ask *q)
{
    char text[2 * TASK_NAME_MAX + 2] = "", *slash;

    if (!admin_query(c->q->query, "key", text, sizeof(text)))
        return true;
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

/* ?after=: "next" of the answer before. */
static bool read_after(struct admin_call *c, struct task_ask *q)
{
    char text[40];
    task_no after;

    if (!admin_query(c->q->query, "after", text, sizeof(text)))
        return true;
    if (task_id_read(&q->part, &after, text) == 0 && after < TASKS_MAX) {
        q->after = (uint32_t)after;
        return true;
    }
    admin_problem(c->a, 400, "bad_request", "?after= is \"next\" of the answer before");
    return false;
}

/* "QUEUE/tasks": no part of a queue's name is "tasks". */
static bool split(const char *path, struct task_ask *q)
{
    const char *end = strstr(path, "/tasks");
    size_t n = end != NULL ? (size_t)(end - path) : 0;

    if (end == NULL || end[6] != '\0' || !queue_name_ok(path, n))
        return false;
    memcpy(q->queue, path, n);
    return true;
}

void admin_task_queue(struct admin_call *c, const char *path)
{
    struct task_ask q = { .verb = DO_LIST };

    if (!split(path, &q)) {
        admin_problem(c->a, 404, "not_found", "no such path: task-queues/QUEUE/tasks");
        return;
    }
    if (!is(c, "GET") || (q.states = states_of(c)) == 0 || !read_key(c, &q) || !read_after(c, &q))
        return;
    q.most = (uint32_t)admin_number(c, "n", TASK_ROWS_MAX, LIST_N);
    if (q.most > 0)
        task_walk(c, &q);
}

/* confirm.c: asks the operator before an order takes something from waiting people. It prints what
 * will happen, and to how many; then the name has to be typed. In scripts --yes stands for that;
 * --dry-run ends there. */
#include "queuemng/ctl/confirm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queuemng/ctl_view/columns.h"

#define NODE "/v1/admin/nodes/*"
#define LIVE "/v1/admin/live?since=9223372036854775807" /* without events */

/* ---- what is typed ---- */

/* Reads it. of: the context's name before it, or NULL. */
static bool is_typed(const char *of, const char *name)
{
    size_t n = of != NULL ? strlen(of) : 0;
    char line[400];

    if (fgets(line, sizeof(line), stdin) == NULL)
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    if (of != NULL && (strncmp(line, of, n) != 0 || line[n] != ' '))
        return false;
    return strcmp(line + n + (of != NULL), name) == 0;
}

/* Prints the consequences for --dry-run, in the form that -o names. */
static void would_show(const struct ctl *c, const struct buf *what, const char *name)
{
    json_t *doc;

    if (c->form == FORM_TABLE) {
        ctl_put_out(what);
        puts("");
        return;
    }
    doc = json_pack("{s:s,s:s%}", "name", name, "detail", (const char *)what->data, what->len);
    (void)ctl_say_doc(c, doc, view_pretty);
    json_decref(doc);
}

static int is_sure(const struct ctl *c, const struct buf *what, const char *name)
{
    int len = (int)what->len;
    const char *text = what->data != NULL ? (const char *)what->data : "";
    struct buf clean;

    if (c->dry_run) {
        would_show(c, what, name);
        return CTL_REFUSED; /* like diff: something would change */
    }
    if (c->yes)
        return CTL_OK;
    if (isatty(STDIN_FILENO) != 1) {
        fprintf(stderr, "segqctl: %.*s There is no terminal to confirm on; repeat with --yes.\n",
                len, text);
        return CTL_USAGE;
    }
    buf_init(&clean);
    ctl_clean(&clean, name);
    fprintf(stderr, "%.*s\nType %s%s%.*s to go on: ", len, text,
            c->context != NULL ? c->context : "", c->context != NULL ? " " : "", (int)clean.len,
            (const char *)clean.data);
    buf_fini(&clean);
    if (is_typed(c->context, name))
        return CTL_OK;
    return ctl_fail(CTL_REFUSED, "not confirmed: nothing was changed");
}

int ctl_sure(const struct ctl *c, const json_t *o, const char *sentence, const char *name)
{
    struct buf what;
    int rc;

    buf_init(&what);
    ctl_say(&what, o, sentence);
    rc = is_sure(c, &what, name);
    buf_fini(&what);
    return rc;
}

/* ---- queues ---- */

/* Asks for a queue with its sums; NULL: the error has been printed. New reference. */
static json_t *queue_now(const struct ctl *c, const char *name, int *rc)
{
    json_t *live = ctl_get(c, LIVE "&queue=*", name, rc);
    json_t *q = json_object_get(live, "queue");

    q = json_is_object(q) ? json_incref(q) : NULL;
    if (live != NULL && q == NULL)
        *rc = ctl_say_no_queue(c, name);
    json_decref(live);
    return q;
}

int ctl_queue_is_sure(const struct ctl *c, enum risk risk, uint64_t n, const char *queue)
{
    struct buf what;
    json_t *q;
    int rc;

    if (c->yes && !c->dry_run)
        return CTL_OK;
    q = queue_now(c, queue, &rc);
    buf_init(&what);
    if (q != NULL && risk != RISK_NONE)
        view_risk(&what, risk, q);
    else if (q != NULL && (c->dry_run || risk_of_release(n, q)))
        view_release_risk(&what, n, q);
    if (what.len > 0)
        rc = is_sure(c, &what, queue);
    buf_fini(&what);
    json_decref(q);
    return rc;
}

/* ---- nodes ---- */

static json_int_t others_up(const json_t *doc, const char *name)
{
    const json_t *n;
    json_int_t others = 0;
    size_t i;

    json_array_foreach(json_object_get(doc, "nodes"), i, n)
        others += ctl_is(n, "up") && !ctl_is(n, "draining") && !ctl_equals(n, "name", name);
    return others;
}

/* A segment node, or a task node (which has `partitions`, and `tasks` to be done, as it reported
 * last), with `others`: how many nodes of its kind may take what it has. New reference; NULL: not known (*rc CTL_OK), or not answered. */
static json_t *node_now(const struct ctl *c, const char *name, int *rc)
{
    json_t *doc = ctl_get(c, LIVE, NULL, rc);
    json_t *n = json_incref(ctl_find(doc, "nodes", "name", name)), *pool;
    uint64_t tasks = 0;
    size_t i;

    if (n != NULL)
        (void)json_object_set_new(n, "others", json_integer(others_up(doc, name)));
    json_decref(doc);
    if (n != NULL || *rc != CTL_OK)
        return n;
    doc = ctl_get(c, "/v1/admin/task-queues", NULL, rc);
    n = json_incref(ctl_find(doc, "nodes", "name", name));
    json_array_foreach(json_object_get(doc, "pools"), i, pool)
        tasks += ctl_sum(json_object_get(pool, "partitions"), "scheduled+waiting+running", "node",
                         name);
    if (n != NULL)
        (void)json_object_update_new(n, json_pack("{s:I,s:I}", "tasks", (json_int_t)tasks, "others",
                                                  others_up(doc, name)));
    json_decref(doc);
    return n;
}

int cmd_drain(struct ctl *c, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/drain", .name = argv[0] };
    int rc;
    json_t *done = ctl_fetch(c, call, &rc), *n;

    if (done == NULL)
        return rc;
    json_decref(done);
    n = node_now(c, argv[0], &rc);
    if (rc == CTL_OK)
        ctl_print(view_drain, n);
    json_decref(n);
    return rc;
}

/* Handles a refusal: if people or tasks are concerned the operator confirms it, and then it is
 * forced. */
static int forget_by_force(struct ctl *c, const char *name, const struct ctl_answer *refusal)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/forget?force=true", .name = name };
    int rc;
    json_t *n = node_now(c, name, &rc);
    struct buf what;

    buf_init(&what);
    if (n != NULL && !ctl_is(n, "up")) {
        view_forget(&what, n);
        rc = is_sure(c, &what, name);
        if (rc == CTL_OK)
            rc = ctl_do(c, call, view_detail);
    } else if (rc == CTL_OK) {
        rc = ctl_say_answer(c, refusal, NULL);
    }
    buf_fini(&what);
    json_decref(n);
    return rc;
}

int cmd_forget(struct ctl *c, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/forget", .name = argv[0] };
    struct ctl_answer a = { 0 };
    int rc = ctl_ask(c, call, &a);

    if (rc == CTL_OK)
        rc = a.status == 409 ? forget_by_force(c, argv[0], &a) : ctl_say_answer(c, &a, view_detail);
    buf_fini(&a.body);
    return rc;
}

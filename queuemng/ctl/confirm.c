/* confirm.c: asks the operator before an order takes something from waiting people. It prints what
 * will happen, and to how many; then the name has to be typed. In scripts --yes stands for that;
 * --dry-run ends there. */
#include "queuemng/ctl/confirm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/text.h"

/* Reads what is typed. of: the context's name before it, or NULL. */
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

int ctl_sure(const struct ctl *c, const struct buf *what, const char *name)
{
    int len = (int)what->len;
    const char *text = what->data != NULL ? (const char *)what->data : "";
    struct buf clean;
    bool yes;

    if (c->dry_run) {
        ctl_put_out(what);
        puts("");
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
    buf_byte(&clean, 0);
    fprintf(stderr, "%.*s\nType %s%s%s to go on: ", len, text, c->context != NULL ? c->context : "",
            c->context != NULL ? " " : "", clean.failed ? "" : (const char *)clean.data);
    buf_fini(&clean);
    yes = is_typed(c->context, name);
    if (!yes)
        fputs("segqctl: not confirmed: nothing was changed\n", stderr);
    return yes ? CTL_OK : CTL_REFUSED;
}

int ctl_sure_of(const struct ctl *c, const char *text, const char *name)
{
    struct buf what;
    int rc;

    buf_init(&what);
    buf_str(&what, text);
    rc = ctl_sure(c, &what, name);
    buf_fini(&what);
    return rc;
}

/* Asks for a queue with its sums; NULL: the error has been printed. New reference. */
static json_t *queue_now(const struct ctl *c, const char *name, int *rc)
{
    json_t *live = ctl_get(c, "/v1/admin/live?since=9223372036854775807&queue=*", name, rc);
    json_t *q = json_object_get(live, "queue");

    q = json_is_object(q) ? json_incref(q) : NULL;
    if (live != NULL && q == NULL)
        *rc = ctl_say_no_queue(c, name);
    json_decref(live);
    return q;
}

/* risk NONE: n people are to be released. */
static int is_sure(const struct ctl *c, enum risk risk, uint64_t n, const char *queue)
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
        rc = ctl_sure(c, &what, queue);
    buf_fini(&what);
    json_decref(q);
    return rc;
}

int ctl_is_sure(const struct ctl *c, enum risk risk, const char *queue)
{
    assert(risk != RISK_NONE);
    return is_sure(c, risk, 0, queue);
}

int ctl_release_is_sure(const struct ctl *c, const char *queue, uint64_t n)
{
    return is_sure(c, RISK_NONE, n, queue);
}

int cmd_queue_delete(struct ctl *c, int argc, char **argv)
{
    bool final = argc > 1;
    struct ctl_call call = { .method = "DELETE", .name = argv[0] };
    int rc;

    if (final && strcmp(argv[1], "final") != 0) {
        fprintf(stderr, "segqctl: after the queue's name only 'final' is allowed\n");
        return CTL_USAGE;
    }
    call.path = final ? "/v1/admin/queues/*?final=true" : "/v1/admin/queues/*";
    rc = ctl_is_sure(c, final ? RISK_FINAL : RISK_DELETE, argv[0]);
    if (rc == CTL_OK)
        rc = ctl_do(c, call, view_detail);
    if (rc == CTL_OK && !final && c->form == FORM_TABLE)
        printf("to undo it: segqctl queue restore %s\n", argv[0]);
    return rc;
}

/* confirm.c: orders that take something from people who wait. What will happen, and to how
 * many, is said first; then the name has to be typed. In scripts --yes stands for that. */
#include "queuemng/ctl/confirm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "queuemng/ctl/ask.h"
#include "queuemng/ctl/risk_view.h"
#include "queuemng/ctl/text.h"

static bool is_typed(const char *name)
{
    char line[256];

    if (fgets(line, sizeof(line), stdin) == NULL)
        return false;
    line[strcspn(line, "\r\n")] = '\0';
    return strcmp(line, name) == 0;
}

int ctl_sure(const struct ctl *c, const struct buf *what, const char *name)
{
    int len = (int)what->len;
    const char *text = what->data != NULL ? (const char *)what->data : "";
    struct buf clean;
    bool yes;

    if (c->yes)
        return CTL_OK;
    if (isatty(STDIN_FILENO) != 1) {
        fprintf(stderr, "segqctl: %.*s There is no terminal to confirm on; repeat with --yes.\n", len, text);
        return CTL_USAGE;
    }
    buf_init(&clean);
    ctl_clean(&clean, name);
    buf_byte(&clean, 0);
    fprintf(stderr, "%.*s\nType %s to go on: ", len, text,
            clean.failed ? "" : (const char *)clean.data);
    buf_fini(&clean);
    yes = is_typed(name);
    if (!yes)
        fputs("segqctl: not confirmed: nothing was changed\n", stderr);
    return yes ? CTL_OK : CTL_REFUSED;
}

/* One queue with its sums; NULL: what went wrong is said. New reference. */
static json_t *queue_now(const struct ctl *c, const char *name, int *rc)
{
    char path[512];
    json_t *live, *q;

    *rc = CTL_USAGE;
    if (!ctl_path_set(path, sizeof(path), "/v1/admin/live?since=9223372036854775807&queue=", name,
                      "")) {
        *rc = ctl_too_long(name);
        return NULL;
    }
    live = ctl_admin_json(c, path, rc);
    q = json_incref(json_object_get(live, "queue"));
    json_decref(live);
    if (live == NULL || json_is_object(q))
        return q;
    json_decref(q);
    fprintf(stderr, "segqctl: there is no queue '%s'\n", name);
    *rc = CTL_REFUSED;
    return NULL;
}

static int is_sure(const struct ctl *c, enum risk risk, const char *name)
{
    struct buf what;
    json_t *q;
    int rc;

    if (c->yes)
        return CTL_OK;
    q = queue_now(c, name, &rc);
    if (q == NULL)
        return rc;
    buf_init(&what);
    view_risk(&what, risk, q);
    rc = ctl_sure(c, &what, name);
    buf_fini(&what);
    json_decref(q);
    return rc;
}

int cmd_flush(struct ctl *c, int argc, char **argv)
{
    int rc = is_sure(c, RISK_FLUSH, argv[0]);

    (void)argc;
    return rc != CTL_OK ? rc : ctl_queue_do(c, "POST", argv[0], "/flush", NULL, view_done);
}

int cmd_reject(struct ctl *c, int argc, char **argv)
{
    int rc = is_sure(c, RISK_REJECT, argv[0]);

    (void)argc;
    return rc != CTL_OK ? rc : ctl_queue_do(c, "POST", argv[0], "/reject", NULL, view_done);
}

int cmd_queue_delete(struct ctl *c, int argc, char **argv)
{
    bool final = argc > 1;
    int rc;

    if (final && strcmp(argv[1], "final") != 0) {
        fprintf(stderr, "segqctl: after the queue's name only 'final' is allowed\n");
        return CTL_USAGE;
    }
    rc = is_sure(c, final ? RISK_FINAL : RISK_DELETE, argv[0]);
    if (rc == CTL_OK)
        rc = ctl_queue_do(c, "DELETE", argv[0], final ? "?final=true" : "", NULL, view_detail);
    if (rc == CTL_OK && !final && !c->json)
        printf("to undo it: segqctl queue restore %s\n", argv[0]);
    return rc;
}

int cmd_queue_restore(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ctl_queue_do(c, "POST", argv[0], "/restore", NULL, view_done);
}

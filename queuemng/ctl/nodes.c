/* nodes.c: taking segment nodes away, and what that comes to. */
#include "queuemng/ctl/nodes.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/ctl/ask.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/risk_view.h"

static int node_order(const struct ctl *c, const char *node, const char *after, view_fn view)
{
    struct ctl_call call = { .method = "POST" };
    char path[512];

    if (!ctl_path_set(path, sizeof(path), "/v1/admin/nodes/", node, after))
        return ctl_too_long(node);
    call.path = path;
    return ctl_admin_do(c, call, view);
}

/* New reference; NULL: not known (*rc CTL_OK), or not answered. */
static json_t *node_now(const struct ctl *c, const char *name, int *rc)
{
    json_t *live = ctl_admin_json(c, "/v1/admin/live?since=9223372036854775807", rc);
    json_t *n, *found = NULL;
    size_t i;

    json_array_foreach(json_object_get(live, "nodes"), i, n) {
        const char *s = json_string_value(json_object_get(n, "name"));

        if (s != NULL && strcmp(s, name) == 0)
            found = json_incref(n);
    }
    json_decref(live);
    return found;
}

static void no_view(struct buf *b, const json_t *doc)
{
    (void)b;
    (void)doc;
}

int cmd_drain(struct ctl *c, int argc, char **argv)
{
    int rc = node_order(c, argv[0], "/drain", c->json ? NULL : no_view);
    json_t *n = NULL;
    struct buf b;

    (void)argc;
    if (rc != CTL_OK || c->json)
        return rc;
    n = node_now(c, argv[0], &rc);
    buf_init(&b);
    if (n != NULL)
        view_drain(&b, n);
    else if (rc == CTL_OK) /* gone in between: it was empty */
        view_done(&b, NULL);
    if (rc == CTL_OK)
        buf_byte(&b, '\n');
    ctl_put_out(&b);
    buf_fini(&b);
    json_decref(n);
    return rc;
}

int cmd_undrain(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return node_order(c, argv[0], "/undrain", view_done);
}

/* It was refused: if people are concerned they are asked about, and then it is forced. */
static int forget_by_force(struct ctl *c, const char *name, const struct ctl_answer *refusal)
{
    int rc;
    json_t *n = node_now(c, name, &rc);
    struct buf what;

    if (n == NULL || json_is_true(json_object_get(n, "up"))) {
        json_decref(n);
        return rc == CTL_OK ? ctl_say_answer(c, refusal, NULL) : rc;
    }
    buf_init(&what);
    view_forget(&what, n);
    rc = ctl_sure(c, &what, name);
    buf_fini(&what);
    json_decref(n);
    return rc != CTL_OK ? rc : node_order(c, name, "/forget?force=true", view_detail);
}

int cmd_forget(struct ctl *c, int argc, char **argv)
{
    struct ctl_answer a = { 0 };
    struct ctl_call call = { .method = "POST" };
    char path[512];
    int rc;

    (void)argc;
    if (!ctl_path_set(path, sizeof(path), "/v1/admin/nodes/", argv[0], "/forget"))
        return ctl_too_long(argv[0]);
    call.path = path;
    rc = ctl_admin_ask(c, call, &a);
    if (rc == CTL_OK)
        rc = a.status == 409 ? forget_by_force(c, argv[0], &a) : ctl_say_answer(c, &a, view_detail);
    buf_fini(&a.body);
    return rc;
}

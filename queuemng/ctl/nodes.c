/* nodes.c: drain and forget of segment nodes. */
#include "queuemng/ctl/nodes.h"

#include <stdio.h>
#include <string.h>

#include "queuemng/ctl/ask.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/text.h"

#define NODE "/v1/admin/nodes/*"

/* New reference; NULL: not known (*rc CTL_OK), or not answered. */
static json_t *node_now(const struct ctl *c, const char *name, int *rc)
{
    json_t *live = ctl_get(c, "/v1/admin/live?since=9223372036854775807", NULL, rc);
    json_t *n, *found = NULL;
    size_t i;

    json_array_foreach(json_object_get(live, "nodes"), i, n)
        if (strcmp(ctl_str(n, "name"), name) == 0)
            found = json_incref(n);
    json_decref(live);
    return found;
}

int cmd_drain(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/drain", .name = argv[0] };
    int rc;
    json_t *done = ctl_fetch(c, call, &rc), *n;

    (void)argc;
    if (done == NULL)
        return rc;
    json_decref(done);
    n = node_now(c, argv[0], &rc);
    if (rc == CTL_OK)
        ctl_print(view_drain, n);
    json_decref(n);
    return rc;
}

/* It was refused: if people are concerned the operator confirms it, and then it is forced. */
static int forget_by_force(struct ctl *c, const char *name, const struct ctl_answer *refusal)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/forget?force=true", .name = name };
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
    return rc == CTL_OK ? ctl_do(c, call, view_detail) : rc;
}

int cmd_forget(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = NODE "/forget", .name = argv[0] };
    struct ctl_answer a = { 0 };
    int rc = ctl_ask(c, call, &a);

    (void)argc;
    if (rc == CTL_OK)
        rc = a.status == 409 ? forget_by_force(c, argv[0], &a) : ctl_say_answer(c, &a, view_detail);
    buf_fini(&a.body);
    return rc;
}

/* keys.c: see the header. */
#include "queuemng/ctl/keys.h"

#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_ask/answer.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/policy/key_def.h"

#define PATH_MAX_LEN (3 * TASK_NAME_MAX + 80)

/* The path of a queue's key, of which ctl_ask() puts the name in; verb: "/pause", "". */
static bool path_of(char path[PATH_MAX_LEN], const char *queue, const char *verb)
{
    char *text = strlen(queue) <= TASK_NAME_MAX ? evhttp_encode_uri(queue) : NULL;
    bool ok = text != NULL;

    if (ok)
        snprintf(path, PATH_MAX_LEN, "/v1/admin/task-queues/%s/tasks/keys/*%s", text, verb);
    else
        fprintf(stderr, "segqctl: '%.60s...' is too long for a queue's name\n", queue);
    free(text);
    return ok;
}

static int ask(struct ctl *c, const char *method, char **argv, const char *verb, view_fn view)
{
    char path[PATH_MAX_LEN];

    if (!path_of(path, argv[0], verb))
        return CTL_USAGE;
    return ctl_do(c, (struct ctl_call){ .method = method, .path = path, .name = argv[1] }, view);
}

int cmd_key_list(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return ctl_do(c, (struct ctl_call){ .method = "GET", .path = "/v1/admin/pinned-keys" },
                  view_pinned_keys);
}

int cmd_key_show(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ask(c, "GET", argv, "", view_pretty);
}

int cmd_key_unpin(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ask(c, "DELETE", argv, "", view_done);
}

int cmd_key_pause(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ask(c, "POST", argv, "/pause", view_done);
}

int cmd_key_resume(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ask(c, "POST", argv, "/resume", view_done);
}

static int pin_check(const void *def, struct err *e)
{
    return key_pin_check(def, e);
}

static int would_set(struct ctl *c, char **argv, json_t *keys)
{
    static const struct def_kind kind = { "key", "keys", NULL, NULL, "key", key_pin_keys,
                                          sizeof(struct key_pin), pin_check };
    struct ctl_answer a = { 0 };
    char path[PATH_MAX_LEN];
    struct ctl_call call = { .method = "GET", .path = path, .name = argv[1] };
    int rc = path_of(path, argv[0], "") ? ctl_ask(c, call, &a) : CTL_USAGE;
    json_t *now = NULL;

    if (rc == CTL_OK && a.status == 200)
        now = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    if (rc == CTL_OK && now == NULL && a.status != 404)
        rc = ctl_say_answer(c, &a, NULL);
    else if (rc == CTL_OK && json_object_set_new(keys, "queue", json_string(argv[0])) == 0)
        rc = ctl_would_change(&kind, argv[1], now, keys);
    json_decref(now);
    buf_fini(&a.body);
    return rc;
}

/* One that is pinned is changed, another one is pinned. */
int cmd_key_set(struct ctl *c, int argc, char **argv)
{
    struct ctl_answer a = { 0 };
    char path[PATH_MAX_LEN];
    struct ctl_call call = { .method = "PATCH", .path = path, .name = argv[1] };
    struct err e = { 0 };
    json_t *doc = ctl_pairs(argv + 2, (size_t)argc - 2, key_pin_keys, &e);
    int rc;

    if (doc == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    if (c->dry_run) {
        rc = would_set(c, argv, doc);
        json_decref(doc);
        return rc;
    }
    call.body = doc;
    rc = path_of(path, argv[0], "") ? ctl_ask(c, call, &a) : CTL_USAGE;
    if (rc == CTL_OK && a.status == 404) {
        buf_fini(&a.body);
        call.method = "PUT";
        call.if_none_match = "*";
        rc = ctl_ask(c, call, &a);
    }
    if (rc == CTL_OK)
        rc = ctl_say_answer(c, &a, view_pretty);
    buf_fini(&a.body);
    json_decref(doc);
    return rc;
}

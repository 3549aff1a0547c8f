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
    return ask(c, "DELETE", argv, "", view_unpinned);
}


static int pin_check(const void *def, struct err *e)
{
    return key_pin_check(def, e);
}

static const struct def_kind key_kind = { "key", "keys", NULL, NULL, "key", key_pin_keys,
                                          sizeof(struct key_pin), pin_check };

/* The definition of a pinned key; NULL: it is not, or *rc says more. New reference. */
static json_t *pin_now(struct ctl *c, char **argv, int *rc)
{
    struct ctl_answer a = { 0 };
    char path[PATH_MAX_LEN];
    json_t *now = NULL;

    *rc = path_of(path, argv[0], "")
              ? ctl_ask(c, (struct ctl_call){ .method = "GET", .path = path, .name = argv[1] }, &a)
              : CTL_USAGE;
    if (*rc == CTL_OK && a.status == 200)
        now = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    if (*rc == CTL_OK && now == NULL && a.status != 404) {
        (void)ctl_say_answer(c, &a, NULL);
        *rc = CTL_REFUSED;
    }
    buf_fini(&a.body);
    return now;
}

static int would_set(struct ctl *c, char **argv, json_t *keys)
{
    int rc;
    json_t *now = pin_now(c, argv, &rc);

    if (rc == CTL_OK && json_object_set_new(keys, "queue", json_string(argv[0])) == 0)
        rc = ctl_would_change(&key_kind, argv[1], now, keys);
    json_decref(now);
    return rc;
}

/* Says "key tenant7: paused: false -> true". A key that is resumed may not be pinned any more: then
 * there is no definition to compare. One that is not pinned is refused, by the manager: it may be a
 * wrong name. */
static int hold(struct ctl *c, char **argv, bool on)
{
    char path[PATH_MAX_LEN];
    int rc;
    json_t *was = pin_now(c, argv, &rc);

    if (rc == CTL_OK && !path_of(path, argv[0], on ? "/pause" : "/resume"))
        rc = CTL_USAGE;
    if (rc == CTL_OK && on && was == NULL)
        rc = ask(c, "POST", argv, "/pause", view_held);
    else if (rc == CTL_OK && !on && (was == NULL || json_is_true(json_object_get(was, "inherit"))))
        rc = ask(c, "POST", argv, "/resume", view_unpinned);
    else if (rc == CTL_OK)
        rc = ctl_change(c, &key_kind, was, (struct ctl_call){ .method = "POST", .path = path, .name = argv[1] });
    json_decref(was);
    return rc;
}

int cmd_key_pause(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return hold(c, argv, true);
}

int cmd_key_resume(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return hold(c, argv, false);
}

/* Changes a pinned key, or pins another one. */
int cmd_key_set(struct ctl *c, int argc, char **argv)
{
    char path[PATH_MAX_LEN];
    struct ctl_call call = { .method = "PATCH", .path = path, .name = argv[1] };
    struct err e = { 0 };
    json_t *doc = ctl_pairs(argv + 2, (size_t)argc - 2, key_pin_keys, &e), *was;
    int rc;

    if (doc == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    if (c->dry_run) {
        rc = would_set(c, argv, doc);
        json_decref(doc);
        return rc;
    }
    call.body = doc;
    was = pin_now(c, argv, &rc);
    if (was == NULL) {
        call.method = "PUT";
        call.if_none_match = "*";
    }
    if (rc == CTL_OK && !path_of(path, argv[0], ""))
        rc = CTL_USAGE;
    if (rc == CTL_OK)
        rc = ctl_change(c, &key_kind, was, call);
    json_decref(was);
    json_decref(doc);
    return rc;
}

/* task_commands.c: lists, pauses, and what is asked before something goes for good. */
#include "queuemng/ctl/task_commands.h"

#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/own.h"
#include "common/task/queue_name.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl/live.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/ctl/words.h"
#include "queuemng/policy/key_def.h"

#define LIST "/v1/admin/task-queues/*/tasks"

/* ---- lists ---- */

/* Where the list goes on; false: that was all, or it is not to be shown. */
static bool next_page(const struct ctl *c, const json_t *doc, char *after, size_t cap)
{
    const char *next = json_string_value(json_object_get(doc, "next"));

    if (next == NULL)
        return false;
    if (!c->all && c->form == FORM_TABLE)
        puts("there are more: --all shows them");
    snprintf(after, cap, "&after=%.40s", next);
    return c->all;
}

#define VALUE_MAX 390 /* encoded */
#define QUERY_MAX (2 * (VALUE_MAX + 10) + 20)

/* Appends &NAME=VALUE, encoded: two of them have room. False: it is too long; cut it would be
 * another one. */
static bool add_value(char *query, const char *name, const char *value)
{
    char *text = evhttp_encode_uri(value);
    bool ok = text != NULL && strlen(text) <= VALUE_MAX;

    if (ok)
        sprintf(query + strlen(query), "&%s=%s", name, text);
    free(text);
    if (ok)
        return true;
    fprintf(stderr, "segqctl: that is no %s: it is too long\n", name);
    return false;
}

int cmd_task_list(struct ctl *c, int argc, char **argv)
{
    char path[QUERY_MAX + 128], query[QUERY_MAX] = "", after[64] = "";
    bool more = true;
    int rc = CTL_OK;

    if (argc == 0)
        return cmd_task_queues(c, 0, NULL);
    if ((argc > 1 && !add_value(query, "state", argv[1])) ||
        (c->label != NULL && !add_value(query, "label", c->label)))
        return CTL_USAGE;
    while (rc == CTL_OK && more) {
        struct ctl_call call = { .method = "GET", .path = path, .name = argv[0] };
        json_t *doc;

        snprintf(path, sizeof(path), LIST "?n=%d%s%s", c->all ? 1000 : 100, query, after);
        doc = ctl_show(c, call, view_tasks, &rc);
        more = rc == CTL_OK && next_page(c, doc, after, sizeof(after));
        json_decref(doc);
    }
    return rc;
}

/* A tick of one that comes once more, now; the others stay. */
static int run_schedule(struct ctl *c, const char *queue, const char *name)
{
    char path[QUERY_MAX], *text = strlen(name) <= TASK_NAME_MAX ? evhttp_encode_uri(name) : NULL;
    int rc = CTL_USAGE;

    snprintf(path, sizeof(path), LIST "/schedules/%s/run", text != NULL ? text : "");
    if (text != NULL)
        rc = ctl_do(c, (struct ctl_call){ .method = "POST", .path = path, .name = queue }, view_task_order);
    else
        fprintf(stderr, "segqctl: that is no name of a schedule: it is too long\n");
    free(text);
    return rc;
}

int cmd_task_schedules(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "GET", .path = LIST "/schedules", .name = argv[0] };

    if (argc == 3 && strcmp(argv[0], "run") == 0)
        return run_schedule(c, argv[1], argv[2]);
    if (argc == 1)
        return ctl_do(c, call, view_task_schedules);
    fputs("segqctl: task schedules QUEUE, or task schedules run QUEUE SCHEDULE\n", stderr);
    return CTL_USAGE;
}

int cmd_task_keys(struct ctl *c, int argc, char **argv)
{
    bool limited = argc > 1 && strcmp(argv[1], "limited") == 0;
    struct ctl_call call = { .method = "GET", .name = argv[0],
                             .path = limited ? LIST "/keys?by=limited" : LIST "/keys" };

    if (argc > 1 && !limited && strcmp(argv[1], "waiting") != 0) {
        fprintf(stderr, "segqctl: keys are listed by waiting or limited, not '%s'\n", argv[1]);
        return CTL_USAGE;
    }
    return ctl_do(c, call, view_task_keys);
}

/* ---- orders about many ---- */

/* query: encoded, each value behind an &; one call changes so many tasks that the answer comes in
 * time. */
static int order_all(struct ctl *c, const char *queue, const char *word, const char *query)
{
    char path[QUERY_MAX + 128], after[64] = "";
    int rc = CTL_OK;

    do {
        struct ctl_call call = { .method = "POST", .path = path, .name = queue };
        const char *next;
        json_t *doc;

        snprintf(path, sizeof(path), LIST "/%s?%s%s", word, query + (query[0] == '&'), after);
        doc = ctl_show(c, call, view_task_order, &rc);
        next = json_string_value(json_object_get(doc, "next"));
        snprintf(after, sizeof(after), "&after=%.40s", next != NULL ? next : "");
        if (next == NULL)
            after[0] = '\0';
        json_decref(doc);
    } while (rc == CTL_OK && after[0] != '\0');
    return rc;
}

int cmd_task_cancel_all(struct ctl *c, int argc, char **argv)
{
    char query[QUERY_MAX] = "", text[200];
    int rc;

    if ((argc > 1 && !add_value(query, "key", argv[1])) ||
        (c->label != NULL && !add_value(query, "label", c->label)))
        return CTL_USAGE;
    if (c->force)
        (void)add_value(query, "force", "true");
    snprintf(text, sizeof(text), "All tasks of %s%s%.*s are cancelled%s.\n",
             argc > 1 ? "this key of the queue" : "the queue",
             c->label != NULL ? " with the label " : "", LABEL_MAX,
             c->label != NULL ? c->label : "",
             c->force ? ", also those that run: who has them may have done them" : "");
    rc = ctl_sure_of(c, text, argv[0]);
    return rc == CTL_OK ? order_all(c, argv[0], "cancel", query) : rc;
}

int cmd_task_redrive_all(struct ctl *c, int argc, char **argv)
{
    bool stop = argc > 1 && strcmp(argv[1], "stop") == 0;
    char query[64] = "";
    double rate;

    if (argc > 1 && !stop && !ctl_number(argv[1], &rate)) {
        fprintf(stderr, "segqctl: '%s' is no rate per second, nor 'stop'\n", argv[1]);
        return CTL_USAGE;
    }
    if (argc > 1 && !stop)
        snprintf(query, sizeof(query), "&rate_per_s=%.30s", argv[1]);
    return order_all(c, argv[0], stop ? "stop" : "redrive", query);
}

int cmd_task_discard_all(struct ctl *c, int argc, char **argv)
{
    int rc = ctl_sure_of(c, "All dead tasks of the queue, and their payloads, are gone for good.\n",
                  argv[0]);

    (void)argc;
    return rc == CTL_OK ? order_all(c, argv[0], "discard", "") : rc;
}

/* ---- pauses ---- */

static bool is_pool(const json_t *pools, const char *name)
{
    struct buf b;
    bool is;

    buf_init(&b);
    is = view_is_pool(&b, pools, name);
    if (!is)
        fprintf(stderr, "segqctl: %.*s\n", (int)b.len, b.data != NULL ? (char *)b.data : "");
    buf_fini(&b);
    return is;
}

static int set_paused(struct ctl *c, const char *pool, bool paused)
{
    struct ctl_call call = { .method = "PATCH", .path = "/v1/admin/pools/*", .name = pool };
    int rc;
    json_t *pools = ctl_get(c, "/v1/admin/pools", NULL, &rc), *body;

    if (pools == NULL)
        return rc;
    body = json_pack("{s:b}", "paused", paused);
    call.body = body;
    rc = is_pool(pools, pool) ? cmd_change(c, "pool", call) : CTL_REFUSED;
    json_decref(body);
    json_decref(pools);
    return rc;
}

int cmd_task_pause(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return set_paused(c, argv[0], true);
}

int cmd_task_resume(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return set_paused(c, argv[0], false);
}

/* ---- pinned keys ---- */

#define KEY "/v1/admin/task-queues/*/tasks/keys/*"

static int would_set(struct ctl *c, char **argv, json_t *keys)
{
    int rc;
    json_t *now = ctl_definition(c, &def_kinds[DEF_PIN], argv[0], argv[1], &rc);

    if (rc == CTL_OK && json_object_set_new(keys, "queue", json_string(argv[0])) == 0)
        rc = ctl_would_change(&def_kinds[DEF_PIN], argv[1], now, keys);
    json_decref(now);
    return rc;
}

/* Says "key tenant7: paused: false -> true". A key that is resumed may not be pinned any more: then
 * there is no definition to compare. One that is not pinned is refused, by the manager: it may be a
 * wrong name. */
static int hold(struct ctl *c, char **argv, bool on)
{
    struct ctl_call call = { .method = "POST", .path = on ? KEY "/pause" : KEY "/resume",
                             .queue = argv[0], .name = argv[1] };
    int rc;
    json_t *was = ctl_definition(c, &def_kinds[DEF_PIN], argv[0], argv[1], &rc);
    bool ends = !on && (was == NULL || ctl_is(was, "inherit"));

    if (rc == CTL_OK && (ends || was == NULL))
        rc = ctl_do(c, call, on ? view_held : view_unpinned);
    else if (rc == CTL_OK)
        rc = ctl_change(c, &def_kinds[DEF_PIN], was, call);
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
    struct ctl_call call = { .method = "PATCH", .path = KEY, .queue = argv[0], .name = argv[1] };
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
    was = ctl_definition(c, &def_kinds[DEF_PIN], argv[0], argv[1], &rc);
    if (was == NULL) {
        call.method = "PUT";
        call.if_none_match = "*";
    }
    if (rc == CTL_OK)
        rc = ctl_change(c, &def_kinds[DEF_PIN], was, call);
    json_decref(was);
    json_decref(doc);
    return rc;
}

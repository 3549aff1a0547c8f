/* commands.c: the commands, in one table: words, what they take, what they ask. */
#include "queuemng/ctl/commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "queuemng/ctl/answer_view.h"
#include "queuemng/ctl/ask.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/draw.h"
#include "queuemng/ctl/nodes.h"
#include "queuemng/ctl/risk_view.h"
#include "queuemng/ctl/status_view.h"
#include "queuemng/ctl/steer.h"
#include "queuemng/ctl/text.h"
#include "queuemng/ctl/trace_view.h"
#include "queuemng/policy/queue_def.h"

/* What tokens, ids and names are made of. */
#define CTL_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

/* ---- status, watch ---- */

static const struct ctl_call ask_cluster = { .method = "GET",
                                             .path = "/v1/admin/cluster" };

static int say_cluster(const struct ctl *c, const struct ctl_answer *a, const char *queue)
{
    json_t *doc = json_loadb((const char *)a->body.data, a->body.len, 0, NULL);
    int rc = CTL_OK;
    struct buf b;

    if (a->status != 200 || c->json || doc == NULL) {
        json_decref(doc);
        return ctl_say_answer(c, a, NULL);
    }
    buf_init(&b);
    if (view_cluster(&b, doc, queue, c->all)) {
        ctl_put_out(&b);
    } else {
        fprintf(stderr, "segqctl: there is no queue '%s'\n", queue);
        rc = CTL_REFUSED;
    }
    buf_fini(&b);
    json_decref(doc);
    return rc;
}

static int cmd_status(struct ctl *c, int argc, char **argv)
{
    struct ctl_answer a = { 0 };
    int rc = ctl_admin_ask(c, ask_cluster, &a);

    if (rc == CTL_OK)
        rc = say_cluster(c, &a, argc > 0 ? argv[0] : NULL);
    buf_fini(&a.body);
    return rc;
}

static void on_stop(int sig)
{
    (void)sig;
    _exit(CTL_OK); /* what was shown is written: every picture is flushed */
}

/* Goes on when queuemng is away: then it says so, every second, until it is back. */
static int cmd_watch(struct ctl *c, int argc, char **argv)
{
    const struct timespec second = { .tv_sec = 1 };
    bool screen = isatty(STDOUT_FILENO) == 1 && !c->json;

    signal(SIGINT, on_stop);
    signal(SIGTERM, on_stop);
    for (;;) {
        struct ctl_answer a = { 0 };
        int rc = ctl_admin_ask(c, ask_cluster, &a);

        if (rc == CTL_USAGE)
            return rc;
        if (screen)
            fputs("\033[H\033[2J", stdout);
        if (rc == CTL_OK)
            rc = say_cluster(c, &a, argc > 0 ? argv[0] : NULL);
        buf_fini(&a.body);
        if (!screen && !c->json)
            puts("");
        ctl_put_end();
        nanosleep(&second, NULL);
    }
}

/* ---- queues ---- */

static void view_pretty(struct buf *b, const json_t *doc)
{
    char *s = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

    if (s != NULL)
        buf_str(b, s); /* jansson escapes what would steer a terminal, but not C1 */
    free(s);
}

static int cmd_queue_list(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "GET", .path = "/v1/admin/queues" };

    (void)argc;
    (void)argv;
    return ctl_admin_do(c, call, view_queues);
}

static int cmd_queue_show(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ctl_queue_do(c, "GET", argv[0], "", NULL, view_pretty);
}

static int queue_write(struct ctl *c, const char *method, int argc, char **argv)
{
    struct err e = { 0 };
    json_t *doc = ctl_pairs(argv + 1, (size_t)argc - 1, queue_def_keys, &e);
    char *body = doc != NULL ? json_dumps(doc, JSON_COMPACT) : NULL;
    int rc;

    json_decref(doc);
    if (body == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    rc = ctl_queue_do(c, method, argv[0], "", body, view_pretty);
    free(body);
    return rc;
}

static int cmd_queue_set(struct ctl *c, int argc, char **argv)
{
    return queue_write(c, "PATCH", argc, argv);
}

static int cmd_queue_add(struct ctl *c, int argc, char **argv)
{
    return queue_write(c, "PUT", argc, argv);
}

static int queue_order(struct ctl *c, const char *queue, const char *after)
{
    return ctl_queue_do(c, "POST", queue, after, NULL, view_done);
}

static int cmd_pause(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return queue_order(c, argv[0], "/pause");
}

static int cmd_resume(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return queue_order(c, argv[0], "/resume");
}

static int cmd_open(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return queue_order(c, argv[0], "/open");
}

static int cmd_close(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return queue_order(c, argv[0], "/close");
}

static int cmd_passthrough(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return queue_order(c, argv[0], "/passthrough");
}

static int cmd_release(struct ctl *c, int argc, char **argv)
{
    size_t digits = strspn(argv[1], "0123456789");
    char after[64];

    (void)argc;
    if (digits == 0 || digits > 12 || argv[1][digits] != '\0') {
        fprintf(stderr, "segqctl: '%s' is not a number of people\n", argv[1]);
        return CTL_USAGE;
    }
    snprintf(after, sizeof(after), "/release?n=%s", argv[1]);
    return queue_order(c, argv[0], after);
}

/* ---- tickets ---- */

static int cmd_join(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "POST" };
    json_t *doc = json_object();
    char path[512], *body;
    int rc;

    (void)argc;
    if (c->client != NULL)
        json_object_set_new(doc, "client", json_string(c->client));
    if (c->subject != NULL)
        json_object_set_new(doc, "subject", json_string(c->subject));
    if (c->claim != NULL)
        json_object_set_new(doc, "claim", json_string(c->claim));
    body = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    if (body == NULL ||
        !ctl_path_set(path, sizeof(path), "/v1/queues/", argv[0], "/tickets")) {
        free(body);
        return ctl_too_long(argv[0]);
    }
    call.path = path;
    call.body = body;
    rc = ctl_router_do(c, call, view_ticket);
    free(body);
    return rc;
}

static int ticket_call(struct ctl *c, const char *method, const char *token, view_fn view)
{
    struct ctl_call call = { .method = method };
    char path[512];

    if (!ctl_path_set(path, sizeof(path), "/v1/tickets/", token, ""))
        return ctl_too_long(token);
    call.path = path;
    return ctl_router_do(c, call, view);
}

static int cmd_poll(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ticket_call(c, "GET", argv[0], view_ticket);
}

static int cmd_leave(struct ctl *c, int argc, char **argv)
{
    (void)argc;
    return ticket_call(c, "DELETE", argv[0], view_done);
}

static int cmd_why(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "GET" };
    char path[512];

    (void)argc;
    if (!ctl_path_set(path, sizeof(path), "/v1/admin/tickets/", argv[0], ""))
        return ctl_too_long(argv[0]);
    call.path = path;
    return ctl_admin_do(c, call, view_why);
}

/* ---- the table ---- */

struct cmd {
    const char *word, *second; /* second: of `queue`; NULL = one word */
    const char *takes;         /* for the help */
    int min, max;              /* how many arguments behind the words; max -1: any */
    int (*run)(struct ctl *c, int argc, char **argv);
    const char *help;
};

static const struct cmd cmds[] = {
    { "status", NULL, "[QUEUE] [--all]", 0, 1, cmd_status,
      "nodes, routers, metrics, chains, rates and what limits them" },
    { "watch", NULL, "[QUEUE]", 0, 1, cmd_watch, "status every second, until Ctrl-C" },
    { "queue", "list", "", 0, 0, cmd_queue_list, "all queues" },
    { "queue", "show", "QUEUE", 1, 1, cmd_queue_show, "all keys of its definition" },
    { "queue", "set", "QUEUE KEY=VALUE...", 2, -1, cmd_queue_set,
      "changes keys: release_per_s=500 idle.game=3s limits='[..]'" },
    { "queue", "add", "QUEUE [KEY=VALUE]...", 1, -1, cmd_queue_add, "a new queue" },
    { "queue", "delete", "QUEUE [final]", 1, 2, cmd_queue_delete,
      "deletes it; it can be restored for ten minutes, but not after 'final'" },
    { "queue", "restore", "QUEUE", 1, 1, cmd_queue_restore,
      "undoes a delete; all places are kept" },
    { "pause", NULL, "QUEUE", 1, 1, cmd_pause,
      "nobody is let in; joins and polls go on" },
    { "resume", NULL, "QUEUE", 1, 1, cmd_resume, "ends a pause" },
    { "close", NULL, "QUEUE", 1, 1, cmd_close, "no new joins; the line is let in" },
    { "open", NULL, "QUEUE", 1, 1, cmd_open, "ends a close, a reject, a passthrough" },
    { "passthrough", NULL, "QUEUE", 1, 1, cmd_passthrough,
      "nobody needs a pass; all waiting people are let in at once" },
    { "reject", NULL, "QUEUE", 1, 1, cmd_reject,
      "refuses joins and lets nobody in; waiting people keep their places" },
    { "flush", NULL, "QUEUE", 1, 1, cmd_flush, "ends all waiting tickets; passes stay valid" },
    { "release", NULL, "QUEUE N", 2, 2, cmd_release, "lets N in now, beyond the rate" },
    { "rate", NULL, "QUEUE N|limits", 2, 2, cmd_rate,
      "a fixed rate per second; or by the limits again" },
    { "tiers", NULL, "QUEUE METRIC BELOW:RATE...|none", 3, -1, cmd_tiers,
      "replaces the tiers of a metric: cpu 50:2000 70:500; none: it no longer limits" },
    { "max", NULL, "QUEUE N [rate|slots|both]", 2, 3, cmd_max, "at most N inside at once" },
    { "message", NULL, "QUEUE [TEXT]", 1, -1, cmd_message,
      "shows TEXT to all waiting people; without TEXT: none" },
    { "audit", NULL, "[N]", 0, 1, cmd_audit, "the last N (30) changes by operators" },
    { "events", NULL, "", 0, 0, cmd_events, "the latest events of the cluster" },
    { "drain", NULL, "NODE", 1, 1, cmd_drain, "moves all tickets of a segment node to other nodes" },
    { "forget", NULL, "NODE", 1, 1, cmd_forget, "removes a segment node that is gone for good" },
    { "undrain", NULL, "NODE", 1, 1, cmd_undrain, "ends the drain of a segment node" },
    { "draw", NULL, "QUEUE [COMMITMENT] [TICKET]...", 1, -1, cmd_draw,
      "checks the draw of early arrivals against the commitment noted before it; prints the "
      "place of a ticket (17-123) in it" },
    { "join", NULL, "QUEUE", 1, 1, cmd_join, "takes a place; see --client, --subject, --claim" },
    { "poll", NULL, "TOKEN", 1, 1, cmd_poll,
      "the position of the ticket; its pass once admitted" },
    { "why", NULL, "TOKEN|SEGMENT-NUMBER", 1, 1, cmd_why,
      "a ticket's state now, and what happened to it" },
    { "leave", NULL, "TOKEN", 1, 1, cmd_leave, "gives the place up" },
};

static const struct cmd *cmd_find(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
        const struct cmd *d = &cmds[i];

        if (strcmp(d->word, argv[0]) != 0)
            continue;
        if (d->second == NULL || (argc > 1 && strcmp(d->second, argv[1]) == 0))
            return d;
    }
    return NULL;
}

int cmd_run(struct ctl *c, int argc, char **argv)
{
    const struct cmd *d = cmd_find(argc, argv);
    int words;

    if (d == NULL) {
        fprintf(stderr, "segqctl: no command '%s'%s; segqctl -h lists them\n", argv[0],
                strcmp(argv[0], "queue") == 0 ? " without list, show, set, add, delete, restore"
                                              : "");
        return CTL_USAGE;
    }
    words = d->second != NULL ? 2 : 1;
    argc -= words;
    if (argc < d->min || (d->max >= 0 && argc > d->max)) {
        fprintf(stderr, "usage: segqctl %s%s%s %s\n", d->word,
                d->second != NULL ? " " : "", d->second != NULL ? d->second : "",
                d->takes);
        return CTL_USAGE;
    }
    return d->run(c, argc, argv + words);
}

void cmd_help(struct buf *b)
{
    for (size_t i = 0; i < ARRAY_LEN(cmds); i++) {
        const struct cmd *d = &cmds[i];
        char left[80];

        snprintf(left, sizeof(left), "%s%s%s %s", d->word, d->second != NULL ? " " : "",
                 d->second != NULL ? d->second : "", d->takes);
        buf_printf(b, "  %-38s %s\n", left, d->help);
    }
}

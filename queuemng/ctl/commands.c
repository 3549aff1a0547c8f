/* commands.c: the commands in one table; finding the one that was typed, and its request. */
#include "queuemng/ctl/commands.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/near.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/contexts.h"
#include "queuemng/ctl/definitions.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl/live.h"
#include "queuemng/ctl/nodes.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/steer.h"
#include "queuemng/ctl/task_commands.h"
#include "queuemng/ctl/tickets.h"
#include "queuemng/ctl/words.h"
#include "queuemng/ctl_ask/context.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/key_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/queue_def.h"

#define QUEUE  "/v1/admin/queues/*"
#define NODE   "/v1/admin/nodes/*"
#define POOL   "/v1/admin/pools/*"
#define ENDPT  "/v1/admin/endpoints/*"
#define BUDGET "/v1/admin/budgets/*"
#define TASK   "/v1/admin/tasks/*"
#define KEY    "/v1/admin/task-queues/*/tasks/keys/*"
#define TICKET "/v1/tickets/*"

static int cmd_release(struct ctl *c, int argc, char **argv)
{
    size_t digits = strspn(argv[1], "0123456789");
    char path[64];
    int rc;

    (void)argc;
    if (digits == 0 || digits > 12 || argv[1][digits] != '\0') {
        fprintf(stderr, "segqctl: '%s' is not a number of people\n", argv[1]);
        return CTL_USAGE;
    }
    snprintf(path, sizeof(path), QUEUE "/release?n=%s", argv[1]);
    rc = ctl_release_is_sure(c, argv[0], strtoull(argv[1], NULL, 10));
    return rc != CTL_OK ? rc
                        : ctl_do(c, (struct ctl_call){ .method = "POST", .path = path, .name = argv[0] },
                                 view_released);
}

/* ---- the table ---- */

/* A command that changes nothing for those who wait, nor in the cluster. */
#define READS .undo = ""
#define SENDS(a_method, a_path, a_view) .method = a_method, .path = a_path, .view = a_view
#define DEFINES(a_keys, a_kind) .keys = a_keys, .kind = a_kind, .options = "dry-run"
#define DELETES(a_path, a_kind) \
    SENDS("DELETE", a_path, view_deleted), .kind = a_kind, .options = "dry-run"
#define SETS(a_path, a_keys, a_kind) SENDS("PATCH", a_path, view_pretty), DEFINES(a_keys, a_kind)
#define ADDS(a_path, a_keys, a_kind) SENDS("PUT", a_path, view_pretty), DEFINES(a_keys, a_kind)
const struct cmd ctl_cmds[] = {
    { "status", "[QUEUE] [--all]", 0, 1,
      "nodes, routers, metrics, chains, rates and what limits them", .run = cmd_status, READS },
    { "watch", "[QUEUE]", 0, 1, "status every second, until q or Ctrl-C", .run = cmd_watch,
      .options = "interval count", READS },
    { "top", "", 0, 0, "the busiest queues, nodes, routers, tasks on one screen, with rates of change",
      .run = cmd_top, .options = "interval count", READS },
    { "queue list", "", 0, 0, "all queues", SENDS("GET", "/v1/admin/queues", view_queues),
      READS },
    { "queue show", "QUEUE", 1, 1, "all keys of its definition", SENDS("GET", QUEUE, view_pretty),
      READS },
    { "queue set", "QUEUE KEY=VALUE...", 2, -1,
      "changes keys: release_per_s=500 idle.game=3s limits='[..]'", SETS(QUEUE, queue_def_keys, "queue"),
      .undo = "queue set with the old values, which it prints" },
    { "queue add", "QUEUE [KEY=VALUE]...", 1, -1, "a new queue", ADDS(QUEUE, queue_def_keys, "queue"),
      .undo = "queue delete" },
    { "queue delete", "QUEUE [final]", 1, 2,
      "deletes it; it can be restored for ten minutes, but not after 'final'",
      .run = cmd_queue_delete, .options = "dry-run",
      .undo = "queue restore, for ten minutes; none after 'final'" },
    { "queue restore", "QUEUE", 1, 1, "undoes a delete; all places are kept",
      SENDS("POST", QUEUE "/restore", view_state),
      .undo = "queue delete" },
    { "pool list", "", 0, 0, "all pools of task queues",
      SENDS("GET", "/v1/admin/pools", view_pools), READS },
    { "pool show", "POOL", 1, 1, "all keys of its definition", SENDS("GET", POOL, view_pretty),
      READS },
    { "pool set", "POOL KEY=VALUE...", 2, -1,
      "changes keys: paused=true key.rate_per_s=10 retry.max=1m", SETS(POOL, pool_def_keys, "pool"),
      .undo = "pool set with the old values, which it prints" },
    { "pool add", "POOL [KEY=VALUE]...", 1, -1, "a new pool: images, or 'ride/*'",
      ADDS(POOL, pool_def_keys, "pool"),
      .undo = "pool delete" },
    { "pool delete", "POOL [final]", 1, 2,
      "deletes it; after 'final' also with tasks that are not done, and schedules",
      DELETES(POOL, "pool"),
      .undo = "pool add; tasks, results and schedules that 'final' took do not come back" },
    { "endpoint list", "", 0, 0, "where calls go: rate, calls under way, what came of them",
      SENDS("GET", "/v1/admin/task-queues", view_endpoints), READS },
    { "endpoint show", "ENDPOINT", 1, 1, "all keys of its definition, and how it does now",
      .run = cmd_endpoint_show, READS },
    { "endpoint add", "ENDPOINT url=URL [KEY=VALUE]...", 2, -1,
      "a new endpoint; without a pool that names it, it gets one of its own name",
      ADDS(ENDPT, endpoint_def_keys, "endpoint"),
      .undo = "endpoint delete" },
    { "endpoint set", "ENDPOINT KEY=VALUE...", 2, -1,
      "changes keys: rate_per_s=300 max_concurrent=64 breaker.ratio=0.5",
      SETS(ENDPT, endpoint_def_keys, "endpoint"),
      .undo = "endpoint set with the old values, which it prints" },
    { "endpoint pause", "ENDPOINT", 1, 1, "no call begins; submissions go on",
      SENDS("POST", ENDPT "/pause", view_pretty), .kind = "endpoint",
      .undo = "endpoint resume" },
    { "endpoint resume", "ENDPOINT", 1, 1, "ends a pause", SENDS("POST", ENDPT "/resume", view_pretty), .kind = "endpoint",
      .undo = "endpoint pause" },
    { "endpoint trip", "ENDPOINT", 1, 1, "opens its breaker until a reset: no call begins, tasks wait",
      SENDS("POST", ENDPT "/trip", view_tripped),
      .undo = "endpoint reset" },
    { "endpoint reset", "ENDPOINT", 1, 1,
      "closes its breaker, forgets failures: starts at 10 % of its rate",
      SENDS("POST", ENDPT "/reset", view_tripped),
      .undo = "endpoint trip" },
    { "endpoint probe", "ENDPOINT", 1, 1,
      "while it is down: each node sends one waiting task at once; shows what came",
      .run = cmd_endpoint_probe,
      .undo = "none: a call that was made was made" },
    { "endpoint delete", "ENDPOINT [final]", 1, 2,
      "deletes it; after 'final' with its pools, also with calls that are not done",
      DELETES(ENDPT, "endpoint"),
      .undo = "endpoint add; tasks and results that 'final' took do not come back" },
    { "budget list", "", 0, 0, "budgets, what their members may use, and use",
      SENDS("GET", "/v1/admin/budgets", view_budgets), READS },
    { "budget show", "BUDGET", 1, 1, "all keys of its definition", SENDS("GET", BUDGET, view_pretty),
      READS },
    { "budget add", "BUDGET KEY=VALUE...", 2, -1,
      "a new budget for queues and endpoints (their key `budget`): rate_per_s=500 max_active=64",
      ADDS(BUDGET, budget_def_keys, "budget"),
      .undo = "budget delete" },
    { "budget set", "BUDGET KEY=VALUE...", 2, -1, "changes keys", SETS(BUDGET, budget_def_keys, "budget"),
      .undo = "budget set with the old values, which it prints" },
    { "budget delete", "BUDGET", 1, 1, "deletes it, if nobody has it",
      DELETES(BUDGET, "budget"),
      .undo = "budget add" },
    { "task list", "[QUEUE [STATE,..]]", 0, 2,
      "pools and task nodes; the tasks of a queue: images waiting,dead; see --label",
      .run = cmd_task_list, .options = "label", READS },
    { "task top", "[QUEUE]", 0, 1,
      "pools and task nodes every second, until q or Ctrl-C; of a queue's pool: by partition",
      .run = cmd_task_top, .options = "interval count", READS },
    { "task show", "TOKEN", 1, 1, "a task as its owner sees it",
      SENDS("GET", "/v1/tasks/*", view_pretty), READS },
    { "task why", "TASK", 1, 1, "its state, its place, and what it waits for (TASK: token or id)",
      SENDS("GET", TASK, view_task), READS },
    { "task cancel", "TASK", 1, 1, "no attempt begins any more; one that runs is its last; see --force",
      SENDS("POST", TASK "/cancel", view_task), .options = "force",
      .undo = "none" },
    { "task run", "TASK", 1, 1, "the next worker gets it, beyond all limits and delays",
      SENDS("POST", TASK "/run", view_task),
      .undo = "none; task cancel, while it has not begun" },
    { "task redrive", "TASK", 1, 1, "make a dead task wait again, with all of its attempts",
      SENDS("POST", TASK "/redrive", view_task),
      .undo = "task cancel" },
    { "task discard", "TASK", 1, 1, "delete a finished task and its result",
      SENDS("POST", TASK "/discard", view_discarded),
      .sure = "The task, its payload and its result are gone for good.\n",
      .undo = "none" },
    { "task busiest", "POOL", 1, 1, "its queues with the most tasks that wait or are dead",
      SENDS("GET", "/v1/admin/task-queues/busiest?pool=*", view_busiest), READS },
    { "task schedules", "QUEUE | run QUEUE SCHEDULE", 1, 3,
      "list schedules, with the next and the last tick; run: fire one now",
      .run = cmd_task_schedules,
      .undo = "none: a tick that ran has run" },
    { "task keys", "QUEUE [waiting|limited]", 1, 2,
      "its keys with the most tasks that wait; of these, those that a limit stops",
      .run = cmd_task_keys, READS },
    { "task cancel-all", "QUEUE [KEY]", 1, 2,
      "cancels all its tasks, or those of a key, or with a --label; see --force",
      .run = cmd_task_cancel_all, .options = "label force",
      .undo = "none" },
    { "task redrive-all", "QUEUE [RATE|stop]", 1, 2,
      "redrive all dead tasks, at most RATE a second; stop: end a running redrive",
      .run = cmd_task_redrive_all,
      .undo = "task redrive-all QUEUE stop, for those that still are dead" },
    { "task discard-all", "QUEUE", 1, 1, "delete all dead tasks for good",
      .run = cmd_task_discard_all,
      .undo = "none" },
    { "task pause", "POOL", 1, 1, "workers get no task of it; submissions go on",
      .run = cmd_task_pause,
      .undo = "task resume" },
    { "task resume", "POOL", 1, 1, "ends a pause", .run = cmd_task_resume,
      .undo = "task pause" },
    { "key list", "", 0, 0, "keys of task queues that are pinned: with limits of their own, or paused",
      SENDS("GET", "/v1/admin/pinned-keys", view_pinned_keys), READS },
    { "key show", "QUEUE KEY", 2, 2, "all keys of its definition", SENDS("GET", KEY, view_pretty), READS },
    { "key set", "QUEUE KEY NAME=VALUE...", 3, -1,
      "pins it, or changes it: images tenant7 rate_per_s=5 weight=2", .run = cmd_key_set,
      .keys = key_pin_keys, .options = "dry-run",
      .undo = "key set with the old values, which it prints; key unpin" },
    { "key unpin", "QUEUE KEY", 2, 2, "remove the key's own limits", SENDS("DELETE", KEY, view_unpinned),
      .undo = "key set" },
    { "key pause", "QUEUE KEY", 2, 2, "no task of it starts; submissions go on",
      .run = cmd_key_pause,
      .undo = "key resume" },
    { "key resume", "QUEUE KEY", 2, 2, "ends a pause", .run = cmd_key_resume,
      .undo = "key pause" },
    { "context list", "", 0, 0, "your clusters by name, of ~/.config/segq/contexts.yaml (SEGQ_CONFIG)",
      .run = cmd_context_list, READS },
    { "context show", "[NAME]", 0, 1, "all keys of one, or of the one in use", .run = cmd_context_show,
      READS },
    { "context use", "NAME", 1, 1, "commands without --context go there", .run = cmd_context_use, .text_only = true,
      READS },
    { "context add", "NAME KEY=VALUE...", 2, -1,
      "prod admin=https://mng1:8071,https://mng2:8071 token_file=F [cacert=F] [operator=anna]; or dir=D",
      .run = cmd_context_add, .keys = context_keys, .text_only = true, READS },
    { "context set", "NAME KEY=VALUE...", 2, -1, "changes keys", .run = cmd_context_set, .keys = context_keys,
      .text_only = true, READS },
    { "context delete", "NAME", 1, 1, "forgets it; nothing happens to the cluster",
      .run = cmd_context_delete, .text_only = true, READS },
    { "export", "", 0, 0, "all budgets, endpoints, pools and queues as YAML, for diff and apply",
      .run = cmd_export, .text_only = true, READS },
    { "diff", "FILE", 0, 1, "show what apply would change; exit code 1 if anything would", .run = cmd_diff,
      .options = "file", .text_only = true, READS },
    { "apply", "FILE [--dry-run]", 0, 1,
      "makes and changes what FILE says (budgets, endpoints, pools, queues); other keys stay",
      .run = cmd_apply, .options = "dry-run file", .text_only = true,
      .undo = "apply of what export printed before" },
    { "edit", "queue|pool|endpoint|budget NAME", 2, 2, "its definition in $EDITOR; then as apply",
      .run = cmd_edit, .options = "dry-run", .text_only = true,
      .undo = "edit; it prints the old values" },
    { "pause", "QUEUE", 1, 1, "nobody is let in; joins and polls go on",
      SENDS("POST", QUEUE "/pause", view_state),
      .undo = "resume" },
    { "resume", "QUEUE", 1, 1, "ends a pause", SENDS("POST", QUEUE "/resume", view_state),
      .undo = "pause; those who went in meanwhile are in" },
    { "close", "QUEUE", 1, 1, "stops new joins; people in line are still admitted",
      SENDS("POST", QUEUE "/close", view_state),
      .undo = "open" },
    { "open", "QUEUE", 1, 1, "ends a close, a reject, a passthrough",
      SENDS("POST", QUEUE "/open", view_state),
      .undo = "close; those who went in meanwhile are in" },
    { "passthrough", "QUEUE", 1, 1, "nobody needs a pass; all waiting people go in at once, and stay in",
      SENDS("POST", QUEUE "/passthrough", view_state), .risk = RISK_PASSTHROUGH, .options = "dry-run",
      .undo = "none: those who wait are in at once; open ends it for those who come later" },
    { "reject", "QUEUE", 1, 1, "refuses joins and lets nobody in; waiting people keep their places",
      SENDS("POST", QUEUE "/reject", view_state), .risk = RISK_REJECT, .options = "dry-run",
      .undo = "open" },
    { "flush", "QUEUE", 1, 1, "ends all waiting tickets; passes stay valid",
      SENDS("POST", QUEUE "/flush", view_flushed), .risk = RISK_FLUSH, .options = "dry-run",
      .undo = "none" },
    { "release", "QUEUE N", 2, 2, "lets N in now, beyond the rate", .run = cmd_release, .options = "dry-run",
      .undo = "none" },
    { "rate", "QUEUE N|limits", 2, 2, "a fixed rate per second; or by the limits again",
      .run = cmd_rate, .options = "dry-run",
      .undo = "rate with the old value, which it prints" },
    { "tiers", "QUEUE METRIC BELOW:RATE...|none", 3, -1,
      "replaces the tiers of a metric: cpu 50:2000 70:500; none: it no longer limits",
      .run = cmd_tiers, .options = "dry-run",
      .undo = "tiers with the old ones, which it prints" },
    { "max", "QUEUE N [rate|slots|both]", 2, 3, "at most N inside at once", .run = cmd_max, .options = "dry-run",
      .undo = "max with the old value, which it prints" },
    { "message", "QUEUE [TEXT]", 1, -1, "shows TEXT to all waiting people; without TEXT: none",
      .run = cmd_message, .options = "dry-run",
      .undo = "message with the old text, which it prints" },
    { "audit", "[N]", 0, 1, "the last N (30) changes by operators", .run = cmd_audit, READS },
    { "events", "", 0, 0, "the latest events of the cluster",
      SENDS("GET", "/v1/admin/live", view_events), READS },
    { "drain", "NODE", 1, 1, "moves all that a segment node or a task node has to other nodes",
      .run = cmd_drain,
      .undo = "undrain" },
    { "forget", "NODE", 1, 1, "removes a node that is gone for good; what it alone has is lost", .run = cmd_forget,
      .undo = "none" },
    { "undrain", "NODE", 1, 1, "ends the drain of a node",
      SENDS("POST", NODE "/undrain", view_undrained),
      .undo = "drain" },
    { "draw", "QUEUE [COMMITMENT] [TICKET]...", 1, -1,
      "checks the draw of early arrivals against the commitment noted before it; prints the "
      "place of a ticket (17-123) in it",
      .run = cmd_draw, .text_only = true, READS },
    { "join", "QUEUE", 1, 1, "takes a place; see --client, --subject, --claim", .run = cmd_join,
      .undo = "leave" },
    { "poll", "TOKEN", 1, 1, "the position of the ticket; its pass once admitted",
      SENDS("GET", TICKET, view_ticket), READS },
    { "why", "TOKEN|SEGMENT-NUMBER", 1, 1, "a ticket's state now, and what happened to it",
      SENDS("GET", "/v1/admin/tickets/*", view_why), READS },
    { "leave", "TOKEN", 1, 1, "leaves the queue: the place is given up", SENDS("DELETE", TICKET, view_left),
      .undo = "none" },
    { "move-ticket", "TOKEN LANE", 2, 2,
      "gives a waiting ticket the last place of another lane; prints the link for the person",
      .run = cmd_move_ticket,
      .undo = "none: the old place is gone" },
    { "claim", "QUEUE --lane L|--task ID", 1, 1,
      "prints a signed claim; see --key, --subject, --replaces, --task-key, --ttl",
      .run = cmd_claim, .options = "task task-key priority", .text_only = true, READS },
    { 0 },
};

/* ---- the command that was typed ---- */

const struct cmd *cmd_find(int argc, char **argv)
{
    char two[40];

    snprintf(two, sizeof(two), "%s %s", argv[0], argc > 1 ? argv[1] : "");
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        if (strcmp(d->words, argv[0]) == 0 || strcmp(d->words, two) == 0)
            return d;
    return NULL;
}

/* The command that is written almost so; NULL. */
static const char *nearest(const char *typed)
{
    struct near near = near_to(typed);

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        near_try(&near, d->words);
    return near.name;
}

/* " without list, show, ...": of a first word that needs a second one. */
static void put_second_words(struct buf *b, const char *first)
{
    const char *before = " without ";
    size_t n = strlen(first);

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        if (strncmp(d->words, first, n) == 0 && d->words[n] == ' ') {
            buf_printf(b, "%s%s", before, d->words + n + 1);
            before = ", ";
        }
}

int cmd_unknown(int argc, char **argv)
{
    char one[40], two[80];
    const char *near, *typed = one;
    struct buf b;

    buf_init(&b);
    put_second_words(&b, argv[0]);
    snprintf(one, sizeof(one), "%s", argv[0]);
    snprintf(two, sizeof(two), "%s %s", one, argc > 1 ? argv[1] : "");
    near = b.len == 0 ? nearest(one) : NULL;
    if (near == NULL && argc > 1)
        near = nearest(two);
    if (argc > 1 && (b.len > 0 || (near != NULL && strchr(near, ' ') != NULL)))
        typed = two;
    if (near != NULL) {
        buf_reset(&b);
        buf_printf(&b, "; did you mean '%s'?", near);
    } else {
        buf_byte(&b, ';');
    }
    buf_byte(&b, 0);
    fprintf(stderr, "segqctl: no command '%s'%s segqctl -h lists them\n", typed,
            b.failed ? ";" : (const char *)b.data);
    buf_fini(&b);
    return CTL_USAGE;
}

/* The risk of a command, or of the keys that it sets. A new queue has nobody in it yet. */
static enum risk risk_of(const struct cmd *d, const json_t *body)
{
    bool sets = d->kind != NULL && strcmp(d->kind, "queue") == 0 && strcmp(d->method, "PATCH") == 0;

    return sets ? risk_of_keys(body) : d->risk;
}

/* The request of its row: the name, then KEY=VALUE if it takes them. */
static int cmd_send(struct ctl *c, const struct cmd *d, int argc, char **argv)
{
    bool of_queue = d->keys == NULL && argc > 1; /* QUEUE KEY */
    struct ctl_call call = { .method = d->method, .path = d->path, .queue = of_queue ? argv[0] : NULL,
                             .name = argc > 0 ? argv[of_queue] : NULL };
    struct err e = { 0 };
    char forced[80];
    json_t *body = NULL;
    int rc;

    if (d->kind != NULL && strcmp(d->method, "DELETE") == 0)
        return definition_delete(c, d->kind, argc, argv);
    assert(d->path != NULL && (d->keys != NULL || d->max <= 2));
    if (d->keys != NULL && (body = ctl_pairs(argv + 1, (size_t)argc - 1, d->keys, &e)) == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    if (c->dry_run && d->kind != NULL) {
        rc = cmd_would_change(c, d->kind, argv[0], body, strcmp(d->method, "PUT") == 0);
        json_decref(body);
        return rc;
    }
    call.body = body;
    if (strcmp(d->method, "PUT") == 0)
        call.if_none_match = "*"; /* `add` never replaces one */
    if (c->force) {
        snprintf(forced, sizeof(forced), "%s?force=true", d->path);
        call.path = forced;
    }
    rc = risk_of(d, body) != RISK_NONE ? ctl_is_sure(c, risk_of(d, body), call.name)
         : d->sure != NULL             ? ctl_sure_of(c, d->sure, call.name)
                                       : CTL_OK;
    if (rc == CTL_OK && d->kind != NULL && strcmp(d->method, "GET") != 0)
        rc = cmd_change(c, d->kind, call);
    else if (rc == CTL_OK)
        rc = ctl_do(c, call, d->view);
    if (rc == CTL_OK && d->kind != NULL && strcmp(d->kind, "endpoint") == 0)
        endpoint_hint(c, argv[0]);
    json_decref(body);
    return rc;
}

/* Refuses what a command would ignore: it would do something else than was meant. */
static bool takes_options(const struct ctl *c, const struct cmd *d)
{
    const char *refused = options_refused(c, d->options);

    if (d->text_only && c->form != FORM_TABLE) {
        fprintf(stderr, "segqctl: %s prints text; it has no -o json or yaml\n", d->words);
        return false;
    }
    if (refused != NULL)
        fprintf(stderr, "segqctl: %s does not take --%s\n", d->words, refused);
    return refused == NULL;
}

int cmd_run(struct ctl *c, int argc, char **argv)
{
    const struct cmd *d = cmd_find(argc, argv);
    int words;

    if (d == NULL)
        return cmd_unknown(argc, argv);
    words = strchr(d->words, ' ') != NULL ? 2 : 1;
    argc -= words;
    if (!takes_options(c, d))
        return CTL_USAGE;
    if (argc < d->min || (d->max >= 0 && argc > d->max)) {
        fprintf(stderr, "usage: segqctl %s %s\n", d->words, d->takes);
        return CTL_USAGE;
    }
    return d->run != NULL ? d->run(c, argc, argv + words) : cmd_send(c, d, argc, argv + words);
}

/* commands.c: the commands, in one table. */
#include "queuemng/ctl/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_ask/answer.h"
#include "queuemng/ctl_ask/context.h"
#include "queuemng/ctl/claim.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/contexts.h"
#include "queuemng/ctl/definitions.h"
#include "queuemng/ctl/draw.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl_view/history_view.h"
#include "queuemng/ctl/keys.h"
#include "queuemng/ctl_live/live.h"
#include "queuemng/ctl/nodes.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/budget_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl/steer.h"
#include "queuemng/ctl/tasks.h"
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
#define TICKET "/v1/tickets/*"

/* ---- tickets ---- */

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

static int cmd_join(struct ctl *c, int argc, char **argv)
{
    json_t *body = json_pack("{s:s*,s:s*,s:s*}", "client", c->client, "subject", c->subject,
                             "claim", c->claim);
    struct ctl_call call = { .method = "POST", .path = "/v1/queues/*/tickets", .name = argv[0],
                             .body = body };
    int rc;

    (void)argc;
    if (body == NULL) {
        fputs("segqctl: --client, --subject and --claim must be UTF-8\n", stderr);
        return CTL_USAGE;
    }
    rc = ctl_do(c, call, view_ticket);
    json_decref(body);
    return rc;
}

/* ---- the table ---- */

#define SENDS(a_method, a_path, a_view) .method = a_method, .path = a_path, .view = a_view
#define DEFINES(a_keys, a_kind) .keys = a_keys, .kind = a_kind, .options = "dry-run"
#define SETS(a_path, a_keys, a_kind) SENDS("PATCH", a_path, view_pretty), DEFINES(a_keys, a_kind)
#define ADDS(a_path, a_keys, a_kind) SENDS("PUT", a_path, view_pretty), DEFINES(a_keys, a_kind)
const struct cmd ctl_cmds[] = {
    { "status", "[QUEUE] [--all]", 0, 1,
      "nodes, routers, metrics, chains, rates and what limits them", .run = cmd_status },
    { "watch", "[QUEUE]", 0, 1, "status every second, until q or Ctrl-C", .run = cmd_watch,
      .options = "interval count" },
    { "top", "", 0, 0, "the busiest queues, nodes, routers, tasks on one screen, with rates of change",
      .run = cmd_top, .options = "interval count" },
    { "queue list", "", 0, 0, "all queues", SENDS("GET", "/v1/admin/queues", view_queues) },
    { "queue show", "QUEUE", 1, 1, "all keys of its definition", SENDS("GET", QUEUE, view_pretty) },
    { "queue set", "QUEUE KEY=VALUE...", 2, -1,
      "changes keys: release_per_s=500 idle.game=3s limits='[..]'", SETS(QUEUE, queue_def_keys, "queue") },
    { "queue add", "QUEUE [KEY=VALUE]...", 1, -1, "a new queue", ADDS(QUEUE, queue_def_keys, "queue") },
    { "queue delete", "QUEUE [final]", 1, 2,
      "deletes it; it can be restored for ten minutes, but not after 'final'",
      .run = cmd_queue_delete, .options = "dry-run" },
    { "queue restore", "QUEUE", 1, 1, "undoes a delete; all places are kept",
      SENDS("POST", QUEUE "/restore", view_state) },
    { "pool list", "", 0, 0, "all pools of task queues",
      SENDS("GET", "/v1/admin/pools", view_pools) },
    { "pool show", "POOL", 1, 1, "all keys of its definition", SENDS("GET", POOL, view_pretty) },
    { "pool set", "POOL KEY=VALUE...", 2, -1,
      "changes keys: paused=true key.rate_per_s=10 retry.max=1m", SETS(POOL, pool_def_keys, "pool") },
    { "pool add", "POOL [KEY=VALUE]...", 1, -1, "a new pool: images, or 'ride/*'",
      ADDS(POOL, pool_def_keys, "pool") },
    { "pool delete", "POOL [final]", 1, 2,
      "deletes it; after 'final' also with tasks that are not done, and schedules", .run = cmd_pool_delete, .options = "dry-run" },
    { "endpoint list", "", 0, 0, "where calls go: rate, calls under way, what came of them",
      SENDS("GET", "/v1/admin/task-queues", view_endpoints) },
    { "endpoint show", "ENDPOINT", 1, 1, "all keys of its definition, and how it does now",
      .run = cmd_endpoint_show },
    { "endpoint add", "ENDPOINT url=URL [KEY=VALUE]...", 2, -1,
      "a new endpoint; without a pool that names it, it gets one of its own name",
      ADDS(ENDPT, endpoint_def_keys, "endpoint") },
    { "endpoint set", "ENDPOINT KEY=VALUE...", 2, -1,
      "changes keys: rate_per_s=300 max_concurrent=64 breaker.ratio=0.5",
      SETS(ENDPT, endpoint_def_keys, "endpoint") },
    { "endpoint pause", "ENDPOINT", 1, 1, "no call begins; submissions go on",
      SENDS("POST", ENDPT "/pause", view_pretty), .kind = "endpoint" },
    { "endpoint resume", "ENDPOINT", 1, 1, "ends a pause", SENDS("POST", ENDPT "/resume", view_pretty), .kind = "endpoint" },
    { "endpoint trip", "ENDPOINT", 1, 1, "opens its breaker until a reset: no call begins, tasks wait",
      SENDS("POST", ENDPT "/trip", view_tripped) },
    { "endpoint reset", "ENDPOINT", 1, 1,
      "closes its breaker, forgets failures: a tenth of its calls goes at first",
      SENDS("POST", ENDPT "/reset", view_tripped) },
    { "endpoint probe", "ENDPOINT", 1, 1,
      "while it is down: each node sends one waiting task at once; shows what came",
      .run = cmd_endpoint_probe },
    { "endpoint delete", "ENDPOINT [final]", 1, 2,
      "deletes it; after 'final' with its pools, also with calls that are not done",
      .run = cmd_endpoint_delete, .options = "dry-run" },
    { "budget list", "", 0, 0, "budgets, what their members may use, and use",
      SENDS("GET", "/v1/admin/budgets", view_budgets) },
    { "budget show", "BUDGET", 1, 1, "all keys of its definition", SENDS("GET", BUDGET, view_pretty) },
    { "budget add", "BUDGET KEY=VALUE...", 2, -1,
      "a new budget for queues and endpoints (their key `budget`): rate_per_s=500 max_active=64",
      ADDS(BUDGET, budget_def_keys, "budget") },
    { "budget set", "BUDGET KEY=VALUE...", 2, -1, "changes keys", SETS(BUDGET, budget_def_keys, "budget") },
    { "budget delete", "BUDGET", 1, 1, "deletes it, if nobody has it",
      .run = cmd_budget_delete, .options = "dry-run" },
    { "task list", "[QUEUE [STATE,..]]", 0, 2,
      "pools and task nodes; the tasks of a queue: images waiting,dead; see --label",
      .run = cmd_task_list, .options = "label" },
    { "task top", "[QUEUE]", 0, 1,
      "pools and task nodes every second, until q or Ctrl-C; of a queue's pool: by partition",
      .run = cmd_task_top, .options = "interval count" },
    { "task show", "TOKEN", 1, 1, "a task as its owner sees it",
      SENDS("GET", "/v1/tasks/*", view_pretty) },
    { "task why", "TASK", 1, 1, "its state, its place, and what it waits for (TASK: token or id)",
      SENDS("GET", TASK, view_task) },
    { "task cancel", "TASK", 1, 1, "no attempt begins any more; one that runs is its last; see --force",
      .run = cmd_task_cancel, .options = "force" },
    { "task run", "TASK", 1, 1, "the next worker gets it, beyond all limits and delays",
      SENDS("POST", TASK "/run", view_task) },
    { "task redrive", "TASK", 1, 1, "a dead one waits again, with all of its attempts",
      SENDS("POST", TASK "/redrive", view_task) },
    { "task discard", "TASK", 1, 1, "one that is over goes, with its result",
      .run = cmd_task_discard },
    { "task busiest", "POOL", 1, 1, "its queues with the most tasks that wait or are dead",
      .run = cmd_task_busiest },
    { "task schedules", "QUEUE | run QUEUE SCHEDULE", 1, 3,
      "what comes by itself: when next, what came of the last tick; one of them, now",
      .run = cmd_task_schedules },
    { "task keys", "QUEUE [waiting|limited]", 1, 2,
      "its keys with the most tasks that wait; of these, those that a limit stops",
      .run = cmd_task_keys },
    { "task cancel-all", "QUEUE [KEY]", 1, 2,
      "cancels all its tasks, or those of a key, or with a --label; see --force",
      .run = cmd_task_cancel_all, .options = "label force" },
    { "task redrive-all", "QUEUE [RATE|stop]", 1, 2,
      "all its dead wait again, at most RATE a second; stop: the rest stays dead",
      .run = cmd_task_redrive_all },
    { "task discard-all", "QUEUE", 1, 1, "all its dead are gone for good",
      .run = cmd_task_discard_all },
    { "task pause", "POOL", 1, 1, "workers get no task of it; submissions go on",
      .run = cmd_task_pause },
    { "task resume", "POOL", 1, 1, "ends a pause", .run = cmd_task_resume },
    { "key list", "", 0, 0, "keys of task queues that are pinned: with limits of their own, or paused",
      .run = cmd_key_list },
    { "key show", "QUEUE KEY", 2, 2, "all keys of its definition", .run = cmd_key_show },
    { "key set", "QUEUE KEY NAME=VALUE...", 3, -1,
      "pins it, or changes it: images tenant7 rate_per_s=5 weight=2", .run = cmd_key_set,
      .keys = key_pin_keys, .options = "dry-run" },
    { "key unpin", "QUEUE KEY", 2, 2, "it has the limits of its pool again", .run = cmd_key_unpin },
    { "key pause", "QUEUE KEY", 2, 2, "no task of it starts; submissions go on",
      .run = cmd_key_pause },
    { "key resume", "QUEUE KEY", 2, 2, "ends a pause", .run = cmd_key_resume },
    { "context list", "", 0, 0, "your clusters by name, of ~/.config/segq/contexts.yaml (SEGQ_CONFIG)",
      .run = cmd_context_list },
    { "context show", "[NAME]", 0, 1, "all keys of one, or of the one in use", .run = cmd_context_show },
    { "context use", "NAME", 1, 1, "commands without --context go there", .run = cmd_context_use, .text_only = true },
    { "context add", "NAME KEY=VALUE...", 2, -1,
      "prod admin=https://mng1:8071,https://mng2:8071 token_file=F [cacert=F] [operator=anna]; or dir=D",
      .run = cmd_context_add, .keys = context_keys, .text_only = true },
    { "context set", "NAME KEY=VALUE...", 2, -1, "changes keys", .run = cmd_context_set, .keys = context_keys,
      .text_only = true },
    { "context delete", "NAME", 1, 1, "forgets it; nothing happens to the cluster",
      .run = cmd_context_delete, .text_only = true },
    { "export", "", 0, 0, "all budgets, endpoints, pools and queues as YAML, for diff and apply",
      .run = cmd_export, .text_only = true },
    { "diff", "FILE", 0, 1, "what apply would change; exit 1: something", .run = cmd_diff,
      .options = "file", .text_only = true },
    { "apply", "FILE [--dry-run]", 0, 1,
      "makes and changes what FILE says (budgets, endpoints, pools, queues); other keys stay",
      .run = cmd_apply, .options = "dry-run file", .text_only = true },
    { "edit", "queue|pool|endpoint|budget NAME", 2, 2, "its definition in $EDITOR; then as apply",
      .run = cmd_edit, .options = "dry-run", .text_only = true },
    { "pause", "QUEUE", 1, 1, "nobody is let in; joins and polls go on",
      SENDS("POST", QUEUE "/pause", view_state) },
    { "resume", "QUEUE", 1, 1, "ends a pause", SENDS("POST", QUEUE "/resume", view_state) },
    { "close", "QUEUE", 1, 1, "stops new joins; people in line are still admitted",
      SENDS("POST", QUEUE "/close", view_state) },
    { "open", "QUEUE", 1, 1, "ends a close, a reject, a passthrough",
      SENDS("POST", QUEUE "/open", view_state) },
    { "passthrough", "QUEUE", 1, 1, "nobody needs a pass; all waiting people go in at once, and stay in",
      SENDS("POST", QUEUE "/passthrough", view_state), .risk = RISK_PASSTHROUGH, .options = "dry-run" },
    { "reject", "QUEUE", 1, 1, "refuses joins and lets nobody in; waiting people keep their places",
      SENDS("POST", QUEUE "/reject", view_state), .risk = RISK_REJECT, .options = "dry-run" },
    { "flush", "QUEUE", 1, 1, "ends all waiting tickets; passes stay valid",
      SENDS("POST", QUEUE "/flush", view_flushed), .risk = RISK_FLUSH, .options = "dry-run" },
    { "release", "QUEUE N", 2, 2, "lets N in now, beyond the rate", .run = cmd_release, .options = "dry-run" },
    { "rate", "QUEUE N|limits", 2, 2, "a fixed rate per second; or by the limits again",
      .run = cmd_rate, .options = "dry-run" },
    { "tiers", "QUEUE METRIC BELOW:RATE...|none", 3, -1,
      "replaces the tiers of a metric: cpu 50:2000 70:500; none: it no longer limits",
      .run = cmd_tiers, .options = "dry-run" },
    { "max", "QUEUE N [rate|slots|both]", 2, 3, "at most N inside at once", .run = cmd_max, .options = "dry-run" },
    { "message", "QUEUE [TEXT]", 1, -1, "shows TEXT to all waiting people; without TEXT: none",
      .run = cmd_message, .options = "dry-run" },
    { "audit", "[N]", 0, 1, "the last N (30) changes by operators", .run = cmd_audit },
    { "events", "", 0, 0, "the latest events of the cluster",
      SENDS("GET", "/v1/admin/live", view_events) },
    { "drain", "NODE", 1, 1, "moves all that a segment node or a task node has to other nodes",
      .run = cmd_drain },
    { "forget", "NODE", 1, 1, "removes a node that is gone for good; what it alone has is lost", .run = cmd_forget },
    { "undrain", "NODE", 1, 1, "ends the drain of a node",
      SENDS("POST", NODE "/undrain", view_undrained) },
    { "draw", "QUEUE [COMMITMENT] [TICKET]...", 1, -1,
      "checks the draw of early arrivals against the commitment noted before it; prints the "
      "place of a ticket (17-123) in it",
      .run = cmd_draw, .text_only = true },
    { "join", "QUEUE", 1, 1, "takes a place; see --client, --subject, --claim", .run = cmd_join },
    { "poll", "TOKEN", 1, 1, "the position of the ticket; its pass once admitted",
      SENDS("GET", TICKET, view_ticket) },
    { "why", "TOKEN|SEGMENT-NUMBER", 1, 1, "a ticket's state now, and what happened to it",
      SENDS("GET", "/v1/admin/tickets/*", view_why) },
    { "leave", "TOKEN", 1, 1, "leaves the queue: the place is given up", SENDS("DELETE", TICKET, view_left) },
    { "move-ticket", "TOKEN LANE", 2, 2,
      "gives a waiting ticket the last place of another lane; prints the link for the person",
      .run = cmd_move_ticket },
    { "claim", "QUEUE --lane L|--task ID", 1, 1,
      "prints a signed claim; see --key, --subject, --replaces, --task-key, --ttl",
      .run = cmd_claim, .options = "task task-key priority", .text_only = true },
    { 0 },
};

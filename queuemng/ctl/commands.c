/* commands.c: the table, and finding the command that was typed. */
#include "queuemng/ctl/commands.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "queuemng/ctl/carry.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/contexts.h"
#include "queuemng/ctl/definitions.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl/live.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/rehearsal.h"
#include "queuemng/ctl/request.h"
#include "queuemng/ctl/tickets.h"
#include "queuemng/ctl/where.h"
#include "queuemng/ctl_measure/measure.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/policy/pool_def.h"
#include "rehearse/night.h"

#define QUEUES "/v1/admin/queues/*"
#define ENDPT  "/v1/admin/endpoints/*"
#define NODE   "/v1/admin/nodes/*"
#define TASK   "/v1/admin/tasks/*"
#define TASKS  "/v1/admin/task-queues/*/tasks"
#define TICKET "/v1/tickets/*"

/* A command that changes nothing for those who wait, nor in the cluster. */
#define READS .undo = ""
#define SENDS(a_method, a_path, a_view) .method = a_method, .path = a_path, .view = a_view
#define GETS(a_path, a_view) SENDS("GET", a_path, a_view), READS
#define PARAMS(...) .params = (const struct cmd_param[]){ __VA_ARGS__, { 0 } }
#define ARG(a_name, a_kind) { .name = a_name, .kind = PARAM_##a_kind }
#define GIVEN(a_name, a_kind, member) \
    { .name = a_name, .kind = PARAM_##a_kind, .option = offsetof(struct ctl, member) }
#define FORCE GIVEN("force", FLAG, force)
/* Sets these keys of a queue. */
#define TURNS(...) .method = "PATCH", KIND(QUEUE), .options = "dry-run", PARAMS(__VA_ARGS__)

/* ---- what each kind of definition has ---- */

#define KIND(no) .kind = &def_kinds[DEF_##no], .view = view_pretty
#define SHOW(word, NAME) \
    { word " show", #NAME, 1, 1, "all keys of its definition", .method = "GET", KIND(NAME), READS }
#define SET(word, NAME, a_help)                                                         \
    { word " set", #NAME " KEY=VALUE...", 2, -1, a_help, .method = "PATCH", KIND(NAME), \
      .options = "dry-run", .undo = word " set with the old values, which it prints" }
#define ADD(word, NAME, a_takes, a_min, a_help)                                         \
    { word " add", #NAME " " a_takes, a_min, -1, a_help, .method = "PUT", KIND(NAME),   \
      .options = "dry-run", .undo = word " delete" }
#define DELETE(word, NAME, a_takes, a_max, a_help, a_undo)                              \
    { word " delete", #NAME a_takes, 1, a_max, a_help, .run = cmd_delete,               \
      .method = "DELETE", KIND(NAME), .options = "dry-run", .undo = a_undo }

/* ---- the table ---- */

const struct cmd ctl_cmds[] = {
    { "status", "[QUEUE] [--all]", 0, 1,
      "nodes, routers, metrics, chains, rates and what limits them", .run = cmd_status, READS },
    { "watch", "[QUEUE]", 0, 1, "status every second, until q or Ctrl-C", .run = cmd_watch,
      .options = "interval count", READS },
    { "top", "", 0, 0, "the busiest queues, nodes, routers, tasks on one screen, with rates of "
                       "change",
      .run = cmd_top, .options = "interval count", READS },
    { "queue list", "", 0, 0, "all queues", GETS("/v1/admin/queues", view_queues) },
    SHOW("queue", QUEUE),
    SET("queue", QUEUE, "changes keys: release_per_s=500 idle.game=3s limits='[..]'"),
    ADD("queue", QUEUE, "[KEY=VALUE]...", 1, "a new queue"),
    DELETE("queue", QUEUE, " [final]", 2,
           "deletes it; it can be restored for ten minutes, but not after 'final'",
           "queue restore, for ten minutes; none after 'final'"),
    { "queue restore", "QUEUE", 1, 1, "undoes a delete; all places are kept",
      SENDS("POST", QUEUES "/restore", view_state), .undo = "queue delete" },
    { "pool list", "", 0, 0, "all pools of task queues", GETS("/v1/admin/pools", view_pools) },
    SHOW("pool", POOL),
    SET("pool", POOL, "changes keys: paused=true key.rate_per_s=10 retry.max=1m"),
    ADD("pool", POOL, "[KEY=VALUE]...", 1, "a new pool: images, or 'ride/*'"),
    DELETE("pool", POOL, " [final]", 2,
           "deletes it; after 'final' also with tasks that are not done, and schedules",
           "pool add; tasks, results and schedules that 'final' took do not come back"),
    { "endpoint list", "", 0, 0, "where calls go: rate, calls under way, what came of them",
      GETS("/v1/admin/task-queues", view_endpoints) },
    { "endpoint show", "ENDPOINT", 1, 1, "all keys of its definition, and how it does now",
      .run = cmd_endpoint_show, READS },
    ADD("endpoint", ENDPOINT, "url=URL|targets=[..] [KEY=VALUE]...", 2,
        "a new endpoint; without a pool that names it, it gets one of its own name"),
    SET("endpoint", ENDPOINT, "changes keys: rate_per_s=300 max_concurrent=64 breaker.ratio=0.5"),
    { "endpoint pause", "ENDPOINT", 1, 1, "no call begins; submissions go on", .method = "POST",
      .path = ENDPT "/pause", KIND(ENDPOINT), .undo = "endpoint resume" },
    { "endpoint resume", "ENDPOINT", 1, 1, "ends a pause", .method = "POST",
      .path = ENDPT "/resume", KIND(ENDPOINT),
      .undo = "endpoint pause" },
    { "endpoint targets", "ENDPOINT", 1, 1, "the targets of an endpoint that has several, and how each does",
      GETS(ENDPT "/targets", view_targets_of) },
    { "endpoint drain", "ENDPOINT URL", 2, 2,
      "no call to this target begins; endpoint targets shows when the last one has ended", .method = "POST",
      .path = ENDPT "/drain?", KIND(ENDPOINT), PARAMS(ARG("url", TEXT)), .undo = "endpoint undrain" },
    { "endpoint undrain", "ENDPOINT URL", 2, 2, "calls go to it again", .method = "POST",
      .path = ENDPT "/undrain?", KIND(ENDPOINT), PARAMS(ARG("url", TEXT)), .undo = "endpoint drain" },
    { "endpoint trip", "ENDPOINT", 1, 1,
      "opens its breaker until a reset: no call begins, tasks wait",
      SENDS("POST", ENDPT "/trip", view_tripped), .undo = "endpoint reset" },
    { "endpoint reset", "ENDPOINT", 1, 1,
      "closes its breaker, forgets failures: starts at 10 % of its rate",
      SENDS("POST", ENDPT "/reset", view_tripped), .undo = "endpoint trip" },
    { "endpoint probe", "ENDPOINT", 1, 1,
      "while it is down: each node sends one waiting task at once; shows what came",
      .run = cmd_endpoint_probe, .undo = "none: a call that was made was made" },
    DELETE("endpoint", ENDPOINT, " [final]", 2,
           "deletes it; after 'final' with its pools, also with calls that are not done",
           "endpoint add; tasks and results that 'final' took do not come back"),
    { "budget list", "", 0, 0, "budgets, what their members may use, and use",
      GETS("/v1/admin/budgets", view_budgets) },
    SHOW("budget", BUDGET),
    ADD("budget", BUDGET, "KEY=VALUE...", 2,
        "a new budget for queues and endpoints (their key `budget`): rate_per_s=500 max_active=64"),
    SET("budget", BUDGET, "changes keys"),
    DELETE("budget", BUDGET, "", 1, "deletes it, if nobody has it", "budget add"),
    { "route list", "", 0, 0, "routes of calls, by a word of their body",
      GETS("/v1/admin/routes", view_routes) },
    SHOW("route", ROUTE),
    ADD("route", ROUTE, "KEY=VALUE...", 2,
        "a new route: rules='[{\"match\":[\"gpt-*\"],\"endpoints\":[\"paid\",\"gen\"]}]'"),
    SET("route", ROUTE, "changes keys"),
    DELETE("route", ROUTE, "", 1, "deletes it", "route add"),
    { "task list", "[QUEUE [STATE,..]]", 0, 2,
      "pools and task nodes; the tasks of a queue: images waiting,dead; see --label, --name, --since, --order",
      .run = cmd_task_list, GETS(TASKS "?", view_tasks), .pages = PAGES_IF_ALL,
      PARAMS(ARG("n", PAGE), ARG("state", TEXT), GIVEN("label", OPTION, label),
             GIVEN("order", OPTION, order), GIVEN("name", OPTION, name), GIVEN("since", OPTION, since),
             GIVEN("until", OPTION, until)),
      .options = "label order name since until" },
    { "task top", "[QUEUE]", 0, 1,
      "pools and task nodes every second, until q or Ctrl-C; of a queue's pool: by partition",
      .run = cmd_task_top, .options = "interval count", READS },
    { "task show", "TOKEN", 1, 1, "a task as its owner sees it", GETS("/v1/tasks/*", view_pretty) },
    { "task why", "TASK", 1, 1, "its state, its place, and what it waits for (TASK: token or id)",
      GETS(TASK, view_task) },
    { "task cancel", "TASK | --file FILE", 0, 1,
      "no attempt begins any more; one that runs is its last; see --force",
      .run = cmd_task_cancel,
      SENDS("POST", TASK "/cancel?", view_task), PARAMS(FORCE), .options = "force file",
      .undo = "none" },
    { "task run", "TASK", 1, 1, "the next worker gets it, beyond all limits and delays",
      SENDS("POST", TASK "/run", view_task), .undo = "none; task cancel, while it has not begun" },
    { "task payload", "TASK", 1, 1, "its payload and its result, as far as they are kept",
      GETS(TASK "/payload?bytes=65536", view_pretty) },
    { "task redrive", "TASK [--payload FILE]", 1, 1,
      "make a dead task wait again, with all of its attempts; or another one like it, see --payload",
      .run = cmd_task_redrive, SENDS("POST", TASK "/redrive", view_task), .options = "payload",
      .undo = "task cancel" },
    { "task discard", "TASK", 1, 1, "delete a finished task and its result",
      SENDS("POST", TASK "/discard", view_discarded),
      .sure = "The task, its payload and its result are gone for good.", .undo = "none" },
    { "task export", "POOL", 1, 1,
      "its tasks that wait or are delayed, in order, as lines for task import; see --running",
      .run = cmd_task_export, .options = "running", .text_only = true, READS },
    { "task import", "POOL [FILE] [--dry-run]", 1, 2,
      "submits what task export printed, once, however often it is repeated; see --keep-going",
      .run = cmd_task_import, .options = "dry-run ids keep-going server-token-file file", .text_only = true,
      .undo = "task cancel-all of its queues" },
    { "task busiest", "POOL", 1, 1, "its queues with the most tasks that wait or are dead",
      GETS("/v1/admin/task-queues/busiest?pool=*", view_busiest) },
    { "task schedules", "QUEUE | VERB QUEUE SCHEDULE [KEY=VALUE]...", 1, -1,
      "list, or of one: show, add, set, pause, resume, delete, run: add images nightly cron='30 2 * * *' zone=Europe/Berlin task='{\"payload\":1}'",
      .run = cmd_task_schedules, .undo = "set, or add, with the old values, which it prints; none of a run" },
    { "task keys", "QUEUE [waiting|limited]", 1, 2,
      "its keys with the most tasks that wait; of these, those that a limit stops",
      .run = cmd_task_keys, READS },
    { "task cancel-all", "QUEUE [KEY]", 1, 2,
      "cancels all its tasks, or those of a key, or with a --label; see --force",
      SENDS("POST", TASKS "/cancel?", view_task_order), .pages = ALL_PAGES,
      PARAMS(ARG("key", TEXT), GIVEN("label", OPTION, label), FORCE), .options = "label force",
      .sure = "All tasks of {?key:this key of the queue|the queue}{?label: with the label {label}} "
              "are cancelled{?force:, also those that run: who has them may have done them}.",
      .undo = "none" },
    { "task redrive-all", "QUEUE [RATE|stop]", 1, 2,
      "redrive all dead tasks, at most RATE a second; stop: end a running redrive",
      .run = cmd_task_redrive_all, SENDS("POST", TASKS "/redrive?", view_task_order),
      .pages = ALL_PAGES,
      PARAMS(ARG("rate_per_s", NUMBER)), .undo = "task redrive-all QUEUE stop, for those that "
                                                 "still are dead" },
    { "task discard-all", "QUEUE", 1, 1, "delete all dead tasks for good",
      SENDS("POST", TASKS "/discard?", view_task_order), .pages = ALL_PAGES,
      .sure = "All dead tasks of the queue, and their payloads, are gone for good.",
      .undo = "none" },
    { "task pause", "POOL", 1, 1, "workers get no task of it; submissions go on",
      .run = cmd_pool_hold,
      .method = "PATCH", KIND(POOL), PARAMS(ARG("paused", TRUE)), .undo = "task resume" },
    { "task resume", "POOL", 1, 1, "ends a pause", .run = cmd_pool_hold, .method = "PATCH",
      KIND(POOL),
      PARAMS(ARG("paused", FALSE)), .undo = "task pause" },
    { "key list", "", 0, 0, "keys of task queues that are pinned: with limits of their own, or "
                            "paused",
      GETS("/v1/admin/pinned-keys", view_pinned_keys) },
    { "key show", "QUEUE KEY", 2, 2, "all keys of its definition",
      GETS(TASKS "/keys/*", view_pretty) },
    { "key set", "QUEUE KEY NAME=VALUE...", 3, -1,
      "pins it, or changes it: images tenant7 rate_per_s=5 weight=2", .run = cmd_key_set,
      .keys = key_pin_keys, .options = "dry-run",
      .undo = "key set with the old values, which it prints; key unpin" },
    { "key unpin", "QUEUE KEY", 2, 2, "remove the key's own limits",
      SENDS("DELETE", TASKS "/keys/*", view_unpinned), .undo = "key set" },
    { "key pause", "QUEUE KEY", 2, 2, "no task of it starts; submissions go on",
      .run = cmd_key_hold, SENDS("POST", TASKS "/keys/*/pause", view_held), .undo = "key resume" },
    { "key resume", "QUEUE KEY", 2, 2, "ends a pause",
      .run = cmd_key_hold, SENDS("POST", TASKS "/keys/*/resume", view_unpinned),
      .undo = "key pause" },
    { "context list", "", 0, 0,
      "your clusters by name, of ~/.config/segq/contexts.yaml (SEGQ_CONFIG)",
      .run = cmd_context_list, READS },
    { "context show", "[NAME]", 0, 1, "all keys of one, or of the one in use",
      .run = cmd_context_show, READS },
    { "context use", "NAME", 1, 1, "commands without --context go there", .run = cmd_context_use,
      .text_only = true, READS },
    { "context add", "NAME KEY=VALUE...", 2, -1,
      "prod admin=https://mng1:8071,https://mng2:8071 token_file=F [cacert=F] [operator=anna]; or "
      "dir=D",
      .run = cmd_context_add, .keys = context_keys, .text_only = true, READS },
    { "context set", "NAME KEY=VALUE...", 2, -1, "changes keys", .run = cmd_context_set,
      .keys = context_keys, .text_only = true, READS },
    { "context delete", "NAME", 1, 1, "forgets it; nothing happens to the cluster",
      .run = cmd_context_delete, .text_only = true, READS },
    { "whoami", "", 0, 0, "name and role of your token, and what it is for",
      GETS("/v1/admin/whoami", view_pretty) },
    { "token add", "FILE NAME --role ROLE", 2, 2,
      "makes a token for NAME, prints it once, and writes its hash to FILE (admin_tokens_file)",
      .run = cmd_token_add, .options = "role queues pools until user email group", .text_only = true,
      .undo = "token revoke" },
    { "token list", "FILE", 1, 1, "names, roles and ends of its rows, and whom they are for", .run = cmd_token_list,
      READS },
    { "token revoke", "FILE NAME", 2, 2, "removes the token of NAME; it ends when FILE is read again",
      .run = cmd_token_revoke, .text_only = true, .undo = "none: token add makes another one" },
    { "token reload", "", 0, 0, "has the leading manager read its file again, as HUP does",
      SENDS("POST", "/v1/admin/tokens/reload", view_tokens_read),
      .undo = "token reload, of the file as it was" },
    { "export", "", 0, 0, "all budgets, endpoints, pools, queues and routes as YAML, for diff and apply",
      .run = cmd_export, .text_only = true, READS },
    { "diff", "FILE", 0, 1, "show what apply would change; exit code 1 if anything would",
      .run = cmd_diff,
      .options = "file", .text_only = true, READS },
    { "apply", "FILE [--dry-run]", 0, 1,
      "makes and changes what FILE says (budgets, endpoints, pools, queues, routes); other keys stay",
      .run = cmd_apply, .options = "dry-run file", .text_only = true,
      .undo = "apply of what export printed before" },
    { "edit", "queue|pool|endpoint|budget|route NAME", 2, 2, "its definition in $EDITOR; then as apply",
      .run = cmd_edit, .options = "dry-run", .text_only = true,
      .undo = "edit; it prints the old values" },
    { "rehearse", "NIGHT.yaml", 1, 1, "plays a night on a virtual clock: waits, load of each process, promises",
      .run = cmd_rehearse, .keys = night_keys, .options = "html vary find from-audit costs", READS },
    { "measure", "", 0, 0,
      "measures what requests cost this machine, with a cluster of its own: for rehearse --costs",
      .run = cmd_measure, .options = "for", .text_only = true, READS },
    { "pause", "QUEUE", 1, 1, "nobody is let in; joins and polls go on",
      SENDS("POST", QUEUES "/pause", view_state), .undo = "resume" },
    { "resume", "QUEUE", 1, 1, "ends a pause", SENDS("POST", QUEUES "/resume", view_state),
      .undo = "pause; those who went in meanwhile are in" },
    { "close", "QUEUE", 1, 1, "stops new joins; people in line are still admitted",
      SENDS("POST", QUEUES "/close", view_state), .undo = "open" },
    { "open", "QUEUE", 1, 1, "ends a close, a reject, a passthrough",
      SENDS("POST", QUEUES "/open", view_state), .undo = "close; those who went in meanwhile are "
                                                         "in" },
    { "passthrough", "QUEUE", 1, 1,
      "nobody needs a pass; all waiting people go in at once, and stay in",
      SENDS("POST", QUEUES "/passthrough", view_state), .risk = RISK_PASSTHROUGH,
      .options = "dry-run",
      .undo = "none: those who wait are in at once; open ends it for those who come later" },
    { "reject", "QUEUE", 1, 1, "refuses joins and lets nobody in; waiting people keep their places",
      SENDS("POST", QUEUES "/reject", view_state), .risk = RISK_REJECT, .options = "dry-run",
      .undo = "open" },
    { "flush", "QUEUE", 1, 1, "ends all waiting tickets; passes stay valid",
      SENDS("POST", QUEUES "/flush", view_flushed), .risk = RISK_FLUSH, .options = "dry-run",
      .undo = "none" },
    { "release", "QUEUE N", 2, 2, "lets N in now, beyond the rate",
      SENDS("POST", QUEUES "/release?", view_released), PARAMS(ARG("n", PEOPLE)),
      .options = "dry-run",
      .undo = "none" },
    { "rate", "QUEUE N|limits", 2, 2, "a fixed rate per second; or by the limits again",
      TURNS(ARG("release_per_s", RATE)), .undo = "rate with the old value, which it prints" },
    { "tiers", "QUEUE METRIC BELOW:RATE...|none", 3, -1,
      "replaces the tiers of a metric: cpu 50:2000 70:500; none: it no longer limits",
      .run = cmd_tiers, .options = "dry-run", .undo = "tiers with the old ones, which it prints" },
    { "max", "QUEUE N [rate|slots|both]", 2, 3, "at most N inside at once",
      TURNS(ARG("max_active", COUNT), ARG("mode", TEXT)),
      .undo = "max with the old value, which it prints" },
    { "message", "QUEUE [TEXT]", 1, -1, "shows TEXT to all waiting people; without TEXT: none",
      TURNS(ARG("message", WORDS)), .undo = "message with the old text, which it prints" },
    { "challenge", "QUEUE on|off|auto", 2, 2,
      "on: each join costs some work; auto: while many join (challenge.from_joins_per_s, .per_address)",
      TURNS(ARG("challenge.mode", TEXT)), .undo = "challenge with the old mode, which it prints" },
    { "suspects", "[QUEUE]", 0, 1,
      "address prefixes whose joins look like a script's: what counted, since when (suspects of a queue)",
      GETS("/v1/admin/suspects?", view_suspects), PARAMS(ARG("queue", TEXT)) },
    { "audit", "[N]", 0, 1, "the last N (30) changes by operators",
      GETS("/v1/admin/audit?", view_audit), PARAMS({ .name = "n", .kind = PARAM_COUNT,
                                                     .word = "30" }) },
    { "events", "", 0, 0, "the latest events of the cluster", GETS("/v1/admin/live", view_events) },
    { "drain", "NODE", 1, 1, "moves all that a segment node or a task node has to other nodes",
      .run = cmd_drain, .undo = "undrain" },
    { "forget", "NODE", 1, 1, "removes a node that is gone for good; what it alone has is lost",
      .run = cmd_forget, .undo = "none" },
    { "undrain", "NODE", 1, 1, "ends the drain of a node",
      SENDS("POST", NODE "/undrain", view_undrained), .undo = "drain" },
    { "draw", "QUEUE [COMMITMENT] [TICKET]...", 1, -1,
      "checks the draw of early arrivals against the commitment noted before it; prints the "
      "place of a ticket (17-123) in it",
      .run = cmd_draw, .text_only = true, READS },
    { "join", "QUEUE", 1, 1, "takes a place; see --client, --subject, --claim",
      SENDS("POST", "/v1/queues/*/tickets", view_ticket),
      PARAMS(GIVEN("client", OPTION, client), GIVEN("subject", OPTION, subject),
             GIVEN("claim", OPTION, claim)), .undo = "leave" },
    { "poll", "TOKEN", 1, 1, "the position of the ticket; its pass once admitted",
      GETS(TICKET, view_ticket) },
    { "why", "TOKEN|SEGMENT-NUMBER", 1, 1, "a ticket's state now, and what happened to it",
      GETS("/v1/admin/tickets/*", view_why) },
    { "rebind", "TOKEN|SEGMENT-NUMBER", 1, 1,
      "lets the next device that shows the ticket take it over, once; prints the link for the person",
      SENDS("POST", "/v1/admin/tickets/*/rebind", view_rebind), .undo = "rebind, for the old device" },
    { "leave", "TOKEN", 1, 1, "leaves the queue: the place is given up",
      SENDS("DELETE", TICKET, view_left),
      .undo = "none" },
    { "move-ticket", "TOKEN LANE", 2, 2,
      "gives a waiting ticket the last place of another lane; prints the link for the person",
      .run = cmd_move_ticket, .undo = "none: the old place is gone" },
    { "claim", "QUEUE... --lane L|--task ID", 1, -1,
      "prints a signed claim, good for all these queues; see --key, --subject, --replaces, --task-key, --ttl",
      .run = cmd_claim, .options = "task task-key priority", .text_only = true, READS },
    { 0 },
};

/* ---- the command that was typed ---- */

const char *cmd_second(const struct cmd *d)
{
    const char *blank = strchr(d->words, ' ');

    return blank != NULL ? blank + 1 : NULL;
}

bool cmd_is_first(const struct cmd *d, const char *word)
{
    return text_is(d->words, strcspn(d->words, " "), word);
}

const struct cmd *cmd_find(char **argv)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        const char *second = cmd_second(d);

        if (cmd_is_first(d, argv[0]) && (second == NULL ||
                                         (argv[1] != NULL && strcmp(second, argv[1]) == 0)))
            return d;
    }
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

/* " without list, show, ...;" of a first word that needs a second one. */
static void put_second_words(struct buf *b, const char *first)
{
    const char *before = " without ";

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        if (cmd_is_first(d, first) && cmd_second(d) != NULL) {
            buf_printf(b, "%s%s", before, cmd_second(d));
            before = ", ";
        }
}

int cmd_unknown(char **argv)
{
    char one[40], two[80];
    const char *near, *typed = one;
    struct buf b;
    bool group;

    buf_init(&b);
    put_second_words(&b, argv[0]);
    group = b.len > 0;
    snprintf(one, sizeof(one), "%s", argv[0]);
    snprintf(two, sizeof(two), "%s %s", one, argv[1] != NULL ? argv[1] : "");
    near = group ? NULL : nearest(one);
    if (near == NULL && argv[1] != NULL)
        near = nearest(two);
    if (near != NULL) {
        buf_reset(&b);
        buf_printf(&b, "; did you mean '%s'?", near);
    } else {
        buf_byte(&b, ';');
    }
    buf_byte(&b, 0);
    if (argv[1] != NULL && (group || (near != NULL && strchr(near, ' ') != NULL)))
        typed = two;
    (void)ctl_fail(CTL_USAGE, "no command '%s'%s segqctl -h lists them", typed,
                   b.failed ? ";" : (const char *)b.data);
    buf_fini(&b);
    return CTL_USAGE;
}

int cmd_run(struct ctl *c, char **argv)
{
    const struct cmd *d = c->cmd = cmd_find(argv);
    const char *refused;
    int n = 0;

    if (d == NULL)
        return cmd_unknown(argv);
    argv += cmd_second(d) != NULL ? 2 : 1;
    while (argv[n] != NULL)
        n++;
    refused = options_refused(c, d->options);
    /* to ignore it would do something else than was meant */
    if (d->text_only && c->form != FORM_TABLE)
        return ctl_fail(CTL_USAGE, "%s prints text; it has no -o json or yaml", d->words);
    if (refused != NULL)
        return ctl_fail(CTL_USAGE, "%s does not take --%s", d->words, refused);
    if (n < d->min || (d->max >= 0 && n > d->max))
        return ctl_usage(d->words, d->takes);
    return (d->run != NULL ? d->run : cmd_request)(c, argv);
}

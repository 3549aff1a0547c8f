/* definitions.c: see the header. */
#include "queuemng/ctl/definitions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/ip.h"
#include "common/task/url.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/policy/schedule.h"

#define TASKS "/v1/admin/task-queues"
#define PIN   (&def_kinds[DEF_PIN])

json_t *definition_get(const struct ctl *c, const struct def_kind *kind, const char *queue,
                       const char *name,
                       int *rc)
{
    struct ctl_call call = { .method = "GET", .path = kind->one, .queue = queue, .name = name };
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK && a.status == 200)
        doc = ctl_json(&a);
    if (*rc == CTL_OK && a.status != 404 && doc == NULL) {
        (void)ctl_say_answer(c, &a, NULL);
        *rc = CTL_REFUSED; /* also an answer that is no JSON */
    }
    buf_fini(&a.body);
    return doc;
}

/* ---- an address that is not called ---- */

/* Names mean what the task nodes are told, which is not known here; but for this one. */
static const char *address_of(const struct url *u)
{
    return strcmp(u->host, "localhost") == 0 ? "127.0.0.1" : u->host;
}

/* text: an URL; allow: networks. Both may be missing. */
static bool calls_nobody(const char *text, const json_t *allow, struct url *u)
{
    const json_t *x;
    struct ip_net net;
    struct ip ip;
    size_t i;

    if (url_parse(u, text) != NULL || !ip_parse(&ip, address_of(u), strlen(address_of(u))))
        return false;
    json_array_foreach(allow, i, x)
        if (json_is_string(x) && ip_net_parse(&net, json_string_value(x)) && ip_in(&net, &ip))
            return false;
    return !ip_is_public(&ip);
}

/* def: of an endpoint; calls go to it, or to its targets; or to its proxy. */
static bool endpoint_calls_nobody(const json_t *def, struct url *u)
{
    const json_t *allow = json_object_get(def, "allow"), *to;
    bool bad = calls_nobody(ctl_str(def, "url"), allow, u);
    size_t i;

    json_array_foreach(json_object_get(def, "targets"), i, to)
        bad = bad || calls_nobody(ctl_str(to, "url"), allow, u);
    return bad && json_string_length(json_object_get(def, "proxy")) == 0;
}

/* Says so if calls are refused by the definition's own networks, which is known of numbers and
 * localhost. */
static void hint(const struct ctl *c, const struct def_kind *kind, const char *name)
{
    bool endpoint = kind == &def_kinds[DEF_ENDPOINT];
    struct url u;
    int rc;
    json_t *def = ctl_get(c, kind->one, name, &rc);
    const json_t *check = json_object_get(def, "challenge");

    if (check != NULL && calls_nobody(ctl_str(check, "verify_url"), json_object_get(check, "verify_allow"), &u))
        (void)ctl_fail(rc, "queue %.80s: %s is not public, and not in `challenge.verify_allow`: that service is not "
                       "asked; to have it asked: segqctl queue set '%.80s' challenge.verify_allow='[\"%s\"]'", name,
                       u.host, name, address_of(&u));
    else if (def != NULL && (endpoint ? endpoint_calls_nobody(def, &u)
                                 : calls_nobody(ctl_str(def, "eta_url"), json_object_get(def, "eta_allow"), &u)))
        (void)ctl_fail(rc, "%s %.80s: %s is not public, and not in `%s`: %s: segqctl %s set '%.80s' %s='[\"%s\"]'",
                       kind->word, name, u.host, endpoint ? "allow" : "eta_allow",
                       endpoint ? "no call is made, and its tasks wait; to let calls go there"
                                : "that service is not asked; to have it asked",
                       kind->word, name, endpoint ? "allow" : "eta_allow", address_of(&u));
    json_decref(def);
}

/* ---- a change, from and to ---- */

/* Prints the change; or `none`, if it is none. */
static void show(const struct def_change *ch, const char *none)
{
    struct buf b;

    buf_init(&b);
    def_change_text(&b, ch);
    if (b.len == 0) {
        ctl_clean(&b, none);
        buf_byte(&b, '\n');
    }
    ctl_put_out(&b);
    buf_fini(&b);
}

static int changed_show(const struct def_kind *kind, const char *name, const json_t *was,
                        const json_t *now,
                        const json_t *given)
{
    struct def_change ch;
    struct err e = { 0 };
    char none[200];

    if (def_changed(&ch, kind, name, was, now, given, &e) < 0)
        return ctl_say_err(&e, CTL_REFUSED);
    snprintf(none, sizeof(none), "%s %.120s: nothing has changed: it is so already", kind->word,
             name);
    show(&ch, none);
    def_change_fini(&ch);
    return CTL_OK;
}

void definition_warns(const json_t *now)
{
    ctl_tell(now, "{?warning:warning: {warning}\n}");
}

/* Says when that is, if the change is of the clock: by our own one. */
static void opening_show(const char *name, const json_t *now, const json_t *given)
{
    int64_t opens_ms = 0, closes_ms = 0, here_ms = (int64_t)time(NULL) * 1000;
    struct buf b;
    json_t *j;

    if (json_object_get(given, "opens_at") == NULL && json_object_get(given, "closes_at") == NULL)
        return;
    if (schedule_parse(ctl_str(now, "opens_at"), &opens_ms) < 0)
        opens_ms = 0;
    if (schedule_parse(ctl_str(now, "closes_at"), &closes_ms) < 0)
        closes_ms = 0;
    j = json_pack("{s:s,s:I,s:I,s:I,s:I}", "queue", name, "opens_in_ms",
                  (json_int_t)(opens_ms > here_ms ? opens_ms - here_ms : 0), "opened_ms",
                  (json_int_t)(opens_ms != 0 && opens_ms <= here_ms ? here_ms - opens_ms : 0), "closes_in_ms",
                  (json_int_t)(closes_ms > here_ms ? closes_ms - here_ms : 0), "closed_ms",
                  (json_int_t)(closes_ms != 0 && closes_ms <= here_ms ? here_ms - closes_ms : 0));
    buf_init(&b);
    view_opening(&b, j);
    ctl_put_out(&b);
    buf_fini(&b);
    json_decref(j);
}

/* was: before it; NULL: there was none. */
static int change(const struct ctl *c, const struct def_kind *kind, const json_t *was,
                  struct ctl_call call)
{
    struct ctl_answer a = { 0 };
    json_t *now = NULL;
    int rc = ctl_ask(c, call, &a);

    if (rc == CTL_OK && a.status < 300 && c->form == FORM_TABLE)
        now = ctl_json(&a);
    if (now != NULL) {
        rc = changed_show(kind, call.name, was, now, call.body);
        definition_warns(now);
        if (kind == &def_kinds[DEF_QUEUE])
            opening_show(call.name, now, call.body);
    }
    else if (rc == CTL_OK)
        rc = ctl_say_answer(c, &a, view_pretty);
    json_decref(now);
    buf_fini(&a.body);
    return rc;
}

int definition_change(struct ctl *c, const struct def_kind *kind, struct ctl_call call)
{
    int rc = CTL_OK;
    json_t *was = NULL;

    if (c->form == FORM_TABLE)
        was = definition_get(c, kind, call.queue, call.name, &rc);
    if (rc == CTL_OK)
        rc = change(c, kind, was, call);
    if (rc == CTL_OK && (kind == &def_kinds[DEF_ENDPOINT] || kind == &def_kinds[DEF_POOL] ||
                         json_object_get(call.body, "challenge") != NULL))
        hint(c, kind, call.name);
    json_decref(was);
    return rc;
}

/* The keys as a file would have them, with the names. */
static struct cfg_node *as_node(const struct def_kind *kind, const struct ctl_call *call,
                                struct err *e)
{
    json_t *doc = json_deep_copy(call->body);
    bool named = json_object_set_new(doc, kind->name, json_string(call->name)) == 0 &&
                 (call->queue == NULL || json_object_set_new(doc, "queue",
                                                             json_string(call->queue)) == 0);
    struct cfg_node *node = named ? ctl_node(doc, e) : NULL;

    if (!named)
        (void)err_set(e, SQ_ENOMEM, "out of memory, or '%.60s' is not UTF-8", call->name);
    json_decref(doc);
    return node;
}

/* Takes the form that -o names. */
static void would_show(const struct ctl *c, const struct def_change *ch)
{
    json_t *doc;

    if (c->form == FORM_TABLE) {
        show(ch, "nothing would change");
        return;
    }
    doc = def_change_json(ch);
    (void)ctl_say_doc(c, doc, view_pretty);
    json_decref(doc);
}

/* now: the definition; NULL: there is none. */
static int would_change(const struct ctl *c, const struct def_kind *kind, const json_t *now, const struct ctl_call *call)
{
    struct def_change ch = { 0 };
    struct err e = { 0 };
    struct cfg_node *def = as_node(kind, call, &e);
    int rc = CTL_USAGE;

    if (def == NULL || def_plan(&ch, kind, now, def, kind->word, &e) < 0)
        rc = ctl_say_err(&e, CTL_USAGE);
    else
        rc = ch.was == NULL || json_object_size(ch.keys) > 0 ? CTL_REFUSED : CTL_OK;
    if (rc != CTL_USAGE)
        would_show(c, &ch);
    def_change_fini(&ch);
    cfg_node_free(def);
    return rc;
}

int definition_would_change(struct ctl *c, const struct def_kind *kind, struct ctl_call call)
{
    int rc;
    json_t *now = definition_get(c, kind, call.queue, call.name, &rc);

    if (rc == CTL_OK && call.is_new && now != NULL)
        rc = ctl_fail(CTL_REFUSED, "there is already a %s '%.60s'", kind->word, call.name);
    else if (rc == CTL_OK && !call.is_new && now == NULL && call.queue == NULL)
        rc = ctl_fail(CTL_REFUSED, "there is no %s '%.60s'", kind->word, call.name);
    else if (rc == CTL_OK)
        rc = would_change(c, kind, now, &call);
    json_decref(now);
    return rc;
}

/* ---- deletes ---- */

static SAYS_VIEW(view_would_delete, "{kind} {name}: is deleted{?tasks:, with {tasks=} task{?tasks=1:|s} that {?tasks=1:is|are} not done}\n")

/* CTL_REFUSED: as diff has it, something would change; or the manager would refuse it: a pool or
 * an endpoint with tasks to be done, a budget with members. */
static int would_delete(struct ctl *c, const struct def_kind *kind, const char *name, bool final)
{
    bool budget = kind == &def_kinds[DEF_BUDGET];
    int rc;
    json_t *def = ctl_get(c, kind->one, name, &rc), *all = NULL;
    uint64_t n;

    if (def != NULL)
        all = ctl_get(c, budget ? kind->all : TASKS, NULL, &rc);
    n = budget ? json_array_size(json_object_get(ctl_find(all, "budgets", "name", name), "members"))
               : ctl_sum(json_object_get(all, "pools"), "scheduled+waiting+running", kind->word,
                         name);
    if (n > 0 && !final)
        rc = ctl_fail(CTL_REFUSED, "%s %.80s has %llu %s%s: it would not be deleted%s", kind->word,
                      name,
                      (unsigned long long)n, budget ? "member" : "task", n == 1 ? "" : "s",
                      budget ? "" : " without 'final'");
    else if (all != NULL) {
        json_t *doc = json_pack("{s:s,s:s,s:b,s:I}", "kind", kind->word, "name", name, "deleted", true, "tasks",
                                (json_int_t)n);

        (void)ctl_say_doc(c, doc, view_would_delete);
        json_decref(doc);
        rc = CTL_REFUSED;
    }
    json_decref(all);
    json_decref(def);
    return rc;
}

/* Asks before what is lost: with a queue it is asked about in any case. */
static int delete_is_sure(struct ctl *c, const struct def_kind *kind, const char *name, bool final)
{
    int rc = CTL_OK;

    if (kind == &def_kinds[DEF_QUEUE])
        return ctl_queue_is_sure(c, final ? RISK_FINAL : RISK_DELETE, 0, name);
    if (!final || c->yes)
        return CTL_OK;
    json_decref(ctl_get(c, kind->one, name, &rc)); /* a name that is none is not asked about */
    return rc != CTL_OK ? rc
                        : ctl_sure(c, NULL, "All tasks of its queues, their results, and their "
                                            "schedules are gone for good.", name);
}

int cmd_delete(struct ctl *c, char **argv)
{
    const struct def_kind *kind = c->cmd->kind;
    bool final = argv[1] != NULL, queue = kind == &def_kinds[DEF_QUEUE];
    char path[80];
    struct ctl_call call = { .method = "DELETE", .path = path, .name = argv[0] };
    int rc;

    if (final && strcmp(argv[1], "final") != 0)
        return ctl_fail(CTL_USAGE, "after the name only 'final' is allowed");
    if (c->dry_run && !queue)
        return would_delete(c, kind, argv[0], final);
    snprintf(path, sizeof(path), "%s%s", kind->one, final ? "?final=true" : "");
    rc = delete_is_sure(c, kind, argv[0], final);
    if (rc == CTL_OK)
        rc = ctl_do(c, call, queue ? view_detail : view_deleted);
    if (rc == CTL_OK && queue && !final && c->form == FORM_TABLE)
        printf("to undo it: segqctl queue restore %s\n", argv[0]);
    return rc;
}

/* ---- tiers ---- */

/* The limits with this metric's tiers in place of its old ones, or as one more; tiers NULL:
 * without them. NULL: it has none to take away. */
static json_t *with_tiers(const json_t *def, const char *metric, json_t *tiers)
{
    json_t *limits = json_deep_copy(json_object_get(def, "limits")), *x;
    size_t i;

    json_array_foreach(limits, i, x) {
        if (!ctl_equals(x, "metric", metric))
            continue;
        if (tiers != NULL)
            json_object_set(x, "tiers", tiers);
        else
            json_array_remove(limits, i);
        return limits;
    }
    if (tiers == NULL) {
        json_decref(limits);
        return NULL;
    }
    if (limits == NULL)
        limits = json_array();
    json_array_append_new(limits, json_pack("{s:s,s:O}", "metric", metric, "tiers", tiers));
    return limits;
}

/* Only if nobody has changed the definition since it was read. */
static int tiers_send(struct ctl *c, struct ctl_call call, const json_t *def, const char *metric)
{
    int rc;
    json_t *now = ctl_fetch(c, call, &rc);
    struct buf b;

    if (now == NULL)
        return rc;
    buf_init(&b);
    view_limits(&b, now, metric);
    view_limits_were(&b, def, metric);
    ctl_put_out(&b);
    buf_fini(&b);
    json_decref(now);
    return rc;
}

int cmd_tiers(struct ctl *c, char **argv)
{
    const struct def_kind *queue = &def_kinds[DEF_QUEUE];
    bool none = strcmp(argv[2], "none") == 0 && argv[3] == NULL;
    struct err e = { 0 };
    json_t *tiers = none ? NULL : ctl_tiers(argv + 2, &e), *def, *body = NULL;
    struct ctl_call call = { .method = "PATCH", .path = queue->one, .name = argv[0] };
    int rc;

    if (tiers == NULL && !none)
        return ctl_say_err(&e, CTL_USAGE);
    def = ctl_get(c, queue->one, argv[0], &rc);
    if (def != NULL)
        body = json_pack("{s:o}", "limits", with_tiers(def, argv[1], tiers));
    call.body = body;
    call.version = json_integer_value(json_object_get(def, "version"));
    if (def != NULL && body == NULL)
        rc = ctl_fail(CTL_REFUSED, "'%.80s' does not limit %.80s", argv[1], argv[0]);
    else if (def != NULL)
        rc = c->dry_run ? definition_would_change(c, queue, call)
            : tiers_send(c, call, def, argv[1]);
    json_decref(body);
    json_decref(def);
    json_decref(tiers);
    return rc;
}

/* ---- endpoints ---- */

int cmd_endpoint_show(struct ctl *c, char **argv)
{
    int rc;
    json_t *def = ctl_get(c, def_kinds[DEF_ENDPOINT].one, argv[0], &rc), *all = NULL, *now;

    if (def != NULL)
        all = ctl_get(c, TASKS, NULL, &rc);
    if (all != NULL) {
        now = ctl_find(all, "endpoints", "name", argv[0]);
        json_object_set_new(def, "now", now != NULL ? json_incref(now) : json_object());
        rc = ctl_say_doc(c, def, view_pretty);
    }
    json_decref(all);
    json_decref(def);
    return rc;
}

#define PROBE "/v1/admin/endpoints/*/probe"
#define LOOKS 100 /* looks of 200 ms */

/* Looks at it until it has ended everywhere. */
int cmd_endpoint_probe(struct ctl *c, char **argv)
{
    const struct timespec pause = { .tv_nsec = 200000000 };
    struct ctl plain = *c;
    json_t *doc;
    int rc;

    plain.form = FORM_TABLE; /* the last answer is wanted */
    doc = ctl_fetch(&plain, (struct ctl_call){ .method = "POST", .path = PROBE, .name = argv[0] },
                    &rc);
    for (unsigned i = 0; i < LOOKS && (ctl_find(doc, "probe", "outcome", "asked") != NULL ||
                                       ctl_find(doc, "probe", "outcome", "sent") != NULL); i++) {
        json_decref(doc);
        nanosleep(&pause, NULL);
        doc = ctl_get(c, PROBE, argv[0], &rc);
    }
    if (doc != NULL)
        rc = ctl_say_doc(c, doc, view_probe);
    json_decref(doc);
    return rc;
}

/* ---- pinned keys ---- */

/* Says "key tenant7: paused: false -> true". A key that is resumed may not be pinned any more: then
 * there is no definition to compare. One that is not pinned is refused, by the manager: it may be a
 * wrong name. */
int cmd_key_hold(struct ctl *c, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = c->cmd->path, .queue = argv[0],
                             .name = argv[1] };
    bool resume = c->cmd->view == view_unpinned;
    int rc;
    json_t *was = definition_get(c, PIN, argv[0], argv[1], &rc);

    if (rc == CTL_OK && (was == NULL || (resume && ctl_is(was, "inherit"))))
        rc = ctl_do(c, call, c->cmd->view);
    else if (rc == CTL_OK)
        rc = change(c, PIN, was, call);
    json_decref(was);
    return rc;
}

/* Changes a pinned key, or pins another one. */
int cmd_key_set(struct ctl *c, char **argv)
{
    struct err e = { 0 };
    json_t *doc = ctl_pairs(argv + 2, PIN->keys, &e), *was;
    struct ctl_call call = { .method = "PATCH", .path = PIN->one, .queue = argv[0], .name = argv[1],
                             .body = doc };
    int rc;

    if (doc == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    if (c->dry_run) {
        rc = definition_would_change(c, PIN, call);
        json_decref(doc);
        return rc;
    }
    was = definition_get(c, PIN, argv[0], argv[1], &rc);
    if (was == NULL) {
        call.method = "PUT";
        call.is_new = true;
    }
    if (rc == CTL_OK)
        rc = change(c, PIN, was, call);
    json_decref(was);
    json_decref(doc);
    return rc;
}

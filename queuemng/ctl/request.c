/* request.c: see the header. */
#include "queuemng/ctl/request.h"

#include <errno.h>
#include <event2/http.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json_scan.h"
#include "common/task/rules.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/definitions.h"
#include "queuemng/ctl/live.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"

#define TASKS     "/v1/admin/task-queues/*/tasks"
#define VALUE_MAX 390 /* bytes of a value in it, encoded */

/* ---- members ---- */

static json_t *joined(char **words)
{
    json_t *text = NULL;
    struct buf b;

    buf_init(&b);
    for (char **w = words; *w != NULL; w++)
        buf_printf(&b, "%s%s", w > words ? " " : "", *w);
    buf_byte(&b, 0);
    if (!b.failed)
        text = json_string((const char *)b.data);
    buf_fini(&b);
    if (text == NULL)
        (void)ctl_fail(CTL_REFUSED, "out of memory, or a text that is not UTF-8");
    return text;
}

/* An integer of at most 12 digits; NULL: the error has been printed. */
static json_t *count_of(const char *word, const char *what)
{
    size_t digits = strspn(word, "0123456789");

    if (digits > 0 && digits <= 12 && word[digits] == '\0')
        return json_integer(atoll(word));
    (void)ctl_fail(CTL_USAGE, "'%.60s' is not a number%s", word, what);
    return NULL;
}

/* 0 is "by the limits" in the definition; an operator may mean a stop. */
static json_t *rate_of(const char *word, const char *queue)
{
    double rate;

    if (strcmp(word, "limits") == 0)
        return json_real(0);
    if (!ctl_number(word, &rate))
        (void)ctl_fail(CTL_USAGE, "'%.60s' is not a number", word);
    else if (rate > 0)
        return json_real(rate);
    else
        (void)ctl_fail(CTL_USAGE, "a rate of 0 can mean two things: 'segqctl pause %.80s' lets "
                                  "nobody in, 'segqctl rate %.80s limits' goes by the metrics "
                                  "again", queue, queue);
    return NULL;
}

static json_t *text_of(const char *text, const char *name)
{
    json_t *v = json_string(text);

    if (v == NULL)
        (void)ctl_fail(CTL_USAGE, "%s must be UTF-8", name);
    return v;
}

/* Reads a member off the words and options: NULL and CTL_OK, if they do not say it. argv: the
 * words left. */
static json_t *value_of(const struct ctl *c, const struct cmd_param *p, char **argv,
                        const char *name, int *rc)
{
    const char *word = argv[0] != NULL ? argv[0] : p->word;
    const void *option = (const char *)c + p->option;
    double number;
    json_t *v = NULL;

    switch (p->kind) {
    case PARAM_TRUE:
    case PARAM_FALSE:
        return json_boolean(p->kind == PARAM_TRUE);
    case PARAM_PAGE:
        return json_integer(c->all ? 1000 : 100);
    case PARAM_FLAG:
        return *(const bool *)option ? json_true() : NULL;
    case PARAM_OPTION:
        word = *(const char *const *)option;
        break;
    case PARAM_WORDS:
        v = joined(argv);
        *rc = v != NULL ? CTL_OK : CTL_REFUSED;
        return v;
    default:
        break;
    }
    if (word == NULL)
        return NULL;
    if (p->kind == PARAM_COUNT || p->kind == PARAM_PEOPLE)
        v = count_of(word, p->kind == PARAM_PEOPLE ? " of people" : "");
    else if (p->kind == PARAM_RATE)
        v = rate_of(word, name);
    else if (p->kind == PARAM_NUMBER && !ctl_number(word, &number))
        (void)ctl_fail(CTL_USAGE, "'%s' is no rate per second, nor 'stop'", word);
    else
        v = text_of(word, p->name);
    *rc = v != NULL ? CTL_OK : CTL_USAGE;
    return v;
}

/* "challenge.mode" is a member of a member. */
static void set_member(json_t *doc, const char *name, json_t *v)
{
    const char *dot = strchr(name, '.');
    json_t *in = dot != NULL ? json_object() : NULL;
    char outer[32];

    if (dot == NULL) {
        (void)json_object_set_new(doc, name, v);
        return;
    }
    snprintf(outer, sizeof(outer), "%.*s", (int)(dot - name), name);
    (void)json_object_set_new(in, dot + 1, v);
    (void)json_object_set_new(doc, outer, in);
}

/* The members that the row has, as an object; NULL: the error has been printed. argv: behind the
 * names. */
static json_t *members(const struct ctl *c, char **argv, const char *name, int *rc)
{
    const struct cfg_key *keys = cmd_keys(c->cmd);
    json_t *doc, *v;
    struct err e = { 0 };

    *rc = CTL_OK;
    if (keys != NULL) {
        doc = ctl_pairs(argv, keys, &e);
        *rc = doc != NULL ? CTL_OK : ctl_say_err(&e, CTL_USAGE);
        return doc;
    }
    doc = json_object();
    for (const struct cmd_param *p = c->cmd->params; p != NULL && p->name != NULL; p++) {
        bool is_word = p->kind <= PARAM_NUMBER;

        v = value_of(c, p, argv, name, rc);
        if (*rc != CTL_OK) {
            json_decref(doc);
            return NULL;
        }
        if (v != NULL)
            set_member(doc, p->name, v);
        argv += is_word && argv[0] != NULL;
    }
    return doc;
}

/* ---- the path ---- */

bool query_add(char path[QUERY_MAX], const char *name, const char *value)
{
    char *text = evhttp_encode_uri(value);
    size_t n = strlen(path);
    const char *before = path[n - 1] == '?' ? "" : strchr(path, '?') != NULL ? "&" : "?";
    bool fits = text != NULL && strlen(text) <= VALUE_MAX &&
        n + strlen(name) + strlen(text) + 3 <= QUERY_MAX;

    if (fits)
        sprintf(path + n, "%s%s=%s", before, name, text);
    else
        (void)ctl_fail(CTL_USAGE, "that is no %s: it is too long", name);
    free(text);
    return fits;
}

static bool add_members(char path[QUERY_MAX], const json_t *doc)
{
    const char *name;
    json_t *v;
    bool ok = true;

    json_object_foreach((json_t *)(uintptr_t)doc, name, v) {
        char number[24];

        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        ok = ok && query_add(path, name, json_is_string(v) ? json_string_value(v)
                                         : json_is_true(v) ? "true" : number);
    }
    if (path[strlen(path) - 1] == '?')
        path[strlen(path) - 1] = '\0';
    return ok;
}

/* ---- the request ---- */

/* Asks the operator, if the row, or a state that it sets, takes something from people or for
 * good. A new queue has nobody in it yet. */
static int is_sure(const struct ctl *c, const char *name, const json_t *said)
{
    const struct cmd *d = c->cmd;
    bool sets = d->kind == &def_kinds[DEF_QUEUE] && strcmp(d->method, "PATCH") == 0;
    enum risk risk = sets ? risk_of_keys(said) : d->risk;

    for (const struct cmd_param *p = d->params; p != NULL && p->name != NULL; p++)
        if (p->kind == PARAM_PEOPLE)
            return ctl_queue_is_sure(c, RISK_NONE, ctl_u64(said, p->name), name);
    if (risk != RISK_NONE)
        return ctl_queue_is_sure(c, risk, 0, name);
    return d->sure != NULL ? ctl_sure(c, said, d->sure, name) : CTL_OK;
}

/* Sends it; if the answer goes on (`next`), again from there. */
static int send_pages(const struct ctl *c, struct ctl_call call)
{
    char path[QUERY_MAX];
    const char *first = call.path, *next;
    bool goes_on, missed = false;
    json_t *doc;
    int rc;

    do {
        doc = ctl_show(c, call, c->cmd->view, &rc);
        next = rc == CTL_OK ? json_string_value(json_object_get(doc, "next")) : NULL;
        goes_on = next != NULL && (c->cmd->pages == ALL_PAGES ||
                                   (c->cmd->pages == PAGES_IF_ALL && c->all));
        if (next != NULL && c->cmd->pages == PAGES_IF_ALL && !c->all && c->form == FORM_TABLE)
            puts("there are more: --all shows them");
        snprintf(path, sizeof(path), "%s", first);
        if (goes_on && !query_add(path, "after", next))
            rc = CTL_REFUSED;
        call.path = path;
        missed = missed || ctl_order_missed(doc);
        json_decref(doc);
    } while (goes_on && rc == CTL_OK);
    return rc == CTL_OK && missed ? ctl_say_missed() : rc;
}

int cmd_request(struct ctl *c, char **argv)
{
    const struct cmd *d = c->cmd;
    const char *of = d->path != NULL ? d->path : d->kind->one, *star = strchr(of, '*');
    bool two = star != strrchr(of, '*'), in_query = strchr(of, '?') != NULL,
        adds = strcmp(d->method, "PUT") == 0;
    struct ctl_call call = { .method = d->method, .queue = two ? argv[0] : NULL, .is_new = adds,
                             .name = star != NULL ? argv[two] : NULL };
    char path[QUERY_MAX];
    int rc;
    json_t *said = members(c, argv + (star != NULL) + two, call.name, &rc);

    if (said == NULL)
        return rc;
    call.body = !in_query && (d->params != NULL || cmd_keys(d) != NULL) ? said : NULL;
    snprintf(path, sizeof(path), "%s", of);
    call.path = path;
    if (in_query && !add_members(path, said))
        rc = CTL_USAGE;
    else if (c->dry_run && d->kind != NULL)
        rc = definition_would_change(c, d->kind, call);
    else
        rc = is_sure(c, call.name, said);
    if (rc != CTL_OK || (c->dry_run && d->kind != NULL))
        ; /* said already */
    else if (d->kind != NULL && strcmp(d->method, "GET") != 0)
        rc = definition_change(c, d->kind, call);
    else
        rc = send_pages(c, call);
    json_decref(said);
    return rc;
}

/* ---- tasks: a row and a word more ---- */

int cmd_task_list(struct ctl *c, char **argv)
{
    if (argv[0] != NULL)
        return cmd_request(c, argv);
    if (c->label != NULL || c->order != NULL || c->name != NULL || c->since != NULL || c->until != NULL)
        return ctl_fail(CTL_USAGE, "task list: --label, --name, --since, --until and --order are of a queue's tasks: "
                                   "name the queue");
    return cmd_task_queues(c);
}

int cmd_task_keys(struct ctl *c, char **argv)
{
    struct ctl_call call = { .method = "GET", .path = TASKS "/keys", .name = argv[0] };

    if (argv[1] != NULL && strcmp(argv[1], "limited") == 0)
        call.path = TASKS "/keys?by=limited";
    else if (argv[1] != NULL && strcmp(argv[1], "waiting") != 0)
        return ctl_fail(CTL_USAGE, "keys are listed by waiting or limited, not '%s'", argv[1]);
    return ctl_do(c, call, view_task_keys);
}

int cmd_task_redrive_all(struct ctl *c, char **argv)
{
    struct cmd stop = *c->cmd;

    if (argv[1] != NULL && strcmp(argv[1], "stop") == 0) {
        stop.path = TASKS "/stop";
        stop.params = NULL;
        c->cmd = &stop;
    }
    return cmd_request(c, argv);
}

/* Reads a file, or standard input; false: it cannot be read, which has been said. */
static bool read_payload(const char *file, struct buf *b)
{
    FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    char part[4096];
    bool ok = f != NULL;

    for (size_t n = 1; ok && n > 0 && b->len <= TASK_BODY_MAX; buf_append(b, part, n))
        n = fread(part, 1, sizeof(part), f);
    ok = ok && ferror(f) == 0;
    if (!ok)
        (void)ctl_fail(CTL_USAGE, "%s: %s", file, strerror(errno));
    if (f != NULL && f != stdin)
        (void)fclose(f);
    return ok;
}

/* Keeps the bytes as they are, so that a number stays what it is. NULL: no memory. */
static json_t *payload_json(const struct buf *b)
{
    size_t room = sodium_base64_ENCODED_LEN(b->len, sodium_base64_VARIANT_ORIGINAL);
    bool is_json = json_scan_is_whole((struct slice){ (char *)b->data, b->len });
    char *text = b->failed ? NULL : malloc(room);
    json_t *j = NULL;

    if (text != NULL)
        j = json_pack("{s:s,s:s*}", "payload_base64",
                      sodium_bin2base64(text, room, b->data, b->len, sodium_base64_VARIANT_ORIGINAL),
                      "content_type", is_json ? "application/json" : NULL);
    free(text);
    return j;
}

/* With a payload: of a task that is over another one is made. */
int cmd_task_redrive(struct ctl *c, char **argv)
{
    struct ctl_call call = { .method = "POST", .path = c->cmd->path, .name = argv[0] };
    int rc = CTL_USAGE;
    json_t *said;
    struct buf b;

    if (c->payload == NULL)
        return cmd_request(c, argv);
    buf_init(&b);
    if (read_payload(c->payload, &b)) {
        call.body = said = payload_json(&b);
        rc = said != NULL ? ctl_do(c, call, c->cmd->view) : ctl_fail(CTL_REFUSED, "out of memory");
        json_decref(said);
    }
    buf_fini(&b);
    return rc;
}

/* Pauses a pool, or ends that: a queue's name is none of a pool. */
int cmd_pool_hold(struct ctl *c, char **argv)
{
    int rc;
    json_t *pools = ctl_get(c, "/v1/admin/pools", NULL, &rc);
    struct buf b;

    buf_init(&b);
    if (pools != NULL && !view_is_pool(&b, pools, argv[0]))
        rc = ctl_fail(CTL_REFUSED, "%.*s", (int)b.len, (const char *)b.data);
    buf_fini(&b);
    json_decref(pools);
    return rc == CTL_OK ? cmd_request(c, argv) : rc;
}

#define SCHEDULES "/v1/admin/task-queues/*/tasks/schedules"

static const struct word {
    const char *word, *method, *path, *body; /* body: what it changes; NULL: KEY=VALUE follow */
    view_fn view;
    bool says; /* KEY=VALUE follow */
} words[] = {
    { "show", "GET", SCHEDULES "/*", NULL, view_task_schedule, false },
    { "add", "PUT", SCHEDULES "/*", NULL, view_schedule_changed, true },
    { "set", "PATCH", SCHEDULES "/*", NULL, view_schedule_changed, true },
    { "pause", "PATCH", SCHEDULES "/*", "{\"paused\":true}", view_schedule_changed, false },
    { "resume", "PATCH", SCHEDULES "/*", "{\"paused\":false}", view_schedule_changed, false },
    { "delete", "DELETE", SCHEDULES "/*", NULL, view_schedule_deleted, false },
    { "run", "POST", SCHEDULES "/*/run", NULL, view_task_order, false },
};

static void put_text(struct buf *b, const char *p, size_t n)
{
    json_t *v = json_stringn(p, n);
    char *text = v != NULL ? json_dumps(v, JSON_ENCODE_ANY) : NULL;

    buf_str(b, text != NULL ? text : "null");
    free(text);
    json_decref(v);
}

/* Appends an object. JSON goes as it stands, which ctl_pairs() would not do: 1.10 of a payload stays 1.10.
 * What is none is a text: cron=@daily, every=15m; null takes a key away. False: the error has been printed. */
static bool put_pairs(struct buf *b, char **argv)
{
    for (char **p = argv; *p != NULL; p++) {
        const char *eq = strchr(*p, '=');
        json_t *v;

        if (eq == NULL || eq == *p) {
            (void)ctl_fail(CTL_USAGE, "'%.60s' is not KEY=VALUE", *p);
            return false;
        }
        buf_str(b, p == argv ? "{" : ",");
        put_text(b, *p, (size_t)(eq - *p));
        buf_str(b, ":");
        v = json_loads(eq + 1, JSON_DECODE_ANY, NULL);
        if (v == NULL && strchr("[{\"", eq[1]) != NULL && eq[1] != '\0') {
            (void)ctl_fail(CTL_USAGE, "'%.200s': the value looks like JSON and is not", *p);
            return false;
        }
        if (v != NULL)
            buf_str(b, eq + 1);
        else
            put_text(b, eq + 1, strlen(eq + 1));
        json_decref(v);
    }
    buf_append(b, "}", 2);
    return !b->failed;
}

static int about_one(struct ctl *c, const struct word *w, char **argv)
{
    struct ctl_call call = { .method = w->method, .path = w->path, .queue = argv[0], .name = argv[1],
                             .is_new = strcmp(w->method, "PUT") == 0 };
    struct buf said;
    int rc = CTL_USAGE;

    if (w->says != (argv[2] != NULL))
        return ctl_fail(CTL_USAGE, w->says ? "task schedules %s QUEUE SCHEDULE KEY=VALUE..."
                                           : "task schedules %s QUEUE SCHEDULE", w->word);
    buf_init(&said);
    if (!w->says || put_pairs(&said, argv + 2)) {
        call.text = w->says ? (const char *)said.data : w->body;
        rc = ctl_do(c, call, w->view);
    }
    buf_fini(&said);
    return rc;
}

int cmd_task_schedules(struct ctl *c, char **argv)
{
    if (argv[1] == NULL)
        return ctl_do(c, (struct ctl_call){ .method = "GET", .path = SCHEDULES, .name = argv[0] },
                      view_task_schedules);
    for (size_t i = 0; argv[2] != NULL && i < ARRAY_LEN(words); i++)
        if (strcmp(words[i].word, argv[0]) == 0)
            return about_one(c, &words[i], argv + 1);
    return ctl_fail(CTL_USAGE, "task schedules QUEUE, or task schedules show|add|set|pause|resume|delete|run QUEUE "
                    "SCHEDULE");
}

/* round_trip.c: one request to the manager that leads, or to a router; its answer, printed as
 * its view, its bytes (-o json), or YAML. A refusal is a sentence; with -o json or yaml it is
 * the problem as the API gave it, with its code, on standard error. */
#include "queuemng/ctl_ask/round_trip.h"

#include <assert.h>
#include <errno.h>
#include <event2/http.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/task/rules.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/text.h"

#define PATH_BYTES 768 /* a queue and a key, each character encoded; and the end */

/* ---- standard output and errors ---- */

int ctl_fail(int code, const char *fmt, ...)
{
    char text[2048];
    struct buf b;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fflush(stdout); /* `watch` has cleared the screen for this */
    buf_init(&b);
    ctl_clean(&b, text);
    fprintf(stderr, "segqctl: %.*s\n", (int)b.len, b.data != NULL ? (char *)b.data : "");
    buf_fini(&b);
    return code;
}

int ctl_say_err(const struct err *e, int code)
{
    return ctl_fail(code, "%s", e->text);
}

int ctl_usage(const char *words, const char *takes)
{
    fprintf(stderr, "usage: segqctl %s%s%s\n", words, *takes != '\0' ? " " : "", takes);
    return CTL_USAGE;
}

void ctl_put_end(void)
{
    if (ferror(stdout) == 0) /* else it is that of the write that failed */
        errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return;
    if (errno == EPIPE) /* `| head` has what it wanted */
        _exit(CTL_OK);
    fprintf(stderr, "segqctl: standard output cannot be written: %s\n",
            errno != 0 ? strerror(errno) : "an error before");
    fflush(stderr); /* a screen keeps errors back */
    _exit(CTL_REFUSED);
}

void ctl_put_out(const struct buf *b)
{
    if (b->len > 0)
        fwrite(b->data, 1, b->len, stdout);
    ctl_put_end();
}

void ctl_print(view_fn view, const json_t *doc)
{
    struct buf b;

    buf_init(&b);
    view(&b, doc);
    if (b.len > 0 && b.data[b.len - 1] != '\n')
        buf_byte(&b, '\n');
    ctl_put_out(&b);
    buf_fini(&b);
}

void ctl_tell(const json_t *doc, const char *sentence)
{
    struct buf b;

    buf_init(&b);
    ctl_say(&b, doc, sentence);
    ctl_put_out(&b);
    buf_fini(&b);
}

/* ---- requests ---- */

json_t *ctl_json(const struct ctl_answer *a)
{
    return json_loadb((const char *)a->body.data, a->body.len, 0, NULL);
}

/* Is this the answer of a manager that does not lead? *leader: where it sends us (owned),
 * NULL: it knows nobody. */
static bool does_not_lead(const struct ctl_answer *a, char **leader)
{
    json_t *doc = a->status == 200 ? NULL : ctl_json(a);
    const char *code = json_string_value(json_object_get(doc, "code"));
    const char *url = json_string_value(json_object_get(doc, "leader"));
    bool no = code != NULL && strcmp(code, "not_leader") == 0;

    *leader = no && url != NULL ? strdup(url) : NULL;
    json_decref(doc);
    return no;
}

/* Does the way to the leader give away what the way to this one hides? */
static bool in_the_clear(const char *url, const char *leader)
{
    return strncmp(url, "https:", 6) == 0 && strncmp(leader, "https:", 6) != 0;
}

/* Asks a manager. SQ_EUNAVAIL: it does not lead, or cannot be reached. *leader: as in does_not_lead(). */
static int ask_one(const struct ctl *c, const char *url, const struct ctl_call *call,
                   struct ctl_answer *a, char **leader, struct err *e)
{
    const struct ctl_net net = { c->timeout_s, c->cacert, c->operator };
    int rc = ctl_http(url, call, &net, a, e);

    *leader = NULL;
    if (rc < 0 || !does_not_lead(a, leader))
        return rc;
    return err_set(e, SQ_EUNAVAIL, "%s: %s leads at present", url, *leader != NULL ? *leader : "no manager");
}

/* Asks the leader that the manager `url` has named. */
static int ask_leader(const struct ctl *c, const char *url, const char *leader, const struct ctl_call *call,
                      struct ctl_answer *a, struct err *e)
{
    char *other;
    int rc;

    if (in_the_clear(url, leader))
        return err_set(e, SQ_EUNAVAIL, "%s: %s leads, and is not asked: the token would go there in the "
                       "clear; name its https address with --admin", url, leader);
    rc = ask_one(c, leader, call, a, &other, e);
    if (rc == SQ_EUNAVAIL && other != NULL) /* the lead has just changed hands */
        rc = err_set(e, SQ_EUNAVAIL, "%s: does not lead any more", url);
    free(other);
    return rc;
}

/* Asks each manager until one leads, and then only the leader that was named: its address may be one for
 * browsers, where a proxy stands. An order that may have been done is not sent again. */
static int try_all(const struct ctl *c, struct ctl_call call, struct ctl_answer *a, struct err *e)
{
    bool order = strcmp(call.method, "GET") != 0;
    char *leader = NULL, *named;
    const char *by = NULL;
    int rc = SQ_EUNAVAIL;

    call.bearer = c->token;
    for (size_t i = 0; i < c->admins.n; i++) {
        rc = ask_one(c, c->admins.v[i], &call, a, &named, e);
        if (named != NULL) {
            free(leader);
            leader = named;
            by = c->admins.v[i];
        }
        if (rc == 0 || (rc != SQ_EUNAVAIL && order))
            break;
    }
    if (leader != NULL && rc < 0 && (rc == SQ_EUNAVAIL || !order))
        rc = ask_leader(c, by, leader, &call, a, e);
    free(leader);
    return rc;
}

json_t *ctl_look(const struct ctl *c, const char *path)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    if (c->token != NULL && try_all(c, (struct ctl_call){ .method = "GET", .path = path }, &a,
                                    NULL) == 0)
        doc = ctl_json(&a);
    buf_fini(&a.body);
    return doc;
}

static int admin_ask(const struct ctl *c, const struct ctl_call *call, struct ctl_answer *a)
{
    struct err e = { 0 };

    if (c->admins.n == 0 && c->token == NULL)
        return ctl_fail(CTL_USAGE,
                        "no cluster is given: --dir D, or --admin URL and --token-file F");
    if (c->token == NULL)
        return ctl_fail(CTL_USAGE, "no admin token is given: --token-file F, or --dir D");
    if (c->admins.n == 0)
        return ctl_fail(CTL_USAGE, "no address of queuemng is given: --admin URL, or --dir D");
    return try_all(c, *call, a, &e) == 0 ? CTL_OK : ctl_say_err(&e, CTL_REFUSED);
}

/* The first router that answers. That also holds for joins: if one took it and died, nobody
 * knows the token of that ticket, and it times out. */
static int router_ask(const struct ctl *c, const struct ctl_call *call, struct ctl_answer *a)
{
    struct err e = { 0 };
    int rc = -1;

    if (c->routers.n == 0)
        return ctl_fail(CTL_USAGE, "no router is given: --router URL, or --dir D");
    for (size_t i = 0; i < c->routers.n && rc < 0; i++) {
        a->from = c->routers.v[i];
        rc = ctl_http(a->from, call, &(const struct ctl_net){ c->timeout_s, c->cacert,
                                                              c->operator }, a, &e);
    }
    return rc < 0 ? ctl_say_err(&e, CTL_REFUSED) : CTL_OK;
}

/* The path up to the next `*` and the name that stands for it. False: too long. */
static bool put_name(struct buf *b, const char **path, const char *name)
{
    const char *star = strchr(*path, '*');
    char *text = evhttp_uriencode(name, -1, 0);

    assert(star != NULL);
    buf_append(b, *path, (size_t)(star - *path));
    buf_str(b, text != NULL ? text : "");
    b->failed |= text == NULL;
    free(text);
    *path = star + 1;
    return b->len < PATH_BYTES;
}

static bool put_path(struct buf *b, const struct ctl_call *call)
{
    const char *path = call->path;

    assert((call->queue != NULL) == (strchr(path, '*') != strrchr(path, '*')));
    if ((call->queue != NULL && !put_name(b, &path, call->queue)) ||
        (strchr(path, '*') != NULL && !put_name(b, &path, call->name)))
        return false;
    buf_str(b, path);
    buf_byte(b, 0);
    return !b->failed && b->len <= PATH_BYTES;
}

int ctl_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a)
{
    bool for_manager = strncmp(call.path, "/v1/admin/", 10) == 0;
    int rc = CTL_USAGE;
    struct buf path;

    buf_init(&path);
    if (call.queue != NULL && strlen(call.queue) > TASK_NAME_MAX) {
        (void)ctl_fail(rc, "'%.60s...' is too long for a queue's name", call.queue);
    } else if (!put_path(&path, &call)) {
        (void)ctl_fail(rc, "'%.60s...' is too long", call.name);
    } else {
        call.path = (const char *)path.data;
        /* keys have no list: their queue may be wrong */
        a->name = call.queue != NULL ? call.queue : call.name;
        rc = for_manager ? admin_ask(c, &call, a) : router_ask(c, &call, a);
    }
    buf_fini(&path);
    return rc;
}

/* ---- names that the cluster does not know, and those that may be meant ---- */

static const struct def_kind *kind_of(const char *code)
{
    for (const struct def_kind *k = def_kinds; k->word != NULL; k++) {
        size_t n = strlen(k->word);

        if (strncmp(code, k->word, n) == 0 && strcmp(code + n, "_not_found") == 0)
            return k;
    }
    return NULL;
}

/* "; did you mean login?" behind a refusal with this code (queue_not_found, ...), if there is
 * one of that kind that is written almost so. */
static void put_suggestion(const struct ctl *c, struct buf *b, const char *code, const char *name)
{
    const struct def_kind *kind = kind_of(code);
    json_t *doc = kind != NULL ? ctl_look(c, kind->all) : NULL, *x;
    struct near near = near_to(name);
    size_t i;

    json_array_foreach(json_object_get(doc, kind != NULL ? kind->words : ""), i, x)
        near_try(&near, ctl_str(x, kind->name));
    if (near.name != NULL) {
        buf_str(b, "; did you mean ");
        ctl_clean(b, near.name);
        buf_byte(b, '?');
    }
    json_decref(doc);
}

int ctl_say_no_queue(const struct ctl *c, const char *name)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "segqctl: there is no queue '");
    ctl_clean(&b, name);
    buf_byte(&b, '\'');
    put_suggestion(c, &b, "queue_not_found", name);
    fprintf(stderr, "%.*s\n", (int)b.len, b.data != NULL ? (char *)b.data : "");
    buf_fini(&b);
    return CTL_REFUSED;
}

/* ---- answers ---- */

static void put_refusal(const struct ctl *c, struct buf *b, const struct ctl_answer *a,
                        const json_t *doc)
{
    buf_str(b, "segqctl: ");
    view_problem(b, a->status, doc);
    if (a->name != NULL)
        put_suggestion(c, b, ctl_str(doc, "code"), a->name);
}

/* Unchanged; at a terminal the same JSON, without characters that would steer it. */
static void put_as_it_came(struct buf *b, const struct ctl_answer *a, int fd)
{
    struct buf text;

    if (isatty(fd) != 1) {
        buf_append(b, a->body.data, a->body.len);
        return;
    }
    buf_init(&text);
    buf_append(&text, a->body.data, a->body.len);
    buf_byte(&text, 0);
    if (!text.failed)
        ctl_clean_json(b, (const char *)text.data, text.len - 1);
    buf_fini(&text);
}

int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view)
{
    json_t *doc =
        json_loadb((const char *)a->body.data, a->body.len, JSON_DECODE_ANY, NULL);
    bool good = a->status >= 200 && a->status < 300, empty = a->body.len == 0; /* 204 */
    struct buf b;

    buf_init(&b);
    if (c->form == FORM_YAML && doc != NULL)
        b.failed |= !yaml_put(&b, doc);
    else if (good && (doc != NULL || empty) && view != NULL && c->form == FORM_TABLE)
        view(&b, doc);
    else if (good && empty) /* in scripts it stays empty: "ok" is no JSON */
        buf_str(&b, c->form == FORM_TABLE ? "ok" : "");
    else if (good || (c->form == FORM_JSON && doc != NULL))
        put_as_it_came(&b, a, good ? STDOUT_FILENO : STDERR_FILENO);
    else
        put_refusal(c, &b, a, doc);
    if (b.len > 0 && b.data[b.len - 1] != '\n')
        buf_byte(&b, '\n');
    if (good)
        ctl_put_out(&b);
    else
        fwrite(b.data, 1, b.len, stderr);
    buf_fini(&b);
    json_decref(doc);
    return good ? CTL_OK : CTL_REFUSED;
}

int ctl_say_doc(const struct ctl *c, const json_t *doc, view_fn view)
{
    struct buf b;

    if (c->form != FORM_YAML) {
        ctl_print(c->form == FORM_TABLE ? view : view_pretty, doc);
        return CTL_OK;
    }
    buf_init(&b);
    if (yaml_put(&b, doc))
        ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

json_t *ctl_show(const struct ctl *c, struct ctl_call call, view_fn view, int *rc)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK)
        *rc = ctl_say_answer(c, &a, view);
    if (*rc == CTL_OK)
        doc = ctl_json(&a);
    buf_fini(&a.body);
    return doc;
}

bool ctl_order_missed(const json_t *doc)
{
    return json_object_get(doc, "order") != NULL && json_array_size(json_object_get(doc, "away")) > 0;
}

int ctl_say_missed(void)
{
    return ctl_fail(CTL_REFUSED, "the tasks of these partitions are as they were, or it is not known: "
                                 "give the order again when their nodes are up");
}

int ctl_do(const struct ctl *c, struct ctl_call call, view_fn view)
{
    int rc;
    json_t *doc = ctl_show(c, call, view, &rc);

    if (rc == CTL_OK && ctl_order_missed(doc))
        rc = ctl_say_missed();
    json_decref(doc);
    return rc;
}

json_t *ctl_fetch(const struct ctl *c, struct ctl_call call, int *rc)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK && a.status == 200 && c->form == FORM_TABLE)
        doc = ctl_json(&a);
    if (*rc == CTL_OK && doc == NULL)
        *rc = ctl_say_answer(c, &a, NULL);
    buf_fini(&a.body);
    return doc;
}

json_t *ctl_get(const struct ctl *c, const char *path, const char *name, int *rc)
{
    struct ctl plain = *c;
    json_t *doc;

    plain.form = FORM_TABLE;
    doc = ctl_fetch(&plain, (struct ctl_call){ .method = "GET", .path = path, .name = name }, rc);
    if (doc == NULL && *rc == CTL_OK) /* no JSON */
        *rc = CTL_REFUSED;
    return doc;
}

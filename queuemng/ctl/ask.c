/* ask.c: one request and its answer, printed as its view, its bytes (--json), or the refusal. */
#include "queuemng/ctl/ask.h"

#include <assert.h>
#include <errno.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/text.h"

int ctl_say_err(const struct err *e, int code)
{
    struct buf b;

    fflush(stdout); /* `watch` has cleared the screen for this */
    buf_init(&b);
    ctl_clean(&b, e->text);
    fprintf(stderr, "segqctl: %.*s\n", (int)b.len, b.data != NULL ? (char *)b.data : "");
    buf_fini(&b);
    return code;
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

int ctl_say_answer(const struct ctl *c, const struct ctl_answer *a, view_fn view)
{
    json_t *doc =
        json_loadb((const char *)a->body.data, a->body.len, JSON_DECODE_ANY, NULL);
    bool good = a->status >= 200 && a->status < 300;
    struct buf b;

    buf_init(&b);
    if (good && a->body.len == 0)
        buf_str(&b, "ok"); /* 204 */
    else if (good && doc != NULL && view != NULL && !c->json)
        view(&b, doc);
    else if (good)
        buf_append(&b, a->body.data, a->body.len);
    else
        view_problem(&b, a->status, doc);
    if (good && b.len > 0 && b.data[b.len - 1] != '\n')
        buf_byte(&b, '\n');
    if (good)
        ctl_put_out(&b);
    else
        fprintf(stderr, "segqctl: %.*s\n", (int)b.len, (char *)b.data);
    buf_fini(&b);
    json_decref(doc);
    return good ? CTL_OK : CTL_REFUSED;
}

/* Is this the answer of a manager that does not lead? *leader: where it sends us (owned),
 * NULL: it knows nobody. */
static bool does_not_lead(const struct ctl_answer *a, char **leader)
{
    json_t *doc = a->status == 200
                      ? NULL
                      : json_loadb((const char *)a->body.data, a->body.len, 0, NULL);
    const char *code = json_string_value(json_object_get(doc, "code"));
    const char *url = json_string_value(json_object_get(doc, "leader"));
    bool no = code != NULL && strcmp(code, "not_leader") == 0;

    *leader = no && url != NULL ? strdup(url) : NULL;
    json_decref(doc);
    return no;
}

/* One manager, then the leader that it names. SQ_EUNAVAIL: neither leads, or can be reached. */
static int ask_one(const struct ctl *c, const char *url, const struct ctl_call *call,
                   struct ctl_answer *a, struct err *e)
{
    int rc = ctl_http(url, call, c->timeout_s, a, e);
    char *leader = NULL;

    if (rc < 0 || !does_not_lead(a, &leader))
        return rc;
    if (leader == NULL)
        return err_set(e, SQ_EUNAVAIL, "%s: no manager leads at present", url);
    rc = ctl_http(leader, call, c->timeout_s, a, e);
    free(leader);
    if (rc == 0 && does_not_lead(a, &leader)) { /* the lead has just changed hands */
        free(leader);
        rc = err_set(e, SQ_EUNAVAIL, "%s: does not lead any more", url);
    }
    return rc;
}

/* An address and a token are needed: names the one that is missing. */
static int nobody_to_ask(const struct ctl *c)
{
    fputs(c->admins.n == 0 && c->token == NULL
              ? "segqctl: no cluster is given: --dir D, or --admin URL and --token-file F\n"
          : c->token == NULL ? "segqctl: no admin token is given: --token-file F, or --dir D\n"
                             : "segqctl: no address of queuemng is given: --admin URL, or "
                               "--dir D\n",
          stderr);
    return CTL_USAGE;
}

static int admin_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a)
{
    bool order = strcmp(call.method, "GET") != 0;
    struct err e = { 0 };
    int rc = SQ_EUNAVAIL;

    if (c->admins.n == 0 || c->token == NULL)
        return nobody_to_ask(c);
    call.bearer = c->token;
    for (size_t i = 0; i < c->admins.n; i++) {
        rc = ask_one(c, c->admins.v[i], &call, a, &e);
        if (rc == 0)
            return CTL_OK;
        if (rc != SQ_EUNAVAIL && order)
            break; /* perhaps it has been done */
    }
    return ctl_say_err(&e, CTL_REFUSED);
}

/* The first router that answers. That also holds for joins: if one took it and died, nobody
 * knows the token of that ticket, and it times out. */
static int router_ask(const struct ctl *c, const struct ctl_call *call, struct ctl_answer *a)
{
    struct err e = { 0 };
    int rc = -1;

    if (c->routers.n == 0) {
        fprintf(stderr, "segqctl: no router is given: --router URL, or --dir D\n");
        return CTL_USAGE;
    }
    for (size_t i = 0; i < c->routers.n && rc < 0; i++) {
        a->from = c->routers.v[i];
        rc = ctl_http(a->from, call, c->timeout_s, a, &e);
    }
    return rc < 0 ? ctl_say_err(&e, CTL_REFUSED) : CTL_OK;
}

/* False: too long. */
static bool path_set(char *dst, size_t cap, const struct ctl_call *call)
{
    const char *star = strchr(call->path, '*');
    char *name = star != NULL ? evhttp_uriencode(call->name, -1, 0) : NULL;
    int n = -1;

    assert(star == NULL || call->name != NULL);
    if (star == NULL)
        n = snprintf(dst, cap, "%s", call->path);
    else if (name != NULL)
        n = snprintf(dst, cap, "%.*s%s%s", (int)(star - call->path), call->path, name, star + 1);
    free(name);
    return n > 0 && (size_t)n < cap;
}

int ctl_ask(const struct ctl *c, struct ctl_call call, struct ctl_answer *a)
{
    char path[768]; /* a queue and a key, each character encoded */

    if (!path_set(path, sizeof(path), &call)) {
        fprintf(stderr, "segqctl: '%.60s...' is too long\n", call.name);
        return CTL_USAGE;
    }
    call.path = path;
    return strncmp(path, "/v1/admin/", 10) == 0 ? admin_ask(c, call, a) : router_ask(c, &call, a);
}

json_t *ctl_show(const struct ctl *c, struct ctl_call call, view_fn view, int *rc)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK)
        *rc = ctl_say_answer(c, &a, view);
    if (*rc == CTL_OK)
        doc = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    buf_fini(&a.body);
    return doc;
}

int ctl_do(const struct ctl *c, struct ctl_call call, view_fn view)
{
    int rc;

    json_decref(ctl_show(c, call, view, &rc));
    return rc;
}

json_t *ctl_fetch(const struct ctl *c, struct ctl_call call, int *rc)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    *rc = ctl_ask(c, call, &a);
    if (*rc == CTL_OK && a.status == 200 && !c->json)
        doc = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    if (*rc == CTL_OK && doc == NULL)
        *rc = ctl_say_answer(c, &a, NULL);
    buf_fini(&a.body);
    return doc;
}

json_t *ctl_get(const struct ctl *c, const char *path, const char *name, int *rc)
{
    struct ctl plain = *c;
    json_t *doc;

    plain.json = false;
    doc = ctl_fetch(&plain, (struct ctl_call){ .method = "GET", .path = path, .name = name }, rc);
    if (doc == NULL && *rc == CTL_OK) /* no JSON */
        *rc = CTL_REFUSED;
    return doc;
}

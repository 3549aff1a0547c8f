/* ask.c: one request to the manager that leads, or to a router. */
#include "queuemng/ctl_ask/ask.h"

#include <assert.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_ask/out.h"

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

/* Does the way to the leader give away what the way to this one hides? */
static bool in_the_clear(const char *url, const char *leader)
{
    return strncmp(url, "https:", 6) == 0 && strncmp(leader, "https:", 6) != 0;
}

/* Asks a manager, then the leader that it names. SQ_EUNAVAIL: neither leads, or can be reached. */
static int ask_one(const struct ctl *c, const char *url, const struct ctl_call *call,
                   struct ctl_answer *a, struct err *e)
{
    const struct ctl_net net = { c->timeout_s, c->cacert, c->operator };
    int rc = ctl_http(url, call, &net, a, e);
    char *leader = NULL;

    if (rc < 0 || !does_not_lead(a, &leader))
        return rc;
    if (leader == NULL)
        return err_set(e, SQ_EUNAVAIL, "%s: no manager leads at present", url);
    if (in_the_clear(url, leader)) {
        err_set(e, SQ_EUNAVAIL, "%s: %s leads, and is not asked: the token would go there in the "
                "clear; name its https address with --admin", url, leader);
        free(leader);
        return SQ_EUNAVAIL;
    }
    rc = ctl_http(leader, call, &net, a, e);
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

int ctl_try(const struct ctl *c, struct ctl_call call, struct ctl_answer *a, struct err *e)
{
    bool order = strcmp(call.method, "GET") != 0;
    int rc = SQ_EUNAVAIL;

    call.bearer = c->token;
    for (size_t i = 0; i < c->admins.n; i++) {
        rc = ask_one(c, c->admins.v[i], &call, a, e);
        if (rc == 0)
            return CTL_OK;
        if (rc != SQ_EUNAVAIL && order)
            break; /* perhaps it has been done */
    }
    return CTL_REFUSED;
}

static int admin_ask(const struct ctl *c, const struct ctl_call *call, struct ctl_answer *a)
{
    struct err e = { 0 };

    if (c->admins.n == 0 || c->token == NULL)
        return nobody_to_ask(c);
    return ctl_try(c, *call, a, &e) == CTL_OK ? CTL_OK : ctl_say_err(&e, CTL_REFUSED);
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
        rc = ctl_http(a->from, call, &(const struct ctl_net){ c->timeout_s, c->cacert, c->operator }, a, &e);
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
    a->name = call.name;
    return strncmp(path, "/v1/admin/", 10) == 0 ? admin_ask(c, &call, a)
                                                : router_ask(c, &call, a);
}

/* definitions.c: see the header. */
#include "queuemng/ctl/definitions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/ip.h"
#include "common/task/url.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"

#define ENDPT "/v1/admin/endpoints/*"

/* ---- a delete that is only looked at ---- */

/* Tasks to be done of the pool, or of the pools of an endpoint: queuemng removes neither then. */
static uint64_t held_by_tasks(const json_t *doc, const char *key, const char *name)
{
    const json_t *p;
    uint64_t n = 0;
    size_t i;

    json_array_foreach(json_object_get(doc, "pools"), i, p)
        if (strcmp(ctl_str(p, key), name) == 0)
            n += ctl_u64(p, "scheduled") + ctl_u64(p, "waiting") + ctl_u64(p, "running");
    return n;
}

static uint64_t held_by_members(const json_t *doc, const char *name)
{
    const json_t *x;
    size_t i;

    json_array_foreach(json_object_get(doc, "budgets"), i, x)
        if (strcmp(ctl_str(x, "name"), name) == 0)
            return json_array_size(json_object_get(x, "members"));
    return 0;
}

/* CTL_REFUSED: as diff has it, something would change; or the manager would refuse it. */
static int would_delete(struct ctl *c, const char *kind, const char *name, bool final)
{
    const struct def_kind *k = def_kind_of(kind);
    bool budget = strcmp(kind, "budget") == 0;
    int rc;
    json_t *def = ctl_get(c, k->one, name, &rc), *all = NULL;
    uint64_t n = 0;

    if (def != NULL)
        all = ctl_get(c, budget ? k->all : "/v1/admin/task-queues", NULL, &rc);
    if (all != NULL)
        n = budget ? held_by_members(all, name)
                   : held_by_tasks(all, strcmp(kind, "pool") == 0 ? "pool" : "endpoint", name);
    if (n > 0 && !final)
        fprintf(stderr, "segqctl: %s %.80s has %llu %s%s: it would not be deleted%s\n", kind, name,
                (unsigned long long)n, budget ? "member" : "task", n == 1 ? "" : "s", budget ? "" : " without 'final'");
    else if (all != NULL && n > 0)
        printf("%s %.80s: is deleted, with %llu tasks that are not done\n", kind, name, (unsigned long long)n);
    else if (all != NULL)
        printf("%s %.80s: is deleted\n", kind, name);
    if (all != NULL)
        rc = CTL_REFUSED;
    json_decref(all);
    json_decref(def);
    return rc;
}

/* ---- deletes ---- */

/* Without `final` queuemng removes nothing that has tasks to be done. */
int definition_delete(struct ctl *c, const char *kind, int argc, char **argv)
{
    const char *path = def_kind_of(kind)->one;
    struct ctl_call call = { .method = "DELETE", .path = path, .name = argv[0] };
    bool final = argc > 1;
    char with_final[80];
    int rc = CTL_OK;

    if (final && strcmp(argv[1], "final") != 0) {
        fprintf(stderr, "segqctl: after the name only 'final' is allowed\n");
        return CTL_USAGE;
    }
    if (c->dry_run)
        return would_delete(c, kind, argv[0], final);
    if (final) {
        snprintf(with_final, sizeof(with_final), "%s?final=true", path);
        call.path = with_final;
        rc = ctl_sure_of(c, "All tasks of its queues, their results, and their schedules are gone for "
                            "good.\n", argv[0]);
    }
    return rc == CTL_OK ? ctl_do(c, call, view_deleted) : rc;
}

/* ---- endpoints ---- */

/* Finds what is reported of it; "" of a name that has gone meanwhile. New reference. */
static json_t *endpoint_now(const json_t *all, const char *name)
{
    json_t *x;
    size_t i;

    json_array_foreach(json_object_get(all, "endpoints"), i, x)
        if (strcmp(ctl_str(x, "name"), name) == 0)
            return json_incref(x);
    return json_object();
}

int cmd_endpoint_show(struct ctl *c, int argc, char **argv)
{
    int rc;
    json_t *def = ctl_get(c, ENDPT, argv[0], &rc), *all = NULL;

    (void)argc;
    if (def != NULL)
        all = ctl_get(c, "/v1/admin/task-queues", NULL, &rc);
    if (all != NULL) {
        json_object_set_new(def, "now", endpoint_now(all, argv[0]));
        rc = ctl_say_doc(c, def, view_pretty);
    }
    json_decref(all);
    json_decref(def);
    return rc;
}

static bool allows(const json_t *def, const struct ip *ip)
{
    const json_t *allow = json_object_get(def, "allow"), *x;
    struct ip_net net;
    size_t i;

    json_array_foreach(allow, i, x)
        if (json_is_string(x) && ip_net_parse(&net, json_string_value(x)) && ip_in(&net, ip))
            return true;
    return ip_is_public(ip);
}

/* Names mean what the task nodes are told, which is not known here; but for this one. */
static const char *address_of(const struct url *u)
{
    return strcmp(u->host, "localhost") == 0 ? "127.0.0.1" : u->host;
}

static bool calls_nobody(const json_t *def, struct url *u)
{
    const char *proxy = json_string_value(json_object_get(def, "proxy"));
    struct ip ip;

    if ((proxy != NULL && proxy[0] != '\0') || url_parse(u, ctl_str(def, "url")) != NULL)
        return false;
    return ip_parse(&ip, address_of(u), strlen(address_of(u))) && !allows(def, &ip);
}

void endpoint_hint(struct ctl *c, const char *name)
{
    struct ctl plain = *c;
    struct url u;
    int rc;
    json_t *def;

    plain.form = FORM_TABLE;
    def = ctl_get(&plain, ENDPT, name, &rc);
    if (def != NULL && calls_nobody(def, &u))
        fprintf(stderr, "segqctl: endpoint %.80s: %s is not public, and not in `allow`: no call is made, and its tasks "
                "wait; to let calls go there: segqctl endpoint set %.80s allow='[\"%s\"]'\n", name, u.host, name,
                address_of(&u));
    json_decref(def);
}

#define PROBE ENDPT "/probe"
#define LOOKS 100 /* looks of 200 ms */

/* Looks at it until it has ended everywhere. */
static bool has_ended(const json_t *doc)
{
    const json_t *x;
    size_t i;

    json_array_foreach(json_object_get(doc, "probe"), i, x) {
        const char *word = ctl_str(x, "outcome");

        if (strcmp(word, "asked") == 0 || strcmp(word, "sent") == 0)
            return false;
    }
    return true;
}

int cmd_endpoint_probe(struct ctl *c, int argc, char **argv)
{
    const struct timespec pause = { .tv_nsec = 200000000 };
    struct ctl_call call = { .method = "POST", .path = PROBE, .name = argv[0] };
    struct ctl plain = *c;
    json_t *doc;
    int rc;

    (void)argc;
    plain.form = FORM_TABLE; /* the last answer is wanted */
    doc = ctl_fetch(&plain, call, &rc);
    for (unsigned i = 0; i < LOOKS && doc != NULL && !has_ended(doc); i++) {
        json_decref(doc);
        nanosleep(&pause, NULL);
        doc = ctl_get(c, PROBE, argv[0], &rc);
    }
    if (doc != NULL)
        rc = ctl_say_doc(c, doc, view_probe);
    json_decref(doc);
    return rc;
}

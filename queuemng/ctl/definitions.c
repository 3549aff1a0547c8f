/* definitions.c: see the header. */
#include "queuemng/ctl/definitions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "queuemng/ctl/ask.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/policy/budget_def.h"
#include "queuemng/policy/endpoint_def.h"
#include "queuemng/policy/pool_def.h"
#include "queuemng/policy/queue_def.h"

#define QUEUE "/v1/admin/queues/*"
#define POOL  "/v1/admin/pools/*"
#define ENDPT "/v1/admin/endpoints/*"
#define BUDGET "/v1/admin/budgets/*"

static int def_write(struct ctl *c, struct ctl_call call, const struct cfg_key *keys, int argc,
                     char **argv)
{
    struct err e = { 0 };
    json_t *doc = ctl_pairs(argv + 1, (size_t)argc - 1, keys, &e);
    int rc;

    if (doc == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    call.name = argv[0];
    call.body = doc;
    rc = ctl_do(c, call, view_pretty);
    json_decref(doc);
    return rc;
}

int cmd_queue_set(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PATCH", .path = QUEUE }, queue_def_keys,
                     argc, argv);
}

/* Never replaces one: that is `queue set`. */
int cmd_queue_add(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PUT", .path = QUEUE, .if_none_match = "*" },
                     queue_def_keys, argc, argv);
}

/* ---- pools ---- */

int cmd_pool_set(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PATCH", .path = POOL }, pool_def_keys, argc,
                     argv);
}

int cmd_pool_add(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PUT", .path = POOL, .if_none_match = "*" },
                     pool_def_keys, argc, argv);
}

/* Without `final` queuemng removes nothing that has tasks to be done. */
static int delete_final(struct ctl *c, int argc, char **argv, const char *path, const char *final)
{
    struct ctl_call call = { .method = "DELETE", .path = path, .name = argv[0] };
    struct buf what;
    int rc = CTL_OK;

    if (argc > 1 && strcmp(argv[1], "final") != 0) {
        fprintf(stderr, "segqctl: after the name only 'final' is allowed\n");
        return CTL_USAGE;
    }
    if (argc > 1) {
        call.path = final;
        buf_init(&what);
        buf_str(&what, "All tasks of its queues, and their results, are gone for good.\n");
        rc = ctl_sure(c, &what, argv[0]);
        buf_fini(&what);
    }
    return rc == CTL_OK ? ctl_do(c, call, view_done) : rc;
}

int cmd_pool_delete(struct ctl *c, int argc, char **argv)
{
    return delete_final(c, argc, argv, POOL, POOL "?final=true");
}

/* ---- endpoints ---- */

/* What is reported of it; "" of a name that has gone meanwhile. New reference. */
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
        ctl_print(view_pretty, def);
    }
    json_decref(all);
    json_decref(def);
    return rc;
}

int cmd_endpoint_set(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PATCH", .path = ENDPT }, endpoint_def_keys,
                     argc, argv);
}

int cmd_endpoint_add(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PUT", .path = ENDPT, .if_none_match = "*" },
                     endpoint_def_keys, argc, argv);
}

int cmd_endpoint_delete(struct ctl *c, int argc, char **argv)
{
    return delete_final(c, argc, argv, ENDPT, ENDPT "?final=true");
}

#define PROBE ENDPT "/probe"
#define LOOKS 100 /* of 200 ms */

/* It is looked at until it has ended everywhere. */
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
    plain.json = false; /* its last answer is what is wanted */
    doc = ctl_fetch(&plain, call, &rc);
    for (unsigned i = 0; i < LOOKS && doc != NULL && !has_ended(doc); i++) {
        json_decref(doc);
        nanosleep(&pause, NULL);
        doc = ctl_get(c, PROBE, argv[0], &rc);
    }
    if (doc != NULL)
        ctl_print(c->json ? view_pretty : view_probe, doc);
    json_decref(doc);
    return rc;
}

/* ---- budgets ---- */

int cmd_budget_set(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PATCH", .path = BUDGET }, budget_def_keys, argc,
                     argv);
}

int cmd_budget_add(struct ctl *c, int argc, char **argv)
{
    return def_write(c, (struct ctl_call){ .method = "PUT", .path = BUDGET, .if_none_match = "*" },
                     budget_def_keys, argc, argv);
}

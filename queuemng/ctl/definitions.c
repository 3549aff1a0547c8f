/* definitions.c: see the header. */
#include "queuemng/ctl/definitions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "queuemng/ctl_ask/answer.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"

#define POOL  "/v1/admin/pools/*"
#define ENDPT "/v1/admin/endpoints/*"

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
        rc = ctl_say_doc(c, def, view_pretty);
    }
    json_decref(all);
    json_decref(def);
    return rc;
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
    plain.form = FORM_TABLE; /* its last answer is what is wanted */
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

/* run.c: finds the command that was typed, in the table, and does it. */
#include "queuemng/ctl/run.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "queuemng/ctl_ask/answer.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/definitions.h"
#include "queuemng/ctl/files.h"
#include "queuemng/ctl/help.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_view/text.h"

const struct cmd *cmd_find(int argc, char **argv)
{
    char two[40];

    snprintf(two, sizeof(two), "%s %s", argv[0], argc > 1 ? argv[1] : "");
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        if (strcmp(d->words, argv[0]) == 0 || strcmp(d->words, two) == 0)
            return d;
    return NULL;
}

/* The risk of a command, or of the keys that it sets. A new queue has nobody in it yet. */
static enum risk risk_of(const struct cmd *d, const json_t *body)
{
    bool sets = d->kind != NULL && strcmp(d->kind, "queue") == 0 && strcmp(d->method, "PATCH") == 0;

    return sets ? risk_of_keys(body) : d->risk;
}

/* The request of its row: the name, then KEY=VALUE if it takes them. */
static int cmd_send(struct ctl *c, const struct cmd *d, int argc, char **argv)
{
    struct ctl_call call = { .method = d->method, .path = d->path,
                             .name = argc > 0 ? argv[0] : NULL };
    struct err e = { 0 };
    json_t *body = NULL;
    int rc;

    assert(d->path != NULL && (d->keys != NULL || d->max <= 1));
    if (d->keys != NULL && (body = ctl_pairs(argv + 1, (size_t)argc - 1, d->keys, &e)) == NULL)
        return ctl_say_err(&e, CTL_USAGE);
    if (c->dry_run && d->kind != NULL) {
        rc = cmd_would_change(c, d->kind, argv[0], body, strcmp(d->method, "PUT") == 0);
        json_decref(body);
        return rc;
    }
    call.body = body;
    if (strcmp(d->method, "PUT") == 0)
        call.if_none_match = "*"; /* `add` never replaces one */
    rc = risk_of(d, body) != RISK_NONE ? ctl_is_sure(c, risk_of(d, body), call.name) : CTL_OK;
    if (rc == CTL_OK && d->kind != NULL && strcmp(d->method, "GET") != 0)
        rc = cmd_change(c, d->kind, call);
    else if (rc == CTL_OK)
        rc = ctl_do(c, call, d->view);
    if (rc == CTL_OK && d->kind != NULL && strcmp(d->kind, "endpoint") == 0)
        endpoint_hint(c, argv[0]);
    json_decref(body);
    return rc;
}

/* Refuses what a command would ignore: it would do something else than was meant. */
static bool takes_options(const struct ctl *c, const struct cmd *d)
{
    const struct {
        const char *name;
        bool given;
    } some[] = {
        { "label", c->label != NULL },       { "force", c->force },
        { "dry-run", c->dry_run },           { "task", c->task != NULL },
        { "task-key", c->task_key != NULL }, { "priority", c->priority != NULL },
        { "interval", c->every_s > 0 },      { "count", c->count > 0 },
        { "file", c->file != NULL },
    };

    if (d->text_only && c->form != FORM_TABLE) {
        fprintf(stderr, "segqctl: %s prints text; it has no -o json or yaml\n", d->words);
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(some); i++)
        if (some[i].given && !option_is_in(d->options, some[i].name)) {
            fprintf(stderr, "segqctl: %s does not take --%s\n", d->words, some[i].name);
            return false;
        }
    return true;
}

int cmd_run(struct ctl *c, int argc, char **argv)
{
    const struct cmd *d = cmd_find(argc, argv);
    int words;

    if (d == NULL)
        return cmd_unknown(argc, argv);
    words = strchr(d->words, ' ') != NULL ? 2 : 1;
    argc -= words;
    if (!takes_options(c, d))
        return CTL_USAGE;
    if (argc < d->min || (d->max >= 0 && argc > d->max)) {
        fprintf(stderr, "usage: segqctl %s %s\n", d->words, d->takes);
        return CTL_USAGE;
    }
    return d->run != NULL ? d->run(c, argc, argv + words) : cmd_send(c, d, argc, argv + words);
}

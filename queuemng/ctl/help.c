/* help.c: the commands that there are, for those who ask. */
#include "queuemng/ctl/help.h"

#include <stdio.h>
#include <string.h>

#include "common/config/cfg_help.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/options.h"
#include "version.h"

static void put_help(struct buf *b, const struct cmd *d)
{
    char left[80];

    snprintf(left, sizeof(left), "%s %s", d->words, d->takes);
    buf_printf(b, "  %-38s %s\n", left, d->help);
}

/* Prints what the command that was asked for takes besides. */
static void put_details(struct buf *b, const struct cmd *d)
{
    if (d->options != NULL) {
        buf_str(b, "\noptions of it:\n");
        options_help(b, d->options);
    }
    if (d->keys != NULL) {
        buf_str(b, "\nkeys; below one that is a map, those in it (idle.game=3s):\n");
        cfg_help(b, d->keys, false);
    }
    if (d->undo[0] != '\0')
        buf_printf(b, "\nundo: %s\n", d->undo);
    if (d->options != NULL || d->keys != NULL || d->undo[0] != '\0')
        buf_byte(b, '\n');
}

/* Prints those that begin with these words. */
int cmd_help_of(int argc, char **argv)
{
    const struct cmd *last = NULL;
    struct buf b;
    size_t n_found = 0;

    buf_init(&b);
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        const char *second = strchr(d->words, ' ');
        size_t n = second != NULL ? (size_t)(second - d->words) : strlen(d->words);

        if (strlen(argv[0]) == n && memcmp(d->words, argv[0], n) == 0 &&
            (argc < 2 || second == NULL || strcmp(second + 1, argv[1]) == 0)) {
            put_help(&b, d);
            last = d;
            n_found++;
        }
    }
    if (n_found == 1)
        put_details(&b, last);
    if (b.len == 0) {
        buf_fini(&b);
        return cmd_unknown(argc, argv);
    }
    buf_str(&b, "segqctl -h lists all commands, and the options\n");
    ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

void cmd_help(struct buf *b)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        put_help(b, d);
}

/* ---- the manual page ---- */

static const char man_begin[] =
    ".TH SEGQCTL 1 \"\" \"segq " SEGQ_VERSION "\" \"segq\"\n"
    ".SH NAME\nsegqctl \\- the operators' command of segq, a waiting room\n"
    ".SH SYNOPSIS\n.B segqctl\n[\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...\n"
    ".SH DESCRIPTION\n"
    "It asks queuemng, the manager that leads, and routers for the commands about single tickets. It "
    "prints what it did in a line, and asks first where a command takes places or tasks away.\n"
    ".SH COMMANDS\n";

static const char man_end[] =
    ".SH ENVIRONMENT\nIn place of options, if they are not given.\n"
    ".TP\n\\fBSEGQ_DIR\\fR, \\fBSEGQ_CONTEXT\\fR, \\fBSEGQ_TOKEN_FILE\\fR, \\fBSEGQ_CACERT\\fR\n"
    "As the options of these names.\n"
    ".TP\n\\fBSEGQ_ADMIN\\fR, \\fBSEGQ_ROUTER\\fR\nAddresses, with blanks between them.\n"
    ".TP\n\\fBSEGQ_CONFIG\\fR\nThe file of contexts.\n"
    ".TP\n\\fBSEGQ_OPERATOR\\fR\nYour name in the log of changes; else the context's, else the login name.\n"
    ".TP\n\\fBNO_COLOR\\fR\nNot empty: no colours.\n"
    ".TP\n\\fBVISUAL\\fR, \\fBEDITOR\\fR\nWhat \\fBedit\\fR runs.\n"
    ".SH FILES\n"
    ".TP\n\\fI~/.config/segq/contexts.yaml\\fR\nClusters by name.\n"
    ".TP\n\\fI./run\\fR\nThe cluster of \\fBmake run\\fR, if nothing else is given.\n"
    ".SH EXIT STATUS\n"
    ".TP\n0\nDone.\n"
    ".TP\n1\nThe cluster refused or does not answer; \\fBdiff\\fR, \\fB\\-\\-dry\\-run\\fR: something "
    "would change.\n"
    ".TP\n2\nWrong usage.\n"
    ".SH EXAMPLES\n.EX\n"
    "segqctl context add prod admin=https://mng1:8071 token_file=admin.token\n"
    "segqctl top\n"
    "segqctl rate login 500 \\-\\-dry\\-run\n"
    "segqctl \\-o json status | jq \\(aq.queues[].queue\\(aq\n"
    "source <(segqctl completion bash)\n.EE\n";

int cmd_man(int argc)
{
    char words[60];
    struct buf b;

    if (argc > 0) {
        fputs("usage: segqctl man\n", stderr);
        return CTL_USAGE;
    }
    buf_init(&b);
    buf_str(&b, man_begin);
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        man_entry(&b, d->words, d->takes, d->help);
    man_entry(&b, "help", "COMMAND", "shows one of them");
    man_entry(&b, "completion", "bash|zsh|fish", "what these shells need to complete commands, options, "
              "keys, and the names that the cluster knows");
    man_entry(&b, "man", "", "this page");
    buf_str(&b, ".SH OPTIONS\nThey may stand anywhere on the line; \\-\\- ends them.\n");
    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++) {
        if (o->letter != 0)
            snprintf(words, sizeof(words), "-%c, --%s", o->letter, o->name);
        else
            snprintf(words, sizeof(words), "--%s", o->name);
        man_entry(&b, words, o->takes, o->help);
    }
    buf_str(&b, man_end);
    ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

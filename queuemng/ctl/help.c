/* help.c: see the header. */
#include "queuemng/ctl/help.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/config/cfg_dump.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_view/text.h"
#include "version.h"

/* ---- help ---- */

static void put_help(struct buf *b, const struct cmd *d)
{
    char left[80];

    snprintf(left, sizeof(left), "%s %s", d->words, d->takes);
    buf_printf(b, "  %-38s %s\n", left, d->help);
}

/* Prints what the command that was asked for takes besides. */
static void put_details(struct buf *b, const struct cmd *d)
{
    const struct cfg_key *keys = cmd_keys(d);

    if (d->options != NULL) {
        buf_str(b, "\noptions of it:\n");
        options_help(b, d->options);
    }
    if (keys != NULL) {
        buf_str(b, "\nkeys; below one that is a map, those in it (idle.game=3s):\n");
        cfg_help(b, keys, false);
    }
    if (d->undo[0] != '\0')
        buf_printf(b, "\nundo: %s\n", d->undo);
    if (d->options != NULL || keys != NULL || d->undo[0] != '\0')
        buf_byte(b, '\n');
}

/* Prints those that begin with these words. */
int cmd_help_of(char **argv)
{
    const struct cmd *last = NULL;
    size_t n_found = 0;
    struct buf b;

    buf_init(&b);
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        const char *second = cmd_second(d);

        if (cmd_is_first(d, argv[0]) && (argv[1] == NULL || second == NULL ||
                                         strcmp(second, argv[1]) == 0)) {
            put_help(&b, d);
            last = d;
            n_found++;
        }
    }
    if (n_found == 1)
        put_details(&b, last);
    if (n_found > 0)
        buf_str(&b, "segqctl -h lists all commands, and the options\n");
    ctl_put_out(&b);
    buf_fini(&b);
    return n_found > 0 ? CTL_OK : cmd_unknown(argv);
}

void cmd_help(struct buf *b)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        put_help(b, d);
}

/* ---- the manual page ---- */

static const char man_begin[] =
    ".TH SEGQCTL 1 \"\" \"segq " SEGQ_VERSION "\" \"segq\"\n.SH NAME\nsegqctl \\- the operators' "
                                              "command of segq, a waiting room\n.SH SYNOPSIS\n.B "
                                              "segqctl\n[\\fIOPTION\\fR]... \\fICOMMAND\\fR "
                                              "[\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\nIt asks "
                                              "queuemng, the manager that leads, and routers for "
                                              "the commands about single tickets. It prints what "
                                              "it did in a line, and asks first where a command "
                                              "takes places or tasks away.\n.SH COMMANDS\n";

static const char man_end[] =
    ".SH ENVIRONMENT\nIn place of options, if they are not given.\n.TP\n\\fBSEGQ_DIR\\fR, "
    "\\fBSEGQ_CONTEXT\\fR, \\fBSEGQ_TOKEN_FILE\\fR, \\fBSEGQ_CACERT\\fR\nAs the options of these "
    "names.\n.TP\n\\fBSEGQ_ADMIN\\fR, \\fBSEGQ_ROUTER\\fR\nAddresses, with blanks between "
    "them.\n.TP\n\\fBSEGQ_CONFIG\\fR\nThe file of contexts.\n.TP\n\\fBSEGQ_OPERATOR\\fR\nYour name "
    "in the log of changes; else the context's, else the login name.\n.TP\n\\fBNO_COLOR\\fR\nNot "
    "empty: no colours.\n.TP\n\\fBVISUAL\\fR, \\fBEDITOR\\fR\nWhat \\fBedit\\fR runs.\n.SH "
    "FILES\n.TP\n\\fI~/.config/segq/contexts.yaml\\fR\nClusters by name.\n.TP\n\\fI./run\\fR\nThe "
    "cluster of \\fBmake run\\fR, if nothing else is given.\n.SH EXIT "
    "STATUS\n.TP\n0\nDone.\n.TP\n1\nThe cluster refused or does not answer; \\fBdiff\\fR, "
    "\\fB\\-\\-dry\\-run\\fR: something would change.\n.TP\n2\nWrong usage.\n.SH "
    "EXAMPLES\n.EX\nsegqctl context add prod admin=https://mng1:8071 "
    "token_file=admin.token\nsegqctl top\nsegqctl rate login 500 \\-\\-dry\\-run\nsegqctl \\-o "
    "json status | jq \\(aq.queues[].queue\\(aq\nsource <(segqctl completion bash)\n.EE\n";

int cmd_man(int argc)
{
    char words[60];
    struct buf b;

    if (argc > 0)
        return ctl_usage("man", "");
    buf_init(&b);
    buf_str(&b, man_begin);
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        man_entry(&b, d->words, d->takes, d->help);
    man_entry(&b, "help", "COMMAND", "shows one of them");
    man_entry(&b, "completion", "bash|zsh|fish", "what these shells need to complete commands, "
                                                 "options, keys, and the names that the cluster "
                                                 "knows");
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

/* ---- completion: the shells' parts are a few lines that ask segqctl again ---- */

#define ASK_S 1 /* somebody has pressed a key and waits */

/* Words up to the cursor by blanks: bash itself would split http://host:1 and key=value. */
static const char bash[] =
    "_segqctl() {\n"
    "    local words cur\n"
    "    read -ra words <<<\"${COMP_LINE:0:COMP_POINT}\"\n"
    "    cur=\n"
    "    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] || {\n"
    "        cur=${words[-1]}\n"
    "        unset 'words[-1]'\n"
    "    }\n"
    "    mapfile -t COMPREPLY < <(\"${words[0]}\" completion words \"cur:$cur\" "
    "\"${words[@]:1}\" 2>/dev/null </dev/null)\n"
    "    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
    "}\n"
    "complete -o default -F _segqctl segqctl\n";

/* The same for zsh: it has split the line, and a word that ends with = is not over. */
static const char zsh[] =
    "#compdef segqctl\n"
    "_segqctl() {\n"
    "    local -a found\n"
    "    local w\n"
    "    found=(\"${(@f)$(\"${words[1]}\" completion words \"cur:$PREFIX\" "
    "\"${(@)words[2,CURRENT-1]}\" 2>/dev/null </dev/null)}\")\n"
    "    [[ -n ${found[1]} ]] || { _files; return }\n"
    "    for w in $found; do\n"
    "        if [[ $w == *= ]]; then compadd -S '' -- $w; else compadd -- $w; fi\n"
    "    done\n"
    "}\n"
    "if [[ $funcstack[1] == _segqctl ]]; then _segqctl \"$@\"; else compdef _segqctl segqctl; fi\n";

/* fish asks twice, whether there is something (else it names files), and what. */
static const char fish[] =
    "function __segqctl_ask\n"
    "    set -l line (commandline -opc)\n"
    "    set -l cur (commandline -ct)\n"
    "    set -g __segqctl_found ($line[1] completion words \"cur:$cur\" $line[2..-1] "
    "2>/dev/null </dev/null)\n"
    "    test (count $__segqctl_found) -gt 0\n"
    "end\n"
    "complete -c segqctl -n __segqctl_ask -f -a '$__segqctl_found'\n";

/* A word, if it goes on from what has been typed. */
static void put(struct buf *b, const char *cur, const char *word, size_t n, const char *end)
{
    if (strncmp(word, cur, strlen(cur)) != 0 || strlen(cur) > n + strlen(end))
        return;
    buf_append(b, word, n);
    buf_printf(b, "%s\n", end);
}

static void put_options(struct buf *b, const char *cur)
{
    char word[40];

    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++) {
        snprintf(word, sizeof(word), "--%s", o->name);
        put(b, cur, word, strlen(word), "");
    }
}

/* A command that takes something from people is not offered beside harmless ones: who types
 * pa<Tab> for `pause` does not get `passthrough`. Alone it is. */
static bool is_beside_harmless(const struct cmd *risky, const char *cur)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++)
        if (d->risk == RISK_NONE && strncmp(d->words, cur, strlen(cur)) == 0)
            return risky->risk != RISK_NONE;
    return false;
}

/* First words, or the second ones of `first`; a group is several rows, one behind the other. */
static void put_commands(struct buf *b, const char *cur, const char *first)
{
    static const char *const others[] = { "help", "completion", "man" };

    for (const struct cmd *d = ctl_cmds; first == NULL && d->words != NULL; d++) {
        size_t n = strcspn(d->words, " ");
        bool same = d > ctl_cmds && strncmp(d[-1].words, d->words, n) == 0 && strcspn(d[-1].words,
                                                                                      " ") == n;

        if (!same && (*cur == '\0' || !is_beside_harmless(d, cur)))
            put(b, cur, d->words, n, "");
    }
    for (const struct cmd *d = ctl_cmds; first != NULL && d->words != NULL; d++)
        if (cmd_is_first(d, first) && cmd_second(d) != NULL)
            put(b, cur, cmd_second(d), strlen(cmd_second(d)), "");
    for (size_t i = 0; first == NULL && i < ARRAY_LEN(others); i++)
        put(b, cur, others[i], strlen(others[i]), "");
}

/* Puts those of a list in an answer that a line of the terminal can have. */
static void put_names(struct ctl *c, struct buf *b, const char *cur, const char *path,
                      const char *list, const char *key)
{
    json_t *doc, *x;
    size_t i;

    c->timeout_s = ASK_S;
    doc = ctl_look(c, path);
    json_array_foreach(json_object_get(doc, list), i, x) {
        const char *name = ctl_str(x, key);

        if (strpbrk(name, "\r\n\t ") == NULL)
            put(b, cur, name, strlen(name), "");
    }
    json_decref(doc);
}

static void put_keys(struct buf *b, const char *cur, const struct cfg_key *keys, const char *of)
{
    char key[80];

    cfg_each_key(k, keys) {
        snprintf(key, sizeof(key), "%s%s", of, k->key);
        if (k->type != CFG_OBJ) {
            put(b, cur, key, strlen(key), "=");
            continue;
        }
        snprintf(key, sizeof(key), "%s%s.", of, k->key);
        put_keys(b, cur, k->sub, key);
    }
}

/* The place of the first KEY=VALUE among the command's arguments. */
static int pairs_at(const struct cmd *d)
{
    const char *pair = strchr(d->takes, '=');
    int at = 0;

    for (const char *p = d->takes; pair != NULL && p < pair; p++)
        at += *p == ' ';
    return at;
}

/* Finds what stands at this place of the command's arguments: "QUEUE KEY=VALUE...", "QUEUE..." */
static void put_argument(struct ctl *c, struct buf *b, const char *cur, const struct cmd *d,
                         int at)
{
    const char *p = d->takes;
    char word[40];

    for (int i = 0; i < at && *p != '\0' && strncmp(p + strcspn(p, " ."), "...", 3) != 0; i++)
        p += strcspn(p, " ") + (strchr(p, ' ') != NULL);
    p += strspn(p, "[");
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, " ]|."), p);
    if (cmd_keys(d) != NULL && strchr(d->takes, '=') != NULL && at >= pairs_at(d))
        put_keys(b, cur, cmd_keys(d), "");
    else if (strcmp(word, "NODE") == 0)
        put_names(c, b, cur, "/v1/admin/cluster", "nodes", "name");
    else
        for (const struct def_kind *k = def_kinds; k->word != NULL; k++)
            if (strlen(word) == strlen(k->word) && strcasecmp(word, k->word) == 0)
                put_names(c, b, cur, k->all, k->words, k->name);
}

/* argv: the words before the cursor. */
static void put_words(struct ctl *c, struct buf *b, const char *cur, char **argv)
{
    const struct cmd *d = argv[0] != NULL ? cmd_find(argv) : NULL;
    int n = 0;

    while (argv[n] != NULL)
        n++;
    if (cur[0] == '-')
        put_options(b, cur);
    else if (d != NULL)
        put_argument(c, b, cur, d, n - (cmd_second(d) != NULL ? 2 : 1));
    else if (n <= 1)
        put_commands(b, cur, argv[0]);
}

int cmd_completion(struct ctl *c, char **argv)
{
    const char *what = argv[0] != NULL ? argv[0] : "";
    const char *script = strcmp(what, "bash") == 0   ? bash
                         : strcmp(what, "zsh") == 0  ? zsh
                         : strcmp(what, "fish") == 0 ? fish
                                                     : NULL;
    bool words = strcmp(what, "words") == 0 && argv[1] != NULL && strncmp(argv[1], "cur:", 4) == 0;
    struct buf b;

    if (!words && (script == NULL || argv[1] != NULL))
        return ctl_usage("completion", "bash|zsh|fish");
    buf_init(&b);
    if (words)
        put_words(c, &b, argv[1] + 4, argv + 2);
    else
        buf_str(&b, script);
    ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

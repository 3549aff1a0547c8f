/* completion.c: see the header. The shells' parts are a few lines that ask segqctl again. */
#include "queuemng/ctl/completion.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/config/cfg_key.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/text.h"

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

/* A command that takes something from people is not offered beside harmless ones: who types pa<Tab> for
 * `pause` does not get `passthrough`. Alone it is. */
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
    const char *last = "";

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        size_t n = strcspn(d->words, " ");
        bool same = strncmp(last, d->words, n) == 0 && (last[n] == ' ' || last[n] == '\0');

        if (first == NULL && !same && (*cur == '\0' || !is_beside_harmless(d, cur)))
            put(b, cur, d->words, n, "");
        else if (first != NULL && strlen(first) == n && memcmp(first, d->words, n) == 0 &&
                 d->words[n] == ' ')
            put(b, cur, d->words + n + 1, strlen(d->words + n + 1), "");
        last = d->words;
    }
    if (first == NULL)
        for (size_t i = 0; i < ARRAY_LEN(others); i++)
            put(b, cur, others[i], strlen(others[i]), "");
}

/* Puts those of a list in an answer that a line of the terminal can have. */
static void put_names(struct ctl *c, struct buf *b, const char *cur, const char *path,
                      const char *list, const char *key)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL, *x;
    size_t i;

    c->timeout_s = ASK_S;
    if (c->token != NULL && ctl_try(c, (struct ctl_call){ .method = "GET", .path = path }, &a,
                                    NULL) == CTL_OK)
        doc = ctl_json(&a);
    json_array_foreach(json_object_get(doc, list), i, x) {
        const char *name = ctl_str(x, key);

        if (strpbrk(name, "\r\n\t ") == NULL)
            put(b, cur, name, strlen(name), "");
    }
    json_decref(doc);
    buf_fini(&a.body);
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

/* Finds what stands at this place of the command's arguments: "QUEUE KEY=VALUE..." */
static void put_argument(struct ctl *c, struct buf *b, const char *cur, const struct cmd *d,
                         int at)
{
    const char *p = d->takes;
    char word[40];

    for (int i = 0; i < at && *p != '\0'; i++)
        p += strcspn(p, " ") + (strchr(p, ' ') != NULL);
    p += strspn(p, "[");
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, " ]|"), p);
    if (d->keys != NULL && at >= pairs_at(d))
        put_keys(b, cur, d->keys, "");
    else if (strcmp(word, "NODE") == 0)
        put_names(c, b, cur, "/v1/admin/cluster", "nodes", "name");
    else
        for (const struct def_kind *k = def_kinds; k->word != NULL; k++)
            if (strlen(word) == strlen(k->word) && strcasecmp(word, k->word) == 0)
                put_names(c, b, cur, k->all, k->words, k->name);
}

static void put_words(struct ctl *c, struct buf *b, const char *cur, int argc, char **argv)
{
    const struct cmd *d = argc > 0 ? cmd_find(argc, argv) : NULL;

    if (cur[0] == '-')
        put_options(b, cur);
    else if (d != NULL)
        put_argument(c, b, cur, d, argc - (strchr(d->words, ' ') != NULL ? 2 : 1));
    else if (argc <= 1)
        put_commands(b, cur, argc > 0 ? argv[0] : NULL);
}

int cmd_completion(struct ctl *c, int argc, char **argv)
{
    const char *what = argc > 0 ? argv[0] : "";
    const char *script = strcmp(what, "bash") == 0   ? bash
                         : strcmp(what, "zsh") == 0  ? zsh
                         : strcmp(what, "fish") == 0 ? fish
                                                     : NULL;
    int rc = CTL_OK;
    struct buf b;

    buf_init(&b);
    if (argc == 1 && script != NULL)
        buf_str(&b, script);
    else if (argc > 1 && strcmp(what, "words") == 0 && strncmp(argv[1], "cur:", 4) == 0)
        put_words(c, &b, argv[1] + 4, argc - 2, argv + 2);
    else
        rc = CTL_USAGE;
    if (rc != CTL_OK)
        fputs("usage: segqctl completion bash|zsh|fish\n", stderr);
    ctl_put_out(&b);
    buf_fini(&b);
    return rc;
}

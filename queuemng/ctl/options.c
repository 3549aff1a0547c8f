/* options.c: see the header. */
#include "queuemng/ctl/options.h"

#include <stdio.h>
#include <string.h>

#define TEXT_AT 20  /* the column of the words about it */
#define WIDTH   104

const struct ctl_option ctl_options[] = {
    { "dir", OPT_DIR, "D",
      "the cluster that D/cluster.json describes (default: ./run, if it is there)" },
    { "context", OPT_CONTEXT, "NAME",
      "the cluster of this name in your file of contexts (`segqctl context list`)" },
    { "admin", OPT_ADMIN, "URL",
      "queuemng's admin API; may be repeated, the leader is found" },
    { "token-file", OPT_TOKEN, "F",
      "holds the admin token" },
    { "cacert", OPT_CACERT, "F",
      "authorities that sign the certificates of https:// addresses (default: the system's)" },
    { "router", OPT_ROUTER, "URL",
      "a router; may be repeated, any that answers is taken" },
    { "client", OPT_CLIENT, "C",
      "join, move-ticket: browser, mobile or game" },
    { "subject", OPT_SUBJECT, "S",
      "join, claim, move-ticket: the person's name; joining again gives the same ticket" },
    { "claim", OPT_CLAIM, "JWT",
      "join: the signed claim for a lane other than the default" },
    { "key", OPT_KEY, "F",
      "claim, move-ticket: file with the key that signs: a secret of claim_keys, or an "
      "Ed25519 private key (PEM); default: DIR/secrets/claim.key" },
    { "kid", OPT_KID, "K",
      "claim, move-ticket: the key's name, if routers have several" },
    { "label", OPT_LABEL, "L",
      "task list, cancel-all: of the queue's tasks those that have this label" },
    { "lane", OPT_LANE, "L",
      "claim: the lane" },
    { "replaces", OPT_REPLACES, "TOKEN",
      "claim: the waiting ticket that its bearer gives up for the new place" },
    { "task", OPT_TASK, "ID",
      "claim: it submits one task, with this Idempotency-Key; QUEUE may be a pattern "
      "(ride/*)" },
    { "task-key", OPT_TASK_KEY, "K",
      "claim --task: the task's key; without it the task has none" },
    { "priority", OPT_PRIORITY, "N",
      "claim --task: the task's priority (0 to 7, default 0)" },
    { "ttl", OPT_TTL, "S",
      "claim, move-ticket: it is good for this long (default 300 seconds)" },
    { "all", OPT_ALL, NULL,
      "status: every queue, every segment; task list: all pages" },
    { "force", OPT_FORCE, NULL,
      "task cancel, cancel-all: also running tasks; their work may be done already" },
    { "file", 'f', "FILE",
      "apply, diff: the same as FILE alone; - is standard input" },
    { "dry-run", OPT_DRY_RUN, NULL,
      "apply, edit, add, set, delete, rate, max, tiers, message, flush, reject, passthrough, release: "
      "show what would change, and change nothing; exit code 1 if anything would (apply, edit: 0)" },
    { "yes", OPT_YES, NULL,
      "do not ask for confirmation, where an order cannot be undone" },
    { "output", 'o', "FORM",
      "table (default), json (the answer unchanged) or yaml" },
    { "json", OPT_JSON, NULL,
      "the same as -o json" },
    { "color", OPT_COLOR, "WHEN",
      "auto (default: at a terminal, unless NO_COLOR is set), always or never" },
    { "interval", OPT_INTERVAL, "S",
      "watch, top, task top: a picture each S seconds (default 1)" },
    { "count", 'n', "N",
      "the same: N pictures, then they end" },
    { "timeout", OPT_TIMEOUT, "S",
      "wait this long for an answer (default 5 seconds)" },
    { "help", 'h', NULL,
      "this" },
    { "version", 'V', NULL,
      "the release" },
    { 0 },
};

const struct option *options_for_getopt(void)
{
    static struct option v[ARRAY_LEN(ctl_options)];

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        v[i] = (struct option){ ctl_options[i].name,
                                ctl_options[i].takes != NULL ? required_argument : no_argument, NULL,
                                ctl_options[i].opt };
    return v;
}

bool option_is_in(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; p != NULL && *p != '\0'; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");

        if (len == n && memcmp(p, name, n) == 0)
            return true;
        p += len;
    }
    return false;
}

/* A text in lines, from the second one on at this column. */
static void put_wrapped(struct buf *b, size_t at, const char *text)
{
    size_t column = at;

    while (*text != '\0') {
        size_t n = strcspn(text, " ");

        if (column > at && column + 1 + n > WIDTH) {
            buf_printf(b, "\n%*s", (int)at, "");
            column = at;
        } else if (column > at) {
            buf_byte(b, ' ');
            column++;
        }
        buf_append(b, text, n);
        column += n;
        text += n + (text[n] == ' ');
    }
    buf_byte(b, '\n');
}

/* "-o FORM", "-h, --help", "--dir D": where there is a letter with a value, its word has no room. */
void options_help(struct buf *b, const char *list)
{
    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++) {
        bool letter = o->opt < 256;
        char left[40];

        if (list != NULL && !option_is_in(list, o->name))
            continue;
        if (letter && o->takes != NULL)
            snprintf(left, sizeof(left), "-%c %s", o->opt, o->takes);
        else if (letter)
            snprintf(left, sizeof(left), "-%c, --%s", o->opt, o->name);
        else
            snprintf(left, sizeof(left), "--%s %s", o->name, o->takes != NULL ? o->takes : "");
        buf_printf(b, "  %-17s ", left);
        put_wrapped(b, TEXT_AT, o->help);
    }
}

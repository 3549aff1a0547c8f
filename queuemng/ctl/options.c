/* options.c: see the header. */
#include "queuemng/ctl/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "queuemng/ctl/where.h"

#define TEXT_AT 20  /* the column of the words about it */
#define WIDTH   104

#define SETS(a_kind, member) .kind = OPTION_##a_kind, .at = offsetof(struct ctl, member)
const struct ctl_option ctl_options[] = {
    { "dir", 0, "D", SETS(TEXT, dir),
      .help = "the cluster that D/cluster.json describes (default: ./run, if it is there)" },
    { "context", 0, "NAME", SETS(TEXT, use_context),
      .help = "the cluster of this name in your file of contexts (`segqctl context list`)" },
    { "admin", 0, "URL", SETS(URL, admins),
      .help = "queuemng's admin API; may be repeated, the leader is found" },
    { "token-file", 0, "F", SETS(TEXT, token_file),
      .help = "holds the admin token" },
    { "cacert", 0, "F", SETS(TEXT, cacert),
      .help = "authorities that sign the certificates of https:// addresses (default: the "
              "system's)" },
    { "router", 0, "URL", SETS(URL, routers),
      .help = "a router; may be repeated, any that answers is taken" },
    { "client", 0, "C", SETS(TEXT, client),
      .help = "join, move-ticket: browser, mobile or game" },
    { "subject", 0, "S", SETS(TEXT, subject),
      .help = "join, claim, move-ticket: the person's name; joining again gives the same ticket" },
    { "claim", 0, "JWT", SETS(TEXT, claim),
      .help = "join: the signed claim for a lane other than the default" },
    { "key", 0, "F", SETS(TEXT, sign_key),
      .help = "claim, move-ticket: file with the key that signs: a secret of claim_keys, or an "
              "Ed25519 private key (PEM); default: DIR/secrets/claim.key" },
    { "kid", 0, "K", SETS(TEXT, kid),
      .help = "claim, move-ticket: the key's name, if routers have several" },
    { "label", 0, "L", SETS(TEXT, label), .few = true,
      .help = "task list, cancel-all: of the queue's tasks those that have this label" },
    { "name", 0, "NAME", SETS(TEXT, name), .few = true,
      .help = "task list: of the queue's tasks the one that its caller named so" },
    { "since", 0, "TIME", SETS(TEXT, since), .few = true,
      .help = "task list: of those that are over, what ended since then; of others, what came (2027-01-31T20:00:00Z)" },
    { "order", 0, "start", SETS(TEXT, order), .few = true,
      .help = "task list: the queue's first tasks in the order in which they would start" },
    { "lane", 0, "L", SETS(TEXT, lane),
      .help = "claim: the lane" },
    { "replaces", 0, "TOKEN", SETS(TEXT, replaces),
      .help = "claim: the waiting ticket that its bearer gives up for the new place" },
    { "task", 0, "ID", SETS(TEXT, task), .few = true,
      .help = "claim: it submits one task, with this Idempotency-Key; QUEUE may be a pattern "
              "(ride/*)" },
    { "task-key", 0, "K", SETS(TEXT, task_key), .few = true,
      .help = "claim --task: the task's key; without it the task has none" },
    { "priority", 0, "N", SETS(TEXT, priority), .few = true,
      .help = "claim --task: the task's priority (0 to 7, default 0)" },
    { "ttl", 0, "S", SETS(NUMBER, ttl_s), .max = 86400, .of = "seconds",
      .help = "claim, move-ticket: it is good for this long (default 300 seconds)" },
    { "role", 0, "ROLE", SETS(TEXT, role), .few = true,
      .help = "token add: viewer, operator or admin" },
    { "queues", 0, "LIST", SETS(TEXT, queues), .few = true,
      .help = "token add: queues of people that it is for, as patterns: shop,login-* (default: all; "
              "none, if there are --pools)" },
    { "pools", 0, "LIST", SETS(TEXT, pools), .few = true,
      .help = "token add: the same of pools, task queues and endpoints (default: all; none, if there "
              "are --queues)" },
    { "user", 0, "NAME", SETS(TEXT, user), .few = true,
      .help = "token add: no token, a row for whom a proxy (admin_trusted_proxies) has signed in, by "
              "X-Forwarded-User" },
    { "email", 0, "ADDRESS", SETS(TEXT, email), .few = true,
      .help = "token add: the same by X-Forwarded-Email" },
    { "group", 0, "NAME", SETS(TEXT, group), .few = true,
      .help = "token add: the same, all in this group of X-Forwarded-Groups" },
    { "until", 0, "TIME", SETS(TEXT, until), .few = true,
      .help = "token add: its end, 12h or 30d from now, or 2027-01-31T20:00:00Z (default: none); "
              "task list: as --since, before then" },
    { "all", 0, NULL, SETS(FLAG, all),
      .help = "status: every queue, every segment; task list: all pages" },
    { "force", 0, NULL, SETS(FLAG, force), .few = true,
      .help = "task cancel, cancel-all: also running tasks; their work may be done already" },
    { "file", 'f', "FILE", SETS(TEXT, file), .few = true,
      .help = "apply, diff, task import: the same as FILE alone; task cancel: file of ids, a line "
              "each; - is standard input" },
    { "payload", 0, "FILE", SETS(TEXT, payload), .few = true,
      .help = "task redrive: of a task that is over make another one, with what this file has: JSON, or "
              "any bytes; - is standard input" },
    { "dry-run", 0, NULL, SETS(FLAG, dry_run), .few = true,
      .help = "apply, edit, add, set, delete, rate, max, tiers, message, challenge, flush, "
              "reject, passthrough, release, task import: show what would change, and change nothing; exit code 1 if "
              "anything would (apply, edit: 0)" },
    { "running", 0, NULL, SETS(FLAG, running), .few = true,
      .help = "task export: also tasks that run, as if they waited; their work may be done already" },
    { "keep-going", 0, NULL, SETS(FLAG, keep_going), .few = true,
      .help = "task import: go on behind a line that is refused" },
    { "ids", 0, NULL, SETS(FLAG, ids), .few = true,
      .help = "task import: print the id of each task once the pool has it, for task cancel --file" },
    { "server-token-file", 0, "F", SETS(TEXT, server_token_file), .few = true,
      .help = "task import: holds the token of a server that may submit (default: "
              "DIR/secrets/task.token)" },
    { "html", 0, "FILE", SETS(TEXT, html), .few = true,
      .help = "rehearse: write a page with graphs, which needs nothing else" },
    { "vary", 0, "KEY=V,V", SETS(TEXT, vary), .few = true,
      .help = "rehearse: play it with each of these values, side by side: routers=2,4,8, rate=200..600 "
              "(five steps), nodes, max_active, or any key of the file (crowd.no_shows=2,10)" },
    { "find", 0, "GOAL", SETS(TEXT, find), .few = true,
      .help = "rehearse: the least value of --vary KEY=FROM..TO with 'wait p95 < 20m' (p50, p95, p99, max)" },
    { "from-audit", 0, "DIR", SETS(TEXT, from_audit), .few = true,
      .help = "rehearse: the crowd is who came that night, from the audit files of the segment nodes; with what they had beside" },
    { "costs", 0, "FILE", SETS(TEXT, costs), .few = true,
      .help = "rehearse: costs of requests, written by segqctl measure, in place of those in the file" },
    { "for", 0, "S", SETS(NUMBER, for_s), .few = true, .max = 3600, .of = "seconds",
      .help = "measure: time that it takes (default 30 seconds)" },
    { "yes", 0, NULL, SETS(FLAG, yes),
      .help = "do not ask for confirmation, where an order cannot be undone" },
    { "output", 'o', "FORM", SETS(WORD, form), .of = "table json yaml",
      .help = "table (default), json (the answer unchanged) or yaml" },
    { "json", 0, NULL, SETS(JSON, form),
      .help = "the same as -o json" },
    { "color", 0, "WHEN", SETS(WORD, colours), .of = "auto always never",
      .help = "auto (default: at a terminal, unless NO_COLOR is set), always or never" },
    { "interval", 0, "S", SETS(NUMBER, every_s), .few = true, .max = 3600, .of = "seconds",
      .help = "watch, top, task top: a picture each S seconds (default 1)" },
    { "count", 'n', "N", SETS(NUMBER, count), .few = true, .max = 1000000, .of = "pictures",
      .help = "the same: N pictures, then they end" },
    { "timeout", 0, "S", SETS(NUMBER, timeout_s), .max = 3600, .of = "seconds",
      .help = "wait this long for an answer (default 5 seconds)" },
    { "help", 'h', NULL, SETS(FLAG, help),
      .help = "this" },
    { "version", 'V', NULL, SETS(FLAG, version),
      .help = "the release" },
    { 0 },
};
#undef SETS

/* Is it one of these, which have blanks between them? NULL: of none. */
static bool is_in(const char *list, const char *name)
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

/* ---- the line ---- */

static void *member(struct ctl *c, const struct ctl_option *o)
{
    return (char *)c + o->at;
}

/* "-n", "--ttl" */
static const char *as_typed(const struct ctl_option *o, char to[40])
{
    if (o->letter != 0)
        snprintf(to, 40, "-%c", o->letter);
    else
        snprintf(to, 40, "--%s", o->name);
    return to;
}

static bool number_set(unsigned *to, const struct ctl_option *o, const char *s)
{
    char *end, typed[40];
    unsigned long v = strtoul(s, &end, 10);

    if (*s < '0' || *s > '9' || *end != '\0' || v < 1 || v > o->max)
        return ctl_fail(CTL_USAGE, "%s takes 1 to %u %s, not '%s'", as_typed(o, typed), o->max,
                        o->of, s) == CTL_OK;
    *to = (unsigned)v;
    return true;
}

/* "auto, always or never" of "auto always never" */
static void list_words(struct buf *b, const char *words)
{
    for (const char *p = words; *p != '\0'; p++)
        if (*p == ' ')
            buf_str(b, strchr(p + 1, ' ') != NULL ? ", " : " or ");
        else
            buf_byte(b, (uint8_t)*p);
    buf_byte(b, 0);
}

static bool word_set(unsigned *to, const struct ctl_option *o, const char *s)
{
    unsigned no = 0;
    char typed[40];
    struct buf b;

    for (const char *p = o->of; *p != '\0'; no++) {
        size_t n = strcspn(p, " ");

        if (text_is(p, n, s)) {
            *to = no;
            return true;
        }
        p += n + (p[n] == ' ');
    }
    buf_init(&b);
    list_words(&b, o->of);
    (void)ctl_fail(CTL_USAGE, "%s takes %s, not '%.40s'", as_typed(o, typed), (const char *)b.data,
                   s);
    buf_fini(&b);
    return false;
}

static bool url_add(struct urls *list, const char *url)
{
    struct err e = { 0 };

    return where_add(list, url, &e) == 0 || ctl_say_err(&e, CTL_USAGE) == CTL_OK;
}

_Static_assert(sizeof(enum ctl_form) == sizeof(unsigned) &&
               sizeof(enum colours_when) == sizeof(unsigned), "words are set as numbers");

/* False: the error has been printed. */
static bool option_set(struct ctl *c, const struct ctl_option *o, const char *value)
{
    switch (o->kind) {
    case OPTION_TEXT:
        if (o->few && *(const char **)member(c, o) != NULL) /* which of them is meant? */
            return ctl_fail(CTL_USAGE, "--%s can be given once", o->name) == CTL_OK;
        *(const char **)member(c, o) = value;
        return true;
    case OPTION_FLAG:
        return *(bool *)member(c, o) = true;
    case OPTION_NUMBER:
        return number_set(member(c, o), o, value);
    case OPTION_WORD:
        return word_set(member(c, o), o, value);
    case OPTION_JSON:
        c->form = FORM_JSON;
        return true;
    default:
        return url_add(member(c, o), value);
    }
}

#define LONG 256 /* getopt's value of the first row; of one with a letter it is that */

static int value_of(const struct ctl_option *o)
{
    return o->letter != 0 ? o->letter : LONG + (int)(o - ctl_options);
}

static const struct ctl_option *option_of(int opt)
{
    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++)
        if (value_of(o) == opt)
            return o;
    return NULL;
}

/* The option that is written almost so, with its dashes; NULL. */
static const char *nearest(const char *word, char to[40])
{
    char typed[40];
    struct near near;

    snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(word, "="), word);
    near = near_to(typed + strspn(typed, "-"));
    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++)
        near_try(&near, o->name);
    if (near.name == NULL || strncmp(word, "--", 2) != 0)
        return NULL;
    snprintf(to, 40, "--%s", near.name);
    return to;
}

/* Says it in place of getopt, which names the letter alone, "invalid option -- '5'" for a rate
 * of -5. It leaves the row in optopt if a flag has a value, or a value lacks; else a letter that
 * is unknown, or 0. */
static int bad_option(int opt, char **argv)
{
    const struct ctl_option *o = option_of(optopt);
    const char *word = argv[optind - 1], *near;
    char name[40];

    if (o == NULL && optopt != 0 && (word[0] != '-' || strchr(word, optopt) == NULL))
        word = argv[optind]; /* more letters in the word */
    if (opt == ':')
        return ctl_fail(CTL_USAGE, "%s wants a value", word);
    if (o != NULL)
        return ctl_fail(CTL_USAGE, "'%.60s': --%s takes no value", word, o->name);
    if (word[0] == '-' && word[1] >= '0' && word[1] <= '9')
        return ctl_fail(CTL_USAGE, "'%.60s': no number here can be below 0", word);
    near = nearest(word, name);
    return near != NULL ? ctl_fail(CTL_USAGE, "no option '%.60s'; did you mean %s?", word, near)
                        : ctl_fail(CTL_USAGE, "no option '%.60s'; segqctl -h lists them", word);
}

int options_read(struct ctl *c, int argc, char **argv, int *words)
{
    struct option v[ARRAY_LEN(ctl_options)];
    int opt;

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        const struct ctl_option *o = &ctl_options[i];

        v[i] = (struct option){ o->name, o->takes != NULL ? required_argument : no_argument, NULL,
                                value_of(o) };
    }
    opterr = 0;
    while ((opt = getopt_long(argc, argv, ":hVf:o:n:", v, NULL)) != -1) {
        const struct ctl_option *o = option_of(opt);

        if (opt == '?' || opt == ':')
            return bad_option(opt, argv);
        assert(o != NULL);
        if (!option_set(c, o, optarg))
            return CTL_USAGE;
    }
    *words = optind;
    return CTL_OK;
}

static bool is_given(const struct ctl *c, const struct ctl_option *o)
{
    const void *at = (const char *)c + o->at;

    return o->kind == OPTION_TEXT   ? *(const char *const *)at != NULL
           : o->kind == OPTION_FLAG ? *(const bool *)at
                                    : *(const unsigned *)at > 0;
}

const char *options_refused(const struct ctl *c, const char *list)
{
    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++)
        if (o->few && is_given(c, o) && !is_in(list, o->name))
            return o->name;
    return NULL;
}

/* ---- help ---- */

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

/* "-o FORM", "-h, --help", "--dir D": where there is a letter with a value, its word has no
 * room. */
void options_help(struct buf *b, const char *list)
{
    for (const struct ctl_option *o = ctl_options; o->name != NULL; o++) {
        char left[40];

        if (list != NULL && !is_in(list, o->name))
            continue;
        if (o->letter != 0 && o->takes != NULL)
            snprintf(left, sizeof(left), "-%c %s", o->letter, o->takes);
        else if (o->letter != 0)
            snprintf(left, sizeof(left), "-%c, --%s", o->letter, o->name);
        else
            snprintf(left, sizeof(left), "--%s %s", o->name, o->takes != NULL ? o->takes : "");
        buf_printf(b, "  %-17s ", left);
        put_wrapped(b, TEXT_AT, o->help);
    }
}

/* ---- KEY=VALUE ---- */

/* Reads a value; NULL if it opens a bracket or a quote and is not JSON. */
static json_t *json_of(const char *s, const struct cfg_key *k)
{
    bool text = k != NULL && (k->type == CFG_STR || k->type == CFG_NAME ||
                              k->type == CFG_ADDR || k->type == CFG_ENUM);
    json_t *v = text && *s != '"'
                    ? json_string(s)
                    : json_loads(s, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

    if (v != NULL && !json_is_null(v))
        return v;
    json_decref(v);
    if (*s == '[' || *s == '{' || *s == '"')
        return NULL;
    return json_string(s);
}

/* The object that holds the last part of a dotted key; *last is that part. */
static json_t *parent_of(json_t *doc, char *key, char **last)
{
    char *part = key, *dot;

    while ((dot = strchr(part, '.')) != NULL) {
        json_t *kid;

        *dot = '\0';
        if (*part == '\0')
            return NULL;
        kid = json_object_get(doc, part);
        if (kid == NULL) {
            kid = json_object();
            if (json_object_set_new(doc, part, kid) < 0)
                return NULL;
        }
        if (!json_is_object(kid))
            return NULL;
        doc = kid;
        part = dot + 1;
    }
    *last = part;
    return *part != '\0' ? doc : NULL;
}

static int pair_add(json_t *doc, const char *word, const struct cfg_key *keys, struct err *e)
{
    const char *eq = strchr(word, '=');
    const struct cfg_key *k;
    char key[256], *last;
    json_t *parent, *v;

    if (eq == NULL || eq == word || (size_t)(eq - word) >= sizeof(key))
        return err_set(e, SQ_EINVAL, "'%.80s' is not KEY=VALUE", word);
    memcpy(key, word, (size_t)(eq - word));
    key[eq - word] = '\0';
    k = cfg_find(keys, key);
    parent = parent_of(doc, key, &last);
    if (parent == NULL)
        return err_set(e, SQ_EINVAL,
                       "'%.200s': the key has an empty part, or a part of it has a value already",
                       word);
    if (json_object_get(parent, last) != NULL)
        return err_set(e, SQ_EINVAL, "'%.200s': the key has a value already", word);
    v = json_of(eq + 1, k);
    if (v == NULL)
        return err_set(e, SQ_EINVAL,
                       "'%.200s': the value looks like JSON and is not, or is not UTF-8", word);
    if (json_object_set_new(parent, last, v) < 0)
        return err_set(e, SQ_EINVAL, "'%.200s': the key is not UTF-8", word);
    return 0;
}

json_t *ctl_pairs(char *const *words, const struct cfg_key *keys, struct err *e)
{
    json_t *doc = json_object();

    for (; *words != NULL; words++)
        if (pair_add(doc, *words, keys, e) < 0) {
            json_decref(doc);
            return NULL;
        }
    return doc;
}

bool ctl_number(const char *s, double *out)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    *out = strtod(s, &end);
    return *end == '\0' && *out >= 0 && *out <= 1e12;
}

static json_t *one_tier(const char *word)
{
    const char *colon = strchr(word, ':');
    double below, rate;
    char left[40];

    if (colon == NULL || (size_t)(colon - word) >= sizeof(left))
        return NULL;
    memcpy(left, word, (size_t)(colon - word));
    left[colon - word] = '\0';
    if (!ctl_number(left, &below) || !ctl_number(colon + 1, &rate))
        return NULL;
    return json_pack("{s:f,s:f}", "below", below, "rate_per_s", rate);
}

json_t *ctl_tiers(char *const *words, struct err *e)
{
    json_t *list = json_array();

    for (; *words != NULL; words++) {
        json_t *t = one_tier(*words);

        if (t == NULL) {
            json_decref(list);
            (void)err_set(e, SQ_EINVAL,
                          "'%.60s' is no tier; a tier is BELOW:RATE, for example 50:2000", *words);
            return NULL;
        }
        json_array_append_new(list, t);
    }
    return list;
}

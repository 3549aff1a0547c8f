/* contexts.c: see the header. No cluster is asked. */
#include "queuemng/ctl/contexts.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/text.h"
#include "queuemng/access/tokens.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/where.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/columns.h"

static int say_no_context(const struct contexts *c, const char *name)
{
    struct near near = near_to(name);

    for (size_t i = 0; i < c->v.n; i++)
        near_try(&near, ((struct context *)c->v.v)[i].name);
    return near.name != NULL
               ? ctl_fail(CTL_USAGE, "no context '%s'; did you mean %s?", name, near.name)
               : ctl_fail(CTL_USAGE, "no context '%s'; segqctl context list shows them", name);
}

static LIST_VIEW(view_contexts, "contexts",
                 "no contexts; segqctl context add NAME admin=URL token_file=F makes one\n",
                 COL("CURRENT", "{?name==..current:*}"), COL("NAME", "{name}"),
                 COL("WHERE", "{?admin:{admin.0}{?admin.1: ...}|{dir}}"), COL("TOKEN_FILE", "{token_file}"),
                 COL("OPERATOR", "{operator}"))

int cmd_context_list(struct ctl *c, char **argv)
{
    json_t *doc, *list;
    struct contexts all;
    struct err e = { 0 };

    (void)argv;
    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    list = json_array();
    for (size_t i = 0; i < all.v.n; i++)
        (void)json_array_append_new(
            list, def_keys_json(&((struct context *)all.v.v)[i], context_keys));
    doc = json_pack("{s:s,s:s,s:o}", "file", all.file, "current", all.current, "contexts", list);
    (void)ctl_say_doc(c, doc, view_contexts);
    json_decref(doc);
    contexts_free(&all);
    return CTL_OK;
}

int cmd_context_show(struct ctl *c, char **argv)
{
    struct contexts all;
    struct err e = { 0 };
    const struct context *x;
    int rc = CTL_OK;
    json_t *doc;

    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    x = contexts_find(&all, argv[0] != NULL ? argv[0] : all.current);
    if (x != NULL) {
        doc = def_keys_json(x, context_keys);
        (void)ctl_say_doc(c, doc, view_pretty);
        json_decref(doc);
    } else if (argv[0] == NULL) {
        rc = ctl_fail(CTL_REFUSED, "no context is in use; segqctl context list shows them");
    } else {
        rc = say_no_context(&all, argv[0]);
    }
    contexts_free(&all);
    return rc;
}

/* ---- changes ---- */

static int use(struct contexts *all, const char *name)
{
    char *copy = strdup(name);

    if (copy == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    free(all->current);
    all->current = copy;
    return CTL_OK;
}

/* "a,b" of a list, and the whole path of a file, which holds in any folder. */
static int tidy(json_t *doc, struct err *e)
{
    const char *key;
    json_t *v;
    void *next;

    json_object_foreach_safe(doc, next, key, v) {
        const char *text = json_string_value(v);
        bool is_list = strcmp(key, "admin") == 0 || strcmp(key, "router") == 0;
        bool is_file = strcmp(key, "dir") == 0 || strcmp(key, "token_file") == 0 ||
                       strcmp(key, "cacert") == 0 || strcmp(key, "key_file") == 0;
        json_t *list;
        char *whole;

        if (text != NULL && is_list) {
            list = json_array();
            for (const char *p = text; *p != '\0'; p += strspn(p, ", ")) {
                size_t n = strcspn(p, ", ");

                (void)json_array_append_new(list, json_stringn(p, n));
                p += n;
            }
            (void)json_object_set_new(doc, key, list);
        } else if (text != NULL && is_file && *text != '\0') {
            whole = realpath(text, NULL);
            if (whole == NULL)
                return err_set(e, SQ_EINVAL, "%s: there is no '%s'", key, text);
            (void)json_object_set_new(doc, key, json_string(whole));
            free(whole);
        }
    }
    return 0;
}

static int check_urls(const struct context *x, struct err *e)
{
    struct ctl c = { 0 };
    int rc = where_context(&c, x, e);

    where_fini(&c);
    return rc < 0 ? err_wrap(e, "context %s", x->name) : 0;
}

/* NAME KEY=VALUE...: sets these keys; x NULL: of another one, which is in use at once if it is
 * the first. */
static int set(struct contexts *all, struct context *x, char **argv)
{
    struct err e = { 0 };
    bool first = x == NULL && all->v.n == 0;
    json_t *doc = ctl_pairs(argv + 1, context_keys, &e);
    struct cfg_node *node = NULL;
    int rc = doc != NULL ? tidy(doc, &e) : -1;

    if (rc == 0 && x == NULL)
        (void)json_object_set_new(doc, "name", json_string(argv[0]));
    if (rc == 0 && (node = ctl_node(doc, &e)) == NULL)
        rc = -1;
    if (rc == 0)
        rc = x != NULL ? cfg_patch(x, sizeof(*x), context_keys, node, NULL, &e)
                       : contexts_add(all, node, &x, &e);
    if (rc == 0)
        rc = context_check(x, &e);
    if (rc == 0)
        rc = check_urls(x, &e);
    cfg_node_free(node);
    json_decref(doc);
    if (rc < 0)
        return ctl_say_err(&e, CTL_USAGE);
    return first ? use(all, argv[0]) : CTL_OK;
}

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return n > 0 && n <= NAME_MAX_LEN && name[n] == '\0' && name[0] != '_' && name[0] != '-';
}

/* order: of the context that argv[0] names, whose file then becomes what it made of it. */
static int edit(char **argv, int (*order)(struct contexts *all, struct context *x, char **argv))
{
    struct contexts all;
    struct context *x;
    struct err e = { 0 };
    int rc, turn = contexts_load_to_change(&all, &e);

    if (turn < 0)
        return ctl_say_err(&e, CTL_USAGE);
    x = contexts_find(&all, argv[0]);
    if (order == NULL && !is_name(argv[0]))
        rc = ctl_fail(CTL_USAGE,
                      "a context's name has small letters, digits, '-' and '_', not '%.60s'",
                      argv[0]);
    else if (order == NULL && x != NULL)
        rc = ctl_fail(CTL_REFUSED,
                      "there is a context '%s' already; segqctl context set changes it", argv[0]);
    else if (order == NULL)
        rc = set(&all, NULL, argv);
    else
        rc = x != NULL ? order(&all, x, argv) : say_no_context(&all, argv[0]);
    if (rc == CTL_OK && contexts_save(&all, &e) < 0)
        rc = ctl_say_err(&e, CTL_REFUSED);
    if (rc == CTL_OK)
        puts("ok");
    contexts_free(&all);
    close(turn);
    return rc;
}

int cmd_context_add(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, NULL);
}

static int order_use(struct contexts *all, struct context *x, char **argv)
{
    (void)x;
    return use(all, argv[0]);
}

int cmd_context_use(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, order_use);
}

int cmd_context_set(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, set);
}

static int order_delete(struct contexts *all, struct context *x, char **argv)
{
    int rc = strcmp(all->current, argv[0]) == 0 ? use(all, "") : CTL_OK;

    contexts_remove(all, x);
    return rc;
}

int cmd_context_delete(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, order_delete);
}

/* ---- the file of tokens ---- */

#define READ_AGAIN "a manager reads the file at HUP, and at segqctl token reload"

/* "12h", "30d" from now on, as a moment; another text stays. */
static void until_text(const char *said, char *out, size_t cap)
{
    char *unit;
    long n = strtol(said, &unit, 10);
    time_t at = time(NULL) + n * (unit[0] == 'd' ? 86400 : 3600);
    struct tm tm;

    if (n <= 0 || n > 100000 || (strcmp(unit, "h") != 0 && strcmp(unit, "d") != 0) ||
        gmtime_r(&at, &tm) == NULL || strftime(out, cap, "%FT%TZ", &tm) == 0)
        snprintf(out, cap, "%s", said);
}

/* Reads the file, which nobody else changes until the descriptor is closed. Its number, or an error. */
static int begin_change(struct access_file *f, const char *file, bool may_be_new, struct err *e)
{
    int turn = file_take_turn(file, e), rc = turn;

    if (rc >= 0)
        rc = access_read(f, file, e);
    if (rc == 0 || (rc == SQ_EGONE && may_be_new && turn >= 0))
        return turn;
    if (turn >= 0)
        close(turn);
    return rc;
}

/* The row, with a new token, or for people whom a proxy signs in: *key says by what, NULL: a token. */
static int add(struct access_file *f, const struct ctl *c, const char *name, const char *until,
               const char **key, char token[TOKEN_CAP], struct err *e)
{
    const char *rest = c->queues != NULL || c->pools != NULL ? "" : "*";
    const char *queues = c->queues != NULL ? c->queues : rest, *pools = c->pools != NULL ? c->pools : rest;
    const char *value = c->user != NULL ? c->user : c->email != NULL ? c->email : c->group;
    enum role role = role_of_word(c->role);

    if ((c->user != NULL) + (c->email != NULL) + (c->group != NULL) > 1)
        return err_set(e, SQ_EINVAL, "--user, --email and --group exclude each other: each is a row");
    *key = c->user != NULL ? "user" : c->email != NULL ? "email" : c->group != NULL ? "group" : NULL;
    return *key != NULL ? access_add_people(f, name, role, until, queues, pools, *key, value, e)
                        : access_add(f, name, role, until, queues, pools, token, e);
}

int cmd_token_add(struct ctl *c, char **argv)
{
    char until[64], token[TOKEN_CAP] = "";
    struct access_file f = { 0 };
    struct err e = { 0 };
    const char *key = NULL;
    int turn, rc;

    if (sodium_init() < 0)
        return ctl_fail(CTL_REFUSED, "libsodium found no source of random numbers");
    if (c->role == NULL || role_of_word(c->role) == ROLE_NONE)
        return ctl_fail(CTL_USAGE, "--role %s: it is viewer, operator or admin",
                        c->role != NULL ? c->role : "is missing");
    until_text(c->until != NULL ? c->until : "", until, sizeof(until));
    turn = rc = begin_change(&f, argv[0], true, &e);
    if (rc >= 0)
        rc = add(&f, c, argv[1], until, &key, token, &e);
    if (rc == 0 && access_is_over(access_named(&f, argv[1]), (int64_t)time(NULL) * 1000))
        rc = err_set(&e, SQ_EINVAL, "--until %s: over already", until);
    if (rc == 0)
        rc = access_write(&f, argv[0], &e);
    access_clear(&f);
    if (turn >= 0)
        close(turn);
    if (rc < 0)
        return ctl_say_err(&e, rc == SQ_EINVAL ? CTL_USAGE : CTL_REFUSED);
    if (key != NULL) {
        printf("%s is for whom a proxy signs in; " READ_AGAIN "\n", argv[1]);
        return CTL_OK;
    }
    puts(token);
    sodium_memzero(token, sizeof(token));
    fputs("segqctl: this is the token; it is shown once; " READ_AGAIN "\n", stderr);
    return CTL_OK;
}

/* ---- list ---- */

static LIST_VIEW(view_tokens, "tokens", "no tokens; segqctl token add FILE NAME --role ROLE makes one\n",
                 COL("NAME", "{name}"), /* for the bearer of a token, or people of a proxy */
                 COL("FOR", "{?user:user {user}|{?email:email {email}|{?group:group {group}|token}}}"),
                 COL("ROLE", "{role}"), COL("UNTIL", "{?until:{until}|-}{?ended: (ended)}"),
                 COL("QUEUES", "{queues:texts}"), COL("POOLS", "{pools:texts}"))

int cmd_token_list(struct ctl *c, char **argv)
{
    struct access_file f = { 0 };
    struct err e = { 0 };
    json_t *list, *doc;

    if (access_read(&f, argv[0], &e) < 0)
        return ctl_say_err(&e, CTL_REFUSED);
    list = json_array();
    for (size_t i = 0; i < f.v.n; i++) {
        const struct access_token *t = &((struct access_token *)f.v.v)[i];
        json_t *row = def_keys_json(t, access_keys);

        (void)json_object_del(row, "hash");
        (void)json_object_set_new(row, "ended",
                                  json_boolean(access_is_over(t, (int64_t)time(NULL) * 1000)));
        (void)json_array_append_new(list, row);
    }
    access_clear(&f);
    doc = json_pack("{s:o}", "tokens", list);
    (void)ctl_say_doc(c, doc, view_tokens);
    json_decref(doc);
    return CTL_OK;
}

/* ---- revoke, reload ---- */

static int say_no_token(const struct access_file *f, const char *file, const char *name)
{
    struct near near = near_to(name);

    for (size_t i = 0; i < f->v.n; i++)
        near_try(&near, ((struct access_token *)f->v.v)[i].name);
    return near.name != NULL ? ctl_fail(CTL_REFUSED, "%s has no token of '%s'; did you mean %s?", file,
                                        name, near.name)
                             : ctl_fail(CTL_REFUSED, "%s has no token of '%s'", file, name);
}

int cmd_token_revoke(struct ctl *c, char **argv)
{
    struct access_file f = { 0 };
    struct access_token *t;
    struct err e = { 0 };
    int rc = CTL_OK, turn = begin_change(&f, argv[0], false, &e);

    (void)c;
    if (turn < 0)
        return ctl_say_err(&e, CTL_REFUSED);
    t = access_named(&f, argv[1]);
    if (t == NULL)
        rc = say_no_token(&f, argv[0], argv[1]);
    else {
        access_remove(&f, t);
        if (access_write(&f, argv[0], &e) < 0)
            rc = ctl_say_err(&e, CTL_REFUSED);
        else
            printf("%s is revoked; " READ_AGAIN "\n", argv[1]);
    }
    access_clear(&f);
    close(turn);
    return rc;
}

SAYS_VIEW(view_tokens_read, "{node} has {tokens#} tokens\n")

/* token_file.c: see the header. */
#include "queuemng/ctl/token_file.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/text.h"
#include "queuemng/access/tokens.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/columns.h"

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
    fputs("segqctl: this is the token; it is shown once. " READ_AGAIN "\n", stderr);
    return CTL_OK;
}

/* ---- list ---- */

static void put_list(struct buf *b, const json_t *row, const char *path)
{
    ctl_texts(b, json_object_get(row, path), "-");
}

/* Whom the row is for: the bearer of a token, or people of a proxy. */
static void put_for(struct buf *b, const json_t *row, const char *path)
{
    static const char *const keys[] = { "user", "email", "group" };

    (void)path;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *s = json_string_value(json_object_get(row, keys[i]));

        if (s != NULL && s[0] != '\0') {
            buf_printf(b, "%s ", keys[i]);
            ctl_clean(b, s);
            return;
        }
    }
    buf_str(b, "token");
}

static LIST_VIEW(view_tokens, "tokens", "no tokens; segqctl token add FILE NAME --role ROLE makes one\n",
                 COL("NAME", "{name}"), COL("FOR", "user", put_for), COL("ROLE", "{role}"),
                 COL("UNTIL", "{?until:{until}|-}{?ended: (ended)}"), COL("QUEUES", "queues", put_list),
                 COL("POOLS", "pools", put_list))

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

/* tokens.h: who may do what with the admin API: a file of rows, each with a name, a role, an end,
 * and the queues and pools that it is good for. A row is for the bearer of a token, or for people
 * whom a proxy has signed in: one of hash, user, email, group. Shell: it reads and writes that file.
 *
 *   tokens:
 *     - name: anna
 *       role: operator
 *       hash: sha256:5f0c...
 *       until: 2027-02-01T00:00:00Z
 *       queues: [shop, "login-*"]
 *       pools: []
 *     - {name: night-shift, role: operator, group: ops, queues: ["*"], pools: ["*"]}
 *
 * A person whom a proxy has signed in may have several rows: one for the user name or address, and
 * one for each group. It is one of them that counts, whole. An operator of shop who is a viewer of
 * all is neither an operator of all, nor both at once: a union would be a role for each queue, which
 * nobody reads off a list. The row of the person goes before those of groups, wherever it stands
 * (segqctl token add writes at the end), and may give more or less than they do; among those of
 * groups the first of the file counts, as in pg_hba.conf: the order is the operator's, where "the
 * highest" would rank roles against parts. A row that is over is none: the next one counts.
 *
 * Each row reads one header, and a header that no row reads is worth nothing: a proxy that sets the
 * user alone, and lets a browser's X-Forwarded-Groups through, gives nothing away until there are
 * rows of groups.
 *
 * The file has hashes only. A token is 256 random bits, so that SHA-256 is enough: there is nothing
 * to guess, which is what a slow hash makes dear, and each call of the API is hashed. The hash is
 * compared with those of all rows, in constant time each.
 *
 * In a pattern `*` stands for any text, of any length; nothing else does. A pool's name may be a
 * pattern itself ("ride/" and a star): it is covered if its text is, and then all of its task queues
 * are. */
#ifndef SEGQ_QUEUEMNG_ACCESS_TOKENS_H
#define SEGQ_QUEUEMNG_ACCESS_TOKENS_H

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/config/cfg.h"

/* Each may do what those before it may. */
enum role {
    ROLE_NONE,
    ROLE_VIEWER,   /* looks; sees no token of a visitor, and no secret */
    ROLE_OPERATOR, /* does what a launch night needs: pause, rate, message, redrive, drain */
    ROLE_ADMIN,    /* definitions, keys, flush, delete, forget */
};

#define TOKENS_MAX     1000
#define TOKEN_NAME_MAX 64
#define TOKEN_ROOT     "root" /* name of the one in admin_token_file: an admin for everything */
#define TOKEN_PREFIX   "segq_" /* begins new ones, so that a scanner finds any that leak */
#define TOKEN_CAP      64      /* a new one, with its 0 */
#define TOKEN_HASH     "sha256:"

struct access_token { /* a row; one of hash, user, email, group is not "" */
    char *name;
    int role_no; /* in role_words */
    char *hash;
    char *user, *email, *group; /* X-Forwarded-User, -Email; one of -Groups */
    char *until; /* RFC 3339; "": no end */
    struct cfg_list queues, pools; /* char *: patterns */
};

struct access_file {
    struct cfg_list v; /* struct access_token */
};

extern const char *const role_words[]; /* role - 1 */
extern const struct cfg_key access_keys[]; /* table of struct access_token */

const char *role_word(enum role r);
enum role role_of_word(const char *word); /* ROLE_NONE: there is none */

static inline enum role access_role(const struct access_token *t)
{
    return (enum role)(t->role_no + 1);
}

/* The struct is filled, or as it was. SQ_EGONE: there is no file, or it is empty; SQ_EAUTH: others may
 * read it; else the sentence has file, line and key. access_clear() frees it. */
SQ_CHECK int access_read(struct access_file *f, const char *path, struct err *e);
/* In place of the old file, at once, mode 0600. */
SQ_CHECK int access_write(const struct access_file *f, const char *path, struct err *e);
void access_clear(struct access_file *f);

/* NULL: none of this name; of this token, which may have ended. */
struct access_token *access_named(const struct access_file *f, const char *name);
const struct access_token *access_find(const struct access_file *f, const char *token, size_t n);
bool access_is_over(const struct access_token *t, int64_t wall_ms);

/* Whom a proxy has signed in, as its headers say it; "": they do not. */
struct access_person {
    const char *user, *email, *groups; /* groups: with commas between them */
};
#define PERSON_MAX 200 /* characters of a user name, an address, a group */
/* Printable ASCII: a name that is logged, and has one spelling. */
bool person_ok(const char *name);
/* The row that counts, and in *name by what it is known: the user name or address. NULL: none;
 * *ended: one that is over, or NULL. */
const struct access_token *access_of_person(const struct access_file *f, const struct access_person *p,
                                            int64_t wall_ms, const char **name,
                                            const struct access_token **ended);
bool access_has_people(const struct access_file *f); /* True: any row is for people of a proxy. */

/* A row more; its hash is that of a new token, which is written to `token`. Lists: patterns with commas
 * between them. */
SQ_CHECK int access_add(struct access_file *f, const char *name, enum role role, const char *until,
                        const char *queues, const char *pools, char token[TOKEN_CAP], struct err *e);
/* The same for people of a proxy. key: user, email or group. */
SQ_CHECK int access_add_people(struct access_file *f, const char *name, enum role role, const char *until,
                               const char *queues, const char *pools, const char *key,
                               const char *value, struct err *e);
void access_remove(struct access_file *f, struct access_token *t);

/* "sha256:" and 64 digits, of a token. */
#define TOKEN_HASH_CAP (sizeof(TOKEN_HASH) + 64)
void access_hash(const char *token, size_t n, char hash[TOKEN_HASH_CAP]);

bool pattern_matches(const char *pattern, const char *text);
bool patterns_match(const struct cfg_list *patterns, const char *text); /* any of them does */
bool patterns_match_all(const struct cfg_list *patterns); /* any is a star alone */

/* A caller of the admin API: a name, a role, and the queues and pools that it is for; by a
 * token, or as a proxy says. */
struct bearer {
    const char *name;  /* ref: who it is, for the log of changes: the token's, or the person's */
    const char *row;   /* ref: name of the row that the role is from */
    const char *print; /* ref: the digits of its hash */
    bool by_proxy;     /* a person whom a proxy has signed in */
    enum role role;
    const struct cfg_list *queues, *pools; /* refs: patterns */
};

/* person: whom a proxy has signed in; NULL: the bearer of the row's token. */
static inline struct bearer bearer_of(const struct access_token *t, const char *person)
{
    return (struct bearer){ .name = person != NULL ? person : t->name,
                            .row = t->name,
                            .print = person != NULL ? "" : t->hash + strlen(TOKEN_HASH),
                            .by_proxy = person != NULL,
                            .role = access_role(t),
                            .queues = &t->queues,
                            .pools = &t->pools };
}

#define BEARER_WORDS_CAP (PERSON_MAX + 100)

/* Writes the bearer as words of a sentence; returns `out`. */
static inline const char *bearer_words(const struct bearer *b, char out[BEARER_WORDS_CAP])
{
    if (b->by_proxy)
        snprintf(out, BEARER_WORDS_CAP, "%s (row %s)", b->name, b->row);
    else
        snprintf(out, BEARER_WORDS_CAP, "the token %s", b->name);
    return out;
}

static inline bool bearer_has_queue(const struct bearer *b, const char *queue)
{
    return patterns_match(b->queues, queue);
}

/* Also of a task queue, or an endpoint, which is where the calls of pools go. */
static inline bool bearer_has_pool(const struct bearer *b, const char *pool)
{
    return patterns_match(b->pools, pool);
}

/* Nodes, budgets and sums of all queues are nobody's part. */
static inline bool bearer_has_all(const struct bearer *b)
{
    return patterns_match_all(b->queues) && patterns_match_all(b->pools);
}

#endif

/* rights.h: who may: tokens of servers that submit, take, read tasks, and look at lines, and claims, each good
 * for the submission of one task without such a token. Pure.
 *
 * Tokens are of a file of lines; of a token it has the hash only:
 *   SHA-256 in hexadecimal   what it may           queues: names and patterns
 *   9f86d081884c7d65...      submit,take,read      images,ride/x
 *   5994471abb01112a...      submit                paid          key=tenant7 priority=2
 * What stands behind the queues makes it a tenant's (rights.h). Empty lines, and lines that begin with
 * a #, are nothing. */
#ifndef SEGQ_TASK_API_RIGHTS_H
#define SEGQ_TASK_API_RIGHTS_H

#include "common/base/err.h"
#include "common/http/http.h"
#include "common/submit/body.h"
#include "common/task/rules.h"
#include "router/gate/signed_claim.h"

/* Tokens of tenants: a row of the file of servers' tokens (rights.h) that has more words,
 * behind its queues:
 *   key=tenant7   whose tasks they are: key of one or two levels; of one, a task may say the second
 *   priority=2    highest priority that a task may ask for, and what it has without asking; 0
 *   paths=A,B     paths behind /v1/call/ENDPOINT that may be called, with a star at the end; all
 *   wait=600      seconds that a call waits for its answer, where it does not say (Prefer); 600
 *   cost=20000    most units that one of its tasks may say, or be estimated, to take; any. What is beyond a
 *                 rate's burst is owed by all of the queue, so one who says a thousand million stops it for
 *                 days. What an answer says in the end is charged, whatever it is
 *
 * A tenant submits and calls, and that is all: other calls of a queue are about everybody's tasks. It
 * meets no task of others: its Idempotency-Keys, and what its tasks are unique by, are its own. Weights
 * and rates are of the key, in the pool. */

#define TENANT_WAIT_S     600  /* clients of language models do so */
#define TENANT_WAIT_MOST  3600
#define TENANT_PATHS_TEXT 512

struct tenant { /* key "": it is the operator's own server */
    char key[2 * TASK_NAME_MAX + 2];
    uint8_t priority;
    uint16_t wait_s;
    uint32_t cost; /* 0: any */
    char paths[TENANT_PATHS_TEXT]; /* commas between; "": all */
};

/* words: what stands behind the queues; it is cut up. NULL, or what is wrong. */
const char *tenant_read(struct tenant *t, char *words);
/* path: behind the endpoint, with its query. */
bool tenant_may_call(const struct tenant *t, struct slice path);

/* NULL is nobody's. */
bool tenant_bears(const struct tenant *t, int64_t cost);

struct tenant_texts { /* a bound body points into them */
    char idem[33], unique[33];
};
#define TENANT_ROOM (2 * TASK_NAME_MAX + 2 + sizeof(struct tenant_texts)) /* by which a body may grow */

/* The body of a submission gets what the tenant has; t must last as long. NULL, or what the body says
 * beside it: one sentence. Nothing, if it is none. */
const char *tenant_bind(const struct tenant *t, struct task_body *b, struct tenant_texts *texts);

#define SERVER_TOKEN_MIN  16 /* characters */
#define SERVER_TOKENS_MAX 1000

enum server_may { MAY_SUBMIT = 1, MAY_TAKE = 2, MAY_READ = 4, MAY_LOOK = 8 /* at all tasks in line */ };

struct server_token {
    uint8_t hash[32];
    uint8_t may; /* enum server_may */
    uint16_t queues_n;
    char queues[QUEUES_TEXT]; /* names, and beginnings with a star; commas between */
    struct tenant tenant;
};

/* A SHA-256 for each request would be a fifth of the router's work for it: tokens that were found
 * are known again by a MAC. */
#define SERVER_TOKENS_SEEN 64

struct server_tokens {
    struct server_token *v; /* owned */
    size_t n;
    uint8_t key[16]; /* key of the MACs: random, before anything is found */
    struct {
        uint8_t mac[16];
        const struct server_token *is; /* NULL: none yet */
    } seen[SERVER_TOKENS_SEEN];
};

/* text: the whole file, 0-terminated; it is cut up. The key stays. 0; SQ_EINVAL: the line is named; SQ_ENOMEM. */
SQ_CHECK int server_tokens_read(struct server_tokens *t, char *text, struct err *e);
void server_tokens_free(struct server_tokens *t);

/* Id of the token whose tenant this is: the same after its file was read again. */
static inline uint64_t server_token_id(const struct tenant *of)
{
    uint64_t id;

    memcpy(&id, (const char *)of - offsetof(struct server_token, tenant), sizeof(id)); /* begin of its hash */
    return id;
}

static inline bool server_is_tenant(const struct server_token *t)
{
    return t != NULL && t->tenant.key[0] != '\0';
}

/* NULL: nobody's. */
const struct server_token *server_tokens_find(struct server_tokens *t, struct slice token);
/* Finds the line that a token has now, after the file was read again; id: server_token_id(). NULL: none. */
const struct server_token *server_tokens_of(const struct server_tokens *t, uint64_t id);
bool server_token_may(const struct server_token *t, enum server_may what, struct slice queue);
/* The right in some queue or other: the queue itself is looked at where it is known. */
bool server_token_may_at_all(const struct server_token *t, enum server_may what);

/* ---- claims (signed_claim.h) ----
 *   queues: names and patterns, as a server's token has them; jti: the task's Idempotency-Key;
 *   key, priority: of the task; without them it has no key, and priority 0
 * One claim is one task in each of its queues: used again there it finds the same one, and no
 * router has to remember it. */

struct task_claim {
    char jti[TASK_IDEM_MAX + 1];
    char key[2 * TASK_NAME_MAX + 2]; /* "": none */
    uint8_t priority;
};

/* 0; SQ_EAUTH and *why, SQ_ENOMEM: as claim_open(). */
SQ_CHECK int task_claim_check(struct task_claim *c, struct slice jwt, const struct claim_key *keys,
                              size_t n_keys, struct slice queue, int64_t max_ttl_s, int64_t now_s,
                              const char **why);
/* The body of its submission, which gets what the claim says (c must last as long). NULL, or what
 * the body says beside it: one sentence. */
const char *task_claim_bind(const struct task_claim *c, struct task_body *b);

#endif

/* server_tokens.h: the tokens of servers that may submit, take and read tasks. Pure.
 *
 * A file of lines; of a token it has the hash only:
 *   SHA-256 in hexadecimal   what it may           queues: names and patterns
 *   9f86d081884c7d65...      submit,take,read      images,ride/x
 * Empty lines, and lines that begin with a #, are nothing. */
#ifndef SEGQ_ROUTER_SERVER_TOKENS_H
#define SEGQ_ROUTER_SERVER_TOKENS_H

#include "common/base/err.h"
#include "common/http/http.h"
#include "common/task/queue_name.h"

#define SERVER_TOKEN_MIN  16 /* characters */
#define SERVER_TOKENS_MAX 1000

enum server_may { MAY_SUBMIT = 1, MAY_TAKE = 2, MAY_READ = 4 };

struct server_token {
    uint8_t hash[32];
    uint8_t may; /* enum server_may */
    uint16_t queues_n;
    char queues[QUEUES_TEXT]; /* names, and beginnings with a star; commas between */
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

/* NULL: nobody's. */
const struct server_token *server_tokens_find(struct server_tokens *t, struct slice token);
bool server_token_may(const struct server_token *t, enum server_may what, struct slice queue);
/* The right in some queue or other: the queue itself is looked at where it is known. */
bool server_token_may_at_all(const struct server_token *t, enum server_may what);

#endif

/* bypass.h: requests that need not go through a queue's room: the operator's rules (gate_def.h)
 * held against what a proxy says of a request. Pure.
 *
 * A mistake here lets people past the room, so whatever can be read in two ways matches no
 * rule: an address that is not known, a header that is there twice, a path that a
 * server behind us may read differently. */
#ifndef SEGQ_BYPASS_H
#define SEGQ_BYPASS_H

#include "common/config/gate_def.h"
#include "common/http/http.h"
#include "common/base/ip.h"
#include "common/ticket/token.h"

/* name, as in X-Segq-Bypass and the metrics */
#define BYPASS_REASONS(X)                                                                \
    X(ADDRESS, "address")                                                                \
    X(PATH, "path")                                                                      \
    X(HEADER, "header")                                                                  \
    X(SUBJECT, "subject")                                                                \
    X(ROLLOUT, "rollout")                                                                \
    X(RULE, "rule") /* gate_rules.h */

enum bypass_why {
    BYPASS_NONE,
#define X(name, text) BYPASS_##name,
    BYPASS_REASONS(X)
#undef X
    BYPASS_NREASONS
};

struct bypass_ask {
    const struct http_req *q; /* other fields of it */
    const struct ip *addr;    /* the client's; NULL: not known */
    struct slice uri;         /* path and query as the client sent them; p NULL: not known */
    struct slice subject;     /* p NULL: not known */
    queue_id queue;
    const struct token_key *key; /* the same at all routers */
};

struct bypass;

/* json: of the map. NULL, and *e: no memory, or it is not understood. */
struct bypass *bypass_new(const char *json, struct err *e);
void bypass_free(struct bypass *b);
enum bypass_why bypass_of(const struct bypass *b, const struct bypass_ask *a);
extern const char *const bypass_names[BYPASS_NREASONS]; /* word of a bypass; BYPASS_NONE: "" */

/* Does every server read this path alike? */
bool bypass_is_plain(struct slice uri);
/* Does `uri` lie under the rule's path, however a server reads it? */
bool bypass_path(const char *rule, struct slice uri);
/* Likewise for servers to whom /Static is /static. */
bool bypass_path_in_capitals(const char *rule, struct slice uri);
/* Is this person among the first `percent`? Anybody let past at 25 is let past at 50, too. */
bool bypass_in_rollout(const struct bypass_ask *a, double percent);

#endif

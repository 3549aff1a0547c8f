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

#define BYPASS_PATH_MAX 4096 /* bytes; a longer path is not read */

struct bypass_reading { /* a path, read once for all rules */
    bool plain; /* every server reads it alike: it may be let past */
    bool sure;  /* likewise, but for blanks amid words: it is known which room is its own */
    char path[BYPASS_PATH_MAX + 1]; /* sure: its escapes undone */
};

/* uri.p NULL: not known. */
void bypass_read(struct bypass_reading *r, struct slice uri);
/* Does the path, which is sure, lie under the rule's? */
bool bypass_is_under(const struct bypass_reading *r, const char *rule);
/* Does it for some server? To one /Static is /static, another one cuts off what stands behind a dot or a colon. */
bool bypass_may_be_under(const struct bypass_reading *r, const char *rule);
/* Does `uri` lie under the rule's path, however a server reads it? */
bool bypass_path(const char *rule, struct slice uri);
/* Is this person among the first `percent`? Anybody let past at 25 is let past at 50, too. */
bool bypass_in_rollout(const struct bypass_ask *a, double percent);

#endif

/* gate_rules.h: which queue's room a request of a gate goes through, or none: the operator's table
 * gate_rules of the router's file. The first rule that a request meets decides; a rule is met if all
 * that it names holds. Shell: it reads files of addresses; the rest is pure.
 *
 * A mistake here lets people past a room. So what can be read in two ways (a path with "//" or an
 * escaped slash, a header that is there twice, an address that is not known) meets no rule that leads
 * past all rooms. If all rules that it may meet lead into one room, it goes there; if two rooms are in
 * question, into none: its sender would choose the shorter line. */
#ifndef SEGQ_GATE_RULES_H
#define SEGQ_GATE_RULES_H

#include "common/base/err.h"
#include "common/base/ip.h"
#include "common/http/http.h"

#define GATE_RULES_MAX      64
#define GATE_RULE_NETS_MAX  4096    /* addresses of a rule */
#define GATE_RULE_FILE_MAX  (1 << 18) /* bytes */
#define GATE_RULE_NONE      SIZE_MAX
#define GATE_RULE_TWO       (SIZE_MAX - 1) /* two rooms are in question */

struct gate_rule { /* "" in a member asks for nothing */
    char *host, *path, *method, *header, *value, *cookie, *address, *address_file, *country,
        *crawler;
    char *queue; /* "": past all rooms */
};

struct gate_rules; /* NULL: no rules */
struct crawlers;

struct gate_rule_ask {
    const struct http_req *q;   /* header fields, cookies */
    const struct ip *addr;      /* the client's; NULL: not known */
    struct slice uri;           /* path and query as the client sent them; p NULL: not known */
    struct slice method, host;  /* n 0: not known */
    struct crawlers *crawlers;  /* NULL: whoever says to be one is not known */
    msec_t now_ms;
    struct slice own; /* the queue where no rule decides; n 0: any */
};

/* Is the table well formed? Reads no file. country_header: "" = there is none. 0, SQ_ENOMEM, or SQ_EINVAL
 * with the rule and the member. */
SQ_CHECK int gate_rules_check(const struct gate_rule *v, size_t n, const char *country_header,
                              struct err *e);
/* Replaces *g, which stays as it was on error: SQ_EINVAL, SQ_ENOMEM, or those of file_read(). */
SQ_CHECK int gate_rules_load(struct gate_rules **g, const struct gate_rule *v, size_t n,
                             const char *country_header, struct err *e);
void gate_rules_free(struct gate_rules *g);

struct gate_rule_doubt {
    bool unclear;      /* the request can be read in two ways */
    size_t one, other; /* GATE_RULE_TWO: rules of the two rooms; other NONE: the gate's own queue */
};

/* Index of the rule that decides, GATE_RULE_NONE, or GATE_RULE_TWO. */
size_t gate_rules_find(const struct gate_rules *g, const struct gate_rule_ask *a, struct gate_rule_doubt *d);
/* Name of its queue; "": past all rooms. */
const char *gate_rules_queue(const struct gate_rules *g, size_t i);

#endif

/* blame.h: peers whose messages the core did not survive. A core that cannot note down a step is
 * begun anew (steps.h). If that is due to a message, its sender says it again as soon as it has
 * registered with the next core, and nothing else is done any more. So a peer whose message was the
 * last of BLAME_TIMES cores within a minute is dropped: its links are closed for ten minutes, and
 * everybody else is served. Counted by peer: without memory any message may be the one too many, and
 * most of them are not one peer's. Pure. */
#ifndef SEGQ_MNG_BLAME_H
#define SEGQ_MNG_BLAME_H

#include "common/base/base.h"
#include "common/wire/role.h"

#define BLAME_TIMES     3
#define BLAME_WITHIN_MS 60000
#define BLAME_DROP_MS   600000
#define BLAME_ROWS      16 /* peers that are remembered; above it the one of longest ago gives way */

struct blamed {
    enum rpc_role role;
    char node[NAME_MAX_LEN + 1];
    msec_t at_ms[BLAME_TIMES]; /* the newest first; 0: none */
    msec_t until_ms;           /* end of the time for which it is dropped */
};

struct blame { /* zero: nobody */
    struct blamed v[BLAME_ROWS];
};

/* A core has ended with a message of this peer: how often within the last minute. Above 0. */
unsigned blame_add(struct blame *b, enum rpc_role role, const char *node, msec_t now_ms);
/* For how long its links are closed yet; 0: they are not. */
msec_t blame_left_ms(const struct blame *b, enum rpc_role role, const char *node, msec_t now_ms);

#endif

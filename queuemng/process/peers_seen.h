/* peers_seen.h: what the process remembers of its peers. The core knows nothing of it. Pure.
 *
 * Loads: what processes say of themselves: processor, memory, how soon they answer; for operators to
 * look at.
 *
 * Blame: peers whose messages the core did not survive. A core that cannot note down a step is
 * begun anew (manager.h). If that is due to a message, its sender says it again as soon as it has
 * registered with the next core, and nothing else is done any more. So a peer whose message was the
 * last of BLAME_TIMES cores within a minute is dropped: its links are closed for ten minutes, and
 * everybody else is served. Counted by peer: without memory any message may be the one too many, and
 * most of them are not one peer's. */
#ifndef SEGQ_QUEUEMNG_PROCESS_PEERS_SEEN_H
#define SEGQ_QUEUEMNG_PROCESS_PEERS_SEEN_H

#include "common/base/map.h"
#include "common/wire/msg.h"

#define LOAD_STALE_MS 10000 /* older ones are not shown */

struct load_seen {
    enum rpc_role role;
    char name[NAME_MAX_LEN + 1];
    char version[LOAD_VERSION_MAX + 1], warning[LOAD_WARNING_MAX + 1];
    msec_t at_ms;
    struct msg_load load; /* texts of it are those above */
};

struct loads {
    struct map by_name; /* hash of role and name -> struct load_seen (owned) */
};

void loads_init(struct loads *l);
void loads_fini(struct loads *l);
/* Without memory it is not noted. */
void loads_note(struct loads *l, enum rpc_role role, const char *name, msec_t now_ms,
                const struct msg_load *m);
/* NULL: it has said nothing lately. */
const struct load_seen *loads_of(const struct loads *l, enum rpc_role role, const char *name,
                                 msec_t now_ms);
/* Drops stale ones. */
void loads_tidy(struct loads *l, msec_t now_ms);

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

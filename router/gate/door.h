/* door.h: who must work for a place, and what became of it: the state of challenges in a router.
 * Pure: times, randomness and what the manager has told arrive with each call.
 *
 * A join needs an answer while the manager says so (all routers' joins together, with hysteresis:
 * queuemng/policy/flood.h), once this router alone has had `from` joins of the queue in this second, or
 * if its address prefix (/24, /56) has joined more than per_address times in a minute, or a /48, which
 * has 256 of these, DOOR_SITE times as often. Difficulty is
 * a rank of puzzles.h: twice the work from level to level.
 *
 * Within a prefix, or a /48, each ask gets a puzzle of its own, PUZZLES a second at most. */
#ifndef SEGQ_DOOR_H
#define SEGQ_DOOR_H

#include "common/base/map.h"
#include "common/base/text.h"
#include "common/wire/msg.h"
#include "router/gate/challenge.h"
#include "router/gate/crowd.h"

#define DOOR_LEVELS   3u   /* 1: as the queue's cost says; each has twice the work */
#define DOOR_SITE    8u
#define DOOR_AUTO_KEYS 8192u /* keys that are tried at most, cost auto, level 1 */
/* Whoever cannot work waits for so long, and then brings the challenge back as it is: one of a prefix
 * in a minute is let in. */
#define DOOR_PATIENCE_S 20
#define DOOR_USES     3u   /* an answer gets lost, and its join comes again: it finds its place */

struct door_queue { /* joins of a queue, with a challenge or without */
    queue_id id;
    int64_t second;
    uint32_t in_second;
    uint32_t asked; /* since they were last told to managers */
};

struct door {
    struct challenge_keys keys;
    struct crowd *people; /* owned: joins and asks of prefixes */
    struct crowd *used;   /* owned */
    struct puzzles *puzzles; /* owned */
    struct map queues;    /* id -> struct door_queue, owned */
    struct hmac256 hash;  /* key of what stands in the tables */
    uint64_t ids;         /* challenges that were made */
    uint64_t refused[CHALLENGE_NSTATES]; /* [CHALLENGE_GOOD]: let in */
    uint64_t too_fast, spared; /* asks beyond PUZZLES; joins that needed none all the same */
    uint64_t waited; /* let in, since they did */
};

struct door_ask {
    const struct map_queue *queue;
    uint32_t told;    /* level that the manager has told; 0: off */
    uint64_t prefix;  /* limit_prefix() */
    uint64_t site;    /* limit_site() */
    bool patient;     /* a page asks: to have waited will do */
    msec_t now_ms;    /* monotonic */
    int64_t wall_s;
};

/* secret: random, of this process; key, other (NULL: none): of the cluster. SQ_ENOMEM. */
SQ_CHECK int door_init(struct door *d, const uint8_t secret[32], const uint8_t *key, const uint8_t *other);
void door_fini(struct door *d);
/* Counts a join. 0: it needs nothing; else the level of its challenge. */
unsigned door_level(struct door *d, const struct door_ask *a);
unsigned door_rank(const struct door_ask *a, unsigned level); /* rank of its puzzles */
/* A fresh challenge; 0: the prefix asks too fast, or there is no memory. */
size_t door_challenge(struct door *d, const struct door_ask *a, const struct challenge_terms *t, unsigned level,
                      char out[CHALLENGE_TEXT_MAX]);
/* May the join go on with that answer? *of: its challenge, if so. */
enum challenge_state door_check(struct door *d, const struct door_ask *a, const struct challenge_terms *t,
                                struct slice answer, struct challenge_seen *of);
/* Has a join with that good pass none to bring? DOOR_USES times a minute: a pass is one person. */
bool door_spares(struct door *d, uint64_t seg, uint32_t number, msec_t now_ms);
/* Joins since the last call, for managers: as many rows as have some. */
uint32_t door_rows(struct door *d, struct join_row rows[MSG_JOINS_MAX]);

#endif

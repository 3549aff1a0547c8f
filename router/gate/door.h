/* door.h: who must work for a place, and what became of it: the state of challenges in a router.
 * Pure: times, randomness and what the manager has told arrive with each call.
 *
 * A join needs an answer while the manager says so (all routers' joins together, with hysteresis:
 * queuemng/policy/joins.h), once this router alone has had `from` joins of the queue in this second, or
 * if its address prefix (/24, /56) has joined more than per_address times in a minute, or a /48, which
 * has 256 of these, DOOR_SITE times as often. Difficulty is
 * a rank of challenge.h: twice the work from level to level.
 *
 * The more a prefix takes the more it pays: from 2, 4, 8 and 24 times as many as are usual on, twice the
 * work each time. Usual are per_address, or DOOR_USUAL where it is 0. What counts is this minute of the
 * prefix and the one before, both whole: the price rises at once, and falls when a minute was quieter.
 * Joins that are free and challenges that are given count, so that nobody gathers cheap ones; the answer
 * to a challenge does not count again, nor does whoever needs none (claims).
 *
 * Within a prefix, or a /48, each ask gets a puzzle of its own, PUZZLES a second at most. */
#ifndef SEGQ_DOOR_H
#define SEGQ_DOOR_H

#include "common/base/map.h"
#include "common/base/text.h"
#include "common/wire/msg.h"
#include "router/gate/challenge.h"
#include "router/gate/crowd.h"

#define DOOR_LEVELS   5u   /* 1: as the queue's cost says; each has twice the work */
#define DOOR_SITE     2u
#define DOOR_USUAL    3u   /* joins of a prefix in a minute, if per_address does not say it */
/* A slow phone tries so many while a challenge lives: beyond it no prefix pays more than twice the cost. */
#define DOOR_MOST_KEYS 131072u
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
    struct crowd *people; /* owned: joins and asks of prefixes, in a minute */
    struct crowd *walks;  /* owned: puzzles that a site has had in this second */
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
    uint32_t told;    /* level that the manager has told, or a suspect has; 0: off */
    uint64_t prefix;  /* limit_prefix() */
    uint64_t site;    /* limit_site() */
    bool patient;     /* a page asks: to have waited will do */
    msec_t now_ms;    /* monotonic */
    int64_t wall_s;
    uint64_t rows[2]; /* set by door_level(): names of prefix and site in its table; 0: it does not count */
};

/* secret: random, of this process; key, other (NULL: none): of the cluster. SQ_ENOMEM. */
SQ_CHECK int door_init(struct door *d, const uint8_t secret[32], const uint8_t *key, const uint8_t *other);
void door_fini(struct door *d);
/* 0: it needs nothing; else the level of its challenge. Counts the join for the queue, not for its prefix. */
unsigned door_level(struct door *d, struct door_ask *a);
/* Counts it for its prefix: it goes in for nothing, or gets a challenge. After door_level(). */
void door_count(struct door *d, const struct door_ask *a);
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

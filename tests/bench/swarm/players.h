/* players.h: all players, an array; about 150 bytes each. Pure.
 * Their fates are drawn at birth from the seed, so a run can be had again. */
#ifndef SEGQ_SWARM_PLAYERS_H
#define SEGQ_SWARM_PLAYERS_H

#include "common/base/rng.h"
#include "tests/bench/swarm/check.h"
#include "tests/bench/swarm/opts.h"

#define TOKEN_CAP 64

enum player_state {
    PLAYER_UNBORN,
    PLAYER_JOINING,
    PLAYER_WAITING,
    PLAYER_ADMITTED, /* has a pass; may ask again, may end its session */
    PLAYER_LEFT,     /* said so itself */
    PLAYER_VANISHED,
    PLAYER_GONE,     /* the cluster said so, rightly */
    PLAYER_LOST,     /* the cluster said so, and should not have */
    PLAYER_REFUSED,  /* could never join (closed queue, unknown queue) */
    PLAYER_NSTATES
};

/* What its next request is. */
enum player_act { ACT_JOIN, ACT_JOIN_AGAIN, ACT_POLL, ACT_LEAVE, ACT_ASK_AGAIN, ACT_END };

#define FATE_LEAVES   1u
#define FATE_VANISHES 2u
#define FATE_LATE     4u
#define FATE_RETRIES  8u
#define FATE_REPEATS  16u
#define HAS_STRAYED   32u /* was served so late that its turn may have passed */
#define OWN_FAULT     64u /* ... because it, or this program, was late: may time out, too */

struct player {
    char token[TOKEN_CAP];
    uint64_t position;   /* last one shown; 0: none */
    uint64_t pass_hash;  /* 0: none */
    uint64_t id_hash;    /* of the pass */
    int64_t released_ms;
    int64_t due_us;      /* when it was to act next, as it had been told */
    int64_t planned_us;  /* of the request under way; later than due_us for a repeated one */
    int64_t sent_us;
    int64_t join_sent_us;
    int64_t join_done_us;
    uint32_t told_ms;     /* to wait, by its last answer; 0: nothing yet */
    uint8_t token_len;
    uint8_t state;       /* enum player_state */
    uint8_t act;         /* enum player_act */
    uint8_t flags;
    uint8_t client;      /* enum client_class */
    uint8_t polls_to_fate;
    uint16_t fails;      /* in a row */
};

struct players {
    struct player *v; /* owned */
    uint32_t n;
    uint64_t in_state[PLAYER_NSTATES];
    uint64_t most_waiting; /* at any moment */
};

SQ_CHECK int players_init(struct players *p, const struct opts *o, struct rng *r);
void players_fini(struct players *p);
void players_set(struct players *p, uint32_t who, enum player_state to);
const char *player_state_name(enum player_state s);
const char *client_name(unsigned client);

/* Fills v (room for all) with those who were admitted; how many. */
size_t players_admitted(const struct players *p, struct check_rec *v);
/* Tokens, or passes' ids, that two players have. v: room for all. */
uint64_t players_same_token(const struct players *p, uint64_t *v);
uint64_t players_same_pass(const struct players *p, uint64_t *v);

#endif

/* play.h: what the players do, and what is counted of it. Shell over conns.h, wheel.h. */
#ifndef SEGQ_SWARM_PLAY_H
#define SEGQ_SWARM_PLAY_H

#include "tests/bench/swarm/conns.h"
#include "tests/bench/swarm/lat.h"
#include "tests/bench/swarm/players.h"
#include "tests/bench/swarm/wheel.h"

#define STATUS_MAX 600

struct tally {
    uint64_t joins, polls, leaves;  /* answered as they should be */
    uint64_t status[STATUS_MAX];    /* answers by status */
    uint64_t fails;                 /* no answer: connection, time-out */
    uint64_t odd;                   /* an answer that is not documented */
    uint64_t grew, double_pass, moved_token, lost;
    uint64_t strayed, null_positions;
    struct lat_pair join_lat, poll_lat;
    struct lat wait;        /* from the join to the pass */
    struct lat notice;      /* from the release, as the ticket dates it, to the answer */
    struct lat notice_told; /* the same, in thousandths of what the player was told to wait */
    int64_t first_join_us, last_join_us, first_admit_us, last_admit_us;
    char example[4][160];           /* of grew, double, lost, odd: the first one */
};

struct play {
    const struct opts *o; /* ref */
    struct ev *ev;        /* ref */
    struct conns *conns;
    struct players players;
    struct wheel wheel;
    struct rng rng;
    struct ev_timer *tick;
    int64_t start_us;
    int64_t next_arrival_us;
    uint32_t born;
    uint64_t at_rest; /* players who have nothing more to do */
    struct tally t;
};

SQ_CHECK int play_init(struct play *p, struct ev *ev, const struct opts *o, struct err *e);
void play_fini(struct play *p);
bool play_done(const struct play *p); /* everybody was born and is at rest */

#endif

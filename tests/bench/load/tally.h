/* tally.h: what came of the requests. Pure, but for the writing. */
#ifndef SEGQ_LOAD_TALLY_H
#define SEGQ_LOAD_TALLY_H

#include <stdio.h>

#include "tests/bench/swarm/lat.h"

/* How a request ended. */
enum ending {
    ENDED_ANSWERED, /* there is a status */
    ENDED_CONNECT,  /* no connection */
    ENDED_CLOSED,   /* the connection broke before the answer */
    ENDED_TIMEOUT,
    ENDED_PROTOCOL, /* not HTTP as we know it, or more than was asked for */
    ENDED_NKINDS
};

#define TALLY_STATUSES 600

struct tally {
    uint64_t ok;                     /* 2xx */
    uint64_t bad[ENDED_NKINDS];      /* [ENDED_ANSWERED]: all other statuses together */
    uint64_t status[TALLY_STATUSES]; /* those that are not 2xx */
    struct lat lat;                  /* of every answer, whatever its status */
};

void tally_add(struct tally *t, enum ending how, unsigned status, uint64_t lat_us);
uint64_t tally_errors(const struct tally *t);
/* "errors":{"503":2,"closed":1} and "lat_us":{"p50":...} */
void tally_write_errors(const struct tally *t, FILE *f);
void tally_write_lat(const struct tally *t, FILE *f);
/* "hist_us":[[127,3],[129,1]]: at most so long, how many; so that intervals can be put
 * together exactly. */
void tally_write_hist(const struct tally *t, FILE *f);

#endif

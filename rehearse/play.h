/* play.h: plays a night. Pure: no clock, no files; the same night gives the same figures. */
#ifndef SEGQ_REHEARSE_PLAY_H
#define SEGQ_REHEARSE_PLAY_H

#include "rehearse/figures.h"
#include "rehearse/night.h"

struct play_watch { /* called once a second of the night; fn may be NULL */
    void (*fn)(void *ctx, uint32_t second, uint32_t of);
    void *ctx;
};

/* The night must have passed night_check(). 0: f is to be ended by figures_fini(); SQ_ENOMEM. */
SQ_CHECK int play_night(struct figures *f, const struct night *n, struct play_watch watch);

#endif

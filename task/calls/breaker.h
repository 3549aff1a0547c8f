/* breaker.h: is the target well enough to be called? Pure.
 *
 *   CLOSED   calls go. Of the calls that ended in the last 10 s, `ratio` percent have failed (and
 *            there were `min`), or the last 10 in a row have, or 5 over a second or more: so a task
 *            that is alone at its endpoint does not use its attempts up first: OPEN
 *   OPEN     none go, for open_ms the first time, twice as long each time after that, up to a
 *            minute; then PROBES
 *   PROBES   one goes; if it is well, two; then four; then CLOSED. One that fails: OPEN
 *
 * (M. Nygard, "Release It!", 2007; the figures are those of Convoy and Finagle.) A call says when it
 * ends whether it was a probe, since those that began before it opened end while it is open. */
#ifndef SEGQ_CALLS_BREAKER_H
#define SEGQ_CALLS_BREAKER_H

#include "common/base/base.h"
#include "common/wire/msg_task_manager.h"

#define BREAKER_IN_A_ROW    10u
#define BREAKER_FEW         5u   /* in a row, */
#define BREAKER_FEW_MS      1000 /* over so long */
#define BREAKER_OPEN_MAX_MS 60000
#define BREAKER_SLOTS       10u /* cells of a second each */
#define BREAKER_PROBES_MAX  4u

struct breaker_rules {
    uint32_t ratio; /* percent; 0: it never opens */
    uint32_t min, open_ms;
};

struct breaker { /* zero: closed */
    uint8_t state; /* enum breaker_state */
    uint32_t in_a_row; /* failed, */
    msec_t row_since;  /* the first of them then */
    struct {
        int64_t second;
        uint32_t ended, failed;
    } slot[BREAKER_SLOTS];
    msec_t until;   /* OPEN */
    msec_t last_ms; /* for how long it was open the last time; 0: since it was closed */
    uint32_t probes, allowed, good; /* PROBES: on their way; at once; that were well */
};

/* OPEN goes to PROBES when it is time; when it will be: MSEC_NEVER if it is not open. */
msec_t breaker_advance(struct breaker *b, msec_t now);
/* May a call begin? */
bool breaker_lets(struct breaker *b, msec_t now);
/* When it may let one pass by itself; MSEC_NEVER; 0: now. */
msec_t breaker_when(const struct breaker *b);
/* A call begins. True: it is a probe. */
bool breaker_begins(struct breaker *b);
/* A call that did not ask it was well: if it is open more may try now: two, then four. */
void breaker_heard_well(struct breaker *b);
enum breaker_end { END_WELL, END_FAILED, END_UNKNOWN }; /* UNKNOWN: nobody knows: cancelled by us */
void breaker_ends(struct breaker *b, const struct breaker_rules *r, bool probe,
                  enum breaker_end how, msec_t now);

#endif

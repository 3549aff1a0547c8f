/* pressure.h: what a target says on a page of metrics of how much it has to do (requests that wait there, a
 * cache that is full), and what follows for its slots. Pure.
 *
 * A reading closes its target while its value was above `close_above` and has not been down to `open_below`
 * since (a hysteresis, so that it does not flap), and narrows it: at `narrow_from` it has all slots, at
 * `narrow_to` one, in proportion between. Several readings: closed by any, narrowed by the one that leaves
 * least. Calls under way go on.
 *
 * A value counts for `stale`. A page that cannot be read any longer is no pressure: the breaker, slots and the
 * adaptive limit hold as ever, and the target is `blind`, so that somebody may look. */
#ifndef SEGQ_CALLS_PRESSURE_H
#define SEGQ_CALLS_PRESSURE_H

#include "common/base/err.h"
#include "common/wire/msg_task_manager.h"

#define PRESSURE_LOOK_MS 500 /* a target that is closed is looked at again so often */

struct pressure { /* zero: nothing is known */
    struct {
        double value;
        msec_t at; /* time of the page that had it; 0: none */
        bool closed;
    } of[READINGS_MAX];
    msec_t failing; /* since when a page, or a value on it, is not read; 0: the last one was whole */
    char why[READING_SAID_MAX + 1]; /* reason; "" */
    /* For who reads: */
    msec_t next; /* when the page is read again */
    bool said;   /* blindness was logged */
};

/* Takes the page that was asked for at now. False: one of the values is not there, p->why. */
bool pressure_read(struct pressure *p, const struct msg_endpoint *d, const char *text, size_t n, msec_t now);
/* The page could not be read. */
void pressure_failed(struct pressure *p, const char *why, msec_t now);

bool pressure_closes(const struct pressure *p, const struct msg_endpoint *d, msec_t now);
/* Returns its slots, of `most`; at least one, if there is any. */
uint64_t pressure_slots(const struct pressure *p, const struct msg_endpoint *d, uint64_t most, msec_t now);
/* Returns its state, for people; text: the value that counts most, or why there is none. */
enum reading_state pressure_state(const struct pressure *p, const struct msg_endpoint *d, msec_t now,
                                  char text[READING_SAID_MAX + 1]);
/* Both have the same readings. */
bool pressure_same(const struct msg_endpoint *a, const struct msg_endpoint *b);

#endif

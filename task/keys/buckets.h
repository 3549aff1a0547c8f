/* buckets.h: what a limiter's rates let start, of tasks and of units. Pure. For the files of this room.
 *
 * A limiter that no rate in units has ever closed knows its next moment by the rate of starts. One that is
 * closed since its next task did not fit has what that task needs (struct unit_bucket): then it opens. */
#ifndef SEGQ_TASK_BUCKETS_H
#define SEGQ_TASK_BUCKETS_H

#include "task/keys/tree.h"

/* Calendar windows of rates in units: a minute, an hour, a day of a zone's clocks, each with all its units
 * anew. Pure.
 *
 * Nothing here reads a clock: a window begins by a record (WINDOW), so a replay counts as the live tree did. In each at
 * most its units start, or a single task of more than these, alone. Less that was taken in truth comes back if the task
 * started in the window that is running: starts have rising leases. */

struct window {
    uint64_t no;            /* 0: none has begun */
    int64_t from_ms, to_ms; /* Unix ms */
    uint64_t lease;         /* the first start has it, or a later one */
    bool wanted;            /* some rule has it */
    bool begun;             /* limiters that it closed, or kept, are still looked for */
    bool emptied; /* starts in it may be missing: whatever is new has nothing of it */
};

struct windows {
    char *zone[RATE_ZONES_MAX + 1]; /* owned; "": UTC; NULL: not known */
    struct window v[UNIT_WINDOWS];  /* by unit_window() */
    int64_t wall_ahead;             /* before the partition's axis */
    uint32_t at;                    /* the first limiter that is still to be looked at; 0: none */
    bool in_parts;                  /* they are looked at later, some in each turn: this is no replay */
};

/* A zone has a number, and its windows are still to begin. 0; SQ_EPROTO: rules have those of another one; SQ_ENOMEM. */
SQ_CHECK int windows_name(struct tree *t, unsigned zone, const char *name, size_t n);
void windows_free(struct tree *t);
/* The next one begins, w->no is one more: what was taken is forgotten, by each bucket when it is looked at; and
 * windows_sweep() opens what it closed. In a replay all is done at once: keys go there no later than they went. */
void window_begins(struct tree *t, uint8_t window, const struct window *w, msec_t now);
/* Goes on with that, by so many limiters. */
void windows_sweep(struct tree *t, uint32_t most, msec_t now);
void windows_forget(const struct tree *t, struct unit_bucket *b);
/* NULL: its zone is not known. */
static inline struct window *window_at(const struct tree *t, uint8_t window)
{
    return t->windows == NULL || t->windows->zone[window / RATE_NPERS] == NULL ? NULL : &t->windows->v[window];
}
/* When it has, on the partition's axis, if nothing else is taken of it; 0: now, or not known. */
msec_t window_when(const struct tree *t, const struct unit_rate *r, int64_t taken, uint64_t units);
/* The end of the window that closes the limiter; 0: none does. */
msec_t window_closes(const struct tree *t, uint32_t limiter);

/* NULL: the limiter has no rates in units. */
static inline struct unit_bucket *bucket_of(const struct tree *t, uint32_t i)
{
    struct unit_bucket *b;

    if (!t->has_units || tree_limiter_at(t, i)->rule->units[0].units == 0)
        return NULL;
    b = t->trial == NULL ? pages_at(&t->buckets, i) : trial_at(t->trial, TRIAL_BUCKETS, i);
    if (t->windows != NULL)
        windows_forget(t, b);
    return b;
}
bool bucket_has_rate(const struct tree *t, uint32_t limiter);
/* When its rates let the next one pass, as far as it is known; 0: long ago. */
msec_t bucket_lets_when(const struct tree *t, uint32_t limiter);
msec_t bucket_full_at(const struct tree *t, uint32_t limiter);
struct settlement { /* a start under `lease`, of `was` units, took `used` */
    uint64_t was, used, lease;
};
void bucket_settle(struct tree *t, uint32_t limiter, const struct settlement *s, msec_t now);
/* A task starts. */
void bucket_pay(struct tree *t, uint32_t limiter, uint64_t cost, msec_t now);
/* The rule is another one, or the limiter is new. */
void bucket_anew(struct tree *t, uint32_t limiter, msec_t now);
/* Empties all; what is owed in units stays owed. */
void bucket_empty(struct tree *t, uint32_t limiter, msec_t now);

#endif

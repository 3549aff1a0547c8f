/* turn.h: a rig whose world is `w` turns its loop (w.ev) until something holds. */
#ifndef SEGQ_TEST_TURN_H
#define SEGQ_TEST_TURN_H

#include "common/net/ev.h"

#include "tests/lib/criterion.h"
#include <time.h>

static inline int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 50 s: a slow machine. */
#define UNTIL(expr)                                                                      \
    do {                                                                                 \
        int64_t end_ = now_ms() + 50000;                                                 \
        while (!(expr) && now_ms() < end_)                                               \
            ev_turn(w.ev, false);                                                        \
        cr_assert(expr, "waited in vain for " #expr);                                    \
    } while (0)

#endif

/* test_session.c: records of the released against plain arrays. */
#include "tests/lib/criterion.h"
#include <signal.h>
#include <string.h>

#include "common/base/rng.h"
#include "segment/line/session.h"

#define N 3000

static struct sessions s;

static void setup(void)
{
    sessions_init(&s);
}

static void teardown(void)
{
    sessions_fini(&s);
}

TestSuite(session, .init = setup, .fini = teardown);

static struct session *add(seg_id seg, uint32_t number, enum session_state st, msec_t at)
{
    cr_assert_eq(sessions_reserve(&s, 1), 0);
    return sessions_add(&s, (struct ticket_id) { seg, number }, st, at);
}

Test(session, found_by_segment_and_number)
{
    add(1, 5, SESSION_READY, 10)->client = 2;
    add(2, 5, SESSION_READY, 10)->client = 1;
    cr_assert_eq(sessions_find(&s, (struct ticket_id) { 1, 5 })->client, 2);
    cr_assert_eq(sessions_find(&s, (struct ticket_id) { 2, 5 })->client, 1);
    cr_assert_null(sessions_find(&s, (struct ticket_id) { 1, 6 }));
    session_forget(&s, sessions_find(&s, (struct ticket_id) { 1, 5 }));
    cr_assert_null(sessions_find(&s, (struct ticket_id) { 1, 5 }));
    cr_assert_eq(sessions_live(&s), 1);
}

Test(session, two_clocks)
{
    struct session *x;

    add(1, 1, SESSION_READY, 100);
    add(1, 2, SESSION_ADMITTED, 200);
    cr_assert_null(sessions_due(&s, 99, 199));
    x = sessions_due(&s, 99, 200);
    cr_assert_eq(x->id.number, 2);
    session_forget(&s, x);
    x = sessions_due(&s, 100, 0);
    cr_assert_eq(x->id.number, 1);
    session_set(&s, x, SESSION_GRACE, 300);
    cr_assert_null(sessions_due(&s, 299, 1000000));
    sessions_shift(&s, 50);
    cr_assert_null(sessions_due(&s, 349, 1000000));
    cr_assert_not_null(sessions_due(&s, 350, 0));
}

Test(session, returning_keep_their_order_when_polled_again)
{
    struct session *x;

    for (uint32_t i = 0; i < 5; i++)
        add(1, i, SESSION_GRACE, 1000);
    for (uint32_t i = 5; i-- > 0;)
        session_set(&s, sessions_find(&s, (struct ticket_id) { 1, i }), SESSION_RETURNING,
                    50);
    session_set(&s, sessions_find(&s, (struct ticket_id) { 1, 4 }), SESSION_RETURNING,
                999);
    for (uint32_t i = 5; i-- > 0;) {
        x = sessions_first_returning(&s);
        cr_assert_eq(x->id.number, i);
        session_set(&s, x, SESSION_READY, 10);
    }
    cr_assert_null(sessions_first_returning(&s));
}

struct mirror {
    uint8_t state;
    msec_t deadline;
};

static void check(const struct mirror *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < N; i++) {
        const struct session *x = sessions_find(&s, (struct ticket_id) { i % 3, i });

        cr_assert_eq(x != NULL, m[i].state != SESSION_FREE);
        if (x == NULL)
            continue;
        cr_assert_eq(x->state, m[i].state);
        cr_assert_eq(x->deadline_ms, m[i].deadline);
        n += x->state != SESSION_OVER;
    }
    cr_assert_eq(sessions_live(&s), n);
}

/* Everything due comes out, earliest first. */
static void expire(struct mirror *m, msec_t now)
{
    struct session *x;

    while ((x = sessions_due(&s, now, now)) != NULL) {
        cr_assert_leq(x->deadline_ms, now);
        m[x->id.number].state = SESSION_FREE;
        session_forget(&s, x);
    }
    for (uint32_t i = 0; i < N; i++)
        cr_assert(m[i].state == SESSION_FREE || m[i].deadline > now);
}

static void run(uint64_t seed)
{
    struct mirror m[N] = { { 0, 0 } };
    struct rng r;

    rng_seed(&r, seed);
    for (msec_t now = 0; now < 60000; now++) {
        uint32_t i = (uint32_t)rng_below(&r, N);
        enum session_state st = (enum session_state)(1 + rng_below(&r, 5));
        msec_t at = now + (msec_t)rng_below(&r, now < 30000 ? 4000 : 200);
        struct session *x = sessions_find(&s, (struct ticket_id) { i % 3, i });

        if (x == NULL)
            add(i % 3, i, st, at);
        else if (st == x->state || session_may(x->state, st))
            session_set(&s, x, st, at);
        else
            session_restore(&s, x, st, at);
        m[i] = (struct mirror) { (uint8_t)st, at };
        if (now % 50 == 0) {
            expire(m, now);
            sessions_trim(&s);
        }
        if (now % 2000 == 0)
            check(m);
    }
    cr_assert_leq(s.cap, 1000, "memory was given back");
    expire(m, 1000000);
    sessions_trim(&s);
    cr_assert_eq(s.cap, 0);
}

Test(session, agrees_with_arrays_seed_1)
{
    run(1);
}
Test(session, agrees_with_arrays_seed_2)
{
    run(2);
}

Test(session, a_session_that_is_over_comes_back_in_no_way)
{
    for (unsigned to = 0; to < SESSION_NSTATES + 1; to++) {
        cr_assert_not(session_may(SESSION_FREE, to));
        cr_assert_not(session_may(SESSION_OVER, to));
        cr_assert_not(session_may(SESSION_REVOKED, to));
        cr_assert_not(session_may(SESSION_NSTATES, to));
    }
}

Test(session, only_a_released_ticket_is_admitted)
{
    for (unsigned from = 0; from < SESSION_NSTATES; from++)
        cr_assert_eq(session_may(from, SESSION_ADMITTED), from == SESSION_READY, "%u", from);
}

Test(session, a_step_that_the_table_does_not_know_is_a_fault, .signal = SIGABRT)
{
    session_set(&s, add(1, 1, SESSION_ADMITTED, 100), SESSION_GRACE, 100);
}

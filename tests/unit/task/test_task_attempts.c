/* test_task_attempts.c: attempts are kept, the newest of them, within a bound; what a file says of
 * them is looked at. */
#include "task/store/extras.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/err.h"

static char reason[ATTEMPT_REASON];

static struct attempt at(unsigned i)
{
    return (struct attempt){ .no = i, .end = ATTEMPT_LAPSED, .started = 1000 * (msec_t)i,
                             .ended = 1000 * (msec_t)i + 10, .again = 1000 * (msec_t)i + 500 };
}

static void add(struct attempts *h, unsigned i)
{
    struct attempt a = at(i);

    attempts_add(h, 7, &a);
}

static struct attempts filled(unsigned n)
{
    struct attempts h;

    attempts_init(&h);
    for (unsigned i = 1; i <= n; i++)
        add(&h, i);
    return h;
}

Test(task_attempts, the_newest_attempts_are_kept_and_the_others_counted)
{
    struct attempts h = filled(ATTEMPTS_KEPT + 3);
    struct attempt v[ATTEMPTS_KEPT];
    uint32_t earlier;

    cr_assert_eq(attempts_of(&h, 7, v, &earlier), ATTEMPTS_KEPT);
    cr_expect_eq(earlier, 3);
    for (unsigned i = 0; i < ATTEMPTS_KEPT; i++) {
        cr_expect_eq(v[i].no, i + 4);
        cr_expect_eq(v[i].end, ATTEMPT_LAPSED);
        cr_expect_eq(v[i].started, at(i + 4).started);
        cr_expect_eq(v[i].ended, at(i + 4).ended);
        cr_expect_eq(v[i].again, at(i + 4).again);
    }
    cr_expect_eq(attempts_of(&h, 8, v, &earlier), 0);
    cr_expect_eq(earlier, 0);
    attempts_fini(&h);
}

Test(task_attempts, long_reasons_leave_room_for_fewer)
{
    struct attempts h = filled(0);
    struct attempt v[ATTEMPTS_KEPT];
    uint32_t earlier;
    unsigned n;

    memset(reason, 'r', sizeof(reason));
    for (unsigned i = 1; i <= 5; i++) {
        add(&h, i);
        attempts_explain(&h, 7, 503, reason, sizeof(reason));
    }
    n = attempts_of(&h, 7, v, &earlier);
    cr_assert_eq(n, 2);
    cr_expect_eq(earlier, 3);
    cr_expect_eq(v[1].no, 5);
    cr_expect_eq(v[1].number, 503);
    cr_expect(v[0].reason_len == sizeof(reason) && memcmp(v[0].reason, reason, sizeof(reason)) == 0);
    cr_expect_leq(attempts_past(&h, 7)->len, ATTEMPTS_BYTES);
    attempts_fini(&h);
}

Test(task_attempts, what_goes_leaves_nothing)
{
    struct attempts h = filled(3);

    cr_expect_gt(h.bytes, 0);
    attempts_drop(&h, 7);
    attempts_drop(&h, 7);
    attempts_explain(&h, 7, 0, "late", 4);
    cr_expect_eq(h.bytes, 0);
    cr_expect_null(attempts_past(&h, 7));
    attempts_fini(&h);
}

Test(task_attempts, a_record_is_read_again_and_a_damaged_one_refused)
{
    struct attempts h = filled(3), again = filled(1);
    const struct past *p = attempts_past(&h, 7);
    struct attempt v[ATTEMPTS_KEPT];
    uint8_t bytes[ATTEMPTS_BYTES + 1] = { 0 };
    uint32_t earlier;

    cr_assert_eq(attempts_load(&again, 7, 5, p->bytes, p->len), 0);
    cr_expect_eq(attempts_of(&again, 7, v, &earlier), 3);
    cr_expect_eq(earlier, 5);
    cr_expect_eq(again.bytes, h.bytes);
    for (uint32_t n = 1; n < p->len; n++)
        if (n % (p->len / 3) != 0)
            cr_expect_eq(attempts_load(&again, 7, 0, p->bytes, n), SQ_EPROTO, "%u bytes", n);
    cr_expect_eq(attempts_load(&again, 7, 0, p->bytes, 0), SQ_EPROTO);
    cr_expect_eq(attempts_load(&again, 7, 1ull << 32, p->bytes, p->len), SQ_EPROTO);
    cr_expect_eq(attempts_load(&again, 7, 0, bytes, sizeof(bytes)), SQ_EPROTO);
    for (uint32_t i = 0; i < p->len; i++) { /* whatever a byte is: refused, or read as attempts */
        memcpy(bytes, p->bytes, p->len);
        bytes[i] ^= 0xff;
        if (attempts_load(&again, 7, 0, bytes, p->len) == 0)
            (void)attempts_of(&again, 7, v, &earlier);
    }
    attempts_fini(&h);
    attempts_fini(&again);
}

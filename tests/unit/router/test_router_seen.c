/* test_router_seen.c: polls that were answered here reach their node, whatever links do. */
#include "router/replica/poll_marks.h"

#include "tests/lib/criterion.h"

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/ticket/pace.h"
#include "common/wire/replica_bytes.h"

static struct seen seen;

static void begin(void)
{
    seen_init(&seen);
}

static void end(void)
{
    seen_fini(&seen);
}

static uint32_t marks_of(const struct seen_frame *f, seg_id name, uint8_t client,
                         uint32_t *number, uint8_t *told)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct seen_row *row = &f->row[i];
        struct bytes_in in = { row->marks, row->marks + row->n_marks };
        uint32_t last = 0;

        if (row->name != name || row->client != client)
            continue;
        for (; in.p < in.end; n++) {
            cr_assert(mark_get(&in, &last, &told[n]));
            number[n] = last;
        }
    }
    return n;
}

Test(router_seen, marks_come_out_by_name_and_class, .init = begin, .fini = end)
{
    const struct seen_frame *f;
    uint32_t number[8];
    uint8_t told[8];

    cr_expect_null(seen_next(&seen));
    cr_assert(seen_add(&seen, 9, CLIENT_MOBILE, 70000, 1000));
    cr_assert(seen_add(&seen, 8, CLIENT_MOBILE, 3, 2000));
    cr_assert(seen_add(&seen, 9, CLIENT_MOBILE, 5, 3000));
    cr_assert(seen_add(&seen, 9, CLIENT_GAME, UINT32_MAX, 4000));
    cr_expect_eq(seen_waiting(&seen), 4);
    cr_assert(seen_seal(&seen) && seen_seal(&seen));
    f = seen_next(&seen);
    cr_assert(f != NULL && f->n == 3 && f->n_marks == 4 && f->seq == 1);
    cr_expect_null(seen_next(&seen));
    cr_assert_eq(marks_of(f, 9, CLIENT_MOBILE, number, told), 2);
    cr_expect(number[0] == 5 && told[0] == pace_class(3000));
    cr_expect(number[1] == 70000 && told[1] == pace_class(1000));
    cr_assert_eq(marks_of(f, 9, CLIENT_GAME, number, told), 1);
    cr_expect(number[0] == UINT32_MAX && told[0] == pace_class(4000));
    cr_assert_eq(marks_of(f, 8, CLIENT_MOBILE, number, told), 1);
}

Test(router_seen, a_mark_is_three_bytes, .init = begin, .fini = end)
{
    const struct seen_frame *f;
    uint32_t bytes = 0;
    struct rng r;

    rng_seed(&r, 3);
    for (unsigned i = 0; i < 4000; i++)
        cr_assert(seen_add(&seen, 1, CLIENT_BROWSER, (uint32_t)rng_below(&r, 1000000), 20000));
    seen_seal(&seen);
    f = seen_next(&seen);
    for (uint32_t i = 0; i < f->n; i++)
        bytes += f->row[i].n_marks;
    cr_expect_lt(bytes, 4000 * 3.05);
}

Test(router_seen, the_last_poll_of_a_ticket_comes_last, .init = begin, .fini = end)
{
    uint32_t number[4];
    uint8_t told[4];

    cr_assert(seen_add(&seen, 1, CLIENT_GAME, 6, 1000));
    cr_assert(seen_add(&seen, 1, CLIENT_GAME, 7, 1000));
    cr_assert(seen_add(&seen, 1, CLIENT_GAME, 6, 9000));
    seen_seal(&seen);
    cr_assert_eq(marks_of(seen_next(&seen), 1, CLIENT_GAME, number, told), 3);
    cr_expect(number[0] == 6 && number[2] == 6 && told[2] == pace_class(9000));
}

Test(router_seen, what_is_not_acknowledged_goes_out_again_in_order, .init = begin, .fini = end)
{
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(seen_add(&seen, 1, CLIENT_GAME, i, 1000));
        seen_seal(&seen);
        cr_assert_eq(seen_next(&seen)->seq, i + 1);
    }
    cr_expect_eq(seen_empty(&seen), 4);
    cr_expect_eq(seen_acked(&seen, 1), 0);
    cr_expect_eq(seen_acked(&seen, 5), SQ_EPROTO, "was never sent");
    cr_assert(seen_add(&seen, 1, CLIENT_GAME, 9, 1000));
    seen_again(&seen);
    seen_seal(&seen);
    cr_expect_eq(seen_next(&seen)->seq, 2);
    cr_expect_eq(seen_next(&seen)->seq, 3);
    cr_expect_eq(seen_next(&seen)->seq, 5);
    cr_expect_null(seen_next(&seen));
    cr_expect_eq(seen_acked(&seen, 0), 0, "a node that has forgotten");
    cr_expect_eq(seen_waiting(&seen), 3);
    cr_expect_eq(seen_acked(&seen, 5), 0);
    cr_expect_eq(seen_waiting(&seen), 0);
}

Test(router_seen, an_acknowledgement_of_what_waits_is_refused, .init = begin, .fini = end)
{
    cr_assert(seen_add(&seen, 1, CLIENT_GAME, 1, 1000));
    seen_seal(&seen);
    cr_expect_eq(seen_acked(&seen, 1), SQ_EPROTO);
}

Test(router_seen, more_names_than_rows_make_another_frame, .init = begin, .fini = end)
{
    const struct seen_frame *f;

    for (seg_id name = 1; name <= 3000; name++)
        cr_assert(seen_add(&seen, name, CLIENT_GAME, 1, 1000));
    f = seen_next(&seen);
    cr_assert(f != NULL && f->n == MSG_STATUS_MAX);
    seen_seal(&seen);
    cr_expect_eq(seen_next(&seen)->n, 3000 - MSG_STATUS_MAX);
}

Test(router_seen, without_room_it_refuses_and_loses_nothing, .init = begin, .fini = end)
{
    uint64_t n = 0;

    while (n < 1u << 21 && seen_add(&seen, 1, CLIENT_GAME, (uint32_t)n, 1000))
        n++;
    cr_expect_eq(n, (uint64_t)SEEN_MARKS_MAX * (SEEN_FRAMES_MAX + 1));
    cr_expect_eq(seen_waiting(&seen), n);
    cr_assert(seen_next(&seen) != NULL && seen_next(&seen) != NULL);
    cr_expect_eq(seen_acked(&seen, 1), 0);
    cr_expect(seen_add(&seen, 1, CLIENT_GAME, 1, 1000));
}

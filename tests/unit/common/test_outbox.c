/* test_outbox.c: messages come out in order, zeroed, also after a reset. */
#include "common/wire/msg.h"

#include "tests/lib/criterion.h"

Test(outbox, keeps_order_over_growth_and_reset)
{
    struct outbox o;

    outbox_init(&o);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < 1000; i++) {
            struct msg *m = outbox_add(&o, i, i % 2 == 0 ? MSG_SEG_POP : MSG_PLACE);

            cr_assert_not_null(m);
            if (m->type == MSG_PLACE) {
                cr_assert_eq(m->place.n, 0);
                m->place.n = i;
                m->place.req = arena_array(&o.mem, 1, sizeof(*m->place.req));
                m->place.req[0].seg = i;
            }
        }
        cr_assert_eq(o.n, 1000);
        for (unsigned i = 0; i < o.n; i++) {
            cr_assert_eq(o.v[i].to, i);
            cr_assert_eq(o.v[i].m.type, i % 2 == 0 ? MSG_SEG_POP : MSG_PLACE);
            if (i % 2 == 1)
                cr_assert_eq(o.v[i].m.place.req[0].seg, i);
        }
        outbox_reset(&o);
        cr_assert_eq(o.n, 0);
    }
    outbox_fini(&o);
}

Test(outbox, a_rare_huge_step_does_not_keep_its_memory)
{
    struct outbox o;

    outbox_init(&o);
    for (unsigned i = 0; i < 1000; i++)
        (void)outbox_add(&o, i, MSG_SEG_POP);
    outbox_reset(&o);
    cr_expect_geq(o.cap, 1000, "a usual one does");
    for (unsigned i = 0; i < 100000; i++)
        (void)outbox_add(&o, i, MSG_SEG_POP);
    outbox_reset(&o);
    cr_expect_eq(o.cap, 0);
    cr_expect_eq(outbox_add(&o, 1, MSG_PLACE)->type, MSG_PLACE);
    outbox_fini(&o);
}

Test(outbox, out_of_memory_gives_a_scratch_message)
{
    struct outbox o;
    struct msg *m;

    outbox_init(&o);
    o.n = o.cap = UINT32_MAX; /* doubling is impossible: as if there were no memory */
    m = outbox_add(&o, 1, MSG_PLACE);
    cr_expect_eq(m, &o.scratch);
    cr_expect_eq(m->type, MSG_PLACE);
    cr_expect(o.failed);
    cr_expect_eq(o.n, UINT32_MAX);
    o.n = o.cap = 0;
    outbox_fini(&o);
}

/* test_revoked.c: the set of passes that ended early. */
#include "router/gate/passes.h"

#include "tests/lib/criterion.h"

static struct pass_row row(seg_id seg, uint32_t number, int64_t until_s)
{
    return (struct pass_row){ .seg = seg, .number = number, .until_s = until_s };
}

static void add(struct revoked *r, seg_id seg, uint32_t number, int64_t until, int64_t now)
{
    struct pass_row x = row(seg, number, until);

    revoked_add(r, &x, now);
}

Test(revoked, revokes_exactly_the_listed_passes)
{
    struct revoked r;

    revoked_init(&r, 7);
    cr_assert_not(revoked_has(&r, 1, 0));
    for (uint32_t i = 0; i < 10000; i++)
        add(&r, 1 + i % 3, i * 2, 100, 50);
    for (uint32_t i = 0; i < 20000; i++)
        for (seg_id s = 1; s <= 4; s++)
            cr_assert_eq(revoked_has(&r, s, i), i % 2 == 0 && s == 1 + i / 2 % 3, "%lu-%u",
                         (unsigned long)s, i);
    cr_assert_eq(r.n, 10000);
    add(&r, 1, 0, 100, 50); /* said again */
    cr_assert_eq(r.n, 10000);
    revoked_fini(&r);
}

Test(revoked, expired_entries_are_freed)
{
    struct revoked r;

    revoked_init(&r, 7);
    for (int64_t now = 0; now < 1000; now++)
        for (uint32_t i = 0; i < 100; i++)
            add(&r, 1, (uint32_t)now * 100 + i, now + 10, now);
    cr_assert_leq(r.cap, 8192, "1000 live, %u places", r.cap);
    cr_assert_eq(r.lost, 0);
    cr_assert(revoked_has(&r, 1, 99999));
    add(&r, 1, 200000, 5, 1000); /* over already */
    cr_assert_not(revoked_has(&r, 1, 200000));
    revoked_fini(&r);
}

Test(revoked, overflow_is_reported)
{
    struct revoked r;

    revoked_init(&r, 7);
    r.max = 1000;
    for (uint32_t i = 0; i < 5000; i++)
        add(&r, 1, i, 100, 0);
    cr_assert_gt(r.lost, 0);
    cr_assert_eq(r.n + r.lost, 5000);
    cr_assert_eq(r.n, 1000, "not one more");
    cr_assert(revoked_has(&r, 1, 0), "those before are kept");
    revoked_fini(&r);
}

/* Each row that finds no room must not cost a look through the whole table: a router would
 * do nothing else. Said again, and later, what is there holds for longer. */
Test(revoked, a_full_table_is_cheap, .timeout = 120)
{
    struct revoked r;

    revoked_init(&r, 7);
    r.max = 1u << 15;
    for (uint32_t i = 0; i < 300000; i++)
        add(&r, 1, i, 100, 0);
    cr_assert_eq(r.n + r.lost, 300000);
    cr_assert_lt(r.n, 300000);
    add(&r, 1, 0, 200, 0);
    cr_assert_eq(revoked_until_s(&r, 1, 0), 200);
    add(&r, 1, 0, 150, 0);
    cr_assert_eq(revoked_until_s(&r, 1, 0), 200, "nothing makes it shorter");
    cr_assert_eq(r.n + r.lost, 300000, "which takes no room");
    add(&r, 2, 7, 300, 100);
    cr_assert(revoked_has(&r, 2, 7), "when others have expired there is room");
    cr_assert(revoked_has(&r, 1, 0));
    revoked_fini(&r);
}

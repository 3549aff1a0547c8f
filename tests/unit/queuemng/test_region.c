/* test_region.c: the region in which most people join. */
#include "tests/lib/criterion.h"

#include "queuemng/policy/joins.h"

static struct region_choice x;
static msec_t now = 1000;

static bool look(double eu, double us)
{
    struct region_joins v[REGIONS_MAX];
    unsigned n = 0;

    region_add(v, &n, "", 1000);
    region_add(v, &n, "eu", eu / 2);
    region_add(v, &n, "us", us);
    region_add(v, &n, "eu", eu / 2);
    cr_assert_eq(n, 2);
    now += 1000;
    return region_second(&x, v, n, now);
}

Test(region, the_first_region_with_joins_at_once)
{
    cr_expect_not(look(0.3, 0.2), "hardly anybody");
    cr_expect(look(3, 2));
    cr_expect_str_eq(x.region, "eu");
    cr_expect_not(look(3, 2));
}

Test(region, another_one_that_clearly_has_more_for_long)
{
    (void)look(10, 0);
    for (unsigned s = 0; s < 300; s++)
        cr_expect_not(look(10, 14), "not clearly");
    for (unsigned s = 0; s < 30; s++)
        cr_expect_not(look(10, 16), "not yet");
    cr_expect(look(10, 16));
    cr_expect_str_eq(x.region, "us");
}

Test(region, without_a_second_in_which_it_has_not)
{
    (void)look(10, 0);
    for (unsigned s = 0; s < 300; s++)
        cr_expect_not(look(10, s % 20 == 0 ? 12 : 20));
    cr_expect_str_eq(x.region, "eu");
}

Test(region, a_quiet_night_changes_nothing)
{
    (void)look(10, 0);
    for (unsigned s = 0; s < 300; s++)
        cr_expect_not(look(0, 0.5));
    cr_expect_str_eq(x.region, "eu");
}

Test(region, more_regions_than_are_looked_at)
{
    struct region_joins v[REGIONS_MAX];
    char name[2 * REGIONS_MAX][8];
    unsigned n = 0;

    for (unsigned i = 0; i < 2 * REGIONS_MAX; i++) {
        snprintf(name[i], sizeof(name[i]), "r%u", i);
        region_add(v, &n, name[i], 1);
    }
    cr_expect_eq(n, REGIONS_MAX);
}

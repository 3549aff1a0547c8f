/* test_strangers.c: crowds at the door. */
#include "tests/lib/criterion.h"

#include "common/net/rpc_chan.h"

static struct strangers door;
static struct stranger many[STRANGERS_MOST], few[4];

static void begin(void)
{
    strangers_init(&door);
}

TestSuite(strangers, .init = begin);

Test(strangers, the_oldest_of_the_largest_crowd_gives_way)
{
    strangers_enter(&door, &few[0], 1);
    for (unsigned i = 0; i + 1 < STRANGERS_MOST; i++) {
        cr_assert_null(strangers_surplus(&door));
        strangers_enter(&door, &many[i], 2);
    }
    cr_expect_eq(strangers_surplus(&door), &many[0]);
    strangers_leave(&door, &many[0]);
    strangers_leave(&door, &many[0]); /* it is none any more */
    cr_expect_null(strangers_surplus(&door));
    strangers_enter(&door, &few[1], 1);
    cr_expect_eq(strangers_surplus(&door), &many[1]);
}

Test(strangers, a_crowd_of_few_finds_handshakes_left)
{
    unsigned n = 0;

    for (unsigned i = 0; i < STRANGERS_MOST; i++) {
        many[i].crowd = 2;
        n += strangers_may_begin(&door, &many[i]);
    }
    cr_expect_eq(n, HANDSHAKES_PER_BEAT * 3 / 4u);
    for (unsigned i = 0; i < ARRAY_LEN(few); i++) {
        few[i].crowd = 1;
        cr_expect(strangers_may_begin(&door, &few[i]));
    }
    cr_expect_not(strangers_may_begin(&door, &few[0]), "nor is it to have all of them");
    strangers_beat(&door);
    cr_expect(strangers_may_begin(&door, &many[0]));
}

Test(strangers, all_crowds_together_have_a_bound)
{
    unsigned n = 0;

    for (unsigned i = 0; i < STRANGERS_MOST; i++) {
        many[i].crowd = (uint8_t)i;
        n += strangers_may_begin(&door, &many[i]);
    }
    cr_expect_eq(n, (unsigned)HANDSHAKES_PER_BEAT);
}

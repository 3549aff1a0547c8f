/* test_window.c: both ends of an answer that is told piece by piece. */
#include "common/task/call.h"

#include "common/base/rng.h"
#include "tests/lib/criterion.h"

TestSuite(window, .timeout = 30);

Test(window, no_more_is_on_its_way_than_the_window_and_all_of_it_arrives)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng g;
        struct window_out out = window_out(WINDOW_BYTES);
        struct window_in in = window_in(WINDOW_BYTES, false, 0);
        uint64_t way[WINDOW_BYTES / WINDOW_PIECE][2], there = 0;
        unsigned n = 0;

        rng_seed(&g, seed);
        while (out.told < 1000000) {
            uint32_t room = window_room(&out), more;

            if (room > 0 && rng_chance(&g, 0.6)) {
                uint32_t bytes = 1 + (uint32_t)rng_below(&g, rng_chance(&g, 0.5) ? 20 : room);

                bytes = bytes < room ? bytes : room;
                way[n][0] = out.told;
                way[n++][1] = bytes;
                window_tell(&out, bytes);
                there += bytes + WINDOW_PIECE;
            } else if (n > 0) {
                cr_assert(window_hear(&in, way[0][0], way[0][1]));
                memmove(way, way + 1, --n * sizeof(way[0]));
            }
            cr_assert(there <= WINDOW_BYTES);
            if (!rng_chance(&g, 0.2) || n > 0)
                continue;
            more = window_taken(&in);
            there -= more;
            cr_assert(window_more(&out, more));
            cr_assert(window_room(&out) > 0, "it never stands");
        }
        for (unsigned i = 0; i < n; i++)
            cr_assert(window_hear(&in, way[i][0], way[i][1]));
        cr_assert_eq(in.heard, out.told);
    }
}

Test(window, what_is_not_the_next_piece_is_not_taken)
{
    struct window_in in = window_in(WINDOW_BYTES, true, 10);

    cr_expect(window_hear(&in, 0, 4));
    cr_expect(!window_hear(&in, 3, 1), "again");
    cr_expect(!window_hear(&in, 5, 1), "a gap");
    cr_expect(!window_hear(&in, 4, 0), "nothing");
    cr_expect(!window_hear(&in, 4, 7), "longer than it is");
    cr_expect(!window_is_whole(&in));
    cr_expect(window_hear(&in, 4, 6));
    cr_expect(window_is_whole(&in));
    in = window_in(WINDOW_BYTES, false, 0);
    cr_expect(!window_hear(&in, 0, WINDOW_BYTES - WINDOW_PIECE + 1), "more than has room");
    cr_expect(window_hear(&in, 0, WINDOW_BYTES - WINDOW_PIECE));
    cr_expect(!window_hear(&in, in.heard, 1));
    cr_expect_eq(window_taken(&in), WINDOW_BYTES);
    cr_expect(window_hear(&in, in.heard, 1));
    cr_expect(window_is_whole(&in));
}

Test(window, nobody_gets_more_room_than_there_is)
{
    struct window_out out = window_out(WINDOW_BYTES);

    cr_expect(!window_more(&out, 1));
    window_tell(&out, 100);
    cr_expect(!window_more(&out, 100 + WINDOW_PIECE + 1));
    cr_expect_eq(out.room, WINDOW_BYTES - 100 - WINDOW_PIECE);
    cr_expect(window_more(&out, 100 + WINDOW_PIECE));
    window_tell(&out, WINDOW_BYTES - WINDOW_PIECE);
    cr_expect_eq(window_room(&out), 0);
}

Test(window, what_is_nearly_full_is_full_until_more_is_asked_for)
{
    struct window_out out = window_out(WINDOW_BYTES);
    struct window_in in = window_in(WINDOW_BYTES, false, 0);
    uint32_t n = WINDOW_BYTES - 2 * WINDOW_PIECE - 100;

    window_tell(&out, n);
    cr_expect_eq(window_room(&out), 0, "no piece of 100 bytes behind it");
    cr_assert(window_hear(&in, 0, n));
    cr_assert(window_more(&out, window_taken(&in)));
    cr_expect_eq(window_room(&out), WINDOW_BYTES - WINDOW_PIECE);
}

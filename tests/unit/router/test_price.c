/* test_price.c: what a prefix gets for the work of one core, by simulation: an attacker with several ways to
 * ask, against the doors of one or more routers; beside it phones of other prefixes, and a campus.
 *
 * The clock is virtual. To solve takes the attacker a random part of the keys, as it takes a solver. */
#include "tests/lib/criterion.h"

#include "common/base/rng.h"
#include "router/gate/door.h"

#define BEST       42000u /* keys a second by the best code that we know, one core of a server */
#define PHONE       3500u /* a slow one, all of its workers */
#define MINUTES       10u
#define DOORS_MAX      4u

static struct map_queue queue;
static struct door door[DOORS_MAX];
static struct rng rng;
static uint8_t secret[32];

static void open_doors(void)
{
    queue = (struct map_queue){ .id = 7, .name = "login", .challenge_mode = CHALLENGE_ON };
    for (unsigned i = 0; i < DOORS_MAX; i++)
        cr_assert_eq(door_init(&door[i], secret, secret, NULL), 0);
}

static void close_doors(void)
{
    for (unsigned i = 0; i < DOORS_MAX; i++)
        door_fini(&door[i]);
}

TestSuite(price, .init = open_doors, .fini = close_doors, .timeout = 60);

struct attacker {
    unsigned doors;    /* routers that it goes to, in turn */
    unsigned networks; /* /56 that it has, of one /48; 0: a /24 */
    unsigned most;     /* level that it pays; beyond, it waits for a second */
    unsigned ahead;    /* challenges that it asks for at once */
    unsigned pause_s;  /* between two such rounds */
};

static struct door_ask ask_of(const struct attacker *a, unsigned i, msec_t now_ms)
{
    uint64_t prefix = a->networks > 0 ? 5ull << 40 | (i % a->networks) : 11;

    return (struct door_ask){ .queue = &queue, .prefix = prefix, .site = a->networks > 0 ? 5ull << 40 : 11,
                              .now_ms = now_ms };
}

/* Keys that it takes to solve what it gets; 0: it is free. UINT64_MAX: it costs more than it pays. */
static uint64_t buy(const struct attacker *a, unsigned i, msec_t now_ms)
{
    struct door *d = &door[i % a->doors];
    struct door_ask ask = ask_of(a, i / a->doors, now_ms);
    unsigned level = door_level(d, &ask);

    if (level > a->most)
        return UINT64_MAX; /* it knows that without asking: better than it can */
    door_count(d, &ask);
    return level == 0 ? 0 : rng_below(&rng, (uint64_t)PUZZLE_KEYS_MIN << door_rank(&ask, level));
}

/* Places in a minute, of MINUTES. */
static double places(const struct attacker *a)
{
    msec_t now = 60000, end = now + MINUTES * 60000;
    unsigned n = 0, asked = 0;

    while (now < end) {
        msec_t began = now;

        for (unsigned i = 0; i < a->ahead; i++) {
            uint64_t keys = buy(a, asked++, began);

            if (keys == UINT64_MAX)
                break;
            now += (msec_t)(keys * 1000 / BEST) + 1;
            if (now - began > CHALLENGE_LIFE_S * 1000)
                break; /* too late for it */
            n++;
        }
        now += now == began ? 1000 : a->pause_s * 1000;
    }
    return n / (double)MINUTES;
}

/* The best of many ways to ask. */
static double best(unsigned doors, unsigned networks)
{
    double most = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct attacker a = { .doors = doors, .networks = networks };
        double got;

        rng_seed(&rng, seed);
        a.most = 1 + (unsigned)rng_below(&rng, DOOR_LEVELS);
        a.ahead = 1 + (unsigned)rng_below(&rng, 100);
        a.pause_s = rng_below(&rng, 2) == 0 ? 0 : (unsigned)rng_below(&rng, 130);
        close_doors();
        open_doors();
        got = places(&a);
        most = got > most ? got : most;
    }
    return most;
}

Test(price, one_prefix_gets_a_place_a_second_by_one_core)
{
    double n = best(1, 0);

    cr_expect_leq(n, 60, "%.1f a minute", n);
    cr_expect_geq(n, 30, "%.1f a minute: it is not tried well", n);
}

Test(price, a_site_of_256_prefixes_has_hardly_more)
{
    double n = best(1, 256);

    cr_expect_leq(n, 80, "%.1f a minute", n);
}

/* Each router counts for itself: who goes to all of them pays less, up to the price that this makes again. */
Test(price, several_routers_do_not_multiply_it)
{
    double two = best(2, 0), four = best(4, 0);

    cr_expect_leq(two, 80, "%.1f a minute", two);
    cr_expect_leq(four, 100, "%.1f a minute", four);
}

/* ---- others ---- */

static unsigned take(uint64_t prefix, msec_t now_ms, uint64_t *keys)
{
    struct door_ask ask = { .queue = &queue, .prefix = prefix, .site = prefix, .now_ms = now_ms };
    unsigned level = door_level(&door[0], &ask);

    door_count(&door[0], &ask);
    *keys = level > 0 ? (uint64_t)PUZZLE_KEYS_MIN << door_rank(&ask, level) : 0;
    return level;
}

/* Its p95 is 95 of a hundred keys. */
Test(price, a_phone_of_another_prefix_pays_the_least_all_the_time)
{
    uint64_t keys;

    for (unsigned i = 0; i < 6000; i++) {
        take(11, 60000 + i * 100, &keys);
        if (i % 20 != 0)
            continue;
        cr_assert_eq(take(1000 + i, 60000 + i * 100, &keys), 1);
        cr_assert_leq(keys * 95 / 100 * 1000 / PHONE, 4000);
    }
}

/* A hundred people behind one address within a minute, and then a thousand: dear, and not too late. */
Test(price, a_campus_is_not_locked_out)
{
    uint64_t keys = 0;
    unsigned level = 0;

    for (unsigned i = 0; i < 72; i++)
        level = take(11, 60000 + i * 500, &keys);
    cr_expect_eq(level, 4, "most pay eight times as much");
    cr_expect_leq(keys / PHONE, 19);
    for (unsigned i = 0; i < 900; i++)
        level = take(11, 110000 + i * 10, &keys);
    cr_expect_eq(level, DOOR_LEVELS);
    cr_expect_lt(keys / PHONE, CHALLENGE_LIFE_S - 5);
    queue.challenge_keys = 65536;
    take(11, 119000, &keys);
    cr_expect_eq(keys, DOOR_MOST_KEYS, "nor where the operator asks for more");
    queue.challenge_keys = 0;
    queue.challenge_per_address = 200;
    cr_expect_eq(take(12, 119000, &keys), 1);
    for (unsigned i = 0; i < 300; i++)
        level = take(12, 119000, &keys);
    cr_expect_eq(level, 1, "or says how many are usual");
}

Test(price, it_falls_when_a_minute_was_quieter)
{
    uint64_t keys;

    for (unsigned i = 0; i < 40; i++)
        take(11, 60000, &keys);
    cr_expect_eq(take(11, 60000 + 59999, &keys), 4);
    cr_expect_eq(take(11, 60000 + 119999, &keys), 4, "the whole minute before counts");
    cr_expect_eq(take(11, 60000 + 120000, &keys), 1);
}

Test(price, an_attacker_with_many_prefixes_washes_no_row_out)
{
    uint64_t keys;

    for (unsigned i = 0; i < 40; i++)
        take(11, 60000, &keys);
    for (unsigned i = 0; i < 200000; i++)
        cr_assert_eq(take(1000 + i, 60001 + i / 10, &keys), 1);
    cr_expect_eq(take(11, 81000, &keys), 4);
}

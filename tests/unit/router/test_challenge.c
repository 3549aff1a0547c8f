/* test_challenge.c: challenges and their answers, who has to work, and what a flood of asks costs us. */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "router/gate/door.h"
#include "router/gate/limit.h"
#include "tests/lib/solve.h"

#define END_S 1764334845

/* Of the key 00 01 .. 1f, rank 0; solved by altcha-lib 2.8.0 (solveChallenge, its pbkdf2). */
static const char by_altcha[] =
    "eyJjaGFsbGVuZ2UiOnsicGFyYW1ldGVycyI6eyJhbGdvcml0aG0iOiJQQktERjIvU0hBLTI1NiIsImNvc3QiOjMwMC"
    "wiZGF0YSI6eyJmcm9tIjoiMDEyMzQ1Njc4OWFiY2RlZiIsImlkIjoiMDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2Nk"
    "ZGVlZmYiLCJxdWV1ZSI6ImxvZ2luIiwid2hvIjoiMDAwMDAwMDAwMDAwMDAwMCJ9LCJleHBpcmVzQXQiOjE3NjQzMz"
    "Q4NDUsImtleUxlbmd0aCI6MzIsImtleVByZWZpeCI6ImQyMWRlNjNlYjM5YTlkYzhiMWU1YjcwY2RlYmNmNGVmIiwi"
    "a2V5U2lnbmF0dXJlIjoiYWZhOTExOTIxOTExNjBmYzlhYTc1YjI1ZTNmM2M4MWZiNzE1ZWU5MzcxNmMyMWM5MGM5Mm"
    "Y5MjA0ZGM5YTI0NyIsIm5vbmNlIjoiMDI4YmYwMDgwOWQ3ZGFhNDc5NzE0YjMyZDdhN2I1MjUiLCJzYWx0IjoiOTBh"
    "ZGVkYWYxODI2ODM4ZjU2NmYwNmY1MWNmNGYxZTAifSwic2lnbmF0dXJlIjoiYTkyNTg5ZTk4OGYzNDBkMjUzZDI4Nj"
    "Q5YWY5MTE4ODYzOWE1NDU1MDY3YmU2ZDVmZTMxY2RjYWNiNGFlMTRmYyJ9LCJzb2x1dGlvbiI6eyJjb3VudGVyIjox"
    "MTYsImRlcml2ZWRLZXkiOiJkMjFkZTYzZWIzOWE5ZGM4YjFlNWI3MGNkZWJjZjRlZjVlMTI2ODdkODgyNWI3NTdiZD"
    "A2Y2ZlYmM1M2YwODVlIiwidGltZSI6OS45fX0=";

static uint8_t secret[32];
static struct challenge_keys keys;
static const struct challenge_terms terms = { .queue = "login", .from = 0x0123456789abcdef };
static struct challenge_seen seen;

static void set_up(void)
{
    for (unsigned i = 0; i < sizeof(secret); i++)
        secret[i] = (uint8_t)i;
    memset(&keys, 0, sizeof(keys));
    challenge_key_make(&keys.first, secret);
}

TestSuite(challenge, .init = set_up, .timeout = 60);

static enum challenge_state check(const char *answer, int64_t now_s)
{
    return challenge_check(&keys, &terms, answer, strlen(answer), now_s, &seen);
}

Test(challenge, an_answer_of_altcha_lib_is_good)
{
    cr_expect_eq(check(by_altcha, END_S - 1), CHALLENGE_GOOD);
    cr_expect_str_eq(seen.id, "00112233445566778899aabbccddeeff");
}

/* Any other character anywhere is another text, another signature, or another key. */
Test(challenge, any_changed_character_is_refused)
{
    char text[sizeof(by_altcha)];
    size_t same = 0;

    for (size_t i = 0; i + 1 < sizeof(by_altcha); i++) {
        enum challenge_state s;

        memcpy(text, by_altcha, sizeof(text));
        text[i] = text[i] == 'A' ? 'B' : 'A';
        s = check(text, END_S - 1);
        same += s == CHALLENGE_GOOD; /* counter and time of the solution, names that nobody reads */
        cr_expect(s == CHALLENGE_GOOD || s == CHALLENGE_INVALID || s == CHALLENGE_UNSOLVED, "%zu: %d", i, s);
    }
    cr_expect(same < 60, "%zu", same);
}

Test(challenge, cut_and_foreign_texts_are_invalid)
{
    static const char *const v[] = { "", "=", "!", "e30=", "bnVsbA==", "W10=", "eyJjaGFsbGVuZ2UiOjF9",
                                     "eyJjaGFsbGVuZ2UiOnsicGFyYW1ldGVycyI6W119fQ==" };
    char text[sizeof(by_altcha)];

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(check(v[i], END_S - 1), CHALLENGE_INVALID, "%s", v[i]);
    for (size_t n = 0; n + 8 < sizeof(by_altcha); n++) {
        memcpy(text, by_altcha, n);
        text[n] = '\0';
        cr_expect_eq(check(text, END_S - 1), CHALLENGE_INVALID, "%zu", n);
    }
}

/* Its first half is told; the second is what is worked for. */
Test(challenge, a_key_that_only_begins_right_is_no_answer)
{
    char text[1500], answer[2000], *at;
    size_t n;

    cr_assert_eq(sodium_base642bin((uint8_t *)text, sizeof(text) - 1, by_altcha, strlen(by_altcha), NULL, &n, NULL,
                                   sodium_base64_VARIANT_ORIGINAL), 0);
    text[n] = '\0';
    at = strstr(text, "\"derivedKey\":\"");
    cr_assert(at != NULL);
    at[14 + 63] = at[14 + 63] == '0' ? '1' : '0';
    sodium_bin2base64(answer, sizeof(answer), (uint8_t *)text, n, sodium_base64_VARIANT_ORIGINAL);
    cr_expect_eq(check(answer, END_S - 1), CHALLENGE_UNSOLVED);
    at[14 + 63] = 'x';
    sodium_bin2base64(answer, sizeof(answer), (uint8_t *)text, n, sodium_base64_VARIANT_ORIGINAL);
    cr_expect_eq(check(answer, END_S - 1), CHALLENGE_UNSOLVED);
}

/* A router whose clock is ahead gives it less time; one far behind refuses what would last too long. */
Test(challenge, it_is_good_until_its_end_and_not_before_its_time)
{
    cr_expect_eq(check(by_altcha, END_S), CHALLENGE_EXPIRED);
    cr_expect_eq(check(by_altcha, END_S + 3600), CHALLENGE_EXPIRED);
    cr_expect_eq(check(by_altcha, END_S - CHALLENGE_LIFE_S - CHALLENGE_LEEWAY_S), CHALLENGE_GOOD);
    cr_expect_eq(check(by_altcha, END_S - CHALLENGE_LIFE_S - CHALLENGE_LEEWAY_S - 1), CHALLENGE_EXPIRED);
}

Test(challenge, it_is_bound_to_queue_address_and_name)
{
    struct challenge_terms t = terms;

    t.queue = "logi";
    cr_expect_eq(challenge_check(&keys, &t, by_altcha, strlen(by_altcha), END_S - 1, &seen), CHALLENGE_OTHER_QUEUE);
    t = terms;
    t.from++;
    cr_expect_eq(challenge_check(&keys, &t, by_altcha, strlen(by_altcha), END_S - 1, &seen), CHALLENGE_OTHER_ADDRESS);
    t = terms;
    t.who = 5;
    cr_expect_eq(challenge_check(&keys, &t, by_altcha, strlen(by_altcha), END_S - 1, &seen), CHALLENGE_OTHER_JOIN);
}

/* While the cluster's secret is changed. */
Test(challenge, the_other_secret_is_ours_too)
{
    uint8_t next[32] = { 9 };
    struct challenge_terms t;

    keys.other = keys.first;
    challenge_key_make(&keys.first, next);
    cr_expect_eq(check(by_altcha, END_S - 1), CHALLENGE_INVALID);
    keys.has_other = true;
    t = (struct challenge_terms){ "login", 1, 2, terms.from, 0 };
    cr_expect_eq(challenge_check(&keys, &t, by_altcha, strlen(by_altcha), END_S - 1, &seen), CHALLENGE_GOOD);
    t.other_from++;
    cr_expect_eq(challenge_check(&keys, &t, by_altcha, strlen(by_altcha), END_S - 1, &seen),
                 CHALLENGE_OTHER_ADDRESS);
    t.other_from--;
    t.other_who = 5;
    cr_expect_eq(challenge_check(&keys, &t, by_altcha, strlen(by_altcha), END_S - 1, &seen), CHALLENGE_OTHER_JOIN);
}

/* A JSON library may write the members in another order, with blanks, and more of them. */
Test(challenge, order_and_more_members_do_not_matter)
{
    static const char text[] = " { \"x\":[{\"signature\":1}], \"solution\":{\"derivedKey\":"
        "\"d21de63eb39a9dc8b1e5b70cdebcf4ef5e12687d8825b757bd06cfebc53f085e\"},\"challenge\":{\"signature\":"
        "\"a92589e988f340d253d28649af91188639a5455067be6d5fe31cdcacb4ae14fc\",\"parameters\":{\"salt\":"
        "\"90adedaf1826838f566f06f51cf4f1e0\",\"nonce\":\"028bf00809d7daa479714b32d7a7b525\","
        "\"keySignature\":\"afa91192191160fc9aa75b25e3f3c81fb715ee93716c21c90c92f9204dc9a247\","
        "\"keyPrefix\":\"d21de63eb39a9dc8b1e5b70cdebcf4ef\",\"keyLength\":32,\"expiresAt\":1764334845,"
        "\"data\":{\"who\":\"0000000000000000\",\"queue\":\"login\",\"id\":\"00112233445566778899aabbccddeeff\","
        "\"from\":\"0123456789abcdef\"},\"cost\":300,\"algorithm\":\"PBKDF2/SHA-256\"}}}";
    char answer[2000];

    sodium_bin2base64(answer, sizeof(answer), (const uint8_t *)text, strlen(text),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    cr_expect_eq(check(answer, END_S - 1), CHALLENGE_GOOD);
}

/* ---- the door ---- */

static struct map_queue queue = { .id = 7, .name = "login", .challenge_mode = CHALLENGE_AUTO,
                                  .challenge_from = 20, .challenge_per_address = 3, .challenge_keys = 1024 };
static struct door door;
static struct door_ask ask;

static void open_door(void)
{
    set_up();
    cr_assert_eq(door_init(&door, secret, secret, NULL), 0);
    queue.challenge_mode = CHALLENGE_AUTO;
    ask = (struct door_ask){ &queue, 0, 11, 11, false, 5000, END_S, { 0 } };
}

static void close_door(void)
{
    door_fini(&door);
}

TestSuite(door, .init = open_door, .fini = close_door, .timeout = 60);

/* A join that asks, or goes in for nothing. */
static unsigned take(void)
{
    unsigned level = door_level(&door, &ask);

    door_count(&door, &ask);
    return level;
}

static unsigned joins_from(uint64_t prefix, unsigned n)
{
    unsigned level = 0;

    ask.prefix = ask.site = prefix;
    while (n-- > 0)
        level = take();
    return level;
}

Test(door, a_prefix_pays_from_its_fourth_join_on_and_more_the_more_it_joins)
{
    queue.challenge_from = 0;
    cr_expect_eq(joins_from(11, 3), 0);
    cr_expect_eq(joins_from(11, 1), 1);
    cr_expect_eq(joins_from(11, 2), 1);
    cr_expect_eq(joins_from(11, 1), 2);
    cr_expect_eq(joins_from(12, 3), 0, "another prefix");
    cr_expect_eq(joins_from(11, 300), DOOR_LEVELS);
    ask.now_ms += 120000;
    cr_expect_eq(joins_from(11, 3), 0, "two minutes later");
    queue.challenge_from = 20;
}

/* Whoever has a /48 has 256 prefixes: they pay together, from more joins on. */
Test(door, a_site_pays_for_its_prefixes)
{
    queue.challenge_from = 0;
    for (unsigned i = 0; i < 3 * DOOR_SITE; i++) {
        ask.prefix = 100 + i;
        ask.site = 7ull << 40;
        cr_expect_eq(take(), 0, "%u", i);
    }
    ask.prefix = 1000;
    cr_expect_eq(take(), 1);
    ask.site = 8ull << 40;
    cr_expect_eq(take(), 0, "another site");
    queue.challenge_from = 20;
}

Test(door, two_queues_count_apart)
{
    struct map_queue other = queue;

    cr_expect_eq(joins_from(11, 4), 1);
    other.id = 8;
    ask.queue = &other;
    cr_expect_eq(joins_from(11, 3), 0);
    cr_expect_eq(joins_from(11, 1), 1);
}

/* Before the manager has heard of it. */
Test(door, a_second_with_too_many_joins_lets_no_more_in_for_nothing)
{
    for (unsigned i = 0; i < 20; i++)
        cr_expect_eq(joins_from(100 + i, 1), 0);
    cr_expect_eq(joins_from(200, 1), 1);
    ask.now_ms += 1000;
    cr_expect_eq(joins_from(201, 1), 0, "the next second");
    ask.told = 2;
    cr_expect_eq(joins_from(202, 1), 2, "the manager's word");
    ask.told = 0;
    queue.challenge_mode = CHALLENGE_ON;
    cr_expect_eq(joins_from(203, 1), 1);
}

static const char *fresh(const struct challenge_terms *t, size_t *n)
{
    static char text[CHALLENGE_TEXT_MAX + 1];

    *n = door_challenge(&door, &ask, t, 1, text);
    cr_assert(*n > 0);
    text[*n] = '\0';
    return text;
}

Test(door, an_answer_lets_in_and_again_to_the_same_place_but_not_for_ever)
{
    size_t n;
    const char *text = fresh(&terms, &n), *answer = challenge_solved(text);
    struct slice s = { (char *)(uintptr_t)answer, strlen(answer) };
    struct challenge_seen first;

    ask.told = 3;
    cr_expect_eq(joins_from(ask.prefix, 1), 3, "joins are dearer by now");
    cr_expect_eq(door_check(&door, &ask, &terms, s, &first), CHALLENGE_GOOD, "it answers what it was asked");
    for (unsigned i = 1; i < DOOR_USES; i++) {
        cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_GOOD);
        cr_expect_str_eq(seen.id, first.id);
    }
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_USED);
    ask.now_ms += (CHALLENGE_LIFE_S - 1) * 1000;
    ask.wall_s += CHALLENGE_LIFE_S - 1;
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_USED);
    ask.wall_s++;
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_EXPIRED);
}

/* What a page without scripts brings back, when it has waited. */
static struct slice waiting(void)
{
    static char text[CHALLENGE_TEXT_MAX + 20], said[2000];
    size_t n;

    n = (size_t)snprintf(text, sizeof(text), "{\"challenge\":%s}", fresh(&terms, &n));
    sodium_bin2base64(said, sizeof(said), (const uint8_t *)text, n, sodium_base64_VARIANT_ORIGINAL);
    ask.now_ms += DOOR_PATIENCE_S * 1000;
    ask.wall_s += DOOR_PATIENCE_S;
    return (struct slice){ said, strlen(said) };
}

/* A page without scripts: the challenge itself comes back, late enough, once a minute from a network. */
Test(door, patience_is_a_way_in_for_pages_alone_and_for_one_of_a_prefix)
{
    struct slice s = waiting();

    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_UNSOLVED, "not for the API");
    ask.patient = true;
    ask.wall_s--;
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_UNSOLVED, "a second too early");
    ask.wall_s++;
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_GOOD);
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_GOOD, "pressed twice: the same place");
    cr_expect_eq(door_check(&door, &ask, &terms, waiting(), &seen), CHALLENGE_UNSOLVED, "the second of its network");
    cr_expect_eq(door.waited, 2);
}

/* Nor has each of them a place a minute for having waited. */
Test(door, patience_is_for_one_of_a_site)
{
    ask.patient = true;
    ask.site = 7ull << 40;
    cr_expect_eq(door_check(&door, &ask, &terms, waiting(), &seen), CHALLENGE_GOOD);
    ask.prefix++;
    cr_expect_eq(door_check(&door, &ask, &terms, waiting(), &seen), CHALLENGE_UNSOLVED);
}

/* Who comes too early for their network take nobody's turn: else a few of them shut it for good. */
Test(door, a_network_that_asks_all_the_time_has_one_in_each_minute)
{
    unsigned in = 0;

    ask.patient = true;
    for (unsigned i = 0; i < 40; i++)
        in += door_check(&door, &ask, &terms, waiting(), &seen) == CHALLENGE_GOOD;
    cr_expect_geq(in, 13);
    cr_expect_leq(in, 14, "of 40 times 20 s");
}

/* At another router with the same key: the id is the same, and so is the place. */
Test(door, all_routers_know_it)
{
    uint8_t mine[32] = { 77 };
    struct door two;
    size_t n;
    const char *text = fresh(&terms, &n), *answer = challenge_solved(text);
    struct slice s = { (char *)(uintptr_t)answer, strlen(answer) };
    struct challenge_seen first;

    cr_assert_eq(door_init(&two, mine, secret, NULL), 0);
    cr_expect_eq(door_check(&door, &ask, &terms, s, &first), CHALLENGE_GOOD);
    cr_expect_eq(door_check(&two, &ask, &terms, s, &seen), CHALLENGE_GOOD);
    cr_expect_str_eq(seen.id, first.id);
    door_fini(&two);
}

static bool nonce_of(const char *text, char out[33])
{
    const char *at = strstr(text, "\"nonce\":\"");

    snprintf(out, 33, "%.32s", at != NULL ? at + 9 : "");
    return at != NULL;
}

/* Else the work for one would be good for many places. */
Test(door, a_prefix_gets_no_puzzle_twice_in_a_second_and_then_none)
{
    static char nonce[PUZZLES][33];
    char text[CHALLENGE_TEXT_MAX + 1];

    for (unsigned i = 0; i < PUZZLES; i++) {
        size_t n = door_challenge(&door, &ask, &terms, 1, text);

        cr_assert(n > 0, "%u", i);
        text[n] = '\0';
        cr_assert(nonce_of(text, nonce[i]));
        for (unsigned k = 0; k < i; k++)
            cr_assert_str_neq(nonce[i], nonce[k]);
        ask.now_ms = 5000 + i; /* all in one second */
    }
    cr_expect_eq(door_challenge(&door, &ask, &terms, 1, text), 0);
    ask.prefix = ask.site = 12;
    cr_expect_gt(door_challenge(&door, &ask, &terms, 1, text), 0, "another one does");
    ask.prefix = ask.site = 11;
    ask.now_ms += 1000;
    cr_expect_gt(door_challenge(&door, &ask, &terms, 1, text), 0, "and it itself, later");
}

/* Whatever is asked: what we pay for is bounded. */
Test(door, a_flood_of_asks_makes_few_puzzles)
{
    char text[CHALLENGE_TEXT_MAX];
    struct rng r;

    rng_seed(&r, 5);
    for (unsigned i = 0; i < 50000; i++) {
        ask.prefix = ask.site = rng_below(&r, 10000);
        ask.now_ms = 5000 + i / 50;
        cr_assert_gt(door_challenge(&door, &ask, &terms, 1, text), 0);
    }
    cr_expect_leq(puzzles_made(door.puzzles), PUZZLES);
}

/* With 60 000 prefixes in a table for half of them, those that come now still count. */
Test(door, the_tables_are_bounded_and_the_latest_count)
{
    queue.challenge_from = 0;
    for (unsigned i = 0; i < 60000; i++) {
        ask.now_ms = 5000 + i / 2;
        cr_assert_eq(joins_from(1000 + i, 1), 0);
    }
    cr_expect_eq(joins_from(5, 4), 1);
    queue.challenge_from = 20;
}

/* Else whoever has been let in once joins as often as they like. */
Test(door, a_pass_spares_few_joins)
{
    for (unsigned i = 0; i < DOOR_USES; i++)
        cr_expect(door_spares(&door, 3, 14, 5000));
    cr_expect_not(door_spares(&door, 3, 14, 5000));
    cr_expect(door_spares(&door, 3, 15, 5000));
    cr_expect(door_spares(&door, 3, 14, 5000 + 2 * 60000));
}

Test(door, joins_are_told_once)
{
    static struct join_row rows[MSG_JOINS_MAX];

    joins_from(11, 5);
    cr_assert_eq(door_rows(&door, rows), 1);
    cr_expect_eq(rows[0].queue, 7);
    cr_expect_eq(rows[0].n, 5);
    cr_expect_eq(door_rows(&door, rows), 0);
    joins_from(11, 1);
    cr_assert_eq(door_rows(&door, rows), 1);
    cr_expect_eq(rows[0].n, 1);
}

/* Else whoever works counts twice, and fewer than half of the bound keep the work up. */
Test(door, a_join_that_comes_again_with_its_answer_is_told_once)
{
    static struct join_row rows[MSG_JOINS_MAX];
    size_t n;
    const char *answer;
    struct slice s;

    joins_from(11, 1);
    answer = challenge_solved(fresh(&terms, &n));
    s = (struct slice){ (char *)(uintptr_t)answer, strlen(answer) };
    joins_from(11, 1);
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_GOOD);
    joins_from(11, 1);
    s.n /= 2;
    cr_expect_eq(door_check(&door, &ask, &terms, s, &seen), CHALLENGE_INVALID);
    cr_assert_eq(door_rows(&door, rows), 1);
    cr_expect_eq(rows[0].n, 2, "what is no answer counts");
}

/* ---- counts ---- */

/* Held against a list of all that came, over seeds: never more than two periods have, never less than
 * one has. */
Test(crowd, counts_are_between_one_period_and_two)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct crowd *c = crowd_new(1024, 60000);
        static msec_t at[4][3000];
        unsigned n[4] = { 0 };
        msec_t now = 0;
        struct rng r;

        cr_assert(c != NULL);
        rng_seed(&r, seed);
        for (unsigned i = 0; i < 3000; i++) {
            unsigned who = (unsigned)rng_below(&r, 4), one = 0, two = 0;
            struct crowd_count got;

            now += (msec_t)rng_below(&r, rng_below(&r, 50) == 0 ? 150000 : 300);
            at[who][n[who]++] = now;
            got = crowd_add(c, 1 + who * 4096, now);
            for (unsigned k = 0; k < n[who]; k++) {
                one += at[who][k] > now - 60000;
                two += at[who][k] > now - 120000;
            }
            cr_assert_leq(got.lately, two, "seed %lu", (unsigned long)seed);
            cr_assert_leq(got.all, two);
            cr_assert_geq(got.all, one);
            cr_assert_geq(got.now, 1);
        }
        crowd_free(c);
    }
}

/* Ids are odd in the door: half of the sets would stay empty. */
Test(crowd, a_table_that_is_half_full_knows_nearly_all)
{
    struct crowd *c = crowd_new(1024, 1000);
    unsigned lost = 0;
    struct rng r, again;

    rng_seed(&r, 1);
    again = r;
    for (unsigned i = 0; i < 512; i++)
        crowd_add(c, rng_u64(&r) | 1, 5000);
    for (unsigned i = 0; i < 512; i++)
        lost += !crowd_knows(c, rng_u64(&again) | 1);
    cr_expect_leq(lost, 40);
    crowd_free(c);
}

Test(crowd, a_clock_that_goes_back_counts_on)
{
    struct crowd *c = crowd_new(16, 1000);

    cr_expect_eq(crowd_add(c, 3, 5000).lately, 1);
    cr_expect_eq(crowd_add(c, 3, 4000).lately, 2);
    cr_expect_eq(crowd_add(c, 3, 5500).lately, 3);
    crowd_free(c);
}

/* Routers have keys of their own for addresses, and one for prefixes. */
Test(prefix, addresses_of_a_network_have_one_at_all_routers)
{
    static const uint8_t mine[LIMIT_KEY_BYTES] = { 1 }, theirs[LIMIT_KEY_BYTES] = { 2 };
    const uint64_t key[2] = { 0x1234567890abcdef, 0xfedcba0987654321 };
    struct limit *a = limit_new(64, mine), *b = limit_new(64, theirs);
    static const char *const same[][2] = { { "10.1.2.3", "10.1.2.250" }, { "2001:db8:1:2::1", "2001:db8:1:a::9" } };
    static const char *const other[][2] = { { "10.1.2.3", "10.1.3.3" }, { "2001:db8:1:200::1", "2001:db8:1:300::1" } };
    struct ip x, y;

    limit_prefix_key(a, key);
    limit_prefix_key(b, key);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(ip_parse(&x, same[i][0], strlen(same[i][0])) && ip_parse(&y, same[i][1], strlen(same[i][1])));
        cr_expect_eq(limit_prefix(limit_id_of(a, &x)), limit_prefix(limit_id_of(b, &y)), "%s", same[i][0]);
        cr_expect_neq(limit_id_of(a, &x), limit_id_of(a, &y));
        cr_assert(ip_parse(&x, other[i][0], strlen(other[i][0])) && ip_parse(&y, other[i][1], strlen(other[i][1])));
        cr_expect_neq(limit_prefix(limit_id_of(a, &x)), limit_prefix(limit_id_of(a, &y)), "%s", other[i][0]);
    }
    limit_free(a);
    limit_free(b);
}

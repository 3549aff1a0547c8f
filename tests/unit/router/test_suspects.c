/* test_suspects.c: which address prefixes look like a script's, and what keeps people from being taken
 * for one. */
#include "tests/lib/criterion.h"
#include <string.h>

#include "common/base/rng.h"
#include "router/gate/limit.h"
#include "router/gate/suspects.h"

static struct suspects *s;
static struct suspect_of of;
static msec_t now;
static bool polls_come; /* other people of the queue poll at this router */

static void set_up(void)
{
    s = suspects_new();
    cr_assert(s != NULL);
    now = 1000000;
    polls_come = true;
    of = (struct suspect_of){ .queue = 7, .prefix = 11, .site = 11, .from = 20, .places = 100 };
}

static void tear_down(void)
{
    suspects_free(s);
}

TestSuite(suspects, .init = set_up, .fini = tear_down, .timeout = 60);

static void count(enum suspect_what what, unsigned n)
{
    while (n-- > 0) {
        suspects_count(s, &of, what, now);
        if (polls_come && what == SUSPECT_OWED)
            suspects_heard(s, of.queue, now);
    }
}

static enum suspect_grade grade(void)
{
    bool nameless;

    return suspects_grade(s, &of, now, 1764334845, &nameless);
}

/* n joins a second for so many seconds; of ten of them so many poll, ten seconds later. */
static unsigned ticket;
static void crowd_joins(unsigned seconds, unsigned n, unsigned of_ten)
{
    unsigned t0 = ticket;

    for (unsigned t = 0; t < seconds; t++) {
        count(SUSPECT_PLACES, n);
        count(SUSPECT_OWED, n);
        ticket += n;
        for (unsigned i = 0; t >= 10 && i < n; i++)
            if ((t0 + i) % 10 < of_ten)
                suspects_polled(s, &of, 1, t0 + i, now);
        t0 += t >= 10 ? n : 0;
        now += 1000;
    }
}

static void set_places(uint32_t usual)
{
    of.places = usual;
}

/* ---- joins that never poll ---- */

Test(suspects, places_that_are_not_polled_make_one_once_they_are_a_minute_old)
{
    count(SUSPECT_PLACES, 20);
    count(SUSPECT_OWED, 20);
    cr_expect_eq(grade(), SUSPECT_NONE, "they may still poll");
    now += 2 * SUSPECT_SLOT_MS;
    cr_expect_eq(grade(), SUSPECT_NONE);
    now += 2 * SUSPECT_SLOT_MS;
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
}

/* A balancer that sends joins to some routers and polls to others. */
Test(suspects, where_polls_go_elsewhere_nobody_is_silent)
{
    polls_come = false;
    count(SUSPECT_PLACES, 200);
    count(SUSPECT_OWED, 200);
    now += 4 * SUSPECT_SLOT_MS;
    cr_expect_eq(grade(), SUSPECT_NONE);
    suspects_heard(s, of.queue + 1, now);
    cr_expect_eq(grade(), SUSPECT_NONE, "of another queue");
    for (unsigned i = 0; i < 12; i++)
        suspects_heard(s, of.queue, now);
    cr_expect_eq(grade(), SUSPECT_NONE, "stray ones, one for more than 16 places");
    suspects_heard(s, of.queue, now);
    cr_expect_eq(grade(), SUSPECT_SCRIPT, "they come here");
    count(SUSPECT_POSING, 20);
    now += 20 * SUSPECT_SLOT_MS;
    cr_expect_eq(grade(), SUSPECT_NONE);
    count(SUSPECT_POSING, 20);
    cr_expect_eq(grade(), SUSPECT_SCRIPT, "posing counts all the same");
}

Test(suspects, people_who_poll_are_none_however_many_they_are)
{
    set_places(0);
    crowd_joins(300, 5, 10);
    cr_expect_eq(grade(), SUSPECT_NONE);
}

/* Tabs that are closed at once; or polls that go to another router. */
Test(suspects, half_of_them_may_never_poll)
{
    set_places(0);
    crowd_joins(300, 10, 6);
    cr_expect_eq(grade(), SUSPECT_NONE);
    crowd_joins(300, 10, 1);
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
}

/* Else one ticket that polls all the time stands for a hundred that never do. */
Test(suspects, a_ticket_polls_for_itself_alone)
{
    count(SUSPECT_OWED, 40);
    for (unsigned i = 0; i < 100; i++)
        suspects_polled(s, &of, 1, 5, now);
    now += SUSPECT_DUE * SUSPECT_SLOT_MS;
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
}

/* ---- joins that pose ---- */

Test(suspects, joins_that_pose_make_one_at_once)
{
    count(SUSPECT_POSING, 19);
    cr_expect_eq(grade(), SUSPECT_NONE);
    count(SUSPECT_POSING, 1);
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
    of.prefix = of.site = 12;
    cr_expect_eq(grade(), SUSPECT_NONE, "another prefix");
    of.prefix = of.site = 11;
    of.queue = 8;
    cr_expect_eq(grade(), SUSPECT_NONE, "another queue");
}

/* ---- many places ---- */

Test(suspects, many_places_alone_are_no_script)
{
    count(SUSPECT_PLACES, 299);
    cr_expect_eq(grade(), SUSPECT_NONE);
    count(SUSPECT_PLACES, 1);
    cr_expect_eq(grade(), SUSPECT_MANY, "a carrier's people: they work, they are not refused");
    set_places(0);
    cr_expect_eq(grade(), SUSPECT_NONE, "by the queue's rule no number counts");
}

/* ---- it ends ---- */

Test(suspects, it_ends_below_half_and_not_before)
{
    count(SUSPECT_POSING, 12);
    now += 2 * SUSPECT_SLOT_MS;
    count(SUSPECT_POSING, 10);
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
    now += (SUSPECT_SLOTS - 2) * SUSPECT_SLOT_MS; /* twelve are forgotten, ten are half */
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
    now += 2 * SUSPECT_SLOT_MS;
    cr_expect_eq(grade(), SUSPECT_NONE);
    count(SUSPECT_POSING, 12);
    cr_expect_eq(grade(), SUSPECT_NONE, "it begins at the whole of it again");
}

/* A flood that goes on is one as long as it does; a few people who come again do not keep it up. */
Test(suspects, what_is_refused_keeps_it_up_only_if_it_is_much)
{
    for (unsigned few = 0; few < 2; few++) {
        of.prefix = of.site = 20 + few;
        count(SUSPECT_POSING, 20);
        cr_expect_eq(grade(), SUSPECT_SCRIPT);
        for (unsigned t = 0; t < 400; t++) {
            now += 1000;
            if (grade() != SUSPECT_NONE && (few == 0 || t % 6 == 0))
                count(SUSPECT_REFUSED, 1);
        }
        cr_expect_eq(grade(), few == 0 ? SUSPECT_SCRIPT : SUSPECT_NONE);
    }
}

Test(suspects, a_clock_that_goes_back_counts_on)
{
    count(SUSPECT_POSING, 19);
    now -= 10 * SUSPECT_SLOT_MS;
    count(SUSPECT_POSING, 1);
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
}

/* ---- a /48 ---- */

static struct suspect_of at(struct limit *l, const char *text)
{
    limit_id id;
    struct ip ip;

    cr_assert(ip_parse(&ip, text, strlen(text)));
    id = limit_id_of(l, &ip);
    return (struct suspect_of){ 7, limit_prefix(id), limit_site(id), 20, 100 };
}

Test(suspects, a_site_is_one_by_all_its_prefixes)
{
    const uint8_t key[LIMIT_KEY_BYTES] = { 1 };
    const uint64_t names[2] = { 0x1234567812345678, 0x9abcdef09abcdef0 };
    struct limit *l = limit_new(16, key);
    char text[40];

    limit_prefix_key(l, names);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(text, sizeof(text), "2001:db8:1:%x00::1", i);
        of = at(l, text);
        count(SUSPECT_POSING, 1);
    }
    of = at(l, "2001:db8:1:ff00::1");
    cr_expect_eq(grade(), SUSPECT_SCRIPT, "each prefix has one only");
    of = at(l, "2001:db8:2:0::1");
    cr_expect_eq(grade(), SUSPECT_NONE, "another /48");
    of = at(l, "192.0.2.1");
    cr_expect_eq(of.site, of.prefix, "of IPv4 there is no wider one");
    limit_free(l);
}

/* ---- what is shown ---- */

static struct suspect_row rows[MSG_SUSPECTS_MAX];
static uint32_t shown;
static uint32_t look(void)
{
    return suspects_rows(s, now, 1764334845, rows, &shown);
}

static void name(const char *text)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, text, strlen(text)));
    suspects_name(s, &of, &ip);
}

Test(suspects, a_prefix_is_known_of_suspects_alone_and_as_long_as_they_are_ones)
{
    bool nameless;

    count(SUSPECT_POSING, 19);
    (void)grade();
    name("192.0.2.77");
    cr_expect_eq(look(), 0);
    count(SUSPECT_POSING, 1);
    cr_expect_eq(suspects_grade(s, &of, now, 1764334845, &nameless), SUSPECT_SCRIPT);
    cr_expect(nameless, "that before was no suspect, so nothing was kept");
    name("192.0.2.77");
    cr_assert_eq(look(), 1);
    cr_assert_eq(shown, 1);
    cr_expect_eq(rows[0].net, 0xc000020000000000u, "without its last byte");
    cr_expect_eq(rows[0].bits, 24);
    cr_expect_eq(rows[0].queue, 7);
    cr_expect_eq(rows[0].posing, 20);
    cr_expect_eq(rows[0].score, 20);
    cr_expect_eq(rows[0].script, true);
    cr_expect_eq(rows[0].since_s, 1764334845);
    now += SUSPECT_SLOTS * SUSPECT_SLOT_MS;
    cr_expect_eq(look(), 0);
    count(SUSPECT_POSING, 20);
    (void)suspects_grade(s, &of, now, 1764334845, &nameless);
    cr_expect(nameless, "it was forgotten");
}

/* More prefixes than there are rows: who is one stays, and no number of others makes it go. */
Test(suspects, the_table_is_bounded_and_keeps_the_suspects)
{
    struct rng r;

    count(SUSPECT_POSING, 20);
    (void)grade();
    name("192.0.2.77");
    rng_seed(&r, 3);
    for (unsigned i = 0; i < 50000; i++) {
        of.prefix = (uint32_t)rng_u64(&r);
        of.site = of.prefix;
        count(SUSPECT_PLACES, 1);
        cr_assert_eq(grade(), SUSPECT_NONE);
    }
    cr_expect_eq(look(), 1);
    of.prefix = of.site = 11;
    cr_expect_eq(grade(), SUSPECT_SCRIPT);
}

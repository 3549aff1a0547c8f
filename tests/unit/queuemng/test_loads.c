/* test_loads.c: what processes say of themselves; what this process uses. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/supervisor/metrics_process.h"
#include "queuemng/process/manager.h"

Test(loads, are_kept_by_role_and_name_until_they_are_stale)
{
    struct msg_load m = { .cpu_permille = 370, .rss_bytes = 5 << 20, .version = "0.2.0", .late_us = 9,
                          .warning = "a certificate ends" };
    struct loads l;

    loads_init(&l);
    loads_note(&l, RPC_SEGMENT, "a", 1000, 0, &m);
    m.version = m.warning = "gone";
    cr_assert_not_null(loads_of(&l, RPC_SEGMENT, "a", 1000));
    cr_expect_eq(loads_of(&l, RPC_SEGMENT, "a", 1000)->load.cpu_permille, 370);
    cr_expect_str_eq(loads_of(&l, RPC_SEGMENT, "a", 1000)->load.version, "0.2.0", "copied");
    cr_expect_str_eq(loads_of(&l, RPC_SEGMENT, "a", 1000)->load.warning, "a certificate ends", "copied");
    cr_expect_null(loads_of(&l, RPC_ROUTER, "a", 1000));
    cr_expect_null(loads_of(&l, RPC_SEGMENT, "b", 1000));
    m.cpu_permille = 5;
    loads_note(&l, RPC_SEGMENT, "a", 3000, 0, &m);
    cr_expect_eq(loads_of(&l, RPC_SEGMENT, "a", 3000)->load.cpu_permille, 5, "the newest");
    cr_expect_not_null(loads_of(&l, RPC_SEGMENT, "a", 3000 + LOAD_STALE_MS - 1));
    cr_expect_null(loads_of(&l, RPC_SEGMENT, "a", 3000 + LOAD_STALE_MS));
    loads_note(&l, RPC_ROUTER, "r", 9000, 0, &m);
    for (unsigned i = 0; i < 3; i++)
        loads_tidy(&l, 3000 + LOAD_STALE_MS);
    cr_expect_eq(l.by_name.n, 1, "that of the router");
    cr_expect_not_null(loads_of(&l, RPC_ROUTER, "r", 9000));
    loads_fini(&l);
}

static size_t missed(const struct loads *l, msec_t now_ms)
{
    const struct load_seen *v[ROUTERS_MISSED_MAX];

    return loads_routers_missed(l, now_ms, v);
}

/* A router that had the wrong secret was in no list any more, and nothing missed it. */
Test(loads, a_router_that_is_gone_is_missed_until_another_one_has_its_place)
{
    struct msg_load m = { .version = "0.2.0", .warning = "" };
    const struct load_seen *v[ROUTERS_MISSED_MAX];
    struct loads l;
    char name[16];

    loads_init(&l);
    loads_note(&l, RPC_ROUTER, "r0", 1000, 0, &m);
    loads_note(&l, RPC_ROUTER, "r1", 1000 + ROUTERS_FOUND_MS - 1, 0, &m);
    cr_expect_eq(missed(&l, 1000 + LOAD_STALE_MS), 1, "r1 was there when we came: it follows nobody");
    for (msec_t at = 17000; at <= 200000; at += 2000) {
        loads_note(&l, RPC_ROUTER, "r0", at, 0, &m);
        loads_note(&l, RPC_ROUTER, "r1", at, 0, &m);
        loads_note(&l, RPC_SEGMENT, "s0", at, 0, &m);
    }
    for (msec_t at = 200000; at <= 300000; at += 2000) {
        loads_note(&l, RPC_ROUTER, "r1", at, 0, &m);
        loads_tidy(&l, at);
    }
    cr_assert_eq(loads_routers_missed(&l, 300000, v), 1);
    cr_expect_str_eq(v[0]->name, "r0");
    cr_expect_eq(missed(&l, 199000 + LOAD_STALE_MS - 1), 0);
    loads_note(&l, RPC_ROUTER, "r2", 300000, 0, &m);
    cr_expect_eq(missed(&l, 300000), 0, "r2 has its place");
    cr_expect_eq(missed(&l, 300000 + LOAD_STALE_MS), 3);
    for (unsigned i = 0; i < 2 * ROUTERS_MISSED_MAX; i++) {
        snprintf(name, sizeof(name), "x%u", i);
        loads_note(&l, RPC_ROUTER, name, 400000 + (msec_t)i, 0, &m);
    }
    cr_assert_eq(loads_routers_missed(&l, 500000, v), ROUTERS_MISSED_MAX);
    cr_expect_str_eq(v[0]->name, "x31", "those that went last");
    for (unsigned i = 0; i < 2 * ROUTERS_MISSED_MAX - 5; i++) {
        snprintf(name, sizeof(name), "y%u", i);
        loads_note(&l, RPC_ROUTER, name, 500000, 0, &m);
    }
    cr_expect_eq(missed(&l, 500000), 3 + 5, "all that are gone have followers, not only those that are named");
    for (unsigned i = 0; i < 100; i++)
        loads_tidy(&l, 500100 + ROUTER_MISSED_MS);
    cr_expect_eq(l.by_name.n, 0, "and they are forgotten");
    loads_fini(&l);
}

/* Fewer routers, or none here any more, by an operator's word: ten minutes of warnings told of a fault. */
Test(loads, a_router_that_said_that_it_leaves_is_not_missed)
{
    struct msg_load m = { .version = "", .warning = "" }, last = { .version = "", .warning = "", .leaves = true };
    const struct load_seen *v[ROUTERS_MISSED_MAX];
    struct loads l;

    loads_init(&l);
    loads_note(&l, RPC_ROUTER, "r0", 1000, 0, &m);
    loads_note(&l, RPC_ROUTER, "r1", 1000, 0, &m);
    loads_note(&l, RPC_ROUTER, "r0", 50000, 0, &last);
    loads_note(&l, RPC_ROUTER, "r1", 50000, 0, &m);
    cr_assert_eq(loads_routers_missed(&l, 70000, v), 1);
    cr_expect_str_eq(v[0]->name, "r1", "it was killed");
    loads_note(&l, RPC_ROUTER, "r0", 80000, 0, &m);
    cr_expect_eq(missed(&l, 100000), 2, "it had come back");
    loads_fini(&l);
}

/* A rolling replacement gives new names; each new router has the place of one that left. */
Test(loads, a_router_that_is_gone_is_missed_whoever_follows_those_that_leave)
{
    struct msg_load m = { .version = "", .warning = "" }, last = { .version = "", .warning = "", .leaves = true };
    const struct load_seen *v[ROUTERS_MISSED_MAX];
    struct loads l;

    loads_init(&l);
    for (msec_t at = 1000; at <= 50000; at += 7000) {
        loads_note(&l, RPC_ROUTER, "r0", at, 0, &m);
        loads_note(&l, RPC_ROUTER, "r1", at, 0, &m);
    }
    loads_note(&l, RPC_ROUTER, "r0", 51000, 0, &last);
    loads_note(&l, RPC_ROUTER, "n0", 52000, 0, &m);
    cr_expect_eq(missed(&l, 52000), 0);
    loads_note(&l, RPC_ROUTER, "n0", 65000, 0, &m);
    cr_assert_eq(loads_routers_missed(&l, 65000, v), 1);
    cr_expect_str_eq(v[0]->name, "r1", "n0 has the place of r0");
    loads_note(&l, RPC_ROUTER, "n1", 66000, 0, &m);
    cr_expect_eq(missed(&l, 66000), 0);
    loads_note(&l, RPC_ROUTER, "n0", 690000, 0, &m);
    loads_note(&l, RPC_ROUTER, "n1", 701000, 0, &m);
    cr_expect_eq(missed(&l, 701000), 1);
    loads_note(&l, RPC_ROUTER, "n2", 701000, 0, &m);
    cr_expect_eq(missed(&l, 701000), 0, "the one that left long before has no part in it");
    loads_fini(&l);
}

/* A manager that had stood by told of routers as gone that were with the other one, and took all that came back
 * for followers. */
Test(loads, a_term_begins_with_no_router_gone_and_none_new)
{
    struct msg_load m = { .version = "0.2.0", .warning = "" };
    struct loads l;

    loads_init(&l);
    loads_note(&l, RPC_ROUTER, "r0", 1000, 0, &m);
    loads_note(&l, RPC_ROUTER, "r1", 1000, 0, &m);
    loads_clear(&l);
    cr_expect_eq(missed(&l, 100000), 0);
    loads_note(&l, RPC_ROUTER, "r0", 100000, 0, &m);
    loads_note(&l, RPC_ROUTER, "r1", 101000, 0, &m);
    loads_note(&l, RPC_ROUTER, "r1", 120000, 0, &m);
    cr_expect_eq(missed(&l, 120000), 1, "r1 follows nobody");
    loads_fini(&l);
}

/* One word may be late; an older release tells no clock. Nobody said a word of a router that was five
 * minutes ahead: it refused every pass. */
Test(loads, a_clock_that_is_off_is_told_after_two_words)
{
    struct msg_load m = { .version = "0.2.0", .warning = "a certificate ends", .wall_ms = 1300000 };
    struct loads l;

    loads_init(&l);
    loads_note(&l, RPC_ROUTER, "r", 1000, 1000000, &m);
    cr_expect_str_eq(loads_of(&l, RPC_ROUTER, "r", 1000)->warning, "a certificate ends");
    cr_expect_eq(loads_clocks_off(&l, 1000), 0);
    loads_note(&l, RPC_ROUTER, "r", 3000, 1000000, &m);
    cr_expect_str_eq(loads_of(&l, RPC_ROUTER, "r", 3000)->warning,
                     "a certificate ends; its clock is 300 s ahead of this manager's: set both (NTP)");
    cr_expect_eq(loads_clocks_off(&l, 3000), 1);
    cr_expect_eq(loads_clocks_off(&l, 3000 + LOAD_STALE_MS), 0, "who is gone has no clock");
    m.warning = "";
    m.wall_ms = 1000000 - CLOCK_OFF_MS;
    loads_note(&l, RPC_ROUTER, "r", 5000, 1000000, &m);
    cr_expect_str_eq(loads_of(&l, RPC_ROUTER, "r", 5000)->warning, "its clock is 5 s behind this manager's: set both (NTP)");
    m.wall_ms++;
    loads_note(&l, RPC_ROUTER, "r", 6000, 1000000, &m);
    cr_expect_eq(loads_clocks_off(&l, 6000), 1, "no line for each word of a clock at the bound");
    m.wall_ms = 1000000 - CLOCK_RIGHT_MS + 1;
    loads_note(&l, RPC_ROUTER, "r", 7000, 1000000, &m);
    cr_expect_str_eq(loads_of(&l, RPC_ROUTER, "r", 7000)->warning, "");
    cr_expect_eq(loads_clocks_off(&l, 7000), 0);
    m.wall_ms = 0;
    for (unsigned i = 0; i < 3; i++)
        loads_note(&l, RPC_ROUTER, "old", 7000, 1000000, &m);
    cr_expect_eq(loads_clocks_off(&l, 7000), 0);
    loads_fini(&l);
}

/* We were stopped for ten seconds: what was said meanwhile comes at once, and is as old as that. */
Test(loads, words_that_were_late_together_say_nothing_of_a_clock)
{
    struct msg_load m = { .version = "0.2.0", .warning = "" };
    struct loads l;

    loads_init(&l);
    for (m.wall_ms = 1000000; m.wall_ms <= 1010000; m.wall_ms += 2000) {
        loads_note(&l, RPC_ROUTER, "r", 20000, 1012000, &m);
        cr_expect_eq(loads_clocks_off(&l, 20000), 0, "%lld", (long long)m.wall_ms);
    }
    for (unsigned i = 0; i < 2; i++)
        loads_note(&l, RPC_ROUTER, "r", 22000 + 2000 * (msec_t)i, 1030000, &m);
    cr_expect_eq(loads_clocks_off(&l, 24000), 1, "these came apart");
    loads_fini(&l);
}

Test(loads, this_process_uses_what_it_uses)
{
    struct own_figures first, next;
    struct own_load own = { 0 };
    volatile unsigned work = 0;

    first = own_load_look(&own, 5000, 1700000000000);
    cr_expect_eq(first.cpu_permille, 0, "there was nothing before");
    cr_expect_eq(first.started_ms, 1700000000000);
    cr_expect_gt(first.rss_bytes, 1u << 20);
    while (work < 200000000)
        work++;
    next = own_load_look(&own, 6000, 1700000001000);
    cr_expect_gt(next.cpu_permille, 10);
    cr_expect_eq(next.started_ms, 1700000000000, "as before");
}

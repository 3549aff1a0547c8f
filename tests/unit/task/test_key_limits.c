/* test_key_limits.c: patterns of keys and pinned keys: which limit a key has, also of a key that is
 * there when they change, and after a restart; weights are shares. */
#include "common/task/rules.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/task/enginerig.h"

Test(key_limits, a_pattern_matches_level_by_level)
{
    static const struct { const char *match, *key; bool yes; } of[] = {
        { "*", "tenant7", true },         { "*", "tenant7/user", false },
        { "*/*", "tenant7/user", true },  { "*/*", "tenant7", false },
        { "tenant*", "tenant7", true },   { "tenant*", "tenant", true },
        { "tenant*", "tenan", false },    { "tenant7", "tenant7", true },
        { "tenant7", "tenant70", false }, { "tenant7/*", "tenant7/user", true },
        { "tenant7/*", "tenant70/user", false }, { "*/vip*", "a/vip1", true },
        { "*/vip*", "a/b", false },
    };

    for (unsigned i = 0; i < ARRAY_LEN(of); i++)
        cr_expect_eq(key_matches(of[i].match, of[i].key), of[i].yes, "%s %s", of[i].match, of[i].key);
}

Test(key_limits, what_is_no_pattern_is_told_from_one)
{
    static const char *const good[] = { "*", "a", "a*", "a/b", "*/*", "a*/b*" };
    static const char *const bad[] = { "", "/", "a/", "/a", "a/b/c", "a b", "a*b", "**", "\xc3\xa4" };

    for (unsigned i = 0; i < ARRAY_LEN(good); i++)
        cr_expect(key_match_ok(good[i]), "%s", good[i]);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(key_match_ok(bad[i]), "%s", bad[i]);
    cr_expect(key_text_ok("a*b"), "a key may have a star");
    cr_expect_not(key_text_ok("a/b/c"));
}

static const struct key_limit list[] = {
    { .queue = "q", .key = "gold", .at_once = 2, .weight = 3 },
    { .queue = "q", .key = "gold/one", .paused = 1 },
    { .queue = "r", .key = "gold", .rate = 1000000000 },
    { .queue = "", .key = "g*", .at_once = 1 },
    { .queue = "", .key = "*", .rate = 2000, .burst = 1000000 },
};

Test(key_limits, a_list_is_read_as_it_was_written_and_damage_is_refused)
{
    struct key_limit *v;
    struct buf b;
    uint32_t n;

    buf_init(&b);
    key_limits_encode(list, ARRAY_LEN(list), &b);
    cr_assert_eq(key_limits_decode(b.data, b.len, &v, &n), 0);
    cr_assert_eq(n, ARRAY_LEN(list));
    for (uint32_t i = 0; i < n; i++) {
        cr_expect_str_eq(v[i].queue, list[i].queue);
        cr_expect_str_eq(v[i].key, list[i].key);
#define X(m, most) cr_expect_eq(v[i].m, list[i].m);
        KEY_LIMIT(X)
#undef X
    }
    free(v);
    for (size_t cut = 1; cut < b.len; cut++)
        cr_assert_eq(key_limits_decode(b.data, cut, &v, &n), SQ_EPROTO, "%zu", cut);
    buf_reset(&b);
    key_limits_encode((struct key_limit[]){ list[3], list[0] }, 2, &b);
    cr_expect_eq(key_limits_decode(b.data, b.len, &v, &n), SQ_EPROTO, "pinned ones come first");
    buf_reset(&b);
    key_limits_encode((struct key_limit[]){ list[1], list[0] }, 2, &b);
    cr_expect_eq(key_limits_decode(b.data, b.len, &v, &n), SQ_EPROTO, "in their order");
    buf_reset(&b);
    key_limits_encode(&(struct key_limit){ .queue = "", .key = "*", .weight = 1001 }, 1, &b);
    cr_expect_eq(key_limits_decode(b.data, b.len, &v, &n), SQ_EPROTO, "out of its range");
    buf_reset(&b);
    key_limits_encode(list, 0, &b);
    cr_expect_eq(b.len, 0, "none: no bytes");
    buf_fini(&b);
}

static void define(struct enginerig *r, const struct key_limit *v, uint32_t n)
{
    struct buf b;

    buf_init(&b);
    key_limits_encode(v, n, &b);
    cr_assert_eq(engine_define_keys(&r->e, "*", &b), 0);
    buf_fini(&b);
    rig_flush(r);
}

static void submit(struct enginerig *r, const char *queue, const char *key1, const char *key2)
{
    rig_submit(r, (struct submit){ .queue = rig_text(queue), .key1 = rig_text(key1),
                                   .key2 = rig_text(key2) });
}

/* How many of the queue start now. */
static unsigned starts(struct enginerig *r, const char *queue)
{
    struct trec_text q = rig_text(queue);
    struct taken t;
    unsigned n = 0;

    while (engine_take(&r->e, &q, 1, 0, &t) == 1)
        n++;
    rig_flush(r);
    return n;
}

/* The rules of patterns stay where limiters point to: none of these is looked at. */
Test(key_limits, a_pin_changes_its_key_alone)
{
    struct key_limit v[] = { { .queue = "q", .key = "gold", .at_once = 1 },
                             { .queue = "q", .key = "grey/1", .paused = 1 },
                             { .queue = "", .key = "g*", .at_once = 2 } };
    struct enginerig r;
    const struct key_rule *green;
    uint32_t at;

    rig_init(&r, NULL);
    define(&r, v, 3);
    for (unsigned i = 0; i < 9; i++)
        submit(&r, "q", "gold", "");
    for (unsigned i = 0; i < 3; i++)
        submit(&r, "q", "green", "");
    submit(&r, "q", "grey", "1");
    cr_expect_eq(starts(&r, "q"), 1 + 2);
    at = 3; /* of the limiters of the queue and its keys, as they came */
    cr_assert_str_eq(tree_limiter_at(&r.e.tree, at)->text, "green");
    green = tree_limiter_at(&r.e.tree, at)->rule;
    v[0].at_once = 3;
    define(&r, v, 3);
    cr_expect_eq(tree_limiter_at(&r.e.tree, at)->rule, green);
    cr_expect_eq(starts(&r, "q"), 2, "gold");
    define(&r, &v[2], 1);
    cr_expect_eq(starts(&r, "q"), 1, "grey/1 is paused no more; gold has the limit of the pattern");
    v[0].at_once = 4;
    define(&r, v, 3);
    cr_expect_eq(starts(&r, "q"), 1, "gold is pinned anew");
    v[2].at_once = 5;
    define(&r, v, 3);
    cr_expect_eq(starts(&r, "q"), 1, "another pattern: green");
    rig_fini(&r);
}

Test(key_limits, a_key_has_the_limit_that_is_pinned_then_of_the_first_pattern_then_of_its_pool)
{
    struct task_rules rules;
    struct enginerig r;

    rules_default(&rules);
    rules.below_at_once = 3;
    rig_init(&r, &rules);
    define(&r, list, ARRAY_LEN(list));
    for (unsigned i = 0; i < 5; i++)
        submit(&r, "q", "gold", "");
    cr_expect_eq(starts(&r, "q"), 2, "pinned");
    for (unsigned i = 0; i < 5; i++)
        submit(&r, "q", "green", "");
    cr_expect_eq(starts(&r, "q"), 1, "of a pattern");
    for (unsigned i = 0; i < 5; i++)
        submit(&r, "r", "gold", "");
    cr_expect_eq(starts(&r, "r"), 1, "pinned in another queue: a rate");
    for (unsigned i = 0; i < 5; i++)
        submit(&r, "s", "x", "y");
    cr_expect_eq(starts(&r, "s"), 3, "no pattern of two levels: the pool's");
    submit(&r, "q", "gold", "one");
    cr_expect_eq(starts(&r, "q"), 0, "paused, and full above");
    rig_compare(&r);
    rig_fini(&r);
}

Test(key_limits, keys_that_are_there_follow_a_change_and_a_restart_keeps_it)
{
    struct key_limit one[] = { { .queue = "", .key = "*", .at_once = 1 } };
    struct enginerig r;

    rig_init(&r, NULL);
    for (unsigned i = 0; i < 9; i++)
        submit(&r, "q", "a", "");
    define(&r, one, 1);
    cr_expect_eq(starts(&r, "q"), 1);
    one[0].at_once = 3;
    define(&r, one, 1);
    cr_expect_eq(starts(&r, "q"), 2, "two more");
    rig_compare(&r);
    rig_restart(&r, 0);
    cr_expect_eq(starts(&r, "q"), 0);
    one[0].paused = 1;
    one[0].at_once = 0;
    define(&r, one, 1);
    cr_expect_eq(starts(&r, "q"), 0, "paused");
    rig_compare(&r);
    define(&r, one, 0);
    cr_expect_eq(starts(&r, "q"), 6, "no limits any more");
    rig_compare(&r);
    rig_fini(&r);
}

Test(key_limits, the_same_again_is_not_written)
{
    struct enginerig r;
    size_t len;

    rig_init(&r, NULL);
    define(&r, NULL, 0);
    len = r.journal.len;
    define(&r, list, ARRAY_LEN(list));
    cr_expect_gt(r.journal.len, len);
    len = r.journal.len;
    define(&r, list, ARRAY_LEN(list));
    cr_expect_eq(r.journal.len, len);
    rig_fini(&r);
}

Test(key_limits, weights_are_shares_of_what_starts)
{
    struct key_limit v[] = { { .queue = "", .key = "a", .weight = 5 },
                             { .queue = "", .key = "b", .weight = 2 } };
    struct enginerig r;
    unsigned n[3] = { 0 };

    rig_init(&r, NULL);
    define(&r, v, 2);
    for (unsigned i = 0; i < 500; i++)
        for (unsigned k = 0; k < 3; k++)
            submit(&r, "q", (const char *[]){ "a", "b", "c" }[k], "");
    for (unsigned i = 0; i < 400; i++) {
        struct task_view view;

        cr_assert_eq(engine_look(&r.e, rig_take(&r, NULL), &view), 0);
        n[view.key1[0] - 'a']++;
        cr_assert_lt(abs((int)n[0] * 2 - (int)n[1] * 5), 11, "J10: one quantum");
        cr_assert_lt(abs((int)n[1] - (int)n[2] * 2), 3, "J10: one quantum");
    }
    rig_fini(&r);
}

Test(key_limits, a_weight_that_falls_counts_at_once)
{
    struct key_limit v = { .queue = "", .key = "a", .weight = 100 };
    struct enginerig r;
    unsigned of_a = 0;

    rig_init(&r, NULL);
    define(&r, &v, 1);
    for (unsigned i = 0; i < 100; i++) {
        submit(&r, "q", "a", "");
        submit(&r, "q", "b", "");
    }
    cr_assert_neq(rig_take(&r, NULL), 0);
    v.weight = 1;
    define(&r, &v, 1);
    for (unsigned i = 0; i < 20; i++) {
        struct task_view view;

        cr_assert_eq(engine_look(&r.e, rig_take(&r, NULL), &view), 0);
        of_a += view.key1[0] == 'a';
    }
    cr_expect_leq(of_a, 11, "%u", of_a);
    rig_fini(&r);
}

/* An idle key's bucket is not full yet: it gets the new limit, too. */
Test(key_limits, a_key_that_nobody_has_follows_a_change)
{
    struct key_limit slow[] = { { .queue = "", .key = "*", .rate = 10, .burst = 1 } };
    struct enginerig r;
    uint64_t lease;
    task_no no;

    rig_init(&r, NULL);
    define(&r, slow, 1);
    submit(&r, "q", "a", "");
    no = rig_take(&r, &lease);
    cr_assert_eq(engine_ack(&r.e, no, lease, 0), 0);
    cr_assert_eq(engine_discard(&r.e, no), 0);
    rig_flush(&r);
    cr_expect_eq(r.e.tree.limiters_now, 2, "its bucket is empty");
    slow[0].rate = 1000;
    define(&r, slow, 1);
    submit(&r, "q", "a", "");
    cr_expect_eq(starts(&r, "q"), 0);
    rig_advance(&r, 1000); /* not 100 s, as the old rate would have it */
    cr_expect_eq(starts(&r, "q"), 1);
    define(&r, slow, 0);
    rig_fini(&r);
}

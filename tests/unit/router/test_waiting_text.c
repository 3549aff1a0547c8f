/* test_waiting_text.c: the answer from pieces is the answer of api_ticket(), byte for byte. */
#include "router/api/waiting_text.h"

#include "tests/lib/criterion.h"

#include "common/base/rng.h"
#include "common/ticket/pace.h"
#include "tests/lib/flowrig.h"

static struct waiting_texts texts;
static struct api_ans ans;
static struct rng rng;
static uint64_t version;

static void begin(void)
{
    rng_seed(&rng, 12);
    r = routes_new();
    version = 0;
    cr_assert_eq(waiting_texts_init(&texts), 0);
    api_ans_init(&ans);
}

static void end(void)
{
    routes_free(r);
    waiting_texts_fini(&texts);
    api_ans_fini(&ans);
}

TestSuite(waiting_text, .init = begin, .fini = end);

static const char *name(char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = "abcz09-_"[i == 0 ? rng_below(&rng, 6) : rng_below(&rng, 8)];
    to[n] = '\0';
    return to;
}

static size_t length(size_t most)
{
    return rng_chance(&rng, 0.1) ? most : 1 + rng_below(&rng, 12);
}

/* Of random size in digits. */
static uint64_t figure(unsigned digits)
{
    uint64_t top = 1;

    for (uint64_t n = rng_below(&rng, digits + 1); n > 0; n--)
        top *= 10;
    return rng_below(&rng, top);
}

static void put_map(const char *message, uint64_t cap)
{
    char q_name[NAME_MAX_LEN + 1], l_name[NAME_MAX_LEN + 1];
    struct map_lane two[2] = { lane, { .name = name(l_name, length(NAME_MAX_LEN)) } };
    struct map_queue q = { .id = 7, .name = name(q_name, length(NAME_MAX_LEN)),
                           .state = QUEUE_OPEN, .n_lanes = 2, .lanes = two, .message = message,
                           .position_cap = cap };
    struct msg_map m = { .epoch = 1, .version = ++version, .next_seg = 100, .n_nodes = 2,
                         .nodes = nodes, .n_queues = 1, .queues = &q };

    two[0].name = two[1].name; /* segments are in the first lane */
    two[1].name = "other";
    cr_assert_eq(routes_apply(r, &m), 0);
}

static void put_stats(uint64_t waiting)
{
    struct queue_stats s = { .id = 7, .limited_by = "fixed", .n_lanes = 2 };

    s.lane[0] = (struct lane_stats) { .waiting = waiting,
                                      .rate_milli_per_s = rng_chance(&rng, 0.2) ? 0 : figure(9),
                                      .leave_ppm = rng_chance(&rng, 0.5) ? 0 : (uint32_t)figure(6),
                                      .eta_reason = (uint8_t)rng_below(&rng, ETA_NREASONS + 1) };
    routes_stats(r, &(struct msg_stats) { .n = 1, .queues = &s });
}

static struct api_ticket ticket_of(const struct waiting_text *x, const char *token, uint32_t number,
                                   uint64_t position, uint32_t poll_after_ms)
{
    struct api_ticket t = { .queue = x->owner.queue, .lane = x->owner.lane, .position = position,
                            .of = x->name, .number = number, .segment = x->owner.seg,
                            .poll_after_ms = poll_after_ms };

    memcpy(t.token, token, TOKEN_TEXT_LEN);
    return t;
}

/* As api_ticket() says it. */
static const char *general(const struct waiting_text *x, const char *token, uint32_t number,
                           uint64_t position, uint32_t poll_after_ms)
{
    struct api_ticket t = ticket_of(x, token, number, position, poll_after_ms);

    api_ans_reset(&ans);
    api_ticket(&ans, 200, &t, false);
    buf_byte(&ans.body, 0);
    return (const char *)ans.body.data;
}

static bool same(seg_id of, uint64_t position)
{
    static char token[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRS";
    const struct waiting_text *x = waiting_text_of(&texts, r, of);
    uint32_t number = (uint32_t)figure(9), poll_after_ms = (uint32_t)figure(9);
    char got[2000], *to;

    cr_assert_not_null(x);
    cr_assert_eq(x, waiting_text_of(&texts, r, of));
    if (!waiting_text_tells(x, position))
        return false;
    token[rng_below(&rng, TOKEN_TEXT_LEN)] = (char)('a' + rng_below(&rng, 26));
    memset(got, '#', sizeof(got));
    to = waiting_text_put(x, got, token, number, position, poll_after_ms);
    for (char *p = to + WAITING_TOUCH; p < got + sizeof(got); p++)
        cr_assert_eq(*p, '#', "%td bytes behind the end are touched", p - to);
    *to = '\0';
    cr_assert_str_eq(got, general(x, token, number, position, poll_after_ms));
    return true;
}

Test(waiting_text, says_what_the_general_way_says)
{
    static const seg_id of[] = { 9, 11, 12, 13 };
    unsigned n = 0;

    for (int i = 0; i < 3000; i++) {
        uint64_t waiting = 1 + figure(12);

        if (i % 10 == 0)
            put_map(i % 30 == 0 ? "Come back soon." : NULL, i % 50 == 0 ? 1000 : 0);
        put_stats(waiting);
        for (int k = 0; k < 10; k++)
            n += same(of[rng_below(&rng, ARRAY_LEN(of))], 1 + rng_below(&rng, 2 * waiting));
    }
    cr_expect_gt(n, 25000, "only %u of 30000 were said from pieces", n);
}

Test(waiting_text, leaves_what_is_special_to_the_general_way)
{
    char much[300];

    put_map(NULL, 0);
    put_stats(100);
    cr_expect(same(11, 100) && same(11, 1) && !same(11, 0), "of 100");
    cr_expect(same(11, 101), "behind all that are counted");
    put_map(NULL, 50);
    put_stats(100);
    cr_expect(same(11, 50) && !same(11, 51), "capped");
    memset(much, 'm', sizeof(much) - 1);
    much[sizeof(much) - 1] = '\0';
    put_map(much, 0);
    put_stats(100);
    cr_expect_not(same(11, 1), "a long message");
    put_map("short", 0);
    put_stats(100);
    cr_expect(same(11, 1));
    put_stats(0);
    cr_expect(same(11, 1), "nobody is counted");
}

Test(waiting_text, knows_no_more_than_the_map)
{
    cr_expect_null(waiting_text_of(&texts, r, 11));
    cr_expect_null(waiting_text_of(&texts, r, 0));
    put_map(NULL, 0);
    put_stats(100);
    cr_expect_not_null(waiting_text_of(&texts, r, 11));
    cr_expect_null(waiting_text_of(&texts, r, 14), "lost");
    cr_expect_null(waiting_text_of(&texts, r, 50), "over");
    cr_expect_null(waiting_text_of(&texts, r, 11 + WAITING_NAMES), "of the same slot");
    cr_expect_eq(waiting_text_of(&texts, r, 9)->owner.seg, 11, "absorbed");
    cr_expect(same(11, 1) && same(9, 1));
    routes_forget(r);
    cr_expect_null(waiting_text_of(&texts, r, 11));
}

/* test_task_quotas.c: what an endpoint's rates in units have left at a node, behind a restart (J27). */
#include "tests/unit/task/tablerig.h"

#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/node/parts.h"

static const uint64_t day[] = { 86400, PER_DAY, 1000 }; /* one a second */
static struct calls calls;

static void begin(void)
{
    calls_init(&calls);
    rig.calls = &calls;
    rig.boot = (struct tab_boot){ .id = 77 };
    setup();
    ok(EPOCH, 7);
    pass(0);
}

static void end(void)
{
    teardown();
    calls_fini(&calls);
}

TestSuite(quotas, .init = begin, .fini = end);

static struct endpoint *told_of(uint64_t serial, uint64_t part, uint64_t kept, const uint64_t *window)
{
    struct msg_endpoint m = { .epoch = EPOCH, .name = "gen", .serial = serial, .url = "http://gen",
                              .max_concurrent = 10, .burst = 1, .deadline_ms = 1000, .connect_timeout_ms = 100,
                              .n_unit_rates = 3, .unit_rates = (uint64_t *)day, .unit_part = part, .unit_kept = kept, .auth_field = "",
                              .auth_file = "", .reading_path = "", .secret_file = "", .ca_file = "", .cert_file = "",
                              .key_file = "", .proxy = "", .budget = "", .of = "", .used = "", .used_header = "",
                              .address = "" };

    if (window != NULL) { /* of its budget's rate */
        m.n_unit_window = WINDOW_NUMBERS;
        m.unit_window = (uint64_t *)window;
        m.n_shared = 1;
        m.shared_part = UNIT_PARTS;
    }
    send(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    pass(0);
    return endpoints_find(&calls.endpoints, "gen");
}

static struct endpoint *told(uint64_t serial, uint64_t part, uint64_t kept)
{
    return told_of(serial, part, kept, NULL);
}

/* kill -9, and a start `ms` later. */
static void restart(msec_t ms, bool by_snapshot)
{
    if (by_snapshot) {
        buf_reset(&rig.log.b);
        buf_reset(&rig.snap.b);
        for (bool more = true, first = true; more; first = false)
            more = tasktab_snapshot(t, first, tabrig_record, &rig.snap);
    }
    calls_fini(&calls);
    calls_init(&calls);
    now.ms += ms;
    now.wall_ms += ms;
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    ok(EPOCH, 7);
}

static uint64_t has(const struct endpoint *ep)
{
    return quota_most(&ep->quota, now.ms);
}

Test(quotas, a_level_outlives_a_restart)
{
    struct endpoint *ep = told(1, UNIT_PARTS / 2, 0);

    cr_expect_eq(has(ep), 0, "it begins empty");
    pass(400 * 1000);
    cr_expect_eq(has(ep), 200);
    endpoint_pays(ep, 50, now.ms);
    pass(0);
    for (int snapshot = 0; snapshot < 2; snapshot++) {
        uint64_t had = has(ep);

        restart(20 * 1000, snapshot != 0);
        ep = told(2, UNIT_PARTS / 2, UNIT_PARTS / 2);
        cr_expect_eq(has(ep), had + 10, "%lu, and what came in: %lu", had, has(ep));
    }
    restart(0, false);
    ep = told(3, UNIT_PARTS / 8, UNIT_PARTS / 2);
    cr_expect_eq(has(ep), 125, "a smaller part has less room: %lu", has(ep));
    restart(0, false);
    ep = told(4, UNIT_PARTS / 8, UNIT_PARTS / 8);
    cr_expect_eq(has(ep), 125, "that is what it had: %lu", has(ep));
}

Test(quotas, what_others_may_have_had_is_not_there)
{
    struct endpoint *ep = told(1, UNIT_PARTS / 2, 0);

    pass(400 * 1000);
    restart(0, false);
    ep = told(2, UNIT_PARTS / 2, UNIT_PARTS / 4);
    cr_expect_eq(has(ep), 0, "the manager kept less for it");
    pass(100 * 1000);
    tasktab_msg(t, now, MNG, 0, &(struct msg){ .type = MSG_ENDPOINT_DROP, .endpoint_drop = { EPOCH, "gen" } }, &out);
    pass(0);
    restart(0, false);
    ep = told(3, UNIT_PARTS / 2, UNIT_PARTS / 2);
    cr_expect_eq(has(ep), 0, "it was dropped meanwhile");
    pass(100 * 1000);
    cr_expect_eq(has(ep), 50);
    ep = told(4, UNIT_PARTS / 2, UNIT_PARTS);
    cr_expect_eq(has(ep), 50, "one that is here is not read again");
}

Test(quotas, a_debt_is_still_one)
{
    struct endpoint *ep = told(1, UNIT_PARTS, 0);

    pass(100 * 1000);
    endpoint_pays(ep, 100, now.ms);
    endpoint_settles(ep, 100, 160, 0, now.ms);
    pass(0);
    restart(10 * 1000, false);
    ep = told(2, UNIT_PARTS, UNIT_PARTS);
    cr_expect_eq(has(ep), 0);
    pass(49 * 1000);
    cr_expect_eq(has(ep), 0);
    pass(2000);
    cr_expect_eq(has(ep), 1);
}

/* J28: it has no part of its own. */
Test(quotas, a_window_of_its_budget_outlives_a_restart)
{
    uint64_t window[WINDOW_NUMBERS] = { 5, (uint64_t)now.wall_ms, (uint64_t)now.wall_ms + 3600000, 0, 0 };
    struct endpoint *ep = told_of(1, ENDPOINT_ANY, ENDPOINT_ANY, window);

    cr_assert_eq(has(ep), 0);
    window[3] = 100;
    ep = told_of(2, ENDPOINT_ANY, ENDPOINT_ANY, window);
    cr_assert_eq(has(ep), 100);
    for (uint64_t snapshot = 0; snapshot < 2; snapshot++) {
        endpoint_pays(ep, 30, now.ms);
        pass(0);
        restart(20 * 1000, snapshot != 0);
        ep = told_of(3 + snapshot, ENDPOINT_ANY, ENDPOINT_ANY, window);
        cr_expect_eq(has(ep), 70 - 30 * snapshot, "%lu", has(ep));
    }
}

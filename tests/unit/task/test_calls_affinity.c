/* test_calls_affinity.c: a node's calls go to the target of their key (task/calls/endpoint_lets.h, task/node/calls.c),
 * and it tells the manager how many did, and where it lacks slots for that; none goes to a target that its page
 * of metrics closes (task/calls/throttle.h). */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "task/calls/calls.h"
#include "task/calls/endpoint_lets.h"
#include "task/node/calls.h"
#include "tests/lib/tabrig.h"

enum { MNG = 1, RTR = 2 };
#define EPOCH   5
#define TARGETS 3

static struct tabrig rig;
static struct calls calls;
static struct outbox out;
static struct task_now now;
static uint64_t serial;

static void say(peer_no from, const struct msg *m)
{
    tasktab_msg(rig.t, now, from, 1, m, &out);
}

static void turn(void)
{
    cr_assert(tasktab_turn(rig.t, now, &out));
    tasktab_written(rig.t);
    outbox_reset(&out);
}

static struct msg_endpoint endpoint(void)
{
    return (struct msg_endpoint){ .epoch = EPOCH, .name = "gen", .serial = ++serial, .url = "", .of = "",
                                  .rate = ENDPOINT_ANY, .burst = 1, .max_concurrent = ENDPOINT_ANY,
                                  .deadline_ms = 30000, .connect_timeout_ms = 3000, .targets = true,
                                  .breaker_ratio = 50, .breaker_min = 20, .breaker_open_ms = 5000,
                                  .auth_field = "", .auth_file = "", .reading_path = "", .secret_file = "", .ca_file = "",
                                  .cert_file = "", .key_file = "", .proxy = "", .budget = "" };
}

static struct endpoint *target(unsigned no)
{
    char name[8];

    snprintf(name, sizeof(name), "gen#%u", no);
    return endpoints_find(&calls.endpoints, name);
}

static void tell_target(unsigned no, uint64_t slots)
{
    struct msg_endpoint m = endpoint();
    char name[8], url[16];

    snprintf(name, sizeof(name), "gen#%u", no);
    snprintf(url, sizeof(url), "http://gpu%u", no);
    m.name = name;
    m.url = url;
    m.of = "gen";
    m.targets = false;
    m.weight = 1;
    m.target = no;
    m.max_concurrent = slots;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    target(no)->usable = true;
    target(no)->ramp = MSEC_NEVER;
}

static void tell(enum affinity affinity, uint32_t bound)
{
    struct msg_endpoint m = endpoint();

    m.affinity = affinity;
    m.affinity_bound = bound;
    say(MNG, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m });
    endpoints_find(&calls.endpoints, "gen")->usable = true;
    endpoints_find(&calls.endpoints, "gen")->ramp = MSEC_NEVER;
}

static void setup(void)
{
    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    now = (struct task_now){ 1700000000000, 1700000000000 };
    outbox_init(&out);
    calls_init(&calls);
    rig.calls = &calls;
    rig.boot = (struct tab_boot){ 1, 0 };
    tabrig_new(&rig);
    tasktab_up(rig.t, MNG, RPC_MANAGER, "m", &out);
    tasktab_up(rig.t, RTR, RPC_ROUTER, "r", &out);
    say(MNG, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { EPOCH, 1, 77 } });
    tell(AFFINITY_KEY, 10000);
    for (unsigned no = 1; no <= TARGETS; no++)
        tell_target(no, 400);
    say(MNG, &(struct msg){ .type = MSG_PART_OPEN,
                            .part_open = { .epoch = EPOCH, .part = 3, .part_epoch = 8, .match = "a",
                                           .max_tasks = 1000, .endpoint = "gen", .notify = "" } });
    turn();
}

static void teardown(void)
{
    tabrig_fini(&rig);
    calls_fini(&calls);
    outbox_fini(&out);
}

TestSuite(calls_affinity, .init = setup, .fini = teardown);

/* Number of the target at which the call of a new task is. */
static unsigned goes_to(const char *key1, const char *key2)
{
    struct task_put one = { .part = 3, .epoch = 8, .queue = "a", .key1 = key1, .key2 = key2, .name = "",
                            .body = { 1, (const uint8_t *)"x" } };
    uint64_t was = calls.last_id;

    say(RTR, &(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } });
    turn();
    turn();
    cr_assert_eq(calls.last_id, was + 1, "a call began");
    return calls_at(&calls, calls.last_id)->at->def.target;
}

static unsigned targets_of(const char *form, const char *sub)
{
    unsigned seen = 0;

    for (unsigned i = 0; i < 20; i++) {
        char key[16];

        snprintf(key, sizeof(key), form, i);
        seen |= 1u << goes_to(sub != NULL ? sub : key, sub != NULL ? key : "");
    }
    return seen;
}

static bool is_one(unsigned bits)
{
    return (bits & (bits - 1)) == 0;
}

static struct endpoint_row row(unsigned no)
{
    struct endpoint_row r = { 0 };

    tasktab_report_endpoints(rig.t, &out);
    for (uint32_t i = 0; i < out.n; i++)
        for (uint32_t k = 0; out.v[i].m.type == MSG_ENDPOINT_STATUS && k < out.v[i].m.endpoint_status.n; k++)
            if (strcmp(out.v[i].m.endpoint_status.v[k].name, target(no)->name) == 0)
                r = out.v[i].m.endpoint_status.v[k];
    outbox_reset(&out);
    return r;
}

Test(calls_affinity, calls_of_a_key_are_together)
{
    cr_expect(is_one(targets_of("tenant7", NULL)));
    cr_expect(!is_one(targets_of("tenant%u", NULL)), "not all keys are at one");
    cr_expect(is_one(targets_of("user%u", "tenant7")), "by the first level");
}

Test(calls_affinity, sub_keys_may_be_apart)
{
    tell(AFFINITY_SUBKEY, 10000);
    cr_expect(!is_one(targets_of("user%u", "tenant7")));
    cr_expect(is_one(targets_of("user7", "tenant7")));
    cr_expect_neq(endpoint_affinity(endpoints_find(&calls.endpoints, "gen"), "a", "b"),
                  endpoint_affinity(endpoints_find(&calls.endpoints, "gen"), "b", "a"));
}

Test(calls_affinity, tasks_without_a_key_are_spread)
{
    cr_expect(!is_one(targets_of("", NULL)));
    cr_expect_eq(row(1).affine + row(2).affine + row(3).affine, 0);
}

Test(calls_affinity, without_it_keys_are_spread)
{
    tell(AFFINITY_NONE, 125);
    cr_expect(!is_one(targets_of("tenant7", NULL)));
}

Test(calls_affinity, what_its_target_has_no_room_for_goes_to_the_next)
{
    unsigned first = goes_to("tenant7", ""), next;

    tell_target(first, 2);
    cr_expect_eq(goes_to("tenant7", ""), first);
    next = goes_to("tenant7", "");
    cr_expect_neq(next, first);
    cr_expect_eq(goes_to("tenant7", ""), next, "always the same");
    cr_expect_eq(row(first).affine, 2);
    cr_expect_eq(row(first).astray, 2);
    cr_expect_eq(row(next).affine + row(next).astray, 0, "it is not their target");
}

Test(calls_affinity, the_manager_hears_where_slots_are_lacking)
{
    unsigned first = goes_to("tenant7", "");

    tell_target(first, 1);
    cr_expect_eq(row(first).waiting, 0);
    goes_to("tenant7", "");
    goes_to("tenant7", "");
    cr_expect_eq(row(first).waiting, 2, "nothing waits, but they had gone there");
    now.ms += 5000;
    now.wall_ms += 5000;
    turn();
    cr_expect_eq(row(first).waiting, 0, "they are forgotten");
}

Test(calls_affinity, one_that_drains_is_nobodys_target)
{
    unsigned first = goes_to("tenant7", "");

    target(first)->def.paused = true;
    cr_expect_neq(goes_to("tenant7", ""), first);
    cr_expect_eq(row(first).astray, 0);
    target(first)->def.paused = false;
    cr_expect_eq(goes_to("tenant7", ""), first);
}

Test(calls_affinity, so_is_one_that_is_down)
{
    unsigned first = goes_to("tenant7", "");

    target(first)->breaker.state = BREAKER_OPEN;
    target(first)->breaker.until = now.ms + 60000;
    cr_expect_neq(goes_to("tenant7", ""), first);
    cr_expect_eq(row(first).astray, 0);
}

/* Each target has a page by which more than ten waiting close it, and half full leaves it one slot. */
static void reads(unsigned no, const char *text)
{
    struct endpoint *x = target(no);
    struct endpoint_reading *r = calloc(2, sizeof(*r));

    cr_assert_not_null(r);
    r[0] = (struct endpoint_reading){ strdup("waiting"), strdup(""), 0, 10000, 5000, ENDPOINT_ANY, ENDPOINT_ANY };
    r[1] = (struct endpoint_reading){ strdup("full"), strdup(""), 0, ENDPOINT_ANY, ENDPOINT_ANY, 0, 500 };
    if (x->def.n_readings == 0) {
        free(x->def.readings);
        x->def.readings = r;
        x->def.n_readings = 2;
        x->def.reading_stale_ms = 30000;
    }
    cr_assert(pressure_read(&x->pressure, &x->def, text, strlen(text), now.ms));
}

Test(calls_affinity, one_that_its_page_closes_gets_no_call)
{
    unsigned first = goes_to("tenant7", "");

    reads(first, "waiting 11\nfull 0\n");
    cr_expect_neq(goes_to("tenant7", ""), first);
    cr_expect_eq(row(first).reading, READING_CLOSED);
    cr_expect_str_eq(row(first).reading_said, "waiting 11");
    cr_expect_eq(row(first).waiting, 0, "no share would help");
    reads(first, "waiting 4\nfull 0\n");
    cr_expect_eq(goes_to("tenant7", ""), first);
}

Test(calls_affinity, one_that_its_page_narrows_gets_fewer)
{
    unsigned first = goes_to("tenant7", "");

    reads(first, "waiting 0\nfull 1\n");
    cr_expect_neq(goes_to("tenant7", ""), first, "it has one, which is all");
    reads(first, "waiting 0\nfull 0.25\n");
    cr_expect_eq(goes_to("tenant7", ""), first);
}

/* Tasks wait, and begin when a page says so, or cannot be read any more. */
Test(calls_affinity, all_closed_is_not_for_ever)
{
    uint64_t began;

    for (unsigned no = 1; no <= TARGETS; no++)
        reads(no, "waiting 11\nfull 0\n");
    say(RTR, &(struct msg){ .type = MSG_TASK_PUT,
                            .task_put = { 1, &(struct task_put){ .part = 3, .epoch = 8, .queue = "a", .key1 = "",
                                                                 .key2 = "", .name = "",
                                                                 .body = { 1, (const uint8_t *)"x" } } } });
    turn();
    turn();
    began = calls.last_id;
    cr_expect_eq(began, 0);
    cr_expect_eq(row(1).waiting, 0, "a greater share would not help");
    cr_expect_eq(row(1).reading, READING_CLOSED);
    cr_expect_not(endpoint_is_down(endpoints_find(&calls.endpoints, "gen")));
    cr_expect_leq(endpoint_when(endpoints_find(&calls.endpoints, "gen"), 0, now.ms), now.ms + PRESSURE_LOOK_MS);
    now.ms += 30000;
    now.wall_ms += 30000;
    turn();
    cr_expect_eq(calls.last_id, began + 1);
}

Test(calls_affinity, no_bound_is_refused)
{
    struct msg_endpoint m = endpoint();

    m.affinity = AFFINITY_KEY;
    m.affinity_bound = 99;
    cr_expect_eq(endpoints_define(&calls.endpoints, &m, now.ms), SQ_EINVAL);
}

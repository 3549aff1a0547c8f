/* test_schedules.c: what is due is fired once, whatever clocks and restarts do; overlap, catch_up,
 * jitter; definitions that change; what is told. The tasks are a list of the test's own. */
#include "task/schedules/schedule_requests.h"

#include "tests/lib/criterion.h"

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/submit/submission.h"
#include "common/wire/codec.h"

#define TASKS 4000
#define START INT64_C(1800000000000)

struct made {
    char key[96];
    int64_t at_ms;
    enum task_state state;
};

static struct {
    struct schedules s;
    struct buf log;    /* of this turn */
    struct buf journal;
    struct arena mem;
    struct made task[TASKS];
    unsigned n;
    int refuse; /* what submissions are answered; 0: they are taken */
    int64_t now;
    struct msg_task_schedule_ans a;
} w;

static int take(void *ctx, const struct task_put *put, task_no *no)
{
    struct made *m = &w.task[w.n];

    (void)ctx;
    cr_assert(put->key.n < sizeof(m->key) && w.n < TASKS);
    if (w.refuse != 0)
        return w.refuse;
    for (unsigned i = 0; put->key.n > 0 && i < w.n; i++)
        if (strlen(w.task[i].key) == put->key.n && memcmp(w.task[i].key, put->key.p, put->key.n) == 0) {
            *no = i + 1;
            return 1;
        }
    if (put->key.n > 0)
        memcpy(m->key, put->key.p, put->key.n);
    m->key[put->key.n] = '\0';
    m->at_ms = put->at_ms;
    m->state = TASK_WAITING;
    *no = ++w.n;
    return 0;
}

static enum task_state state(void *ctx, task_no no)
{
    (void)ctx;
    return no <= w.n ? w.task[no - 1].state : TASK_FREE;
}

static void cancel(void *ctx, task_no no)
{
    (void)ctx;
    w.task[no - 1].state = TASK_CANCELLED;
}

static task_no keyed(void *ctx, const char *queue, const char *key, uint32_t n)
{
    (void)ctx;
    cr_assert_str_eq(queue, "q");
    for (unsigned i = 0; i < w.n; i++)
        if (strlen(w.task[i].key) == n && memcmp(w.task[i].key, key, n) == 0)
            return i + 1;
    return 0;
}

static const struct schedules_host host = { take, state, cancel, keyed, NULL };

static void setup(void)
{
    memset(&w, 0, sizeof(w));
    log_set_level(LOG_ERROR);
    schedules_init(&w.s, NULL);
    arena_init(&w.mem);
    w.now = START;
}

static void teardown(void)
{
    schedules_fini(&w.s);
    arena_fini(&w.mem);
    buf_fini(&w.log);
    buf_fini(&w.journal);
}

TestSuite(schedules, .init = setup, .fini = teardown);

static void write_down(void)
{
    cr_assert_not(w.log.failed);
    buf_append(&w.journal, w.log.data, w.log.len);
    buf_reset(&w.log);
}

static void turn(void)
{
    schedules_advance(&w.s, &host, w.now, &w.log);
    write_down();
}

static void until(int64_t ms)
{
    for (; w.now < ms; w.now += 100)
        turn();
}

static struct msg_task_schedule every(const char *name, int64_t ms)
{
    return (struct msg_task_schedule){
        .verb = SCHEDULE_PUT, .queue = "q", .name = name, .cron = "", .every_ms = ms, .zone = "",
        .catch_up_max = 10,
        .put = { .queue = "", .key1 = "", .key2 = "", .name = "", .own.labels = "" } };
}

static uint8_t ask(const struct msg_task_schedule *q)
{
    schedules_ask(&w.s, &host, q, w.now, &w.log, &w.a, &w.mem);
    write_down();
    return w.a.code;
}

static const struct schedule_row *look(const char *name)
{
    cr_assert_eq(ask(&(struct msg_task_schedule){ .verb = SCHEDULE_GET, .queue = "q", .name = name }),
                 CODE_DONE);
    return w.a.v;
}

static int read_again(struct schedules *s, const struct buf *b)
{
    struct trec_frame f;
    struct trec r;
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < b->len;) {
        rc = trec_next(b->data, b->len, &at, &f) ? trec_decode(f.kind, f.p, f.n, &r) : SQ_EPROTO;
        if (rc == 0)
            rc = schedules_apply(s, &r);
    }
    return rc;
}

/* The process is another one, which has read what was written, or its snapshot. */
static void restart(bool snapshot)
{
    if (snapshot) {
        buf_reset(&w.journal);
        schedules_snapshot(&w.s, &w.journal);
    }
    schedules_fini(&w.s);
    schedules_init(&w.s, NULL);
    cr_assert_eq(read_again(&w.s, &w.journal), 0);
}

Test(schedules, a_tick_makes_a_task_with_its_name)
{
    struct msg_task_schedule q = every("beat", 1000);

    cr_assert_eq(ask(&q), CODE_DONE);
    cr_expect(w.a.fresh);
    until(START + 3050);
    cr_expect_eq(w.n, 3);
    cr_expect_str_eq(w.task[0].key, "beat@1800000001");
    cr_expect_str_eq(w.task[2].key, "beat@1800000003");
    cr_expect_eq(w.s.counts.fired, 3);
    cr_expect_eq(look("beat")->outcome, TICK_FIRED);
    cr_expect(w.a.v->fired_ms == START + 3000 && w.a.v->no == 3 && w.a.v->n_next == 5);
    cr_expect(w.a.v->next_ms[0] == START + 4000 && w.a.v->next_ms[4] == START + 8000);
}

static uint8_t run(const char *name, const char *key)
{
    struct msg_task_schedule q = { .verb = SCHEDULE_GET, .queue = "q", .name = name, .run = true,
                                   .put.key = { (uint32_t)strlen(key), (const uint8_t *)key } };

    return ask(&q);
}

Test(schedules, a_run_fires_at_once_and_moves_no_tick)
{
    struct msg_task_schedule q = every("beat", 10000);

    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 10050);
    cr_assert_eq(w.n, 1);
    cr_assert_eq(run("beat", ""), CODE_DONE);
    cr_expect(w.a.ran == SCHEDULE_FIRED && w.a.ran_no == 2 && w.n == 2);
    cr_expect(w.a.v->no == 2 && w.a.v->last_ms == START + 10000 && w.a.v->next_ms[0] == START + 20000);
    cr_assert_eq(run("beat", "today"), CODE_DONE);
    cr_expect_str_eq(w.task[2].key, "beat@run:today");
    restart(true);
    cr_assert_eq(run("beat", "today"), CODE_DONE);
    cr_expect(w.a.ran == SCHEDULE_SAME && w.a.ran_no == 3 && w.n == 3);
    until(START + 20050);
    cr_expect_eq(w.n, 4, "the tick comes in its time, once");
    cr_expect_eq(run("none", ""), CODE_UNKNOWN);
    q.paused = true;
    cr_assert_eq(ask(&q), CODE_DONE);
    cr_assert_eq(run("beat", ""), CODE_DONE);
    cr_expect_eq(w.n, 5, "also of one that is paused");
    until(START + 40000);
    cr_expect_eq(w.n, 5);
    w.refuse = SQ_EFULL;
    cr_expect_eq(run("beat", ""), CODE_BUSY);
    cr_expect_eq(w.a.ran, SCHEDULE_NOT_RUN);
}

Test(schedules, a_run_obeys_overlap_and_so_does_the_tick_behind_it)
{
    struct msg_task_schedule q = every("beat", 10000);

    q.overlap = OVERLAP_SKIP;
    cr_assert_eq(ask(&q), CODE_DONE);
    cr_assert_eq(run("beat", "a"), CODE_DONE);
    cr_expect(w.a.ran == SCHEDULE_FIRED && w.n == 1);
    cr_assert_eq(run("beat", "b"), CODE_DONE);
    cr_expect(w.a.ran == SCHEDULE_SKIPPED && w.a.ran_no == 1 && w.n == 1);
    cr_assert_eq(run("beat", "a"), CODE_DONE);
    cr_expect_eq(w.a.ran, SCHEDULE_SAME, "not skipped: it is that one");
    until(START + 10050);
    cr_expect(w.n == 1 && w.s.counts.skipped == 1);
    q.overlap = OVERLAP_CANCEL_OLD;
    cr_assert_eq(ask(&q), CODE_DONE);
    cr_assert_eq(run("beat", ""), CODE_DONE);
    cr_expect(w.n == 2 && w.task[0].state == TASK_CANCELLED && w.task[1].state == TASK_WAITING);
}

Test(schedules, a_restart_fires_nothing_again)
{
    struct msg_task_schedule q = every("beat", 1000);

    cr_assert_eq(ask(&q), CODE_DONE);
    for (int i = 1; i < 20; i++) {
        until(START + i * 1000);
        restart(i % 2 != 0);
        turn();
        cr_expect(w.s.counts.fired == 1 && w.s.counts.missed == 0, "%d: not even as the same task", i);
    }
    cr_expect_eq(w.n, 19);
    cr_expect_eq(w.s.n, 1);
}

Test(schedules, a_clock_that_goes_back_fires_nothing_again)
{
    struct msg_task_schedule q = every("beat", 1000);

    q.put.key = (struct bytes_of){ 0 };
    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 5000);
    turn();
    cr_expect_eq(w.n, 5);
    w.now = START - 60000;
    until(START + 5000);
    cr_expect_eq(w.s.counts.fired, 5);
    until(START + 6050);
    cr_expect_eq(w.s.counts.fired, 6);
}

Test(schedules, a_clock_that_jumps_ahead_is_a_stop)
{
    struct msg_task_schedule q = every("none", 1000);

    cr_assert_eq(ask(&q), CODE_DONE);
    q = every("all", 1000);
    q.catch_up = CATCH_UP_ALL;
    q.catch_up_max = 4;
    cr_assert_eq(ask(&q), CODE_DONE);
    w.now = START + 3600000;
    turn();
    cr_expect_eq(w.n, 5);
    cr_expect_str_eq(w.task[0].key, "none@1800003600");
    cr_expect_str_eq(w.task[1].key, "all@1800003597");
    cr_expect_eq(w.s.counts.missed, 3599 + 3596);
}

Test(schedules, overlap_skips_or_cancels_what_is_not_over)
{
    struct msg_task_schedule skip = every("skip", 1000), old = every("old", 1000);

    skip.overlap = OVERLAP_SKIP;
    old.overlap = OVERLAP_CANCEL_OLD;
    cr_assert_eq(ask(&skip), CODE_DONE);
    until(START + 3050);
    cr_expect_eq(w.n, 1);
    cr_expect_eq(look("skip")->outcome, TICK_SKIPPED);
    cr_expect(w.a.v->fired_ms == START + 1000 && w.a.v->last_ms == START + 3000);
    restart(true);
    cr_expect(look("skip")->fired_ms == START + 1000 && w.a.v->last_ms == START + 3000);
    w.task[0].state = TASK_SUCCEEDED;
    until(START + 4050);
    cr_expect_eq(w.n, 2);
    cr_assert_eq(ask(&old), CODE_DONE);
    until(START + 6050);
    cr_expect_eq(w.n, 4);
    cr_expect(w.task[2].state == TASK_CANCELLED && w.task[3].state == TASK_WAITING);
}

Test(schedules, without_room_a_tick_is_tried_again)
{
    struct msg_task_schedule q = every("beat", 10000);

    cr_assert_eq(ask(&q), CODE_DONE);
    w.refuse = SQ_EFULL;
    until(START + 12050);
    cr_expect_eq(w.n, 0);
    w.refuse = 0;
    until(START + 14000);
    cr_expect_eq(w.n, 1);
    cr_expect_str_eq(w.task[0].key, "beat@1800000010");
    w.refuse = SQ_ECONFLICT; /* it cannot be, whenever it is tried */
    until(START + 22000);
    cr_expect_eq(look("beat")->outcome, TICK_REFUSED);
    cr_expect_eq(w.s.counts.refused, 1);
}

Test(schedules, jitter_is_a_delay_that_every_owner_reckons_alike)
{
    struct msg_task_schedule q = every("beat", 60000);
    int64_t at;

    q.jitter_ms = 30000;
    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 60050);
    cr_assert_eq(w.n, 1);
    at = w.task[0].at_ms;
    cr_expect(at > START + 60000 && at <= START + 90000);
    cr_expect_eq(at, START + 60000 + recur_jitter("beat", START + 60000, 30000));
}

Test(schedules, the_same_definition_changes_nothing_another_counts_from_now_on)
{
    struct msg_task_schedule q = every("beat", 10000);

    cr_assert_eq(ask(&q), CODE_DONE);
    w.now = START + 25000; /* two ticks are due, and not fired */
    cr_expect_eq(ask(&q), CODE_SAME);
    q.jitter_ms = 1;
    q.catch_up = CATCH_UP_ALL;
    cr_expect_eq(ask(&q), CODE_DONE);
    cr_expect_not(w.a.fresh);
    turn();
    cr_expect_eq(w.n, 0);
    until(START + 30050);
    cr_expect_eq(w.n, 1);
    q.overlap = OVERLAP_SKIP;
    cr_expect_eq(ask(&q), CODE_DONE);
    until(START + 40050);
    cr_expect_eq(look("beat")->outcome, TICK_SKIPPED, "its task is still its own");
}

/* ---- operators ---- */

static struct msg_task_do_ans told;

static uint8_t order(enum task_do verb, const struct msg_task_schedule *k, uint64_t version)
{
    struct msg_task_do q = { .verb = verb, .queue = "q", .key1 = k->name, .version = version };
    struct msg m = { .type = MSG_TASK_SCHEDULE, .task_schedule = *k };
    struct buf b;

    buf_init(&b);
    cr_assert_eq(msg_encode(&m, &b), 0);
    q.body = (struct bytes_of){ (uint32_t)b.len, b.data };
    told = (struct msg_task_do_ans){ 0 };
    schedules_do(&w.s, &host, &q, w.now, &w.log, &told, &w.mem);
    buf_fini(&b);
    write_down();
    return told.code;
}

static bool is_text(const struct schedule_row *row, const char *text)
{
    return row->text.n == strlen(text) && memcmp(row->text.p, text, row->text.n) == 0;
}

static struct msg_task_schedule written(int64_t ms, const char *text)
{
    struct msg_task_schedule k = every("beat", ms);

    k.text = (struct bytes_of){ (uint32_t)strlen(text), (const uint8_t *)text };
    return k;
}

Test(schedules, an_operator_is_told_from_what_to_what)
{
    struct msg_task_schedule one = written(1000, "one"), two = written(2000, "two");

    cr_expect_eq(order(DO_SCHEDULE, &one, 0), CODE_UNKNOWN);
    cr_expect_eq(order(DO_DROP_SCHEDULE, &one, 0), CODE_UNKNOWN);
    cr_assert_eq(order(DO_PUT_SCHEDULE, &one, 0), CODE_DONE);
    cr_expect(told.n_schedules == 1 && is_text(told.schedules, "one") && told.schedules->n_next > 0);
    cr_assert_eq(order(DO_PUT_SCHEDULE, &two, 0), CODE_DONE);
    cr_expect(told.n_schedules == 2 && is_text(&told.schedules[0], "two") && is_text(&told.schedules[1], "one"));
    cr_expect_eq(order(DO_PUT_SCHEDULE, &two, 0), CODE_SAME, "the answer was lost");
    cr_expect(told.n_schedules == 2 && is_text(&told.schedules[1], "two"));
    restart(false);
    cr_expect_eq(order(DO_SCHEDULE, &one, 0), CODE_DONE);
    cr_expect(told.n_schedules == 1 && is_text(told.schedules, "two"));
    cr_assert_eq(order(DO_DROP_SCHEDULE, &one, 0), CODE_DONE);
    cr_expect(told.n_schedules == 1 && is_text(told.schedules, "two") && strcmp(told.schedules->name, "beat") == 0);
    cr_expect_eq(order(DO_SCHEDULE, &one, 0), CODE_UNKNOWN);
}

Test(schedules, of_two_operators_the_second_changes_nothing_unseen)
{
    struct msg_task_schedule one = written(1000, "one"), two = written(2000, "two"), three = written(3000, "three");
    uint64_t seen = schedule_version("one", 3);

    cr_expect_eq(order(DO_PUT_SCHEDULE, &one, seen), CODE_CONFLICT, "it is not there");
    cr_expect_eq(told.n_schedules, 0);
    cr_assert_eq(order(DO_PUT_SCHEDULE, &one, SCHEDULE_ABSENT), CODE_DONE);
    cr_expect_eq(order(DO_PUT_SCHEDULE, &two, SCHEDULE_ABSENT), CODE_CONFLICT, "it is there");
    cr_assert_eq(order(DO_PUT_SCHEDULE, &two, seen), CODE_DONE);
    cr_expect_eq(order(DO_PUT_SCHEDULE, &three, seen), CODE_CONFLICT);
    cr_expect(told.n_schedules == 1 && is_text(told.schedules, "two"), "as it is");
    cr_expect_eq(order(DO_DROP_SCHEDULE, &one, seen), CODE_CONFLICT);
    cr_assert_eq(ask(&three), CODE_DONE, "a router asks for no version");
    cr_expect_eq(order(DO_DROP_SCHEDULE, &one, schedule_version("two", 3)), CODE_CONFLICT);
    cr_expect_eq(order(DO_DROP_SCHEDULE, &one, schedule_version("three", 5)), CODE_DONE);
}

Test(schedules, an_order_that_is_none_changes_nothing)
{
    struct msg_task_schedule one = written(1500, "one"), other = every("other", 1000), look = every("beat", 1000);

    cr_expect_eq(order(DO_PUT_SCHEDULE, &one, 0), CODE_INVALID);
    cr_expect_str_eq(told.why, "every must be 1 second to 400 days, in whole seconds");
    look.verb = SCHEDULE_DELETE;
    cr_expect_eq(order(DO_PUT_SCHEDULE, &look, 0), CODE_INVALID, "the body is no definition");
    other.queue = "r";
    cr_expect_eq(order(DO_PUT_SCHEDULE, &other, 0), CODE_INVALID, "of another queue");
    cr_expect_eq(w.s.n, 0);
}

Test(schedules, paused_and_deleted_ones_fire_nothing)
{
    struct msg_task_schedule q = every("beat", 1000);
    struct msg_task_schedule gone = { .verb = SCHEDULE_DELETE, .queue = "q", .name = "beat" };

    q.paused = true;
    q.catch_up = CATCH_UP_ALL;
    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 5000);
    cr_expect_eq(look("beat")->n_next, 0);
    cr_expect(look("beat")->paused, "lists have no definition: why there is no next tick is said");
    q.paused = false;
    cr_assert_eq(ask(&q), CODE_DONE);
    cr_expect(!look("beat")->paused);
    until(START + 6050);
    cr_expect_eq(w.n, 1, "what was due while it was paused is not made up for");
    cr_assert_eq(ask(&gone), CODE_DONE);
    until(START + 9000);
    cr_expect_eq(w.n, 1);
    cr_expect_eq(ask(&gone), CODE_UNKNOWN);
    restart(false);
    cr_expect_eq(w.s.n, 0);
}

/* Deleted, made anew, and the clock goes back: the key says that it is the same task. */
Test(schedules, a_tick_that_comes_again_is_the_same_task)
{
    struct msg_task_schedule q = every("beat", 1000);
    struct msg_task_schedule gone = { .verb = SCHEDULE_DELETE, .queue = "q", .name = "beat" };

    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 3050);
    cr_assert_eq(ask(&gone), CODE_DONE);
    w.now = START;
    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 3050);
    cr_expect_eq(w.n, 3);
}

Test(schedules, what_cannot_be_is_refused_with_a_sentence)
{
    struct msg_task_schedule q = every("beat", 1500);

    cr_expect(ask(&q) == CODE_INVALID && w.a.why[0] != '\0');
    q.every_ms = 0;
    cr_expect(ask(&q) == CODE_INVALID);
    q.cron = "1 1 1 1";
    cr_expect(ask(&q) == CODE_INVALID);
    q.cron = "@daily";
    q.zone = "Europe/Berlin"; /* nobody knows zones here */
    cr_expect(ask(&q) == CODE_INVALID && strstr(w.a.why, "zone") != NULL);
    q.zone = "";
    cr_expect_eq(ask(&q), CODE_DONE);
    cr_expect_eq(w.s.n, 1);
}

Test(schedules, a_queue_has_its_own_and_there_is_a_bound)
{
    struct msg_task_schedule q = every("", 1000);
    char name[16];

    for (unsigned i = 0; i < SCHEDULES_MAX; i++) {
        snprintf(name, sizeof(name), "s%u", i);
        q.name = name;
        q.queue = i == 7 ? "other" : "q";
        cr_assert_eq(ask(&q), CODE_DONE);
    }
    q.name = "more";
    cr_expect_eq(ask(&q), CODE_FULL);
    cr_expect_eq(ask(&(struct msg_task_schedule){ .verb = SCHEDULE_LIST, .queue = "other", .name = "" }),
                 CODE_DONE);
    cr_expect(w.a.n == 1 && strcmp(w.a.v[0].name, "s7") == 0);
    cr_expect_eq(ask(&(struct msg_task_schedule){ .verb = SCHEDULE_LIST, .queue = "q", .name = "" }),
                 CODE_DONE);
    cr_expect_eq(w.a.n, SCHEDULES_MAX - 1);
}

Test(schedules, their_definitions_have_a_bound_in_bytes)
{
    static uint8_t body[15000];
    struct msg_task_schedule q = every("", 1000);
    char name[16];
    unsigned n = 0;

    q.put.body = (struct bytes_of){ sizeof(body), body };
    q.name = name;
    do
        snprintf(name, sizeof(name), "s%u", n++);
    while (ask(&q) == CODE_DONE);
    cr_expect_eq(w.a.code, CODE_FULL);
    cr_expect_not_null(strstr(w.a.why, "8 MiB"), "%s", w.a.why);
    cr_expect(n > SCHEDULES_BYTES / 15200 && n <= SCHEDULES_BYTES / 15000 + 1, "%u", n);
    strcpy(name, "s1");
    q.every_ms = 2000;
    cr_expect_eq(ask(&q), CODE_DONE, "one that does not grow may change");
    q.put.body.n = 100;
    strcpy(name, "small");
    cr_expect_eq(ask(&q), CODE_DONE, "a small one fits");
}

/* It has its place among the thousand: the bytes alone are in its way. */
Test(schedules, one_of_a_thousand_that_outgrows_the_bound_is_told_of_the_bytes)
{
    static uint8_t body[100000];
    struct msg_task_schedule q = every("", 1000);
    char name[16];

    q.put.body = (struct bytes_of){ SCHEDULES_BYTES / SCHEDULES_MAX - 200, body };
    q.name = name;
    for (unsigned i = 0; i < SCHEDULES_MAX; i++) {
        snprintf(name, sizeof(name), "s%u", i);
        cr_assert_eq(ask(&q), CODE_DONE);
    }
    q.put.body.n = sizeof(body);
    for (unsigned i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "s%u", i);
        if (ask(&q) != CODE_DONE)
            break;
    }
    cr_expect_eq(w.a.code, CODE_FULL);
    cr_expect_not_null(strstr(w.a.why, "8 MiB"), "%s", w.a.why);
    strcpy(name, "more");
    cr_expect_eq(ask(&q), CODE_FULL);
    cr_expect_str_eq(w.a.why, "", "routers say that there are a thousand");
}

Test(schedules, records_that_contradict_are_refused)
{
    struct trec bad[] = {
        { .kind = TREC_SCHEDULE, .lo = 0, .name = { "x", 1 } },
        { .kind = TREC_SCHEDULE, .lo = 9 },                        /* goes, and is not there */
        { .kind = TREC_SCHEDULE, .lo = 9, .name = { "\xff\xff", 2 } },
        { .kind = TREC_TICK, .lo = 9, .why = TICK_FIRED },
        { .kind = TREC_TICK, .lo = 1, .why = TICK_NOUTCOMES },
        { .kind = TREC_TICK, .lo = 1, .why = TICK_FIRED, .until = UINT64_MAX },
    };
    struct msg_task_schedule q = every("beat", 1000);

    cr_assert_eq(ask(&q), CODE_DONE);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect(schedules_apply(&w.s, &bad[i]) < 0, "%zu", i);
}

Test(schedules, a_definition_that_makes_up_for_nothing_is_refused_wherever_it_comes_from)
{
    struct msg m = { .type = MSG_TASK_SCHEDULE, .task_schedule = every("beat", 1000) };
    struct trec r = { .kind = TREC_SCHEDULE, .lo = 1, .until = START };
    struct buf b = { 0 };

    m.task_schedule.catch_up = CATCH_UP_ALL;
    m.task_schedule.catch_up_max = 0;
    cr_expect_eq(ask(&m.task_schedule), CODE_INVALID);
    cr_assert_eq(msg_encode(&m, &b), 0);
    r.name = (struct trec_text){ (const char *)b.data, (uint32_t)b.len };
    cr_expect_eq(schedules_apply(&w.s, &r), SQ_EPROTO);
    buf_fini(&b);
}

/* A machine's clock is years ahead, then right again: nobody has to wait for those years. */
Test(schedules, a_clock_that_comes_back_from_far_ahead_lets_it_go_on)
{
    const int64_t years = INT64_C(4) * 365 * 86400000;

    for (int restarted = 0; restarted < 2; restarted++) {
        struct msg_task_schedule q = every("beat", 1000), ended = every("ended", 1000);

        teardown();
        setup();
        ended.until_ms = START + years - 1000;
        cr_assert_eq(ask(&q) + ask(&ended), CODE_DONE);
        until(START + 1050);
        w.now = START + years;
        turn();
        cr_expect_eq(w.n, 4);
        w.now = START + 2000;
        if (restarted)
            restart(true);
        cr_expect_lt(schedules_idle_ms(&w.s, w.now), 2000);
        turn();
        cr_expect(look("beat")->next_ms[0] == START + 3000 && w.a.v->outcome == TICK_NONE);
        restart(true);
        until(START + 5050);
        cr_expect_eq(w.n, 10, "%u", w.n);
        cr_expect_eq(w.s.counts.fired, 6);
    }
}

static bool zones_are_here;

static bool offset(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    (void)ctx;
    (void)zone;
    (void)at_s;
    *offset_s = 0;
    return zones_are_here;
}

/* No descriptor is free, its file is being replaced. */
Test(schedules, a_zone_that_is_not_there_for_a_while)
{
    static const struct zones zones = { offset, NULL };
    struct msg_task_schedule q = every("beat", 0);

    q.cron = "* * * * *";
    q.zone = "Europe/Berlin";
    w.s.zones = &zones;
    zones_are_here = true;
    cr_assert_eq(ask(&q), CODE_DONE);
    until(START + 60050);
    cr_expect_eq(w.n, 1);
    cr_expect_gt(schedules_idle_ms(&w.s, w.now), 0);
    zones_are_here = false;
    until(START + 120050);
    cr_expect_eq(w.n, 1);
    cr_expect_gt(schedules_idle_ms(&w.s, w.now), 0, "nothing can be done now");
    zones_are_here = true;
    until(START + 185000);
    cr_expect_eq(w.n, 2, "%u", w.n);
    cr_expect_str_eq(w.task[1].key, "beat@1800000180");
}

/* Clocks jump, processes are killed before and after they have written: each tick once, and of
 * `all` none is missing. */
Test(schedules, each_tick_once_under_jumps_and_kills)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct msg_task_schedule q = every("beat", 1000);
        int64_t high = START;
        struct rng g;

        teardown();
        setup();
        rng_seed(&g, seed);
        q.catch_up = CATCH_UP_ALL;
        q.catch_up_max = RECUR_MAKE_UP;
        cr_assert_eq(ask(&q), CODE_DONE);
        for (int i = 0; i < 100; i++) {
            unsigned had = w.n;

            w.now += (int64_t)rng_below(&g, 1500) - (rng_chance(&g, 0.1) ? 8000 : 0) +
                     (rng_chance(&g, 0.1) ? 9000 : 0);
            schedules_advance(&w.s, &host, w.now, &w.log);
            if (rng_chance(&g, 0.1)) { /* killed before the write: its tasks have not been made, either */
                buf_reset(&w.log);
                w.n = had;
                restart(false);
                continue;
            }
            write_down();
            high = w.now > high ? w.now : high;
            if (rng_chance(&g, 0.1))
                restart(rng_chance(&g, 0.5));
        }
        cr_assert_eq(w.n, (high - START) / 1000, "seed %lu", seed);
    }
}

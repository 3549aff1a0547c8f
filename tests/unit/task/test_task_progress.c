/* test_task_progress.c: what a worker says of its task while it has it: who is told, and when it goes. */
#include "task/node/state.h"
#include "task/node/wait.h"

#include "tests/unit/task/tablerig.h"

TestSuite(task_progress, .init = setup, .fini = teardown);

static struct bytes_of bytes(const char *s)
{
    return (struct bytes_of){ (uint32_t)strlen(s), (const uint8_t *)s };
}

static struct msg_task_progress_ans says(const struct taken_row *k, uint8_t percent, const char *text,
                                         const char *data, uint32_t ms)
{
    send(RTR, &(struct msg){ .type = MSG_TASK_PROGRESS,
                             .task_progress = { .part = 3, .epoch = 8, .no = k->no, .lease = k->lease,
                                                .percent = percent, .text = bytes(text), .data = bytes(data),
                                                .ms = ms } });
    return answer(next_rid)->task_progress_ans;
}

static const struct msg_task_get_ans *look(task_no no)
{
    send(RTR2, &(struct msg){ .type = MSG_TASK_GET, .task_get = { 3, 8, no, "", "", 0, false } });
    return &answer(next_rid)->task_get_ans;
}

static struct taken_row begin(void)
{
    open_part(3, 8);
    put_at(3, 8, "q", "body");
    return take(RTR, "q", 1, 0)->v[0];
}

static uint64_t kept(void)
{
    return t->part[0]->e.progresses.bytes;
}

Test(task_progress, is_shown_and_goes_with_its_attempt)
{
    struct taken_row k = begin(), next;
    const struct msg_task_get_ans *m;

    cr_expect_eq(look(k.no)->progress.ms, 0);
    pass(100);
    cr_expect_eq(says(&k, 41, "page 4", "{\"page\":4}", 0).code, CODE_DONE);
    m = look(k.no);
    cr_expect_eq(m->progress.ms, now.wall_ms);
    cr_expect_eq(m->progress.percent, 41);
    cr_expect(m->progress.text.n == 6 && memcmp(m->progress.text.p, "page 4", 6) == 0);
    cr_expect(m->progress.data.n == 10 && memcmp(m->progress.data.p, "{\"page\":4}", 10) == 0);
    cr_expect_eq(says(&k, 0, "", "7", 0).code, CODE_DONE); /* the last one is all there is */
    m = look(k.no);
    cr_expect(m->progress.percent == 0 && m->progress.text.n == 0 && m->progress.data.n == 1);
    cr_expect_eq(settle(SETTLE_NACK, &k), CODE_DONE);
    cr_expect_eq(kept(), 0);
    cr_expect_eq(look(k.no)->progress.ms, 0);
    cr_expect_eq(says(&k, 51, "", "", 0).code, CODE_CONFLICT);
    pass(60000);
    next = take(RTR, "q", 1, 0)->v[0];
    cr_assert_eq(next.no, k.no);
    cr_expect_eq(look(k.no)->progress.ms, 0);
    cr_expect_eq(says(&k, 51, "", "", 0).code, CODE_CONFLICT, "the lease of the attempt before");
    cr_expect_eq(says(&next, 1, "", "", 0).code, CODE_DONE);
    cr_expect_eq(settle(SETTLE_ACK, &next), CODE_DONE);
    cr_expect_eq(kept(), 0);
    cr_expect_eq(says(&next, 1, "", "", 0).code, CODE_CONFLICT);
}

Test(task_progress, extends_the_lease_if_it_says_so)
{
    struct taken_row k = begin(); /* 60 s */

    pass(50000);
    cr_expect_eq(says(&k, 1, "", "", 0).until_ms, k.until_ms);
    cr_expect_eq(says(&k, 1, "", "", 60000).until_ms, now.wall_ms + 60000);
    pass(50000);
    cr_expect_eq(look(k.no)->state, TASK_RUNNING);
    cr_expect_eq(look(k.no)->progress.percent, 1);
    pass(11000);
    cr_expect_neq(look(k.no)->state, TASK_RUNNING);
    cr_expect_eq(kept(), 0);
    cr_expect_eq(says(&k, 1, "", "", 60000).code, CODE_CONFLICT, "it has lapsed");
}

Test(task_progress, another_lease_or_queue_or_too_much_is_refused)
{
    struct taken_row k = begin(), wrong = k;
    static char text[PROGRESS_TEXT + 2];
    struct msg_task_progress m = { .part = 3, .epoch = 8, .no = k.no, .lease = k.lease, .percent = 1,
                                   .queues = bytes("other,q/*") };

    wrong.lease++;
    cr_expect_eq(says(&wrong, 1, "", "", 0).code, CODE_CONFLICT);
    wrong.no += 1 << 24;
    cr_expect_eq(says(&wrong, 1, "", "", 0).code, CODE_UNKNOWN);
    memset(text, 'x', PROGRESS_TEXT + 1);
    cr_expect_eq(says(&k, 1, text, "", 0).code, CODE_INVALID);
    send(RTR, &(struct msg){ .type = MSG_TASK_PROGRESS, .task_progress = m });
    cr_expect_eq(answer(next_rid)->task_progress_ans.code, CODE_DENIED);
    m.queues = bytes("q");
    m.epoch = 7;
    send(RTR, &(struct msg){ .type = MSG_TASK_PROGRESS, .task_progress = m });
    cr_expect_eq(answer(next_rid)->task_progress_ans.code, CODE_STALE);
    cr_expect_eq(look(k.no)->progress.ms, 0);
    cr_expect_eq(kept(), 0);
}

Test(task_progress, no_record_has_it)
{
    struct taken_row k = begin();
    size_t records;

    turn();
    records = t->part[0]->e.log.len;
    cr_expect_eq(says(&k, 1, "x", "{}", 0).code, CODE_DONE);
    cr_expect_eq(t->part[0]->e.log.len, records);
    turn();
    again();
    tasktab_up(t, MNG, RPC_MANAGER, "m1", &out);
    tasktab_up(t, RTR, RPC_ROUTER, "r1", &out);
    tasktab_up(t, RTR2, RPC_ROUTER, "r2", &out);
    ok(EPOCH, 77);
    cr_expect_eq(look(k.no)->state, TASK_RUNNING);
    cr_expect_eq(look(k.no)->progress.ms, 0);
    cr_expect_eq(says(&k, 3, "", "", 0).code, CODE_DONE);
    cr_expect_eq(look(k.no)->progress.percent, 3);
}

static const struct msg_task_places *places(void)
{
    outbox_reset(&out);
    tasktab_places(t, now, &out);
    for (uint32_t i = 0; i < out.n; i++)
        if (out.v[i].m.type == MSG_TASK_PLACES)
            return &out.v[i].m.task_places;
    return NULL;
}

Test(task_progress, who_waits_for_the_end_hears_the_newest_once)
{
    struct taken_row k = begin();
    const struct msg_task_places *m;

    send(RTR2, &(struct msg){ .type = MSG_TASK_GET,
                              .task_get = { .part = 3, .epoch = 8, .no = k.no, .queue = "", .name = "",
                                            .wait_ms = 600000, .places = true } });
    pass(PLACES_EACH_MS);
    m = places();
    cr_assert(m != NULL && m->n == 1);
    cr_expect(m->v[0].state == TASK_RUNNING && m->v[0].attempts == 1 && m->v[0].progress.ms == 0);
    (void)says(&k, 11, "one", "", 0);
    (void)says(&k, 12, "two", "[1]", 0);
    pass(PLACES_EACH_MS);
    m = places();
    cr_assert(m != NULL && m->n == 1);
    cr_expect_eq(m->v[0].progress.percent, 12);
    cr_expect(m->v[0].progress.text.n == 3 && memcmp(m->v[0].progress.text.p, "two", 3) == 0);
    cr_expect(m->v[0].progress.data.n == 3 && memcmp(m->v[0].progress.data.p, "[1]", 3) == 0);
    pass(PLACES_EACH_MS);
    cr_expect_null(places());
    (void)says(&k, 12, "two", "[1]", 0); /* said again: it is alive */
    pass(PLACES_EACH_MS);
    cr_expect_not_null(places());
    (void)settle(SETTLE_NACK, &k);
    pass(60000);
    (void)take(RTR, "q", 1, 0);
    pass(PLACES_EACH_MS);
    m = places();
    cr_assert(m != NULL && m->n == 1);
    cr_expect(m->v[0].state == TASK_RUNNING && m->v[0].attempts == 2 && m->v[0].progress.ms == 0);
}

/* test_verdict.c: what follows from an answer, or from none. */
#include "task/calls/verdict.h"

#include "tests/lib/criterion.h"

#include "common/base/text.h"

#define WALL 784111777000 /* Sun, 06 Nov 1994 08:49:37 GMT */

static struct verdict of_status(unsigned status, const char *command, const char *retry_after)
{
    struct call_answer a = { .status = status };

    copy_text(a.command, sizeof(a.command), command);
    copy_text(a.retry_after, sizeof(a.retry_after), retry_after);
    return verdict_of(&a, WALL);
}

Test(verdict, by_status)
{
    static const struct {
        unsigned status;
        enum verdict_kind kind;
        enum call_class class;
        bool spared, failed;
    } rows[] = {
        { 200, VERDICT_DONE, CLASS_SUCCEEDED, false, false },
        { 204, VERDICT_DONE, CLASS_SUCCEEDED, false, false },
        { 299, VERDICT_DONE, CLASS_SUCCEEDED, false, false },
        { 301, VERDICT_DEAD, CLASS_REDIRECT, false, false },
        { 304, VERDICT_DEAD, CLASS_REDIRECT, false, false },
        { 400, VERDICT_DEAD, CLASS_PERMANENT, false, false },
        { 404, VERDICT_DEAD, CLASS_PERMANENT, false, false },
        { 408, VERDICT_RETRY, CLASS_EARLY, false, false },
        { 410, VERDICT_DEAD, CLASS_GONE, false, false },
        { 425, VERDICT_RETRY, CLASS_EARLY, false, false },
        { 429, VERDICT_RETRY, CLASS_BUSY, true, true },
        { 500, VERDICT_RETRY, CLASS_BROKEN, false, true },
        { 503, VERDICT_RETRY, CLASS_BROKEN, false, true },
        { 599, VERDICT_RETRY, CLASS_BROKEN, false, true },
        { 700, VERDICT_DEAD, CLASS_PERMANENT, false, false },
    };

    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict v = of_status(rows[i].status, "", "");

        cr_expect(v.kind == rows[i].kind && v.class == rows[i].class &&
                      v.spared == rows[i].spared && v.failed == rows[i].failed,
                  "%u", rows[i].status);
        cr_expect(v.kind != VERDICT_RETRY || v.delay_ms == -1, "as the back-off says");
    }
}

Test(verdict, a_command_goes_before_the_status)
{
    struct call_answer a = { .status = 489, .upstash = "true" };
    struct verdict v = of_status(503, "retry=7", "100");

    cr_expect(v.kind == VERDICT_RETRY && v.class == CLASS_ASKED && v.delay_ms == 7000);
    cr_expect_not(v.failed, "a target that says when is well");
    cr_expect_eq(of_status(200, "retry=0", "").kind, VERDICT_RETRY);
    cr_expect_eq(of_status(200, "Abort", "").class, CLASS_ABORTED);
    cr_expect_eq(of_status(500, "abort", "").kind, VERDICT_DEAD);
    cr_expect_eq(of_status(200, "retry=x", "").kind, VERDICT_DONE, "what is none says nothing");
    cr_expect_eq(verdict_of(&a, WALL).kind, VERDICT_DEAD);
    a = (struct call_answer){ .status = 500, .delivery = "abort-message" };
    cr_expect_eq(verdict_of(&a, WALL).kind, VERDICT_DEAD);
}

Test(verdict, a_202_may_go_on_for_some_time)
{
    struct verdict v = of_status(202, "Pending=600", "");

    cr_expect(v.kind == VERDICT_PENDING && v.class == CLASS_PENDING && v.delay_ms == 600000);
    cr_expect_not(v.failed);
    cr_expect_eq(of_status(202, "pending=999999999", "").delay_ms, PENDING_MAX_MS);
    cr_expect_eq(of_status(202, "pending=0", "").kind, VERDICT_DONE);
    cr_expect_eq(of_status(202, "pending=", "").kind, VERDICT_DONE);
    cr_expect_eq(of_status(200, "pending=600", "").kind, VERDICT_DONE, "it is done");
    cr_expect_eq(of_status(500, "pending=600", "").kind, VERDICT_RETRY);
}

Test(verdict, retry_after_is_seconds_or_a_date)
{
    cr_expect_eq(of_status(503, "", "120").least_ms, 120000);
    cr_expect_eq(of_status(503, "", "120").hold_ms, 120000);
    cr_expect_eq(of_status(500, "", "120").hold_ms, 0, "of one task");
    cr_expect_eq(of_status(500, "", "120").least_ms, 120000);
    cr_expect_eq(of_status(429, "", "Sun, 06 Nov 1994 08:50:37 GMT").hold_ms, 60000);
    cr_expect_eq(of_status(429, "", "Sun, 06 Nov 1994 08:00:00 GMT").hold_ms, 0, "it is over");
    cr_expect_eq(of_status(429, "", "99999999999999999999").hold_ms, HOLD_MAX_MS);
    for (const char *const *bad = (const char *const[]){ "-1", "1.5", "soon", "Sun, 06 Now 1994 08:50:37 GMT",
                                                         "Sun, 06 Nov 1994 08:50:37 EST", NULL };
         *bad != NULL; bad++)
        cr_expect_eq(of_status(503, "", *bad).least_ms, 0, "%s", *bad);
}

Test(verdict, no_answer_is_tried_again)
{
    for (unsigned f = CALL_NONE + 1; f < CALL_NFAULTS; f++) {
        struct call_answer a = { .fault = f };
        struct verdict v = verdict_of(&a, WALL);

        cr_expect_eq(v.kind, VERDICT_RETRY, "%s", call_fault_word(f));
        cr_expect_eq(v.spared, f != CALL_TIMEOUT && f != CALL_RESET && f != CALL_TOO_LONG && f != CALL_BODY, "%s",
                     call_fault_word(f));
        cr_expect_eq(v.failed, f != CALL_LOCAL && f != CALL_REFUSED && f != CALL_BODY, "%s: our own want is not the target's",
                     call_fault_word(f));
    }
}

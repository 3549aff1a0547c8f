/* test_token_name.c: what an operator may call a ticket or a task, and nothing else. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/ticket/token.h"
#include "queuemng/admin/answers.h"

static const struct token_key key = { .mac = { 1 } };
static struct ticket_name n;

static int reads(const char *text)
{
    return ticket_name_read(&n, &key, text);
}

Test(ticket_name, a_token)
{
    struct token t = { .seg = 17, .number = 5, .issued_s = 99, .client = CLIENT_BROWSER,
                       .subject_hash = 3 };
    char text[TOKEN_TEXT_LEN + 1] = "";

    token_write(&t, &key, text);
    cr_assert_eq(reads(text), 0);
    cr_expect(n.has_token && n.has_subject);
    cr_expect_eq(n.seg, 17);
    cr_expect_eq(n.number, 5);
    cr_expect_eq(n.issued_s, 99);
    cr_expect_eq(n.client, CLIENT_BROWSER);
    text[20] = text[20] == 'A' ? 'B' : 'A';
    cr_expect_eq(reads(text), SQ_EAUTH, "of nobody");
}

Test(ticket_name, an_id)
{
    cr_assert_eq(reads("17-5"), 0);
    cr_expect_eq(n.seg, 17);
    cr_expect_eq(n.number, 5);
    cr_expect_not(n.has_token);
    cr_assert_eq(reads("18446744073709551615-4294967295"), 0);
    cr_expect_eq(n.seg, UINT64_MAX);
    cr_expect_eq(n.number, UINT32_MAX);
    cr_assert_eq(reads("1-0"), 0);
}

Test(ticket_name, nothing_else)
{
    static const char *const bad[] = {
        "",     "-",     "1",      "1-",     "-1",    "0-1",
        "01-1", "1-01",  "1-1 ",   " 1-1",   "+1-1",  "1--1",
        "1-1-", "1-1-1", "1-+1",   "0x1-1",  "1-1a",  "a-1",
        "18446744073709551616-1",  "1-4294967296",    "99999999999999999999-1",
        "1\xe2\x80\x93""1",        "../../queues",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(reads(bad[i]), SQ_EINVAL, "'%s'", bad[i]);
}

/* Whatever is accepted is the one spelling of what it says. */
Test(ticket_name, any_text)
{
    static const char from[] = "0123456789--0192 ax";
    struct rng r;

    rng_seed(&r, 3);
    for (int i = 0; i < 300000; i++) {
        char text[64], again[64];
        size_t len = rng_below(&r, 34);

        for (size_t k = 0; k < len; k++)
            text[k] = from[rng_below(&r, rng_chance(&r, 0.9) ? 13 : sizeof(from) - 1)];
        text[len] = '\0';
        if (reads(text) < 0)
            continue;
        snprintf(again, sizeof(again), "%llu-%u", (unsigned long long)n.seg, n.number);
        cr_assert_str_eq(again, text);
    }
}

Test(token_name, a_task_by_its_token_and_by_its_id)
{
    char text[TASK_TOKEN_LEN + 1] = "";
    part_no part;
    task_no no;

    task_token_write(3, UINT64_MAX, &key, text);
    cr_assert_eq(task_name_read(&part, &no, &key, text), 0);
    cr_expect(part == 3 && no == UINT64_MAX);
    text[40] = text[40] == 'A' ? 'B' : 'A';
    cr_expect_eq(task_name_read(&part, &no, &key, text), SQ_EAUTH, "of nobody");
    cr_assert_eq(task_name_read(&part, &no, &key, "4294967295-18446744073709551615"), 0);
    cr_expect(part == UINT32_MAX && no == UINT64_MAX);
    cr_expect_eq(task_name_read(&part, &no, &key, "4294967296-1"), SQ_EINVAL);
    cr_expect_eq(task_name_read(&part, &no, &key, "0-1"), SQ_EINVAL);
    cr_expect_eq(task_id_read(&part, &no, text), SQ_EINVAL, "no token");
}

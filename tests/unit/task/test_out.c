/* test_out.c: requests to a target that answers, hangs, drips, resets, never ends. */
#define _GNU_SOURCE 1 /* memmem */
#include <sodium.h>

#include "tests/unit/task/outrig.h"

TestSuite(out, .init = setup, .fini = teardown);

Test(out, a_request_is_what_was_said_and_nothing_else)
{
    call("POST", "the body");
    cr_assert_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.status, 200);
    cr_expect_str_eq(got.type, "text/plain");
    cr_expect(got.n == 5 && got.length == 5 && memcmp(body, "hello", 5) == 0);
    cr_expect_eq(strncmp(rig.last, "POST /base/p?q=1 HTTP/1.1\r\nHost: ", 33), 0, "%s", rig.last);
    cr_expect_not_null(strstr(rig.last, "\r\nx-a: 1\r\n"));
    cr_expect_not_null(strstr(rig.last, "\r\nx-empty:\r\n"), "%s", rig.last);
    cr_expect_not_null(strstr(rig.last, "\r\n\r\nthe body"));
    for (const char *const *no = (const char *const[]){ "Accept", "Expect", "Content-Type",
                                                        "Encoding", NULL }; *no != NULL; no++)
        cr_expect_null(strstr(rig.last, *no), "%s", *no);
}

Test(out, each_method_has_the_body_that_it_was_given)
{
    call("GET", "");
    cr_expect_eq(strncmp(rig.last, "GET /base/p?q=1 ", 16), 0);
    cr_expect_null(strstr(rig.last, "Content-Length"));
    call("PUT", "");
    cr_expect_not_null(strstr(rig.last, "Content-Length: 0"));
    call("DELETE", "x");
    cr_expect_eq(strncmp(rig.last, "DELETE ", 7), 0);
    cr_expect_not_null(strstr(rig.last, "Content-Length: 1"));
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    call("HEAD", "");
    cr_expect_eq(got.fault, CALL_NONE);
    cr_expect_eq(got.n, 0);
    cr_expect_eq(rig.connections, 1, "one connection is kept");
}

Test(out, a_head_with_a_body_does_not_wait_for_one)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    call("HEAD", "a body");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.status, 200);
}

Test(out, fields_that_say_what_to_do_are_read)
{
    rig.answer = "HTTP/1.1 103 Early\r\nretry-after: 1\r\n\r\n"
                 "HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nSEGQ-Command:  retry=5 \r\n"
                 "Content-Length: 0\r\n\r\n";
    call("POST", "x");
    cr_expect_eq(got.status, 503);
    cr_expect_str_eq(got.retry_after, "120");
    cr_expect_str_eq(got.command, "retry=5");
}

Test(out, a_redirect_is_an_answer_like_others)
{
    rig.answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    call("GET", "");
    cr_expect_eq(got.status, 302);
    cr_expect_eq(rig.requests, 1);
}

Test(out, chunks_are_put_together)
{
    rig.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    call("GET", "");
    cr_expect(got.n == 5 && memcmp(body, "abcde", 5) == 0);
}

Test(out, what_is_packed_stays_packed)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc";
    call("GET", "");
    cr_expect(got.n == 3 && memcmp(body, "abc", 3) == 0);
}

Test(out, an_address_that_is_not_public_sees_no_connection)
{
    char url[128];

    snprintf(url, sizeof(url), "http://%s", rig.addr);
    make_target(url, NULL);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_REFUSED);
    snprintf(url, sizeof(url), "http://localhost%s", strchr(rig.addr, ':'));
    make_target(url, "10.0.0.0/8");
    call("GET", "");
    cr_expect_eq(got.fault, CALL_REFUSED);
    cr_expect_eq(rig.connections, 0);
    make_target(url, "127.0.0.0/8");
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
}

Test(out, one_address_of_a_host_is_called_under_its_name)
{
    struct out_rules r = { .connect_ms = 1000, .proxy = "", .address = "127.0.0.1" };
    char url[128], why[200];

    snprintf(url, sizeof(url), "http://gen.invalid%s", strchr(rig.addr, ':'));
    r.url = url;
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, NULL), 0);
    cr_expect(out_target_is_refused(target, why, sizeof(why)));
    cr_expect_str_eq(why, "127.0.0.1 is not public, and not in `allow`");
    call("GET", "");
    cr_expect_eq(got.fault, CALL_REFUSED);
    cr_expect_eq(rig.connections, 0);
    r.n_allow = 1;
    cr_assert(ip_net_parse(&r.allow[0], "127.0.0.1"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, NULL), 0);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    snprintf(url, sizeof(url), "\r\nHost: gen.invalid%s\r\n", strchr(rig.addr, ':'));
    cr_expect_not_null(strstr(rig.last, url), "%s", rig.last);
}

Test(out, a_target_that_hangs_costs_its_deadline)
{
    rig.answer = NULL;
    cr_assert_neq(send_one("GET", "", 200), NULL);
    WAIT(answers == 1);
    cr_expect_eq(got.fault, CALL_TIMEOUT, "%s", call_fault_word(got.fault));
    cr_expect_geq(got.ms, 199);
}

Test(out, a_kept_connection_that_hangs_has_been_sent_the_request)
{
    unsigned before;

    call("POST", "one");
    rig.answer = NULL;
    before = answers;
    cr_assert_neq(send_one("POST", "two", 200), NULL);
    WAIT(answers > before);
    cr_expect_eq(rig.connections, 1);
    cr_expect_eq(got.fault, CALL_TIMEOUT, "%s", call_fault_word(got.fault));
}

Test(out, a_target_that_drips_costs_its_deadline)
{
    rig.answer = "HTTP/1.1 200 OK\r\n\r\n";
    rig.drips = true;
    cr_assert_neq(send_one("GET", "", 300), NULL);
    WAIT(answers == 1);
    cr_expect_eq(got.fault, CALL_TIMEOUT);
}

Test(out, a_connection_that_ends_amid_the_answer_is_no_answer)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc";
    rig.closes = true;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_RESET);
    rig.answer = "garbage\r\n\r\n";
    call("GET", "");
    cr_expect_eq(got.fault, CALL_RESET);
}

Test(out, a_head_without_end_is_too_long)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "HTTP/1.1 200 OK\r\n");
    for (unsigned i = 0; i < 9000; i++)
        buf_printf(&b, "x-%u: y\r\n", i);
    buf_byte(&b, 0);
    rig.answer = (const char *)b.data;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_TOO_LONG);
    buf_fini(&b);
}

Test(out, of_a_long_answer_the_beginning_is_kept_and_all_is_hashed)
{
    struct buf b;
    uint8_t hash[RESULT_SHA256];
    size_t head;

    buf_init(&b);
    buf_str(&b, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    head = b.len;
    for (unsigned i = 0; i < 100000; i++)
        buf_byte(&b, (uint8_t)(i % 251));
    rig.answer = (const char *)b.data;
    rig.answer_n = b.len;
    call("GET", "");
    cr_assert_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(got.n, 65536);
    cr_expect_eq(got.length, 100000);
    crypto_hash_sha256(hash, b.data + head, 100000);
    cr_expect_arr_eq(hash, got.sha256, sizeof(hash));
    cr_expect_arr_eq(body, b.data + head, 65536);
    buf_fini(&b);
}

Test(out, nobody_listens_there)
{
    target_fini(&rig);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_CONNECT, "%s", call_fault_word(got.fault));
}

Test(out, a_name_that_nobody_has)
{
    make_target("http://nobody.invalid:80", NULL);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_DNS, "%s", call_fault_word(got.fault));
}

Test(out, a_cancelled_call_closes_its_connection)
{
    struct out_call *c;

    rig.answer = NULL;
    c = send_one("GET", "", 5000);
    WAIT(rig.requests == 1);
    out_cancel(c);
    WAIT(rig.closed == 1);
    cr_expect_eq(answers, 0);
}

Test(out, what_is_not_wanted_any_more_does_not_leave)
{
    wanted = false;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_LOCAL);
    cr_expect_eq(rig.requests, 0);
}

Test(out, many_at_once_have_each_its_answer)
{
    for (unsigned i = 0; i < 40; i++)
        cr_assert_neq(send_one("POST", "x", 5000), NULL);
    WAIT(answers == 40);
    cr_expect_eq(rig.requests, 40);
}

Test(out, header_fields_beyond_the_bound_are_left_out_and_that_is_said)
{
    static char answer[8192];
    int at = sprintf(answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-RateLimit-A: ");

    memset(answer + at, 'v', 4000);
    sprintf(answer + at + 4000, "\r\nX-RateLimit-B: %0200d\r\nETag: 1\r\n\r\n", 1);
    rig.answer = answer;
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect(got.fields_cut);
    cr_expect_eq(got.fields.n, 2 + 13 + 1 + 4000 + 1 + 4 + 1 + 1, "the long one, and the short one behind");
}

Test(out, an_operator_may_let_more_header_fields_pass)
{
    rig.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Shop: 1\r\nX-Shop-B: 2\r\n\r\n";
    call("GET", "");
    cr_expect_eq(got.fields.n, 0);
    cr_assert_eq(out_pass(out, "X-Shop", NULL), 0);
    call("GET", "");
    cr_expect_eq(got.fields.n, 1 + 6 + 1 + 1);
}

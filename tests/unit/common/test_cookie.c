/* test_cookie.c: cookies by name, in one line or in many. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/http/request_headers.h"

/* All values of segq_pass in a request with these field lines, with "|" behind each. */
static const char *found(const char *lines)
{
    static char buf[2000], out[1000];
    struct http_state st = { 0 };
    struct cookies c = { 0 };
    struct http_req q;
    struct slice v;
    size_t n = 0;

    snprintf(buf, sizeof(buf), "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", lines);
    cr_assert_gt(http_parse(&st, &q, buf, strlen(buf)), 0, "%s", lines);
    while (cookie_next(&c, &q, "segq_pass", &v))
        n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s|", (int)v.n, v.p);
    out[n] = '\0';
    cr_expect_not(cookie_next(&c, &q, "segq_pass", &v), "the end stays the end");
    return out;
}

Test(cookie, by_its_whole_name)
{
    cr_expect_str_eq(found("Cookie: a=1; segq_pass=abc; b=2\r\n"), "abc|");
    cr_expect_str_eq(found("Cookie: segq_pass=x\r\n"), "x|");
    cr_expect_str_eq(found("Cookie:  segq_pass=x ;b=1\r\n"), "x|");
    cr_expect_str_eq(found("Cookie: segq_pass=\r\n"), "|");
    cr_expect_str_eq(found("Cookie: xsegq_pass=x; segq_passx=y; SEGQ_PASS=z\r\n"), "");
    cr_expect_str_eq(found("Cookie: segq_pass\r\n"), "");
    cr_expect_str_eq(found("Cookie: ;;; ;\r\n"), "");
    cr_expect_str_eq(found("Cookie:\r\n"), "");
    cr_expect_str_eq(found("X: segq_pass=x\r\n"), "");
}

Test(cookie, all_cookies_of_a_name_in_order)
{
    cr_expect_str_eq(found("Cookie: segq_pass=a; segq_pass=b;segq_pass=c\r\n"), "a|b|c|");
}

Test(cookie, many_lines_are_one)
{
    cr_expect_str_eq(found("Cookie: a=1\r\nCookie: segq_pass=a\r\n"), "a|");
    cr_expect_str_eq(found("Cookie: segq_pass=a\r\nX: y\r\ncookie: b=1; segq_pass=b\r\n"
                           "Cookie:\r\nCOOKIE: segq_pass=c\r\n"),
                     "a|b|c|");
    cr_expect_str_eq(found("Cookie:\r\nCookie: segq_pass=a\r\n"), "a|");
}

/* test_visit.c: is it a page that somebody goes to, a form, or a program? */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "router/gate/visit.h"

static char text[2000];

static struct http_req request(const char *fields)
{
    struct http_state st = { 0 };
    struct http_req q;

    snprintf(text, sizeof(text), "GET /v1/verify HTTP/1.1\r\nHost: a.example:8443\r\n%s\r\n",
             fields);
    cr_assert_gt(http_parse(&st, &q, text, strlen(text)), 0, "%s", fields);
    return q;
}

static struct slice slice(const char *s)
{
    return (struct slice){ (char *)(uintptr_t)s, strlen(s) };
}

static enum visit of(const char *method, const char *fields)
{
    struct http_req q = request(fields);

    return visit_of(&q, slice(method), true);
}

#define HTML "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"

Test(visit, sec_fetch_headers_decide)
{
    cr_expect_eq(of("GET", "Sec-Fetch-Mode: navigate\r\n"), VISIT_PAGE);
    cr_expect_eq(of("HEAD", "Sec-Fetch-Mode: navigate\r\nAccept: */*\r\n"), VISIT_PAGE);
    cr_expect_eq(of("POST", "Sec-Fetch-Mode: navigate\r\n"), VISIT_FORM);
    cr_expect_eq(of("GET", "Sec-Fetch-Mode: cors\r\n" HTML), VISIT_CALL);
    cr_expect_eq(of("GET", "Sec-Fetch-Mode: no-cors\r\n" HTML), VISIT_CALL, "a picture");
    cr_expect_eq(of("GET", "Sec-Fetch-Mode: websocket\r\n"), VISIT_CALL);
    cr_expect_eq(of("POST", "Sec-Fetch-Mode: same-origin\r\n" HTML), VISIT_CALL);
}

Test(visit, method_and_accept_classify_programs)
{
    struct http_req q = request("");

    cr_expect_eq(of("GET", HTML), VISIT_PAGE);
    cr_expect_eq(of("HEAD", HTML), VISIT_PAGE);
    cr_expect_eq(of("POST", HTML), VISIT_CALL);
    cr_expect_eq(of("PUT", HTML), VISIT_CALL);
    cr_expect_eq(of("OPTIONS", HTML), VISIT_CALL);
    cr_expect_eq(of("GET", "Accept: */*\r\n"), VISIT_CALL);
    cr_expect_eq(of("GET", "Accept: application/json\r\n"), VISIT_CALL);
    cr_expect_eq(of("GET", "Accept:\r\n"), VISIT_CALL);
    cr_expect_eq(of("GET", ""), VISIT_CALL);
    cr_expect_eq(visit_of(&q, slice(""), false), VISIT_PAGE,
                 "a gate of an older release, which hands on less");
}

static bool looks(const char *fields)
{
    struct http_req q = request(fields);

    return visit_is_looked_at(&q);
}

static bool ahead(const char *fields)
{
    struct http_req q = request(fields);

    return visit_is_ahead(&q);
}

#define GOES "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

Test(visit, only_a_navigation_is_a_visit)
{
    cr_expect(looks(GOES));
    cr_expect(looks(GOES "Sec-Fetch-User: ?1\r\nSec-Fetch-Site: none\r\n"));
    cr_expect_not(looks(GOES "Sec-Purpose: prefetch;prerender\r\n"));
    cr_expect_not(looks("Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"));
    cr_expect_not(looks("Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n"));
    cr_expect_not(looks("Sec-Fetch-Mode: navigate\r\n"));
    cr_expect_not(looks(GOES GOES));
    cr_expect_not(looks("User-Agent: Slackbot-LinkExpanding 1.0\r\nAccept: */*\r\n"));
    cr_expect_not(looks(""));
}

Test(visit, prefetch_is_no_visit)
{
    cr_expect(ahead("Sec-Purpose: prefetch\r\n"));
    cr_expect(ahead("Sec-Purpose: prefetch;prerender\r\n"));
    cr_expect(ahead("Purpose: prefetch\r\n"));
    cr_expect(ahead("X-Purpose: preview\r\n"));
    cr_expect(ahead("X-Moz: prefetch\r\n"));
    cr_expect_not(ahead("Sec-Fetch-Dest: document\r\n"));
    cr_expect_not(ahead(""));
}

static const char *from(const char *referer, const char *host)
{
    static char out[500];
    char fields[600];
    struct http_req q;
    struct slice v;

    snprintf(fields, sizeof(fields), "Referer: %s\r\n", referer);
    q = request(fields);
    v = visit_from(&q, slice(host));
    snprintf(out, sizeof(out), "%.*s", (int)v.n, v.n > 0 ? v.p : "");
    return out;
}

Test(visit, the_referring_page_is_remembered)
{
    struct http_req q = request("Referer: https://a.example/x\r\nReferer: https://a.example/y\r\n");

    cr_expect_str_eq(from("https://a.example:8443/shop?a=1&b", "a.example:8443"), "/shop?a=1&b");
    cr_expect_str_eq(from("https://a.example:8443/", "a.example"), "/", "Host without its port");
    cr_expect_str_eq(from("http://a.example/x", "a.example:8443"), "/x");
    cr_expect_str_eq(from("https://evil.example/x", "a.example"), "");
    cr_expect_str_eq(from("https://a.example.evil/x", "a.example"), "");
    cr_expect_str_eq(from("https://a.example@evil/x", "a.example"), "");
    cr_expect_str_eq(from("https://a.example", "a.example"), "");
    cr_expect_str_eq(from("https://a.example?x/", "a.example"), "");
    cr_expect_str_eq(from("https://a.example//evil/x", "a.example"), "");
    cr_expect_str_eq(from("ftp://a.example/x", "a.example"), "");
    cr_expect_str_eq(from("/x", "a.example"), "");
    cr_expect_str_eq(from("https:///x", ""), "");
    cr_expect_eq(visit_from(&q, slice("a.example")).n, 0);
}

/* test_gate_rules.c: which room a request of a gate goes through, above all when two servers may read it
 * in two ways. */
#include "router/gate/gate_rules.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define T(s) ((char *)(uintptr_t)(s))
#define NOTHING                                                                                       \
    .host = T(""), .path = T(""), .method = T(""), .header = T(""), .value = T(""), .cookie = T(""),  \
    .address = T(""), .address_file = T(""), .country = T(""), .crawler = T("")

static struct gate_rules *rules;
static const char *own = ""; /* the gate's queue */
static struct err e;

static int load(struct gate_rule *v, size_t n)
{
    e = (struct err){ 0 };
    cr_assert_eq(gate_rules_check(v, n, "CF-IPCountry", &e), 0, "%s", e.text);
    return gate_rules_load(&rules, v, n, "CF-IPCountry", &e);
}

static void unload(void)
{
    gate_rules_free(rules);
    rules = NULL;
}

TestSuite(gate_rules, .fini = unload);

/* Queue of the request; "-": no rule decides; "": past. */
static const char *room(const char *uri, const char *host, const char *method, const char *addr,
                        const char *fields)
{
    static char raw[4000];
    struct http_state st = { 0 };
    struct http_req q;
    struct ip ip;
    struct gate_rule_ask a = { .q = &q, .own = { T(own), strlen(own) } };
    struct gate_rule_doubt doubt;
    size_t i;
    int n = snprintf(raw, sizeof(raw) - HTTP_SLACK, "GET / HTTP/1.1\r\nHost: r\r\n%s\r\n", fields);

    cr_assert_gt(http_parse(&st, &q, raw, (size_t)n), 0);
    if (uri != NULL)
        a.uri = (struct slice){ T(uri), strlen(uri) };
    a.host = (struct slice){ T(host), strlen(host) };
    a.method = (struct slice){ T(method), strlen(method) };
    if (addr != NULL && ip_parse(&ip, addr, strlen(addr)))
        a.addr = &ip;
    i = gate_rules_find(rules, &a, &doubt);
    cr_expect((i == GATE_RULE_TWO) == (doubt.one != GATE_RULE_NONE) && (doubt.one < doubt.other || i != GATE_RULE_TWO));
    return i == GATE_RULE_NONE ? "-" : i == GATE_RULE_TWO ? "two" : gate_rules_queue(rules, i);
}

Test(gate_rules, the_first_rule_that_is_met_decides)
{
    struct gate_rule v[] = { { NOTHING, .queue = T("tickets") },
                                 { NOTHING, .queue = T("") },
                                 { NOTHING, .queue = T("wide") },
                                 { NOTHING, .queue = T("login") } };

    v[0].host = T("shop.example");
    v[0].path = T("/tickets");
    v[1].path = T("/static");
    v[1].method = T("GET, HEAD");
    v[2].host = T("*.example");
    cr_assert_eq(load(v, 4), 0);
    cr_expect_str_eq(room("/tickets/7?a=1", "Shop.Example:8443", "GET", NULL, ""), "tickets");
    cr_expect_str_eq(room("/tickets/7", "shop.example.", "POST", NULL, ""), "tickets");
    cr_expect_str_eq(room("/ticketsx", "shop.example", "GET", NULL, ""), "wide");
    cr_expect_str_eq(room("/static/a.css", "other", "HEAD", NULL, ""), "");
    cr_expect_str_eq(room("/static/a.css", "other", "POST", NULL, ""), "login");
    cr_expect_str_eq(room("/", "example", "GET", NULL, ""), "login", "*.example is below it");
    cr_expect_str_eq(room("/", "badexample", "GET", NULL, ""), "login");
    cr_expect_str_eq(room("/", "a.b.example", "GET", NULL, ""), "wide");
}

/* The rule in front leads into a room, the one behind past it: /static/../tickets must not get by. */
Test(gate_rules, a_request_that_can_be_read_in_two_ways_is_never_let_past)
{
    static const char *const uris[] = { "/static/../tickets", "//tickets", "/%2ftickets", "/static/%2e%2e/tickets",
                                        "/tickets;a", "/Tickets", "/t%69CKETS/7", NULL };
    struct gate_rule v[] = { { NOTHING, .queue = T("") },
                                 { NOTHING, .queue = T("tickets") },
                                 { NOTHING, .queue = T("") } };

    v[0].path = T("/static");
    v[1].path = T("/tickets");
    cr_assert_eq(load(v, 3), 0);
    for (size_t i = 0; i < ARRAY_LEN(uris); i++)
        cr_expect_str_eq(room(uris[i], "h", "GET", NULL, ""), "tickets", "%s", uris[i] != NULL ? uris[i] : "-");
    cr_expect_str_eq(room("/about", "h", "GET", NULL, ""), "");
    cr_expect_str_eq(room("/STATIC/a.css", "h", "GET", NULL, ""), "", "by the last rule, as any");
}

/* Whoever has a pass for the room with the shorter line, or needs none there, does not choose that one. */
Test(gate_rules, a_request_that_may_be_of_two_rooms_is_of_none)
{
    struct gate_rule v[] = { { NOTHING, .queue = T("login") },
                             { NOTHING, .queue = T("sale") },
                             { NOTHING, .queue = T("") } };

    v[0].path = T("/news");
    v[1].path = T("/sale");
    v[2].path = T("/static");
    cr_assert_eq(load(v, 3), 0);
    own = "main";
    cr_expect_str_eq(room("/sale/7", "h", "GET", NULL, ""), "sale");
    cr_expect_str_eq(room("//sale/7", "h", "GET", NULL, ""), "two");
    cr_expect_str_eq(room("/x/../sale/7", "h", "GET", NULL, ""), "two");
    cr_expect_str_eq(room("/sale/7%20", "h", "GET", NULL, ""), "two");
    cr_expect_str_eq(room("/Sale/7", "h", "GET", NULL, ""), "two", "sale's, or the gate's own");
    cr_expect_str_eq(room("/sale.", "h", "GET", NULL, ""), "two");
    cr_expect_str_eq(room("/sale:80", "h", "GET", NULL, ""), "two");
    cr_expect_str_eq(room("/salex", "h", "GET", NULL, ""), "-");
    cr_expect_str_eq(room("/about%20us", "h", "GET", NULL, ""), "-", "a blank amid a word is nobody's trick");
    cr_expect_str_eq(room("/sale%20x", "h", "GET", NULL, ""), "-");
    cr_expect_str_eq(room("/sale/a%20b", "h", "GET", NULL, ""), "sale");
    cr_expect_str_eq(room("/static/a%20b", "h", "GET", NULL, ""), "-", "nor is it let past");
    own = "sale";
    cr_expect_str_eq(room("/Sale/7", "h", "GET", NULL, ""), "sale", "both readings are its own");
    own = "";
}

Test(gate_rules, headers_cookies_addresses_and_countries)
{
    struct gate_rule v[] = { { NOTHING, .queue = T("") }, { NOTHING, .queue = T("") },
                                 { NOTHING, .queue = T("") }, { NOTHING, .queue = T("eu") },
                                 { NOTHING, .queue = T("beta") } };

    v[0].header = T("X-Probe");
    v[0].value = T("s3cret");
    v[1].header = T("X-Robot");
    v[2].address = T("10.0.0.0/8, 2001:db8::1");
    v[3].country = T("DE, AT");
    v[4].cookie = T("group=beta");
    cr_assert_eq(load(v, 5), 0);
    cr_expect_str_eq(room("/", "h", "GET", NULL, "x-probe: s3cret\r\nCF-IPCountry: US\r\n"), "");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "X-Probe: s3cret\r\nX-Probe: s3cret\r\nCF-IPCountry: US\r\n"),
                     "-", "there twice");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "X-Robot: 1\r\n"), "");
    cr_expect_str_eq(room("/", "h", "GET", "10.9.9.9", "CF-IPCountry: US\r\n"), "");
    cr_expect_str_eq(room("/", "h", "GET", NULL, "CF-IPCountry: US\r\n"), "-", "nobody knows the address");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "CF-IPCountry: de\r\n"), "eu");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "CF-IPCountry: DE, US\r\n"), "eu");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", ""), "eu", "a country that nobody tells is no way past");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "CF-IPCountry: US\r\nCookie: a=b; group=beta\r\n"), "beta");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "CF-IPCountry: US\r\nCookie: group=alpha\r\n"), "-");
    cr_expect_str_eq(room("/", "h", "GET", "9.9.9.9", "CF-IPCountry: US\r\nCookie: group=a; group=beta\r\n"), "beta");
}

Test(gate_rules, addresses_of_a_file_are_read_again_and_a_bad_file_changes_nothing)
{
    char path[] = "/tmp/segq_rules.XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    struct gate_rule v[] = { { NOTHING, .queue = T("") } };

    v[0].address_file = path;
    fputs("# office\r\n  192.0.2.0/24   # Vienna\n\n2001:db8::/32, 203.0.113.9\n", f);
    fflush(f);
    cr_assert_eq(load(v, 1), 0, "%s", e.text);
    cr_expect_str_eq(room("/", "h", "GET", "192.0.2.9", ""), "");
    cr_expect_str_eq(room("/", "h", "GET", "2001:db8::9", ""), "");
    cr_expect_str_eq(room("/", "h", "GET", "203.0.113.9", ""), "");
    cr_expect_str_eq(room("/", "h", "GET", "198.51.100.1", ""), "-");
    fputs("198.51.100.7/8\n", f);
    fflush(f);
    cr_expect_eq(load(v, 1), SQ_EINVAL);
    cr_expect(strstr(e.text, "198.51.100.7/8") != NULL && strstr(e.text, "gate_rules[0]") != NULL, "%s", e.text);
    cr_expect_str_eq(room("/", "h", "GET", "192.0.2.9", ""), "", "as it was");
    unlink(path);
    fclose(f);
    cr_expect_neq(load(v, 1), 0);
    cr_expect(strstr(e.text, path) != NULL && strstr(strstr(e.text, path) + 1, path) == NULL, "once: %s", e.text);
}

Test(gate_rules, mistakes_are_told_with_rule_and_member)
{
    static const struct {
        size_t member;
        const char *value, *told;
    } v[] = { { offsetof(struct gate_rule, host), "Shop:80", "host: write shop.example" },
              { offsetof(struct gate_rule, host), "shop.example.", "host: write shop.example" },
              { offsetof(struct gate_rule, path), "/a/../b", "path: write /part" },
              { offsetof(struct gate_rule, path), "/a/", "path: write /part" },
              { offsetof(struct gate_rule, method), ",", "method: write GET" },
              { offsetof(struct gate_rule, address), " ,", "address: write addresses" },
              { offsetof(struct gate_rule, crawler), ",", "crawler: write any" },
              { offsetof(struct gate_rule, method), "GET,PO ST", "method: write GET" },
              { offsetof(struct gate_rule, header), "X Probe", "header: this is not" },
              { offsetof(struct gate_rule, value), "x", "value: name its header" },
              { offsetof(struct gate_rule, cookie), "=1", "cookie: write NAME" },
              { offsetof(struct gate_rule, address), "10.1.2.3/8", "10.1.2.3/8" },
              { offsetof(struct gate_rule, country), "Germany", "country: write two letters" },
              { offsetof(struct gate_rule, crawler), "googel", "crawler: write any" },
              { offsetof(struct gate_rule, queue), "No Such", "queue: this is not" } };

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct gate_rule r[] = { { NOTHING, .queue = T("a") }, { NOTHING, .queue = T("b") } };

        *(char **)((char *)&r[1] + v[i].member) = T(v[i].value);
        e = (struct err){ 0 };
        cr_expect_eq(gate_rules_check(r, 2, "CF-IPCountry", &e), SQ_EINVAL);
        cr_expect(strstr(e.text, "gate_rules[1]: ") != NULL && strstr(e.text, v[i].told) != NULL, "%s", e.text);
    }
}

/* test_crawlers.c: who is the crawler that it says to be, by a name server in the test's own loop. */
#include "router/service/service.h"

#include "tests/lib/dnsrig.h"

static struct ev *ev;
static struct crawler_names *c;
static struct dnsrig dns;

static void begin(void)
{
    struct err e;

    cr_assert_eq(ev_new(&ev, &e), 0);
    dns_init(&dns, ev, 9);
    dns.ttl = 60;
    dns_use(&dns);
    c = crawler_names_new(ev);
    cr_assert_not_null(c);
}

static void end(void)
{
    crawler_names_free(c);
    dns_fini(&dns);
    dns_files_fini();
    ev_free(ev);
}

TestSuite(crawlers, .init = begin, .fini = end, .timeout = 60);

static enum crawler_is look(const char *names, const char *agent, const char *addr)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, addr, strlen(addr)));
    return crawlers_look(crawler_names_of(c), names, (struct slice){ (char *)(uintptr_t)agent, strlen(agent) }, &ip,
                         ev_now(ev));
}

static enum crawler_is found(const char *names, const char *agent, const char *addr)
{
    msec_t until = ev_now(ev) + 20000;

    while (look(names, agent, addr) == CRAWLER_UNKNOWN && ev_now(ev) < until)
        ev_turn(ev, true);
    return look(names, agent, addr);
}

#define GOOGLE "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"

Test(crawlers, one_whose_name_has_its_address_is_known_and_asked_about_once)
{
    unsigned asked;

    dns.name = "crawl-9.googlebot.com";
    cr_expect_eq(look("any", GOOGLE, "127.0.0.9"), CRAWLER_UNKNOWN, "not yet");
    cr_expect_eq(look("any", GOOGLE, "127.0.0.9"), CRAWLER_UNKNOWN, "nor is it asked about twice");
    cr_expect_eq(found("google", GOOGLE, "127.0.0.9"), CRAWLER_YES);
    asked = dns.asked;
    cr_expect_leq(asked, 3, "a name, and its two kinds of addresses");
    cr_expect_eq(look("bing, google", GOOGLE, "127.0.0.9"), CRAWLER_YES);
    cr_expect_eq(look("bing", GOOGLE, "127.0.0.9"), CRAWLER_NO);
    cr_expect_eq(look("any", "Mozilla/5.0 (X11)", "127.0.0.9"), CRAWLER_NO, "it does not say so");
    cr_expect_eq(dns.asked, asked);
}

Test(crawlers, a_name_that_does_not_have_the_address_is_a_lie)
{
    dns.name = "crawl-9.googlebot.com";
    cr_expect_eq(found("any", GOOGLE, "127.0.0.8"), CRAWLER_NO, "its owner says 127.0.0.9");
}

Test(crawlers, a_name_of_another_domain_is_none)
{
    dns.name = "crawl-9.notgooglebot.com";
    cr_expect_eq(found("any", GOOGLE, "127.0.0.9"), CRAWLER_NO);
    dns.name = "googlebot.com.evil.example";
    cr_expect_eq(found("any", GOOGLE, "127.0.0.7"), CRAWLER_NO);
    dns.name = NULL;
    cr_expect_eq(found("any", GOOGLE, "127.0.0.6"), CRAWLER_NO, "no name");
}

Test(crawlers, while_name_servers_are_silent_nobody_is_known_and_questions_are_bounded)
{
    char addr[20];

    dns.silent = true;
    for (unsigned i = 0; i < 3 * CRAWLER_ASKS; i++) {
        snprintf(addr, sizeof(addr), "127.0.1.%u", i);
        cr_expect_eq(look("any", GOOGLE, addr), CRAWLER_UNKNOWN);
    }
    for (unsigned i = 0; i < 5; i++)
        ev_turn(ev, false);
    cr_expect_leq(dns.asked, CRAWLER_ASKS);
}

Test(crawlers, lists_of_names)
{
    cr_expect(crawlers_names_ok("") && crawlers_names_ok("any") && crawlers_names_ok("google, bing,apple"));
    cr_expect_not(crawlers_names_ok("google; bing"));
    cr_expect_not(crawlers_names_ok("Google"));
}

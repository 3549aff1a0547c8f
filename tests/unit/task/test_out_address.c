/* test_out_address.c: addresses that calls may reach, and URLs of endpoints. */
#include "task/out/trust.h"

#include "tests/lib/criterion.h"
#include <string.h>

#include "common/task/url.h"

static bool lets(const char *text)
{
    struct ip ip;

    cr_assert(ip_parse(&ip, text, strlen(text)), "%s", text);
    return ssrf_lets(&ip, NULL, 0);
}

Test(ssrf, only_public_addresses_are_reached)
{
    static const char *const closed[] = {
        "0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.2.1",
        "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1",
        "255.255.255.255", "168.63.129.16", "100.100.100.200", "::", "::1", "::7f00:1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1",
    };
    static const char *const open[] = { "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255",
                                        "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1",
                                        "223.255.255.255", "2606:4700::1111", "2a00::1",
                                        "64:ff9b::101:101", "2002:101:101::1",
                                        "::ffff:1.1.1.1" };

    for (unsigned i = 0; i < ARRAY_LEN(closed); i++)
        cr_expect_not(lets(closed[i]), "%s", closed[i]);
    for (unsigned i = 0; i < ARRAY_LEN(open); i++)
        cr_expect(lets(open[i]), "%s", open[i]);
}

Test(ssrf, allow_opens_exactly_its_networks)
{
    struct ip_net allow[1];
    struct ip in, beside;

    cr_assert(ip_net_parse(&allow[0], "10.1.0.0/16"));
    cr_assert(ip_parse(&in, "10.1.255.1", 10));
    cr_assert(ip_parse(&beside, "10.2.0.1", 8));
    cr_expect(ssrf_lets(&in, allow, 1));
    cr_expect_not(ssrf_lets(&beside, allow, 1));
}

Test(url, parts_of_good_ones)
{
    struct url u;

    cr_assert_null(url_parse(&u, "https://gen.internal/api/"));
    cr_expect(u.tls && u.port == 443);
    cr_expect_str_eq(u.host, "gen.internal");
    cr_expect_str_eq(u.path, "/api");
    cr_assert_null(url_parse(&u, "http://[::1]:8080"));
    cr_expect(!u.tls && u.port == 8080);
    cr_expect_str_eq(u.host, "::1");
    cr_expect_str_eq(u.path, "");
}

Test(url, what_is_none_is_refused)
{
    static const char *const bad[] = { "", "gen", "ftp://a", "http://", "http://u@h", "http://a:b@h",
                                       "http://h:0", "http://h:65536", "http://h:", "http://h/?q",
                                       "http://h#f", "http://h/a b", "http://h\\x", "http://[::1",
                                       "http://h\r\nx" };
    struct url u;

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not_null(url_parse(&u, bad[i]), "%s", bad[i]);
}

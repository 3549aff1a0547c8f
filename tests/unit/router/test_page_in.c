/* test_page_in.c: what browsers send to the waiting page, and where people may be sent. */
#include "router/page/input.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/page_def.h"

static struct slice slice(const char *s)
{
    static char mem[8][3000];
    static unsigned at;
    char *p = mem[at++ % 8];

    strcpy(p, s);
    return (struct slice) { p, strlen(s) };
}

/* ---- forms and cookies ---- */

Test(page_in, members_of_forms)
{
    static const struct {
        const char *form, *want; /* NULL: -1 */
    } v[] = {
        { "return=%2Fshop%3Fa%3D1%26b%3D2", "/shop?a=1&b=2" },
        { "x=1&return=a+b&y=2", "a b" },
        { "return=", "" },
        { "return", NULL },
        { "xreturn=1", NULL },
        { "Return=1", NULL },
        { "", NULL },
        { "return=1&return=2", NULL },
        { "return=%2", NULL },
        { "return=%zz", NULL },
        { "return=%00", NULL },
        { "&&return=ok&&", "ok" },
    };
    char out[64];

    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        int64_t n = page_member(slice(v[i].form), "return", out, sizeof(out));

        if (v[i].want == NULL)
            cr_expect_eq(n, -1, "%s", v[i].form);
        else
            cr_expect(n == (int64_t)strlen(v[i].want) && strcmp(out, v[i].want) == 0, "%s",
                      v[i].form);
    }
    cr_expect_eq(page_member(slice("return=12345678"), "return", out, 8), -1, "no room");
    cr_expect_eq(page_member(slice("return=1234567"), "return", out, 8), 7);
}

Test(page_in, a_bare_return_url_is_unchanged)
{
    char out[64];

    cr_expect_gt(page_return(slice("return=/a?b=1&c=%2F+d"), out, sizeof(out)), 0);
    cr_expect_str_eq(out, "/a?b=1&c=%2F+d");
    cr_expect_gt(page_return(slice("r=1&return=https://x.y/z?a=b&c"), out, sizeof(out)), 0);
    cr_expect_str_eq(out, "https://x.y/z?a=b&c");
    cr_expect_gt(page_return(slice("return=%2Fa%3Fb&r=1"), out, sizeof(out)), 0);
    cr_expect_str_eq(out, "/a?b");
    cr_expect_eq(page_return(slice("xreturn=/a"), out, sizeof(out)), -1);
}

/* ---- languages ---- */

Test(page_in, the_preferred_language_is_chosen)
{
    static const char *const tags[] = { "en", "zh", "pt-br" };
    static const struct {
        const char *accept;
        size_t want;
    } v[] = {
        { "", 0 },
        { "zh", 1 },
        { "zh-CN,zh;q=0.9,en;q=0.8", 1 },
        { "ZH-Hans-CN", 1 },
        { "en;q=0.5, zh;q=0.7", 1 },
        { "en;q=0.7,zh;q=0.5", 0 },
        { "fr,zh;q=0.1", 1 },
        { "fr,de", 0 },
        { "zh;q=0", 0 },
        { "zh;q=0.000,en;q=0.001", 0 },
        { "en,zh", 0 },
        { "zh,en", 1 },
        { "pt", 2 },
        { "pt-PT", 0 },
        { "pt-BR,zh", 2 },
        { "zhx", 0 },
        { "zh;q=nonsense,en;q=0.1", 0 },
        { ";;;,,,=q", 0 },
        { "*", 0 },
        { " zh ; q=1.0 ", 1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(page_language(slice(v[i].accept), tags, 3, 0), v[i].want, "%s",
                     v[i].accept);
}

Test(page_in, regions_and_scripts_find_their_language)
{
    static const char *const tags[] = { "de", "en", "zh", "zh-Hant" };
    static const struct {
        const char *accept;
        size_t want;
    } v[] = {
        { "de-AT", 0 },
        { "de-AT,en", 0 }, /* as much, and before it */
        { "de-CH,fr;q=0.9,en;q=0.8", 0 },
        { "en-GB;q=0.7,de-AT;q=0.8", 0 },
        { "zh-TW", 3 },
        { "zh-HK,zh;q=0.9,en;q=0.5", 3 },
        { "zh-Hant", 3 },
        { "zh-hant-TW", 3 },
        { "zh-Hant;q=0.5,zh-CN;q=0.9", 2 },
        { "zh-CN", 2 },
        { "zh-Hans-SG", 2 },
        { "ZH-tw", 3 },
        { "zh-TWX", 2 },
        { "fr", 1 },
        { "deu", 1 },
        { "d", 1 },
        { "-", 1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_eq(page_language(slice(v[i].accept), tags, 4, 1), v[i].want, "%s", v[i].accept);
}

Test(page_in, gzip_for_those_who_take_it)
{
    static const char *const yes[] = { "gzip", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8",
                                       "GZIP", "deflate, *", "*;q=0.1", " gzip ;q=0.5", "*;q=0,gzip" };
    static const char *const no[] = { "", "identity", "br", "gzip;q=0", "gzip;q=0.000, *",
                                      "*;q=0", "x-gzip", "gzipx", ";q=1", ",,;", "gzip;nonsense" };

    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        cr_expect(page_takes_gzip(slice(yes[i])), "%s", yes[i]);
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        cr_expect_not(page_takes_gzip(slice(no[i])), "%s", no[i]);
}

/* ---- targets ---- */

static char *origins[] = { "https://shop.example", "http://127.0.0.1:8080" };

static bool target(const char *to)
{
    return page_target_ok(to, strlen(to), origins, 2);
}

Test(page_in, only_allowed_targets)
{
    static const char *const good[] = {
        "/",
        "/shop?a=1&b=2#c",
        "/%2F%2Fevil.example",
        "/a/../b",
        "/caf\xc3\xa9",
        "/x?u=https://evil.example//",
        "https://shop.example",
        "https://shop.example/",
        "https://shop.example/a?b",
        "https://shop.example?x",
        "https://shop.example#x",
        "http://127.0.0.1:8080/x",
    };
    static const char *const bad[] = {
        "",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "\\/evil.example",
        "/a\\b",
        "/\tx",
        "/\t/evil.example",
        "/\n/evil.example",
        "/\r\nSet-Cookie: a=b",
        "\t//evil.example",
        " //evil.example",
        "/x\x7f",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "https:evil.example",
        "https:/evil.example",
        "https:///evil.example",
        "https://evil.example",
        "https://shop.example.evil.example/",
        "https://shop.example@evil.example/",
        "https://shop.example:443@evil.example/",
        "https://user@shop.example/",
        "https://shop.example:8443/",
        "https://shop.exampleevil/",
        "https://shop.example\\@evil.example",
        "https://shop.example%2f@evil.example",
        "https://Shop.example/",
        "HTTPS://shop.example/",
        "http://shop.example/",
        "http://127.0.0.1:80801/",
        "http://127.0.0.1",
        "shop.example",
        "evil",
        "?x",
        "#x",
        "%2F%2Fevil.example",
        "ftp://shop.example/",
    };
    char *big = malloc(PAGE_TARGET_MAX + 2);

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        cr_expect(target(good[i]), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(target(bad[i]), "%s", bad[i]);
    cr_expect_not(page_target_ok("/\0//x", 5, NULL, 0), "a zero inside");
    cr_expect_not(page_target_ok("https://shop.example/", 21, NULL, 0), "no origins");
    memset(big, 'a', PAGE_TARGET_MAX + 1);
    big[0] = '/';
    cr_expect(page_target_ok(big, PAGE_TARGET_MAX, NULL, 0));
    cr_expect_not(page_target_ok(big, PAGE_TARGET_MAX + 1, NULL, 0));
    free(big);
}

Test(page_in, a_target_in_a_header_has_no_odd_bytes)
{
    static const char odd[] = "/a b\"<>`{}|^\\caf\xc3\xa9%2F?x=1&y#z";
    struct buf b;

    buf_init(&b);
    page_put_target(&b, odd, strlen(odd));
    buf_byte(&b, 0);
    cr_expect_str_eq((char *)b.data,
                     "/a%20b%22%3C%3E%60%7B%7D%7C%5E%5Ccaf%C3%A9%2F?x=1&y#z");
    buf_fini(&b);
    cr_expect_eq(page_target_origin("/x://y"), 0);
    cr_expect_eq(page_target_origin("https://shop.example/x"), 20);
    cr_expect_eq(page_target_origin("https://shop.example"), 20);
}

Test(page_in, origins)
{
    static const char *const good[] = { "https://a", "http://a.b-c.d:8080", "https://1.2.3.4" };
    static const char *const bad[] = {
        "",           "a",           "https://",       "https:// a",      "https://a/",
        "https://a:", "https://a:0", "https://a:99999", "https://A",       "https://a b",
        "ftp://a",    "https://a;",  "https://a,b",    "https://a'",      "https://*.a",
        "https://.a", "https://-a",  "https://a@b",    "https://a\r\nX: y", "https://[::1]",
    };

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        cr_expect(page_origin_ok(good[i]), "%s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(page_origin_ok(bad[i]), "%s", bad[i]);
}

/* ---- whose request it is ---- */

static struct http_req request(const char *fields)
{
    static char text[4000];
    struct http_state st = { 0 };
    struct http_req q;

    snprintf(text, sizeof(text), "GET /q/login HTTP/1.1\r\nHost: a.example:8080\r\n%s\r\n",
             fields);
    cr_assert_gt(http_parse(&st, &q, text, strlen(text)), 0, "%s", fields);
    return q;
}

static int same(const char *fields)
{
    struct http_req q = request(fields);

    return page_same_site(&q);
}

Test(page_in, forms_of_other_sites)
{
    cr_expect_eq(same("Sec-Fetch-Site: same-origin\r\n"), 1);
    cr_expect_eq(same("Sec-Fetch-Site: same-origin\r\nOrigin: null\r\n"), 1);
    cr_expect_eq(same("sec-fetch-site: cross-site\r\n"), -1);
    cr_expect_eq(same("Sec-Fetch-Site: same-site\r\n"), -1);
    cr_expect_eq(same("Sec-Fetch-Site: none\r\n"), -1);
    cr_expect_eq(same("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: same-origin\r\n"), -1);
    cr_expect_eq(same("Origin: http://a.example:8080\r\n"), 1);
    cr_expect_eq(same("Origin: https://a.example:8080\r\n"), 1, "TLS ends before us");
    cr_expect_eq(same("Origin: http://a.example\r\n"), -1);
    cr_expect_eq(same("Origin: http://evil.example\r\n"), -1);
    cr_expect_eq(same("Origin: http://a.example:8080.evil\r\n"), -1);
    cr_expect_eq(same("Origin: null\r\n"), 0);
    cr_expect_eq(same(""), 0);
}

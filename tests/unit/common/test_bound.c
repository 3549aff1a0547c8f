/* test_bound.c: what a pass is bound to, as text and in the pass; and beside a ticket's name. */
#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

#include "common/base/err.h"
#include "common/ticket/pass.h"

static void read_back(struct bound b, const char *text)
{
    char out[BOUND_MAX];
    size_t n = bound_write(&b, out);
    struct bound c;

    cr_expect_eq(n, strlen(text));
    cr_expect_arr_eq(out, text, n);
    cr_assert(bound_read(&c, out, n), "%s", text);
    cr_expect(c.once == b.once && strcmp(c.htm, b.htm) == 0 && strcmp(c.htu, b.htu) == 0);
}

Test(bound, it_reads_as_it_was_written)
{
    struct bound longest = { .once = true };
    char out[BOUND_MAX];

    read_back((struct bound){ .once = true }, "1 ");
    read_back((struct bound){ .htm = "GET" }, "-GET ");
    read_back((struct bound){ .htu = "/api/images" }, "- /api/images");
    read_back((struct bound){ .once = true, .htm = "POST", .htu = "/a/" }, "1POST /a/");
    memset(longest.htm, 'A', BOUND_HTM_MAX);
    memset(longest.htu, 'a', BOUND_HTU_MAX);
    longest.htu[0] = '/';
    device_id("AAECAwQFBgcICQoLDA0ODw", longest.device);
    cr_expect_eq(bound_write(&longest, out), BOUND_MAX);
    cr_expect_eq(bound_write(&(struct bound){ 0 }, out), 0, "bound to nothing");
}

Test(bound, what_is_none_is_refused)
{
    static const char *const bad[] = { "", "1", "-GET", "2GET /", "-get ", "-GET api", "- /a/../b",
                                       "- //a", "- /a?b", "- /%61", "-GET /a b", "- /.git" };
    static const char *const paths[] = { "", "a", "/a//b", "/a/./b", "/a\"b", "/a\nb", "/\xc3\xa4" };
    struct bound b;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_not(bound_read(&b, bad[i], strlen(bad[i])), "%s", bad[i]);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        cr_expect_not(bound_htu_ok(paths[i]), "%s", paths[i]);
    cr_expect(bound_htu_ok("/") && bound_htu_ok("/a-b_c.d~/7"));
    cr_expect_not(bound_htm_ok("") || bound_htm_ok("AAAAAAAAAAAAAAAAA"));
}

static struct pass_key key;
static char jwt[1400];

static int made(const struct bound *b)
{
    struct pass_claims c = { .iss = "segq", .aud = "login", .lane = "default", .seg = 17,
                             .number = 42, .iat_s = 1700000000, .exp_s = 1700000300, .bound = b };

    crypto_sign_keypair(key.public, key.secret);
    return pass_make(&c, &key, jwt, sizeof(jwt));
}

Test(bound, a_pass_says_what_it_is_bound_to)
{
    const struct bound b = { .once = true, .htm = "POST", .htu = "/api/images" };
    struct pass_view v;
    int n;

    cr_assert_geq(sodium_init(), 0);
    n = made(&b);
    cr_assert_gt(n, 0);
    cr_assert_eq(pass_check(&v, jwt, (size_t)n, &key.public, 1), 0);
    cr_expect(v.is_bound && v.bound.once);
    cr_expect_str_eq(v.bound.htm, "POST");
    cr_expect_str_eq(v.bound.htu, "/api/images");
    n = made(NULL);
    cr_assert_eq(pass_check(&v, jwt, (size_t)n, &key.public, 1), 0);
    cr_expect_not(v.is_bound);
}

#define SECRET "AAECAwQFBgcICQoLDA0ODw"

Test(bound, a_device_stands_behind_the_rest)
{
    struct bound b = { .htm = "GET", .htu = "/a" }, c;
    char out[BOUND_MAX], id[DEVICE_LEN + 1];
    struct pass_view v;
    size_t n;
    int k;

    cr_assert_geq(sodium_init(), 0);
    device_id(SECRET, b.device);
    cr_expect_str_eq(b.device, "XSYR1aTdK0Cyd9_bXs9bSQ", "half of the SHA-256 of the text");
    n = bound_write(&b, out);
    cr_assert_eq(n, 7 + 1 + DEVICE_LEN);
    cr_assert(bound_read(&c, out, n));
    cr_expect_str_eq(c.device, b.device);
    cr_expect_str_eq(c.htu, "/a");
    cr_expect_not(bound_read(&c, out, n - 1), "a character is missing");
    strcpy(b.htm, "");
    strcpy(b.htu, "");
    n = bound_write(&b, out);
    cr_assert(bound_read(&c, out, n));
    strcpy(id, b.device);
    cr_expect_str_eq(c.device, id);
    cr_expect(bound_is_none(&c), "nothing of a request");
    k = made(&b);
    cr_assert_gt(k, 0);
    cr_assert_eq(pass_check(&v, jwt, (size_t)k, &key.public, 1), 0);
    cr_expect_not(v.is_bound);
    cr_expect_str_eq(v.bound.device, id);
}

Test(bound, texts_of_devices_have_one_spelling)
{
    cr_expect(device_text_ok(SECRET, DEVICE_LEN));
    cr_expect_not(device_text_ok(SECRET, DEVICE_LEN - 1));
    cr_expect_not(device_text_ok("AAECAwQFBgcICQoLDA0ODx", DEVICE_LEN), "spare bits");
    cr_expect_not(device_text_ok("AAECAwQFBgcICQoLDA0OD=", DEVICE_LEN));
    cr_expect_not(device_text_ok("AAECAwQFBgcICQoLDA0O w", DEVICE_LEN));
    cr_expect_not(device_text_ok("", 0));
}

Test(bound, it_stands_before_the_name_of_a_ticket)
{
    static const char both[] = "\x02\x05-GET ann", alone[] = "\x02\x02" "1 ", keyed[] = "\x02\x02" "1 \x01k";

    cr_expect_eq(subject_head(both, sizeof(both) - 1), 7);
    cr_expect(subject_has_name(both, sizeof(both) - 1));
    cr_expect_not(subject_is_key(both, sizeof(both) - 1));
    cr_expect_eq(subject_head(alone, sizeof(alone) - 1), 4);
    cr_expect_not(subject_has_name(alone, sizeof(alone) - 1));
    cr_expect(subject_is_key(keyed, sizeof(keyed) - 1));
    cr_expect_eq(subject_head("\x02\x7f", 2), 0, "a length beyond its end");
    cr_expect_eq(subject_head("ann", 3), 0);
}

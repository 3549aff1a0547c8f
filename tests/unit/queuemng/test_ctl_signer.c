/* test_ctl_signer.c: what segqctl signs, as a router checks it; and files that are no key. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl/tickets.h"
#include "router/gate/signed_claim.h"
#include "router/task_api/rights.h"

#define NOW    1700000000
#define SECRET "0123456789abcdef0123456789ABCDEF"
#define OLD    "EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define PEM    "-----BEGIN PRIVATE KEY-----\n" \
               "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n" \
               "-----END PRIVATE KEY-----"
#define PUBLIC "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=" /* RFC 8032, 7.1, test 1 */

static struct lane_claim checked(const struct signer *s, const struct claim_key *k,
                            const struct claim_said *said)
{
    char *jwt = signer_claim(s, said);
    const char *why = "";
    struct lane_claim c;

    cr_assert_not_null(jwt);
    cr_assert_eq(lane_claim_check(&c, jwt, strlen(jwt), k, 1, "sale", 900, NOW, &why), 0, "%s: %s", why,
                 jwt);
    free(jwt);
    return c;
}

static const struct claim_said said = { .queue = "sale",
                                        .lane = "vip",
                                        .kid = "desk",
                                        .subject = "Zoë \"Z\"",
                                        .replaces = OLD,
                                        .now_s = NOW,
                                        .expires_s = NOW + 300 };

static void says_all(const struct lane_claim *c)
{
    cr_expect_str_eq(c->lane, "vip");
    cr_expect(c->sub_len == strlen(said.subject) && memcmp(c->sub, said.subject, c->sub_len) == 0);
    cr_expect(c->replaces && memcmp(c->old, OLD, sizeof(c->old)) == 0);
}

Test(ctl_signer, routers_accept_what_a_secret_signs)
{
    struct claim_key k = { .kid = "desk", .alg = CLAIM_HS256, .len = sizeof(SECRET) - 1 };
    struct claim_said bare = { .queue = "sale", .lane = "vip", .now_s = NOW, .expires_s = NOW + 1 };
    struct err e = { 0 };
    struct signer s;
    struct lane_claim c;

    memcpy(k.key, SECRET, k.len);
    cr_assert_eq(signer_read(&s, SECRET, "f", &e), 0, "%s", e.text);
    cr_expect_str_eq(signer_alg(&s), "HS256");
    c = checked(&s, &k, &said);
    says_all(&c);
    c = checked(&s, &k, &bare);
    cr_expect(c.sub_len == 0 && !c.replaces, "it says no more than it was told");
}

Test(ctl_signer, one_claim_is_good_for_several_queues)
{
    struct claim_key k = { .kid = "desk", .alg = CLAIM_HS256, .len = sizeof(SECRET) - 1 };
    char *more[] = { (char *)"sale", (char *)"shop", NULL };
    struct claim_said all = { .queue = "login", .more = more, .lane = "vip", .now_s = NOW, .expires_s = NOW + 1 };
    struct err e = { 0 };
    struct signer s;

    memcpy(k.key, SECRET, k.len);
    cr_assert_eq(signer_read(&s, SECRET, "f", &e), 0);
    (void)checked(&s, &k, &all);
    more[0] = (char *)"other";
    more[1] = (char *)"sale";
    (void)checked(&s, &k, &all);
}

Test(ctl_signer, routers_accept_what_an_ed25519_key_signs)
{
    struct claim_key k = { .kid = "desk", .alg = CLAIM_EDDSA };
    struct err e = { 0 };
    struct signer s;
    struct lane_claim c;

    cr_assert_eq(claim_public_key(&k, PUBLIC), 0);
    cr_assert_eq(signer_read(&s, PEM, "f", &e), 0, "%s", e.text);
    cr_expect_str_eq(signer_alg(&s), "EdDSA");
    c = checked(&s, &k, &said);
    says_all(&c);
}

Test(ctl_signer, routers_accept_a_claim_for_a_task)
{
    struct claim_said task = { .queue = "ride/*", .task = "order-17", .task_key = "tenant7/user42",
                               .priority = 3, .now_s = NOW, .expires_s = NOW + 300 };
    struct claim_key k = { .kid = "desk", .alg = CLAIM_HS256, .len = sizeof(SECRET) - 1 };
    struct slice queue = { (char *)(uintptr_t)"ride/5", 6 };
    struct err e = { 0 };
    struct task_claim c;
    struct signer s;
    const char *why;
    char *jwt;

    memcpy(k.key, SECRET, k.len);
    cr_assert_eq(signer_read(&s, SECRET, "f", &e), 0, "%s", e.text);
    jwt = signer_claim(&s, &task);
    cr_assert_eq(task_claim_check(&c, (struct slice){ jwt, strlen(jwt) }, &k, 1, queue, 900, NOW, &why),
                 0, "%s", why);
    cr_expect_str_eq(c.jti, "order-17");
    cr_expect_str_eq(c.key, "tenant7/user42");
    cr_expect_eq(c.priority, 3);
    free(jwt);
}

Test(ctl_signer, files_that_are_no_key_are_refused_and_not_shown)
{
    static const char *const rows[][2] = {
        { "0123456789abcdef", "a secret has 32 to 255 characters" },
        { "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----",
          "a public key verifies claims" },
        { "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1h\n-----END PRIVATE KEY-----",
          "not an Ed25519 private key" },
        { "-----BEGIN PRIVATE KEY-----", "not an Ed25519 private key" },
        { "-----BEGIN RSA PRIVATE KEY-----\nMC4CAQAwBQYD\n", "not an Ed25519 private key" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err e = { 0 };
        struct signer s;

        cr_expect_eq(signer_read(&s, rows[i][0], "desk.key", &e), SQ_EINVAL);
        cr_expect_not_null(strstr(e.text, rows[i][1]), "%s", e.text);
        cr_expect_eq(strncmp(e.text, "desk.key: ", 10), 0);
        cr_expect_null(strstr(e.text, "MC4"));
    }
}

Test(ctl_signer, names_that_are_not_utf8_sign_nothing)
{
    struct claim_said bad = said;
    struct err e = { 0 };
    struct signer s;

    cr_assert_eq(signer_read(&s, SECRET, "f", &e), 0);
    bad.subject = "\xff";
    cr_expect_null(signer_claim(&s, &bad));
}

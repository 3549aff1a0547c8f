/* test_lane_claim.c: the right to another lane: what is taken, and every way to be refused. */
#include "tests/lib/criterion.h"

#include "router/gate/signed_claim.h"
#include "tests/lib/claimrig.h"

#define NOW 1700000000

static struct claim_key keys[2];
static uint8_t secret[crypto_sign_SECRETKEYBYTES];
static struct lane_claim c;
static const char *why;

static void set_up(void)
{
    cr_assert_geq(sodium_init(), 0);
    memset(keys, 0, sizeof(keys));
    strcpy(keys[0].kid, "shop");
    keys[0].alg = CLAIM_HS256;
    keys[0].len = sizeof(CLAIM_SECRET) - 1;
    memcpy(keys[0].key, CLAIM_SECRET, keys[0].len);
    strcpy(keys[1].kid, "app");
    keys[1].alg = CLAIM_EDDSA;
    keys[1].len = 32;
    crypto_sign_keypair(keys[1].key, secret);
}

TestSuite(claim, .init = set_up);

static int check_n(const char *jwt, size_t n_keys)
{
    return lane_claim_check(&c, jwt, strlen(jwt), keys, n_keys, "sale", 900, NOW, &why);
}

static int check(const char *jwt)
{
    return check_n(jwt, 2);
}

#define HS   "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"shop\"}"
#define ED   "{\"alg\":\"EdDSA\",\"kid\":\"app\"}"
#define GOOD "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300}"

static void refused(const char *jwt, const char *reason)
{
    cr_expect_eq(check(jwt), SQ_EAUTH, "%s", reason);
    cr_expect_str_eq(why, reason);
}

static void refused_body(const char *payload, const char *reason)
{
    refused(claim_text(HS, payload, NULL), reason);
}

Test(claim, both_algorithms_are_taken)
{
    cr_expect_eq(check(claim_text(HS, GOOD, NULL)), 0, "%s", why);
    cr_expect_str_eq(c.lane, "vip");
    cr_expect_eq(c.sub_len, 0);
    cr_expect_eq(check(claim_text(ED, GOOD, secret)), 0, "%s", why);
    cr_expect_eq(check(claim_text(
                     HS,
                     "{\"aud\":[\"x\",\"sale\"],\"lane\":\"vip\",\"sub\":\"j\\u00f6\","
                     "\"exp\":1700000300.5,\"iat\":1700000010,\"jti\":\"1\",\"more\":{}}",
                     NULL)),
                 0, "%s", why);
    cr_expect_eq(c.sub_len, 3);
    cr_expect_arr_eq(c.sub, "j\xc3\xb6", 3);
}

/* The examples of RFC 7515 A.1 and RFC 8037 A.4 pass the signature, and are then refused
 * for what they say. One changed character, and it is the signature. */
Test(claim, known_jwts_are_accepted)
{
    char rfc7515[] =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEz"
        "MDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CV"
        "P-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    char rfc8037[] =
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0J"
        "zlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    size_t len;

    cr_assert_eq(
        sodium_base642bin(keys[0].key, sizeof(keys[0].key),
                          "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj"
                          "0iPS4hcgUuTwjAzZr1Z9CAow",
                          86, NULL, &len, NULL, CLAIM_B64),
        0);
    keys[0].len = (uint16_t)len;
    cr_expect_eq(check_n(rfc7515, 1), SQ_EAUTH);
    cr_expect_str_eq(why, "the claim has expired");
    rfc7515[60] ^= 1;
    cr_expect_eq(check_n(rfc7515, 1), SQ_EAUTH);
    cr_expect_str_eq(why, "the claim's signature is wrong");
    keys[0].alg = CLAIM_EDDSA;
    cr_assert_eq(
        claim_public_key(&keys[0], "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"), 0);
    cr_expect_eq(check_n(rfc8037, 1), SQ_EAUTH);
    cr_expect_str_eq(why, "the claim's payload is not an object");
    rfc8037[30] ^= 1;
    cr_expect_eq(check_n(rfc8037, 1), SQ_EAUTH);
    cr_expect_str_eq(why, "the claim's signature is wrong");
}

Test(claim, malformed_jwts_are_refused)
{
    char big[CLAIM_MAX_LEN + 2];

    refused("", "the claim is not a JWT");
    refused("x.y.z", "the claim is not a JWT");
    refused("e30.e30", "the claim is not a JWT");
    refused("e30.e30.e30.e30", "the claim is not a JWT");
    refused("e30=.e30.e30", "the claim is not a JWT");
    refused("W10.e30.e30", "the claim is not a JWT");
    refused(claim_text("{\"alg\":\"HS256\",\"alg\":\"HS256\"}", GOOD, NULL),
            "the claim is not a JWT");
    memset(big, 'a', sizeof(big) - 1);
    big[10] = big[20] = '.';
    big[sizeof(big) - 1] = '\0';
    refused(big, "the claim is not a JWT");
}

Test(claim, the_key_decides_the_algorithm)
{
    char line[3000];

    cr_expect_eq(check_n(claim_text(HS, GOOD, NULL), 0), SQ_EAUTH);
    cr_expect_str_eq(why, "no claim can be verified here: no key is configured");
    refused(claim_text("{\"alg\":\"HS256\",\"kid\":\"app\"}", GOOD, NULL),
            "the claim's alg is not that of its key");
    refused(claim_text("{\"alg\":\"none\",\"kid\":\"shop\"}", GOOD, NULL),
            "the claim's alg is not that of its key");
    refused(claim_text("{\"kid\":\"shop\"}", GOOD, NULL),
            "the claim's alg is not that of its key");
    refused(claim_text("{\"alg\":\"HS256\",\"kid\":\"other\"}", GOOD, NULL),
            "the claim is signed with a key that is not configured (kid)");
    refused(claim_text("{\"alg\":\"HS256\",\"kid\":7}", GOOD, NULL),
            "the claim is signed with a key that is not configured (kid)");
    refused(claim_text("{\"alg\":\"HS256\"}", GOOD, NULL),
            "the claim does not say which key it is signed with (kid)");
    cr_expect_eq(check_n(claim_text("{\"alg\":\"HS256\"}", GOOD, NULL), 1), 0,
                 "one key needs no name");
    refused(claim_text(
                "{\"alg\":\"HS256\",\"kid\":\"shop\",\"crit\":[\"b64\"],\"b64\":false}",
                GOOD, NULL),
            "the claim wants extensions (crit) that nobody here knows");
    refused(claim_text(HS, GOOD, secret), "the claim's signature is wrong");
    refused(claim_text(ED, GOOD, NULL), "the claim's signature is wrong");
    strcpy(line, claim_text(HS, GOOD, NULL));
    line[strlen(line) - 4] = '\0'; /* three bytes fewer */
    refused(line, "the claim's signature is wrong");
    *strrchr(line, '.') = '\0';
    strcat(line, ".");
    refused(line, "the claim's signature is wrong");
}

/* The public key is no secret: who signs HS256 with it gets nothing. */
Test(claim, a_public_key_is_no_hmac_secret)
{
    uint8_t mac[32];
    char t[1000] = "";

    claim_part(t, sizeof(t), "{\"alg\":\"HS256\",\"kid\":\"app\"}", 27);
    strcat(t, ".");
    claim_part(t, sizeof(t), GOOD, strlen(GOOD));
    crypto_auth_hmacsha256(mac, (const uint8_t *)t, strlen(t), keys[1].key);
    strcat(t, ".");
    claim_part(t, sizeof(t), mac, sizeof(mac));
    cr_expect_eq(check(t), SQ_EAUTH);
}

Test(claim, any_changed_character_is_refused)
{
    char t[1000];
    size_t n;

    strcpy(t, claim_text(HS, GOOD, NULL));
    n = strlen(t);
    for (size_t i = 0; i < n; i++) {
        char was = t[i];

        t[i] = was == 'A' ? 'B' : 'A';
        cr_expect_eq(check(t), SQ_EAUTH, "at %zu", i);
        t[i] = was;
    }
    cr_expect_eq(check(t), 0);
}

Test(claim, expired_and_distant_claims_are_refused)
{
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\"}",
                 "the claim does not expire (exp)");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":\"1700000300\"}",
                 "the claim's exp is not a time");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1e300}",
                 "the claim's exp is not a time");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000000}",
                 "the claim has expired");
    cr_expect_eq(check(claim_text(
                     HS, "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000001}", NULL)),
                 0);
    cr_expect_eq(check(claim_text(
                     HS, "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000930}", NULL)),
                 0);
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000931}",
                 "the claim is good for longer than is allowed here (exp)");
    refused_body(
        "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"nbf\":1700000031}",
        "the claim is from the future (nbf, iat)");
    refused_body(
        "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"iat\":1700000031}",
        "the claim is from the future (nbf, iat)");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"iat\":null}",
                 "the claim's nbf or iat is not a time");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"nbf\":-1}",
                 "the claim's nbf or iat is not a time");
}

Test(claim, issuer_audience_and_queue_are_checked)
{
    char long_sub[300] =
        "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"sub\":\"";
    static const char bad_sub[] =
        "the claim's sub is not a text of 1 to 128 bytes without "
        "control characters";

    refused_body("[]", "the claim's payload is not an object");
    refused_body("{\"aud\":\"sale\",\"lane\":\"a\",\"lane\":\"vip\",\"exp\":1700000300}",
                 "the claim's payload is not an object");
    refused_body("{\"lane\":\"vip\",\"exp\":1700000300}",
                 "the claim is not for this queue (aud)");
    refused_body("{\"aud\":\"login\",\"lane\":\"vip\",\"exp\":1700000300}",
                 "the claim is not for this queue (aud)");
    refused_body("{\"aud\":[],\"lane\":\"vip\",\"exp\":1700000300}",
                 "the claim is not for this queue (aud)");
    refused_body("{\"aud\":[[\"sale\"]],\"lane\":\"vip\",\"exp\":1700000300}",
                 "the claim is not for this queue (aud)");
    refused_body("{\"aud\":\"sale\",\"exp\":1700000300}",
                 "the claim does not say for which lane it is (lane)");
    refused_body("{\"aud\":\"sale\",\"lane\":7,\"exp\":1700000300}",
                 "the claim's lane is not a name");
    refused_body("{\"aud\":\"sale\",\"lane\":\"\",\"exp\":1700000300}",
                 "the claim's lane is not a name");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"jti\":7}",
                 "the claim's jti is not a text");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"sub\":7}",
                 bad_sub);
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"sub\":\"\"}",
                 bad_sub);
    refused_body(
        "{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"sub\":\"a\\nb\"}",
        bad_sub);
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"replaces\":7}",
                 "the claim's replaces is not a token");
    refused_body("{\"aud\":\"sale\",\"lane\":\"vip\",\"exp\":1700000300,\"replaces\":\"1-2\"}",
                 "the claim's replaces is not a token");
    memset(long_sub + strlen(long_sub), 'x', 129);
    strcat(long_sub, "\"}");
    refused_body(long_sub, bad_sub);
}

Test(claim, public_keys_in_every_usual_form)
{
    /* RFC 8032's first key; the second line is what openssl pkey -pubout writes for it */
    static const char *const forms[] = {
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
        "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    };
    struct claim_key k, first;

    cr_assert_eq(claim_public_key(&first, forms[0]), 0);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        memset(&k, 0, sizeof(k));
        cr_expect_eq(claim_public_key(&k, forms[i]), 0, "%s", forms[i]);
        cr_expect_eq(k.len, 32);
        cr_expect_arr_eq(k.key, first.key, 32);
    }
    cr_expect_eq(claim_public_key(&k, ""), SQ_EINVAL);
    cr_expect_eq(claim_public_key(&k, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHUR"),
                 SQ_EINVAL);
    cr_expect_eq(claim_public_key(
                     &k, "MCowBQYDK2VuAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="),
                 SQ_EINVAL, "X25519 is another kind of key");
}

/* test_proof.c: proofs of keys, good, forged, stale and for others; stamps. */
#include "router/gate/proof.h"
#include "tests/lib/proofs.h"

#define NOW  1764000000
#define PATH "/v1/tickets/T/device"

static struct token_key keys;
static struct proof_key mine, other;
static struct proof_ask ask;
static char nonce[STAMP_LEN + 1], id[DEVICE_LEN + 1];

static void set_up(void)
{
    memset(&keys, 7, sizeof(keys));
    keys.has_other = false;
    memset(id, 0, sizeof(id));
    proof_key_new(&mine);
    proof_key_new(&other);
    ask = (struct proof_ask){ .key = &keys, .path = { (char *)PATH, strlen(PATH) }, .now_s = NOW };
    stamp_put(&keys, NULL, NOW - 5, nonce);
}

static void tear_down(void)
{
    EVP_PKEY_free(mine.pair);
    EVP_PKEY_free(other.pair);
}

TestSuite(proof, .init = set_up, .fini = tear_down);

static const char *check(const char *text)
{
    const char *why = proof_check(&ask, (struct slice){ (char *)(uintptr_t)text, strlen(text) }, id);

    return why != NULL ? why : "good";
}

static const char *good(void)
{
    return proof_of(&mine, proof_head(&mine), proof_body(PATH, nonce));
}

#define SAYS(text, part) cr_expect_not_null(strstr(check(text), part), "%s", check(text))

Test(proof, the_id_is_half_of_the_thumbprint)
{
    /* RFC 9449, section 6.1: jkt of the key of its examples */
    static const char jkt[] = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

    strcpy(mine.x, "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs");
    strcpy(mine.y, "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA");
    SAYS(good(), "signature"); /* its private key is not ours */
    cr_expect(strncmp(id, jkt, DEVICE_LEN - 1) == 0, "%s", id);
}

Test(proof, a_good_one_is_good)
{
    char first[DEVICE_LEN + 1];

    SAYS(good(), "good");
    strcpy(first, id);
    cr_expect(device_text_ok(id, strlen(id)));
    SAYS(proof_of(&other, proof_head(&other), proof_body(PATH, nonce)), "good");
    cr_expect_str_neq(id, first);
    SAYS(proof_of(&mine, proof_head(&mine), proof_body("/a/prefix" PATH "?x=1#y", nonce)), "good");
}

Test(proof, forged_ones_are_not)
{
    char text[2000], at;

    SAYS(proof_of(&other, proof_head(&mine), proof_body(PATH, nonce)), "signature");
    strcpy(text, good());
    for (size_t i = 0, n = strlen(text); i < n; i += 7) {
        at = text[i];
        text[i] = at == 'A' ? 'B' : 'A';
        cr_expect_str_neq(check(text), "good", "byte %zu", i);
        text[i] = at;
    }
    for (size_t i = 0, n = strlen(text); i < n; i++) {
        at = text[i];
        text[i] = '\0';
        cr_expect_str_neq(check(text), "good", "cut at %zu", i);
        text[i] = at;
    }
    strcat(text, ".AAAA");
    cr_expect_str_neq(check(text), "good");
    strcpy(text, good());
    memset(strrchr(text, '.') + 1, 'A', 86);
    SAYS(text, "signature"); /* r = s = 0 */
}

Test(proof, only_one_algorithm_and_kind_of_key)
{
    static const char *const bad[][2] = {
        { "\"ES256\"", "\"none\"" }, { "\"ES256\"", "\"HS256\"" }, { "\"ES256\"", "\"ES384\"" },
        { "dpop+jwt", "JWT" }, { "P-256", "P-384" }, { "\"EC\"", "\"RSA\"" }, { "\"x\":", "\"d\":\"AA\",\"x\":" },
        { "{\"typ\"", "{\"crit\":[\"b64\"],\"typ\"" }, { "\"y\":", "\"z\":" }, { "\"jwk\"", "\"jwt\"" },
        { "{\"typ\"", "[{\"typ\"" }, { "\"alg\":", "\"alg\":\"none\",\"alg\":" }, { "\"x\":\"", "\"x\":\"AAAA" },
    };
    char head[400];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *is = proof_head(&mine), *part = strstr(is, bad[i][0]);

        cr_assert_not_null(part);
        snprintf(head, sizeof(head), "%.*s%s%s", (int)(part - is), is, bad[i][1], part + strlen(bad[i][0]));
        cr_expect_str_neq(check(proof_of(&mine, head, proof_body(PATH, nonce))), "good", "%s", head);
    }
    snprintf(mine.x, sizeof(mine.x), "%s", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    SAYS(good(), "signature"); /* on no curve */
}

Test(proof, an_old_one_or_a_made_up_nonce_is_not)
{
    char made_up[STAMP_LEN + 1];

    ask.now_s = NOW - 5 + PROOF_FRESH_S;
    SAYS(good(), "good");
    ask.now_s++;
    SAYS(good(), "DPoP-Nonce");
    ask.now_s = NOW - 5 - STAMP_AHEAD_S; /* another router's clock is behind */
    SAYS(good(), "good");
    ask.now_s--;
    SAYS(good(), "DPoP-Nonce");
    ask.now_s = NOW;
    strcpy(made_up, nonce);
    made_up[1] ^= 1;
    SAYS(proof_of(&mine, proof_head(&mine), proof_body(PATH, made_up)), "DPoP-Nonce");
    SAYS(proof_of(&mine, proof_head(&mine), proof_body(PATH, "")), "DPoP-Nonce");
    stamp_put(&keys, "AAAAAAAAAAAAAAAAAAAAAA", NOW, made_up);
    SAYS(proof_of(&mine, proof_head(&mine), proof_body(PATH, made_up)), "DPoP-Nonce"); /* no cookie is one */
    SAYS(proof_of(&mine, proof_head(&mine), "{\"htm\":\"POST\",\"htu\":\"" PATH "\",\"iat\":1764000000}"), "DPoP-Nonce");
}

Test(proof, one_for_another_request_is_not)
{
    char body[400];

    SAYS(proof_of(&mine, proof_head(&mine), proof_body("/v1/tickets/U/device", nonce)), "another request");
    SAYS(proof_of(&mine, proof_head(&mine), proof_body(PATH "/", nonce)), "another request");
    SAYS(proof_of(&mine, proof_head(&mine), proof_body("?" PATH, nonce)), "another request");
    snprintf(body, sizeof(body), "{\"htm\":\"GET\",\"htu\":\"%s\",\"nonce\":\"%s\"}", PATH, nonce);
    SAYS(proof_of(&mine, proof_head(&mine), body), "another request");
    snprintf(body, sizeof(body), "{\"htm\":\"POST\",\"nonce\":\"%s\"}", nonce);
    SAYS(proof_of(&mine, proof_head(&mine), body), "another request");
}

Test(proof, a_long_one_is_not_read)
{
    char body[1500];

    snprintf(body, sizeof(body), "{\"htm\":\"POST\",\"htu\":\"%s\",\"nonce\":\"%s\",\"a\":\"%0900d\"}", PATH, nonce, 0);
    SAYS(proof_of(&mine, proof_head(&mine), body), "1024 bytes");
    SAYS("", "one JWT");
    SAYS("..", "one JWT");
    SAYS("a.b", "one JWT");
}

static bool never(const void *of, const char *key)
{
    (void)of;
    (void)key;
    return false;
}

Test(proof, another_key_costs_no_signature)
{
    ask.may = never;
    cr_expect_str_eq(check(good()), PROOF_OTHER);
    cr_expect_str_eq(check(proof_of(&other, proof_head(&mine), proof_body(PATH, nonce))), PROOF_OTHER);
}

Test(proof, a_stamp_is_of_one_id_and_one_secret)
{
    static const char a[] = "AAAAAAAAAAAAAAAAAAAAAA", b[] = "AAAAAAAAAAAAAAAAAAAAAQ";
    struct token_key next = keys;
    char text[STAMP_LEN + 1] = { 0 };

    stamp_put(&keys, a, NOW, text);
    cr_expect(device_text_ok(text, STAMP_LEN));
    cr_expect_eq(stamp_read(&keys, a, text, STAMP_LEN), NOW);
    cr_expect_eq(stamp_read(&keys, b, text, STAMP_LEN), -1);
    cr_expect_eq(stamp_read(&keys, NULL, text, STAMP_LEN), -1);
    cr_expect_eq(stamp_read(&keys, a, text, STAMP_LEN - 1), -1);
    memset(next.mac, 8, sizeof(next.mac));
    cr_expect_eq(stamp_read(&next, a, text, STAMP_LEN), -1);
    memcpy(next.other_mac, keys.mac, sizeof(next.other_mac));
    next.has_other = true; /* the cluster's secret is being changed */
    cr_expect_eq(stamp_read(&next, a, text, STAMP_LEN), NOW);
}

/* test_request.c: the header fields of a call, and how it is signed. */
#define _GNU_SOURCE 1 /* memmem */
#include "task/calls/request.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <string.h>

static struct sign_keys keys_of(const char *text)
{
    struct sign_keys k;
    unsigned line;
    const char *why = sign_keys_read(&k, text, strlen(text), &line);

    cr_assert_null(why, "line %u: %s", line, why);
    return k;
}

/* Of the libraries of standardwebhooks.com. */
Test(sign, a_known_signature)
{
    struct sign_keys k = keys_of("# made today\n\n whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw \r\n");
    static const char body[] = "{\"test\": 2432232314}";
    struct buf b;

    buf_init(&b);
    sign_append(&k, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, (const uint8_t *)body,
                strlen(body), &b);
    buf_byte(&b, 0);
    cr_expect_str_eq((const char *)b.data, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    buf_fini(&b);
}

Test(sign, old_and_new_key_and_one_of_ed25519)
{
    uint8_t seed[32] = { 1 }, public[32], secret[64], sig[64];
    char text[200] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nwhsk_";
    size_t len = strlen(text), n;
    struct sign_keys k;
    struct buf b;
    const char *v1a;

    sodium_bin2base64(text + len, sizeof(text) - len, seed, 32, sodium_base64_VARIANT_ORIGINAL);
    k = keys_of(text);
    buf_init(&b);
    sign_append(&k, "id", 1, (const uint8_t *)"body", 4, &b);
    buf_byte(&b, 0);
    cr_expect_eq(strncmp((char *)b.data, "v1,", 3), 0);
    cr_expect_not_null(strstr((char *)b.data, " v1,"));
    v1a = strstr((char *)b.data, " v1a,");
    cr_assert_not_null(v1a);
    cr_assert_eq(sodium_base642bin(sig, 64, v1a + 5, strlen(v1a + 5), NULL, &n, NULL,
                                   sodium_base64_VARIANT_ORIGINAL), 0);
    crypto_sign_seed_keypair(public, secret, seed);
    cr_expect_eq(crypto_sign_verify_detached(sig, (const uint8_t *)"id.1.body", 9, public), 0);
    buf_fini(&b);
}

Test(sign, what_is_no_key_is_said_with_its_line)
{
    static const struct {
        const char *text;
        unsigned line;
    } bad[] = {
        { "", 0 }, { "# none\n", 1 }, { "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1 },
        { "\nwhsec_MfKQ", 2 }, { "whsec_*", 1 }, { "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1 },
    };
    struct sign_keys k;
    unsigned line;

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_not_null(sign_keys_read(&k, bad[i].text, strlen(bad[i].text), &line));
        cr_expect_eq(line, bad[i].line, "%s", bad[i].text);
    }
}

static bool has(const struct buf *b, const char *line)
{
    return memmem(b->data, b->len, line, strlen(line) + 1) != NULL;
}

static struct call_span span(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

Test(request, our_secret_goes_in_place_of_the_callers_fields_of_that_name)
{
    struct request_facts f = { .task = "3-17", .queue = "img/a", .attempt = 1, .public_url = "",
                               .right = "M0", .auth = "x-api-key: sk-ours" };
    struct buf form, b;
    struct call c;

    buf_init(&form);
    buf_init(&b);
    call_pack_begin(&form, span("POST"), span("/x"));
    call_pack_header(&form, span("X-Api-Key"), span("theirs"));
    call_pack_header(&form, span("x_api_key"), span("theirs"));
    call_pack_header(&form, span("X-Api-Key-Id"), span("another"));
    call_pack_header(&form, span("Authorization"), span("stays"));
    call_pack_body(&form, span("{}"));
    cr_assert_eq(call_unpack(form.data, form.len, &c), 0);
    request_fields(&c, &f, &b);
    cr_expect(has(&b, "x-api-key: sk-ours") && has(&b, "X-Api-Key-Id: another"));
    cr_expect(has(&b, "Authorization: stays"));
    cr_expect_not(has(&b, "X-Api-Key: theirs") || has(&b, "x_api_key: theirs"));
    f.auth = NULL;
    buf_reset(&b);
    request_fields(&c, &f, &b);
    cr_expect(has(&b, "X-Api-Key: theirs") && has(&b, "x_api_key: theirs"));
    buf_fini(&form);
    buf_fini(&b);
}

Test(request, fields_of_the_caller_and_ours)
{
    struct request_facts f = { .task = "3-17", .queue = "img/a", .attempt = 1, .due_ms = 5,
                               .now_ms = 7999, .public_url = "", .right = "M0" };
    struct sign_keys k = keys_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    struct buf form, b;
    struct call c;

    buf_init(&form);
    buf_init(&b);
    call_pack_begin(&form, span("POST"), span("/x"));
    call_pack_header(&form, span("traceparent"), span("00-1"));
    call_pack_header(&form, span("User-Agent"), span("theirs"));
    call_pack_body(&form, span("{}"));
    cr_assert_eq(call_unpack(form.data, form.len, &c), 0);
    request_fields(&c, &f, &b);
    cr_expect(has(&b, "traceparent: 00-1") && has(&b, "User-Agent: theirs"));
    cr_expect_not(has(&b, "user-agent: segq/1"), "the caller's counts");
    cr_expect(has(&b, "idempotency-key: 3-17") && has(&b, "segq-task: 3-17"));
    cr_expect(has(&b, "segq-queue: img/a") && has(&b, "segq-attempt: 1") && has(&b, "segq-due: 5"));
    cr_expect_not(has(&b, "segq-redelivered: 1"));
    cr_expect(has(&b, "segq-complete-url: /v1/tasks/M0/complete"));
    f.attempt = 2;
    f.public_url = "https://queue.example.com";
    f.keys = &k;
    buf_reset(&b);
    request_fields(&c, &f, &b);
    cr_expect(has(&b, "segq-redelivered: 1") && has(&b, "webhook-id: 3-17") &&
              has(&b, "webhook-timestamp: 7"));
    cr_expect(has(&b, "segq-complete-url: https://queue.example.com/v1/tasks/M0/complete"));
    buf_fini(&form);
    buf_fini(&b);
}

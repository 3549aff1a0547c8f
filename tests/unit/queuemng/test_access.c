/* test_access.c: the file of tokens: what is refused, and how; patterns; add, revoke, write. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queuemng/access/bearer.h"

#define H1 "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define H2 "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ROW(name, role, hash, more) \
    "  - {name: " name ", role: " role ", hash: \"" hash "\", queues: [], pools: []" more "}\n"

static char file[] = "/tmp/segq-tokens-XXXXXX";

static void put(const char *text, unsigned mode)
{
    FILE *f = fopen(file, "w");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    cr_assert_eq(chmod(file, mode), 0);
}

static void setup(void)
{
    close(mkstemp(file));
}

static void teardown(void)
{
    unlink(file);
}

TestSuite(access, .init = setup, .fini = teardown);

Test(access, what_is_wrong_is_told_with_file_line_and_key)
{
    static const struct {
        const char *text, *at, *says;
    } bad[] = {
        { "", ":1: ", "the file is empty" },
        { " \n\n", ":1: ", "the file is empty" },
        { "tokens:\n" ROW("anna", "viewer", H1, "") ROW("anna", "admin", H2, ""), ":3: tokens[1].name",
          "'anna' is there twice" },
        { "tokens:\n" ROW("anna", "viewer", H1, "") ROW("ben", "admin", H1, ""), ":3: tokens[1].hash",
          "is there twice" },
        { "tokens:\n" ROW("anna", "boss", H1, ""), ":2: tokens[0].role", "viewer" },
        { "tokens:\n" ROW("root", "viewer", H1, ""), ":2: tokens[0].name", "admin_token_file" },
        { "tokens:\n" ROW("Anna", "viewer", H1, ""), ":2: tokens[0].name", "allowed" },
        { "tokens:\n" ROW("anna", "viewer", "md5:1234", ""), ":2: tokens[0].hash", "64 digits" },
        { "tokens:\n" ROW("anna", "viewer", H1 "a", ""), ":2: tokens[0].hash", "64 digits" },
        { "tokens:\n" ROW("anna", "viewer", "segq_s3cret", ""), ":2: tokens[0].hash", "64 digits" },
        { "tokens:\n" ROW("anna", "viewer", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b"
                         "7852b855", ""), ":2: tokens[0].hash", "empty" },
        { "tokens:\n" ROW("anna", "viewer", "segq_s3cretsegq_s3cretsegq_s3cretsegq_s3cretsegq_s3cretsegq_s3cret"
                         "segq_s3cretsegq_s3cretsegq_s3cretsegq_s3cret", ""), ":2: tokens[0].hash", "" },
        { "tokens:\n  - {name: a, role: viewer, token: segq_s3cret, queues: [], pools: []}\n",
          ":2: tokens[0].token", "" },
        { "tokens:\n" ROW("anna", "viewer", H1, ", until: tomorrow"), ":2: tokens[0].until",
          "with a zone" },
        { "tokens:\n" ROW("anna", "viewer", H1, ", pool: [a]"), ":2: tokens[0].pool", "pools" },
        { "tokens:\n  - {name: a, role: viewer, hash: \"" H1 "\", queues: [\"sh?p\"], pools: []}\n",
          ":2: tokens[0].queues", "is no pattern" },
        { "tokens:\n  - {name: a, role: viewer, hash: \"" H1 "\", queues: [\"\"], pools: []}\n",
          ":2: tokens[0].queues", "allowed" },
        { "tokens:\n  - {name: a, role: viewer, hash: \"" H1 "\", queues: []}\n",
          ":2: tokens[0].pools", "" },
        { "people: []\n", ":1: people", "tokens" },
    };
    struct access_file f = { 0 };

    put("tokens:\n" ROW("old", "viewer", H1, ""), 0600);
    cr_assert_eq(access_read(&f, file, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e = { 0 };

        put(bad[i].text, 0600);
        cr_expect_lt(access_read(&f, file, &e), 0, "%zu", i);
        cr_expect_not_null(strstr(e.text, file), "%zu: %s", i, e.text);
        cr_expect_not_null(strstr(e.text, bad[i].at), "%zu: %s", i, e.text);
        cr_expect_not_null(strstr(e.text, bad[i].says), "%zu: %s", i, e.text);
        cr_expect_null(strstr(e.text, "s3cret"), "a token in place of its hash: %s", e.text);
        cr_expect_not_null(access_named(&f, "old"), "the old ones stay");
    }
    access_clear(&f);
}

Test(access, a_file_that_others_may_read_is_refused)
{
    struct access_file f = { 0 };
    struct err e = { 0 };

    put("tokens: []\n", 0640);
    cr_expect_eq(access_read(&f, file, &e), SQ_EAUTH);
    cr_expect_not_null(strstr(e.text, "chmod 600"));
    put("tokens: []\n", 0600);
    cr_expect_eq(access_read(&f, file, &e), 0, "none is fine");
    unlink(file);
    cr_expect_eq(access_read(&f, file, &e), SQ_EGONE);
    access_clear(&f);
}

Test(access, a_token_is_found_by_itself_alone_until_it_is_revoked)
{
    struct access_file f = { 0 }, g = { 0 };
    char anna[TOKEN_CAP], ben[TOKEN_CAP], text[4000];
    const struct access_token *t;
    struct err e = { 0 };
    struct stat st;
    FILE *in;
    size_t n;

    cr_assert_eq(access_add(&f, "anna", ROLE_OPERATOR, "", "shop,login-*", "", anna, &e), 0, "%s", e.text);
    cr_assert_eq(access_add(&f, "ben", ROLE_VIEWER, "2027-01-01T00:00:00Z", "*", "*", ben, &e), 0);
    cr_expect_eq(access_add(&f, "ben", ROLE_VIEWER, "", "*", "*", text, &e), SQ_EINVAL);
    cr_expect_eq(access_add(&f, "cleo", ROLE_VIEWER, "soon", "*", "*", text, &e), SQ_EINVAL);
    cr_expect_eq(access_add(&f, "cleo", ROLE_VIEWER, "", "a b", "*", text, &e), SQ_EINVAL);
    cr_expect_eq(access_add(&f, "Cleo", ROLE_VIEWER, "", "a", "*", text, &e), SQ_EINVAL);
    cr_expect_str_neq(anna, ben);
    cr_assert_eq(access_write(&f, file, &e), 0, "%s", e.text);
    cr_assert_eq(stat(file, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0600);
    cr_assert_eq(access_read(&g, file, &e), 0, "%s", e.text);
    t = access_find(&g, anna, strlen(anna));
    cr_assert_not_null(t);
    cr_expect_str_eq(t->name, "anna");
    cr_expect_eq(access_role(t), ROLE_OPERATOR);
    cr_expect(patterns_match(&t->queues, "login-eu") && !patterns_match(&t->queues, "cup"));
    cr_expect(!patterns_match(&t->pools, "shop"));
    cr_expect_not(access_is_over(t, INT64_MAX));
    cr_expect_null(access_find(&g, anna, strlen(anna) - 1));
    cr_expect_null(access_find(&g, "", 0));
    t = access_find(&g, ben, strlen(ben));
    cr_expect(!access_is_over(t, 1798761599999) && access_is_over(t, 1798761600000));
    in = fopen(file, "r");
    n = fread(text, 1, sizeof(text) - 1, in);
    fclose(in);
    text[n] = '\0';
    cr_expect(strstr(text, anna) == NULL && strstr(text, ben) == NULL, "hashes only");
    access_remove(&g, access_named(&g, "anna"));
    cr_expect_null(access_find(&g, anna, strlen(anna)));
    cr_expect_not_null(access_find(&g, ben, strlen(ben)));
    access_clear(&f);
    access_clear(&g);
}

Test(access, in_a_pattern_a_star_is_any_text)
{
    cr_expect(pattern_matches("shop", "shop") && !pattern_matches("shop", "shops"));
    cr_expect(!pattern_matches("shop", "") && pattern_matches("*", "") && pattern_matches("*", "a/b"));
    cr_expect(pattern_matches("ride/*", "ride/7") && !pattern_matches("ride/*", "ride"));
    cr_expect(pattern_matches("ride/*", "ride/*"), "a pool's own pattern");
    cr_expect_not(pattern_matches("ride/a*", "ride/*"), "a pool of more than the token is for");
    cr_expect(pattern_matches("*-eu-*", "a-eu-b-eu-c") && !pattern_matches("*-eu-*", "a-eub"));
    cr_expect(pattern_matches("a*b*c", "aXbYbc") && !pattern_matches("a*b*c", "aXbYb"));
    cr_expect_not(pattern_matches("", "a"));
}

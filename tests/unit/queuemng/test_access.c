/* test_access.c: the file of tokens: what is refused, and how; patterns; add, revoke, write. */
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queuemng/access/tokens.h"

#define H1 "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define H2 "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ROW(name, role, hash, more) \
    "  - {name: " name ", role: " role ", hash: \"" hash "\", queues: [], pools: []" more "}\n"

#define FOR(name, role, by) "  - {name: " name ", role: " role ", queues: [], pools: [], " by "}\n"

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
        { "tokens:\n  - {name: a, role: viewer, queues: [], pools: []}\n", ":2: tokens[0].hash", "one of" },
        { "tokens:\n" ROW("a", "viewer", H1, ", group: ops"), ":2: tokens[0].group", "one of" },
        { "tokens:\n" FOR("a", "viewer", "user: x, email: y"), ":2: tokens[0].email", "one of" },
        { "tokens:\n" FOR("a", "viewer", "user: anna") FOR("b", "admin", "user: anna"), ":3: tokens[1].user",
          "'anna' is there twice" },
        { "tokens:\n" FOR("a", "viewer", "group: ops") FOR("b", "admin", "group: ops"),
          ":3: tokens[1].group", "first row" },
        { "tokens:\n" FOR("a", "viewer", "user: \"anna \""), ":2: tokens[0].user", "printable" },
        { "tokens:\n" FOR("a", "viewer", "email: \"\u00e4@x\""), ":2: tokens[0].email", "printable" },
        { "tokens:\n" FOR("a", "viewer", "group: \"a,b\""), ":2: tokens[0].group", "no comma" },
        { "tokens:\n" FOR("a", "viewer", "group: \"a\\tb\""), ":2: tokens[0].group", "control" },
        { "tokens:\n" FOR("a", "viewer", "group: \" a\""), ":2: tokens[0].group", "blank" },
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
    for (const char *const *k = (const char *const[]){ "user:", "email:", "group:", NULL }; *k != NULL; k++)
        cr_expect_null(strstr(text, *k), "%s: a manager from before knows no such key", *k);
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

/* ---- people of a proxy ---- */

static struct access_file people;
static const char *name;

/* The row for whom the proxy has signed in; "-": none; "(NAME)": one that is over. */
static const char *row_of(const char *user, const char *email, const char *groups)
{
    static char over[80];
    const struct access_token *ended, *t;

    name = "";
    t = access_of_person(&people, &(struct access_person){ user, email, groups }, 1800000000000, &name,
                         &ended);
    snprintf(over, sizeof(over), "(%s)", ended != NULL ? ended->name : "");
    return t != NULL ? t->name : ended != NULL ? over : "-";
}

Test(access, a_person_has_one_row)
{
    struct err e = { 0 };
    char token[TOKEN_CAP];

    cr_assert_eq(access_add(&people, "anna", ROLE_ADMIN, "", "*", "*", token, &e), 0);
    cr_assert_eq(access_add_people(&people, "ops", ROLE_OPERATOR, "", "*", "*", "group", "ops", &e), 0, "%s",
                 e.text);
    cr_assert_eq(access_add_people(&people, "boss", ROLE_ADMIN, "", "*", "*", "group", "the boss", &e), 0);
    cr_assert_eq(access_add_people(&people, "night", ROLE_VIEWER, "", "*", "*", "group", "运维", &e), 0);
    cr_assert_eq(access_add_people(&people, "old", ROLE_ADMIN, "2020-01-01T00:00:00Z", "*", "*", "user",
                                   "olga", &e), 0);
    cr_assert_eq(access_add_people(&people, "ben", ROLE_VIEWER, "", "*", "*", "user", "CN=ben,O=x", &e), 0);
    cr_assert_eq(access_add_people(&people, "cleo", ROLE_VIEWER, "", "*", "*", "email", "cleo@x.org", &e), 0);
    cr_expect_lt(access_add_people(&people, "twice", ROLE_VIEWER, "", "*", "*", "group", "ops", &e), 0);
    cr_assert_eq(access_write(&people, file, &e), 0);
    cr_assert_eq(access_read(&people, file, &e), 0, "%s", e.text);
    cr_expect(access_has_people(&people));
    cr_expect_str_eq(row_of("dora", "", "a, ops"), "ops");
    cr_expect_str_eq(name, "dora");
    cr_expect_str_eq(row_of("", "dora@x.org", "ops"), "ops");
    cr_expect_str_eq(name, "dora@x.org", "without a user the address");
    cr_expect_str_eq(row_of("dora", "", "the boss,ops"), "ops", "the first of the file");
    cr_expect_str_eq(row_of("dora", "", "a,the boss ,b"), "boss");
    cr_expect_str_eq(row_of("dora", "", "\t运维"), "night");
    cr_expect_str_eq(row_of("CN=ben,O=x", "", "ops"), "ben", "the person before their groups");
    cr_expect_str_eq(row_of("ben", "", "CN=ben,O=x"), "-");
    cr_expect_str_eq(row_of("c", "cleo@x.org", "ops"), "cleo");
    cr_expect_str_eq(name, "cleo@x.org", "what the row knows, not what stands beside it");
    cr_expect_str_eq(row_of("cleo@x.org", "", ""), "-", "a row reads one header");
    cr_expect_str_eq(row_of("olga", "", ""), "(old)");
    cr_expect_str_eq(row_of("olga", "", "x,ops"), "ops", "one that is over is none");
    cr_expect_str_eq(row_of("ops", "ops", ""), "-");
    cr_expect_str_eq(row_of("anna", "anna", "anna"), "-", "that of a token");
    cr_expect_str_eq(row_of("", "", "ops"), "-", "a group is nobody");
    cr_expect_str_eq(row_of("d\xc3\xb6ra", "", "ops"), "-", "what cannot be logged in one spelling");
    for (const char *const *g = (const char *const[]){ "", ",", "op", "opss", "ops x", "xops", "Ops", "o,ps",
                                                       "the,boss", " , ,", NULL }; *g != NULL; g++)
        cr_expect_str_eq(row_of("dora", "", *g), "-", "%s", *g);
    cr_expect_null(access_find(&people, "", 0), "a row without a hash is no token's");
    access_clear(&people);
}

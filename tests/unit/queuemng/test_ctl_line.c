/* test_ctl_line.c: the line that was typed: KEY=VALUE words, options, names that were almost meant. */
#include "tests/lib/criterion.h"
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/request.h"
#include "queuemng/policy/queue_def.h"
#include "tests/lib/ctl_text.h"

TestSuite(ctl_line, .init = text_begin, .fini = text_end);

static void pairs_are(const char *want, char *const *words)
{
    struct err e = { 0 };
    json_t *got = ctl_pairs(words, queue_def_keys, &e), *exp = js(want);

    cr_assert_not_null(got, "%s", e.text);
    cr_expect(json_equal(got, exp), "not %s", want);
    json_decref(got);
    json_decref(exp);
}

Test(ctl_line, words_become_json)
{
    char *w[] = { "a=1", "b=1.5", "c=true",   "d=open", "e=3s",
                  "f=",  "g=x=y", "h=\"12\"", "i=null", NULL };

    pairs_are("{}", (char *[]){ NULL });
    pairs_are("{\"a\":1,\"b\":1.5,\"c\":true,\"d\":\"open\",\"e\":\"3s\",\"f\":\"\","
              "\"g\":\"x=y\",\"h\":\"12\",\"i\":\"null\"}",
              w);
}

/* What is a text stays one: the manager takes no number for it. */
Test(ctl_line, texts_may_look_like_numbers)
{
    char *w[] = { "message=2027", "page.title=true", "state=null", "max_active=5",
                  "page.accent=\"#fff\"", "idle.game=3000", NULL };

    pairs_are("{\"message\":\"2027\",\"page\":{\"title\":\"true\",\"accent\":\"#fff\"},"
              "\"state\":\"null\",\"max_active\":5,\"idle\":{\"game\":3000}}",
              w);
}

Test(ctl_line, dotted_keys_nest)
{
    char *w[] = { "idle.game=3s", "merge=false", "idle.mobile=5s", "x.y.z=-2", NULL };

    pairs_are("{\"idle\":{\"game\":\"3s\",\"mobile\":\"5s\"},\"merge\":false,"
              "\"x\":{\"y\":{\"z\":-2}}}",
              w);
}

Test(ctl_line, brackets_are_json)
{
    char *w[] = { "lanes=[{\"name\":\"vip\"}, {\"name\":\"default\",\"weight\":3}]",
                  "idle={\"game\":\"9s\"}", NULL };

    pairs_are("{\"lanes\":[{\"name\":\"vip\"},{\"name\":\"default\",\"weight\":3}],"
              "\"idle\":{\"game\":\"9s\"}}",
              w);
}

static void refused(const char *a, const char *second, const char *why)
{
    char *w[3] = { (char *)(uintptr_t)a, (char *)(uintptr_t)second, NULL };
    struct err e = { 0 };

    cr_expect_null(ctl_pairs(w, queue_def_keys, &e), "%s", a);
    cr_expect_not_null(strstr(e.text, why), "%s: %s", a, e.text);
}

Test(ctl_line, bad_words_are_named)
{
    char longest[400];

    memset(longest, 'k', sizeof(longest));
    memcpy(longest + 390, "=1", 3);
    refused("pause", NULL, "'pause' is not KEY=VALUE");
    refused("=1", NULL, "not KEY=VALUE");
    refused(longest, NULL, "not KEY=VALUE");
    refused("a..b=1", NULL, "empty part");
    refused(".a=1", NULL, "empty part");
    refused("a.=1", NULL, "empty part");
    refused("a=1", "a=2", "a value already");
    refused("a=1", "a.b=2", "a value already");
    refused("a.b=1", "a=2", "a value already");
    refused("l=[1,", NULL, "looks like JSON");
    refused("l={\"a\":1,\"a\":2}", NULL, "looks like JSON");
    refused("l=\"x", NULL, "looks like JSON");
    refused("n=\xff", NULL, "UTF-8");
}

Test(ctl_line, tiers_of_words)
{
    char *good[] = { "50:2000", "70.5:0.5", NULL };
    static char *const bad[] = { "50", ":5", "50:", "a:1", "1:-1", "1:2x", "-1:2", "nan:1" };
    struct err e = { 0 };
    json_t *v = ctl_tiers(good, &e), *want = js("[{\"below\":50.0,\"rate_per_s\":2000.0},"
                                                   "{\"below\":70.5,\"rate_per_s\":0.5}]");

    cr_expect(json_equal(v, want));
    json_decref(v);
    json_decref(want);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *w[] = { "50:2000", bad[i], NULL };

        cr_expect_null(ctl_tiers(w, &e), "%s", bad[i]);
        cr_expect(strstr(e.text, "is no tier") != NULL, "%s", e.text);
    }
}

static int read_line(struct ctl *c, const char *a, const char *second)
{
    char *argv[] = { "segqctl", "status", (char *)(uintptr_t)a, (char *)(uintptr_t)second, NULL };
    int words;

    optind = 0; /* glibc: begin anew */
    return options_read(c, second != NULL ? 4 : 3, argv, &words);
}

Test(ctl_line, bad_options_are_refused)
{
    static const char *const bad[] = { "--version=x", "--help=x", "--json=x", "--yes=", "--cou", "--out",
                                       "-n", "-x", "-\xc3\xa9", "--nope", "-5" };
    struct ctl c = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(read_line(&c, bad[i], NULL), CTL_USAGE, "%s", bad[i]);
    cr_expect(!c.version && !c.help && !c.yes && c.form == FORM_TABLE && c.count == 0);
}

Test(ctl_line, values_of_options_may_begin_with_a_dash)
{
    struct ctl c = { 0 };

    cr_expect_eq(read_line(&c, "--label=-x", NULL), CTL_OK);
    cr_expect_str_eq(c.label, "-x");
    c.label = NULL;
    cr_expect_eq(read_line(&c, "--label", "--yes"), CTL_OK);
    cr_expect_str_eq(c.label, "--yes");
    cr_expect(!c.yes);
    cr_expect_eq(read_line(&c, "-n3", "--count=4"), CTL_OK);
    cr_expect_eq(c.count, 4, "the last one holds");
}

Test(ctl_line, typing_errors_are_near)
{
    cr_expect_eq(near_distance("task why", "task why"), 0);
    cr_expect_eq(near_distance("task redrive", "task redirve"), 1);
    cr_expect_eq(near_distance("images", "image"), 1);
    cr_expect_eq(near_distance("ab", "ba"), 1);
    cr_expect_eq(near_distance("name", "rate"), 2);
    cr_expect_eq(near_distance("", "abc"), 3);
    cr_expect_eq(near_distance("a", "0123456789012345678901234567890123456789"), UINT_MAX);
}

/* Runs what prints to standard error; its text. */
static const char *said(int (*run)(void))
{
    static char line[400];
    FILE *was = stderr;
    size_t n;

    stderr = tmpfile();
    cr_expect_eq(run(), CTL_USAGE);
    rewind(stderr);
    n = fread(line, 1, sizeof(line) - 1, stderr);
    line[n] = '\0';
    fclose(stderr);
    stderr = was;
    return line;
}

static int misspelt(void)
{
    return read_line(&(struct ctl){ 0 }, "--lable=x", NULL);
}

static int unknown(void)
{
    return read_line(&(struct ctl){ 0 }, "--bogus", NULL);
}

static int twice(void)
{
    return read_line(&(struct ctl){ 0 }, "--label=a", "--label=b");
}

Test(ctl_line, an_option_that_is_none_is_told_with_the_one_that_is_meant)
{
    cr_expect_str_eq(said(misspelt), "segqctl: no option '--lable=x'; did you mean --label?\n");
    cr_expect_str_eq(said(unknown), "segqctl: no option '--bogus'; segqctl -h lists them\n");
}

/* Of two labels one alone would count. */
Test(ctl_line, a_value_that_few_commands_take_is_given_once)
{
    cr_expect_str_eq(said(twice), "segqctl: --label can be given once\n");
}

Test(ctl_line, a_query_is_encoded_and_never_cut)
{
    char path[QUERY_MAX] = "/x?", value[QUERY_MAX];

    cr_expect(query_add(path, "n", "5") && query_add(path, "after", "3-77+/=&"));
    cr_expect_str_eq(path, "/x?n=5&after=3-77%2B%2F%3D%26");
    strcpy(path, "/x");
    cr_expect(query_add(path, "key", "a b"));
    cr_expect_str_eq(path, "/x?key=a%20b");
    memset(value, 'v', 391);
    value[391] = '\0';
    cr_expect(!query_add(path, "label", value));
    cr_expect_str_eq(path, "/x?key=a%20b");
}

static const char *meant(const char *typed)
{
    struct near n = near_to(typed);

    near_try(&n, "login");
    near_try(&n, "a1");
    return n.name != NULL ? n.name : "";
}

Test(ctl_line, of_a_short_word_few_letters_may_be_wrong)
{
    cr_expect_str_eq(meant("logn"), "login");
    cr_expect_str_eq(meant("lgoin"), "login");
    cr_expect_str_eq(meant("lgion"), "login");
    cr_expect_str_eq(meant("lgn"), "");
    cr_expect_str_eq(meant("b2"), "");
    cr_expect_str_eq(meant(""), "");
}

/* Each command says what takes it back. */
Test(ctl_line, every_command_answers_whether_it_can_be_undone)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        cr_expect(d->undo != NULL, "%s", d->words);
        cr_expect(d->method == NULL || (strcmp(d->method, "GET") == 0) == (d->undo[0] == '\0'), "%s", d->words);
    }
}

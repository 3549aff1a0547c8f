/* test_segqctl.c: KEY=VALUE words, bars, columns, and the cluster as text. */
#include "tests/lib/criterion.h"
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/near.h"
#include "queuemng/policy/queue_def.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/history_view.h"
#include "queuemng/ctl_view/risk_view.h"
#include "queuemng/ctl_view/status_view.h"
#include "queuemng/ctl_view/task_view.h"

static struct buf b;

static void begin(void)
{
    buf_init(&b);
}

static void end(void)
{
    buf_fini(&b);
}

TestSuite(segqctl, .init = begin, .fini = end);

static const char *text(void)
{
    buf_byte(&b, 0);
    b.len--;
    return (const char *)b.data;
}

static json_t *js(const char *s)
{
    json_error_t e;
    json_t *j = json_loads(s, 0, &e);

    cr_assert_not_null(j, "%s: %s", s, e.text);
    return j;
}

/* ---- KEY=VALUE ---- */

static void pairs_are(const char *want, char *const *words, size_t n)
{
    struct err e = { 0 };
    json_t *got = ctl_pairs(words, n, queue_def_keys, &e), *exp = js(want);

    cr_assert_not_null(got, "%s", e.text);
    cr_expect(json_equal(got, exp), "not %s", want);
    json_decref(got);
    json_decref(exp);
}

Test(segqctl, words_become_json)
{
    char *w[] = { "a=1", "b=1.5", "c=true",   "d=open", "e=3s",
                  "f=",  "g=x=y", "h=\"12\"", "i=null" };

    pairs_are("{}", NULL, 0);
    pairs_are("{\"a\":1,\"b\":1.5,\"c\":true,\"d\":\"open\",\"e\":\"3s\",\"f\":\"\","
              "\"g\":\"x=y\",\"h\":\"12\",\"i\":\"null\"}",
              w, ARRAY_LEN(w));
}

/* What is a text stays one: the manager takes no number for it. */
Test(segqctl, texts_may_look_like_numbers)
{
    char *w[] = { "message=2027", "page.title=true", "state=null", "max_active=5",
                  "page.accent=\"#fff\"", "idle.game=3000" };

    pairs_are("{\"message\":\"2027\",\"page\":{\"title\":\"true\",\"accent\":\"#fff\"},"
              "\"state\":\"null\",\"max_active\":5,\"idle\":{\"game\":3000}}",
              w, ARRAY_LEN(w));
}

Test(segqctl, dotted_keys_nest)
{
    char *w[] = { "idle.game=3s", "merge=false", "idle.mobile=5s", "x.y.z=-2" };

    pairs_are("{\"idle\":{\"game\":\"3s\",\"mobile\":\"5s\"},\"merge\":false,"
              "\"x\":{\"y\":{\"z\":-2}}}",
              w, ARRAY_LEN(w));
}

Test(segqctl, brackets_are_json)
{
    char *w[] = { "lanes=[{\"name\":\"vip\"}, {\"name\":\"default\",\"weight\":3}]",
                  "idle={\"game\":\"9s\"}" };

    pairs_are("{\"lanes\":[{\"name\":\"vip\"},{\"name\":\"default\",\"weight\":3}],"
              "\"idle\":{\"game\":\"9s\"}}",
              w, ARRAY_LEN(w));
}

/* ---- names ---- */

Test(segqctl, a_pool_that_is_none_is_told_with_the_one_that_is_meant)
{
    json_t *doc = js("{\"pools\":[{\"match\":\"images\"},{\"match\":\"ride/\\u202e*\"},{\"match\":7},7]}");

    cr_expect(view_is_pool(&b, doc, "images") && b.len == 0);
    cr_expect(!view_is_pool(&b, doc, "imagse"));
    cr_expect_str_eq(text(), "there is no pool 'imagse'; did you mean images?");
    buf_reset(&b);
    cr_expect(!view_is_pool(&b, doc, "ride/\xe2\x80\xae" "5"));
    cr_expect_str_eq(text(), "there is no pool 'ride/?5'; it is a queue of pool ride/?*, which is paused as a "
                             "whole: segqctl task pause 'ride/?*'");
    json_decref(doc);
}

/* ---- options ---- */

static int read_line(struct ctl *c, const char *a, const char *second)
{
    char *argv[] = { "segqctl", "status", (char *)(uintptr_t)a, (char *)(uintptr_t)second, NULL };
    int words;

    optind = 0; /* glibc: begin anew */
    return options_read(c, second != NULL ? 4 : 3, argv, &words);
}

Test(segqctl, bad_options_are_refused)
{
    static const char *const bad[] = { "--version=x", "--help=x", "--json=x", "--yes=", "--cou", "--out",
                                       "-n", "-x", "-\xc3\xa9", "--nope", "-5" };
    struct ctl c = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(read_line(&c, bad[i], NULL), CTL_USAGE, "%s", bad[i]);
    cr_expect(!c.version && !c.help && !c.yes && c.form == FORM_TABLE && c.count == 0);
}

Test(segqctl, values_of_options_may_begin_with_a_dash)
{
    struct ctl c = { 0 };

    cr_expect_eq(read_line(&c, "--label=-x", NULL), CTL_OK);
    cr_expect_str_eq(c.label, "-x");
    cr_expect_eq(read_line(&c, "--label", "--yes"), CTL_OK);
    cr_expect_str_eq(c.label, "--yes");
    cr_expect(!c.yes);
    cr_expect_eq(read_line(&c, "-n3", "--count=4"), CTL_OK);
    cr_expect_eq(c.count, 4, "the last one holds");
}

static void refused(const char *a, const char *second, const char *why)
{
    char *w[2] = { (char *)(uintptr_t)a, (char *)(uintptr_t)second };
    struct err e = { 0 };

    cr_expect_null(ctl_pairs(w, second != NULL ? 2 : 1, queue_def_keys, &e), "%s", a);
    cr_expect_not_null(strstr(e.text, why), "%s: %s", a, e.text);
}

Test(segqctl, typing_errors_are_near)
{
    cr_expect_eq(near_distance("task why", "task why"), 0);
    cr_expect_eq(near_distance("task redrive", "task redirve"), 1);
    cr_expect_eq(near_distance("images", "image"), 1);
    cr_expect_eq(near_distance("ab", "ba"), 1);
    cr_expect_eq(near_distance("name", "rate"), 2);
    cr_expect_eq(near_distance("", "abc"), 3);
    cr_expect_eq(near_distance("a", "0123456789012345678901234567890123456789"), UINT_MAX);
}

static const char *meant(const char *typed)
{
    struct near n = near_to(typed);

    near_try(&n, "login");
    near_try(&n, "a1");
    return n.name != NULL ? n.name : "";
}

Test(segqctl, of_a_short_word_few_letters_may_be_wrong)
{
    cr_expect_str_eq(meant("logn"), "login");
    cr_expect_str_eq(meant("lgoin"), "login");
    cr_expect_str_eq(meant("lgion"), "login");
    cr_expect_str_eq(meant("lgn"), "");
    cr_expect_str_eq(meant("b2"), "");
    cr_expect_str_eq(meant(""), "");
}

Test(segqctl, status_tells_of_a_task_node_that_is_away)
{
    json_t *j = js("{\"epoch\": 3, \"tasks\": {\"pools\": [{\"pool\": \"images\", \"paused\": false,"
                   "\"away\": 1, \"waiting\": 1200, \"oldest_ms\": 90000}], \"nodes\": [{\"name\": \"task.0\","
                   "\"up\": false, \"silent_ms\": 12000, \"partitions\": 1, \"addr\": \"a:1\"}]}}");

    cr_assert(view_cluster(&b, j, NULL, false));
    cr_expect_not_null(strstr(text(), "images  away"), "%s", text());
    cr_expect_not_null(strstr(text(), " away for 12 s "), "%s", text());
    json_decref(j);
}

Test(segqctl, a_task_in_lines)
{
    json_t *j = js("{\"id\": \"3-77\", \"state\": \"waiting\", \"because\": \"no\\u001bthing\","
                   "\"queue\": \"images\", \"key\": null, \"position\": 12, \"ahead_of_key\": 100,"
                   "\"attempts\": 2}");

    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "task       3-77\nstate      waiting\nbecause    no?thing\n"));
    cr_expect_not_null(strstr(text(), "12 in its queue; before it in its key: 100 or more\n"));
    cr_expect_null(strstr(text(), "key  "), "it has none");
    json_decref(j);
}

Test(segqctl, the_reason_names_times_not_fields)
{
    json_t *j = js("{\"id\": \"3-77\", \"because\": \"attempt 1 failed (nack): again from ends_at on\", \"ends_at\": 1000}");

    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "because    attempt 1 failed (nack): again from 1970-01-01 00:16:40 UTC on\n"),
                       "%s", text());
    json_decref(j);
    buf_reset(&b);
    j = js("{\"id\": \"3-77\", \"because\": \"kept until ends_at\", \"ends_at\": null}");
    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "because    kept until ends_at\n"), "%s", text());
    json_decref(j);
}

Test(segqctl, an_attempt_in_a_line)
{
    json_t *j = js("{\"id\": \"3-77\", \"state\": \"dead\", \"earlier_attempts\": 1, \"history\": ["
                   "{\"attempt\": 2, \"end\": \"nack\", \"started_at\": 1000, \"ended_at\": 1000.35},"
                   "{\"attempt\": 3, \"end\": \"nack\", \"started_at\": 1000, \"ended_at\": 1020}]}");

    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "  1 attempt before these\n"), "%s", text());
    cr_expect_not_null(strstr(text(), ", took 350 ms: nack"), "%s", text());
    cr_expect_not_null(strstr(text(), ", took 20 s: nack"), "%s", text());
    json_decref(j);
}

Test(segqctl, endpoints_say_how_they_are)
{
    json_t *j = js("{\"endpoints\": [{\"name\": \"a\"}, {\"name\": \"b\", \"open\": 1, \"half_open\": 1},"
                   "{\"name\": \"c\", \"half_open\": 1}, {\"name\": \"d\", \"paused\": true},"
                   "{\"name\": \"e\", \"unusable\": \"/k: cannot be\\u001b read\"},"
                   "{\"name\": \"f\", \"tripped\": true, \"open\": 2, \"in_flight\": 9, \"held\": 8}]}");

    view_endpoints(&b, j);
    cr_expect_not_null(strstr(text(), "\na         up "), "%s", text());
    cr_expect_not_null(strstr(text(), "\nb         down "));
    cr_expect_not_null(strstr(text(), "\nc         half-open "));
    cr_expect_not_null(strstr(text(), "\nd         paused "));
    cr_expect_not_null(strstr(text(), "\ne         unusable "));
    cr_expect_not_null(strstr(text(), "\ne is unusable: /k: cannot be? read\n"));
    cr_expect_not_null(strstr(text(), "\nf         tripped "));
    cr_expect_not_null(strstr(text(), " NODES  IN_FLIGHT  HELD "), "%s", text());
    cr_expect_not_null(strstr(text(), "          9     8 "), "%s", text());
    cr_expect_not_null(strstr(text(), "\nf: 8 of its slots are held until a lease ends: the target said `pending`, "));
    cr_expect_null(strstr(text(), "\na: "));
    json_decref(j);
}

Test(segqctl, a_probe_says_what_came_of_it)
{
    json_t *j = js("{\"probe\": [{\"node\": \"task-1\", \"outcome\": \"ended\", \"answer\": \"server_error\", \"ms\": 12},"
                   "{\"node\": \"task-2\", \"outcome\": \"no_task\"},"
                   "{\"node\": \"task-3\", \"outcome\": \"of_a_later_release\"}]}");

    view_probe(&b, j);
    cr_expect_not_null(strstr(text(), "\ntask-1  12  server_error\n"), "%s", text());
    cr_expect_not_null(strstr(text(), "\ntask-2   -  no task waits that may start: nothing was sent\n"));
    cr_expect_not_null(strstr(text(), "\ntask-3   -  of_a_later_release\n"));
    json_decref(j);
}

Test(segqctl, bad_words_are_named)
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

/* ---- bars, numbers, columns ---- */

static void bar_is(const char *want, uint64_t held, uint64_t used, uint64_t of)
{
    buf_reset(&b);
    ctl_bar(&b, held, used, of, 10);
    cr_expect_str_eq(text(), want);
}

Test(segqctl, bars_round_neither_anybody_nor_a_place_away)
{
    bar_is("[..........]", 0, 0, 100);
    bar_is("[#####-----]", 50, 100, 100);
    bar_is("[####--....]", 40, 60, 100);
    bar_is("[#.........]", 1, 1, 1000000);
    bar_is("[#########.]", 999999, 999999, 1000000);
    bar_is("[##########]", 100, 100, 100);
    bar_is("[##########]", 200, 100, 100); /* nonsense stays inside the bar */
    bar_is("[..........]", 5, 5, 0);
    bar_is("[##########]", UINT64_MAX, UINT64_MAX, UINT64_MAX);
}

static void rate_is(const char *want, double v)
{
    buf_reset(&b);
    ctl_rate(&b, v);
    cr_expect_str_eq(text(), want);
}

Test(segqctl, rates_read_well)
{
    rate_is("0/s", 0);
    rate_is("0.4/s", 0.4);
    rate_is("10/s", 9.999);
    rate_is("2 000/s", 2000);
    rate_is("1 234 568/s", 1234567.6);
    rate_is("?/s", -1);
    rate_is("?/s", strtod("nan", NULL));
    rate_is("?/s", strtod("inf", NULL));
}

Test(segqctl, columns_align)
{
    static const struct col cols[] = {
        { "NAME", "name", .put = put_text }, { ">COUNT", "n", .put = put_count },
        { "STATE", "of.state", .put = put_text },
    };
    json_t *rows = js("[{\"name\":\"a\",\"n\":1234567,\"of\":{\"state\":\"open\"}},"
                      "{\"name\":\"longer\",\"n\":5,\"of\":{\"state\":\"x\\u001b[2Jy\\u009bz\"}}]");
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
    table_put(&b, &t, 2, "no rows\n");
    table_init(&t, cols, ARRAY_LEN(cols));
    table_put(&b, &t, 2, NULL);
    cr_expect_str_eq(text(), "no rows\n  NAME  COUNT  STATE\n");
    buf_reset(&b);
    table_init(&t, cols, ARRAY_LEN(cols));
    table_row(&t, json_array_get(rows, 0));
    table_row(&t, json_array_get(rows, 1));
    table_put(&b, &t, 2, "no rows\n");
    cr_expect_str_eq(text(), "  NAME        COUNT  STATE\n"
                             "  a       1 234 567  open\n"
                             "  longer          5  x?[2Jy?z\n");
    json_decref(rows);
}

Test(segqctl, a_sentence_has_members_in_their_formats)
{
    json_t *o = js("{\"a\":\"x\\u001by\",\"n\":1204,\"of\":{\"ms\":3000,\"at\":1000}}");

    ctl_say(&b, o, "{a}: {n#}, {n=}, {n/}, {of.ms~}, {of.at@}; {none}, {none#}.");
    cr_expect_str_eq(text(), "x?y: 1 204, 1204, 1 204/s, 3 s, 1970-01-01 00:16:40 UTC; -, 0.");
    json_decref(o);
}

/* ---- views ---- */

static const char cluster[] =
    "{\"epoch\":3,\"map_version\":41,"
    "\"nodes\":[{\"name\":\"segment.0\",\"addr\":\"127.0.0.1:9050\",\"up\":true,"
    "\"draining\":true,\"segments\":2,\"max_segments\":64,\"tickets\":30,"
    "\"max_tickets\":100,\"incarnation\":1}],"
    "\"routers\":[{\"name\":\"router.0\",\"http\":\"127.0.0.1:8080\",\"map_version\":41}]"
    ","
    "\"queues\":[{\"queue\":\"login\",\"id\":1,\"state\":\"open\",\"allowed_per_s\":2000,"
    "\"limited_by\":\"cpu\",\"claim_rate\":0.8,\"boost\":1.25,"
    "\"lanes\":[{\"lane\":\"default\",\"waiting\":30,\"ready\":2,"
    "\"active\":3,\"returning\":1,\"released\":70,\"rate_per_s\":12.5,\"eta_last_s\":15,\"segments\":["
    "{\"segment\":17,\"node\":\"segment.0\",\"state\":\"sealed\",\"capacity\":100,"
    "\"joined\":100,\"waiting\":30,\"ahead\":0,\"move\":9}]}]}],"
    "\"moves\":[{\"move\":9,\"from\":17,\"to\":18,\"state\":\"copying\",\"tickets\":12}],"
    "\"metrics\":[{\"name\":\"cpu\",\"ok\":false,\"value\":null,\"age_ms\":1500,"
    "\"why\":\"no answer\"}]}";

Test(segqctl, status_shows_everything)
{
    json_t *c = js(cluster);

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_str_eq(
        text(),
        "epoch 3, map 41\n\n"
        "NODE       STATE        SEGMENTS  OF  PEOPLE  PLACES                  TAKEN   OF  "
        "ADDRESS\n"
        "segment.0  up,draining         2  64      30  [######..............]     30  100  "
        "127.0.0.1:9050\n\n"
        "ROUTER    MAP  HTTP\n"
        "router.0  41   127.0.0.1:8080\n\n"
        "METRIC  STATE   VALUE    AGE  WHY\n"
        "cpu     FAILED      -  1.5 s  no answer\n\n"
        "MOVE  FROM  TO  STATE    TICKETS\n"
        "   9    17  18  copying       12\n\n"
        "queue login (open): 2 000/s allowed, limited by cpu, 80 % of those let in come, so "
        "1.25 times as many are let in\n"
        "  lane default: 30 waiting, 1 returning, 2 ready, 3 active, 70 released, now "
        "13/s; the last in line waits about 15 s\n"
        "    SEGMENT  NODE       STATE   FILL                    WAITING  JOINED   OF  "
        "AHEAD"
        "  MOVE\n"
        "         17  segment.0  sealed  [######--------------]       30     100  100    "
        "  0"
        "  9\n");
    buf_reset(&b);
    cr_expect(view_cluster(&b, c, "login", false));
    cr_expect(strncmp(text(), "queue login", 11) == 0);
    buf_reset(&b);
    cr_expect_not(view_cluster(&b, c, "logi", false));
    cr_expect_eq(b.len, 0);
    json_decref(c);
}

/* Whoever stands behind a segment whose people are still coming back. */
Test(segqctl, unknown_values_are_not_zero)
{
    json_t *c = js("{\"queues\":[{\"queue\":\"q\",\"lanes\":[{\"eta_last_s\":null,"
                   "\"eta_reason\":\"paused\",\"waiting\":1,\"missing\":1200,\"segments\":["
                   "{\"segment\":1,\"state\":\"sealed\"},"
                   "{\"segment\":2,\"state\":\"rebuilding\"},"
                   "{\"segment\":3,\"state\":\"open\"}]}]}]}");

    cr_expect(view_cluster(&b, c, "q", false));
    cr_expect(strstr(text(), "2  -     rebuilding  [....................]        0       0   0  "
                             "    0  -\n") != NULL, "%s", text());
    cr_expect(strstr(text(), "3  -     open        [....................]        0       0   0  "
                             "    ?  -\n") != NULL, "%s", text());
    cr_expect(strstr(text(), ", 1 200 of lost segments not back yet, 0 released") != NULL, "%s",
              text());
    cr_expect(strstr(text(), "0/s; the last in line waits ? (paused)\n") != NULL, "%s", text());
    json_decref(c);
}

/* Blocks of places are no people. */
Test(segqctl, a_node_shows_its_people)
{
    json_t *c = js("{\"nodes\":[{\"name\":\"a\",\"tickets\":512},{\"name\":\"b\"}],\"queues\":["
                   "{\"lanes\":[{\"segments\":[{\"node\":\"a\",\"waiting\":1,\"active\":2},"
                   "{\"node\":\"b\",\"ready\":4}]}]}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), "\na     down          0   0       3  [") != NULL, "%s", text());
    cr_expect(strstr(text(), "\nb     down          0   0       4  [") != NULL, "%s", text());
    json_decref(c);
}

static void span_is(const char *want, double s)
{
    buf_reset(&b);
    ctl_span(&b, s);
    cr_expect_str_eq(text(), want);
}

Test(segqctl, times_read_well)
{
    span_is("0 s", 0);
    span_is("119 s", 119.4);
    span_is("2 min", 120);
    span_is("120 min", 7199);
    span_is("2.0 h", 7200);
    span_is("12 days", 1e6);
    span_is("?", -1);
    span_is("?", strtod("nan", NULL));
}

Test(segqctl, foreign_texts_neither_steer_a_terminal_nor_turn_its_text)
{
    static const char evil[] = "a\x1b[2J\xc2\x9b" "b\u202e\u2066\u200f\u061c\u2028\u05d0\u200d" "c";
    json_t *doc = json_pack("{s:s}", "message", evil);

    ctl_clean(&b, evil);
    cr_expect_str_eq(text(), "a?[2J?b?????\u05d0\u200d" "c");
    buf_reset(&b);
    view_pretty(&b, doc);
    cr_expect_str_eq(text(), "{\n  \"message\": \"a\\u001B[2J\\u009bb\\u202e\\u2066\\u200f\\u061c\\u2028"
                             "\u05d0\u200dc\"\n}");
    json_decref(doc);
}

/* ---- before what cannot be taken back ---- */

static void risk_is(const char *want, enum risk risk, const char *queue)
{
    json_t *q = js(queue);

    buf_reset(&b);
    view_risk(&b, risk, q);
    cr_expect_str_eq(text(), want);
    json_decref(q);
}

Test(segqctl, risky_orders_tell_their_effect)
{
    static const char three[] = "{\"queue\":\"login\",\"waiting\":1202,\"returning\":2}";

    risk_is("flush login: 1 204 people wait. Everyone in line loses the place, and there is no "
            "undo. Passes stay good.", RISK_FLUSH, three);
    risk_is("queue delete login: 1 204 people wait. Nobody joins and nobody is let in any more. For "
            "ten minutes it can be restored as it is; then everyone in line loses the place.",
            RISK_DELETE, three);
    risk_is("queue delete login: 1 204 people wait. Everyone in line loses the place at once, and "
            "there is no undo.", RISK_FINAL, three);
    risk_is("reject q: 1 person waits. Nobody is let in and joins are refused until you open it "
            "again. Places are kept.", RISK_REJECT, "{\"queue\":\"q\",\"waiting\":1}");
    risk_is("passthrough login: 1 204 people wait. All of them go in at once, whatever the backend bears, "
            "and nobody needs a pass until you open it again. Who is in stays in: there is no undo.",
            RISK_PASSTHROUGH, three);
    risk_is("flush ?q: nobody waits. Everyone in line loses the place, and there is no undo. Passes "
            "stay good.", RISK_FLUSH, "{\"queue\":\"\\u001bq\"}");
}

static void order_says(const char *want, void (*view)(struct buf *, const json_t *), const char *answer)
{
    json_t *doc = js(answer);

    buf_reset(&b);
    view(&b, doc);
    cr_expect_str_eq(text(), want);
    json_decref(doc);
}

Test(segqctl, orders_about_people_say_from_to_and_how_many)
{
    order_says("q: released 0 of 5: nobody waits", view_released, "{\"queue\":\"q\",\"release\":5,\"waiting\":0}");
    order_says("q: released 2 of 5: no more people wait", view_released,
               "{\"queue\":\"q\",\"release\":5,\"waiting\":2}");
    order_says("q: released 5 of 5", view_released, "{\"queue\":\"q\",\"release\":5,\"waiting\":57}");
    order_says("q: 1 person has lost the place", view_flushed, "{\"queue\":\"q\",\"waiting\":1}");
    order_says("q: released up to 5", view_released, "{\"queue\":\"q\",\"release\":5}"); /* of 0.3 */
    order_says("q: everybody in line has lost the place", view_flushed, "{\"queue\":\"q\",\"state\":\"open\"}");
    order_says("q: paused (was open); 57 people wait", view_state,
               "{\"queue\":\"q\",\"state\":\"paused\",\"was\":\"open\",\"waiting\":57,\"message\":\"\"}");
}

/* Each command says what takes it back. */
Test(segqctl, every_command_answers_whether_it_can_be_undone)
{
    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        cr_expect(d->undo != NULL, "%s", d->words);
        cr_expect(d->method == NULL || (strcmp(d->method, "GET") == 0) == (d->undo[0] == '\0'), "%s", d->words);
    }
}

static void release_says(const char *want, uint64_t n, const char *queue)
{
    json_t *q = js(queue);

    buf_reset(&b);
    view_release_risk(&b, n, q);
    cr_expect_str_eq(text(), want);
    json_decref(q);
}

/* The number that was typed goes in, and not all who wait. */
Test(segqctl, release_tells_how_many_of_those_who_wait_go_in)
{
    static const char many[] = "{\"queue\":\"login\",\"waiting\":57000,\"returning\":376,\"allowed_per_s\":2}";
    static const char few[] = "{\"queue\":\"login\",\"waiting\":1,\"returning\":0,\"allowed_per_s\":2}";
    json_t *q = js(many), *calm = js(few);

    release_says("release login: 57 376 people wait. 200 of them go in now, beyond the rate and max_active. Who is "
                 "in stays in: there is no undo.", 200, many);
    release_says("release login: 1 person waits. 1 of them goes in now, beyond the rate and max_active. Who is in "
                 "stays in: there is no undo.", 200, few);
    cr_expect(risk_of_release(200, q));
    cr_expect(!risk_of_release(120, q), "a minute of the rate");
    cr_expect(!risk_of_release(100000, calm), "one goes in");
    json_decref(q);
    json_decref(calm);
}

static void state_has_risk(enum risk want, const char *keys)
{
    json_t *doc = js(keys);

    cr_expect_eq(risk_of_keys(doc), want, "%s", keys);
    json_decref(doc);
}

Test(segqctl, a_state_that_a_definition_brings_is_asked_about_as_its_order)
{
    state_has_risk(RISK_PASSTHROUGH, "{\"state\":\"passthrough\"}");
    state_has_risk(RISK_REJECT, "{\"state\":\"reject\",\"claim\":\"1m\"}");
    state_has_risk(RISK_NONE, "{\"state\":\"paused\"}");
    state_has_risk(RISK_NONE, "{\"release_per_s\":5}");
}

static void drain_is(const char *want, const char *node)
{
    json_t *n = js(node);

    buf_reset(&b);
    view_drain(&b, n);
    cr_expect_str_eq(text(), want);
    json_decref(n);
}

Test(segqctl, drain_tells_its_effect)
{
    drain_is("ok: it is empty and can be stopped", "{\"name\":\"s1\",\"up\":true,\"segments\":0}");
    drain_is("ok: 1 segment will move to other nodes; the node is empty when segqctl status says "
             "so", "{\"name\":\"s1\",\"up\":true,\"segments\":1}");
    drain_is("ok: 3 segments cannot move now: the node is down since 40 s. Start it again; if it "
             "is gone for good: segqctl forget s1",
             "{\"name\":\"s1\",\"up\":false,\"segments\":3,\"silent_ms\":40999}");
}

static void forget_is(const char *want, const char *node)
{
    json_t *n = js(node);

    buf_reset(&b);
    view_forget(&b, n);
    cr_expect_str_eq(text(), want);
    json_decref(n);
}

Test(segqctl, forget_tells_its_effect)
{
    forget_is("forget s1: 1 segment is there. It opens on another node now, the people in it bring "
              "their places back by polling, and passes that only this node has signed may be "
              "refused. If it can come back, start it again instead.",
              "{\"name\":\"s1\",\"segments\":1}");
    forget_is("forget s1: it alone has the key of passes that may still be good; they will be "
              "refused. If it can come back, start it again instead.", "{\"name\":\"s1\"}");
}

static void limits_are(const char *want, const char *def)
{
    json_t *d = js(def);

    buf_reset(&b);
    view_limits(&b, d, "cpu");
    cr_expect_str_eq(text(), want);
    json_decref(d);
}

Test(segqctl, tiers_names_the_other_limits)
{
    limits_are("cpu: below 50: 2 000/s, below 70.5: 500/s, from 70.5 on nobody\n"
               "cup still limits it, too: below 1: 1/s, from 1 on nobody\n",
               "{\"limits\":[{\"metric\":\"cup\",\"tiers\":[{\"below\":1,\"rate_per_s\":1}]},"
               "{\"metric\":\"cpu\",\"tiers\":[{\"below\":50,\"rate_per_s\":2000},"
               "{\"below\":70.5,\"rate_per_s\":500}]}]}");
    limits_are("no metric limits it now: fallback_per_s does, 10/s\n",
               "{\"limits\":[],\"fallback_per_s\":10}");
    limits_are("cpu: below 9: 1/s, from 9 on nobody\n"
               "not in force while the rate is fixed at 20/s: segqctl rate login limits\n",
               "{\"name\":\"login\",\"release_per_s\":20,\"limits\":[{\"metric\":\"cpu\",\"tiers\":"
               "[{\"below\":9,\"rate_per_s\":1}]}]}");
}

/* What a rate says nothing about, and a metric that was never read. */
Test(segqctl, status_by_slots)
{
    json_t *c = js("{\"queues\":[{\"queue\":\"shop\",\"state\":\"open\",\"mode\":\"slots\","
                   "\"max_active\":5000,\"allowed_per_s\":0,\"limited_by\":\"slots\","
                   "\"lanes\":[{\"ready\":1,\"active\":4998},{\"active\":1}]}],"
                   "\"metrics\":[{\"name\":\"cpu\",\"ok\":false,\"age_ms\":null,"
                   "\"why\":\"no answer\"}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), "queue shop (open): 5 000 of 5 000 slots taken, limited by slots\n"),
              "%s", text());
    cr_expect(strstr(text(), "cpu     FAILED      -    -  no answer\n"), "%s", text());
    buf_reset(&b);
    json_decref(c);
}

Test(segqctl, status_lists_restorable_queues)
{
    json_t *c = js("{\"deleted\":[{\"queue\":\"a\",\"waiting\":1200}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), "\nqueue a is deleted, with 1 200 waiting: segqctl queue restore "
                             "brings it back\n"), "%s", text());
    json_decref(c);
}

/* Who was inside before a flush takes a slot until the pass is over. */
Test(segqctl, status_after_a_flush)
{
    json_t *c = js("{\"queues\":[{\"queue\":\"shop\",\"state\":\"open\",\"mode\":\"slots\","
                   "\"max_active\":5,\"limited_by\":\"flushed\",\"inside\":5,\"inside_flushed\":4,"
                   "\"lanes\":[{\"ready\":1}]}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), "5 of 5 slots taken (4 by passes from before the flush), limited by "
                             "flushed\n"), "%s", text());
    json_decref(c);
}

/* A manager of another version, or something that is no manager at all. */
Test(segqctl, status_of_odd_answers)
{
    const char *odd[] = {
        "{}", "[]", "{\"nodes\":1,\"queues\":{}}",
        "{\"nodes\":[null,1],\"queues\":[[],{\"lanes\":[{}]}]}",
        "{\"queues\":[{\"lanes\":[{\"segments\":[7,{\"waiting\":-1}]}]}],"
        "\"moves\":[0],\"metrics\":[\"\"],\"routers\":[{}]}"
    };

    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        json_t *c = js(odd[i]);

        cr_expect(view_cluster(&b, c, NULL, i % 2 == 0), "%s", odd[i]);
        cr_expect_not(b.failed);
        json_decref(c);
    }
}

static json_t *many_queues(int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof(name), "q%d", i);
        json_array_append_new(list, json_pack("{s:s,s:[{s:i}]}", "queue", name, "lanes",
                                              "waiting", i == n - 1 ? 5 : 0));
    }
    return json_pack("{s:o}", "queues", list);
}

Test(segqctl, of_many_queues_the_busiest_come_first)
{
    json_t *c = many_queues(30);
    const char *s;

    cr_expect(view_cluster(&b, c, NULL, false));
    s = text();
    cr_expect(strstr(s, "queue q29 ") != NULL && strstr(s, "queue q0 ") != NULL);
    cr_expect(strstr(s, "queue q29 ") < strstr(s, "queue q0 "));
    cr_expect_null(strstr(s, "queue q19 "));
    cr_expect_not_null(strstr(s, "(10 quieter queues: --all, or name one)"));
    buf_reset(&b);
    cr_expect(view_cluster(&b, c, NULL, true));
    cr_expect_not_null(strstr(text(), "queue q19 "));
    json_decref(c);
}

Test(segqctl, of_a_long_chain_the_ends)
{
    json_t *c = js("{\"queues\":[{\"queue\":\"q\",\"lanes\":[{\"segments\":[]}]}]}");
    json_t *lane = json_array_get(
        json_object_get(json_array_get(json_object_get(c, "queues"), 0), "lanes"), 0);

    for (int i = 101; i <= 120; i++)
        json_array_append_new(json_object_get(lane, "segments"),
                              json_pack("{s:i}", "segment", i));
    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), " 106 ") && !strstr(text(), " 107 ") &&
              strstr(text(), " 115 "));
    cr_expect_not_null(strstr(text(), "(8 more between them: --all)"));
    buf_reset(&b);
    cr_expect(view_cluster(&b, c, "q", false)); /* named: everything */
    cr_expect_not_null(strstr(text(), " 110 "));
    json_decref(c);
}

Test(segqctl, queues_in_one_table)
{
    json_t *q =
        js("{\"queues\":[{\"name\":\"login\",\"state\":\"open\",\"release_per_s\":0,"
           "\"limits\":[{\"metric\":\"cpu\"},{\"metric\":\"mem\"}],\"lanes\":[],"
           "\"segment_capacity\":50},{\"name\":\"b\",\"state\":\"paused\","
           "\"release_per_s\":2.5,\"segment_capacity\":100000}]}");

    view_queues(&b, q);
    cr_expect_str_eq(text(), "QUEUE  STATE   LANES  CAPACITY  RATE\n"
                             "login  open        1        50  by cpu,mem\n"
                             "b      paused      1    100000  2.5/s\n");
    json_decref(q);
}

Test(segqctl, tickets_and_refusals)
{
    json_t *t =
        js("{\"token\":\"EA\",\"position\":12,\"eta_s\":null,\"released_at\":1.5}");
    json_t *p = js("{\"title\":\"Gone\",\"status\":410,\"code\":\"ticket_gone\","
                   "\"detail\":\"it is\\u001b[2J over\",\"reason\":\"left\"}");

    view_ticket(&b, t);
    cr_expect_str_eq(text(), "token           EA\nposition        12\neta_s           -\n"
                             "released_at     1.5\n");
    buf_reset(&b);
    view_problem(&b, 410, p);
    cr_expect_str_eq(text(), "it is?[2J over: left");
    buf_reset(&b);
    view_problem(&b, 502, NULL);
    cr_expect_str_eq(text(), "status 502 and no reason: is this the address of segq, or of a proxy "
                             "before it? see --admin, --router");
    json_decref(t);
    json_decref(p);
}

/* ---- steering, and the logs ---- */

Test(segqctl, tiers_of_words)
{
    char *good[] = { "50:2000", "70.5:0.5" };
    static char *const bad[] = { "50", ":5", "50:", "a:1", "1:-1", "1:2x", "-1:2", "nan:1" };
    struct err e = { 0 };
    json_t *v = ctl_tiers(good, 2, &e), *want = js("[{\"below\":50.0,\"rate_per_s\":2000.0},"
                                                   "{\"below\":70.5,\"rate_per_s\":0.5}]");

    cr_expect(json_equal(v, want));
    json_decref(v);
    json_decref(want);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char *w[] = { "50:2000", bad[i] };

        cr_expect_null(ctl_tiers(w, 2, &e), "%s", bad[i]);
        cr_expect(strstr(e.text, "is no tier") != NULL, "%s", e.text);
    }
}

Test(segqctl, the_operators_log_is_shown)
{
    json_t *j = js("{\"unwritten\":1,\"entries\":[{\"at\":\"T2\",\"who\":\"an\\u001bna\","
                   "\"from\":\"::1\",\"name\":\"login\",\"method\":\"POST\","
                   "\"path\":\"/x/release\",\"query\":\"n=5\",\"changes\":[]},"
                   "{\"at\":\"T1\",\"who\":\"bert\",\"from\":\"::1\",\"name\":\"login\","
                   "\"changes\":[{\"key\":\"claim\",\"from\":\"1m\",\"to\":\"5s\"},"
                   "{\"key\":\"new\",\"to\":1}]}]}");

    view_audit(&b, j);
    cr_expect_str_eq(text(), "T1 bert (::1) login: claim \"1m\" -> \"5s\", new - -> 1\n"
                             "T2 an?na (::1) login: POST /x/release?n=5\n"
                             "1 of them could NOT be written to audit.jsonl: is the disk full?");
    json_decref(j);
    buf_reset(&b);
    j = js("{}");
    view_audit(&b, j);
    cr_expect_str_eq(text(), "nobody has changed anything");
    json_decref(j);
}

Test(segqctl, events_are_shown_as_sentences)
{
    json_t *j = js("{\"now_ms\":9000,\"events\":[{\"at_ms\":1000,\"level\":\"warn\","
                   "\"text\":\"event=node_down node=a\"},{\"at_ms\":8500,\"level\":\"info\","
                   "\"text\":\"event=node_up\"}]}");

    view_events(&b, j);
    cr_expect_str_eq(text(), "      8 s ago warn  event=node_down node=a\n"
                             "      0 s ago info  event=node_up");
    json_decref(j);
    buf_reset(&b);
    j = js("{\"events\":4}");
    view_events(&b, j);
    cr_expect_str_eq(text(), "nothing has happened");
    json_decref(j);
}

/* A crowd of tasks that nobody takes is trouble; those of a worker that came a moment ago, and those that a
 * limit holds up, are not. */
Test(segqctl, status_names_pools_whose_tasks_no_worker_takes)
{
    static const char text[] =
        "{\"pools\":[{\"pool\":\"img*\",\"waiting\":501,\"running\":0,\"stalled_ms\":180000,"
        "\"held\":[{\"by\":\"workers\",\"says\":\"workers\",\"tasks\":501}]},"
        "{\"pool\":\"b\",\"waiting\":9,\"running\":0,\"stalled_ms\":5000,"
        "\"held\":[{\"by\":\"workers\",\"says\":\"workers\",\"tasks\":9}]},"
        "{\"pool\":\"c\",\"waiting\":9,\"running\":0,\"stalled_ms\":500000,"
        "\"held\":[{\"by\":\"rate\",\"says\":\"the rate\",\"tasks\":9}]}]}";
    json_t *doc = json_loads(text, 0, NULL);

    view_lacks_workers(&b, doc);
    buf_byte(&b, 0);
    cr_expect_str_eq((const char *)b.data, "tasks of img*: 501 wait, no worker for 3 min\n");
    json_decref(doc);
}

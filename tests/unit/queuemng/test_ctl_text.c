/* test_ctl_text.c: bars, numbers, sentences, columns, colours, YAML. */
#include "tests/lib/criterion.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/contexts.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/status_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "tests/lib/ctl_text.h"

TestSuite(ctl_text, .init = text_begin, .fini = text_end);

static void bar_is(const char *want, uint64_t held, uint64_t used, uint64_t of)
{
    buf_reset(&b);
    ctl_bar(&b, held, used, of, 10);
    cr_expect_str_eq(text(), want);
}

Test(ctl_text, bars_round_neither_anybody_nor_a_place_away)
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

Test(ctl_text, rates_read_well)
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

static void span_is(const char *want, double s)
{
    buf_reset(&b);
    ctl_span(&b, s);
    cr_expect_str_eq(text(), want);
}

Test(ctl_text, times_read_well)
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

Test(ctl_text, foreign_texts_neither_steer_a_terminal_nor_turn_its_text)
{
    static const char evil[] = "a\x1b[2J\xc2\x9b" "b\u202e\u2066\u200f\u061c\u2028\u05d0\u200d" "c";
    json_t *doc = json_pack("{s:s}", "message", evil);

    ctl_clean(&b, evil);
    cr_expect_str_eq(text(), "a?[2J?b?????\u05d0\u200d" "c");
    buf_reset(&b);
    ctl_clean(&b, "\x9b" "2J\xe4\xb8"); /* C1 of a terminal that knows no UTF-8; half a character */
    cr_expect_str_eq(text(), "?2J??");
    buf_reset(&b);
    view_pretty(&b, doc);
    cr_expect_str_eq(text(), "{\n  \"message\": "
                             "\"a\\u001B[2J\\u009bb\\u202e\\u2066\\u200f\\u061c\\u2028"
                             "\u05d0\u200dc\"\n}");
    json_decref(doc);
}

Test(ctl_text, rows_are_lists_in_lists)
{
    static const struct col cols[] = { COL("A", "{?kind:{..name}|{name}}"), COL("B", "{?kind:{kind}|-}") };
    json_t *doc = js("{\"as\":[{\"name\":\"x\",\"bs\":[{\"kind\":\"k\"},{\"kind\":\"l\"}]},{\"name\":\"y\"}],"
                     "\"away\":[{\"partition\":3,\"node\":\"t1\"}]}");

    table_list(&b, doc, "as/bs", cols, ARRAY_LEN(cols), "", "{as:count}\n");
    cr_expect_str_eq(text(), "A  B\nx  k\nx  l\npartition 3 did not answer: task node t1\n2\n");
    buf_reset(&b);
    table_list(&b, doc, "as+bs", cols, ARRAY_LEN(cols), "", "");
    cr_expect_str_eq(text(), "A  B\nx  -\nx  k\nx  l\ny  -\npartition 3 did not answer: task node t1\n");
    json_decref(doc);
}

Test(ctl_text, columns_align)
{
    static const struct col cols[] = {
        COL("NAME", "{name}"), COL(">COUNT", "{n#}"), COL("STATE", "{of.state}"),
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
    table_row(&t, json_array_get(rows, 0), NULL);
    table_row(&t, json_array_get(rows, 1), NULL);
    table_put(&b, &t, 2, "no rows\n");
    cr_expect_str_eq(text(), "  NAME        COUNT  STATE\n"
                             "  a       1 234 567  open\n"
                             "  longer          5  x?[2Jy?z\n");
    json_decref(rows);
}

/* Width is counted in places on a terminal, and no character is cut in two. */
Test(ctl_text, columns_align_by_places)
{
    static const struct col cols[] = { COL("NAME", "{name}"), COL("N", "{n=}") };
    char name[600] = "x";
    json_t *doc;

    for (unsigned i = 0; i < 299; i++)
        memcpy(name + 1 + 2 * i, "\u00e9", 3);
    doc = json_pack("{s:[{s:s,s:i},{s:s,s:i}]}", "list", "name", "\u00e9\u4e2d", "n", 1, "name",
                    "abc", "n", 2);
    table_list(&b, doc, "list", cols, ARRAY_LEN(cols), "", "");
    cr_expect_str_eq(text(), "NAME  N\n\u00e9\u4e2d   1\nabc   2\n");
    json_decref(doc);
    buf_reset(&b);
    doc = json_pack("{s:[{s:s,s:i}]}", "list", "name", name, "n", 7);
    table_list(&b, doc, "list", cols, ARRAY_LEN(cols), "", "");
    cr_expect_not_null(strstr(text(), "x\u00e9\u00e9"));
    cr_expect_not_null(strstr(text(), "\u00e9\u00e9...  7\n"), "%s", text());
    json_decref(doc);
}

static void width_is(size_t want, const char *s)
{
    cr_expect_eq(ctl_width(s, strlen(s)), want, "%s: %zu", s, ctl_width(s, strlen(s)));
}

Test(ctl_text, a_chinese_character_has_two_places)
{
    width_is(0, "");
    width_is(4, "abc\u00e9");
    width_is(8, "\u5ba2\u6237\uff1a\ud55c");
    width_is(2, "\U00020000");
    width_is(2, "\U0001f600");
    width_is(1, "e\u0301");
    width_is(3, "\xff" "a\xe4"); /* no UTF-8 */
    width_is(3, "\xe4\xb8" "a"); /* "??a" */
    buf_reset(&b);
    ctl_pad(&b, "\u4e2d\u200f", 5);
    buf_byte(&b, '|');
    cr_expect_str_eq(text(), "\u4e2d?  |");
}

Test(ctl_text, a_sentence_has_members_in_their_formats)
{
    json_t *o = js("{\"a\":\"x\\u001by\",\"n\":1204,\"of\":{\"ms\":3000,\"at\":1000}}");

    ctl_say(&b, o, "{a}: {n#}, {n=}, {n/}, {n%}, {n!}, {a!}, {of.ms~}, {of.at@}, {of.at*}; "
                   "{none}, {none#}.");
    cr_expect_str_eq(text(), "x?y: 1 204, 1204, 1 204/s, 1204, 1204, x?y, 3 s, 1970-01-01 "
                             "00:16:40 UTC, "
                             "1970-01-01 00:00:01 UTC; -, 0.");
    json_decref(o);
}

static void says(const char *want, const char *sentence)
{
    json_t *o = js("{\"zero\":0,\"one\":1,\"twelve\":12,\"yes\":true,\"no\":false,\"word\":\"up\","
                   "\"empty\":\"\",\"list\":[7],\"none\":[],\"of\":{\"n\":2}}");

    buf_reset(&b);
    ctl_say(&b, o, sentence);
    cr_expect_str_eq(text(), want, "%s", sentence);
    json_decref(o);
}

Test(ctl_text, a_sentence_has_cases)
{
    says("a", "{?yes:a|b}");
    says("bbbbbb", "{?no:a|b}{?zero:a|b}{?empty:a|b}{?none:a|b}{?nosuch:a|b}{?of.nosuch:a|b}");
    says("aaaa", "{?one:a|b}{?word:a|b}{?list:a|b}{?of:a|b}");
    says("", "{?no:a}{?yes:|b}");
    says("0|-", "{+zero:{zero=}}|{+word:{word}|-}");
    says("up, 1 thing", "{?yes:{?word=up:{word}|down}, {one=} thing{?one=1:|s}|never}");
    says("twelve, two, nothing, other",
         "{?twelve=12:twelve|other}, {?of.n=2:two|other}, {?zero=0:nothing|other}, {?one=12:one|other}");
    says("other, other, three",
         "{?nosuch=0:nothing|other}, {?empty=0:nothing|other}, {?one+of.n=3:three|other}");
    says("2 things, 3", "{of.n=} thing{?of.n=1:|s}, {?one+of.n:{one+of.n=}|none}");
}

/* says() of an object that the test has. */
static void says_of(const char *want, const char *json, const char *sentence)
{
    json_t *o = js(json), *out = js("{\"name\":\"out\",\"now_ms\":9000}");

    buf_reset(&b);
    ctl_say_in(&b, o, out, sentence);
    cr_expect_str_eq(text(), want, "%s", sentence);
    json_decref(out);
    json_decref(o);
}

Test(ctl_text, a_sentence_has_lists)
{
    static const char o[] = "{\"name\":\"a\",\"l\":[{\"n\":1,\"in\":[{\"m\":3}]},{\"n\":2,\"name\":\"b\"}],"
                            "\"t\":[\"x\\u001b\",7,\"\"],\"none\":[],\"o\":{\"k\\u001b\":false,\"z\":\"v\"}}";

    says_of("1, 2", o, "{&l, :{n=}|none}");
    says_of("none|none|", o, "{&none, :{n=}|none}|{&nosuch:{n=}|none}|{&none:x}");
    says_of("- in a;b in a;", o, "{&l:{name} in {..name};}");
    says_of("3 of 1 of a of out;", o, "{&l:{&in:{m=} of {..n=} of {....name} of {......name};}}");
    says_of("k?: false, z: \"v\"", o, "{&o, :{key}: {value:json}}");
    says_of("1, 2, -, 3", o, "{l.0.n=}, {l.1.n=}, {l.2.n}, {l.0.in.0.m=}");
    says_of("x?,?, and -", o, "{t:texts} and {none:texts}");
    says_of("3, out", o, "{t:count}, {..name}");
}

Test(ctl_text, a_sentence_compares)
{
    static const char o[] = "{\"n\":100,\"part\":0.5,\"x\":\"out\",\"y\":\"in\",\"null\":null,\"now_ms\":9000}";

    says_of("above, below", o, "{?n>99:above|not}, {?part<1:below|not}");
    says_of("not, not, not", o, "{?n>100:above|not}, {?part<0.5:below|not}, {?nosuch>0:above|not}");
    says_of("same, other, same", o, "{?x==..name:same|other}, {?y==..name:same|other}, {?now_ms==..now_ms:same|other}");
    says_of("there, there, absent", o, "{!null:there|absent}, {!x:there|absent}, {!nosuch:there|absent}");
}

Test(ctl_text, a_member_has_a_format_by_name)
{
    static const char o[] = "{\"cpu\":1.3,\"mib\":12582912,\"gib\":12884901888,\"us\":1500,\"more\":12345,\"ms\":1500,"
                            "\"v\":12.34567,\"slow\":2.5,\"fast\":20000,\"less\":-8,\"ended\":4,\"held\":5,\"used\":8,"
                            "\"of\":10,\"w\":\"ab\",\"null\":null,\"at\":1000,\"then\":1000.25,\"late\":1020}";

    says_of("130 %, 12 MiB, 12 GiB, 1.5 ms, 12 ms, 1.5 s", o,
            "{cpu:share}, {mib:size}, {gib:size}, {us:us}, {more:us}, {ms:ms}");
    says_of("12.35, 12.3, 12", o, "{v:.4g}, {v:.1f}, {v:.0f}");
    says_of("2.5/s, 20 000/s, +12/s, -8/s, 0/s, 20 000/s, -", o,
            "{slow:lately}, {fast:lately}, {v:change}, {less:change}, {nosuch:change}, {fast:counter}, {less:counter}");
    says_of("2,       8, 250 ms, 20 s, 375, 0", o,
            "{ms:up}, {at:ago ..now_ms}, {then:took at}, {late:took at}, {ms:per ended}, {ms:per nosuch}");
    says_of("[#####---..]|ab  |4   |-   |", o, "{held:bar used of 10}|{w:pad 4}|{ended:pad 4}|{nosuch:pad 4}|");
    says_of("\"ab\" null - -", o, "{w:json} {null:json} {null:json -} {nosuch:json}");
}

Test(ctl_text, nonsense_of_time_is_no_time)
{
    static const char o[] = "{\"never\":1e300,\"far\":1e15,\"below\":-5,\"last\":253402300799,"
                            "\"then\":1000,\"ended\":999.5}";

    says_of("-, -, -, -, 9999-12-31 23:59:59 UTC", o, "{never@}, {never*}, {far@}, {below@}, {last@}");
    says_of("?, ?, ?", o, "{ended:took then}, {then:took never}, {never:took then}");
}

/* Partitions that did not answer may have what the list has not. */
Test(ctl_text, a_list_that_is_not_whole_is_not_called_empty)
{
    json_t *o = js("{\"tasks\":[],\"away\":[{\"partition\":7,\"node\":\"t0\"}]}");

    view_tasks(&b, o);
    cr_expect_str_eq(text(), "partition 7 did not answer: task node t0\n");
    json_array_append_new(json_object_get(o, "away"), js("{\"partition\":8,\"node\":\"t1\"}"));
    json_array_append_new(json_object_get(o, "away"), js("{\"partition\":9,\"node\":\"t0\"}"));
    buf_reset(&b);
    view_tasks(&b, o);
    cr_expect_str_eq(text(), "2 partitions did not answer: task node t0\n"
                             "partition 8 did not answer: task node t1\n");
    json_object_set_new(o, "away", json_array());
    buf_reset(&b);
    view_tasks(&b, o);
    cr_expect_str_eq(text(), "no tasks\n");
    json_decref(o);
}

Test(ctl_text, an_order_that_did_not_reach_all_is_not_called_done)
{
    json_t *o = js("{\"tasks\":1,\"away\":[{\"partition\":7,\"node\":\"t0\"}]}");

    view_task_order(&b, o);
    cr_expect_str_eq(text(), "1 task\npartition 7 did not answer: task node t0\n");
    json_object_set_new(o, "away", json_array());
    buf_reset(&b);
    view_task_order(&b, o);
    cr_expect_str_eq(text(), "ok: 1 task\n");
    json_decref(o);
}

/* A newer server says more than there is room for. */
Test(ctl_text, a_long_name_of_a_member_stands_apart)
{
    json_t *o = js("{\"ahead_of_priority\":7,\"lane\":\"vip\"}");

    view_ticket(&b, o);
    cr_expect_str_eq(text(), "ahead_of_priority 7\nlane            vip\n");
    buf_reset(&b);
    view_why(&b, o);
    cr_expect_not_null(strstr(text(), "ahead_of_priority 7\nlane            vip\n"), "%s", text());
    json_decref(o);
}

static void nothing(struct buf *to, const char *sentence)
{
    json_t *o = js("{}");

    ctl_say(to, o, sentence);
    json_decref(o);
}

/* ---- wrong sentences end the program: in a test, not at an operator's terminal ---- */

#define IS_NONE(name, sentence) \
    Test(ctl_text, name, .signal = SIGABRT) { nothing(&b, sentence); }
IS_NONE(a_brace_that_is_not_closed_is_no_sentence, "{?up:up")
IS_NONE(a_brace_that_is_not_opened_is_no_sentence, "up} or down")
IS_NONE(an_unknown_mark_is_no_sentence, "{waiting&}")
IS_NONE(an_unknown_format_is_no_sentence, "{waiting:shares}")
IS_NONE(an_empty_list_is_read_too, "{&none:{up&}}")
IS_NONE(a_member_without_a_name_is_no_sentence, "{#}")
IS_NONE(a_case_without_its_text_is_no_sentence, "{?up}")
IS_NONE(a_case_that_is_not_said_is_read_too, "{?up:{up&}|down}")
IS_NONE(nor_may_the_other_one_be_wrong, "{?up|up}")
IS_NONE(a_case_ends_before_another_member, "{?word=up} and {n:share}")
IS_NONE(so_does_a_list, "{&l} and {n:share}")
IS_NONE(a_format_has_its_words, "{?up:|{then:took}}")
IS_NONE(a_truth_has_two_words, "{?up:|{up:plain yes}}")
IS_NONE(a_format_of_one_word_has_no_second, "{cpu:share of}")
IS_NONE(printf_has_a_letter, "{v:.4}")
IS_NONE(printf_has_a_digit, "{v:.xf}")
IS_NONE(only_counts_add, "{a+b}")
IS_NONE(nor_does_a_format_add, "{a+b:share}")
IS_NONE(a_list_is_no_sum, "{&a+b:x}")
IS_NONE(nor_is_a_member_that_is_there, "{!a+b:x}")
IS_NONE(a_sum_is_not_above, "{?a+b>3:x}")
IS_NONE(above_is_no_element_outside, "{?a>..b:x}")
IS_NONE(what_is_there_is_not_compared, "{!a=b:x}")
IS_NONE(a_path_has_names, "{a..b}")
IS_NONE(a_path_ends_with_a_name, "{a.#}")
IS_NONE(two_points_are_the_object_outside, "{...name}")
IS_NONE(a_last_brace_is_no_sentence, "up {")

/* A head without rows. */
Test(ctl_text, a_wrong_cell_is_found_without_rows, .signal = SIGABRT)
{
    static const struct col cols[] = { COL("STATE", "{?up:up|down") };
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
}

Test(ctl_text, only_the_last_column_is_left_out, .signal = SIGABRT)
{
    static const struct col cols[] = { COL_REGION, COL("STATE", "{state}") };
    struct table t;

    table_init(&t, cols, ARRAY_LEN(cols));
}

/* An answer that has all lists that views walk over, one element in each, with the same lists in it. */
static json_t *everything(unsigned depth)
{
    static const char *const lists[] = {
        "queues", "lanes", "segments", "nodes", "routers", "metrics", "moves", "deleted", "pools",
        "partitions", "endpoints", "held", "probe", "tasks", "keys", "limits", "schedules", "away",
        "history", "budgets", "members", "tiers", "entries", "changes", "events", "contexts",
        "routes", "rules", "rates", "told", "targets", "names", "ticks", "suspects",
    };
    json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:s,s:f,s:i,s:i,s:b,s:i,s:i}", "name", "a", "queue", "a",
                          "mode", "both", "metric", "cpu", "because", "ends_at, as it is", "ends_at",
                          2.5, "waiting", 1, "position", 1, "trail_whole", 0, "now_ms", 2000,
                          "queues_total", 9);

    for (size_t i = 0; depth > 0 && i < ARRAY_LEN(lists); i++)
        json_object_set_new(o, lists[i], json_pack("[o]", everything(depth - 1)));
    return o;
}

static void say_all(const json_t *doc)
{
    static const view_fn others[] = { view_place, view_forget, view_drain,
                                      view_metrics_and_moves, view_tasks_of, view_task_trouble,
                                      view_endpoints, view_probe, view_detail,
                                      view_deleted, view_held, view_left, view_rebind };

    for (const struct cmd *d = ctl_cmds; d->words != NULL; d++) {
        if (d->view != NULL)
            d->view(&b, doc);
        if (d->sure != NULL)
            ctl_say(&b, doc, d->sure);
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        others[i](&b, doc);
    for (enum risk r = RISK_NONE + 1; r <= RISK_SHADOW; r++)
        view_risk(&b, r, doc);
    view_release_risk(&b, 2, doc);
    (void)view_cluster(&b, doc, NULL, true);
    (void)view_cluster(&b, doc, "a", false);
    (void)view_task_queues(&b, doc, NULL);
    (void)view_task_queues(&b, doc, "a");
    (void)view_is_pool(&b, doc, "b");
    view_top(&b, doc, NULL, 0);
    view_top(&b, doc, doc, 24);
    view_limits(&b, doc, "cpu");
    view_limits(&b, doc, "mem");
    view_limits_were(&b, doc, "cpu");
    view_problem(&b, 500, doc);
}

Test(ctl_text, every_sentence_is_one)
{
    json_t *full = everything(3), *none = js("{}");
    struct ctl c = { 0 };

    say_all(full);
    say_all(none);
    cr_expect(!b.failed);
    cr_expect_geq(b.len, 20000);
    setenv("SEGQ_CONFIG", "/nowhere/contexts.yaml", 1);
    cr_expect_eq(cmd_context_list(&c, (char *[]){ NULL }), CTL_OK); /* its table */
    json_decref(full);
    json_decref(none);
}

static const char *yaml(const char *json)
{
    json_t *doc = json_loads(json, JSON_DECODE_ANY, NULL);

    buf_reset(&b);
    cr_assert(doc != NULL && yaml_put(&b, doc));
    json_decref(doc);
    return text();
}

Test(ctl_text, yaml_keeps_order_and_what_is_empty)
{
    cr_expect_str_eq(yaml("{\"z\":1,\"a\":{},\"l\":[],\"m\":[{\"b\":true},null,-2.5]}"),
                     "z: 1\na: {}\nl: []\nm:\n- b: true\n- null\n- -2.5\n");
}

Test(ctl_text, a_text_that_seems_something_else_is_quoted)
{
    cr_expect_str_eq(yaml("{\"a\":\"plain "
                          "text\",\"b\":\"true\",\"c\":\"No\",\"d\":\"12\",\"e\":\"\",\"f\":\"~\"}"),
                     "a: plain text\nb: \"true\"\nc: \"No\"\nd: \"12\"\ne: \"\"\nf: \"~\"\n");
    cr_expect_str_eq(yaml("{\"on\":\"a: b\",\"x\":\"#c\",\"y\":\"\\u001b[2J\"}"),
                     "\"on\": 'a: b'\nx: \"#c\"\n\"y\": \"\\e[2J\"\n");
}

Test(ctl_text, states_have_colours_if_they_are_on)
{
    static const struct col cols[] = {
        COL("NAME", "{name}"), COL("STATE", "{state}"),
    };
    json_t *doc = json_pack("{s:[{s:s,s:s}]}", "list", "name", "down", "state", "down (3 s)");

    for (unsigned on = 0; on < 2; on++) {
        buf_reset(&b);
        colours_on(on);
        table_list(&b, doc, "list", cols, ARRAY_LEN(cols), "", "");
        cr_expect_str_eq(text(), on ? "\033[1mNAME\033[0m  \033[1mSTATE\033[0m\ndown  "
                                      "\033[31mdown (3 s)\033[0m\n"
                                    : "NAME  STATE\ndown  down (3 s)\n");
    }
    colours_on(false);
    json_decref(doc);
}

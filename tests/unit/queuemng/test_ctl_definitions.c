/* test_ctl_definitions.c: what a definition in a file changes, as text and as a request. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_ask/def_change.h"

static struct def_change ch;
static struct err e;

static json_t *js(const char *s)
{
    json_t *j = json_loads(s, 0, NULL);

    cr_assert_not_null(j, "%s", s);
    return j;
}

static int planned(const char *kind, const char *now, const char *yaml)
{
    struct cfg_node *doc = NULL;
    json_t *j = now != NULL ? js(now) : NULL;
    int rc;

    e = (struct err){ 0 };
    cr_assert_eq(cfg_parse_yaml(&doc, yaml, strlen(yaml), "f.yaml", &e), 0, "%s", e.text);
    rc = def_plan(&ch, def_kind_of(kind), j, doc, "f.yaml", &e);
    cfg_node_free(doc);
    json_decref(j);
    return rc;
}

static void says(const char *want)
{
    struct buf b;

    buf_init(&b);
    def_change_text(&b, &ch);
    buf_byte(&b, 0);
    cr_expect_str_eq((char *)b.data, want);
    buf_fini(&b);
    def_change_fini(&ch);
}

Test(ctl_definitions, values_are_compared_as_they_are_read)
{
    cr_assert_eq(planned("queue", "{\"name\":\"q\",\"claim\":\"1m\",\"version\":7}",
                         "name: q\nclaim: 60s\n"), 0, "%s", e.text);
    cr_expect_eq(json_object_size(ch.keys), 0);
    cr_expect_eq(ch.version, 7);
    says("");
}

Test(ctl_definitions, keys_that_the_file_does_not_have_stay)
{
    json_t *want = js("{\"idle\":{\"game\":\"1m\",\"mobile\":\"9m\",\"browser\":\"3m\"}}");

    cr_assert_eq(planned("queue", "{\"name\":\"q\",\"claim\":\"30s\"}",
                         "name: q\nidle:\n  mobile: 9m\n"), 0, "%s", e.text);
    cr_expect(json_equal(ch.keys, want));
    says("queue q: idle.mobile: 2m -> 9m\n");
    json_decref(want);
}

/* As the manager does it with a PATCH: a dry run says the same as the change, and what a file has is
 * what there is behind it. */
Test(ctl_definitions, a_new_message_takes_translations_away_but_those_of_the_file)
{
    static const char now[] = "{\"name\":\"q\",\"message\":\"a\",\"page\":{\"messages\":[{\"lang\":\"de\","
                              "\"text\":\"A\"}]}}";

    cr_assert_eq(planned("queue", now, "name: q\nmessage: b\n"), 0, "%s", e.text);
    says("queue q: page.messages: [{\"lang\":\"de\",\"text\":\"A\"}] -> []\nqueue q: message: a -> b\n");
    cr_assert_eq(planned("queue", now, "name: q\nmessage: \"\"\n"), 0, "%s", e.text);
    says("queue q: page.messages: [{\"lang\":\"de\",\"text\":\"A\"}] -> []\nqueue q: message: a -> \"\"\n");
    cr_assert_eq(planned("queue", now, "name: q\nmessage: b\npage: {messages: [{lang: de, text: A}]}\n"), 0,
                 "%s", e.text);
    cr_expect_eq(json_array_size(json_object_get(json_object_get(ch.keys, "page"), "messages")), 1,
                 "or the manager takes them away");
    says("queue q: message: a -> b\n");
    cr_assert_eq(planned("queue", now, "name: q\nmessage: a\npage: {title: T}\n"), 0, "%s", e.text);
    says("queue q: page.title: \"\" -> T\n");
}

Test(ctl_definitions, a_new_one_has_what_the_file_says)
{
    cr_assert_eq(planned("endpoint", NULL, "name: gen\nurl: https://gen.example\npaused: true\n"),
                 0, "%s", e.text);
    cr_expect_null(ch.was);
    says("endpoint gen: is new\nendpoint gen: url: https://gen.example\n"
         "endpoint gen: paused: true\n");
}

/* --dry-run with -o json. */
static void says_json(const char *want)
{
    json_t *doc = def_change_json(&ch), *j = js(want);
    char *text = json_dumps(doc, JSON_COMPACT);

    cr_expect(json_equal(doc, j), "%s", text);
    free(text);
    json_decref(doc);
    json_decref(j);
    def_change_fini(&ch);
}

Test(ctl_definitions, a_change_is_said_in_json_too)
{
    cr_assert_eq(planned("queue", "{\"name\":\"q\"}", "name: q\nidle:\n  mobile: 9m\nshadow: true\n"), 0, "%s", e.text);
    says_json("{\"kind\":\"queue\",\"name\":\"q\",\"new\":false,\"changes\":[{\"key\":\"shadow\",\"from\":false,\"to\":true},"
              "{\"key\":\"idle.mobile\",\"from\":\"2m\",\"to\":\"9m\"}]}");
    cr_assert_eq(planned("queue", NULL, "name: q\nclaim: 5s\n"), 0, "%s", e.text);
    says_json("{\"kind\":\"queue\",\"name\":\"q\",\"new\":true,\"changes\":[{\"key\":\"claim\",\"from\":null,\"to\":\"5s\"}]}");
    cr_assert_eq(planned("queue", "{\"name\":\"q\",\"claim\":\"1m\"}", "name: q\nclaim: 60s\n"), 0, "%s", e.text);
    says_json("{\"kind\":\"queue\",\"name\":\"q\",\"new\":false,\"changes\":[]}");
}

Test(ctl_definitions, members_of_a_newer_release_are_passed_over)
{
    cr_assert_eq(planned("pool", "{\"match\":\"a\",\"shiny\":[1]}", "match: a\npaused: true\n"), 0,
                 "%s", e.text);
    says("pool a: paused: false -> true\n");
}

Test(ctl_definitions, errors_name_file_line_and_key)
{
    cr_expect_eq(planned("queue", NULL, "state: open\n"), SQ_EINVAL);
    cr_expect_str_eq(e.text, "f.yaml:1: a queue needs the key name");
    cr_expect_eq(planned("queue", NULL, "name: q\nrelase: 5\n"), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "f.yaml:2: relase"), "%s", e.text);
    cr_expect_eq(planned("queue", "{\"name\":\"q\"}", "name: q\nlanes: [{name: a}, {name: a}]\n"),
                 SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "f.yaml:1: "), "%s", e.text);
    cr_expect_null(ch.keys);
}

Test(ctl_definitions, yaml_reads_back_as_no_change)
{
    const struct def_kind *k = def_kind_of("queues");
    json_t *now = js("{\"name\":\"q\",\"message\":\"a: \\\"b\\\"\\nc\",\"lanes\":[{\"name\":\"v\"},"
                     "{\"name\":\"default\"}]}");
    struct buf b;
    char *text = json_dumps(now, 0);

    buf_init(&b);
    cr_assert_eq(def_yaml(&b, k, now, false, &e), 0, "%s", e.text);
    buf_byte(&b, 0);
    cr_assert_eq(planned("queue", text, (char *)b.data), 0, "%s", e.text);
    says("");
    free(text);
    json_decref(now);
    buf_fini(&b);
}

static int compared(const char *was, const char *now, const char *typed)
{
    json_t *a = was != NULL ? js(was) : NULL, *b = js(now), *t = typed != NULL ? js(typed) : NULL;
    int rc;

    e = (struct err){ 0 };
    rc = def_changed(&ch, def_kind_of("queue"), "q", a, b, t, &e);
    json_decref(a);
    json_decref(b);
    json_decref(t);
    return rc;
}

Test(ctl_definitions, two_answers_tell_from_and_to)
{
    cr_assert_eq(compared("{\"name\":\"q\",\"release_per_s\":20,\"version\":1}",
                          "{\"name\":\"q\",\"release_per_s\":500,\"version\":2}", NULL), 0, "%s", e.text);
    says("queue q: release_per_s: 20 -> 500\n");
    cr_assert_eq(compared("{\"name\":\"q\",\"claim\":\"1m\"}", "{\"name\":\"q\",\"claim\":\"60s\"}", NULL), 0);
    says("");
    cr_assert_eq(compared(NULL, "{\"name\":\"q\",\"release_per_s\":5}", "{\"release_per_s\":5}"), 0, "%s", e.text);
    says("queue q: is new\nqueue q: release_per_s: 5\n");
    cr_expect_eq(compared(NULL, "{\"name\":\"q\",\"claim\":[]}", NULL), SQ_EINVAL);
}

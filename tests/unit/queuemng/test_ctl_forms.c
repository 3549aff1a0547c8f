/* test_ctl_forms.c: answers as YAML, and colours. */
#include "tests/lib/criterion.h"
#include <jansson.h>
#include <string.h>

#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/yaml.h"

static struct buf b;

static void begin(void)
{
    buf_init(&b);
}

static void end(void)
{
    buf_fini(&b);
    colours_on(false);
}

TestSuite(ctl_forms, .init = begin, .fini = end);

static const char *text(void)
{
    buf_byte(&b, 0);
    b.len--;
    return (const char *)b.data;
}

static const char *yaml(const char *json)
{
    json_t *doc = json_loads(json, JSON_DECODE_ANY, NULL);

    buf_reset(&b);
    cr_assert(doc != NULL && yaml_put(&b, doc));
    json_decref(doc);
    return text();
}

Test(ctl_forms, yaml_keeps_order_and_what_is_empty)
{
    cr_expect_str_eq(yaml("{\"z\":1,\"a\":{},\"l\":[],\"m\":[{\"b\":true},null,-2.5]}"),
                     "z: 1\na: {}\nl: []\nm:\n- b: true\n- null\n- -2.5\n");
}

Test(ctl_forms, a_text_that_seems_something_else_is_quoted)
{
    cr_expect_str_eq(yaml("{\"a\":\"plain text\",\"b\":\"true\",\"c\":\"No\",\"d\":\"12\",\"e\":\"\",\"f\":\"~\"}"),
                     "a: plain text\nb: \"true\"\nc: \"No\"\nd: \"12\"\ne: \"\"\nf: \"~\"\n");
    cr_expect_str_eq(yaml("{\"on\":\"a: b\",\"x\":\"#c\",\"y\":\"\\u001b[2J\"}"),
                     "\"on\": 'a: b'\nx: \"#c\"\n\"y\": \"\\e[2J\"\n");
}

Test(ctl_forms, states_have_colours_if_they_are_on)
{
    static const struct col cols[] = {
        { "NAME", "name", .put = put_text }, { "STATE", "state", .put = put_text },
    };
    json_t *list = json_pack("[{s:s,s:s}]", "name", "down", "state", "down (3 s)");

    for (unsigned on = 0; on < 2; on++) {
        buf_reset(&b);
        colours_on(on);
        TABLE_LIST(&b, list, cols, "");
        cr_expect_str_eq(text(), on ? "\033[1mNAME\033[0m  \033[1mSTATE\033[0m\ndown  \033[31mdown (3 s)\033[0m\n"
                                    : "NAME  STATE\ndown  down (3 s)\n");
    }
    json_decref(list);
}

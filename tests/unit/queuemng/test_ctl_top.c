/* test_ctl_top.c: the cluster on one screen: rates from two looks, what is left out when the screen
 * is small. */
#include "tests/lib/criterion.h"
#include <jansson.h>
#include <string.h>

#include "queuemng/ctl_view/status_view.h"

static struct buf b;

static void begin(void)
{
    buf_init(&b);
}

static void end(void)
{
    buf_fini(&b);
}

TestSuite(ctl_top, .init = begin, .fini = end);

/* n queues q0, q1, ... of 1000 people and fewer, of which `joined` have come. */
static json_t *look(double at_s, unsigned n, int waiting, int joined)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:s+,s:i,s:s,s:s,s:i,s:i,s:i,s:f,s:f,s:s,s:i,s:f}", "queue", "q",
                            i == 0 ? "0" : "x", "id", (int)i + 1, "state", "open", "mode", "rate",
                            "waiting", waiting, "returning", 0, "joined", joined, "rate_per_s", 5.0,
                            "allowed_per_s", 20.0, "limited_by", "fixed", "inside", 7, "eta_last_s",
                            40.0));
    return json_pack("{s:f,s:s,s:i,s:b,s:s,s:i,s:i,s:o,s:[{s:s,s:b,s:i,s:i},{s:s,s:b,s:b}],s:[{s:s,s:i}]}",
                     "now_ms", at_s * 1000, "manager", "m.0", "epoch", 3, "healthy", 1, "why", "",
                     "queues_total", (int)n, "map_version", 9, "queues", list, "nodes", "name", "up1",
                     "up", 1, "tickets", 5, "max_tickets", 10, "name", "gone", "up", 0, "draining", 0,
                     "routers", "name", "r.0", "map_version", 8);
}

static const char *shown(json_t *now, json_t *then, size_t lines)
{
    buf_reset(&b);
    view_top(&b, now, then, lines);
    buf_byte(&b, 0);
    cr_assert_not(b.failed);
    b.len--;
    json_decref(now);
    json_decref(then);
    return (const char *)b.data;
}

static bool has(const char *text, const char *what)
{
    bool yes = strstr(text, what) != NULL;

    if (!yes)
        fprintf(stderr, "no '%s' in:\n%s\n", what, text);
    return yes;
}

static size_t lines_in(const char *s)
{
    size_t n = 0;

    for (; *s != '\0'; s++)
        n += *s == '\n';
    return n;
}

Test(ctl_top, rates_are_counted_from_the_look_before)
{
    const char *s = shown(look(103, 1, 160, 400), look(100, 1, 100, 100), 0);

    cr_expect(has(s, "m.0 leads, epoch 3\n"));
    cr_expect(has(s, "1 queue: 160 wait (+20/s), 100/s arrive, 5/s are let in, 7 are inside\n"));
    cr_expect(has(s, "q0     open       160   +20/s   100/s     5/s   20/s  fixed            7        40 s\n"));
    s = shown(look(103, 1, 40, 100), look(100, 1, 100, 100), 0);
    cr_expect(has(s, "40 wait (-20/s), 0/s arrive"));
}

Test(ctl_top, without_a_look_before_they_are_not_known)
{
    cr_expect(has(shown(look(103, 1, 160, 400), NULL, 0), "1 queue: 160 wait, 5/s are let in"));
    cr_expect(has((const char *)b.data, "q0     open       160       -       -     5/s"));
}

Test(ctl_top, a_counter_that_began_anew_is_no_rate)
{
    cr_expect(has(shown(look(103, 1, 160, 4), look(100, 1, 160, 400), 0),
                  "q0     open       160     0/s       -     5/s"));
}

Test(ctl_top, what_is_wrong_comes_first)
{
    json_t *now = look(103, 1, 1, 1);
    const char *s;

    json_object_set_new(now, "healthy", json_false());
    json_object_set_new(now, "why", json_string("no segment node is up"));
    s = shown(now, NULL, 0);
    cr_expect(has(s, "epoch 3\nno segment node is up\n1 queue: "));
    cr_expect(has(s, "up1   up"));
    cr_expect_lt(strstr(s, "gone  down for 0 s"), strstr(s, "up1   up"));
    cr_expect(has(s, "r.0     up, old map"));
}

Test(ctl_top, a_small_screen_leaves_the_quietest_queues_out)
{
    const char *s = shown(look(103, 40, 1, 1), NULL, 30);

    cr_expect_eq(lines_in(s), 30, "%zu lines", lines_in(s));
    cr_expect(has(s, "(22 quieter queues)\n")); /* 18 of 40 have room */
    cr_expect_eq(lines_in(shown(look(103, 40, 1, 1), NULL, 0)), 30 + 22 - 1);
}

Test(ctl_top, of_many_nodes_those_in_trouble_are_shown)
{
    json_t *now = look(103, 1, 1, 1), *list = json_object_get(now, "nodes");
    const char *s;

    for (unsigned i = 0; i < 30; i++)
        json_array_append_new(list, json_pack("{s:s,s:b}", "name", "more", "up", i != 29));
    s = shown(now, NULL, 40);
    cr_expect(has(s, "more  down for 0 s"));
    cr_expect(has(s, "more, which are up: segqctl status)\n"));
}

Test(ctl_top, processes_say_what_they_use)
{
    json_t *now = look(103, 1, 1, 1);
    json_t *node = json_array_get(json_object_get(now, "nodes"), 0);
    json_t *router = json_array_get(json_object_get(now, "routers"), 0);
    const char *s;

    json_object_set_new(node, "load", json_pack("{s:f,s:i,s:i}", "cpu", 1.304, "rss_bytes", 300 << 20,
                                                "late_us", 260));
    json_object_set_new(router, "load", json_pack("{s:f,s:I,s:i,s:i}", "cpu", 0.0, "rss_bytes",
                                                  (json_int_t)11 << 30, "answers_per_s", 900, "p99_us",
                                                  12400));
    s = shown(now, NULL, 0);
    cr_expect(has(s, "up1   up            130 %  300 MiB  0.3 ms"));
    cr_expect(has(s, "gone  down for 0 s      -        -       -"));
    cr_expect(has(s, "r.0     up, old map  0 %  11 GiB    900/s  12 ms"));
}

Test(ctl_top, an_answer_of_another_release_is_shown)
{
    cr_expect(has(shown(json_object(), NULL, 10), "no queues\n"));
    cr_expect(has(shown(json_pack("{s:[s],s:i}", "queues", "x", "nodes", 7), json_object(), 1), "QUEUE"));
}

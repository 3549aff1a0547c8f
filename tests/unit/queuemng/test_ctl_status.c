/* test_ctl_status.c: the cluster as text. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/status_view.h"
#include "tests/lib/ctl_text.h"

TestSuite(ctl_status, .init = text_begin, .fini = text_end);

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
    "\"joined\":100,\"waiting\":30,\"returning\":1,\"ready\":2,\"active\":3,\"ahead\":0,\"move\":9}]}]}],"
    "\"moves\":[{\"move\":9,\"from\":17,\"to\":18,\"state\":\"copying\",\"tickets\":12}],"
    "\"metrics\":[{\"name\":\"cpu\",\"ok\":false,\"value\":null,\"age_ms\":1500,"
    "\"why\":\"no answer\"}]}";

Test(ctl_status, regions_are_shown_where_one_is_said)
{
    json_t *c = js("{\"epoch\":3,\"map_version\":41,\"nodes\":[],\"queues\":[],\"moves\":[],\"metrics\":[],"
                   "\"routers\":[{\"name\":\"r0\",\"http\":\"h:1\",\"map_version\":41,"
                   "\"region\":\"eu\",\"zone\":\"eu-1a\"},{\"name\":\"r1\",\"http\":\"h:2\","
                   "\"map_version\":41,\"region\":\"us\",\"zone\":\"\"},{\"name\":\"r2\","
                   "\"http\":\"h:3\",\"map_version\":41}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), "ROUTER  MAP  HTTP  REGION\n"
                                      "r0      41   h:1   eu/eu-1a\n"
                                      "r1      41   h:2   us\n"
                                      "r2      41   h:3   \n"), "%s", text());
    json_decref(c);
}

Test(ctl_status, a_shadow_says_who_would_wait_and_how_long)
{
    json_t *c = js("{\"epoch\":3,\"map_version\":41,\"nodes\":[],\"routers\":[],\"moves\":[],\"metrics\":[],"
                   "\"queues\":[{\"queue\":\"login\",\"state\":\"open\",\"limited_by\":\"shadow\",\"lanes\":[],\"shadow\":{\"waiting\":10,"
                   "\"wait_s\":2.106,\"joined\":1200,\"would_wait\":7,\"longest_s\":75.5,\"allowed_per_s\":2.0,"
                   "\"limited_by\":\"fixed\"}}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), "  shadow, everybody goes in at once: 10 would wait, up to 2 s (2/s, limited by fixed); of 1 200 so far 7 would "
                                      "have waited, up to 76 s\n"), "%s", text());
    json_object_set_new(json_array_get(json_object_get(c, "queues"), 0), "limited_by", json_string("reject"));
    buf_reset(&b);
    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), "  shadow: 10 would wait"), "nobody goes in: %s", text());
    json_decref(c);
}

Test(ctl_status, status_shows_everything)
{
    json_t *c = js(cluster);

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_str_eq(
        text(),
        "epoch 3, map 41\n\n"
        "NODE       STATE         SEGMENTS  OF  WAITING  INSIDE  PLACES                  TAKEN   OF  "
        "ADDRESS\n"
        "segment.0  up, draining         2  64       31       5  [######..............]     30  100  "
        "127.0.0.1:9050\n"
        "warning: all segment nodes that are up are drained: nothing moves, no segment opens, and joins are refused when "
        "the open ones are full: segqctl undrain NODE\n\n"
        "ROUTER    MAP  HTTP\n"
        "router.0  41   127.0.0.1:8080\n\n"
        "METRIC  STATE   VALUE    AGE  WHY\n"
        "cpu     FAILED      -  1.5 s  no answer\n\n"
        "MOVE  FROM  TO  STATE    TICKETS\n"
        "   9    17  18  copying       12\n\n"
        "queue login (open): 2 000/s allowed, limited by cpu, 80 % of those let in come, so "
        "1.25 times as many are let in\n"
        "  lane default: 30 waiting, 1 returning, 2 ready, 3 active, 70 released since this manager leads, now "
        "13/s; the last in line waits about 15 s\n"
        "    SEGMENT  NODE       STATE   FILL                    WAITING  PLACES   OF  "
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

/* Two queues open by the clock, and the year of one is mistyped: both said no more than not_open. */
Test(ctl_status, an_opening_by_the_clock_says_when)
{
    json_t *c = js("{\"queues\":[{\"queue\":\"a\",\"state\":\"open\",\"limited_by\":\"not_open\",\"lanes\":[],"
                   "\"opens_ms\":1795944861000},{\"queue\":\"b\",\"state\":\"open\",\"limited_by\":\"not_open\",\"lanes\":[],"
                   "\"opens_ms\":2932018461000},{\"queue\":\"c\",\"state\":\"open\",\"limited_by\":\"fixed\",\"lanes\":[],"
                   "\"closed_ms\":1795944861000}]}");
    char opens[3][100] = { "limited by not_open; opens at 2026-11-29 09:34:21 UTC\n",
                           "limited by not_open; opens at 2062-11-29 09:34:21 UTC\n",
                           "limited by fixed; closed by the clock since 2026-11-29 09:34:21 UTC\n" };

    for (unsigned i = 0; i < 3; i++) {
        buf_reset(&b);
        cr_expect(view_cluster(&b, c, (const char *[]){ "a", "b", "c" }[i], false));
        cr_expect_not_null(strstr(text(), opens[i]), "%s", text());
    }
    json_decref(c);
}

Test(ctl_status, a_drain_of_some_nodes_is_no_warning)
{
    json_t *c = js("{\"queues\":[],\"nodes\":[{\"name\":\"a\",\"up\":true,\"draining\":true},{\"name\":\"b\",\"up\":true}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_null(strstr(text(), "warning"), "%s", text());
    json_object_set_new(json_array_get(json_object_get(c, "nodes"), 1), "up", json_false());
    buf_reset(&b);
    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), "warning: all segment nodes that are up are drained"), "%s", text());
    json_decref(c);
}

/* Whoever stands behind a segment whose people are still coming back. */
Test(ctl_status, unknown_values_are_not_zero)
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

/* "open", while all who come are refused: the order is not what holds. */
Test(ctl_status, a_queue_shows_what_people_are_told)
{
    json_t *c = js("{\"queues\":[{\"queue\":\"a\",\"state\":\"open\",\"public_state\":\"full\"},{\"queue\":\"b\","
                   "\"state\":\"open\",\"public_state\":\"open\"},{\"queue\":\"c\",\"state\":\"paused\"}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), "queue a (open: full): "), "%s", text());
    cr_expect_not_null(strstr(text(), "queue b (open): "), "%s", text());
    cr_expect_not_null(strstr(text(), "queue c (paused): "), "%s", text());
    buf_reset(&b);
    view_top(&b, c, NULL, 0);
    cr_expect_not_null(strstr(text(), "\na      open: full "), "%s", text());
    cr_expect_not_null(strstr(text(), "\nb      open "), "%s", text());
    json_decref(c);
}

/* Blocks of places are no people, and people inside take none: both in one figure were more than the places taken. */
Test(ctl_status, a_node_shows_its_people)
{
    json_t *c = js("{\"nodes\":[{\"name\":\"a\",\"tickets\":512,\"silent_ms\":3000},{\"name\":\"b\"}],\"queues\":["
                   "{\"lanes\":[{\"segments\":[{\"node\":\"a\",\"waiting\":1,\"active\":2},"
                   "{\"node\":\"b\",\"ready\":4}]}]}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), "\na     down for 3 s         0   0        1       2  [") != NULL, "%s", text());
    cr_expect(strstr(text(), "\nb     down for 0 s         0   0        0       4  [") != NULL, "%s", text());
    json_decref(c);
}

/* Under the nodes, in status and in the live view. */
Test(ctl_status, a_drain_says_how_far_it_is_and_what_holds_it_up)
{
    json_t *c = js("{\"nodes\":[{\"name\":\"s0\",\"up\":true,\"drain\":null},"
                   "{\"name\":\"s1\",\"up\":true,\"draining\":true,\"drain\":{\"segments_left\":1200,\"moving\":4,"
                   "\"why\":\"\",\"segment\":null,\"again_in_ms\":null}},"
                   "{\"name\":\"s2\",\"up\":true,\"draining\":true,\"drain\":{\"segments_left\":1,\"moving\":0,"
                   "\"why\":\"no room\",\"segment\":17,\"again_in_ms\":3200}},"
                   "{\"name\":\"s3\",\"up\":true,\"draining\":true,\"drain\":{\"segments_left\":2,\"moving\":1,"
                   "\"why\":\"no other node has room\",\"segment\":18,\"again_in_ms\":null}},"
                   "{\"name\":\"s4\",\"up\":true,\"draining\":true,\"drain\":{\"segments_left\":0,\"moving\":0,"
                   "\"why\":\"\",\"segment\":null,\"again_in_ms\":null}}],\"queues\":[]}");
    static const char said[] = "s1 is being drained: 1 200 segments left, 4 moving\n"
                               "s2 is being drained: 1 segment left, 0 moving; segment 17 stays: no room; tried again in 3.2 s\n"
                               "s3 is being drained: 2 segments left, 1 moving; segment 18 stays: no other node has room\n\n";

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), said), "%s", text());
    json_decref(c);
}

Test(ctl_status, status_has_the_warnings_of_all_processes)
{
    json_t *c = js("{\"manager\":\"m0\",\"warning\":\"so\",\"nodes\":[{\"name\":\"s0\",\"up\":true,\"load\":{\"warning\":\"tls_key: no\"}},"
                   "{\"name\":\"s1\",\"up\":true,\"load\":null}],"
                   "\"tasks\":{\"nodes\":[{\"name\":\"t0\",\"load\":{\"warning\":\"a\\u001bb\"}}]},"
                   "\"routers\":[{\"name\":\"r0\",\"load\":{\"cpu\":0.1}},"
                   "{\"name\":\"r1\",\"load\":{\"warning\":\"late\"}}],"
                   "\"queues\":[{\"queue\":\"q0\"},{\"queue\":\"q1\",\"warning\":\"nobody\"}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect_not_null(strstr(text(), "\nwarning: m0: so\nwarning: s0: tls_key: no\nwarning: t0: a"), "%s", text());
    cr_expect_not_null(strstr(text(), "\nwarning: r1: late\nwarning: queue q1: nobody\n"), "%s", text());
    cr_expect_null(strchr(text(), 27), "a sign that a terminal obeys");
    cr_expect_null(strstr(text(), "s1:"));
    cr_expect_null(strstr(text(), "r0:"));
    json_decref(c);
}

/* What a rate says nothing about, and a metric that was never read. */
Test(ctl_status, status_by_slots)
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

Test(ctl_status, status_lists_restorable_queues)
{
    json_t *c = js("{\"deleted\":[{\"queue\":\"a\",\"waiting\":1200,\"restore_until_ms\":1795944861000}]}");

    cr_expect(view_cluster(&b, c, NULL, false));
    cr_expect(strstr(text(), "\nqueue a is deleted, with 1 200 waiting: segqctl queue restore "
                             "a brings it back until 2026-11-29 09:34:21 UTC\n"), "%s", text());
    json_decref(c);
}

/* Who was inside before a flush takes a slot until the pass is over. */
Test(ctl_status, status_after_a_flush)
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
Test(ctl_status, status_of_odd_answers)
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

Test(ctl_status, of_many_queues_the_busiest_come_first)
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

Test(ctl_status, of_a_long_chain_the_ends)
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

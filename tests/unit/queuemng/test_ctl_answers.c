/* test_ctl_answers.c: single answers as text, and what an order will do to people. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/answer_view.h"
#include "tests/lib/ctl_text.h"

TestSuite(ctl_answers, .init = text_begin, .fini = text_end);

Test(ctl_answers, queues_in_one_table)
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

Test(ctl_answers, tickets_and_refusals)
{
    json_t *t =
        js("{\"token\":\"EA\",\"position\":12,\"eta_s\":null,\"prequeue\":true,\"released_at\":1.5}");
    json_t *p = js("{\"title\":\"Gone\",\"status\":410,\"code\":\"ticket_gone\","
                   "\"detail\":\"it is\\u001b[2J over\",\"reason\":\"left\"}");

    view_ticket(&b, t);
    cr_expect_str_eq(text(), "token           EA\nposition        12\neta_s           -\n"
                             "prequeue        yes\nreleased_at     1970-01-01 00:00:01 UTC\n");
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

static void limits_are(const char *want, const char *def)
{
    json_t *d = js(def);

    buf_reset(&b);
    view_limits(&b, d, "cpu");
    cr_expect_str_eq(text(), want);
    json_decref(d);
}

Test(ctl_answers, tiers_names_the_other_limits)
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

Test(ctl_answers, the_operators_log_is_shown)
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
                             "1 of them could NOT be written to audit.jsonl: is the disk full?\n");
    json_decref(j);
    buf_reset(&b);
    j = js("{}");
    view_audit(&b, j);
    cr_expect_str_eq(text(), "nobody has changed anything\n");
    json_decref(j);
}

Test(ctl_answers, events_are_shown_as_sentences)
{
    json_t *j = js("{\"now_ms\":9000,\"events\":[{\"at_ms\":1000,\"level\":\"warn\","
                   "\"text\":\"event=node_down node=a\"},{\"at_ms\":8500,\"level\":\"info\","
                   "\"text\":\"event=node_up\"}]}");

    view_events(&b, j);
    cr_expect_str_eq(text(), "      8 s ago warn  event=node_down node=a\n"
                             "      0 s ago info  event=node_up\n");
    json_decref(j);
    buf_reset(&b);
    j = js("{\"events\":4}");
    view_events(&b, j);
    cr_expect_str_eq(text(), "nothing has happened\n");
    json_decref(j);
    buf_reset(&b);
    j = js("{\"now_ms\":5000,\"events\":[{\"at_ms\":-9223372036854775808,\"text\":\"a\"},"
           "{\"at_ms\":9223372036854775807,\"text\":\"b\"}]}");
    view_events(&b, j);
    cr_expect_str_eq(text(), "      5 s ago -     a\n      0 s ago -     b\n", "no number overflows");
    json_decref(j);
}

static void risk_is(const char *want, enum risk risk, const char *queue)
{
    json_t *q = js(queue);

    buf_reset(&b);
    view_risk(&b, risk, q);
    cr_expect_str_eq(text(), want);
    json_decref(q);
}

Test(ctl_answers, risky_orders_tell_their_effect)
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

Test(ctl_answers, orders_about_people_say_from_to_and_how_many)
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

static void release_says(const char *want, uint64_t n, const char *queue)
{
    json_t *q = js(queue);

    buf_reset(&b);
    view_release_risk(&b, n, q);
    cr_expect_str_eq(text(), want);
    json_decref(q);
}

/* The number that was typed goes in, and not all who wait. */
Test(ctl_answers, release_tells_how_many_of_those_who_wait_go_in)
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

Test(ctl_answers, a_state_that_a_definition_brings_is_asked_about_as_its_order)
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

Test(ctl_answers, drain_tells_its_effect)
{
    drain_is("ok: it is empty and can be stopped", "{\"name\":\"s1\",\"up\":true,\"segments\":0}");
    drain_is("ok: 1 segment will move to other nodes; the node is empty when segqctl status says "
             "so", "{\"name\":\"s1\",\"up\":true,\"segments\":1,\"others\":1}");
    drain_is("ok: 17 partitions will stay: no other node is up that takes them",
             "{\"name\":\"t1\",\"up\":true,\"partitions\":17,\"others\":0}");
    drain_is("ok: 3 segments will stay: no other node is up that takes them; when the open segments are full, joins "
             "are refused", "{\"name\":\"s1\",\"up\":true,\"segments\":3,\"others\":0}");
    drain_is("ok: 3 segments cannot move now: the node is down since 41 s. Start it again; if it "
             "is gone for good: segqctl forget s1",
             "{\"name\":\"s1\",\"up\":false,\"segments\":3,\"silent_ms\":40999}");
}

static void says(ctl_view *view, const char *want, const char *json)
{
    json_t *doc = js(json);

    buf_reset(&b);
    view(&b, doc);
    cr_expect_str_eq(text(), want);
    json_decref(doc);
}

Test(ctl_answers, what_is_deleted_has_its_name)
{
    says(view_deleted, "pool ride/*: deleted", "{\"pool\":\"ride/*\"}");
    says(view_deleted, "route r: deleted", "{\"route\":\"r\"}");
}

Test(ctl_answers, one_line_is_one)
{
    says(view_why, "audit trail     0 lines, perhaps not all\n", "{\"events\":[]}");
    says(view_why, "audit trail     1 line\n  1  left     \n",
         "{\"trail_whole\":true,\"events\":[{\"time\":\"1\",\"event\":\"left\"}]}");
    says(view_why, "audit trail     2 lines\n  1  a        \n  2  b        \n",
         "{\"trail_whole\":true,\"events\":[{\"time\":\"1\",\"event\":\"a\"},{\"time\":\"2\",\"event\":\"b\"}]}");
}

Test(ctl_answers, a_route_without_a_longest_wait_has_any)
{
    says(view_routes, "ROUTE  POINTER  MATCH  ENDPOINTS  MAX_WAIT\n"
                      "r      /model   a,b    gen        any\n"
                      "r      /model   any    any        10s\n",
         "{\"routes\":[{\"name\":\"r\",\"pointer\":\"/model\",\"rules\":[{\"match\":[\"a\",\"b\"],"
         "\"endpoints\":[\"gen\"],\"max_wait\":\"0ms\"},{\"match\":[],\"max_wait\":\"10s\"}]}]}");
}

Test(ctl_answers, a_part_of_a_budgets_units_is_a_share)
{
    says(view_budgets, "BUDGET  MEMBER        WEIGHT  RATE  ACTIVE  UNITS             LIMITED_BY\n"
                       "c       -                  -     -       -  99 of 100/minute  -\n"
                       "c       endpoint gpt       1     -       -  25 %              -\n",
         "{\"budgets\":[{\"name\":\"c\",\"rates\":[{\"used\":99,\"units\":100,\"per\":\"minute\"}],"
         "\"members\":[{\"kind\":\"endpoint\",\"name\":\"gpt\",\"weight\":1,\"part\":{\"units_part\":0.25}}]}]}");
}

static void opening_is(const char *want, const char *when)
{
    json_t *n = js(when);

    buf_reset(&b);
    view_opening(&b, n);
    cr_expect_str_eq(text(), want);
    json_decref(n);
}

Test(ctl_answers, a_date_is_said_as_a_span_so_that_a_wrong_year_is_seen)
{
    opening_is("queue q: the clock opens it in 90 s\n", "{\"queue\":\"q\",\"opens_in_ms\":90000,\"opened_ms\":0,\"closed_ms\":0}");
    opening_is("queue q: the clock opens it in 13149 days\n", "{\"queue\":\"q\",\"opens_in_ms\":1136073600000}");
    opening_is("queue q: the clock opens it in 90 s\nqueue q: the clock closes it in 13149 days\n",
               "{\"queue\":\"q\",\"opens_in_ms\":90000,\"closes_in_ms\":1136073600000}");
    opening_is("queue q: opens_at was 14.0 h ago: the clock holds nobody back\n"
               "queue q: closes_at was 60 min ago: nobody may join any more\n",
               "{\"queue\":\"q\",\"opened_ms\":50400000,\"closed_ms\":3600000}");
}

static void forget_is(const char *want, const char *node)
{
    json_t *n = js(node);

    buf_reset(&b);
    view_forget(&b, n);
    cr_expect_str_eq(text(), want);
    json_decref(n);
}

Test(ctl_answers, forget_tells_its_effect)
{
    forget_is("forget s1: 1 segment is there. It opens on another node now, the people in it bring "
              "their places back by polling, and passes that only this node has signed may be "
              "refused. If it can come back, start it again instead.",
              "{\"name\":\"s1\",\"segments\":1,\"others\":2}");
    forget_is("forget s1: 2 segments are there. They open on other nodes when some are up, the people in "
              "them bring their places back by polling, and passes that only this node has signed may be "
              "refused. If it can come back, start it again instead.",
              "{\"name\":\"s1\",\"segments\":2,\"others\":0}");
    forget_is("forget t1: 4 partitions of task queues, with 1 task to be done when it was last heard, and "
              "all results. They are on its disk alone and are lost; no other task node is up, and new "
              "tasks are refused. If it can come back, start it again instead.",
              "{\"name\":\"t1\",\"partitions\":4,\"tasks\":1,\"others\":0}");
    forget_is("forget s1: it alone has the key of passes that may still be good; they will be "
              "refused. If it can come back, start it again instead.", "{\"name\":\"s1\"}");
}

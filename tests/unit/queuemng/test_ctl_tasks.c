/* test_ctl_tasks.c: tasks, pools, endpoints as text. */
#include "tests/lib/criterion.h"
#include <stdlib.h>
#include <string.h>

#include "queuemng/ctl_view/status_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "tests/lib/ctl_text.h"

TestSuite(ctl_tasks, .init = text_begin, .fini = text_end);

Test(ctl_tasks, a_pool_that_is_none_is_told_with_the_one_that_is_meant)
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

Test(ctl_tasks, status_tells_of_a_task_node_that_is_away)
{
    json_t *j = js("{\"epoch\": 3, \"tasks\": {\"pools\": [{\"pool\": \"images\", \"paused\": false,"
                   "\"away\": 1, \"waiting\": 1200, \"oldest_ms\": 90000}], \"nodes\": [{\"name\": \"task.0\","
                   "\"up\": false, \"silent_ms\": 12000, \"partitions\": 1, \"addr\": \"a:1\"}]}}");

    cr_assert(view_cluster(&b, j, NULL, false));
    cr_expect_not_null(strstr(text(), "images  away"), "%s", text());
    cr_expect_not_null(strstr(text(), " away for 12 s "), "%s", text());
    json_decref(j);
}

/* Tasks that are refused are trouble. So is a crowd of them that nobody takes; those of a worker that came a moment ago, and those that a
 * limit holds up, are not. */
Test(ctl_tasks, status_names_pools_that_are_full_and_those_whose_tasks_no_worker_takes)
{
    static const char answer[] =
        "{\"pools\":[{\"pool\":\"img*\",\"waiting\":501,\"running\":0,\"stalled_ms\":180000,"
        "\"held\":[{\"by\":\"workers\",\"says\":\"workers\",\"tasks\":501}]},"
        "{\"pool\":\"b\",\"waiting\":9,\"running\":0,\"stalled_ms\":5000,"
        "\"held\":[{\"by\":\"workers\",\"says\":\"workers\",\"tasks\":9}]},"
        "{\"pool\":\"c\",\"waiting\":9,\"running\":0,\"stalled_ms\":500000,"
        "\"held\":[{\"by\":\"rate\",\"says\":\"the rate\",\"tasks\":9}]},"
        "{\"pool\":\"d\",\"waiting\":7,\"full\":\"max_bytes\",\"full_says\":\"payloads have max_bytes\"},"
        "{\"pool\":\"e\",\"waiting\":8,\"crowded\":true,\"warn_waiting\":5}],"
        "\"endpoints\":[{\"name\":\"g\",\"names\":[{\"url\":\"http://a\",\"addresses\":0,\"failing\":\"name: it has no address\","
        "\"failing_ms\":300000},{\"url\":\"http://b\",\"addresses\":2,\"failing\":\"name: x\",\"failing_ms\":59000},"
        "{\"url\":\"http://c\",\"addresses\":2,\"failing\":\"\",\"failing_ms\":0}]}]}";
    json_t *doc = js(answer);

    view_task_trouble(&b, doc);
    cr_expect_str_eq(text(), "tasks of d: new ones are refused, payloads have max_bytes\n"
                             "tasks of e: 8 wait, more than warn_waiting (5)\n"
                             "tasks of img*: 501 wait, no worker for 3 min\n"
                             "discovery of http://a has failed for 5 min, 0 addresses known: name: it has no address\n");
    json_decref(doc);
}

Test(ctl_tasks, endpoints_say_how_they_are)
{
    json_t *j = js("{\"endpoints\": [{\"name\": \"a\"}, {\"name\": \"b\", \"open\": 1, \"half_open\": 1},"
                   "{\"name\": \"c\", \"half_open\": 1}, {\"name\": \"d\", \"paused\": true},"
                   "{\"name\": \"e\", \"unusable\": \"/k: cannot be\\u001b read\"},"
                   "{\"name\": \"f\", \"tripped\": true, \"open\": 2, \"in_flight\": 9, \"held\": 8},"
                   "{\"name\": \"g\", \"rates\": [{\"units\": 50, \"per\": \"hour\", \"burst\": 50, \"used\": 7, "
                   "\"begins_at\": 1795820400, \"ends_at\": 1795824000}]}]}");

    view_endpoints(&b, j);
    cr_expect_not_null(strstr(text(), "\na         up "), "%s", text());
    cr_expect_not_null(strstr(text(), "\nb         down "));
    cr_expect_not_null(strstr(text(), " 7 of 50 (50/hour, from 2026-11-27 23:00:00 UTC to 2026-11-28 00:00:00 UTC) "), "%s", text());
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

Test(ctl_tasks, a_probe_says_what_came_of_it)
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

Test(ctl_tasks, one_task_is_one)
{
    json_t *j = json_pack("{s:i}", "tasks", 1);

    view_task_order(&b, j);
    json_object_set_new(j, "tasks", json_integer(1200));
    view_task_order(&b, j);
    cr_expect_str_eq(text(), "ok: 1 task\nok: 1 200 tasks\n");
    json_decref(j);
}

/* A mean of no call is no time. */
Test(ctl_tasks, an_endpoint_that_no_call_went_to_has_no_mean)
{
    json_t *j = js("{\"endpoints\":[{\"name\":\"g\",\"ms\":0,\"succeeded\":0},{\"name\":\"h\",\"ms\":9,\"succeeded\":3}]}");

    view_endpoints(&b, j);
    cr_expect_not_null(strstr(text(), " FAILED  MS  "), "%s", text());
    cr_expect_not_null(strstr(text(), "          0       0   -  "), "%s", text());
    cr_expect_not_null(strstr(text(), "          3       0   3  "), "%s", text());
    json_decref(j);
}

Test(ctl_tasks, a_task_in_lines)
{
    json_t *j = js("{\"id\": \"3-77\", \"state\": \"waiting\", \"because\": \"no\\u001bthing\","
                   "\"queue\": \"images\", \"key\": null, \"position\": 12, \"ahead_of_key\": 100,"
                   "\"ahead_of_priority\": 0, \"attempts\": 2}");

    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "task       3-77\nstate      waiting\nbecause    no?thing\n"));
    cr_expect_not_null(strstr(text(), "12 in its queue; before it in its key: 100 or more; of its priority or above: 0\n"));
    cr_expect_null(strstr(text(), "key  "), "it has none");
    json_decref(j);
}

Test(ctl_tasks, the_progress_of_a_task_that_runs)
{
    json_t *j = js("{\"id\": \"3-77\", \"state\": \"running\", \"progress\":"
                   "{\"at\": 1000, \"percent\": 40, \"text\": \"page 4\", \"data\": {\"page\": [4, \"x\"]}}}");
    json_t *list = json_pack("{s:[O]}", "tasks", j);

    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "progress   40 %, page 4, {\"page\":[4,\"x\"]}, 1970-01-01 00:16:40 UTC\n"),
                       "%s", text());
    buf_reset(&b);
    view_tasks(&b, list);
    cr_expect_not_null(strstr(text(), "running 40 %"), "%s", text());
    json_decref(list);
    json_decref(j);
    j = js("{\"id\": \"3-77\", \"state\": \"running\", \"progress\": {\"at\": 1000, \"text\": \"half\"}}");
    buf_reset(&b);
    view_task(&b, j);
    cr_expect_not_null(strstr(text(), "progress   half, 1970"), "%s", text());
    json_decref(j);
}

Test(ctl_tasks, a_schedule_without_a_next_time_says_if_it_is_paused)
{
    json_t *j = js("{\"schedules\":[{\"schedule\":\"a\",\"next\":null,\"paused\":true},{\"schedule\":\"b\",\"next\":1000,"
                   "\"paused\":false},{\"schedule\":\"c\",\"next\":null}]}");

    view_task_schedules(&b, j);
    cr_expect_not_null(strstr(text(), "\na         paused "), "%s", text());
    cr_expect_not_null(strstr(text(), "\nb         1970-01-01 00:16:40 UTC "), "%s", text());
    cr_expect_not_null(strstr(text(), "\nc         - "), "%s", text());
    json_decref(j);
}

Test(ctl_tasks, the_reason_names_times_not_fields)
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

Test(ctl_tasks, an_attempt_in_a_line)
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

/* A schedule that is paused goes on when it is resumed; one that is over does not. */
Test(ctl_tasks, a_schedule_says_when_it_fires)
{
    json_t *paused = js("{\"schedule\":\"s\",\"queue\":\"q\",\"ticks\":[],\"definition\":{\"paused\":true},"
                        "\"changes\":[{\"key\":\"paused\",\"from\":false,\"to\":true}]}");
    json_t *over = js("{\"schedule\":\"s\",\"queue\":\"q\",\"ticks\":[],\"definition\":{\"until\":1}}");

    view_schedule_changed(&b, paused);
    cr_expect_str_eq(text(), "schedule s of queue q:\npaused: false -> true\nfires: not while it is paused\n");
    buf_reset(&b);
    view_schedule_changed(&b, over);
    cr_expect_str_eq(text(), "schedule s of queue q: nothing has changed: it is so already\nfires: not again\n");
    json_decref(paused);
    json_decref(over);
}

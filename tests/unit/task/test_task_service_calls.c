/* test_task_service_calls.c: a whole task node (tasknoderig.h): tasks that are calls, and a target
 * in the same loop. */
#define _GNU_SOURCE 1 /* memmem */
#include "task/service/caller.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/task/call.h"
#include "common/task/state.h"
#include "task/bodies/answers.h"
#include "task/service/service.h"
#include "tests/lib/dnsrig.h"
#include "tests/lib/targetrig.h"
#include "tests/lib/tasknoderig.h"

TestSuite(task_service_calls, .init = task_node_setup, .fini = task_node_teardown);

static struct targetrig target;

static const char *keys_file = "", *auth_file = "", *ca_file = "", *allowed = "127.0.0.0/8", *host = NULL;

static uint64_t serial = 1;

static struct endpoint_reading reading = { .metric = "load", .labels = "", .close_above = 1000, .open_below = 500,
                                           .narrow_from = ENDPOINT_ANY, .narrow_to = ENDPOINT_ANY };
static uint32_t n_readings;
static const char *used = "";

static void define(const char *name, uint32_t deadline_ms)
{
    const char *allow[] = { allowed };
    char url[128];
    struct msg_endpoint m = { .epoch = 5, .name = name, .serial = serial, .version = 1, .url = url,
                              .n_allow = 1, .allow = allow, .rate = ENDPOINT_ANY, .burst = 1,
                              .max_concurrent = 8, .deadline_ms = deadline_ms,
                              .connect_timeout_ms = 500, .breaker_ratio = 50, .breaker_min = 20,
                              .breaker_open_ms = 60000, .auth_field = "authorization: Bearer ", .auth_file = auth_file, .reading_path = "",
                              .secret_file = keys_file, .ca_file = ca_file, .cert_file = "", .key_file = "", .proxy = "", .budget = "",
                              .max_answer = 200000, .used = used, .used_header = "", .n_readings = n_readings, .readings = &reading,
                              .reading_ms = 20, .reading_stale_ms = 50 };

    if (n_readings > 0)
        m.reading_path = "/metrics";
    snprintf(url, sizeof(url), "http://%s%s/api", host != NULL ? host : "",
             host != NULL ? strchr(target.addr, ':') : target.addr);
    say(&mng, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m }, 0);
}

static void open_part_of_calls(void)
{
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { .epoch = 5, .part = 3, .part_epoch = 8, .match = "img/*",
                                            .max_tasks = 1000, .endpoint = "gen" } }, 0);
}

static void open_calls(const char *answer, uint32_t deadline_ms)
{
    target_init(&target, ev);
    target.answer = answer;
    define("gen", deadline_ms);
    open_part_of_calls();
    WAIT(mng.seen[MSG_ENDPOINT_STATUS] > 0 && mng.last[MSG_ENDPOINT_STATUS].endpoint_status.n > 0);
}

static struct call_span span(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static task_no put_call_in(const char *path, int64_t delay_ms)
{
    const struct msg *a;
    struct task_put one = put_of("");
    struct buf b;

    one.delay_ms = delay_ms;
    buf_init(&b);
    call_pack_begin(&b, span("POST"), span(path));
    call_pack_header(&b, span("x-mine"), span("1"));
    call_pack_body(&b, span("{\"n\":1}"));
    one.body = (struct bytes_of){ (uint32_t)b.len, b.data };
    a = ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } }, MSG_TASK_PUT_ANS);
    buf_fini(&b);
    cr_assert_eq(a->task_put_ans.v[0].code, CODE_DONE);
    return a->task_put_ans.v[0].no;
}

static task_no put_call(const char *path)
{
    return put_call_in(path, 0);
}

Test(task_service_calls, a_call_is_sent_and_its_answer_is_the_result)
{
    const struct msg_task_get_ans *g;
    task_no no;

    open_calls("HTTP/1.1 201 Made\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\nPNG", 5000);
    no = put_call("/img?size=1");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    g = get(no);
    cr_expect_eq(g->status, 201);
    cr_expect_str_eq(g->content_type, "image/png");
    cr_expect(g->result.n == 3 && memcmp(g->result.p, "PNG", 3) == 0 && g->result_length == 3);
    cr_expect_eq(strncmp(target.last, "POST /api/img?size=1 HTTP/1.1\r\n", 31), 0, "%s", target.last);
    cr_expect_not_null(strstr(target.last, "\r\nsegq-task: 3-"));
    cr_expect_not_null(strstr(target.last, "\r\nx-mine: 1\r\n"));
    cr_expect_not_null(strstr(target.last, "\r\n\r\n{\"n\":1}"));
    WAIT(mng.last[MSG_ENDPOINT_STATUS].endpoint_status.v[0].succeeded == 1);
    cr_expect_eq(take(1, 0)->code, CODE_CONFLICT, "no worker takes it");
    target_fini(&target);
}

/* The endpoint goes with the page under way: what comes of it is nobody's. */
Test(task_service_calls, a_page_of_an_endpoint_that_has_gone_is_heard_by_nobody)
{
    static const char none[] = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
    struct endpoint *ep;
    unsigned asked;

    n_readings = 1;
    open_calls(none, 5000);
    ep = endpoints_find(&node->caller.calls.endpoints, "gen");
    WAIT(ep->pressure.said);
    target.answer = NULL;
    asked = target.requests;
    WAIT(target.requests > asked);
    endpoints_drop(&node->caller.calls.endpoints, "gen");
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        if (target.conn[i].io != NULL)
            cr_assert_gt(send(target.conn[i].fd, none, sizeof(none) - 1, MSG_NOSIGNAL), 0);
    WAIT(ep->target == NULL);
    n_readings = 0;
    target_fini(&target);
}

Test(task_service_calls, an_endpoint_that_goes_amid_a_call_takes_its_rule_of_units_along)
{
    task_no no;

    used = "/usage";
    open_calls(NULL, 5000);
    no = put_call("/x");
    WAIT(target.requests == 1);
    endpoints_drop(&node->caller.calls.endpoints, "gen");
    target.conn[0].left = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"usage\":7}";
    target.conn[0].left_n = strlen(target.conn[0].left);
    target_say(&target.conn[0]);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    used = "";
    target_fini(&target);
}

#define LONG 150000

static char long_answer[210000 + 200];

static void make_long(size_t n)
{
    int head = snprintf(long_answer, sizeof(long_answer),
                        "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %zu\r\n\r\n", n);

    for (size_t i = 0; i < n; i++)
        long_answer[(size_t)head + i] = (char)(i * 31 / 7);
    target.answer_n = (size_t)head + n;
    target.answer = long_answer;
}

static const struct msg_task_read_ans *read_at(task_no no, const uint8_t *sha256, uint64_t at)
{
    struct msg_task_read m = { .part = 3, .epoch = 8, .no = no, .sha256 = { RESULT_SHA256, sha256 },
                               .at = at, .most = 100000 };

    return &ask(&(struct msg){ .type = MSG_TASK_READ, .task_read = m }, MSG_TASK_READ_ANS)->task_read_ans;
}

Test(task_service_calls, a_long_answer_is_kept_whole_and_read_in_pieces)
{
    const struct msg_task_read_ans *r;
    const struct msg_task_get_ans *g;
    uint8_t sha256[RESULT_SHA256];
    const char *body;
    task_no no;

    open_calls("", 5000);
    make_long(LONG);
    target.step = 5000;
    body = strstr(long_answer, "\r\n\r\n") + 4;
    no = put_call("/img");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    g = get(no);
    cr_expect(g->result_whole && g->result_length == LONG && g->result.n == TASK_RESULT_MAX);
    memcpy(sha256, g->result_sha256.p, sizeof(sha256));
    r = read_at(no, sha256, 0);
    cr_assert(r->code == CODE_DONE && r->data.n == 100000);
    cr_expect_eq(memcmp(r->data.p, body, 100000), 0);
    r = read_at(no, sha256, 100000);
    cr_assert(r->code == CODE_DONE && r->data.n == LONG - 100000);
    cr_expect_eq(memcmp(r->data.p, body + 100000, LONG - 100000), 0);
    cr_expect_eq(read_at(no, sha256, LONG)->data.n, 0);
    cr_expect_eq(read_at(no, sha256, LONG + 1)->code, CODE_UNKNOWN);
    cr_expect_eq(ask(&(struct msg){ .type = MSG_TASK_READ,
                                    .task_read = { .part = 3, .epoch = 9, .no = no, .most = 1 } },
                     MSG_TASK_READ_ANS)->task_read_ans.code, CODE_STALE);
    cr_expect_eq(ask(&(struct msg){ .type = MSG_TASK_READ,
                                    .task_read = { .part = 3, .epoch = 8, .no = no, .most = 1 } },
                     MSG_TASK_READ_ANS)->task_read_ans.code, CODE_UNKNOWN, "no hash is none");
    sha256[0] ^= 1;
    cr_expect_eq(read_at(no, sha256, 0)->code, CODE_UNKNOWN);
    cr_expect_eq(read_at(no + 1, sha256, 0)->code, CODE_UNKNOWN);
    target_fini(&target);
}

Test(task_service_calls, an_answer_beyond_max_answer_or_that_breaks_off_is_not_kept)
{
    task_no no;

    open_calls("", 5000);
    snprintf(long_answer, sizeof(long_answer), "HTTP/1.1 200 OK\r\nContent-Length: %u\r\n\r\n", LONG);
    memset(long_answer + strlen(long_answer), 'x', LONG / 2);
    target.answer = long_answer;
    target.answer_n = LONG / 2;
    target.closes = true;
    no = put_call("/broken");
    WAIT(get(no)->state == TASK_RETRYING);
    cr_expect_eq(answers_counts(node->answers)->bytes, 0);
    target.closes = false;
    make_long(LONG);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect(get(no)->result_whole);
    make_long(210000);
    no = put_call("/longer");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect(!get(no)->result_whole && get(no)->result_length == 210000);
    cr_expect_eq(node->n.too_long, 1);
    cr_expect_eq(answers_counts(node->answers)->bytes, LONG);
    target_fini(&target);
}

Test(task_service_calls, a_call_that_fails_is_tried_again_or_dead)
{
    task_no no;

    open_calls("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 5000);
    no = put_call("/gone");
    WAIT(get(no)->state == TASK_DEAD);
    target.answer = "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n";
    no = put_call("/broken");
    WAIT(get(no)->state == TASK_RETRYING);
    target.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(get(no)->attempts, 2);
    cr_assert_geq(get(no)->n_history, 1);
    cr_expect_eq(get(no)->history[0].end, ATTEMPT_STATUS);
    cr_expect_eq(get(no)->history[0].number, 500);
    cr_expect_not_null(strstr(target.last, "\r\nsegq-redelivered: 1\r\n"), "%s", target.last);
    target_fini(&target);
}

Test(task_service_calls, endpoints_that_come_and_go_leave_nothing)
{
    const struct list *all = &node->caller.calls.endpoints;
    struct msg_endpoint_drop d = { .epoch = 5 };
    task_no no;

    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 2000);
    for (unsigned i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof(name), "other%u", i);
        define(name, 2000);
        d.name = name;
        say(&mng, &(struct msg){ .type = MSG_ENDPOINT_DROP, .endpoint_drop = d }, 0);
    }
    define("last", 2000);
    WAIT(list_last(all) != NULL && strcmp(container_of(list_last(all), struct endpoint, in)->name, "last") == 0);
    WAIT(all->n == 2);
    d.name = "gen";
    say(&mng, &(struct msg){ .type = MSG_ENDPOINT_DROP, .endpoint_drop = d }, 0);
    no = put_call("/a");
    cr_expect_eq(get(no)->state, TASK_WAITING);
    define("gen", 2000);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    target_fini(&target);
}

Test(task_service_calls, a_forced_cancel_closes_the_connection_of_its_call)
{
    struct msg_task_change q = { .part = 3, .epoch = 8, .verb = CHANGE_CANCEL, .queue = "",
                                 .name = "", .patch.labels = "", .force = true };
    const struct msg_task_change_ans *a = &rtr.last[MSG_TASK_CHANGE_ANS].task_change_ans;

    open_calls(NULL, 60000);
    q.no = put_call("/slow");
    WAIT(target.requests == 1);
    say(&rtr, &(struct msg){ .type = MSG_TASK_CHANGE, .task_change = q }, 1000001);
    WAIT(rtr.rid[MSG_TASK_CHANGE_ANS] == 1000001);
    cr_expect_eq(a->code, CODE_DONE);
    cr_expect_eq(a->state, TASK_CANCELLED);
    cr_expect(a->maybe_executed);
    WAIT(target.closed == 1);
    WAIT(node->caller.calls.going.n == 0);
    cr_expect_eq(target.requests, 1);
    node_end();
    start_node();
    cr_expect_eq(get(q.no)->state, TASK_CANCELLED);
    cr_expect(task_maybe_executed(get(q.no)));
    target_fini(&target);
}

static bool auth_bad, auth_changed;

static void on_auth_line(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    cr_expect_null(strstr(line, "sk-"), "%s", line);
    auth_bad |= strstr(line, "event=endpoint_keys_bad endpoint=gen why=") != NULL;
    auth_changed |= strstr(line, "event=endpoint_auth_changed endpoint=gen") != NULL;
}

static void rewrite(int fd, const char *text)
{
    cr_assert_eq(ftruncate(fd, 0), 0);
    cr_assert_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

Test(task_service_calls, the_secret_of_its_file_replaces_what_callers_send)
{
    char path[] = "/tmp/segq_auth_XXXXXX";
    int fd = mkstemp(path);
    const struct msg_endpoint_status *s = &mng.last[MSG_ENDPOINT_STATUS].endpoint_status;
    task_no no;

    cr_assert_geq(fd, 0);
    auth_file = path;
    log_set_tap(on_auth_line, NULL);
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    WAIT(s->n > 0 && s->v[0].unusable[0] != 0);
    cr_expect_not_null(strstr(s->v[0].unusable, "is empty"), "%s", s->v[0].unusable);
    no = put_call("/a");
    rewrite(fd, "sk-one\n");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_not_null(strstr(target.last, "\r\nauthorization: Bearer sk-one\r\n"), "%s", target.last);
    rewrite(fd, "sk-two\nsk-three\n");
    WAIT(auth_bad);
    no = put_call("/b");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_not_null(strstr(target.last, "\r\nauthorization: Bearer sk-one\r\n"), "%s", target.last);
    rewrite(fd, "sk-second");
    WAIT(auth_changed);
    no = put_call("/c");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_not_null(strstr(target.last, "\r\nauthorization: Bearer sk-second\r\n"), "%s", target.last);
    log_set_tap(NULL, NULL);
    close(fd);
    unlink(path);
    auth_file = "";
    target_fini(&target);
}

static bool keys_bad, keys_changed;

static void on_keys_line(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    keys_bad |= strstr(line, "event=endpoint_keys_bad endpoint=gen why=") != NULL;
    keys_changed |= strstr(line, "event=endpoint_keys_changed endpoint=gen keys=2") != NULL;
}

Test(task_service_calls, keys_count_as_soon_as_their_file_is_good)
{
    char path[] = "/tmp/segq_keys_XXXXXX";
    int fd = mkstemp(path);
    static const char keys[] = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\n";
    const struct msg_endpoint_status *s = &mng.last[MSG_ENDPOINT_STATUS].endpoint_status;
    task_no no;

    cr_assert_geq(fd, 0);
    keys_file = path;
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    WAIT(s->v[0].unusable[0] != 0);
    cr_expect_eq(strncmp(s->v[0].unusable, path, strlen(path)), 0, "%s", s->v[0].unusable);
    no = put_call("/signed");
    cr_expect_eq(get(no)->eta, TASK_ETA_ENDPOINT);
    cr_assert_eq(write(fd, keys, sizeof(keys) - 1), (ssize_t)sizeof(keys) - 1);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_not_null(strstr(target.last, "\r\nwebhook-signature: v1,"), "%s", target.last);
    WAIT(s->v[0].unusable[0] == 0);
    log_set_tap(on_keys_line, NULL);
    cr_assert_eq(write(fd, "half a key", 10), 10);
    WAIT(keys_bad);
    cr_assert_eq(ftruncate(fd, sizeof(keys) - 1), 0);
    cr_assert_eq(lseek(fd, 0, SEEK_END), (off_t)sizeof(keys) - 1);
    cr_assert_eq(write(fd, keys, sizeof(keys) - 1), (ssize_t)sizeof(keys) - 1);
    WAIT(keys_changed);
    log_set_tap(NULL, NULL);
    no = put_call("/signed/twice");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_not_null(strstr(strstr(target.last, "\r\nwebhook-signature: v1,"), " v1,"), "%s", target.last);
    close(fd);
    unlink(path);
    target_fini(&target);
}

/* The node goes on: before, it stood in open() until somebody wrote. */
Test(task_service_calls, a_fifo_as_a_file_of_an_endpoint_stops_nobody, .timeout = 60)
{
    const struct msg_endpoint_status *s = &mng.last[MSG_ENDPOINT_STATUS].endpoint_status;
    char path[] = "/tmp/segq_fifo_XXXXXX";
    const char **const file[] = { &keys_file, &ca_file };
    task_no no;

    cr_assert_geq(close(mkstemp(path)), 0);
    for (unsigned i = 0; i < 2; i++) {
        unlink(path);
        cr_assert_eq(mkfifo(path, 0600), 0);
        *file[i] = path;
        serial++;
        if (i == 0)
            open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
        else
            define("gen", 5000);
        WAIT(strstr(s->v[0].unusable, "not a regular file") != NULL);
        *file[i] = "";
        serial++;
        define("gen", 5000);
        WAIT(s->v[0].unusable[0] == 0);
        no = put_call("/on");
        WAIT(get(no)->state == TASK_SUCCEEDED);
    }
    unlink(path);
    target_fini(&target);
}

Test(task_service_calls, keys_that_others_may_read_sign_nothing)
{
    const struct msg_endpoint_status *s = &mng.last[MSG_ENDPOINT_STATUS].endpoint_status;
    char path[] = "/tmp/segq_keys_XXXXXX";
    static const char keys[] = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\n";
    int fd = mkstemp(path);
    task_no no;

    cr_assert_eq(write(fd, keys, sizeof(keys) - 1), (ssize_t)sizeof(keys) - 1);
    cr_assert_eq(fchmod(fd, 0644), 0);
    keys_file = path;
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    WAIT(strstr(s->v[0].unusable, "chmod 600") != NULL);
    no = put_call("/signed");
    cr_assert_eq(fchmod(fd, 0600), 0);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_not_null(strstr(target.last, "\r\nwebhook-signature: v1,"), "%s", target.last);
    close(fd);
    unlink(path);
    target_fini(&target);
}

/* Nothing is sent, no attempt is spent, and it says why; then it is allowed. */
Test(task_service_calls, a_target_that_allow_refuses_is_unusable_and_its_tasks_wait)
{
    const struct msg_endpoint_status *s = &mng.last[MSG_ENDPOINT_STATUS].endpoint_status;
    task_no no;

    allowed = "10.0.0.0/8";
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    WAIT(strcmp(s->v[0].unusable, "127.0.0.1 is not public, and not in `allow`") == 0);
    no = put_call("/there");
    cr_expect_eq(get(no)->eta, TASK_ETA_ENDPOINT);
    allowed = "127.0.0.0/8";
    serial++;
    define("gen", 5000);
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(get(no)->attempts, 1);
    cr_expect_eq(s->v[0].failed, 0);
    target_fini(&target);
}

/* Calls that wait for the name come back unspent; a new address of it is found without a call. */
Test(task_service_calls, a_name_at_an_address_that_allow_refuses_is_asked_for_again)
{
    const struct msg_endpoint_status *s = &mng.last[MSG_ENDPOINT_STATUS].endpoint_status;
    struct dnsrig d;
    task_no no;

    dns_init(&d, ev, 9);
    dns_use(&d);
    allowed = "127.0.0.1/32";
    host = "gen.test";
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    no = put_call("/there");
    WAIT(strcmp(s->v[0].unusable, "gen.test is at 127.0.0.9, which is not public, and not in `allow`") == 0);
    cr_expect_eq(target.connections, 0);
    d.ip[3] = 1;
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_leq(get(no)->attempts, 2, "one may have begun before its address was known, and is spared");
    node_end(); /* its names are asked in this loop */
    dns_fini(&d);
    dns_files_fini();
    target_fini(&target);
    start_node();
}

static bool tls_bad, tls_changed;

static void on_tls_line(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    tls_bad |= strstr(line, "event=endpoint_tls_bad endpoint=gen why=") != NULL;
    tls_changed |= strstr(line, "event=endpoint_tls_changed endpoint=gen") != NULL;
}

Test(task_service_calls, a_changed_file_of_authorities_is_read_again_while_calls_go_on)
{
    char path[] = "/tmp/segq_ca_XXXXXX";
    int fd = mkstemp(path);
    task_no slow, on;

    cr_assert_eq(write(fd, "pem", 3), 3);
    ca_file = path;
    open_calls(NULL, 60000);
    slow = put_call("/slow");
    WAIT(target.requests == 1);
    log_set_tap(on_tls_line, NULL);
    cr_assert_eq(ftruncate(fd, 0), 0);
    WAIT(tls_bad);
    cr_assert_eq(write(fd, "another", 7), 7);
    WAIT(tls_changed);
    log_set_tap(NULL, NULL);
    target.answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    on = put_call("/on");
    WAIT(get(on)->state == TASK_SUCCEEDED);
    cr_expect_eq(get(slow)->state, TASK_RUNNING);
    close(fd);
    unlink(path);
    target_fini(&target);
}

Test(task_service_calls, what_is_no_call_is_dead_and_sends_nothing)
{
    task_no no;

    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    no = put("{}");
    WAIT(get(no)->state == TASK_DEAD);
    cr_expect_eq(target.connections, 0);
    target_fini(&target);
}

/* The end of the first attempt is unknown: it keeps its slot until its lease is over. */
Test(task_service_calls, a_call_is_not_sent_again_by_a_restart)
{
    task_no no;

    open_calls(NULL, 60000);
    no = put_call("/slow");
    WAIT(target.requests == 1);
    node_end();
    target_fini(&target);
    start_node();
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 60000);
    cr_expect_eq(get(no)->state, TASK_RUNNING);
    no = put_call("/other");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(target.requests, 1, "the other one alone");
    target_fini(&target);
}

Test(task_service_calls, a_dead_target_burns_nothing)
{
    enum { N = 200 };
    unsigned attempts = 0, dead = 0;
    task_no no[N];

    open_calls("", 5000);
    target_fini(&target); /* nobody listens any more */
    for (unsigned i = 0; i < N; i++)
        no[i] = put_call("/x");
    WAIT(mng.last[MSG_ENDPOINT_STATUS].endpoint_status.v[0].breaker == BREAKER_OPEN);
    for (unsigned i = 0; i < N; i++) {
        const struct msg_task_get_ans *g = get(no[i]);

        attempts += g->attempts;
        dead += g->state == TASK_DEAD;
        if (g->state == TASK_WAITING)
            cr_expect(g->eta == TASK_ETA_ENDPOINT && g->eta_ms == -1);
        else if (g->n_history > 0)
            cr_expect(g->history[0].reason.n > 9 && memcmp(g->history[0].reason.p, "connect: ", 9) == 0);
    }
    cr_expect_eq(dead, 0);
    cr_expect(attempts >= 10 && attempts <= 20, "%u", attempts);
}

Test(task_service_calls, at_the_end_calls_on_their_way_have_some_seconds)
{
    task_no no;

    open_calls(NULL, 60000);
    no = put_call("/slow");
    WAIT(target.requests == 1);
    task_service_stop(node);
    for (unsigned i = 0; i < 50; i++)
        ev_turn(ev, false);
    cr_expect_eq(gones, 0);
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        if (target.conn[i].io != NULL)
            cr_assert_gt(send(target.conn[i].fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38, 0), 0);
    WAIT(gones == 1);
    node_end();
    start_node();
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    target_fini(&target);
}

/* No file may grow, or all of them may. */
static void disk_is_full(bool is)
{
    struct rlimit r;

    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = is ? 0 : r.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

Test(task_service_calls, a_start_that_cannot_be_written_is_not_sent)
{
    msec_t due, end;
    task_no no;

    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    due = ev_now(ev) + 300;
    no = put_call_in("/later", 300);
    disk_is_full(true);
    WAIT(keeper_holds(node->keeper));
    cr_assert_geq(ev_now(ev), due, "it is the start that was not written");
    for (end = ev_now(ev) + 200; ev_now(ev) < end;)
        ev_turn(ev, true);
    cr_expect_eq(target.connections, 0);
    disk_is_full(false);
    WAIT(!keeper_holds(node->keeper) && mng.seen[MSG_TASK_REG] == 2);
    open_part_of_calls(); /* as the manager does when a node comes back */
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(target.requests, 1);
    cr_expect_eq(get(no)->attempts, 1);
    target_fini(&target);
}

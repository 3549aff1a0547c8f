/* test_task_service.c: a whole task node in the test's own loop, between a manager and a router
 * made here of rpc and codec: its files are in a folder of the test. */
#define _GNU_SOURCE 1 /* memmem */
#include "task/service/service.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc.h"
#include "common/task/call.h"
#include "common/task/eta.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "common/wire/codec.h"
#include "task/service/state.h"
#include "tests/lib/targetrig.h"

struct side { /* the other side of a link of the node */
    struct rpc *rpc;
    struct rpc_link *link; /* router: to the node */
    struct rpc_chan *ch;
    unsigned seen[160];
    struct msg last[160]; /* newest of each type; memory in `mem` */
    uint64_t rid[160];
    struct arena mem;
};

static struct ev *ev;
static struct side mng, rtr;
static struct cluster_keys secret;
static struct task_service *node;
static unsigned readies, gones;
static uint64_t last_rid;
static char dir[64];

static void say(struct side *s, const struct msg *m, uint64_t rid)
{
    cr_assert_eq(rpc_send(s->ch, m, rid), 0);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct side *s = ctx;

    (void)peer;
    s->ch = ch;
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct side *s = ctx;
    uint8_t *copy = arena_memdup(&s->mem, f->body, f->len); /* bytes point into the frame */
    struct msg m;

    (void)ch;
    cr_assert_eq(msg_decode(f->type, copy, f->len, &s->mem, &m), 0);
    s->seen[m.type]++;
    s->last[m.type] = m;
    s->rid[m.type] = f->rid;
    if (m.type == MSG_TASK_REG)
        say(s, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { 5, 1, 77 } }, 0);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ch;
    (void)why;
    ((struct side *)ctx)->ch = NULL;
}

static const struct rpc_calls calls = { .on_up = on_up, .on_frame = on_frame,
                                        .on_down = on_down };

static void side_start(struct side *s, enum rpc_role role, const char *name)
{
    struct rpc_opts o = { .role = role, .node = name, .incarnation = 1,
                          .link_key = secret.link, .seed = 3 };

    cr_assert_eq(rpc_new(&s->rpc, ev, &o, NULL), 0);
    arena_init(&s->mem);
}

static void count_ready(void *ctx)
{
    (void)ctx;
    readies++;
}

static void count_gone(void *ctx)
{
    (void)ctx;
    gones++;
}

/* Turns until cond, at most ten seconds. The tick timers keep the loop turning. */
#define WAIT(cond)                                                                       \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 10000;                                                \
        while (!(cond) && ev_now(ev) < end_)                                             \
            ev_turn(ev, true);                                                           \
        cr_assert(cond, "waited in vain for " #cond);                                    \
    } while (0)

static void node_start(void)
{
    char managers[128], journal[128], bodies[128];
    const char *sets[] = { managers, journal, bodies, "listen=127.0.0.1:0",
                           "admin=127.0.0.1:0", "node=t1", "journal_snapshot=512" };
    struct task_cfg cfg = { 0 };
    struct err e = { 0 };
    struct task_service_opts o = { .cfg = &cfg,
                                   .node = { .secret = &secret, .incarnation = 9,
                                             .on_ready = count_ready, .on_gone = count_gone } };

    snprintf(managers, sizeof(managers), "managers=%s", rpc_listen_addr(mng.rpc));
    snprintf(journal, sizeof(journal), "journal_dir=%s/journal", dir);
    snprintf(bodies, sizeof(bodies), "bodies_dir=%s/bodies", dir);
    cr_assert_eq(cfg_load(&cfg, sizeof(cfg), task_cfg_keys, NULL, sets, ARRAY_LEN(sets), &e),
                 0, "%s", e.text);
    cr_assert_eq(task_service_new(&node, ev, &o, &e), 0, "%s", e.text);
    cfg_clear(&cfg, task_cfg_keys);
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    WAIT(rtr.ch != NULL && mng.seen[MSG_TASK_REG] > 0 && readies > 0);
}

static void node_end(void)
{
    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    task_service_free(node);
    node = NULL;
    WAIT(mng.ch == NULL);
    memset(mng.seen, 0, sizeof(mng.seen));
}

static void setup(void)
{
    struct err e;

    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    cr_assert_eq(ev_new(&ev, NULL), 0);
    memset(secret.link, 7, sizeof(secret.link));
    snprintf(dir, sizeof(dir), "/tmp/test_task_service.XXXXXX");
    cr_assert_neq(mkdtemp(dir), NULL);
    side_start(&mng, RPC_MANAGER, "m1");
    side_start(&rtr, RPC_ROUTER, "r1");
    cr_assert_eq(rpc_listen(mng.rpc, "127.0.0.1:0", 1u << RPC_TASK, &calls, &mng, &e), 0);
    node_start();
}

static void teardown(void)
{
    char rm[96];

    if (node != NULL)
        node_end();
    rpc_free(rtr.rpc);
    rpc_free(mng.rpc);
    arena_fini(&mng.mem);
    arena_fini(&rtr.mem);
    ev_free(ev);
    snprintf(rm, sizeof(rm), "rm -r %s", dir);
    cr_assert_eq(system(rm), 0);
}

TestSuite(task_service, .init = setup, .fini = teardown);

static void open_part(part_no no, uint64_t epoch)
{
    unsigned before = mng.seen[MSG_PART_STATUS];

    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { 5, no, epoch, "img/*", 0, NULL, 1000, false } }, 0);
    WAIT(mng.seen[MSG_PART_STATUS] > before && mng.last[MSG_PART_STATUS].part_status.n > 0);
    cr_assert_eq(mng.last[MSG_PART_STATUS].part_status.v[0].part_epoch, epoch);
}

/* The answer to a question. */
static const struct msg *ask(const struct msg *m, enum msg_type answer)
{
    uint64_t rid = ++last_rid;

    say(&rtr, m, rid);
    WAIT(rtr.rid[answer] == rid);
    return &rtr.last[answer];
}

static struct task_put put_of(const char *body)
{
    return (struct task_put){ .part = 3, .epoch = 8, .queue = "img/a", .key1 = "k", .key2 = "",
                              .name = "", .digest = 1,
                              .body = { (uint32_t)strlen(body), (const uint8_t *)body } };
}

static task_no put(const char *body)
{
    struct task_put one = put_of(body);
    const struct msg *a = ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } },
                              MSG_TASK_PUT_ANS);

    cr_assert_eq(a->task_put_ans.n, 1);
    cr_assert_eq(a->task_put_ans.v[0].code, CODE_DONE);
    return a->task_put_ans.v[0].no;
}

static const struct msg_task_get_ans *get(task_no no)
{
    return &ask(&(struct msg){ .type = MSG_TASK_GET,
                               .task_get = { 3, 8, no, "", "", 0, true } },
                MSG_TASK_GET_ANS)->task_get_ans;
}

static const struct msg_task_take_ans *take(uint32_t most, uint32_t wait_ms)
{
    return &ask(&(struct msg){ .type = MSG_TASK_TAKE,
                               .task_take = { 3, 8, "img/a", most, 60000, wait_ms } },
                MSG_TASK_TAKE_ANS)->task_take_ans;
}

static uint8_t settle(uint8_t verb, const struct taken_row *k, const char *result)
{
    struct settle_row r = { 3, 8, verb, k->no, k->lease, 0,
                            { (uint32_t)strlen(result), (const uint8_t *)result }, { 0 } };

    return ask(&(struct msg){ .type = MSG_TASK_SETTLE, .task_settle = { 1, &r } },
               MSG_TASK_SETTLE_ANS)->task_settle_ans.v[0].code;
}

Test(task_service, a_task_is_submitted_taken_and_done)
{
    const struct msg_task_take_ans *t;
    const struct msg_task_get_ans *g;
    struct taken_row k;
    task_no no;

    open_part(3, 8);
    no = put("hello");
    g = get(no);
    cr_assert_eq(g->state, TASK_WAITING);
    cr_expect_eq(g->position, 1);
    cr_expect_str_eq(g->queue, "img/a");
    t = take(5, 0);
    cr_assert_eq(t->n, 1);
    k = t->v[0];
    cr_expect_eq(k.no, no);
    cr_expect(k.body.n == 5 && memcmp(k.body.p, "hello", 5) == 0);
    cr_expect_str_eq(k.key1, "k");
    cr_expect_eq(settle(SETTLE_ACK, &(struct taken_row){ .no = no, .lease = k.lease + 1 }, "x"),
                 CODE_CONFLICT);
    cr_expect_eq(settle(SETTLE_ACK, &k, "done!"), CODE_DONE);
    cr_expect_eq(settle(SETTLE_ACK, &k, "done!"), CODE_CONFLICT);
    g = get(no);
    cr_assert_eq(g->state, TASK_SUCCEEDED);
    cr_expect(g->result.n == 5 && memcmp(g->result.p, "done!", 5) == 0);
}

Test(task_service, nothing_is_lost_by_a_restart)
{
    struct taken_row k;
    task_no no[3];

    open_part(3, 8);
    for (int i = 0; i < 3; i++)
        no[i] = put(i == 0 ? "first" : "other");
    k = take(1, 0)->v[0];
    node_end();
    node_start();
    cr_assert_eq(mng.last[MSG_TASK_REG].task_reg.n, 1);
    cr_assert_eq(mng.last[MSG_TASK_REG].task_reg.v[0].epoch, 8);
    cr_assert_eq(mng.last[MSG_TASK_REG].task_reg.epoch_seen, 5);
    cr_expect_eq(get(no[0])->state, TASK_RUNNING);
    cr_expect_eq(settle(SETTLE_ACK, &k, ""), CODE_DONE);
    cr_assert_eq(take(5, 0)->n, 2);
}

Test(task_service, a_waiting_take_gets_what_comes)
{
    uint64_t rid = 1000000;

    open_part(3, 8);
    say(&rtr, &(struct msg){ .type = MSG_TASK_TAKE,
                             .task_take = { 3, 8, "img/a", 5, 0, 60000 } }, rid);
    put("late");
    WAIT(rtr.rid[MSG_TASK_TAKE_ANS] == rid);
    cr_assert_eq(rtr.last[MSG_TASK_TAKE_ANS].task_take_ans.n, 1);
    cr_assert_eq(take(5, 20)->n, 0, "its time is over");
}

Test(task_service, other_epochs_are_stale)
{
    struct task_put one = put_of("x");

    open_part(3, 8);
    one.epoch = 7;
    cr_assert_eq(ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } },
                     MSG_TASK_PUT_ANS)->task_put_ans.v[0].code, CODE_STALE);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { 5, 3, 7, "img/*", 0, NULL, 1000, false } }, 0);
    WAIT(mng.seen[MSG_ERROR] == 1);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { 4, 3, 9, "img/*", 0, NULL, 1000, false } }, 0);
    WAIT(mng.seen[MSG_ERROR] == 2);
    cr_assert_eq(mng.last[MSG_ERROR].error.code, SQ_ESTALE);
}

Test(task_service, a_delayed_task_comes_in_time)
{
    struct task_put one = put_of("x");

    open_part(3, 8);
    one.delay_ms = 300;
    ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } }, MSG_TASK_PUT_ANS);
    cr_assert_eq(take(1, 0)->n, 0);
    cr_assert_eq(take(1, 5000)->n, 1);
}

/* ---- calls ------------------------------------------------------------------------- */

static struct targetrig target;

static const char *keys_file = "";

static void define(const char *name, uint32_t deadline_ms)
{
    const char *allow[] = { "127.0.0.0/8" };
    char url[128];
    struct msg_endpoint m = { .epoch = 5, .name = name, .serial = 1, .version = 1, .url = url,
                              .n_allow = 1, .allow = allow, .rate = ENDPOINT_ANY, .burst = 1,
                              .max_concurrent = 8, .deadline_ms = deadline_ms,
                              .connect_timeout_ms = 500, .breaker_ratio = 50, .breaker_min = 20,
                              .breaker_open_ms = 60000, .secret_file = keys_file, .ca_file = "",
                              .cert_file = "", .key_file = "", .proxy = "" };

    snprintf(url, sizeof(url), "http://%s/api", target.addr);
    say(&mng, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m }, 0);
}

static void open_calls(const char *answer, uint32_t deadline_ms)
{
    target_init(&target, ev);
    target.answer = answer;
    define("gen", deadline_ms);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { .epoch = 5, .part = 3, .part_epoch = 8, .match = "img/*",
                                            .max_tasks = 1000, .endpoint = "gen" } }, 0);
    WAIT(mng.seen[MSG_ENDPOINT_STATUS] > 0 && mng.last[MSG_ENDPOINT_STATUS].endpoint_status.n > 0);
}

static struct call_span span(const char *s)
{
    return (struct call_span){ s, strlen(s) };
}

static task_no put_call(const char *path)
{
    const struct msg *a;
    struct task_put one = put_of("");
    struct buf b;

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

Test(task_service, a_call_is_sent_and_its_answer_is_the_result)
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

Test(task_service, a_call_that_fails_is_tried_again_or_dead)
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

Test(task_service, endpoints_that_come_and_go_leave_nothing)
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

Test(task_service, a_forced_cancel_closes_the_connection_of_its_call)
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
    node_start();
    cr_expect_eq(get(q.no)->state, TASK_CANCELLED);
    cr_expect(task_maybe_executed(get(q.no)));
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

Test(task_service, keys_count_as_soon_as_their_file_is_good)
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

Test(task_service, what_is_no_call_is_dead_and_sends_nothing)
{
    task_no no;

    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 5000);
    no = put("{}");
    WAIT(get(no)->state == TASK_DEAD);
    cr_expect_eq(target.connections, 0);
    target_fini(&target);
}

/* The end of the first attempt is unknown: it keeps its slot until its lease is over. */
Test(task_service, a_call_is_not_sent_again_by_a_restart)
{
    task_no no;

    open_calls(NULL, 60000);
    no = put_call("/slow");
    WAIT(target.requests == 1);
    node_end();
    target_fini(&target);
    node_start();
    open_calls("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 60000);
    cr_expect_eq(get(no)->state, TASK_RUNNING);
    no = put_call("/other");
    WAIT(get(no)->state == TASK_SUCCEEDED);
    cr_expect_eq(target.requests, 1, "the other one alone");
    target_fini(&target);
}

Test(task_service, a_dead_target_burns_nothing)
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

Test(task_service, at_the_end_calls_on_their_way_have_some_seconds)
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
    node_start();
    cr_expect_eq(get(no)->state, TASK_SUCCEEDED);
    target_fini(&target);
}

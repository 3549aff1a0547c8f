/* test_router.c: a whole router between a client socket, a made-up manager and a made-up
 * segment node, all in one loop. Numbers of tickets tell the node how to answer. */
#include "router/router_service.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/codec.h"

enum { N_GONE = 1000, N_ADMITTED, N_BUSY, N_SILENT, N_MOVED, N_UNKNOWN, N_SPECIAL_END };

struct world {
    struct ev *ev;
    struct router *r;
    struct router_cfg cfg;
    char *managers[1];
    struct rpc *mng, *seg;
    struct rpc_chan *mng_ch, *seg_ch;
    char seg_addr[64], dir[64];
    struct arena arena;
    uint16_t port;
    unsigned regs, places, place_frames, appends, append_frames, drops, busy;
    uint64_t last_reg_version;
    bool hold; /* the node keeps place requests unanswered */
    bool sealed;
    int fd;
};

static struct world w;

static void send_msg(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    cr_assert_eq(msg_encode(m, rpc_begin(ch)), 0);
    cr_assert_eq(rpc_end(ch, m->type, rid), 0);
}

/* ---- the manager ---- */

static void send_map(uint64_t from, uint64_t version, uint8_t state, bool with_next)
{
    static const uint8_t keys[1][32] = { { 1, 2, 3 } };
    struct map_node node = { 1, "seg1", w.seg_addr };
    struct map_seg segs[2] = { { 1, 1, with_next ? SEG_SEALED : SEG_OPEN },
                               { 2, 1, SEG_OPEN } };
    struct map_lane lane = { .name = "default",
                             .n_segs = with_next ? 2 : 1,
                             .segs = segs };
    struct map_queue q = { 7, "login", state, 1, &lane };
    struct msg m = { .type = MSG_MAP };

    m.map = (struct msg_map) { .epoch = 1,
                               .from_version = from,
                               .version = version,
                               .next_seg = 100,
                               .n_nodes = 1,
                               .n_queues = 1,
                               .nodes = &node,
                               .queues = &q,
                               .n_keys = 1,
                               .keys = keys };
    send_msg(w.mng_ch, &m, 0);
}

static void send_stats(void)
{
    struct queue_stats s = { .id = 7,
                             .ready = 1,
                             .active = 2,
                             .rate_milli_per_s = 10000,
                             .limited_by = "fixed",
                             .n_lanes = 1,
                             .lane = { { 500, 10000 } } };
    struct msg m = { .type = MSG_STATS };

    m.stats = (struct msg_stats) { 1, &s };
    send_msg(w.mng_ch, &m, 0);
}

static void mng_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct msg m;

    (void)ctx;
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    cr_assert_eq(m.type, MSG_ROUTER_REG);
    w.mng_ch = ch;
    w.regs++;
    w.last_reg_version = m.router_reg.map_version;
    send_map(0, 5, QUEUE_OPEN, false);
    send_stats();
    arena_reset(&w.arena);
}

/* ---- the segment node ---- */

static void place(const struct place_req *q, struct place_ans *a)
{
    w.places++;
    a->state = PLACE_WAITING;
    a->position = q->number;
    a->poll_after_ms = 3000;
    if (q->number == N_GONE) {
        a->state = PLACE_GONE;
        a->reason = GONE_NO_SHOW;
    } else if (q->number == N_ADMITTED) {
        *a = (struct place_ans) { .state = PLACE_ADMITTED,
                                  .pass = "a.b.c",
                                  .pass_len = 5,
                                  .released_at_ms = 1700000000123,
                                  .pass_expires_s = 1700000300 };
    } else if (q->number == N_BUSY && w.busy-- > 0) {
        a->state = PLACE_BUSY;
    } else if (q->number == N_UNKNOWN) {
        a->state = PLACE_UNKNOWN;
    }
}

static void append(const struct append_req *q, struct append_ans *a)
{
    *a = (struct append_ans) { .state = APPEND_OK,
                               .client = q->client,
                               .seg = q->seg,
                               .number = w.appends,
                               .issued_s = 1700000000,
                               .poll_after_ms = 1000,
                               .position = w.appends + 1 };
    w.appends++;
    if (q->subject_len == 5 && memcmp(q->subject, "known", 5) == 0)
        a->state = APPEND_EXISTING;
    if (w.sealed && q->seg == 1)
        *a = (struct append_ans) { .state = APPEND_SEALED, .next = 2 };
}

static void seg_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    static struct place_ans pa[MSG_BATCH_MAX];
    static struct append_ans aa[MSG_BATCH_MAX];
    static struct drop_ans da[MSG_BATCH_MAX];
    struct msg m, out = { 0 };

    (void)ctx;
    w.seg_ch = ch;
    memset(pa, 0, sizeof(pa));
    memset(da, 0, sizeof(da));
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    if (m.type == MSG_PLACE) {
        bool silent = w.hold;
        w.place_frames++;
        for (uint32_t i = 0; i < m.place.n; i++) {
            silent |= m.place.req[i].number == N_SILENT;
            place(&m.place.req[i], &pa[i]);
        }
        out.type = MSG_PLACE_ANS;
        out.place_ans = (struct msg_place_ans) { m.place.n, pa };
        if (silent)
            return;
    } else if (m.type == MSG_APPEND) {
        w.append_frames++;
        for (uint32_t i = 0; i < m.append.n; i++)
            append(&m.append.req[i], &aa[i]);
        out.type = MSG_APPEND_ANS;
        out.append_ans = (struct msg_append_ans) { m.append.n, aa };
    } else {
        cr_assert_eq(m.type, MSG_DROP);
        w.drops += m.drop.n;
        out.type = MSG_DROP_ANS;
        out.drop_ans = (struct msg_drop_ans) { m.drop.n, da };
    }
    send_msg(ch, &out, f->rid);
    arena_reset(&w.arena);
}

/* ---- the client ---- */

static char got[1 << 20];
static size_t n_got;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#define UNTIL(expr)                                                                      \
    do {                                                                                 \
        int64_t end_ = now_ms() + 5000;                                                  \
        while (!(expr) && now_ms() < end_)                                               \
            ev_turn(w.ev, false);                                                        \
        cr_assert(expr, "waited in vain for " #expr);                                    \
    } while (0)

static void more(void)
{
    ssize_t n = recv(w.fd, got + n_got, sizeof(got) - 1 - n_got, 0);

    if (n > 0)
        n_got += (size_t)n;
    got[n_got] = '\0';
}

/* Length of the first answer if it is there. */
static size_t whole(const char *p)
{
    const char *end = strstr(p, "\r\n\r\n"), *cl = strstr(p, "Content-Length: ");
    size_t body = cl != NULL && end != NULL && cl < end ? (size_t)atoi(cl + 16) : 0;

    if (end == NULL || strlen(p) < (size_t)(end - p) + 4 + body)
        return 0;
    return (size_t)(end - p) + 4 + body;
}

static void say(const char *method, const char *path, const char *text)
{
    char t[2000];
    int n = snprintf(t, sizeof(t),
                     "%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n%s", method,
                     path, strlen(text), text);

    cr_assert_eq(send(w.fd, t, (size_t)n, MSG_NOSIGNAL), n);
}

static json_t *js;

/* Asks, waits for the answer, returns its status; js is its body (NULL: none). */
static int call(const char *method, const char *path, const char *text)
{
    char *b;

    n_got = 0;
    got[0] = '\0';
    say(method, path, text);
    UNTIL((more(), whole(got) > 0));
    json_decref(js);
    b = strstr(got, "\r\n\r\n") + 4;
    js = *b != '\0' ? json_loads(b, 0, NULL) : NULL;
    return atoi(got + 9);
}

static const char *str(const char *key)
{
    const char *s = json_string_value(json_object_get(js, key));
    return s != NULL ? s : "";
}

static json_int_t num(const char *key)
{
    return json_integer_value(json_object_get(js, key));
}

static const char *ticket_path(uint32_t number, seg_id seg)
{
    static char p[100] = "/v1/tickets/";
    struct token t = { .seg = seg, .number = number, .issued_s = 1 };

    token_write(&t, &w.r->keys.token, p + 12);
    p[12 + TOKEN_TEXT_LEN] = '\0';
    return p;
}

/* ---- the world ---- */

static struct rpc *peer(enum rpc_role role, const char *node)
{
    struct rpc_opts o = { .role = role,
                          .node = node,
                          .incarnation = 1,
                          .link_key = w.r->keys.link,
                          .heartbeat_ms = 200 };
    struct err e = { 0 };
    struct rpc *p;

    cr_assert_eq(rpc_new(&p, w.ev, &o, &e), 0, "%s", e.text);
    return p;
}

static void start_segment(const char *addr)
{
    static const struct rpc_calls c = { .on_frame = seg_frame };
    struct err e = { 0 };

    w.seg = peer(RPC_SEGMENT, "seg1");
    cr_assert_eq(rpc_listen(w.seg, addr, 1u << RPC_ROUTER, &c, NULL, &e), 0, "%s",
                 e.text);
    strcpy(w.seg_addr, rpc_listen_addr(w.seg));
}

static void dial(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons(w.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    w.fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(w.fd, (struct sockaddr *)&a, sizeof(a)), 0);
    fcntl(w.fd, F_SETFL, O_NONBLOCK);
}

/* The router dials a manager whose address is known before the manager is there. */
static void start_router(void)
{
    static char secret[100], mng_addr[64];
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    struct err e = { 0 };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    getsockname(fd, (struct sockaddr *)&a, &len);
    snprintf(mng_addr, sizeof(mng_addr), "127.0.0.1:%d", ntohs(a.sin_port));
    close(fd);
    snprintf(secret, sizeof(secret), "%s/secret", w.dir);
    w.managers[0] = mng_addr;
    w.cfg = (struct router_cfg) { .node = "r1",
                                  .listen = "127.0.0.1:0",
                                  .admin = "127.0.0.1:0",
                                  .secret_file = secret,
                                  .log_file = "",
                                  .create_keys = true,
                                  .managers = { w.managers, 1 },
                                  .max_conns = 100,
                                  .request_timeout = 400,
                                  .heartbeat = 200,
                                  .log_level = 2 };
    cr_assert_eq(router_new(&w.r, w.ev, &w.cfg, &e), 0, "%s", e.text);
    w.port = (uint16_t)atoi(strrchr(httpd_addr(w.r->httpd), ':') + 1);
}

static void start_manager(void)
{
    static const struct rpc_calls c = { .on_frame = mng_frame };
    struct err e = { 0 };

    w.mng = peer(RPC_MANAGER, "m1");
    cr_assert_eq(rpc_listen(w.mng, w.managers[0], 1u << RPC_ROUTER, &c, NULL, &e), 0,
                 "%s", e.text);
}

static void setup(void)
{
    struct err e = { 0 };

    memset(&w, 0, sizeof(w));
    strcpy(w.dir, "/tmp/segq-router-XXXXXX");
    cr_assert(mkdtemp(w.dir) != NULL);
    setenv("SEGQ_DEBUG", "1", 1);
    cr_assert_eq(keys_init(&e), 0);
    cr_assert_eq(ev_new(&w.ev, &e), 0);
    arena_init(&w.arena);
    start_router();
    dial();
}

static void setup_all(void)
{
    setup();
    start_segment("127.0.0.1:0");
    start_manager();
    UNTIL(router_is_ready(w.r));
}

static void teardown(void)
{
    json_decref(js);
    close(w.fd);
    router_free(w.r);
    rpc_free(w.mng);
    rpc_free(w.seg);
    ev_free(w.ev);
    arena_fini(&w.arena);
    unlink(w.cfg.secret_file);
    rmdir(w.dir);
}

TestSuite(router, .init = setup_all, .fini = teardown, .timeout = 60);

Test(router, join_poll_leave)
{
    char path[100];

    cr_assert_eq(call("POST", "/v1/queues/login/tickets", "{\"client\":\"browser\"}"),
                 201);
    cr_expect_str_eq(str("queue"), "login");
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(num("position"), 1);
    cr_expect_eq(num("total"), 500);
    cr_expect_eq(num("eta_s"), 1);
    cr_expect_eq(num("segment"), 1);
    snprintf(path, sizeof(path), "/v1/tickets/%s", str("token"));
    cr_expect(strstr(got, "\r\nLocation: /v1/tickets/"));
    cr_expect_eq(call("GET", ticket_path(42, 1), ""), 200);
    cr_expect_eq(num("position"), 42);
    cr_expect_eq(num("poll_after_ms"), 3000);
    cr_expect_eq(num("eta_s"), 5);
    cr_expect_eq(call("DELETE", path, ""), 204);
    cr_expect_eq(w.drops, 1);
}

/* One address: its joins, polls and bad requests each have a budget; a refusal names when
 * to come, the place is kept, and what machines ask is never refused. */
Test(router, too_fast_is_429_and_keeps_the_place)
{
    char path[100];
    unsigned polls;

    w.cfg.join_limit_per_s = w.cfg.poll_limit_per_s = w.cfg.bad_limit_per_s = 0.01;
    w.cfg.join_burst = 2;
    w.cfg.poll_burst = 3;
    w.cfg.bad_burst = 1;
    router_reload(w.r);
    for (int i = 0; i < 2; i++)
        cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
    snprintf(path, sizeof(path), "/v1/tickets/%s", str("token"));
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 429);
    cr_expect_str_eq(str("code"), "too_fast");
    cr_expect(strstr(got, "\r\nRetry-After: ") != NULL);
    cr_expect_eq(w.appends, 2);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_eq(call("GET", path, ""), 200);
    polls = w.places;
    cr_expect_eq(call("GET", path, ""), 429);
    cr_expect_geq(num("poll_after_ms"), 1000);
    cr_expect(strstr(str("detail"), "the place is kept") != NULL);
    cr_expect_eq(call("DELETE", path, ""), 429);
    cr_expect_eq(w.places, polls);
    cr_expect_eq(w.drops, 0);
    cr_expect_eq(call("GET", "/nothing", ""), 404);
    cr_expect_eq(call("GET", "/nothing", ""), 429);
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_expect_eq(call("GET", "/readyz", ""), 200);
    w.cfg.poll_limit_per_s = 0;
    router_reload(w.r);
    cr_expect_eq(call("GET", path, ""), 200); /* it was kept indeed */
}

Test(router, subjects_and_lanes)
{
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"subject\":\"known\"}"),
                 200);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"lane\":\"default\"}"), 201);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"lane\":\"vip\"}"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "{\"claim\":\"x.y.z\"}"), 403);
    cr_expect_eq(call("POST", "/v1/queues/other/tickets", ""), 404);
    cr_expect_str_eq(str("code"), "queue_not_found");
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", "[]"), 400);
    cr_expect_str_eq(str("code"), "bad_request");
}

Test(router, what_a_segment_can_say_of_a_ticket)
{
    cr_expect_eq(call("GET", ticket_path(N_GONE, 1), ""), 410);
    cr_expect_str_eq(str("reason"), "no_show");
    cr_expect_eq(call("GET", ticket_path(N_ADMITTED, 1), ""), 200);
    cr_expect_str_eq(str("state"), "admitted");
    cr_expect_str_eq(str("pass"), "a.b.c");
    cr_expect_eq(num("pass_expires_at"), 1700000300);
    w.busy = 3;
    cr_expect_eq(call("GET", ticket_path(N_BUSY, 1), ""), 200);
    cr_expect_geq(w.r->counts.retries, 3);
    cr_expect_eq(call("GET", ticket_path(5, 50), ""), 410, "a segment long gone");
    cr_expect_str_eq(str("reason"), "finished");
    int64_t t0 = now_ms();
    cr_expect_eq(call("GET", ticket_path(N_UNKNOWN, 1), ""), 503);
    cr_expect_eq(call("GET", ticket_path(5, 500), ""), 503, "newer than the map");
    cr_expect_str_eq(str("code"), "queue_unavailable");
    cr_expect(strstr(got, "\r\nRetry-After: "));
    cr_expect_lt(now_ms() - t0, 2500);
}

Test(router, forged_tokens_cost_no_segment_anything)
{
    char path[100];

    strcpy(path, ticket_path(1, 1));
    path[14] = path[14] == 'A' ? 'B' : 'A';
    cr_expect_eq(call("GET", path, ""), 404);
    cr_expect_str_eq(str("code"), "ticket_unknown");
    cr_expect_eq(call("DELETE", path, ""), 404);
    cr_expect_eq(call("GET", "/v1/tickets/short", ""), 404);
    cr_expect_eq(w.places + w.drops, 0);
    cr_expect_eq(w.r->counts.forged, 3);
}

Test(router, the_rest_of_the_interface)
{
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(num("waiting"), 500);
    cr_expect_str_eq(str("limited_by"), "fixed");
    cr_expect(strstr(got, "max-age=1"));
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_expect_eq(call("GET", "/readyz", ""), 200);
    cr_expect_eq(call("GET", "/.well-known/jwks.json", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(js, "keys")), 1);
    cr_expect_eq(call("PUT", "/v1/queues/login", ""), 405);
    cr_expect(strstr(got, "\r\nAllow: GET, HEAD\r\n"));
    cr_expect_eq(call("GET", "/nothing", ""), 404);
    cr_expect_str_eq(str("code"), "not_found");
    n_got = 0;
    const char bad[] = "GET /x HTTP/1.1\r\n\r\n";
    cr_assert_eq(send(w.fd, bad, sizeof(bad) - 1, 0), (ssize_t)sizeof(bad) - 1);
    UNTIL((more(), strstr(got, "bad_request") != NULL));
    cr_expect(strstr(got, "HTTP/1.1 400 Bad Request"));
    struct buf b;
    buf_init(&b);
    router_metrics(w.r, &b);
    buf_byte(&b, 0);
    cr_expect(strstr((char *)b.data, "segq_router_http_requests_total"));
    buf_fini(&b);
}

Test(router, a_turns_requests_leave_in_one_frame)
{
    char t[64 * 150];
    size_t n = 0;

    for (int i = 0; i < 60; i++)
        n += (size_t)sprintf(t + n, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
                             ticket_path(1 + (uint32_t)i, 1));
    cr_assert_eq(send(w.fd, t, n, 0), (ssize_t)n);
    UNTIL(w.places == 60);
    cr_expect_leq(w.place_frames, 3);
    UNTIL((more(), httpd_counts(w.r->httpd)->answers == 60));
}

Test(router, requests_collect_while_one_is_outstanding)
{
    w.hold = true;
    say("GET", ticket_path(1, 1), "");
    UNTIL(w.place_frames == 1);
    for (int i = 0; i < 5; i++)
        ev_turn(w.ev, false);
    say("GET", ticket_path(2, 1), "");
    ev_turn(w.ev, false);
    say("GET", ticket_path(3, 1), "");
    UNTIL(w.r->flows.n == 3);
    /* after 250 us they do not wait any more */
    UNTIL(w.places == 3);
    cr_expect_leq(w.place_frames, 3);
    w.hold = false;
    UNTIL((more(), httpd_counts(w.r->httpd)->answers == 3)); /* 503 at the time limit */
    cr_expect_eq(w.r->counts.overdue, 3);
    cr_expect_eq(call("GET", "/healthz", ""), 200);
}

Test(router, a_silent_segment_costs_503_and_nothing_else)
{
    int64_t t0 = now_ms();

    cr_expect_eq(call("GET", ticket_path(N_SILENT, 1), ""), 503);
    cr_expect_lt(now_ms() - t0, 1500);
    cr_expect_eq(w.r->flows.n, 0);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 201);
}

Test(router, a_broken_link_is_dialled_again_and_polls_survive_it)
{
    char addr[64];

    strcpy(addr, w.seg_addr);
    rpc_free(w.seg);
    w.seg = NULL;
    UNTIL(!router_is_ready(w.r));
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 503);
    cr_expect_eq(call("GET", "/readyz", ""), 503);
    say("GET", ticket_path(9, 1), "");
    ev_turn(w.ev, false);
    start_segment(addr);
    UNTIL((more(), strstr(got, "\"position\":9") || strstr(got, "queue_unavailable")));
    UNTIL(router_is_ready(w.r));
    cr_expect_eq(call("GET", ticket_path(9, 1), ""), 200);
}

Test(router, sealed_tails_and_new_maps)
{
    w.sealed = true;
    say("POST", "/v1/queues/login/tickets", "");
    UNTIL(w.append_frames == 1);
    send_map(5, 6, QUEUE_OPEN, true);
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, "HTTP/1.1 201"), "%s", got);
    cr_expect(strstr(got, "\"segment\":2"));
    send_map(6, 7, QUEUE_CLOSED, true);
    UNTIL(routes_version(w.r->routes) == 7);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 403);
    cr_expect_str_eq(str("code"), "queue_closed");
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200, "who waits goes on waiting");
}

Test(router, a_gap_in_the_map_is_asked_for_again)
{
    unsigned regs = w.regs;

    send_map(9, 10, QUEUE_OPEN, false);
    UNTIL(w.regs == regs + 1);
    cr_expect_eq(w.last_reg_version, 0);
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200);
}

Test(router, a_client_that_leaves_early_hurts_nobody)
{
    struct linger hard = { 1, 0 };

    w.hold = true;
    say("GET", ticket_path(3, 1), "");
    UNTIL(w.places == 1);
    setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(w.fd);
    UNTIL(httpd_counts(w.r->httpd)->conns_now == 0);
    UNTIL(w.r->flows.n == 0);
    w.hold = false;
    dial();
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 200);
}

TestSuite(router_alone, .init = setup, .fini = teardown, .timeout = 60);

Test(router_alone, without_a_map_everything_is_503)
{
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_expect_eq(call("GET", "/readyz", ""), 503);
    cr_expect_eq(call("POST", "/v1/queues/login/tickets", ""), 503);
    cr_expect_eq(call("GET", ticket_path(3, 1), ""), 503);
    cr_expect_eq(call("DELETE", ticket_path(3, 1), ""), 503);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 503);
    cr_expect_eq(call("GET", "/.well-known/jwks.json", ""), 503);
}

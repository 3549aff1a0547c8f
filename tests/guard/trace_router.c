/* trace_router.c: requests through the real httpd, router and links, in one process.
 *
 * 64 connections ask, then the loop turns until all have their answers: the same turns
 * and batches every time. The segment node at the other end of the link is made up and
 * answers at once, so does the task node; its callback is left out of the count (--toggle-collect=node_frame),
 * its end of the link is not. The map is put in by hand: there is no manager.
 * Where the router is to answer polls by itself, the node pushes a line in which everybody waits.
 * The clock is the trace's: 64 requests take 1.6 ms, as at 40 000 per second. */
#include "tests/guard/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/task/state.h"
#include "common/wire/codec.h"
#include "common/wire/replica_bytes.h"
#include "router/flow/routes.h"
#include "router/links/seg_link.h"
#include "router/service/dispatch.h"
#include "router/service/service.h"
#include "router/task_requests/ask.h"

#define WAITING 1000000u
#define SEG     1
#define PASS_LEN 400 /* about that of a JWT */
#define ROUND_NS 1600000
#define PAYLOAD  1024
#define TOKEN    "0123456789abcdef0123456789abcdef" /* of a server */

struct client {
    int fd;
    bool waits;
    size_t got;
    char in[4096];
};

static struct {
    struct ev *ev;
    struct router *r;
    struct router_cfg cfg;
    struct rpc *node, *task_node;
    struct arena mem;
    struct client client[TRACE_BATCH];
    enum trace_request kind;
    uint32_t asked, left;
    int64_t clock_ns;
    union {
        struct place_ans place[MSG_BATCH_MAX];
        struct append_ans append[MSG_BATCH_MAX];
        struct task_put_row put[TASK_ROWS_MAX];
    } ans;
} w;

/* What a browser sends along, about 680 bytes. */
static const char browser_headers[] =
    "Connection: keep-alive\r\n"
    "sec-ch-ua: \"Chromium\";v=\"124\", \"Not-A.Brand\";v=\"99\", \"Browser\";v=\"124\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "sec-ch-ua-platform: \"Windows\"\r\n"
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, "
    "like Gecko) Chrome/124.0.0.0 Safari/537.36\r\n"
    "Accept: application/json, text/plain, */*\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: cors\r\n"
    "Sec-Fetch-Dest: empty\r\n"
    "Referer: https://play.example.com/q/login\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-US,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n";

static bool is_browser(void)
{
    return w.kind == TRACE_POLL_BROWSER || w.kind == TRACE_KNOWN_BROWSER;
}

static bool is_known(void)
{
    return w.kind == TRACE_KNOWN || w.kind == TRACE_KNOWN_BROWSER;
}

/* In place of the C library's: all clocks are one, and stand still during a turn. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    *ts = (struct timespec) { 1700000000 + w.clock_ns / 1000000000, w.clock_ns % 1000000000 };
    return 0;
}

/* ---- the segment node ---------------------------------------------------------------- */

static void answer_places(const struct msg *q, struct msg *a)
{
    a->type = MSG_PLACE_ANS;
    a->place_ans = (struct msg_place_ans) { q->place.n, w.ans.place };
    for (uint32_t i = 0; i < q->place.n; i++)
        w.ans.place[i] = (struct place_ans) { .state = PLACE_WAITING,
                                              .position = q->place.req[i].number + 1,
                                              .poll_after_ms = 30000 };
}

static bool is_join(void)
{
    return w.kind == TRACE_JOIN || w.kind == TRACE_ENTRY;
}

static void answer_appends(const struct msg *q, struct msg *a)
{
    static const char pass[PASS_LEN + 1] = { [0 ... PASS_LEN - 1] = 'p' };

    a->type = MSG_APPEND_ANS;
    a->append_ans = (struct msg_append_ans) { q->append.n, w.ans.append };
    for (uint32_t i = 0; i < q->append.n; i++)
        w.ans.append[i] = (struct append_ans) { .state = APPEND_OK,
                                                .client = q->append.req[i].client,
                                                .number = WAITING / 2 + i,
                                                .issued_s = 1700000000,
                                                .poll_after_ms = 30000,
                                                .position = WAITING / 2 + i + 1,
                                                .seg = SEG };
    for (uint32_t i = 0; i < q->append.n && w.kind == TRACE_ENTRY; i++) {
        struct append_ans *x = &w.ans.append[i];

        if (q->append.req[i].old_seg != 0)
            trace_die("the join gives back a place");
        x->state = APPEND_ENTERED;
        x->position = x->poll_after_ms = 0;
        x->released_at_ms = 1700000000000;
        x->pass_expires_s = 1700000600;
        x->pass = pass;
        x->pass_len = PASS_LEN;
    }
}

/* At first a million who wait, then only that marks have come. */
static void answer_seen(const struct msg_seen *q, struct msg *a)
{
    static struct pace_entry pace = { 7, 0, 60000, 600000, 0, 0 };
    static uint8_t lines[16];
    static struct replica_row row = { .name = SEG, .host = SEG, .queue = 7, .flags = REPLICA_NEW,
                                      .end = WAITING, .told_max_ms = 600000, .lines = lines };
    uint32_t next = 0;

    a->type = MSG_REPLICA;
    a->replica = (struct msg_replica) { .stamp_ms = q->clock_ms, .echo_ms = q->clock_ms,
                                        .seen = q->seq };
    if (row.n_lines > 0)
        return;
    row.n_lines = (uint32_t)(lines_put(lines, &next, 0, (WAITING + BITS512_N - 1) / BITS512_N, 0) -
                             lines);
    a->replica.flags = REPLICA_WHOLE | REPLICA_END;
    a->replica.n = a->replica.n_pace = 1;
    a->replica.v = &row;
    a->replica.pace = &pace;
}

static void answer_puts(const struct msg *q, struct msg *a)
{
    a->type = MSG_TASK_PUT_ANS;
    a->task_put_ans = (struct msg_task_put_ans){ q->task_put.n, w.ans.put };
    for (uint32_t i = 0; i < q->task_put.n; i++)
        w.ans.put[i] = (struct task_put_row){ .no = (uint64_t)w.asked << 24 | i, .state = TASK_WAITING };
}

/* Not static: its name is on callgrind's command line. */
void node_frame(void *ctx, struct rpc_chan *ch, const struct frame *f);
__attribute__((noinline)) void node_frame(void *ctx, struct rpc_chan *ch,
                                          const struct frame *f)
{
    struct msg q, a = { 0 };

    (void)ctx;
    if (msg_decode(f->type, f->body, f->len, &w.mem, &q) < 0)
        trace_die("a frame of the router does not decode");
    if (q.type == MSG_PLACE)
        answer_places(&q, &a);
    else if (q.type == MSG_APPEND)
        answer_appends(&q, &a);
    else if (q.type == MSG_SEEN)
        answer_seen(&q.seen, &a);
    else if (q.type == MSG_TASK_PUT)
        answer_puts(&q, &a);
    else
        trace_die("a frame of another kind");
    if (rpc_send(ch, &a, f->rid) < 0)
        trace_die("no memory for an answer");
    arena_reset(&w.mem);
}

static const char *start_node(struct rpc **node, enum rpc_role role)
{
    static const struct rpc_calls calls = { .on_frame = node_frame };
    struct rpc_opts o = { .role = role,
                          .node = "node",
                          .incarnation = 1,
                          .link_key = w.r->keys.link,
                          .heartbeat_ms = 60000 };
    struct err e = { 0 };

    if (rpc_new(node, w.ev, &o, &e) < 0 ||
        rpc_listen(*node, "127.0.0.1:0", 1u << RPC_ROUTER, &calls, NULL, &e) < 0)
        trace_die(e.text);
    return rpc_listen_addr(*node);
}

/* ---- the router ---------------------------------------------------------------------- */

static void put_map(const char *addr)
{
    static const uint8_t keys[1][32] = { { 1 } };
    struct map_node node = { 1, "node", addr };
    struct map_seg seg = { SEG, 1, SEG_OPEN, 0 };
    struct map_lane lane = { .name = "default", .n_segs = 1, .segs = &seg };
    struct map_queue q = { .id = 7, .name = "login", .state = QUEUE_OPEN,
                           .n_lanes = 1, .lanes = &lane };
    struct msg_map m = { .epoch = 1,
                         .version = 1,
                         .next_seg = 2,
                         .n_nodes = 1,
                         .n_queues = 1,
                         .nodes = &node,
                         .queues = &q,
                         .n_keys = 1,
                         .keys = keys };
    struct queue_stats s = { .id = 7,
                             .rate_milli_per_s = 1000000,
                             .limited_by = "fixed",
                             .n_lanes = 1,
                             .lane = { { WAITING, 1000000 } } };

    if (routes_apply(w.r->routes, &m) < 0)
        trace_die("the map is refused");
    routes_stats(w.r->routes, &(struct msg_stats) { .n = 1, .queues = &s });
    seg_links_sync(w.r->segs);
}

static void put_task_map(const char *addr)
{
    struct map_task_node node = { 1, "node", addr };
    struct map_part part = { 3, 5, 1 };
    struct map_pool pool = { .match = "*", .endpoint = "", .url = "", .max_body = 65536, .n = 1, .v = &part };

    tasking_map(w.r->tasking, "manager", &(struct msg_task_map){ .epoch = 1, .n_nodes = 1, .n_pools = 1, .nodes = &node, .pools = &pool });
}

static void write_tokens(const char *path)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof(hash) + 1];
    FILE *f = fopen(path, "w");

    crypto_hash_sha256(hash, (const uint8_t *)TOKEN, strlen(TOKEN));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    if (f == NULL || fprintf(f, "%s submit *\n", hex) < 0 || fclose(f) != 0)
        trace_die("cannot write the tokens");
}

static void start_router(void)
{
    static char dir[] = "/tmp/segq-trace-XXXXXX", secret[sizeof(dir) + 8], tokens[sizeof(dir) + 8];
    struct err e = { 0 };
    int rc;

    if (mkdtemp(dir) == NULL)
        trace_die("no folder in /tmp");
    snprintf(secret, sizeof(secret), "%s/secret", dir);
    snprintf(tokens, sizeof(tokens), "%s/tokens", dir);
    write_tokens(tokens);
    w.cfg = (struct router_cfg) { .admin_tls = { "", "" },
                                  .node = "router",
                                  .listen = "127.0.0.1:0",
                                  .admin = "127.0.0.1:0",
                                  .secret_file = secret,
                                  .task_tokens = w.kind == TRACE_PUT ? tokens : NULL,
                                  .log_file = "",
                                  .create_keys = true,
                                  .max_conns = 1000,
                                  /* on, as they are shipped, but never reached */
                                  .join_limit_per_s = 100000,
                                  .poll_limit_per_s = 100000,
                                  .bad_limit_per_s = 1,
                                  .join_burst = 1000000,
                                  .poll_burst = 1000000,
                                  .bad_burst = 1,
                                  .limit_table_entries = 65536,
                                  .request_timeout = 60000,
                                  .heartbeat = 60000,
                                  .replica_fresh = is_known() ? 60000 : 0 };
    rc = router_new(&w.r, w.ev, &w.cfg, &e);
    unlink(secret);
    unlink(tokens);
    rmdir(dir);
    if (rc < 0)
        trace_die(e.text);
}

/* ---- clients ------------------------------------------------------------------------- */

static void dial(struct client *c, uint16_t port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1;

    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
        fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 ||
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        trace_die("cannot connect");
}

static int compose(char *out, size_t cap)
{
    struct token t = { .seg = SEG, .issued_s = 1700000000, .client = CLIENT_BROWSER };
    char text[TOKEN_TEXT_LEN];

    if (w.kind == TRACE_PUT)
        return snprintf(out, cap,
                        "POST /v1/queues/images/tasks HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
                        "Authorization: Bearer " TOKEN "\r\nContent-Type: application/json\r\n"
                        "Content-Length: %u\r\n\r\n{\"payload\":\"%0*d\"}",
                        PAYLOAD + 14, PAYLOAD, 0);
    if (is_join())
        return snprintf(out, cap,
                        "POST /v1/queues/login/tickets HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
                        "Content-Length: 20\r\n\r\n{\"client\":\"browser\"}");
    t.number = w.asked * 40503u % WAITING;
    token_write(&t, &w.r->keys.token, text);
    return snprintf(out, cap, "GET /v1/tickets/%.*s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n%s\r\n",
                    TOKEN_TEXT_LEN, text,
                    is_browser() ? browser_headers : "");
}

static void ask(struct client *c)
{
    char text[2048];
    int n = compose(text, sizeof(text));

    if (n <= 0 || (size_t)n >= sizeof(text) || send(c->fd, text, (size_t)n, 0) != n)
        trace_die("cannot ask");
    c->waits = true;
    c->got = 0;
    w.asked++;
    w.left++;
}

static void hear(struct client *c)
{
    ssize_t n;

    if (!c->waits)
        return;
    n = recv(c->fd, c->in + c->got, sizeof(c->in) - 1 - c->got, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        trace_die("a connection ended");
    c->got += (size_t)n;
    c->in[c->got] = '\0';
    if (c->in[c->got - 1] != '}') /* the answer's last byte */
        return;
    if (strncmp(c->in, is_join() || w.kind == TRACE_PUT ? "HTTP/1.1 201" : "HTTP/1.1 200", 12) != 0 ||
        strstr(c->in, w.kind == TRACE_ENTRY ? "\"state\":\"admitted\"" : "\"state\":\"waiting\"") ==
            NULL)
        trace_die(c->in);
    c->waits = false;
    w.left--;
}

static void one_round(void)
{
    w.clock_ns += ROUND_NS;
    for (uint32_t i = 0; i < TRACE_BATCH; i++)
        ask(&w.client[i]);
    while (w.left > 0) {
        ev_turn(w.ev, true);
        for (uint32_t i = 0; i < TRACE_BATCH; i++)
            hear(&w.client[i]);
    }
}

static bool has_replica(void)
{
    const struct stream *st = replicas_stream(&w.r->replicas, 1);

    return st != NULL && st->state == STREAM_LIVE;
}

static void start(void)
{
    struct err e = { 0 };
    uint16_t port;

    if (keys_init(&e) < 0 || ev_new(&w.ev, &e) < 0)
        trace_die(e.text);
    arena_init(&w.mem);
    start_router();
    put_map(start_node(&w.node, RPC_SEGMENT));
    if (w.kind == TRACE_PUT)
        put_task_map(start_node(&w.task_node, RPC_TASK));
    while (!router_is_ready(w.r) || (is_known() && !has_replica()) ||
           (w.kind == TRACE_PUT && !task_link_is_up(w.r->tasking, 1))) {
        w.clock_ns += ROUND_NS;
        ev_turn(w.ev, false);
    }
    port = (uint16_t)atoi(strrchr(httpd_addr(w.r->httpd), ':') + 1);
    for (uint32_t i = 0; i < TRACE_BATCH; i++)
        dial(&w.client[i], port);
}

void trace_router(enum trace_request kind, uint32_t n)
{
    w.kind = kind;
    start();
    one_round(); /* pools and buffers are there from now on */
    for (uint32_t i = 0; i < n; i += TRACE_BATCH)
        one_round();
    for (uint32_t i = 0; i < TRACE_BATCH; i++)
        close(w.client[i].fd);
    if (is_known() && w.r->replicas.polls[BY_REPLICA] < n)
        trace_die("the node was asked");
    router_free(w.r);
    rpc_free(w.node);
    if (w.task_node != NULL)
        rpc_free(w.task_node);
    ev_free(w.ev);
    arena_fini(&w.mem);
}

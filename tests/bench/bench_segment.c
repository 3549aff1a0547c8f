/* bench_segment.c: how many polls a segment node answers per second of its CPU, fed with
 * packed batches of 64, several in flight; and the floor: a server that does the same
 * with fixed structs and nothing else but epoll.
 *
 *   bench_segment node  --port P --secret FILE --pid PID --tokens FILE [options]
 *   bench_segment floor --core C [options]
 *
 * Options: --waiting N (1000000), --batch N (64), --seconds S (1), --conns N (4): as many
 * routers, --flight N (1): with so many batches on the way each.
 * node: the real process, spoken to as a router does; any token of the segment in FILE.
 * floor: a child on core C, over the same kind of socket. Prints one JSON object. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/wire/codec.h"
#include "common/net/ev.h"
#include "common/ticket/keys.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/config/cfg_check.h"
#include "common/net/rpc.h"

#define BATCH_MAX   256u
#define FLIGHT_MAX  64u
#define CONNS_MAX   64u
#define PREPARED    4096u /* batches made beforehand, sent in turn */
#define CHECK_EVERY 64u   /* answers that are looked at */
#define WARM_S      0.2

static struct {
    const char *port, *secret, *pid, *tokens;
    uint32_t waiting, batch, flight, conns, core;
    double seconds;
    struct rng rng;
    uint64_t answered; /* batches */
    double begin_s, begin_cpu_s;
    uint64_t begin_answered;
    bool timing;
} run = { .waiting = 1000000, .batch = 64, .flight = 1, .conns = 4, .core = UINT32_MAX,
          .seconds = 1 };

static void die(const char *what)
{
    fprintf(stderr, "bench_segment: %s\n", what);
    exit(1);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* User and system, to the nanosecond. */
static double cpu_s(const char *pid)
{
    unsigned long long ns = 0;
    char path[64];
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%.20s/schedstat", pid);
    f = fopen(path, "r");
    if (f == NULL || fscanf(f, "%llu", &ns) != 1)
        die("the server's CPU time cannot be read");
    fclose(f);
    return (double)ns / 1e9;
}

/* Called after every answer; true: enough. */
static bool watch(const char *pid)
{
    double now = now_s();

    if (run.begin_s == 0)
        run.begin_s = now;
    if (!run.timing && now >= run.begin_s + WARM_S) {
        run.timing = true;
        run.begin_s = now;
        run.begin_cpu_s = cpu_s(pid);
        run.begin_answered = run.answered;
    }
    return run.timing && now >= run.begin_s + run.seconds;
}

static void report(const char *pid)
{
    double s = now_s() - run.begin_s, cpu = cpu_s(pid) - run.begin_cpu_s;
    uint64_t polls = (run.answered - run.begin_answered) * run.batch;

    if (polls == 0 || cpu <= 0)
        die("nothing was answered");
    printf("{\"polls\": %" PRIu64 ", \"seconds\": %.3f, \"server_cpu_s\": %.4f, "
           "\"per_s\": %.0f, \"per_cpu_s\": %.0f}\n",
           polls, s, cpu, (double)polls / s, (double)polls / cpu);
}

/* ---- a real segment node --------------------------------------------------------- */

static struct {
    struct buf body[PREPARED];
    uint32_t next;
    seg_id seg;
    struct arena mem;
    struct ev *ev;
    struct rpc *rpc[CONNS_MAX];
    uint32_t up;
    struct rpc_chan *chan[CONNS_MAX];
    bool over;
} node;

static void read_token(const struct token_key *k)
{
    char text[TOKEN_TEXT_LEN + 2];
    struct token t;
    FILE *f = fopen(run.tokens, "r");

    if (f == NULL || fgets(text, sizeof(text), f) == NULL)
        die("there is no token");
    fclose(f);
    if (token_read(&t, k, text, TOKEN_TEXT_LEN) < 0)
        die("the token is not of this cluster");
    node.seg = t.seg;
}

static void prepare(void)
{
    for (uint32_t i = 0; i < PREPARED; i++) {
        struct place_req req[BATCH_MAX] = { { 0 } };
        struct msg m = { .type = MSG_PLACE, .place = { run.batch, req } };

        for (uint32_t k = 0; k < run.batch; k++) {
            req[k].seg = node.seg;
            req[k].number = (uint32_t)rng_below(&run.rng, run.waiting);
        }
        buf_init(&node.body[i]);
        if (msg_encode(&m, &node.body[i]) < 0)
            die("no memory");
    }
}

static void send_batch(struct rpc_chan *ch)
{
    const struct buf *b = &node.body[node.next++ % PREPARED];

    buf_append(rpc_begin(ch), b->data, b->len);
    if (rpc_end(ch, MSG_PLACE, node.next) < 0)
        die("cannot send");
}

static void check(const struct frame *f)
{
    struct msg m;

    if (f->type != MSG_PLACE_ANS)
        die("another answer than that to a poll");
    if (run.answered % CHECK_EVERY != 0)
        return;
    if (msg_decode(f->type, f->body, f->len, &node.mem, &m) < 0 ||
        m.place_ans.n != run.batch)
        die("a damaged answer");
    for (uint32_t i = 0; i < m.place_ans.n; i++)
        if (m.place_ans.ans[i].state != PLACE_WAITING ||
            m.place_ans.ans[i].position - 1 >= run.waiting)
            die("a ticket is not waiting");
    arena_reset(&node.mem);
}

/* All begin together. */
static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    (void)ctx;
    (void)peer;
    node.chan[node.up++] = ch;
    for (uint32_t c = 0; node.up == run.conns && c < run.conns; c++)
        for (uint32_t i = 0; i < run.flight; i++)
            send_batch(node.chan[c]);
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    (void)ctx;
    check(f);
    run.answered++;
    node.over = node.over || watch(run.pid);
    if (node.over)
        ev_stop(node.ev);
    else
        send_batch(ch);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ctx;
    (void)ch;
    die(why);
}

static void on_fail(void *ctx, const char *why)
{
    (void)ctx;
    die(why);
}

static struct cfg_tls tls = { TLS_REQUIRE, "", "", "", "" };

static void dial(const char *addr, const uint8_t *link_key, uint32_t i)
{
    static const struct rpc_calls calls = { on_up, on_frame, on_down, on_fail };
    char name[24];
    struct rpc_opts o = { .role = RPC_ROUTER, .node = name, .incarnation = 1,
                          .link_key = link_key, .seed = 1, .tls = &tls };
    struct err e = { 0 };

    snprintf(name, sizeof(name), "bench.%" PRIu32, i);
    if (rpc_new(&node.rpc[i], node.ev, &o, &e) < 0)
        die(e.text);
    if (rpc_dial(node.rpc[i], addr, RPC_SEGMENT, &calls, NULL) == NULL)
        die("no memory");
}

static int node_main(void)
{
    struct cluster_keys keys;
    struct err e = { 0 };
    char addr[64];

    if (run.port == NULL || run.secret == NULL || run.pid == NULL || run.tokens == NULL)
        die("node: --port, --secret, --pid and --tokens must be given");
    if (keys_cluster(&keys, run.secret, false, &e) < 0 || ev_new(&node.ev, &e) < 0)
        die(e.text);
    read_token(&keys.token);
    prepare();
    snprintf(addr, sizeof(addr), "127.0.0.1:%.8s", run.port);
    for (uint32_t i = 0; i < run.conns; i++)
        dial(addr, keys.link, i);
    ev_run(node.ev);
    report(run.pid);
    for (uint32_t i = 0; i < run.conns; i++)
        rpc_free(node.rpc[i]);
    ev_free(node.ev);
    keys_wipe(&keys, sizeof(keys));
    return 0;
}

/* ---- the floor ------------------------------------------------------------------- */

struct floor_req {
    uint64_t seg;
    uint32_t number, client;
};
struct floor_ans {
    uint64_t position;
    uint32_t poll_after_ms, state;
};
struct floor_head {
    uint64_t id;
    uint32_t n, pad;
};
#define REQ_BYTES (sizeof(struct floor_head) + run.batch * sizeof(struct floor_req))
#define ANS_BYTES (sizeof(struct floor_head) + run.batch * sizeof(struct floor_ans))
#define IO_BYTES                                                                         \
    (FLIGHT_MAX * (sizeof(struct floor_head) + BATCH_MAX * sizeof(struct floor_req)))

static void write_all(int fd, const void *p, size_t n)
{
    for (const char *c = p; n > 0;) {
        ssize_t k = write(fd, c, n);

        if (k <= 0)
            _exit(0); /* the other side has ended */
        c += k;
        n -= (size_t)k;
    }
}

/* Per 64 waiters: who is alive, how many are before. */
struct line {
    uint64_t *alive;
    uint32_t *tag;
    uint8_t *seen;
};

static struct line line_new(void)
{
    size_t words = run.waiting / 64 + 1;
    struct line l = { malloc(words * 8), malloc(words * 4), malloc(words * 64) };

    if (l.alive == NULL || l.tag == NULL || l.seen == NULL)
        die("no memory");
    memset(l.alive, 0xff, words * 8);
    memset(l.seen, 0, words * 64);
    for (size_t w = 0; w < words; w++)
        l.tag[w] = (uint32_t)(w * 64);
    return l;
}

static void floor_batch(struct line *l, const char *in, char *out)
{
    const struct floor_req *q =
        (const struct floor_req *)(const void *)(in + sizeof(struct floor_head));
    struct floor_ans *a = (struct floor_ans *)(void *)(out + sizeof(struct floor_head));

    memcpy(out, in, sizeof(struct floor_head));
    for (uint32_t i = 0; i < run.batch; i++) {
        uint32_t w = q[i].number >> 6, bit = q[i].number & 63;
        uint64_t before = l->alive[w] & ((1ull << bit) - 1);

        a[i].position = l->tag[w] + (unsigned)__builtin_popcountll(before) + 1;
        a[i].poll_after_ms = 1000;
        a[i].state = (l->alive[w] >> bit) & 1;
        l->seen[q[i].number] = 7;
    }
}

struct end { /* of a connection, of either side */
    int fd;
    size_t have;
    char in[IO_BYTES];
};

/* As far as it goes now; false: the other side has ended. */
static bool take(struct end *c)
{
    ssize_t k = read(c->fd, c->in + c->have, sizeof(c->in) - c->have);

    if (k > 0)
        c->have += (size_t)k;
    return k > 0;
}

static void keep_rest(struct end *c, size_t used)
{
    memmove(c->in, c->in + used, c->have - used);
    c->have -= used;
}

/* Reads what is there, answers all whole batches in one write. */
static void floor_answer(struct line *l, struct end *c)
{
    static char out[IO_BYTES];
    size_t at = 0, len = 0;

    if (!take(c))
        _exit(0);
    for (; c->have - at >= REQ_BYTES; at += REQ_BYTES, len += ANS_BYTES)
        floor_batch(l, c->in + at, out + len);
    keep_rest(c, at);
    write_all(c->fd, out, len);
}

/* fn(ctx, end) for whatever can be read, until it says that it is enough. */
static void each_ready(struct end *ends, bool (*fn)(void *ctx, struct end *c), void *ctx)
{
    struct epoll_event e[CONNS_MAX] = { { 0 } };
    int ep = epoll_create1(0), n;

    for (uint32_t i = 0; i < run.conns; i++) {
        e[0].events = EPOLLIN;
        e[0].data.ptr = &ends[i];
        if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, ends[i].fd, &e[0]) < 0)
            die("no epoll");
    }
    while ((n = epoll_wait(ep, e, CONNS_MAX, -1)) >= 0)
        for (int i = 0; i < n; i++)
            if (!fn(ctx, e[i].data.ptr)) {
                close(ep);
                return;
            }
    die("epoll does not wait");
}

static bool floor_ready(void *ctx, struct end *c)
{
    floor_answer(ctx, c);
    return true;
}

static void pin(uint32_t core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (core != UINT32_MAX && sched_setaffinity(0, sizeof(set), &set) < 0)
        die("cannot go to that core");
}

/* Two ends of a TCP connection through 127.0.0.1. */
static void pair(int fd[2])
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(l, (struct sockaddr *)&a, len) < 0 || listen(l, 1) < 0 ||
        getsockname(l, (struct sockaddr *)&a, &len) < 0 ||
        connect(fd[0], (struct sockaddr *)&a, len) < 0 ||
        (fd[1] = accept(l, NULL, NULL)) < 0)
        die("no connection to itself");
    close(l);
    for (int i = 0; i < 2; i++)
        setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void floor_ask(int fd, uint32_t n)
{
    static char out[IO_BYTES];
    struct floor_head h = { .n = run.batch };
    char *p = out;

    for (uint32_t i = 0; i < n; i++) {
        struct floor_req *q = (struct floor_req *)(void *)(p + sizeof(h));

        h.id++;
        memcpy(p, &h, sizeof(h));
        for (uint32_t k = 0; k < run.batch; k++)
            q[k] = (struct floor_req){ 1, (uint32_t)rng_below(&run.rng, run.waiting), 0 };
        p += REQ_BYTES;
    }
    write_all(fd, out, n * REQ_BYTES);
}

static bool floor_answered(void *ctx, struct end *c)
{
    const struct floor_ans *a =
        (const struct floor_ans *)(const void *)(c->in + sizeof(struct floor_head));
    size_t whole;

    if (!take(c))
        die("the floor's server has ended");
    whole = c->have / ANS_BYTES;
    if (whole > 0 && (a->state != 1 || a->position == 0 || a->position > run.waiting))
        die("the floor's server answers nonsense");
    keep_rest(c, whole * ANS_BYTES);
    run.answered += whole;
    if (watch(ctx))
        return false;
    if (whole > 0)
        floor_ask(c->fd, (uint32_t)whole);
    return true;
}

static struct end *connect_all(struct end *theirs)
{
    struct end *ours = calloc(run.conns, sizeof(*ours));

    for (uint32_t i = 0; i < run.conns; i++) {
        int fd[2];

        if (ours == NULL)
            die("no memory");
        pair(fd);
        ours[i].fd = fd[0];
        theirs[i].fd = fd[1];
    }
    return ours;
}

static int floor_main(void)
{
    struct end *theirs = calloc(run.conns, sizeof(*theirs)), *ours;
    char text[24];
    pid_t pid;

    if (theirs == NULL)
        die("no memory");
    ours = connect_all(theirs);
    pid = fork();
    if (pid < 0)
        die("cannot fork");
    if (pid == 0) {
        struct line l = line_new();

        for (uint32_t i = 0; i < run.conns; i++)
            close(ours[i].fd);
        pin(run.core);
        each_ready(theirs, floor_ready, &l);
    }
    snprintf(text, sizeof(text), "%d", (int)pid);
    for (uint32_t i = 0; i < run.conns; i++)
        floor_ask(ours[i].fd, run.flight);
    each_ready(ours, floor_answered, text);
    report(text);
    kill(pid, SIGKILL);
    free(theirs);
    free(ours);
    return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

/* ---- options --------------------------------------------------------------------- */

static void usage(void)
{
    fprintf(stderr, "usage: bench_segment node|floor [options], see bench_segment.c\n");
    exit(2);
}

static void option(const char *name, const char *value)
{
    uint32_t n = (uint32_t)strtoul(value, NULL, 10);

    if (strcmp(name, "--port") == 0)
        run.port = value;
    else if (strcmp(name, "--secret") == 0)
        run.secret = value;
    else if (strcmp(name, "--pid") == 0)
        run.pid = value;
    else if (strcmp(name, "--tokens") == 0)
        run.tokens = value;
    else if (strcmp(name, "--waiting") == 0 && n > 0)
        run.waiting = n;
    else if (strcmp(name, "--batch") == 0 && n > 0 && n <= BATCH_MAX)
        run.batch = n;
    else if (strcmp(name, "--flight") == 0 && n > 0 && n <= FLIGHT_MAX)
        run.flight = n;
    else if (strcmp(name, "--conns") == 0 && n > 0 && n <= CONNS_MAX)
        run.conns = n;
    else if (strcmp(name, "--core") == 0 && n < CPU_SETSIZE)
        run.core = n;
    else if (strcmp(name, "--seconds") == 0 && strtod(value, NULL) > 0)
        run.seconds = strtod(value, NULL);
    else
        usage();
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc % 2 != 0)
        usage();
    for (int i = 2; i < argc; i += 2)
        option(argv[i], argv[i + 1]);
    if (sodium_init() < 0)
        die("no libsodium");
    signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_ERROR);
    rng_seed(&run.rng, 5);
    if (strcmp(argv[1], "node") == 0)
        return node_main();
    if (strcmp(argv[1], "floor") == 0)
        return floor_main();
    usage();
}

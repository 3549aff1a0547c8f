/* main.c: bench_jobs: submits jobs, or takes and acknowledges them, over many connections: to segq over
 * HTTP, to beanstalkd, to a stream or a list of Redis. One thread; each connection asks again when
 * it is answered. One line of JSON at the end.
 *
 * A job's payload begins with the moment at which it is due (Unix microseconds), its number and
 * its key; so who takes it knows how late it is, and whether it is its turn within its key. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/jobs/jobs.h"

#define CONNS_MAX 256
#define IN_STEP   65536

static const char usage[] =
    "bench_jobs segq|beanstalk|stream|list put|take --port P [option]...\n"
    "  --token T      segq: the server's token\n"
    "  --conns N      connections (64)\n"
    "  --seconds S    ends after that time (600),\n"
    "  --jobs N       or after so many jobs (0: any number)\n"
    "  --batch N      jobs in a request (1)\n"
    "  --size N       bytes of a payload (1024)\n"
    "  --queue Q      segq (jobs)\n"
    "  --queues N     put, segq: each request to the next of Q0, Q1 ... (1: to Q)\n"
    "  --key K        put, segq: of all jobs\n"
    "  --keys N       put, segq: each job with the next of K0, K1 ... (0: no keys)\n"
    "  --call PATH    put, segq: each is a POST to this path of the queue's endpoint\n"
    "  --due-in S     put: the first one is due in S seconds (0: none is delayed),\n"
    "  --span S       the last one S seconds later (0); with --jobs\n"
    "  --wait         take: waits for jobs that are not due yet; else ends when there is none\n"
    "  --next         take, segq, without --batch: each acknowledgement takes the next one\n"
    "  --only K       take: --jobs counts those whose key begins with K\n"
    "The report: jobs, seconds, per_s, requests, early, late_us (0.5, 0.99, 1), disorder (a job\n"
    "that came after a later one of its key), others (not counted by --only).\n"
    "Exit 0: it ran; 1: a wrong answer, or no connection; 2: usage.\n";

struct bench_jobs b;

static const struct {
    const char *name;
    const struct proto *proto;
} protos[] = {
    { "segq", &segq_proto },
    { "beanstalk", &beanstalk_proto },
    { "stream", &stream_proto },
    { "list", &list_proto },
};

/* ---- the loop ----------------------------------------------------------------------------- */

static void send_out(struct conn *c)
{
    for (size_t at = 0; at < c->out.len;) {
        ssize_t n = send(c->fd, c->out.data + at, c->out.len - at, MSG_NOSIGNAL);

        if (n <= 0)
            die("send: %s", strerror(errno));
        at += (size_t)n;
    }
    buf_reset(&c->out);
    buf_reset(&c->in);
    b.requests++;
}

bool is_over(void)
{
    return b.dry || (b.jobs != 0 && (b.takes ? b.done : b.asked) >= b.jobs) ||
           (double)(wall_us() - b.start_us) >= b.seconds * 1e6;
}

/* The next request; false: there is none any more. */
static bool ask(struct conn *c)
{
    uint64_t left = b.jobs == 0 ? b.batch : b.jobs - (b.takes ? b.done : b.asked);

    if (c->settles) {
        c->asked = c->n_ids;
        b.proto->settle(c);
    } else if (is_over()) {
        return false;
    } else {
        c->asked = b.takes || left > b.batch ? b.batch : (unsigned)left;
        (b.takes ? b.proto->take : b.proto->put)(c, c->asked);
    }
    send_out(c);
    return true;
}

/* False: this connection has ended. */
static bool on_bytes(struct conn *c)
{
    uint8_t *to = buf_reserve(&c->in, IN_STEP);
    ssize_t got = to == NULL ? -1 : recv(c->fd, to, IN_STEP, MSG_DONTWAIT);
    int n;

    if (got <= 0)
        die("receive: %s", got == 0 ? "the connection is closed" : strerror(errno));
    c->in.len += (size_t)got;
    n = (c->settles ? b.proto->settled : b.takes ? b.proto->taken : b.proto->was_put)(c);
    if (n < 0)
        return true;
    if (!b.takes)
        b.done += (unsigned)n;
    else if ((!c->settles || b.next) && n == 0 && !b.waits)
        b.dry = true;
    c->settles = b.takes && (!c->settles || b.next) && n > 0;
    return ask(c);
}

static void connect_one(struct conn *c)
{
    c->fd = socket(b.addr.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, &b.addr.sa, b.addr.len) < 0)
        die("connect: %s", strerror(errno));
    c->reader = redisReaderCreate();
}

static void loop(void)
{
    struct conn *v = calloc(b.conns, sizeof(*v));
    struct epoll_event ev[CONNS_MAX];
    int ep = epoll_create1(EPOLL_CLOEXEC);
    unsigned open = 0;

    if (v == NULL || ep < 0)
        die("no memory");
    for (unsigned i = 0; i < b.conns; i++) {
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = &v[i] };

        connect_one(&v[i]);
        if (epoll_ctl(ep, EPOLL_CTL_ADD, v[i].fd, &e) < 0)
            die("epoll: %s", strerror(errno));
    }
    b.start_us = wall_us();
    for (unsigned i = 0; i < b.conns; i++)
        open += ask(&v[i]);
    while (open > 0) {
        int n = epoll_wait(ep, ev, CONNS_MAX, 30000);

        if (n == 0)
            die("no answer for 30 s");
        for (int i = 0; i < n; i++)
            open -= !on_bytes(ev[i].data.ptr);
    }
}

static int by_value(const void *x, const void *y)
{
    int64_t p = *(const int64_t *)x, q = *(const int64_t *)y;

    return (p > q) - (p < q);
}

static int64_t late_at(double share)
{
    return b.n_late == 0 ? 0 : b.late[(uint64_t)((double)(b.n_late - 1) * share)];
}

static void report(void)
{
    double s = (double)(wall_us() - b.start_us) / 1e6;

    if (b.n_late > 0)
        qsort(b.late, b.n_late, sizeof(*b.late), by_value);
    printf("{\"jobs\":%" PRIu64 ",\"seconds\":%.4f,\"per_s\":%.1f,\"requests\":%" PRIu64
           ",\"early\":%" PRIu64 ",\"disorder\":%" PRIu64 ",\"others\":%" PRIu64
           ",\"late_us\":{\"p50\":%" PRId64 ",\"p99\":%" PRId64 ",\"max\":%" PRId64 "}}\n",
           b.done, s, (double)b.done / s, b.requests, b.early, b.disorder, b.others, late_at(0.5),
           late_at(0.99), late_at(1));
}

/* ---- options ------------------------------------------------------------------------------- */

static const struct option options[] = {
    { "port", 1, NULL, 'p' },   { "token", 1, NULL, 't' },  { "conns", 1, NULL, 'c' },
    { "seconds", 1, NULL, 's' }, { "jobs", 1, NULL, 'j' },  { "batch", 1, NULL, 'b' },
    { "size", 1, NULL, 'z' },   { "queue", 1, NULL, 'q' },  { "queues", 1, NULL, 'Q' },
    { "key", 1, NULL, 'k' },    { "keys", 1, NULL, 'K' },   { "due-in", 1, NULL, 'd' },
    { "span", 1, NULL, 'D' },   { "wait", 0, NULL, 'w' },   { "only", 1, NULL, 'o' },
    { "call", 1, NULL, 'C' },   { "next", 0, NULL, 'n' },
    { NULL, 0, NULL, 0 },
};

static bool set(int which, char *arg)
{
    unsigned long n = arg != NULL ? strtoul(arg, NULL, 10) : 0;

    switch (which) {
    case 'p': return (b.port = (unsigned)n) > 0;
    case 't': return (b.token = arg)[0] != '\0';
    case 'c': return (b.conns = (unsigned)n) > 0 && n <= CONNS_MAX;
    case 's': return (b.seconds = strtod(arg, NULL)) > 0;
    case 'j': return (b.jobs = n) > 0;
    case 'b': return (b.batch = (unsigned)n) > 0 && n <= BATCH_MAX;
    case 'z': return (b.size = (unsigned)n) > 0;
    case 'q': return (b.queue = arg)[0] != '\0' && strlen(arg) < 60;
    case 'Q': return (b.queues = (unsigned)n) > 0;
    case 'k': return (b.key = arg)[0] != '\0' && strlen(arg) < 20;
    case 'K': return (b.keys = (unsigned)n) > 0 && n <= KEYS_MAX;
    case 'd': return (b.due_in = strtod(arg, NULL)) > 0;
    case 'D': return (b.span = strtod(arg, NULL)) > 0;
    case 'C': return (b.call = arg)[0] == '/';
    case 'w': return b.waits = true;
    case 'n': return b.next = true;
    case 'o': return (b.only = arg)[0] != '\0';
    default: return false;
    }
}

static bool parse(int argc, char **argv)
{
    char at[32];
    struct err e;
    int c;

    b.conns = 64, b.batch = 1, b.size = 1024, b.queues = 1, b.seconds = 600;
    b.token = "", b.queue = "jobs", b.key = "";
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!set(c, optarg))
            return false;
    if (argc - optind != 2 || b.port == 0 || (b.due_in > 0 && b.jobs == 0) || (b.next && b.batch > 1))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(protos); i++)
        if (strcmp(argv[optind], protos[i].name) == 0)
            b.proto = protos[i].proto;
    b.takes = strcmp(argv[optind + 1], "take") == 0;
    snprintf(at, sizeof(at), "127.0.0.1:%u", b.port);
    return b.proto != NULL && (!b.next || b.proto == &segq_proto) && (b.takes || strcmp(argv[optind + 1], "put") == 0) &&
           net_resolve(&b.addr, at, &e) == 0;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    loop();
    report();
    return 0;
}

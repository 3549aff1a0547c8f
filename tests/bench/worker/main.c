/* main.c: bench_worker: takes jobs of beanstalkd, or of a list of Redis, sends each by POST to a
 * target, so many at once over kept connections (libcurl's multi interface on epoll), and keeps
 * what the target said. One thread; all that it says to the queue in a turn leaves together, and
 * it reserves as many as it has room for. It ends by SIGTERM. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/net.h"
#include "tests/bench/worker/worker.h"

#define IN_STEP 65536
#define EVENTS  128

static const char usage[] = "bench_worker beanstalk|redis PORT URL [AT_ONCE]\n";

struct worker w;

static struct job job[JOBS_MAX], *idle[JOBS_MAX];
static unsigned n_idle, n_jobs = 64;
static CURLM *multi;
static int ep, fd;
static long timeout = -1;

void die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

void say(const char *fmt, ...)
{
    char text[256];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_append(&w.out, text, (size_t)n);
}

/* ---- the target ---------------------------------------------------------------------------- */

static int on_socket(CURL *easy, curl_socket_t s, int what, void *ctx, void *known)
{
    struct epoll_event e = { .data.fd = s };

    (void)easy, (void)ctx;
    e.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(ep, EPOLL_CTL_DEL, s, NULL);
        return 0;
    }
    if (epoll_ctl(ep, known != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s, &e) < 0)
        die("epoll: %s", strerror(errno));
    curl_multi_assign(multi, s, &w);
    return 0;
}

static int on_timer(CURLM *m, long ms, void *ctx)
{
    (void)m, (void)ctx;
    timeout = ms;
    return 0;
}

static size_t on_answer(char *p, size_t size, size_t n, void *ctx)
{
    struct job *k = ctx;

    buf_append(&k->answer, p, size * n);
    return size * n;
}

static void job_init(struct job *k, const char *url, struct curl_slist *fields)
{
    k->easy = curl_easy_init();
    if (k->easy == NULL)
        die("no memory");
    curl_easy_setopt(k->easy, CURLOPT_URL, url);
    curl_easy_setopt(k->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(k->easy, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(k->easy, CURLOPT_WRITEFUNCTION, on_answer);
    curl_easy_setopt(k->easy, CURLOPT_WRITEDATA, k);
    curl_easy_setopt(k->easy, CURLOPT_PRIVATE, k);
    curl_easy_setopt(k->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(k->easy, CURLOPT_TIMEOUT_MS, 30000L);
    idle[n_idle++] = k;
}

void worker_has(const char *id, const void *body, size_t n)
{
    struct job *k;

    w.reserved--;
    w.dry = id == NULL;
    if (id == NULL)
        return;
    k = idle[--n_idle];
    snprintf(k->id, sizeof(k->id), "%s", id);
    buf_reset(&k->body);
    buf_reset(&k->answer);
    buf_append(&k->body, body, n);
    curl_easy_setopt(k->easy, CURLOPT_POSTFIELDS, k->body.data);
    curl_easy_setopt(k->easy, CURLOPT_POSTFIELDSIZE, (long)n);
    if (curl_multi_add_handle(multi, k->easy) != CURLM_OK)
        die("no memory");
}

static void take_ends(void)
{
    CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(multi, &left)) != NULL) {
        struct job *k = NULL;
        long status = 0;

        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &k);
        curl_easy_getinfo(m->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        if (m->data.result != CURLE_OK || status != 200)
            die("the target: %s, %ld", curl_easy_strerror(m->data.result), status);
        curl_multi_remove_handle(multi, k->easy);
        w.queue->done(k);
        idle[n_idle++] = k;
        w.dry = false;
    }
}

/* ---- the queue ----------------------------------------------------------------------------- */

static void flush(void)
{
    size_t at = 0;

    while (at < w.out.len) {
        ssize_t n = send(fd, w.out.data + at, w.out.len - at, MSG_NOSIGNAL);

        if (n <= 0)
            die("send: %s", strerror(errno));
        at += (size_t)n;
    }
    buf_reset(&w.out);
}

static void read_queue(void)
{
    uint8_t *to = buf_reserve(&w.in, IN_STEP);
    ssize_t n = to == NULL ? -1 : recv(fd, to, IN_STEP, MSG_DONTWAIT);

    if (n <= 0)
        die("receive: %s", n == 0 ? "the connection is closed" : strerror(errno));
    w.in.len += (size_t)n;
    w.queue->heard();
}

/* As many as there is room for; while the queue is empty one, when nothing else is to do. */
static void reserve(void)
{
    unsigned n = n_idle - w.reserved;

    if (w.dry && n_idle == n_jobs && w.reserved == 0) {
        w.reserved = 1;
        w.queue->reserve(1, true);
    } else if (!w.dry && n > 0) {
        w.reserved += n;
        w.queue->reserve(n, false);
    }
}

static void loop(void)
{
    struct epoll_event ev[EVENTS];
    int running;

    for (;;) {
        int n = epoll_wait(ep, ev, EVENTS, timeout > 1000 || timeout < 0 ? 1000 : (int)timeout);

        if (n < 0 && errno != EINTR)
            die("epoll: %s", strerror(errno));
        for (int i = 0; i < n; i++) {
            if (ev[i].data.fd == fd)
                read_queue();
            else
                curl_multi_socket_action(multi, ev[i].data.fd,
                                         (ev[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                             (ev[i].events & ~EPOLLOUT ? CURL_CSELECT_IN : 0), &running);
        }
        while (timeout == 0 || (n == 0 && timeout > 0)) {
            timeout = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
            n = -1;
        }
        take_ends();
        reserve();
        flush();
    }
}

static void connect_queue(const char *port)
{
    char at[32];
    struct net_addr a;
    struct epoll_event e = { .events = EPOLLIN };
    struct err err;

    snprintf(at, sizeof(at), "127.0.0.1:%s", port);
    if (net_resolve(&a, at, &err) < 0)
        die("%s", err.text);
    fd = socket(a.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, &a.sa, a.len) < 0)
        die("connect: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    e.data.fd = fd;
    if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) < 0)
        die("epoll: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: text/plain");

    if (argc > 4)
        n_jobs = (unsigned)strtoul(argv[4], NULL, 10);
    if (argc < 4 || n_jobs == 0 || n_jobs > JOBS_MAX ||
        (strcmp(argv[1], "beanstalk") != 0 && strcmp(argv[1], "redis") != 0)) {
        fputs(usage, stderr);
        return 2;
    }
    w.queue = strcmp(argv[1], "redis") == 0 ? &redis_jobs : &beanstalk_jobs;
    ep = epoll_create1(EPOLL_CLOEXEC);
    multi = curl_multi_init();
    if (ep < 0 || multi == NULL)
        die("no memory");
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)JOBS_MAX);
    connect_queue(argv[2]);
    for (unsigned i = 0; i < n_jobs; i++)
        job_init(&job[i], argv[3], fields);
    w.queue->begin();
    reserve();
    flush();
    loop();
}

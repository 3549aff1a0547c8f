/* redis_link.c: dials, greets, asks. */
#include "common/redis/redis_link.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/net/tls.h"
#include "common/redis/redis_conn.h"

#define LOG_MODULE     "redis"
#define BACKOFF_MIN_MS 50u
#define BACKOFF_MAX_MS 1000u
#define STEADY_MS      500   /* up for so long: the next try comes soon again */
#define BYTES_PER_MS   4096  /* a large command, or answer, may take longer */

enum state {
    WAIT,     /* no connection; the timer dials */
    SENTINEL, /* connected, or connecting, to one, or asking for its name */
    HELLO,    /* asking for its name, connecting, or asking who it is */
    UP,
    FAILING /* up, found to be of no use: ends with the timer, at once */
};

struct call { /* a command */
    redis_fn fn;
    void *ctx;
    msec_t deadline_ms;
    struct list_node in; /* redis_link.calls */
};

struct redis_link {
    struct ev *ev; /* ref */
    struct redis_calls calls;
    void *ctx;
    struct redis_addrs addrs;
    struct redis_find find; /* addresses of addrs.now */
    bool to_sentinel; /* addrs.now is one */
    char master[NAME_MAX_LEN + 1], user[128], password[256];
    int db;
    uint32_t connect_ms, answer_ms;
    struct rng rng;
    enum state state;
    struct redis_conn *conn; /* owned; NULL in WAIT, and while a name is asked for */
    struct tls_ctx *const *tls; /* ref; NULL: without */
    struct ev_timer *timer;
    struct list open; /* call.in, oldest first */
    uint32_t backoff_ms;
    msec_t up_ms;
    int64_t uptime_ms;
    struct redis_faults faults;
    char failing[200];
    enum redis_fault failing_as;
    struct redis_counts count;
};

static void dial(struct redis_link *l);

/* ---- faults ---------------------------------------------------------------------- */

/* Counts it; true: it is to be logged. */
static bool note(struct redis_link *l, enum redis_fault f)
{
    l->count.fault[f]++;
    return redis_fault_note(&l->faults, f, ev_now(l->ev));
}

/* The link is of no use: it ends with the timer, since its user is calling. */
static void end_soon(struct redis_link *l, enum redis_fault f, const char *text)
{
    if (f == REDIS_MOVED)
        redis_addrs_moved(&l->addrs, text);
    else
        l->addrs.servers.at++;
    l->state = FAILING;
    l->failing_as = f;
    snprintf(l->failing, sizeof(l->failing), "%s", text);
    ev_timer_at(l->timer, ev_now(l->ev));
}

void redis_link_fault(struct redis_link *l, enum redis_fault f, const char *text)
{
    const char *addr = l->addrs.now;

    if (f == REDIS_NONE && redis_faults_over(&l->faults, false))
        log_info("event=redis_ok addr=%s", log_q(addr, strlen(addr)));
    if (f == REDIS_NONE)
        return;
    if (!redis_fault_ends_link(f) && note(l, f))
        log_error("event=redis_refuses addr=%s kind=%s why=%s do=\"%s\"",
                  log_q(addr, strlen(addr)), redis_fault_name(f),
                  log_q(text, strnlen(text, 200)), redis_fault_hint(f));
    else if (redis_fault_ends_link(f) && f != REDIS_GONE && l->state == UP)
        end_soon(l, f, text);
}

static struct call call_take(struct redis_link *l, struct list_node *it)
{
    struct call *c = container_of(it, struct call, in), taken = *c;

    list_remove(&l->open, it);
    free(c);
    return taken;
}

/* Everybody who waits is told, then the user. */
static void answer_gone(struct redis_link *l)
{
    static const struct redis_ans gone = { .fault = REDIS_GONE,
                                           .text = "the link broke" };
    struct list_node *it;

    while ((it = list_first(&l->open)) != NULL) {
        struct call c = call_take(l, it);

        c.fn(c.ctx, &gone);
    }
}

static void wait_and_dial(struct redis_link *l, enum redis_fault f)
{
    uint32_t half;

    if (f == REDIS_AUTH || f == REDIS_TLS)
        l->backoff_ms = BACKOFF_MAX_MS;
    assert(l->state == WAIT);
    half = l->backoff_ms / 2;
    ev_timer_at(l->timer, ev_now(l->ev) + half + (msec_t)rng_below(&l->rng, half + 1));
    l->backoff_ms =
        l->backoff_ms * 2 < BACKOFF_MAX_MS ? l->backoff_ms * 2 : BACKOFF_MAX_MS;
}

/* Chooses the next one to be dialled, after a failure. */
static void move_on(struct redis_link *l, bool was_up)
{
    bool more = redis_find_has_more(&l->find); /* the name has another address */

    if (was_up || l->addrs.next[0] != '\0' || !more)
        redis_find_forget(&l->find);
    if (l->state == SENTINEL)
        l->addrs.sentinels.at += !more;
    else if (!was_up)
        l->addrs.servers.at += !more;
    else if (ev_now(l->ev) - l->up_ms >= STEADY_MS)
        l->backoff_ms = BACKOFF_MIN_MS;
}

/* The connection is over, or there is none. */
static void fail(struct redis_link *l, enum redis_fault f, const char *text)
{
    struct redis_conn *conn = l->conn;
    bool was_up = l->state == UP || l->state == FAILING;

    if (note(l, f))
        log_warn("event=redis_down addr=%s kind=%s why=%s do=\"%s\"",
                 log_q(l->addrs.now, strlen(l->addrs.now)), redis_fault_name(f),
                 log_q(text, strnlen(text, 400)), redis_fault_hint(f));
    l->conn = NULL;
    redis_conn_free(conn);
    move_on(l, was_up);
    l->state = WAIT;
    wait_and_dial(l, f);
    answer_gone(l);
    if (was_up)
        l->calls.on_down(l->ctx);
}

/* ---- commands -------------------------------------------------------------------- */

static void arm(struct redis_link *l)
{
    struct list_node *it = list_first(&l->open);

    if (l->state == UP)
        ev_timer_at(l->timer, it != NULL ? container_of(it, struct call, in)->deadline_ms
                                         : MSEC_NEVER);
}

/* Redis answers one after the other: a command behind a large one has its time yet. */
static void next_has_time(struct redis_link *l)
{
    struct list_node *it = list_first(&l->open);

    if (it != NULL) {
        struct call *c = container_of(it, struct call, in);

        c->deadline_ms = ms_max(c->deadline_ms, ev_now(l->ev) + l->answer_ms);
    }
    arm(l);
}

static uint64_t bytes_of(const struct redis_args *a)
{
    uint64_t n = a->answer_bytes;

    for (size_t i = 0; i < a->n; i++)
        n += a->len[i];
    return n;
}

static void on_reply(void *ctx, const struct redis_ans *a)
{
    struct redis_link *l = ctx;
    struct list_node *it = list_first(&l->open);
    struct call c;

    if (it == NULL) {
        fail(l, a->fault != REDIS_NONE ? a->fault : REDIS_PROTOCOL,
             a->fault != REDIS_NONE ? a->text : "an answer that was not asked for");
        return;
    }
    c = call_take(l, it);
    next_has_time(l);
    c.fn(c.ctx, a);
}

static int put(struct redis_link *l, const struct redis_args *a, redis_fn fn, void *ctx)
{
    struct call *c = a->failed ? NULL : calloc(1, sizeof(*c));

    if (c == NULL)
        return SQ_ENOMEM;
    *c = (struct call){ .fn = fn, .ctx = ctx };
    c->deadline_ms = ev_now(l->ev) + l->answer_ms + (msec_t)(bytes_of(a) / BYTES_PER_MS);
    if (redis_conn_send(l->conn, a) < 0) {
        free(c);
        return SQ_ENOMEM;
    }
    list_push_back(&l->open, &c->in);
    l->count.commands++;
    arm(l);
    return 0;
}

int redis_send(struct redis_link *l, const struct redis_args *a, redis_fn fn, void *ctx)
{
    return l->state != UP ? SQ_EUNAVAIL : put(l, a, fn, ctx);
}

/* A command of our own, of words. */
static void say(struct redis_link *l, redis_fn fn, const char *const *words)
{
    struct redis_args a = { 0 };

    for (; *words != NULL; words++)
        redis_arg_str(&a, *words);
    if (put(l, &a, fn, l) < 0)
        fail(l, REDIS_OTHER, "a command could not be sent");
    redis_args_fini(&a);
}

/* ---- the hello --------------------------------------------------------------- */

static bool hello_ok(struct redis_link *l, const struct redis_ans *a)
{
    if (l->state != HELLO || a->fault == REDIS_GONE)
        return false; /* failed already */
    if (a->fault == REDIS_NONE)
        return true;
    if (a->fault == REDIS_MOVED)
        redis_addrs_moved(&l->addrs, a->text);
    fail(l, a->fault, a->text);
    return false;
}

/* AUTH or SELECT. A server that does not know AUTH repeats what it was told, perhaps cut off. */
static void on_auth(void *ctx, const struct redis_ans *a)
{
    const struct redis_link *l = ctx;
    struct redis_ans said = *a;
    char head[33];

    snprintf(head, sizeof(head), "%.32s", l->password);
    if (head[0] != 0 && strstr(a->text, head) != NULL)
        said.text = "its refusal repeats the password, and is not shown";
    (void)hello_ok(ctx, &said);
}

static void on_role(void *ctx, const struct redis_ans *a)
{
    struct redis_link *l = ctx;
    const char *p;
    size_t n;

    if (!hello_ok(l, a))
        return;
    if (!redis_ans_text(a, 0, &p, &n))
        fail(l, REDIS_TYPE, "ROLE: an answer of another shape");
    else if (n != 6 || memcmp(p, "master", 6) != 0)
        fail(l, REDIS_MASTER, "it is not the master");
}

/* Not everybody may ask for it. */
static void on_info(void *ctx, const struct redis_ans *a)
{
    static const char key[] = "\nuptime_in_seconds:";
    struct redis_link *l = ctx;
    const char *p, *at;
    size_t n;

    if (a->fault != REDIS_NONE || !redis_ans_text(a, 0, &p, &n))
        return;
    at = strstr(p, key); /* replies are 0-terminated */
    if (at != NULL)
        l->uptime_ms = strtoll(at + sizeof(key) - 1, NULL, 10) * 1000;
}

static void on_ping(void *ctx, const struct redis_ans *a)
{
    struct redis_link *l = ctx;

    if (!hello_ok(l, a))
        return;
    l->state = UP;
    l->up_ms = ev_now(l->ev);
    redis_conn_allow(l->conn, REDIS_REPLY_MOST);
    (void)redis_faults_over(&l->faults, true);
    l->faults.logged_ms[REDIS_AUTH] = 0;
    l->count.connects++;
    log_info("event=redis_up addr=%s uptime_ms=%lld", log_q(l->addrs.now, strlen(l->addrs.now)),
             (long long)l->uptime_ms);
    arm(l);
    l->calls.on_up(l->ctx, l->uptime_ms);
}

static void hello(struct redis_link *l)
{
    char db[16];

    l->uptime_ms = -1;
    if (l->password[0] != 0 && l->user[0] != 0)
        say(l, on_auth, (const char *[]) { "AUTH", l->user, l->password, NULL });
    else if (l->password[0] != 0)
        say(l, on_auth, (const char *[]) { "AUTH", l->password, NULL });
    snprintf(db, sizeof(db), "%d", l->db);
    if (l->state == HELLO && l->db != 0)
        say(l, on_auth, (const char *[]) { "SELECT", db, NULL });
    if (l->state == HELLO)
        say(l, on_role, (const char *[]) { "ROLE", NULL });
    if (l->state == HELLO)
        say(l, on_info, (const char *[]) { "INFO", "server", NULL });
    if (l->state == HELLO)
        say(l, on_ping, (const char *[]) { "PING", NULL });
}

static void on_master(void *ctx, const struct redis_ans *a)
{
    struct redis_link *l = ctx;
    const char *ip, *port;
    size_t n, m;

    if (l->state != SENTINEL || a->fault == REDIS_GONE)
        return;
    if (a->fault != REDIS_NONE) {
        fail(l, a->fault, a->text);
        return;
    }
    if (!redis_ans_text(a, 0, &ip, &n) || !redis_ans_text(a, 1, &port, &m) ||
        !redis_addrs_named(&l->addrs, ip, n, port, m)) {
        fail(l, REDIS_MASTER, "this sentinel does not know the master");
        return;
    }
    redis_conn_free(l->conn);
    l->conn = NULL;
    redis_find_forget(&l->find);
    dial(l);
}

/* ---- connections ----------------------------------------------------------------- */

static void on_open(void *ctx)
{
    struct redis_link *l = ctx;

    if (l->state == SENTINEL)
        say(l, on_master,
            (const char *[]) { "SENTINEL", "get-master-addr-by-name", l->master, NULL });
    else
        hello(l);
}

static void on_end(void *ctx, enum redis_fault f, const char *why)
{
    fail(ctx, f, why);
}

/* addr NULL: addrs.now is a local socket. */
static void connect_to(struct redis_link *l, const struct net_addr *addr)
{
    static const struct redis_conn_calls calls = { on_open, on_reply, on_end };
    struct redis_conn_opts o = { .addr = addr,
                                 .name = l->addrs.now,
                                 .tls = l->tls != NULL ? *l->tls : NULL };
    struct err e = { 0 };

    ev_timer_at(l->timer, ev_now(l->ev) + l->connect_ms);
    if (redis_conn_new(&l->conn, l->ev, &o, &calls, l, &e) < 0)
        fail(l, REDIS_CONNECT, e.text);
}

static void on_found(void *arg, const struct host_answer *a)
{
    struct redis_link *l = arg;

    if (a->n > 0)
        connect_to(l, redis_find_next(&l->find));
    else
        fail(l, REDIS_CONNECT, a->why);
}

static void dial_now(struct redis_link *l)
{
    struct err e = { 0 };
    int rc;

    if (l->addrs.now[0] == '/') {
        connect_to(l, NULL);
        return;
    }
    rc = redis_find(&l->find, l->addrs.now, &e);
    if (rc > 0)
        connect_to(l, redis_find_next(&l->find));
    else if (rc < 0)
        fail(l, REDIS_CONNECT, e.text);
}

/* The next address of the name that was dialled last, or the next name. */
static void dial(struct redis_link *l)
{
    bool more = redis_find_has_more(&l->find);

    assert(l->conn == NULL && l->find.question == NULL);
    if (!more)
        l->to_sentinel = redis_addrs_dial(&l->addrs);
    l->state = l->to_sentinel ? SENTINEL : HELLO;
    ev_timer_at(l->timer, ev_now(l->ev) + l->connect_ms);
    if (more)
        connect_to(l, redis_find_next(&l->find));
    else
        dial_now(l);
}

static const char *late(const struct redis_link *l)
{
    return l->state == UP              ? "no answer in time"
           : l->find.question != NULL ? "no name server answered in time"
           : l->conn != NULL && redis_conn_is_shaking(l->conn)
               ? "no TLS handshake in time; it may be a port without TLS"
               : "no hello in time";
}

static void on_timer(void *arg)
{
    struct redis_link *l = arg;

    switch (l->state) {
    case WAIT:
        dial(l);
        break;
    case FAILING:
        fail(l, l->failing_as, l->failing);
        break;
    default:
        fail(l, REDIS_TIMEOUT, late(l));
    }
}

/* ---- life ------------------------------------------------------------------------ */

static int take_opts(struct redis_link *l, const struct redis_opts *o)
{
    l->db = o->db;
    l->connect_ms = o->connect_ms;
    l->answer_ms = o->answer_ms;
    l->backoff_ms = BACKOFF_MIN_MS;
    rng_seed(&l->rng, o->seed);
    snprintf(l->master, sizeof(l->master), "%s", o->master != NULL ? o->master : "");
    snprintf(l->user, sizeof(l->user), "%s", o->user != NULL ? o->user : "");
    snprintf(l->password, sizeof(l->password), "%s",
             o->password != NULL ? o->password : "");
    l->tls = o->tls;
    return redis_addrs_init(&l->addrs, o->addr, o->n_addrs, o->sentinel, o->n_sentinels);
}

int redis_link_new(struct redis_link **out, struct ev *ev, const struct redis_opts *o,
                   const struct redis_calls *calls, void *ctx, struct err *e)
{
    struct redis_link *l;

    if (o->n_addrs + o->n_sentinels == 0)
        return err_set(e, SQ_EINVAL, "redis: no address");
    l = calloc(1, sizeof(*l));
    if (l == NULL)
        return err_set(e, SQ_ENOMEM, "redis: out of memory");
    l->ev = ev;
    l->calls = *calls;
    l->ctx = ctx;
    list_init(&l->open);
    redis_find_init(&l->find, ev, on_found, l);
    l->timer = ev_timer_new(ev, on_timer, l);
    if (l->timer == NULL || take_opts(l, o) < 0) {
        redis_link_free(l);
        return err_set(e, SQ_ENOMEM, "redis: out of memory");
    }
    ev_timer_at(l->timer, ev_now(ev));
    *out = l;
    return 0;
}

void redis_link_free(struct redis_link *l)
{
    struct list_node *it;

    if (l == NULL)
        return;
    redis_conn_free(l->conn);
    while ((it = list_first(&l->open)) != NULL)
        (void)call_take(l, it);
    redis_find_fini(&l->find);
    ev_timer_free(l->timer);
    redis_addrs_free(&l->addrs);
    sodium_memzero(l->password, sizeof(l->password));
    free(l);
}

bool redis_link_up(const struct redis_link *l)
{
    return l->state == UP;
}

const struct redis_counts *redis_link_counts(const struct redis_link *l)
{
    return &l->count;
}

const char *redis_link_addr(const struct redis_link *l)
{
    return l->addrs.now;
}

/* test_redis_link.c: the link comes up at whoever is master, over passwords, replicas,
 * sentinels and silence; every fault is told apart and counted. */
#include "common/redis/redis_link.h"

#include "common/base/log.h"
#include "tests/lib/dnsrig.h"
#include "tests/lib/redisrig.h"

#define OK     "+OK\r\n"
#define MASTER "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define SLAVE  "*2\r\n$5\r\nslave\r\n:0\r\n"
#define INFO   "$26\r\nx:1\r\nuptime_in_seconds:9\r\n\r\n"
#define HELLO                                                                            \
    { "ROLE", MASTER }, { "INFO", INFO },                                                \
    {                                                                                    \
        "PING", "+PONG\r\n"                                                              \
    }

struct rig {
    struct rig_loop g;
    struct rig_redis real;
    struct redis_link *l;
    unsigned ups, downs;
    int64_t uptime_ms;
    unsigned answers;
    enum redis_fault fault;
    char text[100];
};

static void on_up(void *ctx, int64_t uptime_ms)
{
    struct rig *r = ctx;

    r->ups++;
    r->uptime_ms = uptime_ms;
}

static void on_down(void *ctx)
{
    ((struct rig *)ctx)->downs++;
}

static void on_answer(void *ctx, const struct redis_ans *a)
{
    struct rig *r = ctx;
    const char *p;
    size_t n;

    r->answers++;
    r->fault = a->fault;
    r->text[0] = 0;
    if (redis_ans_text(a, 0, &p, &n))
        snprintf(r->text, sizeof(r->text), "%.*s", (int)n, p);
    if (a->fault != REDIS_NONE && a->fault != REDIS_GONE)
        redis_link_fault(r->l, a->fault, a->text);
}

static void dial(struct rig *r, struct redis_opts o)
{
    static const struct redis_calls calls = { on_up, on_down };
    struct err e;

    o.connect_ms = o.connect_ms != 0 ? o.connect_ms : 20000;
    o.answer_ms = o.answer_ms != 0 ? o.answer_ms : 20000;
    cr_assert_eq(redis_link_new(&r->l, r->g.ev, &o, &calls, r, &e), 0);
}

static void dial_one(struct rig *r, char *addr)
{
    char *v[] = { addr };

    dial(r, (struct redis_opts) { .addr = v, .n_addrs = 1 });
}

static void say(struct rig *r, const char *a, const char *b, const char *c)
{
    struct redis_args args = { 0 };

    redis_arg_str(&args, a);
    if (b != NULL)
        redis_arg_str(&args, b);
    if (c != NULL)
        redis_arg_str(&args, c);
    cr_assert_eq(redis_send(r->l, &args, on_answer, r), 0);
    redis_args_fini(&args);
}

static void rig_init(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    rig_loop_init(&r->g);
}

static void rig_fini(struct rig *r)
{
    redis_link_free(r->l);
    rig_loop_fini(&r->g);
    if (r->real.dir[0] != 0)
        rig_redis_fini(&r->real);
}

static uint64_t faults(const struct rig *r, enum redis_fault f)
{
    return redis_link_counts(r->l)->fault[f];
}

/* ---- a real server --------------------------------------------------------------- */

Test(redis_link, commands_are_answered_in_order)
{
    struct rig r;

    rig_init(&r);
    rig_redis_start(&r.real, "");
    dial_one(&r, r.real.sock);
    RIG_UNTIL(&r.g, r.ups == 1);
    cr_expect_geq(r.uptime_ms, 0);
    say(&r, "SET", "a", "line\nand more");
    say(&r, "GET", "a", NULL);
    RIG_UNTIL(&r.g, r.answers == 2);
    cr_expect_str_eq(r.text, "line\nand more");
    say(&r, "LPUSH", "a", "x");
    RIG_UNTIL(&r.g, r.answers == 3);
    cr_expect_eq(r.fault, REDIS_TYPE);
    cr_expect(redis_link_up(r.l), "a command that fails is not the end of the link");
    rig_fini(&r);
}

Test(redis_link, connects_again_after_a_restart)
{
    struct rig r;

    rig_init(&r);
    rig_redis_start(&r.real, "");
    dial_one(&r, r.real.sock);
    RIG_UNTIL(&r.g, r.ups == 1);
    say(&r, "BLPOP", "nothing", "0");
    rig_redis_kill(&r.real);
    RIG_UNTIL(&r.g, r.downs == 1);
    cr_expect_eq(r.answers, 1, "who waits is told before");
    cr_expect_eq(r.fault, REDIS_GONE);
    rig_redis_start(&r.real, "");
    RIG_UNTIL(&r.g, r.ups == 2);
    rig_fini(&r);
}

Test(redis_link, a_wrong_password_is_reported)
{
    struct rig r;
    char *v[1];

    rig_init(&r);
    rig_redis_start(&r.real, "sesame");
    v[0] = r.real.sock;
    dial(&r, (struct redis_opts) { .addr = v, .n_addrs = 1, .password = "wrong" });
    RIG_UNTIL(&r.g, faults(&r, REDIS_AUTH) >= 2);
    cr_expect_eq(r.ups, 0);
    redis_link_free(r.l);
    dial(&r,
         (struct redis_opts) {
             .addr = v, .n_addrs = 1, .password = "sesame", .user = "default", .db = 3 });
    RIG_UNTIL(&r.g, r.ups == 1);
    rig_fini(&r);
}

/* ---- a server that says what we want ----------------------------------------------- */

static char logged[4000];

static void keep_line(void *ctx, enum log_level level, const char *line)
{
    size_t n = strlen(logged);

    (void)ctx;
    (void)level;
    snprintf(logged + n, sizeof(logged) - n, "%s\n", line);
}

/* As Redis itself does where AUTH has another name. */
Test(redis_link, a_password_that_is_repeated_is_not_logged)
{
    static const struct rig_rule rules[] = {
        { "AUTH", "-ERR unknown command `AUTH`, with args beginning with: `sesame`, \r\n" },
        HELLO,
        { 0 },
    };
    struct rig_fake f;
    struct rig r;

    log_set_sink(keep_line, NULL);
    rig_init(&r);
    rig_fake_init(&f, &r.g, rules);
    dial(&r, (struct redis_opts) {
                 .addr = (char *[]) { f.addr }, .n_addrs = 1, .password = "sesame" });
    RIG_UNTIL(&r.g, faults(&r, REDIS_OTHER) >= 1);
    cr_expect_not_null(strstr(logged, "event=redis_down"), "%s", logged);
    cr_expect_null(strstr(logged, "sesame"), "%s", logged);
    log_set_sink(NULL, NULL);
    rig_fake_fini(&f);
    rig_fini(&r);
}

Test(redis_link, a_replica_is_skipped)
{
    static const struct rig_rule replica[] = {
        { "ROLE", SLAVE }, { "INFO", INFO }, { "PING", "+PONG\r\n" }, { 0 }
    };
    static const struct rig_rule master[] = { HELLO, { 0 } };
    struct rig_fake a, b;
    struct rig r;

    rig_init(&r);
    rig_fake_init(&a, &r.g, replica);
    rig_fake_init(&b, &r.g, master);
    dial(&r, (struct redis_opts) { .addr = (char *[]) { a.addr, b.addr }, .n_addrs = 2 });
    RIG_UNTIL(&r.g, r.ups == 1);
    cr_expect_geq(faults(&r, REDIS_MASTER), 1);
    cr_expect_str_eq(redis_link_addr(r.l), b.addr);
    cr_expect_eq(r.uptime_ms, 9000);
    rig_fake_fini(&a);
    rig_fake_fini(&b);
    rig_fini(&r);
}

struct fault_case {
    const char *answer;
    enum redis_fault fault;
    bool stays; /* the link */
};

static void one_fault(const struct fault_case *c)
{
    const struct rig_rule rules[] = { HELLO, { "GET", c->answer }, { 0 } };
    struct rig_fake f;
    struct rig r;

    rig_init(&r);
    rig_fake_init(&f, &r.g, rules);
    dial_one(&r, f.addr);
    RIG_UNTIL(&r.g, r.ups == 1);
    say(&r, "GET", "x", NULL);
    RIG_UNTIL(&r.g, faults(&r, c->fault) == 1);
    if (c->stays) {
        say(&r, "GET", "x", NULL);
        RIG_UNTIL(&r.g, faults(&r, c->fault) == 2);
        cr_expect_eq(r.downs, 0, "%s", c->answer);
    } else {
        RIG_UNTIL(&r.g, r.ups == 2);
        cr_expect_eq(r.downs, 1, "%s", c->answer);
    }
    rig_fake_fini(&f);
    rig_fini(&r);
}

Test(redis_link, tells_faults_apart)
{
    static const struct fault_case cases[] = {
        { "-LOADING Redis is loading\r\n", REDIS_LOADING, false },
        { "-READONLY You can't write\r\n", REDIS_READONLY, false },
        { "-MASTERDOWN Link with MASTER\r\n", REDIS_MASTER, false },
        { "-MISCONF Errors writing to disk\r\n", REDIS_MISCONF, true },
        { "-OOM command not allowed\r\n", REDIS_OOM, true },
        { "-NOSCRIPT No matching script\r\n", REDIS_NOSCRIPT, true },
        { "-NOREPLICAS Not enough\r\n", REDIS_NOREPLICAS, true },
        { "-WRONGTYPE Operation\r\n", REDIS_TYPE, true },
        { "-BUSY Redis is busy\r\n", REDIS_BUSY, true },
        { "-CLUSTERDOWN The cluster\r\n", REDIS_BUSY, true },
        { "-ASK 12 127.0.0.1:1\r\n", REDIS_ASK, true },
        { "-NOPERM this user\r\n", REDIS_AUTH, true },
        { "-ERR unknown command\r\n", REDIS_OTHER, true },
        { "-ERR Error running script (call to f_1): @user_script:1: -READONLY You can't "
          "write against a read only replica.\r\n",
          REDIS_READONLY, false },
        { "-ERR Error running script (call to f_1): @user_script:1: @user_script: 1: "
          "-MISCONF Redis is configured\r\n",
          REDIS_MISCONF, true },
        { "-ERR Error running script (call to f_1): @user_script:1: attempt to index\r\n",
          REDIS_OTHER, true },
        { "what is this?\r\n", REDIS_PROTOCOL, false },
        { "", REDIS_GONE, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        one_fault(&cases[i]);
}

static void is_moved(bool with_host)
{
    static const struct rig_rule master[] = { HELLO, { 0 } };
    char moved[100];
    const struct rig_rule rules[] = { HELLO, { "GET", moved }, { 0 } };
    struct rig_fake a, b;
    struct rig r;

    rig_init(&r);
    rig_fake_init(&a, &r.g, rules);
    rig_fake_init(&b, &r.g, master);
    snprintf(moved, sizeof(moved), "-MOVED 12 %s\r\n", with_host ? b.addr : strrchr(b.addr, ':'));
    dial_one(&r, a.addr);
    RIG_UNTIL(&r.g, r.ups == 1);
    say(&r, "GET", "x", NULL);
    RIG_UNTIL(&r.g, r.ups == 2);
    cr_expect_str_eq(redis_link_addr(r.l), b.addr);
    cr_expect_eq(faults(&r, REDIS_CONNECT), 0, "nobody else was dialled");
    rig_fake_fini(&a);
    rig_fake_fini(&b);
    rig_fini(&r);
}

Test(redis_link, follows_moved)
{
    is_moved(true);
}

Test(redis_link, moved_without_a_host_means_the_one_that_was_asked)
{
    is_moved(false);
}

Test(redis_link, a_silent_server_times_out)
{
    static const struct rig_rule rules[] = {
        { "ROLE", MASTER }, { "INFO", NULL }, { "PING", NULL }, { 0 }
    };
    static const struct rig_rule later[] = { HELLO, { "GET", NULL }, { 0 } };
    struct rig_fake f;
    struct rig r;

    rig_init(&r);
    rig_fake_init(&f, &r.g, rules);
    dial(&r, (struct redis_opts) { .addr = (char *[]) { f.addr },
                                   .n_addrs = 1,
                                   .connect_ms = 50,
                                   .answer_ms = 50 });
    RIG_UNTIL(&r.g, faults(&r, REDIS_TIMEOUT) >= 1);
    cr_expect_eq(r.ups, 0, "the hello is not complete");
    f.rule = later;
    RIG_UNTIL(&r.g, r.ups == 1);
    say(&r, "GET", "x", NULL);
    RIG_UNTIL(&r.g, r.answers == 1);
    cr_expect_eq(r.fault, REDIS_GONE);
    cr_expect_geq(faults(&r, REDIS_TIMEOUT), 2); /* more on a slow machine */
    rig_fake_fini(&f);
    rig_fini(&r);
}

Test(redis_link, asks_one_sentinel_after_the_other)
{
    static const struct rig_rule ignorant[] = { { "SENTINEL", "*-1\r\n" }, { 0 } };
    static const struct rig_rule master[] = { HELLO, { 0 } };
    char where[200];
    const struct rig_rule knowing[] = { { "SENTINEL", where }, { 0 } };
    struct rig_fake s1, s2, m;
    struct rig r;

    rig_init(&r);
    rig_fake_init(&s1, &r.g, ignorant);
    rig_fake_init(&s2, &r.g, knowing);
    rig_fake_init(&m, &r.g, master);
    snprintf(where, sizeof(where), "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n",
             strlen(strrchr(m.addr, ':') + 1), strrchr(m.addr, ':') + 1);
    dial(&r, (struct redis_opts) { .sentinel = (char *[]) { s1.addr, s2.addr },
                                   .n_sentinels = 2,
                                   .master = "mymaster" });
    RIG_UNTIL(&r.g, r.ups == 1);
    cr_expect_str_eq(redis_link_addr(r.l), m.addr);
    cr_expect_eq(faults(&r, REDIS_MASTER), 1, "the first one did not know");
    rig_fake_fini(&s1);
    rig_fake_fini(&s2);
    rig_fake_fini(&m);
    rig_fini(&r);
}

/* ---- names ----------------------------------------------------------------------- */

/* Of two addresses the first one refuses. */
Test(redis_link, each_address_of_a_name_is_tried)
{
    static const struct rig_rule master[] = { HELLO, { NULL, NULL } };
    struct rig r;
    struct rig_fake f;
    struct dnsrig d;
    char name[64];

    rig_init(&r);
    rig_fake_init(&f, &r.g, master);
    dns_init(&d, r.g.ev, 1);
    dns_use(&d);
    dns_write(dns_names, "127.0.0.9 redis.test\n127.0.0.1 redis.test\n");
    snprintf(name, sizeof(name), "redis.test%s", strchr(f.addr, ':'));
    dial_one(&r, name);
    RIG_UNTIL(&r.g, r.ups == 1);
    cr_expect_eq(faults(&r, REDIS_CONNECT), 1);
    redis_link_free(r.l);
    r.l = NULL;
    dns_fini(&d);
    rig_fake_fini(&f);
    rig_fini(&r);
    dns_files_fini();
}

Test(redis_link, a_silent_name_server_stops_nobody_and_another_one_is_asked)
{
    static const struct rig_rule master[] = { HELLO, { NULL, NULL } };
    struct rig r;
    struct rig_fake f;
    struct dnsrig silent, good;
    msec_t longest = 0, from;
    char name[64];

    rig_init(&r);
    rig_fake_init(&f, &r.g, master);
    dns_init(&silent, r.g.ev, 1);
    dns_init(&good, r.g.ev, 1);
    silent.silent = true;
    dns_use(&silent);
    snprintf(name, sizeof(name), "redis.test%s", strchr(f.addr, ':'));
    dial(&r, (struct redis_opts) { .addr = (char *[]) { name }, .n_addrs = 1, .connect_ms = 300 });
    while (faults(&r, REDIS_TIMEOUT) < 2) {
        from = ev_read_mono_us() / 1000;
        ev_turn(r.g.ev, true);
        longest = ms_max(longest, ev_read_mono_us() / 1000 - from);
    }
    cr_expect_gt(silent.asked, 0);
    cr_expect_lt(longest, 1000, "a turn took %ld ms", (long)longest);
    dns_use(&good);
    RIG_UNTIL(&r.g, r.ups == 1);
    redis_link_free(r.l);
    r.l = NULL;
    dns_fini(&silent);
    dns_fini(&good);
    rig_fake_fini(&f);
    rig_fini(&r);
    dns_files_fini();
}

/* test_redis_store.c: lease, epochs and fenced writes, with a real Redis: what an old
 * leader writes is refused, what Redis forgets is put back, what fails is sent again. */
#include "queuemng/store/redis_store.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/lib/redisrig.h"

#define PATIENT_MS 20000 /* nobody is late here, however slow the machine is */

struct side { /* one manager */
    struct redis_store *s;
    bool up;
    struct redis_lease lease; /* the last answer */
    char holder[100];
    unsigned answers, loads, dones, refusals;
    int loaded;
};

struct rig {
    struct rig_loop g;
    struct rig_redis real;
    struct side a, b;
    struct redis_link *ctl; /* an operator's */
    bool ctl_up;
    unsigned told;
};

static void on_link(void *ctx, bool up, int64_t uptime_ms)
{
    (void)uptime_ms;
    ((struct side *)ctx)->up = up;
}

static void on_lease(void *ctx, const struct redis_lease *r)
{
    struct side *x = ctx;

    x->lease = *r;
    snprintf(x->holder, sizeof(x->holder), "%s", r->holder);
    x->answers++;
}

static void on_loaded(void *ctx, int rc)
{
    struct side *x = ctx;

    x->loaded = rc;
    x->loads++;
}

static void on_done(void *ctx)
{
    ((struct side *)ctx)->dones++;
}

static void on_refused(void *ctx, const char *why)
{
    (void)why;
    ((struct side *)ctx)->refusals++;
}

static void side_init_as(struct rig *r, struct side *x, const char *owner, char *addr,
                         const char *user, const char *password)
{
    static const struct redis_store_calls calls = { on_link, on_lease, on_loaded, on_done,
                                                    on_refused };
    char info[64];
    struct redis_store_opts o = {
        .link = { .addr = &addr,
                  .n_addrs = 1,
                  .user = user,
                  .password = password,
                  .connect_ms = PATIENT_MS,
                  .answer_ms = PATIENT_MS },
        .prefix = "t",
        .owner = owner,
        .info = info,
        .ttl_ms = 60000
    };
    struct err e;

    snprintf(info, sizeof(info), "name-%s 1.2.3.4:1 1.2.3.4:2", owner);
    cr_assert_eq(redis_store_new(&x->s, r->g.ev, &o, &calls, x, &e), 0);
}

static void side_init(struct rig *r, struct side *x, const char *owner, char *addr)
{
    side_init_as(r, x, owner, addr, NULL, NULL);
}

static void ctl_up(void *ctx, int64_t uptime_ms)
{
    (void)uptime_ms;
    ((struct rig *)ctx)->ctl_up = true;
}

static void ctl_down(void *ctx)
{
    ((struct rig *)ctx)->ctl_up = false;
}

static void on_told(void *ctx, const struct redis_ans *a)
{
    cr_expect_eq(a->fault, REDIS_NONE, "%s", a->text);
    ((struct rig *)ctx)->told++;
}

/* An operator's command. */
static void tell(struct rig *r, const char *const *words)
{
    struct redis_args args = { 0 };
    unsigned before = r->told;

    for (; *words != NULL; words++)
        redis_arg_str(&args, *words);
    cr_assert_eq(redis_send(r->ctl, &args, on_told, r), 0);
    redis_args_fini(&args);
    RIG_UNTIL(&r->g, r->told == before + 1);
}
#define TELL(r, ...) tell(r, (const char *[]) { __VA_ARGS__, NULL })

static void rig_init(struct rig *r)
{
    static const struct redis_calls calls = { ctl_up, ctl_down };
    char *addr[1];
    struct redis_opts o = {
        .addr = addr, .n_addrs = 1, .connect_ms = PATIENT_MS, .answer_ms = PATIENT_MS
    };
    struct err e;

    memset(r, 0, sizeof(*r));
    rig_loop_init(&r->g);
    rig_redis_start(&r->real, "");
    addr[0] = r->real.sock;
    cr_assert_eq(redis_link_new(&r->ctl, r->g.ev, &o, &calls, r, &e), 0);
    side_init(r, &r->a, "aaaa", r->real.sock);
    side_init(r, &r->b, "bbbb", r->real.sock);
    RIG_UNTIL(&r->g, r->ctl_up && r->a.up && r->b.up);
}

static void rig_fini(struct rig *r)
{
    store_close(redis_store_base(r->a.s));
    store_close(redis_store_base(r->b.s));
    redis_link_free(r->ctl);
    rig_loop_fini(&r->g);
    rig_redis_fini(&r->real);
}

static enum redis_lease_answer take(struct rig *r, struct side *x, uint64_t above)
{
    unsigned before = x->answers;

    cr_assert_eq(redis_store_take(x->s, before + 100, above), 0);
    RIG_UNTIL(&r->g, x->answers == before + 1);
    cr_expect_eq(x->lease.serial, before + 100);
    return x->lease.is;
}

static enum redis_lease_answer renew(struct rig *r, struct side *x, uint64_t epoch)
{
    unsigned before = x->answers;

    cr_assert_eq(redis_store_renew(x->s, before + 100, epoch), 0);
    RIG_UNTIL(&r->g, x->answers == before + 1);
    return x->lease.is;
}

static int tries_load(struct rig *r, struct side *x)
{
    unsigned before = x->loads;

    cr_assert_eq(redis_store_load(x->s), 0);
    RIG_UNTIL(&r->g, x->loads == before + 1);
    return x->loaded;
}

static void load(struct rig *r, struct side *x)
{
    cr_assert_eq(tries_load(r, x), 0);
}

/* The lease, the pairs, a term. */
static void lead(struct rig *r, struct side *x)
{
    cr_assert_eq(take(r, x, 0), REDIS_GRANTED);
    load(r, x);
    redis_store_begin(x->s, x->lease.epoch);
}

static uint64_t put(struct side *x, const char *key, const char *val)
{
    struct err e = { 0 };
    uint64_t serial;

    cr_assert_eq(store_put(redis_store_base(x->s), key, val), 0);
    cr_assert_eq(store_sync(redis_store_base(x->s), &serial, &e), 0, "%s", e.text);
    return serial;
}

static bool done(const struct side *x, uint64_t serial)
{
    return store_done(redis_store_base(x->s)) >= serial;
}

static void write_one(struct rig *r, struct side *x, const char *key, const char *val)
{
    uint64_t serial = put(x, key, val);

    cr_expect_not(done(x, serial), "not before Redis has answered");
    RIG_UNTIL(&r->g, done(x, serial));
}

struct look {
    const char *key;
    char val[700];
    size_t n;
};

static int look_pair(void *ctx, const char *key, const char *val)
{
    struct look *l = ctx;

    l->n++;
    if (strcmp(key, l->key) == 0)
        snprintf(l->val, sizeof(l->val), "%s", val);
    return 0;
}

static void expect(struct side *x, const char *key, const char *val, size_t n)
{
    struct look l = { .key = key };

    cr_expect_eq(store_each(redis_store_base(x->s), look_pair, &l), 0);
    cr_expect_str_eq(l.val, val);
    cr_expect_eq(l.n, n);
}

/* ---- the lease ------------------------------------------------------------------- */

Test(redis_store, one_holds_the_lease_and_epochs_grow)
{
    struct rig r;
    uint64_t epoch;

    rig_init(&r);
    cr_expect_eq(take(&r, &r.a, 0), REDIS_GRANTED);
    epoch = r.a.lease.epoch;
    cr_expect_eq(take(&r, &r.b, 0), REDIS_HELD);
    cr_expect_str_eq(r.b.holder, "name-aaaa 1.2.3.4:1 1.2.3.4:2");
    cr_expect_gt(r.b.lease.left_ms, 50000);
    cr_expect_eq(r.b.lease.epoch, epoch);
    cr_expect_eq(renew(&r, &r.a, epoch), REDIS_RENEWED);
    cr_expect_eq(renew(&r, &r.b, epoch), REDIS_HELD);
    cr_expect_eq(take(&r, &r.a, 0), REDIS_GRANTED,
                 "again, as its answer may have been lost");
    cr_expect_eq(r.a.lease.epoch, epoch + 1);
    cr_expect_eq(renew(&r, &r.a, epoch), REDIS_HELD, "of an earlier term");
    redis_store_free_lease(r.b.s); /* not its own: nothing happens */
    cr_expect_eq(take(&r, &r.b, 0), REDIS_HELD);
    redis_store_free_lease(r.a.s);
    cr_expect_eq(renew(&r, &r.a, epoch + 1), REDIS_HELD);
    cr_expect_str_eq(r.a.holder, "", "nobody's");
    cr_expect_eq(take(&r, &r.b, 41), REDIS_GRANTED);
    cr_expect_eq(r.b.lease.epoch, 42, "above what it has heard of");
    rig_fini(&r);
}

Test(redis_store, an_epoch_goes_above_the_kept_record)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "meta", "{\"epoch\":70}");
    TELL(&r, "DEL", "{t}:head", "{t}:lease");
    cr_expect_eq(take(&r, &r.b, 0), REDIS_GRANTED);
    cr_expect_eq(r.b.lease.epoch, 71);
    rig_fini(&r);
}

/* ---- what is kept ------------------------------------------------------------------ */

Test(redis_store, the_next_leader_reads_all_writes)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "queue/a", "{\"x\":\"\\u00e9 \\\" \"}");
    write_one(&r, &r.a, "queue/b", "2");
    cr_expect_eq(store_del(redis_store_base(r.a.s), "queue/b"), 0);
    write_one(&r, &r.a, "chain/1", "[]");
    redis_store_free_lease(r.a.s);
    lead(&r, &r.b);
    expect(&r.b, "queue/a", "{\"x\":\"\\u00e9 \\\" \"}", 2);
    cr_expect_eq(redis_store_compare(r.b.s, r.b.lease.rev), REDIS_SAME);
    rig_fini(&r);
}

Test(redis_store, many_puts_while_one_is_under_way)
{
    struct rig r;
    uint64_t last = 0;
    char key[32], val[32];

    rig_init(&r);
    lead(&r, &r.a);
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof(key), "chain/%d", i % 100);
        snprintf(val, sizeof(val), "%d", i);
        last = put(&r.a, key, val);
        if (i % 7 == 0)
            ev_turn(r.g.ev, false);
    }
    RIG_UNTIL(&r.g, done(&r.a, last));
    redis_store_free_lease(r.a.s);
    lead(&r, &r.b);
    expect(&r.b, "chain/42", "1942", 100);
    rig_fini(&r);
}

/* Ten thousand queues at once. */
Test(redis_store, a_large_batch_is_one_write)
{
    struct rig r;
    char key[32], val[600];
    uint64_t serial;
    struct err e;

    rig_init(&r);
    lead(&r, &r.a);
    memset(val, 'x', sizeof(val) - 1);
    val[sizeof(val) - 1] = 0;
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof(key), "queue/%d", i);
        cr_assert_eq(store_put(redis_store_base(r.a.s), key, val), 0);
    }
    cr_assert_eq(store_sync(redis_store_base(r.a.s), &serial, &e), 0);
    RIG_UNTIL(&r.g, done(&r.a, serial));
    cr_expect_eq(r.a.dones, 1);
    cr_expect_eq(redis_link_counts(redis_store_link(r.a.s))->fault[REDIS_TIMEOUT], 0);
    load(&r, &r.b);
    expect(&r.b, "queue/19999", val, 20000);
    rig_fini(&r);
}

Test(redis_store, an_old_leader_writes_no_more)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "queue/a", "1");
    TELL(&r, "DEL", "{t}:lease"); /* it has run out, unnoticed by a, which was stopped */
    lead(&r, &r.b);
    (void)put(&r.a, "queue/a", "of the past");
    RIG_UNTIL(&r.g, r.a.refusals == 1);
    write_one(&r, &r.b, "queue/b", "2");
    redis_store_end(r.a.s);
    load(&r, &r.a);
    expect(&r.a, "queue/a", "1", 2);
    rig_fini(&r);
}

Test(redis_store, a_refused_leader_reads_the_present_state)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "queue/a", "1");
    TELL(&r, "DEL", "{t}:lease");
    lead(&r, &r.b);
    write_one(&r, &r.b, "queue/a", "2");
    (void)put(&r.a, "queue/a", "3");
    RIG_UNTIL(&r.g, r.a.refusals == 1);
    redis_store_end(r.a.s);
    cr_expect_eq(take(&r, &r.a, 0), REDIS_HELD);
    cr_expect_eq(redis_store_compare(r.a.s, r.a.lease.rev), REDIS_NEWER);
    load(&r, &r.a);
    expect(&r.a, "queue/a", "2", 1);
    rig_fini(&r);
}

/* ---- what fails ----------------------------------------------------------------------
 */

Test(redis_store, an_emptied_redis_is_restored)
{
    struct rig r;
    uint64_t epoch;

    rig_init(&r);
    lead(&r, &r.a);
    epoch = r.a.lease.epoch;
    write_one(&r, &r.a, "meta", "{\"epoch\":1}");
    write_one(&r, &r.a, "queue/a", "1");
    rig_redis_kill(&r.real);
    RIG_UNTIL(&r.g, !r.a.up && !r.b.up);
    redis_store_end(r.a.s);
    rig_redis_start(&r.real, "");
    RIG_UNTIL(&r.g, r.a.up && r.b.up);
    cr_expect_eq(take(&r, &r.a, epoch), REDIS_GRANTED);
    cr_expect_gt(r.a.lease.epoch, epoch);
    cr_expect_eq(redis_store_compare(r.a.s, r.a.lease.rev), REDIS_WENT_BACK);
    redis_store_begin(r.a.s, r.a.lease.epoch);
    cr_expect_eq(redis_store_restore(r.a.s), 0);
    write_one(&r, &r.a, "queue/b", "2");
    load(&r, &r.b);
    expect(&r.b, "queue/a", "1", 3);
    rig_fini(&r);
}

/* The standby has heard of pairs, and asks for them when they have just gone. */
Test(redis_store, an_emptied_redis_does_not_empty_a_standbys_copy)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "queue/a", "1");
    load(&r, &r.b);
    TELL(&r, "FLUSHALL");
    cr_expect_eq(tries_load(&r, &r.b), SQ_ESTALE);
    expect(&r.b, "queue/a", "1", 1);
    cr_expect_eq(take(&r, &r.b, r.a.lease.epoch), REDIS_GRANTED);
    cr_expect_eq(redis_store_compare(r.b.s, r.b.lease.rev), REDIS_WENT_BACK);
    rig_fini(&r);
}

/* The rights that docs/operations.md names, and no others. */
Test(redis_store, a_user_with_the_least_rights_is_enough)
{
    struct side c = { 0 };
    struct rig r;

    rig_init(&r);
    TELL(&r, "ACL", "SETUSER", "segq", "on", ">sesame", "~{t}:*", "+eval", "+get", "+set",
         "+del", "+exists", "+pexpire", "+pttl", "+hget", "+hset", "+hdel", "+hgetall",
         "+role", "+info", "+ping", "+select", "+wait");
    side_init_as(&r, &c, "cccc", r.real.sock, "segq", "sesame");
    RIG_UNTIL(&r.g, c.up);
    lead(&r, &c);
    cr_expect_eq(renew(&r, &c, c.lease.epoch), REDIS_RENEWED);
    write_one(&r, &c, "queue/a", "1");
    cr_assert_eq(store_del(redis_store_base(c.s), "queue/a"), 0);
    write_one(&r, &c, "queue/b", "2");
    redis_store_end(c.s);
    load(&r, &c);
    expect(&c, "queue/b", "2", 1);
    redis_store_free_lease(c.s);
    cr_expect_eq(take(&r, &r.a, 0), REDIS_GRANTED, "it was given back");
    cr_expect_eq(redis_link_counts(redis_store_link(c.s))->fault[REDIS_AUTH], 0);
    store_close(redis_store_base(c.s));
    rig_fini(&r);
}

Test(redis_store, a_gap_is_noticed)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "queue/a", "1");
    TELL(&r, "HSET", "{t}:head", "rev", "0"); /* an older snapshot */
    (void)put(&r.a, "queue/b", "2");
    RIG_UNTIL(&r.g, r.a.refusals == 1);
    rig_fini(&r);
}

/* The pairs alone are gone (deleted, or evicted by a Redis that is used as a cache). */
Test(redis_store, deleted_pairs_are_noticed_and_restored)
{
    struct rig r;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "meta", "{\"epoch\":1}");
    write_one(&r, &r.a, "queue/a", "1");
    TELL(&r, "DEL", "{t}:kv");
    cr_expect_eq(renew(&r, &r.a, r.a.lease.epoch), REDIS_RENEWED);
    cr_expect_eq(redis_store_compare(r.a.s, r.a.lease.rev), REDIS_WENT_BACK);
    (void)put(&r.a, "queue/b", "2");
    RIG_UNTIL(&r.g, r.a.refusals == 1);
    redis_store_end(r.a.s);
    cr_expect_eq(take(&r, &r.a, 0), REDIS_GRANTED);
    cr_expect_eq(redis_store_compare(r.a.s, r.a.lease.rev), REDIS_WENT_BACK);
    redis_store_begin(r.a.s, r.a.lease.epoch);
    cr_expect_eq(redis_store_restore(r.a.s), 0);
    write_one(&r, &r.a, "queue/c", "3");
    load(&r, &r.b);
    expect(&r.b, "queue/a", "1", 4);
    rig_fini(&r);
}

Test(redis_store, without_memory_a_write_waits)
{
    struct rig r;
    uint64_t serial;

    rig_init(&r);
    lead(&r, &r.a);
    TELL(&r, "CONFIG", "SET", "maxmemory", "1");
    serial = put(&r.a, "queue/a", "1");
    RIG_UNTIL(&r.g, redis_link_counts(redis_store_link(r.a.s))->fault[REDIS_OOM] >= 2);
    cr_expect_not(done(&r.a, serial));
    cr_expect_gt(redis_store_stuck_ms(r.a.s), 0);
    TELL(&r, "CONFIG", "SET", "maxmemory", "0");
    RIG_UNTIL(&r.g, done(&r.a, serial));
    cr_expect_eq(redis_store_stuck_ms(r.a.s), 0);
    rig_fini(&r);
}

Test(redis_store, somebody_elses_keys_are_not_understood)
{
    struct rig r;

    rig_init(&r);
    TELL(&r, "LPUSH", "{t}:head", "x");
    cr_expect_eq(take(&r, &r.a, 0), REDIS_NO_ANSWER);
    cr_expect_geq(redis_link_counts(redis_store_link(r.a.s))->fault[REDIS_TYPE], 1);
    rig_fini(&r);
}

/* The link breaks after each write and before its answer: it is sent again, counts once.
 */
Test(redis_store, a_write_whose_answer_is_lost_counts_once)
{
    struct rig r;
    uint64_t serial;

    rig_init(&r);
    lead(&r, &r.a);
    write_one(&r, &r.a, "queue/a", "1");
    for (int i = 0; i < 10; i++) {
        serial = put(&r.a, "queue/a", i % 2 == 0 ? "2" : "1");
        TELL(&r, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        RIG_UNTIL(&r.g, done(&r.a, serial));
    }
    RIG_UNTIL(&r.g, r.a.up && r.b.up);
    cr_expect_eq(r.a.refusals, 0);
    cr_expect_eq(renew(&r, &r.a, r.a.lease.epoch), REDIS_RENEWED);
    cr_expect_eq(r.a.lease.rev, 11);
    rig_fini(&r);
}

Test(redis_store, a_write_below_min_replicas_fails)
{
    struct rig r;
    struct side c = { 0 };
    static const struct redis_store_calls calls = { on_link, on_lease, on_loaded, on_done,
                                                    on_refused };
    char *addr[1];
    struct redis_store_opts o = {
        .link = { .addr = addr, .n_addrs = 1, .connect_ms = 500, .answer_ms = 100 },
        .prefix = "t",
        .owner = "cccc",
        .info = "c x y",
        .ttl_ms = 60000,
        .wait_replicas = 1
    };
    struct err e;
    uint64_t serial;

    rig_init(&r);
    addr[0] = r.real.sock;
    cr_assert_eq(redis_store_new(&c.s, r.g.ev, &o, &calls, &c, &e), 0);
    RIG_UNTIL(&r.g, c.up);
    lead(&r, &c);
    serial = put(&c, "queue/a", "1");
    RIG_UNTIL(&r.g,
              redis_link_counts(redis_store_link(c.s))->fault[REDIS_NOREPLICAS] >= 2);
    cr_expect_not(done(&c, serial));
    store_close(redis_store_base(c.s));
    rig_fini(&r);
}

/* ---- replicas -------------------------------------------------------------------- */

/* Redis counts it among its replicas when it has got a byte. */
static int replica(struct rig *r)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char c;

    memcpy(at.sun_path, r->real.sock, strlen(r->real.sock) + 1);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    cr_assert_eq(write(fd, "SYNC\r\n", 6), 6);
    cr_assert_eq(read(fd, &c, 1), 1);
    return fd;
}

/* A manager comes up: what has it heard? */
static bool is_alone(struct rig *r, size_t n_addrs)
{
    static const struct redis_store_calls calls = { on_link, on_lease, on_loaded, on_done, on_refused };
    char *addr[] = { r->real.sock, r->real.sock };
    struct redis_store_opts o = { .link = { .addr = addr, .n_addrs = n_addrs, .connect_ms = PATIENT_MS,
                                            .answer_ms = PATIENT_MS },
                                  .prefix = "t", .owner = "cccc", .info = "c x y", .ttl_ms = 60000 };
    struct side c = { 0 };
    struct err e;
    bool alone;

    cr_assert_eq(redis_store_new(&c.s, r->g.ev, &o, &calls, &c, &e), 0);
    RIG_UNTIL(&r->g, c.up);
    (void)take(r, &c, 0); /* its answer comes behind the other */
    alone = redis_store_alone(c.s);
    store_close(redis_store_base(c.s));
    return alone;
}

Test(redis_store, a_redis_that_takes_writes_alone_is_known)
{
    struct rig r;
    int one, two;

    rig_init(&r);
    cr_expect_not(is_alone(&r, 2), "nobody takes over from it");
    one = replica(&r);
    cr_expect_not(is_alone(&r, 2), "without its only replica it would take no writes");
    two = replica(&r);
    cr_expect(is_alone(&r, 2));
    cr_expect_not(is_alone(&r, 1), "this manager knows no other");
    TELL(&r, "CONFIG", "SET", "min-replicas-to-write", "1");
    cr_expect_not(is_alone(&r, 2));
    TELL(&r, "CONFIG", "SET", "min-replicas-max-lag", "0");
    cr_expect(is_alone(&r, 2), "this turns it off");
    close(one);
    close(two);
    rig_fini(&r);
}

Test(redis_store, info_that_says_nothing_of_replicas_is_no_reason)
{
    cr_expect_not(redis_takes_writes_alone(""));
    cr_expect_not(redis_takes_writes_alone("role:master\r\nconnected_slaves:\r\n"));
    cr_expect_not(redis_takes_writes_alone("# Replication\r\nrole:slave\r\nmaster_host:x\r\nconnected_slaves:0\r\n"));
    cr_expect(redis_takes_writes_alone("# Replication\r\nrole:master\r\nconnected_slaves:2\r\n"));
}

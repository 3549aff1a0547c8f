/* test_task_redis.c: partitions in a real Redis: what was acknowledged is read by the next owner; who
 * was replaced writes no more; what Redis has lost is noticed. */
#include "task/redis/partitions.h"

#include "task/redis/writes.h"
#include "tests/lib/redisrig.h"

#define PATIENT_MS 20000

struct rig;

struct node { /* one task node */
    struct rig *r;
    struct taskredis *t;
    struct buf read;  /* the records' texts, each with a blank behind it */
    size_t bodies;
    uint64_t ref;     /* of one of them */
    unsigned reads, losses;
    bool held;
    const char *snap; /* what its state is */
};

struct rig {
    struct rig_loop g;
    struct rig_redis real;
    struct node a, b;
};

static int on_read(void *ctx, part_no no, const uint8_t *p, size_t n, const struct map *bodies)
{
    struct node *x = ctx;
    uint64_t val;

    cr_expect_eq(no, 7);
    buf_reset(&x->read);
    while (n > 0) {
        size_t len = p[0] | (size_t)p[1] << 8;

        cr_assert(n >= 4 + len && p[3] == 4);
        buf_append(&x->read, p + 4, len);
        buf_byte(&x->read, ' ');
        p += 4 + len;
        n -= 4 + len;
    }
    buf_append(&x->read, "", 1);
    x->bodies = bodies->n;
    (void)!map_next(bodies, 0, &x->ref, &val);
    x->reads++;
    return 0;
}

static void on_held(void *ctx, part_no no, bool on)
{
    (void)no;
    ((struct node *)ctx)->held = on;
}

static void on_lost(void *ctx, part_no no)
{
    (void)no;
    ((struct node *)ctx)->losses++;
}

static void on_snap(void *ctx, part_no no)
{
    struct node *x = ctx;

    memcpy(writes_snap_record(taskredis_writes(x->t, no), 4, strlen(x->snap)), x->snap, strlen(x->snap));
}

static void on_turn(void *arg)
{
    struct rig *r = arg;

    cr_assert(taskredis_step(r->a.t));
    cr_assert(taskredis_step(r->b.t));
}

static void node_init(struct rig *r, struct node *x, uint64_t snap_after)
{
    static const struct taskredis_calls calls = { on_read, on_held, on_lost, on_snap };
    static char *addr[1];
    struct taskredis_opts o = {
        .link = { .addr = addr, .n_addrs = 1, .connect_ms = PATIENT_MS, .answer_ms = PATIENT_MS },
        .prefix = "t",
        .snap_after = snap_after,
    };
    struct err e;

    addr[0] = r->real.sock;
    x->r = r;
    x->snap = "state";
    cr_assert_eq(taskredis_new(&x->t, r->g.ev, &o, &calls, x, &e), 0);
}

static void rig_init(struct rig *r, uint64_t snap_after)
{
    memset(r, 0, sizeof(*r));
    rig_loop_init(&r->g);
    rig_redis_start(&r->real, "");
    node_init(r, &r->a, snap_after);
    node_init(r, &r->b, snap_after);
    cr_assert_eq(ev_hook(r->g.ev, 0, on_turn, r), 0);
}

static void rig_fini(struct rig *r)
{
    ev_unhook(r->g.ev, on_turn, r);
    taskredis_free(r->a.t);
    taskredis_free(r->b.t);
    buf_fini(&r->a.read);
    buf_fini(&r->b.read);
    rig_loop_fini(&r->g);
    rig_redis_fini(&r->real);
}

static void opens(struct node *x, uint64_t epoch)
{
    unsigned before = x->reads;

    cr_assert_eq(taskredis_open(x->t, 7, epoch), 0);
    RIG_UNTIL(&x->r->g, x->reads == before + 1);
}

/* One turn, whose answer waits. */
static uint64_t says(struct node *x, const char *text)
{
    void *to = writes_record(taskredis_writes(x->t, 7), 4, strlen(text));

    memcpy(to, text, strlen(text));
    return writes_ask(taskredis_writes(x->t, 7));
}

static void says_and_waits(struct node *x, const char *text)
{
    uint64_t asked = says(x, text);

    RIG_UNTIL(&x->r->g, taskredis_writes(x->t, 7)->done >= asked);
}

Test(task_redis, the_next_owner_reads_what_was_acknowledged)
{
    struct rig r;

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    cr_expect_str_eq((char *)r.a.read.data, "");
    says_and_waits(&r.a, "one");
    says_and_waits(&r.a, "two");
    opens(&r.b, 2);
    cr_expect_str_eq((char *)r.b.read.data, "one two ");
    rig_fini(&r);
}

Test(task_redis, an_owner_that_was_replaced_writes_no_more_and_is_told)
{
    struct rig r;

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    says_and_waits(&r.a, "one");
    opens(&r.b, 2);
    (void)says(&r.a, "late");
    RIG_UNTIL(&r.g, r.a.losses == 1);
    says_and_waits(&r.b, "two");
    opens(&r.a, 3);
    cr_expect_str_eq((char *)r.a.read.data, "one two ");
    rig_fini(&r);
}

Test(task_redis, who_only_looks_learns_that_it_was_replaced)
{
    struct rig r;

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    opens(&r.b, 2);
    (void)writes_ask(taskredis_writes(r.a.t, 7));
    RIG_UNTIL(&r.g, r.a.losses == 1);
    rig_fini(&r);
}

Test(task_redis, the_same_epoch_opened_again_fences_the_first_opener)
{
    struct rig r;

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    opens(&r.b, 1); /* the same node, started again */
    (void)says(&r.a, "late");
    RIG_UNTIL(&r.g, r.a.losses == 1);
    says_and_waits(&r.b, "one");
    rig_fini(&r);
}

Test(task_redis, a_lower_epoch_does_not_open)
{
    struct rig r;
    struct taskredis_counts n = { 0 };

    rig_init(&r, 1u << 20);
    opens(&r.a, 5);
    cr_assert_eq(taskredis_open(r.b.t, 7, 4), 0);
    while (n.given_up == 0) {
        ev_turn(r.g.ev, true);
        taskredis_count(r.b.t, &n);
    }
    cr_expect_eq(r.b.reads, 0);
    says_and_waits(&r.a, "one");
    rig_fini(&r);
}

Test(task_redis, bodies_come_with_the_answer_and_go_with_their_tasks)
{
    struct rig r;
    uint64_t ref[2];
    uint8_t to[5] = "";

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    cr_assert_eq(writes_put(taskredis_writes(r.a.t, 7), (const uint8_t *)"hello", 5, &ref[0]), 0);
    cr_assert_eq(writes_put(taskredis_writes(r.a.t, 7), (const uint8_t *)"bye", 3, &ref[1]), 0);
    says_and_waits(&r.a, "accept");
    cr_assert_eq(writes_want(taskredis_writes(r.a.t, 7), ref[0], to), 0);
    says_and_waits(&r.a, "start");
    cr_expect_eq(memcmp(to, "hello", 5), 0);
    writes_drop(taskredis_writes(r.a.t, 7), ref[0]);
    says_and_waits(&r.a, "gone");
    opens(&r.b, 2);
    cr_expect_eq(r.b.bodies, 1);
    cr_expect_eq(r.b.ref, ref[1]);
    cr_assert_eq(writes_put(taskredis_writes(r.b.t, 7), (const uint8_t *)"new", 3, &ref[0]), 0);
    cr_expect_neq(ref[0], ref[1]);
    rig_fini(&r);
}

Test(task_redis, a_body_that_is_not_there_loses_the_partition)
{
    struct rig r;
    uint8_t to[9];

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    cr_assert_eq(writes_want(taskredis_writes(r.a.t, 7), 1u << 21 | 9, to), 0);
    (void)writes_ask(taskredis_writes(r.a.t, 7));
    RIG_UNTIL(&r.g, r.a.losses == 1);
    rig_fini(&r);
}

/* Who waits for it is answered at once; its command is under way still. */
Test(task_redis, a_removed_pool_copies_no_body_to_who_has_gone)
{
    struct rig r;
    uint64_t ref;
    uint8_t to[5] = "none";

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    cr_assert_eq(writes_put(taskredis_writes(r.a.t, 7), (const uint8_t *)"hello", 5, &ref), 0);
    says_and_waits(&r.a, "accept");
    cr_assert_eq(writes_want(taskredis_writes(r.a.t, 7), ref, to), 0);
    (void)says(&r.a, "start");
    cr_assert(taskredis_step(r.a.t)); /* sent */
    cr_assert_eq(writes_want(taskredis_writes(r.a.t, 7), ref, to), 0);
    taskredis_close(r.a.t, 7, true);
    cr_assert(taskredis_step(r.a.t));
    cr_assert_eq(r.a.losses, 1);
    RIG_UNTIL(&r.g, taskredis_open(r.a.t, 7, 1) == 0);
    cr_expect_str_eq((char *)to, "none");
    rig_fini(&r);
}

Test(task_redis, a_snapshot_takes_the_place_of_the_records_before_it)
{
    struct rig r;

    rig_init(&r, 20);
    opens(&r.a, 1);
    r.a.snap = "one+two+three";
    says_and_waits(&r.a, "one");
    says_and_waits(&r.a, "two");
    says_and_waits(&r.a, "three"); /* 25 bytes: it is due */
    says_and_waits(&r.a, "four");
    says_and_waits(&r.a, "five");
    opens(&r.b, 2);
    cr_expect_str_eq((char *)r.b.read.data, "one+two+three four five ");
    rig_fini(&r);
}

Test(task_redis, a_redis_that_comes_back_empty_is_noticed)
{
    struct rig r;

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    says_and_waits(&r.a, "one");
    rig_redis_kill(&r.real);
    (void)says(&r.a, "two");
    RIG_UNTIL(&r.g, r.a.held);
    rig_redis_start(&r.real, "");
    RIG_UNTIL(&r.g, r.a.losses == 1);
    rig_fini(&r);
}

Test(task_redis, what_a_removed_pool_had_is_gone)
{
    struct rig r;

    rig_init(&r, 1u << 20);
    opens(&r.a, 1);
    says_and_waits(&r.a, "one");
    taskredis_close(r.a.t, 7, true);
    RIG_UNTIL(&r.g, r.a.losses == 1);
    RIG_UNTIL(&r.g, taskredis_open(r.a.t, 7, 1) == 0);
    RIG_UNTIL(&r.g, r.a.reads == 2);
    cr_expect_str_eq((char *)r.a.read.data, "");
    rig_fini(&r);
}

/* test_task_writes.c: what a partition says, over a Redis that loses commands and answers, gets
 * them twice, stands still and goes back: what was done is there, once and in order, and what is
 * not is noticed. The same scripts over a real Redis: test_task_redis.c. */
#include "task/redis/writes.h"

#include "tests/lib/criterion.h"
#include <hiredis/hiredis.h>

#include "common/base/rng.h"

#define GROUPS 4096
#define KIND   4

struct model { /* what Redis has of the partition */
    char fence[64];
    uint64_t epoch, n, len;
    uint32_t said[GROUPS]; /* by snapshot and log: the records, in order */
    size_t n_said, n_snap; /* of these in the snapshot */
};

struct owner {
    struct writes w;
    uint32_t next;    /* the next record */
    uint32_t told;    /* records below it were acknowledged */
    uint32_t in_sent; /* records below it are in the command under way, or before it */
};

/* ---- the model ------------------------------------------------------------------- */

static uint64_t number(const struct redis_command *c, size_t i)
{
    return strtoull(c->a.v[i], NULL, 10);
}

static void append(struct model *m, const char *p, size_t n)
{
    while (n > 0) {
        size_t len = (uint8_t)p[0];

        cr_assert(len == sizeof(m->said[0]) && m->n_said < GROUPS);
        memcpy(&m->said[m->n_said++], p + 4, len);
        p += 4 + len;
        n -= 4 + len;
    }
}

/* As TASK_REDIS_WRITE, but for bodies; a snapshot has one slice here. */
static int write_to(struct model *m, const struct redis_command *c)
{
    uint64_t mine = number(c, 2);
    bool again = mine == m->n;

    if (strcmp(c->a.v[0], m->fence) != 0)
        return m->epoch >= number(c, 1) ? TASK_REDIS_STALE : TASK_REDIS_GAP;
    if (!again && m->n + 1 != mine)
        return TASK_REDIS_GAP;
    if (again)
        return TASK_REDIS_DONE;
    append(m, c->a.v[3], c->a.len[3]);
    m->len += c->a.len[3] > 0;
    m->n = mine;
    if (c->a.len[6] > 0) {
        uint32_t all[GROUPS];
        size_t n_all = m->n_said, n = c->a.len[6] / 8;

        cr_assert(number(c, 7) == 1 && number(c, 8) == 1 && number(c, 9) <= m->len);
        memcpy(all, m->said, n_all * sizeof(all[0]));
        m->n_said = 0;
        append(m, c->a.v[6], c->a.len[6]); /* the same, and nothing else */
        cr_assert(n == m->n_said && n <= n_all);
        cr_expect_eq(memcmp(m->said, all, n * sizeof(all[0])), 0);
        memcpy(m->said, all, n_all * sizeof(all[0])); /* and behind it what the log keeps */
        m->n_said = n_all;
        m->len -= number(c, 9);
    }
    return TASK_REDIS_DONE;
}

static enum writes_verdict answer(struct owner *o, int result)
{
    redisReply v = { .type = REDIS_REPLY_INTEGER, .integer = result };
    struct redis_ans a = { .reply = &v, .text = "" };

    if (result < 0)
        a = (struct redis_ans){ .fault = REDIS_GONE, .text = "" };
    return writes_judge(&o->w, &a);
}

/* ---- an owner -------------------------------------------------------------------- */

static void opens(struct owner *o, struct model *m, uint64_t epoch, const char *nonce)
{
    writes_fini(&o->w);
    writes_init(&o->w, epoch, nonce);
    cr_assert_leq(m->epoch, epoch);
    strcpy(m->fence, o->w.fence);
    m->epoch = epoch;
    writes_found(&o->w, m->n, m->len, 100, 0);
    o->next = o->told = o->in_sent = (uint32_t)m->n_said;
    for (uint32_t i = 0; i < m->n_said; i++)
        cr_assert_eq(m->said[i], i, "record %u is %u", i, m->said[i]);
}

static void says(struct owner *o)
{
    void *to = writes_record(&o->w, KIND, sizeof(o->next));

    memcpy(to, &o->next, sizeof(o->next));
    o->next++;
}

static void snapshot(struct owner *o)
{
    for (uint32_t i = 0; i < o->next; i++)
        memcpy(writes_snap_record(&o->w, KIND, sizeof(i)), &i, sizeof(i));
    writes_snap_whole(&o->w);
}

/* The end of a turn, and what becomes of its command. */
static enum writes_verdict turn(struct owner *o, struct model *m, struct rng *rng, bool faults)
{
    struct redis_command c = { 0 };
    unsigned fate = faults ? (unsigned)rng_below(rng, 6) : 5;
    enum writes_verdict v;
    int result = -1;

    if (writes_begin(&o->w)) {
        o->in_sent = o->next;
        if (writes_wants_snap(&o->w, 300))
            snapshot(o);
    }
    if (!o->w.open)
        return WRITES_DONE;
    writes_args(&o->w, &c);
    if (fate > 0) /* it arrives */
        result = write_to(m, &c);
    if (fate == 1 && result == TASK_REDIS_DONE) /* twice */
        cr_expect_eq(write_to(m, &c), TASK_REDIS_DONE);
    if (fate == 2) /* its answer does not */
        result = -1;
    redis_args_fini(&c.a);
    v = answer(o, result);
    if (v == WRITES_DONE) {
        o->told = o->in_sent;
        writes_end(&o->w);
    }
    return v;
}

/* ---- stories --------------------------------------------------------------------- */

Test(task_writes, what_was_acknowledged_is_there_once_and_in_order)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct model m = { 0 };
        struct owner o = { 0 };
        uint64_t epoch = 1;
        char nonce[16];
        struct rng rng;

        rng_seed(&rng, seed);
        opens(&o, &m, epoch, "0");
        for (unsigned i = 0; i < 400; i++) {
            if (rng_below(&rng, 3) > 0)
                says(&o);
            cr_assert_neq(turn(&o, &m, &rng, true), WRITES_STALE);
            cr_assert_geq(m.n_said, o.told, "seed %llu", (unsigned long long)seed);
            if (rng_below(&rng, 60) == 0) { /* a takeover, or the same node again */
                snprintf(nonce, sizeof(nonce), "%u", i);
                opens(&o, &m, epoch += rng_below(&rng, 2), nonce);
            }
        }
        for (unsigned i = 0; i < 3; i++)
            cr_assert_eq(turn(&o, &m, &rng, false), WRITES_DONE);
        cr_expect_eq(m.n_said, o.next);
        cr_expect_eq(m.len, o.w.groups);
        writes_fini(&o.w);
    }
}

Test(task_writes, an_old_owner_adds_nothing_whenever_it_wakes)
{
    struct model m = { 0 }, before;
    struct owner a = { 0 }, b = { 0 };
    struct rng rng;

    rng_seed(&rng, 1);
    opens(&a, &m, 1, "a");
    says(&a);
    cr_expect_eq(turn(&a, &m, &rng, false), WRITES_DONE);
    says(&a); /* and stands still */
    opens(&b, &m, 2, "b");
    before = m;
    cr_expect_eq(turn(&a, &m, &rng, false), WRITES_STALE);
    cr_expect_eq(memcmp(&m, &before, sizeof(m)), 0);
    says(&b);
    cr_expect_eq(turn(&b, &m, &rng, false), WRITES_DONE);
    writes_fini(&a.w);
    writes_fini(&b.w);
}

Test(task_writes, a_redis_that_went_back_is_noticed_with_the_next_command)
{
    struct model m = { 0 }, old, older;
    struct owner o = { 0 };
    struct rng rng;

    rng_seed(&rng, 1);
    older = m;
    opens(&o, &m, 1, "a");
    old = m;
    says(&o);
    cr_expect_eq(turn(&o, &m, &rng, false), WRITES_DONE);
    m = old; /* a failover to a replica that lags */
    (void)writes_ask(&o.w); /* somebody looks, no more */
    cr_expect_eq(turn(&o, &m, &rng, false), WRITES_GAP);
    m = older; /* empty */
    cr_expect_eq(answer(&o, (int)TASK_REDIS_GAP), WRITES_GAP);
    writes_fini(&o.w);
}

Test(task_writes, an_answer_waits_for_the_command_that_has_its_turn)
{
    struct model m = { 0 };
    struct owner o = { 0 };
    struct rng rng;
    uint64_t first, second;

    rng_seed(&rng, 1);
    opens(&o, &m, 1, "a");
    says(&o);
    first = writes_ask(&o.w);
    cr_assert(writes_begin(&o.w));
    says(&o); /* while it is under way */
    second = writes_ask(&o.w);
    cr_expect_eq(second, first + 1);
    cr_expect_not(writes_begin(&o.w));
    cr_expect_eq(turn(&o, &m, &rng, false), WRITES_DONE);
    cr_expect(o.w.done >= first && o.w.done < second);
    cr_expect_eq(turn(&o, &m, &rng, false), WRITES_DONE);
    cr_expect_geq(o.w.done, second);
    cr_expect_not(writes_begin(&o.w), "nothing is said");
    writes_fini(&o.w);
}

Test(task_writes, a_body_that_comes_and_goes_in_a_turn_is_not_sent)
{
    struct writes w;
    uint64_t a, b, c;

    writes_init(&w, 1, "x");
    cr_assert_eq(writes_put(&w, (const uint8_t *)"abc", 3, &a), 0);
    writes_drop(&w, a);
    cr_assert_eq(writes_put(&w, (const uint8_t *)"de", 2, &b), 0);
    cr_expect_neq(a, b);
    cr_expect_eq(writes_ref_bytes(b), 2);
    cr_expect_eq(w.next.bytes.len, 2);
    writes_saw(&w, (uint64_t)99 << (64 - WRITES_NUMBERS));
    cr_assert_eq(writes_put(&w, (const uint8_t *)"f", 1, &c), 0);
    cr_expect_gt(c, (uint64_t)99 << (64 - WRITES_NUMBERS));
    writes_fini(&w);
}

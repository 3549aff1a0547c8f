/* tasknoderig.h: a whole task node in the test's own loop, between a manager and a router made here
 * of rpc and codec: its files are in a folder of the test. Begin with task_node_setup(), end with
 * task_node_teardown(). */
#ifndef SEGQ_TESTS_TASKNODERIG_H
#define SEGQ_TESTS_TASKNODERIG_H

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc.h"
#include "common/wire/codec.h"
#include "task/service/service.h"

struct side { /* the other side of a link of the node */
    struct rpc *rpc;
    struct rpc_link *link; /* router: to the node */
    struct rpc_chan *ch;
    unsigned seen[160];
    struct msg last[160]; /* newest of each type; memory in `mem` */
    uint64_t rid[160];
    struct arena mem;
    void (*hears)(const struct msg *m, uint64_t rid); /* NULL, or is told of each */
};

static struct ev *ev;
static struct side mng, rtr;
static struct cluster_keys secret;
static struct task_service *node;
static unsigned readies, gones;
static uint64_t last_rid;
static char dir[64];

static inline void say(struct side *s, const struct msg *m, uint64_t rid)
{
    cr_assert_eq(rpc_send(s->ch, m, rid), 0);
}

static inline void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct side *s = ctx;

    (void)peer;
    s->ch = ch;
}

static inline void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct side *s = ctx;
    uint8_t *copy = arena_memdup(&s->mem, f->body, f->len); /* bytes point into the frame */
    struct msg m;

    (void)ch;
    cr_assert_eq(msg_decode(f->type, copy, f->len, &s->mem, &m), 0);
    s->seen[m.type]++;
    s->last[m.type] = m;
    s->rid[m.type] = f->rid;
    if (s->hears != NULL)
        s->hears(&m, f->rid);
    if (m.type == MSG_TASK_REG)
        say(s, &(struct msg){ .type = MSG_TASK_OK, .task_ok = { 5, 1, 77 } }, 0);
}

static inline void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    (void)ch;
    (void)why;
    ((struct side *)ctx)->ch = NULL;
}

static const struct rpc_calls calls = { .on_up = on_up, .on_frame = on_frame,
                                        .on_down = on_down };

static inline void side_start(struct side *s, enum rpc_role role, const char *name)
{
    struct rpc_opts o = { .role = role, .node = name, .incarnation = 1,
                          .link_key = secret.link, .seed = 3 };

    cr_assert_eq(rpc_new(&s->rpc, ev, &o, NULL), 0);
    arena_init(&s->mem);
}

static inline void count_ready(void *ctx)
{
    (void)ctx;
    readies++;
}

static inline void count_gone(void *ctx)
{
    (void)ctx;
    gones++;
}

/* Turns until cond, at most ten seconds. The tick timers keep the loop turning. */
#define WAIT(cond)                                                                       \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 10000;                                                \
        while (!(cond) && ev_now(ev) < end_)                                             \
            ev_turn(ev, true);                                                           \
        cr_assert(cond, "waited in vain for " #cond);                                    \
    } while (0)

static inline void start_node(void)
{
    char managers[128], journal[128], bodies[128];
    const char *sets[] = { managers, journal, bodies, "listen=127.0.0.1:0",
                           "admin=127.0.0.1:0", "node=t1", "journal_snapshot=512", "tls=off" };
    struct task_cfg cfg = { 0 };
    struct err e = { 0 };
    struct task_service_opts o = { .cfg = &cfg,
                                   .node = { .secret = &secret, .incarnation = 9,
                                             .on_ready = count_ready, .on_gone = count_gone } };

    snprintf(managers, sizeof(managers), "managers=%s", rpc_listen_addr(mng.rpc));
    snprintf(journal, sizeof(journal), "journal_dir=%s/journal", dir);
    snprintf(bodies, sizeof(bodies), "bodies_dir=%s/bodies", dir);
    cr_assert_eq(cfg_load(&cfg, sizeof(cfg), task_cfg_keys, NULL, sets, ARRAY_LEN(sets), &e),
                 0, "%s", e.text);
    cr_assert_eq(task_service_new(&node, ev, &o, &e), 0, "%s", e.text);
    cfg_clear(&cfg, task_cfg_keys);
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node->node.rpc), RPC_TASK, &calls, &rtr);
    WAIT(rtr.ch != NULL && mng.seen[MSG_TASK_REG] > 0 && readies > 0);
}

static inline void node_end(void)
{
    rpc_link_free(rtr.link);
    rtr.ch = NULL;
    task_service_free(node);
    node = NULL;
    WAIT(mng.ch == NULL);
    memset(mng.seen, 0, sizeof(mng.seen));
}

static inline void task_node_setup(void)
{
    struct err e;

    cr_assert_geq(sodium_init(), 0);
    log_set_level(LOG_ERROR);
    cr_assert_eq(ev_new(&ev, NULL), 0);
    memset(secret.link, 7, sizeof(secret.link));
    snprintf(dir, sizeof(dir), "/tmp/test_task_service.XXXXXX");
    cr_assert_neq(mkdtemp(dir), NULL);
    side_start(&mng, RPC_MANAGER, "m1");
    side_start(&rtr, RPC_ROUTER, "r1");
    cr_assert_eq(rpc_listen(mng.rpc, "127.0.0.1:0", 1u << RPC_TASK, &calls, &mng, &e), 0);
    start_node();
}

static inline void task_node_teardown(void)
{
    char rm[96];

    if (node != NULL)
        node_end();
    rpc_free(rtr.rpc);
    rpc_free(mng.rpc);
    arena_fini(&mng.mem);
    arena_fini(&rtr.mem);
    ev_free(ev);
    snprintf(rm, sizeof(rm), "rm -r %s", dir);
    cr_assert_eq(system(rm), 0);
}

/* The answer to a question. */
static inline const struct msg *ask(const struct msg *m, enum msg_type answer)
{
    uint64_t rid = ++last_rid;

    say(&rtr, m, rid);
    WAIT(rtr.rid[answer] == rid);
    return &rtr.last[answer];
}

static inline struct task_put put_of(const char *body)
{
    return (struct task_put){ .part = 3, .epoch = 8, .queue = "img/a", .key1 = "k", .key2 = "",
                              .name = "", .digest = 1,
                              .body = { (uint32_t)strlen(body), (const uint8_t *)body } };
}

static inline task_no put(const char *body)
{
    struct task_put one = put_of(body);
    const struct msg *a = ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } },
                              MSG_TASK_PUT_ANS);

    cr_assert_eq(a->task_put_ans.n, 1);
    cr_assert_eq(a->task_put_ans.v[0].code, CODE_DONE);
    return a->task_put_ans.v[0].no;
}

static inline const struct msg_task_get_ans *get(task_no no)
{
    return &ask(&(struct msg){ .type = MSG_TASK_GET,
                               .task_get = { 3, 8, no, "", "", 0, true } },
                MSG_TASK_GET_ANS)->task_get_ans;
}

static inline const struct msg_task_take_ans *take(uint32_t most, uint32_t wait_ms)
{
    return &ask(&(struct msg){ .type = MSG_TASK_TAKE,
                               .task_take = { 3, 8, "img/a", most, 60000, wait_ms } },
                MSG_TASK_TAKE_ANS)->task_take_ans;
}

#endif

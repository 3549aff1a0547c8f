/* test_seg_service.c: a whole segment node in the test's own loop, between a manager and a
 * router made here of rpc and codec; and a move between two nodes. */
#include <arpa/inet.h>
#include "tests/lib/criterion.h"
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/net/rpc.h"
#include "common/wire/codec.h"
#include "segment/service/service.h"

/* The other side of the node's links. */
struct side {
    struct rpc *rpc;
    struct rpc_link *link; /* router: to the node */
    struct rpc_chan *ch[2];
    char node[2][NAME_MAX_LEN + 1];
    unsigned ups, downs;
    bool obey;             /* manager: answers NODE_REG with NODE_OK */
    unsigned seen[160];    /* frames by type */
    struct msg last[160];  /* newest of each type; memory in `mem` */
    uint64_t rid[160];
    struct arena mem;
    char why[160];
};

static struct ev *ev;
static struct side mng, rtr;
static struct cluster_keys secret;
static struct pass_key pass;
static struct seg_service *node[2];
static unsigned readies, gones;

static int chan_index(const struct side *s, const struct rpc_chan *ch)
{
    return s->ch[1] == ch;
}

static void say(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    cr_assert_eq(rpc_send(ch, m, rid), 0);
}

static void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct side *s = ctx;
    int i = s->ch[0] != NULL;

    s->ch[i] = ch;
    snprintf(s->node[i], sizeof(s->node[i]), "%s", peer->node);
    s->ups++;
}

static void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct side *s = ctx;
    struct msg m;

    cr_assert_eq(msg_decode(f->type, f->body, f->len, &s->mem, &m), 0);
    if (m.type == MSG_PLACE_ANS) /* passes point into the frame */
        for (uint32_t i = 0; i < m.place_ans.n; i++)
            m.place_ans.ans[i].pass =
                arena_memdup(&s->mem, m.place_ans.ans[i].pass, m.place_ans.ans[i].pass_len);
    s->seen[m.type]++;
    s->last[m.type] = m;
    s->rid[m.type] = f->rid;
    if (m.type == MSG_NODE_REG && s->obey)
        say(ch, &(struct msg){ .type = MSG_NODE_OK,
                               .node_ok = { 5, (node_no)(1 + chan_index(s, ch)) } }, 0);
}

static void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct side *s = ctx;

    s->ch[chan_index(s, ch)] = NULL;
    s->downs++;
    snprintf(s->why, sizeof(s->why), "%s", why);
}

static const struct rpc_calls calls = { .on_up = on_up, .on_frame = on_frame,
                                        .on_down = on_down };

static void side_start(struct side *s, enum rpc_role role, const char *name)
{
    struct rpc_opts o = { .role = role, .node = name, .incarnation = 1,
                          .link_key = secret.link, .seed = 3 };

    cr_assert_eq(rpc_new(&s->rpc, ev, &o, NULL), 0);
}

static void count_one(void *ctx)
{
    ++*(unsigned *)ctx;
}

static void on_ready(void *ctx)
{
    (void)ctx;
    count_one(&readies);
}

static void on_gone(void *ctx)
{
    (void)ctx;
    count_one(&gones);
}

static struct seg_service *start_node(const char *name)
{
    char managers[128];
    const char *sets[] = { managers, "listen=127.0.0.1:0", "admin=127.0.0.1:0",
                           "journal=off", "tls=off", "region=eu", "zone=eu-1a" };
    struct seg_cfg cfg = { 0 };
    struct seg_service *s = NULL;
    struct err e = { 0 };
    struct seg_service_opts o = { .cfg = &cfg, .pass = &pass,
                                  .node = { .secret = &secret, .incarnation = 9,
                                            .on_ready = on_ready, .on_gone = on_gone } };

    snprintf(managers, sizeof(managers), "managers=%s", rpc_listen_addr(mng.rpc));
    cr_assert_eq(cfg_load(&cfg, sizeof(cfg), seg_cfg_keys, NULL, sets, ARRAY_LEN(sets), &e),
                 0, "%s", e.text);
    free(cfg.node.node);
    cfg.node.node = strdup(name);
    cr_assert_eq(seg_service_new(&s, ev, &o, &e), 0, "%s", e.text);
    cfg_clear(&cfg, seg_cfg_keys);
    return s;
}

/* Turns until cond, at most ten seconds. The tick timers keep the loop turning. */
#define WAIT(cond)                                                                       \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 10000;                                                \
        while (!(cond) && ev_now(ev) < end_)                                             \
            ev_turn(ev, true);                                                           \
        cr_assert(cond, "waited in vain for " #cond);                                    \
    } while (0)

static void setup(void)
{
    log_set_level(LOG_ERROR);
    cr_assert_eq(sodium_init() < 0, 0);
    randombytes_buf(secret.link, sizeof(secret.link));
    crypto_sign_keypair(pass.public, pass.secret);
    cr_assert_eq(ev_new(&ev, NULL), 0);
    side_start(&mng, RPC_MANAGER, "mng");
    side_start(&rtr, RPC_ROUTER, "router.0");
    mng.obey = true;
    cr_assert_eq(rpc_listen(mng.rpc, "127.0.0.1:0", 1u << RPC_SEGMENT, &calls, &mng, NULL), 0);
    node[0] = start_node("seg.0");
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node[0]->node.rpc), RPC_SEGMENT, &calls, &rtr);
    WAIT(readies > 0 && rtr.ch[0] != NULL);
}

static void teardown(void)
{
    seg_service_free(node[0]);
    seg_service_free(node[1]);
    rpc_free(rtr.rpc);
    rpc_free(mng.rpc);
    arena_fini(&rtr.mem);
    arena_fini(&mng.mem);
    ev_free(ev);
}

TestSuite(seg_service, .init = setup, .fini = teardown, .timeout = 200);

/* ---- what a manager and a router say --------------------------------------------- */

static void order(int i, struct msg m)
{
    say(mng.ch[i], &m, 0);
}

static void rules(int i)
{
    order(i, (struct msg){ .type = MSG_RULES,
                           .rules = { .epoch = 5, .queue = 1, .name = "login", .issuer = "segq",
                                      .idle_ms = { 60000, 60000, 60000 }, .claim_ms = 30000,
                                      .grace_ms = 60000, .pass_ttl_s = 300, .n_lanes = 1,
                                      .lanes = { "default" } } });
}

static void open_seg(int i, seg_id seg, enum open_kind kind)
{
    order(i, (struct msg){ .type = MSG_SEG_OPEN,
                           .seg_open = { .epoch = 5, .seg = seg, .queue = 1,
                                         .kind = (uint8_t)kind, .capacity = 1000 } });
}

static struct append_ans join(seg_id seg, uint64_t rid)
{
    struct append_req q = { .seg = seg };
    unsigned before = rtr.seen[MSG_APPEND_ANS];

    say(rtr.ch[0], &(struct msg){ .type = MSG_APPEND, .append = { 1, &q } }, rid);
    WAIT(rtr.seen[MSG_APPEND_ANS] > before);
    cr_assert_eq(rtr.rid[MSG_APPEND_ANS], rid);
    cr_assert_eq(rtr.last[MSG_APPEND_ANS].append_ans.n, 1);
    return rtr.last[MSG_APPEND_ANS].append_ans.ans[0];
}

static struct place_ans poll_one(struct rpc_chan *ch, seg_id seg, uint32_t number)
{
    struct place_req q = { .seg = seg, .number = number };
    unsigned before = rtr.seen[MSG_PLACE_ANS];

    say(ch, &(struct msg){ .type = MSG_PLACE, .place = { 1, &q } }, 77);
    WAIT(rtr.seen[MSG_PLACE_ANS] > before);
    cr_assert_eq(rtr.rid[MSG_PLACE_ANS], 77);
    return rtr.last[MSG_PLACE_ANS].place_ans.ans[0];
}

Test(seg_service, registers_and_is_ready_once)
{
    struct msg_node_reg *reg = &mng.last[MSG_NODE_REG].node_reg;

    cr_assert_eq(mng.seen[MSG_NODE_REG], 1);
    cr_expect_str_eq(reg->addr, rpc_listen_addr(node[0]->node.rpc));
    cr_expect_str_eq(reg->admin, admin_addr(node[0]->node.admin));
    cr_expect_arr_eq(reg->pass_key, pass.public, 32);
    cr_expect_eq(reg->max_tickets, 10000000);
    cr_expect_str_eq(reg->region, "eu");
    cr_expect_str_eq(reg->zone, "eu-1a");
    cr_expect_eq(readies, 1);
}

Test(seg_service, join_poll_release_pass_leave)
{
    struct append_ans a;
    struct place_ans p, again;
    struct pass_view v;
    struct drop_req d;

    rules(0);
    open_seg(0, 42, OPEN_TAIL);
    WAIT(mng.seen[MSG_SEG_STATUS] > 0 && mng.last[MSG_SEG_STATUS].seg_status.n == 1);
    a = join(42, 1001);
    cr_assert_eq(a.state, APPEND_OK);
    cr_assert_eq(a.position, 1);
    cr_assert_eq(join(42, 1002).position, 2);
    p = poll_one(rtr.ch[0], 42, a.number);
    cr_assert_eq(p.state, PLACE_WAITING);
    cr_assert_eq(p.position, 1);

    order(0, (struct msg){ .type = MSG_SEG_POP,
                           .seg_pop = { .epoch = 5, .seg = 42, .tick = 1, .n = 1,
                                        .released_at_ms = 1700000000123 } });
    WAIT(mng.seen[MSG_SEG_POPPED] == 1);
    cr_assert_eq(mng.last[MSG_SEG_POPPED].seg_popped.n, 1);
    order(0, (struct msg){ .type = MSG_SEG_AHEAD,
                           .seg_ahead = { .epoch = 5, .n_kept = 1,
                                          .kept = &(struct kept_entry){ 42, 1 } } });
    p = poll_one(rtr.ch[0], 42, a.number);
    cr_assert_eq(p.state, PLACE_ADMITTED);
    cr_assert_eq(p.released_at_ms, 1700000000123);
    cr_assert_eq(pass_check(&v, p.pass, p.pass_len, (const uint8_t(*)[32])pass.public, 1), 0);
    cr_expect_str_eq(v.aud, "login");
    cr_expect_eq(v.iat_s, 1700000000);
    again = poll_one(rtr.ch[0], 42, a.number);
    cr_assert(again.pass_len == p.pass_len && memcmp(again.pass, p.pass, p.pass_len) == 0);

    d = (struct drop_req){ .seg = 42, .number = a.number + 1 };
    say(rtr.ch[0], &(struct msg){ .type = MSG_DROP, .drop = { 1, &d } }, 5);
    WAIT(rtr.seen[MSG_DROP_ANS] == 1);
    cr_assert_eq(poll_one(rtr.ch[0], 42, a.number + 1).reason, GONE_LEFT);
    cr_assert_eq(poll_one(rtr.ch[0], 43, 0).state, PLACE_UNKNOWN);
}

Test(seg_service, a_full_batch_is_answered_in_one_frame)
{
    static struct place_req q[MSG_BATCH_MAX];

    say(rtr.ch[0], &(struct msg){ .type = MSG_PLACE, .place = { MSG_BATCH_MAX, q } }, 3);
    say(rtr.ch[0], &(struct msg){ .type = MSG_PLACE, .place = { 0, q } }, 4);
    WAIT(rtr.seen[MSG_PLACE_ANS] == 2);
    cr_expect_eq(rtr.rid[MSG_PLACE_ANS], 4);
    cr_expect_eq(rtr.last[MSG_PLACE_ANS].place_ans.n, 0);
}

Test(seg_service, unknown_type_is_answered_and_forgiven)
{
    buf_str(rpc_begin(rtr.ch[0]), "whatever");
    cr_assert_eq(rpc_end(rtr.ch[0], 999, 12), 0);
    WAIT(rtr.seen[MSG_ERROR] == 1);
    cr_expect_eq(rtr.rid[MSG_ERROR], 12);
    cr_expect_eq(rtr.last[MSG_ERROR].error.code, SQ_EUNKNOWN);
    cr_expect_eq(rtr.last[MSG_ERROR].error.about, 999);
    cr_expect_eq(poll_one(rtr.ch[0], 1, 1).state, PLACE_UNKNOWN);
    cr_expect_eq(rtr.downs, 0);
}

Test(seg_service, a_damaged_frame_closes_one_link)
{
    buf_str(rpc_begin(rtr.ch[0]), "\x0a\x02\x01\x02\x12\x01\x05");
    cr_assert_eq(rpc_end(rtr.ch[0], MSG_PLACE, 12), 0);
    WAIT(rtr.downs == 1);
    WAIT(rtr.ch[0] != NULL); /* it may come back */
    cr_expect_eq(poll_one(rtr.ch[0], 1, 1).state, PLACE_UNKNOWN);
    cr_expect_eq(mng.downs, 0);
}

Test(seg_service, a_router_gives_no_orders)
{
    say(rtr.ch[0], &(struct msg){ .type = MSG_SEG_REMOVE, .seg_remove = { 9, 42, true } }, 0);
    WAIT(rtr.downs == 1);
    say(mng.ch[0], &(struct msg){ .type = MSG_PLACE, .place = { 0, NULL } }, 0);
    WAIT(mng.downs == 1);
}

Test(seg_service, an_old_epoch_is_refused)
{
    order(0, (struct msg){ .type = MSG_SEG_SEAL, .seg_seal = { 4, 42, 0 } });
    WAIT(mng.seen[MSG_ERROR] == 1);
    cr_expect_eq(mng.last[MSG_ERROR].error.code, SQ_ESTALE);
}

Test(seg_service, registers_again_when_the_manager_is_back)
{
    rpc_chan_close(mng.ch[0], "test");
    WAIT(mng.seen[MSG_NODE_REG] == 2);
    cr_expect_eq(readies, 1);
}

Test(seg_service, stop_answers_then_goes)
{
    seg_service_stop(node[0]);
    cr_expect_eq(poll_one(rtr.ch[0], 1, 1).state, PLACE_UNKNOWN);
    WAIT(gones == 1);
}

/* ---- a move between two nodes: dialling ------------------------------------------- */

static bool reported(enum move_side side, enum move_report r)
{
    const struct msg_move_status *m = &mng.last[MSG_MOVE_STATUS].move_status;

    return mng.seen[MSG_MOVE_STATUS] > 0 && m->side == side && m->report == r;
}

static struct msg move_end(seg_id from, seg_id to)
{
    return (struct msg){ .type = MSG_MOVE_END, .move_end = { 5, 70, from, to, true } };
}

/* Ten tickets join 42 on the first node; their move into 41 on the second gets to its fence. */
static struct append_ans move_to_the_fence(void)
{
    struct append_ans last = { 0 };

    node[1] = start_node("seg.1");
    WAIT(mng.ch[1] != NULL && mng.seen[MSG_NODE_REG] == 2);
    rules(0);
    rules(1);
    open_seg(0, 42, OPEN_TAIL);
    open_seg(1, 41, OPEN_TARGET);
    WAIT(mng.seen[MSG_SEG_STATUS] >= 2);
    for (uint64_t i = 0; i < 10; i++)
        last = join(42, i);
    order(0, (struct msg){ .type = MSG_SEG_SEAL, .seg_seal = { 5, 42, 0 } });
    order(1, (struct msg){ .type = MSG_MOVE_IN, .move_in = { 5, 70, 42, 41, 10 } });
    WAIT(reported(MOVE_SIDE_IN, MOVE_ACCEPTED));
    order(0, (struct msg){ .type = MSG_MOVE_OUT,
                           .move_out = { 5, 70, 42, 41, "seg.1", rpc_listen_addr(node[1]->node.rpc) } });
    WAIT(reported(MOVE_SIDE_IN, MOVE_FENCED));
    return last;
}

static unsigned nodes_linked(const struct seg_service *s)
{
    unsigned n = 0;

    each_node_peer (&s->node, p)
        n += p->role == RPC_SEGMENT;
    return n;
}

Test(seg_service, a_move_dials_the_other_node)
{
    struct append_ans last = move_to_the_fence();

    cr_expect_eq(poll_one(rtr.ch[0], 42, last.number).state, PLACE_BUSY);
    order(1, move_end(42, 41));
    WAIT(reported(MOVE_SIDE_IN, MOVE_COMMITTED));
    order(0, move_end(42, 41));
    WAIT(reported(MOVE_SIDE_OUT, MOVE_COMMITTED));

    rpc_link_free(rtr.link);
    rtr.ch[0] = NULL;
    rtr.link = rpc_dial(rtr.rpc, rpc_listen_addr(node[1]->node.rpc), RPC_SEGMENT, &calls, &rtr);
    WAIT(rtr.ch[0] != NULL);
    cr_expect_eq(poll_one(rtr.ch[0], 42, last.number).position, 10);
}

/* The link is closing, but not down yet, when it is not wanted any more: nobody is told of its
 * end then. */
Test(seg_service, a_link_that_ends_as_it_is_given_up_leaves_no_peer)
{
    struct msg end = move_end(42, 41);

    (void)move_to_the_fence();
    cr_assert_eq(nodes_linked(node[0]), 1);
    end.move_end.commit = false;
    each_node_peer (&node[1]->node, p) {
        if (p->role == RPC_SEGMENT)
            rpc_chan_drop(p->ch, "test");
    }
    order(0, end); /* both arrive in one turn */
    WAIT(reported(MOVE_SIDE_OUT, MOVE_ABORTED));
    cr_expect_eq(nodes_linked(node[0]), 0);
}

Test(seg_service, a_move_to_nobody_is_aborted)
{
    rules(0);
    open_seg(0, 42, OPEN_TAIL);
    order(0, (struct msg){ .type = MSG_SEG_SEAL, .seg_seal = { 5, 42, 0 } });
    order(0, (struct msg){ .type = MSG_MOVE_OUT,
                           .move_out = { 5, 70, 42, 41, "seg.9", "127.0.0.1:1" } });
    WAIT(reported(MOVE_SIDE_OUT, MOVE_ABORTED));
}

/* ---- figures ----------------------------------------------------------------------- */

static int http_get(const char *addr, const char *path, char *out, size_t cap)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    char request[200];
    size_t n = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    a.sin_port = htons((uint16_t)atoi(strrchr(addr, ':') + 1));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)connect(fd, (struct sockaddr *)&a, sizeof(a));
    snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: x\r\n\r\n", path);
    WAIT(send(fd, request, strlen(request), MSG_NOSIGNAL) > 0);
    for (;;) {
        ssize_t k = recv(fd, out + n, cap - 1 - n, 0);

        if (k == 0)
            break;
        if (k < 0)
            ev_turn(ev, true);
        else
            n += (size_t)k;
    }
    out[n] = 0;
    close(fd);
    return atoi(out + 9);
}

Test(seg_service, metrics_and_health)
{
    static char page[100000];

    (void)poll_one(rtr.ch[0], 1, 1);
    cr_assert_eq(http_get(admin_addr(node[0]->node.admin), "/metrics", page, sizeof(page)), 200);
    cr_expect_not_null(strstr(page, "\nsegq_segment_polls_total 1\n"));
    cr_expect_not_null(strstr(page, "\nsegq_segment_batches_total 1\n"));
    cr_expect_not_null(strstr(page, "\nsegq_segment_epoch 5\n"));
    cr_expect_not_null(strstr(page, "\nsegq_segment_links{role=\"router\"} 1\n"));
    cr_expect_not_null(strstr(page, "\nsegq_segment_links{role=\"manager\"} 1\n"));
    cr_expect_eq(http_get(admin_addr(node[0]->node.admin), "/healthz", page, sizeof(page)), 200);
}

/* ---- configuration, passes ---------------------------------------------------------- */

static int load(const char *one, const char *two)
{
    const char *sets[] = { one, two };
    struct seg_cfg c = { 0 };
    int rc = cfg_load(&c, sizeof(c), seg_cfg_keys, NULL, sets, 2, NULL);

    if (rc == 0)
        rc = node_cfg_check(&c, NULL);
    cfg_clear(&c, seg_cfg_keys);
    return rc;
}

Test(seg_cfg, an_address_for_others_is_wanted)
{
    cr_expect_eq(load("node=a.1", "listen=127.0.0.1:1"), 0);
    cr_expect_lt(load("node=a.1", "listen=0.0.0.0:1"), 0);
    cr_expect_eq(load("advertise=host.example:7200", "listen=0.0.0.0:1"), 0);
    cr_expect_lt(load("advertise=[::]:7200", "listen=0.0.0.0:1"), 0);
    cr_expect_lt(load("managers=nowhere", "node=a"), 0);
    cr_expect_eq(load("managers=127.0.0.1:70,mng.example:70", "node=a"), 0);
    cr_expect_lt(load("max_tickets=5", "node=a"), 0);
}

Test(seg_pass, again_is_the_same_without_signing)
{
    struct seg_pass p = { .queue = "q", .lane = "default", .issuer = "segq", .seg = 3,
                          .number = 9, .released_at_ms = 5000, .expires_s = 65 };
    char one[MSG_PASS_MAX], two[MSG_PASS_MAX];
    struct seg_passes *s;
    int n;

    cr_assert_eq(sodium_init() < 0, 0);
    crypto_sign_keypair(pass.public, pass.secret);
    s = seg_passes_new(&pass);
    n = seg_passes_make(s, &p, one);
    cr_assert_gt(n, 0);
    cr_assert_eq(seg_passes_make(s, &p, two), n);
    cr_expect_eq(memcmp(one, two, (size_t)n), 0);
    cr_expect_eq(seg_passes_counts(s)->signed_, 1);
    cr_expect_eq(seg_passes_counts(s)->kept, 1);
    p.expires_s++;
    n = seg_passes_make(s, &p, two);
    cr_expect(memcmp(one, two, (size_t)n) != 0);
    for (p.number = 0; p.number < 5000; p.number++) /* slots are taken over */
        cr_assert_gt(seg_passes_make(s, &p, two), 0);
    p.number = 9;
    p.expires_s--;
    n = seg_passes_make(s, &p, two);
    cr_expect_eq(memcmp(one, two, (size_t)n), 0);
    seg_passes_free(s);
}

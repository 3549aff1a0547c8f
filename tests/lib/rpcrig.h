/* rpcrig.h: two rpc instances in one loop over loopback, and what they saw. */
#ifndef SEGQ_TESTS_RPCRIG_H
#define SEGQ_TESTS_RPCRIG_H

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/msg.h"
#include "common/net/net.h"
#include "common/config/cfg_check.h"
#include "common/net/rpc.h"

#define BEAT_MS 60
#define ECHO    100 /* frame types of these tests */
#define ANSWER  101

struct side {
    struct rpc *rpc;
    struct rpc_chan *ch; /* the newest */
    unsigned ups, downs, frames, fails;
    uint64_t next_rid; /* what must come next, if in_order */
    bool in_order, echo;
    size_t last_len;
    char why[128];
    struct rpc_peer peer;
};

static struct ev *ev;
static struct side srv, cli;
static uint8_t key[32] = { 1, 2, 3 };
static char logged[65536];

static inline void capture(void *ctx, enum log_level level, const char *line)
{
    size_t n = strlen(logged);

    (void)ctx;
    (void)level;
    snprintf(logged + n, sizeof(logged) - n, "%s\n", line);
}

static inline void setup(void)
{
    log_set_sink(capture, NULL);
    cr_assert_eq(ev_new(&ev, NULL), 0);
}

static inline void teardown(void)
{
    rpc_free(cli.rpc);
    rpc_free(srv.rpc);
    ev_free(ev);
}


static inline void on_up(void *ctx, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    struct side *s = ctx;

    s->ups++;
    s->ch = ch;
    s->peer = *peer;
}

static inline void answer(struct rpc_chan *ch, const struct frame *f)
{
    buf_append(rpc_begin(ch), f->body, f->len);
    cr_assert_eq(rpc_end(ch, ANSWER, f->rid), 0);
}

static inline void on_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct side *s = ctx;

    s->frames++;
    s->last_len = f->len;
    if (s->in_order)
        cr_assert_eq(f->rid, ++s->next_rid);
    if (s->echo)
        answer(ch, f);
}

static inline void on_down(void *ctx, struct rpc_chan *ch, const char *why)
{
    struct side *s = ctx;

    (void)ch;
    s->downs++;
    s->ch = NULL;
    snprintf(s->why, sizeof(s->why), "%s", why);
}

static inline void on_fail(void *ctx, const char *why)
{
    struct side *s = ctx;

    s->fails++;
    snprintf(s->why, sizeof(s->why), "%s", why);
}

static const struct rpc_calls calls = { on_up, on_frame, on_down, on_fail };

static const uint8_t *other_key;         /* of the side that is started next */
static uint32_t beat_ms = BEAT_MS;       /* the same */
static struct cfg_tls tls = { TLS_REQUIRE, "", "", "", "" }; /* the same */

static inline void start(struct side *s, enum rpc_role role, const char *node, const uint8_t *k,
                  size_t max_out)
{
    struct rpc_opts o = { .role = role,
                          .node = node,
                          .incarnation = 7,
                          .link_key = k,
                          .other_link_key = other_key,
                          .heartbeat_ms = beat_ms,
                          .max_output_bytes = max_out,
                          .tls = &tls,
                          .seed = 1 };

    cr_assert_eq(rpc_new(&s->rpc, ev, &o, NULL), 0);
}

static inline void serve(unsigned roles)
{
    start(&srv, RPC_MANAGER, "mng-1", key, 0);
    cr_assert_eq(rpc_listen(srv.rpc, "127.0.0.1:0", roles, &calls, &srv, NULL), 0);
}

static inline struct rpc_link *dial(enum rpc_role role, const char *node, const uint8_t *k)
{
    start(&cli, role, node, k, 0);
    return rpc_dial(cli.rpc, rpc_listen_addr(srv.rpc), RPC_MANAGER, &calls, &cli);
}

#define TURN_UNTIL(cond)                                                                 \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 100000;                                               \
        while (!(cond) && ev_now(ev) < end_)                                             \
            ev_turn(ev, true);                                                           \
        cr_assert(cond, "waited in vain; log:\n%s", logged);                             \
    } while (0)

static inline void send_n(struct rpc_chan *ch, uint64_t from, unsigned n, size_t len)
{
    uint8_t *body = calloc(1, len + 1);

    for (unsigned i = 0; i < n; i++) {
        buf_append(rpc_begin(ch), body, len);
        cr_assert_eq(rpc_end(ch, ECHO, from + i), 0);
    }
    free(body);
}

static inline void both_up(void)
{
    serve(1u << RPC_ROUTER);
    dial(RPC_ROUTER, "router-1", key);
    TURN_UNTIL(srv.ups == 1 && cli.ups == 1);
}

#endif

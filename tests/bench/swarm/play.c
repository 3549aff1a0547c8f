/* play.c: arrivals, due times and requests; play_answer.c has what answers lead to.
 *
 *   arrival -> JOIN -> [JOIN_AGAIN] -> POLL ... POLL -> pass -> [ASK_AGAIN] -> [END]
 *                                       \-> LEAVE | vanish | stay away, POLL
 *
 * Open loop: an arrival comes when it comes, whether or not others were answered. */
#include "tests/bench/swarm/play.h"

#include <stdio.h>
#include <string.h>

#include "tests/bench/swarm/now.h"
#include "tests/bench/swarm/play_int.h"

#define TICK_US 1000

void play_at(struct play *p, uint32_t who, enum player_act act, int64_t due_us)
{
    p->players.v[who].act = (uint8_t)act;
    p->players.v[who].due_us = p->players.v[who].planned_us = due_us;
    wheel_add(&p->wheel, who, due_us / 1000);
}

static void submit(struct play *p, uint32_t who)
{
    if (!conns_submit(p->conns, who)) /* no memory: a moment later, the plan stays */
        wheel_add(&p->wheel, who, now_us() / 1000 + 100);
}

static void on_due(void *ctx, uint32_t who, int64_t due_ms)
{
    (void)due_ms;
    submit(ctx, who);
}

static void arrive(struct play *p, int64_t now)
{
    const struct opts *o = p->o;

    while (p->born < o->players && p->next_arrival_us <= now) {
        uint32_t who = p->born++;

        players_set(&p->players, who, PLAYER_JOINING);
        p->players.v[who].act = ACT_JOIN;
        p->players.v[who].planned_us = p->next_arrival_us;
        submit(p, who);
        if (o->arrive_s > 0)
            p->next_arrival_us +=
                (int64_t)(rng_exp(&p->rng, o->arrive_s / o->players) * 1e6 + 0.5);
    }
}

static void on_tick(void *arg)
{
    struct play *p = arg;
    int64_t now = now_us();

    arrive(p, now);
    wheel_advance(&p->wheel, now / 1000, on_due, p);
    ev_timer_in_us(p->tick, TICK_US);
}

static void build_join(const struct play *p, const struct player *x, uint32_t who,
                       const char *host, struct buf *b)
{
    char body[160];
    int n;

    if ((x->flags & FATE_RETRIES) != 0)
        n = snprintf(body, sizeof(body),
                     "{\"client\":\"%s\",\"subject\":\"swarm-%llu-%lld-%u\"}",
                     client_name(x->client), (unsigned long long)p->o->seed,
                     (long long)p->start_us, who);
    else
        n = snprintf(body, sizeof(body), "{\"client\":\"%s\"}", client_name(x->client));
    buf_printf(b,
               "POST /v1/queues/%s/tickets HTTP/1.1\r\nHost: %s\r\n"
               "Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
               p->o->queue, host, n, p->o->short_conns ? "Connection: close\r\n" : "", body);
}

static void on_build(void *ctx, uint32_t who, const char *host, struct buf *b)
{
    struct play *p = ctx;
    struct player *x = &p->players.v[who];
    bool join = x->act == ACT_JOIN || x->act == ACT_JOIN_AGAIN;

    x->sent_us = now_us();
    /* With a subject an earlier try, whose answer was lost, may have been the one. */
    if (x->act == ACT_JOIN && (x->join_sent_us == 0 || (x->flags & FATE_RETRIES) == 0))
        x->join_sent_us = x->sent_us;
    if (join) {
        build_join(p, x, who, host, b);
        return;
    }
    buf_str(b, x->act == ACT_LEAVE || x->act == ACT_END ? "DELETE" : "GET");
    buf_str(b, " /v1/tickets/");
    buf_append(b, x->token, x->token_len);
    buf_str(b, " HTTP/1.1\r\nHost: ");
    buf_str(b, host);
    buf_str(b, p->o->short_conns ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n");
}

int play_init(struct play *p, struct ev *ev, const struct opts *o, struct err *e)
{
    static const struct conns_calls calls = { on_build, play_on_answer, play_on_fail };
    struct conns_opts co = { .addr = o->router_addr, .host = o->router,
                             .n_hosts = o->n_routers, .conns = o->conns,
                             .keep = !o->short_conns,
                             .timeout_us = (int64_t)(o->timeout_s * 1e6),
                             .reconnect_share = o->reconnect_share, .seed = o->seed + 1 };
    int rc;

    memset(p, 0, sizeof(*p));
    p->o = o;
    p->ev = ev;
    p->start_us = p->next_arrival_us = now_us();
    rng_seed(&p->rng, o->seed);
    if (players_init(&p->players, o, &p->rng) < 0 ||
        wheel_init(&p->wheel, o->players, p->start_us / 1000) < 0)
        return err_set(e, SQ_ENOMEM, "no memory for %u players", o->players);
    rc = conns_new(&p->conns, ev, &co, &calls, p, e);
    if (rc < 0)
        return rc;
    p->tick = ev_timer_new(ev, on_tick, p);
    if (p->tick == NULL)
        return err_set(e, SQ_ENOMEM, "timer");
    ev_timer_in_us(p->tick, 1);
    return 0;
}

void play_fini(struct play *p)
{
    ev_timer_free(p->tick);
    conns_free(p->conns);
    wheel_fini(&p->wheel);
    players_fini(&p->players);
}

bool play_done(const struct play *p)
{
    return p->born == p->o->players && p->at_rest == p->born;
}

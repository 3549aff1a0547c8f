/* players.c: birth, states, and what the checker wants to know at the end. */
#include "tests/bench/swarm/players.h"

#include <stdlib.h>

#include "tests/bench/swarm/answer.h"

static const char *const state_names[PLAYER_NSTATES] = {
    "unborn", "joining", "waiting", "admitted", "left", "vanished", "gone", "lost", "refused",
};

const char *player_state_name(enum player_state s)
{
    return state_names[s];
}

const char *client_name(unsigned client)
{
    static const char *const names[CLIENT_NCLASSES] = { "game", "mobile", "browser" };

    return names[client];
}

static uint8_t draw_client(const struct opts *o, struct rng *r)
{
    uint64_t x = rng_below(r, (uint64_t)o->weight[0] + o->weight[1] + o->weight[2]);

    if (x < o->weight[0])
        return 0;
    return x < o->weight[0] + o->weight[1] ? 1 : 2;
}

/* At most one of leaving, vanishing and being late; the others are independent. */
static uint8_t draw_fate(const struct opts *o, struct rng *r)
{
    double x = rng_unit(r);
    uint8_t f = 0;

    if (x < o->leave_share)
        f = FATE_LEAVES;
    else if (x < o->leave_share + o->vanish_share)
        f = FATE_VANISHES;
    else if (x < o->leave_share + o->vanish_share + o->late_share)
        f = FATE_LATE;
    if (rng_chance(r, o->retry_share))
        f |= FATE_RETRIES;
    if (rng_chance(r, o->repeat_share))
        f |= FATE_REPEATS;
    return f;
}

int players_init(struct players *p, const struct opts *o, struct rng *r)
{
    *p = (struct players){ .n = o->players };
    p->v = calloc(o->players, sizeof(*p->v));
    if (p->v == NULL)
        return SQ_ENOMEM;
    p->in_state[PLAYER_UNBORN] = o->players;
    for (uint32_t i = 0; i < o->players; i++) {
        p->v[i].client = draw_client(o, r);
        p->v[i].flags = draw_fate(o, r);
        p->v[i].polls_to_fate = (uint8_t)(1 + rng_below(r, 4));
    }
    return 0;
}

void players_fini(struct players *p)
{
    free(p->v);
    p->v = NULL;
}

void players_set(struct players *p, uint32_t who, enum player_state to)
{
    p->in_state[p->v[who].state]--;
    p->in_state[to]++;
    p->v[who].state = (uint8_t)to;
    p->most_waiting = u64_max(p->most_waiting, p->in_state[PLAYER_WAITING]);
}

size_t players_admitted(const struct players *p, struct check_rec *v)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n; i++) {
        const struct player *x = &p->v[i];

        if (x->pass_hash != 0)
            v[n++] = (struct check_rec){ .released_ms = x->released_ms,
                                         .sent_us = x->join_sent_us,
                                         .done_us = x->join_done_us,
                                         .exempt = (x->flags & HAS_STRAYED) != 0,
                                         .who = i };
    }
    return n;
}

uint64_t players_same_token(const struct players *p, uint64_t *v)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n; i++)
        if (p->v[i].token_len != 0)
            v[n++] = text_hash(p->v[i].token, p->v[i].token_len);
    return check_repeats(v, n);
}

uint64_t players_same_pass(const struct players *p, uint64_t *v)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n; i++)
        if (p->v[i].id_hash != 0)
            v[n++] = p->v[i].id_hash;
    return check_repeats(v, n);
}

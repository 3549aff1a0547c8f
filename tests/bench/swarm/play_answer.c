/* play_answer.c: what an answer means for its player.
 *
 * 503, 429      -> the same request again after Retry-After, with jitter
 * no answer     -> the same request again, soon, probably through another router
 * 404, 410      -> gone; lost, unless the player had stayed away
 * anything else -> counted as odd, and the request is tried again */
#include "tests/bench/swarm/play_int.h"

#include <stdio.h>
#include <string.h>

#include "common/net/ev.h"
#include "tests/bench/swarm/now.h"

#define SECOND 1000000
#define RETRY_MIN_US (SECOND / 5)
#define ASK_AGAIN_US (SECOND / 2)

static void note(struct play *p, enum example_of which, uint32_t who, const char *what,
                 uint64_t a, uint64_t b)
{
    const struct player *x = &p->players.v[who];
    char *to = p->t.example[which];

    if (to[0] == '\0')
        snprintf(to, sizeof(p->t.example[0]), "player %u, token %.12s.., %s: %llu, %llu", who,
                 x->token, what, (unsigned long long)a, (unsigned long long)b);
}

static void rest(struct play *p, uint32_t who, enum player_state state)
{
    players_set(&p->players, who, state);
    p->at_rest++;
}

/* Again, after about that long; later with every failure in a row. */
static void again(struct play *p, uint32_t who, int64_t after_us)
{
    struct player *x = &p->players.v[who];

    x->fails += x->fails < 1000;
    x->planned_us = now_us() + (int64_t)((double)after_us * (1 + 0.5 * rng_unit(&p->rng)));
    wheel_add(&p->wheel, who, x->planned_us / 1000);
}

static void odd(struct play *p, uint32_t who, int status)
{
    p->t.odd++;
    note(p, EXAMPLE_ODD, who, "status, request", (uint64_t)status, p->players.v[who].act);
    again(p, who, SECOND);
}

void play_on_fail(void *ctx, uint32_t who, const char *why)
{
    struct play *p = ctx;
    unsigned fails = p->players.v[who].fails;

    (void)why;
    p->t.fails++;
    again(p, who, RETRY_MIN_US << (fails < 4 ? fails : 4));
}

/* ---- positions and passes ------------------------------------------------------------ */

static void see_position(struct play *p, uint32_t who, const struct ticket *t)
{
    struct player *x = &p->players.v[who];

    if (!t->has_position) {
        p->t.null_positions++;
        return;
    }
    if (x->position != 0 && t->position > x->position) {
        p->t.grew++;
        note(p, EXAMPLE_GREW, who, "position was, is", x->position, t->position);
    }
    x->position = t->position;
}

static void admitted_once_more(struct play *p, uint32_t who, const struct ticket *t)
{
    struct player *x = &p->players.v[who];

    if (text_hash(t->pass, t->pass_len) == x->pass_hash)
        return;
    p->t.double_pass++;
    note(p, EXAMPLE_DOUBLE, who, "released at was, is (ms)", (uint64_t)x->released_ms,
         (uint64_t)t->released_ms);
}

static void end_session_or_rest(struct play *p, uint32_t who)
{
    if (p->o->session_s > 0)
        play_at(p, who, ACT_END,
                now_us() + (int64_t)(rng_exp(&p->rng, p->o->session_s) * 1e6));
    else
        p->at_rest++;
}

/* How long after its release a player knew. Needs a cluster on this machine's clock. Those
 * who were let in at once, or stayed away, were not waiting for it. */
static void see_notice(struct play *p, const struct player *x)
{
    int64_t us = now_wall_us() - x->released_ms * 1000;

    if (x->told_ms == 0 || (x->flags & HAS_STRAYED) != 0 || us < 0)
        return;
    lat_add(&p->t.notice, (uint64_t)us);
    lat_add(&p->t.notice_told, (uint64_t)us / x->told_ms);
}

static void admitted(struct play *p, uint32_t who, const struct ticket *t)
{
    struct player *x = &p->players.v[who];

    if (x->state == PLAYER_ADMITTED) {
        admitted_once_more(p, who, t);
        end_session_or_rest(p, who);
        return;
    }
    players_set(&p->players, who, PLAYER_ADMITTED);
    x->pass_hash = text_hash(t->pass, t->pass_len);
    x->id_hash = pass_id_hash(t->pass, t->pass_len);
    x->released_ms = t->released_ms;
    lat_add(&p->t.wait, (uint64_t)(now_us() - x->join_sent_us));
    see_notice(p, x);
    p->t.last_admit_us = now_us();
    if (p->t.first_admit_us == 0)
        p->t.first_admit_us = p->t.last_admit_us;
    if ((x->flags & FATE_REPEATS) != 0)
        play_at(p, who, ACT_ASK_AGAIN, p->t.last_admit_us + ASK_AGAIN_US);
    else
        end_session_or_rest(p, who);
}

/* ---- joins --------------------------------------------------------------------------- */

static void first_join(struct play *p, uint32_t who, const struct ticket *t)
{
    struct player *x = &p->players.v[who];

    memcpy(x->token, t->token, t->token_len);
    x->token_len = (uint8_t)t->token_len;
    x->join_done_us = now_us();
    p->t.joins++;
    p->t.last_join_us = x->join_done_us;
    if (p->t.first_join_us == 0)
        p->t.first_join_us = x->sent_us;
    lat_pair_add(&p->t.join_lat, x->planned_us, x->sent_us, x->join_done_us);
    players_set(&p->players, who, PLAYER_WAITING);
}

/* What a waiting player does after it was told to wait. */
static void plan_poll(struct play *p, uint32_t who, const struct ticket *t)
{
    struct player *x = &p->players.v[who];
    int64_t due = now_us() + (int64_t)t->poll_after_ms * 1000;
    enum player_act act = ACT_POLL;

    x->told_ms = t->poll_after_ms;
    if ((x->flags & (FATE_LEAVES | FATE_VANISHES | FATE_LATE)) != 0 &&
        x->polls_to_fate-- == 0) {
        if ((x->flags & FATE_VANISHES) != 0) {
            rest(p, who, PLAYER_VANISHED);
            return;
        }
        if ((x->flags & FATE_LEAVES) != 0)
            act = ACT_LEAVE;
        else
            due += (int64_t)(p->o->late_s * 1e6);
        x->flags = (uint8_t)((x->flags & ~(FATE_LEAVES | FATE_LATE)) |
                             ((x->flags & FATE_LATE) != 0 ? HAS_STRAYED | OWN_FAULT : 0));
    }
    play_at(p, who, act, due);
}

static void ticket_shown(struct play *p, uint32_t who, const struct ticket *t)
{
    if (t->state == TICKET_ADMITTED) {
        admitted(p, who, t);
        return;
    }
    if (p->players.v[who].state == PLAYER_ADMITTED) { /* a pass is not taken back */
        p->t.odd++;
        note(p, EXAMPLE_ODD, who, "waiting again, position", t->position, 0);
        p->at_rest++;
        return;
    }
    see_position(p, who, t);
    plan_poll(p, who, t);
}

static void on_join(struct play *p, uint32_t who, const struct answer *a)
{
    struct player *x = &p->players.v[who];
    struct ticket t;

    if (a->status == 403 || a->status == 404) {
        rest(p, who, PLAYER_REFUSED);
        return;
    }
    if ((a->status != 201 && a->status != 200) || ticket_parse(&t, a->body, a->len) < 0) {
        odd(p, who, a->status);
        return;
    }
    x->fails = 0;
    if (x->act == ACT_JOIN_AGAIN) {
        if (t.token_len != x->token_len || memcmp(t.token, x->token, t.token_len) != 0) {
            p->t.moved_token++;
            note(p, EXAMPLE_DOUBLE, who, "a second ticket, status", (uint64_t)a->status, 0);
        }
        ticket_shown(p, who, &t);
        return;
    }
    first_join(p, who, &t);
    if ((x->flags & FATE_RETRIES) != 0 && t.state == TICKET_WAITING) {
        see_position(p, who, &t);
        play_at(p, who, ACT_JOIN_AGAIN, now_us() + 1000);
    } else {
        ticket_shown(p, who, &t);
    }
}

/* ---- polls and leaving --------------------------------------------------------------- */

static void on_gone(struct play *p, uint32_t who, const struct answer *a)
{
    struct player *x = &p->players.v[who];
    bool rightly = (x->flags & OWN_FAULT) != 0 && a->status == 410;
    const char *why = "?";
    size_t n = 1;

    if (x->state == PLAYER_ADMITTED) { /* its pass has expired meanwhile */
        p->t.odd += a->status != 410;
        p->at_rest++;
        return;
    }
    if (!rightly) {
        char what[64];

        (void)json_member(a->body, a->len, a->status == 410 ? "reason" : "code", &why, &n);
        snprintf(what, sizeof(what), "%.*s, status, position", (int)(n < 40 ? n : 40), why);
        p->t.lost++;
        note(p, EXAMPLE_LOST, who, what, (uint64_t)a->status, x->position);
    }
    rest(p, who, rightly ? PLAYER_GONE : PLAYER_LOST);
}

static void on_poll(struct play *p, uint32_t who, const struct answer *a)
{
    struct player *x = &p->players.v[who];
    int64_t now = now_us();
    struct ticket t;

    if (a->status == 404 || a->status == 410) {
        on_gone(p, who, a);
        return;
    }
    if (a->status != 200 || ticket_parse(&t, a->body, a->len) < 0) {
        odd(p, who, a->status);
        return;
    }
    if (t.token_len != x->token_len || memcmp(t.token, x->token, t.token_len) != 0) {
        odd(p, who, a->status); /* somebody else's ticket */
        return;
    }
    x->fails = 0;
    p->t.polls++;
    lat_pair_add(&p->t.poll_lat, x->planned_us, x->sent_us, now);
    ticket_shown(p, who, &t);
}

static void on_leave(struct play *p, uint32_t who, const struct answer *a)
{
    if (a->status != 204) {
        odd(p, who, a->status);
        return;
    }
    p->t.leaves++;
    if (p->players.v[who].act == ACT_LEAVE)
        rest(p, who, PLAYER_LEFT);
    else
        p->at_rest++; /* the session is over; it stays counted as admitted */
}

/* Served far too late, by whosever fault: its turn may have come and gone, and no order can
 * be demanded. Only if we sent late may the cluster give its place up. */
static void see_delay(struct play *p, struct player *x)
{
    double bound_us = p->o->stray_s * 1e6;

    if (x->state != PLAYER_WAITING)
        return;
    if ((x->flags & HAS_STRAYED) == 0 && (double)(now_us() - x->due_us) > bound_us) {
        x->flags |= HAS_STRAYED;
        p->t.strayed++;
    }
    if ((double)(x->sent_us - x->planned_us) > bound_us)
        x->flags |= OWN_FAULT;
}

void play_on_answer(void *ctx, uint32_t who, const struct answer *a)
{
    struct play *p = ctx;
    struct player *x = &p->players.v[who];

    p->t.status[a->status < STATUS_MAX ? a->status : 0]++;
    see_delay(p, x);
    if (a->status == 503 || a->status == 429) {
        if (a->retry_after_s < 0)
            p->t.odd++; /* it must always be there */
        again(p, who, a->retry_after_s > 0 ? (int64_t)a->retry_after_s * SECOND : SECOND);
        return;
    }
    switch ((enum player_act)x->act) {
    case ACT_JOIN:
    case ACT_JOIN_AGAIN:
        on_join(p, who, a);
        break;
    case ACT_POLL:
    case ACT_ASK_AGAIN:
        on_poll(p, who, a);
        break;
    case ACT_LEAVE:
    case ACT_END:
        on_leave(p, who, a);
        break;
    }
}

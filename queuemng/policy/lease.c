/* lease.c: see the header. */
#include "queuemng/policy/lease.h"

#include <assert.h>
#include <string.h>

#define MARGIN(ttl)     ((msec_t)(ttl) / 8)
#define PATIENCE_MAX_MS 30000
#define STEADY_MS       60000 /* a term of this length ends all suspicion */

void lease_init(struct lease *l, uint32_t ttl_ms, uint64_t seed, msec_t now_ms)
{
    memset(l, 0, sizeof(*l));
    l->ttl_ms = ttl_ms;
    rng_seed(&l->rng, seed);
    l->next_ms = now_ms;
    l->patience_ms = ttl_ms / 3;
}

bool lease_leads(const struct lease *l, msec_t now_ms)
{
    return l->state == LEASE_LEADING && now_ms < l->safe_until_ms;
}

static void act(struct lease_out *out, enum lease_do what, const struct lease *l,
                const char *why)
{
    out->act[out->n++] = (struct lease_act) {
        .what = what,
        .serial = l->serial,
        .epoch = what == LEASE_TAKE ? l->floor : l->epoch,
        .why = why,
    };
}

/* Up to a tenth of a lease, so that standbys do not ask in step. */
static msec_t jitter(struct lease *l)
{
    return (msec_t)rng_below(&l->rng, l->ttl_ms / 10 + 1);
}

static void step_down(struct lease *l, msec_t now_ms, const char *why,
                      struct lease_out *out)
{
    if (l->state != LEASE_LEADING)
        return;
    act(out, LEASE_STEP_DOWN, l, why);
    l->state = LEASE_STANDBY;
    l->asking = false;
    l->next_ms = now_ms + jitter(l);
}

static void on_granted(struct lease *l, const struct lease_in *in, struct lease_out *out)
{
    msec_t until = l->sent_ms + l->ttl_ms - MARGIN(l->ttl_ms);

    l->renewed_ms = l->sent_ms;
    if (in->now_ms >= until) { /* the answer took too long to be of use */
        l->next_ms = in->now_ms + jitter(l);
        return;
    }
    assert(l->state == LEASE_STANDBY && until <= l->sent_ms + l->ttl_ms);
    l->state = LEASE_LEADING;
    l->epoch = in->epoch;
    l->floor = u64_max(l->floor, in->epoch);
    l->safe_until_ms = until;
    l->term_ms = in->now_ms;
    l->next_ms = l->sent_ms + l->ttl_ms / 3;
    act(out, LEASE_LEAD, l, NULL);
}

static void on_renewed(struct lease *l, msec_t now_ms)
{
    l->renewed_ms = l->sent_ms;
    l->safe_until_ms = l->sent_ms + l->ttl_ms - MARGIN(l->ttl_ms);
    l->next_ms = l->sent_ms + l->ttl_ms / 3;
    if (now_ms - l->term_ms >= STEADY_MS)
        l->patience_ms = l->ttl_ms / 3;
}

static void on_held(struct lease *l, const struct lease_in *in, struct lease_out *out)
{
    msec_t third = l->ttl_ms / 3, left = in->left_ms > 0 ? in->left_ms : 0;

    l->floor = u64_max(l->floor, in->epoch);
    step_down(l, in->now_ms, "another manager holds the lease", out);
    l->next_ms = in->now_ms + (left < third ? left : third) + jitter(l);
}

/* Outranked: taken again under a higher epoch, but not at once: if two managers with two
 * stores do this to each other, they do it seldom. */
static void on_fenced(struct lease *l, const struct lease_in *in,
                         struct lease_out *out)
{
    l->floor = u64_max(l->floor, in->epoch);
    if (l->state != LEASE_LEADING)
        return;
    step_down(l, in->now_ms, "nodes have seen another manager", out);
    l->next_ms = in->now_ms + l->patience_ms + jitter(l);
    l->patience_ms = ms_min(l->patience_ms * 2, PATIENCE_MAX_MS);
}

/* Waits no longer each time: nobody is in our way. */
static void on_unusable(struct lease *l, msec_t now_ms, struct lease_out *out)
{
    if (l->state != LEASE_LEADING)
        return;
    step_down(l, now_ms, "this term cannot go on", out);
    l->next_ms = now_ms + l->ttl_ms / 3 + jitter(l);
}

static void on_answer(struct lease *l, const struct lease_in *in, struct lease_out *out)
{
    if (!l->asking || in->serial != l->serial)
        return; /* to a question that was given up */
    l->asking = false;
    if (in->kind == LEASE_GRANTED && l->state == LEASE_STANDBY)
        on_granted(l, in, out);
    else if (in->kind == LEASE_RENEWED && l->state == LEASE_LEADING)
        on_renewed(l, in->now_ms);
    else if (in->kind == LEASE_HELD)
        on_held(l, in, out);
    else
        l->next_ms = in->now_ms + l->ttl_ms / 10 + jitter(l);
}

static void resign(struct lease *l, msec_t now_ms, struct lease_out *out)
{
    bool led = l->state == LEASE_LEADING || l->asking;

    step_down(l, now_ms, "asked to stop", out);
    if (led) /* a take may have been granted without our knowing */
        act(out, LEASE_FREE, l, NULL);
    l->resigned = true;
    l->asking = false;
}

/* Silence is an answer, too. Whoever asks for us need not watch the time. */
static void give_up(struct lease *l, msec_t now_ms)
{
    if (!l->asking || now_ms < l->sent_ms + l->ttl_ms / 3)
        return;
    l->asking = false;
    l->next_ms = now_ms;
}

static void ask(struct lease *l, msec_t now_ms, struct lease_out *out)
{
    if (l->asking || l->resigned || now_ms < l->next_ms)
        return;
    assert(!l->asking && !l->resigned);
    l->serial++;
    l->asking = true;
    l->sent_ms = now_ms;
    act(out, l->state == LEASE_LEADING ? LEASE_RENEW : LEASE_TAKE, l, NULL);
}

void lease_step(struct lease *l, const struct lease_in *in, struct lease_out *out)
{
    out->n = 0;
    /* before all else: a late answer does not bring back what we had to take for lost */
    if (l->state == LEASE_LEADING && in->now_ms >= l->safe_until_ms)
        step_down(l, in->now_ms, "the lease could not be renewed in time", out);
    if (in->kind == LEASE_RESIGN)
        resign(l, in->now_ms, out);
    else if (in->kind == LEASE_FENCED)
        on_fenced(l, in, out);
    else if (in->kind == LEASE_UNUSABLE)
        on_unusable(l, in->now_ms, out);
    else if (in->kind != LEASE_TICK)
        on_answer(l, in, out);
    give_up(l, in->now_ms);
    ask(l, in->now_ms, out);
    out->wake_ms = l->resigned ? MSEC_NEVER
                   : l->asking ? l->sent_ms + l->ttl_ms / 3
                               : l->next_ms;
    assert(l->state != LEASE_LEADING || in->now_ms < l->safe_until_ms);
    if (l->state == LEASE_LEADING && l->safe_until_ms < out->wake_ms)
        out->wake_ms = l->safe_until_ms;
}

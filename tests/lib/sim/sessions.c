/* sessions.c: what backends want of sessions, by the pass (extend, revoke, release), and
 * what routers know of passes, for GET /v1/verify looks at nothing else:
 *
 *   at every pass   one for ever, but for a longer life once it was extended (I2)
 *   now and then    nobody's good pass is refused; a router that has had a quiet link to the
 *                   ticket's node for VERIFY_MS refuses what was given back there, until the
 *                   pass is over, and knows how long what was extended lasts (I10)
 *
 *   at every use    where a gate lets each pass in once, it opens once, also after the loss of its
 *                   segment (J20)
 *
 * Exempt: a segment that the crowd has brought back knows neither (PROTOCOL.md section 20);
 * and clocks that leapt.
 *
 *   also then       a pass is accepted by every router that hears a manager, for its life by
 *                   the true time, whatever clocks say (if they leap as seldom as few_leaps
 *                   says); and not when it is over, where none leapt (F19) */
#include "tests/lib/sim/sessions.h"

#include "tests/lib/sim/check.h"
#include "tests/lib/sim/engine.h"
#include "tests/lib/sim/fault_clocks.h"
#include "tests/lib/sim/faults.h"
#include "tests/lib/sim/proc.h"
#include "tests/lib/sim/router.h"

#include "router/gate/passes.h"

#define VERIFY_MS 1500 /* a tick, and what a message takes; a stopped process has to wake up */
#define EVERY_MS  500
#define HEARS_MS  2500 /* STATS come each second */
#define OVER_MS   (PASS_CLOCK_SLACK_MS + 2000) /* so late it is refused, and rounding */

/* ---- what is wanted ------------------------------------------------------------------ */

/* By the pass, or with the token as any client does. */
bool session_ends_by_pass(struct sim *s, struct player *p)
{
    bool by_pass = p->state == P_ADMITTED && s->o.command_share > 0 && rng_chance(&s->rng, 0.6);

    if (by_pass)
        p->command = rng_chance(&s->rng, 0.5) ? SESS_RELEASE : SESS_REVOKE;
    return by_pass;
}

bool session_is_extended(struct sim *s, struct player *p)
{
    if (s->o.command_share <= 0 || !rng_chance(&s->rng, s->o.command_share))
        return false;
    p->command = SESS_EXTEND;
    return true;
}

/* As router/calls/session.c does. */
int64_t session_until_s(const struct sim *s, const struct route_queue *q,
                        const struct sreq *r)
{
    int64_t most = r->released_s + q->map.session_max_s;
    int64_t until = sim_wall(s) / 1000 + q->map.pass_ttl_s;

    return until < most ? until : most;
}

/* ---- what was done ------------------------------------------------------------------- */

void session_ended(struct sim *s, struct ticket *t)
{
    if (t->fate != T_ADMITTED || t->ended != 0)
        return;
    t->ended = s->now;
    t->told_since = 0;
}

/* A renewed pass is the same ticket's, until its session ends now. */
static void check_renewed(struct sim *s, const struct sess_req *q, const struct sess_ans *a)
{
    char name[40], until[30], pass[200];
    size_t n = (size_t)snprintf(pass, sizeof(pass), "%.*s", (int)a->pass_len,
                                a->pass_len > 0 ? a->pass : "");
    size_t end = (size_t)snprintf(until, sizeof(until), ".%lld", (long long)a->until_s);

    snprintf(name, sizeof(name), ".%llu-%u.", (unsigned long long)q->seg, q->number);
    s->count.renewed++;
    if (n < end || strcmp(pass + n - end, until) != 0 || strstr(pass, name) == NULL)
        sim_fail(s, "I2: %s until %s is renewed with %s", name, until, pass);
}

/* The same use may be asked again, when its answer was lost. */
static void check_use(struct sim *s, const struct sess_req *q, struct ticket *t)
{
    s->count.used++;
    if (t->used != 0 && t->used != (uint64_t)q->until_s)
        sim_fail(s, "J20: the pass of %llu-%u opens twice", (unsigned long long)t->seg, t->number);
    if (t->ended != 0 && !t->rebuilt)
        sim_fail(s, "J20: the session of %llu-%u was given back, and its pass opens",
                 (unsigned long long)t->seg, t->number);
    t->used = (uint64_t)q->until_s;
}

void session_done(struct sim *s, const struct sess_req *q, const struct sess_ans *a)
{
    struct ticket *t = check_ticket(s, q->seg, q->number);

    if (t == NULL || a->state != SESS_OK)
        return;
    if (q->command == SESS_USE) {
        check_use(s, q, t);
        return;
    }
    if (q->command != SESS_EXTEND) {
        session_ended(s, t);
        return;
    }
    s->count.extended++;
    if (q->renews)
        check_renewed(s, q, a);
    if (t->ended != 0 && !t->rebuilt)
        sim_fail(s, "I10: the session of %llu-%u was given back, and is extended",
                 (unsigned long long)t->seg, t->number);
    if (a->until_s < q->until_s && !t->rebuilt && s->o.max_active == 0) /* session_hold */
        sim_fail(s, "a session is to last until %lld, and lasts until %lld",
                 (long long)q->until_s, (long long)a->until_s);
    if (a->until_s <= t->until_s)
        return;
    t->until_s = a->until_s;
    t->told_since = 0;
}

int64_t session_last_s(const struct ticket *t)
{
    return t->rebuilt || t->until_s < t->expires_s ? t->expires_s : t->until_s;
}

/* A pass made after an extension says the later end; after a loss the first one again. */
bool session_may_say(const struct ticket *t, int64_t expires_s)
{
    return t->expires_s == expires_s || (t->rebuilt && expires_s == t->first_expires_s) ||
           (expires_s > t->expires_s && expires_s <= t->until_s);
}

/* ---- what routers know --------------------------------------------------------------- */

static bool is_quiet(const struct sim *s, const struct proc *p)
{
    usec_t last = p->paused_until > p->slow_until ? p->paused_until : p->slow_until;

    return p->alive && last + VERIFY_MS * 1000 < s->now &&
           p->disk_slow_until + VERIFY_MS * 1000 < s->now;
}

static bool is_linked(const struct sim *s, const struct proc *router, const struct proc *node)
{
    const struct conn *c = s->link[router->idx][node->idx];

    return c != NULL && c->told[0] && c->told[1] && !c->broken && !c->mute[0] && !c->mute[1] &&
           c->up_at + VERIFY_MS * 1000 < s->now && is_quiet(s, router) &&
           is_quiet(s, node) && s->slow_until[router->idx][node->idx] + VERIFY_MS * 1000 < s->now;
}

/* Has the node that has the ticket had its news for long enough? */
static bool has_told(struct sim *s, struct ticket *t, struct proc *node)
{
    struct msg_why q = { .seg = t->seg, .number = t->number };
    struct msg_why_ans a;
    bool knows;

    segtab_why(node->segtab, clock_now(node), &q, &a);
    knows = t->ended != 0 ? a.state == WHY_GONE && a.pass_expires_s != 0
                          : a.state == WHY_ADMITTED && a.pass_expires_s == t->until_s;
    if (!knows || t->told_by != node->idx || t->told_since == 0) {
        t->told_by = node->idx;
        t->told_since = knows ? s->now : 0;
    }
    return knows && s->now - t->told_since > VERIFY_MS * 1000;
}

static void look_ended(struct sim *s, const struct ticket *t, const struct proc *router)
{
    const struct revoked *r = srouter_revoked(router->router);

    if (!revoked_has(r, t->seg, t->number))
        sim_fail(s, "I10: %s lets in %llu-%u, whose pass was given back %.3f s ago",
                 router->name, (unsigned long long)t->seg, t->number,
                 (double)(s->now - t->ended) / 1e6);
    else if (revoked_until_s(r, t->seg, t->number) < session_last_s(t))
        sim_fail(s, "I10: %s forgets that %llu-%u was given back before its pass is over",
                 router->name, (unsigned long long)t->seg, t->number);
}

static void look_longer(struct sim *s, const struct ticket *t, const struct proc *router)
{
    if (revoked_until_s(srouter_extended(router->router), t->seg, t->number) < t->until_s)
        sim_fail(s, "I10: %s does not know that the session of %llu-%u was extended",
                 router->name, (unsigned long long)t->seg, t->number);
}

/* Its first pass, as it is written. */
static bool accepts(const struct sim *s, const struct ticket *t, const struct proc *router)
{
    usec_t told_at;
    const struct pass_clock *c = srouter_clock(router->router, &told_at);
    int64_t from_s = t->released_ms / 1000, until_s = t->first_expires_s;

    return pass_clock_good(
        pass_clock_s(c, sim_ms(s), clock_wall(router) / 1000, from_s, until_s), from_s, until_s);
}

static void look_accepted(struct sim *s, const struct ticket *t, const struct proc *router)
{
    int64_t age_ms = sim_wall(s) - clock_true(s, t->released_ms), life_ms = s->o.pass_ttl_ms;
    usec_t told_at;

    (void)srouter_clock(router->router, &told_at);
    if (t->rebuilt || t->ended != 0 || told_at + HEARS_MS * 1000 < s->now)
        return;
    if (age_ms > HEARS_MS && age_ms < life_ms - 1000) {
        s->count.accepted++;
        if (!accepts(s, t, router))
            sim_fail(s, "I10: %s refuses the pass of %llu-%u, %lld ms old", router->name,
                     (unsigned long long)t->seg, t->number, (long long)age_ms);
    } else if (s->count.jumps == 0 && age_ms > life_ms + OVER_MS &&
               accepts(s, t, router)) {
        sim_fail(s, "I10: %s accepts the pass of %llu-%u, which is over", router->name,
                 (unsigned long long)t->seg, t->number);
    }
}

static void look(struct sim *s, struct ticket *t)
{
    const struct sseg *host = check_host(s, t->seg);
    struct proc *node = host != NULL ? &s->proc[host->node] : NULL;
    bool told = (t->ended != 0 || t->until_s > t->first_expires_s) && !t->rebuilt &&
                node != NULL && is_quiet(s, node) && has_told(s, t, node);

    for (unsigned i = 0; i < s->o.routers && !s->failed; i++) {
        const struct proc *router = proc_of(s, SIM_ROUTER, i);

        if (!router->alive)
            continue;
        if (!t->leaving && revoked_has(srouter_revoked(router->router), t->seg, t->number))
            sim_fail(s, "I10: %s refuses the pass of %llu-%u, who is inside", router->name,
                     (unsigned long long)t->seg, t->number);
        else if (told && is_linked(s, router, node) && t->ended != 0)
            look_ended(s, t, router);
        else if (told && is_linked(s, router, node))
            look_longer(s, t, router);
    }
}

static void look_at_clocks(struct sim *s, const struct ticket *t)
{
    for (unsigned i = 0; i < s->o.routers && !s->failed; i++) {
        const struct proc *router = proc_of(s, SIM_ROUTER, i);

        if (router->alive && is_quiet(s, router))
            look_accepted(s, t, router);
    }
}

void sessions_sweep(struct sim *s)
{
    if (s->now < s->sessions_at)
        return;
    s->sessions_at = s->now + EVERY_MS * 1000;
    for (uint32_t i = 0; i < s->n_tickets && !s->failed; i++) {
        struct ticket *t = &s->ticket[i];

        if (t->fate == T_ADMITTED && (s->count.jumps == 0 || s->o.few_leaps))
            look_at_clocks(s, t);
        if (s->count.jumps == 0 && t->fate == T_ADMITTED && session_last_s(t) * 1000 > sim_wall(s) + 1000)
            look(s, t);
    }
}

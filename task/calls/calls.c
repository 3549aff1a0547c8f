/* calls.c: calls on their way are as many as slots. */
#include "task/calls/calls.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "task/calls/endpoint_lets.h"
#include "task/containers/rate.h"

#define LOG_MODULE "calls"

#define ASIDE_MS 1000

void calls_init(struct calls *c)
{
    *c = (struct calls){ .most = SIZE_MAX };
    list_init(&c->endpoints);
    list_init(&c->going);
    list_init(&c->early);
    list_init(&c->eased);
    list_init(&c->joined);
    map_init(&c->by_id, 0); /* our own numbers */
    map_init(&c->by_task, 0);
}

void calls_fini(struct calls *c)
{
    each_going (c, g)
        calls_end(c, g, 0);
    each_endpoint (&c->endpoints, ep)
        if (ep->of != NULL)
            endpoints_forget(&c->endpoints, ep);
    each_endpoint (&c->endpoints, ep)
        endpoints_forget(&c->endpoints, ep);
    map_fini(&c->by_id);
    map_fini(&c->by_task);
}

static void told_back(const struct going_call *g)
{
    if (g->at->def.serial != 0)
        told_returns(&g->at->told, g->at->def.told, &g->told_at, g->cost);
}

static void settle_units(struct going_call *g, msec_t now)
{
    const struct verdict *v = &g->verdict;
    uint64_t truth = g->is_used && v->kind != VERDICT_PENDING ? g->used : g->cost;

    if (v->unsent || v->spared)
        truth = 0;
    endpoint_settles(g->at, g->cost, truth, g->begun, now);
    if (v->unsent)
        told_back(g);
    g->cost = truth;
}

/* Nothing was sent, so nothing is paid. */
static void give_back(struct going_call *g, msec_t now)
{
    endpoint_returns(g->at, g->cost, g->begun, now);
    told_back(g);
    g->cost = 0;
}

static void hand_begins(struct endpoint *ep, struct going_call *g)
{
    g->by_hand = true;
    ep->hand.state = PROBE_SENT;
    ep->hand.call = g->id;
}

/* False: another one was ordered since, or it is none. */
static bool is_hand(const struct going_call *g)
{
    return g->by_hand && g->at->hand.state == PROBE_SENT && g->at->hand.call == g->id;
}

struct going_call *calls_begin(struct calls *c, struct endpoint *at, uint32_t attempt, msec_t now)
{
    struct endpoint *ep = at->of != NULL ? at->of : at;
    struct rate r = endpoint_rate_now(ep, now);
    struct going_call *g = calloc(1, sizeof(*g));

    if (g == NULL || map_set_ptr(&c->by_id, c->last_id + 1, g) < 0) {
        free(g);
        return NULL;
    }
    *g = (struct going_call){ .endpoint = ep, .at = at, .id = ++c->last_id, .attempt = attempt, .begun = now };
    buf_init(&g->result);
    list_init(&g->followers);
    g->told_at = at->told.begun;
    if (at->hand.state == PROBE_ASKED)
        hand_begins(at, g);
    else
        g->probe = breaker_begins(&at->breaker);
    ep->tat = rate_pass(&r, ep->tat, now);
    if (attempt <= 1)
        budget_first(&ep->budget, now);
    ep->in_flight++;
    at->in_flight += at != ep;
    list_push_back(&c->going, &g->in);
    return g;
}

struct going_call *calls_at(const struct calls *c, uint64_t id)
{
    return map_get_ptr(&c->by_id, id);
}

static uint64_t key_of(part_no part, task_no no)
{
    return no ^ (uint64_t)part << 40;
}

void calls_name(struct calls *c, struct going_call *g)
{
    (void)!map_set_ptr(&c->by_task, key_of(g->part, g->no), g);
}

struct going_call *calls_of_task(const struct calls *c, part_no part, task_no no)
{
    struct going_call *g = map_get_ptr(&c->by_task, key_of(part, no));

    return g != NULL && g->part == part && g->no == no ? g : NULL;
}

static void count(struct endpoint_counts *n, const struct call_answer *a, const struct verdict *v)
{
    n->succeeded += v->kind == VERDICT_DONE;
    n->failed += v->failed;
    n->ms += a->ms;
    n->of_class[v->class]++;
    n->of_fault[a->fault] += a->fault != CALL_NONE;
}

static void say_well(const struct endpoint *ep)
{
    if (ep->of == NULL)
        log_info("event=endpoint_well endpoint=%s", ep->name);
    else if (ep->def.serial != 0)
        log_info("event=target_well endpoint=%s url=%s address=%s", ep->of->name,
                 log_q(ep->def.url, strlen(ep->def.url)), ep->def.address);
}

static void say_down(const struct endpoint *ep)
{
    if (ep->of == NULL)
        log_warn("event=endpoint_down endpoint=%s open_ms=%" PRId64, ep->name, ep->breaker.last_ms);
    else if (ep->def.serial != 0)
        log_warn("event=target_down endpoint=%s url=%s address=%s open_ms=%" PRId64, ep->of->name,
                 log_q(ep->def.url, strlen(ep->def.url)), ep->def.address, ep->breaker.last_ms);
}

static void tell_breaker(struct endpoint *ep, bool probe, enum breaker_end how, msec_t now)
{
    struct breaker_rules r = { ep->def.breaker_ratio, ep->def.breaker_min,
                               ep->def.breaker_open_ms };
    bool was_down = endpoint_is_down(ep);

    breaker_ends(&ep->breaker, &r, probe, how, now);
    if (was_down && !endpoint_is_down(ep)) {
        ep->ramp = now;
        say_well(ep);
    } else if (!was_down && endpoint_is_down(ep)) {
        say_down(ep);
    }
}

/* Only what the target said, or did not, of how much it bears. */
static void tell_adaptive(struct endpoint *ep, const struct call_answer *a, const struct verdict *v,
                          msec_t now)
{
    struct adaptive_rules r = endpoint_adaptive_rules(ep);
    bool too_much = a->fault == CALL_TIMEOUT || a->fault == CALL_CONNECT || a->status == 429 ||
                    a->status == 503;

    if (!endpoint_is_adaptive(ep))
        return;
    if (too_much)
        adaptive_too_much(&ep->adaptive, &r, now);
    else if (a->fault == CALL_NONE && !v->failed && v->kind != VERDICT_PENDING)
        adaptive_well(&ep->adaptive, &r, a->ms, ep->in_flight, now);
}

static void tell_hand(struct going_call *g, bool well, uint64_t ms)
{
    struct endpoint *ep = g->at;

    if (well && !ep->def.tripped)
        breaker_heard_well(&ep->breaker);
    if (!is_hand(g))
        return;
    ep->hand.state = PROBE_ANSWERED;
    ep->hand.ms = ms;
    copy_text(ep->hand.said, sizeof(ep->hand.said), g->why);
}

bool call_may_pass(const struct call_answer *a, int64_t wall_ms)
{
    enum verdict_kind kind = verdict_of(a, wall_ms).kind;

    return (kind == VERDICT_DONE || kind == VERDICT_DEAD) && a->status >= 200 && a->status < 600 &&
           a->status / 100 != 3 && a->status != 204 && a->status != 205;
}

/* A target told an answer of no known length for as long as it was let: a stream without an end, say.
 * The breaker asks whether a target is well, and one that says a good head and goes on talking is; how
 * long it may talk is the deadline's affair. A target that does not keep up with the length that it has
 * said itself is slow. */
static bool was_telling(const struct going_call *g, const struct call_answer *a)
{
    return a->fault == CALL_TIMEOUT && g->passed && !a->sized && g->reader.window.told > 0;
}

/* The target waited for its reader, or for the reader's link. */
static bool was_kept_waiting(const struct going_call *g, const struct call_answer *a)
{
    return a->fault == CALL_TIMEOUT && (g->held != NULL || (g->reader.peer != 0 && g->reader.waited_for));
}

/* Another attempt would begin anew what the reader has a part of. */
static void interrupts(struct going_call *g)
{
    g->verdict.kind = VERDICT_DEAD;
    g->verdict.spared = false;
}

static void set_why(struct going_call *g, const struct call_answer *a)
{
    if (g->passed && a->fault != CALL_NONE)
        snprintf(g->why, sizeof(g->why), "%" PRIu64 " bytes were passed on: %s: %s", g->reader.window.told,
                 call_fault_word(a->fault), a->why);
    else if (a->fault != CALL_NONE)
        snprintf(g->why, sizeof(g->why), "%s: %s", call_fault_word(a->fault), a->why);
    else
        copy_text(g->why, sizeof(g->why), call_class_word(g->verdict.class));
}

/* Another target that is well takes what this one could not be sent: at once, and in its place in line.
 * A delay that this one wants does not hold there. */
static void turn_elsewhere(struct going_call *g, msec_t now)
{
    struct verdict *v = &g->verdict;

    if (g->at->of == NULL || v->kind != VERDICT_RETRY)
        return;
    if (v->unsent)
        g->at->aside = now + ASIDE_MS;
    if (!endpoint_is_well_somewhere(g->endpoint, now))
        return;
    v->elsewhere = v->unsent && !g->by_hand && !g->passed;
    v->least_ms = 0;
}

void calls_hear(struct going_call *g, const struct call_answer *a, const void *p, size_t n)
{
    const struct msg_endpoint *d = &g->endpoint->def;

    if (a->length == 0) /* unknown: the rule of one that has gone meanwhile */
        usage_begin(&g->usage, d->serial != 0 ? d->used : "", a->type);
    usage_more(&g->usage, p, n);
}

void calls_told(struct going_call *g, const struct call_answer *a, msec_t now, int64_t wall_ms)
{
    struct endpoint *ep = g->at;
    bool good;

    if (g->told_heard || a->status == 0 || ep->def.serial == 0 || ep->def.told[0] == 0)
        return;
    g->told_heard = true;
    good = told_hear(&ep->told, ep->def.told, a->told, &g->told_at, now, wall_ms);
    if (!good && !ep->told.unread)
        log_warn("event=quota_unread endpoint=%s left=%s reset=%s do=\"look at `remaining`: fields of answers that say "
                 "how many are left, and until when\"", g->endpoint->name, log_q(a->told[0], strlen(a->told[0])),
                 log_q(a->told[1], strlen(a->told[1])));
    ep->told.unread = !good;
}

/* The body says it, or else the head. A call that was refused (429) took nothing, whatever that says. */
static void learn_used(struct going_call *g, const struct call_answer *a)
{
    uint64_t most = g->endpoint->def.used_most;

    if (a->fault != CALL_NONE || g->verdict.spared)
        return;
    g->is_used = (!a->goes_on && usage_end(&g->usage, &g->used)) ||
                 cost_number(a->used, strlen(a->used), &g->used);
    g->used = u64_min(g->used, most != 0 ? most : TASK_COST_MAX);
}

void calls_answered(struct going_call *g, const struct call_answer *a, msec_t now, int64_t wall_ms)
{
    struct endpoint *ep = g->at;
    struct verdict *v = &g->verdict;

    assert(g->step == CALL_SENT);
    g->step = CALL_ENDED;
    *v = verdict_of(a, wall_ms);
    if (g->passed && v->kind == VERDICT_RETRY)
        interrupts(g);
    if (was_kept_waiting(g, a) || was_telling(g, a))
        v->failed = false;
    set_why(g, a);
    learn_used(g, a);
    calls_told(g, a, now, wall_ms);
    v->status = (uint32_t)a->status;
    v->excused = v->kind == VERDICT_RETRY && (g->probe || g->by_hand);
    settle_units(g, now);
    count(&g->endpoint->n, a, v);
    if (ep != g->endpoint)
        count(&ep->n, a, v);
    if (g->by_hand)
        tell_hand(g, !v->failed && !call_fault_is_ours(a->fault), a->ms);
    else
        tell_breaker(ep, g->probe,
                     call_fault_is_ours(a->fault) ? END_UNKNOWN : v->failed ? END_FAILED : END_WELL, now);
    v->excused |= v->kind == VERDICT_RETRY &&
                  (ep->breaker.state == BREAKER_OPEN || ep->def.tripped);
    if (!g->reader.slow && !was_telling(g, a))
        tell_adaptive(ep, a, v, now);
    g->probe = false;
    if (v->hold_ms > 0)
        ep->held = ms_max(ep->held, now + v->hold_ms);
    turn_elsewhere(g, now);
    if (v->kind == VERDICT_RETRY && !v->elsewhere)
        v->least_ms = ms_max(v->least_ms, budget_retry(&g->endpoint->budget, now));
}

void calls_refuse(struct going_call *g)
{
    assert(g->step == CALL_TAKEN);
    tell_breaker(g->at, g->probe, END_UNKNOWN, 0);
    g->step = CALL_ENDED;
    g->probe = false;
    g->verdict = (struct verdict){ .kind = VERDICT_DEAD, .class = CLASS_NO_CALL };
    copy_text(g->why, sizeof(g->why), call_class_word(CLASS_NO_CALL));
    g->endpoint->n.of_class[CLASS_NO_CALL]++;
    if (g->by_hand)
        tell_hand(g, false, 0);
}

void calls_end(struct calls *c, struct going_call *g, msec_t now)
{
    struct endpoint *ep = g->at;

    assert(ep->in_flight > 0 && g->sending == NULL && g->whole == NULL);
    if (g->step != CALL_ENDED && !g->by_hand)
        tell_breaker(ep, g->probe, END_UNKNOWN, now);
    if (g->step == CALL_TAKEN || (g->step == CALL_ENDED && g->verdict.class == CLASS_NO_CALL))
        give_back(g, now);
    if (is_hand(g))
        ep->hand.state = PROBE_LOST;
    ep->in_flight--;
    g->endpoint->in_flight -= g->endpoint != ep;
    list_remove(&c->going, &g->in);
    if (g->held != NULL)
        list_remove(g->held, &g->in_held);
    if (list_linked(&g->in_early))
        list_remove(&c->early, &g->in_early);
    if (list_linked(&g->in_eased))
        list_remove(&c->eased, &g->in_eased);
    if (list_linked(&g->in_joined))
        list_remove(&c->joined, &g->in_joined);
    list_each (&g->followers, f) /* links are down, or the process ends */
        list_remove(&g->followers, f);
    (void)map_del(&c->by_id, g->id);
    if (map_get_ptr(&c->by_task, key_of(g->part, g->no)) == g)
        (void)map_del(&c->by_task, key_of(g->part, g->no));
    buf_fini(&g->result);
    free(g);
}

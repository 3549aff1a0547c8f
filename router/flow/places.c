/* places.c: see places.h. */
#include "router/flow/places.h"

#include <assert.h>
#include <string.h>

#include "router/flow/steps.h"

#define IS(x)   (1u << PLACE_IS_##x)
#define ALL     ((1u << PLACE_NIS) - 1)
#define NEITHER (IS(UNKNOWN) | IS(WAITING) | IS(INSIDE)) /* admitted, nor over */

/* Bits of the places that are one of `set`. */
static uint8_t those(const struct places *p, unsigned set)
{
    uint8_t m = 0;

    for (unsigned i = 0; i < p->n; i++)
        m |= (uint8_t)((set >> p->v[i].is & 1) << i);
    return m;
}

void places_begin(struct places *p, enum places_step step)
{
    assert(p->n > 0 && p->n <= PLACES_MAX);
    p->step = (uint8_t)step;
    p->asks = (uint8_t)((1u << p->n) - 1);
}

unsigned places_first(const struct places *p)
{
    unsigned i = 0;

    while (i < p->n && p->v[i].is != PLACE_IS_ADMITTED)
        i++;
    return i;
}

void places_one_order(struct places *p, char (*queue)[NAME_MAX_LEN + 1])
{
    const struct places was = *p;

    assert(p->step == PLACES_JOIN);
    for (unsigned i = 0; i < p->n; i++) {
        uint32_t since = was.v[i].token.issued_s;
        unsigned at = 0; /* number of those before it */

        for (unsigned k = 0; k < p->n; k++) {
            uint32_t its = was.v[k].token.issued_s;

            at += its < since || (its == since && strcmp(queue[k], queue[i]) < 0);
        }
        p->v[at] = was.v[i];
    }
}

void place_give_back(struct flow *f, struct routes *r, const struct token *t, bool bare, bool again, msec_t now_ms)
{
    if (bare)
        flow_leave(f, r, t, now_ms);
    else
        flow_give_back(f, r, t, now_ms);
    f->unsure = again && !bare;
}

void place_came_late(struct flow *f, struct routes *r, const struct append_ans *a, bool named, msec_t now_ms)
{
    bool counted = a->state == APPEND_EXISTING && a->counted == APPEND_COUNTED;
    struct token t = { .seg = a->seg != 0 ? a->seg : f->seg, .number = a->number, .issued_s = a->issued_s };

    assert(f->kind == FLOW_JOIN && f->asks == FLOW_JOIN && f->todo == FLOW_ASK);
    if (a->state == APPEND_OK || a->state == APPEND_ENTERED || counted)
        place_give_back(f, r, &t, !named || f->bare, false, now_ms);
    else
        flow_end(f, FLOW_UNAVAIL);
}

void places_ask(const struct places *p, unsigned i, struct flow *f, struct routes *r, struct replicas *known,
                msec_t now_ms)
{
    const struct token *t = &p->v[i].token;

    assert(i < p->n && (p->asks >> i & 1) != 0);
    switch ((enum places_step)p->step) {
    case PLACES_GIVE_UP:
        flow_give_up(f, r, t, now_ms);
        break;
    case PLACES_UNDO:
        place_give_back(f, r, t, !p->named || (p->bare >> i & 1) != 0, false, now_ms);
        break;
    case PLACES_LEAVE:
    case PLACES_LOSE:
        flow_leave(f, r, t, now_ms);
        break;
    default:
        assert(p->step != PLACES_JOIN);
        flow_poll(f, r, p->step == PLACES_LOOK ? known : NULL, t, now_ms);
    }
}

static void joined(struct places *p, unsigned i, const struct flow *f)
{
    uint8_t bit = (uint8_t)(1u << i);

    p->v[i].token = f->token;
    p->got |= flow_got(f) ? bit : 0;
    p->bare |= f->bare ? bit : 0;
    if (f->result != FLOW_OK && f->result != FLOW_EXISTING && p->failed == 0)
        p->failed = (uint8_t)(i + 1);
}

static void left(struct one_place *v, const struct flow *f)
{
    if (f->result == FLOW_OK || f->result == FLOW_GONE) {
        v->is = PLACE_IS_OVER;
        v->reason = f->result == FLOW_OK ? (uint8_t)GONE_LEFT : f->reason;
    } else {
        v->is = f->result == FLOW_INSIDE ? PLACE_IS_INSIDE : PLACE_IS_UNKNOWN;
    }
}

static void seen(struct one_place *v, const struct flow *f)
{
    v->is = PLACE_IS_UNKNOWN;
    v->poll_after_ms = 0;
    if (f->result == FLOW_GONE) {
        v->is = PLACE_IS_OVER;
        v->reason = f->reason;
    } else if (f->result == FLOW_OK || f->result == FLOW_EXISTING) {
        v->is = f->admitted ? PLACE_IS_ADMITTED : PLACE_IS_WAITING;
        v->position = f->position;
        v->early = f->position == 0 && f->no_place == NO_PLACE_EARLY;
        v->poll_after_ms = f->admitted ? 0 : f->poll_after_ms;
    }
}

void places_said(struct places *p, unsigned i, const struct flow *f)
{
    assert(i < p->n && (p->asks >> i & 1) != 0 && f->todo == FLOW_DONE);
    if (p->step == PLACES_JOIN)
        joined(p, i, f);
    if (p->step == PLACES_GIVE_UP || p->step == PLACES_LOSE || p->step == PLACES_LEAVE || p->step == PLACES_UNDO)
        left(&p->v[i], f);
    else
        seen(&p->v[i], f);
}

static void go(struct places *p, enum places_step step, unsigned asks)
{
    p->step = (uint8_t)step;
    p->asks = (uint8_t)asks;
}

/* Goes one step on; it may ask nothing. */
static void on(struct places *p)
{
    unsigned first = places_first(p);
    bool open = those(p, NEITHER) != 0;

    switch ((enum places_step)p->step) {
    case PLACES_JOIN: /* direct entry: a turn may be there already */
        if (p->failed != 0 || p->vain) {
            go(p, PLACES_UNDO, p->got);
            break;
        }
        /* fall through */
    case PLACES_LOOK:
        if (p->keeps && those(p, ALL & ~IS(UNKNOWN)) == 0)
            go(p, PLACES_FAILED, 0);
        else if (p->keeps || first == p->n)
            go(p, PLACES_DONE, 0);
        else
            go(p, PLACES_GIVE_UP, those(p, NEITHER));
        break;
    case PLACES_GIVE_UP:
        go(p, PLACES_CONFIRM, those(p, IS(INSIDE)));
        break;
    case PLACES_CONFIRM:
        if (open)
            go(p, PLACES_FAILED, 0);
        else
            go(p, PLACES_LOSE, those(p, IS(ADMITTED)) & ~(1u << first));
        break;
    case PLACES_LOSE:
        if (open)
            go(p, PLACES_FAILED, 0);
        else
            go(p, PLACES_TAKE, 1u << first);
        break;
    case PLACES_UNDO:
        go(p, PLACES_FAILED, 0);
        break;
    default:
        go(p, open ? PLACES_FAILED : PLACES_DONE, 0);
    }
}

void places_next(struct places *p)
{
    do
        on(p);
    while (p->asks == 0 && p->step < PLACES_DONE);
}

/* listeners.c: see listeners.h. */
#include "router/flow/listeners.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "router/replica/replicas.h"

#define NEWS_SHARE   64   /* a place that fell by one 64th is news */
#define PUT_OFF_MS   1000 /* a look without an answer: again after one to two of these */
#define RETURN_MS    500  /* earliest moment to come back */
#define RETURN_PER_S 5000 /* clients that are told to come back in a second */
#define RETURN_MOST_MS 20000 /* but each within that: idle time-outs are longer */

struct listen_bit {
    struct listen_ticket *who; /* ref */
    uint32_t number;
    uint32_t out : 1;   /* waits no more, as far as is known here */
    uint32_t next : 31; /* in its chain; as in listen_name.chain */
};

#define CHAIN_MOST 4 /* bits of a chain, on average */
#define TICKET_LISTENERS_MAX 1024 /* at a router: they are of one chain, which each that leaves looks through */

/* Bits of a name, and chains by number, to find who listens to one: a chain's bits are in falling order
 * of their places, so that nobody is found twice while listeners are removed. */
struct listen_name { /* id of a segment, as tokens name it */
    seg_id name;
    uint64_t version; /* version of the line that was looked at */
    struct listen_bit *bit; /* owned */
    uint32_t n, cap, n_chains;
    uint32_t few;    /* the chain, while there is one */
    uint32_t *chain; /* owned, or &few: one more than the first bit's place; 0: empty */
};

void listeners_init(struct listeners *l)
{
    memset(l, 0, sizeof(*l));
    map_init(&l->names, 0);
    list_init(&l->due);
    for (unsigned i = 0; i < LISTEN_SLOTS; i++)
        list_init(&l->slot[i]);
}

void listeners_fini(struct listeners *l)
{
    assert(l->n == 0 && l->names.n == 0);
    map_fini(&l->names);
}

/* ---- wakes ------------------------------------------------------------------------------ */

msec_t listen_beat_ms(const struct listen_ticket *x)
{
    return x->near ? LISTEN_NEAR_MS : LISTEN_BEAT_MS;
}

static msec_t wake_ms(const struct listen_ticket *x)
{
    return ms_min(x->look_ms, x->sent_ms + listen_beat_ms(x));
}

static struct list *list_of(struct listeners *l, const struct listen_ticket *x)
{
    return x->slot == LISTEN_SLOTS ? &l->due : &l->slot[x->slot];
}

/* Due at once while look_ms is 0. A wake behind the last slot, which is known when this process
 * was stopped, is looked at earlier, and waits again. */
static void wait(struct listeners *l, struct listen_ticket *x)
{
    int64_t s = (wake_ms(x) + LISTEN_SLOT_MS - 1) / LISTEN_SLOT_MS; /* never early */

    assert(!list_linked(&x->in_wakes) && !x->looking);
    s = s > l->now_slot ? s : l->now_slot;
    s = s < l->now_slot + LISTEN_SLOTS ? s : l->now_slot + LISTEN_SLOTS - 1;
    x->slot = x->look_ms == 0 ? LISTEN_SLOTS : (uint16_t)(s % LISTEN_SLOTS);
    list_push_back(list_of(l, x), &x->in_wakes);
}

static void wait_no_more(struct listeners *l, struct listen_ticket *x)
{
    if (list_linked(&x->in_wakes))
        list_remove(list_of(l, x), &x->in_wakes);
}

static void at_once(struct listeners *l, struct listen_ticket *x)
{
    if (x->looking) {
        x->again = true;
        return;
    }
    wait_no_more(l, x);
    x->look_ms = 0;
    wait(l, x);
}

/* ---- names ------------------------------------------------------------------------------ */

/* NULL: no memory. */
static struct listen_name *name_for(struct listeners *l, seg_id name)
{
    struct listen_name *n = map_get_ptr(&l->names, name);

    if (n != NULL || (n = calloc(1, sizeof(*n))) == NULL)
        return n;
    n->name = name;
    n->n_chains = 1;
    n->chain = &n->few;
    if (map_set_ptr(&l->names, name, n) == 0)
        return n;
    free(n);
    return NULL;
}

static void name_give(struct listeners *l, struct listen_name *n)
{
    if (n->n > 0)
        return;
    map_del(&l->names, n->name);
    if (n->chain != &n->few)
        free(n->chain);
    free(n->bit);
    free(n);
}

/* ---- chains ----------------------------------------------------------------------------- */

static uint32_t *chain_of(const struct listen_name *n, uint32_t number)
{
    return &n->chain[(uint64_t)(number * 0x9e3779b1u) * n->n_chains >> 32];
}

/* What a bit of this place is followed by, or it is there; *before is what it follows, 0: nothing. */
static uint32_t look_for(const struct listen_name *n, uint32_t at, uint32_t *before)
{
    uint32_t i = *chain_of(n, n->bit[at].number);

    for (*before = 0; i > at + 1; i = n->bit[i - 1].next)
        *before = i;
    return i;
}

static void set_next(struct listen_name *n, uint32_t number, uint32_t before, uint32_t i)
{
    if (before == 0)
        *chain_of(n, number) = i;
    else
        n->bit[before - 1].next = i & INT32_MAX;
}

static void chain_bit(struct listen_name *n, uint32_t at)
{
    uint32_t before;

    n->bit[at].next = look_for(n, at, &before) & INT32_MAX;
    set_next(n, n->bit[at].number, before, at + 1);
}

static void unchain_bit(struct listen_name *n, uint32_t at)
{
    uint32_t before, i = look_for(n, at, &before);

    assert(i == at + 1);
    set_next(n, n->bit[at].number, before, n->bit[at].next);
}

/* May one more listen to this ticket? */
static bool has_room(const struct listen_name *n, uint32_t number)
{
    uint32_t same = 0;

    for (uint32_t i = *chain_of(n, number); i != 0; i = n->bit[i - 1].next)
        same += n->bit[i - 1].number == number;
    return same < TICKET_LISTENERS_MAX;
}

/* Without memory chains are longer. */
static void more_chains(struct listen_name *n)
{
    uint32_t n_chains = 2 * n->n_chains, *chain;

    if (n->n <= CHAIN_MOST * n->n_chains || (chain = calloc(n_chains, sizeof(*chain))) == NULL)
        return;
    if (n->chain != &n->few)
        free(n->chain);
    n->chain = chain;
    n->n_chains = n_chains;
    for (uint32_t i = 0; i < n->n; i++)
        chain_bit(n, i);
}

/* ---- who listens ------------------------------------------------------------------------- */

bool listeners_add(struct listeners *l, struct listen_ticket *x, const struct token *t, msec_t now_ms)
{
    struct listen_name *n = name_for(l, t->seg);

    if (n == NULL)
        return false;
    if (l->n == 0)
        l->now_slot = now_ms / LISTEN_SLOT_MS;
    if (!has_room(n, t->number) || !GROW(n->bit, n->n, n->cap, 4)) {
        name_give(l, n);
        return false;
    }
    *x = (struct listen_ticket) { .token = *t, .name = n, .at = n->n, .looking = true,
                             .sent_ms = now_ms };
    n->bit[n->n++] = (struct listen_bit) { .who = x, .number = t->number };
    chain_bit(n, x->at);
    more_chains(n);
    n->version = 0; /* bit not looked at yet */
    l->changes = 0;
    l->n++;
    return true;
}

void listeners_remove(struct listeners *l, struct listen_ticket *x)
{
    struct listen_name *n = x->name;

    assert(n->bit[x->at].who == x);
    wait_no_more(l, x);
    l->n--;
    unchain_bit(n, x->at);
    if (x->at != --n->n) { /* the last one takes its place */
        unchain_bit(n, n->n);
        n->bit[x->at] = n->bit[n->n];
        n->bit[x->at].who->at = x->at;
        chain_bit(n, x->at);
    }
    name_give(l, n);
}

struct listen_ticket *listeners_first(const struct listeners *l)
{
    uint64_t name, val;

    return map_next(&l->names, 0, &name, &val) != 0
               ? ((const struct listen_name *)(uintptr_t)val)->bit[0].who
               : NULL;
}

/* ---- bits ------------------------------------------------------------------------------- */

/* A number that the line does not have yet has joined a moment ago. */
static bool compare(struct listeners *l, struct listen_name *n, const struct line *line)
{
    bool any = false;

    for (uint32_t i = 0; i < n->n; i++) {
        struct listen_bit *b = &n->bit[i];
        bool out = b->number < line->end && !line_has(line, b->number);

        if (out && b->out == 0) {
            at_once(l, b->who);
            any = true;
        }
        b->out = out;
    }
    n->version = line->version;
    return any;
}

bool listeners_pushed(struct listeners *l, const struct routes *r, const struct replicas *known)
{
    uint64_t name, val;
    bool any = false;

    if (l->n == 0 || l->changes == known->pool.n_changes)
        return false;
    l->changes = known->pool.n_changes;
    for (size_t i = 0; (i = map_next(&l->names, i, &name, &val)) != 0;) {
        struct listen_name *n = (struct listen_name *)(uintptr_t)val;
        struct route_owner o;
        const struct line *line;

        if (routes_owner(r, name, &o) < 0)
            continue;
        line = replicas_line(known, o.node, o.seg, name);
        if (line != NULL && line->version != n->version)
            any |= compare(l, n, line);
    }
    return any;
}

/* ---- looks ------------------------------------------------------------------------------ */

/* Slots before now_slot are empty. */
static struct listen_ticket *next_wake(struct listeners *l, msec_t now_ms)
{
    struct list *slot = &l->due;

    while (slot->n == 0) {
        slot = &l->slot[l->now_slot % LISTEN_SLOTS];
        if (slot->n > 0 || l->now_slot >= now_ms / LISTEN_SLOT_MS)
            break;
        l->now_slot++;
        slot = &l->due;
    }
    return list_entry(list_first(slot), struct listen_ticket, in_wakes);
}

static bool is_due(const struct listen_ticket *x, msec_t now_ms)
{
    return x->look_ms == 0 || wake_ms(x) <= now_ms;
}

struct listen_ticket *listeners_due(struct listeners *l, msec_t now_ms, enum listen_todo *todo)
{
    struct listen_ticket *x;

    assert(l->n == 0 || l->now_slot <= now_ms / LISTEN_SLOT_MS); /* the clock never falls */
    while ((x = next_wake(l, now_ms)) != NULL && !is_due(x, now_ms)) {
        wait_no_more(l, x);
        wait(l, x);
    }
    if (x == NULL)
        return NULL;
    wait_no_more(l, x);
    if (x->look_ms <= now_ms) {
        *todo = LISTEN_LOOK;
        x->looking = true;
        x->again = false;
    } else {
        *todo = LISTEN_BEAT;
        x->sent_ms = now_ms;
        wait(l, x);
    }
    return x;
}

static void look_later(struct listeners *l, struct listen_ticket *x, msec_t look_ms)
{
    assert(x->looking);
    x->looking = false;
    x->look_ms = x->again ? 0 : look_ms;
    wait(l, x);
}

static bool is_news(const struct listen_ticket *x, const struct flow *f, uint32_t words, msec_t now_ms)
{
    uint64_t was = x->position, is = f->position, moved = was > is ? was - is : is - was;

    if (!x->told || x->words != words || (uint32_t)now_ms - x->told_ms >= LISTEN_QUIET_MS)
        return true;
    return (was == 0) != (is == 0) || (moved > 0 && moved >= was / NEWS_SHARE);
}

bool listeners_heard(struct listeners *l, struct listen_ticket *x, const struct flow *f, uint32_t words,
                     bool can_tell, msec_t now_ms)
{
    bool tell = can_tell && is_news(x, f, words, now_ms);

    assert(f->todo == FLOW_DONE && !f->admitted);
    x->near |= f->poll_after_ms > 0 && f->poll_after_ms <= LISTEN_NEAR_MS;
    if (tell) {
        x->told = true;
        x->position = f->position;
        x->words = words;
        x->told_ms = (uint32_t)now_ms;
        x->sent_ms = now_ms;
    }
    look_later(l, x, now_ms + (f->poll_after_ms > 0 ? f->poll_after_ms : PUT_OFF_MS));
    return tell;
}

void listeners_put_off(struct listeners *l, struct listen_ticket *x, msec_t now_ms)
{
    look_later(l, x, now_ms + PUT_OFF_MS + x->token.number % PUT_OFF_MS);
}

/* ---- told unasked ------------------------------------------------------------------------ */

void listeners_want_no_more(struct listen_ticket *x, const struct replicas *known)
{
    replicas_want_no_more(known, x->wanted, &x->token);
    x->wanted = 0;
}

void listeners_want(struct listen_ticket *x, const struct replicas *known, node_no node)
{
    const struct stream *st = x->near ? map_get_ptr(&known->streams, node) : NULL;

    if (st != NULL && x->wanted == st->link)
        return;
    listeners_want_no_more(x, known);
    if (st != NULL)
        x->wanted = replicas_want(known, node, &x->token);
}

struct listen_ticket *listeners_of(const struct listeners *l, seg_id seg, uint32_t number,
                                   uint32_t *below)
{
    const struct listen_name *n = l->n > 0 ? map_get_ptr(&l->names, seg) : NULL;
    uint32_t i = n == NULL ? 0 : *below == UINT32_MAX ? *chain_of(n, number) : *below;

    while (i != 0 && i <= n->n && n->bit[i - 1].number != number)
        i = n->bit[i - 1].next;
    if (i == 0 || i > n->n)
        return NULL;
    *below = n->bit[i - 1].next;
    return n->bit[i - 1].who;
}

void listeners_look(struct listeners *l, struct listen_ticket *x)
{
    wait_no_more(l, x);
    x->looking = true;
    x->again = false;
    x->wanted = 0; /* the node has forgotten it */
}

uint32_t listen_return_ms(const struct listen_ticket *x, size_t n)
{
    uint64_t window = u64_min(u64_max(n * 1000 / RETURN_PER_S, 2000), RETURN_MOST_MS);
    uint64_t salt = (x->token.seg ^ (uint64_t)x->token.number << 32 ^ x->token.number) *
                    0x9e3779b97f4a7c15ull;

    return RETURN_MS + (uint32_t)((salt >> 32) * window >> 32);
}

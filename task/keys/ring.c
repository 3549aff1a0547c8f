/* ring.c: circular lists through the turns; `ring` of a turn is the item that is served. */
#include "task/keys/ring.h"

/* ---- debts -------------------------------------------------------------------------------- */

/* A pairing heap (line.h has one of tasks) in the links that an item of a circle has. */

static uint32_t *next(const struct tree *t, uint32_t item)
{
    return &tree_turn_at(t, item / 2)->next[item & 1];
}

static uint32_t *prev(const struct tree *t, uint32_t item)
{
    return &tree_turn_at(t, item / 2)->prev[item & 1];
}

static uint32_t *child(const struct tree *t, uint32_t item)
{
    return &debt_at(t, item / 2)->child[item & 1];
}

static uint64_t wakes(const struct tree *t, uint32_t item)
{
    return debt_at(t, item / 2)->wake[item & 1];
}

/* Two heaps become one; either may be 0. */
static uint32_t join(const struct tree *t, uint32_t a, uint32_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    if (wakes(t, b) < wakes(t, a)) {
        uint32_t c = a;

        a = b;
        b = c;
    }
    *next(t, b) = *child(t, a);
    if (*child(t, a) != 0)
        *prev(t, *child(t, a)) = b;
    *prev(t, b) = a;
    *child(t, a) = b;
    return a;
}

/* Heaps in a row become one: pairs from the left, then all of these from the right. */
static uint32_t join_all(struct tree *t, uint32_t first)
{
    uint32_t pairs = 0, all = 0;

    while (first != 0) {
        uint32_t a = first, b = *next(t, a), pair;

        t->steps++;
        first = b != 0 ? *next(t, b) : 0;
        *next(t, a) = *prev(t, a) = 0;
        if (b != 0)
            *next(t, b) = *prev(t, b) = 0;
        pair = join(t, a, b);
        *next(t, pair) = pairs;
        pairs = pair;
    }
    while (pairs != 0) {
        uint32_t rest = *next(t, pairs);

        *next(t, pairs) = 0;
        all = join(t, all, pairs);
        pairs = rest;
    }
    return all;
}

/* The item, which is not in the circle, sleeps in the ring of `owner` until wake[]. */
static void debt_sleep(struct tree *t, uint32_t owner, uint32_t item)
{
    struct turn *u = tree_turn_at(t, item / 2);

    assert((u->asleep >> (item & 1) & 1) == 0 && *next(t, item) == 0);
    u->asleep |= (uint8_t)(1 << (item & 1));
    *prev(t, item) = *child(t, item) = 0;
    debt_at(t, owner)->asleep = join(t, debt_at(t, owner)->asleep, item);
}

/* The item leaves the heap. */
static void debt_wake(struct tree *t, uint32_t owner, uint32_t item)
{
    struct turn *u = tree_turn_at(t, item / 2);
    uint32_t *root = &debt_at(t, owner)->asleep, before = *prev(t, item), behind = *next(t, item);

    assert((u->asleep >> (item & 1) & 1) != 0 && *root != 0);
    if (*root != item) {
        if (*child(t, before) == item)
            *child(t, before) = behind;
        else
            *next(t, before) = behind;
        if (behind != 0)
            *prev(t, behind) = before;
        *root = join(t, *root, join_all(t, *child(t, item)));
    } else {
        *root = join_all(t, *child(t, item));
    }
    if (*root != 0)
        *prev(t, *root) = *next(t, *root) = 0;
    u->asleep &= (uint8_t)~(1 << (item & 1));
    *next(t, item) = *prev(t, item) = *child(t, item) = 0;
}

/* The root, if it wakes in this round or before; 0: nobody. */
static uint32_t debt_due(const struct tree *t, uint32_t owner)
{
    uint32_t root = debt_at(t, owner)->asleep;

    return root != 0 && wakes(t, root) <= debt_at(t, owner)->round ? root : 0;
}

#define TURN_ITEM(turn) ((turn) * 2)
#define LINE_ITEM(turn) ((turn) * 2 + 1)

static struct turn *of(const struct tree *t, uint32_t item)
{
    return tree_turn_at(t, item / 2);
}

static uint32_t *next_of(const struct tree *t, uint32_t item)
{
    return &of(t, item)->next[item & 1];
}

static uint32_t *prev_of(const struct tree *t, uint32_t item)
{
    return &of(t, item)->prev[item & 1];
}

static bool sleeps(const struct tree *t, uint32_t item)
{
    return of(t, item)->asleep >> (item & 1) & 1;
}

static bool is_in(const struct tree *t, uint32_t item)
{
    return *next_of(t, item) != 0 || sleeps(t, item);
}

bool ring_has_line(const struct tree *t, uint32_t turn)
{
    return is_in(t, LINE_ITEM(turn));
}

bool ring_has_turn(const struct tree *t, uint32_t turn)
{
    return is_in(t, TURN_ITEM(turn));
}

/* How often the item is served when it is its turn: a line has its turn's own weight only
 * against the turns below it, so one. */
static uint16_t weight_of(const struct tree *t, uint32_t item)
{
    return item & 1 ? 1 : tree_limiter_at(t, of(t, item)->limiter)->rule->weight;
}

/* The turn in whose ring the item is; 0: the tree's, in which nothing costs more than one. */
static uint32_t owner_of(const struct tree *t, uint32_t item)
{
    return item & 1 ? item / 2 : of(t, item)->parent;
}

static uint32_t *ring_of(struct tree *t, uint32_t owner)
{
    return owner != 0 ? &tree_turn_at(t, owner)->ring : &t->ring;
}

/* NULL: there are no debts. */
static struct turn_debt *rounds_of(const struct tree *t, uint32_t owner)
{
    return t->has_costs && owner != 0 ? debt_at(t, owner) : NULL;
}

static void begin_serving(struct tree *t, uint32_t owner, uint32_t item)
{
    int16_t *left = item != 0 ? &of(t, item)->left[item & 1] : NULL;

    *ring_of(t, owner) = item;
    if (left == NULL)
        return;
    *left = (int16_t)((*left < 0 ? *left : 0) + weight_of(t, item));
    *left = *left > 0 ? *left : 1; /* less: the weight was larger when it got into debt */
}

/* Into the circle, behind all others. */
static void link_in(struct tree *t, uint32_t owner, uint32_t item)
{
    uint32_t *ring = ring_of(t, owner), last;

    if (*ring == 0) {
        *next_of(t, item) = *prev_of(t, item) = item;
        if (rounds_of(t, owner) != NULL)
            rounds_of(t, owner)->last = item;
        begin_serving(t, owner, item);
        return;
    }
    last = *prev_of(t, *ring);
    *next_of(t, last) = item;
    *prev_of(t, item) = last;
    *next_of(t, item) = *ring;
    *prev_of(t, *ring) = item;
}

/* A round begins with the item that is served: all that are in the circle then, and those that have paid
 * their debts, are of it; who comes later is of the next one. */
static void begin_round(struct tree *t, uint32_t owner, uint64_t round)
{
    struct turn_debt *d = rounds_of(t, owner);

    d->round = round;
    for (uint32_t i; (i = debt_due(t, owner)) != 0;) {
        t->steps++;
        debt_wake(t, owner, i);
        link_in(t, owner, i);
    }
    d->last = *prev_of(t, *ring_of(t, owner));
}

/* An empty circle goes on with the next round in which somebody wakes. */
static void skip_rounds(struct tree *t, uint32_t owner)
{
    struct turn_debt *d = rounds_of(t, owner);

    if (d == NULL || d->asleep == 0 || *ring_of(t, owner) != 0)
        return;
    begin_round(t, owner, debt_at(t, d->asleep / 2)->wake[d->asleep & 1]);
}

/* The next item's turn. was_last: the round has ended. */
static void go_on(struct tree *t, uint32_t owner, uint32_t item, bool was_last)
{
    begin_serving(t, owner, item);
    if (was_last)
        begin_round(t, owner, rounds_of(t, owner)->round + 1);
}

static bool is_last(const struct tree *t, uint32_t owner, uint32_t item)
{
    const struct turn_debt *d = rounds_of(t, owner);

    return d != NULL && d->last == item;
}

/* A newcomer goes behind all others. */
static void put_in(struct tree *t, uint32_t item)
{
    uint32_t owner = owner_of(t, item);
    const struct turn_debt *d = rounds_of(t, owner);

    assert(!is_in(t, item));
    if (d == NULL || debt_at(t, item / 2)->wake[item & 1] <= d->round) {
        link_in(t, owner, item);
        return;
    }
    debt_sleep(t, owner, item);
    skip_rounds(t, owner);
}

/* Out of the circle: the round ends with the one before it, if it would have with it. */
static void unlink_from(struct tree *t, uint32_t owner, uint32_t item)
{
    uint32_t next = *next_of(t, item), prev = *prev_of(t, item);

    if (is_last(t, owner, item))
        rounds_of(t, owner)->last = prev != item ? prev : 0;
    *next_of(t, prev) = next;
    *prev_of(t, next) = prev;
    *next_of(t, item) = *prev_of(t, item) = 0;
}

/* Out of the circle while it is served: the next one's turn. */
static void unlink_served(struct tree *t, uint32_t owner, uint32_t item)
{
    uint32_t next = *next_of(t, item);
    bool was_last = is_last(t, owner, item);

    unlink_from(t, owner, item);
    if (next != item)
        go_on(t, owner, next, was_last);
    else
        begin_serving(t, owner, 0);
}

static void take_out(struct tree *t, uint32_t item)
{
    uint32_t owner = owner_of(t, item);

    assert(is_in(t, item) && *ring_of(t, owner) != 0);
    if (sleeps(t, item)) {
        debt_wake(t, owner, item);
        return;
    }
    if (*ring_of(t, owner) != item) {
        unlink_from(t, owner, item);
        return;
    }
    unlink_served(t, owner, item);
    skip_rounds(t, owner);
}

void ring_begin_rounds(struct tree *t)
{
    for (uint32_t i = 1; i < t->n_turns; i++)
        if (tree_turn_at(t, i)->limiter != 0 && tree_turn_at(t, i)->ring != 0)
            debt_at(t, i)->last = *prev_of(t, tree_turn_at(t, i)->ring);
}

void ring_settle(struct tree *t, uint32_t turn)
{
    while (turn != 0) {
        const struct turn *u = tree_turn_at(t, turn);
        uint32_t *ring = ring_of(t, u->parent);
        bool open = u->ring != 0 && tree_limiter_at(t, u->limiter)->closed == 0;
        bool was_empty = *ring == 0;

        t->steps++;
        if (open == ring_has_turn(t, turn))
            return;
        if (open)
            put_in(t, TURN_ITEM(turn));
        else
            take_out(t, TURN_ITEM(turn));
        if (was_empty == (*ring == 0))
            return; /* nothing changes further up */
        turn = u->parent;
    }
}

void ring_settle_line(struct tree *t, uint32_t turn)
{
    const struct turn *u = tree_turn_at(t, turn);
    bool open = u->line.n > 0 && !(u->strict && u->busy > 0);

    t->steps++;
    if (open == ring_has_line(t, turn))
        return;
    if (open)
        put_in(t, LINE_ITEM(turn));
    else
        take_out(t, LINE_ITEM(turn));
    ring_settle(t, turn);
}

/* The turn whose line is served next, going down from `turn`, whose ring is not empty. */
static uint32_t next_line(struct tree *t, uint32_t turn)
{
    for (;;) {
        uint32_t item = tree_turn_at(t, turn)->ring;

        t->steps++;
        assert(item != 0);
        if (item & 1) {
            assert(item / 2 == turn && tree_turn_at(t, turn)->line.n > 0);
            return turn;
        }
        turn = item / 2;
    }
}

void ring_reweigh(struct tree *t, uint32_t turn)
{
    int16_t *left = &of(t, TURN_ITEM(turn))->left[0], most = (int16_t)weight_of(t, TURN_ITEM(turn));

    *left = *left < most ? *left : most;
}

/* Units of a cost that its credit does not pay. */
static uint64_t less_credit(struct tree *t, uint32_t item, uint64_t cost)
{
    uint32_t *credit = t->has_costs ? &debt_at(t, item / 2)->credit[item & 1] : NULL;
    uint64_t paid = credit != NULL ? u64_min(*credit, cost) : 0;

    if (paid > 0)
        *credit -= (uint32_t)paid;
    return cost - paid;
}

/* The item has been served. What its task cost beyond its share are rounds in which it is passed over. */
static void serve(struct tree *t, uint32_t turn, bool line, uint64_t cost)
{
    uint32_t item = line ? LINE_ITEM(turn) : TURN_ITEM(turn), owner = owner_of(t, item);
    int16_t *left = &of(t, item)->left[item & 1];
    int64_t now = *left - (int64_t)less_credit(t, item, cost), weight = weight_of(t, item);
    int64_t rounds = now < 0 ? -now / weight : 0;

    t->steps++;
    assert(*ring_of(t, owner) == item && *left > 0 && (rounds == 0 || rounds_of(t, owner) != NULL));
    *left = (int16_t)(now + rounds * weight);
    if (now > 0)
        return;
    if (rounds == 0) {
        go_on(t, owner, *next_of(t, item), is_last(t, owner, item));
        return;
    }
    debt_at(t, item / 2)->wake[item & 1] = debt_at(t, owner)->round + 1 + (uint64_t)rounds;
    unlink_served(t, owner, item);
    debt_sleep(t, owner, item);
    skip_rounds(t, owner);
}

/* ---- who is next: a step per level and priority, whatever is closed ----------------- */

/* When it began to wait, less the head start of its priority: the smaller one goes. */
static msec_t measure(const struct tree *t, const msec_t *head_start, const struct turn *u)
{
    const struct task *a = task_at(t->store, line_head(&u->line));

    return (msec_t)a->entered_ms - head_start[u->priority];
}

/* Among equals the higher priority. */
static bool goes_before(const struct tree *t, const msec_t *head_start, uint32_t a, uint32_t b)
{
    const struct turn *u = tree_turn_at(t, a), *v = tree_turn_at(t, b);
    msec_t x = measure(t, head_start, u), y = measure(t, head_start, v);

    return x != y ? x < y : u->priority > v->priority;
}

/* Finds among all priorities of the key the turn whose first one has the smallest measure. */
static uint32_t best_of_key(struct tree *t, const msec_t *head_start, uint32_t turn)
{
    const struct limiter *l = tree_limiter_at(t, tree_turn_at(t, turn)->limiter);
    uint32_t best = turn;

    for (uint32_t i = l->turns; i != 0; i = tree_turn_at(t, i)->sibling) {
        t->steps++;
        if (ring_has_line(t, i) && goes_before(t, head_start, i, best))
            best = i;
    }
    return best;
}

task_slot tree_pick(struct tree *t, uint32_t queue, const msec_t *head_start, uint32_t *served)
{
    const struct limiter *l = tree_limiter_at(t, queue);
    uint32_t best = 0;

    assert(l->rule != NULL && l->parent == 0);
    for (uint32_t i = l->closed == 0 ? l->turns : 0; i != 0; i = tree_turn_at(t, i)->sibling) {
        uint32_t line;

        t->steps++;
        assert(tree_turn_at(t, i)->parent == 0);
        if (tree_turn_at(t, i)->ring == 0)
            continue;
        line = next_line(t, i);
        if (best == 0 || goes_before(t, head_start, line, best))
            best = line;
    }
    if (best == 0)
        return SLOT_NONE;
    *served = best;
    return line_head(&tree_turn_at(t, best_of_key(t, head_start, best))->line);
}

uint32_t tree_next_queue(struct tree *t)
{
    uint32_t turn = t->ring / 2;

    if (turn == 0)
        return 0;
    serve(t, turn, false, 1);
    return tree_turn_at(t, turn)->limiter;
}

void tree_pay(struct tree *t, uint32_t served, uint64_t cost)
{
    serve(t, served, true, cost);
    for (uint32_t u = served; tree_turn_at(t, u)->parent != 0; u = tree_turn_at(t, u)->parent)
        serve(t, u, false, cost);
}

/* ---- what was paid turns out to be too little, or too much ---------------------------- */

/* The item is passed over until this round. Where it is in no ring, put_in() looks at that. */
static void sleep_until(struct tree *t, uint32_t owner, uint32_t item, uint64_t wake)
{
    bool in = is_in(t, item);

    if (sleeps(t, item))
        debt_wake(t, owner, item);
    else if (in && *ring_of(t, owner) == item)
        unlink_served(t, owner, item);
    else if (in)
        unlink_from(t, owner, item);
    debt_at(t, item / 2)->wake[item & 1] = wake;
    if (in && wake > debt_at(t, owner)->round)
        debt_sleep(t, owner, item);
    else if (in)
        link_in(t, owner, item);
    skip_rounds(t, owner);
}

/* Units beyond its share are rounds, as in serve(). */
static void owe_more(struct tree *t, uint32_t owner, uint32_t item, uint64_t units)
{
    int16_t *left = &of(t, item)->left[item & 1];
    bool served = *ring_of(t, owner) == item;
    int64_t now = (served || *left < 0 ? *left : 0) - (int64_t)less_credit(t, item, units);
    int64_t weight = weight_of(t, item);
    int64_t rounds = now < 0 ? -now / weight : 0;
    uint64_t round = debt_at(t, owner)->round, wake = debt_at(t, item / 2)->wake[item & 1];

    *left = (int16_t)(now + rounds * weight);
    if (rounds > 0)
        sleep_until(t, owner, item, (wake > round ? wake : round + served) + (uint64_t)rounds);
    else if (served && now <= 0)
        go_on(t, owner, *next_of(t, item), is_last(t, owner, item));
}

/* most: units of credit that it may have. */
static void owe_less(struct tree *t, uint32_t owner, uint32_t item, uint64_t units, uint64_t most)
{
    struct turn_debt *d = debt_at(t, item / 2);
    int16_t *left = &of(t, item)->left[item & 1];
    uint64_t round = debt_at(t, owner)->round, *wake = &d->wake[item & 1];
    bool served = *ring_of(t, owner) == item;
    int64_t weight = weight_of(t, item), owed = *wake > round ? (int64_t)(*wake - round) : 0;
    int64_t now = (!served && *left < 0 ? *left : 0) + (int64_t)units;
    int64_t rounds = now > 0 ? (now + weight - 1) / weight : 0;

    rounds = rounds < owed ? rounds : owed;
    now -= rounds * weight;
    if (!served)
        *left = (int16_t)(now < 0 ? now : 0);
    if (rounds > 0)
        sleep_until(t, owner, item, *wake - (uint64_t)rounds);
    if (now > 0)
        d->credit[item & 1] = (uint32_t)u64_min(d->credit[item & 1] + (uint64_t)now, most);
}

void tree_pay_anew(struct tree *t, uint32_t turn, uint64_t was, uint64_t cost)
{
    assert(t->has_costs);
    for (uint32_t item = LINE_ITEM(turn); owner_of(t, item) != 0; item = TURN_ITEM(owner_of(t, item))) {
        t->steps++;
        if (cost > was)
            owe_more(t, owner_of(t, item), item, cost - was);
        else if (cost < was)
            owe_less(t, owner_of(t, item), item, was - cost, was);
    }
}

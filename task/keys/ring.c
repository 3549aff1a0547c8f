/* ring.c: circular lists through the turns; `ring` of a turn is the item that is served. */
#include "task/keys/ring.h"

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

static bool is_in(const struct tree *t, uint32_t item)
{
    return *next_of(t, item) != 0;
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

static void begin_serving(struct tree *t, uint32_t *ring, uint32_t item)
{
    *ring = item;
    if (item != 0)
        of(t, item)->left[item & 1] = weight_of(t, item);
}

static void put_in(struct tree *t, uint32_t *ring, uint32_t item)
{
    uint32_t last;

    assert(!is_in(t, item));
    if (*ring == 0) {
        *next_of(t, item) = *prev_of(t, item) = item;
        begin_serving(t, ring, item);
        return;
    }
    last = *prev_of(t, *ring); /* a newcomer goes behind all others */
    *next_of(t, last) = item;
    *prev_of(t, item) = last;
    *next_of(t, item) = *ring;
    *prev_of(t, *ring) = item;
}

static void take_out(struct tree *t, uint32_t *ring, uint32_t item)
{
    uint32_t next = *next_of(t, item), prev = *prev_of(t, item);

    assert(is_in(t, item) && *ring != 0);
    *next_of(t, prev) = next;
    *prev_of(t, next) = prev;
    *next_of(t, item) = *prev_of(t, item) = 0;
    if (*ring == item)
        begin_serving(t, ring, next != item ? next : 0);
}

/* The ring in which the turn is an item. */
static uint32_t *ring_of(struct tree *t, const struct turn *u)
{
    return u->parent != 0 ? &tree_turn_at(t, u->parent)->ring : &t->ring;
}

void ring_settle(struct tree *t, uint32_t turn)
{
    while (turn != 0) {
        const struct turn *u = tree_turn_at(t, turn);
        uint32_t *ring = ring_of(t, u);
        bool open = u->ring != 0 && tree_limiter_at(t, u->limiter)->closed == 0;
        bool was_empty = *ring == 0;

        t->steps++;
        if (open == ring_has_turn(t, turn))
            return;
        if (open)
            put_in(t, ring, TURN_ITEM(turn));
        else
            take_out(t, ring, TURN_ITEM(turn));
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
        put_in(t, &tree_turn_at(t, turn)->ring, LINE_ITEM(turn));
    else
        take_out(t, &tree_turn_at(t, turn)->ring, LINE_ITEM(turn));
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
    uint16_t *left = &of(t, TURN_ITEM(turn))->left[0], most = weight_of(t, TURN_ITEM(turn));

    *left = *left < most ? *left : most;
}

/* The item has been served once. */
static void serve(struct tree *t, uint32_t turn, bool line)
{
    uint32_t item = line ? LINE_ITEM(turn) : TURN_ITEM(turn);
    struct turn *u = tree_turn_at(t, turn);
    uint32_t *ring = line ? &u->ring : ring_of(t, u);

    t->steps++;
    assert(*ring == item && u->left[item & 1] > 0);
    if (--u->left[item & 1] == 0)
        begin_serving(t, ring, *next_of(t, item));
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
    serve(t, turn, false);
    return tree_turn_at(t, turn)->limiter;
}

void tree_pay(struct tree *t, uint32_t served)
{
    serve(t, served, true);
    for (uint32_t u = served; tree_turn_at(t, u)->parent != 0; u = tree_turn_at(t, u)->parent)
        serve(t, u, false);
}

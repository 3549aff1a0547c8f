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

uint32_t ring_next_line(struct tree *t, uint32_t turn)
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

void ring_serve(struct tree *t, uint32_t turn, bool line)
{
    uint32_t item = line ? LINE_ITEM(turn) : TURN_ITEM(turn);
    struct turn *u = tree_turn_at(t, turn);
    uint32_t *ring = line ? &u->ring : ring_of(t, u);

    t->steps++;
    assert(*ring == item && u->left[item & 1] > 0);
    if (--u->left[item & 1] == 0)
        begin_serving(t, ring, *next_of(t, item));
}

uint32_t ring_next_queue(struct tree *t)
{
    uint32_t turn = t->ring / 2;

    if (turn == 0)
        return 0;
    ring_serve(t, turn, false);
    return tree_turn_at(t, turn)->limiter;
}

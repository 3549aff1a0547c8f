/* breaker.c: see the header. */
#include "task/calls/breaker.h"

#include <assert.h>
#include <string.h>

static void open_up(struct breaker *b, const struct breaker_rules *r, msec_t now)
{
    msec_t ms = b->last_ms == 0 ? r->open_ms : ms_min(2 * b->last_ms, BREAKER_OPEN_MAX_MS);

    ms = ms_max(ms, 1);
    *b = (struct breaker){ .state = BREAKER_OPEN, .until = now + ms, .last_ms = ms };
}

msec_t breaker_advance(struct breaker *b, msec_t now)
{
    if (b->state == BREAKER_OPEN && now >= b->until) {
        b->state = BREAKER_PROBES;
        b->allowed = 1;
    }
    return b->state == BREAKER_OPEN ? b->until : MSEC_NEVER;
}

bool breaker_lets(struct breaker *b, msec_t now)
{
    (void)breaker_advance(b, now);
    return b->state == BREAKER_CLOSED ||
           (b->state == BREAKER_PROBES && b->probes + b->good < b->allowed);
}

msec_t breaker_when(const struct breaker *b)
{
    if (b->state == BREAKER_OPEN)
        return b->until;
    return b->state == BREAKER_CLOSED || b->probes + b->good < b->allowed ? 0 : MSEC_NEVER;
}

bool breaker_begins(struct breaker *b)
{
    assert(b->state != BREAKER_OPEN);
    b->probes += b->state == BREAKER_PROBES;
    return b->state == BREAKER_PROBES;
}

static void count(struct breaker *b, bool failed, msec_t now)
{
    int64_t second = now / 1000;
    unsigned i = (unsigned)(second % BREAKER_SLOTS);

    if (b->slot[i].second != second) {
        memset(&b->slot[i], 0, sizeof(b->slot[i]));
        b->slot[i].second = second;
    }
    b->slot[i].ended++;
    b->slot[i].failed += failed;
    b->row_since = failed && b->in_a_row > 0 ? b->row_since : now;
    b->in_a_row = failed ? b->in_a_row + 1 : 0;
}

static bool is_ill(const struct breaker *b, const struct breaker_rules *r, msec_t now)
{
    uint64_t ended = 0, failed = 0;

    for (unsigned i = 0; i < BREAKER_SLOTS; i++) {
        bool counts = now / 1000 - b->slot[i].second < (int64_t)BREAKER_SLOTS;

        ended += counts ? b->slot[i].ended : 0;
        failed += counts ? b->slot[i].failed : 0;
    }
    return b->in_a_row >= BREAKER_IN_A_ROW ||
           (b->in_a_row >= BREAKER_FEW && now - b->row_since >= BREAKER_FEW_MS) ||
           (ended >= r->min && failed > 0 && failed * 100 >= ended * r->ratio);
}

/* All that were let go in this round are back, and were well: a larger one, or enough. */
static void round_over(struct breaker *b)
{
    if (b->allowed >= BREAKER_PROBES_MAX) {
        *b = (struct breaker){ .state = BREAKER_CLOSED };
        return;
    }
    b->allowed *= 2;
    b->good = 0;
}

void breaker_heard_well(struct breaker *b)
{
    if (b->state != BREAKER_OPEN)
        return;
    b->state = BREAKER_PROBES;
    b->allowed = 2;
    b->probes = b->good = 0;
}

void breaker_ends(struct breaker *b, const struct breaker_rules *r, bool probe,
                  enum breaker_end how, msec_t now)
{
    if (r->ratio == 0) {
        *b = (struct breaker){ .state = BREAKER_CLOSED };
        return;
    }
    if (b->state == BREAKER_CLOSED && !probe && how != END_UNKNOWN) {
        count(b, how == END_FAILED, now);
        if (how == END_FAILED && is_ill(b, r, now))
            open_up(b, r, now);
    } else if (b->state == BREAKER_PROBES && probe && b->probes > 0) {
        b->probes--;
        b->good += how == END_WELL;
        if (how == END_FAILED)
            open_up(b, r, now);
        else if (b->good == b->allowed)
            round_over(b);
    }
}

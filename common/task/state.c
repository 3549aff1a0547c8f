/* state.c: the table of steps. A final task goes nowhere but away; a dead one also back. Waits are packed
 * as numbers of seven bits a byte, the lowest bucket first. */
#include "common/task/state.h"

#include <assert.h>
#include <math.h>

#include "common/base/buf.h"

#define BIT(S) (1u << TASK_##S)

static const uint16_t next_of[TASK_NSTATES] = {
    [TASK_FREE] = BIT(SCHEDULED) | BIT(WAITING),
    [TASK_SCHEDULED] = BIT(WAITING) | BIT(CANCELLED),
    [TASK_WAITING] = BIT(RUNNING) | BIT(CANCELLED) | BIT(EXPIRED) | BIT(SCHEDULED),
    [TASK_RUNNING] = BIT(SUCCEEDED) | BIT(RETRYING) | BIT(DEAD) | BIT(CANCELLED),
    [TASK_RETRYING] = BIT(WAITING) | BIT(CANCELLED),
    [TASK_SUCCEEDED] = BIT(FREE),
    [TASK_DEAD] = BIT(FREE) | BIT(WAITING),
    [TASK_CANCELLED] = BIT(FREE),
    [TASK_EXPIRED] = BIT(FREE),
};

const char *task_state_word(enum task_state s)
{
    static const char *const words[] = {
#define X(NAME, word) word,
        TASK_STATES(X)
#undef X
    };

    assert(s < TASK_NSTATES);
    return words[s];
}

#define X(NAME, word, says) { word, says },
struct task_words task_hold_words(enum task_hold h)
{
    static const struct task_words words[] = { TASK_HOLDS(X) };

    assert(h < TASK_NHOLDS);
    return words[h];
}

struct task_words task_full_words(enum task_full f)
{
    static const struct task_words words[] = { TASK_FULLS(X) };

    assert(f < TASK_NFULLS);
    return words[f];
}
#undef X

const char *closed_word(unsigned bit)
{
    static const char *const words[CLOSED_BITS] = { "rate", "max_concurrent", "pause", "budget", "window" };

    assert(bit < CLOSED_BITS);
    return words[bit];
}

bool task_state_may_follow(enum task_state from, enum task_state to)
{
    assert(from < TASK_NSTATES && to < TASK_NSTATES);
    return (next_of[from] >> to & 1) != 0;
}

const char *attempt_end_word(unsigned end)
{
    switch (end) {
#define X(NAME, number, word)                                                            \
    case number:                                                                         \
        return word;
        ATTEMPT_ENDS(X)
#undef X
    default:
        return "ended";
    }
}

const char *chain_state_word(unsigned state)
{
    static const char *const words[CHAIN_NSTATES] = {
#define X(NAME, word) word,
        CHAIN_STATES(X)
#undef X
    };

    return state < CHAIN_NSTATES ? words[state] : "";
}

const char *chain_why_word(unsigned why)
{
    static const char *const words[CHAIN_NWHYS] = {
#define X(NAME, word) word,
        CHAIN_WHYS(X)
#undef X
    };

    return why < CHAIN_NWHYS ? words[why] : "";
}

/* ---- how long tasks waited -------------------------------------------------------------- */

void waits_add(struct waits *w, msec_t ms)
{
    unsigned b = ms <= 0 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)ms);

    w->n[b < WAITS_BUCKETS ? b : WAITS_BUCKETS - 1]++;
}

void waits_join(struct waits *w, const struct waits *more)
{
    for (unsigned b = 0; b < WAITS_BUCKETS; b++)
        w->n[b] += more->n[b];
}

size_t waits_pack(const struct waits *w, uint8_t out[WAITS_BYTES])
{
    unsigned end = WAITS_BUCKETS;
    uint8_t *p = out;

    while (end > 0 && w->n[end - 1] == 0)
        end--;
    for (unsigned b = 0; b < end; b++)
        p = varint_put(p, w->n[b]);
    return (size_t)(p - out);
}

bool waits_unpack(struct waits *w, const uint8_t *p, size_t n)
{
    const uint8_t *end = p + n;

    *w = (struct waits){ 0 };
    for (unsigned b = 0; p != NULL && p < end && b < WAITS_BUCKETS; b++)
        p = varint_get(p, end, &w->n[b]);
    if (p == end)
        return true;
    *w = (struct waits){ 0 };
    return false;
}

double waits_quantile(const struct waits *w, double q)
{
    double all = 0, below = 0;

    for (unsigned b = 0; b < WAITS_BUCKETS; b++)
        all += (double)w->n[b];
    for (unsigned b = 0; b < WAITS_BUCKETS && all > 0; b++) {
        double n = (double)w->n[b], least = b == 0 ? 0 : (double)(1ull << (b - 1)), most = (double)(1ull << b);

        if (n > 0 && below + n >= q * all)
            return b == WAITS_BUCKETS - 1 ? least : least + (most - least) * (q * all - below) / n;
        below += n;
    }
    return (double)NAN;
}

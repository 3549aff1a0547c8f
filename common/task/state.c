/* state.c: the table of steps. A final task goes nowhere but away; a dead one also back. */
#include "common/task/state.h"

#include <assert.h>

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

/* chain.c: words. */
#include "common/task/chain.h"

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

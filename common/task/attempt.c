/* attempt.c: the words of the table. */
#include "common/task/attempt.h"

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

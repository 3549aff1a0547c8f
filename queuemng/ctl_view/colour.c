/* colour.c: the 16 colours that every terminal has, so that the operator's own palette holds. */
#include "queuemng/ctl_view/colour.h"

#include <string.h>

static bool on;

void colours_on(bool want)
{
    on = want;
}

static bool is_in(const char *const *v, size_t n_v, const char *word, size_t n)
{
    for (size_t i = 0; i < n_v; i++)
        if (strlen(v[i]) == n && memcmp(v[i], word, n) == 0)
            return true;
    return false;
}

/* The first word of "down (3 s)", "up, draining". */
enum colour colour_of(const char *state)
{
    static const char *const good[] = { "up", "ok", "open", "succeeded", "done", "current" };
    static const char *const warn[] = { "paused", "closed", "draining", "moving", "retrying",
                                        "half-open", "passthrough", "unknown", "skipped", "fenced",
                                        "rebuilding", "opening", "tripped" };
    static const char *const bad[] = { "down", "lost", "dead", "FAILED", "failed", "unusable",
                                       "missed", "refused", "reject", "unowned" };
    size_t n = strcspn(state, " ,:(");

    return is_in(bad, ARRAY_LEN(bad), state, n)     ? COLOUR_BAD
           : is_in(warn, ARRAY_LEN(warn), state, n) ? COLOUR_WARN
           : is_in(good, ARRAY_LEN(good), state, n) ? COLOUR_GOOD
                                                    : COLOUR_NONE;
}

void colour_put(struct buf *b, enum colour colour, const char *text)
{
    static const char *const sgr[] = { [COLOUR_BOLD] = "\033[1m", [COLOUR_GOOD] = "\033[32m",
                                       [COLOUR_WARN] = "\033[33m", [COLOUR_BAD] = "\033[31m" };
    bool coloured = on && colour != COLOUR_NONE;

    if (coloured)
        buf_str(b, sgr[colour]);
    buf_str(b, text);
    if (coloured)
        buf_str(b, "\033[0m");
}

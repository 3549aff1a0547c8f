/* window.c: see window.h. */
#include "common/task/window.h"

bool window_more(struct window_out *w, uint32_t n)
{
    if (n > w->all - w->room)
        return false;
    w->room += n;
    return true;
}

bool window_hear(struct window_in *w, uint64_t at, size_t n)
{
    if (at != w->heard || n == 0 || n + WINDOW_PIECE > w->room || (w->sized && n > w->length - w->heard))
        return false;
    w->heard += n;
    w->room -= (uint32_t)n + WINDOW_PIECE;
    w->owed += (uint32_t)n + WINDOW_PIECE;
    return true;
}

uint32_t window_taken(struct window_in *w)
{
    uint32_t n = w->owed;

    if (n < WINDOW_BYTES / 2)
        return 0;
    w->owed = 0;
    w->room += n;
    return n;
}

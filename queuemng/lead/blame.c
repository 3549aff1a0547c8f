/* blame.c: see the header. */
#include "queuemng/lead/blame.h"

#include <assert.h>
#include <string.h>

static bool is_of(const struct blamed *x, enum rpc_role role, const char *node)
{
    return x->at_ms[0] != 0 && x->role == role && strcmp(x->node, node) == 0;
}

/* Finds its row, or a row that it may have. */
static struct blamed *row_for(struct blame *b, enum rpc_role role, const char *node)
{
    struct blamed *oldest = &b->v[0];

    for (struct blamed *x = b->v; x < b->v + BLAME_ROWS; x++) {
        if (is_of(x, role, node))
            return x;
        if (x->at_ms[0] < oldest->at_ms[0])
            oldest = x;
    }
    memset(oldest, 0, sizeof(*oldest));
    oldest->role = role;
    strncpy(oldest->node, node, NAME_MAX_LEN);
    return oldest;
}

unsigned blame_add(struct blame *b, enum rpc_role role, const char *node, msec_t now_ms)
{
    struct blamed *x = row_for(b, role, node);
    unsigned times = 1;

    assert(now_ms > 0 && now_ms >= x->at_ms[0]);
    memmove(x->at_ms + 1, x->at_ms, sizeof(x->at_ms) - sizeof(x->at_ms[0]));
    x->at_ms[0] = now_ms;
    while (times < BLAME_TIMES && x->at_ms[times] != 0 &&
           now_ms - x->at_ms[times] < BLAME_WITHIN_MS)
        times++;
    if (times == BLAME_TIMES)
        x->until_ms = now_ms + BLAME_DROP_MS;
    return times;
}

msec_t blame_left_ms(const struct blame *b, enum rpc_role role, const char *node, msec_t now_ms)
{
    for (const struct blamed *x = b->v; x < b->v + BLAME_ROWS; x++)
        if (is_of(x, role, node))
            return x->until_ms > now_ms ? x->until_ms - now_ms : 0;
    return 0;
}

/* strangers.c: see strangers.h. */
#include "common/net/strangers.h"

#include <assert.h>
#include <string.h>

#define FOR_ALL (HANDSHAKES_PER_BEAT * 3 / 4) /* handshakes that a crowd may begin in a beat */
#define FEW     4                             /* for each of the others */

void strangers_init(struct strangers *s)
{
    *s = (struct strangers){ 0 };
    list_init(&s->all);
}

void strangers_enter(struct strangers *s, struct stranger *x, uint8_t crowd)
{
    x->crowd = crowd;
    s->crowd[crowd]++;
    list_push_back(&s->all, &x->node);
}

void strangers_leave(struct strangers *s, struct stranger *x)
{
    if (!list_linked(&x->node))
        return;
    assert(s->crowd[x->crowd] > 0);
    s->crowd[x->crowd]--;
    list_remove(&s->all, &x->node);
}

struct stranger *strangers_surplus(const struct strangers *s)
{
    struct stranger *found = NULL;

    if (s->all.n < STRANGERS_MOST)
        return NULL;
    list_each_of(&s->all, struct stranger, node, x)
        if (found == NULL || s->crowd[x->crowd] > s->crowd[found->crowd])
            found = x;
    return found;
}

bool strangers_may_begin(struct strangers *s, const struct stranger *x)
{
    uint16_t *mine = &s->begun[x->crowd];

    if (s->n_begun >= HANDSHAKES_PER_BEAT || (s->n_begun >= FOR_ALL && *mine >= FEW))
        return false;
    (*mine)++;
    s->n_begun++;
    return true;
}

void strangers_beat(struct strangers *s)
{
    memset(s->begun, 0, sizeof(s->begun));
    s->n_begun = 0;
}

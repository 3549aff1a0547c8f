/* wheel.c: an entry that is due in a later round of the wheel stays where it is. */
#include "tests/bench/swarm/wheel.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

int wheel_init(struct wheel *w, uint32_t players, int64_t now_ms)
{
    memset(w->head, 0xff, sizeof(w->head)); /* WHEEL_NONE */
    w->next = calloc(players, sizeof(*w->next));
    w->due_ms = calloc(players, sizeof(*w->due_ms));
    w->now_ms = now_ms;
    w->n = 0;
    if (w->next != NULL && w->due_ms != NULL)
        return 0;
    wheel_fini(w);
    return SQ_ENOMEM;
}

void wheel_fini(struct wheel *w)
{
    free(w->next);
    free(w->due_ms);
    w->next = NULL;
    w->due_ms = NULL;
}

void wheel_add(struct wheel *w, uint32_t who, int64_t due_ms)
{
    uint32_t slot;

    if (due_ms <= w->now_ms)
        due_ms = w->now_ms + 1;
    slot = (uint32_t)due_ms % WHEEL_SLOTS;
    w->due_ms[who] = due_ms;
    w->next[who] = w->head[slot];
    w->head[slot] = who;
    w->n++;
}

void wheel_advance(struct wheel *w, int64_t now_ms,
                   void (*fn)(void *ctx, uint32_t who, int64_t due_ms), void *ctx)
{
    while (w->now_ms < now_ms) {
        uint32_t *head = &w->head[(uint32_t)++w->now_ms % WHEEL_SLOTS];
        uint32_t who = *head;

        *head = WHEEL_NONE;
        while (who != WHEEL_NONE) {
            uint32_t next = w->next[who];

            if (w->due_ms[who] > w->now_ms) {
                w->next[who] = *head;
                *head = who;
            } else {
                w->n--;
                fn(ctx, who, w->due_ms[who]);
            }
            who = next;
        }
    }
}

/* progress.c: see progress.h. */
#include "task/store/progress.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"

static size_t size_of(uint32_t text_n, uint32_t data_n)
{
    return sizeof(struct progress) + text_n + data_n;
}

void progresses_init(struct progresses *p)
{
    *p = (struct progresses){ 0 };
    map_init(&p->by_slot, 0);
}

void progresses_fini(struct progresses *p)
{
    uint64_t slot, v;

    for (size_t i = 0; (i = map_next(&p->by_slot, i, &slot, &v)) != 0;)
        free((struct progress *)(uintptr_t)v);
    map_fini(&p->by_slot);
}

int progresses_set(struct progresses *p, uint32_t slot, const struct worker_said *s, msec_t at)
{
    struct progress *was = map_get_ptr(&p->by_slot, slot), *x;
    size_t had = was != NULL ? size_of(was->text_n, was->data_n) : 0, n = size_of(s->text_n, s->data_n);

    if (s->percent > 101 || s->text_n > PROGRESS_TEXT || s->data_n > PROGRESS_DATA)
        return SQ_EINVAL;
    if (p->bytes - had + n > PROGRESSES_BYTES || (x = realloc(was, n)) == NULL)
        return SQ_ENOMEM;
    if (map_set_ptr(&p->by_slot, slot, x) < 0) { /* a slot that is there needs no memory */
        free(x);
        return SQ_ENOMEM;
    }
    x->at = at;
    x->serial = ++p->serial;
    x->percent = s->percent;
    x->text_n = (uint16_t)s->text_n;
    x->data_n = (uint16_t)s->data_n;
    if (s->text_n > 0)
        memcpy(x->bytes, s->text, s->text_n);
    if (s->data_n > 0)
        memcpy(x->bytes + s->text_n, s->data, s->data_n);
    p->bytes += n - had;
    return 0;
}

void progresses_drop(struct progresses *p, uint32_t slot)
{
    struct progress *x = map_get_ptr(&p->by_slot, slot);

    if (x == NULL)
        return;
    p->bytes -= size_of(x->text_n, x->data_n);
    (void)map_del(&p->by_slot, slot);
    free(x);
}

uint64_t progresses_bytes(const struct progresses *p)
{
    return p->bytes + p->by_slot.cap * sizeof(struct map_slot);
}

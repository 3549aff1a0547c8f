/* marks.c: a short list of runs. */
#include "segment/line/marks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

void marks_fini(struct marks *m)
{
    free(m->v);
    memset(m, 0, sizeof(*m));
}

int marks_reserve(struct marks *m, uint32_t n)
{
    return GROW_BY(m->v, m->n, n, m->cap, 8) ? 0 : SQ_ENOMEM;
}

void marks_add(struct marks *m, struct ticket_id id, int64_t at_ms, bool again)
{
    struct mark_row *last = m->n > 0 ? &m->v[m->n - 1] : NULL;

    m->held += !again;
    if (!again && last != NULL && !last->again && last->seg == id.seg &&
        last->end <= id.number && last->at_ms == at_ms) {
        last->end = id.number + 1;
        return;
    }
    assert(m->n < m->cap); /* reserved */
    m->v[m->n++] = (struct mark_row) { id.seg, id.number, id.number + 1, again, at_ms };
}

void marks_put(struct marks *m, const struct mark_row *row)
{
    assert(m->n < m->cap && row->from < row->end);
    m->v[m->n++] = *row;
}

bool marks_has(const struct marks *m, struct ticket_id id)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->v[i].seg == id.seg && m->v[i].from <= id.number && id.number < m->v[i].end)
            return true;
    return false;
}

void marks_clear(struct marks *m)
{
    marks_fini(m); /* most segments release nothing most of the time */
}

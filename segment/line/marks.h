/* marks.h: which tickets were released when, until somebody says that it is stored. Pure.
 *
 * A release is told to nobody before the manager has stored it: were the node to vanish
 * with its journal, people who were let in would wait again. So each pop leaves rows here, every
 * status carries them, and they go when the manager says that it has them.
 *
 * Memory: owns its rows: one per pop and segment (as tokens name it), and one for each
 * no-show that is released again. */
#ifndef SEGQ_MARKS_H
#define SEGQ_MARKS_H

#include "common/base/err.h"
#include "common/wire/msg.h"
#include "segment/line/ticket_idx.h"

struct marks {
    struct mark_row *v; /* owned; oldest first */
    uint32_t n, cap;
    uint32_t held; /* tickets that left the line with them: they still count as before others */
};

void marks_fini(struct marks *m);
SQ_CHECK int marks_reserve(struct marks *m, uint32_t n); /* n more; or SQ_ENOMEM */
/* A ticket that was released; room must have been reserved. One pop's tickets come in
 * order, and what is dead between two of them goes with them. */
void marks_add(struct marks *m, struct ticket_id id, int64_t at_ms, bool again);
void marks_put(struct marks *m, const struct mark_row *row); /* reserved */
bool marks_has(const struct marks *m, struct ticket_id id);
void marks_clear(struct marks *m);

#endif

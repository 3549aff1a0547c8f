#include "task/bodies/tidy.h"

#define LIVES_PART 3 /* old: less than 1 / so much of it lives */
#define SMALL_PART 8 /* small: shorter than 1 / so much of a full one */
#define SMALL_MOST 8

uint32_t tidy_remove(struct body_files *f, msec_t now_ms, msec_t linger_ms)
{
    uint32_t removed = 0;

    for (uint32_t i = f->n; i-- > 0;) {
        struct body_file *one = f->v[i];

        if (one->is_written || one->living != 0) {
            one->dead_at = 0;
            continue;
        }
        if (one->dead_at == 0)
            one->dead_at = now_ms;
        if (now_ms - one->dead_at >= linger_ms)
            removed += body_files_remove(f, one) == 0;
    }
    return removed;
}

bool tidy_mark(struct body_files *f, uint32_t file_bytes)
{
    uint64_t taken = 0, living = 0;
    uint32_t small = 0, old = 0;
    bool due;

    for (uint32_t i = 0; i < f->n; i++) {
        const struct body_file *one = f->v[i];

        old += one->old && one->living != 0;
        if (one->is_written || one->old || one->stuck)
            continue;
        taken += one->end;
        living += one->living;
        small += one->end < file_bytes / SMALL_PART;
    }
    due = taken > living * LIVES_PART + file_bytes;
    for (uint32_t i = 0; i < f->n && (due || small > SMALL_MOST); i++) {
        struct body_file *one = f->v[i];

        if (one->is_written || one->old || one->stuck || one->living == 0)
            continue;
        one->old = (due && one->living < one->end / LIVES_PART) ||
                   (small > SMALL_MOST && one->end < file_bytes / SMALL_PART);
        old += one->old;
    }
    return old != 0;
}

void tidy_stuck(struct body_file *one)
{
    one->stuck = true;
    one->old = false;
}

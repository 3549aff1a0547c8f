#include "task/bodies/body_ahead.h"

#include <stdlib.h>

void body_ahead_fini(struct body_ahead *a)
{
    free(a->bytes);
    *a = (struct body_ahead){ 0 };
}

static bool is_in(const struct body_place *at, const struct body_place *in)
{
    return at->file == in->file && at->at >= in->at && at->at + at->len <= in->at + in->len;
}

static bool fill(struct body_ahead *a, struct body_files *files, struct body_file *f,
                 const struct body_place *at)
{
    if (a->bytes == NULL && (a->bytes = malloc(AHEAD_BYTES)) == NULL)
        return false;
    a->at = (struct body_place){ at->file, at->at,
                                 (uint32_t)u64_min(AHEAD_BYTES, f->end - at->at) };
    if (body_files_read(files, f, &a->at, a->bytes) == 0)
        return true;
    a->at.len = 0;
    return false;
}

const uint8_t *body_ahead_read(struct body_ahead *a, struct body_files *files,
                               struct body_file *f, const struct body_place *at)
{
    bool follows = a->file == at->file && at->at >= a->end && at->at - a->end <= AHEAD_GAP;

    a->file = at->file;
    a->end = at->at + at->len;
    if (is_in(at, &a->at) || (follows && at->len <= AHEAD_BYTES / 2 && fill(a, files, f, at)))
        return a->bytes + (at->at - a->at.at);
    return NULL;
}

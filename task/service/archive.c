/* archive.c: lines of a turn, each with its day and length in front. */
#include "task/service/archive.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/trail/trail_files.h"
#include "task/node/ends.h"

struct archive {
    struct trail *trail; /* owned */
    struct buf turn;     /* owned; of struct head and its line, each */
};

struct head {
    int64_t wall_ms;
    part_no part;
    size_t len;
};

void archive_end(void *archive, const struct task_end *end)
{
    struct archive *a = archive;
    struct head h = { .wall_ms = end->ended_ms, .part = end->part };
    uint8_t *to = buf_room(&a->turn, sizeof(h) + ARCHIVE_LINE_MAX);

    if (to == NULL) {
        trail_leave_out(a->trail, end->ended_ms);
        return;
    }
    h.len = archive_line(end, (char *)to + sizeof(h));
    memcpy(to, &h, sizeof(h));
    a->turn.len += sizeof(h) + h.len;
}

void archive_put(struct archive *a, struct buf *lines)
{
    struct head h;

    for (size_t at = 0; at < lines->len; at += h.len) {
        char *to;

        memcpy(&h, lines->data + at, sizeof(h));
        at += sizeof(h);
        assert(a != NULL && h.len <= lines->len - at);
        to = trail_room(a->trail, h.wall_ms);
        if (to == NULL)
            continue;
        memcpy(to, lines->data + at, h.len);
        trail_put(a->trail, h.len);
    }
    buf_reset(lines);
}

void archive_drop_part(struct buf *lines, part_no part)
{
    size_t kept = 0, all;
    struct head h;

    for (size_t at = 0; at < lines->len; at += all) {
        memcpy(&h, lines->data + at, sizeof(h));
        all = sizeof(h) + h.len;
        assert(all <= lines->len - at);
        if (h.part == part)
            continue;
        memmove(lines->data + kept, lines->data + at, all);
        kept += all;
    }
    lines->len = kept;
}

void archive_written(struct archive *a)
{
    if (a != NULL)
        archive_put(a, &a->turn);
}

void archive_forget(struct archive *a)
{
    if (a != NULL)
        buf_reset(&a->turn);
}

bool archive_waits(const struct archive *a)
{
    return a != NULL && a->turn.len > 0;
}

void archive_take(struct archive *a, struct buf *lines)
{
    buf_init(lines);
    if (a == NULL)
        return;
    *lines = a->turn;
    buf_init(&a->turn);
}

static size_t gap(void *ctx, const struct trail_gap *g, char *out)
{
    struct jline o = { .p = out };

    (void)ctx;
    jline_moment(&o, "ended_at", g->wall_ms);
    jline_u64(&o, "gap", g->n);
    jline_moment(&o, "since", g->since_ms);
    jline_end(&o);
    return (size_t)(o.p - out);
}

void archive_tick(struct archive *a, int64_t wall_ms)
{
    if (a != NULL)
        trail_tick(a->trail, wall_ms);
}

void archive_count(const struct archive *a, struct trail_counts *n)
{
    trail_count(a != NULL ? a->trail : NULL, n);
}

int archive_new(struct archive **out, const struct archive_opts *o, struct err *e)
{
    struct archive *a = calloc(1, sizeof(*a));
    struct trail_opts t = { .name = "archive", .dir = o->dir, .node = o->node,
                            .keep_days = o->keep_days, .buffer_bytes = o->buffer_bytes,
                            .line_max = ARCHIVE_LINE_MAX, .gap = gap };
    int rc;

    if (a == NULL)
        return err_set(e, SQ_ENOMEM, "archive");
    buf_init(&a->turn);
    rc = trail_new(&a->trail, &t, e);
    if (rc < 0)
        free(a);
    else
        *out = a;
    return rc;
}

void archive_free(struct archive *a)
{
    if (a == NULL)
        return;
    trail_free(a->trail);
    buf_fini(&a->turn);
    free(a);
}
